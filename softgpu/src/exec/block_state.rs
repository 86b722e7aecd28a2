//! The state that a block's warps share: shared memory and barriers.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::launch::Launch;
use super::memory::{Fault, View};
use super::texture::object::{Image, Texture};
use crate::ptx::ir::Volatile;

/// The state of one barrier in a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BarrierState {
    /// Number of times that the barrier has completed.
    pub(crate) turn: u64,
    /// Number of threads that have arrived.
    pub(crate) arrived: u32,
    /// Number of threads that the barrier waits for. 0 means all live threads.
    pub(crate) count: u32,
    /// Number of threads that arrived with a true predicate. `asked` counts all threads that
    /// arrived with a predicate.
    pub(crate) set: u32,
    pub(crate) asked: u32,
    /// Values of `set` and `asked` when the barrier last completed.
    pub(crate) last_set: u32,
    pub(crate) last_asked: u32,
}

/// The state that a block's warps share.
pub struct BlockState<'l> {
    pub(crate) launch: &'l Launch,
    pub(crate) index: [u32; 3],
    /// Index of the simulated multiprocessor that runs the block, which kernels read as `%smid`.
    pub(crate) worker: u32,
    view: View<'l>,
    /// The texture object that the block used last, with its handle. `surface` has the same for
    /// surface objects. They save a lookup if the next access uses the same object.
    texture: Option<(u64, Arc<Texture>)>,
    surface: Option<(u64, Arc<Image>)>,
    /// The block's shared memory, stored as 16-byte words for alignment.
    shared: Vec<u128>,
    pub(crate) barriers: [BarrierState; 16],
    live: u32,
    /// Whether no warp in the block can run. If so, lanes that wait for other lanes in their warp
    /// continue without them.
    pub(crate) stuck: bool,
}

impl<'l> BlockState<'l> {
    /// Creates the state for a launch's blocks, before the first block starts.
    pub(crate) fn new(launch: &'l Launch, worker: u32) -> Self {
        Self {
            launch,
            index: [0; 3],
            worker,
            view: launch.memory.view(),
            texture: None,
            surface: None,
            shared: vec![0; launch.shared_bytes().div_ceil(16)],
            barriers: [BarrierState::default(); 16],
            live: 0,
            stuck: false,
        }
    }

    /// Resets the state to start the grid's block with this index.
    pub(crate) fn start(&mut self, index: u64) {
        let [gx, gy, _] = self.launch.grid.map(u64::from);
        self.index = [index % gx, index / gx % gy, index / gx / gy].map(|i| i as u32);
        self.barriers = [BarrierState::default(); 16];
        self.live = self.launch.threads();
    }

    /// Returns whether kernels may access an interval of global memory.
    pub(crate) fn allows(&mut self, address: u64, bytes: u64, write: bool) -> bool {
        self.view.allows(address, bytes, write)
    }

    /// Returns the texture object with a handle.
    pub(crate) fn texture(&mut self, handle: u64) -> Result<Arc<Texture>, Fault> {
        let objects = self.launch.objects;
        recall(&mut self.texture, handle, || objects.texture(handle))
    }

    /// Returns the surface object with a handle.
    pub(crate) fn surface(&mut self, handle: u64) -> Result<Arc<Image>, Fault> {
        let objects = self.launch.objects;
        recall(&mut self.surface, handle, || objects.surface(handle))
    }

    /// Returns the total number of barrier completions in this block.
    pub(crate) fn completed(&self) -> u64 {
        self.barriers.iter().map(|b| b.turn).sum()
    }

    /// Records that threads have exited, so that barriers no longer wait for them.
    pub(crate) fn exited(&mut self, count: u32) {
        self.live -= count;
        for id in 0..16 {
            let barrier = self.barriers[id];
            if barrier.arrived > 0 && barrier.count == 0 {
                self.complete(id);
            }
        }
    }

    /// Completes a barrier if all the threads that it waits for have arrived.
    pub(crate) fn complete(&mut self, id: usize) {
        let live = self.live;
        let barrier = &mut self.barriers[id];
        let needed = if barrier.count == 0 { live } else { barrier.count };
        if barrier.arrived >= needed {
            barrier.turn += 1;
            (barrier.last_set, barrier.last_asked) = (barrier.set, barrier.asked);
            (barrier.arrived, barrier.count, barrier.set, barrier.asked) = (0, 0, 0, 0);
        }
    }

    /// Executes a warp's `nanosleep`. PTX limits sleeps to one millisecond, and allows them to be
    /// shorter than requested. If the block has several warps, this only yields the CPU, because
    /// one host thread executes all of them, and the sleeping warp may be waiting for another warp.
    pub(crate) fn sleep(&self, nanoseconds: u32) {
        if self.launch.threads() <= 32 {
            std::thread::sleep(Duration::from_nanos(nanoseconds.min(1_000_000).into()));
        } else {
            std::thread::yield_now();
        }
    }

    pub(crate) fn volatile(&self, which: Volatile) -> u64 {
        match which {
            Volatile::Clock => u64::from(clock() as u32),
            Volatile::Clock64 => clock(),
            Volatile::ClockHi => clock() >> 32,
            Volatile::GlobalTimer => nanoseconds(),
            Volatile::GlobalTimerLo => nanoseconds() & 0xffff_ffff,
            Volatile::GlobalTimerHi => nanoseconds() >> 32,
        }
    }

    /// Returns the block's shared memory.
    pub(crate) fn shared_bytes(&mut self) -> &mut [u8] {
        let len = self.shared.len() * 16;
        // SAFETY: the words are initialized, and every bit pattern is a valid word, so they can be
        // accessed as bytes.
        unsafe { std::slice::from_raw_parts_mut(self.shared.as_mut_ptr().cast(), len) }
    }
}

/// Returns the object with a handle. Uses the cached object in `last` if it has this handle, and
/// otherwise calls `find` and caches the object.
fn recall<T>(
    last: &mut Option<(u64, Arc<T>)>,
    handle: u64,
    find: impl FnOnce() -> Option<Arc<T>>,
) -> Result<Arc<T>, Fault> {
    if let Some((known, object)) = last
        && *known == handle
    {
        return Ok(object.clone());
    }
    let object = find().ok_or(Fault::IllegalAddress)?;
    Ok(last.insert((handle, object)).1.clone())
}

fn start_of_time() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Returns the cycle count of a 1 GHz clock.
fn clock() -> u64 {
    start_of_time().elapsed().as_nanos() as u64
}

fn nanoseconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |d| d.as_nanos() as u64)
}
