//! The limits of a context, and the heap for device-side `malloc`, whose size is one of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::CUlimit;

use super::context::Context;
use super::memory;
use super::resources::{HEAP_LAUNCHED, HEAP_LOADED};
use crate::exec::heap::Heap;

/// Sets a limit.
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

/// Sets the size of the heap with `set`. Fails if a kernel that may use the heap has been launched,
/// because the heap has its memory then.
fn resize_heap(context: &Context, set: impl FnOnce()) -> CuResult {
    let slot = context.heap();
    if slot.as_ref().is_some_and(|heap| heap.has_begun()) {
        return Err(CuError::INVALID_VALUE);
    }
    set();
    Ok(())
}

/// Returns the context's heap. The first call creates it, without memory for allocations.
pub(crate) fn heap(context: &Context) -> CuResult<Arc<Heap>> {
    let mut slot = context.heap();
    if let Some(heap) = &*slot {
        return Ok(heap.clone());
    }
    context.resources()?.set_heap(HEAP_LOADED)?;
    Ok(slot.insert(Arc::default()).clone())
}

/// Prepares for the launch of a kernel whose module has this heap. The context's heap gets its memory
/// at the first launch.
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
