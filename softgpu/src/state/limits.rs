//! A context's limits, and its heap for device-side `malloc`, whose size is one of the limits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::CUlimit;

use super::context::Context;
use super::memory;
use super::resources::{HEAP_LAUNCHED, HEAP_LOADED};
use crate::exec::heap::Heap;

/// Sets one of a context's limits. Fails for an unknown limit, and for the heap's size if it can't
/// change any more.
pub(crate) fn set(context: &Context, which: CUlimit, value: u64) -> CuResult {
    let limit = context.limits.get(which.0 as usize).ok_or(CuError::INVALID_VALUE)?;
    let set = || limit.store(value, Ordering::Relaxed);
    match which {
        CUlimit::CU_LIMIT_STACK_SIZE => return context.resources()?.set_stack(value, set),
        CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => return resize_heap(context, set),
        _ => set(),
    }
    Ok(())
}

/// Calls `set` to change the size of the heap. Fails if a kernel that may use the heap has been
/// launched, because the heap's memory has been allocated by then.
fn resize_heap(context: &Context, set: impl FnOnce()) -> CuResult {
    let slot = context.heap();
    if slot.as_ref().is_some_and(|heap| heap.has_begun()) {
        return Err(CuError::INVALID_VALUE);
    }
    set();
    Ok(())
}

/// Returns the context's heap. The first call creates the heap, whose memory is allocated later.
pub(crate) fn heap(context: &Context) -> CuResult<Arc<Heap>> {
    let mut slot = context.heap();
    if let Some(heap) = &*slot {
        return Ok(heap.clone());
    }
    context.resources()?.set_heap(HEAP_LOADED)?;
    Ok(slot.insert(Arc::default()).clone())
}

/// Allocates the memory of the context's heap, unless that has been done. Called before the launch
/// of a kernel that uses `heap`. Does nothing if `heap` isn't the context's heap any more.
pub(crate) fn begin_heap(context: &Context, heap: &Arc<Heap>) -> CuResult {
    let slot = context.heap();
    let is_own = slot.as_ref().is_some_and(|own| Arc::ptr_eq(own, heap));
    if !is_own || heap.has_begun() {
        return Ok(());
    }
    let limit = &context.limits[CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE.0 as usize];
    let (size, resources) = (limit.load(Ordering::Relaxed), context.resources()?);
    resources.set_heap(HEAP_LAUNCHED)?;
    let start = if size == 0 { Ok(0) } else { memory::allocate(context, size) };
    let start = start.inspect_err(|_| {
        let _ = resources.set_heap(HEAP_LOADED);
    })?;
    heap.begin(start, size);
    Ok(())
}
