// Generated from NVIDIA's headers by cuda-api/generate. Do not edit.

use crate::sys::*;
use core::ffi::{c_char, c_void};

pub type cuArray3DCreate = unsafe extern "C" fn(
    pHandle: *mut CUarray,
    pAllocateArray: *const CUDA_ARRAY3D_DESCRIPTOR_v1,
) -> CUresult;
pub type cuArray3DCreate_v2 = unsafe extern "C" fn(
    pHandle: *mut CUarray,
    pAllocateArray: *const CUDA_ARRAY3D_DESCRIPTOR,
) -> CUresult;
pub type cuArray3DGetDescriptor = unsafe extern "C" fn(
    pArrayDescriptor: *mut CUDA_ARRAY3D_DESCRIPTOR_v1,
    hArray: CUarray,
) -> CUresult;
pub type cuArray3DGetDescriptor_v2 = unsafe extern "C" fn(
    pArrayDescriptor: *mut CUDA_ARRAY3D_DESCRIPTOR,
    hArray: CUarray,
) -> CUresult;
pub type cuArrayCreate = unsafe extern "C" fn(
    pHandle: *mut CUarray,
    pAllocateArray: *const CUDA_ARRAY_DESCRIPTOR_v1,
) -> CUresult;
pub type cuArrayCreate_v2 = unsafe extern "C" fn(
    pHandle: *mut CUarray,
    pAllocateArray: *const CUDA_ARRAY_DESCRIPTOR,
) -> CUresult;
pub type cuArrayDestroy = unsafe extern "C" fn(hArray: CUarray) -> CUresult;
pub type cuArrayGetDescriptor = unsafe extern "C" fn(
    pArrayDescriptor: *mut CUDA_ARRAY_DESCRIPTOR_v1,
    hArray: CUarray,
) -> CUresult;
pub type cuArrayGetDescriptor_v2 =
    unsafe extern "C" fn(pArrayDescriptor: *mut CUDA_ARRAY_DESCRIPTOR, hArray: CUarray) -> CUresult;
pub type cuArrayGetMemoryRequirements = unsafe extern "C" fn(
    memoryRequirements: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS,
    array: CUarray,
    device: CUdevice,
) -> CUresult;
pub type cuArrayGetPlane =
    unsafe extern "C" fn(pPlaneArray: *mut CUarray, hArray: CUarray, planeIdx: u32) -> CUresult;
pub type cuArrayGetSparseProperties = unsafe extern "C" fn(
    sparseProperties: *mut CUDA_ARRAY_SPARSE_PROPERTIES,
    array: CUarray,
) -> CUresult;
pub type cuCheckpointProcessCheckpoint =
    unsafe extern "C" fn(pid: i32, args: *mut CUcheckpointCheckpointArgs) -> CUresult;
pub type cuCheckpointProcessGetRestoreThreadId =
    unsafe extern "C" fn(pid: i32, tid: *mut i32) -> CUresult;
pub type cuCheckpointProcessGetState =
    unsafe extern "C" fn(pid: i32, state: *mut CUprocessState) -> CUresult;
pub type cuCheckpointProcessLock =
    unsafe extern "C" fn(pid: i32, args: *mut CUcheckpointLockArgs) -> CUresult;
pub type cuCheckpointProcessRestore =
    unsafe extern "C" fn(pid: i32, args: *mut CUcheckpointRestoreArgs) -> CUresult;
pub type cuCheckpointProcessUnlock =
    unsafe extern "C" fn(pid: i32, args: *mut CUcheckpointUnlockArgs) -> CUresult;
pub type cuCoredumpGetAttribute =
    unsafe extern "C" fn(get: CUcoredumpSettings, value: *mut c_void, size: *mut usize) -> CUresult;
pub type cuCoredumpGetAttributeGlobal =
    unsafe extern "C" fn(get: CUcoredumpSettings, value: *mut c_void, size: *mut usize) -> CUresult;
pub type cuCoredumpSetAttribute =
    unsafe extern "C" fn(set: CUcoredumpSettings, value: *mut c_void, size: *mut usize) -> CUresult;
pub type cuCoredumpSetAttributeGlobal =
    unsafe extern "C" fn(set: CUcoredumpSettings, value: *mut c_void, size: *mut usize) -> CUresult;
pub type cuCtxAttach = unsafe extern "C" fn(pctx: *mut CUcontext, flags: u32) -> CUresult;
pub type cuCtxCreate =
    unsafe extern "C" fn(pctx: *mut CUcontext, flags: u32, dev: CUdevice) -> CUresult;
pub type cuCtxCreate_v2 =
    unsafe extern "C" fn(pctx: *mut CUcontext, flags: u32, dev: CUdevice) -> CUresult;
pub type cuCtxCreate_v3 = unsafe extern "C" fn(
    pctx: *mut CUcontext,
    paramsArray: *mut CUexecAffinityParam,
    numParams: i32,
    flags: u32,
    dev: CUdevice,
) -> CUresult;
pub type cuCtxCreate_v4 = unsafe extern "C" fn(
    pctx: *mut CUcontext,
    ctxCreateParams: *mut CUctxCreateParams,
    flags: u32,
    dev: CUdevice,
) -> CUresult;
pub type cuCtxDestroy = unsafe extern "C" fn(ctx: CUcontext) -> CUresult;
pub type cuCtxDestroy_v2 = unsafe extern "C" fn(ctx: CUcontext) -> CUresult;
pub type cuCtxDetach = unsafe extern "C" fn(ctx: CUcontext) -> CUresult;
pub type cuCtxDisablePeerAccess = unsafe extern "C" fn(peerContext: CUcontext) -> CUresult;
pub type cuCtxEnablePeerAccess =
    unsafe extern "C" fn(peerContext: CUcontext, Flags: u32) -> CUresult;
pub type cuCtxFromGreenCtx =
    unsafe extern "C" fn(pContext: *mut CUcontext, hCtx: CUgreenCtx) -> CUresult;
pub type cuCtxGetApiVersion = unsafe extern "C" fn(ctx: CUcontext, version: *mut u32) -> CUresult;
pub type cuCtxGetCacheConfig = unsafe extern "C" fn(pconfig: *mut CUfunc_cache) -> CUresult;
pub type cuCtxGetCurrent = unsafe extern "C" fn(pctx: *mut CUcontext) -> CUresult;
pub type cuCtxGetDevResource = unsafe extern "C" fn(
    hCtx: CUcontext,
    result: *mut CUdevResource,
    type_: CUdevResourceType,
) -> CUresult;
pub type cuCtxGetDevice = unsafe extern "C" fn(device: *mut CUdevice) -> CUresult;
pub type cuCtxGetDevice_v2 =
    unsafe extern "C" fn(device: *mut CUdevice, ctx: CUcontext) -> CUresult;
pub type cuCtxGetExecAffinity = unsafe extern "C" fn(
    pExecAffinity: *mut CUexecAffinityParam,
    type_: CUexecAffinityType,
) -> CUresult;
pub type cuCtxGetFlags = unsafe extern "C" fn(flags: *mut u32) -> CUresult;
pub type cuCtxGetId = unsafe extern "C" fn(ctx: CUcontext, ctxId: *mut u64) -> CUresult;
pub type cuCtxGetLimit = unsafe extern "C" fn(pvalue: *mut usize, limit: CUlimit) -> CUresult;
pub type cuCtxGetSharedMemConfig = unsafe extern "C" fn(pConfig: *mut CUsharedconfig) -> CUresult;
pub type cuCtxGetStreamPriorityRange =
    unsafe extern "C" fn(leastPriority: *mut i32, greatestPriority: *mut i32) -> CUresult;
pub type cuCtxPopCurrent = unsafe extern "C" fn(pctx: *mut CUcontext) -> CUresult;
pub type cuCtxPopCurrent_v2 = unsafe extern "C" fn(pctx: *mut CUcontext) -> CUresult;
pub type cuCtxPushCurrent = unsafe extern "C" fn(ctx: CUcontext) -> CUresult;
pub type cuCtxPushCurrent_v2 = unsafe extern "C" fn(ctx: CUcontext) -> CUresult;
pub type cuCtxRecordEvent = unsafe extern "C" fn(hCtx: CUcontext, hEvent: CUevent) -> CUresult;
pub type cuCtxResetPersistingL2Cache = unsafe extern "C" fn() -> CUresult;
pub type cuCtxSetCacheConfig = unsafe extern "C" fn(config: CUfunc_cache) -> CUresult;
pub type cuCtxSetCurrent = unsafe extern "C" fn(ctx: CUcontext) -> CUresult;
pub type cuCtxSetFlags = unsafe extern "C" fn(flags: u32) -> CUresult;
pub type cuCtxSetLimit = unsafe extern "C" fn(limit: CUlimit, value: usize) -> CUresult;
pub type cuCtxSetSharedMemConfig = unsafe extern "C" fn(config: CUsharedconfig) -> CUresult;
pub type cuCtxSynchronize = unsafe extern "C" fn() -> CUresult;
pub type cuCtxSynchronize_v2 = unsafe extern "C" fn(ctx: CUcontext) -> CUresult;
pub type cuCtxWaitEvent = unsafe extern "C" fn(hCtx: CUcontext, hEvent: CUevent) -> CUresult;
pub type cuDestroyExternalMemory = unsafe extern "C" fn(extMem: CUexternalMemory) -> CUresult;
pub type cuDestroyExternalSemaphore = unsafe extern "C" fn(extSem: CUexternalSemaphore) -> CUresult;
pub type cuDevResourceGenerateDesc = unsafe extern "C" fn(
    phDesc: *mut CUdevResourceDesc,
    resources: *mut CUdevResource,
    nbResources: u32,
) -> CUresult;
pub type cuDevSmResourceSplitByCount = unsafe extern "C" fn(
    result: *mut CUdevResource,
    nbGroups: *mut u32,
    input: *const CUdevResource,
    remaining: *mut CUdevResource,
    useFlags: u32,
    minCount: u32,
) -> CUresult;
pub type cuDeviceCanAccessPeer =
    unsafe extern "C" fn(canAccessPeer: *mut i32, dev: CUdevice, peerDev: CUdevice) -> CUresult;
pub type cuDeviceComputeCapability =
    unsafe extern "C" fn(major: *mut i32, minor: *mut i32, dev: CUdevice) -> CUresult;
pub type cuDeviceGet = unsafe extern "C" fn(device: *mut CUdevice, ordinal: i32) -> CUresult;
pub type cuDeviceGetAttribute =
    unsafe extern "C" fn(pi: *mut i32, attrib: CUdevice_attribute, dev: CUdevice) -> CUresult;
pub type cuDeviceGetByPCIBusId =
    unsafe extern "C" fn(dev: *mut CUdevice, pciBusId: *const c_char) -> CUresult;
pub type cuDeviceGetCount = unsafe extern "C" fn(count: *mut i32) -> CUresult;
pub type cuDeviceGetDefaultMemPool =
    unsafe extern "C" fn(pool_out: *mut CUmemoryPool, dev: CUdevice) -> CUresult;
pub type cuDeviceGetDevResource = unsafe extern "C" fn(
    dev: CUdevice,
    result: *mut CUdevResource,
    type_: CUdevResourceType,
) -> CUresult;
pub type cuDeviceGetExecAffinitySupport =
    unsafe extern "C" fn(pi: *mut i32, type_: CUexecAffinityType, dev: CUdevice) -> CUresult;
