//! The session's settings, from the environment.

use protocol::PROGRAM_VARIABLE;
use protocol::uapi::{IOC_ENV_MAX, RING_MAX_BYTES, RING_MIN_BYTES};
use std::time::Duration;

/// CUDA's environment variables that affect the driver in the worker. The host decides which of
/// them it accepts.
const FORWARDED: &[&str] = &[
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_JIT",
    "CUDA_DISABLE_JIT",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_AUTO_BOOST",
];

/// The default of `VIRTIO_CUDA_SPIN_US`: the time in microseconds for which a waiting thread spins.
/// Waking a thread takes tens of microseconds, which matters to programs that wait for the GPU
/// every millisecond, such as those that generate text. With NVIDIA's library, a waiting thread
/// spins the whole time.
const SPIN_US: u64 = 1000;

/// The session's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The environment variables for the worker, as strings of the form `NAME=value\0`.
    pub env: Vec<u8>,
    /// The size of the ring in bytes.
    pub ring_bytes: u32,
    /// The size of the arena in bytes.
    pub arena_bytes: u64,
    /// The time for which a thread spins before it sleeps (`VIRTIO_CUDA_SPIN_US`).
    pub spin: Duration,
    /// Whether a thread may spin until the GPU has written its completion word, if a native program
    /// would spin. False if `VIRTIO_CUDA_SPIN_US` is set.
    pub spin_on_words: bool,
    /// Whether every call waits for its completion (`VIRTIO_CUDA_SYNC=1`).
    pub sync: bool,
    /// Whether every call is sent as a descriptor chain (`VIRTIO_CUDA_PLAIN=1`).
    pub plain: bool,
}

fn flag(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| !matches!(value.as_str(), "" | "0"))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

fn forwarded() -> Vec<u8> {
    let mut env = Vec::new();
    for name in FORWARDED {
        if let Ok(value) = std::env::var(name) {
            let entry = format!("{name}={value}\0");
            if env.len() + entry.len() <= IOC_ENV_MAX {
                env.extend_from_slice(entry.as_bytes());
            }
        }
    }
    // Send the program's name, which operators of the host see in the list of sessions.
    if let Ok(program) = std::fs::read_to_string("/proc/self/comm") {
        let entry = format!("{PROGRAM_VARIABLE}={}\0", program.trim_end().replace('\0', ""));
        if env.len() + entry.len() <= IOC_ENV_MAX {
            env.extend_from_slice(entry.as_bytes());
        }
    }
    env
}

impl Config {
    /// Reads the environment.
    pub fn from_env() -> Self {
        let ring = number("VIRTIO_CUDA_RING_BYTES").unwrap_or(1 << 20) as usize;
        let ring = ring.clamp(16 * RING_MIN_BYTES, RING_MAX_BYTES).next_power_of_two();
        let arena = number("VIRTIO_CUDA_ARENA_BYTES").unwrap_or(16 << 20);
        let spin = number("VIRTIO_CUDA_SPIN_US");
        Self {
            env: forwarded(),
            ring_bytes: ring as u32,
            arena_bytes: arena.clamp(4 << 20, 1 << 30).next_multiple_of(4096),
            spin: Duration::from_micros(spin.unwrap_or(SPIN_US).min(1_000_000)),
            spin_on_words: spin.is_none(),
            sync: flag("VIRTIO_CUDA_SYNC"),
            plain: flag("VIRTIO_CUDA_PLAIN"),
        }
    }
}
