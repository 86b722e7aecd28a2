//! A vhost-user front end in the program's own process, for using the device without a VM (similar
//! to DPDK's virtio-user). The process acts as the guest, the guest driver, and the VMM.

use super::events::Events;
use super::memory::{GuestMemory, PAGE, Pages};
use super::queue::SplitQueue;
use super::requests::{Requests, Signals};
use super::shared_files::MemoryTable;
use super::user_pages::UserPages;
use crate::copiers;
use crate::error::TransportError;
use crate::facts::Snapshot;
use crate::mapping::Mapping;
use crate::mapping::{map_fixed, reserve_fixed};
use crate::refusal::Request;
use crate::transport::{BUSY_TRIES, Fork, Started, Transport, check_config};
use parking_lot::Mutex;
use protocol::plain::Plain;
use protocol::uapi::{
    CAP_FILES, CAP_PINNED, CAP_QUERY, CAP_RING, CAP_USER, CMD_DOORBELL, CMD_SUBMIT, CTRL_HELLO,
    CTRL_QUERY, CTRL_REGION_ATTACH, CTRL_REGION_DETACH, CTRL_SESSION_CREATE, Config, ENV_MAX,
    ERR_BUSY, Event, Hdr, Hello, NUM_QUEUES, QUERY_MAX, QUEUE_COMMAND, QUEUE_CONTROL, QUEUE_EVENT,
    Query, REGION_PINNED, REGION_RING, REGION_USER, RING_HEADER_BYTES, RegionAttach, RegionDetach,
    Resp, Segment, SessionCreate, VERSION_MAJOR, VERSION_MINOR,
};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures, VhostUserVirtioFeatures,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};

const VIRTIO_F_VERSION_1: u64 = 1 << 32;
/// The start of the user addresses that are sent to the back end, which uses them only to find the
/// queues.
const USER_BASE: u64 = 0x4000_0000_0000;
/// The session's id. Each connection has only one session.
const SESSION: u32 = 1;
/// Maximum length of a command sent over the command queue. The library never sends longer commands
/// over this queue.
const PLAIN_COMMAND: u32 = 1 << 20;
/// Buffer size for the reply to a command sent over the command queue.
const PLAIN_REPLY: usize = 256 << 10;

/// The pages of an attached region.
enum Region {
    /// Pages of guest memory that belong to the region alone.
    Own { offset: u64, len: usize },
    /// The program's pages.
    User { vaddr: usize, len: usize },
}

/// A connection to a device process.
pub struct VhostUser {
    memory: GuestMemory,
    control: Requests,
    command: Requests,
    events: Events,
    config: Config,
    regions: Mutex<HashMap<u32, Region>>,
    user_pages: UserPages,
    next_region: AtomicU32,
    socket: i32,
    /// Keeps the connection open. The session ends when it closes.
    front_end: Mutex<Frontend>,
}

fn failed(what: &'static str) -> impl Fn(vhost::Error) -> TransportError {
    move |source| TransportError::VhostUser { what, source }
}

/// Returns the size of guest memory, which is as large as the machine's memory. Unused pages don't
/// take up any memory.
fn memory_size() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, page) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    (pages.max(0) as u64 * page.max(0) as u64).max(1 << 30)
}

