//! Programs that the simulated VMs run.

use super::super::{Nanos, US};

/// Kernel lengths in us, typical for inference with a convolutional network: mostly short, with a
/// few longer ones.
const LENGTHS: [u64; 18] = [5, 6, 5, 12, 5, 7, 5, 20, 5, 6, 8, 5, 14, 5, 6, 5, 40, 5];

/// A program's behavior.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// Always has more kernels of this length to run.
    Saturate { kernel: Nanos },
    /// Saturates for `on`, then does nothing for `off`.
    OnOff { kernel: Nanos, on: Nanos, off: Nanos },
    /// Runs one kernel after another, with CPU work for `gap` in between.
    Chain { kernel: Nanos, gap: Nanos },
    /// Gets a request every `period`. A request runs `count` kernels one after another, with CPU
    /// work for `gap` in between.
    Requests { period: Nanos, count: u32, kernel: Nanos, gap: Nanos },
    /// Runs one request after another. For each request, a CPU thread launches `count` kernels of 5
    /// to 40 us, one every `launch`, without waiting. Then it waits for all of them, and works for
    /// about `pause` before the next request.
    Eager { count: u32, launch: Nanos, pause: Nanos },
    /// Runs one collective kernel after another, each on all of the VM's GPUs at once.
    Collective { kernel: Nanos },
    /// Always has more copies between host and device to make. Each takes this long.
    Copies { copy: Nanos },
    /// Alternates between a copy and a kernel.
    Pipeline { copy: Nanos, kernel: Nanos },
    /// Never asks for any work.
    Idle,
}

/// A program's state on one GPU.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Number of kernels that the program has launched but the worker hasn't submitted. `u64::MAX`
    /// means that there is no end.
    pub waiting: u64,
    /// Whether the program has requested a copy that hasn't started.
    pub copies: bool,
    /// Number of kernels in the current request that have not finished.
    pub left: u32,
    /// Number of kernels in the current request that the program hasn't launched.
    pub unasked: u32,
    /// Arrival times of the requests that have not been completed, oldest first.
    pub requests: std::collections::VecDeque<Nanos>,
    /// Time at which the next request arrives.
    pub due: Nanos,
    /// Number of the next batch or kernel, which selects its length.
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

    /// Returns how long a kernel runs. If the program's kernels differ in length, `number` selects
    /// the kernel.
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
