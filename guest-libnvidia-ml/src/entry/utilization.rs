//! Entry points for the GPU time that the VM and its processes use, and for what slows the VM down.
//! Each call queries the current values from the device.

use super::entries;
use crate::args::{Arg, Out, version};
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::*;
use crate::state::{self, Handle};
use guest_transport::facts::Snapshot;
use protocol::uapi::{
    GpuUse, SLOWED_BY_CAP, SLOWED_BY_PAUSE, SLOWED_BY_TURNS, SLOWED_KNOWN, UTILIZATION_NONE,
};
use std::time::{SystemTime, UNIX_EPOCH};

/// The clocks event reasons that a guest can see.
const REASONS: u32 = nvmlClocksEventReasonGpuIdle | SETTING;
/// The reason reported if the host's settings slow the VM down. It's the only one of NVML's reasons
/// that means an administrator's setting, instead of power, heat, or other GPUs. NVIDIA's newer
/// drivers no longer report it.
const SETTING: u32 = nvmlClocksEventReasonApplicationsClocksSetting;

/// Converts a utilization in units of 0.01% to percent, rounded up.
fn percent(parts: u32) -> NvmlResult<u32> {
    match parts {
        UTILIZATION_NONE => Err(NvmlError::NOT_SUPPORTED),
        parts => Ok(parts.div_ceil(100).min(100)),
    }
}

/// Returns the time in microseconds since 1970, the format of timestamps in samples.
fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// The processes that have used a GPU in the second before a point in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Busy {
    pub(super) at_us: u64,
    /// Pairs of a process ID and the process's use in percent, which isn't 0. There is at least one
    /// pair.
    pub(super) processes: Vec<(u32, u32)>,
}

impl Busy {
    /// Returns the processes in a snapshot that have used the GPU with this index. If a process has
    /// several sessions, it's listed once, with their total use. Fails if no process has used the
    /// GPU, or if `at_us`, the snapshot's time, isn't after `since_us`.
    fn read(snapshot: &Snapshot, index: usize, since_us: u64, at_us: u64) -> NvmlResult<Self> {
        let all = snapshot.processes.iter().zip(&snapshot.process_uses);
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (process, used) in all.filter(|(process, _)| process.gpu as usize == index) {
            percent(used.utilization)?;
            match merged.iter_mut().find(|(pid, _)| *pid == process.pid) {
                Some((_, sum)) => *sum = sum.saturating_add(used.utilization),
                None => merged.push((process.pid, used.utilization)),
            }
        }
        merged.retain(|(_, parts)| *parts > 0);
        if merged.is_empty() || at_us <= since_us {
            return Err(NvmlError::NOT_FOUND);
        }
        let whole = |(pid, parts): (u32, u32)| Ok((pid, percent(parts.min(10_000))?));
        let processes = merged.into_iter().map(whole).collect::<NvmlResult<_>>()?;
        Ok(Self { at_us, processes })
    }

    /// Queries the device for the processes that have used a GPU. Fails if none has used it after
    /// `since_us`.
    pub(super) fn now(device: Handle, since_us: u64) -> NvmlResult<Self> {
        state::gpu(device)?;
        Self::read(&state::now()?, device.index()?, since_us, now_us())
    }

    /// Passes the number of processes to `set_count`, and stores an element for each process. Fails
    /// without storing elements if there is no array, or if it is too short.
    ///
    /// # Safety
    ///
    /// If `to` is not null, it must be valid for `room` elements.
    unsafe fn store<T: Copy>(
        &self,
        to: Out<T>,
        room: u32,
        set_count: impl FnOnce(u32) -> NvmlResult,
        element: impl Fn(u32, u32) -> T,
    ) -> NvmlResult {
        set_count(self.processes.len() as u32)?;
        if to.is_null() || self.processes.len() > room as usize {
            return Err(NvmlError::INSUFFICIENT_SIZE);
        }
        // SAFETY: the array has `room` elements, as the caller promises.
        let to = unsafe { to.array(room as usize) };
        for (place, (pid, sm)) in self.processes.iter().enumerate() {
            to.set(place, element(*pid, *sm))?;
        }
        Ok(())
    }
}

