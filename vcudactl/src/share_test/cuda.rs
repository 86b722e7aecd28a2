//! The functions of the guest's libcuda.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::cuda::{Handle, Pointer, functions};

functions! {
    init = "cuInit"(flags: c_uint),
    device_count = "cuDeviceGetCount"(count: *mut c_int),
    retain = "cuDevicePrimaryCtxRetain"(context: *mut Handle, device: c_int),
    release = "cuDevicePrimaryCtxRelease_v2"(device: c_int),
    set_current = "cuCtxSetCurrent"(context: Handle),
    synchronize = "cuCtxSynchronize"(),
    alloc = "cuMemAlloc_v2"(address: *mut Pointer, bytes: usize),
    free = "cuMemFree_v2"(address: Pointer),
    copy_to = "cuMemcpyHtoD_v2"(to: Pointer, from: *const c_void, bytes: usize),
    copy_from = "cuMemcpyDtoH_v2"(to: *mut c_void, from: Pointer, bytes: usize),
    load_module = "cuModuleLoadData"(module: *mut Handle, image: *const c_void),
    unload_module = "cuModuleUnload"(module: Handle),
    function = "cuModuleGetFunction"(function: *mut Handle, module: Handle, name: *const c_char),
    launch = "cuLaunchKernel"(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle,
        params: *mut *mut c_void, extra: *mut *mut c_void
    ),
}
