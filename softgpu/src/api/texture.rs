//! Entry points for texture objects and surface objects.

use std::sync::Arc;

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC};

use super::entry::entries;
use super::texture_desc;
use crate::state::context::current;
use crate::state::texture::{Resource, SURFACES, SurfaceObject, TEXTURES, TextureObject};

fn texture(object: u64) -> CuResult<Arc<TextureObject>> {
    current()?;
    TEXTURES.get(object as usize).ok_or(CuError::INVALID_VALUE)
}

entries! {
    fn cuTexObjectCreate(
        to: Out<u64>, resource: In<CUDA_RESOURCE_DESC>, description: In<CUDA_TEXTURE_DESC>,
        view: In<CUDA_RESOURCE_VIEW_DESC>,
    ) {
        to.check()?;
        let context = current()?;
        let (resource, description) = (resource.get()?, description.get()?);
        let view = view.optional();
        let resolved = texture_desc::resource(&resource)?;
        let source = resolved.source;
        let texture = texture_desc::texture(resolved, &description, view.as_ref())?.into();
        let resource = Resource(resource);
        let context = context.id;
        let object = TextureObject { context, source, resource, description, view, texture };
        to.set(TEXTURES.insert(object) as u64)
    }

    fn cuTexObjectDestroy(object: u64) {
        current()?;
        // As in NVIDIA's driver, destroying an object that doesn't exist has no effect.
        TEXTURES.remove(object as usize);
        Ok(())
    }

    fn cuTexObjectGetResourceDesc(to: Out<CUDA_RESOURCE_DESC>, object: u64) {
        to.set(texture(object)?.resource.0)
    }

    fn cuTexObjectGetTextureDesc(to: Out<CUDA_TEXTURE_DESC>, object: u64) {
        to.set(texture(object)?.description)
    }

    fn cuTexObjectGetResourceViewDesc(to: Out<CUDA_RESOURCE_VIEW_DESC>, object: u64) {
        to.set(texture(object)?.view.unwrap_or_default())
    }

    fn cuSurfObjectCreate(to: Out<u64>, resource: In<CUDA_RESOURCE_DESC>) {
        to.check()?;
        let context = current()?.id;
        let resource = resource.get()?;
        let resolved = texture_desc::surface(&resource)?;
        let (source, image) = (resolved.source, resolved.levels[0].into());
        let object = SurfaceObject { context, source, resource: Resource(resource), image };
        to.set(SURFACES.insert(object) as u64)
    }

    fn cuSurfObjectDestroy(object: u64) {
        current()?;
        SURFACES.remove(object as usize);
        Ok(())
    }

    fn cuSurfObjectGetResourceDesc(to: Out<CUDA_RESOURCE_DESC>, object: u64) {
        current()?;
        let object = SURFACES.get(object as usize).ok_or(CuError::INVALID_VALUE)?;
        to.set(object.resource.0)
    }
}