/// Returns NVML's clocks event reasons for a GPU.
fn reasons(used: GpuUse, utilization: u32) -> NvmlResult<u64> {
    if used.slowed & SLOWED_KNOWN == 0 {
        return Err(NvmlError::NOT_SUPPORTED);
    }
    let is_slowed = used.slowed & (SLOWED_BY_CAP | SLOWED_BY_TURNS | SLOWED_BY_PAUSE) != 0;
    Ok(match utilization {
        _ if is_slowed => SETTING.into(),
        0 => nvmlClocksEventReasonGpuIdle.into(),
        _ => nvmlClocksEventReasonNone.into(),
    })
}

fn current_reasons(device: Handle) -> NvmlResult<u64> {
    state::gpu(device)?;
    let (snapshot, index) = (state::now()?, device.index()?);
    let gpu = snapshot.gpus.get(index).ok_or(NvmlError::GPU_IS_LOST)?;
    reasons(snapshot.uses[index], gpu.utilization)
}

fn supported_reasons(device: Handle) -> NvmlResult<u64> {
    current_reasons(device).map(|_| REASONS.into())
}

entries! {
    /// Returns the VM's share of GPU time over the last second, in percent. Memory utilization is
    /// reported as 0, because it isn't known and the structure has no value for "unknown".
    fn nvmlDeviceGetUtilizationRates(device: Handle, rates: Out<nvmlUtilization_t>) {
        state::gpu(device)?;
        let gpu = percent(state::gpu_now(device)?.utilization)?;
        rates.set(nvmlUtilization_t { gpu, memory: 0 })
    }
    /// Returns one sample, which covers the last second.
    fn nvmlDeviceGetSamples(
        device: Handle,
        kind: nvmlSamplingType_t,
        since_us: u64,
        value_type: Out<nvmlValueType_t>,
        count: Out<u32>,
        samples: Out<nvmlSample_t>,
    ) {
        state::gpu(device)?;
        let room = count.get()?;
        if kind.0 >= nvmlSamplingType_t::NVML_SAMPLINGTYPE_COUNT.0 || !samples.is_null() && room == 0 {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        if kind != nvmlSamplingType_t::NVML_GPU_UTILIZATION_SAMPLES {
            return Err(NvmlError::NOT_SUPPORTED);
        }
        let used = percent(state::gpu_now(device)?.utilization)?;
        let at_us = now_us();
        if at_us <= since_us {
            return Err(NvmlError::NOT_FOUND);
        }
        value_type.set(nvmlValueType_t::NVML_VALUE_TYPE_UNSIGNED_INT)?;
        if !samples.is_null() {
            let value = nvmlValue_t { ullVal: used.into() };
            samples.set(nvmlSample_t { timeStamp: at_us, sampleValue: value })?;
        }
        count.set(1)
    }
    /// Lists only processes that have used the GPU, as NVIDIA's library does.
    fn nvmlDeviceGetProcessUtilization(
        device: Handle,
        samples: Out<nvmlProcessUtilizationSample_t>,
        count: Out<u32>,
        since_us: u64,
    ) {
        let room = count.get()?;
        let busy = Busy::now(device, since_us)?;
        let sample = |pid, sm| nvmlProcessUtilizationSample_t {
            pid,
            timeStamp: busy.at_us,
            smUtil: sm,
            ..nvmlProcessUtilizationSample_t::default()
        };
        // SAFETY: the caller's array has `count` elements.
        unsafe { busy.store(samples, room, |length| count.set(length), sample) }
    }
    fn nvmlDeviceGetProcessesUtilizationInfo(
        device: Handle,
        info: Out<nvmlProcessesUtilizationInfo_t>,
    ) {
        let asked = info.get()?;
        if asked.version != version::<nvmlProcessesUtilizationInfo_t>(1) {
            return Err(NvmlError::ARGUMENT_VERSION_MISMATCH);
        }
        let busy = Busy::now(device, asked.lastSeenTimeStamp)?;
        let set_count = |length| {
            info.set(nvmlProcessesUtilizationInfo_t { processSamplesCount: length, ..asked })
        };
        let of = |pid, sm| nvmlProcessUtilizationInfo_v1_t {
            timeStamp: busy.at_us,
            pid,
            smUtil: sm,
            ..nvmlProcessUtilizationInfo_v1_t::default()
        };
        // SAFETY: the caller's array has as many elements as the structure says.
        unsafe {
            let array = Out::from_c(asked.procUtilArray);
            busy.store(array, asked.processSamplesCount, set_count, of)
        }
    }
    fn nvmlDeviceGetCurrentClocksEventReasons(device: Handle, reasons: Out<u64>) {
        reasons.set(current_reasons(device)?)
    }
    fn nvmlDeviceGetCurrentClocksThrottleReasons(device: Handle, reasons: Out<u64>) {
        reasons.set(current_reasons(device)?)
    }
    fn nvmlDeviceGetSupportedClocksEventReasons(device: Handle, reasons: Out<u64>) {
        reasons.set(supported_reasons(device)?)
    }
    fn nvmlDeviceGetSupportedClocksThrottleReasons(device: Handle, reasons: Out<u64>) {
        reasons.set(supported_reasons(device)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::plain::Plain;
    use protocol::uapi::{Process, ProcessUse};

    fn snapshot(processes: &[(u32, u32, u32)]) -> Snapshot {
        let process = |&(pid, gpu, _): &(u32, u32, u32)| Process { pid, gpu, ..Process::zeroed() };
        let used = |&(_, _, utilization): &(u32, u32, u32)| ProcessUse { utilization, reserved: 0 };
        Snapshot {
            processes: processes.iter().map(process).collect(),
            process_uses: processes.iter().map(used).collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn busy_processes_of_a_gpu_are_listed_once_and_idle_ones_are_not() {
        let snapshot = snapshot(&[(1, 0, 50), (2, 0, 0), (3, 1, 9000), (1, 0, 60), (4, 0, 20_000)]);
        let read = |since_us| Busy::read(&snapshot, 0, since_us, 1000);
        let processes = vec![(1, 2), (4, 100)];
        assert_eq!(read(999), Ok(Busy { at_us: 1000, processes }));
        assert_eq!(read(1000), Err(NvmlError::NOT_FOUND));
        assert_eq!(Busy::read(&snapshot, 2, 0, 1000), Err(NvmlError::NOT_FOUND));
    }

    #[test]
    fn the_use_of_processes_is_unknown_if_the_device_is_older() {
        let snapshot = snapshot(&[(1, 0, 50), (2, 0, UTILIZATION_NONE)]);
        assert_eq!(Busy::read(&snapshot, 0, 0, 1000), Err(NvmlError::NOT_SUPPORTED));
    }

    #[test]
    fn a_vm_whose_work_waits_is_neither_idle_nor_at_full_speed() {
        let of = |slowed, utilization| reasons(GpuUse { slowed, reserved: 0 }, utilization);
        assert_eq!(of(0, 5), Err(NvmlError::NOT_SUPPORTED));
        assert_eq!((of(SLOWED_KNOWN, 0), of(SLOWED_KNOWN, 5)), (Ok(1), Ok(0)));
        for cause in [SLOWED_BY_CAP, SLOWED_BY_TURNS, SLOWED_BY_PAUSE] {
            assert_eq!([0, 5].map(|used| of(SLOWED_KNOWN | cause, used)), [Ok(2), Ok(2)]);
        }
    }

    #[test]
    fn an_array_that_is_missing_or_too_short_gets_its_length_only() {
        let busy = Busy { at_us: 1, processes: vec![(1, 2), (3, 4)] };
        let mut values = [0u32; 2];
        let mut stored = |room, is_null: bool| {
            let mut count = None;
            let to = if is_null { std::ptr::null_mut() } else { values.as_mut_ptr() };
            // SAFETY: the array has two elements, and `room` is at most 2.
            let result = unsafe {
                let set_count = |length| {
                    count = Some(length);
                    Ok(())
                };
                busy.store(Out::from_c(to), room, set_count, |pid, sm| 10 * pid + sm)
            };
            (result, count)
        };
        let short = (Err(NvmlError::INSUFFICIENT_SIZE), Some(2));
        assert_eq!([stored(2, true), stored(1, false)], [short, short]);
        assert_eq!(stored(2, false), (Ok(()), Some(2)));
        assert_eq!(values, [12, 34]);
    }
}
