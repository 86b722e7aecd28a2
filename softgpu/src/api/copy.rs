//! Copies of contiguous bytes and of boxes.

use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{CUDA_MEMCPY3D, CUarray, CUmemorytype};

use super::capture;
use super::vmm;
use crate::state::errors::Errors;
use crate::state::graph::Op;
use crate::state::stream::Stream;
use crate::state::{mapping, memory};

/// Maximum size in bytes of a copy from pageable memory that softgpu stages: it saves the data in a
/// temporary buffer, so that the call can return at once. For a larger copy, the call returns when
/// the copy has finished.
const STAGED: usize = 2 << 20;

/// The rows on one side of a copy: the address of the first row, and the distances between rows and
/// between slices.
#[derive(Debug, Clone, Copy)]
struct Rows {
    address: u64,
    pitch: u64,
    slice: u64,
}

/// A copy of one or more slices, each with one or more rows. The code that creates it guarantees that the program's host memory
/// is valid whenever the copy runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    to: Rows,
    from: Rows,
    width: usize,
    height: usize,
    depth: usize,
}

/// The kind of memory that an address refers to. It determines whether a call returns before or
/// after its copy has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Pageable, pinned, or registered host memory.
    Host,
    Managed,
    Device,
}

/// The kind of memory that a copy function requires on one side of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
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
        let rows = |address| Rows { address, pitch: len as u64, slice: len as u64 };
        Self { to: rows(to), from: rows(from), width: len, height: 1, depth: 1 }
    }

    /// Returns the number of bytes from the first byte of the first row to the last byte of the
    /// last row on one side of the copy.
    fn span(&self, rows: Rows) -> u64 {
        match (self.height, self.depth) {
            (0, _) | (_, 0) => 0,
            (height, depth) => {
                rows.slice * (depth as u64 - 1)
                    + rows.pitch * (height as u64 - 1)
                    + self.width as u64
            }
        }
    }

    fn check(&self, to: Side, from: Side) -> CuResult {
        for (rows, side, is_target) in [(self.to, to, true), (self.from, from, false)] {
            let span = self.span(rows);
            let known = memory::known(rows.address, span);
            let bad = match side {
                Side::Device => !known,
                // Reject a range that starts in an allocation but extends beyond it.
                Side::Any => !known && memory::find(rows.address).is_some(),
                Side::Host => false,
            };
            // Reject a target that kernels can't write. Only host memory that the program has
            // mapped itself and registered can be read-only.
            let bad =
                bad || (known && is_target && span > 0 && !memory::writable(rows.address, span));
            if bad || (rows.address == 0 && span > 0) {
                return Err(CuError::INVALID_VALUE);
            }
        }
        Ok(())
    }

    /// Returns whether all memory that the copy uses on the device is still accessible.
    pub(crate) fn is_accessible(&self) -> bool {
        [self.to, self.from].into_iter().all(|rows| {
            let on_device = mapping::has_place(rows.address) || vmm::is_reserved(rows.address);
            !on_device || memory::known(rows.address, self.span(rows))
        }) && (memory::find(self.to.address).is_none()
            || memory::writable(self.to.address, self.span(self.to)))
    }

    /// Performs the copy on the calling thread.
    pub(crate) fn run(&self) {
        for (slice, row) in
            (0..self.depth as u64).flat_map(|z| (0..self.height as u64).map(move |y| (z, y)))
        {
            let at = |rows: Rows| rows.address + slice * rows.slice + row * rows.pitch;
            let (from, to) = (at(self.from) as *const u8, at(self.to) as *mut u8);
            // SAFETY: device memory was checked, and the copy's creator guarantees that host memory
            // is valid. The two ranges may overlap, which `copy` allows.
            unsafe { std::ptr::copy(from, to, self.width) };
        }
    }

    fn pageable(rows: Rows, span: u64) -> bool {
        !memory::known(rows.address, span)
    }

    /// Returns the kinds of memory of the target and of the source.
    fn kinds(&self) -> [Kind; 2] {
        [self.to, self.from].map(|rows| match memory::find(rows.address) {
            None => Kind::Host,
            Some(found) if found.managed() => Kind::Managed,
            Some(found) if found.on_host() => Kind::Host,
            Some(_) => Kind::Device,
        })
    }

    /// Performs the copy before returning if NVIDIA's driver would do so for these kinds of memory,
    /// and otherwise queues it. `now` says that the called function has no stream argument. `sides`
    /// contains the kinds of memory that the function requires for the target and the source.
    fn submit(self, stream: &Stream, sides: [Side; 2], now: bool) -> CuResult {
        let kinds = self.kinds();
        let waits = if now {
            kinds != [Kind::Device; 2]
        } else {
            let managed = |(side, kind)| side == Side::Host && kind == Kind::Managed;
            kinds == [Kind::Host; 2] || sides.into_iter().zip(kinds).any(managed)
        };
        if waits && (now || !capture::captured(stream)?) {
            return self.wait(stream);
        }
        self.queue(stream)
    }

    /// Waits for the stream, then performs the copy on the calling thread.
    fn wait(self, stream: &Stream) -> CuResult {
        capture::GRAPHS.forbid_on(&stream.into())?;
        super::stream::synchronize(stream)?;
        self.run();
        Ok(())
    }

    /// Queues the copy if possible. If the target is pageable memory, the copy is performed before
    /// this returns. If the source is pageable, the program may change it as soon as this returns,
    /// so the source is copied to a temporary buffer first, or the copy is performed before this
    /// returns.
    fn queue(self, stream: &Stream) -> CuResult {
        if capture::captured(stream)? {
            return capture::push(stream, Op::Copy(self, None));
        }
        let span = |rows| self.span(rows);
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
        let size = self.width * self.height * self.depth;
        if stream.idle() || size > STAGED {
            return self.wait(stream);
        }
        let mut staged = vec![0u8; size];
        let (pitch, slice) = (self.width as u64, (self.width * self.height) as u64);
        let aside = Copy { to: Rows { address: staged.as_mut_ptr() as u64, pitch, slice }, ..self };
        aside.run();
        stream.submit(move |errors| {
            let from = Rows { address: staged.as_ptr() as u64, pitch, slice };
            if !errors.failed() {
                Copy { from, ..self }.run();
            }
        });
        Ok(())
    }
}

