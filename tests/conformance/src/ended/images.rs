//! Kinds of objects: texture objects, surface objects, and texture and surface references of
//! modules.

use super::object::{Call, Kind, Object, calls};
use crate::cuda::{Called, Cuda, Outcome, cu, get, parameter};
use crate::images::{array, floats, of_array, plain, ramp, texture};
use cuda_api::sys::{
    CU_TRSA_OVERRIDE_FORMAT, CUDA_ARRAY3D_SURFACE_LDST, CUDA_RESOURCE_VIEW_DESC, CUarray,
    CUarray_format, CUmodule, CUresourcetype, CUtexref,
};
use std::ffi::CStr;
use std::ptr::null_mut;

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "texture", create: texture_of_array },
    Kind { name: "texture-of-memory", create: texture_of_memory },
    Kind { name: "surface", create: surface },
    Kind { name: "texture-reference", create: reference },
    Kind { name: "own-texture-reference", create: own_reference },
    Kind { name: "surface-reference", create: surface_reference },
];

const FLOAT: CUarray_format = CUarray_format::CU_AD_FORMAT_FLOAT;

/// PTX with the kernels `use_texture(object)` and `use_surface(object)`, which read from an object.
const USES: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry use_texture(.param .u64 object) {
    .reg .b64 %d;
    .reg .b32 %r;
    .reg .f32 %f<5>;
    ld.param.u64 %d, [object];
    mov.u32 %r, 0;
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d, {%r}];
    ret;
}
.visible .entry use_surface(.param .u64 object) {
    .reg .b64 %d;
    .reg .b32 %r<2>;
    ld.param.u64 %d, [object];
    mov.u32 %r0, 0;
    sust.b.1d.b32.trap [%d, {%r0}], %r0;
    ret;
}
";

/// PTX with a texture reference and a surface reference.
const REFERENCES: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.global .surfref plane;
.visible .entry read(.param .u64 to) {
    .reg .b64 %d;
    .reg .b32 %r;
    .reg .f32 %f<5>;
    ld.param.u64 %d, [to];
    mov.u32 %r, 0;
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r}];
    sust.b.1d.b32.trap [plane, {%r}], %r;
    st.global.f32 [%d], %f1;
    ret;
}
";

fn line(cuda: &Cuda) -> Outcome<CUarray> {
    array(cuda, &floats([8, 0, 0], CUDA_ARRAY3D_SURFACE_LDST), &ramp(8))
}

/// Runs a kernel that reads from an object, and waits for it.
fn used(cuda: &Cuda, name: &CStr, object: u64) -> Called {
    let module = get!(cuda, cuModuleLoadData(@, USES.as_ptr().cast()))?;
    let kernel = get!(cuda, cuModuleGetFunction(@, module, name.as_ptr()))?;
    cuda.launch(kernel, [1, 1], null_mut(), &mut [parameter(&object)])?;
    cu!(cuda, cuCtxSynchronize())
}

fn of_texture(object: u64) -> Vec<(&'static str, Call)> {
    calls! {
        "resource" => |cuda| cu!(cuda, cuTexObjectGetResourceDesc(&mut of_array(null_mut()), object)),
        "texture" => |cuda| cu!(cuda, cuTexObjectGetTextureDesc(&mut plain(), object)),
        "view" => |cuda| {
            let mut view = CUDA_RESOURCE_VIEW_DESC::default();
            cu!(cuda, cuTexObjectGetResourceViewDesc(&mut view, object))
        },
        "destroy" => |cuda| cu!(cuda, cuTexObjectDestroy(object)),
    }
}

fn texture_of_array(cuda: &Cuda) -> Outcome<Object> {
    let source = line(cuda)?;
    let object = texture(cuda, &of_array(source), &plain())?;
    used(cuda, c"use_texture", object)?;
    let mut calls = of_texture(object);
    calls.extend(calls! { "use" => |cuda| used(cuda, c"use_texture", object) });
    let ends = calls! {
        "array-destroy" => |cuda| cu!(cuda, cuArrayDestroy(source)),
        "end" => |cuda| cu!(cuda, cuTexObjectDestroy(object)),
    };
    Ok(Object::new(calls, ends))
}

fn texture_of_memory(cuda: &Cuda) -> Outcome<Object> {
    let memory = cuda.alloc(4096)?;
    let mut resource = of_array(null_mut());
    resource.resType = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = memory;
    resource.res.linear.format = FLOAT;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 4096;
    let object = texture(cuda, &resource, &plain())?;
    let ends = calls! { "memory-free" => |cuda| cu!(cuda, cuMemFree_v2(memory)) };
    Ok(Object::new(of_texture(object), ends))
}

