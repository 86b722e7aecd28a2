//! Declarations of the library's functions, with handles as integers, and macros that check the
//! functions' results.
#![allow(dead_code, unused_macros, unused_imports, reason = "not every test uses all of it")]

use cuda_api::sys::CUDA_MEMSET_NODE_PARAMS;
use std::ffi::{c_char, c_int, c_uint, c_void};

// Link softgpu, so that these declarations resolve to its functions.
use softgpu as _;

unsafe extern "C" {
    pub fn cuInit(flags: c_uint) -> c_uint;
    pub fn cuDeviceGetCount(count: *mut c_int) -> c_uint;
    pub fn cuDevicePrimaryCtxRetain(to: *mut usize, device: c_int) -> c_uint;
    pub fn cuCtxSetCurrent(context: usize) -> c_uint;
    pub fn cuCtxSynchronize() -> c_uint;
    pub fn cuMemAlloc_v2(to: *mut u64, size: usize) -> c_uint;
    pub fn cuMemFree_v2(address: u64) -> c_uint;
    pub fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_uint;
    pub fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, size: usize) -> c_uint;
    pub fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, size: usize) -> c_uint;
    pub fn cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: usize) -> c_uint;
    pub fn cuMemHostRegister_v2(address: *mut c_void, size: usize, flags: c_uint) -> c_uint;
    pub fn cuMemHostUnregister(address: *mut c_void) -> c_uint;
    pub fn cuMemHostGetDevicePointer_v2(
        to: *mut u64,
        address: *mut c_void,
        flags: c_uint,
    ) -> c_uint;
    pub fn cuMemAddressReserve(
        to: *mut u64,
        size: usize,
        align: usize,
        at: u64,
        flags: u64,
    ) -> c_uint;
    pub fn cuMemAddressFree(at: u64, size: usize) -> c_uint;
    pub fn cuMemCreate(
        to: *mut u64,
        size: usize,
        properties: *const [u64; 4],
        flags: u64,
    ) -> c_uint;
    pub fn cuMemMap(at: u64, size: usize, offset: usize, handle: u64, flags: u64) -> c_uint;
    pub fn cuMemSetAccess(at: u64, size: usize, access: *const [c_int; 3], count: usize) -> c_uint;
    pub fn cuMemUnmap(at: u64, size: usize) -> c_uint;
    pub fn cuMemRelease(handle: u64) -> c_uint;
    pub fn cuMemRetainAllocationHandle(to: *mut u64, at: u64) -> c_uint;
    pub fn cuMemAllocAsync(to: *mut u64, size: usize, stream: usize) -> c_uint;
    pub fn cuMemFreeAsync(at: u64, stream: usize) -> c_uint;
    pub fn cuStreamCreate(to: *mut usize, flags: c_uint) -> c_uint;
    pub fn cuStreamDestroy_v2(stream: usize) -> c_uint;
    pub fn cuStreamQuery(stream: usize) -> c_uint;
    pub fn cuStreamSynchronize(stream: usize) -> c_uint;
    pub fn cuStreamWriteValue32_v2(stream: usize, at: u64, value: c_uint, flags: c_uint) -> c_uint;
    pub fn cuStreamWaitValue32_v2(stream: usize, at: u64, value: c_uint, flags: c_uint) -> c_uint;
    pub fn cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint) -> c_uint;
    pub fn cuEventCreate(to: *mut usize, flags: c_uint) -> c_uint;
    pub fn cuEventRecord(event: usize, stream: usize) -> c_uint;
    pub fn cuEventQuery(event: usize) -> c_uint;
    pub fn cuEventSynchronize(event: usize) -> c_uint;
    pub fn cuEventElapsedTime(to: *mut f32, start: usize, end: usize) -> c_uint;
    pub fn cuLaunchHostFunc(
        stream: usize,
        f: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> c_uint;
    pub fn cuModuleLoadData(to: *mut usize, image: *const c_void) -> c_uint;
    pub fn cuModuleGetFunction(to: *mut usize, module: usize, name: *const c_char) -> c_uint;
    pub fn cuModuleUnload(module: usize) -> c_uint;
    pub fn cuPointerGetAttribute(data: *mut c_void, which: c_uint, at: u64) -> c_uint;
    pub fn cuGetErrorName(error: c_uint, to: *mut *const c_char) -> c_uint;
    pub fn cuGetProcAddress_v2(
        name: *const c_char,
        to: *mut *const c_void,
        version: c_int,
        flags: u64,
        status: *mut c_uint,
    ) -> c_uint;
    #[allow(clippy::too_many_arguments)]
    pub fn cuLaunchKernel(
        function: usize,
        gx: c_uint,
        gy: c_uint,
        gz: c_uint,
        bx: c_uint,
        by: c_uint,
        bz: c_uint,
        shared: c_uint,
        stream: usize,
        params: *const *const c_void,
        extra: *const c_void,
    ) -> c_uint;
    pub fn cuCtxCreate_v2(to: *mut usize, flags: c_uint, device: c_int) -> c_uint;
    pub fn cuCtxDestroy_v2(context: usize) -> c_uint;
    pub fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, size: usize, stream: usize) -> c_uint;
    pub fn cuDeviceGraphMemTrim(device: c_int) -> c_uint;
    pub fn cuGraphAddMemFreeNode(
        to: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
        address: u64,
    ) -> c_uint;
    pub fn cuEventRecordWithFlags(event: usize, stream: usize, flags: c_uint) -> c_uint;
    pub fn cuStreamBeginCapture_v2(stream: usize, mode: c_uint) -> c_uint;
    pub fn cuStreamEndCapture(stream: usize, to: *mut usize) -> c_uint;
    pub fn cuStreamGetCaptureInfo_v2(
        stream: usize,
        status: *mut c_uint,
        id: *mut u64,
        graph: *mut usize,
        nodes: *mut *const usize,
        count: *mut usize,
    ) -> c_uint;
    pub fn cuGraphCreate(to: *mut usize, flags: c_uint) -> c_uint;
    pub fn cuGraphDestroy(graph: usize) -> c_uint;
    pub fn cuGraphAddEmptyNode(
        to: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
    ) -> c_uint;
    pub fn cuGraphAddMemsetNode(
        to: *mut usize,
        graph: usize,
        after: *const usize,
        count: usize,
        params: *const CUDA_MEMSET_NODE_PARAMS,
        context: usize,
    ) -> c_uint;
    pub fn cuGraphAddDependencies(
        graph: usize,
        from: *const usize,
        to: *const usize,
        count: usize,
    ) -> c_uint;
    pub fn cuGraphGetNodes(graph: usize, to: *mut usize, count: *mut usize) -> c_uint;
    pub fn cuGraphGetEdges(
        graph: usize,
        from: *mut usize,
        to: *mut usize,
        count: *mut usize,
    ) -> c_uint;
    pub fn cuGraphInstantiateWithFlags(to: *mut usize, graph: usize, flags: u64) -> c_uint;
    pub fn cuGraphExecUpdate_v2(exec: usize, graph: usize, info: *mut [usize; 3]) -> c_uint;
    pub fn cuGraphExecMemsetNodeSetParams(
        exec: usize,
        node: usize,
        params: *const CUDA_MEMSET_NODE_PARAMS,
        context: usize,
    ) -> c_uint;
    pub fn cuGraphLaunch(exec: usize, stream: usize) -> c_uint;
    pub fn cuGraphExecDestroy(exec: usize) -> c_uint;
    pub fn cuDevicePrimaryCtxReset_v2(device: c_int) -> c_uint;
    pub fn cuDeviceGetAttribute(to: *mut c_int, which: c_uint, device: c_int) -> c_uint;
    pub fn cuCtxSetLimit(which: c_uint, value: usize) -> c_uint;
    pub fn cuLibraryLoadData(
        to: *mut usize,
        image: *const c_void,
        jit_options: usize,
        jit_values: usize,
        jit_count: c_uint,
        options: usize,
        values: usize,
        count: c_uint,
    ) -> c_uint;
    pub fn cuLibraryUnload(library: usize) -> c_uint;
    pub fn cuLibraryGetKernel(to: *mut usize, library: usize, name: *const c_char) -> c_uint;
    pub fn cuLibraryGetKernelCount(to: *mut c_uint, library: usize) -> c_uint;
    pub fn cuLibraryGetGlobal(
        to: *mut u64,
        size: *mut usize,
        library: usize,
        name: *const c_char,
    ) -> c_uint;
    pub fn cuLinkCreate_v2(
        count: c_uint,
        options: *const c_uint,
        values: *mut usize,
        to: *mut usize,
    ) -> c_uint;
    pub fn cuLinkAddData_v2(
        link: usize,
        kind: c_uint,
        data: *const c_void,
        size: usize,
        name: *const c_char,
        count: c_uint,
        options: *const c_uint,
        values: *mut usize,
    ) -> c_uint;
    pub fn cuLinkComplete(link: usize, image: *mut *const c_void, size: *mut usize) -> c_uint;
    pub fn cuLinkDestroy(link: usize) -> c_uint;
    pub fn cuLibraryGetModule(to: *mut usize, library: usize) -> c_uint;
    pub fn cuLibraryGetManaged(
        to: *mut u64,
        size: *mut usize,
        library: usize,
        name: *const c_char,
    ) -> c_uint;
    pub fn cuModuleGetGlobal_v2(
        to: *mut u64,
        size: *mut usize,
        module: usize,
        name: *const c_char,
    ) -> c_uint;
    pub fn cuModuleLoadDataEx(
        to: *mut usize,
        image: *const c_void,
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) -> c_uint;
    pub fn cuDevicePrimaryCtxRelease_v2(device: i32) -> u32;
    pub fn cuEventDestroy_v2(event: usize) -> u32;
}

macro_rules! ok {
    ($e:expr) => {
        // SAFETY: the test passes arguments that the driver API allows.
        assert_eq!(unsafe { $e }, 0, stringify!($e))
    };
}
pub(crate) use ok;

macro_rules! fails {
    ($code:expr, $e:expr) => {
        // SAFETY: the test passes handles and values that softgpu checks, and pointers that are
        // valid or null.
        assert_eq!(unsafe { $e }, $code, stringify!($e))
    };
}
pub(crate) use fails;
