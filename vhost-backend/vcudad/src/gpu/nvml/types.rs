//! The part of NVML that the broker uses, as traits and data types.

use std::time::Duration;

use control_api::GpuSensors;
use host_ipc::gpu::{NvLinks, PcieLinks};

/// The device memory that one process uses on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    /// The process ID in the driver's pid namespace. If the broker runs in a different one, this ID
    /// matches none of its workers.
    pub(crate) pid: u32,
    pub(crate) bytes: u64,
}

/// The memory in use on a GPU when the sample was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemorySample {
    /// Bytes used by all processes together, not counting the driver's own reserve.
    pub(crate) used: u64,
    /// The processes with a context on the GPU. The same process can be listed several times.
    pub(crate) processes: Vec<ProcessMemory>,
    /// True if the list contains all processes that use the GPU, including those that use it for
    /// graphics.
    pub(crate) is_complete: bool,
}

impl MemorySample {
    /// Returns the bytes that a process uses, or `None` if the driver doesn't list the process.
    pub(crate) fn process_bytes(&self, pid: u32) -> Option<u64> {
        let listed = self.processes.iter().filter(|process| process.pid == pid);
        listed.map(|process| process.bytes).reduce(u64::saturating_add)
    }
}

/// How much a process has used a GPU's multiprocessors, on average since an earlier sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Utilization {
    pub(crate) pid: u32,
    /// When the driver took the latest sample, in microseconds since 1970.
    pub(crate) at_us: u64,
    pub(crate) percent: u32,
}

/// The GPU time that processes have used since the previous sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeSample {
    pub(crate) elapsed: Duration,
    /// Process IDs, each with its time.
    pub(crate) processes: Vec<(u32, Duration)>,
}

impl TimeSample {
    /// Returns the sample for the time since `since_us`, and the time at which the sample ends.
    /// Returns `None` if the driver has taken no sample since then.
    pub(crate) fn new(since_us: u64, utilizations: &[Utilization]) -> Option<(Self, u64)> {
        let end_us = utilizations.iter().map(|one| one.at_us).max()?;
        let elapsed = Duration::from_micros(end_us.checked_sub(since_us).filter(|us| *us > 0)?);
        // Drivers have been seen to report more than 100% for processes that had exited.
        let valid = utilizations.iter().filter(|one| one.percent <= 100);
        let processes = valid.map(|one| (one.pid, elapsed * one.percent / 100)).collect();
        Some((Self { elapsed, processes }, end_us))
    }

    /// Returns the time that a process has used.
    pub(crate) fn process_time(&self, pid: u32) -> Duration {
        self.processes.iter().filter(|(of, _)| *of == pid).map(|(_, time)| *time).sum()
    }
}

/// The kind of a GPU fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A critical error, with the number that NVIDIA assigned to that error (Xid).
    Xid(u64),
    /// A memory error that the hardware could not correct.
    Ecc,
    /// The driver can't reach the GPU any more.
    Lost,
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Xid(number) => write!(f, "Xid {number}"),
            Self::Ecc => write!(f, "an uncorrectable memory error"),
            Self::Lost => write!(f, "the GPU is lost"),
        }
    }
}

/// A GPU fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// UUID of the GPU. `None` if NVML doesn't report which GPU has the fault.
    pub(crate) uuid: Option<String>,
    pub(crate) kind: FaultKind,
}

/// The reason why an NVML query failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NvmlError {
    /// The library is missing, or its initialization failed.
    #[error("NVML is unavailable: {0}")]
    Unavailable(String),
    /// The library returned an error.
    #[error("NVML cannot read {what}: {reason}")]
    Query {
        /// The property that was queried.
        what: &'static str,
        /// The library's error message.
        reason: String,
    },
    /// The driver can't reach the GPU with this UUID any more.
    #[error("GPU {0} is lost")]
    Lost(String),
}

/// Queries to NVML.
pub(crate) trait Nvml: Send + Sync {
    /// Returns the UUIDs of all GPUs. Each GPU is followed by its MIG slices. The format is that of
    /// CUDA_VISIBLE_DEVICES: `GPU-…` or `MIG-…`.
    fn uuids(&self) -> Result<Vec<String>, NvmlError>;

    /// Returns the memory in use on a GPU or MIG slice. This may take a few milliseconds.
    fn sample(&self, uuid: &str) -> Result<MemorySample, NvmlError>;

    /// Returns how much processes have used a GPU since a time in microseconds since 1970.
    /// Processes that haven't used it may be missing. Fails if the GPU doesn't support this, for
    /// example because it's a MIG slice.
    fn utilization(&self, uuid: &str, since_us: u64) -> Result<Vec<Utilization>, NvmlError>;

    /// Returns a GPU's PCIe links. Values that NVML doesn't report are 0.
    fn links(&self, uuid: &str) -> PcieLinks;

    /// Returns a GPU's active NVLinks.
    fn nvlinks(&self, uuid: &str) -> NvLinks;

    /// Returns a GPU's temperature, power, and clocks.
    fn sensors(&self, uuid: &str) -> GpuSensors;

    /// Subscribes to future faults of all GPUs.
    fn faults(&self) -> Result<Box<dyn FaultSource>, NvmlError>;
}

/// A subscription to GPU faults.
pub(crate) trait FaultSource: Send {
    /// Waits up to a second for the next fault. Returns `None` if there was no fault in that time.
    fn next(&mut self) -> Result<Option<Fault>, NvmlError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilization_becomes_time_since_the_previous_sample() {
        let one = |pid, at_us, percent| Utilization { pid, at_us, percent };
        let ms = Duration::from_millis;
        assert_eq!(TimeSample::new(5_000_000, &[]), None);
        assert_eq!(TimeSample::new(5_000_000, &[one(1, 5_000_000, 50)]), None);
        let utilizations =
            [one(1, 5_600_000, 50), one(2, 6_000_000, 20), one(3, 5_500_000, 40_000)];
        let (sample, end) = TimeSample::new(5_000_000, &utilizations).unwrap();
        assert_eq!((sample.elapsed, end), (ms(1000), 6_000_000));
        let times = [1, 2, 3].map(|pid| sample.process_time(pid));
        assert_eq!(times, [ms(500), ms(200), ms(0)]);
    }
}
