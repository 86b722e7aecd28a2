//! The gate page, through which the broker's scheduler and a worker communicate about the GPU.
//!
//! Each worker has one sealed page of shared memory, which the broker creates and both processes
//! map. The page consists of atomic words. Words written by the worker are untrusted: a worker that
//! writes wrong values can only hurt its own VM. docs/design/gate.md describes how the words are
//! used.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use memory_ledger::Credit;

use crate::futex::futex;
pub use crate::gpu::MAX_GPUS;
use crate::residency::Residency;
use crate::shared_map::{Shareable, SharedMap};

/// Value of [`GpuGate::until`] for a window without an end.
pub const NO_END: u64 = u64::MAX;
/// How many times [`GpuGate::memory`] tries to read its values before it gives up because they keep
/// changing.
const MEMORY_READS: u32 = 100;

/// Flag in [`GpuGate`]'s published memory limit: the values published with it are those of a
/// [`MemoryBase`], not of a [`MemoryUsage`].
const IS_BASE: u64 = 1 << 63;

/// The kinds of work that a worker may submit to a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The worker may not submit any work.
    #[default]
    Closed = 0,
    /// The worker may not submit work yet, but should be awake and poll for the next change.
    Prepare = 1,
    /// The worker may submit work up to the depth limit. No other VM may submit work, except one
    /// whose gate is `Standby`.
    Window = 2,
    /// The worker may submit work up to the depth limit. Other VMs may submit work, too.
    Shared = 3,
    /// The worker may submit work without a depth limit, and doesn't have to measure it, because no
    /// other VM wants the GPU.
    Unlimited = 4,
    /// The VM has no turn, but the worker may submit work up to the depth limit, because the
    /// scheduler would give the VM a turn at once. The worker must wake the scheduler when it
    /// starts to submit work.
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
    /// Number of mode changes up to and including this one.
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
    /// The GPUs on which the worker's kernels should have short time slices, one bit for each; see
    /// [`Self::set_short_slices`].
    short_slices: AtomicU32,
    /// The worker's slot on the page of its VM's spending, plus 1. 0 if it has none.
    slot: AtomicU32,
    /// The number of slots on the page of the VM's spending that have been used.
    slots: AtomicU32,
    /// Number of recalls of kept memory so far; see [`Self::recall_kept`].
    recalls: AtomicU32,
}

impl WorkerWords {
    /// Gives the worker a slot on the page of its VM's spending. Only the broker calls this, before
    /// the worker gets the page.
    pub fn set_slot(&self, slot: u32) {
        self.slot.store(slot.wrapping_add(1), Ordering::SeqCst);
    }

    /// Returns the worker's slot on the page of its VM's spending.
    pub fn slot(&self) -> Option<u32> {
        self.slot.load(Ordering::SeqCst).checked_sub(1)
    }

    /// Raises the number of slots that have been used on the page of the VM's spending to at least
    /// `slots`. Only the broker calls this, before another worker gets a slot.
    pub fn add_slots(&self, slots: u32) {
        self.slots.fetch_max(slots, Ordering::SeqCst);
    }

    /// Returns how many slots of the page of the VM's spending have been used.
    pub fn slots(&self) -> u32 {
        self.slots.load(Ordering::SeqCst)
    }

    /// Sets whether the worker's kernels should have short time slices on the GPU to which NVIDIA's
    /// driver has given this number. Only the scheduler calls this.
    pub fn set_short_slices(&self, gpu_number: u32, short: bool) {
        let bit = 1u32.checked_shl(gpu_number).unwrap_or(0);
        let before = match short {
            true => self.short_slices.fetch_or(bit, Ordering::SeqCst),
            false => self.short_slices.fetch_and(!bit, Ordering::SeqCst),
        };
        if short != (before & bit != 0) {
            // Wake only one thread. The worker, which is untrusted, decides how many threads wait,
            // and waking all of them could take long.
            futex(&self.short_slices, libc::FUTEX_WAKE, 1);
        }
    }

    /// Makes the worker free the memory that it keeps for later allocations ([`GatePage::kept`]) on
    /// each GPU where the broker has withdrawn its offer to keep memory. Only the broker calls
    /// this.
    pub fn recall_kept(&self) {
        self.recalls.fetch_add(1, Ordering::SeqCst);
        // Wake only one thread, because a compromised worker could make many threads wait.
        futex(&self.recalls, libc::FUTEX_WAKE, 1);
    }

