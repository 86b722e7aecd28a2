//! Argument values that are modules, libraries, kernels, or linker states.

use super::objects::Objects;
use crate::cuda::{Outcome, cu};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// PTX with two kernels, one of which has a parameter, and with one object of each other kind that
/// can be looked up by name.
pub const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 step = 5;
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.global .texref image;
.global .surfref plane;
.visible .entry nothing() {
    ret;
}
.visible .entry fill(.param .u64 to) {
    ret;
}
";

impl Objects<'_> {
    pub fn code(&mut self, type_: &str) -> Outcome<u64> {
        let cuda = self.cuda;
        match type_ {
            "CUmodule" => self.module(),
            "CUfunction" => self.shared("function", |objects| {
                let (mut function, module) = (null_mut(), objects.module()? as *mut _);
                cu!(cuda, cuModuleGetFunction(&mut function, module, c"fill".as_ptr()))?;
                if objects.named("cuLaunch") {
                    // CUDA's first launch calls use the block shape and the parameter size that the
                    // function has.
                    cu!(cuda, cuFuncSetBlockShape(function, 1, 1, 1))?;
                    cu!(cuda, cuParamSetSize(function, 8))?;
                }
                Ok(function as u64)
            }),
            "CUlibrary" => self.library(),
            "CUkernel" => {
                let (mut kernel, library) = (null_mut(), self.library()? as *mut _);
                cu!(cuda, cuLibraryGetKernel(&mut kernel, library, c"fill".as_ptr()))?;
                Ok(kernel as u64)
            }
            _ => self.link(),
        }
    }

    fn module(&mut self) -> Outcome<u64> {
        self.shared("module", |objects| {
            let (cuda, mut module) = (objects.cuda, null_mut());
            cu!(cuda, cuModuleLoadData(&mut module, PTX.as_ptr().cast()))?;
            Ok(module as u64)
        })
    }

    fn library(&mut self) -> Outcome<u64> {
        let (cuda, mut library, image) = (self.cuda, null_mut(), PTX.as_ptr().cast());
        let none = null_mut();
        cu!(
            cuda,
            cuLibraryLoadData(&mut library, image, null_mut(), none, 0, null_mut(), null_mut(), 0)
        )?;
        Ok(library as u64)
    }

    fn link(&mut self) -> Outcome<u64> {
        let (cuda, mut link, none) = (self.cuda, null_mut(), null_mut());
        cu!(cuda, cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link))?;
        if self.named("Complete") {
            let (data, bytes) = (PTX.as_ptr().cast_mut().cast::<c_void>(), PTX.count_bytes() + 1);
            let (kind, name) = (cuda_api::sys::CUjitInputType::CU_JIT_INPUT_PTX, c"a".as_ptr());
            cu!(cuda, cuLinkAddData_v2(link, kind, data, bytes, name, 0, null_mut(), none))?;
        }
        Ok(link as u64)
    }
}