pub type cuDeviceGetGraphMemAttribute = unsafe extern "C" fn(
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> CUresult;
pub type cuDeviceGetHostAtomicCapabilities = unsafe extern "C" fn(
    capabilities: *mut u32,
    operations: *const CUatomicOperation,
    count: u32,
    dev: CUdevice,
) -> CUresult;
pub type cuDeviceGetLuid =
    unsafe extern "C" fn(luid: *mut c_char, deviceNodeMask: *mut u32, dev: CUdevice) -> CUresult;
pub type cuDeviceGetMemPool =
    unsafe extern "C" fn(pool: *mut CUmemoryPool, dev: CUdevice) -> CUresult;
pub type cuDeviceGetName =
    unsafe extern "C" fn(name: *mut c_char, len: i32, dev: CUdevice) -> CUresult;
pub type cuDeviceGetNvSciSyncAttributes =
    unsafe extern "C" fn(nvSciSyncAttrList: *mut c_void, dev: CUdevice, flags: i32) -> CUresult;
pub type cuDeviceGetP2PAtomicCapabilities = unsafe extern "C" fn(
    capabilities: *mut u32,
    operations: *const CUatomicOperation,
    count: u32,
    srcDevice: CUdevice,
    dstDevice: CUdevice,
) -> CUresult;
pub type cuDeviceGetP2PAttribute = unsafe extern "C" fn(
    value: *mut i32,
    attrib: CUdevice_P2PAttribute,
    srcDevice: CUdevice,
    dstDevice: CUdevice,
) -> CUresult;
pub type cuDeviceGetPCIBusId =
    unsafe extern "C" fn(pciBusId: *mut c_char, len: i32, dev: CUdevice) -> CUresult;
pub type cuDeviceGetProperties =
    unsafe extern "C" fn(prop: *mut CUdevprop, dev: CUdevice) -> CUresult;
pub type cuDeviceGetTexture1DLinearMaxWidth = unsafe extern "C" fn(
    maxWidthInElements: *mut usize,
    format: CUarray_format,
    numChannels: u32,
    dev: CUdevice,
) -> CUresult;
pub type cuDeviceGetUuid = unsafe extern "C" fn(uuid: *mut CUuuid, dev: CUdevice) -> CUresult;
pub type cuDeviceGetUuid_v2 = unsafe extern "C" fn(uuid: *mut CUuuid, dev: CUdevice) -> CUresult;
pub type cuDeviceGraphMemTrim = unsafe extern "C" fn(device: CUdevice) -> CUresult;
pub type cuDevicePrimaryCtxGetState =
    unsafe extern "C" fn(dev: CUdevice, flags: *mut u32, active: *mut i32) -> CUresult;
pub type cuDevicePrimaryCtxRelease = unsafe extern "C" fn(dev: CUdevice) -> CUresult;
pub type cuDevicePrimaryCtxRelease_v2 = unsafe extern "C" fn(dev: CUdevice) -> CUresult;
pub type cuDevicePrimaryCtxReset = unsafe extern "C" fn(dev: CUdevice) -> CUresult;
pub type cuDevicePrimaryCtxReset_v2 = unsafe extern "C" fn(dev: CUdevice) -> CUresult;
pub type cuDevicePrimaryCtxRetain =
    unsafe extern "C" fn(pctx: *mut CUcontext, dev: CUdevice) -> CUresult;
pub type cuDevicePrimaryCtxSetFlags = unsafe extern "C" fn(dev: CUdevice, flags: u32) -> CUresult;
pub type cuDevicePrimaryCtxSetFlags_v2 =
    unsafe extern "C" fn(dev: CUdevice, flags: u32) -> CUresult;
pub type cuDeviceRegisterAsyncNotification = unsafe extern "C" fn(
    device: CUdevice,
    callbackFunc: CUasyncCallback,
    userData: *mut c_void,
    callback: *mut CUasyncCallbackHandle,
) -> CUresult;
pub type cuDeviceSetGraphMemAttribute = unsafe extern "C" fn(
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> CUresult;
pub type cuDeviceSetMemPool = unsafe extern "C" fn(dev: CUdevice, pool: CUmemoryPool) -> CUresult;
pub type cuDeviceTotalMem = unsafe extern "C" fn(bytes: *mut u32, dev: CUdevice) -> CUresult;
pub type cuDeviceTotalMem_v2 = unsafe extern "C" fn(bytes: *mut usize, dev: CUdevice) -> CUresult;
pub type cuDeviceUnregisterAsyncNotification =
    unsafe extern "C" fn(device: CUdevice, callback: CUasyncCallbackHandle) -> CUresult;
pub type cuDriverGetVersion = unsafe extern "C" fn(driverVersion: *mut i32) -> CUresult;
pub type cuEGLStreamConsumerAcquireFrame = unsafe extern "C" fn(
    conn: *mut CUeglStreamConnection,
    pCudaResource: *mut CUgraphicsResource,
    pStream: *mut CUstream,
    timeout: u32,
) -> CUresult;
pub type cuEGLStreamConsumerConnect =
    unsafe extern "C" fn(conn: *mut CUeglStreamConnection, stream: EGLStreamKHR) -> CUresult;
pub type cuEGLStreamConsumerConnectWithFlags = unsafe extern "C" fn(
    conn: *mut CUeglStreamConnection,
    stream: EGLStreamKHR,
    flags: u32,
) -> CUresult;
pub type cuEGLStreamConsumerDisconnect =
    unsafe extern "C" fn(conn: *mut CUeglStreamConnection) -> CUresult;
pub type cuEGLStreamConsumerReleaseFrame = unsafe extern "C" fn(
    conn: *mut CUeglStreamConnection,
    pCudaResource: CUgraphicsResource,
    pStream: *mut CUstream,
) -> CUresult;
pub type cuEGLStreamProducerConnect = unsafe extern "C" fn(
    conn: *mut CUeglStreamConnection,
    stream: EGLStreamKHR,
    width: EGLint,
    height: EGLint,
) -> CUresult;
pub type cuEGLStreamProducerDisconnect =
    unsafe extern "C" fn(conn: *mut CUeglStreamConnection) -> CUresult;
pub type cuEGLStreamProducerPresentFrame = unsafe extern "C" fn(
    conn: *mut CUeglStreamConnection,
    eglframe: CUeglFrame,
    pStream: *mut CUstream,
) -> CUresult;
pub type cuEGLStreamProducerReturnFrame = unsafe extern "C" fn(
    conn: *mut CUeglStreamConnection,
    eglframe: *mut CUeglFrame,
    pStream: *mut CUstream,
) -> CUresult;
pub type cuEventCreate = unsafe extern "C" fn(phEvent: *mut CUevent, Flags: u32) -> CUresult;
pub type cuEventDestroy = unsafe extern "C" fn(hEvent: CUevent) -> CUresult;
pub type cuEventDestroy_v2 = unsafe extern "C" fn(hEvent: CUevent) -> CUresult;
pub type cuEventElapsedTime =
    unsafe extern "C" fn(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent) -> CUresult;
pub type cuEventElapsedTime_v2 =
    unsafe extern "C" fn(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent) -> CUresult;
pub type cuEventQuery = unsafe extern "C" fn(hEvent: CUevent) -> CUresult;
pub type cuEventRecord = unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream) -> CUresult;
pub type cuEventRecord_ptsz = unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream) -> CUresult;
pub type cuEventRecordWithFlags =
    unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream, flags: u32) -> CUresult;
pub type cuEventRecordWithFlags_ptsz =
    unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream, flags: u32) -> CUresult;
pub type cuEventSynchronize = unsafe extern "C" fn(hEvent: CUevent) -> CUresult;
pub type cuExternalMemoryGetMappedBuffer = unsafe extern "C" fn(
    devPtr: *mut CUdeviceptr,
    extMem: CUexternalMemory,
    bufferDesc: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC,
) -> CUresult;
pub type cuExternalMemoryGetMappedMipmappedArray = unsafe extern "C" fn(
    mipmap: *mut CUmipmappedArray,
    extMem: CUexternalMemory,
    mipmapDesc: *const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC,
) -> CUresult;
pub type cuFlushGPUDirectRDMAWrites = unsafe extern "C" fn(
    target: CUflushGPUDirectRDMAWritesTarget,
    scope: CUflushGPUDirectRDMAWritesScope,
) -> CUresult;
pub type cuFuncGetAttribute =
    unsafe extern "C" fn(pi: *mut i32, attrib: CUfunction_attribute, hfunc: CUfunction) -> CUresult;
pub type cuFuncGetModule = unsafe extern "C" fn(hmod: *mut CUmodule, hfunc: CUfunction) -> CUresult;
pub type cuFuncGetName =
    unsafe extern "C" fn(name: *mut *const c_char, hfunc: CUfunction) -> CUresult;
pub type cuFuncGetParamInfo = unsafe extern "C" fn(
    func: CUfunction,
    paramIndex: usize,
    paramOffset: *mut usize,
    paramSize: *mut usize,
) -> CUresult;
pub type cuFuncIsLoaded =
    unsafe extern "C" fn(state: *mut CUfunctionLoadingState, hfunc: CUfunction) -> CUresult;
pub type cuFuncLoad = unsafe extern "C" fn(hfunc: CUfunction) -> CUresult;
pub type cuFuncSetAttribute =
    unsafe extern "C" fn(hfunc: CUfunction, attrib: CUfunction_attribute, value: i32) -> CUresult;
pub type cuFuncSetBlockShape =
    unsafe extern "C" fn(hfunc: CUfunction, x: i32, y: i32, z: i32) -> CUresult;
pub type cuFuncSetCacheConfig =
    unsafe extern "C" fn(hfunc: CUfunction, config: CUfunc_cache) -> CUresult;
pub type cuFuncSetSharedMemConfig =
    unsafe extern "C" fn(hfunc: CUfunction, config: CUsharedconfig) -> CUresult;
pub type cuFuncSetSharedSize = unsafe extern "C" fn(hfunc: CUfunction, bytes: u32) -> CUresult;
pub type cuGLCtxCreate =
    unsafe extern "C" fn(pCtx: *mut CUcontext, Flags: u32, device: CUdevice) -> CUresult;
pub type cuGLCtxCreate_v2 =
    unsafe extern "C" fn(pCtx: *mut CUcontext, Flags: u32, device: CUdevice) -> CUresult;
pub type cuGLGetDevices = unsafe extern "C" fn(
    pCudaDeviceCount: *mut u32,
    pCudaDevices: *mut CUdevice,
    cudaDeviceCount: u32,
    deviceList: CUGLDeviceList,
) -> CUresult;
pub type cuGLGetDevices_v2 = unsafe extern "C" fn(
    pCudaDeviceCount: *mut u32,
    pCudaDevices: *mut CUdevice,
    cudaDeviceCount: u32,
    deviceList: CUGLDeviceList,
) -> CUresult;
pub type cuGLInit = unsafe extern "C" fn() -> CUresult;
pub type cuGLMapBufferObject =
    unsafe extern "C" fn(dptr: *mut CUdeviceptr_v1, size: *mut u32, buffer: GLuint) -> CUresult;
pub type cuGLMapBufferObject_v2 =
    unsafe extern "C" fn(dptr: *mut CUdeviceptr, size: *mut usize, buffer: GLuint) -> CUresult;
pub type cuGLMapBufferObject_v2_ptds =
    unsafe extern "C" fn(dptr: *mut CUdeviceptr, size: *mut usize, buffer: GLuint) -> CUresult;
pub type cuGLMapBufferObjectAsync = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr_v1,
    size: *mut u32,
    buffer: GLuint,
    hStream: CUstream,
) -> CUresult;
pub type cuGLMapBufferObjectAsync_v2 = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    size: *mut usize,
    buffer: GLuint,
    hStream: CUstream,
) -> CUresult;
pub type cuGLMapBufferObjectAsync_v2_ptsz = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    size: *mut usize,
    buffer: GLuint,
    hStream: CUstream,
) -> CUresult;
pub type cuGLRegisterBufferObject = unsafe extern "C" fn(buffer: GLuint) -> CUresult;
pub type cuGLSetBufferObjectMapFlags = unsafe extern "C" fn(buffer: GLuint, Flags: u32) -> CUresult;
pub type cuGLUnmapBufferObject = unsafe extern "C" fn(buffer: GLuint) -> CUresult;
pub type cuGLUnmapBufferObjectAsync =
    unsafe extern "C" fn(buffer: GLuint, hStream: CUstream) -> CUresult;
pub type cuGLUnregisterBufferObject = unsafe extern "C" fn(buffer: GLuint) -> CUresult;
pub type cuGetErrorName =
    unsafe extern "C" fn(error: CUresult, pStr: *mut *const c_char) -> CUresult;
pub type cuGetErrorString =
    unsafe extern "C" fn(error: CUresult, pStr: *mut *const c_char) -> CUresult;
pub type cuGetExportTable = unsafe extern "C" fn(
    ppExportTable: *mut *const c_void,
    pExportTableId: *const CUuuid,
) -> CUresult;
pub type cuGetProcAddress = unsafe extern "C" fn(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    driverVersion: i32,
    flags: u64,
) -> CUresult;
pub type cuGetProcAddress_v2 = unsafe extern "C" fn(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    driverVersion: i32,
    flags: u64,
    symbolFound: *mut CUdriverProcAddressQueryResult,
) -> CUresult;
pub type cuGraphAddBatchMemOpNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> CUresult;
pub type cuGraphAddChildGraphNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    childGraph: CUgraph,
) -> CUresult;
pub type cuGraphAddDependencies = unsafe extern "C" fn(
    hGraph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    numDependencies: usize,
) -> CUresult;
pub type cuGraphAddDependencies_v2 = unsafe extern "C" fn(
    hGraph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    edgeData: *const CUgraphEdgeData,
    numDependencies: usize,
) -> CUresult;
pub type cuGraphAddEmptyNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
) -> CUresult;
pub type cuGraphAddEventRecordNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    event: CUevent,
) -> CUresult;
pub type cuGraphAddEventWaitNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    event: CUevent,
) -> CUresult;
pub type cuGraphAddExternalSemaphoresSignalNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
) -> CUresult;
pub type cuGraphAddExternalSemaphoresWaitNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *const CUDA_EXT_SEM_WAIT_NODE_PARAMS,
) -> CUresult;
pub type cuGraphAddHostNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *const CUDA_HOST_NODE_PARAMS,
) -> CUresult;
pub type cuGraphAddKernelNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> CUresult;
pub type cuGraphAddKernelNode_v2 = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *const CUDA_KERNEL_NODE_PARAMS,
) -> CUresult;
pub type cuGraphAddMemAllocNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> CUresult;
pub type cuGraphAddMemFreeNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    dptr: CUdeviceptr,
) -> CUresult;
pub type cuGraphAddMemcpyNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    copyParams: *const CUDA_MEMCPY3D,
    ctx: CUcontext,
) -> CUresult;
pub type cuGraphAddMemsetNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    memsetParams: *const CUDA_MEMSET_NODE_PARAMS,
    ctx: CUcontext,
) -> CUresult;
pub type cuGraphAddNode = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    numDependencies: usize,
    nodeParams: *mut CUgraphNodeParams,
) -> CUresult;
pub type cuGraphAddNode_v2 = unsafe extern "C" fn(
    phGraphNode: *mut CUgraphNode,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    dependencyData: *const CUgraphEdgeData,
    numDependencies: usize,
    nodeParams: *mut CUgraphNodeParams,
) -> CUresult;
pub type cuGraphBatchMemOpNodeGetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams_out: *mut CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> CUresult;
pub type cuGraphBatchMemOpNodeSetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> CUresult;
pub type cuGraphChildGraphNodeGetGraph =
    unsafe extern "C" fn(hNode: CUgraphNode, phGraph: *mut CUgraph) -> CUresult;
