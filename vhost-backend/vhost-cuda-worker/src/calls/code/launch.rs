//! Calls that launch kernels. They are performance-critical.

use std::ffi::{c_char, c_void};

use cuda_api::launch_event::LaunchEvent;
use cuda_api::sys::{
    CUfunction, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig,
    CUstream,
};
use protocol::calls as api;
use protocol::codec::Array;
use protocol::ids::{ContextId, EventId, FuncId, StreamId};
use protocol::options::{
    ACCESS_POLICY_WINDOW, LAUNCH_ATTRIBUTES, LAUNCH_COMPLETION_EVENT, PROGRAMMATIC_EVENT, clusters,
};
use protocol::structs as wire;

use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{
    Admitted, Need, Reservation, Settled, admit_kernel, func, kind,
};
use crate::calls::gate::pass::Pass;
use crate::calls::lock;
use crate::calls::streams::queue::queue;
use crate::calls::tables::handles::Recorded;
use crate::driver::{CuError, CuResult};

/// A launch with at most this many parameters stores their addresses on the stack instead of in a
/// vector.
const FEW: usize = 32;
/// Markers in the driver's array of extra launch options: CU_LAUNCH_PARAM_END,
/// CU_LAUNCH_PARAM_BUFFER_POINTER, and CU_LAUNCH_PARAM_BUFFER_SIZE.
const PARAM_END: *mut c_void = std::ptr::null_mut();
const PARAM_BUFFER_POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
const PARAM_BUFFER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);

struct Shape {
    dims: [u32; 6],
    shared: u32,
}

impl Shape {
    /// Returns the driver's configuration for a launch with these dimensions in `stream`. It
    /// contains a pointer to `attributes`.
    fn with(&self, stream: CUstream, attributes: &mut [CUlaunchAttribute]) -> CUlaunchConfig {
        let [gx, gy, gz, bx, by, bz] = self.dims;
        CUlaunchConfig {
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: self.shared,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        }
    }
}

/// Builds the driver's launch attribute with this id, whose value consists of the 64 bytes in
/// `words`. If the value contains the address and length of memory, calls `check` with them.
pub(in crate::calls) fn attribute(
    id: u32,
    words: [u64; 8],
    check: impl Fn(u64, u64) -> CuResult,
) -> CuResult<CUlaunchAttribute> {
    if id == ACCESS_POLICY_WINDOW {
        // The first two words of an access policy window are the address and the length of the data
        // to keep in the cache. The length may be 0.
        check(words[0], words[1])?;
    }
    let mut bytes: [c_char; 64] = [0; 64];
    for (to, from) in bytes.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&from.to_ne_bytes().map(|byte| byte as c_char));
    }
    let value = CUlaunchAttributeValue { pad: bytes };
    Ok(CUlaunchAttribute { id: CUlaunchAttributeID(id), pad: [0; 4], value })
}

pub(in crate::calls) fn attributes(
    wire: Array<'_, wire::LaunchAttribute>,
    check: impl Fn(u64, u64) -> CuResult,
) -> CuResult<Vec<CUlaunchAttribute>> {
    wire.iter()
        .map(|wire::LaunchAttribute { id, value }| {
            if !LAUNCH_ATTRIBUTES.contains(&id) {
                return Err(CuError::NOT_SUPPORTED);
            }
            attribute(id, value, &check)
        })
        .collect()
}

