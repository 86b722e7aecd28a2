//! Devices and their properties.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::{
    CUasyncCallbackHandle, CUasyncNotificationInfo, CUatomicOperation,
    CUdevice_attribute as Attribute, CUflushGPUDirectRDMAWritesScope,
    CUflushGPUDirectRDMAWritesTarget, CUuuid,
};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

cases! {
    fn calls_before_initialization_are_refused(cuda) {
        let (mut count, mut device) = (0, 0);
        refused!(cu!(cuda, cuDeviceGetCount(&mut count)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuDeviceGet(&mut device, 0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuInit(1)), INVALID_VALUE);
        cu!(cuda, cuInit(0))?;
        cu!(cuda, cuInit(0))?;
        cu!(cuda, cuDeviceGetCount(&mut count))?;
        ensure!(count > 0, "there are {count} devices");
    }

    fn ordinals_are_checked(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut count, mut device, mut bytes) = (0, 7, 0);
        cu!(cuda, cuDeviceGetCount(&mut count))?;
        cu!(cuda, cuDeviceGet(&mut device, 0))?;
        same!(device, 0);
        refused!(cu!(cuda, cuDeviceGet(&mut device, count)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGet(&mut device, -1)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGet(null_mut(), 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceTotalMem_v2(&mut bytes, count)), INVALID_DEVICE);
        cu!(cuda, cuDeviceTotalMem_v2(&mut bytes, 0))?;
        ensure!(bytes > 0, "the memory is {bytes}");
    }

    fn attributes_make_sense(cuda) {
        cu!(cuda, cuInit(0))?;
        same!(cuda.attribute(0, Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?, 32);
        same!(cuda.attribute(0, Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)?, 1);
        same!(cuda.attribute(0, Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?, 1024);
        let (mut major, mut minor, mut value) = (0, 0, 0);
        cu!(cuda, cuDeviceComputeCapability(&mut major, &mut minor, 0))?;
        same!(major, cuda.attribute(0, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?);
        same!(minor, cuda.attribute(0, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?);
        refused!(cu!(cuda, cuDeviceGetAttribute(&mut value, Attribute(0), 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetAttribute(&mut value, Attribute(5000), 0)), INVALID_VALUE);
        let warp = Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE;
        refused!(cu!(cuda, cuDeviceGetAttribute(null_mut(), warp, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetAttribute(&mut value, warp, 99)), INVALID_DEVICE);
    }

    fn a_device_is_found_by_its_pci_address(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut address, mut device) = ([0u8; 32], 9);
        let text = address.as_mut_ptr().cast();
        cu!(cuda, cuDeviceGetPCIBusId(text, 32, 0))?;
        cu!(cuda, cuDeviceGetByPCIBusId(&mut device, address.as_ptr().cast()))?;
        same!(device, 0);
        let other = c"ffff:ff:1f.0";
        refused!(cu!(cuda, cuDeviceGetByPCIBusId(&mut device, other.as_ptr())), INVALID_DEVICE);
        let garbage = c"not an address";
        refused!(cu!(cuda, cuDeviceGetByPCIBusId(&mut device, garbage.as_ptr())), INVALID_VALUE);
    }

    fn names_fit_their_buffers(cuda) {
        cu!(cuda, cuInit(0))?;
        let mut name = [1u8; 256];
        cu!(cuda, cuDeviceGetName(name.as_mut_ptr().cast(), 256, 0))?;
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(256);
        ensure!((1..255).contains(&length), "the name has {length} bytes");
        let mut short = [1u8; 4];
        cu!(cuda, cuDeviceGetName(short.as_mut_ptr().cast(), 3, 0))?;
        same!(short[..3], [name[0], name[1], 0]);
        same!(short[3], 1);
        refused!(cu!(cuda, cuDeviceGetName(null_mut(), 256, 0)), INVALID_VALUE);
        let mut uuid = CUuuid::default();
        cu!(cuda, cuDeviceGetUuid_v2(&mut uuid, 0))?;
        ensure!(uuid.bytes.iter().any(|byte| *byte != 0), "the UUID is zero");
        refused!(cu!(cuda, cuDeviceGetUuid_v2(null_mut(), 0)), INVALID_VALUE);
    }

    fn errors_have_names(cuda) {
        let mut text = get!(cuda, cuGetErrorName(cuda_api::sys::CUresult(2), @))?;
        // SAFETY: the library returns a string that it never frees.
        let name: CString = unsafe { std::ffi::CStr::from_ptr(text) }.to_owned();
        same!(name.as_c_str(), c"CUDA_ERROR_OUT_OF_MEMORY");
        cu!(cuda, cuGetErrorString(cuda_api::sys::CUresult(2), &mut text))?;
        // SAFETY: the library returns a string that it never frees.
        let string: CString = unsafe { std::ffi::CStr::from_ptr(text) }.to_owned();
        same!(string.as_c_str(), c"out of memory");
        let unknown = cuda_api::sys::CUresult(123_456);
        refused!(cu!(cuda, cuGetErrorName(unknown, &mut text)), INVALID_VALUE);
        refused!(cu!(cuda, cuGetErrorString(unknown, &mut text)), INVALID_VALUE);
        ensure!(text.is_null(), "the text of an unknown error isn't null");
    }

    fn links_report_their_atomic_operations(cuda) {
        cu!(cuda, cuInit(0))?;
        let operations: Vec<_> = (0..13).map(CUatomicOperation).collect();
        let mut capabilities = [u32::MAX; 13];
        let (out, list) = (capabilities.as_mut_ptr(), operations.as_ptr());
        cu!(cuda, cuDeviceGetHostAtomicCapabilities(out, list, 13, 0))?;
        // On hosts that support atomic operations, each result is a combination of
        // CUatomicOperationCapability flags. On other hosts, it's 0.
        ensure!(capabilities.iter().all(|found| *found < 128), "the result is {capabilities:?}");
        refused!(cu!(cuda, cuDeviceGetHostAtomicCapabilities(out, list, 0, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetHostAtomicCapabilities(null_mut(), list, 13, 0)), INVALID_VALUE);
        let wrong = [CUatomicOperation(99)];
        refused!(cu!(cuda, cuDeviceGetHostAtomicCapabilities(out, wrong.as_ptr(), 1, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetHostAtomicCapabilities(out, list, 1, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGetP2PAtomicCapabilities(out, list, 3, 0, 0)), INVALID_DEVICE);
    }

    fn notifications_can_be_registered(cuda) {
        unsafe extern "C" fn notified(
            _: *mut CUasyncNotificationInfo, _: *mut c_void, _: CUasyncCallbackHandle,
        ) {
        }
        cu!(cuda, cuInit(0))?;
        let mut handle = null_mut();
        cu!(cuda, cuDeviceRegisterAsyncNotification(0, Some(notified), null_mut(), &mut handle))?;
        cu!(cuda, cuDeviceUnregisterAsyncNotification(0, handle))?;
        let registered =
            cu!(cuda, cuDeviceRegisterAsyncNotification(99, Some(notified), null_mut(), &mut handle));
        refused!(registered, INVALID_DEVICE);
    }

    fn some_features_have_nothing_to_do(cuda) {
        let target = CUflushGPUDirectRDMAWritesTarget::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
        let scope = CUflushGPUDirectRDMAWritesScope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER;
        cu!(cuda, cuInit(0))?;
        refused!(cu!(cuda, cuFlushGPUDirectRDMAWrites(target, scope)), INVALID_CONTEXT);
        cuda.primary()?;
        cu!(cuda, cuFlushGPUDirectRDMAWrites(target, scope))?;
        let mode = cuda_api::sys::CUoutput_mode::CU_OUT_CSV;
        refused!(cu!(cuda, cuProfilerInitialize(c"a".as_ptr(), c"b".as_ptr(), mode)), NOT_SUPPORTED);
        // These calls succeed, but have no effect because no profiler is attached.
        cu!(cuda, cuProfilerStart())?;
        cu!(cuda, cuProfilerStop())?;
    }
}
