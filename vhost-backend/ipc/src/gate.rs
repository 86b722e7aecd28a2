//! The gate page, through which the broker's scheduler and a worker communicate about the GPU.
//!
//! Each worker has one sealed page of shared memory, which the broker creates and both map. It
//! consists of atomics. The worker's words are untrusted: a worker that lies can only hurt its own
//! VM. docs/design/gate.md describes how the words are used.

use std::io;
use std::mem::offset_of;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most GPUs of a worker.
pub const MAX_GPUS: usize = 16;
/// The value of `until` for a window without an end.
pub const NO_END: u64 = u64::MAX;

/// Whether a worker may submit work to the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The worker may not submit.
    Closed = 0,
    /// The worker may not submit yet, but should stay awake and watch for a window.
    Prepare = 1,
    /// The worker may submit up to a depth. No other VM may.
    Window = 2,
    /// The worker may submit up to a depth. So may other VMs.
    Shared = 3,
    /// The worker may submit without limit or measurement, because no other VM wants the GPU.
    Unlimited = 4,
}

impl Mode {
    /// Whether the worker may submit work.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Window | Self::Shared | Self::Unlimited)
    }
}

/// A mode, and the number of the change that set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The number of changes so far.
    pub epoch: u64,
    /// The current mode.
    pub mode: Mode,
}

impl Grant {
    /// The encoding in the page.
    pub const fn word(self) -> u64 {
        self.epoch << 8 | self.mode as u64
    }

    /// Decodes a word of the page. An unknown mode decodes as closed.
    pub const fn from_word(word: u64) -> Self {
        let mode = match word & 0xff {
            1 => Mode::Prepare,
            2 => Mode::Window,
            3 => Mode::Shared,
            4 => Mode::Unlimited,
            _ => Mode::Closed,
        };
        Self { epoch: word >> 8, mode }
    }
}

/// A worker's words about itself.
#[repr(C, align(64))]
#[derive(Default)]
pub struct WorkerWords {
    /// Time of the last heartbeat (CLOCK_MONOTONIC, in ns), written about every 20 ms while
    /// `beating` is 1.
    pub beat: AtomicU64,
    /// Number of kernels launched.
    pub launches: AtomicU64,
    /// Number of graphs launched.
    pub graph_launches: AtomicU64,
    /// Bytes copied from host to device memory.
    pub bytes_h2d: AtomicU64,
    /// Bytes copied from device to host memory.
    pub bytes_d2h: AtomicU64,
    /// Bytes copied from device to device memory.
    pub bytes_d2d: AtomicU64,
    /// Bytes in the command ring when it was last checked.
    pub ring_depth: AtomicU64,
    /// Number of commands read.
    pub calls: AtomicU64,
    /// Written by the scheduler when it ends the session: the CUresult that answers every further
    /// call; 0 for none.
    pub verdict: AtomicU64,
    /// 1 while the heart beats. 0 once, for a second, none of the worker's GPUs was `active` or had
    /// `held` calls.
    pub beating: AtomicU64,
}

/// The words about one GPU. The scheduler writes the first cache line, the worker the others.
#[repr(C, align(64))]
pub struct GpuGate {
    /// A [`Grant`].
    pub grant: AtomicU64,
    /// End of the window (CLOCK_MONOTONIC, in ns). No call is submitted after it.
    pub until: AtomicU64,
    /// Work that may be in flight in each stream, in ns. A single call may exceed it.
    pub depth: AtomicU64,
    /// Copies between host and device that may be in flight in each stream while the gate is closed,
    /// in ns; 0 for none.
    pub copies: AtomicU64,
    _scheduler: [u64; 4],
    /// 1 if work may be in flight, not counting the copies that `copying` covers. Set (SeqCst) before
    /// `grant` is read for a submission; cleared only when nothing is in flight.
    pub active: AtomicU64,
    /// Number of gated calls that are held back.
    pub held: AtomicU64,
    /// The last epoch that the worker acted on.
    pub seen: AtomicU64,
    /// Number of finished gated calls, without the copies that `copying` covers: otherwise those
    /// copies would hide a drain that makes no progress.
    pub finished: AtomicU64,
    /// Number of gated calls submitted to the driver.
    pub queued: AtomicU64,
    /// 1 if every stream with work in flight waits for a host function of the guest.
    pub stalled: AtomicU64,
    /// Total time with work in flight that is not stalled, in ns.
    pub busy_ns: AtomicU64,
    /// Time at which the oldest unfinished call reached the head of its stream (CLOCK_MONOTONIC, in
    /// ns); 0 for none. Maintained unless the gate is `Unlimited`.
    pub oldest: AtomicU64,
    /// 1 if, while the gate is closed, some stream has only copies in flight.
    pub copying: AtomicU64,
    /// Total time with `copying` set and `active` clear, in ns.
    pub copied_ns: AtomicU64,
    /// Total time between a submission to an idle GPU and the next poll, in ns. It is mostly work,
    /// but not part of `busy_ns`.
    pub begun_ns: AtomicU64,
}

