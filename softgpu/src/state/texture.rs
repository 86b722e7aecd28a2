//! The state of texture objects, surface objects, and references.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_api::error::CuError;
use cuda_api::sys::{CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC};

use super::array::{ARRAYS, MIPMAPS};
use super::handles::{Kind, Table};
use crate::exec::texture::object::{Image, Objects, Texture};

/// All texture objects, by handle.
pub(crate) static TEXTURES: Table<TextureObject> = Table::new(Kind::Texture);
/// All surface objects, by handle.
pub(crate) static SURFACES: Table<SurfaceObject> = Table::new(Kind::Surface);

/// The memory that contains the texels of a texture object or surface object. Because a program may
/// destroy an array before the objects that use it, each access checks that the array still exists.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// The array with this handle.
    Array(usize),
    /// The mipmapped array with this handle.
    Mipmap(usize),
    /// Linear memory. Each access checks whether kernels may access it.
    Memory,
}

impl Source {
    fn exists(self) -> bool {
        match self {
            Self::Array(handle) => ARRAYS.find(handle).is_some(),
            Self::Mipmap(handle) => MIPMAPS.find(handle).is_some(),
            Self::Memory => true,
        }
    }
}

/// The description of the resource that an object was created for.
pub(crate) struct Resource(pub(crate) CUDA_RESOURCE_DESC);

// SAFETY: the structure contains handles and addresses of device memory. softgpu uses them only as
// numbers and doesn't dereference them through this structure.
unsafe impl Send for Resource {}
// SAFETY: the structure isn't changed after its creation, and softgpu doesn't dereference its
// pointers.
unsafe impl Sync for Resource {}

/// A texture object, as the program has described it and as kernels use it.
pub(crate) struct TextureObject {
    /// The id of the context that owns the object.
    pub(crate) context: u64,
    pub(crate) source: Source,
    pub(crate) resource: Resource,
    pub(crate) description: CUDA_TEXTURE_DESC,
    pub(crate) view: Option<CUDA_RESOURCE_VIEW_DESC>,
    pub(crate) texture: Arc<Texture>,
}

/// A surface object, as the program has described it and as kernels use it.
pub(crate) struct SurfaceObject {
    /// The id of the context that owns the object.
    pub(crate) context: u64,
    pub(crate) source: Source,
    pub(crate) resource: Resource,
    pub(crate) image: Arc<Image>,
}

/// Finds the textures and surfaces that kernels use, by the handle of an object or by the address
/// of a reference.
pub(crate) struct Bound;

impl Objects for Bound {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        let bound = |handle| references().textures.get(&handle).cloned();
        let object = TEXTURES.find(handle as usize);
        let (source, texture) = match object {
            Some(object) => (object.source, object.texture.clone()),
            None => bound(handle)?,
        };
        source.exists().then_some(texture)
    }

    fn surface(&self, handle: u64) -> Option<Arc<Image>> {
        let bound = |handle| references().surfaces.get(&handle).cloned();
        let object = SURFACES.find(handle as usize);
        let (source, image) = match object {
            Some(object) => (object.source, object.image.clone()),
            None => bound(handle)?,
        };
        source.exists().then_some(image)
    }
}

/// The textures and surfaces that are bound to references, by the address of the reference.
struct References {
    textures: BTreeMap<u64, (Source, Arc<Texture>)>,
    surfaces: BTreeMap<u64, (Source, Arc<Image>)>,
}

fn references() -> MutexGuard<'static, References> {
    static REFERENCES: Mutex<References> =
        Mutex::new(References { textures: BTreeMap::new(), surfaces: BTreeMap::new() });
    REFERENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Binds a texture to a texture reference.
pub(crate) fn bind_texture(address: u64, source: Source, texture: Texture) {
    references().textures.insert(address, (source, Arc::new(texture)));
}

/// Binds an array to a surface reference.
pub(crate) fn bind_surface(address: u64, source: Source, image: Image) {
    references().surfaces.insert(address, (source, Arc::new(image)));
}

/// Removes the binding of a reference.
pub(crate) fn unbind(address: u64) {
    let mut references = references();
    references.textures.remove(&address);
    references.surfaces.remove(&address);
}

/// Removes the objects of a context that is being destroyed.
pub(crate) fn forget_context(context: u64) {
    TEXTURES.end_of_context(CuError::INVALID_HANDLE, |object| object.context == context);
    SURFACES.end_of_context(CuError::INVALID_HANDLE, |object| object.context == context);
}
