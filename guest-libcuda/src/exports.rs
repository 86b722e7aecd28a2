//! The library's exports and their lookup by name: the functions of [`entry`](crate::entry), and
//! stubs for all other symbols.

use crate::entry;
use crate::error::{CuError, CuResult};
use crate::log::say;
use cuda_api::args::{Out, Text};
use cuda_api::proc_address::{Lookup, resolve};
use cuda_api::sys::CUdriverProcAddressQueryResult;
use std::ffi::c_void;

/// Looks up a name for `cuGetProcAddress`. If no function is found, logs the reason.
fn look_up(name: Text, version: i32, flags: u64) -> CuResult<Lookup> {
    let name = name.name()?;
    let lookup = resolve(name, version, flags).map_err(|error| {
        say!(Warn, "{error} ({name})");
        CuError::INVALID_VALUE
    })?;
    if lookup.name().is_none() {
        say!(Info, "cuGetProcAddress: no {name} for CUDA {version}");
    }
    Ok(lookup)
}

entries! {
    fn cuGetProcAddress(name: Text, out: Out<*const c_void>, version: i32, flags: u64) {
        out.check()?;
        let address = look_up(name, version, flags)?.name().and_then(address);
        out.set(address.ok_or(CuError::NOT_FOUND)?)
    }

    fn cuGetProcAddress_v2(
        name: Text, out: Out<*const c_void>, version: i32, flags: u64,
        status: Out<CUdriverProcAddressQueryResult>,
    ) {
        out.check()?;
        let lookup = look_up(name, version, flags)?;
        status.set_if_wanted(lookup.status());
        out.set(lookup.name().and_then(address).unwrap_or(std::ptr::null()))
    }
}

const LISTS: &[&[cuda_api::exports::Entry]] = &[
    ENTRIES,
    entry::arrays::array::ENTRIES,
    entry::memory::copies::ENTRIES,
    entry::contexts::context::ENTRIES,
    entry::code::cooperative::ENTRIES,
    entry::contexts::coredump::ENTRIES,
    entry::contexts::device::ENTRIES,
    entry::contexts::device_links::ENTRIES,
    entry::streams::event::ENTRIES,
    entry::first_versions::ENTRIES,
    entry::code::function::ENTRIES,
    entry::generated::ENTRIES,
    entry::graphs::graph::ENTRIES,
    entry::contexts::green::ENTRIES,
    entry::contexts::green_context::ENTRIES,
    entry::streams::host_func::ENTRIES,
    entry::memory::host_memory::ENTRIES,
    entry::memory::managed::ENTRIES,
    entry::contexts::init::ENTRIES,
    entry::memory::ipc::ENTRIES,
    entry::code::launch::ENTRIES,
    entry::code::legacy_launch::ENTRIES,
    entry::code::library::ENTRIES,
    entry::contexts::limits::ENTRIES,
    entry::code::link::ENTRIES,
    entry::contexts::logs::ENTRIES,
    entry::memory::allocation::ENTRIES,
    entry::memory::memset::ENTRIES,
    entry::code::module::ENTRIES,
    entry::code::occupancy::ENTRIES,
    entry::memory::pointer::ENTRIES,
    entry::memory::pool::ENTRIES,
    entry::memory::shareable::ENTRIES,
    entry::streams::stream::ENTRIES,
    entry::streams::stream_memory::ENTRIES,
    entry::tables::ENTRIES,
    entry::arrays::tensor_map::ENTRIES,
    entry::arrays::texture::ENTRIES,
    entry::arrays::texture_ref::ENTRIES,
    entry::memory::virtual_memory::ENTRIES,
];

cuda_api::exports!(lists = LISTS, unsupported = crate::unsupported);

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_api::sys::CUresult;
    use std::ffi::{CStr, c_int};

    const UNTOUCHED: *const c_void = 7 as *const c_void;

    #[test]
    fn a_name_without_a_function_is_reported_as_a_driver_does() {
        let look_up = |name: &CStr, version: c_int| {
            let (mut found, mut status) = (UNTOUCHED, CUdriverProcAddressQueryResult(9));
            // SAFETY: the pointers are to local variables, and the name is a C string.
            let result =
                unsafe { cuGetProcAddress_v2(name.as_ptr(), &mut found, version, 0, &mut status) };
            (result, found, status)
        };
        use CUdriverProcAddressQueryResult as Status;
        let null = std::ptr::null();
        let none = (CUresult::CUDA_SUCCESS, null, Status::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        assert_eq!(look_up(c"cuNothing", 12000), none);
        let old =
            (CUresult::CUDA_SUCCESS, null, Status::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
        assert_eq!(look_up(c"cuLibraryLoadData", 11000), old);

        let mut found = UNTOUCHED;
        // SAFETY: the pointer is to a local variable, and the name is a C string.
        let result = unsafe { cuGetProcAddress(c"cuNothing".as_ptr(), &mut found, 12000, 0) };
        assert_eq!((result, found), (CUresult::CUDA_ERROR_NOT_FOUND, UNTOUCHED));
    }
}
