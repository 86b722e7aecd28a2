//! The state that the warps of a block share: shared memory and barriers.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::launch::Launch;
use super::memory::View;
use crate::ptx::ir::Volatile;

/// One of a block's barriers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BarrierState {
    /// Number of times it has completed.
    pub(crate) turn: u64,
    /// Threads that have arrived.
    pub(crate) arrived: u32,
    /// Number of threads it waits for; 0 means all live threads.
    pub(crate) count: u32,
    /// Of the arrived threads: how many predicates were set, and how many were tested.
    pub(crate) set: u32,
    pub(crate) asked: u32,
    /// The same for its last completion.
    pub(crate) last_set: u32,
    pub(crate) last_asked: u32,
}

/// The state that the warps of a block share.
pub struct BlockState<'l> {
    pub(crate) launch: &'l Launch,
    pub(crate) index: [u32; 3],
    /// Index of the host thread that runs the block.
    pub(crate) worker: u32,
    view: View<'l>,
    /// Stored as words for alignment.
    shared: Vec<u128>,
    pub(crate) barriers: [BarrierState; 16],
    live: u32,
    /// No warp can run, so lanes that wait for other lanes of their warp continue without them.
    pub(crate) stuck: bool,
}

impl<'l> BlockState<'l> {
    /// The state for blocks of a launch, before the first one starts.
    pub(crate) fn new(launch: &'l Launch, worker: u32) -> Self {
        Self {
            launch,
            index: [0; 3],
            worker,
            view: launch.memory.view(),
            shared: vec![0; launch.shared_bytes().div_ceil(16)],
            barriers: [BarrierState::default(); 16],
            live: 0,
            stuck: false,
        }
    }

    /// Starts a block of the grid.
    pub(crate) fn start(&mut self, index: u64) {
        let [gx, gy, _] = self.launch.grid.map(u64::from);
        self.index = [index % gx, index / gx % gy, index / gx / gy].map(|i| i as u32);
        self.barriers = [BarrierState::default(); 16];
        self.live = self.launch.threads();
    }

    /// Whether kernels may access an interval of global memory.
    pub(crate) fn allows(&mut self, address: u64, bytes: u64, write: bool) -> bool {
        self.view.allows(address, bytes, write)
    }

    /// How many barriers have completed.
    pub(crate) fn completed(&self) -> u64 {
        self.barriers.iter().map(|b| b.turn).sum()
    }

    /// Handles the exit of threads: barriers no longer wait for them.
    pub(crate) fn exited(&mut self, count: u32) {
        self.live -= count;
        for id in 0..16 {
            let barrier = self.barriers[id];
            if barrier.arrived > 0 && barrier.count == 0 {
                self.complete(id);
            }
        }
    }

    /// Completes a barrier if all threads have arrived.
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

    /// Pauses for a `nanosleep` of one warp. PTX bounds a sleep to a millisecond and allows it to
    /// be shorter. A block of several warps only gives up the processor, because one thread
    /// executes all of them: the event that a warp waits for may come from another warp.
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

    /// The block's shared memory.
    pub(crate) fn shared_bytes(&mut self) -> &mut [u8] {
        let len = self.shared.len() * 16;
        // SAFETY: the words are initialized, and any bytes are valid words.
        unsafe { std::slice::from_raw_parts_mut(self.shared.as_mut_ptr().cast(), len) }
    }
}

fn start_of_time() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Cycles of a 1 GHz clock.
fn clock() -> u64 {
    start_of_time().elapsed().as_nanos() as u64
}

fn nanoseconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |d| d.as_nanos() as u64)
}
