//! The entry point that returns several values (fields), each identified by a number.

use super::{entries, links};
use crate::args::Out;
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::*;
use crate::state::{self, Handle};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the value of a field. Supports the fields for NVLinks, because NCCL reads their state as
/// a field.
fn field(device: Handle, id: u32, scope: u32) -> NvmlResult<u32> {
    match id {
        NVML_FI_DEV_NVLINK_LINK_COUNT => links::count(device),
        NVML_FI_DEV_NVLINK_GET_STATE => Ok(links::link_state(device, scope)?.0),
        _ => Err(NvmlError::NOT_SUPPORTED),
    }
}

entries! {
    /// Stores a separate result for each field. For most fields, it's "not supported".
    fn nvmlDeviceGetFieldValues(device: Handle, count: i32, values: Out<nvmlFieldValue_t>) {
        state::gpu(device)?;
        let count = usize::try_from(count).map_err(|_| NvmlError::INVALID_ARGUMENT)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // SAFETY: the caller's array has `count` elements.
        let values = unsafe { values.array(count) };
        for index in 0..count {
            let asked = values.get(index)?;
            let found = field(device, asked.fieldId, asked.scopeId);
            values.set(index, nvmlFieldValue_t {
                timestamp: now.as_micros() as i64,
                latencyUsec: 0,
                valueType: nvmlValueType_t::NVML_VALUE_TYPE_UNSIGNED_INT,
                nvmlReturn: found.err().map_or(nvmlReturn_t::NVML_SUCCESS, |error| error.0),
                value: nvmlValue_t { ullVal: found.unwrap_or(0).into() },
                ..asked
            })?;
        }
        Ok(())
    }
}