pub type cuGraphClone =
    unsafe extern "C" fn(phGraphClone: *mut CUgraph, originalGraph: CUgraph) -> CUresult;
pub type cuGraphConditionalHandleCreate = unsafe extern "C" fn(
    pHandle_out: *mut CUgraphConditionalHandle,
    hGraph: CUgraph,
    ctx: CUcontext,
    defaultLaunchValue: u32,
    flags: u32,
) -> CUresult;
pub type cuGraphCreate = unsafe extern "C" fn(phGraph: *mut CUgraph, flags: u32) -> CUresult;
pub type cuGraphDebugDotPrint =
    unsafe extern "C" fn(hGraph: CUgraph, path: *const c_char, flags: u32) -> CUresult;
pub type cuGraphDestroy = unsafe extern "C" fn(hGraph: CUgraph) -> CUresult;
pub type cuGraphDestroyNode = unsafe extern "C" fn(hNode: CUgraphNode) -> CUresult;
pub type cuGraphEventRecordNodeGetEvent =
    unsafe extern "C" fn(hNode: CUgraphNode, event_out: *mut CUevent) -> CUresult;
pub type cuGraphEventRecordNodeSetEvent =
    unsafe extern "C" fn(hNode: CUgraphNode, event: CUevent) -> CUresult;
pub type cuGraphEventWaitNodeGetEvent =
    unsafe extern "C" fn(hNode: CUgraphNode, event_out: *mut CUevent) -> CUresult;
pub type cuGraphEventWaitNodeSetEvent =
    unsafe extern "C" fn(hNode: CUgraphNode, event: CUevent) -> CUresult;
pub type cuGraphExecBatchMemOpNodeSetParams = unsafe extern "C" fn(
    graphExec: CUgraphExec,
    node: CUgraphNode,
    nodeParams: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExecChildGraphNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    childGraph: CUgraph,
) -> CUresult;
pub type cuGraphExecDestroy = unsafe extern "C" fn(hGraphExec: CUgraphExec) -> CUresult;
pub type cuGraphExecEventRecordNodeSetEvent =
    unsafe extern "C" fn(hGraphExec: CUgraphExec, hNode: CUgraphNode, event: CUevent) -> CUresult;
pub type cuGraphExecEventWaitNodeSetEvent =
    unsafe extern "C" fn(hGraphExec: CUgraphExec, hNode: CUgraphNode, event: CUevent) -> CUresult;
pub type cuGraphExecExternalSemaphoresSignalNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: *const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExecExternalSemaphoresWaitNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: *const CUDA_EXT_SEM_WAIT_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExecGetFlags =
    unsafe extern "C" fn(hGraphExec: CUgraphExec, flags: *mut u64) -> CUresult;
pub type cuGraphExecHostNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: *const CUDA_HOST_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExecKernelNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> CUresult;
pub type cuGraphExecKernelNodeSetParams_v2 = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: *const CUDA_KERNEL_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExecMemcpyNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    copyParams: *const CUDA_MEMCPY3D,
    ctx: CUcontext,
) -> CUresult;
pub type cuGraphExecMemsetNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    memsetParams: *const CUDA_MEMSET_NODE_PARAMS,
    ctx: CUcontext,
) -> CUresult;
pub type cuGraphExecNodeSetParams = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    nodeParams: *mut CUgraphNodeParams,
) -> CUresult;
pub type cuGraphExecUpdate = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hGraph: CUgraph,
    hErrorNode_out: *mut CUgraphNode,
    updateResult_out: *mut CUgraphExecUpdateResult,
) -> CUresult;
pub type cuGraphExecUpdate_v2 = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hGraph: CUgraph,
    resultInfo: *mut CUgraphExecUpdateResultInfo,
) -> CUresult;
pub type cuGraphExternalSemaphoresSignalNodeGetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    params_out: *mut CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExternalSemaphoresSignalNodeSetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams: *const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExternalSemaphoresWaitNodeGetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    params_out: *mut CUDA_EXT_SEM_WAIT_NODE_PARAMS,
) -> CUresult;
pub type cuGraphExternalSemaphoresWaitNodeSetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams: *const CUDA_EXT_SEM_WAIT_NODE_PARAMS,
) -> CUresult;
pub type cuGraphGetEdges = unsafe extern "C" fn(
    hGraph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    numEdges: *mut usize,
) -> CUresult;
pub type cuGraphGetEdges_v2 = unsafe extern "C" fn(
    hGraph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    edgeData: *mut CUgraphEdgeData,
    numEdges: *mut usize,
) -> CUresult;
pub type cuGraphGetNodes = unsafe extern "C" fn(
    hGraph: CUgraph,
    nodes: *mut CUgraphNode,
    numNodes: *mut usize,
) -> CUresult;
pub type cuGraphGetRootNodes = unsafe extern "C" fn(
    hGraph: CUgraph,
    rootNodes: *mut CUgraphNode,
    numRootNodes: *mut usize,
) -> CUresult;
pub type cuGraphHostNodeGetParams =
    unsafe extern "C" fn(hNode: CUgraphNode, nodeParams: *mut CUDA_HOST_NODE_PARAMS) -> CUresult;
pub type cuGraphHostNodeSetParams =
    unsafe extern "C" fn(hNode: CUgraphNode, nodeParams: *const CUDA_HOST_NODE_PARAMS) -> CUresult;
pub type cuGraphInstantiate = unsafe extern "C" fn(
    phGraphExec: *mut CUgraphExec,
    hGraph: CUgraph,
    phErrorNode: *mut CUgraphNode,
    logBuffer: *mut c_char,
    bufferSize: usize,
) -> CUresult;
pub type cuGraphInstantiate_v2 = unsafe extern "C" fn(
    phGraphExec: *mut CUgraphExec,
    hGraph: CUgraph,
    phErrorNode: *mut CUgraphNode,
    logBuffer: *mut c_char,
    bufferSize: usize,
) -> CUresult;
pub type cuGraphInstantiateWithFlags =
    unsafe extern "C" fn(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, flags: u64) -> CUresult;
pub type cuGraphInstantiateWithParams = unsafe extern "C" fn(
    phGraphExec: *mut CUgraphExec,
    hGraph: CUgraph,
    instantiateParams: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> CUresult;
pub type cuGraphInstantiateWithParams_ptsz = unsafe extern "C" fn(
    phGraphExec: *mut CUgraphExec,
    hGraph: CUgraph,
    instantiateParams: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> CUresult;
pub type cuGraphKernelNodeCopyAttributes =
    unsafe extern "C" fn(dst: CUgraphNode, src: CUgraphNode) -> CUresult;
pub type cuGraphKernelNodeGetAttribute = unsafe extern "C" fn(
    hNode: CUgraphNode,
    attr: CUkernelNodeAttrID,
    value_out: *mut CUstreamAttrValue,
) -> CUresult;
pub type cuGraphKernelNodeGetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams: *mut CUDA_KERNEL_NODE_PARAMS_v1,
) -> CUresult;
pub type cuGraphKernelNodeGetParams_v2 =
    unsafe extern "C" fn(hNode: CUgraphNode, nodeParams: *mut CUDA_KERNEL_NODE_PARAMS) -> CUresult;
pub type cuGraphKernelNodeSetAttribute = unsafe extern "C" fn(
    hNode: CUgraphNode,
    attr: CUkernelNodeAttrID,
    value: *const CUstreamAttrValue,
) -> CUresult;
pub type cuGraphKernelNodeSetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> CUresult;
pub type cuGraphKernelNodeSetParams_v2 = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams: *const CUDA_KERNEL_NODE_PARAMS,
) -> CUresult;
pub type cuGraphLaunch = unsafe extern "C" fn(hGraph: CUgraphExec, hStream: CUstream) -> CUresult;
pub type cuGraphLaunch_ptsz =
    unsafe extern "C" fn(hGraphExec: CUgraphExec, hStream: CUstream) -> CUresult;
pub type cuGraphMemAllocNodeGetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    params_out: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> CUresult;
pub type cuGraphMemFreeNodeGetParams =
    unsafe extern "C" fn(hNode: CUgraphNode, dptr_out: *mut CUdeviceptr) -> CUresult;
pub type cuGraphMemcpyNodeGetParams =
    unsafe extern "C" fn(hNode: CUgraphNode, nodeParams: *mut CUDA_MEMCPY3D) -> CUresult;
pub type cuGraphMemcpyNodeSetParams =
    unsafe extern "C" fn(hNode: CUgraphNode, nodeParams: *const CUDA_MEMCPY3D) -> CUresult;
pub type cuGraphMemsetNodeGetParams =
    unsafe extern "C" fn(hNode: CUgraphNode, nodeParams: *mut CUDA_MEMSET_NODE_PARAMS) -> CUresult;
pub type cuGraphMemsetNodeSetParams = unsafe extern "C" fn(
    hNode: CUgraphNode,
    nodeParams: *const CUDA_MEMSET_NODE_PARAMS,
) -> CUresult;
pub type cuGraphNodeFindInClone = unsafe extern "C" fn(
    phNode: *mut CUgraphNode,
    hOriginalNode: CUgraphNode,
    hClonedGraph: CUgraph,
) -> CUresult;
pub type cuGraphNodeGetDependencies = unsafe extern "C" fn(
    hNode: CUgraphNode,
    dependencies: *mut CUgraphNode,
    numDependencies: *mut usize,
) -> CUresult;
pub type cuGraphNodeGetDependencies_v2 = unsafe extern "C" fn(
    hNode: CUgraphNode,
    dependencies: *mut CUgraphNode,
    edgeData: *mut CUgraphEdgeData,
    numDependencies: *mut usize,
) -> CUresult;
pub type cuGraphNodeGetDependentNodes = unsafe extern "C" fn(
    hNode: CUgraphNode,
    dependentNodes: *mut CUgraphNode,
    numDependentNodes: *mut usize,
) -> CUresult;
pub type cuGraphNodeGetDependentNodes_v2 = unsafe extern "C" fn(
    hNode: CUgraphNode,
    dependentNodes: *mut CUgraphNode,
    edgeData: *mut CUgraphEdgeData,
    numDependentNodes: *mut usize,
) -> CUresult;
pub type cuGraphNodeGetEnabled = unsafe extern "C" fn(
    hGraphExec: CUgraphExec,
    hNode: CUgraphNode,
    isEnabled: *mut u32,
) -> CUresult;
pub type cuGraphNodeGetType =
    unsafe extern "C" fn(hNode: CUgraphNode, type_: *mut CUgraphNodeType) -> CUresult;
pub type cuGraphNodeSetEnabled =
    unsafe extern "C" fn(hGraphExec: CUgraphExec, hNode: CUgraphNode, isEnabled: u32) -> CUresult;
pub type cuGraphNodeSetParams =
    unsafe extern "C" fn(hNode: CUgraphNode, nodeParams: *mut CUgraphNodeParams) -> CUresult;
pub type cuGraphReleaseUserObject =
    unsafe extern "C" fn(graph: CUgraph, object: CUuserObject, count: u32) -> CUresult;
pub type cuGraphRemoveDependencies = unsafe extern "C" fn(
    hGraph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    numDependencies: usize,
) -> CUresult;
pub type cuGraphRemoveDependencies_v2 = unsafe extern "C" fn(
    hGraph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    edgeData: *const CUgraphEdgeData,
    numDependencies: usize,
) -> CUresult;
pub type cuGraphRetainUserObject =
    unsafe extern "C" fn(graph: CUgraph, object: CUuserObject, count: u32, flags: u32) -> CUresult;
