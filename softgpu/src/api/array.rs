//! Entry points that create, destroy, and describe arrays and mipmapped arrays.

use std::ffi::{c_int, c_uint};

use cuda_api::args::{In, Out, check_handle};
use cuda_api::arrays::{Extent, element_size, format_error, level, most_levels};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY_MEMORY_REQUIREMENTS, CUDA_ARRAY_SPARSE_PROPERTIES,
    CUDA_ARRAY3D_COLOR_ATTACHMENT, CUDA_ARRAY3D_CUBEMAP, CUDA_ARRAY3D_DEFERRED_MAPPING,
    CUDA_ARRAY3D_DEPTH_TEXTURE, CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED,
    CUDA_ARRAY3D_SURFACE_LDST, CUDA_ARRAY3D_TEXTURE_GATHER, CUarray, CUmipmappedArray,
};

use super::capture;
use super::entry::entries;
use crate::state::array::{ARRAYS, Array, MIPMAPS, Mipmap};
use crate::state::context::{current, object};
use crate::state::device::driver;

/// Maximum dimensions of arrays on compute capability 9.0.
const MAX_1D: usize = 131_072;
const MAX_2D: [usize; 2] = [131_072, 65_536];
const MAX_3D: usize = 16_384;
const MAX_LAYERED: usize = 32_768;
const MAX_LAYERS: usize = 2048;
/// Granularity of the sizes that memory requirements report, in bytes, as in NVIDIA's driver.
const UNIT: u64 = 64 << 10;

/// Checks an array's properties. Returns whether the array gets memory when it is created.
fn check(array: &CUDA_ARRAY3D_DESCRIPTOR) -> CuResult<bool> {
    let require = |valid: bool| if valid { Ok(()) } else { Err(CuError::INVALID_VALUE) };
    let (w, h, d) = (array.Width, array.Height, array.Depth);
    let is = |flag: u32| array.Flags & flag != 0;
    const SUPPORTED: u32 = CUDA_ARRAY3D_LAYERED
        | CUDA_ARRAY3D_SURFACE_LDST
        | CUDA_ARRAY3D_CUBEMAP
        | CUDA_ARRAY3D_TEXTURE_GATHER
        | CUDA_ARRAY3D_DEFERRED_MAPPING;
    require(!is(CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT))?;
    if array.Flags & !SUPPORTED != 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    if element_size(array.Format, 1).is_none() {
        return Err(format_error(array.Format));
    }
    require(element_size(array.Format, array.NumChannels).is_some())?;
    require(w > 0)?;
    let layers = match (is(CUDA_ARRAY3D_CUBEMAP), is(CUDA_ARRAY3D_LAYERED)) {
        (true, layered) => {
            require(w == h && if layered { d > 0 && d.is_multiple_of(6) } else { d == 6 })?;
            true
        }
        (false, true) => {
            require(d > 0)?;
            true
        }
        (false, false) => {
            require(d == 0 || h > 0)?;
            false
        }
    };
    require(!is(CUDA_ARRAY3D_TEXTURE_GATHER) || (h > 0 && d == 0))?;
    require(match (layers, h, d) {
        (true, _, d) => w <= MAX_LAYERED && h <= MAX_LAYERED && d <= MAX_LAYERS,
        (false, 0, _) => w <= MAX_1D,
        (false, h, 0) => w <= MAX_2D[0] && h <= MAX_2D[1],
        (false, h, d) => w.max(h).max(d) <= MAX_3D,
    })?;
    require(Extent::of(array).is_some())?;
    Ok(!is(CUDA_ARRAY3D_DEFERRED_MAPPING))
}

fn create(to: Out<CUarray>, array: CUDA_ARRAY3D_DESCRIPTOR) -> CuResult {
    to.check()?;
    let context = current()?;
    capture::forbid_unsafe()?;
    let has_memory = check(&array)?;
    let array = Array::new(&context, array, has_memory)?;
    to.set(ARRAYS.insert(array) as CUarray)
}

/// Returns the array with a handle. If the array's context or the calling thread's context has been
/// destroyed, fails with the error that says so.
pub(super) fn find(array: CUarray) -> CuResult<std::sync::Arc<Array>> {
    let array = object(&ARRAYS, array as usize)?;
    current()?;
    Ok(array)
}

/// Stores the memory requirements of an array with deferred mapping. Fails for an array without
/// deferred mapping, because CUDA allocates its memory when it creates the array.
fn requirements(
    to: Out<CUDA_ARRAY_MEMORY_REQUIREMENTS>,
    device: c_int,
    first: &CUDA_ARRAY3D_DESCRIPTOR,
    levels: u32,
) -> CuResult {
    to.check()?;
    driver()?.device(device)?;
    if first.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING == 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let bytes = (0..levels).filter_map(|number| Extent::of(&level(first, number)));
    let bytes: u64 = bytes.map(|extent| extent.bytes()).sum();
    to.set(CUDA_ARRAY_MEMORY_REQUIREMENTS {
        size: bytes.next_multiple_of(UNIT) as usize,
        alignment: UNIT as usize,
        reserved: [0; 4],
    })
}

