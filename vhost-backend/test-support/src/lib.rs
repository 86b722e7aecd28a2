//! A combined front end and guest driver, for testing the device as a VMM and its guest would use
//! it.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use guest_transport::Mapping;
pub use guest_transport::virtqueue::Descriptor;
use guest_transport::virtqueue::{DESC_F_NEXT, DESC_F_WRITE, DriverQueue};
use protocol::codec::{Call, Writer};
use protocol::plain::Plain;
use protocol::ring::{Full, GuestRing, Shared};
use protocol::uapi::{self, Cmd, Config, Event, Hdr, Hello, RegionAttach, Reply, Resp, Segment};
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use vmm_sys_util::eventfd::EventFd;

pub mod fake_worker;
pub mod refusal;

/// Timeout for `wait_for`, long enough for a busy machine and short enough for a failing test.
const PATIENCE: Duration = Duration::from_secs(60);
/// Guest-physical address of guest memory.
pub const BASE: u64 = 0x4000_0000;
/// Size of guest memory in bytes.
pub const MEMORY: usize = 64 << 20;
/// The number of descriptors of each queue.
pub const QUEUE_SIZE: u16 = 64;
/// Bytes of guest memory for one queue's rings. The buffers for all queues start at `BUFFERS`.
const QUEUE_BYTES: usize = 4096;
const BUFFERS: usize = 0x10_000;
const BUFFER_BYTES: usize = 0x8000;
/// Bytes of the ring in a region for one.
pub const RING: usize = 64 << 10;
/// Bytes of a region for a ring: its header page, the ring, and a 64 KiB arena.
pub const REGION: usize = 4096 + RING + (64 << 10);
/// Offset of the pages that tests may use freely.
pub const FREE: usize = 16 << 20;

/// The running device programs for one VM. Dropping this ends them.
pub struct Device {
    child: Child,
    pub socket: PathBuf,
    folder: PathBuf,
}

