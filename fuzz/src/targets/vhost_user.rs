//! Connects to the device as a front end, and sends vhost-user messages, contents of queues, and a
//! worker's messages. The device must answer or close the connection, and must be able to serve the
//! next front end.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;

use host_ipc::eventfd::eventfd;
use protocol::windows::FILES;
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

use crate::broker::Broker;
use crate::input::Input;
use crate::requests;

/// Guest-physical address of the guest's memory. The next constant is its size.
const BASE: u64 = 0x4000_0000;
const BYTES: u64 = 1 << 20;
/// The number of entries of each queue.
const SIZE: u16 = 8;
/// The distance between the pages of two queues.
const QUEUE: u64 = 0x3000;

const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const GET_VRING_BASE: u32 = 11;
const SET_VRING_KICK: u32 = 12;
const SET_VRING_CALL: u32 = 13;
const SET_PROTOCOL_FEATURES: u32 = 16;
const ADD_MEM_REG: u32 = 37;
const REM_MEM_REG: u32 = 38;
const SET_VRING_ENABLE: u32 = 18;
const GET_CONFIG: u32 = 24;

/// How long the device may take for one front end. This is much longer than it takes, even on a
/// loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

static BROKER: OnceLock<Broker> = OnceLock::new();

pub fn prepare() {
    BROKER.get_or_init(|| Broker::start().expect("the device starts"));
}

/// A front end, and the memory and queues of its guest.
struct FrontEnd {
    stream: UnixStream,
    memory: File,
    /// The eventfds that kick each queue.
    kicks: Vec<OwnedFd>,
}

impl FrontEnd {
    fn connect(broker: &Broker) -> Self {
        let stream = UnixStream::connect(&broker.socket).expect("the device listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout can be set");
        let kicks = (0..3).map(|_| eventfd().expect("an eventfd")).collect();
        Self { stream, memory: memory(), kicks }
    }

    fn send(&self, request: u32, flags: u32, body: &[u8], fds: &[RawFd]) {
        let mut bytes = Vec::new();
        for word in [request, flags, body.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(body);
        // Ignore errors, because the device may have closed the connection.
        let _ = self.stream.send_with_fds(&[&bytes[..]], fds);
    }

    fn message(&self, request: u32, words: &[u64], fds: &[RawFd]) {
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.send(request, 1, &body, fds);
    }

    /// Sets up memory and queues, as a VMM does.
    fn set_up(&self) {
        self.message(SET_OWNER, &[], &[]);
        self.message(SET_FEATURES, &[1 << 32 | 1 << 30 | 1 << 29 | 1 << 28], &[]);
        self.message(SET_PROTOCOL_FEATURES, &[1 << 0 | 1 << 3 | 1 << 9 | 1 << 15], &[]);
        let table = [1, BASE, BYTES, BASE, 0];
        self.message(SET_MEM_TABLE, &table, &[self.memory.as_raw_fd()]);
        for queue in 0..3u64 {
            self.message(SET_VRING_NUM, &[queue | u64::from(SIZE) << 32], &[]);
            self.message(SET_VRING_BASE, &[queue], &[]);
            let page = BASE + queue * QUEUE;
            self.message(SET_VRING_ADDR, &[queue, page, page + 0x2000, page + 0x1000, 0], &[]);
            self.message(SET_VRING_CALL, &[queue | 1 << 8], &[]);
            let kick = self.kicks[queue as usize].as_raw_fd();
            self.message(SET_VRING_KICK, &[queue], &[kick]);
            self.message(SET_VRING_ENABLE, &[queue | 1 << 32], &[]);
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        let _ = self.memory.write_all_at(bytes, at % (BYTES - 4096));
    }

    /// Makes a chain available in a queue.
    fn offer(&self, queue: u64, at: u16, head: u16) {
        let ring = queue * QUEUE + 0x1000;
        self.write(ring + 4 + 2 * u64::from(at % SIZE), &head.to_le_bytes());
        self.write(ring + 2, &at.wrapping_add(1).to_le_bytes());
    }

    fn kick(&self, queue: usize) {
        host_ipc::eventfd::notify(&self.kicks[queue]);
    }

    /// Ends the connection, and waits until the device has ended it, too.
    fn end(mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let mut part = [0; 4096];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return,
                Ok(_) => {}
                // A signal of libFuzzer's timer interrupted the read.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
                Err(error) => panic!("the device keeps the connection: {error}"),
            }
        }
    }
}

