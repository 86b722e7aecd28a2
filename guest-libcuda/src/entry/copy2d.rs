//! Copies of rectangles and boxes. [`array_copy`] makes those that involve an array.

use super::array_copy;
use super::stream::stream_id;
use crate::capture;
use crate::context;
use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::graph::Op;
use crate::handles::Handle;
use crate::memory::Place;
use crate::transfer::{self, Copy};
use cuda_api::args::In;
use cuda_api::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype};
use protocol::calls::VcudaCopy2D;
use protocol::graph as node;
use protocol::ids::StreamId;
use protocol::limits::INLINE_COPY_MAX;

/// The source or destination of a copy, as the program describes it.
#[derive(Clone, Copy)]
pub struct Area {
    pub kind: CUmemorytype,
    pub host: u64,
    pub device: u64,
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub pitch: usize,
    pub height: usize,
    pub array: Handle,
}

/// A copy of a box, as the program describes it. A rectangle is a box with a depth of 1.
#[derive(Clone, Copy)]
pub struct BoxCopy {
    pub src: Area,
    pub dst: Area,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// The source or destination of a copy: the address of its first byte, and the distances between
/// rows and between slices.
#[derive(Clone, Copy)]
pub struct Side {
    pub address: u64,
    pub pitch: usize,
    pub slice: usize,
}

pub struct Shape {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

pub fn offset(parts: &[(usize, usize)]) -> CuResult<u64> {
    parts.iter().try_fold(0u64, |sum, &(count, step)| {
        let part = (count as u64).checked_mul(step as u64).ok_or(CuError::INVALID_VALUE)?;
        sum.checked_add(part).ok_or(CuError::INVALID_VALUE)
    })
}

impl Area {
    /// The start of some memory or of an array.
    pub fn start_of(kind: CUmemorytype) -> Self {
        Self { kind, host: 0, device: 0, x: 0, y: 0, z: 0, pitch: 0, height: 0, array: 0 }
    }