pub type cuGraphUpload = unsafe extern "C" fn(hGraph: CUgraphExec, hStream: CUstream) -> CUresult;
pub type cuGraphUpload_ptsz =
    unsafe extern "C" fn(hGraphExec: CUgraphExec, hStream: CUstream) -> CUresult;
pub type cuGraphicsEGLRegisterImage = unsafe extern "C" fn(
    pCudaResource: *mut CUgraphicsResource,
    image: EGLImageKHR,
    flags: u32,
) -> CUresult;
pub type cuGraphicsGLRegisterBuffer = unsafe extern "C" fn(
    pCudaResource: *mut CUgraphicsResource,
    buffer: GLuint,
    Flags: u32,
) -> CUresult;
pub type cuGraphicsGLRegisterImage = unsafe extern "C" fn(
    pCudaResource: *mut CUgraphicsResource,
    image: GLuint,
    target: GLenum,
    Flags: u32,
) -> CUresult;
pub type cuGraphicsMapResources = unsafe extern "C" fn(
    count: u32,
    resources: *mut CUgraphicsResource,
    hStream: CUstream,
) -> CUresult;
pub type cuGraphicsMapResources_ptsz = unsafe extern "C" fn(
    count: u32,
    resources: *mut CUgraphicsResource,
    hStream: CUstream,
) -> CUresult;
pub type cuGraphicsResourceGetMappedEglFrame = unsafe extern "C" fn(
    eglFrame: *mut CUeglFrame,
    resource: CUgraphicsResource,
    index: u32,
    mipLevel: u32,
) -> CUresult;
pub type cuGraphicsResourceGetMappedMipmappedArray = unsafe extern "C" fn(
    pMipmappedArray: *mut CUmipmappedArray,
    resource: CUgraphicsResource,
) -> CUresult;
pub type cuGraphicsResourceGetMappedPointer = unsafe extern "C" fn(
    pDevPtr: *mut CUdeviceptr_v1,
    pSize: *mut u32,
    resource: CUgraphicsResource,
) -> CUresult;
pub type cuGraphicsResourceGetMappedPointer_v2 = unsafe extern "C" fn(
    pDevPtr: *mut CUdeviceptr,
    pSize: *mut usize,
    resource: CUgraphicsResource,
) -> CUresult;
pub type cuGraphicsResourceSetMapFlags =
    unsafe extern "C" fn(resource: CUgraphicsResource, flags: u32) -> CUresult;
pub type cuGraphicsResourceSetMapFlags_v2 =
    unsafe extern "C" fn(resource: CUgraphicsResource, flags: u32) -> CUresult;
pub type cuGraphicsSubResourceGetMappedArray = unsafe extern "C" fn(
    pArray: *mut CUarray,
    resource: CUgraphicsResource,
    arrayIndex: u32,
    mipLevel: u32,
) -> CUresult;
pub type cuGraphicsUnmapResources = unsafe extern "C" fn(
    count: u32,
    resources: *mut CUgraphicsResource,
    hStream: CUstream,
) -> CUresult;
pub type cuGraphicsUnmapResources_ptsz = unsafe extern "C" fn(
    count: u32,
    resources: *mut CUgraphicsResource,
    hStream: CUstream,
) -> CUresult;
pub type cuGraphicsUnregisterResource =
    unsafe extern "C" fn(resource: CUgraphicsResource) -> CUresult;
pub type cuGraphicsVDPAURegisterOutputSurface = unsafe extern "C" fn(
    pCudaResource: *mut CUgraphicsResource,
    vdpSurface: VdpOutputSurface,
    flags: u32,
) -> CUresult;
pub type cuGraphicsVDPAURegisterVideoSurface = unsafe extern "C" fn(
    pCudaResource: *mut CUgraphicsResource,
    vdpSurface: VdpVideoSurface,
    flags: u32,
) -> CUresult;
pub type cuGreenCtxCreate = unsafe extern "C" fn(
    phCtx: *mut CUgreenCtx,
    desc: CUdevResourceDesc,
    dev: CUdevice,
    flags: u32,
) -> CUresult;
pub type cuGreenCtxDestroy = unsafe extern "C" fn(hCtx: CUgreenCtx) -> CUresult;
pub type cuGreenCtxGetDevResource = unsafe extern "C" fn(
    hCtx: CUgreenCtx,
    result: *mut CUdevResource,
    type_: CUdevResourceType,
) -> CUresult;
pub type cuGreenCtxGetId =
    unsafe extern "C" fn(greenCtx: CUgreenCtx, greenCtxId: *mut u64) -> CUresult;
pub type cuGreenCtxRecordEvent =
    unsafe extern "C" fn(hCtx: CUgreenCtx, hEvent: CUevent) -> CUresult;
pub type cuGreenCtxStreamCreate = unsafe extern "C" fn(
    phStream: *mut CUstream,
    greenCtx: CUgreenCtx,
    flags: u32,
    priority: i32,
) -> CUresult;
pub type cuGreenCtxWaitEvent = unsafe extern "C" fn(hCtx: CUgreenCtx, hEvent: CUevent) -> CUresult;
pub type cuImportExternalMemory = unsafe extern "C" fn(
    extMem_out: *mut CUexternalMemory,
    memHandleDesc: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
) -> CUresult;
pub type cuImportExternalSemaphore = unsafe extern "C" fn(
    extSem_out: *mut CUexternalSemaphore,
    semHandleDesc: *const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC,
) -> CUresult;
pub type cuInit = unsafe extern "C" fn(Flags: u32) -> CUresult;
pub type cuIpcCloseMemHandle = unsafe extern "C" fn(dptr: CUdeviceptr) -> CUresult;
pub type cuIpcGetEventHandle =
    unsafe extern "C" fn(pHandle: *mut CUipcEventHandle, event: CUevent) -> CUresult;
pub type cuIpcGetMemHandle =
    unsafe extern "C" fn(pHandle: *mut CUipcMemHandle, dptr: CUdeviceptr) -> CUresult;
pub type cuIpcOpenEventHandle =
    unsafe extern "C" fn(phEvent: *mut CUevent, handle: CUipcEventHandle) -> CUresult;
pub type cuIpcOpenMemHandle =
    unsafe extern "C" fn(pdptr: *mut CUdeviceptr, handle: CUipcMemHandle, Flags: u32) -> CUresult;
pub type cuIpcOpenMemHandle_v2 =
    unsafe extern "C" fn(pdptr: *mut CUdeviceptr, handle: CUipcMemHandle, Flags: u32) -> CUresult;
pub type cuKernelGetAttribute = unsafe extern "C" fn(
    pi: *mut i32,
    attrib: CUfunction_attribute,
    kernel: CUkernel,
    dev: CUdevice,
) -> CUresult;
pub type cuKernelGetFunction =
    unsafe extern "C" fn(pFunc: *mut CUfunction, kernel: CUkernel) -> CUresult;
pub type cuKernelGetLibrary =
    unsafe extern "C" fn(pLib: *mut CUlibrary, kernel: CUkernel) -> CUresult;
pub type cuKernelGetName =
    unsafe extern "C" fn(name: *mut *const c_char, hfunc: CUkernel) -> CUresult;
pub type cuKernelGetParamInfo = unsafe extern "C" fn(
    kernel: CUkernel,
    paramIndex: usize,
    paramOffset: *mut usize,
    paramSize: *mut usize,
) -> CUresult;
pub type cuKernelSetAttribute = unsafe extern "C" fn(
    attrib: CUfunction_attribute,
    val: i32,
    kernel: CUkernel,
    dev: CUdevice,
) -> CUresult;
pub type cuKernelSetCacheConfig =
    unsafe extern "C" fn(kernel: CUkernel, config: CUfunc_cache, dev: CUdevice) -> CUresult;
pub type cuLaunch = unsafe extern "C" fn(f: CUfunction) -> CUresult;
pub type cuLaunchCooperativeKernel = unsafe extern "C" fn(
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: *mut *mut c_void,
) -> CUresult;
pub type cuLaunchCooperativeKernel_ptsz = unsafe extern "C" fn(
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: *mut *mut c_void,
) -> CUresult;
pub type cuLaunchCooperativeKernelMultiDevice = unsafe extern "C" fn(
    launchParamsList: *mut CUDA_LAUNCH_PARAMS,
    numDevices: u32,
    flags: u32,
) -> CUresult;
pub type cuLaunchGrid =
    unsafe extern "C" fn(f: CUfunction, grid_width: i32, grid_height: i32) -> CUresult;
pub type cuLaunchGridAsync = unsafe extern "C" fn(
    f: CUfunction,
    grid_width: i32,
    grid_height: i32,
    hStream: CUstream,
) -> CUresult;
pub type cuLaunchHostFunc =
    unsafe extern "C" fn(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void) -> CUresult;
pub type cuLaunchHostFunc_ptsz =
    unsafe extern "C" fn(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void) -> CUresult;
