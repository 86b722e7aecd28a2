//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.

#![allow(non_snake_case, clippy::too_many_arguments)]

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::sync::atomic::AtomicPtr;

use cuda_api::prototypes;
use cuda_api::sys::*;

use super::error::{CuError, CuResult};
use super::library::Library;
use crate::calls::gate::pass::Pass;
use crate::executor::EngineError;

/// The functions' addresses: null until they are looked up.
#[derive(Default)]
struct Addresses {
    cuCtxCreate: AtomicPtr<c_void>,
    cuCtxDestroy: AtomicPtr<c_void>,
    cuCtxGetCacheConfig: AtomicPtr<c_void>,
    cuCtxGetLimit: AtomicPtr<c_void>,
    cuCtxGetSharedMemConfig: AtomicPtr<c_void>,
    cuCtxGetStreamPriorityRange: AtomicPtr<c_void>,
    cuCtxResetPersistingL2Cache: AtomicPtr<c_void>,
    cuCtxSetCacheConfig: AtomicPtr<c_void>,
    cuCtxSetCurrent: AtomicPtr<c_void>,
    cuCtxSetLimit: AtomicPtr<c_void>,
    cuCtxSetSharedMemConfig: AtomicPtr<c_void>,
    cuCtxSynchronize: AtomicPtr<c_void>,
    cuDeviceGetAttribute: AtomicPtr<c_void>,
    cuDeviceGetCount: AtomicPtr<c_void>,
    cuDeviceGetLuid: AtomicPtr<c_void>,
    cuDeviceGetName: AtomicPtr<c_void>,
    cuDeviceGetPCIBusId: AtomicPtr<c_void>,
    cuDeviceGetTexture1DLinearMaxWidth: AtomicPtr<c_void>,
    cuDeviceGetUuid: AtomicPtr<c_void>,
    cuDevicePrimaryCtxRelease: AtomicPtr<c_void>,
    cuDevicePrimaryCtxRetain: AtomicPtr<c_void>,
    cuDevicePrimaryCtxSetFlags: AtomicPtr<c_void>,
    cuDeviceTotalMem: AtomicPtr<c_void>,
    cuDriverGetVersion: AtomicPtr<c_void>,
    cuEventCreate: AtomicPtr<c_void>,
    cuEventDestroy: AtomicPtr<c_void>,
    cuEventElapsedTime: AtomicPtr<c_void>,
    cuEventQuery: AtomicPtr<c_void>,
    cuEventRecord: AtomicPtr<c_void>,
    cuEventRecordWithFlags: AtomicPtr<c_void>,
    cuFuncGetAttribute: AtomicPtr<c_void>,
    cuFuncGetParamInfo: AtomicPtr<c_void>,
    cuFuncIsLoaded: AtomicPtr<c_void>,
    cuFuncLoad: AtomicPtr<c_void>,
    cuFuncSetAttribute: AtomicPtr<c_void>,
    cuFuncSetCacheConfig: AtomicPtr<c_void>,
    cuGraphAddEmptyNode: AtomicPtr<c_void>,
    cuGraphAddEventRecordNode: AtomicPtr<c_void>,
    cuGraphAddEventWaitNode: AtomicPtr<c_void>,
    cuGraphAddHostNode: AtomicPtr<c_void>,
    cuGraphAddKernelNode: AtomicPtr<c_void>,
    cuGraphAddMemcpyNode: AtomicPtr<c_void>,
    cuGraphAddMemsetNode: AtomicPtr<c_void>,
    cuGraphCreate: AtomicPtr<c_void>,
    cuGraphDestroy: AtomicPtr<c_void>,
    cuGraphExecDestroy: AtomicPtr<c_void>,
    cuGraphExecEventRecordNodeSetEvent: AtomicPtr<c_void>,
    cuGraphExecEventWaitNodeSetEvent: AtomicPtr<c_void>,
    cuGraphExecHostNodeSetParams: AtomicPtr<c_void>,
    cuGraphExecKernelNodeSetParams: AtomicPtr<c_void>,
    cuGraphExecMemcpyNodeSetParams: AtomicPtr<c_void>,
    cuGraphExecMemsetNodeSetParams: AtomicPtr<c_void>,
    cuGraphExecUpdate: AtomicPtr<c_void>,
    cuGraphInstantiateWithFlags: AtomicPtr<c_void>,
    cuGraphKernelNodeSetAttribute: AtomicPtr<c_void>,
    cuGraphLaunch: AtomicPtr<c_void>,
    cuGraphUpload: AtomicPtr<c_void>,
    cuInit: AtomicPtr<c_void>,
    cuKernelGetAttribute: AtomicPtr<c_void>,
    cuKernelGetFunction: AtomicPtr<c_void>,
    cuKernelGetName: AtomicPtr<c_void>,
    cuKernelGetParamInfo: AtomicPtr<c_void>,
    cuKernelSetAttribute: AtomicPtr<c_void>,
    cuKernelSetCacheConfig: AtomicPtr<c_void>,
    cuLaunchCooperativeKernel: AtomicPtr<c_void>,
    cuLaunchHostFunc: AtomicPtr<c_void>,
    cuLaunchKernel: AtomicPtr<c_void>,
    cuLaunchKernelEx: AtomicPtr<c_void>,
    cuLibraryEnumerateKernels: AtomicPtr<c_void>,
    cuLibraryGetGlobal: AtomicPtr<c_void>,
    cuLibraryGetKernel: AtomicPtr<c_void>,
    cuLibraryGetKernelCount: AtomicPtr<c_void>,
    cuLibraryGetModule: AtomicPtr<c_void>,
    cuLibraryLoadData: AtomicPtr<c_void>,
    cuLibraryUnload: AtomicPtr<c_void>,
    cuMemAddressReserve: AtomicPtr<c_void>,
    cuMemCreate: AtomicPtr<c_void>,
    cuMemGetAllocationGranularity: AtomicPtr<c_void>,
    cuMemGetInfo: AtomicPtr<c_void>,
    cuMemHostGetDevicePointer: AtomicPtr<c_void>,
    cuMemHostRegister: AtomicPtr<c_void>,
    cuMemHostUnregister: AtomicPtr<c_void>,
    cuMemMap: AtomicPtr<c_void>,
    cuMemRelease: AtomicPtr<c_void>,
    cuMemSetAccess: AtomicPtr<c_void>,
    cuMemUnmap: AtomicPtr<c_void>,
    cuMemcpy2DAsync: AtomicPtr<c_void>,
    cuMemcpyAsync: AtomicPtr<c_void>,
    cuMemcpyDtoHAsync: AtomicPtr<c_void>,
    cuMemcpyHtoDAsync: AtomicPtr<c_void>,
    cuMemsetD16Async: AtomicPtr<c_void>,
    cuMemsetD2D16Async: AtomicPtr<c_void>,
    cuMemsetD2D32Async: AtomicPtr<c_void>,
    cuMemsetD2D8Async: AtomicPtr<c_void>,
    cuMemsetD32Async: AtomicPtr<c_void>,
    cuMemsetD8Async: AtomicPtr<c_void>,
    cuModuleGetFunction: AtomicPtr<c_void>,
    cuModuleGetGlobal: AtomicPtr<c_void>,
    cuModuleGetLoadingMode: AtomicPtr<c_void>,
    cuModuleLoadDataEx: AtomicPtr<c_void>,
    cuModuleUnload: AtomicPtr<c_void>,
    cuOccupancyAvailableDynamicSMemPerBlock: AtomicPtr<c_void>,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags: AtomicPtr<c_void>,
    cuOccupancyMaxActiveClusters: AtomicPtr<c_void>,
    cuOccupancyMaxPotentialClusterSize: AtomicPtr<c_void>,
    cuProfilerStart: AtomicPtr<c_void>,
    cuProfilerStop: AtomicPtr<c_void>,
    cuStreamCreateWithPriority: AtomicPtr<c_void>,
    cuStreamDestroy: AtomicPtr<c_void>,
    cuStreamGetAttribute: AtomicPtr<c_void>,
    cuStreamQuery: AtomicPtr<c_void>,
    cuStreamSetAttribute: AtomicPtr<c_void>,
    cuStreamSynchronize: AtomicPtr<c_void>,
    cuStreamWaitEvent: AtomicPtr<c_void>,
    cuThreadExchangeStreamCaptureMode: AtomicPtr<c_void>,
}

