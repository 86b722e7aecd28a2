//! Copies of rectangles and boxes, as programs describe them.

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::graph::GraphCopy;
use crate::handles::Handle;
use crate::memory::Place;
use cuda_api::sys::{CUDA_MEMCPY3D, CUmemorytype};
use protocol::graph as node;
use std::ffi::c_void;

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

/// The source or destination of a copy: the address of its first byte, and the distances in bytes
/// between rows and between slices.
#[derive(Clone, Copy)]
pub struct Side {
    pub address: u64,
    pub pitch: usize,
    pub slice: usize,
}

/// The size of a box: bytes, rows, and slices.
pub struct Shape {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// Returns the sum of the products of all pairs. Fails if it doesn't fit in 64 bits.
pub fn offset(parts: &[(usize, usize)]) -> CuResult<u64> {
    parts.iter().try_fold(0u64, |sum, &(count, step)| {
        let part = (count as u64).checked_mul(step as u64).ok_or(CuError::INVALID_VALUE)?;
        sum.checked_add(part).ok_or(CuError::INVALID_VALUE)
    })
}

impl Side {
    /// Returns the number of bytes from the first to the last byte of a box, no dimension of which
    /// is 0.
    pub fn span(&self, shape: &Shape) -> CuResult<u64> {
        let last = [(shape.depth - 1, self.slice), (shape.height - 1, self.pitch)];
        offset(&last)?.checked_add(shape.width as u64).ok_or(CuError::INVALID_VALUE)
    }

    /// Returns the addresses of a box's rows, if the first one is at `address`.
    pub fn rows(self, address: u64, shape: &Shape) -> impl Iterator<Item = u64> + use<> {
        let height = shape.height;
        (0..shape.depth).flat_map(move |slice| {
            (0..height).map(move |row| address + (slice * self.slice + row * self.pitch) as u64)
        })
    }
}

impl Area {
    /// Returns the start of memory of this kind. The caller sets the members that apply to that
    /// kind.
    pub fn start_of(kind: CUmemorytype) -> Self {
        Self { kind, host: 0, device: 0, x: 0, y: 0, z: 0, pitch: 0, height: 0, array: 0 }
    }

    /// Returns the address at which the memory begins.
    fn start(&self) -> CuResult<u64> {
        match self.kind {
            CUmemorytype::CU_MEMORYTYPE_HOST if self.host == 0 => Err(CuError::INVALID_VALUE),
            CUmemorytype::CU_MEMORYTYPE_HOST => Ok(self.host),
            CUmemorytype::CU_MEMORYTYPE_DEVICE | CUmemorytype::CU_MEMORYTYPE_UNIFIED => {
                Ok(self.device)
            }
            CUmemorytype::CU_MEMORYTYPE_ARRAY => Err(CuError::NOT_SUPPORTED),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns the source or destination of a copy of a rectangle.
    pub fn rectangle(&self, width: usize, height: usize) -> CuResult<Side> {
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
        let area = |address| Area {
            device: address,
            pitch: len,
            height: 1,
            ..Area::start_of(CUmemorytype::CU_MEMORYTYPE_UNIFIED)
        };
        Self { src: area(src), dst: area(dst), width: len, height: 1, depth: 1 }
    }

    /// Converts the copy of a graph node to the parameters that a program would pass for it.
    pub fn params(copy: &GraphCopy) -> CUDA_MEMCPY3D {
        let GraphCopy { step: copy, pageable_dst, pageable_src } = copy;
        let kind = |pageable| match pageable {
            true => CUmemorytype::CU_MEMORYTYPE_HOST,
            false => CUmemorytype::CU_MEMORYTYPE_UNIFIED,
        };
        let [dst, src] =
            [(copy.dst, *pageable_dst), (copy.src, *pageable_src)].map(|(side, pageable)| {
                match pageable {
                    true => (side.address, 0),
                    false => (0, side.address),
                }
            });
        CUDA_MEMCPY3D {
            srcMemoryType: kind(*pageable_src),
            srcHost: src.0 as *const c_void,
            srcDevice: src.1,
            srcPitch: copy.src.pitch as usize,
            srcHeight: copy.src.height as usize,
            dstMemoryType: kind(*pageable_dst),
            dstHost: dst.0 as *mut c_void,
            dstDevice: dst.1,
            dstPitch: copy.dst.pitch as usize,
            dstHeight: copy.dst.height as usize,
            WidthInBytes: copy.width as usize,
            Height: copy.height as usize,
            Depth: copy.depth as usize,
            ..Default::default()
        }
    }

    /// Converts this copy to the copy of a graph node, for which the memory's addresses are looked
    /// up.
    pub fn node(&self, driver: &Driver) -> CuResult<GraphCopy> {
        let shape = Shape { width: self.width, height: self.height, depth: self.depth };
        if shape.width == 0 || shape.height == 0 || shape.depth == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let side = |area: &Area| -> CuResult<(node::CopySide, bool)> {
            let side = area.cuboid(&shape)?;
            let place = driver.memory.place(side.address, side.span(&shape)?)?;
            let (address, pageable) = match place {
                Place::Visible { address, .. } => (address, false),
                Place::Pageable if area.kind == CUmemorytype::CU_MEMORYTYPE_DEVICE => {
                    return Err(CuError::INVALID_VALUE);
                }
                Place::Pageable => (side.address, true),
            };
            let (pitch, height) = (side.pitch as u64, (side.slice / side.pitch) as u64);
            Ok((node::CopySide { address, pitch, height }, pageable))
        };
        let ((dst, pageable_dst), (src, pageable_src)) = (side(&self.dst)?, side(&self.src)?);
        let (width, height, depth) = (shape.width as u64, shape.height as u64, shape.depth as u64);
        let step = node::CopyStep { dst, src, width, height, depth };
        Ok(GraphCopy { step, pageable_dst, pageable_src })
    }
}
