//! Entry points for arrays and mipmapped arrays. The guest keeps their properties, so queries need
//! no call to the worker.

use crate::capture;
use crate::context::{self, current};
use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::handles::{Handle, Object};
use crate::log;
use crate::objects::{Array, Mipmap};
use cuda_api::args::{In, Out, check_handle};
use cuda_api::arrays::{element_size, format_error, level, most_levels};
use cuda_api::sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY_MEMORY_REQUIREMENTS, CUDA_ARRAY_SPARSE_PROPERTIES,
    CUDA_ARRAY3D_COLOR_ATTACHMENT, CUDA_ARRAY3D_DEFERRED_MAPPING, CUDA_ARRAY3D_DEPTH_TEXTURE,
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE,
};
use protocol::calls::{
    VcudaArrayCreate, VcudaArrayDestroy, VcudaMipmappedArrayCreate, VcudaMipmappedArrayDestroy,
    VcudaMipmappedArrayGetLevel,
};
use protocol::structs::ArrayDescriptor;
use std::sync::Arc;

/// The flags of arrays that this library doesn't support: sparse arrays, arrays whose memory the
/// program maps later, and arrays for video encoders and decoders.
const UNSUPPORTED: u32 =
    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
/// The flags of arrays that are shared with graphics. NVIDIA's driver refuses them in contexts
/// without graphics.
const GRAPHICS: u32 = CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT;

/// Returns an array by its handle.
pub fn find(driver: &Driver, handle: Handle) -> CuResult<Arc<Array>> {
    driver.handles.get(handle)
}

/// Returns an array for a call that also needs a current context. As with NVIDIA's driver, an
/// invalid array is reported first: for example, an array whose context has been destroyed.
fn find_in_context(handle: Handle) -> CuResult<Arc<Array>> {
    let array = find(driver()?, handle)?;
    current()?;
    Ok(array)
}

/// Converts an array's properties for the worker, after checking that they are supported.
fn wire(array: &CUDA_ARRAY3D_DESCRIPTOR) -> CuResult<ArrayDescriptor> {
    if array.Flags & GRAPHICS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    if array.Flags & UNSUPPORTED != 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    if element_size(array.Format, array.NumChannels).is_none() {
        let error = format_error(array.Format);
        if error == CuError::NOT_SUPPORTED {
            log::unsupported("an array with this format");
        }
        return Err(error);
    }
    Ok(ArrayDescriptor {
        width: array.Width as u64,
        height: array.Height as u64,
        depth: array.Depth as u64,
        format: array.Format.0,
        channels: array.NumChannels,
        flags: array.Flags,
    })
}