/// The page.
#[repr(C, align(4096))]
pub struct GatePage {
    /// Words about the worker as a whole.
    pub worker: WorkerWords,
    /// Words about each GPU, by the worker's CUDA device ordinal.
    pub gpus: [GpuGate; MAX_GPUS],
}

const _: () = {
    assert!(size_of::<GatePage>() == 4096);
    assert!(offset_of!(GatePage, gpus) == 128 && size_of::<GpuGate>() == 192);
    assert!(offset_of!(GpuGate, active) == 64 && offset_of!(GpuGate, oldest) == 120);
};

impl GatePage {
    /// Creates a page, as a sealed file with all gates closed.
    pub fn create() -> io::Result<OwnedFd> {
        const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: the name is a C string, and nothing else owns the new descriptor.
        unsafe {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            let fd = libc::memfd_create(c"gate".as_ptr(), flags);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let fd = OwnedFd::from_raw_fd(fd);
            if libc::ftruncate(fd.as_raw_fd(), size_of::<Self>() as i64) < 0
                || libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS) < 0
            {
                return Err(io::Error::last_os_error());
            }
            Ok(fd)
        }
    }
}

/// A mapped page. Dropping it unmaps the page.
pub struct GateMap {
    page: NonNull<GatePage>,
}

// SAFETY: the page consists of atomics, and stays mapped while this lives.
unsafe impl Send for GateMap {}
// SAFETY: as above.
unsafe impl Sync for GateMap {}

impl GateMap {
    /// Maps a page that [`GatePage::create`] made.
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        let fd = file.as_fd().as_raw_fd();
        // SAFETY: a zeroed stat is valid, because it consists of integers; fstat may write to it.
        let size = unsafe {
            let mut stat = std::mem::zeroed::<libc::stat>();
            if libc::fstat(fd, &mut stat) < 0 {
                return Err(io::Error::last_os_error());
            }
            stat.st_size
        };
        if size != size_of::<GatePage>() as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a gate page"));
        }
        Self::mmap(libc::MAP_SHARED, fd)
    }

    /// Maps a private page with every gate open without limit.
    pub fn private() -> io::Result<Self> {
        let page = Self::mmap(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        page.open_all();
        Ok(page)
    }

    /// Opens every gate without limit, for a worker that is not scheduled.
    pub fn open_all(&self) {
        for gpu in &self.gpus {
            gpu.open(Grant { epoch: 1, mode: Mode::Unlimited }, NO_END, 0);
        }
    }

    fn mmap(flags: i32, fd: i32) -> io::Result<Self> {
        // SAFETY: the kernel chooses the address, so the mapping replaces no other.
        let at = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), size_of::<GatePage>(), access, flags, fd, 0)
        };
        match NonNull::new(at.cast()) {
            Some(page) if at != libc::MAP_FAILED => Ok(Self { page }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Deref for GateMap {
    type Target = GatePage;

    fn deref(&self) -> &GatePage {
        // SAFETY: until `drop`, the page is mapped, page-aligned and as long as the type. Any bits
        // are valid atomics.
        unsafe { self.page.as_ref() }
    }
}

impl Drop for GateMap {
    fn drop(&mut self) {
        // SAFETY: `mmap` made the mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.page.as_ptr().cast(), size_of::<GatePage>()) };
    }
}

impl GpuGate {
    /// Changes the mode, after writing the values that go with it. Only the scheduler calls this.
    pub fn open(&self, grant: Grant, until: u64, depth: u64) {
        self.until.store(until, Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
        self.grant.store(grant.word(), Ordering::SeqCst);
    }

    /// Whether the worker has work on this GPU, or wants it.
    pub fn is_in_use(&self) -> bool {
        [&self.active, &self.held, &self.copying]
            .iter()
            .any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// The current grant.
    pub fn grant(&self) -> Grant {
        Grant::from_word(self.grant.load(Ordering::Acquire))
    }
}

/// Adds to a counter that only the calling thread writes.
pub fn bump(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// The page's clock: CLOCK_MONOTONIC in ns.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable, and this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_share_one_page_that_cannot_shrink() {
        let file = GatePage::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 0, mode: Mode::Closed });
        broker.gpus[3].open(Grant { epoch: 9, mode: Mode::Window }, 5, 6);
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 9, mode: Mode::Window });
        // SAFETY: ftruncate takes no pointers.
        assert!(unsafe { libc::ftruncate(file.as_raw_fd(), 0) } < 0, "it is sealed");
    }

    #[test]
    fn an_unknown_mode_is_closed() {
        for word in [5, 255, 0x700] {
            assert_eq!(Grant::from_word(word).mode, Mode::Closed);
        }
        let grant = Grant { epoch: 1 << 40, mode: Mode::Shared };
        assert_eq!(Grant::from_word(grant.word()), grant);
    }

    #[test]
    fn other_files_are_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(GateMap::map(&file).is_err());
    }
}
