//! Entry points for the VM's device memory and GPU time. Each call queries the current values from
//! the device.

use super::entries;
use crate::args::{Out, version};
use crate::error::NvmlError;
use crate::generated::sys::{nvmlFieldValue_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlUtilization_t};
use crate::state::{self, Handle};
use protocol::uapi::UTILIZATION_NONE;

entries! {
    fn nvmlDeviceGetMemoryInfo(device: Handle, memory: Out<nvmlMemory_t>) {
        state::gpu(device)?;
        let gpu = state::gpu_now(device)?;
        let (total, used) = (gpu.memory_total, gpu.memory_used);
        memory.set(nvmlMemory_t { total, free: total.saturating_sub(used), used })
    }
    fn nvmlDeviceGetMemoryInfo_v2(device: Handle, memory: Out<nvmlMemory_v2_t>) {
        state::gpu(device)?;
        let version = version::<nvmlMemory_v2_t>(2);
        if memory.get()?.version != version {
            return Err(NvmlError::ARGUMENT_VERSION_MISMATCH);
        }
        let gpu = state::gpu_now(device)?;
        let (total, used) = (gpu.memory_total, gpu.memory_used);
        let free = total.saturating_sub(used);
        memory.set(nvmlMemory_v2_t { version, total, reserved: 0, free, used })
    }
    /// Returns the VM's share of GPU time over the last second, in percent. Memory utilization is
    /// reported as 0, because it isn't known and the structure has no value for "unknown".
    fn nvmlDeviceGetUtilizationRates(device: Handle, rates: Out<nvmlUtilization_t>) {
        state::gpu(device)?;
        match state::gpu_now(device)?.utilization {
            UTILIZATION_NONE => Err(NvmlError::NOT_SUPPORTED),
            parts => rates.set(nvmlUtilization_t { gpu: parts.div_ceil(100).min(100), memory: 0 }),
        }
    }
    /// Returns "not supported" as the result of each field, because fields aren't supported in a
    /// guest.
    fn nvmlDeviceGetFieldValues(device: Handle, count: i32, values: Out<nvmlFieldValue_t>) {
        state::gpu(device)?;
        let count = usize::try_from(count).map_err(|_| NvmlError::INVALID_ARGUMENT)?;
        // SAFETY: the caller's array has `count` elements.
        let values = unsafe { values.array(count) };
        for index in 0..count {
            let value = values.get(index)?;
            let nvml_return = NvmlError::NOT_SUPPORTED.0;
            values.set(index, nvmlFieldValue_t { nvmlReturn: nvml_return, ..value })?;
        }
        Ok(())
    }
}
