//! The functions of libcuda that `test` and `bench` call.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::functions::{Handle, Pointer, functions};

/// `CUmemAllocationProp` of cuda.h.
#[repr(C)]
#[derive(Default)]
pub(crate) struct AllocationProp {
    pub(crate) kind: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: [c_int; 2],
    pub(crate) windows: usize,
    pub(crate) flags: [u8; 8],
}

/// `CUmemAccessDesc` of cuda.h.
#[repr(C)]
pub(crate) struct AccessDesc {
    pub(crate) location: [c_int; 2],
    pub(crate) flags: c_int,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2` of cuda.h.
#[repr(C)]
pub(crate) struct KernelNode {
    pub(crate) function: Handle,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) params: *mut *mut c_void,
    pub(crate) extra: *mut *mut c_void,
    pub(crate) kernel: Handle,
    pub(crate) context: Handle,
}

// The structures must have the same sizes as in cuda.h.
const _: () = assert!(size_of::<AllocationProp>() == 32);
const _: () = assert!(size_of::<AccessDesc>() == 12);
const _: () = assert!(size_of::<KernelNode>() == 72);

functions! {
    init = "cuInit"(flags: c_uint),
    driver_version = "cuDriverGetVersion"(version: *mut c_int),
    device_count = "cuDeviceGetCount"(count: *mut c_int),
    device_name = "cuDeviceGetName"(name: *mut c_char, bytes: c_int, device: c_int),
    total_memory = "cuDeviceTotalMem_v2"(bytes: *mut usize, device: c_int),
    retain = "cuDevicePrimaryCtxRetain"(context: *mut Handle, device: c_int),
    release_primary = "cuDevicePrimaryCtxRelease_v2"(device: c_int),
    set_current = "cuCtxSetCurrent"(context: Handle),
    synchronize = "cuCtxSynchronize"(),
    stream_create = "cuStreamCreate"(stream: *mut Handle, flags: c_uint),
    stream_sync = "cuStreamSynchronize"(stream: Handle),
    stream_query = "cuStreamQuery"(stream: Handle),
    event_create = "cuEventCreate"(event: *mut Handle, flags: c_uint),
    event_record = "cuEventRecord"(event: Handle, stream: Handle),
    event_sync = "cuEventSynchronize"(event: Handle),
    event_destroy = "cuEventDestroy_v2"(event: Handle),
    mem_info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize),
    alloc = "cuMemAlloc_v2"(address: *mut Pointer, bytes: usize),
    free = "cuMemFree_v2"(address: Pointer),
    alloc_async = "cuMemAllocAsync"(address: *mut Pointer, bytes: usize, stream: Handle),
    free_async = "cuMemFreeAsync"(address: Pointer, stream: Handle),
    host_alloc = "cuMemAllocHost_v2"(address: *mut *mut c_void, bytes: usize),
    host_free = "cuMemFreeHost"(address: *mut c_void),
    host_register = "cuMemHostRegister_v2"(address: *mut c_void, bytes: usize, flags: c_uint),
    host_unregister = "cuMemHostUnregister"(address: *mut c_void),
    create = "cuMemCreate"(
        handle: *mut u64, bytes: usize, prop: *const AllocationProp, flags: u64
    ),
    release = "cuMemRelease"(handle: u64),
    reserve = "cuMemAddressReserve"(
        address: *mut Pointer, bytes: usize, alignment: usize, wanted: Pointer, flags: u64
    ),
    address_free = "cuMemAddressFree"(address: Pointer, bytes: usize),
    map = "cuMemMap"(address: Pointer, bytes: usize, offset: usize, handle: u64, flags: u64),
    unmap = "cuMemUnmap"(address: Pointer, bytes: usize),
    set_access = "cuMemSetAccess"(
        address: Pointer, bytes: usize, access: *const AccessDesc, count: usize
    ),
    copy_to = "cuMemcpyHtoD_v2"(to: Pointer, from: *const c_void, bytes: usize),
    copy_from = "cuMemcpyDtoH_v2"(to: *mut c_void, from: Pointer, bytes: usize),
    copy_from_async = "cuMemcpyDtoHAsync_v2"(
        to: *mut c_void, from: Pointer, bytes: usize, stream: Handle
    ),
    load_module = "cuModuleLoadData"(module: *mut Handle, image: *const c_void),
    unload_module = "cuModuleUnload"(module: Handle),
    function = "cuModuleGetFunction"(function: *mut Handle, module: Handle, name: *const c_char),
    launch = "cuLaunchKernel"(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle,
        params: *mut *mut c_void, extra: *mut *mut c_void
    ),
    link_create = "cuLinkCreate_v2"(
        count: c_uint, options: *mut c_int, values: *mut *mut c_void, state: *mut Handle
    ),
    link_add = "cuLinkAddData_v2"(
        state: Handle, kind: c_int, data: *mut c_void, bytes: usize, name: *const c_char,
        count: c_uint, options: *mut c_int, values: *mut *mut c_void
    ),
    link_complete = "cuLinkComplete"(state: Handle, cubin: *mut *mut c_void, bytes: *mut usize),
    link_destroy = "cuLinkDestroy"(state: Handle),
    graph_create = "cuGraphCreate"(graph: *mut Handle, flags: c_uint),
    graph_add_kernel = "cuGraphAddKernelNode_v2"(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize,
        kernel: *const KernelNode
    ),
    graph_instantiate = "cuGraphInstantiateWithFlags"(exec: *mut Handle, graph: Handle, flags: u64),
    graph_set_kernel = "cuGraphExecKernelNodeSetParams_v2"(
        exec: Handle, node: Handle, kernel: *const KernelNode
    ),
    graph_launch = "cuGraphLaunch"(exec: Handle, stream: Handle),
    graph_exec_destroy = "cuGraphExecDestroy"(exec: Handle),
    graph_destroy = "cuGraphDestroy"(graph: Handle),
}
