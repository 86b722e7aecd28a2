//! A vhost-user front end that can send arbitrary messages, to act as a guest that violates the
//! protocol.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use protocol::plain::Plain;
use protocol::uapi::{self, Hdr, RegionAttach, Resp};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

/// Size of guest memory, which starts at guest-physical address 0.
pub const MEMORY: u64 = 64 << 20;
/// Guest-physical start of the memory that a test may use. Queues and requests are below it.
pub const FREE: u64 = 16 << 20;
/// Size of the ring in a region for one, in bytes.
pub const RING: u64 = 64 << 10;
/// Size of a region for a ring, with its header page and its arena, in bytes.
pub const REGION: u64 = 4096 + RING + (256 << 10);
const QUEUE_SIZE: u16 = 64;
/// The user address at which the front end claims to have mapped guest memory.
const USER_BASE: u64 = 0x10_0000_0000;
const NEXT: u16 = 1;
const WRITE: u16 = 2;

/// Returns a request that attaches a region of `REGION` bytes as a session's ring.
pub fn ring_request(session: u32) -> RegionAttach {
    RegionAttach {
        hdr: Hdr { kind: uapi::CTRL_REGION_ATTACH, session },
        region: 1,
        kind: uapi::REGION_RING,
        vaddr: 0,
        len: REGION,
        ring_bytes: RING as u32,
        nr_segments: 1,
    }
}

/// One descriptor of a split virtqueue.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Guest-physical address.
    pub addr: u64,
    /// Length in bytes.
    pub len: u32,
    /// Flags: VIRTQ_DESC_F_NEXT 1, WRITE 2, INDIRECT 4.
    pub flags: u16,
    /// Index of the next descriptor.
    pub next: u16,
}

/// A connected front end with three running queues.
pub struct FrontEnd {
    front_end: Frontend,
    memory: *mut u8,
    kicks: Vec<EventFd>,
    _calls: Vec<EventFd>,
    avail: [u16; 3],
    used: [u16; 3],
}

impl FrontEnd {
    /// Connects to the VM's socket and starts the queues, without sending HELLO.
    pub fn connect(socket: &Path) -> Self {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a zero-terminated constant.
        let fd = unsafe { libc::memfd_create(c"guest".as_ptr(), flags) };
        assert!(fd >= 0);
        // SAFETY: the descriptor is new, and nothing else owns it.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(MEMORY).unwrap();
        // Seal the memory. The device accepts memory that could shrink only if no other front end
        // is connected to its socket.
        // SAFETY: the descriptor is open, and fcntl takes no pointers here.
        let sealed = unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
        assert_eq!(sealed, 0);
        // SAFETY: this creates a new mapping, which is as long as the file.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                MEMORY as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(memory, libc::MAP_FAILED);
        let mut front_end = Frontend::connect(socket, 3).unwrap();
        front_end.set_owner().unwrap();
        let features = front_end.get_features().unwrap();
        let wanted = (1 << 32) | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
        front_end.set_features(features & wanted).unwrap();
        let offered = front_end.get_protocol_features().unwrap();
        front_end.set_protocol_features(offered & VhostUserProtocolFeatures::CONFIG).unwrap();
        front_end
            .set_mem_table(&[VhostUserMemoryRegionInfo {
                guest_phys_addr: 0,
                memory_size: MEMORY,
                userspace_addr: USER_BASE,
                mmap_offset: 0,
                mmap_handle: file.as_raw_fd(),
            }])
            .unwrap();
        let (mut kicks, mut calls) = (Vec::new(), Vec::new());
        for queue in 0..3 {
            let base = USER_BASE + Self::queue_at(queue);
            let (kick, call) = (EventFd::new(0).unwrap(), EventFd::new(0).unwrap());
            front_end.set_vring_num(queue, QUEUE_SIZE).unwrap();
            front_end
                .set_vring_addr(
                    queue,
                    &VringConfigData {
                        queue_max_size: QUEUE_SIZE,
                        queue_size: QUEUE_SIZE,
                        flags: 0,
                        desc_table_addr: base,
                        avail_ring_addr: base + 0x1000,
                        used_ring_addr: base + 0x2000,
                        log_addr: None,
                    },
                )
                .unwrap();
            front_end.set_vring_base(queue, 0).unwrap();
            front_end.set_vring_call(queue, &call).unwrap();
            front_end.set_vring_kick(queue, &kick).unwrap();
            front_end.set_vring_enable(queue, true).unwrap();
            kicks.push(kick);
            calls.push(call);
        }
        let memory = memory.cast();
        Self { front_end, memory, kicks, _calls: calls, avail: [0; 3], used: [0; 3] }
    }

    /// Sends HELLO with an epoch. Returns the status.
    pub fn hello(&mut self, epoch: u64) -> u32 {
        let hello = uapi::Hello {
            hdr: Hdr { kind: uapi::CTRL_HELLO, session: 0 },
            epoch,
            version_major: uapi::VERSION_MAJOR,
            version_minor: uapi::VERSION_MINOR,
            reserved: 0,
        };
        self.status(hello.as_bytes())
    }

    /// Creates a session without environment variables. Returns the status.
    pub fn create(&mut self, session: u32) -> u32 {
        let hdr = Hdr { kind: uapi::CTRL_SESSION_CREATE, session };
        self.status(uapi::SessionCreate { hdr, pid: 1, env_len: 0 }.as_bytes())
    }