impl Device {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with("softgpu".as_ref(), arguments, &[])
    }

    /// Like [`Self::start`], with this driver library and these environment variables.
    pub fn start_with(library: &Path, arguments: &[&str], env: &[(&str, &str)]) -> Self {
        static LAST: AtomicU16 = AtomicU16::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("virtio-cuda-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // A killed test run may have left a directory with this name.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("socket");
        let child = Command::new(program("vhost-device-cuda"))
            .arg("--driver-library")
            .arg(library)
            .arg("--socket-path")
            .arg(&socket)
            .args(arguments)
            .envs(env.iter().copied())
            .env("VIRTIO_CUDA_SOFTGPU", softgpu())
            .stderr(std::fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let device = Self { child, socket, folder };
        wait_for("the socket", || device.socket.exists());
        device
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the log of all the device programs.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.folder.join("log")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Asks the programs to exit, and waits for them.
    pub fn end(&mut self) -> std::process::ExitStatus {
        // SAFETY: `kill` accesses no memory. The child hasn't been waited for, so it still has this
        // ID.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        self.child.wait().unwrap()
    }

    /// Returns the IDs of the program's processes that the device's broker has had started.
    pub fn processes(&self, program: &str) -> Vec<u32> {
        let spawners = children(self.child.id(), "vhost-cuda-spawner");
        spawners.into_iter().flat_map(|spawner| children(spawner, program)).collect()
    }
}

/// Returns the IDs of a process's children that run this program.
fn children(of: u32, program: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
        let mut fields = rest.split(' ');
        let (state, parent) = (fields.next(), fields.next());
        let ours = parent == Some(&of.to_string()) && state != Some("Z");
        // The kernel truncates names to 15 characters.
        if ours && name.ends_with(&program[..program.len().min(15)]) {
            found.push(pid);
        }
    }
    found
}

impl Drop for Device {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            eprintln!("{:.10000}", self.log());
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the directory where Cargo puts programs. The test itself is in its subdirectory `deps`.
fn target() -> PathBuf {
    let exe = std::env::current_exe().expect("cannot read the path of this test");
    exe.ancestors().nth(2).expect("this test is not in a target directory").to_owned()
}

/// Returns the path of a host program.
///
/// # Panics
/// If the program hasn't been built. Cargo automatically builds only the tested package's own
/// programs.
pub fn program(name: &str) -> PathBuf {
    let path = target().join(name);
    assert!(path.is_file(), "{} is missing: run cargo build --workspace --bins", path.display());
    path
}

/// Returns the path of softgpu's library, which Cargo builds as a dependency of the tests.
pub fn softgpu() -> PathBuf {
    if let Some(path) = std::env::var_os("VIRTIO_CUDA_SOFTGPU") {
        return path.into();
    }
    let folder = target();
    let places = ["deps/libsoftgpu.so", "libsoftgpu.so"].map(|name| folder.join(name));
    places.into_iter().find(|path| path.exists()).expect("libsoftgpu.so is missing")
}

/// Polls until `is_done` returns true.
///
/// # Panics
/// If that takes longer than `PATIENCE`. `what` names the event in the message.
pub fn wait_for(what: &str, mut is_done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < PATIENCE, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A front end with 64 MiB of guest memory. It also acts as the guest's driver.
pub struct Guest {
    pub front: Frontend,
    mapping: Mapping,
    queues: Vec<Queue>,
    /// Whether VIRTIO_RING_F_EVENT_IDX is negotiated.
    event_idx: bool,
    memory: OwnedFd,
}

struct Queue {
    kick: EventFd,
    call: EventFd,
    /// Indices of free descriptors.
    free: Vec<u16>,
    ring: DriverQueue,
    /// Heads of returned chains, with the number of bytes written.
    back: Vec<(u16, u32)>,
}

/// Creates a file for guest memory. If it's sealed, it can't be made smaller.
fn guest_memory(sealed: bool) -> OwnedFd {
    // SAFETY: the name is a C string, nothing else owns the new descriptor, and the other calls
    // take no pointers.
    unsafe {
        let fd = libc::memfd_create(c"guest".as_ptr(), libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0);
        let memory = OwnedFd::from_raw_fd(fd);
        assert_eq!(libc::ftruncate(fd, MEMORY as i64), 0);
        if sealed {
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
        }
        memory
    }
}

/// Returns the only region of a memory table whose memory is this file.
fn memory_region(base: *mut u8, memory: &OwnedFd) -> VhostUserMemoryRegionInfo {
    VhostUserMemoryRegionInfo {
        guest_phys_addr: BASE,
        memory_size: MEMORY as u64,
        userspace_addr: base as u64,
        mmap_offset: 0,
        mmap_handle: memory.as_raw_fd(),
    }
}

impl Guest {
    /// Connects, sets up the device as a VMM does, offers buffers for events, and sends a HELLO.
    pub fn connect(socket: &Path) -> Self {
        let mut guest = Self::connect_without_hello(socket);
        assert_eq!(guest.hello(1), uapi::OK);
        guest
    }

    pub fn connect_without_hello(socket: &Path) -> Self {
        let mut guest = Self::connected(socket, true, false);
        guest.set_up().unwrap();
        guest
    }

    /// Does the same as `connect`, with VIRTIO_RING_F_EVENT_IDX.
    pub fn connect_with_event_idx(socket: &Path) -> Self {
        let mut guest = Self::connected(socket, true, true);
        guest.set_up().unwrap();
        assert_eq!(guest.hello(1), uapi::OK);
        guest
    }

    /// Connects a front end whose memory isn't sealed against shrinking, without setting it up.
    pub fn connect_unsealed(socket: &Path) -> Self {
        Self::connected(socket, false, false)
    }

    fn connected(socket: &Path, sealed: bool, event_idx: bool) -> Self {
        let front = Frontend::connect(socket, 3).unwrap();
        let memory = guest_memory(sealed);
        let mapping = Mapping::shared(memory.as_raw_fd(), 0, MEMORY).unwrap();
        let base = mapping.as_ptr();
        let queues = (0..3).map(|index| Queue {
            kick: EventFd::new(0).unwrap(),
            call: EventFd::new(0).unwrap(),
            free: (0..QUEUE_SIZE).rev().collect(),
            // SAFETY: the memory is new, so it's zeroed, and each queue has a page of its own.
            ring: unsafe { DriverQueue::new(base.add(index * QUEUE_BYTES), QUEUE_SIZE, event_idx) },
            back: Vec::new(),
        });
        Self { front, mapping, queues: queues.collect(), event_idx, memory }
    }

    /// Negotiates features, shares the memory and starts the queues.
    pub fn set_up(&mut self) -> vhost::Result<()> {
        let front = &mut self.front;
        front.set_owner()?;
        let features = front.get_features()?;
        let protocol = front.get_protocol_features()?;
        assert!(protocol.contains(VhostUserProtocolFeatures::CONFIG));
        front.set_protocol_features(protocol)?;
        let event_idx = if self.event_idx { 0 } else { 1 << 29 };
        front.set_features(features & !event_idx)?;
        let region = memory_region(self.mapping.as_ptr(), &self.memory);
        front.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        front.set_mem_table(&[region])?;
        front.set_hdr_flags(VhostUserHeaderFlag::empty());
        for index in 0..3 {
            self.start_queue(index, 0);
        }
        // A hostile test can push chains to the event queue, too.
        for _ in 0..QUEUE_SIZE / 2 {
            self.offer_event_buffer();
        }
        Ok(())
    }

    /// Truncates the guest memory to zero bytes.
    pub fn truncate(&self) {
        // SAFETY: ftruncate takes no pointers. This process doesn't access the mapping afterwards.
        assert_eq!(unsafe { libc::ftruncate(self.memory.as_raw_fd(), 0) }, 0);
    }

    /// Sends a memory table with memory that isn't sealed against shrinking. Meanwhile, truncates
    /// that memory after about this time, and kicks the command queue.
    pub fn swap_memory_and_truncate(&mut self, after: Duration) -> vhost::Result<()> {
        let memory = guest_memory(false);
        let region = memory_region(self.mapping.as_ptr(), &memory);
        let (front, kick) = (&mut self.front, &self.queues[uapi::QUEUE_COMMAND as usize].kick);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let start = Instant::now();
                while start.elapsed() < after {
                    let _ = kick.write(1);
                }
                // SAFETY: ftruncate takes no pointers, and the file isn't mapped in this process.
                assert_eq!(unsafe { libc::ftruncate(memory.as_raw_fd(), 0) }, 0);
                for _ in 0..100 {
                    let _ = kick.write(1);
                }
            });
            front.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
            front.set_mem_table(&[region])
        })?;
        Ok(())
    }

    /// Sends a memory table with a sealed file of one page and a region of many, and kicks a queue.
    pub fn share_more_than_the_file(&mut self) -> vhost::Result<()> {
        let memory = guest_memory(false);
        // SAFETY: the calls take no pointers, and the file isn't mapped in this process.
        unsafe {
            assert_eq!(libc::ftruncate(memory.as_raw_fd(), 4096), 0);
            let seals = libc::fcntl(memory.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK);
            assert_eq!(seals, 0);
        }
        self.front.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        let shared = self.front.set_mem_table(&[memory_region(self.mapping.as_ptr(), &memory)]);
        let _ = self.queues[uapi::QUEUE_COMMAND as usize].kick.write(1);
        shared.map(drop)
    }

    pub fn start_queue(&mut self, index: usize, base: u16) {
        let at = self.mapping.as_ptr() as u64 + (index * QUEUE_BYTES) as u64;
        let queue = &self.queues[index];
        queue.ring.start(&mut self.front, index, at, base, (&queue.kick, &queue.call)).unwrap();
    }

    pub fn config(&mut self, offset: u32, size: u32) -> Vec<u8> {
        let buffer = vec![0; size as usize];
        let flags = VhostUserConfigFlags::WRITABLE;
        self.front.get_config(offset, size, flags, &buffer).unwrap().1
    }

    pub fn limits(&mut self) -> Config {
        Config::from_bytes(&self.config(0, 64)).unwrap()
    }

    /// Returns the address of guest memory at an offset.
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < MEMORY);
        self.mapping.as_ptr().wrapping_add(offset)
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= MEMORY);
        // SAFETY: the range is inside the mapping, as checked above, and `bytes` is outside it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(offset), bytes.len()) };
    }

    pub fn read(&self, offset: usize, len: usize) -> Vec<u8> {
        assert!(offset + len <= MEMORY);
        let mut bytes = vec![0; len];
        // SAFETY: the range is inside the mapping, as checked above, and `bytes` is outside it.
        unsafe { std::ptr::copy_nonoverlapping(self.at(offset), bytes.as_mut_ptr(), len) };
        bytes
    }

    fn buffer(queue: usize, descriptor: u16) -> usize {
        BUFFERS + (queue * QUEUE_SIZE as usize + descriptor as usize) * BUFFER_BYTES
    }

    /// Writes descriptors starting at index `head`, which may be any, and makes the first one
    /// available. Kicks if the device has asked for it.
    pub fn push(&mut self, queue: usize, head: u16, chain: &[Descriptor]) {
        let queue = &mut self.queues[queue];
        for (index, descriptor) in (head..).zip(chain) {
            queue.ring.describe(index, *descriptor);
        }
        if queue.ring.push(head) {
            queue.kick.write(1).unwrap();
        }
    }

    /// Writes an avail index that is `beyond` chains past the correct one, and kicks.
    pub fn announce(&mut self, queue: usize, beyond: u16) {
        self.queues[queue].ring.announce(beyond);
        self.kick(queue);
    }

    /// Kicks a queue.
    pub fn kick(&self, queue: usize) {
        self.queues[queue].kick.write(1).unwrap();
    }

    /// Stops a queue and starts it again as a new one.
    pub fn reset_queue(&mut self, index: usize) {
        self.front.get_vring_base(index).unwrap();
        self.write(index * QUEUE_BYTES, &[0; QUEUE_BYTES]);
        let base = self.at(index * QUEUE_BYTES);
        let queue = &mut self.queues[index];
        // SAFETY: the page was zeroed just above, and the device doesn't use a stopped queue.
        queue.ring = unsafe { DriverQueue::new(base, QUEUE_SIZE, self.event_idx) };
        queue.free = (0..QUEUE_SIZE).rev().collect();
        queue.back.clear();
        self.start_queue(index, 0);
    }

    /// Sends a request with `room` bytes for the response. Returns the chain's head.
    pub fn send(&mut self, queue: usize, request: &[u8], room: usize) -> u16 {
        let (head, tail) = {
            let free = &mut self.queues[queue].free;
            (free.pop().unwrap(), free.pop().unwrap())
        };
        let (readable, writable) = (Self::buffer(queue, head), Self::buffer(queue, tail));
        assert!(request.len() <= BUFFER_BYTES && room <= BUFFER_BYTES);
        self.write(readable, request);
        self.write(writable, &vec![0xee; room]);
        let (addr, len) = (BASE + writable as u64, room as u32);
        let answer = Descriptor { addr, len, flags: DESC_F_WRITE, next: 0 };
        self.queues[queue].ring.describe(tail, answer);
        let (addr, len) = (BASE + readable as u64, request.len() as u32);
        self.push(queue, head, &[Descriptor { addr, len, flags: DESC_F_NEXT, next: tail }]);
        head
    }

    fn collect(&mut self, queue: usize) {
        let queue = &mut self.queues[queue];
        while let Some(used) = queue.ring.pop() {
            queue.back.push((used.head as u16, used.written));
        }
    }

    /// Returns the response in a chain, if the chain has been returned.
    pub fn answer_of(&mut self, queue: usize, head: u16) -> Option<Vec<u8>> {
        self.collect(queue);
        let place = self.queues[queue].back.iter().position(|(back, _)| *back == head)?;
        let (_, len) = self.queues[queue].back.remove(place);
        let tail = self.queues[queue].ring.descriptor(head).next;
        let answer = self.read(Self::buffer(queue, tail), len as usize);
        self.queues[queue].free.extend([tail, head]);
        Some(answer)
    }

    pub fn wait(&mut self, queue: usize, head: u16) -> Vec<u8> {
        let mut answer = None;
        wait_for("a response", || {
            answer = self.answer_of(queue, head);
            answer.is_some()
        });
        answer.unwrap()
    }

    /// Returns the number of bytes in the oldest chain that has been returned, if any.
    pub fn returned(&mut self, queue: usize) -> Option<u32> {
        self.collect(queue);
        let back = &mut self.queues[queue].back;
        (!back.is_empty()).then(|| back.remove(0).1)
    }

    /// Sends a request with `room` bytes for the response, and waits for the response.
    pub fn ask(&mut self, queue: usize, request: &[u8], room: usize) -> Vec<u8> {
        let head = self.send(queue, request, room);
        self.wait(queue, head)
    }

    /// Sends a request on the control queue and returns the status in the response.
    pub fn control(&mut self, request: &[u8]) -> u32 {
        Resp::from_bytes(&self.ask(0, request, 8)).expect("a response").status
    }

    pub fn hello(&mut self, epoch: u64) -> u32 {
        let hdr = Hdr { kind: uapi::CTRL_HELLO, session: 0 };
        let version_major = uapi::VERSION_MAJOR;
        self.control(Hello { hdr, epoch, version_major, ..Hello::zeroed() }.as_bytes())
    }

    pub fn create(&mut self, session: u32) -> u32 {
        self.control(&create(session))
    }

    pub fn destroy(&mut self, session: u32) -> u32 {
        self.control(Hdr { kind: uapi::CTRL_SESSION_DESTROY, session }.as_bytes())
    }

    /// Sends a request to attach the page at `FREE`. Returns the chain's head.
    pub fn send_attach(&mut self, session: u32) -> u16 {
        let attach = RegionAttach {
            region: 9,
            kind: uapi::REGION_USER,
            vaddr: 0x1000_0000,
            len: 4096,
            ring_bytes: 0,
            ..ring_request(session)
        };
        self.send(0, &with_segments(attach, &[(BASE + FREE as u64, 4096)]), 8)
    }

    /// Attaches segments of guest memory as a region. Returns the status.
    pub fn attach(&mut self, request: RegionAttach, segments: &[(u64, u64)]) -> u32 {
        self.control(&with_segments(request, segments))
    }

    /// Attaches a ring to a session, at an offset in guest memory and with the pages in reverse
    /// order.
    pub fn attach_ring(&mut self, session: u32, offset: usize) -> SessionRing {
        let pages = REGION / 4096;
        self.write(offset, &[0; REGION]);
        let page = |page| (BASE + (offset + page * 4096) as u64, 4096);
        let segments: Vec<_> = (0..pages).rev().map(page).collect();
        let request = RegionAttach { nr_segments: pages as u32, ..ring_request(session) };
        assert_eq!(self.attach(request, &segments), uapi::OK);
        SessionRing::map(self, session, offset, pages, RING)
    }

    fn offer_event_buffer(&mut self) {
        let Some(index) = self.queues[1].free.pop() else { return };
        let (addr, len) = (BASE + Self::buffer(1, index) as u64, size_of::<Event>() as u32);
        self.push(1, index, &[Descriptor { addr, len, flags: DESC_F_WRITE, next: 0 }]);
    }

    /// Returns the next event, if any.
    pub fn event(&mut self) -> Option<Event> {
        self.collect(1);
        if self.queues[1].back.is_empty() {
            return None;
        }
        let (head, len) = self.queues[1].back.remove(0);
        assert_eq!(len as usize, size_of::<Event>());
        let event = Event::from_bytes(&self.read(Self::buffer(1, head), 16)).unwrap();
        self.queues[1].free.push(head);
        self.offer_event_buffer();
        Some(event)
    }

    pub fn wait_event(&mut self) -> Event {
        let mut event = None;
        wait_for("an event", || {
            event = self.event();
            event.is_some()
        });
        event.unwrap()
    }

    pub fn doorbell(&mut self, session: u32) -> u32 {
        let hdr = Hdr { kind: uapi::CMD_DOORBELL, session };
        Resp::from_bytes(&self.ask(2, hdr.as_bytes(), 8)).unwrap().status
    }

    /// Submits a command through the command queue. Returns the status and the reply.
    pub fn submit(&mut self, session: u32, opcode: u32, room: usize) -> (u32, Option<Reply>) {
        let answer = self.ask(2, &submit(session, opcode, room), 8 + room);
        (Resp::from_bytes(&answer).unwrap().status, Reply::from_bytes(&answer[8..]))
    }

    /// Returns true if the device has notified a queue since the last check.
    pub fn was_called(&mut self, queue: usize) -> bool {
        let call = &mut self.queues[queue].call;
        let mut fds = libc::pollfd { fd: call.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the count of 1 matches the single `pollfd`, which outlives the call.
        let called = unsafe { libc::poll(&mut fds, 1, 0) } == 1;
        if called {
            call.read().unwrap();
        }
        called
    }
}