entries! {
    fn cuArrayCreate_v2(to: Out<CUarray>, array: In<CUDA_ARRAY_DESCRIPTOR>) {
        let array = array.get()?;
        create(to, CUDA_ARRAY3D_DESCRIPTOR {
            Width: array.Width,
            Height: array.Height,
            Depth: 0,
            Format: array.Format,
            NumChannels: array.NumChannels,
            Flags: 0,
        })
    }

    fn cuArray3DCreate_v2(to: Out<CUarray>, array: In<CUDA_ARRAY3D_DESCRIPTOR>) {
        create(to, array.get()?)
    }

    fn cuArrayDestroy(array: CUarray) {
        driver()?;
        capture::forbid_unsafe()?;
        object(&ARRAYS, array as usize)?;
        let array = ARRAYS.remove(array as usize).ok_or(CuError::INVALID_HANDLE)?;
        // Before freeing the array, wait for work that may use it.
        array.context.synchronize();
        array.free();
        Ok(())
    }

    fn cuArrayGetDescriptor_v2(to: Out<CUDA_ARRAY_DESCRIPTOR>, array: CUarray) {
        let array = find(array)?.descriptor;
        to.set(CUDA_ARRAY_DESCRIPTOR {
            Width: array.Width,
            Height: array.Height,
            Format: array.Format,
            NumChannels: array.NumChannels,
        })
    }

    fn cuArray3DGetDescriptor_v2(to: Out<CUDA_ARRAY3D_DESCRIPTOR>, array: CUarray) {
        to.set(find(array)?.descriptor)
    }

    fn cuArrayGetMemoryRequirements(
        to: Out<CUDA_ARRAY_MEMORY_REQUIREMENTS>, array: CUarray, device: c_int,
    ) {
        check_handle(array as usize)?;
        requirements(to, device, &find(array)?.descriptor, 1)
    }

    fn cuArrayGetPlane(to: Out<CUarray>, array: CUarray, _plane: c_uint) {
        to.check()?;
        find(array)?;
        // Always fail, because none of the supported formats has planes.
        Err(CuError::INVALID_VALUE)
    }

    fn cuMipmappedArrayCreate(
        to: Out<CUmipmappedArray>, array: In<CUDA_ARRAY3D_DESCRIPTOR>, levels: c_uint,
    ) {
        to.check()?;
        let (context, array) = (current()?, array.get()?);
        capture::forbid_unsafe()?;
        let has_memory = check(&array)?;
        let levels = levels.clamp(1, most_levels(&array));
        let mipmap = Mipmap::new(&context, array, levels, has_memory)?;
        to.set(MIPMAPS.insert(mipmap) as CUmipmappedArray)
    }

    fn cuMipmappedArrayGetLevel(to: Out<CUarray>, mipmap: CUmipmappedArray, level: c_uint) {
        to.check()?;
        current()?;
        let found = object(&MIPMAPS, mipmap as usize)?;
        to.set(found.level(mipmap as usize, level)? as CUarray)
    }

    fn cuMipmappedArrayGetMemoryRequirements(
        to: Out<CUDA_ARRAY_MEMORY_REQUIREMENTS>, mipmap: CUmipmappedArray, device: c_int,
    ) {
        current()?;
        check_handle(mipmap as usize)?;
        let mipmap = object(&MIPMAPS, mipmap as usize)?;
        requirements(to, device, &mipmap.first, mipmap.levels.len() as u32)
    }

    /// Always fails, because softgpu can't create sparse arrays.
    fn cuArrayGetSparseProperties(_to: Out<CUDA_ARRAY_SPARSE_PROPERTIES>, array: CUarray) {
        current()?;
        check_handle(array as usize)?;
        find(array)?;
        Err(CuError::INVALID_VALUE)
    }

    fn cuMipmappedArrayGetSparseProperties(
        _to: Out<CUDA_ARRAY_SPARSE_PROPERTIES>, mipmap: CUmipmappedArray,
    ) {
        current()?;
        check_handle(mipmap as usize)?;
        object(&MIPMAPS, mipmap as usize)?;
        Err(CuError::INVALID_VALUE)
    }

    fn cuMipmappedArrayDestroy(mipmap: CUmipmappedArray) {
        driver()?;
        capture::forbid_unsafe()?;
        object(&MIPMAPS, mipmap as usize)?;
        let mipmap = MIPMAPS.remove(mipmap as usize).ok_or(CuError::INVALID_HANDLE)?;
        mipmap.context.synchronize();
        mipmap.free();
        Ok(())
    }
}