/// Copies contiguous bytes. `now` says that the call has no stream argument.
///
/// # Safety
///
/// Host addresses must be valid for `len` bytes, for as long as `cuMemcpyAsync` requires.
pub(super) unsafe fn copy(
    stream: &Stream,
    to: (u64, Side),
    from: (u64, Side),
    len: usize,
    now: bool,
) -> CuResult {
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the caller guarantees that the memory stays valid until the copy has run.
    let copy = unsafe { Copy::linear(to.0, from.0, len) };
    copy.check(to.1, from.1)?;
    copy.submit(stream, [to.1, from.1], now)
}

/// The sides of a copy by a function that accepts any kind of memory as target and source.
pub(super) const ANY: [Side; 2] = [Side::Any; 2];

/// The target or the source of a CUDA_MEMCPY3D.
struct Area {
    kind: CUmemorytype,
    host: u64,
    device: u64,
    array: CUarray,
    at: [usize; 3],
    pitch: usize,
    height: usize,
}

impl Area {
    fn of_source(p: &CUDA_MEMCPY3D) -> Self {
        Self {
            kind: p.srcMemoryType,
            host: p.srcHost as u64,
            device: p.srcDevice,
            array: p.srcArray,
            at: [p.srcXInBytes, p.srcY, p.srcZ],
            pitch: p.srcPitch,
            height: p.srcHeight,
        }
    }

    fn of_target(p: &CUDA_MEMCPY3D) -> Self {
        Self {
            kind: p.dstMemoryType,
            host: p.dstHost as u64,
            device: p.dstDevice,
            array: p.dstArray,
            at: [p.dstXInBytes, p.dstY, p.dstZ],
            pitch: p.dstPitch,
            height: p.dstHeight,
        }
    }

    /// Returns the rows of the box, and the kind of memory that they must be in. `size` contains
    /// the number of bytes per row, of rows, and of slices, in this order.
    fn rows(&self, size: [usize; 3]) -> CuResult<(Rows, Side)> {
        let (start, side) = match self.kind {
            CUmemorytype::CU_MEMORYTYPE_HOST => (self.host, Side::Host),
            CUmemorytype::CU_MEMORYTYPE_DEVICE => (self.device, Side::Device),
            CUmemorytype::CU_MEMORYTYPE_UNIFIED => (self.device, Side::Any),
            CUmemorytype::CU_MEMORYTYPE_ARRAY => return Ok((self.in_array(size)?, Side::Device)),
            _ => return Err(CuError::INVALID_VALUE),
        };
        let [width, height, depth] = size;
        let pitch = if self.pitch == 0 { self.at[0] + width } else { self.pitch };
        let slice_rows = if self.height == 0 { self.at[1] + height } else { self.height };
        if (height > 1 && pitch < width) || (depth > 1 && slice_rows < height) {
            return Err(CuError::INVALID_VALUE);
        }
        let address = || {
            let slice = pitch.checked_mul(slice_rows)?;
            slice.checked_mul(depth.max(1))?;
            let skip =
                self.at[2].checked_mul(slice)?.checked_add(self.at[1].checked_mul(pitch)?)?;
            let address = start.checked_add(skip.checked_add(self.at[0])? as u64)?;
            Some(Rows { address, pitch: pitch as u64, slice: slice as u64 })
        };
        Ok((address().ok_or(CuError::INVALID_VALUE)?, side))
    }