pub type cuLaunchKernel = unsafe extern "C" fn(
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult;
pub type cuLaunchKernel_ptsz = unsafe extern "C" fn(
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult;
pub type cuLaunchKernelEx = unsafe extern "C" fn(
    config: *const CUlaunchConfig,
    f: CUfunction,
    kernelParams: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult;
pub type cuLaunchKernelEx_ptsz = unsafe extern "C" fn(
    config: *const CUlaunchConfig,
    f: CUfunction,
    kernelParams: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult;
pub type cuLibraryEnumerateKernels =
    unsafe extern "C" fn(kernels: *mut CUkernel, numKernels: u32, lib: CUlibrary) -> CUresult;
pub type cuLibraryGetGlobal = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> CUresult;
pub type cuLibraryGetKernel = unsafe extern "C" fn(
    pKernel: *mut CUkernel,
    library: CUlibrary,
    name: *const c_char,
) -> CUresult;
pub type cuLibraryGetKernelCount =
    unsafe extern "C" fn(count: *mut u32, lib: CUlibrary) -> CUresult;
pub type cuLibraryGetManaged = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> CUresult;
pub type cuLibraryGetModule =
    unsafe extern "C" fn(pMod: *mut CUmodule, library: CUlibrary) -> CUresult;
pub type cuLibraryGetUnifiedFunction = unsafe extern "C" fn(
    fptr: *mut *mut c_void,
    library: CUlibrary,
    symbol: *const c_char,
) -> CUresult;
pub type cuLibraryLoadData = unsafe extern "C" fn(
    library: *mut CUlibrary,
    code: *const c_void,
    jitOptions: *mut CUjit_option,
    jitOptionsValues: *mut *mut c_void,
    numJitOptions: u32,
    libraryOptions: *mut CUlibraryOption,
    libraryOptionValues: *mut *mut c_void,
    numLibraryOptions: u32,
) -> CUresult;
pub type cuLibraryLoadFromFile = unsafe extern "C" fn(
    library: *mut CUlibrary,
    fileName: *const c_char,
    jitOptions: *mut CUjit_option,
    jitOptionsValues: *mut *mut c_void,
    numJitOptions: u32,
    libraryOptions: *mut CUlibraryOption,
    libraryOptionValues: *mut *mut c_void,
    numLibraryOptions: u32,
) -> CUresult;
pub type cuLibraryUnload = unsafe extern "C" fn(library: CUlibrary) -> CUresult;
pub type cuLinkAddData = unsafe extern "C" fn(
    state: CUlinkState,
    type_: CUjitInputType,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    numOptions: u32,
    options: *mut CUjit_option,
    optionValues: *mut *mut c_void,
) -> CUresult;
pub type cuLinkAddData_v2 = unsafe extern "C" fn(
    state: CUlinkState,
    type_: CUjitInputType,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    numOptions: u32,
    options: *mut CUjit_option,
    optionValues: *mut *mut c_void,
) -> CUresult;
pub type cuLinkAddFile = unsafe extern "C" fn(
    state: CUlinkState,
    type_: CUjitInputType,
    path: *const c_char,
    numOptions: u32,
    options: *mut CUjit_option,
    optionValues: *mut *mut c_void,
) -> CUresult;
pub type cuLinkAddFile_v2 = unsafe extern "C" fn(
    state: CUlinkState,
    type_: CUjitInputType,
    path: *const c_char,
    numOptions: u32,
    options: *mut CUjit_option,
    optionValues: *mut *mut c_void,
) -> CUresult;
pub type cuLinkComplete = unsafe extern "C" fn(
    state: CUlinkState,
    cubinOut: *mut *mut c_void,
    sizeOut: *mut usize,
) -> CUresult;
pub type cuLinkCreate = unsafe extern "C" fn(
    numOptions: u32,
    options: *mut CUjit_option,
    optionValues: *mut *mut c_void,
    stateOut: *mut CUlinkState,
) -> CUresult;
pub type cuLinkCreate_v2 = unsafe extern "C" fn(
    numOptions: u32,
    options: *mut CUjit_option,
    optionValues: *mut *mut c_void,
    stateOut: *mut CUlinkState,
) -> CUresult;
pub type cuLinkDestroy = unsafe extern "C" fn(state: CUlinkState) -> CUresult;
pub type cuLogsCurrent = unsafe extern "C" fn(iterator: *mut CUlogIterator, flags: u32) -> CUresult;
pub type cuLogsDumpToFile = unsafe extern "C" fn(
    iterator: *mut CUlogIterator,
    pathToFile: *const c_char,
    flags: u32,
) -> CUresult;
pub type cuLogsDumpToMemory = unsafe extern "C" fn(
    iterator: *mut CUlogIterator,
    buffer: *mut c_char,
    size: *mut usize,
    flags: u32,
) -> CUresult;
pub type cuLogsRegisterCallback = unsafe extern "C" fn(
    callbackFunc: CUlogsCallback,
    userData: *mut c_void,
    callback: *mut CUlogsCallbackHandle,
) -> CUresult;
pub type cuLogsUnregisterCallback =
    unsafe extern "C" fn(callback: CUlogsCallbackHandle) -> CUresult;
pub type cuMemAddressFree = unsafe extern "C" fn(ptr: CUdeviceptr, size: usize) -> CUresult;
pub type cuMemAddressReserve = unsafe extern "C" fn(
    ptr: *mut CUdeviceptr,
    size: usize,
    alignment: usize,
    addr: CUdeviceptr,
    flags: u64,
) -> CUresult;
pub type cuMemAdvise = unsafe extern "C" fn(
    devPtr: CUdeviceptr,
    count: usize,
    advice: CUmem_advise,
    device: CUdevice,
) -> CUresult;
pub type cuMemAdvise_v2 = unsafe extern "C" fn(
    devPtr: CUdeviceptr,
    count: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> CUresult;
pub type cuMemAlloc = unsafe extern "C" fn(dptr: *mut CUdeviceptr_v1, bytesize: u32) -> CUresult;
pub type cuMemAlloc_v2 = unsafe extern "C" fn(dptr: *mut CUdeviceptr, bytesize: usize) -> CUresult;
pub type cuMemAllocAsync =
    unsafe extern "C" fn(dptr: *mut CUdeviceptr, bytesize: usize, hStream: CUstream) -> CUresult;
pub type cuMemAllocAsync_ptsz =
    unsafe extern "C" fn(dptr: *mut CUdeviceptr, bytesize: usize, hStream: CUstream) -> CUresult;
pub type cuMemAllocFromPoolAsync = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    bytesize: usize,
    pool: CUmemoryPool,
    hStream: CUstream,
) -> CUresult;
pub type cuMemAllocFromPoolAsync_ptsz = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    bytesize: usize,
    pool: CUmemoryPool,
    hStream: CUstream,
) -> CUresult;
pub type cuMemAllocHost = unsafe extern "C" fn(pp: *mut *mut c_void, bytesize: u32) -> CUresult;
pub type cuMemAllocHost_v2 =
    unsafe extern "C" fn(pp: *mut *mut c_void, bytesize: usize) -> CUresult;
pub type cuMemAllocManaged =
    unsafe extern "C" fn(dptr: *mut CUdeviceptr, bytesize: usize, flags: u32) -> CUresult;
pub type cuMemAllocPitch = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr_v1,
    pPitch: *mut u32,
    WidthInBytes: u32,
    Height: u32,
    ElementSizeBytes: u32,
) -> CUresult;
pub type cuMemAllocPitch_v2 = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    pPitch: *mut usize,
    WidthInBytes: usize,
    Height: usize,
    ElementSizeBytes: u32,
) -> CUresult;
pub type cuMemBatchDecompressAsync = unsafe extern "C" fn(
    paramsArray: *mut CUmemDecompressParams,
    count: usize,
    flags: u32,
    errorIndex: *mut usize,
    stream: CUstream,
) -> CUresult;
pub type cuMemBatchDecompressAsync_ptsz = unsafe extern "C" fn(
    paramsArray: *mut CUmemDecompressParams,
    count: usize,
    flags: u32,
    errorIndex: *mut usize,
    stream: CUstream,
) -> CUresult;
pub type cuMemCreate = unsafe extern "C" fn(
    handle: *mut CUmemGenericAllocationHandle,
    size: usize,
    prop: *const CUmemAllocationProp,
    flags: u64,
) -> CUresult;
pub type cuMemDiscardAndPrefetchBatchAsync = unsafe extern "C" fn(
    dptrs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    prefetchLocs: *mut CUmemLocation,
    prefetchLocIdxs: *mut usize,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemDiscardAndPrefetchBatchAsync_ptsz = unsafe extern "C" fn(
    dptrs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    prefetchLocs: *mut CUmemLocation,
    prefetchLocIdxs: *mut usize,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemDiscardBatchAsync = unsafe extern "C" fn(
    dptrs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemDiscardBatchAsync_ptsz = unsafe extern "C" fn(
    dptrs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemExportToShareableHandle = unsafe extern "C" fn(
    shareableHandle: *mut c_void,
    handle: CUmemGenericAllocationHandle,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> CUresult;
pub type cuMemFree = unsafe extern "C" fn(dptr: CUdeviceptr_v1) -> CUresult;
pub type cuMemFree_v2 = unsafe extern "C" fn(dptr: CUdeviceptr) -> CUresult;
pub type cuMemFreeAsync = unsafe extern "C" fn(dptr: CUdeviceptr, hStream: CUstream) -> CUresult;
pub type cuMemFreeAsync_ptsz =
    unsafe extern "C" fn(dptr: CUdeviceptr, hStream: CUstream) -> CUresult;
pub type cuMemFreeHost = unsafe extern "C" fn(p: *mut c_void) -> CUresult;
pub type cuMemGetAccess = unsafe extern "C" fn(
    flags: *mut u64,
    location: *const CUmemLocation,
    ptr: CUdeviceptr,
) -> CUresult;
pub type cuMemGetAddressRange = unsafe extern "C" fn(
    pbase: *mut CUdeviceptr_v1,
    psize: *mut u32,
    dptr: CUdeviceptr_v1,
) -> CUresult;
pub type cuMemGetAddressRange_v2 =
    unsafe extern "C" fn(pbase: *mut CUdeviceptr, psize: *mut usize, dptr: CUdeviceptr) -> CUresult;
pub type cuMemGetAllocationGranularity = unsafe extern "C" fn(
    granularity: *mut usize,
    prop: *const CUmemAllocationProp,
    option: CUmemAllocationGranularity_flags,
) -> CUresult;
pub type cuMemGetAllocationPropertiesFromHandle = unsafe extern "C" fn(
    prop: *mut CUmemAllocationProp,
    handle: CUmemGenericAllocationHandle,
) -> CUresult;
pub type cuMemGetDefaultMemPool = unsafe extern "C" fn(
    pool_out: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    type_: CUmemAllocationType,
) -> CUresult;
pub type cuMemGetHandleForAddressRange = unsafe extern "C" fn(
    handle: *mut c_void,
    dptr: CUdeviceptr,
    size: usize,
    handleType: CUmemRangeHandleType,
    flags: u64,
) -> CUresult;
pub type cuMemGetInfo = unsafe extern "C" fn(free: *mut u32, total: *mut u32) -> CUresult;
pub type cuMemGetInfo_v2 = unsafe extern "C" fn(free: *mut usize, total: *mut usize) -> CUresult;
pub type cuMemGetMemPool = unsafe extern "C" fn(
    pool_out: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    type_: CUmemAllocationType,
) -> CUresult;
pub type cuMemHostAlloc =
    unsafe extern "C" fn(pp: *mut *mut c_void, bytesize: usize, Flags: u32) -> CUresult;
pub type cuMemHostGetDevicePointer =
    unsafe extern "C" fn(pdptr: *mut CUdeviceptr_v1, p: *mut c_void, Flags: u32) -> CUresult;
pub type cuMemHostGetDevicePointer_v2 =
    unsafe extern "C" fn(pdptr: *mut CUdeviceptr, p: *mut c_void, Flags: u32) -> CUresult;
pub type cuMemHostGetFlags = unsafe extern "C" fn(pFlags: *mut u32, p: *mut c_void) -> CUresult;
pub type cuMemHostRegister =
    unsafe extern "C" fn(p: *mut c_void, bytesize: usize, Flags: u32) -> CUresult;
pub type cuMemHostRegister_v2 =
    unsafe extern "C" fn(p: *mut c_void, bytesize: usize, Flags: u32) -> CUresult;
pub type cuMemHostUnregister = unsafe extern "C" fn(p: *mut c_void) -> CUresult;
pub type cuMemImportFromShareableHandle = unsafe extern "C" fn(
    handle: *mut CUmemGenericAllocationHandle,
    osHandle: *mut c_void,
    shHandleType: CUmemAllocationHandleType,
) -> CUresult;
pub type cuMemMap = unsafe extern "C" fn(
    ptr: CUdeviceptr,
    size: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: u64,
) -> CUresult;
pub type cuMemMapArrayAsync = unsafe extern "C" fn(
    mapInfoList: *mut CUarrayMapInfo,
    count: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemMapArrayAsync_ptsz = unsafe extern "C" fn(
    mapInfoList: *mut CUarrayMapInfo,
    count: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemPoolCreate =
    unsafe extern "C" fn(pool: *mut CUmemoryPool, poolProps: *const CUmemPoolProps) -> CUresult;
pub type cuMemPoolDestroy = unsafe extern "C" fn(pool: CUmemoryPool) -> CUresult;
pub type cuMemPoolExportPointer =
    unsafe extern "C" fn(shareData_out: *mut CUmemPoolPtrExportData, ptr: CUdeviceptr) -> CUresult;
pub type cuMemPoolExportToShareableHandle = unsafe extern "C" fn(
    handle_out: *mut c_void,
    pool: CUmemoryPool,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> CUresult;
pub type cuMemPoolGetAccess = unsafe extern "C" fn(
    flags: *mut CUmemAccess_flags,
    memPool: CUmemoryPool,
    location: *mut CUmemLocation,
) -> CUresult;
pub type cuMemPoolGetAttribute = unsafe extern "C" fn(
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: *mut c_void,
) -> CUresult;
pub type cuMemPoolImportFromShareableHandle = unsafe extern "C" fn(
    pool_out: *mut CUmemoryPool,
    handle: *mut c_void,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> CUresult;
pub type cuMemPoolImportPointer = unsafe extern "C" fn(
    ptr_out: *mut CUdeviceptr,
    pool: CUmemoryPool,
    shareData: *mut CUmemPoolPtrExportData,
) -> CUresult;
pub type cuMemPoolSetAccess =
    unsafe extern "C" fn(pool: CUmemoryPool, map: *const CUmemAccessDesc, count: usize) -> CUresult;
pub type cuMemPoolSetAttribute = unsafe extern "C" fn(
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: *mut c_void,
) -> CUresult;
pub type cuMemPoolTrimTo =
    unsafe extern "C" fn(pool: CUmemoryPool, minBytesToKeep: usize) -> CUresult;
pub type cuMemPrefetchAsync = unsafe extern "C" fn(
    devPtr: CUdeviceptr,
    count: usize,
    dstDevice: CUdevice,
    hStream: CUstream,
) -> CUresult;
pub type cuMemPrefetchAsync_ptsz = unsafe extern "C" fn(
    devPtr: CUdeviceptr,
    count: usize,
    dstDevice: CUdevice,
    hStream: CUstream,
) -> CUresult;
pub type cuMemPrefetchAsync_v2 = unsafe extern "C" fn(
    devPtr: CUdeviceptr,
    count: usize,
    location: CUmemLocation,
    flags: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemPrefetchAsync_v2_ptsz = unsafe extern "C" fn(
    devPtr: CUdeviceptr,
    count: usize,
    location: CUmemLocation,
    flags: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemPrefetchBatchAsync = unsafe extern "C" fn(
    dptrs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    prefetchLocs: *mut CUmemLocation,
    prefetchLocIdxs: *mut usize,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemPrefetchBatchAsync_ptsz = unsafe extern "C" fn(
    dptrs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    prefetchLocs: *mut CUmemLocation,
    prefetchLocIdxs: *mut usize,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemRangeGetAttribute = unsafe extern "C" fn(
    data: *mut c_void,
    dataSize: usize,
    attribute: CUmem_range_attribute,
    devPtr: CUdeviceptr,
    count: usize,
) -> CUresult;
pub type cuMemRangeGetAttributes = unsafe extern "C" fn(
    data: *mut *mut c_void,
    dataSizes: *mut usize,
    attributes: *mut CUmem_range_attribute,
    numAttributes: usize,
    devPtr: CUdeviceptr,
    count: usize,
) -> CUresult;
pub type cuMemRelease = unsafe extern "C" fn(handle: CUmemGenericAllocationHandle) -> CUresult;
pub type cuMemRetainAllocationHandle =
    unsafe extern "C" fn(handle: *mut CUmemGenericAllocationHandle, addr: *mut c_void) -> CUresult;
pub type cuMemSetAccess = unsafe extern "C" fn(
    ptr: CUdeviceptr,
    size: usize,
    desc: *const CUmemAccessDesc,
    count: usize,
) -> CUresult;
pub type cuMemSetMemPool = unsafe extern "C" fn(
    location: *mut CUmemLocation,
    type_: CUmemAllocationType,
    pool: CUmemoryPool,
) -> CUresult;
pub type cuMemUnmap = unsafe extern "C" fn(ptr: CUdeviceptr, size: usize) -> CUresult;
pub type cuMemcpy =
    unsafe extern "C" fn(dst: CUdeviceptr, src: CUdeviceptr, ByteCount: usize) -> CUresult;
pub type cuMemcpy_ptds =
    unsafe extern "C" fn(dst: CUdeviceptr, src: CUdeviceptr, ByteCount: usize) -> CUresult;
pub type cuMemcpy2D = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v1) -> CUresult;
pub type cuMemcpy2D_v2 = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D) -> CUresult;
pub type cuMemcpy2D_v2_ptds = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D) -> CUresult;
pub type cuMemcpy2DAsync =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v1, hStream: CUstream) -> CUresult;
pub type cuMemcpy2DAsync_v2 =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D, hStream: CUstream) -> CUresult;
pub type cuMemcpy2DAsync_v2_ptsz =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D, hStream: CUstream) -> CUresult;
pub type cuMemcpy2DUnaligned = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v1) -> CUresult;
pub type cuMemcpy2DUnaligned_v2 = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D) -> CUresult;
pub type cuMemcpy2DUnaligned_v2_ptds =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D) -> CUresult;
pub type cuMemcpy3D = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_v1) -> CUresult;
pub type cuMemcpy3D_v2 = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D) -> CUresult;
pub type cuMemcpy3D_v2_ptds = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D) -> CUresult;
pub type cuMemcpy3DAsync =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_v1, hStream: CUstream) -> CUresult;
pub type cuMemcpy3DAsync_v2 =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D, hStream: CUstream) -> CUresult;
pub type cuMemcpy3DAsync_v2_ptsz =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D, hStream: CUstream) -> CUresult;
pub type cuMemcpy3DBatchAsync = unsafe extern "C" fn(
    numParams: usize,
    opList: *mut CUDA_MEMCPY3D_BATCH_OP,
    failIdx: *mut usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpy3DBatchAsync_ptsz = unsafe extern "C" fn(
    numParams: usize,
    opList: *mut CUDA_MEMCPY3D_BATCH_OP,
    failIdx: *mut usize,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpy3DBatchAsync_v2 = unsafe extern "C" fn(
    numParams: usize,
    opList: *mut CUDA_MEMCPY3D_BATCH_OP,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpy3DBatchAsync_v2_ptsz = unsafe extern "C" fn(
    numParams: usize,
    opList: *mut CUDA_MEMCPY3D_BATCH_OP,
    flags: u64,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpy3DPeer = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER) -> CUresult;
pub type cuMemcpy3DPeer_ptds = unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER) -> CUresult;
pub type cuMemcpy3DPeerAsync =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER, hStream: CUstream) -> CUresult;
pub type cuMemcpy3DPeerAsync_ptsz =
    unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER, hStream: CUstream) -> CUresult;
