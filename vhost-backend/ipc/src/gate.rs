//! The gate page, through which the broker's scheduler and a worker communicate about the GPU.
//!
//! Each worker has one sealed page of shared memory, which the broker creates and both processes
//! map. The page consists of atomic words. Words written by the worker are untrusted: a worker that
//! writes wrong values can only hurt its own VM. docs/design/gate.md describes how the words are
//! used.

use std::io;
use std::mem::offset_of;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use memory_ledger::Credit;
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};

/// Maximum number of GPUs per worker.
pub const MAX_GPUS: usize = 16;
/// Value of `until` for a window without an end.
pub const NO_END: u64 = u64::MAX;
/// How many times [`GpuGate::memory`] tries to read its values before it gives up because they keep
/// changing.
const MEMORY_READS: u32 = 100;

/// The kinds of work that a worker may submit to a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The worker may not submit any work.
    #[default]
    Closed = 0,
    /// The worker may not submit work yet, but should be awake and poll for the next change.
    Prepare = 1,
    /// The worker may submit work up to the depth limit. No other VM may, except on standby.
    Window = 2,
    /// The worker may submit work up to the depth limit. Other VMs may submit work, too.
    Shared = 3,
    /// The worker may submit work without a depth limit, and doesn't have to measure it, because no
    /// other VM wants the GPU.
    Unlimited = 4,
    /// The VM has no turn, but the worker may begin work up to the depth limit, because the
    /// scheduler would give it a turn at once. It must wake the scheduler when it begins work.
    Standby = 5,
}

impl Mode {
    /// Returns true if the VM has a turn, so that the worker may submit work.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Window | Self::Shared | Self::Unlimited)
    }
}

/// A mode, with the number of the change that set this mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Number of mode changes so far.
    pub epoch: u64,
    /// The current mode.
    pub mode: Mode,
}

impl Grant {
    /// Encodes the grant as a word in the page.
    pub const fn word(self) -> u64 {
        self.epoch << 8 | self.mode as u64
    }

    /// Decodes a word from the page. An unknown mode is decoded as `Closed`.
    pub const fn from_word(word: u64) -> Self {
        let mode = match word & 0xff {
            1 => Mode::Prepare,
            2 => Mode::Window,
            3 => Mode::Shared,
            4 => Mode::Unlimited,
            5 => Mode::Standby,
            _ => Mode::Closed,
        };
        Self { epoch: word >> 8, mode }
    }
}

/// Words about the worker as a whole.
#[repr(C, align(64))]
#[derive(Default)]
pub struct WorkerWords {
    /// Time of the last heartbeat (CLOCK_MONOTONIC, in ns). Written about every 20 ms while
    /// `beating` is 1.
    pub beat: AtomicU64,
    /// Number of kernels that the worker has launched.
    pub launches: AtomicU64,
    /// Number of graphs that the worker has launched.
    pub graph_launches: AtomicU64,
    /// Bytes copied from host to device memory.
    pub bytes_h2d: AtomicU64,
    /// Bytes copied from device to host memory.
    pub bytes_d2h: AtomicU64,
    /// Bytes copied from device to device memory.
    pub bytes_d2d: AtomicU64,
    /// Bytes in the command ring when the worker last checked it.
    pub ring_depth: AtomicU64,
    /// Number of commands that the worker has read from the ring.
    pub calls: AtomicU64,
    /// The CUresult that every further call must return, or 0 if there is none. The scheduler
    /// writes it when it ends the session.
    pub verdict: AtomicU64,
    /// 1 while the worker writes heartbeats. The worker sets it to 0 after a second in which no
    /// gate was `active` and no calls were `held`.
    pub beating: AtomicU64,
    /// See [`Self::set_short_slices`].
    short_slices: AtomicU32,
}

impl WorkerWords {
    /// Says whether the worker's kernels should have short time slices on a GPU, which is given by
    /// NVIDIA's driver's number. The scheduler writes this.
    pub fn set_short_slices(&self, gpu_number: u32, short: bool) {
        let bit = 1u32.checked_shl(gpu_number).unwrap_or(0);
        let before = match short {
            true => self.short_slices.fetch_or(bit, Ordering::SeqCst),
            false => self.short_slices.fetch_and(!bit, Ordering::SeqCst),
        };
        if short != (before & bit != 0) {
            // Wake only one thread: the worker decides how many wait, and waking all of them could
            // take long.
            futex(&self.short_slices, libc::FUTEX_WAKE, 1);
        }
    }