/// Returns a request that attaches a segment of `REGION` bytes as a session's ring.
pub fn ring_request(session: u32) -> RegionAttach {
    RegionAttach {
        hdr: Hdr { kind: uapi::CTRL_REGION_ATTACH, session },
        region: 1,
        kind: uapi::REGION_RING,
        vaddr: 0,
        len: REGION as u64,
        ring_bytes: RING as u32,
        nr_segments: 1,
    }
}

fn with_segments(request: RegionAttach, segments: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = request.as_bytes().to_vec();
    for (addr, len) in segments {
        bytes.extend(Segment { addr: *addr, len: *len }.as_bytes());
    }
    bytes
}

pub fn create(session: u32) -> Vec<u8> {
    create_with(session, b"")
}

pub fn create_with(session: u32, env: &[u8]) -> Vec<u8> {
    let hdr = Hdr { kind: uapi::CTRL_SESSION_CREATE, session };
    let create = uapi::SessionCreate { hdr, pid: std::process::id(), env_len: env.len() as u32 };
    [create.as_bytes(), env].concat()
}

pub fn submit(session: u32, opcode: u32, room: usize) -> Vec<u8> {
    let hdr = Hdr { kind: uapi::CMD_SUBMIT, session };
    let len = size_of::<Cmd>() as u32;
    let cmd = Cmd { len, opcode, flags: 1, reply_len: room as u32, ..Cmd::zeroed() };
    [hdr.as_bytes(), cmd.as_bytes()].concat()
}

