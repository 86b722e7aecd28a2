//! The library's exports and their lookup by name: the functions of [`entry`](crate::entry), and
//! stubs for all other symbols.

use crate::entry;
use crate::error::{CuError, CuResult};
use crate::log::say;
use cuda_api::args::{Out, Text};
use cuda_api::proc_address::{Lookup, resolve};
use cuda_api::sys::CUdriverProcAddressQueryResult;
use std::ffi::c_void;

/// Looks a name up. The program gets null and a failure if no function has that name.
fn look_up(
    name: Text,
    out: Out<*const c_void>,
    version: i32,
    flags: u64,
    status: Out<CUdriverProcAddressQueryResult>,
) -> CuResult {
    out.check()?;
    let name = name.name()?;
    let lookup = resolve(name, version, flags).map_err(|error| {
        say!(Warn, "{error} ({name})");
        CuError::INVALID_VALUE
    })?;
    let address = lookup.name().and_then(address);
    let found = if address.is_none() && matches!(lookup, Lookup::Found(_)) {
        Lookup::SymbolNotFound
    } else {
        lookup
    };
    status.set_if_wanted(found.status());
    out.set(address.unwrap_or(std::ptr::null()))?;
    if address.is_none() {
        say!(Info, "cuGetProcAddress: no {name} for CUDA {version}");
        return Err(CuError::NOT_FOUND);
    }
    Ok(())
}

entries! {
    fn cuGetProcAddress(name: Text, out: Out<*const c_void>, version: i32, flags: u64) {
        look_up(name, out, version, flags, Out::null())
    }

    fn cuGetProcAddress_v2(
        name: Text, out: Out<*const c_void>, version: i32, flags: u64,
        status: Out<CUdriverProcAddressQueryResult>,
    ) {
        look_up(name, out, version, flags, status)
    }
}

const LISTS: &[&[cuda_api::exports::Entry]] = &[
    ENTRIES,
    entry::context::ENTRIES,
    entry::copy::ENTRIES,
    entry::copy2d::ENTRIES,
    entry::device::ENTRIES,
    entry::event::ENTRIES,
    entry::function::ENTRIES,
    entry::generated::ENTRIES,
    entry::graph::ENTRIES,
    entry::host_func::ENTRIES,
    entry::host_memory::ENTRIES,
    entry::init::ENTRIES,
    entry::launch::ENTRIES,
    entry::library::ENTRIES,
    entry::memory::ENTRIES,
    entry::memset::ENTRIES,
    entry::module::ENTRIES,
    entry::occupancy::ENTRIES,
    entry::pointer::ENTRIES,
    entry::stream::ENTRIES,
    entry::tables::ENTRIES,
];

cuda_api::exports!(lists = LISTS, unsupported = crate::unsupported);