fn create(out: Out<Handle>, descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> CuResult {
    out.check()?;
    let driver = context::driver()?;
    capture::forbid_unsafe()?;
    let (id, wire) = (driver.session.mint(), wire(&descriptor)?);
    driver.session.call(&VcudaArrayCreate { array: id, descriptor: wire })?;
    let array = Array { id, descriptor, is_level: false, context: current()? };
    out.set(driver.handles.insert(Object::Array(Arc::new(array)))?)
}

fn destroy(handle: Handle) -> CuResult {
    let driver = driver()?;
    capture::forbid_unsafe()?;
    let array: Arc<Array> = driver.handles.remove(handle)?;
    // A level has no memory of its own, because its memory belongs to the mipmapped array.
    if array.is_level {
        return Ok(());
    }
    driver.session.call(&VcudaArrayDestroy { array: array.id })
}

fn level_of(driver: &Driver, mipmap: &Mipmap, number: u32) -> CuResult<Handle> {
    if number >= mipmap.level_count {
        return Err(CuError::INVALID_VALUE);
    }
    let mut levels = mipmap.levels.lock();
    if let Some(&known) = levels.get(&number)
        && find(driver, known).is_ok()
    {
        return Ok(known);
    }
    let id = driver.session.mint();
    let call = VcudaMipmappedArrayGetLevel { array: id, mipmap: mipmap.id, level: number };
    driver.session.call(&call)?;
    let descriptor = level(&mipmap.descriptor, number);
    let array = Array { id, descriptor, is_level: true, context: mipmap.context };
    let handle = driver.handles.insert(Object::Array(Arc::new(array)))?;
    levels.insert(number, handle);
    Ok(handle)
}

entries! {
    fn cuArrayCreate_v2(out: Out<Handle>, descriptor: In<CUDA_ARRAY_DESCRIPTOR>) {
        let array = descriptor.get()?;
        create(out, CUDA_ARRAY3D_DESCRIPTOR {
            Width: array.Width,
            Height: array.Height,
            Depth: 0,
            Format: array.Format,
            NumChannels: array.NumChannels,
            Flags: 0,
        })
    }

    fn cuArray3DCreate_v2(out: Out<Handle>, descriptor: In<CUDA_ARRAY3D_DESCRIPTOR>) {
        create(out, descriptor.get()?)
    }

    fn cuArrayDestroy(array: Handle) { destroy(array) }

    fn cuArrayGetDescriptor_v2(out: Out<CUDA_ARRAY_DESCRIPTOR>, array: Handle) {
        let array = find_in_context(array)?.descriptor;
        out.set(CUDA_ARRAY_DESCRIPTOR {
            Width: array.Width,
            Height: array.Height,
            Format: array.Format,
            NumChannels: array.NumChannels,
        })
    }

    fn cuArray3DGetDescriptor_v2(out: Out<CUDA_ARRAY3D_DESCRIPTOR>, array: Handle) {
        out.set(find_in_context(array)?.descriptor)
    }

    fn cuArrayGetMemoryRequirements(
        out: Out<CUDA_ARRAY_MEMORY_REQUIREMENTS>, array: Handle, device: i32,
    ) {
        out.check()?;
        let driver = context::driver()?;
        driver.device(device)?;
        check_handle(array)?;
        find(driver, array)?;
        // Only arrays with deferred mapping have memory requirements, and none can be created.
        Err(CuError::INVALID_VALUE)
    }

    fn cuArrayGetPlane(out: Out<Handle>, array: Handle, _plane: u32) {
        out.check()?;
        find_in_context(array)?;
        // None of the supported formats has several planes.
        Err(CuError::INVALID_VALUE)
    }

    fn cuMipmappedArrayCreate(
        out: Out<Handle>, descriptor: In<CUDA_ARRAY3D_DESCRIPTOR>, levels: u32,
    ) {
        out.check()?;
        let descriptor = descriptor.get()?;
        let driver = context::driver()?;
        capture::forbid_unsafe()?;
        let (id, wire) = (driver.session.mint(), wire(&descriptor)?);
        let level_count = levels.clamp(1, most_levels(&descriptor));
        let call = VcudaMipmappedArrayCreate { mipmap: id, descriptor: wire, levels: level_count };
        driver.session.call(&call)?;
        let levels = Default::default();
        let mipmap = Mipmap { id, descriptor, levels, level_count, context: current()? };
        out.set(driver.handles.insert(Object::Mipmap(Arc::new(mipmap)))?)
    }

    fn cuMipmappedArrayGetLevel(out: Out<Handle>, mipmap: Handle, level: u32) {
        out.check()?;
        let driver = context::driver()?;
        let mipmap: Arc<Mipmap> = driver.handles.get(mipmap)?;
        out.set(level_of(driver, &mipmap, level)?)
    }

    fn cuMipmappedArrayGetMemoryRequirements(
        out: Out<CUDA_ARRAY_MEMORY_REQUIREMENTS>, mipmap: Handle, device: i32,
    ) {
        out.check()?;
        let driver = context::driver()?;
        driver.device(device)?;
        check_handle(mipmap)?;
        driver.handles.get::<Arc<Mipmap>>(mipmap)?;
        // Only mipmapped arrays with deferred mapping have memory requirements, and none can be
        // created.
        Err(CuError::INVALID_VALUE)
    }

    /// Sparse arrays can't be created.
    fn cuArrayGetSparseProperties(_out: Out<CUDA_ARRAY_SPARSE_PROPERTIES>, array: Handle) {
        let driver = context::driver()?;
        check_handle(array)?;
        find(driver, array)?;
        Err(CuError::INVALID_VALUE)
    }

    fn cuMipmappedArrayGetSparseProperties(
        _out: Out<CUDA_ARRAY_SPARSE_PROPERTIES>, mipmap: Handle,
    ) {
        let driver = context::driver()?;
        check_handle(mipmap)?;
        driver.handles.get::<Arc<Mipmap>>(mipmap)?;
        Err(CuError::INVALID_VALUE)
    }

    fn cuMipmappedArrayDestroy(mipmap: Handle) {
        let driver = driver()?;
        capture::forbid_unsafe()?;
        let mipmap: Arc<Mipmap> = driver.handles.remove(mipmap)?;
        for (_, level) in mipmap.levels.lock().drain() {
            // Ignore errors: the program may already have destroyed the level's handle.
            let _ = driver.handles.remove::<Arc<Array>>(level);
        }
        driver.session.call(&VcudaMipmappedArrayDestroy { mipmap: mipmap.id })
    }
}