fn surface(cuda: &Cuda) -> Outcome<Object> {
    let (source, mut object) = (line(cuda)?, 0);
    cu!(cuda, cuSurfObjectCreate(&mut object, &of_array(source)))?;
    used(cuda, c"use_surface", object)?;
    let calls = calls! {
        "resource" => |cuda| cu!(cuda, cuSurfObjectGetResourceDesc(&mut of_array(null_mut()), object)),
        "use" => |cuda| used(cuda, c"use_surface", object),
        "destroy" => |cuda| cu!(cuda, cuSurfObjectDestroy(object)),
    };
    let ends = calls! {
        "array-destroy" => |cuda| cu!(cuda, cuArrayDestroy(source)),
        "end" => |cuda| cu!(cuda, cuSurfObjectDestroy(object)),
    };
    Ok(Object::new(calls, ends))
}

fn load(cuda: &Cuda) -> Outcome<CUmodule> {
    Ok(get!(cuda, cuModuleLoadData(@, REFERENCES.as_ptr().cast()))?)
}

fn of_reference(reference: CUtexref) -> Vec<(&'static str, Call)> {
    calls! {
        "get-array" => |cuda| cu!(cuda, cuTexRefGetArray(&mut null_mut(), reference)),
        "get-format" => |cuda| cu!(cuda, cuTexRefGetFormat(&mut FLOAT.clone(), &mut 0, reference)),
        "get-flags" => |cuda| cu!(cuda, cuTexRefGetFlags(&mut 0, reference)),
        "set-flags" => |cuda| cu!(cuda, cuTexRefSetFlags(reference, 0)),
        "set-format" => |cuda| cu!(cuda, cuTexRefSetFormat(reference, FLOAT, 1)),
        "set-address" => |cuda| {
            let memory = get!(cuda, cuMemAlloc_v2(@, 4096))?;
            cu!(cuda, cuTexRefSetAddress_v2(&mut 0, reference, memory, 4096))
        },
    }
}

fn reference(cuda: &Cuda) -> Outcome<Object> {
    let (module, source, mut reference) = (load(cuda)?, line(cuda)?, null_mut());
    cu!(cuda, cuModuleGetTexRef(&mut reference, module, c"image".as_ptr()))?;
    cu!(cuda, cuTexRefSetArray(reference, source, CU_TRSA_OVERRIDE_FORMAT))?;
    let ends = calls! {
        "unload" => |cuda| cu!(cuda, cuModuleUnload(module)),
        "array-destroy" => |cuda| cu!(cuda, cuArrayDestroy(source)),
    };
    Ok(Object::new(of_reference(reference), ends))
}

fn own_reference(cuda: &Cuda) -> Outcome<Object> {
    let (source, mut reference) = (line(cuda)?, null_mut());
    cu!(cuda, cuTexRefCreate(&mut reference))?;
    cu!(cuda, cuTexRefSetArray(reference, source, CU_TRSA_OVERRIDE_FORMAT))?;
    let mut calls = of_reference(reference);
    calls.extend(calls! { "destroy" => |cuda| cu!(cuda, cuTexRefDestroy(reference)) });
    let ends = calls! {
        "array-destroy" => |cuda| cu!(cuda, cuArrayDestroy(source)),
        "end" => |cuda| cu!(cuda, cuTexRefDestroy(reference)),
    };
    Ok(Object::new(calls, ends))
}

fn surface_reference(cuda: &Cuda) -> Outcome<Object> {
    let (module, source, mut reference) = (load(cuda)?, line(cuda)?, null_mut());
    cu!(cuda, cuModuleGetSurfRef(&mut reference, module, c"plane".as_ptr()))?;
    cu!(cuda, cuSurfRefSetArray(reference, source, 0))?;
    let calls = calls! {
        "get-array" => |cuda| cu!(cuda, cuSurfRefGetArray(&mut null_mut(), reference)),
        "set-array" => |cuda| cu!(cuda, cuSurfRefSetArray(reference, source, 0)),
    };
    let ends = calls! {
        "unload" => |cuda| cu!(cuda, cuModuleUnload(module)),
        "array-destroy" => |cuda| cu!(cuda, cuArrayDestroy(source)),
    };
    Ok(Object::new(calls, ends))
}
