//! Kinds of objects: modules, libraries, kernels, and linker states.

use super::object::{Kind, Object, calls, of_memory};
use crate::cuda::{Called, Cuda, Outcome, cu, parameter};
use crate::kernels::FILL;
use cuda_api::sys::{
    CUfunc_cache, CUfunction, CUfunction_attribute as Attribute, CUfunctionLoadingState,
    CUjitInputType, CUkernel, CUlibrary, CUmodule, CUpointer_attribute,
};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "module", create: module },
    Kind { name: "function", create: function },
    Kind { name: "module-variable", create: variable },
    Kind { name: "library", create: library },
    Kind { name: "kernel", create: kernel },
    Kind { name: "library-module", create: library_module },
    Kind { name: "kernel-function", create: kernel_function },
    Kind { name: "library-variable", create: library_variable },
    Kind { name: "managed-variable", create: managed_variable },
    Kind { name: "link", create: link },
];

const REGISTERS: Attribute = Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
const DYNAMIC: Attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
const PREFERENCE: CUfunc_cache = CUfunc_cache::CU_FUNC_CACHE_PREFER_L1;
const PTX: CUjitInputType = CUjitInputType::CU_JIT_INPUT_PTX;

/// PTX with a managed variable.
const MANAGED: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .entry nothing() {
    ret;
}
";

/// PTX with a kernel, for use as an input of the linker.
const MORE: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() {
    ret;
}
";

/// Launches a kernel with a count of 0, so that it doesn't store anything.
fn launch(cuda: &Cuda, function: CUfunction) -> Called {
    let (pointer, value, count) = (0u64, 1u32, 0u32);
    let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
    cuda.launch(function, [1, 1], null_mut(), &mut parameters)
}

fn load(cuda: &Cuda, image: &CStr) -> Outcome<CUlibrary> {
    let (mut library, image, none) = (null_mut(), image.as_ptr().cast(), null_mut());
    cu!(
        cuda,
        cuLibraryLoadData(&mut library, image, null_mut(), none, 0, null_mut(), null_mut(), 0)
    )?;
    Ok(library)
}

fn module(cuda: &Cuda) -> Outcome<Object> {
    let (module, _) = cuda.kernel(FILL, c"fill")?;
    let calls = calls! {
        "get-function" => |cuda| cu!(cuda, cuModuleGetFunction(&mut null_mut(), module, c"add".as_ptr())),
        "get-global" => |cuda| cu!(cuda, cuModuleGetGlobal_v2(&mut 0, &mut 0, module, c"step".as_ptr())),
        "count" => |cuda| cu!(cuda, cuModuleGetFunctionCount(&mut 0, module)),
        "enumerate" => |cuda| cu!(cuda, cuModuleEnumerateFunctions([null_mut(); 2].as_mut_ptr(), 2, module)),
        "unload" => |cuda| cu!(cuda, cuModuleUnload(module)),
    };
    Ok(Object::new(calls, calls! { "unload" => |cuda| cu!(cuda, cuModuleUnload(module)) }))
}

fn of_function(function: CUfunction) -> Vec<(&'static str, super::object::Call)> {
    calls! {
        "launch" => |cuda| launch(cuda, function),
        "get-attribute" => |cuda| cu!(cuda, cuFuncGetAttribute(&mut 0, REGISTERS, function)),
        "set-attribute" => |cuda| cu!(cuda, cuFuncSetAttribute(function, DYNAMIC, 8192)),
        "set-cache" => |cuda| cu!(cuda, cuFuncSetCacheConfig(function, PREFERENCE)),
        "name" => |cuda| cu!(cuda, cuFuncGetName(&mut null(), function)),
        "module" => |cuda| cu!(cuda, cuFuncGetModule(&mut null_mut(), function)),
        "parameter" => |cuda| cu!(cuda, cuFuncGetParamInfo(function, 0, &mut 0, &mut 0)),
        "load" => |cuda| cu!(cuda, cuFuncLoad(function)),
        "is-loaded" => |cuda| cu!(cuda, cuFuncIsLoaded(&mut CUfunctionLoadingState(0), function)),
        "occupancy" => |cuda| cu!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut 0, function, 32, 0)),
    }
}

fn function(cuda: &Cuda) -> Outcome<Object> {
    let (module, function) = cuda.kernel(FILL, c"fill")?;
    let ends = calls! { "unload" => |cuda| cu!(cuda, cuModuleUnload(module)) };
    Ok(Object::new(of_function(function), ends))
}

/// Returns the calls to make with the memory of a variable.
fn of_variable(pointer: u64) -> Vec<(&'static str, super::object::Call)> {
    let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let mut calls = of_memory(pointer, which);
    calls.extend(calls! {
        "free" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    });
    calls
}

fn variable(cuda: &Cuda) -> Outcome<Object> {
    let (module, _) = cuda.kernel(FILL, c"fill")?;
    let mut pointer = 0;
    cu!(cuda, cuModuleGetGlobal_v2(&mut pointer, &mut 0, module, c"step".as_ptr()))?;
    let ends = calls! { "unload" => |cuda| cu!(cuda, cuModuleUnload(module)) };
    Ok(Object::new(of_variable(pointer), ends))
}