/// Charges the current context for a function's local memory, and calls `then` with the function
/// and an array of pointers to its parameters. If the driver doesn't report the function's
/// parameter layout, `then` gets the whole parameter buffer instead. Parameters that the program
/// left out at the end, as NCCL does with a long one, are filled with zeros, so that the driver
/// doesn't read other memory of the worker. Returns the settled charge and the local memory that
/// the function needs.
pub(in crate::calls) fn with_parameters(
    cx: &Cx<'_>,
    id: FuncId,
    params: &[u8],
    reservation: Reservation<kind::Local>,
    then: impl FnOnce(CUfunction, *mut *mut c_void, *mut *mut c_void) -> CuResult,
) -> CuResult<(Settled<kind::Local>, Need)> {
    let mut few = [std::ptr::null_mut::<c_void>(); FEW];
    let (mut many, mut padded) = (Vec::new(), Vec::new());
    let (function, known, settled, need) = {
        let (admitted, settled, need);
        let tables = lock(&cx.shared.tables);
        let mut function = tables.functions.get(id)?;
        match cx.shared.charges.has_room_for(function.need, reservation) {
            Ok(has_room) => (settled, need) = (has_room, function.need),
            Err(reservation) => {
                drop(tables);
                Admitted { function: admitted, need, settled } = admit_kernel(cx, reservation, id)?;
                function = &admitted;
            }
        }
        let known = match function.layout.as_deref() {
            Some(layout) => {
                let end = function.parameter_bytes();
                let params = match end <= params.len() {
                    true => params,
                    false => {
                        padded.extend_from_slice(params);
                        padded.resize(end, 0);
                        &padded
                    }
                };
                let places = match few.get_mut(..layout.len()) {
                    Some(places) => places,
                    None => {
                        many.resize(layout.len(), std::ptr::null_mut());
                        &mut many[..]
                    }
                };
                for (place, (offset, size)) in places.iter_mut().zip(layout) {
                    // The driver reads `size` bytes at this address, so check that `params`
                    // contains all of them.
                    let (start, end) = (*offset as usize, (*offset + *size) as usize);
                    let bytes = params.get(start..end).ok_or(CuError::INVALID_VALUE)?;
                    *place = bytes.as_ptr().cast_mut().cast();
                }
                Some(places.as_mut_ptr())
            }
            None => None,
        };
        (function.real.0, known, settled, need)
    };
    match known {
        Some(known) => then(function, known, std::ptr::null_mut())?,
        None => with_buffer(function, params, then)?,
    }
    Ok((settled, need))
}

#[cold]
fn with_buffer(
    function: CUfunction,
    params: &[u8],
    then: impl FnOnce(CUfunction, *mut *mut c_void, *mut *mut c_void) -> CuResult,
) -> CuResult {
    let mut size = params.len();
    let mut extra = [
        PARAM_BUFFER_POINTER,
        params.as_ptr().cast_mut().cast(),
        PARAM_BUFFER_SIZE,
        (&raw mut size).cast(),
        PARAM_END,
    ];
    then(function, std::ptr::null_mut(), extra.as_mut_ptr())
}

pub(in crate::calls) fn vcuda_launch(
    cx: &Cx<'_>,
    call: api::VcudaLaunch<'_>,
    pass: &Pass,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    // The context of the launch's stream is the one into which the driver loads a library's kernel.
    let (stream, ctx) = queue(cx, call.h_stream, 0)?;
    let cx = &cx.within(ctx);
    let shape = Shape {
        dims: [call.grid_x, call.grid_y, call.grid_z, call.block_x, call.block_y, call.block_z],
        shared: call.shared_mem_bytes,
    };
    if call.attributes.is_empty() {
        return launch(cx, call.f, &shape, stream, call.params, (pass, reservation));
    }
    let attributes = attributes(call.attributes, |addr, len| cx.check(addr, len))?;
    launch_ex(cx, call.f, (&shape, attributes), stream, call.params, (pass, reservation))
}

/// Returns the attribute `id`, with which a launch records an event, and the event's context.
fn event_attribute(
    cx: &Cx<'_>,
    id: u32,
    event: EventId,
    at_block_start: u32,
) -> CuResult<(CUlaunchAttribute, ContextId)> {
    let found = *lock(&cx.shared.tables).events.get(event)?;
    LaunchEvent::check(found.timing, found.interprocess)?;
    cx.event_to_record(event, Recorded::Unknown)?;
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    match id {
        PROGRAMMATIC_EVENT => {
            value.programmaticEvent.event = found.real.0;
            value.programmaticEvent.triggerAtBlockStart = i32::from(at_block_start != 0);
        }
        LAUNCH_COMPLETION_EVENT => value.launchCompletionEvent.event = found.real.0,
        _ => return Err(CuError::INVALID_VALUE),
    }
    let id = CUlaunchAttributeID(id);
    Ok((CUlaunchAttribute { id, pad: [0; 4], value }, found.ctx))
}

