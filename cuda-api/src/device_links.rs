//! The entry points that describe the links between a device and the host, and between devices. No
//! link supports atomic operations natively, and devices send no notifications
//! ([`notifications`](crate::notifications)), so guest-libcuda and softgpu share these entry
//! points.

use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{CUatomicOperation, CUdevice_P2PAttribute as Attribute};

/// Returns the capabilities of a link for each operation: none.
///
/// # Safety
///
/// Both pointers must be null, or point to arrays of `count` elements.
pub unsafe fn no_atomics(
    capabilities: Out<u32>,
    operations: In<CUatomicOperation>,
    count: u32,
) -> CuResult {
    capabilities.check()?;
    let count = count as usize;
    // SAFETY: the caller promises arrays of this length.
    let (capabilities, operations) =
        unsafe { (capabilities.array(count), operations.array(count)) };
    let known =
        |operation: &CUatomicOperation| operation.0 < CUatomicOperation::CU_ATOMIC_OPERATION_MAX.0;
    let operations = operations.to_vec()?;
    if operations.is_empty() || !operations.iter().all(known) {
        return Err(CuError::INVALID_VALUE);
    }
    capabilities.set_all(operations.iter().map(|_| 0))
}

/// Fails if a link between two different devices doesn't have this attribute.
pub fn check_attribute(attribute: Attribute) -> CuResult {
    match attribute {
        Attribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
        | Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
        | Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
        | Attribute::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED
        | Attribute::CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => Ok(()),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Fails if a device is its own peer.
pub fn check_peers(device: i32, peer: i32) -> CuResult {
    if device == peer { Err(CuError::INVALID_DEVICE) } else { Ok(()) }
}

/// Exports the entry points for atomic operations of links, and for notifications. The arguments
/// are the library's [`EntryPoint`](crate::entries::EntryPoint), and its function that fails if a
/// device doesn't exist.
#[macro_export]
macro_rules! device_link_entries {
    ($entry_point:ty, $check_device:path) => {
        $crate::entries! { $entry_point;
            fn cuDeviceGetHostAtomicCapabilities(
                capabilities: $crate::args::Out<u32>,
                operations: $crate::args::In<$crate::sys::CUatomicOperation>,
                count: u32, device: i32,
            ) {
                $check_device(device)?;
                // SAFETY: the program passes arrays of `count` elements.
                unsafe { $crate::device_links::no_atomics(capabilities, operations, count) }
            }
            fn cuDeviceGetP2PAtomicCapabilities(
                capabilities: $crate::args::Out<u32>,
                operations: $crate::args::In<$crate::sys::CUatomicOperation>,
                count: u32, device: i32, peer: i32,
            ) {
                $check_device(device)?;
                $check_device(peer)?;
                capabilities.check()?;
                operations.get()?;
                $crate::device_links::check_peers(device, peer)?;
                // SAFETY: the program passes arrays of `count` elements.
                unsafe { $crate::device_links::no_atomics(capabilities, operations, count) }
            }
            fn cuDeviceRegisterAsyncNotification(
                device: i32, callback: $crate::sys::CUasyncCallback,
                _data: *mut ::std::ffi::c_void,
                handle: $crate::args::Out<$crate::sys::CUasyncCallbackHandle>,
            ) {
                $check_device(device)?;
                $crate::notifications::register(device, callback, handle)
            }
            fn cuDeviceUnregisterAsyncNotification(
                device: i32, handle: $crate::sys::CUasyncCallbackHandle,
            ) {
                $check_device(device)?;
                $crate::notifications::unregister(device, handle)
            }
        }
    };
}