    /// Returns the address at which the memory begins.
    fn start(&self) -> CuResult<u64> {
        match self.kind {
            CUmemorytype::CU_MEMORYTYPE_HOST => Ok(self.host),
            CUmemorytype::CU_MEMORYTYPE_DEVICE | CUmemorytype::CU_MEMORYTYPE_UNIFIED => {
                Ok(self.device)
            }
            CUmemorytype::CU_MEMORYTYPE_ARRAY => Err(CuError::NOT_SUPPORTED),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns the source or destination of a copy of a rectangle.
    fn rectangle(&self, width: usize, height: usize) -> CuResult<Side> {
        let pitch = if self.pitch == 0 { self.x + width } else { self.pitch };
        if pitch < width && height > 1 {
            return Err(CuError::INVALID_VALUE);
        }
        let address = self.start()? + offset(&[(self.x, 1), (self.y, pitch)])?;
        Ok(Side { address, pitch, slice: 0 })
    }

    /// Returns the source or destination of a copy of a box.
    pub fn cuboid(&self, shape: &Shape) -> CuResult<Side> {
        let pitch = if self.pitch == 0 { self.x + shape.width } else { self.pitch };
        let height = if self.height == 0 { self.y + shape.height } else { self.height };
        if pitch < shape.width || height < shape.height {
            return Err(CuError::INVALID_VALUE);
        }
        let slice = pitch.checked_mul(height).ok_or(CuError::INVALID_VALUE)?;
        let address = self.start()? + offset(&[(self.x, 1), (self.y, pitch), (self.z, slice)])?;
        Ok(Side { address, pitch, slice })
    }
}

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
        // SAFETY: pageable memory is valid for all rows, as the caller promises.
        return unsafe { transfer::copy(driver, copy) };
    }
    let span = |side: &Side| offset(&[(height - 1, side.pitch), (width, 1)]);
    let dst_place = driver.memory.place(dst.address, span(&dst)?)?;
    let src_place = driver.memory.place(src.address, span(&src)?)?;
    let rows = (0..height).map(|row| Copy {
        dst: dst.address + (row * dst.pitch) as u64,
        src: src.address + (row * src.pitch) as u64,
        len: width,
        stream,
        blocking: false,
    });
    match (dst_place, src_place) {
        (
            Place::Visible { address: dst_at, host: dst_host },
            Place::Visible { address: src_at, host: src_host },
        ) => {
            driver.session.post(&VcudaCopy2D {
                dst: dst_at,
                dst_pitch: dst.pitch,
                src: src_at,
                src_pitch: src.pitch,
                width,
                height,
                h_stream: stream,
            })?;
            if blocking && (dst_host || src_host) {
                transfer::synchronize(driver, stream)?;
            }
            Ok(())
        }
        (Place::Pageable, Place::Visible { address, .. }) if width <= INLINE_COPY_MAX => {
            let first = src.address;
            let rows = rows.map(|row| Copy { src: row.src - first + address, ..row });
            // SAFETY: the destination is valid for all rows, as the caller promises.
            unsafe { transfer::download_rows(driver, rows) }
        }
        _ => {
            for row in rows {
                // SAFETY: pageable memory is valid for all rows, as the caller promises.
                unsafe { transfer::copy(driver, row) }?;
            }
            if blocking {
                transfer::synchronize(driver, stream)?;
            }
            Ok(())
        }
    }
}

impl From<&CUDA_MEMCPY2D> for BoxCopy {
    fn from(copy: &CUDA_MEMCPY2D) -> Self {
        let src = Area {
            kind: copy.srcMemoryType,
            host: copy.srcHost as u64,
            device: copy.srcDevice,
            x: copy.srcXInBytes,
            y: copy.srcY,
            z: 0,
            pitch: copy.srcPitch,
            height: 0,
            array: copy.srcArray as Handle,
        };
        let dst = Area {
            kind: copy.dstMemoryType,
            host: copy.dstHost as u64,
            device: copy.dstDevice,
            x: copy.dstXInBytes,
            y: copy.dstY,
            z: 0,
            pitch: copy.dstPitch,
            height: 0,
            array: copy.dstArray as Handle,
        };
        Self { src, dst, width: copy.WidthInBytes, height: copy.Height, depth: 1 }
    }
}

impl From<&CUDA_MEMCPY3D> for BoxCopy {
    fn from(copy: &CUDA_MEMCPY3D) -> Self {
        let src = Area {
            kind: copy.srcMemoryType,
            host: copy.srcHost as u64,
            device: copy.srcDevice,
            x: copy.srcXInBytes,
            y: copy.srcY,
            z: copy.srcZ,
            pitch: copy.srcPitch,
            height: copy.srcHeight,
            array: copy.srcArray as Handle,
        };
        let dst = Area {
            kind: copy.dstMemoryType,
            host: copy.dstHost as u64,
            device: copy.dstDevice,
            x: copy.dstXInBytes,
            y: copy.dstY,
            z: copy.dstZ,
            pitch: copy.dstPitch,
            height: copy.dstHeight,
            array: copy.dstArray as Handle,
        };
        Self { src, dst, width: copy.WidthInBytes, height: copy.Height, depth: copy.Depth }
    }
}

impl BoxCopy {
    /// Returns whether the source or the destination is an array.
    pub fn has_array(&self) -> bool {
        let array = CUmemorytype::CU_MEMORYTYPE_ARRAY;
        self.src.kind == array || self.dst.kind == array
    }

    /// Returns a copy of `len` contiguous bytes.
    pub fn linear(dst: u64, src: u64, len: usize) -> Self {
        let side = |address| node::CopySide { address, pitch: len as u64, height: 1 };
        let (width, height, depth) = (len as u64, 1, 1);
        Self::from(&Self::params(&node::CopyStep {
            dst: side(dst),
            src: side(src),
            width,
            height,
            depth,
        }))
    }

    /// Converts the copy of a graph node to the parameters that a program would pass for it.
    pub fn params(copy: &node::CopyStep) -> CUDA_MEMCPY3D {
        let kind = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
        CUDA_MEMCPY3D {
            srcMemoryType: kind,
            srcDevice: copy.src.address,
            srcPitch: copy.src.pitch as usize,
            srcHeight: copy.src.height as usize,
            dstMemoryType: kind,
            dstDevice: copy.dst.address,
            dstPitch: copy.dst.pitch as usize,
            dstHeight: copy.dst.height as usize,
            WidthInBytes: copy.width as usize,
            Height: copy.height as usize,
            Depth: copy.depth as usize,
            ..Default::default()
        }
    }

