//! The library's exports and their lookup by name: the functions of [`entry`](crate::entry), and
//! stubs for all other symbols.

use crate::entry;
use crate::error::{CuError, CuResult};
use crate::log::say;
use cuda_api::args::{Out, Text};
use cuda_api::proc_address::{Lookup, resolve};
use std::ffi::c_void;

const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;

fn look_up(
    name: Text,
    out: Out<*const c_void>,
    version: i32,
    flags: u64,
    status: Option<Out<u32>>,
) -> CuResult {
    out.check()?;
    let name = name.name()?;
    let tell = |value| status.iter().for_each(|status| status.set_if_wanted(value));
    let lookup = resolve(name, version, flags).map_err(|error| {
        say!(Warn, "{error} ({name})");
        CuError::INVALID_VALUE
    })?;
    tell(lookup.status());
    let address = lookup.name().and_then(address);
    out.set(address.unwrap_or(std::ptr::null()))?;
    if address.is_none() {
        say!(Info, "cuGetProcAddress: no {name} for CUDA {version}");
        if matches!(lookup, Lookup::Found(_)) {
            tell(NOT_FOUND);
        }
        // `cuGetProcAddress_v2` reports this in its status; `cuGetProcAddress` can only fail.
        return Err(CuError::NOT_FOUND);
    }
    debug_assert_eq!(lookup.status(), FOUND);
    Ok(())
}

entries! {
    fn cuGetProcAddress(name: Text, out: Out<*const c_void>, version: i32, flags: u64) {
        look_up(name, out, version, flags, None)
    }

    fn cuGetProcAddress_v2(
        name: Text, out: Out<*const c_void>, version: i32, flags: u64, status: Out<u32>,
    ) {
        look_up(name, out, version, flags, Some(status))
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
