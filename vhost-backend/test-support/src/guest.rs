//! A combined front end and guest driver.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use guest_transport::Mapping;
use guest_transport::virtqueue::{DESC_F_NEXT, DESC_F_WRITE, Descriptor, DriverQueue};
use protocol::plain::Plain;
use protocol::uapi::{self, Config, Event, Hdr, Hello, RegionAttach, Reply, Resp};
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use vmm_sys_util::eventfd::EventFd;

use crate::programs::wait_for;
use crate::requests::{create, ring_request, submit, with_segments};

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
/// Offset of the pages that tests may use freely.
pub const FREE: usize = 16 << 20;

/// A front end with 64 MiB of guest memory. It also acts as the guest's driver.
pub struct Guest {
    pub front: Frontend,
    mapping: Mapping,
    queues: Vec<Queue>,
    /// Whether VIRTIO_RING_F_EVENT_IDX is negotiated.
    event_idx: bool,
    pub(crate) memory: OwnedFd,
}

struct Queue {
    kick: EventFd,
    call: EventFd,
    /// Indices of free descriptors.
    free: Vec<u16>,
    ring: DriverQueue,
    /// Heads of returned chains that no caller has taken yet, with the number of bytes that the
    /// device wrote.
    back: Vec<(u16, u32)>,
}

/// Creates a file for guest memory. If it's sealed, it can't be made smaller.
fn guest_memory(sealed: bool) -> OwnedFd {
    // SAFETY: the name is a C string, nothing else owns the new descriptor, and fcntl and ftruncate
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

/// Returns the region for a memory table that contains only this memory.
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
            // SAFETY: the memory is new, so it's zeroed, and each queue has its own page.
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
        // Offer only half of the queue, so that tests can push invalid chains to the event queue,
        // too.
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

    /// Sends a memory table with memory that isn't sealed against shrinking. While the device
    /// processes the table, truncates that memory after about `after`, and kicks the command queue.
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

    /// Adds a file to the memory table at a guest-physical address, as a program without a VM does
    /// when it registers shared memory.
    pub fn share_file(&mut self, at: u64, file: &std::fs::File, len: u64) -> vhost::Result<()> {
        self.front.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        let shared = self.front.add_mem_region(&VhostUserMemoryRegionInfo {
            guest_phys_addr: at,
            memory_size: len,
            userspace_addr: at,
            mmap_offset: 0,
            mmap_handle: file.as_raw_fd(),
        });
        self.front.set_hdr_flags(VhostUserHeaderFlag::empty());
        shared.map(drop)
    }

    /// Sends a memory table with a region of many pages whose sealed file has only one page, and
    /// kicks a queue.
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

    /// Writes descriptors starting at index `head`, which doesn't have to be free, and makes the
    /// first one available. Kicks if the device has asked for it.
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

    /// Stops a queue and starts it again with empty rings.
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

    /// Takes the oldest chain that the device has returned, if any. Returns the number of bytes
    /// that the device wrote.
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