    /// Converts to the copy of a graph node. Fails if the GPU can't access both the source and the
    /// destination.
    pub fn node(&self, driver: &Driver) -> CuResult<node::CopyStep> {
        let shape = Shape { width: self.width, height: self.height, depth: self.depth };
        if shape.width == 0 || shape.height == 0 || shape.depth == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let side = |area: &Area| {
            let side = area.cuboid(&shape)?;
            let rows = [(shape.height - 1, side.pitch), (shape.width, 1)];
            let span = offset(&[(shape.depth - 1, side.slice)])? + offset(&rows)?;
            match driver.memory.place(side.address, span)? {
                Place::Visible { address, .. } => Ok(node::CopySide {
                    address,
                    pitch: side.pitch as u64,
                    height: (side.slice / side.pitch) as u64,
                }),
                Place::Pageable => {
                    crate::log::unsupported("a copy of pageable memory in a graph");
                    Err(CuError::NOT_SUPPORTED)
                }
            }
        };
        Ok(node::CopyStep {
            dst: side(&self.dst)?,
            src: side(&self.src)?,
            width: shape.width as u64,
            height: shape.height as u64,
            depth: shape.depth as u64,
        })
    }
}

/// Adds a copy to the graph that a stream is being captured to.
pub fn push_copy(driver: &Driver, (stream, null): (Handle, usize), copy: BoxCopy) -> CuResult {
    match copy.node(driver) {
        Ok(node) => capture::push(driver, stream, null, Op::Copy(node, None)),
        Err(error) => {
            // The captured graph would lack the copy, so the capture becomes invalid.
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
unsafe fn copy_2d(copy: BoxCopy, stream: Handle, null: usize, blocking: bool) -> CuResult {
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
        // SAFETY: pageable memory is valid for all rows, as the caller promises.
        return unsafe { array_copy::copy(driver, &copy, stream, blocking) };
    }
    let sides = (copy.dst.rectangle(width, height)?, copy.src.rectangle(width, height)?);
    // SAFETY: pageable memory is valid for all rows, as the caller promises.
    unsafe { rectangle(driver, sides, (width, height), stream, blocking) }
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
        // SAFETY: pageable memory is valid for all rows, as the caller promises.
        return unsafe { array_copy::copy(driver, &copy, stream, blocking) };
    }
    let (dst, src) = (copy.dst.cuboid(&shape)?, copy.src.cuboid(&shape)?);
    let size = (shape.width, shape.height);
    for slice in 0..shape.depth {
        let at = |side: Side| Side { address: side.address + (slice * side.slice) as u64, ..side };
        // SAFETY: pageable memory is valid for all rows, as the caller promises.
        unsafe { rectangle(driver, (at(dst), at(src)), size, stream, blocking) }?;
    }
    Ok(())
}

entries! {
    fn cuMemcpy2D_v2, fn cuMemcpy2D_v2_ptds(copy: In<CUDA_MEMCPY2D>) |null| {
        // SAFETY: the memory that the program describes is valid.
        unsafe { copy_2d((&copy.get()?).into(), 0, null, true) }
    }
    fn cuMemcpy2DUnaligned_v2, fn cuMemcpy2DUnaligned_v2_ptds(copy: In<CUDA_MEMCPY2D>) |null| {
        // SAFETY: the memory that the program describes is valid.
        unsafe { copy_2d((&copy.get()?).into(), 0, null, true) }
    }
    fn cuMemcpy2DAsync_v2, fn cuMemcpy2DAsync_v2_ptsz(
        copy: In<CUDA_MEMCPY2D>, stream: Handle,
    ) |null| {
        // SAFETY: the memory that the program describes is valid.
        unsafe { copy_2d((&copy.get()?).into(), stream, null, false) }
    }
    fn cuMemcpy3D_v2, fn cuMemcpy3D_v2_ptds(copy: In<CUDA_MEMCPY3D>) |null| {
        // SAFETY: the memory that the program describes is valid.
        unsafe { copy_3d((&copy.get()?).into(), 0, null, true) }
    }
    fn cuMemcpy3DAsync_v2, fn cuMemcpy3DAsync_v2_ptsz(
        copy: In<CUDA_MEMCPY3D>, stream: Handle,
    ) |null| {
        // SAFETY: the memory that the program describes is valid.
        unsafe { copy_3d((&copy.get()?).into(), stream, null, false) }
    }
}