pub(in crate::calls) fn vcuda_launch_event(
    cx: &Cx<'_>,
    call: api::VcudaLaunchEvent<'_>,
    pass: &Pass,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let event = event_attribute(cx, call.attribute, call.event, call.at_block_start)?;
    let shape = Shape {
        dims: [call.grid_x, call.grid_y, call.grid_z, call.block_x, call.block_y, call.block_z],
        shared: call.shared_mem_bytes,
    };
    let options = (call.attributes, [event]);
    launch_recording(cx, call.f, &shape, options, call.h_stream, call.params, (pass, reservation))
}

pub(in crate::calls) fn vcuda_launch_events(
    cx: &Cx<'_>,
    call: api::VcudaLaunchEvents<'_>,
    pass: &Pass,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let programmatic =
        event_attribute(cx, PROGRAMMATIC_EVENT, call.programmatic, call.at_block_start)?;
    let begun = event_attribute(cx, LAUNCH_COMPLETION_EVENT, call.begun, 0)?;
    let shape = Shape {
        dims: [call.grid_x, call.grid_y, call.grid_z, call.block_x, call.block_y, call.block_z],
        shared: call.shared_mem_bytes,
    };
    let options = (call.attributes, [programmatic, begun]);
    launch_recording(cx, call.f, &shape, options, call.h_stream, call.params, (pass, reservation))
}

