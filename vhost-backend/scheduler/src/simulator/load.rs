//! Programs that the simulated VMs run.

use super::super::{Nanos, US};

/// Kernel lengths in us, as in inference with a convolutional network: mostly short, some longer.
const LENGTHS: [u64; 18] = [5, 6, 5, 12, 5, 7, 5, 20, 5, 6, 8, 5, 14, 5, 6, 5, 40, 5];

/// A program's behavior.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// Always has more kernels of this length.
    Saturate { kernel: Nanos },
    /// Saturates for `on`, then does nothing for `off`.
    OnOff { kernel: Nanos, on: Nanos, off: Nanos },
    /// Runs one kernel after another, with CPU work in between.
    Chain { kernel: Nanos, gap: Nanos },
    /// Gets a request every `period`, which is a chain of `count` kernels.
    Requests { period: Nanos, count: u32, kernel: Nanos, gap: Nanos },
    /// Runs one request after another, each with `count` kernels of 5 to 40 us. A CPU thread
    /// launches a kernel every `launch` without waiting, then waits for all of them, and works for
    /// about `pause` before the next request.
    Eager { count: u32, launch: Nanos, pause: Nanos },
    /// Runs one collective kernel after another, each on all of the VM's GPUs at once.
    Collective { kernel: Nanos },
    /// Always has more copies of this length between host and device.
    Copies { copy: Nanos },
    /// Alternates between a copy and a kernel.
    Pipeline { copy: Nanos, kernel: Nanos },
    /// Never does anything.
    Idle,
}

/// A program's state on one GPU.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Number of launched kernels that are waiting. `u64::MAX` means no end.
    pub waiting: u64,
    /// Whether a copy is waiting.
    pub copies: bool,
    /// Number of unfinished kernels in the current request, including the launched one.
    pub left: u32,
    /// Number of kernels in the current request that haven't been launched yet.
    pub unasked: u32,
    /// Arrival times of unfinished requests, oldest first.
    pub requests: std::collections::VecDeque<Nanos>,
    /// Arrival time of the next request.
    pub due: Nanos,
    /// Number of the next batch.
    pub number: u64,
}

impl Load {
    /// Returns how long one copy takes.
    pub fn copy(&self) -> Nanos {
        match *self {
            Load::Copies { copy } | Load::Pipeline { copy, .. } => copy,
            _ => 0,
        }
    }

    /// Returns how long a kernel runs. If lengths differ, `number` selects one.
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
