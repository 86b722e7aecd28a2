//! The VM's memory and GPU time. Each call asks the device for the current values.

use super::entries;
use crate::error::NvmlError;
use crate::state::{self, Handle};
use crate::types::{FieldValue, Memory, MemoryV2, Out, Utilization, version};
use protocol::uapi::UTILIZATION_NONE;

entries! {
    fn nvmlDeviceGetMemoryInfo(device: Handle, memory: Out<Memory>) {
        state::gpu(device)?;
        let gpu = state::gpu_now(device)?;
        let (total, used) = (gpu.memory_total, gpu.memory_used);
        memory.set(Memory { total, free: total.saturating_sub(used), used })
    }
    fn nvmlDeviceGetMemoryInfo_v2(device: Handle, memory: Out<MemoryV2>) {
        state::gpu(device)?;
        let version = version::<MemoryV2>(2);
        if memory.get()?.version != version {
            return Err(NvmlError::ARGUMENT_VERSION_MISMATCH);
        }
        let gpu = state::gpu_now(device)?;
        let (total, used) = (gpu.memory_total, gpu.memory_used);
        let free = total.saturating_sub(used);
        memory.set(MemoryV2 { version, total, reserved: 0, free, used })
    }
    /// The VM's share of GPU time over the last second. Memory utilization is unknown and reads 0,
    /// because the struct can't express that.
    fn nvmlDeviceGetUtilizationRates(device: Handle, rates: Out<Utilization>) {
        state::gpu(device)?;
        match state::gpu_now(device)?.utilization {
            UTILIZATION_NONE => Err(NvmlError::NOT_SUPPORTED),
            parts => rates.set(Utilization { gpu: parts.div_ceil(100).min(100), memory: 0 }),
        }
    }
    /// Each field has its own result. A guest supports none of them.
    fn nvmlDeviceGetFieldValues(device: Handle, count: i32, values: Out<FieldValue>) {
        state::gpu(device)?;
        for index in 0..usize::try_from(count).map_err(|_| NvmlError::INVALID_ARGUMENT)? {
            let value = values.get_at(index)?;
            values.set_at(index, FieldValue { result: NvmlError::NOT_SUPPORTED.0, ..value })?;
        }
        Ok(())
    }
}
