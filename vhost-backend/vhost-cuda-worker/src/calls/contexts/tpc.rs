//! The driver's private table 1734DC26-800D-4745-8726-C0F1E7DD8BCA, which cuBLAS reads before
//! matrix products of half-precision numbers. The table describes the physical GPU, so the worker
//! returns the driver's data to the guest.
//!
//! The table isn't documented. It has 17 words: its size in bytes, then functions. Function 4
//! stores the addresses of two arrays from `malloc`, with one byte for each texture processing
//! cluster, and function 13 frees them. (Observed with driver 580 on an H200, with 66 clusters.)

use cuda_api::export_tables::{TPC_TABLES_UUID, uuid};
use cuda_api::sys::{CUdevice_attribute, CUresult, CUuuid};
use protocol::calls as api;
use protocol::limits::TPCS_MAX;
use std::ffi::c_void;

use crate::calls::commands::cx::Cx;
use crate::driver::{CuError, CuResult};

const TABLE_BYTES: usize = 17 * size_of::<usize>();
const GET: usize = 4;
const FREE: usize = 13;
/// The number of multiprocessors in a texture processing cluster, on all GPUs since Pascal.
const MULTIPROCESSORS: i32 = 2;

type Get = unsafe extern "C" fn(*mut *mut u8, *mut *mut u8) -> CUresult;
type Free = unsafe extern "C" fn(*mut u8, *mut u8) -> CUresult;

pub(in crate::calls) fn vcuda_tpc_tables(
    cx: &Cx<'_>,
    _: api::VcudaTpcTables,
) -> CuResult<api::VcudaTpcTablesAnswer> {
    let device = cx.enter()?.device;
    let driver = cx.driver();
    let id = CUuuid { bytes: uuid(TPC_TABLES_UUID).map(|byte| byte as _) };
    let (mut table, mut multiprocessors) = (std::ptr::null::<c_void>(), 0);
    // SAFETY: the pointers are to local variables.
    unsafe {
        driver.cuGetExportTable(&mut table, &id)?;
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        driver.cuDeviceGetAttribute(&mut multiprocessors, attribute, device)?;
    }
    let table = table.cast::<usize>();
    // SAFETY: if the driver returns a table, its first word is the table's size.
    if table.is_null() || unsafe { *table } != TABLE_BYTES {
        return Err(CuError::NOT_SUPPORTED);
    }
    // SAFETY: a table of this size contains these functions, which have been observed to have these
    // types. A word that isn't 0 is the address of a function.
    let (get, free) = unsafe {
        let (get, free) = (*table.add(GET), *table.add(FREE));
        if get == 0 || free == 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
        (std::mem::transmute::<usize, Get>(get), std::mem::transmute::<usize, Free>(free))
    };
    let (mut first, mut second) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the function writes only to local variables, and a context is current, as it
    // requires.
    CuError::check(unsafe { get(&mut first, &mut second) })?;
    let count = usize::try_from(multiprocessors / MULTIPROCESSORS).unwrap_or(0).min(TPCS_MAX);
    // SAFETY: `get` has stored the addresses of memory from malloc, or null.
    let copies = unsafe { [copied(first, count), copied(second, count)] };
    // SAFETY: the arrays come from `get`, and nothing uses them any more. If freeing them failed,
    // they would only leak.
    let _ = unsafe { free(first, second) };
    let [Some(first), Some(second)] = copies else { return Err(CuError::NOT_SUPPORTED) };
    Ok(api::VcudaTpcTablesAnswer { first, second })
}

/// Copies the first `count` bytes of memory from malloc. Returns `None` if the memory is shorter.
///
/// # Safety
///
/// The pointer must be null, or come from malloc and not be freed yet.
unsafe fn copied(bytes: *mut u8, count: usize) -> Option<Vec<u8>> {
    // SAFETY: the caller vouches for the pointer. It's read only if the memory has at least `count`
    // bytes, which the driver has initialized.
    unsafe {
        let enough = !bytes.is_null() && libc::malloc_usable_size(bytes.cast()) >= count;
        enough.then(|| std::slice::from_raw_parts(bytes, count).to_vec())
    }
}
