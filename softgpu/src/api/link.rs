//! Entry points of the linker.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cuda_api::args::{In, Out, Text};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{CUjit_option as J, CUjitInputType, CUlinkState};

use super::entry::entries;
use super::jit::Jit;
use crate::state::context::current;
use crate::state::handles::{Kind, Table};
use crate::state::link::Link;

/// Links, with the options that they were created with.
static LINKS: Table<(Link, Jit)> = Table::new(Kind::Link);

fn link(handle: CUlinkState) -> CuResult<Arc<(Link, Jit)>> {
    crate::state::device::driver()?;
    LINKS.get(handle as usize).ok_or(CuError::INVALID_HANDLE)
}

/// Creates a link.
///
/// # Safety
///
/// There must be `count` options and values. The buffers that they describe must stay valid until
/// the link is destroyed.
unsafe fn create(
    count: c_uint,
    options: In<J>,
    values: In<usize>,
    to: Out<CUlinkState>,
) -> CuResult {
    current()?;
    to.check()?;
    // SAFETY: the caller guarantees that there are `count` options and values, and that their
    // buffers stay valid until the link is destroyed.
    let jit = unsafe { Jit::new(count, options, values) }?;
    jit.report(Ok(()))?;
    to.set(LINKS.insert((Link::default(), jit)) as CUlinkState)
}

/// Adds an input in memory.
///
/// # Safety
///
/// There must be `size` bytes at `data`.
unsafe fn add_data(
    handle: CUlinkState,
    kind: CUjitInputType,
    data: *const c_void,
    size: usize,
    name: Text,
) -> CuResult {
    let link = link(handle)?;
    if data.is_null() || size == 0 || isize::try_from(size).is_err() {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller guarantees that there are `size` bytes at `data`.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    let (link, jit) = &*link;
    jit.report(link.add(kind, bytes, name.name().unwrap_or_default()))
}

fn add_file(handle: CUlinkState, kind: CUjitInputType, path: Text) -> CuResult {
    let link = link(handle)?;
    let bytes = std::fs::read(path.name()?).map_err(|_| CuError::FILE_NOT_FOUND)?;
    let (link, jit) = &*link;
    jit.report(link.add(kind, &bytes, path.name()?))
}

/// Fails if `count` isn't 0 but one of the arrays is null. Otherwise, ignores the options of a
/// linker input: softgpu doesn't compile code, and the logs are those of the options passed to
/// cuLinkCreate.
fn check(count: c_uint, options: In<J>, values: In<usize>) -> CuResult {
    match count > 0 && (options.is_null() || values.is_null()) {
        true => Err(CuError::INVALID_VALUE),
        false => Ok(()),
    }
}

entries! {
    fn cuLinkCreate(count: c_uint, options: In<J>, values: In<usize>, to: Out<CUlinkState>) {
        // SAFETY: the program passes arrays of `count` elements that describe its buffers. They
        // stay valid until the program destroys the link, as the API requires.
        unsafe { create(count, options, values, to) }
    }

    fn cuLinkCreate_v2(count: c_uint, options: In<J>, values: In<usize>, to: Out<CUlinkState>) {
        // SAFETY: the program passes arrays of `count` elements that describe its buffers. They
        // stay valid until the program destroys the link, as the API requires.
        unsafe { create(count, options, values, to) }
    }

    fn cuLinkAddData(
        handle: CUlinkState, kind: CUjitInputType, data: *const c_void, size: usize,
        name: Text, count: c_uint, options: In<J>, values: In<usize>,
    ) {
        check(count, options, values)?;
        // SAFETY: the program passes the address and size of the data, and a C string.
        unsafe { add_data(handle, kind, data, size, name) }
    }

    fn cuLinkAddData_v2(
        handle: CUlinkState, kind: CUjitInputType, data: *const c_void, size: usize,
        name: Text, count: c_uint, options: In<J>, values: In<usize>,
    ) {
        check(count, options, values)?;
        // SAFETY: the program passes the address and size of the data, and a C string.
        unsafe { add_data(handle, kind, data, size, name) }
    }

    fn cuLinkAddFile(
        handle: CUlinkState, kind: CUjitInputType, path: Text, count: c_uint, options: In<J>,
        values: In<usize>,
    ) {
        check(count, options, values)?;
        add_file(handle, kind, path)
    }

    fn cuLinkAddFile_v2(
        handle: CUlinkState, kind: CUjitInputType, path: Text, count: c_uint, options: In<J>,
        values: In<usize>,
    ) {
        check(count, options, values)?;
        add_file(handle, kind, path)
    }

    fn cuLinkComplete(handle: CUlinkState, image: Out<*mut c_void>, size: Out<usize>) {
        let link = link(handle)?;
        image.check()?;
        let (link, jit) = &*link;
        let linked = jit.report(link.complete())?;
        // The link keeps the image until the program destroys it.
        size.set_if_wanted(linked.len());
        image.set(linked.as_ptr().cast_mut().cast())
    }

    fn cuLinkDestroy(handle: CUlinkState) {
        crate::state::device::driver()?;
        LINKS.remove(handle as usize).map(drop).ok_or(CuError::INVALID_HANDLE)
    }
}
