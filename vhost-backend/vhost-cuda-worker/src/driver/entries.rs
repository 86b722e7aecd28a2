//! The entry points of the driver library that the worker calls.
//!
//! Each is looked up by its exact name when it is first called: an exact name can't give a version
//! with other parameters, as cuGetProcAddress could. One that is missing is
//! CUDA_ERROR_NOT_SUPPORTED to its caller. No name that a guest sent is ever looked up.
//!
//! The functions that make the GPU work are marked `#[gated]`: they take the gate's [`Pass`].

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

use cuda_api::sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY2D, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph,
    CUgraphExec, CUgraphNode, CUkernel, CUlibrary, CUmemAccessDesc, CUmemAllocationProp,
    CUmemGenericAllocationHandle, CUmodule, CUresult, CUstream, CUuuid,
};

use super::error::{CuError, CuResult};
use super::library::Library;
use crate::calls::gate::pass::Pass;
use crate::executor::EngineError;

/// Stands for an entry point that the library does not have.
fn missing() -> *mut c_void {
    std::ptr::dangling_mut::<u8>().cast()
}

/// `cuLaunchKernelEx`'s configuration, its enum as a number.
#[repr(C)]
pub struct LaunchConfig {
    /// Grid and block, in CUDA's order.
    pub dims: [c_uint; 6],
    /// Dynamic shared memory.
    pub shared_mem_bytes: c_uint,
    /// Where it is queued.
    pub stream: CUstream,
    /// Attributes.
    pub attrs: *mut LaunchAttribute,
    /// How many.
    pub num_attrs: c_uint,
}

/// `CUlaunchAttribute`, its enum as a number and its union as words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchAttribute {
    /// CUlaunchAttributeID.
    pub id: u32,
    /// Padding.
    pub pad: u32,
    /// The value's 64 bytes.
    pub value: [u64; 8],
}

/// `CUgraphExecUpdateResultInfo`, its enum as a number.
#[repr(C)]
#[derive(Debug)]
pub struct GraphUpdateInfo {
    /// CUgraphExecUpdateResult.
    pub result: c_uint,
    /// The node of the new graph that can't be.
    pub error_node: CUgraphNode,
    /// The other end of an edge that can't be.
    pub error_from_node: CUgraphNode,
}

impl Default for GraphUpdateInfo {
    fn default() -> Self {
        let none = std::ptr::null_mut();
        Self { result: 0, error_node: none, error_from_node: none }
    }
}

macro_rules! entries {
    ($( $(#[$gate:ident])? fn $name:ident $(as $symbol:ident $(or $older:ident)?)? ( $($arg:ident : $ty:ty),* $(,)? ); )*) => {
        /// Addresses of the entry points: null until looked up.
        #[derive(Default)]
        #[allow(non_snake_case)]
        struct Entries {
            $( $name: AtomicPtr<c_void>, )*
        }

        #[allow(non_snake_case, missing_docs, clippy::too_many_arguments)]
        impl Driver {
            $(
                /// The driver's function of that name.
                ///
                /// # Safety
                /// As CUDA's documentation says: pointers must be good for what the function
                /// reads and writes, handles must be live.
                pub unsafe fn $name(
                    &self,
                    $(_pass: entries!(@$gate),)?
                    $($arg: $ty),*
                ) -> CuResult {
                    let mut at = self.entries.$name.load(Ordering::Relaxed);
                    if at.is_null() {
                        at = self.look_up(entries!(@names $name $(as $symbol $(or $older)?)?));
                        self.entries.$name.store(at, Ordering::Relaxed);
                    }
                    if at == missing() {
                        return Err(CuError::NOT_SUPPORTED);
                    }
                    // SAFETY: the library's function of this name has this type: results and
                    // enums are 32 bits wide, handles are pointers.
                    let function = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> CUresult>(at)
                    };
                    // SAFETY: the caller's promise.
                    CuError::check(unsafe { function($($arg),*) })
                }
            )*
        }
    };
    (@gated) => { &Pass };
    (@names $name:ident) => { &[entries!(@c $name)] };
    (@names $name:ident as $symbol:ident) => { &[entries!(@c $symbol)] };
    (@names $name:ident as $symbol:ident or $older:ident) => {
        &[entries!(@c $symbol), entries!(@c $older)]
    };
    (@c $name:ident) => {
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        }
    };
}