pub type cuMemcpyAsync = unsafe extern "C" fn(
    dst: CUdeviceptr,
    src: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyAsync_ptsz = unsafe extern "C" fn(
    dst: CUdeviceptr,
    src: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyAtoA = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: u32,
    srcArray: CUarray,
    srcOffset: u32,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyAtoA_v2 = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyAtoA_v2_ptds = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyAtoD = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    srcArray: CUarray,
    srcOffset: u32,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyAtoD_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyAtoD_v2_ptds = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyAtoH = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcArray: CUarray,
    srcOffset: u32,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyAtoH_v2 = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyAtoH_v2_ptds = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyAtoHAsync = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcArray: CUarray,
    srcOffset: u32,
    ByteCount: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyAtoHAsync_v2 = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyAtoHAsync_v2_ptsz = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyBatchAsync = unsafe extern "C" fn(
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrIdxs: *mut usize,
    numAttrs: usize,
    failIdx: *mut usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyBatchAsync_ptsz = unsafe extern "C" fn(
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrIdxs: *mut usize,
    numAttrs: usize,
    failIdx: *mut usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyBatchAsync_v2 = unsafe extern "C" fn(
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrIdxs: *mut usize,
    numAttrs: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyBatchAsync_v2_ptsz = unsafe extern "C" fn(
    dsts: *mut CUdeviceptr,
    srcs: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attrs: *mut CUmemcpyAttributes,
    attrIdxs: *mut usize,
    numAttrs: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyDtoA = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: u32,
    srcDevice: CUdeviceptr_v1,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyDtoA_v2 = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyDtoA_v2_ptds = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyDtoD = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    srcDevice: CUdeviceptr_v1,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyDtoD_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyDtoD_v2_ptds = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyDtoDAsync = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    srcDevice: CUdeviceptr_v1,
    ByteCount: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyDtoDAsync_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyDtoDAsync_v2_ptsz = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyDtoH = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcDevice: CUdeviceptr_v1,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyDtoH_v2 = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyDtoH_v2_ptds = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyDtoHAsync = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcDevice: CUdeviceptr_v1,
    ByteCount: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyDtoHAsync_v2 = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyDtoHAsync_v2_ptsz = unsafe extern "C" fn(
    dstHost: *mut c_void,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyHtoA = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: u32,
    srcHost: *const c_void,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyHtoA_v2 = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcHost: *const c_void,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyHtoA_v2_ptds = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcHost: *const c_void,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyHtoAAsync = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: u32,
    srcHost: *const c_void,
    ByteCount: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyHtoAAsync_v2 = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcHost: *const c_void,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyHtoAAsync_v2_ptsz = unsafe extern "C" fn(
    dstArray: CUarray,
    dstOffset: usize,
    srcHost: *const c_void,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyHtoD = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    srcHost: *const c_void,
    ByteCount: u32,
) -> CUresult;
pub type cuMemcpyHtoD_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcHost: *const c_void,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyHtoD_v2_ptds = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcHost: *const c_void,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyHtoDAsync = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    srcHost: *const c_void,
    ByteCount: u32,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyHtoDAsync_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcHost: *const c_void,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyHtoDAsync_v2_ptsz = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    srcHost: *const c_void,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyPeer = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    srcContext: CUcontext,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyPeer_ptds = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    srcContext: CUcontext,
    ByteCount: usize,
) -> CUresult;
pub type cuMemcpyPeerAsync = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    srcContext: CUcontext,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemcpyPeerAsync_ptsz = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    srcContext: CUcontext,
    ByteCount: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemsetD16 = unsafe extern "C" fn(dstDevice: CUdeviceptr_v1, us: u16, N: u32) -> CUresult;
pub type cuMemsetD16_v2 =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, us: u16, N: usize) -> CUresult;
pub type cuMemsetD16_v2_ptds =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, us: u16, N: usize) -> CUresult;
pub type cuMemsetD16Async =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, us: u16, N: usize, hStream: CUstream) -> CUresult;
pub type cuMemsetD16Async_ptsz =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, us: u16, N: usize, hStream: CUstream) -> CUresult;
pub type cuMemsetD2D16 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    dstPitch: u32,
    us: u16,
    Width: u32,
    Height: u32,
) -> CUresult;
pub type cuMemsetD2D16_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
) -> CUresult;
pub type cuMemsetD2D16_v2_ptds = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
) -> CUresult;
pub type cuMemsetD2D16Async = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemsetD2D16Async_ptsz = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemsetD2D32 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    dstPitch: u32,
    ui: u32,
    Width: u32,
    Height: u32,
) -> CUresult;
pub type cuMemsetD2D32_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
) -> CUresult;
pub type cuMemsetD2D32_v2_ptds = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
) -> CUresult;
pub type cuMemsetD2D32Async = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemsetD2D32Async_ptsz = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemsetD2D8 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr_v1,
    dstPitch: u32,
    uc: u8,
    Width: u32,
    Height: u32,
) -> CUresult;
pub type cuMemsetD2D8_v2 = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
) -> CUresult;
pub type cuMemsetD2D8_v2_ptds = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
) -> CUresult;
pub type cuMemsetD2D8Async = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemsetD2D8Async_ptsz = unsafe extern "C" fn(
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> CUresult;
pub type cuMemsetD32 = unsafe extern "C" fn(dstDevice: CUdeviceptr_v1, ui: u32, N: u32) -> CUresult;
pub type cuMemsetD32_v2 =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, ui: u32, N: usize) -> CUresult;
pub type cuMemsetD32_v2_ptds =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, ui: u32, N: usize) -> CUresult;
pub type cuMemsetD32Async =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, ui: u32, N: usize, hStream: CUstream) -> CUresult;
pub type cuMemsetD32Async_ptsz =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, ui: u32, N: usize, hStream: CUstream) -> CUresult;
pub type cuMemsetD8 = unsafe extern "C" fn(dstDevice: CUdeviceptr_v1, uc: u8, N: u32) -> CUresult;
pub type cuMemsetD8_v2 = unsafe extern "C" fn(dstDevice: CUdeviceptr, uc: u8, N: usize) -> CUresult;
pub type cuMemsetD8_v2_ptds =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, uc: u8, N: usize) -> CUresult;
pub type cuMemsetD8Async =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, uc: u8, N: usize, hStream: CUstream) -> CUresult;
pub type cuMemsetD8Async_ptsz =
    unsafe extern "C" fn(dstDevice: CUdeviceptr, uc: u8, N: usize, hStream: CUstream) -> CUresult;
pub type cuMipmappedArrayCreate = unsafe extern "C" fn(
    pHandle: *mut CUmipmappedArray,
    pMipmappedArrayDesc: *const CUDA_ARRAY3D_DESCRIPTOR,
    numMipmapLevels: u32,
) -> CUresult;
pub type cuMipmappedArrayDestroy =
    unsafe extern "C" fn(hMipmappedArray: CUmipmappedArray) -> CUresult;
pub type cuMipmappedArrayGetLevel = unsafe extern "C" fn(
    pLevelArray: *mut CUarray,
    hMipmappedArray: CUmipmappedArray,
    level: u32,
) -> CUresult;
pub type cuMipmappedArrayGetMemoryRequirements = unsafe extern "C" fn(
    memoryRequirements: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS,
    mipmap: CUmipmappedArray,
    device: CUdevice,
) -> CUresult;
pub type cuMipmappedArrayGetSparseProperties = unsafe extern "C" fn(
    sparseProperties: *mut CUDA_ARRAY_SPARSE_PROPERTIES,
    mipmap: CUmipmappedArray,
) -> CUresult;
pub type cuModuleEnumerateFunctions =
    unsafe extern "C" fn(functions: *mut CUfunction, numFunctions: u32, mod_: CUmodule) -> CUresult;
pub type cuModuleGetFunction =
    unsafe extern "C" fn(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char) -> CUresult;
pub type cuModuleGetFunctionCount =
    unsafe extern "C" fn(count: *mut u32, hmod: CUmodule) -> CUresult;
pub type cuModuleGetGlobal = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr_v1,
    bytes: *mut u32,
    hmod: CUmodule,
    name: *const c_char,
) -> CUresult;
pub type cuModuleGetGlobal_v2 = unsafe extern "C" fn(
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    hmod: CUmodule,
    name: *const c_char,
) -> CUresult;
pub type cuModuleGetLoadingMode = unsafe extern "C" fn(mode: *mut CUmoduleLoadingMode) -> CUresult;
pub type cuModuleGetSurfRef =
    unsafe extern "C" fn(pSurfRef: *mut CUsurfref, hmod: CUmodule, name: *const c_char) -> CUresult;
pub type cuModuleGetTexRef =
    unsafe extern "C" fn(pTexRef: *mut CUtexref, hmod: CUmodule, name: *const c_char) -> CUresult;
pub type cuModuleLoad =
    unsafe extern "C" fn(module: *mut CUmodule, fname: *const c_char) -> CUresult;
pub type cuModuleLoadData =
    unsafe extern "C" fn(module: *mut CUmodule, image: *const c_void) -> CUresult;
pub type cuModuleLoadDataEx = unsafe extern "C" fn(
    module: *mut CUmodule,
    image: *const c_void,
    numOptions: u32,
    options: *mut CUjit_option,
    optionValues: *mut *mut c_void,
) -> CUresult;
pub type cuModuleLoadFatBinary =
    unsafe extern "C" fn(module: *mut CUmodule, fatCubin: *const c_void) -> CUresult;
pub type cuModuleUnload = unsafe extern "C" fn(hmod: CUmodule) -> CUresult;
pub type cuMulticastAddDevice =
    unsafe extern "C" fn(mcHandle: CUmemGenericAllocationHandle, dev: CUdevice) -> CUresult;
