//! The sequence of actions. It depends only on the seed, not on the state of the host.

use serde_json::{Value, json};

use crate::flood::Flood;
use virtio_cuda_tests::random::Random;

/// The number of VMs. The first `UNHARMED` of them are never attacked.
pub const VMS: usize = 50;
pub const UNHARMED: usize = 8;
/// The initial `memory.max` of a VM, in bytes.
pub const MEMORY_MAX: u64 = 256 << 20;

/// Programs that exit after a second or two.
pub const SHORT: [&str; 7] =
    ["vectoradd", "reduction", "matmul", "saxpy", "scan", "histogram", "atomics"];

/// One action. `vm` is the index of an attacked VM, and `which` selects one of the objects that
/// exist when the action is performed.
#[derive(Clone, Debug)]
pub enum Action {
    /// Run a guest program, and kill it if it's still running after some seconds.
    Run { vm: usize, program: &'static str, args: Vec<String>, seconds: u64 },
    /// Run a hostile guest program.
    Flood { vm: usize, kind: Flood, seed: u64, seconds: u64 },
    /// Kill a guest program with this signal.
    KillProgram { which: u64, signal: i32 },
    /// Kill a worker with this signal. If the signal is SIGSTOP, vcudad must kill the stopped
    /// worker.
    KillWorker { which: u64, signal: i32 },
    /// Kill a VM's device process.
    KillDevice { which: u64 },
    /// End a session through the control API.
    EndSession { which: u64 },
    /// Remove a VM.
    Remove { vm: usize },
    /// Add one of the VMs that were removed before.
    Add { which: u64 },
    /// Replace a VM with a new one. This also revives a VM that has failed because its device
    /// process exited too often.
    Replace { vm: usize },
    /// Take a VM's memory off its GPUs. It returns by itself when a program needs it.
    SwapOut { vm: usize },
    /// Change a VM's settings.
    Set { vm: usize, patch: Value },
}

impl Action {
    /// Chooses the next action at random.
    pub fn draw(random: &mut Random) -> Self {
        let vm = random.within(UNHARMED as u64, VMS as u64 - 1) as usize;
        let which = random.word();
        match random.within(0, 99) {
            0..=15 => {
                let program = random.pick(&SHORT);
                Self::Run { vm, program, args: Vec::new(), seconds: 60 }
            }
            16..=47 => Self::spin(random, vm, "idle", (20, 90)),
            48..=51 => Self::spin(random, vm, "loop", (1, 4)),
            52..=53 => Self::spin(random, vm, "forever", (1, 4)),
            54..=58 => {
                let kind = random.pick(&[Flood::Sessions, Flood::Garbage, Flood::Connections]);
                Self::Flood { vm, kind, seed: random.word(), seconds: random.within(1, 4) }
            }
            59..=68 => {
                let signal = random.pick(&[libc::SIGKILL, libc::SIGKILL, libc::SIGTERM]);
                Self::KillProgram { which, signal }
            }
            69..=74 => Self::KillWorker { which, signal: libc::SIGKILL },
            75 => Self::KillWorker { which, signal: libc::SIGSTOP },
            76..=79 => Self::KillDevice { which },
            80..=82 => Self::EndSession { which },
            83..=84 => Self::Remove { vm },
            85..=87 => Self::Add { which },
            88 => Self::Replace { vm },
            89..=92 => Self::SwapOut { vm },
            _ => Self::Set { vm, patch: settings(random) },
        }
    }

    fn spin(random: &mut Random, vm: usize, mode: &str, (low, high): (u64, u64)) -> Self {
        let hold = random.within(1, 64);
        let args = vec![format!("hold={hold}"), mode.into()];
        Self::Run { vm, program: "spin", args, seconds: random.within(low, high) }
    }

    /// Returns the name of the kind of action, for the summary.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Run { program: "spin", .. } => "run a long program",
            Self::Run { .. } => "run a short program",
            Self::Flood { kind, .. } => kind.purpose(),
            Self::KillProgram { .. } => "kill a program",
            Self::KillWorker { signal: libc::SIGSTOP, .. } => "stop a worker",
            Self::KillWorker { .. } => "kill a worker",
            Self::KillDevice { .. } => "kill a device process",
            Self::EndSession { .. } => "end a session",
            Self::Remove { .. } => "remove a VM",
            Self::Add { .. } => "add a removed VM",
            Self::Replace { .. } => "replace a VM",
            Self::SwapOut { .. } => "swap a VM out",
            Self::Set { .. } => "change settings",
        }
    }

    /// Returns true if the action starts a program.
    pub fn starts_program(&self) -> bool {
        matches!(self, Self::Run { .. } | Self::Flood { .. })
    }
}

fn settings(random: &mut Random) -> Value {
    match random.within(0, 4) {
        0 => json!({"compute": {"weight": random.within(1, 1000)}}),
        1 => json!({"compute": {"max": format!("{}%", random.within(5, 100))}}),
        2 => json!({"sessions": {"max": random.within(1, 32)}}),
        _ => json!({"memory": {"max": random.within(32, 384) << 20}}),
    }
}
