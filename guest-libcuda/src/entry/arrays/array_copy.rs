//! Copies from and to arrays. The GPU accesses device memory, registered memory, and arrays
//! directly. Pageable memory goes through the arena, in pieces of packed rows.

use crate::driver::Driver;
use crate::entry::arrays::array;
use crate::entry::memory::box_copy::{Area, BoxCopy, Shape, Side};
use crate::error::{CuError, CuResult};
use crate::memory::Place;
use crate::program::{copy_from, copy_to};
use crate::session::Pending;
use crate::session::arena::Part;
use crate::staged::{PIECE, take_part};
use crate::transfer::synchronize;
use cuda_api::arrays::Extent;
use cuda_api::sys::CUmemorytype;
use protocol::calls::{VcudaCopyBox, VcudaCopyBoxInStaged, VcudaCopyBoxOutStaged};
use protocol::ids::StreamId;
use protocol::structs::{BoxSide, BoxSize};
use std::collections::VecDeque;

/// The maximum number of pieces of a copy to pageable memory that are in flight.
const IN_FLIGHT: usize = 6;

/// A source or destination of a copy, after its memory was looked up.
enum End {
    /// An array, or memory that the GPU can access. `host` says whether the program can access it,
    /// too.
    Visible {
        side: BoxSide,
        host: bool,
    },
    Pageable(Side),
}

/// A part of a box, which lies in one slice. Described by the offsets of its first byte, row, and
/// slice in the box, the bytes per row, and the number of rows.
#[derive(Clone, Copy)]
struct Piece {
    x: usize,
    y: usize,
    z: usize,
    width: usize,
    height: usize,
}

impl Piece {
    fn len(&self) -> usize {
        self.width * self.height
    }

    fn size(&self) -> BoxSize {
        BoxSize { width: self.width as u64, height: self.height as u64, depth: 1 }
    }

    /// Returns where the piece lies in the array.
    fn within(&self, side: &BoxSide) -> BoxSide {
        let (x, y, z) = (self.x as u64, self.y as u64, self.z as u64);
        BoxSide { x: side.x + x, y: side.y + y, z: side.z + z, ..*side }
    }

    /// Returns the addresses of the piece's rows in the program's memory.
    fn rows(self, side: Side) -> impl Iterator<Item = usize> {
        let first = side.address as usize + self.x + self.y * side.pitch + self.z * side.slice;
        (0..self.height).map(move |row| first + row * side.pitch)
    }
}

/// Divides a box into pieces of at most [`PIECE`] bytes.
fn pieces(shape: &Shape) -> impl Iterator<Item = Piece> + use<> {
    let Shape { width, height, depth } = *shape;
    // A row longer than `PIECE` can be divided anywhere, because `PIECE` is a multiple of the size
    // of any element.
    let columns = width.min(PIECE);
    let rows = (PIECE / columns).clamp(1, height);
    (0..depth).flat_map(move |z| {
        (0..height).step_by(rows).flat_map(move |y| {
            (0..width).step_by(columns).map(move |x| Piece {
                x,
                y,
                z,
                width: columns.min(width - x),
                height: rows.min(height - y),
            })
        })
    })
}

fn end(driver: &Driver, area: &Area, shape: &Shape) -> CuResult<End> {
    if area.kind == CUmemorytype::CU_MEMORYTYPE_ARRAY {
        let array = array::find(driver, area.array)?;
        let extent = Extent::of(&array.descriptor).ok_or(CuError::INVALID_VALUE)?;
        let at = [area.x, area.y, area.z].map(|at| at as u64);
        if !extent.contains(at, [shape.width, shape.height, shape.depth].map(|n| n as u64)) {
            return Err(CuError::INVALID_VALUE);
        }
        let [x, y, z] = at;
        let side = BoxSide { array: array.id, address: 0, pitch: 0, height: 0, x, y, z };
        return Ok(End::Visible { side, host: false });
    }
    let side = area.cuboid(shape)?;
    match driver.memory.place(side.address, side.span(shape)?)? {
        Place::Visible { address, host } => {
            let (pitch, height) = (side.pitch as u64, (side.slice / side.pitch) as u64);
            let none = Default::default();
            let side = BoxSide { array: none, address, pitch, height, x: 0, y: 0, z: 0 };
            Ok(End::Visible { side, host: host.is_some() })
        }
        Place::Pageable => Ok(End::Pageable(side)),
    }
}

/// Copies from or to an array. No dimension of the box may be 0.
///
/// # Safety
///
/// If the source or destination is in pageable memory, the memory must be valid for all rows.
pub unsafe fn copy(driver: &Driver, copy: &BoxCopy, stream: StreamId, blocking: bool) -> CuResult {
    let shape = Shape { width: copy.width, height: copy.height, depth: copy.depth };
    let (dst, src) = (end(driver, &copy.dst, &shape)?, end(driver, &copy.src, &shape)?);
    match (dst, src) {
        (
            End::Visible { side: dst, host: dst_host },
            End::Visible { side: src, host: src_host },
        ) => {
            let size = BoxSize {
                width: shape.width as u64,
                height: shape.height as u64,
                depth: shape.depth as u64,
            };
            driver.session.post(&VcudaCopyBox { dst, src, size, h_stream: stream })?;
            if blocking && (dst_host || src_host) {
                synchronize(driver, stream)?;
            }
            Ok(())
        }
        (End::Visible { side: dst, .. }, End::Pageable(src)) => {
            // SAFETY: the caller promises that the source is valid for all rows.
            unsafe { upload(driver, (dst, src), &shape, stream, blocking) }
        }
        (End::Pageable(dst), End::Visible { side: src, .. }) => {
            // SAFETY: the caller promises that the destination is valid for all rows.
            let result = unsafe { download(driver, (dst, src), &shape, stream) };
            driver.flush_output();
            result?;
            driver.session.report_posted_error()
        }
        (End::Pageable(_), End::Pageable(_)) => Err(CuError::INVALID_VALUE),
    }
}

