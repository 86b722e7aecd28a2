//! The limits of a context, and the heap for device-side `malloc`, whose size is one of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::CUlimit;

use super::context::Context;
use super::memory;
use crate::exec::heap::Heap;

/// Sets a limit.
pub(crate) fn set(context: &Context, which: CUlimit, value: u64) -> CuResult {
    let limit = context.limits.get(which.0 as usize).ok_or(CuError::INVALID_VALUE)?;
    let set = || limit.store(value, Ordering::Relaxed);
    match which {
        CUlimit::CU_LIMIT_STACK_SIZE => return context.resources()?.set_stack(value, set),
        CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => return resize_heap(context, value, set),
        _ => set(),
    }
    Ok(())
}

/// Allocates memory for a heap of this size. The address for no memory is 0.
fn allocate(context: &Context, size: u64) -> CuResult<u64> {
    if size == 0 { Ok(0) } else { memory::allocate(context, size) }
}

/// Gives the heap another size, if it exists, and then calls `set`. Fails if kernels may already
/// have used the heap.
fn resize_heap(context: &Context, size: u64, set: impl FnOnce()) -> CuResult {
    let slot = context.heap();
    if let Some(heap) = &*slot {
        let start = allocate(context, size)?;
        let replaced = heap.replace(start, size);
        memory::forget(replaced.unwrap_or(start));
        replaced.ok_or(CuError::INVALID_VALUE)?;
    }
    set();
    Ok(())
}

/// Returns the context's heap. The first call creates it.
pub(crate) fn heap(context: &Context) -> CuResult<Arc<Heap>> {
    let mut slot = context.heap();
    if let Some(heap) = &*slot {
        return Ok(heap.clone());
    }
    let limit = &context.limits[CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE.0 as usize];
    let (size, resources) = (limit.load(Ordering::Relaxed), context.resources()?);
    resources.set_heap(true)?;
    let start = allocate(context, size).inspect_err(|_| {
        let _ = resources.set_heap(false);
    })?;
    Ok(slot.insert(Arc::new(Heap::new(start, size))).clone())
}