entries! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    fn cuDeviceGetUuid as cuDeviceGetUuid_v2 or cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice);
    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: CUdevice);
    fn cuDeviceTotalMem as cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(ctx: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease as cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuDevicePrimaryCtxReset as cuDevicePrimaryCtxReset_v2(device: CUdevice);
    fn cuDevicePrimaryCtxSetFlags as cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint);
    fn cuCtxCreate as cuCtxCreate_v2(ctx: *mut CUcontext, flags: c_uint, device: CUdevice);
    fn cuCtxDestroy as cuCtxDestroy_v2(ctx: CUcontext);
    fn cuCtxSetCurrent(ctx: CUcontext);
    fn cuCtxSynchronize();
    fn cuCtxGetLimit(value: *mut usize, limit: c_uint);
    fn cuCtxSetLimit(limit: c_uint, value: usize);
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);
    fn cuCtxGetCacheConfig(config: *mut c_uint);
    fn cuCtxSetCacheConfig(config: c_uint);
    fn cuCtxGetSharedMemConfig(config: *mut c_uint);
    fn cuCtxSetSharedMemConfig(config: c_uint);
    fn cuCtxResetPersistingL2Cache();
    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint);
    fn cuMemGetInfo as cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAddressReserve(ptr: *mut CUdeviceptr, size: usize, align: usize, addr: CUdeviceptr, flags: u64);
    fn cuMemCreate(handle: *mut CUmemGenericAllocationHandle, size: usize, prop: *const CUmemAllocationProp, flags: u64);
    fn cuMemRelease(handle: CUmemGenericAllocationHandle);
    fn cuMemMap(ptr: CUdeviceptr, size: usize, offset: usize, handle: CUmemGenericAllocationHandle, flags: u64);
    fn cuMemUnmap(ptr: CUdeviceptr, size: usize);
    fn cuMemSetAccess(ptr: CUdeviceptr, size: usize, desc: *const CUmemAccessDesc, count: usize);
    fn cuMemGetAllocationGranularity(granularity: *mut usize, prop: *const CUmemAllocationProp, option: c_uint);
    fn cuMemHostRegister as cuMemHostRegister_v2(ptr: *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostUnregister(ptr: *mut c_void);
    fn cuMemHostGetDevicePointer as cuMemHostGetDevicePointer_v2(dptr: *mut CUdeviceptr, ptr: *mut c_void, flags: c_uint);
    #[gated]
    fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream);
    #[gated]
    fn cuMemcpyHtoDAsync as cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream);
    #[gated]
    fn cuMemcpyDtoHAsync as cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream);
    #[gated]
    fn cuMemcpy2DAsync as cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    #[gated]
    fn cuMemsetD8Async(dst: CUdeviceptr, value: u8, count: usize, stream: CUstream);
    #[gated]
    fn cuMemsetD16Async(dst: CUdeviceptr, value: u16, count: usize, stream: CUstream);
    #[gated]
    fn cuMemsetD32Async(dst: CUdeviceptr, value: u32, count: usize, stream: CUstream);
    #[gated]
    fn cuMemsetD2D8Async(dst: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize, stream: CUstream);
    #[gated]
    fn cuMemsetD2D16Async(dst: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize, stream: CUstream);
    #[gated]
    fn cuMemsetD2D32Async(dst: CUdeviceptr, pitch: usize, value: u32, width: usize, height: usize, stream: CUstream);
    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamDestroy as cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamQuery(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuLaunchHostFunc(stream: CUstream, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy as cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint);
    fn cuEventQuery(event: CUevent);
    fn cuEventElapsedTime as cuEventElapsedTime_v2 or cuEventElapsedTime(ms: *mut f32, start: CUevent, end: CUevent);
    fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void);
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal as cuModuleGetGlobal_v2(ptr: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char);
    fn cuModuleGetLoadingMode(mode: *mut c_uint);
    fn cuLibraryLoadData(library: *mut CUlibrary, code: *const c_void, options: *mut c_uint, values: *mut *mut c_void, count: c_uint, library_options: *mut c_uint, library_values: *mut *mut c_void, library_count: c_uint);
    fn cuLibraryUnload(library: CUlibrary);
    fn cuLibraryGetKernel(kernel: *mut CUkernel, library: CUlibrary, name: *const c_char);
    fn cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary);
    fn cuLibraryEnumerateKernels(kernels: *mut CUkernel, count: c_uint, library: CUlibrary);
    fn cuLibraryGetModule(module: *mut CUmodule, library: CUlibrary);
    fn cuLibraryGetGlobal(ptr: *mut CUdeviceptr, bytes: *mut usize, library: CUlibrary, name: *const c_char);
    fn cuKernelGetName(name: *mut *const c_char, kernel: CUkernel);
    fn cuKernelGetFunction(function: *mut CUfunction, kernel: CUkernel);
    fn cuKernelGetAttribute(value: *mut c_int, attribute: c_uint, kernel: CUkernel, device: CUdevice);
    fn cuKernelSetAttribute(attribute: c_uint, value: c_int, kernel: CUkernel, device: CUdevice);
    fn cuKernelSetCacheConfig(kernel: CUkernel, config: c_uint, device: CUdevice);
    fn cuKernelGetParamInfo(kernel: CUkernel, index: usize, offset: *mut usize, size: *mut usize);
    fn cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, attribute: c_uint, value: c_int);
    fn cuFuncSetCacheConfig(function: CUfunction, config: c_uint);
    fn cuFuncLoad(function: CUfunction);
    fn cuFuncIsLoaded(state: *mut c_uint, function: CUfunction);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, function: CUfunction, block_size: c_int, shared: usize, flags: c_uint);
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: CUfunction, blocks: c_int, block_size: c_int);
    #[gated]
    fn cuLaunchKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuOccupancyMaxActiveClusters(clusters: *mut c_int, function: CUfunction, config: *const LaunchConfig);
    fn cuOccupancyMaxPotentialClusterSize(size: *mut c_int, function: CUfunction, config: *const LaunchConfig);
    #[gated]
    fn cuLaunchKernelEx(config: *const LaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
    fn cuGraphDestroy(graph: CUgraph);
    fn cuGraphAddEmptyNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize);
    fn cuGraphAddKernelNode as cuGraphAddKernelNode_v2(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, params: *const CUDA_KERNEL_NODE_PARAMS_v2);
    fn cuGraphAddMemcpyNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, params: *const CUDA_MEMCPY3D, ctx: CUcontext);
    fn cuGraphAddMemsetNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, params: *const CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext);
    fn cuGraphAddHostNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, params: *const CUDA_HOST_NODE_PARAMS);
    fn cuGraphAddEventWaitNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, event: CUevent);
    fn cuGraphAddEventRecordNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, event: CUevent);
    fn cuGraphKernelNodeSetAttribute(node: CUgraphNode, attribute: c_uint, value: *const u64);
    fn cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: u64);
    fn cuGraphExecDestroy(exec: CUgraphExec);
    #[gated]
    fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
    #[gated]
    fn cuGraphUpload(exec: CUgraphExec, stream: CUstream);
    fn cuGraphExecUpdate as cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, info: *mut GraphUpdateInfo);
    fn cuGraphExecKernelNodeSetParams as cuGraphExecKernelNodeSetParams_v2(exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_KERNEL_NODE_PARAMS_v2);
    fn cuGraphExecMemcpyNodeSetParams(exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_MEMCPY3D, ctx: CUcontext);
    fn cuGraphExecMemsetNodeSetParams(exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext);
    fn cuGraphExecHostNodeSetParams(exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_HOST_NODE_PARAMS);
    fn cuGraphExecEventWaitNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent);
    fn cuGraphExecEventRecordNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent);
    #[gated]
    fn cuLaunchCooperativeKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: CUstream, params: *mut *mut c_void);
}

/// A loaded `libcuda.so.1`, with its entry points.
pub struct Driver {
    library: Library,
    entries: Entries,
}

impl Driver {
    /// Loads the library.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        Ok(Self { library: Library::open(path)?, entries: Entries::default() })
    }

    /// The path that it was loaded from.
    pub fn path(&self) -> &str {
        self.library.path()
    }

    /// The address of an entry point, if the library has it.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        self.library.symbol(name)
    }

    /// The first of the names that the library has. Which one was missing is logged once.
    #[cold]
    fn look_up(&self, names: &[&CStr]) -> *mut c_void {
        let found = names.iter().find_map(|name| self.symbol(name));
        found.unwrap_or_else(|| {
            let name = names[0].to_string_lossy();
            tracing::warn!("the driver library {} has no {name}", self.path());
            missing()
        })
    }
}
