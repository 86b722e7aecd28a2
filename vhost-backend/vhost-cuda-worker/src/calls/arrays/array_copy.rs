//! Calls that copy from or to arrays.

use cuda_api::sys::{CUDA_MEMCPY3D, CUarray, CUmemorytype, CUstream};
use protocol::calls as api;
use protocol::ids::{ArrayId, ContextId, StreamId};
use protocol::structs::{BoxSide, BoxSize};

use crate::calls::ReplyTo;
use crate::calls::arrays::array::Array;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::waits::Completion;
use crate::calls::gate::pass::Pass;
use crate::calls::lock;
use crate::calls::memory::extent::span;
use crate::calls::streams::queue::queue;
use crate::driver::{CuError, CuResult};

/// A checked source or destination of a copy.
enum Side {
    Array {
        array: Array,
        at: [u64; 3],
    },
    Memory {
        address: u64,
        pitch: u64,
        height: u64,
    },
    /// Memory in the arena, which the worker maps. Its rows have no padding between them.
    Arena(*mut u8),
}

/// The parameters of a source or destination in the driver's structure.
struct Params {
    kind: CUmemorytype,
    at: [usize; 3],
    host: *mut u8,
    device: u64,
    array: CUarray,
    pitch: usize,
    height: usize,
}

fn checked_size(size: &BoxSize) -> CuResult {
    match size.width == 0 || size.height == 0 || size.depth == 0 {
        true => Err(CuError::INVALID_VALUE),
        false => Ok(()),
    }
}

/// Checks one side of a copy: the box must lie in the array, or in the session's memory.
fn side(cx: &Cx<'_>, side: &BoxSide, size: &BoxSize) -> CuResult<Side> {
    if side.array == ArrayId::default() {
        let (address, pitch, height) = (side.address, side.pitch, side.height);
        cx.check(address, span(pitch, height, [size.width, size.height, size.depth])?)?;
        return Ok(Side::Memory { address, pitch, height });
    }
    let array = lock(&cx.shared.tables).arrays.get(side.array)?.clone();
    let at = [side.x, side.y, side.z];
    if !array.extent.contains(at, [size.width, size.height, size.depth]) {
        return Err(CuError::INVALID_VALUE);
    }
    Ok(Side::Array { array, at })
}

impl Side {
    fn params(&self, size: &BoxSize) -> Params {
        let none = Params {
            kind: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            at: [0; 3],
            host: std::ptr::null_mut(),
            device: 0,
            array: std::ptr::null_mut(),
            pitch: 0,
            height: 0,
        };
        match self {
            Self::Array { array, at } => Params {
                kind: CUmemorytype::CU_MEMORYTYPE_ARRAY,
                at: at.map(|at| at as usize),
                array: array.real.0,
                ..none
            },
            Self::Memory { address, pitch, height } => Params {
                device: *address,
                pitch: *pitch as usize,
                height: *height as usize,
                ..none
            },
            Self::Arena(host) => Params {
                kind: CUmemorytype::CU_MEMORYTYPE_HOST,
                host: *host,
                pitch: size.width as usize,
                height: size.height as usize,
                ..none
            },
        }
    }
}

/// Queues a copy in a stream. The caller has checked the source and the destination.
fn submit(
    cx: &Cx<'_>,
    pass: &Pass,
    (dst, src): (&Side, &Side),
    size: &BoxSize,
    stream: CUstream,
) -> CuResult {
    let (to, from) = (dst.params(size), src.params(size));
    let copy = CUDA_MEMCPY3D {
        srcXInBytes: from.at[0],
        srcY: from.at[1],
        srcZ: from.at[2],
        srcMemoryType: from.kind,
        srcHost: from.host.cast_const().cast(),
        srcDevice: from.device,
        srcArray: from.array,
        srcPitch: from.pitch,
        srcHeight: from.height,
        dstXInBytes: to.at[0],
        dstY: to.at[1],
        dstZ: to.at[2],
        dstMemoryType: to.kind,
        dstHost: to.host.cast(),
        dstDevice: to.device,
        dstArray: to.array,
        dstPitch: to.pitch,
        dstHeight: to.height,
        WidthInBytes: size.width as usize,
        Height: size.height as usize,
        Depth: size.depth as usize,
        ..Default::default()
    };
    // SAFETY: the boxes lie in live arrays, in the session's memory, or in the arena, which stays
    // mapped until the copy has finished.
    unsafe { cx.driver().cuMemcpy3DAsync(pass, &copy, stream) }
}

pub(in crate::calls) fn vcuda_copy_box(
    cx: &Cx<'_>,
    call: api::VcudaCopyBox,
    pass: &Pass,
) -> CuResult {
    cx.enter()?;
    checked_size(&call.size)?;
    let (dst, src) = (side(cx, &call.dst, &call.size)?, side(cx, &call.src, &call.size)?);
    let (stream, _) = queue(cx, call.h_stream, 0)?;
    submit(cx, pass, (&dst, &src), &call.size, stream)?;
    cx.tally(|words| &words.bytes_d2d, call.size.width * call.size.height * call.size.depth);
    Ok(())
}

/// Checks both sides of a copy between the arena and an array. Returns the arena's side, the
/// array's side, the number of bytes, and the stream with its context.
#[allow(clippy::type_complexity)]
fn staged(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    (array, arena): (&BoxSide, u64),
    size: &BoxSize,
    stream: StreamId,
) -> CuResult<(Side, Side, u64, (CUstream, ContextId))> {
    cx.enter()?;
    checked_size(size)?;
    let side = side(cx, array, size)?;
    if !matches!(side, Side::Array { .. }) {
        return Err(CuError::INVALID_VALUE);
    }
    let bytes = span(size.width, size.height, [size.width, size.height, size.depth])?;
    let len = usize::try_from(bytes).map_err(|_| CuError::INVALID_VALUE)?;
    let arena = Side::Arena(deferred.staging(cx, arena, len)?);
    Ok((arena, side, bytes, queue(cx, stream, 0)?))
}

fn answer(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    queued: CuResult<(CUstream, ContextId)>,
    reply: ReplyTo,
) {
    let completion = Completion::Answer(reply);
    match queued {
        Ok((stream, ctx)) => deferred.wait_recorded(cx, stream, ctx, completion),
        Err(error) => deferred.complete(cx, Err(error), completion),
    }
}

pub(in crate::calls) fn vcuda_copy_box_in_staged(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCopyBoxInStaged,
    pass: &Pass,
    reply: ReplyTo,
) {
    let sides = (&call.dst, call.arena);
    let queued = staged(deferred, cx, sides, &call.size, call.h_stream).and_then(
        |(arena, array, bytes, queued)| {
            submit(cx, pass, (&array, &arena), &call.size, queued.0)?;
            cx.tally(|words| &words.bytes_h2d, bytes);
            Ok(queued)
        },
    );
    answer(deferred, cx, queued, reply);
}

pub(in crate::calls) fn vcuda_copy_box_out_staged(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaCopyBoxOutStaged,
    pass: &Pass,
    reply: ReplyTo,
) {
    let sides = (&call.src, call.arena);
    let queued = staged(deferred, cx, sides, &call.size, call.h_stream).and_then(
        |(arena, array, bytes, queued)| {
            submit(cx, pass, (&arena, &array), &call.size, queued.0)?;
            cx.tally(|words| &words.bytes_d2h, bytes);
            Ok(queued)
        },
    );
    answer(deferred, cx, queued, reply);
}
