//! Libraries and their kernels, which don't belong to a context.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, ensure, get, parameter, refused, same};
use crate::file::File;
use crate::kernels::FILL;
use cuda_api::sys::{CUfunc_cache, CUfunction_attribute as Attribute, CUkernel, CUlibrary};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// Loads a library with the kernels of the conformance tests.
fn load(cuda: &Cuda) -> Outcome<CUlibrary> {
    let (mut library, none) = (null_mut(), (null_mut(), null_mut()));
    let image = FILL.as_ptr().cast();
    cu!(
        cuda,
        cuLibraryLoadData(&mut library, image, none.0, none.1, 0, null_mut(), null_mut(), 0)
    )?;
    Ok(library)
}

fn kernel(cuda: &Cuda, library: CUlibrary, name: &CStr) -> Outcome<CUkernel> {
    Ok(get!(cuda, cuLibraryGetKernel(@, library, name.as_ptr()))?)
}

cases! {
    fn kernels_are_listed_and_have_names(cuda, primary) {
        let library = load(cuda)?;
        let (mut kernels, mut names, mut owner) = ([null_mut(); 2], Vec::new(), null_mut());
        cu!(cuda, cuLibraryEnumerateKernels(kernels.as_mut_ptr(), 2, library))?;
        for kernel in kernels {
            let name = get!(cuda, cuKernelGetName(@, kernel))?;
            // SAFETY: the library returns a string that lives as long as the kernel.
            names.push(unsafe { CStr::from_ptr(name) }.to_owned());
            cu!(cuda, cuKernelGetLibrary(&mut owner, kernel))?;
            same!(owner, library);
        }
        names.sort();
        same!(names, [c"add".to_owned(), c"fill".to_owned()]);
        ensure!(kernels.contains(&kernel(cuda, library, c"add")?), "the handle differs");
        let (mut name, mut count) = (null(), 0);
        refused!(cu!(cuda, cuKernelGetName(null_mut(), kernels[0])), INVALID_VALUE);
        refused!(cu!(cuda, cuKernelGetName(&mut name, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuKernelGetLibrary(null_mut(), kernels[0])), INVALID_VALUE);
        refused!(cu!(cuda, cuLibraryEnumerateKernels(null_mut(), 2, library)), INVALID_VALUE);
        refused!(cu!(cuda, cuLibraryGetKernelCount(null_mut(), library)), INVALID_VALUE);
        let null = null_mut();
        refused!(cu!(cuda, cuLibraryGetKernelCount(&mut count, null)), INVALID_VALUE | INVALID_HANDLE);
        cu!(cuda, cuLibraryUnload(library))?;
        refused!(cu!(cuda, cuLibraryUnload(null)), INVALID_VALUE | INVALID_HANDLE);
    }

    fn kernels_have_attributes_on_each_device(cuda, primary = (device, _)) {
        let library = load(cuda)?;
        let fill = kernel(cuda, library, c"fill")?;
        let (most, dynamic) = (
            Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        );
        let mut value = get!(cuda, cuKernelGetAttribute(@, most, fill, device))?;
        same!(value, 1024);
        for limit in [8192, 4096, 4096, 8192] {
            cu!(cuda, cuKernelSetAttribute(dynamic, limit, fill, device))?;
            cu!(cuda, cuKernelGetAttribute(&mut value, dynamic, fill, device))?;
            same!(value, limit);
        }
        cu!(cuda, cuKernelSetCacheConfig(fill, CUfunc_cache::CU_FUNC_CACHE_PREFER_L1, device))?;
        refused!(cu!(cuda, cuKernelGetAttribute(null_mut(), most, fill, device)), INVALID_VALUE);
        refused!(cu!(cuda, cuKernelGetAttribute(&mut value, Attribute(999), fill, device)), INVALID_VALUE);
        refused!(cu!(cuda, cuKernelGetAttribute(&mut value, most, fill, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuKernelSetAttribute(most, 64, fill, device)), INVALID_VALUE);
        refused!(cu!(cuda, cuKernelSetAttribute(dynamic, 8192, fill, 99)), INVALID_DEVICE);
        let cache = CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
        refused!(cu!(cuda, cuKernelSetCacheConfig(fill, cache, 99)), INVALID_DEVICE);
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn a_kernels_function_has_one_set_of_attributes_in_a_context(cuda, primary) {
        let library = load(cuda)?;
        let fill = kernel(cuda, library, c"fill")?;
        let module = get!(cuda, cuLibraryGetModule(@, library))?;
        let function = get!(cuda, cuModuleGetFunction(@, module, c"fill".as_ptr()))?;
        let of_kernel = get!(cuda, cuKernelGetFunction(@, fill))?;
        let dynamic = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let limit = |function| -> Outcome<i32> {
            Ok(get!(cuda, cuFuncGetAttribute(@, dynamic, function))?)
        };
        same!(limit(function)?, limit(of_kernel)?);
        cu!(cuda, cuFuncSetAttribute(function, dynamic, 8192))?;
        same!((limit(function)?, limit(of_kernel)?), (8192, 8192));
        cu!(cuda, cuFuncSetAttribute(of_kernel, dynamic, 4096))?;
        same!((limit(function)?, limit(of_kernel)?), (4096, 4096));
        refused!(cu!(cuda, cuFuncSetAttribute(function, dynamic, -2)), INVALID_VALUE);
        same!(limit(of_kernel)?, 4096);
        // Setting the attribute through the kernel's handle has replaced the value that was set
        // through the function's handle, so setting the same value again must have an effect.
        for _ in 0..2 {
            cu!(cuda, cuFuncSetAttribute(function, dynamic, 8192))?;
        }
        same!((limit(function)?, limit(of_kernel)?), (8192, 8192));
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn the_kernels_of_two_libraries_are_apart(cuda, primary) {
        let (first, second) = (load(cuda)?, load(cuda)?);
        let (fill, add) = (kernel(cuda, first, c"fill")?, kernel(cuda, first, c"add")?);
        let others = [kernel(cuda, second, c"add")?, kernel(cuda, second, c"fill")?];
        ensure!(!others.contains(&fill) && !others.contains(&add), "the handles are the same");
        same!(kernel(cuda, first, c"add")?, add);
        let mut missing = null_mut();
        let name = c"missing".as_ptr();
        refused!(cu!(cuda, cuLibraryGetKernel(&mut missing, first, name)), NOT_FOUND);
        cu!(cuda, cuLibraryUnload(first))?;
        let owner = get!(cuda, cuKernelGetLibrary(@, others[1]))?;
        same!(owner, second);
        let pointer = cuda.alloc(64)?;
        let (value, count) = (2u32, 16u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        cuda.launch(others[1].cast(), [1, 16], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(pointer, 16)?, [2u32; 16]);
        cu!(cuda, cuLibraryUnload(second))?;
    }

    fn parameters_of_kernels_have_offsets(cuda, primary) {
        let library = load(cuda)?;
        let add = kernel(cuda, library, c"add")?;
        let (mut offset, mut size) = (9, 9);
        cu!(cuda, cuKernelGetParamInfo(add, 2, &mut offset, &mut size))?;
        same!((offset, size), (12, 4));
        cu!(cuda, cuKernelGetParamInfo(add, 1, &mut offset, null_mut()))?;
        same!(offset, 8);
        refused!(cu!(cuda, cuKernelGetParamInfo(add, 3, &mut offset, &mut size)), INVALID_VALUE);
        refused!(cu!(cuda, cuKernelGetParamInfo(add, 0, null_mut(), &mut size)), INVALID_VALUE);
        let context = get!(cuda, cuCtxPopCurrent_v2(@))?;
        refused!(cu!(cuda, cuKernelGetParamInfo(add, 0, &mut offset, &mut size)), INVALID_CONTEXT);
        cu!(cuda, cuCtxPushCurrent_v2(context))?;
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn a_kernel_has_a_function_in_the_current_context(cuda, primary) {
        let library = load(cuda)?;
        let add = kernel(cuda, library, c"add")?;
        let module = get!(cuda, cuLibraryGetModule(@, library))?;
        let function = get!(cuda, cuModuleGetFunction(@, module, c"add".as_ptr()))?;
        let of_kernel = get!(cuda, cuKernelGetFunction(@, add))?;
        let pointer = cuda.alloc(64)?;
        cuda.upload(pointer, &[1u32; 16])?;
        let (value, count) = (2u32, 8u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        // A launch accepts the handle of a library's kernel, as well as that of a function.
        for launched in [function, of_kernel, add.cast()] {
            cuda.launch(launched, [1, 16], null_mut(), &mut parameters)?;
        }
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(pointer, 16)?, [[7u32; 8], [1; 8]].concat());
        refused!(cu!(cuda, cuLibraryGetModule(null_mut(), library)), INVALID_VALUE);
        refused!(cu!(cuda, cuKernelGetFunction(null_mut(), add)), INVALID_VALUE);
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn files_can_be_loaded(cuda, primary) {
        let file = File::new("fill.ptx", FILL.to_bytes())?;
        let (mut library, mut module, mut count) = (null_mut(), null_mut(), 0);
        let none = (null_mut(), null_mut());
        let path = file.name();
        let name = path.as_ptr();
        cu!(cuda, cuLibraryLoadFromFile(&mut library, name, none.0, none.1, 0, null_mut(), null_mut(), 0))?;
        cu!(cuda, cuModuleLoad(&mut module, name))?;
        file.remove();
        cu!(cuda, cuLibraryGetKernelCount(&mut count, library))?;
        same!(count, 2);
        get!(cuda, cuModuleGetFunction(@, module, c"fill".as_ptr()))?;
        cu!(cuda, cuLibraryUnload(library))?;
        cu!(cuda, cuModuleUnload(module))?;
        let gone =
            cu!(cuda, cuLibraryLoadFromFile(&mut library, name, none.0, none.1, 0, null_mut(), null_mut(), 0));
        refused!(gone, FILE_NOT_FOUND);
        let missing = null();
        let called =
            cu!(cuda, cuLibraryLoadData(&mut library, missing, none.0, none.1, 0, null_mut(), null_mut(), 0));
        refused!(called, INVALID_VALUE);
        refused!(cu!(cuda, cuModuleLoad(null_mut(), c"/nonexistent".as_ptr())), INVALID_VALUE | FILE_NOT_FOUND);
    }
}
