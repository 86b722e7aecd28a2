//! Copies and fills.

use std::ffi::{c_uint, c_void};

use cuda_api::args::In;
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUcontext, CUdeviceptr, CUmemorytype, CUstream};

use super::capture;
use super::entry::entries;
use crate::state::errors::Errors;
use crate::state::graph::Op;
use crate::state::memory;
use crate::state::stream::{Stream, default_stream, lookup};

/// Maximum size in bytes of a copy from pageable memory for which the data is first saved in a
/// temporary buffer. The caller doesn't have to wait for such a copy, but must wait for a larger
/// one.
const STAGED: usize = 1 << 20;

/// The rows on one side of a copy: the address of the first row, and the distance between rows.
#[derive(Debug, Clone, Copy)]
struct Rows {
    address: u64,
    pitch: u64,
}

/// A copy of one or more rows. The code that creates it guarantees that the program's host memory
/// is valid whenever the copy runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    to: Rows,
    from: Rows,
    width: usize,
    height: usize,
}

/// The kind of memory that an address must refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Host,
    Device,
    Any,
}

impl Copy {
    /// Describes a copy of contiguous bytes.
    ///
    /// # Safety
    ///
    /// Host addresses must be valid for `len` bytes whenever the copy runs.
    unsafe fn linear(to: u64, from: u64, len: usize) -> Self {
        let rows = |address| Rows { address, pitch: len as u64 };
        Self { to: rows(to), from: rows(from), width: len, height: 1 }
    }

    fn span(rows: Rows, width: usize, height: usize) -> u64 {
        match height {
            0 => 0,
            n => rows.pitch * (n as u64 - 1) + width as u64,
        }
    }

    fn check(&self, to: Side, from: Side) -> CuResult {
        for (rows, side, is_target) in [(self.to, to, true), (self.from, from, false)] {
            let span = Self::span(rows, self.width, self.height);
            let known = memory::known(rows.address, span);
            let bad = match side {
                Side::Device => !known,
                // Reject a range that starts in an allocation but extends beyond it.
                Side::Any => !known && memory::find(rows.address).is_some(),
                Side::Host => false,
            };
            // Only memory that the program has mapped itself can be read-only.
            let bad =
                bad || (known && is_target && span > 0 && !memory::writable(rows.address, span));
            if bad || (rows.address == 0 && span > 0) {
                return Err(CuError::INVALID_VALUE);
            }
        }
        Ok(())
    }

    /// Performs the copy on the calling thread.
    pub(crate) fn run(&self) {
        for row in 0..self.height as u64 {
            let from = (self.from.address + row * self.from.pitch) as *const u8;
            let to = (self.to.address + row * self.to.pitch) as *mut u8;
            // SAFETY: device memory was checked, and the copy's creator guarantees that host memory
            // is valid. The two ranges may overlap, which `copy` allows.
            unsafe { std::ptr::copy(from, to, self.width) };
        }
    }

    fn pageable(rows: Rows, span: u64) -> bool {
        !memory::known(rows.address, span)
    }

    /// Waits for the stream, then performs the copy on the calling thread.
    fn wait(self, stream: &Stream) -> CuResult {
        capture::GRAPHS.forbid_on(&stream.into())?;
        super::stream::synchronize(stream)?;
        self.run();
        Ok(())
    }

    /// Queues the copy. The program may change pageable memory as soon as this returns, so such
    /// memory is copied to a temporary buffer first, or this waits for the copy.
    fn queue(self, stream: &Stream) -> CuResult {
        if capture::captured(stream)? {
            return capture::push(stream, Op::Copy(self, None));
        }
        let span = |rows| Self::span(rows, self.width, self.height);
        if Self::pageable(self.to, span(self.to)) {
            return self.wait(stream);
        }
        let work = move |errors: &Errors| {
            if !errors.failed() {
                self.run();
            }
        };
        if !Self::pageable(self.from, span(self.from)) {
            stream.now_or_submit(work);
            return Ok(());
        }
        let size = self.width * self.height;
        if stream.idle() || size > STAGED {
            return self.wait(stream);
        }
        let mut staged = vec![0u8; size];
        let pitch = self.width as u64;
        let aside = Copy { to: Rows { address: staged.as_mut_ptr() as u64, pitch }, ..self };
        aside.run();
        stream.submit(move |errors| {
            let from = Rows { address: staged.as_ptr() as u64, pitch };
            if !errors.failed() {
                Copy { from, ..self }.run();
            }
        });
        Ok(())
    }
}