/// Copies from pageable memory to an array.
///
/// # Safety
///
/// The source must be valid for reading all rows.
unsafe fn upload(
    driver: &Driver,
    (dst, src): (BoxSide, Side),
    shape: &Shape,
    stream: StreamId,
    blocking: bool,
) -> CuResult {
    let session = &driver.session;
    let arena = session.arena()?;
    let mut own: VecDeque<(Part, Pending)> = VecDeque::new();
    let finish_first = |own: &mut VecDeque<(Part, Pending)>| -> CuResult<bool> {
        let Some((part, pending)) = own.pop_front() else { return Ok(false) };
        let replied = session.finish(pending)?;
        arena.give(part);
        replied.result()?;
        Ok(true)
    };
    let mut result = Ok(());
    for piece in pieces(shape) {
        result = take_part(driver, piece.len(), || finish_first(&mut own)).and_then(|part| {
            // SAFETY: `take_part` returned a part of the arena with room for the piece, which
            // belongs to this copy alone until it's given back.
            let to = unsafe { std::slice::from_raw_parts_mut(arena.ptr(part), piece.len()) };
            for (row, to) in piece.rows(src).zip(to.chunks_exact_mut(piece.width)) {
                // SAFETY: the caller promises that the source is valid for all rows.
                unsafe { copy_from(row, to) };
            }
            let staged = VcudaCopyBoxInStaged {
                dst: piece.within(&dst),
                arena: part.offset as u64,
                size: piece.size(),
                h_stream: stream,
            };
            let begun = session.begin(&staged, 0);
            begun.map(|pending| own.push_back((part, pending))).inspect_err(|_| arena.give(part))
        });
        if result.is_err() {
            break;
        }
    }
    if !blocking && result.is_ok() {
        session.leave_uploads(own);
        return Ok(());
    }
    loop {
        match finish_first(&mut own) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => result = result.and(Err(error)),
        }
    }
    result?;
    session.report_posted_error()
}

/// Copies from an array to pageable memory.
///
/// # Safety
///
/// The destination must be valid for writing all rows.
unsafe fn download(
    driver: &Driver,
    (dst, src): (Side, BoxSide),
    shape: &Shape,
    stream: StreamId,
) -> CuResult {
    let session = &driver.session;
    let arena = session.arena()?;
    let mut own: VecDeque<(Part, Pending, Piece)> = VecDeque::new();
    let finish_first = |own: &mut VecDeque<(Part, Pending, Piece)>| -> CuResult<bool> {
        let Some((part, pending, piece)) = own.pop_front() else { return Ok(false) };
        let replied = session.finish(pending)?;
        if replied.result().is_ok() {
            // SAFETY: the worker has replied, so it has filled the part with the piece and no
            // longer accesses it.
            let from = unsafe { std::slice::from_raw_parts(arena.ptr(part), piece.len()) };
            for (row, from) in piece.rows(dst).zip(from.chunks_exact(piece.width)) {
                // SAFETY: the caller promises that the destination is valid for all rows.
                unsafe { copy_to(row, from) };
            }
        }
        arena.give(part);
        replied.result()?;
        Ok(true)
    };
    let mut result = Ok(());
    for piece in pieces(shape) {
        while own.len() >= IN_FLIGHT && result.is_ok() {
            result = finish_first(&mut own).map(drop);
        }
        if result.is_err() {
            break;
        }
        result = take_part(driver, piece.len(), || finish_first(&mut own)).and_then(|part| {
            let staged = VcudaCopyBoxOutStaged {
                src: piece.within(&src),
                arena: part.offset as u64,
                size: piece.size(),
                h_stream: stream,
            };
            let begun = session.begin(&staged, 0);
            begun
                .map(|pending| own.push_back((part, pending, piece)))
                .inspect_err(|_| arena.give(part))
        });
    }
    loop {
        match finish_first(&mut own) {
            Ok(true) => {}
            Ok(false) => return result,
            Err(error) => result = result.and(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_box_once_and_are_limited() {
        for (width, height, depth) in
            [(1, 1, 1), (4096, 300, 3), (3 << 20, 2, 2), (PIECE, 2, 1), (PIECE + 16, 1, 1)]
        {
            let mut covered = 0;
            for piece in pieces(&Shape { width, height, depth }) {
                assert!(piece.len() <= PIECE && piece.len() > 0);
                assert!(piece.x + piece.width <= width && piece.y + piece.height <= height);
                assert!(piece.z < depth);
                covered += piece.len();
            }
            assert_eq!(covered, width * height * depth);
        }
    }
}
