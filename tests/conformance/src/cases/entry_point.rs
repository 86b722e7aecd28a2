//! Versions, and the addresses of entry points.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::{CUdriverProcAddressQueryResult as Found, CUresult, CUuuid};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

type Count = unsafe extern "C" fn(*mut i32) -> CUresult;

/// Calls `cuDeviceGetCount` by its address.
fn count(address: *mut c_void) -> (i32, CUresult) {
    let mut count = -1;
    // SAFETY: the callers pass the address of a `cuDeviceGetCount`, which has this type.
    let function: Count = unsafe { std::mem::transmute(address) };
    // SAFETY: the function stores the count in a local variable.
    let result = unsafe { function(&mut count) };
    (count, result)
}

cases! {
    fn the_driver_has_a_version(cuda) {
        let version = get!(cuda, cuDriverGetVersion(@))?;
        ensure!(version >= 12_000, "the version is {version}");
        refused!(cu!(cuda, cuDriverGetVersion(null_mut())), INVALID_VALUE);
    }

    fn entry_points_are_found_by_name_and_version(cuda) {
        cu!(cuda, cuInit(0))?;
        let mut address = get!(cuda, cuGetProcAddress(c"cuDeviceGetCount".as_ptr(), @, 11_040, 0))?;
        ensure!(!address.is_null(), "the address is null");
        let (devices, result) = count(address);
        ensure!(devices > 0 && result.0 == 0, "{devices} devices, result {result:?}");
        let mut found = Found(77);
        let mut second = null_mut();
        let name = c"cuDeviceGetCount".as_ptr();
        cu!(cuda, cuGetProcAddress_v2(name, &mut second, 12_000, 0, &mut found))?;
        same!(found, Found::CU_GET_PROC_ADDRESS_SUCCESS);
        same!(count(second).0, devices);
        let missing = c"cuNothing".as_ptr();
        let called = cu!(cuda, cuGetProcAddress_v2(missing, &mut second, 12_000, 0, &mut found));
        match called {
            Ok(()) => ensure!(second.is_null(), "an unknown function has an address"),
            Err(_) => refused!(called, NOT_FOUND),
        }
        same!(found, Found::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        let flags = 1 << 40;
        let called = cu!(cuda, cuGetProcAddress_v2(name, &mut second, 12_000, flags, &mut found));
        refused!(called, INVALID_VALUE);
        refused!(cu!(cuda, cuGetProcAddress(missing, &mut address, 12_000, 0)), NOT_FOUND);
    }

    fn unknown_tables_are_refused(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut table, id) = (null(), CUuuid { bytes: [1; 16] });
        refused!(cu!(cuda, cuGetExportTable(&mut table, &id)), INVALID_VALUE | NOT_FOUND);
        ensure!(table.is_null(), "an unknown table has an address");
        // The UUID of the private function table with which CUDA's runtime manages the primary
        // context.
        let id = [
            0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
            0xf9,
        ];
        let id = CUuuid { bytes: id.map(|byte: u8| byte as std::ffi::c_char) };
        cu!(cuda, cuGetExportTable(&mut table, &id))?;
        ensure!(!table.is_null(), "the table has no address");
    }
}
