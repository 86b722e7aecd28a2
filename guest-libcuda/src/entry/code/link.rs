//! Entry points for the linker.

use crate::context;
use crate::driver::driver;
use crate::entry::code::image::send;
use crate::error::{CuError, CuResult};
use crate::handles::{Handle, Object};
use crate::jit::JitOptions;
use crate::log::say;
use crate::objects::Link;
use cuda_api::args::{In, Out, Text};
use cuda_api::sys::CUjitInputType;
use protocol::calls::{
    CuLinkDestroy, VcudaLinkAdd, VcudaLinkAddAnswer, VcudaLinkComplete, VcudaLinkCompleteAnswer,
    VcudaLinkCreate, VcudaLinkCreateAnswer, VcudaLinkRead,
};
use protocol::codec::Answer;
use protocol::limits::LINK_PIECE_MAX;
use std::ffi::{OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Maximum size of a linked image in bytes.
const IMAGE_MAX: u64 = 2 << 30;

/// Copies the linker's logs to the program's buffers.
fn store_logs(jit: &JitOptions, info: &[u8], error: &[u8], failed: bool) {
    if failed && !error.is_empty() {
        say!(Warn, "linking: {}", String::from_utf8_lossy(error));
    }
    jit.store_logs(info, error);
}

/// The count, names, and values of a program's options.
type Options = (u32, In<u32>, In<usize>);

/// Creates a link.
///
/// # Safety
///
/// There must be `count` options and values. The buffers that they describe must stay valid until
/// the link is destroyed.
unsafe fn create(count: u32, options: In<u32>, values: In<usize>, out: Out<Handle>) -> CuResult {
    let driver = context::driver()?;
    out.check()?;
    // SAFETY: the caller promises that there are `count` options and values, and that the buffers
    // stay valid.
    let jit = unsafe { JitOptions::read(count, options, values) }?;
    let id = driver.session.mint();
    let call = VcudaLinkCreate { link: id, options: (&jit.wire).into(), log_max: jit.log_max() };
    let pending = driver.session.begin(&call, jit.answer_room())?;
    let replied = driver.session.finish(pending)?;
    if let Ok(answer) = VcudaLinkCreateAnswer::decode(replied.as_bytes()) {
        store_logs(&jit, &answer.info, &answer.error, replied.result().is_err());
    }
    replied.result()?;
    let link = Link { id, jit, image: OnceLock::new() };
    out.set(driver.handles.insert(Object::Link(Arc::new(link)))?)
}

fn add(handle: Handle, kind: u32, data: &[u8], name: &str, options: &JitOptions) -> CuResult {
    let driver = driver()?;
    let link: Arc<Link> = driver.handles.get(handle)?;
    let started = Instant::now();
    let sent = send(driver, data)?;
    let call = VcudaLinkAdd {
        link: link.id,
        kind,
        name,
        blob: sent.blob,
        data: sent.inline,
        options: (&options.wire).into(),
    };
    let pending = driver.session.begin(&call, link.jit.answer_room())?;
    let replied = driver.session.finish(pending)?;
    link.jit.store_time(started);
    if let Ok(answer) = VcudaLinkAddAnswer::decode(replied.as_bytes()) {
        store_logs(&link.jit, &answer.info, &answer.error, replied.result().is_err());
    }
    replied.result()
}

/// Completes a link, and gets the image from the worker.
fn complete(link: &Link) -> CuResult<Vec<u8>> {
    let driver = driver()?;
    let started = Instant::now();
    let call = VcudaLinkComplete { link: link.id };
    let pending = driver.session.begin(&call, link.jit.answer_room() + 8)?;
    let replied = driver.session.finish(pending)?;
    link.jit.store_time(started);
    let answer = VcudaLinkCompleteAnswer::decode(replied.as_bytes());
    if let Ok(answer) = &answer {
        store_logs(&link.jit, &answer.info, &answer.error, replied.result().is_err());
    }
    replied.result()?;
    let size = answer.map_err(|_| CuError::UNKNOWN)?.size;
    if size > IMAGE_MAX {
        return Err(CuError::OUT_OF_MEMORY);
    }
    let mut image = Vec::with_capacity(size as usize);
    let piece = LINK_PIECE_MAX.min(driver.session.longest_bytes()?);
    while (image.len() as u64) < size {
        let call = VcudaLinkRead { link: link.id, offset: image.len() as u64, len: piece };
        let data = driver.session.call_with_room(&call, piece + 16)?.data;
        if data.is_empty() || data.len() as u64 > size - image.len() as u64 {
            return Err(CuError::UNKNOWN);
        }
        image.extend_from_slice(&data);
    }
    Ok(image)
}

/// Adds an input in memory.
///
/// # Safety
///
/// There must be `options.0` options and values, and `data.1` bytes at `data.0`.
unsafe fn add_data(
    handle: Handle,
    kind: u32,
    (data, size): (*const c_void, usize),
    name: Text,
    (count, options, values): Options,
) -> CuResult {
    driver()?.handles.get::<Arc<Link>>(handle)?;
    if data.is_null() || size == 0 || isize::try_from(size).is_err() {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller promises that there are `count` options and values.
    let jit = unsafe { JitOptions::read(count, options, values) }?;
    // SAFETY: the caller promises that there are `size` bytes at `data`, which is not null.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    add(handle, kind, bytes, name.name().unwrap_or_default(), &jit)
}

/// Adds an input from a file.
///
/// # Safety
///
/// There must be `options.0` options and values.
unsafe fn add_file(
    handle: Handle,
    kind: u32,
    path: Text,
    (count, options, values): Options,
) -> CuResult {
    driver()?.handles.get::<Arc<Link>>(handle)?;
    // SAFETY: the caller promises that there are `count` options and values.
    let jit = unsafe { JitOptions::read(count, options, values) }?;
    let file = OsStr::from_bytes(path.get()?.to_bytes());
    let mut bytes = std::fs::read(file).map_err(|_| CuError::FILE_NOT_FOUND)?;
    if kind == CUjitInputType::CU_JIT_INPUT_PTX.0 && bytes.last() != Some(&0) {
        bytes.push(0);
    }
    add(handle, kind, &bytes, path.name().unwrap_or_default(), &jit)
}

entries! {
    fn cuLinkCreate(count: u32, options: In<u32>, values: In<usize>, out: Out<Handle>) {
        // SAFETY: the program passes arrays of `count` options, and the buffers that the options
        // describe. They stay valid until the program destroys the link, as the API requires.
        unsafe { create(count, options, values, out) }
    }

    fn cuLinkCreate_v2(count: u32, options: In<u32>, values: In<usize>, out: Out<Handle>) {
        // SAFETY: the program passes arrays of `count` options, and the buffers that the options
        // describe. They stay valid until the program destroys the link, as the API requires.
        unsafe { create(count, options, values, out) }
    }

    fn cuLinkAddData(
        handle: Handle, kind: u32, data: *const c_void, size: usize, name: Text,
        count: u32, options: In<u32>, values: In<usize>,
    ) {
        // SAFETY: the program passes arrays of `count` options, and the address of `size` bytes.
        unsafe { add_data(handle, kind, (data, size), name, (count, options, values)) }
    }

    fn cuLinkAddData_v2(
        handle: Handle, kind: u32, data: *const c_void, size: usize, name: Text,
        count: u32, options: In<u32>, values: In<usize>,
    ) {
        // SAFETY: the program passes arrays of `count` options, and the address of `size` bytes.
        unsafe { add_data(handle, kind, (data, size), name, (count, options, values)) }
    }

    fn cuLinkAddFile(
        handle: Handle, kind: u32, path: Text, count: u32, options: In<u32>, values: In<usize>,
    ) {
        // SAFETY: the program passes arrays of `count` options.
        unsafe { add_file(handle, kind, path, (count, options, values)) }
    }

    fn cuLinkAddFile_v2(
        handle: Handle, kind: u32, path: Text, count: u32, options: In<u32>, values: In<usize>,
    ) {
        // SAFETY: the program passes arrays of `count` options.
        unsafe { add_file(handle, kind, path, (count, options, values)) }
    }

    fn cuLinkComplete(handle: Handle, image: Out<*const c_void>, size: Out<usize>) {
        let link: Arc<Link> = driver()?.handles.get(handle)?;
        image.check()?;
        let linked = match link.image.get() {
            Some(linked) => linked,
            None => {
                let linked = complete(&link)?;
                link.image.get_or_init(|| linked)
            }
        };
        size.set_if_wanted(linked.len());
        image.set(linked.as_ptr().cast())
    }

    fn cuLinkDestroy(handle: Handle) {
        let driver = driver()?;
        let link: Arc<Link> = driver.handles.remove(handle)?;
        match driver.session.call(&CuLinkDestroy { state: link.id }) {
            // The link's context has been destroyed, which destroyed the link, too.
            Err(CuError::INVALID_HANDLE) => Ok(()),
            result => result,
        }
    }
}