fn library(cuda: &Cuda) -> Outcome<Object> {
    let library = load(cuda, FILL)?;
    // Load the library's module into the context, so that the module exists when the context ends.
    cu!(cuda, cuLibraryGetModule(&mut null_mut(), library))?;
    let calls = calls! {
        "get-kernel" => |cuda| cu!(cuda, cuLibraryGetKernel(&mut null_mut(), library, c"add".as_ptr())),
        "count" => |cuda| cu!(cuda, cuLibraryGetKernelCount(&mut 0, library)),
        "enumerate" => |cuda| cu!(cuda, cuLibraryEnumerateKernels([null_mut(); 2].as_mut_ptr(), 2, library)),
        "get-module" => |cuda| cu!(cuda, cuLibraryGetModule(&mut null_mut(), library)),
        "get-global" => |cuda| cu!(cuda, cuLibraryGetGlobal(&mut 0, &mut 0, library, c"step".as_ptr())),
        "unload" => |cuda| cu!(cuda, cuLibraryUnload(library)),
    };
    Ok(Object::new(calls, unload(library)))
}

fn unload(library: CUlibrary) -> Vec<(&'static str, super::object::Call)> {
    calls! { "unload" => |cuda| cu!(cuda, cuLibraryUnload(library)) }
}

fn fill_of(cuda: &Cuda, library: CUlibrary) -> Outcome<CUkernel> {
    let mut kernel = null_mut();
    cu!(cuda, cuLibraryGetKernel(&mut kernel, library, c"fill".as_ptr()))?;
    Ok(kernel)
}

fn kernel(cuda: &Cuda) -> Outcome<Object> {
    let library = load(cuda, FILL)?;
    let kernel = fill_of(cuda, library)?;
    launch(cuda, kernel.cast())?;
    let calls = calls! {
        "launch" => |cuda| launch(cuda, kernel.cast()),
        "get-function" => |cuda| cu!(cuda, cuKernelGetFunction(&mut null_mut(), kernel)),
        "get-attribute" => |cuda| cu!(cuda, cuKernelGetAttribute(&mut 0, REGISTERS, kernel, 0)),
        "set-attribute" => |cuda| cu!(cuda, cuKernelSetAttribute(DYNAMIC, 8192, kernel, 0)),
        "set-cache" => |cuda| cu!(cuda, cuKernelSetCacheConfig(kernel, PREFERENCE, 0)),
        "name" => |cuda| cu!(cuda, cuKernelGetName(&mut null(), kernel)),
        "library" => |cuda| cu!(cuda, cuKernelGetLibrary(&mut null_mut(), kernel)),
        "parameter" => |cuda| cu!(cuda, cuKernelGetParamInfo(kernel, 0, &mut 0, &mut 0)),
    };
    Ok(Object::new(calls, unload(library)))
}

fn library_module(cuda: &Cuda) -> Outcome<Object> {
    let library = load(cuda, FILL)?;
    let mut module: CUmodule = null_mut();
    cu!(cuda, cuLibraryGetModule(&mut module, library))?;
    let calls = calls! {
        "get-function" => |cuda| cu!(cuda, cuModuleGetFunction(&mut null_mut(), module, c"add".as_ptr())),
        "get-global" => |cuda| cu!(cuda, cuModuleGetGlobal_v2(&mut 0, &mut 0, module, c"step".as_ptr())),
        "count" => |cuda| cu!(cuda, cuModuleGetFunctionCount(&mut 0, module)),
        "unload" => |cuda| cu!(cuda, cuModuleUnload(module)),
    };
    Ok(Object::new(calls, unload(library)))
}

fn kernel_function(cuda: &Cuda) -> Outcome<Object> {
    let library = load(cuda, FILL)?;
    let mut function = null_mut();
    cu!(cuda, cuKernelGetFunction(&mut function, fill_of(cuda, library)?))?;
    Ok(Object::new(of_function(function), unload(library)))
}

fn library_variable(cuda: &Cuda) -> Outcome<Object> {
    let library = load(cuda, FILL)?;
    let mut pointer = 0;
    cu!(cuda, cuLibraryGetGlobal(&mut pointer, &mut 0, library, c"step".as_ptr()))?;
    Ok(Object::new(of_variable(pointer), unload(library)))
}

fn managed_variable(cuda: &Cuda) -> Outcome<Object> {
    let library = load(cuda, MANAGED)?;
    let mut pointer = 0;
    cu!(cuda, cuLibraryGetManaged(&mut pointer, &mut 0, library, c"counter".as_ptr()))?;
    let mut calls = of_variable(pointer);
    calls.extend(calls! {
        "get-managed" => |cuda| cu!(cuda, cuLibraryGetManaged(&mut 0, &mut 0, library, c"counter".as_ptr())),
    });
    Ok(Object::new(calls, unload(library)))
}

fn link(cuda: &Cuda) -> Outcome<Object> {
    let mut link = null_mut();
    cu!(cuda, cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link))?;
    let add = move |cuda: &Cuda, text: &CStr| {
        let (data, bytes) = (text.as_ptr().cast_mut().cast::<c_void>(), text.count_bytes() + 1);
        let (name, none) = (c"input".as_ptr(), null_mut());
        cu!(cuda, cuLinkAddData_v2(link, PTX, data, bytes, name, 0, null_mut(), none))
    };
    add(cuda, FILL)?;
    let calls = calls! {
        "add" => |cuda| add(cuda, MORE),
        "complete" => |cuda| cu!(cuda, cuLinkComplete(link, &mut null_mut(), &mut 0)),
        "destroy" => |cuda| cu!(cuda, cuLinkDestroy(link)),
    };
    Ok(Object::new(calls, calls! { "end" => |cuda| cu!(cuda, cuLinkDestroy(link)) }))
}