/// Copies contiguous bytes, and waits for the copy if `wait` is set.
///
/// # Safety
///
/// Host addresses must be valid for `len` bytes, for as long as `cuMemcpyAsync` requires.
unsafe fn copy(
    stream: &Stream,
    to: (u64, Side),
    from: (u64, Side),
    len: usize,
    wait: bool,
) -> CuResult {
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the caller guarantees that the memory stays valid until the copy has run.
    let copy = unsafe { Copy::linear(to.0, from.0, len) };
    copy.check(to.1, from.1)?;
    if wait { copy.wait(stream) } else { copy.queue(stream) }
}

/// Copies from device memory to device memory. The host doesn't wait, even if the call has no
/// stream argument.
fn on_device(stream: &Stream, to: u64, from: u64, len: usize) -> CuResult {
    // SAFETY: `copy` checks that both sides are device memory, so no host memory is used.
    unsafe { copy(stream, (to, Side::Device), (from, Side::Device), len, false) }
}

/// Returns the address on one side of a copy, and the kind of memory that it must refer to.
fn side(kind: CUmemorytype, host: u64, device: u64) -> CuResult<(u64, Side)> {
    match kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => Ok((host, Side::Host)),
        CUmemorytype::CU_MEMORYTYPE_DEVICE => Ok((device, Side::Device)),
        CUmemorytype::CU_MEMORYTYPE_UNIFIED => Ok((device, Side::Any)),
        CUmemorytype::CU_MEMORYTYPE_ARRAY => Err(CuError::NOT_SUPPORTED),
        _ => Err(CuError::INVALID_VALUE),
    }
}

impl Copy {
    /// Describes the copy that a graph node's parameters ask for. Copies of more than one slice
    /// aren't supported.
    ///
    /// # Safety
    ///
    /// Host addresses must be valid whenever the copy runs.
    pub(crate) unsafe fn of_node(p: &CUDA_MEMCPY3D) -> CuResult<Self> {
        if p.Depth > 1 || p.srcZ != 0 || p.dstZ != 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
        let height = if p.Depth == 0 { 0 } else { p.Height };
        let (from, from_side) = side(p.srcMemoryType, p.srcHost as u64, p.srcDevice)?;
        let (to, to_side) = side(p.dstMemoryType, p.dstHost as u64, p.dstDevice)?;
        let size = (p.WidthInBytes, height);
        let copy = Copy {
            to: rows(to, (p.dstXInBytes, p.dstY, p.dstPitch), size)?,
            from: rows(from, (p.srcXInBytes, p.srcY, p.srcPitch), size)?,
            width: p.WidthInBytes,
            height,
        };
        copy.check(to_side, from_side)?;
        Ok(copy)
    }

    /// Returns graph-node parameters that describe the copy.
    pub(crate) fn params(&self) -> CUDA_MEMCPY3D {
        let kind = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
        CUDA_MEMCPY3D {
            srcMemoryType: kind,
            srcDevice: self.from.address,
            srcPitch: self.from.pitch as usize,
            srcHeight: self.height,
            dstMemoryType: kind,
            dstDevice: self.to.address,
            dstPitch: self.to.pitch as usize,
            dstHeight: self.height,
            WidthInBytes: self.width,
            Height: self.height,
            Depth: 1,
            ..Default::default()
        }
    }
}

