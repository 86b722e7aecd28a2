//! Simulates VMs and the scheduler in virtual time.
//!
//! The model: a GPU runs one VM's work at full speed and in order. A VM's work can be taken off the
//! GPU in the middle of a kernel, which takes time, and so does its return. If several VMs have
//! work in flight, the driver time-slices between them, which wastes some time. Switching from one
//! VM to another takes time. Workers notice opened gates, and the scheduler notices bells, with a
//! random delay. Closing a gate takes effect immediately, because the real gate's handshake has the
//! same effect.
//!
//! Both the unit tests and `examples/schedule/` include this module.

mod engine;
mod evict_only;
mod load;
mod worker;

pub use engine::World;
pub use load::Load;

use super::{MS, Nanos, US, pseudorandom};

/// Delays and costs of the simulated machine. The defaults were fitted to measurements on an H200,
/// where two VMs that alternate reach 97% of the throughput of one VM with windows of 5 ms, and 99%
/// with windows of 20 ms.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Time from the end of the last kernel until the worker notices it (minimum and maximum).
    pub notice: (Nanos, Nanos),
    /// Time from a bell or an expired timer until the scheduler thread runs (minimum and maximum).
    pub scheduler: (Nanos, Nanos),
    /// Time from the opening of a gate until a worker that is polling launches work (minimum and
    /// maximum).
    pub prepared: (Nanos, Nanos),
    /// Time from the opening of a gate until a worker that is asleep launches work (minimum and
    /// maximum).
    pub asleep: (Nanos, Nanos),
    /// Time that an eviction takes (minimum and maximum), or `None` if nothing can be evicted.
    pub evict: Option<(Nanos, Nanos)>,
    /// True if work makes no progress while it's being evicted.
    pub evict_stops: bool,
    /// Time until evicted work continues (minimum and maximum).
    pub restore: (Nanos, Nanos),
    /// Time that the GPU takes to switch from one VM to another.
    pub change: Nanos,
    /// Fraction of the GPU's time that is usable when the driver time-slices.
    pub sliced: f64,
    /// Length of the driver's time slices.
    pub slice: Nanos,
    /// Maximum number of kernels in flight per worker.
    pub in_flight: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            notice: (5 * US, 20 * US),
            scheduler: (5 * US, 40 * US),
            prepared: (3 * US, 15 * US),
            asleep: (20 * US, 60 * US),
            evict: Some((450 * US, 700 * US)),
            evict_stops: false,
            restore: (280 * US, 340 * US),
            change: 60 * US,
            sliced: 0.92,
            slice: 2 * MS,
            in_flight: 832,
        }
    }
}

/// A random number generator. The same seed gives the same numbers.
#[derive(Debug)]
pub struct Random {
    seed: u64,
    /// How many numbers there were.
    count: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Random { seed, count: 0 }
    }

    pub fn next(&mut self) -> u64 {
        self.count += 1;
        pseudorandom(self.seed, self.count)
    }

    /// Returns a random number in the inclusive range.
    pub fn between(&mut self, (least, most): (Nanos, Nanos)) -> Nanos {
        least + self.next() % (most - least + 1)
    }
}