pub type cuMulticastBindAddr = unsafe extern "C" fn(
    mcHandle: CUmemGenericAllocationHandle,
    mcOffset: usize,
    memptr: CUdeviceptr,
    size: usize,
    flags: u64,
) -> CUresult;
pub type cuMulticastBindMem = unsafe extern "C" fn(
    mcHandle: CUmemGenericAllocationHandle,
    mcOffset: usize,
    memHandle: CUmemGenericAllocationHandle,
    memOffset: usize,
    size: usize,
    flags: u64,
) -> CUresult;
pub type cuMulticastCreate = unsafe extern "C" fn(
    mcHandle: *mut CUmemGenericAllocationHandle,
    prop: *const CUmulticastObjectProp,
) -> CUresult;
pub type cuMulticastGetGranularity = unsafe extern "C" fn(
    granularity: *mut usize,
    prop: *const CUmulticastObjectProp,
    option: CUmulticastGranularity_flags,
) -> CUresult;
pub type cuMulticastUnbind = unsafe extern "C" fn(
    mcHandle: CUmemGenericAllocationHandle,
    dev: CUdevice,
    mcOffset: usize,
    size: usize,
) -> CUresult;
pub type cuOccupancyAvailableDynamicSMemPerBlock = unsafe extern "C" fn(
    dynamicSmemSize: *mut usize,
    func: CUfunction,
    numBlocks: i32,
    blockSize: i32,
) -> CUresult;
pub type cuOccupancyMaxActiveBlocksPerMultiprocessor = unsafe extern "C" fn(
    numBlocks: *mut i32,
    func: CUfunction,
    blockSize: i32,
    dynamicSMemSize: usize,
) -> CUresult;
pub type cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags = unsafe extern "C" fn(
    numBlocks: *mut i32,
    func: CUfunction,
    blockSize: i32,
    dynamicSMemSize: usize,
    flags: u32,
) -> CUresult;
pub type cuOccupancyMaxActiveClusters = unsafe extern "C" fn(
    numClusters: *mut i32,
    func: CUfunction,
    config: *const CUlaunchConfig,
) -> CUresult;
pub type cuOccupancyMaxPotentialBlockSize = unsafe extern "C" fn(
    minGridSize: *mut i32,
    blockSize: *mut i32,
    func: CUfunction,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: i32,
) -> CUresult;
pub type cuOccupancyMaxPotentialBlockSizeWithFlags = unsafe extern "C" fn(
    minGridSize: *mut i32,
    blockSize: *mut i32,
    func: CUfunction,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: i32,
    flags: u32,
) -> CUresult;
pub type cuOccupancyMaxPotentialClusterSize = unsafe extern "C" fn(
    clusterSize: *mut i32,
    func: CUfunction,
    config: *const CUlaunchConfig,
) -> CUresult;
pub type cuParamSetSize = unsafe extern "C" fn(hfunc: CUfunction, numbytes: u32) -> CUresult;
pub type cuParamSetTexRef =
    unsafe extern "C" fn(hfunc: CUfunction, texunit: i32, hTexRef: CUtexref) -> CUresult;
pub type cuParamSetf = unsafe extern "C" fn(hfunc: CUfunction, offset: i32, value: f32) -> CUresult;
pub type cuParamSeti = unsafe extern "C" fn(hfunc: CUfunction, offset: i32, value: u32) -> CUresult;
pub type cuParamSetv = unsafe extern "C" fn(
    hfunc: CUfunction,
    offset: i32,
    ptr: *mut c_void,
    numbytes: u32,
) -> CUresult;
pub type cuPointerGetAttribute = unsafe extern "C" fn(
    data: *mut c_void,
    attribute: CUpointer_attribute,
    ptr: CUdeviceptr,
) -> CUresult;
pub type cuPointerGetAttributes = unsafe extern "C" fn(
    numAttributes: u32,
    attributes: *mut CUpointer_attribute,
    data: *mut *mut c_void,
    ptr: CUdeviceptr,
) -> CUresult;
pub type cuPointerSetAttribute = unsafe extern "C" fn(
    value: *const c_void,
    attribute: CUpointer_attribute,
    ptr: CUdeviceptr,
) -> CUresult;
pub type cuProfilerInitialize = unsafe extern "C" fn(
    configFile: *const c_char,
    outputFile: *const c_char,
    outputMode: CUoutput_mode,
) -> CUresult;
pub type cuProfilerStart = unsafe extern "C" fn() -> CUresult;
pub type cuProfilerStop = unsafe extern "C" fn() -> CUresult;
pub type cuSignalExternalSemaphoresAsync = unsafe extern "C" fn(
    extSemArray: *const CUexternalSemaphore,
    paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    numExtSems: u32,
    stream: CUstream,
) -> CUresult;
pub type cuSignalExternalSemaphoresAsync_ptsz = unsafe extern "C" fn(
    extSemArray: *const CUexternalSemaphore,
    paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    numExtSems: u32,
    stream: CUstream,
) -> CUresult;
pub type cuStreamAddCallback = unsafe extern "C" fn(
    hStream: CUstream,
    callback: CUstreamCallback,
    userData: *mut c_void,
    flags: u32,
) -> CUresult;
pub type cuStreamAddCallback_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    callback: CUstreamCallback,
    userData: *mut c_void,
    flags: u32,
) -> CUresult;
pub type cuStreamAttachMemAsync = unsafe extern "C" fn(
    hStream: CUstream,
    dptr: CUdeviceptr,
    length: usize,
    flags: u32,
) -> CUresult;
pub type cuStreamAttachMemAsync_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    dptr: CUdeviceptr,
    length: usize,
    flags: u32,
) -> CUresult;
pub type cuStreamBatchMemOp = unsafe extern "C" fn(
    stream: CUstream,
    count: u32,
    paramArray: *mut CUstreamBatchMemOpParams,
    flags: u32,
) -> CUresult;
pub type cuStreamBatchMemOp_ptsz = unsafe extern "C" fn(
    stream: CUstream,
    count: u32,
    paramArray: *mut CUstreamBatchMemOpParams,
    flags: u32,
) -> CUresult;
pub type cuStreamBatchMemOp_v2 = unsafe extern "C" fn(
    stream: CUstream,
    count: u32,
    paramArray: *mut CUstreamBatchMemOpParams,
    flags: u32,
) -> CUresult;
pub type cuStreamBatchMemOp_v2_ptsz = unsafe extern "C" fn(
    stream: CUstream,
    count: u32,
    paramArray: *mut CUstreamBatchMemOpParams,
    flags: u32,
) -> CUresult;
pub type cuStreamBeginCapture = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamBeginCapture_ptsz = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamBeginCapture_v2 =
    unsafe extern "C" fn(hStream: CUstream, mode: CUstreamCaptureMode) -> CUresult;
pub type cuStreamBeginCapture_v2_ptsz =
    unsafe extern "C" fn(hStream: CUstream, mode: CUstreamCaptureMode) -> CUresult;
pub type cuStreamBeginCaptureToGraph = unsafe extern "C" fn(
    hStream: CUstream,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    dependencyData: *const CUgraphEdgeData,
    numDependencies: usize,
    mode: CUstreamCaptureMode,
) -> CUresult;
pub type cuStreamBeginCaptureToGraph_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    hGraph: CUgraph,
    dependencies: *const CUgraphNode,
    dependencyData: *const CUgraphEdgeData,
    numDependencies: usize,
    mode: CUstreamCaptureMode,
) -> CUresult;
pub type cuStreamCopyAttributes =
    unsafe extern "C" fn(dstStream: CUstream, srcStream: CUstream) -> CUresult;
pub type cuStreamCopyAttributes_ptsz =
    unsafe extern "C" fn(dst: CUstream, src: CUstream) -> CUresult;
pub type cuStreamCreate = unsafe extern "C" fn(phStream: *mut CUstream, Flags: u32) -> CUresult;
pub type cuStreamCreateWithPriority =
    unsafe extern "C" fn(phStream: *mut CUstream, flags: u32, priority: i32) -> CUresult;
pub type cuStreamDestroy = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamDestroy_v2 = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamEndCapture =
    unsafe extern "C" fn(hStream: CUstream, phGraph: *mut CUgraph) -> CUresult;
pub type cuStreamEndCapture_ptsz =
    unsafe extern "C" fn(hStream: CUstream, phGraph: *mut CUgraph) -> CUresult;
pub type cuStreamGetAttribute = unsafe extern "C" fn(
    hStream: CUstream,
    attr: CUstreamAttrID,
    value: *mut CUstreamAttrValue,
) -> CUresult;
pub type cuStreamGetAttribute_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    attr: CUstreamAttrID,
    value_out: *mut CUstreamAttrValue,
) -> CUresult;
pub type cuStreamGetCaptureInfo = unsafe extern "C" fn(
    hStream: CUstream,
    captureStatus_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
) -> CUresult;
pub type cuStreamGetCaptureInfo_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    captureStatus_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
) -> CUresult;
pub type cuStreamGetCaptureInfo_v2 = unsafe extern "C" fn(
    hStream: CUstream,
    captureStatus_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
    graph_out: *mut CUgraph,
    dependencies_out: *mut *const CUgraphNode,
    numDependencies_out: *mut usize,
) -> CUresult;
pub type cuStreamGetCaptureInfo_v2_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    captureStatus_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
    graph_out: *mut CUgraph,
    dependencies_out: *mut *const CUgraphNode,
    numDependencies_out: *mut usize,
) -> CUresult;
pub type cuStreamGetCaptureInfo_v3 = unsafe extern "C" fn(
    hStream: CUstream,
    captureStatus_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
    graph_out: *mut CUgraph,
    dependencies_out: *mut *const CUgraphNode,
    edgeData_out: *mut *const CUgraphEdgeData,
    numDependencies_out: *mut usize,
) -> CUresult;
pub type cuStreamGetCaptureInfo_v3_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    captureStatus_out: *mut CUstreamCaptureStatus,
    id_out: *mut u64,
    graph_out: *mut CUgraph,
    dependencies_out: *mut *const CUgraphNode,
    edgeData_out: *mut *const CUgraphEdgeData,
    numDependencies_out: *mut usize,
) -> CUresult;
pub type cuStreamGetCtx = unsafe extern "C" fn(hStream: CUstream, pctx: *mut CUcontext) -> CUresult;
pub type cuStreamGetCtx_ptsz =
    unsafe extern "C" fn(hStream: CUstream, pctx: *mut CUcontext) -> CUresult;
pub type cuStreamGetCtx_v2 = unsafe extern "C" fn(
    hStream: CUstream,
    pctx: *mut CUcontext,
    pGreenCtx: *mut CUgreenCtx,
) -> CUresult;
pub type cuStreamGetCtx_v2_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    pctx: *mut CUcontext,
    pGreenCtx: *mut CUgreenCtx,
) -> CUresult;
pub type cuStreamGetDevice =
    unsafe extern "C" fn(hStream: CUstream, device: *mut CUdevice) -> CUresult;
pub type cuStreamGetDevice_ptsz =
    unsafe extern "C" fn(hStream: CUstream, device: *mut CUdevice) -> CUresult;
pub type cuStreamGetFlags = unsafe extern "C" fn(hStream: CUstream, flags: *mut u32) -> CUresult;
pub type cuStreamGetFlags_ptsz =
    unsafe extern "C" fn(hStream: CUstream, flags: *mut u32) -> CUresult;
pub type cuStreamGetGreenCtx =
    unsafe extern "C" fn(hStream: CUstream, phCtx: *mut CUgreenCtx) -> CUresult;
pub type cuStreamGetId = unsafe extern "C" fn(hStream: CUstream, streamId: *mut u64) -> CUresult;
pub type cuStreamGetId_ptsz =
    unsafe extern "C" fn(hStream: CUstream, streamId: *mut u64) -> CUresult;
pub type cuStreamGetPriority =
    unsafe extern "C" fn(hStream: CUstream, priority: *mut i32) -> CUresult;
pub type cuStreamGetPriority_ptsz =
    unsafe extern "C" fn(hStream: CUstream, priority: *mut i32) -> CUresult;
pub type cuStreamIsCapturing =
    unsafe extern "C" fn(hStream: CUstream, captureStatus: *mut CUstreamCaptureStatus) -> CUresult;
pub type cuStreamIsCapturing_ptsz =
    unsafe extern "C" fn(hStream: CUstream, captureStatus: *mut CUstreamCaptureStatus) -> CUresult;
