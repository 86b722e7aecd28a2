//! Simulates VMs and the scheduler in virtual time.
//!
//! The model: a GPU runs one VM's work at full speed and in order, and the scheduler can't preempt
//! kernels. If several VMs have work in flight, the driver slices between them, which wastes some
//! time. Switching from one VM to another costs time. Workers see a grant, and the scheduler a bell,
//! with a delay and jitter. Closing a gate takes effect at once, thanks to the gate's handshake.
//!
//! The unit tests and `examples/schedule/` compile the same source.

mod engine;
mod load;
mod worker;

pub use engine::World;
pub use load::Load;

use super::{MS, Nanos, US};

/// The machine's delays. The default was fitted to measurements on an H200: windows of 5/5 ms give
/// 97% of solo throughput, 20/20 ms 99%.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// From the end of the last kernel until the worker notices it: least and most.
    pub notice: (Nanos, Nanos),
    /// From a bell or a timer until the scheduler's thread runs.
    pub scheduler: (Nanos, Nanos),
    /// From a grant until the launch by a worker that is polling.
    pub prepared: (Nanos, Nanos),
    /// The same for a worker that must be woken.
    pub asleep: (Nanos, Nanos),
    /// The duration of the GPU's switch from one VM to another.
    pub change: Nanos,
    /// The fraction of the time that is usable when the driver slices, and the length of a slice.
    pub sliced: f64,
    pub slice: Nanos,
    /// The number of commands that may be in flight when no time limit applies.
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

/// A Splitmix64 generator: the same seed gives the same numbers.
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

    /// A number in the inclusive range.
    pub fn between(&mut self, (least, most): (Nanos, Nanos)) -> Nanos {
        least + self.next() % (most - least + 1)
    }
}