/// A session's ring, as the guest process uses it.
pub struct SessionRing {
    pub session: u32,
    pub ring: GuestRing,
    /// The arena, which is contiguous because `map` restores the order of the pages.
    arena: *mut u8,
}

impl SessionRing {
    /// Maps the pages in the ring's order, as the guest driver does for its process.
    fn map(guest: &Guest, session: u32, offset: usize, pages: usize, ring_bytes: usize) -> Self {
        // SAFETY: the fixed mappings replace only pages of the new reservation.
        let base = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let (none, len) = (std::ptr::null_mut(), pages * 4096);
            let base = libc::mmap(none, len, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            for page in 0..pages {
                let at = base.byte_add(page * 4096);
                let from = offset + (pages - 1 - page) * 4096;
                let (flags, fd) = (libc::MAP_SHARED | libc::MAP_FIXED, guest.memory.as_raw_fd());
                let prot = libc::PROT_READ | libc::PROT_WRITE;
                assert_eq!(libc::mmap(at, 4096, prot, flags, fd, from as i64), at);
            }
            base.cast::<u8>()
        };
        // SAFETY: the pages were just mapped, and are never unmapped.
        let shared = unsafe { Shared::new(base, ring_bytes).unwrap() };
        Self { session, ring: GuestRing::new(shared), arena: base.wrapping_add(4096 + ring_bytes) }
    }

