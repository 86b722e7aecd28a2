//! Sends the vhost-user messages that cloud-hypervisor 53 sends to a generic device to
//! vhost-device-cuda with softgpu, in the same order and with the same library: feature
//! negotiation, config space reads, added memory, pause, resume, and reset.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use protocol::plain::Plain;
use protocol::uapi::{self, Hdr};
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags,
    VhostUserHeaderFlag, VhostUserProtocolFeatures, VhostUserVirtioFeatures,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

/// The feature bits that cloud-hypervisor passes on: INDIRECT_DESC, EVENT_IDX, VERSION_1, IN_ORDER,
/// ORDER_PLATFORM, NOTIFICATION_DATA, LOG_ALL, and PROTOCOL_FEATURES. It clears bits 0 to 23.
const FEATURES: u64 = 1 << 28 | 1 << 29 | 1 << 32 | 1 << 35 | 1 << 36 | 1 << 38 | 1 << 26 | 1 << 30;
const QUEUES: usize = 3;
const QUEUE_SIZE: u16 = 256;
const LIMIT: Duration = Duration::from_secs(60);

/// Size of each memory region in bytes.
const REGION: u64 = 32 << 20;
/// Guest-physical start addresses of the regions: one below the device gap, and one above it, where
/// hot-plugged memory is placed.
const STARTS: [u64; 2] = [0, 4 << 30];

/// `vhost-device-cuda` with softgpu, from the same build as this test.
struct Device {
    child: Child,
    folder: tempfile::TempDir,
}

