//! Entry points for texture objects and surface objects. An object's handle is the value that the
//! worker's driver assigned, because kernels get it as a parameter. The guest keeps the properties
//! of the objects for queries.

use crate::context::{self, current};
use crate::driver::Driver;
use crate::entry::arrays::array;
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::objects::Mipmap;
use cuda_api::args::{In, Out};
use cuda_api::sys::{
    CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUresourcetype,
};
use parking_lot::Mutex;
use protocol::calls::{
    VcudaSurfaceCreate, VcudaSurfaceDestroy, VcudaTextureCreate, VcudaTextureDestroy,
};
use protocol::ids::ContextId;
use protocol::structs::TextureResource;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The properties of a texture object.
#[derive(Clone, Copy)]
struct Texture {
    resource: CUDA_RESOURCE_DESC,
    texture: CUDA_TEXTURE_DESC,
    view: Option<CUDA_RESOURCE_VIEW_DESC>,
}

// SAFETY: the resource contains handles and GPU addresses, which this library never dereferences.
unsafe impl Send for Texture {}

/// The properties of a surface object.
#[derive(Clone, Copy)]
struct Surface(CUDA_RESOURCE_DESC);

// SAFETY: the resource contains handles and GPU addresses, which this library never dereferences.
unsafe impl Send for Surface {}

/// The context of a texture or surface object, and the object's value in that context.
type Key = (ContextId, u64);

static TEXTURES: LazyLock<Mutex<HashMap<Key, Texture>>> = LazyLock::new(Mutex::default);
static SURFACES: LazyLock<Mutex<HashMap<Key, Surface>>> = LazyLock::new(Mutex::default);

/// Removes the objects of a context that has been destroyed.
pub fn forget_context(context: ContextId) {
    TEXTURES.lock().retain(|(of, _), _| *of != context);
    SURFACES.lock().retain(|(of, _), _| *of != context);
}

fn key(object: u64) -> CuResult<Key> {
    Ok((current()?.id(), object))
}

/// Converts a resource for the worker.
pub fn wire(driver: &Driver, resource: &CUDA_RESOURCE_DESC) -> CuResult<TextureResource> {
    let mut wire = TextureResource {
        kind: resource.resType.0,
        array: Default::default(),
        mipmap: Default::default(),
        address: 0,
        format: 0,
        channels: 0,
        width: 0,
        height: 0,
        pitch: 0,
        bytes: 0,
        flags: resource.flags,
    };
    // SAFETY: the union's members consist of integers and handles, for which every bit pattern is
    // valid. `resType` says which member the program has initialized.
    unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
                wire.array = array::find(driver, resource.res.array.hArray as Handle)
                    .map_err(|_| CuError::INVALID_VALUE)?
                    .id;
            }
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let handle = resource.res.mipmap.hMipmappedArray as Handle;
                let mipmap: CuResult<Arc<Mipmap>> = driver.handles.get(handle);
                wire.mipmap = mipmap.map_err(|_| CuError::INVALID_VALUE)?.id;
            }
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
                let linear = resource.res.linear;
                wire.address = linear.devPtr;
                (wire.format, wire.channels) = (linear.format.0, linear.numChannels);
                wire.bytes = linear.sizeInBytes as u64;
            }
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
                let pitched = resource.res.pitch2D;
                wire.address = pitched.devPtr;
                (wire.format, wire.channels) = (pitched.format.0, pitched.numChannels);
                (wire.width, wire.height) = (pitched.width as u64, pitched.height as u64);
                wire.pitch = pitched.pitchInBytes as u64;
            }
            _ => return Err(CuError::INVALID_VALUE),
        }
    }
    Ok(wire)
}

/// Returns the words of a texture's description, in the layout of the C structure.
pub fn texture_words(texture: &CUDA_TEXTURE_DESC) -> [u32; 26] {
    // SAFETY: the structure consists of 26 integers and floating-point numbers of 4 bytes.
    unsafe { std::mem::transmute::<CUDA_TEXTURE_DESC, [u32; 26]>(*texture) }
}

/// Returns the words of a resource view, in the layout of the C structure.
fn view_words(view: &CUDA_RESOURCE_VIEW_DESC) -> [u64; 14] {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let mut words = [0; 14];
    words[0] = view.format.0.into();
    words[1..4].copy_from_slice(&[view.width, view.height, view.depth].map(|size| size as u64));
    words[4] = pair(view.firstMipmapLevel, view.lastMipmapLevel);
    words[5] = pair(view.firstLayer, view.lastLayer);
    for (word, reserved) in words[6..].iter_mut().zip(view.reserved.chunks_exact(2)) {
        *word = pair(reserved[0], reserved[1]);
    }
    words
}

fn texture(object: u64) -> CuResult<Texture> {
    context::driver()?;
    TEXTURES.lock().get(&key(object)?).copied().ok_or(CuError::INVALID_VALUE)
}

entries! {
    fn cuTexObjectCreate(
        out: Out<u64>, resource: In<CUDA_RESOURCE_DESC>, texture: In<CUDA_TEXTURE_DESC>,
        view: In<CUDA_RESOURCE_VIEW_DESC>,
    ) {
        let driver = context::driver()?;
        out.check()?;
        let (resource, texture) = (resource.get()?, texture.get()?);
        let view = view.optional();
        let call = VcudaTextureCreate {
            resource: wire(driver, &resource)?,
            texture: texture_words(&texture),
            has_view: view.is_some().into(),
            view: view_words(&view.unwrap_or_default()),
        };
        let object = driver.session.call(&call)?.object;
        TEXTURES.lock().insert(key(object)?, Texture { resource, texture, view });
        out.set(object)
    }

    fn cuTexObjectDestroy(object: u64) {
        let driver = context::driver()?;
        // As in NVIDIA's driver, destroying an object that doesn't exist has no effect.
        if TEXTURES.lock().remove(&key(object)?).is_none() {
            return Ok(());
        }
        driver.session.call(&VcudaTextureDestroy { object })
    }

    fn cuTexObjectGetResourceDesc(out: Out<CUDA_RESOURCE_DESC>, object: u64) {
        out.set(texture(object)?.resource)
    }

    fn cuTexObjectGetTextureDesc(out: Out<CUDA_TEXTURE_DESC>, object: u64) {
        out.set(texture(object)?.texture)
    }

    fn cuTexObjectGetResourceViewDesc(out: Out<CUDA_RESOURCE_VIEW_DESC>, object: u64) {
        out.set(texture(object)?.view.unwrap_or_default())
    }

    fn cuSurfObjectCreate(out: Out<u64>, resource: In<CUDA_RESOURCE_DESC>) {
        let driver = context::driver()?;
        out.check()?;
        let resource = resource.get()?;
        if resource.resType != CUresourcetype::CU_RESOURCE_TYPE_ARRAY || resource.flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let array = wire(driver, &resource)?.array;
        let object = driver.session.call(&VcudaSurfaceCreate { array })?.object;
        SURFACES.lock().insert(key(object)?, Surface(resource));
        out.set(object)
    }

    fn cuSurfObjectDestroy(object: u64) {
        let driver = context::driver()?;
        if SURFACES.lock().remove(&key(object)?).is_none() {
            return Ok(());
        }
        driver.session.call(&VcudaSurfaceDestroy { object })
    }

    fn cuSurfObjectGetResourceDesc(out: Out<CUDA_RESOURCE_DESC>, object: u64) {
        context::driver()?;
        let surface = SURFACES.lock().get(&key(object)?).copied();
        out.set(surface.ok_or(CuError::INVALID_VALUE)?.0)
    }
}
