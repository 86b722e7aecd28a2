//! The library's exports and their lookup by name: the functions of [`api`](crate::api), and stubs
//! for all other symbols.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cuda_api::proc_address;

use crate::api::{self, CUresult, cuda, put, put_if, text};

cuda! {
    fn cuGetProcAddress(
        symbol: *const c_char,
        function: *mut *mut c_void,
        version: c_int,
        flags: u64,
    ) {
        let found = proc_address::resolve(&text(symbol)?, version, flags)
            .map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let address = found.name().and_then(address);
        put(function, address.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?.cast_mut())
    }

    fn cuGetProcAddress_v2(
        symbol: *const c_char,
        function: *mut *mut c_void,
        version: c_int,
        flags: u64,
        status: *mut c_uint,
    ) {
        let found = proc_address::resolve(&text(symbol)?, version, flags)
            .map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let address = found.name().and_then(address);
        put_if(status, found.status());
        put(function, address.unwrap_or(std::ptr::null()).cast_mut())
    }
}

const LISTS: &[&[cuda_api::exports::Entry]] = &[
    ENTRIES,
    api::context::ENTRIES,
    api::copy::ON_STREAM,
    api::copy::ON_DEFAULT,
    api::device::ENTRIES,
    api::event::ENTRIES,
    api::graph::ENTRIES,
    api::init::ENTRIES,
    api::launch::ENTRIES,
    api::launch::LAUNCHES,
    api::library::ENTRIES,
    api::memory::ENTRIES,
    api::module::ENTRIES,
    api::pool::ENTRIES,
    api::pool::ON_STREAM,
    api::stream::ENTRIES,
    api::stream::ON_STREAM,
    api::stream::QUERIES,
    api::vmm::ENTRIES,
];

cuda_api::exports!(lists = LISTS, unsupported = crate::unsupported);