impl VhostUser {
    /// Connects to a device process, negotiates features, and starts the queues.
    pub fn connect(path: PathBuf) -> Result<Self, TransportError> {
        let stream = UnixStream::connect(&path)
            .map_err(|source| TransportError::Connect { path: path.clone(), source })?;
        let mut front_end = Frontend::from_stream(stream, NUM_QUEUES as u64);
        let socket = front_end.as_raw_fd();
        let mut config = negotiate(&mut front_end, &path)?;
        config.max_plain = config.max_plain.min(PLAIN_COMMAND);

        let memory = GuestMemory::new(memory_size())?;
        let request = size_of::<RegionAttach>() + 16 + ENV_MAX;
        let plain = size_of::<Hdr>() + config.max_plain as usize;
        let control = SplitQueue::new(&memory, 16, request, size_of::<Resp>() + QUERY_MAX)?;
        let event = SplitQueue::new(&memory, 64, 0, size_of::<Event>())?;
        let command = SplitQueue::new(&memory, 64, plain, size_of::<Resp>() + PLAIN_REPLY)?;
        let control = Requests::new(control, Signals::new(socket)?);
        let events = Events::new(event, Signals::new(socket)?);
        let command = Requests::new(command, Signals::new(socket)?);

        front_end
            .set_mem_table(&[VhostUserMemoryRegionInfo {
                guest_phys_addr: 0,
                memory_size: memory.len(),
                userspace_addr: USER_BASE,
                mmap_offset: 0,
                mmap_handle: memory.fd(),
            }])
            .map_err(failed("SET_MEM_TABLE"))?;
        let mut start = |index, queue: &SplitQueue, signals: &Signals| {
            queue.start(&mut front_end, index, USER_BASE, (&signals.kick, &signals.call))
        };
        control.with_queue(|queue, signals| start(QUEUE_CONTROL, queue, signals))?;
        events.with_queue(|queue, signals| start(QUEUE_EVENT, queue, signals))?;
        command.with_queue(|queue, signals| start(QUEUE_COMMAND, queue, signals))?;
        events.fill();

        let transport = Self {
            memory,
            control,
            command,
            events,
            config,
            regions: Mutex::new(HashMap::new()),
            user_pages: UserPages::default(),
            next_region: AtomicU32::new(1),
            socket,
            front_end: Mutex::new(front_end),
        };
        transport.hello()?;
        Ok(transport)
    }

    fn hello(&self) -> Result<(), TransportError> {
        let mut epoch = [0; 8];
        // SAFETY: the buffer is `epoch.len()` bytes long.
        unsafe { libc::getrandom(epoch.as_mut_ptr().cast(), epoch.len(), 0) };
        let hello = Hello {
            hdr: Hdr { kind: CTRL_HELLO, session: 0 },
            epoch: u64::from_le_bytes(epoch),
            version_major: VERSION_MAJOR,
            version_minor: VERSION_MINOR,
            reserved: 0,
        };
        self.control.ask("HELLO", &[hello.as_bytes()], &mut []).map(drop)
    }

    /// Explains a refusal by the host.
    fn explained(&self, error: TransportError, request: Request) -> TransportError {
        error
            .explained(request, &self.config)
            .with_limits_of_host(|| Snapshot::process_limits_of(self))
    }

    /// Attaches pages of guest memory as a region. Returns the region's id.
    fn attach(
        &self,
        kind: u32,
        vaddr: usize,
        segments: &[Segment],
        ring_bytes: u32,
    ) -> Result<u32, TransportError> {
        let region = self.next_region.fetch_add(1, Ordering::Relaxed);
        let request = RegionAttach {
            hdr: Hdr { kind: CTRL_REGION_ATTACH, session: SESSION },
            region,
            kind,
            vaddr: vaddr as u64,
            len: segments.iter().map(|segment| segment.len).sum(),
            ring_bytes,
            nr_segments: segments.len() as u32,
        };
        let parts = std::iter::once(request.as_bytes());
        let parts: Vec<_> = parts.chain(segments.iter().map(Segment::as_bytes)).collect();
        let attached = self.control.ask("to attach pages", &parts, &mut []);
        attached.map_err(|error| self.explained(error, Request::Region))?;
        Ok(region)
    }

    /// Sends a message to the device and waits until the device has processed it. Without waiting,
    /// a later request in the control queue could overtake the message.
    fn acknowledged(
        &self,
        send: impl FnOnce(&mut Frontend) -> vhost::Result<()>,
    ) -> Result<(), TransportError> {
        let mut front_end = self.front_end.lock();
        front_end.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        let sent = send(&mut front_end);
        front_end.set_hdr_flags(VhostUserHeaderFlag::empty());
        sent.map_err(failed("sharing a file"))
    }

    /// Records that a region owns pages, which are freed when the region is released.
    fn keep(&self, region: u32, pages: Pages<'_>) {
        let (offset, len) = pages.keep();
        self.regions.lock().insert(region, Region::Own { offset, len });
    }
}

/// The maximum length in bytes of pinned memory whose pages this process allocates. The worker
/// allocates the pages of longer memory, so that the host's limits apply to them.
const PREFAULT_MAX: usize = 1 << 30;
/// The length in bytes of the slices in which several threads allocate pages.
const PREFAULT_SLICE: usize = 1 << 20;