/// Returns rows that start at column `x` and row `y` of a pitched memory area.
fn rows(
    address: u64,
    (x, y, pitch): (usize, usize, usize),
    (width, height): (usize, usize),
) -> CuResult<Rows> {
    let pitch = if pitch == 0 { width } else { pitch };
    if height > 1 && pitch < width {
        return Err(CuError::INVALID_VALUE);
    }
    let skip = y.checked_mul(pitch).and_then(|n| n.checked_add(x));
    let address = skip.and_then(|n| address.checked_add(n as u64));
    let address = address.ok_or(CuError::INVALID_VALUE)?;
    pitch.checked_mul(height).ok_or(CuError::INVALID_VALUE)?;
    Ok(Rows { address, pitch: pitch as u64 })
}

/// Copies a rectangle. If `wait` is set and either side is host memory, waits for the copy.
///
/// # Safety
///
/// Host addresses must be valid for all rows, for as long as `cuMemcpy2DAsync` requires.
unsafe fn rectangle(stream: &Stream, params: In<CUDA_MEMCPY2D>, wait: bool) -> CuResult {
    let p = params.get()?;
    let (from, from_side) = side(p.srcMemoryType, p.srcHost as u64, p.srcDevice)?;
    let (to, to_side) = side(p.dstMemoryType, p.dstHost as u64, p.dstDevice)?;
    if p.WidthInBytes == 0 || p.Height == 0 {
        return Ok(());
    }
    let size = (p.WidthInBytes, p.Height);
    let copy = Copy {
        to: rows(to, (p.dstXInBytes, p.dstY, p.dstPitch), size)?,
        from: rows(from, (p.srcXInBytes, p.srcY, p.srcPitch), size)?,
        width: p.WidthInBytes,
        height: p.Height,
    };
    copy.check(to_side, from_side)?;
    let on_device = to_side == Side::Device && from_side == Side::Device;
    if wait && !on_device { copy.wait(stream) } else { copy.queue(stream) }
}

/// Fills rows with a 1, 2 or 4-byte value.
fn fill(
    stream: &Stream,
    to: u64,
    pitch: usize,
    value: u32,
    size: usize,
    (width, height): (usize, usize),
) -> CuResult {
    if width == 0 || height == 0 {
        return Ok(());
    }
    let fill = Fill { to, pitch, value, size, width, height };
    fill.check()?;
    if capture::captured(stream)? {
        return capture::push(stream, Op::Memset(fill));
    }
    stream.now_or_submit(move |errors| {
        if !errors.failed() {
            fill.run();
        }
    });
    Ok(())
}

/// A fill of a rectangle of elements with one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    /// Element size in bytes: 1, 2 or 4.
    pub(crate) size: usize,
    /// Width in elements.
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Fill {
    /// Checks that the parameters are valid and that the rectangle is accessible device memory.
    pub(crate) fn check(&self) -> CuResult {
        let Self { to, pitch, size, width, height, .. } = *self;
        let invalid = CuError::INVALID_VALUE;
        let bytes = width.checked_mul(size).ok_or(invalid)?;
        if !matches!(size, 1 | 2 | 4)
            || bytes == 0
            || height == 0
            || !to.is_multiple_of(size as u64)
            || (height > 1 && (pitch < bytes || !pitch.is_multiple_of(size)))
        {
            return Err(invalid);
        }
        let rows = pitch.checked_mul(height - 1);
        let span = rows.and_then(|n| n.checked_add(bytes)).ok_or(invalid)?;
        if !memory::writable(to, span as u64) {
            return Err(invalid);
        }
        Ok(())
    }

    /// Performs the fill. [`Self::check`] must have succeeded.
    pub(crate) fn run(&self) {
        let Self { to, pitch, value, size, width, height } = *self;
        for row in 0..height {
            let start = to + (row * pitch) as u64;
            // SAFETY: `check` has verified that the rectangle is accessible and aligned.
            unsafe {
                match size {
                    1 => std::slice::from_raw_parts_mut(start as *mut u8, width).fill(value as u8),
                    2 => {
                        std::slice::from_raw_parts_mut(start as *mut u16, width).fill(value as u16)
                    }
                    _ => std::slice::from_raw_parts_mut(start as *mut u32, width).fill(value),
                }
            }
        }
    }
}

