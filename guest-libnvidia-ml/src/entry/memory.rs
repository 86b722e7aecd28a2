//! Entry points for the VM's memory and GPU time. Each call queries the current values from the
//! device.

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
    /// The VM's share of GPU time over the last second. Memory utilization is unknown and reads 0,
    /// because the struct can't express that.
    fn nvmlDeviceGetUtilizationRates(device: Handle, rates: Out<nvmlUtilization_t>) {
        state::gpu(device)?;
        match state::gpu_now(device)?.utilization {
            UTILIZATION_NONE => Err(NvmlError::NOT_SUPPORTED),
            parts => rates.set(nvmlUtilization_t { gpu: parts.div_ceil(100).min(100), memory: 0 }),
        }
    }
    /// Each field has its own result. In a guest, no field is supported.
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
