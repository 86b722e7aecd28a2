//! Simulates VMs and the scheduler in virtual time.
//!
//! The model: a GPU runs one VM's work at full speed and in order, and the scheduler can't preempt
//! kernels. If several VMs have work in flight, the driver time-slices between them, which wastes
//! some time. Switching from one VM to another costs time. Workers see grants, and the scheduler
//! sees bells, with a delay and jitter. Closing a gate takes effect immediately, thanks to the
//! gate's handshake.
//!
//! The unit tests and `examples/schedule/` both compile this module.

mod engine;
mod load;
mod worker;

pub use engine::World;
pub use load::Load;

use super::{MS, Nanos, US};

/// Delays of the simulated machine. The defaults were fitted to measurements on an H200:
/// alternating 5 ms windows give 97% of solo throughput, and 20 ms windows give 99%.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Time from the end of the last kernel until the worker notices it: minimum and maximum.
    pub notice: (Nanos, Nanos),
    /// Time from a bell or timer until the scheduler thread runs.
    pub scheduler: (Nanos, Nanos),
    /// Time from a grant until the launch, if the worker is polling.
    pub prepared: (Nanos, Nanos),
    /// Time from a grant until the launch, if the worker must be woken.
    pub asleep: (Nanos, Nanos),
    /// Time that the GPU takes to switch from one VM to another.
    pub change: Nanos,
    /// The usable fraction of the time when the driver time-slices, and the length of a slice.
    pub sliced: f64,
    pub slice: Nanos,
    /// Maximum number of commands in flight when no time limit applies.
    pub in_flight: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            notice: (5 * US, 20 * US),
            scheduler: (5 * US, 40 * US),
            prepared: (3 * US, 15 * US),
            asleep: (20 * US, 60 * US),
            change: 60 * US,
            sliced: 0.92,
            slice: 2 * MS,
            in_flight: 832,
        }
    }
}

/// A SplitMix64 generator. The same seed gives the same numbers.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in the inclusive range.
    pub fn between(&mut self, (least, most): (Nanos, Nanos)) -> Nanos {
        least + self.next() % (most - least + 1)
    }
}