    /// Pushes a command. Returns true if the worker needs a doorbell.
    pub fn push(&mut self, opcode: u32, flags: u32, reply: u32, reply_len: u32) -> bool {
        let len = size_of::<Cmd>() as u32;
        let cmd = Cmd { len, opcode, flags, reply, reply_len, ..Cmd::zeroed() };
        // SAFETY: the slot is in the arena, because its offset is less than 0x8000. The caller
        // aligns it.
        unsafe { self.arena.wrapping_add(reply as usize % 0x8000).cast::<u32>().write_volatile(0) };
        self.ring.push(&[cmd.as_bytes()]).unwrap()
    }

    /// Pushes a call from the API table. A waited call's reply goes to offset 64 in the arena.
    /// Returns true if the worker needs a doorbell.
    pub fn push_call<'a, C: Call<'a>>(&mut self, ctx: u64, call: &C) -> Result<bool, Full> {
        let mut writer = Writer::new();
        call.encode(&mut writer);
        let args = writer.as_bytes();
        let cmd = Cmd {
            len: (size_of::<Cmd>() + args.len()) as u32,
            opcode: C::OPCODE,
            flags: if C::WAITED { uapi::CMD_WAITED } else { 0 },
            thread: 1,
            ctx,
            reply: 64,
            reply_len: 64,
        };
        // SAFETY: the slot is in the arena.
        unsafe { self.arena.wrapping_add(64).cast::<u32>().write_volatile(0) };
        self.ring.push(&[cmd.as_bytes(), args])
    }

