//! Settings of contexts, and the newer ways to create and use contexts.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::{CUexecAffinityParam, CUexecAffinityType, CUfunc_cache, CUsharedconfig};
use std::ptr::null_mut;

/// The flag CU_CTX_SCHED_BLOCKING_SYNC, which makes waiting threads block instead of polling.
const BLOCKING: u32 = 4;
/// The mask of the scheduling flags, which determine how threads wait.
const SCHEDULE: u32 = 7;

cases! {
    fn preferences_are_remembered_or_ignored(cuda, primary) {
        let (none, l1) =
            (CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE, CUfunc_cache::CU_FUNC_CACHE_PREFER_L1);
        let mut cache = CUfunc_cache(77);
        cu!(cuda, cuCtxGetCacheConfig(&mut cache))?;
        same!(cache, none);
        cu!(cuda, cuCtxSetCacheConfig(l1))?;
        cu!(cuda, cuCtxGetCacheConfig(&mut cache))?;
        ensure!(cache == l1 || cache == none, "the preference is {cache:?}");
        let mut banks = CUsharedconfig(77);
        cu!(cuda, cuCtxSetSharedMemConfig(CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE))?;
        cu!(cuda, cuCtxGetSharedMemConfig(&mut banks))?;
        ensure!(banks.0 <= 1, "the bank size is {banks:?}");
        cu!(cuda, cuCtxResetPersistingL2Cache())?;
    }

    fn flags_can_be_changed(cuda, primary) {
        let mut flags = 0;
        cu!(cuda, cuCtxSetFlags(BLOCKING))?;
        cu!(cuda, cuCtxGetFlags(&mut flags))?;
        same!(flags & SCHEDULE, BLOCKING);
        refused!(cu!(cuda, cuCtxGetFlags(null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxSetFlags(0x8000_0000)), INVALID_VALUE);
    }

    fn flags_of_the_primary_context_are_used_when_it_starts(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut flags, mut active) = (0, 7);
        cu!(cuda, cuDevicePrimaryCtxSetFlags_v2(0, BLOCKING))?;
        cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        same!((flags & SCHEDULE, active), (BLOCKING, 0));
        cuda.primary()?;
        cu!(cuda, cuCtxGetFlags(&mut flags))?;
        same!(flags & SCHEDULE, BLOCKING);
        refused!(cu!(cuda, cuDevicePrimaryCtxSetFlags_v2(99, 0)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDevicePrimaryCtxSetFlags_v2(0, 0x8000_0000)), INVALID_VALUE);
        refused!(cu!(cuda, cuDevicePrimaryCtxSetFlags(99, 0)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDevicePrimaryCtxGetState(99, &mut flags, &mut active)), INVALID_DEVICE);
    }

    fn the_first_calls_for_the_primary_context_work(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut flags, mut active) = (0, 7);
        cu!(cuda, cuDevicePrimaryCtxSetFlags(0, BLOCKING))?;
        cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        same!((flags & SCHEDULE, active), (BLOCKING, 0));
        cuda.primary()?;
        cu!(cuda, cuDevicePrimaryCtxRelease(0))?;
        cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        same!(active, 0);
    }

    fn resetting_the_primary_context_frees_its_memory(cuda, primary) {
        let (mut base, mut size) = (0, 0);
        for first_version in [false, true] {
            let old = cuda.alloc(256 << 20)?;
            cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut size, old))?;
            same!((base, size), (old, 256 << 20));
            match first_version {
                true => cu!(cuda, cuDevicePrimaryCtxReset(0))?,
                false => cu!(cuda, cuDevicePrimaryCtxReset_v2(0))?,
            }
            cuda.primary()?;
            refused!(cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut size, old)), NOT_FOUND | INVALID_VALUE);
            let pointer = cuda.alloc(64)?;
            cuda.upload(pointer, &[1u32, 2])?;
            same!(cuda.download::<u32>(pointer, 2)?, [1, 2]);
        }
        refused!(cu!(cuda, cuDevicePrimaryCtxReset_v2(99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDevicePrimaryCtxReset(99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDevicePrimaryCtxRelease_v2(99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDevicePrimaryCtxRelease(99)), INVALID_DEVICE);
    }

    fn a_reset_primary_context_stays_destroyed_until_it_is_retained(cuda, primary = (_, primary)) {
        let (mut flags, mut active, mut current, mut pointer) = (0, 7, null_mut(), 0);
        cu!(cuda, cuDevicePrimaryCtxReset_v2(0))?;
        cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        same!(active, 0);
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current == primary, true);
        refused!(cu!(cuda, cuMemAlloc_v2(&mut pointer, 64)), CONTEXT_IS_DESTROYED);
        refused!(cu!(cuda, cuCtxSynchronize()), CONTEXT_IS_DESTROYED);
        cu!(cuda, cuDevicePrimaryCtxReset_v2(0))?;

        // The reset doesn't change the number of times that the program has retained the primary
        // context. This call retains it again, so the program must release it twice.
        cu!(cuda, cuDevicePrimaryCtxRetain(&mut current, 0))?;
        same!(current == primary, true);
        cuda.alloc(64)?;
        cu!(cuda, cuDevicePrimaryCtxRelease_v2(0))?;
        cuda.alloc(64)?;
        cu!(cuda, cuDevicePrimaryCtxReset_v2(0))?;
        cu!(cuda, cuDevicePrimaryCtxRelease_v2(0))?;
        refused!(cu!(cuda, cuDevicePrimaryCtxRelease_v2(0)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemAlloc_v2(&mut pointer, 64)), CONTEXT_IS_DESTROYED);
    }

    fn contexts_can_be_created_without_an_affinity(cuda, primary = (device, primary)) {
        let (mut third, mut fourth, mut current) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuCtxCreate_v3(&mut third, null_mut(), 0, 0, device))?;
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, third);
        cu!(cuda, cuCtxCreate_v4(&mut fourth, null_mut(), BLOCKING, device))?;
        let flags = get!(cuda, cuCtxGetFlags(@))?;
        same!(flags & SCHEDULE, BLOCKING);
        for context in [third, fourth] {
            cu!(cuda, cuCtxSetCurrent(context))?;
            let pointer = cuda.alloc(64)?;
            cuda.upload(pointer, &[1u32, 2])?;
            same!(cuda.download::<u32>(pointer, 2)?, [1, 2]);
        }
        cu!(cuda, cuCtxSetCurrent(primary))?;
        cu!(cuda, cuCtxDestroy_v2(third))?;
        cu!(cuda, cuCtxDestroy_v2(fourth))?;
        let wrong = 0x8000_0000;
        refused!(cu!(cuda, cuCtxCreate_v2(null_mut(), 0, device)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxCreate_v2(&mut third, wrong, device)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxCreate_v2(&mut third, 0, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuCtxCreate_v3(null_mut(), null_mut(), 0, 0, device)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxCreate_v3(&mut third, null_mut(), 0, 0, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuCtxCreate_v4(null_mut(), null_mut(), 0, device)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxCreate_v4(&mut third, null_mut(), 0, 99)), INVALID_DEVICE);
    }

    fn a_context_need_not_be_current(cuda, primary = (device, primary)) {
        let (mut other, mut found, mut id, mut second) = (null_mut(), 9, 0, 0);
        let pointer = cuda.alloc(1 << 20)?;
        cu!(cuda, cuMemsetD8Async(pointer, 9, 1 << 20, null_mut()))?;
        cu!(cuda, cuCtxCreate_v2(&mut other, 0, device))?;
        cu!(cuda, cuCtxGetDevice_v2(&mut found, primary))?;
        same!(found, device);
        cu!(cuda, cuCtxSynchronize_v2(primary))?;
        cu!(cuda, cuCtxGetId(primary, &mut id))?;
        cu!(cuda, cuCtxGetId(null_mut(), &mut second))?;
        ensure!(id != second, "both ids are {id}");
        cu!(cuda, cuCtxDestroy_v2(other))?;
        same!(cuda.download::<u8>(pointer + (1 << 20) - 2, 2)?, [9, 9]);
        refused!(cu!(cuda, cuCtxGetDevice_v2(null_mut(), primary)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxGetId(primary, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxGetId(other, &mut id)), CONTEXT_IS_DESTROYED | INVALID_CONTEXT);
        cu!(cuda, cuCtxSetCurrent(null_mut()))?;
        // A null handle means the current context. There is none, so the calls fail.
        refused!(cu!(cuda, cuCtxSynchronize_v2(null_mut())), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxGetDevice_v2(&mut found, null_mut())), INVALID_CONTEXT);
    }

    fn null_is_not_a_context(cuda, primary) {
        let (null, mut popped) = (null_mut(), null_mut());
        let current = get!(cuda, cuCtxGetCurrent(@))?;
        refused!(cu!(cuda, cuCtxPushCurrent_v2(null)), INVALID_VALUE | INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxDestroy_v2(null)), INVALID_VALUE | INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxDetach(null)), INVALID_VALUE | INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxPushCurrent(null)), INVALID_VALUE | INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxDestroy(null)), INVALID_VALUE | INVALID_CONTEXT);
        cu!(cuda, cuCtxPopCurrent(&mut popped))?;
        same!(popped, current);
        cu!(cuda, cuCtxSetCurrent(null))?;
        refused!(cu!(cuda, cuCtxPopCurrent(&mut popped)), INVALID_CONTEXT);
    }

    fn a_context_has_a_number_of_multiprocessors(cuda, primary = (device, _)) {
        let (kind, mut supported) = (CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT, 7);
        cu!(cuda, cuDeviceGetExecAffinitySupport(&mut supported, kind, device))?;
        ensure!(matches!(supported, 0 | 1), "the support is {supported}");
        let mut found = CUexecAffinityParam { type_: kind, param: Default::default() };
        cu!(cuda, cuCtxGetExecAffinity(&mut found, kind))?;
        // SAFETY: the type says that this member of the union is initialized.
        let count = unsafe { found.param.smCount.val };
        ensure!(count > 0, "the context has {count} multiprocessors");
        let wrong = CUexecAffinityType(99);
        refused!(
            cu!(cuda, cuCtxGetExecAffinity(&mut found, wrong)),
            INVALID_VALUE | UNSUPPORTED_EXEC_AFFINITY
        );
        // An unknown affinity type isn't an error.
        cu!(cuda, cuDeviceGetExecAffinitySupport(&mut supported, wrong, device))?;
        let called = cu!(cuda, cuDeviceGetExecAffinitySupport(&mut supported, kind, 99));
        refused!(called, INVALID_DEVICE);
    }
}
