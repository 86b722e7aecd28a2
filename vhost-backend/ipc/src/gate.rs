//! The gate page: what the broker's scheduler and one worker say to one another about the GPU.
//!
//! One sealed page of shared memory for each worker, made by the broker and mapped by both. All of
//! it is atomics, and what the worker writes is untrusted: a worker that lies can only hurt its own
//! VM. docs/design/gate.md says how the words are used.

use std::io;
use std::mem::offset_of;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// GPUs of one worker.
pub const MAX_GPUS: usize = 16;
/// `until`: the window has no end.
pub const NO_END: u64 = u64::MAX;

/// Whether a worker may give the GPU work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// No.
    Closed = 0,
    /// No, but soon: be awake and watch.
    Prepare = 1,
    /// Yes, up to a depth; nobody else may.
    Window = 2,
    /// Yes, up to a depth; others may, too.
    Shared = 3,
    /// Yes, as much as it likes, and nothing is measured: nobody else wants the GPU.
    Unlimited = 4,
}

impl Mode {
    /// Whether work may be given to the GPU.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Window | Self::Shared | Self::Unlimited)
    }
}

/// A mode and the number of the change that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Counts changes.
    pub epoch: u64,
    /// The mode since then.
    pub mode: Mode,
}

impl Grant {
    /// As it stands in the page.
    pub const fn word(self) -> u64 {
        self.epoch << 8 | self.mode as u64
    }

    /// From the page; a mode that does not exist is closed.
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

/// What a worker says of itself.
#[repr(C, align(64))]
#[derive(Default)]
pub struct WorkerWords {
    /// CLOCK_MONOTONIC in ns, written about every 20 ms while `beating` says so.
    pub beat: AtomicU64,
    /// Kernels launched.
    pub launches: AtomicU64,
    /// Graphs launched.
    pub graph_launches: AtomicU64,
    /// Bytes that copies took from host to device memory.
    pub bytes_h2d: AtomicU64,
    /// From device to host memory.
    pub bytes_d2h: AtomicU64,
    /// From device to device memory.
    pub bytes_d2d: AtomicU64,
    /// Bytes in the command ring when it was last looked at.
    pub ring_depth: AtomicU64,
    /// Commands taken.
    pub calls: AtomicU64,
    /// Written by the scheduler: the CUresult that every call is answered with from now on, since
    /// the session ends; 0 for none.
    pub verdict: AtomicU64,
    /// 1: the heart beats. 0 once no GPU of the worker's was `active` or had calls `held` for a
    /// second.
    pub beating: AtomicU64,
}

/// One GPU. The first line is the scheduler's, the others are the worker's.
#[repr(C, align(64))]
pub struct GpuGate {
    /// A [`Grant`].
    pub grant: AtomicU64,
    /// CLOCK_MONOTONIC in ns at which the window ends: no call is begun after it.
    pub until: AtomicU64,
    /// Work in ns that may be in flight in each stream; one call always may.
    pub depth: AtomicU64,
    /// Copies between host and device, in ns, that may be in flight in each stream while the gate is
    /// closed; 0: none.
    pub copies: AtomicU64,
    _scheduler: [u64; 4],
    /// 1: work may be in flight, beside what `copying` tells of. Set (SeqCst) before `grant` is read
    /// for a submission, cleared only when nothing is in flight.
    pub active: AtomicU64,
    /// Gated calls that are held.
    pub held: AtomicU64,
    /// The last epoch acted upon.
    pub seen: AtomicU64,
    /// Gated calls that have finished, those aside that `copying` tells of: a drain that stands still
    /// is to be seen beside them.
    pub finished: AtomicU64,
    /// Gated calls that were given to the driver.
    pub queued: AtomicU64,
    /// 1: every stream with work in flight stands at a host function of the guest's.
    pub stalled: AtomicU64,
    /// Time with work in flight and not stalled, in ns, summed.
    pub busy_ns: AtomicU64,
    /// CLOCK_MONOTONIC in ns since when the oldest unfinished call has been at the head of its
    /// stream; 0 for none. Kept while the gate is not `Unlimited`.
    pub oldest: AtomicU64,
    /// 1: nothing but copies is in flight in some stream, while the gate is closed.
    pub copying: AtomicU64,
    /// Time in which that was so and `active` was not set, in ns, summed.
    pub copied_ns: AtomicU64,
    /// Time from the beginning of something where nothing was in flight to the next look, in ns,
    /// summed: work, for the most part, but no part of `busy_ns`.
    pub begun_ns: AtomicU64,
}

/// The page.
#[repr(C, align(4096))]
pub struct GatePage {
    /// Of the worker as a whole.
    pub worker: WorkerWords,
    /// By the worker's CUDA device ordinal.
    pub gpus: [GpuGate; MAX_GPUS],
}

const _: () = {
    assert!(size_of::<GatePage>() == 4096);
    assert!(offset_of!(GatePage, gpus) == 128 && size_of::<GpuGate>() == 192);
    assert!(offset_of!(GpuGate, active) == 64 && offset_of!(GpuGate, oldest) == 120);
};

impl GatePage {
    /// A new page as a sealed file, all gates closed.
    pub fn create() -> io::Result<OwnedFd> {
        const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: a C string; the descriptor is new, and nobody else's.
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

/// A mapped page; unmapped when dropped.
pub struct GateMap {
    page: NonNull<GatePage>,
}

// SAFETY: the page is made of atomics only, and stays mapped while this lives.
unsafe impl Send for GateMap {}
// SAFETY: as above.
unsafe impl Sync for GateMap {}

impl GateMap {
    /// Maps a page that [`GatePage::create`] made.
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        let fd = file.as_fd().as_raw_fd();
        // SAFETY: fstat fills the structure if it succeeds, and no field of it is a reference.
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

    /// A page of nobody else's: every gate is open without a bound.
    pub fn private() -> io::Result<Self> {
        let page = Self::mmap(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        page.open_all();
        Ok(page)
    }

    /// Opens every gate without a bound: nobody schedules.
    pub fn open_all(&self) {
        for gpu in &self.gpus {
            gpu.open(Grant { epoch: 1, mode: Mode::Unlimited }, NO_END, 0);
        }
    }

    fn mmap(flags: i32, fd: i32) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
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
        // SAFETY: mapped, aligned to a page and as long as the type until `drop`; zeros and any
        // other bits are valid atomics.
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
    /// The scheduler's: changes the mode. What goes with it is written first.
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

    /// The mode as it stands.
    pub fn grant(&self) -> Grant {
        Grant::from_word(self.grant.load(Ordering::Acquire))
    }
}

/// Adds to a counter that only the calling thread writes.
pub fn bump(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// CLOCK_MONOTONIC in ns: the clock of the page.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of a local; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_one_page_that_nobody_can_cut_short() {
        let file = GatePage::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 0, mode: Mode::Closed });
        broker.gpus[3].open(Grant { epoch: 9, mode: Mode::Window }, 5, 6);
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 9, mode: Mode::Window });
        // SAFETY: no pointers.
        assert!(unsafe { libc::ftruncate(file.as_raw_fd(), 0) } < 0, "it is sealed");
    }

    #[test]
    fn a_mode_that_does_not_exist_is_closed() {
        for word in [5, 255, 0x700] {
            assert_eq!(Grant::from_word(word).mode, Mode::Closed);
        }
        let grant = Grant { epoch: 1 << 40, mode: Mode::Shared };
        assert_eq!(Grant::from_word(grant.word()), grant);
    }

    #[test]
    fn another_file_is_no_gate_page() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(GateMap::map(&file).is_err());
    }
}
