//! Initialisation, entry points and errors.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cuda_api::{error_text, export_tables};

use super::{CUresult, cuda, put};
use crate::state::device::DRIVER_VERSION;
use crate::state::primary;

cuda! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        primary::init()
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        put(version, DRIVER_VERSION)
    }

    fn cuGetExportTable(table: *mut *const c_void, id: *const [u8; 16]) {
        let found = export_tables::get(&super::get(id)?, &super::tables::TABLES);
        put(table, found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?)
    }

    fn cuGetErrorName(error: c_uint, name: *mut *const c_char) {
        match error_text::name(error) {
            Some(found) => put(name, found.as_ptr()),
            None => {
                put(name, std::ptr::null())?;
                Err(CUresult::CUDA_ERROR_INVALID_VALUE)
            }
        }
    }

    fn cuGetErrorString(error: c_uint, string: *mut *const c_char) {
        match error_text::description(error) {
            Some(found) => put(string, found.as_ptr()),
            None => {
                put(string, std::ptr::null())?;
                Err(CUresult::CUDA_ERROR_INVALID_VALUE)
            }
        }
    }

    fn cuProfilerStart() {
        crate::state::context::current().map(drop)
    }

    fn cuProfilerStop() {
        crate::state::context::current().map(drop)
    }
}
