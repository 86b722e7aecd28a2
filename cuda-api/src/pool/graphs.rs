//! The pools from which graphs allocate memory. Each device has one, which programs can't name. It
//! keeps all its memory until the program trims it.

use std::ffi::c_void;
use std::sync::PoisonError;

use super::pools::{Library, PoolKind};
use crate::args::Out;
use crate::error::{CuError, CuResult};
use crate::sys::{CUgraphMem_attribute as A, CUmemPool_attribute as OfPool};

const INVALID: CuError = CuError::INVALID_VALUE;

/// Returns a device's pool, if it exists.
fn existing<L: Library>(device: i32) -> CuResult<Option<u64>> {
    L::check_device(device)?;
    let pools = L::pools().of_graphs.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(pools.get(&device).copied())
}

/// Returns the library's id for a device's pool. Creates the pool at its first use.
pub fn pool<L: Library>(device: i32) -> CuResult<u64> {
    L::check_device(device)?;
    let mut pools = L::pools().of_graphs.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(id) = pools.get(&device) {
        return Ok(*id);
    }
    let id = L::create(device, PoolKind::Private, 0)?;
    if let Err(error) = L::set(id, OfPool::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX) {
        // Ignore this error: the call returns the error of `set`.
        let _ = L::destroy(id);
        return Err(error);
    }
    pools.insert(device, id);
    Ok(id)
}

/// Implements `cuDeviceGraphMemTrim`.
pub fn trim<L: Library>(device: i32) -> CuResult {
    existing::<L>(device)?.map_or(Ok(()), |id| L::trim(id, 0))
}

/// Implements `cuDeviceGetGraphMemAttribute`. As with NVIDIA's driver, all memory of the pool
/// counts as used: it consists of whole slabs, and freed memory counts until the program trims the
/// pool.
pub fn attribute<L: Library>(device: i32, attribute: A, value: Out<c_void>) -> CuResult {
    value.check()?;
    let attribute = match attribute {
        A::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT | A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => {
            OfPool::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
        }
        A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH | A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => {
            OfPool::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
        }
        _ => return Err(INVALID),
    };
    let amount = existing::<L>(device)?.map_or(Ok(0), |id| L::get(id, attribute))?;
    // SAFETY: the program passes a pointer to the attribute's type, a cuuint64_t.
    unsafe { value.cast::<u64>() }.set(amount)
}

/// Implements `cuDeviceSetGraphMemAttribute`, which can only reset a high-water mark. The program
/// can name the mark by either of two attributes, which have the same value here.
pub fn set_attribute<L: Library>(device: i32, attribute: A, value: Out<c_void>) -> CuResult {
    // SAFETY: the program passes a pointer to the attribute's type, a cuuint64_t.
    let value = unsafe { value.cast::<u64>() }.read()?;
    let marks = [A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH];
    if !marks.contains(&attribute) || value != 0 {
        return Err(INVALID);
    }
    let mark = OfPool::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
    existing::<L>(device)?.map_or(Ok(()), |id| L::set(id, mark, 0))
}
