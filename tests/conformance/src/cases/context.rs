//! Contexts, and the stack of current contexts.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::CUlimit;
use std::ptr::null_mut;

cases! {
    fn a_thread_has_a_stack_of_contexts(cuda, primary = (_, primary)) {
        let (mut own, mut current, mut popped) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuCtxCreate_v2(&mut own, 0, 0))?;
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, own);
        cu!(cuda, cuCtxPushCurrent_v2(primary))?;
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, primary);
        cu!(cuda, cuCtxPopCurrent_v2(&mut popped))?;
        same!(popped, primary);
        cu!(cuda, cuCtxDestroy_v2(own))?;
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, primary);
        cu!(cuda, cuCtxSetCurrent(null_mut()))?;
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        ensure!(current.is_null(), "a context is current");
        refused!(cu!(cuda, cuCtxPopCurrent_v2(&mut popped)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxGetCurrent(null_mut())), INVALID_VALUE);
    }

    fn the_first_calls_for_the_stack_work(cuda, primary = (device, primary)) {
        let (mut own, mut popped, mut current) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuCtxCreate_v2(&mut own, 0, device))?;
        cu!(cuda, cuCtxPopCurrent(&mut popped))?;
        same!(popped, own);
        cu!(cuda, cuCtxPushCurrent(own))?;
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, own);
        cu!(cuda, cuCtxPopCurrent(&mut popped))?;
        cu!(cuda, cuCtxDestroy(own))?;
        let mut version = 0;
        refused!(cu!(cuda, cuCtxGetApiVersion(own, &mut version)), INVALID_CONTEXT);
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, primary);
    }

    fn calls_without_a_context_are_refused(cuda) {
        let (mut pointer, mut device) = (0, 0);
        cu!(cuda, cuInit(0))?;
        refused!(cu!(cuda, cuMemAlloc_v2(&mut pointer, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxGetDevice(&mut device)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxSynchronize()), INVALID_CONTEXT);
    }

    fn the_primary_context_is_counted(cuda) {
        let (mut flags, mut active) = (0, 7);
        let (mut first, mut second) = (null_mut(), null_mut());
        cu!(cuda, cuInit(0))?;
        cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        same!(active, 0);
        cu!(cuda, cuDevicePrimaryCtxRetain(&mut first, 0))?;
        cu!(cuda, cuDevicePrimaryCtxRetain(&mut second, 0))?;
        same!(first, second);
        cu!(cuda, cuDevicePrimaryCtxRelease_v2(0))?;
        cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        same!(active, 1);
        cu!(cuda, cuDevicePrimaryCtxRelease_v2(0))?;
        cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        same!(active, 0);
        refused!(cu!(cuda, cuDevicePrimaryCtxRelease_v2(0)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuDevicePrimaryCtxRetain(&mut first, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDevicePrimaryCtxRetain(null_mut(), 0)), INVALID_VALUE);
    }

    fn limits_can_be_set(cuda, primary) {
        let stack = CUlimit::CU_LIMIT_STACK_SIZE;
        let mut value = 0;
        cu!(cuda, cuCtxSetLimit(stack, 4096))?;
        cu!(cuda, cuCtxGetLimit(&mut value, stack))?;
        same!(value, 4096);
        refused!(cu!(cuda, cuCtxGetLimit(&mut value, CUlimit(99))), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxSetLimit(CUlimit(99), 1)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxGetLimit(null_mut(), stack)), INVALID_VALUE);
    }

    fn a_limit_that_was_queried_before_can_be_changed(cuda, primary) {
        let heap = CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE;
        let limit = || {
            let mut value = 0;
            cu!(cuda, cuCtxGetLimit(&mut value, heap)).map(|()| value)
        };
        let first = limit()?;
        same!(limit()?, first);
        cu!(cuda, cuCtxSetLimit(heap, 64 << 20))?;
        same!(limit()?, 64 << 20);
        // Another context has its own limits.
        let other = get!(cuda, cuCtxCreate_v2(@, 0, 0))?;
        same!(limit()?, first);
        cu!(cuda, cuCtxSetLimit(heap, 32 << 20))?;
        cu!(cuda, cuCtxDestroy_v2(other))?;
        same!(limit()?, 64 << 20);
    }

    fn a_context_knows_its_device_and_version(cuda, primary = (device, context)) {
        let (mut found, mut version, mut id) = (9, 0, 0);
        cu!(cuda, cuCtxGetDevice(&mut found))?;
        same!(found, device);
        cu!(cuda, cuCtxGetApiVersion(context, &mut version))?;
        ensure!(version > 3000, "the version is {version}");
        cu!(cuda, cuCtxGetId(context, &mut id))?;
        ensure!(id > 0, "the id is {id}");
        let (mut least, mut greatest) = (7, 7);
        cu!(cuda, cuCtxGetStreamPriorityRange(&mut least, &mut greatest))?;
        ensure!(greatest <= least && least == 0, "priorities are {least} to {greatest}");
        refused!(cu!(cuda, cuCtxGetDevice(null_mut())), INVALID_VALUE);
    }

    fn an_attached_context_is_destroyed_by_its_last_detach(cuda, primary = (device, primary)) {
        let (mut own, mut attached) = (null_mut(), null_mut());
        cu!(cuda, cuCtxCreate_v2(&mut own, 0, device))?;
        refused!(cu!(cuda, cuCtxAttach(&mut attached, 1)), INVALID_VALUE);
        cu!(cuda, cuCtxAttach(&mut attached, 0))?;
        same!(attached, own);
        cu!(cuda, cuCtxDetach(own))?;
        let mut version = get!(cuda, cuCtxGetApiVersion(own, @))?;
        cu!(cuda, cuCtxDetach(own))?;
        refused!(cu!(cuda, cuCtxGetApiVersion(own, &mut version)), INVALID_CONTEXT);
        let current = get!(cuda, cuCtxGetCurrent(@))?;
        same!(current, primary);
    }
}
