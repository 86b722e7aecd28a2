//! Entry points for the VM's device memory. Each call queries the current values from the device.

use super::entries;
use crate::args::{Out, version};
use crate::error::NvmlError;
use crate::generated::sys::{nvmlMemory_t, nvmlMemory_v2_t};
use crate::state::{self, Handle};

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
}