pub type cuStreamQuery = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamQuery_ptsz = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamSetAttribute = unsafe extern "C" fn(
    hStream: CUstream,
    attr: CUstreamAttrID,
    param: *const CUstreamAttrValue,
) -> CUresult;
pub type cuStreamSetAttribute_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    attr: CUstreamAttrID,
    value: *const CUstreamAttrValue,
) -> CUresult;
pub type cuStreamSynchronize = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamSynchronize_ptsz = unsafe extern "C" fn(hStream: CUstream) -> CUresult;
pub type cuStreamUpdateCaptureDependencies = unsafe extern "C" fn(
    hStream: CUstream,
    dependencies: *mut CUgraphNode,
    numDependencies: usize,
    flags: u32,
) -> CUresult;
pub type cuStreamUpdateCaptureDependencies_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    dependencies: *mut CUgraphNode,
    numDependencies: usize,
    flags: u32,
) -> CUresult;
pub type cuStreamUpdateCaptureDependencies_v2 = unsafe extern "C" fn(
    hStream: CUstream,
    dependencies: *mut CUgraphNode,
    dependencyData: *const CUgraphEdgeData,
    numDependencies: usize,
    flags: u32,
) -> CUresult;
pub type cuStreamUpdateCaptureDependencies_v2_ptsz = unsafe extern "C" fn(
    hStream: CUstream,
    dependencies: *mut CUgraphNode,
    dependencyData: *const CUgraphEdgeData,
    numDependencies: usize,
    flags: u32,
) -> CUresult;
pub type cuStreamWaitEvent =
    unsafe extern "C" fn(hStream: CUstream, hEvent: CUevent, Flags: u32) -> CUresult;
pub type cuStreamWaitEvent_ptsz =
    unsafe extern "C" fn(hStream: CUstream, hEvent: CUevent, Flags: u32) -> CUresult;
pub type cuStreamWaitValue32 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWaitValue32_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWaitValue32_v2 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWaitValue32_v2_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWaitValue64 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuStreamWaitValue64_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuStreamWaitValue64_v2 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuStreamWaitValue64_v2_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuStreamWriteValue32 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWriteValue32_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWriteValue32_v2 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWriteValue32_v2_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u32, flags: u32) -> CUresult;
pub type cuStreamWriteValue64 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuStreamWriteValue64_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuStreamWriteValue64_v2 =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuStreamWriteValue64_v2_ptsz =
    unsafe extern "C" fn(stream: CUstream, addr: CUdeviceptr, value: u64, flags: u32) -> CUresult;
pub type cuSurfObjectCreate = unsafe extern "C" fn(
    pSurfObject: *mut CUsurfObject,
    pResDesc: *const CUDA_RESOURCE_DESC,
) -> CUresult;
pub type cuSurfObjectDestroy = unsafe extern "C" fn(surfObject: CUsurfObject) -> CUresult;
pub type cuSurfObjectGetResourceDesc =
    unsafe extern "C" fn(pResDesc: *mut CUDA_RESOURCE_DESC, surfObject: CUsurfObject) -> CUresult;
pub type cuSurfRefGetArray =
    unsafe extern "C" fn(phArray: *mut CUarray, hSurfRef: CUsurfref) -> CUresult;
pub type cuSurfRefSetArray =
    unsafe extern "C" fn(hSurfRef: CUsurfref, hArray: CUarray, Flags: u32) -> CUresult;
pub type cuTensorMapEncodeIm2col = unsafe extern "C" fn(
    tensorMap: *mut CUtensorMap,
    tensorDataType: CUtensorMapDataType,
    tensorRank: u32,
    globalAddress: *mut c_void,
    globalDim: *const u64,
    globalStrides: *const u64,
    pixelBoxLowerCorner: *const i32,
    pixelBoxUpperCorner: *const i32,
    channelsPerPixel: u32,
    pixelsPerColumn: u32,
    elementStrides: *const u32,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    l2Promotion: CUtensorMapL2promotion,
    oobFill: CUtensorMapFloatOOBfill,
) -> CUresult;
pub type cuTensorMapEncodeIm2colWide = unsafe extern "C" fn(
    tensorMap: *mut CUtensorMap,
    tensorDataType: CUtensorMapDataType,
    tensorRank: u32,
    globalAddress: *mut c_void,
    globalDim: *const u64,
    globalStrides: *const u64,
    pixelBoxLowerCornerWidth: i32,
    pixelBoxUpperCornerWidth: i32,
    channelsPerPixel: u32,
    pixelsPerColumn: u32,
    elementStrides: *const u32,
    interleave: CUtensorMapInterleave,
    mode: CUtensorMapIm2ColWideMode,
    swizzle: CUtensorMapSwizzle,
    l2Promotion: CUtensorMapL2promotion,
    oobFill: CUtensorMapFloatOOBfill,
) -> CUresult;
pub type cuTensorMapEncodeTiled = unsafe extern "C" fn(
    tensorMap: *mut CUtensorMap,
    tensorDataType: CUtensorMapDataType,
    tensorRank: u32,
    globalAddress: *mut c_void,
    globalDim: *const u64,
    globalStrides: *const u64,
    boxDim: *const u32,
    elementStrides: *const u32,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    l2Promotion: CUtensorMapL2promotion,
    oobFill: CUtensorMapFloatOOBfill,
) -> CUresult;
pub type cuTensorMapReplaceAddress =
    unsafe extern "C" fn(tensorMap: *mut CUtensorMap, globalAddress: *mut c_void) -> CUresult;
pub type cuTexObjectCreate = unsafe extern "C" fn(
    pTexObject: *mut CUtexObject,
    pResDesc: *const CUDA_RESOURCE_DESC,
    pTexDesc: *const CUDA_TEXTURE_DESC,
    pResViewDesc: *const CUDA_RESOURCE_VIEW_DESC,
) -> CUresult;
pub type cuTexObjectDestroy = unsafe extern "C" fn(texObject: CUtexObject) -> CUresult;
pub type cuTexObjectGetResourceDesc =
    unsafe extern "C" fn(pResDesc: *mut CUDA_RESOURCE_DESC, texObject: CUtexObject) -> CUresult;
pub type cuTexObjectGetResourceViewDesc = unsafe extern "C" fn(
    pResViewDesc: *mut CUDA_RESOURCE_VIEW_DESC,
    texObject: CUtexObject,
) -> CUresult;
pub type cuTexObjectGetTextureDesc =
    unsafe extern "C" fn(pTexDesc: *mut CUDA_TEXTURE_DESC, texObject: CUtexObject) -> CUresult;
pub type cuTexRefCreate = unsafe extern "C" fn(pTexRef: *mut CUtexref) -> CUresult;
pub type cuTexRefDestroy = unsafe extern "C" fn(hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetAddress =
    unsafe extern "C" fn(pdptr: *mut CUdeviceptr_v1, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetAddress_v2 =
    unsafe extern "C" fn(pdptr: *mut CUdeviceptr, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetAddressMode =
    unsafe extern "C" fn(pam: *mut CUaddress_mode, hTexRef: CUtexref, dim: i32) -> CUresult;
pub type cuTexRefGetArray =
    unsafe extern "C" fn(phArray: *mut CUarray, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetBorderColor =
    unsafe extern "C" fn(pBorderColor: *mut f32, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetFilterMode =
    unsafe extern "C" fn(pfm: *mut CUfilter_mode, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetFlags = unsafe extern "C" fn(pFlags: *mut u32, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetFormat = unsafe extern "C" fn(
    pFormat: *mut CUarray_format,
    pNumChannels: *mut i32,
    hTexRef: CUtexref,
) -> CUresult;
pub type cuTexRefGetMaxAnisotropy =
    unsafe extern "C" fn(pmaxAniso: *mut i32, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetMipmapFilterMode =
    unsafe extern "C" fn(pfm: *mut CUfilter_mode, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetMipmapLevelBias =
    unsafe extern "C" fn(pbias: *mut f32, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefGetMipmapLevelClamp = unsafe extern "C" fn(
    pminMipmapLevelClamp: *mut f32,
    pmaxMipmapLevelClamp: *mut f32,
    hTexRef: CUtexref,
) -> CUresult;
pub type cuTexRefGetMipmappedArray =
    unsafe extern "C" fn(phMipmappedArray: *mut CUmipmappedArray, hTexRef: CUtexref) -> CUresult;
pub type cuTexRefSetAddress = unsafe extern "C" fn(
    ByteOffset: *mut u32,
    hTexRef: CUtexref,
    dptr: CUdeviceptr_v1,
    bytes: u32,
) -> CUresult;
pub type cuTexRefSetAddress_v2 = unsafe extern "C" fn(
    ByteOffset: *mut usize,
    hTexRef: CUtexref,
    dptr: CUdeviceptr,
    bytes: usize,
) -> CUresult;
pub type cuTexRefSetAddress2D = unsafe extern "C" fn(
    hTexRef: CUtexref,
    desc: *const CUDA_ARRAY_DESCRIPTOR_v1,
    dptr: CUdeviceptr_v1,
    Pitch: u32,
) -> CUresult;
pub type cuTexRefSetAddress2D_v2 = unsafe extern "C" fn(
    hTexRef: CUtexref,
    desc: *const CUDA_ARRAY_DESCRIPTOR,
    dptr: CUdeviceptr,
    Pitch: usize,
) -> CUresult;
pub type cuTexRefSetAddress2D_v3 = unsafe extern "C" fn(
    hTexRef: CUtexref,
    desc: *const CUDA_ARRAY_DESCRIPTOR,
    dptr: CUdeviceptr,
    Pitch: usize,
) -> CUresult;
pub type cuTexRefSetAddressMode =
    unsafe extern "C" fn(hTexRef: CUtexref, dim: i32, am: CUaddress_mode) -> CUresult;
pub type cuTexRefSetArray =
    unsafe extern "C" fn(hTexRef: CUtexref, hArray: CUarray, Flags: u32) -> CUresult;
pub type cuTexRefSetBorderColor =
    unsafe extern "C" fn(hTexRef: CUtexref, pBorderColor: *mut f32) -> CUresult;
pub type cuTexRefSetFilterMode =
    unsafe extern "C" fn(hTexRef: CUtexref, fm: CUfilter_mode) -> CUresult;
pub type cuTexRefSetFlags = unsafe extern "C" fn(hTexRef: CUtexref, Flags: u32) -> CUresult;
pub type cuTexRefSetFormat = unsafe extern "C" fn(
    hTexRef: CUtexref,
    fmt: CUarray_format,
    NumPackedComponents: i32,
) -> CUresult;
pub type cuTexRefSetMaxAnisotropy =
    unsafe extern "C" fn(hTexRef: CUtexref, maxAniso: u32) -> CUresult;
pub type cuTexRefSetMipmapFilterMode =
    unsafe extern "C" fn(hTexRef: CUtexref, fm: CUfilter_mode) -> CUresult;
pub type cuTexRefSetMipmapLevelBias =
    unsafe extern "C" fn(hTexRef: CUtexref, bias: f32) -> CUresult;
pub type cuTexRefSetMipmapLevelClamp = unsafe extern "C" fn(
    hTexRef: CUtexref,
    minMipmapLevelClamp: f32,
    maxMipmapLevelClamp: f32,
) -> CUresult;
pub type cuTexRefSetMipmappedArray = unsafe extern "C" fn(
    hTexRef: CUtexref,
    hMipmappedArray: CUmipmappedArray,
    Flags: u32,
) -> CUresult;
pub type cuThreadExchangeStreamCaptureMode =
    unsafe extern "C" fn(mode: *mut CUstreamCaptureMode) -> CUresult;
pub type cuUserObjectCreate = unsafe extern "C" fn(
    object_out: *mut CUuserObject,
    ptr: *mut c_void,
    destroy: CUhostFn,
    initialRefcount: u32,
    flags: u32,
) -> CUresult;
pub type cuUserObjectRelease = unsafe extern "C" fn(object: CUuserObject, count: u32) -> CUresult;
pub type cuUserObjectRetain = unsafe extern "C" fn(object: CUuserObject, count: u32) -> CUresult;
pub type cuVDPAUCtxCreate = unsafe extern "C" fn(
    pCtx: *mut CUcontext,
    flags: u32,
    device: CUdevice,
    vdpDevice: VdpDevice,
    vdpGetProcAddress: VdpGetProcAddress,
) -> CUresult;
pub type cuVDPAUCtxCreate_v2 = unsafe extern "C" fn(
    pCtx: *mut CUcontext,
    flags: u32,
    device: CUdevice,
    vdpDevice: VdpDevice,
    vdpGetProcAddress: VdpGetProcAddress,
) -> CUresult;
pub type cuVDPAUGetDevice = unsafe extern "C" fn(
    pDevice: *mut CUdevice,
    vdpDevice: VdpDevice,
    vdpGetProcAddress: VdpGetProcAddress,
) -> CUresult;
pub type cuWaitExternalSemaphoresAsync = unsafe extern "C" fn(
    extSemArray: *const CUexternalSemaphore,
    paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    numExtSems: u32,
    stream: CUstream,
) -> CUresult;
pub type cuWaitExternalSemaphoresAsync_ptsz = unsafe extern "C" fn(
    extSemArray: *const CUexternalSemaphore,
    paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    numExtSems: u32,
    stream: CUstream,
) -> CUresult;