fn memory() -> File {
    // SAFETY: the name is a C string, and the descriptor is new.
    unsafe {
        let fd = libc::memfd_create(c"guest".as_ptr(), libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0 && libc::ftruncate(fd, BYTES as i64) == 0);
        assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
        File::from_raw_fd(fd)
    }
}

/// Writes a chain of descriptors with a request, and offers it.
fn chain(front: &FrontEnd, input: &mut Input<'_>, next: &mut [u16; 3]) {
    let queue = input.pick(&[0u64, 0, 2, 1]);
    let request = match queue {
        2 => requests::command(input, 4096),
        _ => requests::control(input, BASE),
    };
    let head = input.below(usize::from(SIZE)) as u16;
    let (data, room) = (0x2_0000 + u64::from(head) * 0x4000, input.pick(&[8u32, 4096, 0, 64]));
    front.write(data, &request);
    let cut = input.below(request.len() + 1);
    let readable = [(0, cut), (cut, request.len() - cut)];
    let mut descriptors: Vec<(u64, u32, u16)> =
        readable.iter().map(|(from, len)| (BASE + data + *from as u64, *len as u32, 0)).collect();
    descriptors.push((BASE + data + 0x2000, room, 2));
    let count = descriptors.len() as u16;
    for (index, (address, len, flags)) in descriptors.into_iter().enumerate() {
        let (index, last) = (index as u16, index as u16 + 1 == count);
        let damaged = input.one_in(24);
        let mut words = [address, u64::from(len) | u64::from(flags | u16::from(!last)) << 32];
        words[1] |= u64::from((head + index + 1) % SIZE) << 48;
        if damaged {
            words[input.below(2)] ^= input.long();
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        front.write(queue * QUEUE + 16 * u64::from((head + index) % SIZE), &bytes);
    }
    let at = &mut next[queue as usize];
    front.offer(queue, *at, head);
    *at = at.wrapping_add(1);
    front.kick(queue as usize);
}

pub fn run(bytes: &[u8]) {
    let Some(broker) = BROKER.get() else { return };
    let mut input = Input::new(bytes);
    let front = FrontEnd::connect(broker);
    if !input.one_in(8) {
        front.set_up();
    }
    let mut next = [0u16; 3];
    for _ in 0..64 {
        if input.is_empty() {
            break;
        }
        match input.below(12) {
            0..=4 => chain(&front, &mut input, &mut next),
            5 => front.kick(input.below(3)),
            6 => {
                let (at, bytes) = (input.below(0x9000) as u64, input.bytes(64));
                front.write(at, bytes);
            }
            7 => {
                let queue = input.below(4) as u64;
                front.message(GET_VRING_BASE, &[queue], &[]);
            }
            8 => broker.work(&mut input),
            9 => {
                let fd = front.kicks[0].as_raw_fd();
                let fds = vec![fd; input.pick(&[0, 1, 2, 9])];
                let (request, flags) = (input.byte() % 48, input.pick(&[1, 1, 9, 5, 0]));
                front.send(request.into(), flags, input.bytes(128), &fds);
            }
            10 => {
                let request = input.pick(&[
                    SET_VRING_NUM,
                    SET_VRING_ADDR,
                    SET_VRING_BASE,
                    SET_VRING_KICK,
                    SET_VRING_CALL,
                    SET_VRING_ENABLE,
                    SET_MEM_TABLE,
                    ADD_MEM_REG,
                    REM_MEM_REG,
                    GET_CONFIG,
                ]);
                let mut words = [0u64; 6];
                for word in &mut words {
                    *word = input.pick(&[
                        0,
                        1,
                        2,
                        BASE,
                        BASE + QUEUE,
                        1 << 32,
                        8 << 32,
                        FILES.start,
                        u64::MAX,
                    ]);
                    *word |= u64::from(input.byte());
                }
                let fds = [front.memory.as_raw_fd()];
                let count = input.below(6) + 1;
                front.message(request, &words[..count], &fds[..input.below(2)]);
            }
            _ => std::thread::yield_now(),
        }
    }
    front.message(GET_FEATURES, &[], &[]);
    front.end();
    broker.check();
}