/// Launches a kernel that records events. The events must be of the stream's context.
fn launch_recording<const N: usize>(
    cx: &Cx<'_>,
    f: FuncId,
    shape: &Shape,
    (listed, events): (Array<'_, wire::LaunchAttribute>, [(CUlaunchAttribute, ContextId); N]),
    h_stream: StreamId,
    params: &[u8],
    permits: (&Pass, Reservation<kind::Local>),
) -> CuResult<Settled<kind::Local>> {
    let (stream, ctx) = queue(cx, h_stream, 0)?;
    if events.iter().any(|(_, of)| *of != ctx) {
        return Err(CuError::INVALID_HANDLE);
    }
    let cx = &cx.within(ctx);
    let mut attributes = attributes(listed, |addr, len| cx.check(addr, len))?;
    attributes.extend(events.map(|(event, _)| event));
    launch_ex(cx, f, (shape, attributes), stream, params, permits)
}

/// Launches a kernel with attributes. The caller has checked the attributes.
fn launch_ex(
    cx: &Cx<'_>,
    f: FuncId,
    (shape, mut attributes): (&Shape, Vec<CUlaunchAttribute>),
    stream: CUstream,
    params: &[u8],
    (pass, reservation): (&Pass, Reservation<kind::Local>),
) -> CuResult<Settled<kind::Local>> {
    let config = shape.with(stream, &mut attributes);
    with_parameters(cx, f, params, reservation, |function, params, extra| {
        cx.tally(|words| &words.launches, 1);
        // SAFETY: the function, the stream, and the events in the attributes are live. The
        // attributes contain no other pointers. The parameters are as long as the layout says, or
        // the driver gets their length.
        unsafe { cx.driver().cuLaunchKernelEx(pass, &config, function, params, extra) }
    })
    .map(|(settled, _)| settled)
}

pub(in crate::calls) fn vcuda_occupancy_clusters(
    cx: &Cx<'_>,
    call: api::VcudaOccupancyClusters<'_>,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaOccupancyClustersAnswer, Settled<kind::Module>)> {
    cx.enter()?;
    let (function, settled) = func(cx, reservation, call.f)?;
    let mut attributes = attributes(call.attributes, |addr, len| cx.check(addr, len))?;
    let shape = Shape {
        dims: [call.grid_x, call.grid_y, call.grid_z, call.block_x, call.block_y, call.block_z],
        shared: call.shared_mem_bytes,
    };
    let config = shape.with(std::ptr::null_mut(), &mut attributes);
    let mut clusters = 0;
    // SAFETY: the function is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`). The pointers are to local variables, and the
    // attributes contain no pointers to dereference.
    unsafe {
        match call.question {
            clusters::MAX_ACTIVE => {
                cx.driver().cuOccupancyMaxActiveClusters(&mut clusters, function, &config)?
            }
            clusters::MAX_POTENTIAL_SIZE => {
                cx.driver().cuOccupancyMaxPotentialClusterSize(&mut clusters, function, &config)?
            }
            _ => return Err(CuError::INVALID_VALUE),
        }
    }
    Ok((api::VcudaOccupancyClustersAnswer { clusters }, settled))
}

fn launch(
    cx: &Cx<'_>,
    f: FuncId,
    shape: &Shape,
    stream: CUstream,
    params: &[u8],
    (pass, reservation): (&Pass, Reservation<kind::Local>),
) -> CuResult<Settled<kind::Local>> {
    let [gx, gy, gz, bx, by, bz] = shape.dims;
    with_parameters(cx, f, params, reservation, |function, params, extra| {
        cx.tally(|words| &words.launches, 1);
        // SAFETY: the function and the stream are live. The parameters are as long as the layout
        // says, or the driver gets their length.
        unsafe {
            cx.driver().cuLaunchKernel(
                pass,
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shape.shared,
                stream,
                params,
                extra,
            )
        }
    })
    .map(|(settled, _)| settled)
}

pub(in crate::calls) fn vcuda_launch_cooperative(
    cx: &Cx<'_>,
    call: api::VcudaLaunchCooperative<'_>,
    pass: &Pass,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let (stream, ctx) = queue(cx, call.h_stream, 0)?;
    let cx = &cx.within(ctx);
    with_parameters(cx, call.f, call.params, reservation, |function, params, extra| {
        if !extra.is_null() {
            return Err(CuError::NOT_SUPPORTED);
        }
        cx.tally(|words| &words.launches, 1);
        // SAFETY: the function and the stream are live. The parameters are as long as the layout
        // says.
        unsafe {
            cx.driver().cuLaunchCooperativeKernel(
                pass,
                function,
                call.grid_x,
                call.grid_y,
                call.grid_z,
                call.block_x,
                call.block_y,
                call.block_z,
                call.shared_mem_bytes,
                stream,
                params,
            )
        }
    })
    .map(|(settled, _)| settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a launch attribute with this id. Returns the ids and values that the driver would get
    /// for it.
    fn parse(id: u32) -> CuResult<Vec<(u32, [c_char; 64])>> {
        let list = [wire::LaunchAttribute { id, value: [7; 8] }];
        let list = attributes(list.as_slice().into(), |_, _| Err(CuError::ILLEGAL_ADDRESS))?;
        // SAFETY: `attribute` writes all 64 bytes of a value, so every byte that is read here is
        // initialized.
        Ok(list.iter().map(|attribute| (attribute.id.0, unsafe { attribute.value.pad })).collect())
    }

    #[test]
    fn attributes_with_pointers_are_refused() {
        for id in [0, 7, 12, 13, 15, 17, 99] {
            assert_eq!(parse(id), Err(CuError::NOT_SUPPORTED), "{id}");
        }
        assert_eq!(parse(1), Err(CuError::ILLEGAL_ADDRESS));
        let words: [c_char; 64] = std::array::from_fn(|i| if i % 8 == 0 { 7 } else { 0 });
        assert_eq!(parse(4), Ok(vec![(4, words)]));
    }
}
