//! The programs that VMs run.

use super::super::{Nanos, US};

/// Kernel lengths in us, as in a convolutional network's inference: mostly short, some longer.
const LENGTHS: [u64; 18] = [5, 6, 5, 12, 5, 7, 5, 20, 5, 6, 8, 5, 14, 5, 6, 5, 40, 5];

/// A program's behaviour.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// Always has more kernels of this length.
    Saturate { kernel: Nanos },
    /// Saturates for `on`, then does nothing for `off`.
    OnOff { kernel: Nanos, on: Nanos, off: Nanos },
    /// One kernel after the other, with work on the CPU between them.
    Chain { kernel: Nanos, gap: Nanos },
    /// A request every `period`, as a chain of `count` kernels.
    Requests { period: Nanos, count: u32, kernel: Nanos, gap: Nanos },
    /// One request after the other, each with `count` kernels of 5 to 40 us. A CPU thread launches one
    /// every `launch` without waiting, then waits for all, and works for about `pause` before the next
    /// request.
    Eager { count: u32, launch: Nanos, pause: Nanos },
    /// Kernels on all of the VM's GPUs that wait for one another, one after the other.
    Collective { kernel: Nanos },
    /// Always has more copies between host and device of this length.
    Copies { copy: Nanos },
    /// A copy, then a kernel, one after the other.
    Pipeline { copy: Nanos, kernel: Nanos },
    /// Never does anything.
    Idle,
}

/// The state of a program on one GPU.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Number of launched kernels that wait; `u64::MAX` if there's no end.
    pub waiting: u64,
    /// Whether a copy waits.
    pub copies: bool,
    /// Kernels left in the current request, including the launched one.
    pub left: u32,
    /// Kernels of the current request that aren't launched yet.
    pub unasked: u32,
    /// Arrival times of unanswered requests, oldest first.
    pub requests: std::collections::VecDeque<Nanos>,
    /// Arrival time of the next request.
    pub due: Nanos,
    /// Number of the next batch.
    pub number: u64,
}

impl Load {
    /// How long one copy takes.
    pub fn copy(&self) -> Nanos {
        match *self {
            Load::Copies { copy } | Load::Pipeline { copy, .. } => copy,
            _ => 0,
        }
    }

    /// How long a kernel runs. If lengths differ, `number` selects one.
    pub fn kernel(&self, number: u64) -> Nanos {
        match *self {
            Load::Saturate { kernel }
            | Load::OnOff { kernel, .. }
            | Load::Chain { kernel, .. }
            | Load::Requests { kernel, .. }
            | Load::Collective { kernel }
            | Load::Pipeline { kernel, .. } => kernel,
            Load::Eager { .. } => LENGTHS[number as usize % LENGTHS.len()] * US,
            Load::Copies { .. } | Load::Idle => 0,
        }
    }
}
