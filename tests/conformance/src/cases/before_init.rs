//! Calls before `cuInit`, and calls by a thread without a current context.

use super::cases;
use crate::cuda::{cu, refused, same};
use cuda_api::sys::{
    CU_STREAM_LEGACY, CUfunc_cache, CUfunctionLoadingState, CUlaunchConfig, CUmoduleLoadingMode,
    CUsharedconfig, CUstreamCaptureMode,
};
use std::ptr::null_mut;

cases! {
    fn contexts_and_devices_are_unavailable(cuda) {
        let (mut context, mut value, mut minor, mut flags) = (null_mut(), 0, 0, 0);
        refused!(cu!(cuda, cuCtxSetCurrent(null_mut())), NOT_INITIALIZED);
        refused!(cu!(cuda, cuCtxGetCurrent(&mut context)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuCtxCreate_v2(&mut context, 0, 0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuCtxSynchronize()), NOT_INITIALIZED);
        refused!(cu!(cuda, cuCtxResetPersistingL2Cache()), NOT_INITIALIZED);
        refused!(cu!(cuda, cuDevicePrimaryCtxRetain(&mut context, 0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuDevicePrimaryCtxGetState(0, &mut flags, &mut value)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuDeviceComputeCapability(&mut value, &mut minor, 0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuDeviceGraphMemTrim(0)), NOT_INITIALIZED);
    }

    fn objects_are_unavailable(cuda) {
        let (mut stream, mut event, mut pointer) = (null_mut(), null_mut(), 0);
        refused!(cu!(cuda, cuStreamCreate(&mut stream, 0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuEventCreate(&mut event, 0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuMemAlloc_v2(&mut pointer, 64)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuMemAllocManaged(&mut pointer, 64, 1)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexObjectDestroy(0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuSurfObjectDestroy(0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuProfilerStart()), NOT_INITIALIZED);
        refused!(cu!(cuda, cuProfilerStop()), NOT_INITIALIZED);
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        refused!(cu!(cuda, cuThreadExchangeStreamCaptureMode(&mut mode)), NOT_INITIALIZED);
    }

    fn occupancy_is_unknown(cuda) {
        let (mut grid, mut block, mut bytes, none) = (0, 0, 0, null_mut());
        let called =
            cu!(cuda, cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, none, None, 0, 0));
        refused!(called, NOT_INITIALIZED);
        let called = cu!(cuda, cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, none, 1, 128));
        refused!(called, NOT_INITIALIZED);
    }

    /// Unlike other calls before `cuInit`, this one reports an invalid argument, because it checks
    /// its other arguments first.
    fn sizes_of_clusters_are_unknown(cuda) {
        let (mut count, none, launch) = (0, null_mut(), CUlaunchConfig::default());
        let called = cu!(cuda, cuOccupancyMaxPotentialClusterSize(&mut count, none, &launch));
        refused!(called, INVALID_VALUE);
        let called = cu!(cuda, cuOccupancyMaxActiveClusters(&mut count, none, &launch));
        refused!(called, INVALID_VALUE);
    }

    fn notifications_are_unavailable(cuda) {
        let called = cu!(cuda, cuDeviceUnregisterAsyncNotification(0, null_mut()));
        refused!(called, NOT_INITIALIZED);
    }

    fn attributes_of_streams_are_unavailable(cuda) {
        let (from, to) = (null_mut(), null_mut());
        refused!(cu!(cuda, cuStreamCopyAttributes(to, from)), NOT_INITIALIZED);
    }

    fn functions_cant_be_loaded(cuda) {
        refused!(cu!(cuda, cuFuncLoad(null_mut())), INVALID_HANDLE);
    }

    fn functions_have_no_state(cuda) {
        let mut state = CUfunctionLoadingState(77);
        refused!(cu!(cuda, cuFuncIsLoaded(&mut state, null_mut())), INVALID_HANDLE);
    }

    fn modules_have_no_loading_mode(cuda) {
        let mut mode = CUmoduleLoadingMode(77);
        refused!(cu!(cuda, cuModuleGetLoadingMode(&mut mode)), NOT_INITIALIZED);
    }

    fn memory_needs_a_current_context(cuda, primary) {
        let pointer = cuda.alloc(64)?;
        cuda.upload(pointer, &[7u32; 16])?;
        cu!(cuda, cuCtxSetCurrent(null_mut()))?;
        let (mut words, mut free, mut total) = ([1u32; 4], 0, 0);
        let host = words.as_mut_ptr().cast();
        refused!(cu!(cuda, cuMemGetInfo_v2(&mut free, &mut total)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyDtoH_v2(host, pointer, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyHtoD_v2(pointer, host, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyDtoD_v2(pointer, pointer + 32, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpy(pointer, pointer + 32, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyAsync(pointer, pointer + 32, 16, null_mut())), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemsetD32_v2(pointer, 1, 4)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemsetD8Async(pointer, 1, 4, null_mut())), INVALID_CONTEXT);
        same!(words, [1; 4]);
        cuda.primary()?;
        same!(cuda.download::<u32>(pointer, 16)?, [7; 16]);
    }

    fn settings_need_a_current_context(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut least, mut greatest, mut flags) = (0, 0, 0);
        let mut cache = CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
        refused!(cu!(cuda, cuCtxGetStreamPriorityRange(&mut least, &mut greatest)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxGetFlags(&mut flags)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxSetFlags(0)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxGetCacheConfig(&mut cache)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxSetCacheConfig(cache)), INVALID_CONTEXT);
        let mut banks = CUsharedconfig::CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
        refused!(cu!(cuda, cuCtxGetSharedMemConfig(&mut banks)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuCtxSetSharedMemConfig(banks)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuStreamSynchronize(CU_STREAM_LEGACY)), INVALID_CONTEXT);
    }
}