/// The driver library's functions. Those that make the GPU work take the gate's pass.
pub struct Driver {
    library: Library,
    addresses: Addresses,
}

impl Driver {
    /// Loads the library.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        Ok(Self { library: Library::open(path)?, addresses: Addresses::default() })
    }

    /// The library itself.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Calls `cuCtxCreate_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxCreate(&self, pctx: *mut CUcontext, flags: u32, dev: CUdevice) -> CuResult {
        let at = self.library.address(&self.addresses.cuCtxCreate, &[c"cuCtxCreate_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxCreate_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pctx, flags, dev) })
    }

    /// Calls `cuCtxDestroy_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxDestroy(&self, ctx: CUcontext) -> CuResult {
        let at = self.library.address(&self.addresses.cuCtxDestroy, &[c"cuCtxDestroy_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxDestroy_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ctx) })
    }

    /// Calls `cuCtxGetCacheConfig`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxGetCacheConfig(&self, pconfig: *mut CUfunc_cache) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuCtxGetCacheConfig, &[c"cuCtxGetCacheConfig"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxGetCacheConfig>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pconfig) })
    }

    /// Calls `cuCtxGetLimit`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxGetLimit(&self, pvalue: *mut usize, limit: CUlimit) -> CuResult {
        let at = self.library.address(&self.addresses.cuCtxGetLimit, &[c"cuCtxGetLimit"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxGetLimit>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pvalue, limit) })
    }

    /// Calls `cuCtxGetSharedMemConfig`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxGetSharedMemConfig(&self, p_config: *mut CUsharedconfig) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuCtxGetSharedMemConfig, &[c"cuCtxGetSharedMemConfig"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxGetSharedMemConfig>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p_config) })
    }

    /// Calls `cuCtxGetStreamPriorityRange`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxGetStreamPriorityRange(
        &self,
        least_priority: *mut i32,
        greatest_priority: *mut i32,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuCtxGetStreamPriorityRange,
            &[c"cuCtxGetStreamPriorityRange"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuCtxGetStreamPriorityRange>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(least_priority, greatest_priority) })
    }

    /// Calls `cuCtxResetPersistingL2Cache`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxResetPersistingL2Cache(&self) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuCtxResetPersistingL2Cache,
            &[c"cuCtxResetPersistingL2Cache"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuCtxResetPersistingL2Cache>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function() })
    }

    /// Calls `cuCtxSetCacheConfig`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxSetCacheConfig(&self, config: CUfunc_cache) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuCtxSetCacheConfig, &[c"cuCtxSetCacheConfig"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxSetCacheConfig>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(config) })
    }

    /// Calls `cuCtxSetCurrent`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxSetCurrent(&self, ctx: CUcontext) -> CuResult {
        let at = self.library.address(&self.addresses.cuCtxSetCurrent, &[c"cuCtxSetCurrent"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxSetCurrent>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ctx) })
    }

    /// Calls `cuCtxSetLimit`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxSetLimit(&self, limit: CUlimit, value: usize) -> CuResult {
        let at = self.library.address(&self.addresses.cuCtxSetLimit, &[c"cuCtxSetLimit"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxSetLimit>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(limit, value) })
    }

    /// Calls `cuCtxSetSharedMemConfig`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxSetSharedMemConfig(&self, config: CUsharedconfig) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuCtxSetSharedMemConfig, &[c"cuCtxSetSharedMemConfig"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxSetSharedMemConfig>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(config) })
    }

    /// Calls `cuCtxSynchronize`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuCtxSynchronize(&self) -> CuResult {
        let at = self.library.address(&self.addresses.cuCtxSynchronize, &[c"cuCtxSynchronize"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuCtxSynchronize>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function() })
    }

    /// Calls `cuDeviceGetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceGetAttribute(
        &self,
        pi: *mut i32,
        attrib: CUdevice_attribute,
        dev: CUdevice,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuDeviceGetAttribute, &[c"cuDeviceGetAttribute"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDeviceGetAttribute>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pi, attrib, dev) })
    }

    /// Calls `cuDeviceGetCount`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceGetCount(&self, count: *mut i32) -> CuResult {
        let at = self.library.address(&self.addresses.cuDeviceGetCount, &[c"cuDeviceGetCount"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDeviceGetCount>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(count) })
    }

    /// Calls `cuDeviceGetLuid`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceGetLuid(
        &self,
        luid: *mut c_char,
        device_node_mask: *mut u32,
        dev: CUdevice,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuDeviceGetLuid, &[c"cuDeviceGetLuid"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDeviceGetLuid>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(luid, device_node_mask, dev) })
    }

    /// Calls `cuDeviceGetName`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceGetName(&self, name: *mut c_char, len: i32, dev: CUdevice) -> CuResult {
        let at = self.library.address(&self.addresses.cuDeviceGetName, &[c"cuDeviceGetName"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDeviceGetName>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(name, len, dev) })
    }

    /// Calls `cuDeviceGetPCIBusId`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceGetPCIBusId(
        &self,
        pci_bus_id: *mut c_char,
        len: i32,
        dev: CUdevice,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuDeviceGetPCIBusId, &[c"cuDeviceGetPCIBusId"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDeviceGetPCIBusId>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pci_bus_id, len, dev) })
    }

    /// Calls `cuDeviceGetTexture1DLinearMaxWidth`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceGetTexture1DLinearMaxWidth(
        &self,
        max_width_in_elements: *mut usize,
        format: CUarray_format,
        num_channels: u32,
        dev: CUdevice,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuDeviceGetTexture1DLinearMaxWidth,
            &[c"cuDeviceGetTexture1DLinearMaxWidth"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuDeviceGetTexture1DLinearMaxWidth>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(max_width_in_elements, format, num_channels, dev) })
    }

    /// Calls `cuDeviceGetUuid_v2` or `cuDeviceGetUuid`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceGetUuid(&self, uuid: *mut CUuuid, dev: CUdevice) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuDeviceGetUuid,
            &[c"cuDeviceGetUuid_v2", c"cuDeviceGetUuid"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDeviceGetUuid_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(uuid, dev) })
    }

    /// Calls `cuDevicePrimaryCtxRelease_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDevicePrimaryCtxRelease(&self, dev: CUdevice) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuDevicePrimaryCtxRelease,
            &[c"cuDevicePrimaryCtxRelease_v2"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuDevicePrimaryCtxRelease_v2>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dev) })
    }

    /// Calls `cuDevicePrimaryCtxRetain`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDevicePrimaryCtxRetain(&self, pctx: *mut CUcontext, dev: CUdevice) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuDevicePrimaryCtxRetain, &[c"cuDevicePrimaryCtxRetain"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDevicePrimaryCtxRetain>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pctx, dev) })
    }

    /// Calls `cuDevicePrimaryCtxSetFlags_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDevicePrimaryCtxSetFlags(&self, dev: CUdevice, flags: u32) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuDevicePrimaryCtxSetFlags,
            &[c"cuDevicePrimaryCtxSetFlags_v2"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuDevicePrimaryCtxSetFlags_v2>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dev, flags) })
    }

    /// Calls `cuDeviceTotalMem_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDeviceTotalMem(&self, bytes: *mut usize, dev: CUdevice) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuDeviceTotalMem, &[c"cuDeviceTotalMem_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDeviceTotalMem_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(bytes, dev) })
    }

    /// Calls `cuDriverGetVersion`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuDriverGetVersion(&self, driver_version: *mut i32) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuDriverGetVersion, &[c"cuDriverGetVersion"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuDriverGetVersion>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(driver_version) })
    }

    /// Calls `cuEventCreate`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuEventCreate(&self, ph_event: *mut CUevent, flags: u32) -> CuResult {
        let at = self.library.address(&self.addresses.cuEventCreate, &[c"cuEventCreate"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuEventCreate>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ph_event, flags) })
    }

    /// Calls `cuEventDestroy_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuEventDestroy(&self, h_event: CUevent) -> CuResult {
        let at = self.library.address(&self.addresses.cuEventDestroy, &[c"cuEventDestroy_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuEventDestroy_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_event) })
    }

    /// Calls `cuEventElapsedTime_v2` or `cuEventElapsedTime`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuEventElapsedTime(
        &self,
        p_milliseconds: *mut f32,
        h_start: CUevent,
        h_end: CUevent,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuEventElapsedTime,
            &[c"cuEventElapsedTime_v2", c"cuEventElapsedTime"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuEventElapsedTime_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p_milliseconds, h_start, h_end) })
    }

    /// Calls `cuEventQuery`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuEventQuery(&self, h_event: CUevent) -> CuResult {
        let at = self.library.address(&self.addresses.cuEventQuery, &[c"cuEventQuery"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuEventQuery>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_event) })
    }

    /// Calls `cuEventRecord`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuEventRecord(&self, h_event: CUevent, h_stream: CUstream) -> CuResult {
        let at = self.library.address(&self.addresses.cuEventRecord, &[c"cuEventRecord"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuEventRecord>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_event, h_stream) })
    }

    /// Calls `cuEventRecordWithFlags`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuEventRecordWithFlags(
        &self,
        h_event: CUevent,
        h_stream: CUstream,
        flags: u32,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuEventRecordWithFlags, &[c"cuEventRecordWithFlags"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuEventRecordWithFlags>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_event, h_stream, flags) })
    }

    /// Calls `cuFuncGetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuFuncGetAttribute(
        &self,
        pi: *mut i32,
        attrib: CUfunction_attribute,
        hfunc: CUfunction,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuFuncGetAttribute, &[c"cuFuncGetAttribute"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuFuncGetAttribute>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pi, attrib, hfunc) })
    }

    /// Calls `cuFuncGetParamInfo`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuFuncGetParamInfo(
        &self,
        func: CUfunction,
        param_index: usize,
        param_offset: *mut usize,
        param_size: *mut usize,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuFuncGetParamInfo, &[c"cuFuncGetParamInfo"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuFuncGetParamInfo>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(func, param_index, param_offset, param_size) })
    }

    /// Calls `cuFuncIsLoaded`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuFuncIsLoaded(
        &self,
        state: *mut CUfunctionLoadingState,
        hfunc: CUfunction,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuFuncIsLoaded, &[c"cuFuncIsLoaded"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuFuncIsLoaded>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(state, hfunc) })
    }

    /// Calls `cuFuncLoad`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuFuncLoad(&self, hfunc: CUfunction) -> CuResult {
        let at = self.library.address(&self.addresses.cuFuncLoad, &[c"cuFuncLoad"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuFuncLoad>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(hfunc) })
    }

    /// Calls `cuFuncSetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuFuncSetAttribute(
        &self,
        hfunc: CUfunction,
        attrib: CUfunction_attribute,
        value: i32,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuFuncSetAttribute, &[c"cuFuncSetAttribute"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuFuncSetAttribute>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(hfunc, attrib, value) })
    }

    /// Calls `cuFuncSetCacheConfig`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuFuncSetCacheConfig(&self, hfunc: CUfunction, config: CUfunc_cache) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuFuncSetCacheConfig, &[c"cuFuncSetCacheConfig"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuFuncSetCacheConfig>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(hfunc, config) })
    }

    /// Calls `cuGraphAddEmptyNode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphAddEmptyNode(
        &self,
        ph_graph_node: *mut CUgraphNode,
        h_graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuGraphAddEmptyNode, &[c"cuGraphAddEmptyNode"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphAddEmptyNode>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ph_graph_node, h_graph, dependencies, num_dependencies) })
    }

    /// Calls `cuGraphAddEventRecordNode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphAddEventRecordNode(
        &self,
        ph_graph_node: *mut CUgraphNode,
        h_graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
        event: CUevent,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuGraphAddEventRecordNode, &[c"cuGraphAddEventRecordNode"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphAddEventRecordNode>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(ph_graph_node, h_graph, dependencies, num_dependencies, event)
        })
    }

    /// Calls `cuGraphAddEventWaitNode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphAddEventWaitNode(
        &self,
        ph_graph_node: *mut CUgraphNode,
        h_graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
        event: CUevent,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuGraphAddEventWaitNode, &[c"cuGraphAddEventWaitNode"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphAddEventWaitNode>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(ph_graph_node, h_graph, dependencies, num_dependencies, event)
        })
    }

    /// Calls `cuGraphAddHostNode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphAddHostNode(
        &self,
        ph_graph_node: *mut CUgraphNode,
        h_graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
        node_params: *const CUDA_HOST_NODE_PARAMS,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuGraphAddHostNode, &[c"cuGraphAddHostNode"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphAddHostNode>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(ph_graph_node, h_graph, dependencies, num_dependencies, node_params)
        })
    }

    /// Calls `cuGraphAddKernelNode_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphAddKernelNode(
        &self,
        ph_graph_node: *mut CUgraphNode,
        h_graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
        node_params: *const CUDA_KERNEL_NODE_PARAMS,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuGraphAddKernelNode, &[c"cuGraphAddKernelNode_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphAddKernelNode_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(ph_graph_node, h_graph, dependencies, num_dependencies, node_params)
        })
    }

    /// Calls `cuGraphAddMemcpyNode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphAddMemcpyNode(
        &self,
        ph_graph_node: *mut CUgraphNode,
        h_graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
        copy_params: *const CUDA_MEMCPY3D,
        ctx: CUcontext,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuGraphAddMemcpyNode, &[c"cuGraphAddMemcpyNode"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphAddMemcpyNode>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(ph_graph_node, h_graph, dependencies, num_dependencies, copy_params, ctx)
        })
    }

    /// Calls `cuGraphAddMemsetNode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphAddMemsetNode(
        &self,
        ph_graph_node: *mut CUgraphNode,
        h_graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
        memset_params: *const CUDA_MEMSET_NODE_PARAMS,
        ctx: CUcontext,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuGraphAddMemsetNode, &[c"cuGraphAddMemsetNode"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphAddMemsetNode>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(ph_graph_node, h_graph, dependencies, num_dependencies, memset_params, ctx)
        })
    }

    /// Calls `cuGraphCreate`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphCreate(&self, ph_graph: *mut CUgraph, flags: u32) -> CuResult {
        let at = self.library.address(&self.addresses.cuGraphCreate, &[c"cuGraphCreate"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphCreate>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ph_graph, flags) })
    }

    /// Calls `cuGraphDestroy`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphDestroy(&self, h_graph: CUgraph) -> CuResult {
        let at = self.library.address(&self.addresses.cuGraphDestroy, &[c"cuGraphDestroy"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphDestroy>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph) })
    }

    /// Calls `cuGraphExecDestroy`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecDestroy(&self, h_graph_exec: CUgraphExec) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuGraphExecDestroy, &[c"cuGraphExecDestroy"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphExecDestroy>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec) })
    }

    /// Calls `cuGraphExecEventRecordNodeSetEvent`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecEventRecordNodeSetEvent(
        &self,
        h_graph_exec: CUgraphExec,
        h_node: CUgraphNode,
        event: CUevent,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphExecEventRecordNodeSetEvent,
            &[c"cuGraphExecEventRecordNodeSetEvent"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphExecEventRecordNodeSetEvent>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec, h_node, event) })
    }

    /// Calls `cuGraphExecEventWaitNodeSetEvent`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecEventWaitNodeSetEvent(
        &self,
        h_graph_exec: CUgraphExec,
        h_node: CUgraphNode,
        event: CUevent,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphExecEventWaitNodeSetEvent,
            &[c"cuGraphExecEventWaitNodeSetEvent"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphExecEventWaitNodeSetEvent>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec, h_node, event) })
    }

    /// Calls `cuGraphExecHostNodeSetParams`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecHostNodeSetParams(
        &self,
        h_graph_exec: CUgraphExec,
        h_node: CUgraphNode,
        node_params: *const CUDA_HOST_NODE_PARAMS,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphExecHostNodeSetParams,
            &[c"cuGraphExecHostNodeSetParams"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphExecHostNodeSetParams>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec, h_node, node_params) })
    }

    /// Calls `cuGraphExecKernelNodeSetParams_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecKernelNodeSetParams(
        &self,
        h_graph_exec: CUgraphExec,
        h_node: CUgraphNode,
        node_params: *const CUDA_KERNEL_NODE_PARAMS,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphExecKernelNodeSetParams,
            &[c"cuGraphExecKernelNodeSetParams_v2"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphExecKernelNodeSetParams_v2>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec, h_node, node_params) })
    }

    /// Calls `cuGraphExecMemcpyNodeSetParams`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecMemcpyNodeSetParams(
        &self,
        h_graph_exec: CUgraphExec,
        h_node: CUgraphNode,
        copy_params: *const CUDA_MEMCPY3D,
        ctx: CUcontext,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphExecMemcpyNodeSetParams,
            &[c"cuGraphExecMemcpyNodeSetParams"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphExecMemcpyNodeSetParams>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec, h_node, copy_params, ctx) })
    }

    /// Calls `cuGraphExecMemsetNodeSetParams`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecMemsetNodeSetParams(
        &self,
        h_graph_exec: CUgraphExec,
        h_node: CUgraphNode,
        memset_params: *const CUDA_MEMSET_NODE_PARAMS,
        ctx: CUcontext,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphExecMemsetNodeSetParams,
            &[c"cuGraphExecMemsetNodeSetParams"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphExecMemsetNodeSetParams>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec, h_node, memset_params, ctx) })
    }

    /// Calls `cuGraphExecUpdate_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphExecUpdate(
        &self,
        h_graph_exec: CUgraphExec,
        h_graph: CUgraph,
        result_info: *mut CUgraphExecUpdateResultInfo,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuGraphExecUpdate, &[c"cuGraphExecUpdate_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphExecUpdate_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph_exec, h_graph, result_info) })
    }

    /// Calls `cuGraphInstantiateWithFlags`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphInstantiateWithFlags(
        &self,
        ph_graph_exec: *mut CUgraphExec,
        h_graph: CUgraph,
        flags: u64,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphInstantiateWithFlags,
            &[c"cuGraphInstantiateWithFlags"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphInstantiateWithFlags>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ph_graph_exec, h_graph, flags) })
    }

    /// Calls `cuGraphKernelNodeSetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphKernelNodeSetAttribute(
        &self,
        h_node: CUgraphNode,
        attr: CUkernelNodeAttrID,
        value: *const CUstreamAttrValue,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuGraphKernelNodeSetAttribute,
            &[c"cuGraphKernelNodeSetAttribute"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuGraphKernelNodeSetAttribute>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_node, attr, value) })
    }

    /// Calls `cuGraphLaunch`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphLaunch(
        &self,
        _pass: &Pass,
        h_graph: CUgraphExec,
        h_stream: CUstream,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuGraphLaunch, &[c"cuGraphLaunch"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphLaunch>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph, h_stream) })
    }

    /// Calls `cuGraphUpload`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuGraphUpload(
        &self,
        _pass: &Pass,
        h_graph: CUgraphExec,
        h_stream: CUstream,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuGraphUpload, &[c"cuGraphUpload"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuGraphUpload>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_graph, h_stream) })
    }

    /// Calls `cuInit`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuInit(&self, flags: u32) -> CuResult {
        let at = self.library.address(&self.addresses.cuInit, &[c"cuInit"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuInit>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(flags) })
    }

    /// Calls `cuKernelGetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuKernelGetAttribute(
        &self,
        pi: *mut i32,
        attrib: CUfunction_attribute,
        kernel: CUkernel,
        dev: CUdevice,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuKernelGetAttribute, &[c"cuKernelGetAttribute"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuKernelGetAttribute>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pi, attrib, kernel, dev) })
    }

    /// Calls `cuKernelGetFunction`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuKernelGetFunction(
        &self,
        p_func: *mut CUfunction,
        kernel: CUkernel,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuKernelGetFunction, &[c"cuKernelGetFunction"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuKernelGetFunction>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p_func, kernel) })
    }

    /// Calls `cuKernelGetName`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuKernelGetName(&self, name: *mut *const c_char, hfunc: CUkernel) -> CuResult {
        let at = self.library.address(&self.addresses.cuKernelGetName, &[c"cuKernelGetName"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuKernelGetName>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(name, hfunc) })
    }

    /// Calls `cuKernelGetParamInfo`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuKernelGetParamInfo(
        &self,
        kernel: CUkernel,
        param_index: usize,
        param_offset: *mut usize,
        param_size: *mut usize,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuKernelGetParamInfo, &[c"cuKernelGetParamInfo"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuKernelGetParamInfo>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(kernel, param_index, param_offset, param_size) })
    }

    /// Calls `cuKernelSetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuKernelSetAttribute(
        &self,
        attrib: CUfunction_attribute,
        val: i32,
        kernel: CUkernel,
        dev: CUdevice,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuKernelSetAttribute, &[c"cuKernelSetAttribute"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuKernelSetAttribute>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(attrib, val, kernel, dev) })
    }

    /// Calls `cuKernelSetCacheConfig`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuKernelSetCacheConfig(
        &self,
        kernel: CUkernel,
        config: CUfunc_cache,
        dev: CUdevice,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuKernelSetCacheConfig, &[c"cuKernelSetCacheConfig"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuKernelSetCacheConfig>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(kernel, config, dev) })
    }

    /// Calls `cuLaunchCooperativeKernel`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLaunchCooperativeKernel(
        &self,
        _pass: &Pass,
        f: CUfunction,
        grid_dim_x: u32,
        grid_dim_y: u32,
        grid_dim_z: u32,
        block_dim_x: u32,
        block_dim_y: u32,
        block_dim_z: u32,
        shared_mem_bytes: u32,
        h_stream: CUstream,
        kernel_params: *mut *mut c_void,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuLaunchCooperativeKernel, &[c"cuLaunchCooperativeKernel"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuLaunchCooperativeKernel>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(
                f,
                grid_dim_x,
                grid_dim_y,
                grid_dim_z,
                block_dim_x,
                block_dim_y,
                block_dim_z,
                shared_mem_bytes,
                h_stream,
                kernel_params,
            )
        })
    }

    /// Calls `cuLaunchHostFunc`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLaunchHostFunc(
        &self,
        h_stream: CUstream,
        fn_: CUhostFn,
        user_data: *mut c_void,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuLaunchHostFunc, &[c"cuLaunchHostFunc"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLaunchHostFunc>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_stream, fn_, user_data) })
    }

    /// Calls `cuLaunchKernel`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLaunchKernel(
        &self,
        _pass: &Pass,
        f: CUfunction,
        grid_dim_x: u32,
        grid_dim_y: u32,
        grid_dim_z: u32,
        block_dim_x: u32,
        block_dim_y: u32,
        block_dim_z: u32,
        shared_mem_bytes: u32,
        h_stream: CUstream,
        kernel_params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuLaunchKernel, &[c"cuLaunchKernel"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLaunchKernel>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(
                f,
                grid_dim_x,
                grid_dim_y,
                grid_dim_z,
                block_dim_x,
                block_dim_y,
                block_dim_z,
                shared_mem_bytes,
                h_stream,
                kernel_params,
                extra,
            )
        })
    }

    /// Calls `cuLaunchKernelEx`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLaunchKernelEx(
        &self,
        _pass: &Pass,
        config: *const CUlaunchConfig,
        f: CUfunction,
        kernel_params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuLaunchKernelEx, &[c"cuLaunchKernelEx"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLaunchKernelEx>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(config, f, kernel_params, extra) })
    }

    /// Calls `cuLibraryEnumerateKernels`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLibraryEnumerateKernels(
        &self,
        kernels: *mut CUkernel,
        num_kernels: u32,
        lib: CUlibrary,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuLibraryEnumerateKernels, &[c"cuLibraryEnumerateKernels"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuLibraryEnumerateKernels>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(kernels, num_kernels, lib) })
    }

    /// Calls `cuLibraryGetGlobal`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLibraryGetGlobal(
        &self,
        dptr: *mut CUdeviceptr,
        bytes: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuLibraryGetGlobal, &[c"cuLibraryGetGlobal"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLibraryGetGlobal>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dptr, bytes, library, name) })
    }

    /// Calls `cuLibraryGetKernel`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLibraryGetKernel(
        &self,
        p_kernel: *mut CUkernel,
        library: CUlibrary,
        name: *const c_char,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuLibraryGetKernel, &[c"cuLibraryGetKernel"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLibraryGetKernel>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p_kernel, library, name) })
    }

    /// Calls `cuLibraryGetKernelCount`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLibraryGetKernelCount(&self, count: *mut u32, lib: CUlibrary) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuLibraryGetKernelCount, &[c"cuLibraryGetKernelCount"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLibraryGetKernelCount>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(count, lib) })
    }

    /// Calls `cuLibraryGetModule`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLibraryGetModule(&self, p_mod: *mut CUmodule, library: CUlibrary) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuLibraryGetModule, &[c"cuLibraryGetModule"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLibraryGetModule>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p_mod, library) })
    }

    /// Calls `cuLibraryLoadData`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLibraryLoadData(
        &self,
        library: *mut CUlibrary,
        code: *const c_void,
        jit_options: *mut CUjit_option,
        jit_options_values: *mut *mut c_void,
        num_jit_options: u32,
        library_options: *mut CUlibraryOption,
        library_option_values: *mut *mut c_void,
        num_library_options: u32,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuLibraryLoadData, &[c"cuLibraryLoadData"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLibraryLoadData>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe {
            function(
                library,
                code,
                jit_options,
                jit_options_values,
                num_jit_options,
                library_options,
                library_option_values,
                num_library_options,
            )
        })
    }

    /// Calls `cuLibraryUnload`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuLibraryUnload(&self, library: CUlibrary) -> CuResult {
        let at = self.library.address(&self.addresses.cuLibraryUnload, &[c"cuLibraryUnload"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuLibraryUnload>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(library) })
    }

    /// Calls `cuMemAddressReserve`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemAddressReserve(
        &self,
        ptr: *mut CUdeviceptr,
        size: usize,
        alignment: usize,
        addr: CUdeviceptr,
        flags: u64,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemAddressReserve, &[c"cuMemAddressReserve"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemAddressReserve>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ptr, size, alignment, addr, flags) })
    }

    /// Calls `cuMemCreate`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemCreate(
        &self,
        handle: *mut CUmemGenericAllocationHandle,
        size: usize,
        prop: *const CUmemAllocationProp,
        flags: u64,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemCreate, &[c"cuMemCreate"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemCreate>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(handle, size, prop, flags) })
    }

    /// Calls `cuMemGetAllocationGranularity`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemGetAllocationGranularity(
        &self,
        granularity: *mut usize,
        prop: *const CUmemAllocationProp,
        option: CUmemAllocationGranularity_flags,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuMemGetAllocationGranularity,
            &[c"cuMemGetAllocationGranularity"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuMemGetAllocationGranularity>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(granularity, prop, option) })
    }

    /// Calls `cuMemGetInfo_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemGetInfo(&self, free: *mut usize, total: *mut usize) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemGetInfo, &[c"cuMemGetInfo_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemGetInfo_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(free, total) })
    }

    /// Calls `cuMemHostGetDevicePointer_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemHostGetDevicePointer(
        &self,
        pdptr: *mut CUdeviceptr,
        p: *mut c_void,
        flags: u32,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuMemHostGetDevicePointer,
            &[c"cuMemHostGetDevicePointer_v2"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuMemHostGetDevicePointer_v2>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(pdptr, p, flags) })
    }

    /// Calls `cuMemHostRegister_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemHostRegister(
        &self,
        p: *mut c_void,
        bytesize: usize,
        flags: u32,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemHostRegister, &[c"cuMemHostRegister_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemHostRegister_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p, bytesize, flags) })
    }

    /// Calls `cuMemHostUnregister`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemHostUnregister(&self, p: *mut c_void) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemHostUnregister, &[c"cuMemHostUnregister"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemHostUnregister>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p) })
    }

    /// Calls `cuMemMap`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemMap(
        &self,
        ptr: CUdeviceptr,
        size: usize,
        offset: usize,
        handle: CUmemGenericAllocationHandle,
        flags: u64,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemMap, &[c"cuMemMap"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemMap>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ptr, size, offset, handle, flags) })
    }

    /// Calls `cuMemRelease`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemRelease(&self, handle: CUmemGenericAllocationHandle) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemRelease, &[c"cuMemRelease"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemRelease>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(handle) })
    }

    /// Calls `cuMemSetAccess`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemSetAccess(
        &self,
        ptr: CUdeviceptr,
        size: usize,
        desc: *const CUmemAccessDesc,
        count: usize,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemSetAccess, &[c"cuMemSetAccess"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemSetAccess>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ptr, size, desc, count) })
    }

    /// Calls `cuMemUnmap`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemUnmap(&self, ptr: CUdeviceptr, size: usize) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemUnmap, &[c"cuMemUnmap"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemUnmap>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ptr, size) })
    }

    /// Calls `cuMemcpy2DAsync_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemcpy2DAsync(
        &self,
        _pass: &Pass,
        p_copy: *const CUDA_MEMCPY2D,
        h_stream: CUstream,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemcpy2DAsync, &[c"cuMemcpy2DAsync_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemcpy2DAsync_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(p_copy, h_stream) })
    }

    /// Calls `cuMemcpyAsync`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemcpyAsync(
        &self,
        _pass: &Pass,
        dst: CUdeviceptr,
        src: CUdeviceptr,
        byte_count: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemcpyAsync, &[c"cuMemcpyAsync"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemcpyAsync>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst, src, byte_count, h_stream) })
    }

    /// Calls `cuMemcpyDtoHAsync_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemcpyDtoHAsync(
        &self,
        _pass: &Pass,
        dst_host: *mut c_void,
        src_device: CUdeviceptr,
        byte_count: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemcpyDtoHAsync, &[c"cuMemcpyDtoHAsync_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemcpyDtoHAsync_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_host, src_device, byte_count, h_stream) })
    }

    /// Calls `cuMemcpyHtoDAsync_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemcpyHtoDAsync(
        &self,
        _pass: &Pass,
        dst_device: CUdeviceptr,
        src_host: *const c_void,
        byte_count: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemcpyHtoDAsync, &[c"cuMemcpyHtoDAsync_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemcpyHtoDAsync_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_device, src_host, byte_count, h_stream) })
    }

    /// Calls `cuMemsetD16Async`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemsetD16Async(
        &self,
        _pass: &Pass,
        dst_device: CUdeviceptr,
        us: u16,
        n: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemsetD16Async, &[c"cuMemsetD16Async"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemsetD16Async>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_device, us, n, h_stream) })
    }

    /// Calls `cuMemsetD2D16Async`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemsetD2D16Async(
        &self,
        _pass: &Pass,
        dst_device: CUdeviceptr,
        dst_pitch: usize,
        us: u16,
        width: usize,
        height: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemsetD2D16Async, &[c"cuMemsetD2D16Async"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemsetD2D16Async>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_device, dst_pitch, us, width, height, h_stream) })
    }

    /// Calls `cuMemsetD2D32Async`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemsetD2D32Async(
        &self,
        _pass: &Pass,
        dst_device: CUdeviceptr,
        dst_pitch: usize,
        ui: u32,
        width: usize,
        height: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemsetD2D32Async, &[c"cuMemsetD2D32Async"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemsetD2D32Async>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_device, dst_pitch, ui, width, height, h_stream) })
    }

    /// Calls `cuMemsetD2D8Async`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemsetD2D8Async(
        &self,
        _pass: &Pass,
        dst_device: CUdeviceptr,
        dst_pitch: usize,
        uc: u8,
        width: usize,
        height: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuMemsetD2D8Async, &[c"cuMemsetD2D8Async"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemsetD2D8Async>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_device, dst_pitch, uc, width, height, h_stream) })
    }

    /// Calls `cuMemsetD32Async`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemsetD32Async(
        &self,
        _pass: &Pass,
        dst_device: CUdeviceptr,
        ui: u32,
        n: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemsetD32Async, &[c"cuMemsetD32Async"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemsetD32Async>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_device, ui, n, h_stream) })
    }

    /// Calls `cuMemsetD8Async`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuMemsetD8Async(
        &self,
        _pass: &Pass,
        dst_device: CUdeviceptr,
        uc: u8,
        n: usize,
        h_stream: CUstream,
    ) -> CuResult {
        let at = self.library.address(&self.addresses.cuMemsetD8Async, &[c"cuMemsetD8Async"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuMemsetD8Async>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dst_device, uc, n, h_stream) })
    }

    /// Calls `cuModuleGetFunction`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuModuleGetFunction(
        &self,
        hfunc: *mut CUfunction,
        hmod: CUmodule,
        name: *const c_char,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuModuleGetFunction, &[c"cuModuleGetFunction"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuModuleGetFunction>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(hfunc, hmod, name) })
    }

    /// Calls `cuModuleGetGlobal_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuModuleGetGlobal(
        &self,
        dptr: *mut CUdeviceptr,
        bytes: *mut usize,
        hmod: CUmodule,
        name: *const c_char,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuModuleGetGlobal, &[c"cuModuleGetGlobal_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuModuleGetGlobal_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dptr, bytes, hmod, name) })
    }

    /// Calls `cuModuleGetLoadingMode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuModuleGetLoadingMode(&self, mode: *mut CUmoduleLoadingMode) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuModuleGetLoadingMode, &[c"cuModuleGetLoadingMode"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuModuleGetLoadingMode>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(mode) })
    }

    /// Calls `cuModuleLoadDataEx`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuModuleLoadDataEx(
        &self,
        module: *mut CUmodule,
        image: *const c_void,
        num_options: u32,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuModuleLoadDataEx, &[c"cuModuleLoadDataEx"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuModuleLoadDataEx>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(module, image, num_options, options, option_values) })
    }

    /// Calls `cuModuleUnload`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuModuleUnload(&self, hmod: CUmodule) -> CuResult {
        let at = self.library.address(&self.addresses.cuModuleUnload, &[c"cuModuleUnload"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuModuleUnload>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(hmod) })
    }

    /// Calls `cuOccupancyAvailableDynamicSMemPerBlock`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuOccupancyAvailableDynamicSMemPerBlock(
        &self,
        dynamic_smem_size: *mut usize,
        func: CUfunction,
        num_blocks: i32,
        block_size: i32,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuOccupancyAvailableDynamicSMemPerBlock,
            &[c"cuOccupancyAvailableDynamicSMemPerBlock"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuOccupancyAvailableDynamicSMemPerBlock>(
                at,
            )
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(dynamic_smem_size, func, num_blocks, block_size) })
    }

    /// Calls `cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        &self,
        num_blocks: *mut i32,
        func: CUfunction,
        block_size: i32,
        dynamic_s_mem_size: usize,
        flags: u32,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            &[c"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<
                *mut c_void,
                prototypes::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            >(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(num_blocks, func, block_size, dynamic_s_mem_size, flags) })
    }

    /// Calls `cuOccupancyMaxActiveClusters`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuOccupancyMaxActiveClusters(
        &self,
        num_clusters: *mut i32,
        func: CUfunction,
        config: *const CUlaunchConfig,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuOccupancyMaxActiveClusters,
            &[c"cuOccupancyMaxActiveClusters"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuOccupancyMaxActiveClusters>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(num_clusters, func, config) })
    }

    /// Calls `cuOccupancyMaxPotentialClusterSize`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuOccupancyMaxPotentialClusterSize(
        &self,
        cluster_size: *mut i32,
        func: CUfunction,
        config: *const CUlaunchConfig,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuOccupancyMaxPotentialClusterSize,
            &[c"cuOccupancyMaxPotentialClusterSize"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuOccupancyMaxPotentialClusterSize>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(cluster_size, func, config) })
    }

    /// Calls `cuProfilerStart`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuProfilerStart(&self) -> CuResult {
        let at = self.library.address(&self.addresses.cuProfilerStart, &[c"cuProfilerStart"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuProfilerStart>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function() })
    }

    /// Calls `cuProfilerStop`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuProfilerStop(&self) -> CuResult {
        let at = self.library.address(&self.addresses.cuProfilerStop, &[c"cuProfilerStop"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuProfilerStop>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function() })
    }

    /// Calls `cuStreamCreateWithPriority`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuStreamCreateWithPriority(
        &self,
        ph_stream: *mut CUstream,
        flags: u32,
        priority: i32,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuStreamCreateWithPriority,
            &[c"cuStreamCreateWithPriority"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuStreamCreateWithPriority>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(ph_stream, flags, priority) })
    }

    /// Calls `cuStreamDestroy_v2`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuStreamDestroy(&self, h_stream: CUstream) -> CuResult {
        let at = self.library.address(&self.addresses.cuStreamDestroy, &[c"cuStreamDestroy_v2"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuStreamDestroy_v2>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_stream) })
    }

    /// Calls `cuStreamGetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuStreamGetAttribute(
        &self,
        h_stream: CUstream,
        attr: CUstreamAttrID,
        value: *mut CUstreamAttrValue,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuStreamGetAttribute, &[c"cuStreamGetAttribute"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuStreamGetAttribute>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_stream, attr, value) })
    }

    /// Calls `cuStreamQuery`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuStreamQuery(&self, h_stream: CUstream) -> CuResult {
        let at = self.library.address(&self.addresses.cuStreamQuery, &[c"cuStreamQuery"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, prototypes::cuStreamQuery>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_stream) })
    }

    /// Calls `cuStreamSetAttribute`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuStreamSetAttribute(
        &self,
        h_stream: CUstream,
        attr: CUstreamAttrID,
        param: *const CUstreamAttrValue,
    ) -> CuResult {
        let at = self
            .library
            .address(&self.addresses.cuStreamSetAttribute, &[c"cuStreamSetAttribute"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuStreamSetAttribute>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_stream, attr, param) })
    }

    /// Calls `cuStreamSynchronize`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuStreamSynchronize(&self, h_stream: CUstream) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuStreamSynchronize, &[c"cuStreamSynchronize"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuStreamSynchronize>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_stream) })
    }

    /// Calls `cuStreamWaitEvent`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuStreamWaitEvent(
        &self,
        h_stream: CUstream,
        h_event: CUevent,
        flags: u32,
    ) -> CuResult {
        let at =
            self.library.address(&self.addresses.cuStreamWaitEvent, &[c"cuStreamWaitEvent"])?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, prototypes::cuStreamWaitEvent>(at) };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(h_stream, h_event, flags) })
    }

    /// Calls `cuThreadExchangeStreamCaptureMode`.
    ///
    /// # Safety
    /// Handles and pointers must be as CUDA's documentation of the function requires.
    pub unsafe fn cuThreadExchangeStreamCaptureMode(
        &self,
        mode: *mut CUstreamCaptureMode,
    ) -> CuResult {
        let at = self.library.address(
            &self.addresses.cuThreadExchangeStreamCaptureMode,
            &[c"cuThreadExchangeStreamCaptureMode"],
        )?;
        // SAFETY: this is the address of the library's function of that name, and cuda.h declares
        // it with this type.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, prototypes::cuThreadExchangeStreamCaptureMode>(at)
        };
        // SAFETY: the caller keeps to the function's documentation.
        CuError::check(unsafe { function(mode) })
    }
}