entries! {
    fn cuMemcpy, fn cuMemcpy_ptds(to: CUdeviceptr, from: CUdeviceptr, len: usize) |per_thread| {
        let known = memory::known(to, len as u64) && memory::known(from, len as u64);
        // SAFETY: the program passes addresses that are valid for `len` bytes.
        unsafe {
            copy(&*default_stream(per_thread)?, (to, Side::Any), (from, Side::Any), len, !known)
        }
    }

    fn cuMemcpyHtoD_v2, fn cuMemcpyHtoD_v2_ptds(
        to: CUdeviceptr, from: *const c_void, len: usize,
    ) |per_thread| {
        let (to, from) = ((to, Side::Device), (from as u64, Side::Host));
        // SAFETY: the program passes addresses that are valid for `len` bytes.
        unsafe { copy(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpyDtoH_v2, fn cuMemcpyDtoH_v2_ptds(
        to: *mut c_void, from: CUdeviceptr, len: usize,
    ) |per_thread| {
        let (to, from) = ((to as u64, Side::Host), (from, Side::Device));
        // SAFETY: the program passes addresses that are valid for `len` bytes.
        unsafe { copy(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpyDtoD_v2, fn cuMemcpyDtoD_v2_ptds(
        to: CUdeviceptr, from: CUdeviceptr, len: usize,
    ) |per_thread| {
        on_device(&*default_stream(per_thread)?, to, from, len)
    }

    fn cuMemcpyPeer, fn cuMemcpyPeer_ptds(
        to: CUdeviceptr, _to_context: CUcontext, from: CUdeviceptr, _from_context: CUcontext,
        len: usize,
    ) |per_thread| {
        let (to, from) = ((to, Side::Device), (from, Side::Device));
        // SAFETY: `copy` checks that both sides are device memory, so no host memory is used.
        unsafe { copy(&*default_stream(per_thread)?, to, from, len, true) }
    }

    fn cuMemcpy2D_v2, fn cuMemcpy2D_v2_ptds(params: In<CUDA_MEMCPY2D>) |per_thread| {
        // SAFETY: the program passes a description of valid memory.
        unsafe { rectangle(&*default_stream(per_thread)?, params, true) }
    }

    fn cuMemcpy2DUnaligned_v2, fn cuMemcpy2DUnaligned_v2_ptds(
        params: In<CUDA_MEMCPY2D>,
    ) |per_thread| {
        // SAFETY: the program passes a description of valid memory.
        unsafe { rectangle(&*default_stream(per_thread)?, params, true) }
    }

    fn cuMemsetD8_v2, fn cuMemsetD8_v2_ptds(to: CUdeviceptr, value: u8, count: usize) |per_thread| {
        fill(&*default_stream(per_thread)?, to, 0, value.into(), 1, (count, 1))
    }

    fn cuMemsetD16_v2, fn cuMemsetD16_v2_ptds(
        to: CUdeviceptr, value: u16, count: usize,
    ) |per_thread| {
        fill(&*default_stream(per_thread)?, to, 0, value.into(), 2, (count, 1))
    }

    fn cuMemsetD32_v2, fn cuMemsetD32_v2_ptds(
        to: CUdeviceptr, value: c_uint, count: usize,
    ) |per_thread| {
        fill(&*default_stream(per_thread)?, to, 0, value, 4, (count, 1))
    }

    fn cuMemsetD2D8_v2, fn cuMemsetD2D8_v2_ptds(
        to: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize,
    ) |per_thread| {
        fill(&*default_stream(per_thread)?, to, pitch, value.into(), 1, (width, height))
    }

    fn cuMemsetD2D16_v2, fn cuMemsetD2D16_v2_ptds(
        to: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize,
    ) |per_thread| {
        fill(&*default_stream(per_thread)?, to, pitch, value.into(), 2, (width, height))
    }

    fn cuMemsetD2D32_v2, fn cuMemsetD2D32_v2_ptds(
        to: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize,
    ) |per_thread| {
        fill(&*default_stream(per_thread)?, to, pitch, value, 4, (width, height))
    }

    fn cuMemcpyAsync, fn cuMemcpyAsync_ptsz(
        to: CUdeviceptr, from: CUdeviceptr, len: usize, stream: CUstream,
    ) |per_thread| {
        // SAFETY: the program passes addresses that are valid for `len` bytes.
        unsafe {
            copy(&*lookup(stream, per_thread)?, (to, Side::Any), (from, Side::Any), len, false)
        }
    }

    fn cuMemcpyHtoDAsync_v2, fn cuMemcpyHtoDAsync_v2_ptsz(
        to: CUdeviceptr, from: *const c_void, len: usize, stream: CUstream,
    ) |per_thread| {
        let (to, from) = ((to, Side::Device), (from as u64, Side::Host));
        // SAFETY: the program passes addresses that are valid for `len` bytes.
        unsafe { copy(&*lookup(stream, per_thread)?, to, from, len, false) }
    }

    fn cuMemcpyDtoHAsync_v2, fn cuMemcpyDtoHAsync_v2_ptsz(
        to: *mut c_void, from: CUdeviceptr, len: usize, stream: CUstream,
    ) |per_thread| {
        let (to, from) = ((to as u64, Side::Host), (from, Side::Device));
        // SAFETY: the program passes addresses that are valid for `len` bytes.
        unsafe { copy(&*lookup(stream, per_thread)?, to, from, len, false) }
    }

    fn cuMemcpyDtoDAsync_v2, fn cuMemcpyDtoDAsync_v2_ptsz(
        to: CUdeviceptr, from: CUdeviceptr, len: usize, stream: CUstream,
    ) |per_thread| {
        on_device(&*lookup(stream, per_thread)?, to, from, len)
    }

    fn cuMemcpyPeerAsync, fn cuMemcpyPeerAsync_ptsz(
        to: CUdeviceptr, _to_context: CUcontext, from: CUdeviceptr, _from_context: CUcontext,
        len: usize, stream: CUstream,
    ) |per_thread| {
        on_device(&*lookup(stream, per_thread)?, to, from, len)
    }

    fn cuMemcpy2DAsync_v2, fn cuMemcpy2DAsync_v2_ptsz(
        params: In<CUDA_MEMCPY2D>, stream: CUstream,
    ) |per_thread| {
        // SAFETY: the program passes a description of valid memory.
        unsafe { rectangle(&*lookup(stream, per_thread)?, params, false) }
    }

    fn cuMemsetD8Async, fn cuMemsetD8Async_ptsz(
        to: CUdeviceptr, value: u8, count: usize, stream: CUstream,
    ) |per_thread| {
        fill(&*lookup(stream, per_thread)?, to, 0, value.into(), 1, (count, 1))
    }

    fn cuMemsetD16Async, fn cuMemsetD16Async_ptsz(
        to: CUdeviceptr, value: u16, count: usize, stream: CUstream,
    ) |per_thread| {
        fill(&*lookup(stream, per_thread)?, to, 0, value.into(), 2, (count, 1))
    }

    fn cuMemsetD32Async, fn cuMemsetD32Async_ptsz(
        to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream,
    ) |per_thread| {
        fill(&*lookup(stream, per_thread)?, to, 0, value, 4, (count, 1))
    }

    fn cuMemsetD2D8Async, fn cuMemsetD2D8Async_ptsz(
        to: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize, stream: CUstream,
    ) |per_thread| {
        fill(&*lookup(stream, per_thread)?, to, pitch, value.into(), 1, (width, height))
    }

    fn cuMemsetD2D16Async, fn cuMemsetD2D16Async_ptsz(
        to: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize, stream: CUstream,
    ) |per_thread| {
        fill(&*lookup(stream, per_thread)?, to, pitch, value.into(), 2, (width, height))
    }

    fn cuMemsetD2D32Async, fn cuMemsetD2D32Async_ptsz(
        to: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize, stream: CUstream,
    ) |per_thread| {
        fill(&*lookup(stream, per_thread)?, to, pitch, value, 4, (width, height))
    }
}
