//! Texture objects and surface objects.

use std::sync::Arc;

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
            Self::Array(handle) => ARRAYS.get(handle).is_some(),
            Self::Mipmap(handle) => MIPMAPS.get(handle).is_some(),
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
        let object = TEXTURES.get(handle as usize)?;
        object.source.exists().then(|| object.texture.clone())
    }

    fn surface(&self, handle: u64) -> Option<Arc<Image>> {
        let object = SURFACES.get(handle as usize)?;
        object.source.exists().then(|| object.image.clone())
    }
}

/// Removes the objects of a context.
pub(crate) fn forget_context(context: u64) {
    TEXTURES.remove_where(|object| object.context == context);
    SURFACES.remove_where(|object| object.context == context);
}
