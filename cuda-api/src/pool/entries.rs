//! The macro that exports the entry points for memory pools.

/// Exports the entry points for memory pools for a [`Library`](crate::pool::Library). The second
/// argument is the library's [`EntryPoint`](crate::entries::EntryPoint), and the third a function
/// that says whether a null stream means the thread's default stream.
#[macro_export]
macro_rules! pool_entries {
    ($library:ty, $entry_point:ty, $is_per_thread:path) => {
        use std::ffi::c_void as Void;
        use $crate::args::{In, Out};
        use $crate::pool::{graphs, pools as shared, shared as sharing};
        use $crate::sys::*;

        $crate::entries! { $entry_point;
            fn cuDeviceGetDefaultMemPool(to: Out<CUmemoryPool>, device: i32) {
                shared::default::<$library>(to, device)
            }
            fn cuMemGetDefaultMemPool(
                to: Out<CUmemoryPool>, location: *mut CUmemLocation, kind: CUmemAllocationType,
            ) {
                // SAFETY: the program passes a pointer to a location.
                let location = unsafe { In::from_address(location as usize) };
                shared::default_at::<$library>(to, location, kind)
            }
            fn cuDeviceGetMemPool(to: Out<CUmemoryPool>, device: i32) {
                shared::current::<$library>(to, device)
            }
            fn cuMemGetMemPool(
                to: Out<CUmemoryPool>, location: *mut CUmemLocation, kind: CUmemAllocationType,
            ) {
                // SAFETY: the program passes a pointer to a location.
                let location = unsafe { In::from_address(location as usize) };
                shared::current_at::<$library>(to, location, kind)
            }
            fn cuDeviceSetMemPool(device: i32, pool: CUmemoryPool) {
                shared::set_current::<$library>(device, pool)
            }
            fn cuMemSetMemPool(
                location: *mut CUmemLocation, kind: CUmemAllocationType, pool: CUmemoryPool,
            ) {
                // SAFETY: the program passes a pointer to a location.
                let location = unsafe { In::from_address(location as usize) };
                shared::set_current_at::<$library>(location, kind, pool)
            }
            fn cuMemPoolCreate(to: Out<CUmemoryPool>, properties: In<CUmemPoolProps>) {
                shared::create::<$library>(to, properties)
            }
            fn cuMemPoolDestroy(pool: CUmemoryPool) {
                shared::destroy::<$library>(pool)
            }
            fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) {
                shared::trim::<$library>(pool, keep)
            }
            fn cuMemPoolSetAttribute(
                pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Out<Void>,
            ) {
                shared::set_attribute::<$library>(pool, attribute, value)
            }
            fn cuMemPoolGetAttribute(
                pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Out<Void>,
            ) {
                shared::attribute::<$library>(pool, attribute, value)
            }
            fn cuMemPoolSetAccess(pool: CUmemoryPool, map: In<CUmemAccessDesc>, count: usize) {
                // SAFETY: the program's array has `count` elements.
                unsafe { shared::set_access::<$library>(pool, map, count) }
            }
            fn cuMemPoolGetAccess(
                flags: Out<CUmemAccess_flags>, pool: CUmemoryPool, location: *mut CUmemLocation,
            ) {
                // SAFETY: the program passes a pointer to a location.
                let location = unsafe { In::from_address(location as usize) };
                shared::access::<$library>(flags, pool, location)
            }
            fn cuMemPoolExportToShareableHandle(
                to: Out<Void>, pool: CUmemoryPool, kind: CUmemAllocationHandleType, flags: u64,
            ) {
                sharing::export::<$library>(to, pool, kind, flags)
            }
            fn cuMemPoolImportFromShareableHandle(
                to: Out<CUmemoryPool>, handle: *mut Void, kind: CUmemAllocationHandleType,
                flags: u64,
            ) {
                sharing::import::<$library>(to, handle, kind, flags)
            }
            fn cuMemPoolExportPointer(to: Out<CUmemPoolPtrExportData>, address: u64) {
                sharing::export_pointer::<$library>(to, address)
            }
            fn cuMemPoolImportPointer(
                to: Out<CUdeviceptr>, pool: CUmemoryPool, data: *mut CUmemPoolPtrExportData,
            ) {
                // SAFETY: the program passes a pointer to the data.
                let data = unsafe { In::from_address(data as usize) };
                sharing::import_pointer::<$library>(to, pool, data)
            }
            fn cuDeviceGraphMemTrim(device: i32) {
                graphs::trim::<$library>(device)
            }
            fn cuDeviceGetGraphMemAttribute(
                device: i32, attribute: CUgraphMem_attribute, value: Out<Void>,
            ) {
                graphs::attribute::<$library>(device, attribute, value)
            }
            fn cuDeviceSetGraphMemAttribute(
                device: i32, attribute: CUgraphMem_attribute, value: Out<Void>,
            ) {
                graphs::set_attribute::<$library>(device, attribute, value)
            }
            fn cuMemAllocAsync, fn cuMemAllocAsync_ptsz(
                to: Out<CUdeviceptr>, bytes: usize, stream: CUstream,
            ) |null| {
                shared::allocate::<$library>(to, bytes, None, stream, $is_per_thread(null))
            }
            fn cuMemAllocFromPoolAsync, fn cuMemAllocFromPoolAsync_ptsz(
                to: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream,
            ) |null| {
                shared::allocate::<$library>(to, bytes, Some(pool), stream, $is_per_thread(null))
            }
        }
    };
}