/// Allocates the pages of new pinned memory. Several threads in this process do that faster than
/// the worker's single thread, which then only has to map the pages.
fn prefault(vaddr: usize, len: usize) {
    if len > PREFAULT_MAX {
        return;
    }
    copiers::each_slice(len, PREFAULT_SLICE, &|job| {
        let start = vaddr + job.from;
        for page in (start..start + job.len).step_by(PAGE) {
            // SAFETY: the memory is mapped, contains zeros, and isn't in use yet.
            unsafe { (page as *mut u8).write_volatile(0) };
        }
    });
}

fn negotiate(front_end: &mut Frontend, path: &Path) -> Result<Config, TransportError> {
    front_end.set_owner().map_err(failed("SET_OWNER"))?;
    let offered = front_end.get_features().map_err(failed("GET_FEATURES"))?;
    let wanted = VIRTIO_F_VERSION_1 | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
    if offered & wanted != wanted {
        return Err(TransportError::Unsupported { what: "virtio 1 over vhost-user" });
    }
    front_end.set_features(wanted).map_err(failed("SET_FEATURES"))?;
    let offered = front_end.get_protocol_features().map_err(failed("GET_PROTOCOL_FEATURES"))?;
    if !offered.contains(VhostUserProtocolFeatures::CONFIG) {
        return Err(TransportError::Unsupported { what: "a config space over vhost-user" });
    }
    let wanted = VhostUserProtocolFeatures::CONFIG
        | VhostUserProtocolFeatures::MQ
        | VhostUserProtocolFeatures::REPLY_ACK
        | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS;
    front_end.set_protocol_features(offered & wanted).map_err(failed("SET_PROTOCOL_FEATURES"))?;
    let empty = [0; size_of::<Config>()];
    let (_, bytes) = front_end
        .get_config(0, empty.len() as u32, VhostUserConfigFlags::empty(), &empty)
        .map_err(failed("GET_CONFIG"))?;
    let config = Config::from_bytes(&bytes)
        .ok_or(TransportError::Unsupported { what: "the 64-byte config space" })?;
    check_config(path, config)
}

impl MemoryTable for VhostUser {
    fn add(&self, at: u64, len: u64, fd: RawFd) -> Result<(), TransportError> {
        if self.config.capabilities & CAP_FILES == 0 {
            return Err(TransportError::Unsupported { what: "registering shared memory" });
        }
        let file = VhostUserMemoryRegionInfo { mmap_handle: fd, ..shared_file(at, len) };
        self.acknowledged(|front_end| front_end.add_mem_region(&file).map(drop))
    }

    fn remove(&self, at: u64, len: u64) -> Result<(), TransportError> {
        self.acknowledged(|front_end| front_end.remove_mem_region(&shared_file(at, len)))
    }
}

fn shared_file(at: u64, len: u64) -> VhostUserMemoryRegionInfo {
    VhostUserMemoryRegionInfo {
        guest_phys_addr: at,
        memory_size: len,
        userspace_addr: at,
        mmap_offset: 0,
        mmap_handle: -1,
    }
}

impl Transport for VhostUser {
    fn config(&self) -> Config {
        self.config
    }

    fn start(
        &self,
        env: &[u8],
        ring_bytes: u32,
        arena_bytes: u64,
    ) -> Result<Started, TransportError> {
        if self.config.capabilities & CAP_RING == 0 {
            return Err(TransportError::Unsupported { what: "stream rings" });
        }
        let create = SessionCreate {
            hdr: Hdr { kind: CTRL_SESSION_CREATE, session: SESSION },
            pid: std::process::id(),
            env_len: env.len() as u32,
        };
        let created = self.control.ask("a session", &[create.as_bytes(), env], &mut []);
        created.map_err(|error| self.explained(error, Request::Session))?;
        let len = RING_HEADER_BYTES + ring_bytes as usize + arena_bytes as usize;
        let pages = self.memory.allocate(len)?;
        let region = Mapping::shared(self.memory.fd(), pages.offset, pages.len)?;
        let ring = self.attach(REGION_RING, 0, &[pages.segment()], ring_bytes)?;
        self.keep(ring, pages);
        Ok(Started { region, session: SESSION })
    }