    /// Sends a call once the ring has room, and asserts that it succeeds. Returns the first word
    /// after the reply's header, or 0 for a posted call.
    pub fn send<'a, C: Call<'a>>(&mut self, guest: &mut Guest, ctx: u64, call: &C) -> u64 {
        let mut doorbell = Err(Full);
        wait_for("room in the ring", || {
            doorbell = self.push_call(ctx, call);
            doorbell.is_ok()
        });
        if doorbell.unwrap() {
            assert_eq!(guest.doorbell(self.session), uapi::OK);
        }
        if !C::WAITED {
            return 0;
        }
        let mut reply = None;
        wait_for(C::NAME, || {
            reply = self.reply(64);
            reply.is_some()
        });
        let Reply { result, posted_error, .. } = reply.unwrap();
        assert_eq!((result, posted_error), (0, 0), "{}", C::NAME);
        // SAFETY: the reply has room for a word after its header, which the worker writes before
        // the state.
        unsafe { self.arena.wrapping_add(64 + size_of::<Reply>()).cast::<u64>().read_volatile() }
    }

    pub fn reply(&self, offset: usize) -> Option<Reply> {
        let slot = self.arena.wrapping_add(offset);
        // SAFETY: the slot is in the arena, which is mapped. The state is read before the rest.
        unsafe {
            let state = (*slot.cast::<std::sync::atomic::AtomicU32>()).load(Ordering::Acquire);
            (state == 1).then(|| slot.cast::<Reply>().read_volatile())
        }
    }

    /// Sends a waited command and returns its reply.
    pub fn call(&mut self, guest: &mut Guest, opcode: u32) -> Reply {
        if self.push(opcode, uapi::CMD_WAITED, 64, 64) {
            assert_eq!(guest.doorbell(self.session), uapi::OK);
        }
        let mut reply = None;
        wait_for("a reply", || {
            reply = self.reply(64);
            reply.is_some()
        });
        reply.unwrap()
    }
}