    /// Waits until the set of GPUs on which the worker's kernels should have short time slices
    /// differs from `known`, and returns the set. Each GPU is a bit, whose position is the driver's
    /// number of the GPU. Only one thread may wait.
    pub fn changed_short_slices(&self, known: u32) -> u32 {
        loop {
            let gpus = self.short_slices.load(Ordering::SeqCst);
            if gpus != known {
                return gpus;
            }
            futex(&self.short_slices, libc::FUTEX_WAIT, known);
        }
    }
}

/// Waits for a word in memory shared with another process while it has this value (FUTEX_WAIT), or
/// wakes up to `value` threads that wait for it (FUTEX_WAKE). The result doesn't matter: a thread
/// that waits checks the word again. See futex(2).
fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let no_timeout = std::ptr::null::<libc::timespec>();
    // SAFETY: the word is valid memory for the duration of the call, and the kernel only reads it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_timeout) };
}

/// Words about one GPU. The broker writes the first cache line: its scheduler thread writes the
/// words about work, and its main thread those about memory. The worker writes the other lines.
#[repr(C, align(64))]
pub struct GpuGate {
    /// The current [`Grant`], encoded.
    pub grant: AtomicU64,
    /// End of the window (CLOCK_MONOTONIC, in ns). After it, the worker may submit only the first call
    /// of the window.
    pub until: AtomicU64,
    /// Maximum GPU time of the work in flight per stream, in ns. A single call may exceed this.
    pub depth: AtomicU64,
    /// Maximum time of the copies between host and device that may be in flight per stream while
    /// the gate is closed, in ns. 0 allows no copies.
    pub copies: AtomicU64,
    memory_version: AtomicU64,
    memory_used: AtomicU64,
    memory_max: AtomicU64,
    /// 1 while the VM's kernels must not run. Only softgpu reads it.
    pub off: AtomicU64,
    /// 1 if work may be in flight, apart from copies for which `copying` is set. The worker sets it
    /// (SeqCst) before it reads `grant` to submit work, and clears it only when nothing is in
    /// flight.
    pub active: AtomicU64,
    /// Number of gated calls that the gate is holding back.
    pub held: AtomicU64,
    /// Unused. Workers of the previous version write it.
    _seen: AtomicU64,
    /// Number of gated calls that have finished, apart from copies for which `copying` is set.
    pub finished: AtomicU64,
    /// Unused. Workers of the previous version write it.
    _queued: AtomicU64,
    /// 1 if every stream with work in flight is waiting for a host function in the guest, or for a
    /// value in memory.
    pub stalled: AtomicU64,
    /// Total time with work in flight that isn't stalled, in ns.
    pub busy_ns: AtomicU64,
    /// Time at which the oldest unfinished call reached the head of its stream (CLOCK_MONOTONIC, in
    /// ns), or 0 if there is none. Not maintained while the gate is `Unlimited`.
    pub oldest: AtomicU64,
    /// 1 if the gate is closed and copies are the only work in flight on some stream.
    pub copying: AtomicU64,
    /// Total time during which `copying` was 1 and `active` was 0, in ns.
    pub copied_ns: AtomicU64,
    /// Total time from each submission to an idle GPU until the worker's next check, in ns. The GPU
    /// works during most of that time, which isn't included in `busy_ns`.
    pub begun_ns: AtomicU64,
    /// The estimated time by which the work in flight will have finished (CLOCK_MONOTONIC, in ns),
    /// or 0 if it is unknown.
    pub ends: AtomicU64,
    /// Number of threads that run softgpu's kernels.
    pub running: AtomicU64,
    /// Number of contexts that the worker is creating or destroying now.
    pub contexts: AtomicU64,
    /// Number of times that the worker has begun to create or destroy a context.
    pub contexts_begun: AtomicU64,
    /// The worker's credit of memory. The broker's main thread changes it, too.
    pub credit: Credit,
}

/// The state of a VM's account of a GPU's memory, as a session's guest process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Bytes out of `max` that aren't available to the session. The broker publishes them with the
    /// session's credit.
    pub used: u64,
    /// The lower of the limits for the VM and for the session, in bytes.
    pub max: u64,
}

