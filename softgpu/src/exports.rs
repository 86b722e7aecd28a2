//! Exports the functions in [`api`](crate::api) and a stub for every other symbol, and looks
//! exports up by name.

use std::ffi::{c_int, c_void};

use cuda_api::args::{Out, Text};
use cuda_api::error::CuError;
use cuda_api::proc_address;
use cuda_api::sys::CUdriverProcAddressQueryResult;

use crate::api;
use crate::api::entry::entries;

entries! {
    fn cuGetProcAddress(
        symbol: Text,
        function: Out<*mut c_void>,
        version: c_int,
        flags: u64,
    ) {
        let found = proc_address::resolve(symbol.name()?, version, flags)
            .map_err(|_| CuError::INVALID_VALUE)?;
        let address = found.name().and_then(address);
        function.set(address.ok_or(CuError::NOT_FOUND)?.cast_mut())
    }

    fn cuGetProcAddress_v2(
        symbol: Text,
        function: Out<*mut c_void>,
        version: c_int,
        flags: u64,
        status: Out<CUdriverProcAddressQueryResult>,
    ) {
        let found = proc_address::resolve(symbol.name()?, version, flags)
            .map_err(|_| CuError::INVALID_VALUE)?;
        let address = found.name().and_then(address);
        status.set_if_wanted(found.status());
        function.set(address.unwrap_or(std::ptr::null()).cast_mut())
    }
}

const LISTS: &[&[cuda_api::exports::Entry]] = &[
    ENTRIES,
    api::array::ENTRIES,
    api::copies::ENTRIES,
    api::context::ENTRIES,
    api::cooperative::ENTRIES,
    api::coredump::ENTRIES,
    api::device::ENTRIES,
    api::device_links::ENTRIES,
    api::event::ENTRIES,
    api::fill::ENTRIES,
    api::first_versions::ENTRIES,
    api::graph::ENTRIES,
    api::green::ENTRIES,
    api::green_context::ENTRIES,
    api::init::ENTRIES,
    api::ipc::ENTRIES,
    api::launch::ENTRIES,
    api::legacy_launch::ENTRIES,
    api::library::ENTRIES,
    api::link::ENTRIES,
    api::managed::ENTRIES,
    api::logs::ENTRIES,
    api::memory::ENTRIES,
    api::module::ENTRIES,
    api::pool::ENTRIES,
    api::stream::ENTRIES,
    api::stream_memory::ENTRIES,
    api::tensor_map::ENTRIES,
    api::texture::ENTRIES,
    api::texture_ref::ENTRIES,
    api::vmm::ENTRIES,
];

cuda_api::exports!(lists = LISTS, unsupported = crate::unimplemented);