impl Device {
    fn start() -> Device {
        let folder = tempfile::tempdir().unwrap();
        let built = built();
        let child = Command::new(built.join("vhost-device-cuda"))
            .arg("--socket-path")
            .arg(folder.path().join("socket"))
            .arg("--driver-library")
            .arg(built.join("libsoftgpu.so"))
            .args(["--memory-max", "1G", "--sessions-max", "4"])
            .stdin(Stdio::null())
            .stderr(File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let device = Device { child, folder };
        device.until("a socket", || device.socket().exists());
        device
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn until(&self, what: &str, done: impl Fn() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(
                start.elapsed() < LIMIT,
                "timed out waiting for {what}; the device's log:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until `count` front ends have disconnected.
    fn gone(&self, count: usize) {
        let disconnected = || self.log().matches("front end disconnected").count();
        self.until("end of a connection", || disconnected() == count);
        // The device can accept the next front end after the threads that served this one have
        // exited, which is shortly after the device logs the disconnection.
        std::thread::sleep(Duration::from_millis(300));
    }

    /// Returns the number of sessions whose worker has ended.
    fn ended(&self) -> usize {
        self.log().matches("workers: session ended").count()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: kill takes no pointers. The child hasn't been reaped, so its pid is valid.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let _ = self.child.wait();
    }
}

/// Returns the directory of the built programs. This test is in its subdirectory `deps`.
fn built() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let folder = exe.ancestors().nth(2).unwrap().to_path_buf();
    let programs = [
        "vcudad",
        "vhost-cuda-spawner",
        "vhost-cuda-supervisor",
        "vhost-cuda-worker",
        "vhost-device-cuda",
    ];
    for name in programs.into_iter().chain(["libsoftgpu.so"]) {
        let path = folder.join(name);
        assert!(path.exists(), "{} is missing: cargo build --workspace", path.display());
    }
    folder
}

/// A region of guest memory.
struct Memory {
    file: File,
    base: *mut u8,
    start: u64,
}

impl Memory {
    fn new(start: u64) -> Memory {
        // SAFETY: the name is a zero-terminated constant.
        let fd = unsafe { libc::memfd_create(c"ch".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(fd >= 0);
        // SAFETY: the descriptor is new, and nothing else owns it.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(REGION).unwrap();
        // SAFETY: this creates a new mapping, which is as long as the file.
        let base = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let none = std::ptr::null_mut();
            libc::mmap(none, REGION as usize, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(base, libc::MAP_FAILED);
        Memory { file, base: base.cast(), start }
    }

    fn info(&self) -> VhostUserMemoryRegionInfo {
        VhostUserMemoryRegionInfo {
            guest_phys_addr: self.start,
            memory_size: REGION,
            userspace_addr: self.base as u64,
            mmap_offset: 0,
            mmap_handle: self.file.as_raw_fd(),
        }
    }

    fn bytes(&self, at: u64, len: usize) -> *mut u8 {
        assert!(at + len as u64 <= REGION);
        // SAFETY: the address is inside the mapping, as checked above.
        unsafe { self.base.add(at as usize) }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        // SAFETY: `self.bytes` has checked the range. Only another process accesses it at the same
        // time.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.bytes(at, bytes.len()), bytes.len()) }
    }

    fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        // SAFETY: `self.bytes` has checked the range. Only another process accesses it at the same
        // time.
        unsafe { std::ptr::copy(self.bytes(at, len), bytes.as_mut_ptr(), len) };
        bytes
    }

    fn index(&self, at: u64) -> &AtomicU16 {
        // SAFETY: the address is even and inside the mapping, and both sides access it atomically.
        unsafe { AtomicU16::from_ptr(self.bytes(at, 2).cast()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `new` created the mapping, and nothing uses it any more.
        unsafe { libc::munmap(self.base.cast(), REGION as usize) };
    }
}

/// Acts as cloud-hypervisor and as the driver in its guest.
struct Vmm {
    front_end: Frontend,
    acked: u64,
    protocol: VhostUserProtocolFeatures,
    memory: Vec<Memory>,
    kicks: Vec<EventFd>,
    calls: Vec<EventFd>,
    avail: [u16; QUEUES],
    used: [u16; QUEUES],
}

impl Vmm {
    /// Does what `GenericVhostUser::new` in cloud-hypervisor does before the guest runs.
    fn connect(socket: &Path) -> Vmm {
        // cloud-hypervisor retries for a minute if the connection is lost immediately.
        let start = Instant::now();
        let (mut front_end, offered) = loop {
            let front_end = Frontend::connect(socket, QUEUES as u64).unwrap();
            match front_end.set_owner().and_then(|()| front_end.get_features()) {
                Ok(features) => break (front_end, features),
                Err(error) => assert!(start.elapsed() < LIMIT, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let acked = offered & FEATURES;
        assert_ne!(acked & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits(), 0);
        let wanted = VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::INFLIGHT_SHMFD
            | VhostUserProtocolFeatures::LOG_SHMFD
            | VhostUserProtocolFeatures::DEVICE_STATE
            | VhostUserProtocolFeatures::BACKEND_REQ;
        let protocol = front_end.get_protocol_features().unwrap() & wanted;
        front_end.set_protocol_features(protocol).unwrap();
        if protocol.contains(VhostUserProtocolFeatures::REPLY_ACK) {
            front_end.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        }
        if protocol.contains(VhostUserProtocolFeatures::MQ) {
            assert!(front_end.get_queue_num().unwrap() >= QUEUES as u64);
        }
        let eventfds = || (0..QUEUES).map(|_| EventFd::new(libc::EFD_NONBLOCK).unwrap()).collect();
        Vmm {
            front_end,
            acked,
            protocol,
            memory: vec![Memory::new(STARTS[0])],
            kicks: eventfds(),
            calls: eventfds(),
            avail: [0; QUEUES],
            used: [0; QUEUES],
        }
    }

    /// Does what `setup_vhost_user` does when the guest's driver has set DRIVER_OK.
    fn activate(&mut self) {
        self.front_end.set_features(self.acked).unwrap();
        let regions: Vec<_> = self.memory.iter().map(Memory::info).collect();
        self.front_end.set_mem_table(&regions).unwrap();
        for queue in 0..QUEUES {
            self.front_end.set_vring_num(queue, QUEUE_SIZE).unwrap();
        }
        for queue in 0..QUEUES {
            let base = self.memory[0].base as u64 + Self::queue_at(queue);
            let config = VringConfigData {
                queue_max_size: QUEUE_SIZE,
                queue_size: QUEUE_SIZE,
                flags: 0,
                desc_table_addr: base,
                avail_ring_addr: base + 0x2000,
                used_ring_addr: base + 0x3000,
                log_addr: None,
            };
            self.front_end.set_vring_addr(queue, &config).unwrap();
            // cloud-hypervisor reads the avail index from guest memory.
            self.front_end.set_vring_base(queue, self.avail[queue]).unwrap();
            self.front_end.set_vring_call(queue, &self.calls[queue]).unwrap();
            self.front_end.set_vring_kick(queue, &self.kicks[queue]).unwrap();
        }
        self.enable(true);
    }

    fn enable(&mut self, enable: bool) {
        for queue in 0..QUEUES {
            self.front_end.set_vring_enable(queue, enable).unwrap();
        }
    }

    /// Does what `reset_vhost_user` does when the guest's driver has written 0 to the status.
    fn reset(&mut self) {
        for queue in 0..QUEUES {
            self.front_end.set_vring_enable(queue, false).unwrap();
            let base = self.front_end.get_vring_base(queue).unwrap();
            assert_eq!(base, u32::from(self.avail[queue]), "queue {queue} has consumed everything");
        }
        // When the driver starts again, it sets up new rings.
        self.avail = [0; QUEUES];
        self.used = [0; QUEUES];
        let rings = vec![0; Self::queue_at(QUEUES) as usize];
        self.memory[0].write(0, &rings);
    }

    /// Does what `read_config` does. cloud-hypervisor exits if that fails, so it must succeed.
    fn config(&mut self, offset: u32, len: usize) -> Vec<u8> {
        let buffer = vec![0; len];
        let flags = VhostUserConfigFlags::empty();
        let answer = self.front_end.get_config(offset, len as u32, flags, &buffer);
        answer.unwrap_or_else(|error| panic!("config {offset}+{len}: {error}")).1
    }

    fn queue_at(queue: usize) -> u64 {
        queue as u64 * 0x10_000
    }

    /// Puts a request and a buffer for its response on a queue, and kicks the queue.
    fn push(&mut self, queue: usize, request: &[u8]) {
        let ring = Self::queue_at(queue);
        let (at, answer) = (ring + 0x4000, ring + 0x8000);
        self.memory[0].write(at, request);
        self.memory[0].write(answer, &[0xee; 8]);
        let descriptor = |addr: u64, len: u32, flags: u16, next: u16| {
            let mut bytes = addr.to_le_bytes().to_vec();
            bytes.extend(len.to_le_bytes());
            bytes.extend(flags.to_le_bytes());
            bytes.extend(next.to_le_bytes());
            bytes
        };
        self.memory[0].write(ring, &descriptor(at, request.len() as u32, 1, 1));
        self.memory[0].write(ring + 16, &descriptor(answer, 8, 2, 0));
        let slot = u64::from(self.avail[queue] % QUEUE_SIZE);
        self.memory[0].write(ring + 0x2004 + 2 * slot, &0u16.to_le_bytes());
        self.avail[queue] = self.avail[queue].wrapping_add(1);
        self.memory[0].index(ring + 0x2002).store(self.avail[queue], Ordering::SeqCst);
        self.kicks[queue].write(1).unwrap();
    }

    /// Waits for the response to the last request and returns its status.
    fn pop(&mut self, queue: usize, limit: Duration) -> Option<u32> {
        let ring = Self::queue_at(queue);
        let start = Instant::now();
        while self.memory[0].index(ring + 0x3002).load(Ordering::SeqCst) == self.used[queue] {
            if start.elapsed() > limit {
                return None;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        self.used[queue] = self.used[queue].wrapping_add(1);
        let status = self.memory[0].read(ring + 0x8000, 4);
        Some(u32::from_le_bytes(status.try_into().unwrap()))
    }

    fn ask(&mut self, request: &[u8]) -> u32 {
        self.push(0, request);
        self.pop(0, LIMIT).expect("a response")
    }

    fn hello(&mut self, epoch: u64) -> u32 {
        let hello = uapi::Hello {
            hdr: Hdr { kind: uapi::CTRL_HELLO, session: 0 },
            epoch,
            version_major: uapi::VERSION_MAJOR,
            version_minor: uapi::VERSION_MINOR,
            reserved: 0,
        };
        self.ask(hello.as_bytes())
    }

    fn create(&mut self, session: u32) -> u32 {
        self.ask(create(session).as_bytes())
    }

    fn destroy(&mut self, session: u32) -> u32 {
        let hdr = Hdr { kind: uapi::CTRL_SESSION_DESTROY, session };
        self.ask(uapi::SessionDestroy { hdr }.as_bytes())
    }

    /// Attaches a session's ring at a guest-physical address.
    fn attach(&mut self, session: u32, addr: u64) -> u32 {
        let len = 1 << 20;
        let attach = uapi::RegionAttach {
            hdr: Hdr { kind: uapi::CTRL_REGION_ATTACH, session },
            region: 1,
            kind: uapi::REGION_RING,
            vaddr: 0,
            len,
            ring_bytes: 64 << 10,
            nr_segments: 1,
        };
        let mut bytes = attach.as_bytes().to_vec();
        bytes.extend(uapi::Segment { addr, len }.as_bytes());
        self.ask(&bytes)
    }
}

fn create(session: u32) -> uapi::SessionCreate {
    let hdr = Hdr { kind: uapi::CTRL_SESSION_CREATE, session };
    uapi::SessionCreate { hdr, pid: 1, env_len: 0 }
}

#[test]
fn test_the_masked_feature_bits_are_enough() {
    let device = Device::start();
    let mut vmm = Vmm::connect(&device.socket());
    // The bits that cloud-hypervisor passes on include those that the device needs, and the device
    // offers no feature bit below 24, which would be masked.
    assert_ne!(vmm.acked & (1 << 32), 0, "VERSION_1");
    let offered = vmm.front_end.get_features().unwrap();
    assert_eq!(offered & 0xff_ffff, 0, "device feature bits are masked by some VMMs");
    assert!(vmm.protocol.contains(VhostUserProtocolFeatures::CONFIG));
    assert!(vmm.protocol.contains(VhostUserProtocolFeatures::REPLY_ACK));
    vmm.activate();
    assert_eq!(vmm.hello(1), uapi::OK);
    assert_eq!(vmm.create(7), uapi::OK);
    assert_eq!(vmm.create(7), uapi::ERR_EXISTS);
    assert_eq!(vmm.attach(7, 16 << 20), uapi::OK);
    assert_eq!(vmm.destroy(7), uapi::OK);
}

#[test]
fn test_every_config_access_is_answered() {
    let device = Device::start();
    let mut vmm = Vmm::connect(&device.socket());
    let whole = vmm.config(0, uapi_config_size());
    let config = uapi::Config::from_bytes(&whole).unwrap();
    assert_eq!((config.magic, config.version_major), (uapi::MAGIC, uapi::VERSION_MAJOR));
    assert_eq!(config.max_sessions, 4);
    // A guest may read any number of bytes of the config space, before and after the queues are
    // started.
    for activate in [false, true] {
        if activate {
            vmm.activate();
        }
        for len in [1, 2, 4, 8] {
            for offset in (0..whole.len()).step_by(len) {
                let got = vmm.config(offset as u32, len);
                assert_eq!(got, whole[offset..offset + len], "{offset}+{len}");
            }
        }
        // Bytes beyond the device's config space read as zeros. The device must not return an
        // error, because cloud-hypervisor exits on one.
        assert_eq!(vmm.config(uapi_config_size() as u32, 4), [0; 4]);
        assert_eq!(vmm.config(252, 4), [0; 4]);
    }
    // A write to the config space succeeds and changes nothing.
    let write = VhostUserConfigFlags::WRITABLE;
    vmm.front_end.set_config(0, write, &[0xff; 4]).unwrap();
    assert_eq!(vmm.config(0, uapi_config_size()), whole);
}

fn uapi_config_size() -> usize {
    size_of::<uapi::Config>()
}

#[test]
fn test_memory_added_later_can_be_attached() {
    let device = Device::start();
    let mut vmm = Vmm::connect(&device.socket());
    vmm.activate();
    assert_eq!(vmm.hello(1), uapi::OK);
    assert_eq!(vmm.create(1), uapi::OK);
    let addr = STARTS[1] + (8 << 20);
    assert_eq!(vmm.attach(1, addr), uapi::ERR_MEMORY, "there is no memory yet");
    // `add_memory_region` adds one region if the device offers slots; otherwise, it sends the whole
    // table.
    vmm.memory.push(Memory::new(STARTS[1]));
    if vmm.protocol.contains(VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS) {
        vmm.front_end.add_mem_region(&vmm.memory[1].info()).unwrap();
    } else {
        let regions: Vec<_> = vmm.memory.iter().map(Memory::info).collect();
        vmm.front_end.set_mem_table(&regions).unwrap();
    }
    assert_eq!(vmm.attach(1, addr), uapi::OK);
    // The first memory region still works.
    assert_eq!(vmm.create(2), uapi::OK);
    assert_eq!(vmm.attach(2, 16 << 20), uapi::OK);
    assert_eq!(vmm.destroy(1), uapi::OK);
    assert_eq!(vmm.destroy(2), uapi::OK);
}

#[test]
fn test_pause_stops_the_queues_without_ending_sessions() {
    let device = Device::start();
    let mut vmm = Vmm::connect(&device.socket());
    vmm.activate();
    assert_eq!(vmm.hello(1), uapi::OK);
    assert_eq!(vmm.create(1), uapi::OK);
    assert_eq!(vmm.attach(1, 16 << 20), uapi::OK);
    for round in 0..3 {
        vmm.enable(false);
        // The guest's last kick may still arrive after its CPUs have stopped.
        let before = vmm.memory[0].read(0, Vmm::queue_at(QUEUES) as usize);
        vmm.push(0, create(10 + round).as_bytes());
        let pushed = vmm.memory[0].read(0, Vmm::queue_at(QUEUES) as usize);
        assert_eq!(
            vmm.pop(0, Duration::from_millis(300)),
            None,
            "a stopped queue must not serve requests"
        );
        let after = vmm.memory[0].read(0, Vmm::queue_at(QUEUES) as usize);
        assert!(before != pushed && pushed == after, "a stopped queue must not write to memory");
        vmm.enable(true);
        assert_eq!(
            vmm.pop(0, LIMIT),
            Some(uapi::OK),
            "the waiting request was not served; log:\n{}",
            device.log()
        );
        assert_eq!(vmm.destroy(10 + round), uapi::OK);
    }
    assert_eq!(vmm.create(1), uapi::ERR_EXISTS, "the session still exists");
    assert_eq!(vmm.destroy(1), uapi::OK);
}

#[test]
fn test_reset_stops_the_queues_and_a_new_driver_starts_over() {
    let device = Device::start();
    let mut vmm = Vmm::connect(&device.socket());
    for epoch in 1..4 {
        vmm.activate();
        assert_eq!(vmm.hello(epoch), uapi::OK);
        // The reset has ended the previous driver's session, so its id is free.
        assert_eq!(vmm.create(1), uapi::OK);
        assert_eq!(vmm.attach(1, 16 << 20), uapi::OK);
        vmm.reset();
        // The config space can be read even while no driver is active.
        assert_eq!(vmm.config(0, 4), uapi::MAGIC.to_le_bytes());
    }
    vmm.activate();
    assert_eq!(vmm.hello(4), uapi::OK);
    device.until("end of the three sessions", || device.ended() >= 3);
}

#[test]
fn test_device_state_is_not_offered_and_refused() {
    let device = Device::start();
    let mut vmm = Vmm::connect(&device.socket());
    for feature in [
        VhostUserProtocolFeatures::DEVICE_STATE,
        VhostUserProtocolFeatures::LOG_SHMFD,
        VhostUserProtocolFeatures::INFLIGHT_SHMFD,
    ] {
        assert!(!vmm.protocol.contains(feature), "offering {feature:?} would promise migration");
    }
    vmm.activate();
    assert_eq!(vmm.hello(1), uapi::OK);
    // The front end's library refuses to send a message whose feature wasn't negotiated.
    let (_ours, theirs) = UnixStream::pair().unwrap();
    let save = VhostTransferStateDirection::SAVE;
    let stopped = VhostTransferStatePhase::STOPPED;
    let fd: OwnedFd = theirs.into();
    vmm.front_end.set_device_state_fd(save, stopped, fd).unwrap_err();
    assert_eq!(vmm.create(1), uapi::OK, "the device still works");

    // A front end that sends such a message anyway gets an error or is disconnected, and the device
    // serves the next front end. First drop the earlier front end, because a VMM whose memory isn't
    // sealed has exclusive use of the device.
    assert_eq!(vmm.destroy(1), uapi::OK);
    drop(vmm);
    device.gone(1);
    let mut rude = UnixStream::connect(device.socket()).unwrap();
    rude.set_read_timeout(Some(LIMIT)).unwrap();
    let (request, version_1_need_reply) = (42u32, 1u32 | 1 << 3);
    let mut message = Vec::new();
    for word in [request, version_1_need_reply, 8, 0, 0] {
        message.extend(word.to_le_bytes());
    }
    rude.write_all(&message).unwrap();
    let mut answer = [0; 20];
    match std::io::Read::read(&mut rude, &mut answer) {
        Ok(0) | Err(_) => {}
        Ok(len) => {
            assert!(len >= 20, "the reply has only {len} bytes");
            assert_ne!(answer[12..20], [0; 8], "SET_DEVICE_STATE_FD was reported as successful");
        }
    }
    drop(rude);
    device.gone(2);
    let mut other = Vmm::connect(&device.socket());
    other.activate();
    assert_eq!(other.hello(1), uapi::OK);
}

#[test]
fn test_disconnecting_ends_the_sessions() {
    let device = Device::start();
    for round in 1..=3 {
        let mut vmm = Vmm::connect(&device.socket());
        vmm.activate();
        assert_eq!(vmm.hello(1), uapi::OK);
        assert_eq!(vmm.create(1), uapi::OK);
        assert_eq!(vmm.attach(1, 16 << 20), uapi::OK);
        drop(vmm);
        device.until("end of the session", || device.ended() == round);
    }
}
