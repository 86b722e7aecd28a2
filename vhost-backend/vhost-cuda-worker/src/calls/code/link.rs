//! Calls for the linker.
//!
//! The linker's memory is host memory. The worker limits the number of links in progress and the
//! total size of their inputs.

use std::sync::{Arc, Mutex};

use cuda_api::sys::{CUjitInputType, CUlinkState};
use protocol::calls as api;
use protocol::ids::LinkId;
use protocol::limits::{LINK_BYTES_MAX, LINK_PIECE_MAX, LINKS_MAX};

use crate::calls::ReplyTo;
use crate::calls::code::image::{c_name, link_input, part_for};
use crate::calls::code::jit::Jit;
use crate::calls::code::link_state::{DriverLink, Link};
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::lock;
use crate::calls::tables::claims::{LINKS, claim};
use crate::calls::tables::ending::{begin_end, end_on_mirror};
use crate::driver::{CuError, CuResult};

/// The newest kind of input that is known not to contain addresses: CU_JIT_INPUT_LIBRARY.
const LAST_KIND: u32 = CUjitInputType::CU_JIT_INPUT_LIBRARY.0;

fn state_of(cx: &Cx<'_>, id: LinkId) -> CuResult<Arc<Mutex<Option<DriverLink>>>> {
    Ok(lock(&cx.shared.tables).links.get(id)?.state.clone())
}

pub(in crate::calls) fn vcuda_link_create(
    cx: &Cx<'_>,
    call: api::VcudaLinkCreate<'_>,
) -> (CuResult, api::VcudaLinkCreateAnswer) {
    let mut answer = api::VcudaLinkCreateAnswer::default();
    let result = cx.enter().and_then(|_| {
        let mut jit = Jit::new(call.options, call.log_max)?;
        let id = claim(cx, LINKS, call.link)?;
        if lock(&cx.shared.tables).links.iter().count() >= LINKS_MAX {
            return Err(CuError::OUT_OF_MEMORY);
        }
        let mut real: CUlinkState = std::ptr::null_mut();
        let (count, options, values) = jit.parts();
        // SAFETY: the options are plain values and the logs' buffers. They live in `jit`, which
        // the table of links keeps until the link is destroyed.
        let created = unsafe { cx.driver().cuLinkCreate(count, options, values, &mut real) };
        (answer.error, answer.info) = jit.logs();
        created?;
        let state = Arc::new(Mutex::new(Some(DriverLink { real, jit, image: None })));
        id.list(Link { bytes: 0, state });
        Ok(())
    });
    (result, answer)
}

/// Adds the size of an input to a link's total size. Fails if all links' inputs together would
/// exceed the limit.
fn count_input(cx: &Cx<'_>, id: LinkId, bytes: u64) -> CuResult {
    let mut tables = lock(&cx.shared.tables);
    let all: u64 = tables.links.iter().map(|(_, link)| link.bytes).sum();
    let link = tables.links.get_mut(id)?;
    if all.saturating_add(bytes) > LINK_BYTES_MAX {
        return Err(CuError::OUT_OF_MEMORY);
    }
    link.bytes += bytes;
    Ok(())
}

pub(in crate::calls) fn vcuda_link_add(
    cx: &Cx<'_>,
    call: api::VcudaLinkAdd<'_>,
) -> (CuResult, api::VcudaLinkAddAnswer) {
    let mut answer = api::VcudaLinkAddAnswer::default();
    let result = cx.enter_any().and_then(|()| {
        let _part = part_for(cx, call.blob, call.data);
        // Take the data out of the blob even if the call fails, so that the blob doesn't keep using
        // memory.
        let data = link_input(cx, CUjitInputType(call.kind), call.blob, call.data);
        let state = state_of(cx, call.link)?;
        if call.kind > LAST_KIND {
            return Err(CuError::INVALID_VALUE);
        }
        let data = data?;
        let name = c_name(call.name)?;
        let mut options = Jit::new(call.options, 0)?;
        count_input(cx, call.link, data.bytes().len() as u64)?;
        let mut state = lock(&state);
        let state = state.as_mut().ok_or(CuError::INVALID_HANDLE)?;
        if state.image.is_some() {
            return Err(CuError::INVALID_VALUE);
        }
        let (count, options, values) = options.parts();
        // SAFETY: the link is live, because its state exists and is locked. The data is a complete
        // private copy of this size, followed by zeros, and the name is a C string. The options are
        // plain values. The driver keeps no references to them.
        let added = unsafe {
            cx.driver().cuLinkAddData(
                state.real,
                CUjitInputType(call.kind),
                data.as_ptr().cast_mut(),
                data.bytes().len(),
                name.as_ptr(),
                count,
                options,
                values,
            )
        };
        (answer.error, answer.info) = state.jit.logs();
        added
    });
    (result, answer)
}

pub(in crate::calls) fn vcuda_link_complete(
    cx: &Cx<'_>,
    call: api::VcudaLinkComplete,
) -> (CuResult, api::VcudaLinkCompleteAnswer) {
    let mut answer = api::VcudaLinkCompleteAnswer::default();
    let result = cx.enter_any().and_then(|()| {
        let bytes = lock(&cx.shared.tables).links.get(call.link)?.bytes;
        let _part = cx.shared.budget.take_for(bytes);
        let state = state_of(cx, call.link)?;
        let mut state = lock(&state);
        let state = state.as_mut().ok_or(CuError::INVALID_HANDLE)?;
        if state.image.is_none() {
            let (mut image, mut size) = (std::ptr::null_mut(), 0);
            // SAFETY: the link is live, because its state exists and is locked. The pointers are to
            // local variables.
            let linked = unsafe { cx.driver().cuLinkComplete(state.real, &mut image, &mut size) };
            (answer.error, answer.info) = state.jit.logs();
            linked?;
            if image.is_null() || isize::try_from(size).is_err() {
                return Err(CuError::UNKNOWN);
            }
            state.image = Some((image.cast_const().cast(), size));
        }
        answer.size = state.image.map_or(0, |(_, size)| size as u64);
        Ok(())
    });
    (result, answer)
}

pub(in crate::calls) fn vcuda_link_read(
    cx: &Cx<'_>,
    call: api::VcudaLinkRead,
) -> CuResult<api::VcudaLinkReadAnswer> {
    let state = state_of(cx, call.link)?;
    let state = lock(&state);
    let (image, size) = state.as_ref().and_then(|s| s.image).ok_or(CuError::INVALID_VALUE)?;
    if call.len > LINK_PIECE_MAX {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the driver returned this address and size for the image. The image exists until the
    // link is destroyed, and destroying the link requires the lock that is held here.
    let bytes = unsafe { std::slice::from_raw_parts(image, size) };
    let start = usize::try_from(call.offset).unwrap_or(usize::MAX).min(size);
    let data = bytes[start..start.saturating_add(call.len).min(size)].to_vec();
    Ok(api::VcudaLinkReadAnswer { data })
}

/// Destroys a link that has been removed from the table of links.
fn destroy(cx: &Cx<'_>, link: &Link) -> CuResult {
    let Some(state) = lock(&link.state).take() else { return Ok(()) };
    // SAFETY: the link was live, and its state was taken, so nothing else can use it.
    unsafe { cx.driver().cuLinkDestroy(state.real) }
}

pub(in crate::calls) fn cu_link_destroy(
    _: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuLinkDestroy,
    reply: ReplyTo,
) {
    let begun = begin_end(cx, LINKS, call.state, |_, _| Ok(()));
    end_on_mirror(cx, begun, reply, |cx, link| destroy(cx, &link));
}
