//! Plays VMs against the scheduler in virtual time.
//!
//! The model: a GPU runs one VM's work at full speed, in order, and kernels can't be preempted by us;
//! where several VMs have work in flight, the driver slices between them, and some time is lost.
//! Changing from one VM to another costs time. Workers see a grant, and the scheduler a bell, with
//! a delay and jitter; closing takes effect at once, as the gate's handshake makes it.
//!
//! The same source is built into the unit tests and into `examples/schedule/`.

mod engine;
mod load;
mod worker;

pub use engine::World;
pub use load::Load;

use super::{MS, Nanos, US};

/// What the machine costs. The default was fitted to the H200's windows: 5/5 ms give 97% of solo
/// throughput, 20/20 ms 99%.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// From the end of the last kernel until the worker knows it: least and most.
    pub notice: (Nanos, Nanos),
    /// From a bell or a timer until the scheduler's thread runs.
    pub scheduler: (Nanos, Nanos),
    /// From a grant until a worker that watches launches.
    pub prepared: (Nanos, Nanos),
    /// The same for a worker that has to be woken.
    pub asleep: (Nanos, Nanos),
    /// The GPU's change from one VM to another.
    pub change: Nanos,
    /// Part of the time that is left when the driver slices, and how long a slice is.
    pub sliced: f64,
    pub slice: Nanos,
    /// Commands that may be in flight without a bound in time.
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

/// Splitmix64: the same numbers for the same seed.
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

    /// From the first to the second, both included.
    pub fn between(&mut self, (least, most): (Nanos, Nanos)) -> Nanos {
        least + self.next() % (most - least + 1)
    }
}
