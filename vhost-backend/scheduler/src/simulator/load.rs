//! What programs do.

use super::super::{Nanos, US};

/// As in a convolutional network's inference, in us: mostly short, some longer.
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
    /// Every `period` a request: a chain of `count` kernels.
    Requests { period: Nanos, count: u32, kernel: Nanos, gap: Nanos },
    /// One request after the other, each of `count` kernels of 5 to 40 us. A CPU thread launches one
    /// each `launch` without waiting, waits for all, and works for about `pause` before the next.
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

/// Where a program stands on one GPU.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Kernels that it has asked for and that wait; `u64::MAX`: no end.
    pub waiting: u64,
    /// It has asked for a copy, which waits.
    pub copies: bool,
    /// Kernels left of the present request, the one that is asked for included.
    pub left: u32,
    /// Kernels of it that are still to be launched.
    pub unasked: u32,
    /// When requests came that are not answered, oldest first.
    pub requests: std::collections::VecDeque<Nanos>,
    /// When the next request comes.
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

    /// How long one kernel runs: the next, where they differ, by its number.
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
