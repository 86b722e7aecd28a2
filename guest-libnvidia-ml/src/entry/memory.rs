//! Entry points for the VM's device memory and GPU time. Each call queries the current values from
//! the device.

use super::entries;
use crate::args::{Out, version};
use crate::error::NvmlError;
use crate::generated::sys::{nvmlMemory_t, nvmlMemory_v2_t, nvmlUtilization_t};
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
}