    fn in_array(&self, size: [usize; 3]) -> CuResult<Rows> {
        let array = super::array::find(self.array)?;
        let extent = array.extent;
        let at = self.at.map(|at| at as u64);
        if !extent.contains(at, size.map(|size| size as u64)) {
            return Err(CuError::INVALID_VALUE);
        }
        let (pitch, slice) = (extent.width, extent.width * extent.height);
        let address = array.address()? + at[2] * slice + at[1] * pitch + at[0];
        Ok(Rows { address, pitch, slice })
    }
}

impl Copy {
    /// Describes the copy of a box.
    ///
    /// # Safety
    ///
    /// Host addresses must be valid whenever the copy runs.
    unsafe fn of_box(p: &CUDA_MEMCPY3D) -> CuResult<Self> {
        let size = [p.WidthInBytes, p.Height, p.Depth];
        let (from, from_side) = Area::of_source(p).rows(size)?;
        let (to, to_side) = Area::of_target(p).rows(size)?;
        let [width, height, depth] = size;
        let copy = Copy { to, from, width, height, depth };
        copy.check(to_side, from_side)?;
        Ok(copy)
    }

    /// Describes the copy that a graph node's parameters ask for. Copies of arrays aren't
    /// supported.
    ///
    /// # Safety
    ///
    /// Host addresses must be valid whenever the copy runs.
    pub(crate) unsafe fn of_node(p: &CUDA_MEMCPY3D) -> CuResult<Self> {
        if has_array(p) {
            return Err(CuError::NOT_SUPPORTED);
        }
        // SAFETY: the caller guarantees that host addresses are valid whenever the copy runs.
        unsafe { Self::of_box(p) }
    }

    /// Returns graph-node parameters that describe the copy.
    pub(crate) fn params(&self) -> CUDA_MEMCPY3D {
        let kind = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
        let rows = |of: &Rows| of.slice.checked_div(of.pitch).unwrap_or(0) as usize;
        CUDA_MEMCPY3D {
            srcMemoryType: kind,
            srcDevice: self.from.address,
            srcPitch: self.from.pitch as usize,
            srcHeight: rows(&self.from),
            dstMemoryType: kind,
            dstDevice: self.to.address,
            dstPitch: self.to.pitch as usize,
            dstHeight: rows(&self.to),
            WidthInBytes: self.width,
            Height: self.height,
            Depth: self.depth,
            ..Default::default()
        }
    }
}

fn has_array(p: &CUDA_MEMCPY3D) -> bool {
    let array = CUmemorytype::CU_MEMORYTYPE_ARRAY;
    p.srcMemoryType == array || p.dstMemoryType == array
}

/// Copies a box. `now` says that the call has no stream argument. `sides` has the kinds of memory
/// that the call requires for the target and the source, in addition to the parameters.
///
/// # Safety
///
/// Host addresses must be valid for all rows, for as long as `cuMemcpy3DAsync` requires.
pub(super) unsafe fn copy_box(
    stream: &Stream,
    p: &CUDA_MEMCPY3D,
    sides: [Side; 2],
    now: bool,
) -> CuResult {
    // SAFETY: the caller guarantees that host addresses are valid for as long as `cuMemcpy3DAsync`
    // requires, which covers every run of the copy.
    let copy = unsafe { Copy::of_box(p) }?;
    if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
        return Ok(());
    }
    if has_array(p) && capture::captured(stream)? {
        // Graphs can't contain copies of arrays. The captured graph would therefore lack this copy,
        // so invalidate the capture.
        let _ = capture::GRAPHS.forbid_on(&stream.into());
        return Err(CuError::NOT_SUPPORTED);
    }
    copy.submit(stream, sides, now)
}