    fn alloc_pinned(&self, vaddr: usize, len: usize) -> Result<u32, TransportError> {
        if self.config.capabilities & CAP_PINNED == 0 {
            return Err(TransportError::Unsupported { what: "pinned memory" });
        }
        let pages = self.memory.allocate(len)?;
        // SAFETY: the caller owns the range.
        unsafe { map_fixed(vaddr, self.memory.fd(), pages.offset, pages.len)? };
        match self.attach(REGION_PINNED, vaddr, &[pages.segment()], 0) {
            Ok(region) => {
                prefault(vaddr, pages.len);
                self.keep(region, pages);
                Ok(region)
            }
            Err(error) => {
                // SAFETY: the range was mapped just above.
                unsafe { reserve_fixed(vaddr, pages.len)? };
                Err(error)
            }
        }
    }

    fn pin_user(&self, vaddr: usize, len: usize) -> Result<u32, TransportError> {
        if self.config.capabilities & CAP_USER == 0 {
            return Err(TransportError::Unsupported { what: "pinning the program's memory" });
        }
        let segments = self.user_pages.take(&self.memory, self, vaddr, len)?;
        match self.attach(REGION_USER, vaddr, &segments, 0) {
            Ok(region) => {
                self.regions.lock().insert(region, Region::User { vaddr, len });
                Ok(region)
            }
            Err(error) => {
                self.user_pages.give(&self.memory, self, vaddr, len)?;
                Err(error)
            }
        }
    }

    fn release(&self, region: u32, vaddr: usize, len: usize) -> Result<(), TransportError> {
        let request = RegionDetach {
            hdr: Hdr { kind: CTRL_REGION_DETACH, session: SESSION },
            region,
            reserved: 0,
        };
        let Some(pages) = self.regions.lock().remove(&region) else {
            return Err(TransportError::Unsupported { what: "releasing an unknown region" });
        };
        self.control.ask("REGION_DETACH", &[request.as_bytes()], &mut [])?;
        match pages {
            Region::User { vaddr, len } => self.user_pages.give(&self.memory, self, vaddr, len)?,
            Region::Own { offset, len: own } => {
                if len > 0 {
                    // SAFETY: the range contains the pages that `alloc_pinned` mapped there, and
                    // the caller no longer uses them.
                    unsafe { reserve_fixed(vaddr, len)? };
                }
                self.memory.free(offset, own);
            }
        }
        Ok(())
    }

    fn kick(&self) -> Result<(), TransportError> {
        self.command.tell(Hdr { kind: CMD_DOORBELL, session: SESSION }.as_bytes())
    }

    fn wait(&self, seen: u32, timeout: Option<Duration>) -> Result<u32, TransportError> {
        self.events.wait(seen, timeout)
    }

    fn submit(&self, command: &[u8], reply: &mut [u8]) -> Result<usize, TransportError> {
        let hdr = Hdr { kind: CMD_SUBMIT, session: SESSION };
        self.command.ask("SUBMIT", &[hdr.as_bytes(), command], reply)
    }

    fn query(&self, answer: &mut [u8]) -> Result<usize, TransportError> {
        if self.config.capabilities & CAP_QUERY == 0 {
            return Err(TransportError::Unsupported { what: "GPU queries" });
        }
        let query = Query { hdr: Hdr { kind: CTRL_QUERY, session: 0 }, reserved: 0 };
        let room = answer.len().min(QUERY_MAX);
        let mut tries = 0;
        loop {
            match self.control.ask("QUERY", &[query.as_bytes()], &mut answer[..room]) {
                Err(TransportError::Refused { status: ERR_BUSY, .. }) if tries < BUSY_TRIES => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
                answered => return answered,
            }
        }
    }

    fn max_reply(&self) -> usize {
        PLAIN_REPLY
    }

    fn descriptors(&self) -> Vec<i32> {
        vec![self.socket]
    }

    fn before_fork(&self) -> Option<Box<dyn Fork + '_>> {
        Some(Box::new(self.user_pages.before_fork(&self.memory)))
    }
}