    /// Waits until the number of recalls differs from `known`, and returns it. Only one thread may
    /// wait.
    pub fn changed_recalls(&self, known: u32) -> u32 {
        loop {
            let recalls = self.recalls.load(Ordering::SeqCst);
            if recalls != known {
                return recalls;
            }
            futex(&self.recalls, libc::FUTEX_WAIT, known);
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

/// Words about one GPU. The broker writes the first cache line: its scheduler thread writes the
/// words about work, and its main thread the words about memory. The worker writes the other cache
/// lines.
#[repr(C, align(64))]
pub struct GpuGate {
    /// The current [`Grant`], encoded.
    pub grant: AtomicU64,
    /// End of the window (CLOCK_MONOTONIC, in ns). After this time, the worker may submit only the
    /// first call of the window.
    pub until: AtomicU64,
    /// Maximum GPU time of the work in flight per stream, in ns. A single call may exceed this.
    pub depth: AtomicU64,
    /// Maximum time of the copies between host and device that may be in flight per stream while
    /// the gate is closed, in ns. 0 allows no copies.
    pub copies: AtomicU64,
    memory_version: AtomicU64,
    memory_used: AtomicU64,
    memory_max: AtomicU64,
    /// 1 while the VM's kernels are evicted and must not run. Only softgpu reads this word.
    pub off: AtomicU64,
    /// 1 if work may be in flight, other than copies that the worker started while the gate was
    /// closed (see `copying`). The worker sets it (SeqCst) before it reads `grant` to submit work,
    /// and clears it only when nothing is in flight.
    pub active: AtomicU64,
    /// Number of gated calls that the worker holds because the gate is closed or too much work is
    /// in flight.
    pub held: AtomicU64,
    /// See [`MemoryBase::session`]. Workers of the previous version write to this word and never
    /// read it.
    memory_session: AtomicU64,
    /// Number of gated calls that have finished, other than copies that the worker started while
    /// the gate was closed (see `copying`).
    pub finished: AtomicU64,
    /// The bytes that the broker has added to the credit, minus those that it has taken back. A
    /// broker that replaces this one reads the number here. Workers of the previous version, which
    /// have no credit, write to this word.
    pub granted: AtomicU64,
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
    /// Bytes out of `max` that aren't available to the session.
    pub used: u64,
    /// The lower of the limits for the VM and for the session, in bytes.
    pub max: u64,
}

/// The state of a VM's account of a GPU's memory, apart from what its workers spend of their
/// credit. A worker with a [`Spending`](crate::spending::Spending) adds that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBase {
    /// The value that [`MemoryUsage::used`] would have if only the VM's limit existed and no worker
    /// had spent any credit, in bytes.
    pub vm: i64,
    /// The value that [`MemoryUsage::used`] would have if only the session's limit existed and this
    /// worker had spent no credit, in bytes.
    pub session: i64,
    /// The lower of the limits for the VM and for the session, in bytes.
    pub max: u64,
}

/// The contents of a gate page.
#[repr(C, align(4096))]
pub struct GatePage {
    /// Words about the worker as a whole.
    pub worker: WorkerWords,
    /// Words per GPU, by the worker's CUDA device ordinal.
    pub gpus: [GpuGate; MAX_GPUS],
    /// The memory on each GPU that the worker keeps for its program's next allocations. Like
    /// credit, it's charged, and no program uses it, but the worker must free it before another
    /// session can use it. The broker offers this, and never changes the number of bytes.
    pub kept: [Credit; MAX_GPUS],
    /// Where the session's memory must be, and where it is.
    pub residency: Residency,
}

const _: () = {
    assert!(size_of::<GatePage>() == 4096);
    assert!(offset_of!(GatePage, gpus) == 128 && size_of::<GpuGate>() == 192);
    assert!(offset_of!(GatePage, kept) == 3200);
    assert!(offset_of!(GatePage, residency) == 3328);
    assert!(offset_of!(GpuGate, active) == 64 && offset_of!(GpuGate, oldest) == 120);
};

// SAFETY: the page consists of atomics, and is page-aligned.
unsafe impl Shareable for GatePage {
    const NAME: &str = "gate";
}

/// A mapped gate page.
pub type GateMap = SharedMap<GatePage>;

impl GateMap {
    /// Maps a page that isn't shared with any other process, with every gate open and unlimited.
    pub fn private() -> io::Result<Self> {
        let page = Self::anonymous()?;
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

    /// Marks the state of the VM's account as about to change. The next call of
    /// [`Self::publish_memory`] or [`Self::publish_base`] ends the change.
    pub fn begin_memory(&self) {
        let changing = self.memory_version.load(Ordering::Relaxed) | 1;
        self.memory_version.store(changing, Ordering::Relaxed);
        // The odd version must become visible before the values.
        fence(Ordering::SeqCst);
    }

    /// Publishes the state of the VM's account to a worker without a
    /// [`Spending`](crate::spending::Spending). Only the broker's main thread calls this.
    ///
    /// The values belong together, so the version is odd while they change. A worker that changes
    /// the version only makes its own reads fail.
    pub fn publish_memory(&self, usage: MemoryUsage) {
        self.publish(usage.used, 0, usage.max.min(!IS_BASE));
    }

    /// Like [`Self::publish_memory`], for a worker with a [`Spending`](crate::spending::Spending).
    pub fn publish_base(&self, base: MemoryBase) {
        self.publish(base.vm as u64, base.session as u64, base.max.min(!IS_BASE) | IS_BASE);
    }

    fn publish(&self, used: u64, session: u64, max: u64) {
        self.begin_memory();
        let changing = self.memory_version.load(Ordering::Relaxed);
        self.memory_used.store(used, Ordering::Relaxed);
        self.memory_session.store(session, Ordering::Relaxed);
        self.memory_max.store(max, Ordering::Relaxed);
        self.memory_version.store(changing.wrapping_add(1), Ordering::Release);
    }

    /// Returns the last published state of the VM's account. `spent` returns what the session and
    /// what all sessions of the VM have spent of their credit. Returns `None` if there is no state
    /// yet, or if it kept changing while it was being read.
    pub fn memory(&self, spent: impl Fn() -> (i64, i64)) -> Option<MemoryUsage> {
        for _ in 0..MEMORY_READS {
            let version = self.memory_version.load(Ordering::Acquire);
            if version == 0 {
                return None;
            }
            let used = self.memory_used.load(Ordering::Relaxed);
            let session = self.memory_session.load(Ordering::Relaxed) as i64;
            let max = self.memory_max.load(Ordering::Relaxed);
            let (own, all) = spent();
            // The values must be read before the version is read again.
            fence(Ordering::Acquire);
            if version & 1 == 0 && self.memory_version.load(Ordering::Relaxed) == version {
                let used = match max & IS_BASE != 0 {
                    true => {
                        let by_vm = (used as i64).saturating_add(all);
                        by_vm.max(session.saturating_add(own)).max(0) as u64
                    }
                    // A worker has credit here if an older broker has taken over.
                    false => used.saturating_sub(self.credit.bytes()),
                };
                return Some(MemoryUsage { used, max: max & !IS_BASE });
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
    use rustix::fs::ftruncate;
    use std::time::Duration;

    #[test]
    fn both_sides_share_one_page_that_cannot_shrink() {
        let file = GateMap::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 0, mode: Mode::Closed });
        broker.gpus[3].open(Grant { epoch: 9, mode: Mode::Window }, 5, 6);
        assert_eq!(worker.gpus[3].grant(), Grant { epoch: 9, mode: Mode::Window });
        assert!(ftruncate(&file, 0).is_err(), "it is sealed");
    }

    #[test]
    fn a_thread_that_waits_for_time_slices_sees_each_change() {
        let file = GateMap::create().unwrap();
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
            // The second call changes nothing, so it must not wake the waiting thread.
            broker.worker.set_short_slices(gpu, short);
            broker.worker.set_short_slices(gpu, short);
            assert_eq!(changes.recv_timeout(Duration::from_secs(60)), Ok(expected));
        }
        // The word has 32 bits, so calls for GPU numbers above 31 have no effect.
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
        let file = GateMap::create().unwrap();
        let (broker, worker) = (GateMap::map(&file).unwrap(), GateMap::map(&file).unwrap());
        assert_eq!(worker.gpus[1].memory(|| (0, 0)), None);
        let first = MemoryUsage { used: 0, max: 1 };
        broker.gpus[1].publish_memory(first);
        assert_eq!(
            (worker.gpus[1].memory(|| (0, 0)), worker.gpus[0].memory(|| (0, 0))),
            (Some(first), None)
        );
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for used in 0..1_000_000 {
                    broker.gpus[1].publish_memory(MemoryUsage { used, max: used + 1 });
                }
            });
            while !writer.is_finished() {
                if let Some(MemoryUsage { used, max }) = worker.gpus[1].memory(|| (0, 0)) {
                    assert_eq!(max, used + 1);
                }
            }
        });
        let last = MemoryUsage { used: 999_999, max: 1_000_000 };
        assert_eq!(worker.gpus[1].memory(|| (0, 0)), Some(last));
    }

    #[test]
    fn a_reader_doesnt_wait_for_the_end_of_a_change() {
        let page = GateMap::private().unwrap();
        let usage = MemoryUsage { used: 3, max: 4 };
        page.gpus[0].publish_memory(usage);
        page.gpus[0].memory_version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(page.gpus[0].memory(|| (0, 0)), None);
        page.gpus[0].publish_memory(usage);
        assert_eq!(page.gpus[0].memory(|| (0, 0)), Some(usage));
    }

    #[test]
    fn other_files_are_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(GateMap::map(&file).is_err());
    }
}