    /// Attaches guest memory as a region. Returns the status.
    pub fn attach(&mut self, request: RegionAttach, segments: &[(u64, u64)]) -> u32 {
        let mut bytes = request.as_bytes().to_vec();
        for (addr, len) in segments {
            bytes.extend(uapi::Segment { addr: *addr, len: *len }.as_bytes());
        }
        self.status(&bytes)
    }

    /// Sends a request on the control queue and returns the status, or `u32::MAX` if there is no
    /// response within ten seconds.
    pub fn status(&mut self, request: &[u8]) -> u32 {
        let answer = self.ask(0, request, size_of::<Resp>());
        answer.and_then(|bytes| Resp::from_bytes(&bytes)).map_or(u32::MAX, |resp| resp.status)
    }

    /// Sends bytes with a buffer for the response, and waits for at most ten seconds.
    pub fn ask(&mut self, queue: usize, request: &[u8], room: usize) -> Option<Vec<u8>> {
        let at = Self::queue_at(queue) + 0x10_000;
        let answer_at = at + (request.len() as u64).next_multiple_of(16);
        self.write(at, request);
        self.write(answer_at, &vec![0xEE; room]);
        self.push(
            queue,
            &[
                Descriptor { addr: at, len: request.len() as u32, flags: NEXT, next: 1 },
                Descriptor { addr: answer_at, len: room as u32, flags: WRITE, next: 0 },
            ],
        );
        let written = self.pop(queue, Duration::from_secs(10))?;
        Some(self.read(answer_at, room.min(written as usize)))
    }

    /// Writes descriptors starting at index 0, makes the first one available, and kicks.
    pub fn push(&mut self, queue: usize, chain: &[Descriptor]) {
        self.push_at(queue, 0, chain);
    }

    /// Does the same as `push`, but writes the descriptors starting at index `head`, so that
    /// several chains can be in flight at once.
    pub fn push_at(&mut self, queue: usize, head: u16, chain: &[Descriptor]) {
        let base = Self::queue_at(queue);
        for (i, d) in (u64::from(head)..).zip(chain) {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&d.addr.to_le_bytes());
            bytes[8..12].copy_from_slice(&d.len.to_le_bytes());
            bytes[12..14].copy_from_slice(&d.flags.to_le_bytes());
            bytes[14..].copy_from_slice(&d.next.to_le_bytes());
            self.write(base + i * 16, &bytes);
        }
        let slot = u64::from(self.avail[queue] % QUEUE_SIZE);
        self.write(base + 0x1000 + 4 + slot * 2, &head.to_le_bytes());
        self.avail[queue] = self.avail[queue].wrapping_add(1);
        self.index(base + 0x1000 + 2).store(self.avail[queue], Ordering::SeqCst);
        self.kick(queue);
    }

    /// Notifies the device.
    pub fn kick(&self, queue: usize) {
        self.kicks[queue].write(1).unwrap();
    }

    /// Waits for a used buffer. Returns the number of bytes that the device reports as written.
    pub fn pop(&mut self, queue: usize, limit: Duration) -> Option<u32> {
        let base = Self::queue_at(queue) + 0x2000;
        let end = Instant::now() + limit;
        while self.index(base + 2).load(Ordering::SeqCst) == self.used[queue] {
            if Instant::now() > end {
                return None;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        let slot = u64::from(self.used[queue] % QUEUE_SIZE);
        self.used[queue] = self.used[queue].wrapping_add(1);
        let len = self.read(base + 4 + slot * 8 + 4, 4);
        Some(u32::from_le_bytes(len.try_into().expect("four bytes")))
    }

    /// Supplies a buffer for an event, and returns the next event.
    pub fn event(&mut self) -> Option<uapi::Event> {
        let at = Self::queue_at(1) + 0x10_000;
        self.push(1, &[Descriptor { addr: at, len: 16, flags: WRITE, next: 0 }]);
        self.pop(1, Duration::from_secs(10))?;
        uapi::Event::from_bytes(&self.read(at, 16))
    }

    /// Writes guest memory.
    pub fn write(&self, at: u64, bytes: &[u8]) {
        assert!(at + bytes.len() as u64 <= MEMORY);
        // SAFETY: the range is inside the mapping, which lives as long as `self`. Only the device
        // process accesses it at the same time, through its own mapping.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.memory.add(at as usize),
                bytes.len(),
            );
        }
    }

    /// Reads guest memory.
    pub fn read(&self, at: u64, len: usize) -> Vec<u8> {
        assert!(at + len as u64 <= MEMORY);
        let mut bytes = vec![0; len];
        // SAFETY: the same as in `write`.
        unsafe {
            std::ptr::copy_nonoverlapping(self.memory.add(at as usize), bytes.as_mut_ptr(), len);
        }
        bytes
    }

    /// Returns the vhost-user connection.
    pub fn connection(&mut self) -> &mut Frontend {
        &mut self.front_end
    }

    fn index(&self, at: u64) -> &AtomicU16 {
        // SAFETY: the address is even and inside the mapping. The device may write to it, but both
        // sides use atomics.
        unsafe { &*self.memory.add(at as usize).cast() }
    }

    const fn queue_at(queue: usize) -> u64 {
        queue as u64 * (4 << 20)
    }
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        // SAFETY: `connect` created the mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), MEMORY as usize) };
    }
}
