//! Argument values that are arrays, textures, or surfaces.

use super::objects::Objects;
use crate::cuda::{Outcome, cu};
use crate::images::{floats, of_array, plain, texture};
use cuda_api::sys::{CUDA_ARRAY3D_SURFACE_LDST as STORES, CUtexref};
use std::ptr::null_mut;

impl Objects<'_> {
    pub fn image(&mut self, type_: &str) -> Outcome<u64> {
        let cuda = self.cuda;
        match type_ {
            "CUarray" => {
                let mut array = null_mut();
                cu!(cuda, cuArray3DCreate_v2(&mut array, &floats([16, 4, 0], STORES)))?;
                Ok(array as u64)
            }
            "CUmipmappedArray" => {
                let mut mipmap = null_mut();
                cu!(cuda, cuMipmappedArrayCreate(&mut mipmap, &floats([16, 4, 0], 0), 2))?;
                Ok(mipmap as u64)
            }
            "CUtexObject" => texture(cuda, &of_array(self.image("CUarray")? as _), &plain()),
            "CUsurfObject" => {
                let (mut surface, array) = (0, self.image("CUarray")? as _);
                cu!(cuda, cuSurfObjectCreate(&mut surface, &of_array(array)))?;
                Ok(surface)
            }
            "CUsurfref" => {
                let (module, array) = (self.code("CUmodule")? as _, self.image("CUarray")? as _);
                let mut reference = null_mut();
                cu!(cuda, cuModuleGetSurfRef(&mut reference, module, c"plane".as_ptr()))?;
                cu!(cuda, cuSurfRefSetArray(reference, array, 0))?;
                Ok(reference as u64)
            }
            _ => self.reference(),
        }
    }

    /// Returns a texture reference. If the entry point queries what is bound to the reference,
    /// binds it first.
    fn reference(&mut self) -> Outcome<u64> {
        let (cuda, mut reference): (_, CUtexref) = (self.cuda, null_mut());
        cu!(cuda, cuTexRefCreate(&mut reference))?;
        if self.named("GetArray") {
            let array = self.image("CUarray")? as _;
            cu!(cuda, cuTexRefSetArray(reference, array, 1))?;
        } else if self.named("GetMipmappedArray") {
            let mipmap = self.image("CUmipmappedArray")? as _;
            cu!(cuda, cuTexRefSetMipmappedArray(reference, mipmap, 1))?;
        } else if self.named("GetAddress_v2") {
            let memory = cuda.alloc(4096)?;
            cu!(cuda, cuTexRefSetAddress_v2(&mut 0, reference, memory, 4096))?;
        }
        Ok(reference as u64)
    }
}
