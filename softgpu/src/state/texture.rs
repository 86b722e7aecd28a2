//! Texture objects and surface objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_api::error::CuError;
use cuda_api::sys::{CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC};

use super::array::{ARRAYS, MIPMAPS};
use super::handles::{Kind, Table};
use crate::exec::texture::object::{Image, Objects, Texture};

/// All texture objects.
pub(crate) static TEXTURES: Table<TextureObject> = Table::new(Kind::Texture);
/// All surface objects.
pub(crate) static SURFACES: Table<SurfaceObject> = Table::new(Kind::Surface);

/// The texels of an object. A program can destroy an array before the objects that use it.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// The array with this handle.
    Array(usize),
    /// The mipmapped array with this handle.
    Mipmap(usize),
    /// Linear memory. Kernels check that they may access it.
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

/// The description of an object's resource.
pub(crate) struct Resource(pub(crate) CUDA_RESOURCE_DESC);

// SAFETY: the structure contains handles and addresses of device memory, which are only numbers
// here.
unsafe impl Send for Resource {}
// SAFETY: as above.
unsafe impl Sync for Resource {}

/// A texture object.
pub(crate) struct TextureObject {
    /// The id of the object's context.
    pub(crate) context: u64,
    pub(crate) source: Source,
    pub(crate) resource: Resource,
    pub(crate) description: CUDA_TEXTURE_DESC,
    pub(crate) view: Option<CUDA_RESOURCE_VIEW_DESC>,
    pub(crate) texture: Arc<Texture>,
}

/// A surface object.
pub(crate) struct SurfaceObject {
    /// The id of the object's context.
    pub(crate) context: u64,
    pub(crate) source: Source,
    pub(crate) resource: Resource,
    pub(crate) image: Arc<Image>,
}

/// The objects that kernels may use.
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

/// The textures and surfaces that references name, by the references' addresses.
struct References {
    textures: BTreeMap<u64, (Source, Arc<Texture>)>,
    surfaces: BTreeMap<u64, (Source, Arc<Image>)>,
}

fn references() -> MutexGuard<'static, References> {
    static REFERENCES: Mutex<References> =
        Mutex::new(References { textures: BTreeMap::new(), surfaces: BTreeMap::new() });
    REFERENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a texture reference name a texture.
pub(crate) fn bind_texture(address: u64, source: Source, texture: Texture) {
    references().textures.insert(address, (source, Arc::new(texture)));
}

/// Makes a surface reference name a surface.
pub(crate) fn bind_surface(address: u64, source: Source, image: Image) {
    references().surfaces.insert(address, (source, Arc::new(image)));
}

/// Forgets a reference whose module is being unloaded.
pub(crate) fn unbind(address: u64) {
    let mut references = references();
    references.textures.remove(&address);
    references.surfaces.remove(&address);
}

/// Removes the objects of a context.
pub(crate) fn forget_context(context: u64) {
    TEXTURES.end_of_context(CuError::INVALID_HANDLE, |object| object.context == context);
    SURFACES.end_of_context(CuError::INVALID_HANDLE, |object| object.context == context);
}
