//! Memory pools and stream-ordered allocation. cuda-api has the entry points; this module
//! implements the guest library's part.

use crate::capture;
use crate::context::{self, current};
use crate::driver::{Driver, driver};
use crate::entry::contexts::context::ensure_primary;
use crate::entry::macros::EntryPoint;
use crate::entry::memory::allocation::note_on;
use crate::entry::streams::stream::{is_per_thread, null_of, stream_id};
use crate::error::{CuError, CuResult};
use crate::graph::Guest;
use crate::handles::Handle;
use crate::memory::Kind;
use crate::objects::Stream;
use crate::shareable::{export_pool, pool_of, reap};
use crate::thread;
use cuda_api::graph::alloc::captured_alloc;
use cuda_api::pool::{Library, PoolInfo, PoolKind, Pools, SharedPool};
use protocol::calls::{
    CuMemAllocAsync, CuMemAllocFromPoolAsync, CuMemPoolDestroy, CuMemPoolTrimTo,
    VcudaIpcGetMemHandle, VcudaIpcOpenMemHandle, VcudaMemPoolCreate, VcudaMemPoolGet,
    VcudaMemPoolSet,
};
use protocol::ids::{PoolId, StreamId};
use std::ffi::c_int;
use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock};

cuda_api::pool_entries!(Guest, EntryPoint, is_per_thread);

static POOLS: LazyLock<Pools> = LazyLock::new(Pools::default);

/// Returns the worker's ordinal of a device.
fn number(driver: &Driver, device: i32) -> CuResult<i32> {
    Ok(driver.device(device)?.number)
}

impl Library for Guest {
    fn pools() -> &'static Pools {
        &POOLS
    }

    fn check_device(device: i32) -> CuResult {
        driver()?.device(device).map(drop)
    }

    fn can_access(device: i32, holder: i32) -> CuResult<bool> {
        driver()?.can_access(device, holder)
    }

    fn create(device: i32, kind: PoolKind, max_size: usize) -> CuResult<u64> {
        let driver = driver()?;
        let dev = number(driver, device)?;
        if kind == PoolKind::Default {
            return Ok(PoolId::default_of(dev).0);
        }
        let pool: PoolId = driver.session.mint();
        driver.session.call(&VcudaMemPoolCreate { pool, dev, max_size: max_size as u64 })?;
        Ok(pool.0)
    }

    fn destroy(id: u64) -> CuResult {
        driver()?.session.call(&CuMemPoolDestroy { pool: PoolId(id) })
    }

    fn trim(id: u64, keep: usize) -> CuResult {
        let call = CuMemPoolTrimTo { pool: PoolId(id), min_bytes_to_keep: keep };
        driver()?.session.call(&call)
    }

    fn set(id: u64, attribute: CUmemPool_attribute, value: u64) -> CuResult {
        let call = VcudaMemPoolSet { pool: PoolId(id), attribute: attribute.0, value };
        driver()?.session.call(&call)
    }

    fn get(id: u64, attribute: CUmemPool_attribute) -> CuResult<u64> {
        let call = VcudaMemPoolGet { pool: PoolId(id), attribute: attribute.0 };
        Ok(driver()?.session.call(&call)?.value)
    }

    fn device_of(stream: CUstream, _per_thread: bool) -> CuResult<i32> {
        let driver = context::driver()?;
        match StreamId(stream as u64).is_cudas() {
            true => Ok(current()?.device),
            false => Ok(driver.handles.get::<Arc<Stream>>(stream as Handle)?.context.device),
        }
    }

    fn allocate(
        pool: &PoolInfo,
        bytes: usize,
        stream: CUstream,
        per_thread: bool,
    ) -> CuResult<CUdeviceptr> {
        let (driver, stream, null) = (context::driver()?, stream as Handle, null_of(per_thread));
        let h_stream = stream_id(driver, stream, null)?;
        if capture::captured(driver, stream, null)? {
            let captured = capture::describe(driver, stream, null)?;
            return captured_alloc::<Guest>(&captured, pool.device, bytes);
        }
        let id = PoolId(pool.id);
        let address = if id == PoolId::default_of(number(driver, current()?.device)?) {
            driver.session.call(&CuMemAllocAsync { bytesize: bytes, h_stream })?.dptr
        } else {
            let call = CuMemAllocFromPoolAsync { bytesize: bytes, pool: id, h_stream };
            driver.session.call(&call)?.dptr
        };
        note_on(driver, address, bytes, (Kind::Pool(pool.handle), pool.device))?;
        Ok(address)
    }

    fn export(pool: SharedPool) -> CuResult<OwnedFd> {
        let driver = driver()?;
        reap(driver);
        let [first, second] = pool.name;
        export_pool([first, second, number(driver, pool.device)? as u64, 0])
    }

    fn import(descriptor: c_int) -> CuResult<SharedPool> {
        let [first, second, number, _] = pool_of(descriptor)?;
        let is_meant = |found: i32| u64::try_from(found).is_ok_and(|found| found == number);
        let device = driver()?.devices.iter().position(|device| is_meant(device.number));
        let device = device.ok_or(CuError::INVALID_DEVICE)? as i32;
        Ok(SharedPool { name: [first, second], device })
    }

    fn pool_of(address: CUdeviceptr) -> Option<usize> {
        let found = driver().ok()?.memory.find(address).filter(|found| found.base == address)?;
        match found.kind {
            Kind::Pool(handle) => Some(handle),
            _ => None,
        }
    }

    fn export_pointer(address: CUdeviceptr) -> CuResult<[u64; 6]> {
        let answer = driver()?.session.call(&VcudaIpcGetMemHandle { ptr: address })?;
        let [a, b, c, d] = answer.token;
        Ok([a, b, c, d, answer.offset, answer.size])
    }

    fn import_pointer(pool: &PoolInfo, allocation: [u64; 6]) -> CuResult<CUdeviceptr> {
        let context = match current() {
            Err(CuError::INVALID_CONTEXT) => ensure_primary(pool.device)?,
            found => found?,
        };
        let driver = driver()?;
        let [a, b, c, d, offset, size] = allocation;
        let call = VcudaIpcOpenMemHandle { token: [a, b, c, d], offset, size };
        thread::within(context, || {
            let address = driver.session.call(&call)?.ptr;
            note_on(driver, address, size as usize, (Kind::Pool(pool.handle), pool.device))?;
            Ok(address)
        })
    }
}