/// The gate page.
#[repr(C, align(4096))]
pub struct GatePage {
    /// Words about the worker as a whole.
    pub worker: WorkerWords,
    /// Words per GPU, by the worker's CUDA device ordinal.
    pub gpus: [GpuGate; MAX_GPUS],
}

const _: () = {
    assert!(size_of::<GatePage>() == 4096);
    assert!(offset_of!(GatePage, gpus) == 128 && size_of::<GpuGate>() == 192);
    assert!(offset_of!(GpuGate, active) == 64 && offset_of!(GpuGate, oldest) == 120);
};

impl GatePage {
    /// Creates a page as a sealed file, with all gates closed.
    pub fn create() -> io::Result<OwnedFd> {
        let file = memfd_create("gate", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, size_of::<Self>() as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(file)
    }
}

/// A mapped gate page. Dropping it unmaps the page.
pub struct GateMap {
    page: NonNull<GatePage>,
}

// SAFETY: the page consists of atomics, and stays mapped for the lifetime of the `GateMap`.
unsafe impl Send for GateMap {}
// SAFETY: same as for `Send`.
unsafe impl Sync for GateMap {}

impl GateMap {
    /// Maps a page created by [`GatePage::create`].
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        // Access to a file that has shrunk would end this process.
        if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a sealed file"));
        }
        if fstat(&file)?.st_size != size_of::<GatePage>() as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a gate page"));
        }
        Self::mmap(libc::MAP_SHARED, file.as_fd().as_raw_fd())
    }

    /// Maps a page that isn't shared with any other process, with every gate open and unlimited.
    pub fn private() -> io::Result<Self> {
        let page = Self::mmap(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        page.open_all();
        Ok(page)
    }

    /// Opens every gate without limits, for a worker that isn't subject to the scheduler.
    pub fn open_all(&self) {
        for gpu in &self.gpus {
            gpu.open(Grant { epoch: 1, mode: Mode::Unlimited }, NO_END, 0);
        }
    }

    /// Closes every gate. Only for when there is no scheduler.
    pub fn close_all(&self) {
        for gpu in &self.gpus {
            let epoch = gpu.grant().epoch.wrapping_add(1);
            gpu.open(Grant { epoch, mode: Mode::Closed }, 0, 0);
            gpu.copies.store(0, Ordering::SeqCst);
        }
    }

    fn mmap(flags: i32, fd: i32) -> io::Result<Self> {
        // SAFETY: the kernel chooses the address, so the mapping doesn't replace another.
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
        // SAFETY: until `drop`, the page is mapped, page-aligned and as large as the type. Any bit
        // pattern is a valid atomic.
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
    /// Writes `until` and `depth`, and then the grant. Only the scheduler calls this.
    pub fn open(&self, grant: Grant, until: u64, depth: u64) {
        self.until.store(until, Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
        self.grant.store(grant.word(), Ordering::SeqCst);
    }

    /// Records that the worker begins to create or destroy a context. Any of its threads may do so.
    pub fn begin_context(&self) {
        // The scheduler reads these words in the opposite order, so if it sees the context, it also
        // sees the new count.
        self.contexts_begun.fetch_add(1, Ordering::SeqCst);
        self.contexts.fetch_add(1, Ordering::SeqCst);
    }

    /// Records that the worker no longer creates or destroys a context. Returns true if it was the
    /// last one.
    pub fn end_context(&self) -> bool {
        self.contexts.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Says that the state of the VM's account, or the credit, is about to change. The next
    /// [`Self::publish_memory`] ends the change.
    pub fn begin_memory(&self) {
        let changing = self.memory_version.load(Ordering::Relaxed) | 1;
        self.memory_version.store(changing, Ordering::Relaxed);
        // The odd version must become visible before the values.
        fence(Ordering::SeqCst);
    }

    /// Publishes the state of the VM's account. Only the broker's main thread calls this.
    ///
    /// The values belong together, so the version is odd while they change. A worker that changes the
    /// version only makes its own reads fail.
    pub fn publish_memory(&self, usage: MemoryUsage) {
        self.begin_memory();
        let changing = self.memory_version.load(Ordering::Relaxed) | 1;
        self.memory_used.store(usage.used, Ordering::Relaxed);
        self.memory_max.store(usage.max, Ordering::Relaxed);
        self.memory_version.store(changing.wrapping_add(1), Ordering::Release);
    }

    /// Returns the last published state of the VM's account, without the worker's credit, which no
    /// program uses. Returns `None` if there is none yet, or if it kept changing while it was being
    /// read.
    pub fn memory(&self) -> Option<MemoryUsage> {
        for _ in 0..MEMORY_READS {
            let version = self.memory_version.load(Ordering::Acquire);
            if version == 0 {
                return None;
            }
            let charged = self.memory_used.load(Ordering::Relaxed);
            let usage = MemoryUsage {
                used: charged.saturating_sub(self.credit.bytes()),
                max: self.memory_max.load(Ordering::Relaxed),
            };
            // The values must be read before the version is read again.
            fence(Ordering::Acquire);
            if version & 1 == 0 && self.memory_version.load(Ordering::Relaxed) == version {
                return Some(usage);
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Returns true if the worker has work in flight on this GPU, or is holding back calls for it.
    pub fn is_in_use(&self) -> bool {
        [&self.active, &self.held, &self.copying]
            .iter()
            .any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// Returns the current grant.
    pub fn grant(&self) -> Grant {
        Grant::from_word(self.grant.load(Ordering::Acquire))
    }
}

/// Adds to a counter that only the calling thread writes.
pub fn bump(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// Returns the current time of the clock that the page uses: CLOCK_MONOTONIC, in ns.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable, and this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn both_sides_share_one_page_that_cannot_shrink() {
        let file = GatePage::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 0, mode: Mode::Closed });
        broker.gpus[3].open(Grant { epoch: 9, mode: Mode::Window }, 5, 6);
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 9, mode: Mode::Window });
        assert!(ftruncate(&file, 0).is_err(), "it is sealed");
    }

    #[test]
    fn a_thread_that_waits_for_time_slices_sees_each_change() {
        let file = GatePage::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        let (seen, changes) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut known = 0;
            loop {
                known = worker.worker.changed_short_slices(known);
                seen.send(known).unwrap();
            }
        });
        for (gpu, short, expected) in [(5, true, 0x20), (0, true, 0x21), (5, false, 1)] {
            // The second call changes nothing.
            broker.worker.set_short_slices(gpu, short);
            broker.worker.set_short_slices(gpu, short);
            assert_eq!(changes.recv_timeout(Duration::from_secs(60)), Ok(expected));
        }
        // There are no such GPUs.
        broker.worker.set_short_slices(32, true);
        broker.worker.set_short_slices(u32::MAX, true);
        assert_eq!(broker.worker.changed_short_slices(0), 1);
        assert!(changes.try_recv().is_err());
    }

    #[test]
    fn an_unknown_mode_is_closed() {
        for word in [6, 255, 0x700] {
            assert_eq!(Grant::from_word(word).mode, Mode::Closed);
        }
        let grant = Grant { epoch: 1 << 40, mode: Mode::Shared };
        assert_eq!(Grant::from_word(grant.word()), grant);
    }

    #[test]
    fn the_published_memory_is_never_a_mix_of_two_states() {
        let file = GatePage::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        assert_eq!(worker.gpus[1].memory(), None);
        let first = MemoryUsage { used: 0, max: 1 };
        broker.gpus[1].publish_memory(first);
        assert_eq!((worker.gpus[1].memory(), worker.gpus[0].memory()), (Some(first), None));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for used in 0..1_000_000 {
                    broker.gpus[1].publish_memory(MemoryUsage { used, max: used + 1 });
                }
            });
            while !writer.is_finished() {
                if let Some(MemoryUsage { used, max }) = worker.gpus[1].memory() {
                    assert_eq!(max, used + 1);
                }
            }
        });
        let last = MemoryUsage { used: 999_999, max: 1_000_000 };
        assert_eq!(worker.gpus[1].memory(), Some(last));
    }

    #[test]
    fn a_reader_doesnt_wait_for_the_end_of_a_change() {
        let page = GateMap::private().unwrap();
        let usage = MemoryUsage { used: 3, max: 4 };
        page.gpus[0].publish_memory(usage);
        page.gpus[0].memory_version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(page.gpus[0].memory(), None);
        page.gpus[0].publish_memory(usage);
        assert_eq!(page.gpus[0].memory(), Some(usage));
    }

    #[test]
    fn other_files_are_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(GateMap::map(&file).is_err());
    }
}
