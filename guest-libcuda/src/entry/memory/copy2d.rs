//! Copies of rectangles and boxes. [`array_copy`] makes those that involve an array.

use crate::capture;
use crate::context;
use crate::driver::Driver;
use crate::entry::arrays::array_copy;
use crate::entry::memory::box_copy::{BoxCopy, Shape, Side};
use crate::entry::streams::stream::stream_id;
use crate::error::CuResult;
use crate::graph::Op;
use crate::handles::Handle;
use crate::memory::Route;
use crate::program::copy_within;
use crate::transfer::{self, Copy};
use protocol::calls::VcudaCopy2D;
use protocol::ids::StreamId;
use protocol::limits::INLINE_COPY_MAX;

/// Copies a rectangle, which may be one slice of a box.
///
/// # Safety
///
/// If the source or destination is in pageable memory, the memory must be valid for all rows.
unsafe fn rectangle(
    driver: &Driver,
    (dst, src): (Side, Side),
    (width, height): (usize, usize),
    stream: StreamId,
    blocking: bool,
) -> CuResult {
    let whole = |side: &Side| side.pitch == width || height == 1;
    if whole(&dst) && whole(&src) {
        let len = width * height;
        let copy = Copy { dst: dst.address, src: src.address, len, stream, blocking };
        // SAFETY: the caller promises that pageable memory is valid for all rows.
        return unsafe { transfer::copy(driver, copy) };
    }
    let shape = Shape { width, height, depth: 1 };
    let route = route(driver, (&dst, &src), &shape)?;
    let rows = (0..height).map(|row| Copy {
        dst: dst.address + (row * dst.pitch) as u64,
        src: src.address + (row * src.pitch) as u64,
        len: width,
        stream,
        blocking: false,
    });
    match route {
        Route::OnGpu { dst: dst_at, src: src_at, host } => {
            driver.session.post(&VcudaCopy2D {
                dst: dst_at,
                dst_pitch: dst.pitch,
                src: src_at,
                src_pitch: src.pitch,
                width,
                height,
                h_stream: stream,
            })?;
            if blocking && host {
                transfer::synchronize(driver, stream)?;
            }
            Ok(())
        }
        Route::Down { src: address, .. } if width <= INLINE_COPY_MAX => {
            let first = src.address;
            let rows = rows.map(|row| Copy { src: row.src - first + address, ..row });
            // SAFETY: the caller promises that the destination is valid for all rows.
            unsafe { transfer::download_rows(driver, rows) }
        }
        _ => {
            for row in rows {
                // SAFETY: the caller promises that pageable memory is valid for all rows.
                unsafe { transfer::copy(driver, row) }?;
            }
            if blocking {
                transfer::synchronize(driver, stream)?;
            }
            Ok(())
        }
    }
}

/// Returns the route of a copy of a box, depending on the kinds of memory at its source and
/// destination.
fn route(driver: &Driver, (dst, src): (&Side, &Side), shape: &Shape) -> CuResult<Route> {
    let place = |side: &Side| driver.memory.place(side.address, side.span(shape)?);
    Ok(Route::between((place(dst)?, dst.address), (place(src)?, src.address)))
}

/// Copies a box, none of whose dimensions is 0.
///
/// # Safety
///
/// If the source or destination is in pageable memory, the memory must be valid for all rows.
unsafe fn cuboid(
    driver: &Driver,
    (dst, src): (Side, Side),
    shape: &Shape,
    stream: StreamId,
    blocking: bool,
) -> CuResult {
    if let Route::OnHost { dst: to, src: from } = route(driver, (&dst, &src), shape)? {
        transfer::synchronize(driver, stream)?;
        for (to, from) in dst.rows(to, shape).zip(src.rows(from, shape)) {
            // SAFETY: both sides are memory of the program. The caller promises that pageable
            // memory is valid for all rows, and `route` has checked that other memory is in an
            // allocation.
            unsafe { copy_within(from as usize, to as usize, shape.width) };
        }
        return Ok(());
    }
    let size = (shape.width, shape.height);
    for slice in 0..shape.depth {
        let at = |side: Side| Side { address: side.address + (slice * side.slice) as u64, ..side };
        let blocking = blocking && slice + 1 == shape.depth;
        // SAFETY: the caller promises that pageable memory is valid for all rows.
        unsafe { rectangle(driver, (at(dst), at(src)), size, stream, blocking) }?;
    }
    Ok(())
}

/// Adds a copy to the graph that a stream is being captured to.
pub fn push_copy(driver: &Driver, (stream, null): (Handle, usize), copy: BoxCopy) -> CuResult {
    match copy.node(driver) {
        Ok(node) => capture::push(driver, stream, null, Op::Copy(node, None)),
        Err(error) => {
            // Invalidate the capture, because the captured graph would lack the copy.
            let _ = capture::forbid_on(driver, stream, null);
            Err(error)
        }
    }
}

/// Copies a rectangle.
///
/// # Safety
///
/// If the source or destination is in pageable memory, the memory must be valid for all rows.
pub unsafe fn copy_2d(copy: BoxCopy, stream: Handle, null: usize, blocking: bool) -> CuResult {
    let driver = context::driver()?;
    if blocking {
        capture::forbid_on(driver, stream, null)?;
    } else if copy.width > 0 && copy.height > 0 && capture::captured(driver, stream, null)? {
        return push_copy(driver, (stream, null), copy);
    }
    let stream = stream_id(driver, stream, null)?;
    let (width, height) = (copy.width, copy.height);
    if width == 0 || height == 0 {
        return Ok(());
    }
    if copy.has_array() {
        // SAFETY: the caller promises that pageable memory is valid for all rows.
        return unsafe { array_copy::copy(driver, &copy, stream, blocking) };
    }
    let sides = (copy.dst.rectangle(width, height)?, copy.src.rectangle(width, height)?);
    // SAFETY: the caller promises that pageable memory is valid for all rows.
    unsafe { cuboid(driver, sides, &Shape { width, height, depth: 1 }, stream, blocking) }
}

/// Copies a box.
///
/// # Safety
///
/// If the source or destination is in pageable memory, the memory must be valid for all rows.
pub unsafe fn copy_3d(copy: BoxCopy, stream: Handle, null: usize, blocking: bool) -> CuResult {
    let driver = context::driver()?;
    let some = copy.width > 0 && copy.height > 0 && copy.depth > 0;
    if blocking {
        capture::forbid_on(driver, stream, null)?;
    } else if some && capture::captured(driver, stream, null)? {
        return push_copy(driver, (stream, null), copy);
    }
    let stream = stream_id(driver, stream, null)?;
    let shape = Shape { width: copy.width, height: copy.height, depth: copy.depth };
    if shape.width == 0 || shape.height == 0 || shape.depth == 0 {
        return Ok(());
    }
    if copy.has_array() {
        // SAFETY: the caller promises that pageable memory is valid for all rows.
        return unsafe { array_copy::copy(driver, &copy, stream, blocking) };
    }
    let sides = (copy.dst.cuboid(&shape)?, copy.src.cuboid(&shape)?);
    // SAFETY: the caller promises that pageable memory is valid for all rows.
    unsafe { cuboid(driver, sides, &shape, stream, blocking) }
}
