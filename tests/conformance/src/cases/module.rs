//! Modules and libraries: loading, functions, and variables.

use super::cases;
use crate::cuda::{Outcome, cu, ensure, get, parameter, refused, same};
use crate::kernels::{FAT_BINARY, FILL};
use cuda_api::sys::CUjit_option;
use std::ptr::{null, null_mut};

cases! {
    fn variables_have_their_initial_values(cuda, primary) {
        let (module, _) = cuda.kernel(FILL, c"fill")?;
        let (mut pointer, mut size, mut function) = (0, 0, null_mut());
        cu!(cuda, cuModuleGetGlobal_v2(&mut pointer, &mut size, module, c"step".as_ptr()))?;
        same!(size, 4);
        same!(cuda.download::<u32>(pointer, 1)?, [5]);
        let missing = c"missing".as_ptr();
        refused!(cu!(cuda, cuModuleGetGlobal_v2(&mut pointer, &mut size, module, missing)), NOT_FOUND);
        refused!(cu!(cuda, cuModuleGetFunction(&mut function, module, missing)), NOT_FOUND);
        refused!(cu!(cuda, cuModuleGetFunction(null_mut(), module, c"fill".as_ptr())), INVALID_VALUE);
        cu!(cuda, cuModuleUnload(module))?;
    }

    fn broken_images_are_refused_with_a_log(cuda, primary) {
        let mut module = null_mut();
        let broken = c".version 7.0\n.target sm_70\n.address_size 64\nnonsense;\n";
        let image = broken.as_ptr().cast();
        refused!(cu!(cuda, cuModuleLoadData(&mut module, image)), INVALID_PTX);
        let mut log = vec![0u8; 8192];
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        let (names, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        refused!(cu!(cuda, cuModuleLoadDataEx(&mut module, image, 2, names, values)), INVALID_PTX);
        ensure!(log[0] != 0, "the log is empty");
        refused!(cu!(cuda, cuModuleLoadData(&mut module, null())), INVALID_VALUE);
        refused!(cu!(cuda, cuModuleLoad(&mut module, c"/nonexistent".as_ptr())), FILE_NOT_FOUND);
    }

    fn a_fat_binary_contains_a_module(cuda, primary) {
        let (mut module, mut twice) = (null_mut(), null_mut());
        cu!(cuda, cuModuleLoadFatBinary(&mut module, FAT_BINARY.as_ptr().cast()))?;
        cu!(cuda, cuModuleGetFunction(&mut twice, module, c"twice".as_ptr()))?;
        let (values, count) = (cuda.alloc(16)?, 3u32);
        cuda.upload(values, &[1.0f32, 2.5, -3.0, 4.0])?;
        cuda.launch(twice, [1, 32], null_mut(), &mut [parameter(&values), parameter(&count)])?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<f32>(values, 4)?, [2.0, 5.0, -6.0, 4.0]);
        cu!(cuda, cuModuleUnload(module))?;
    }

    fn functions_are_counted_and_listed(cuda, primary) {
        let (module, fill) = cuda.kernel(FILL, c"fill")?;
        let (mut count, mut functions) = (0, [null_mut(); 2]);
        cu!(cuda, cuModuleGetFunctionCount(&mut count, module))?;
        same!(count, 2);
        cu!(cuda, cuModuleEnumerateFunctions(functions.as_mut_ptr(), 2, module))?;
        let mut names = Vec::new();
        for function in functions {
            let name = get!(cuda, cuFuncGetName(@, function))?;
            // SAFETY: the library returns a string that lives as long as the module.
            names.push(unsafe { std::ffi::CStr::from_ptr(name) }.to_owned());
        }
        names.sort();
        same!(names, [c"add".to_owned(), c"fill".to_owned()]);
        ensure!(functions.contains(&fill), "the handle differs");
        refused!(cu!(cuda, cuModuleGetFunctionCount(null_mut(), module)), INVALID_VALUE);
        refused!(cu!(cuda, cuModuleEnumerateFunctions(null_mut(), 2, module)), INVALID_VALUE);
    }

    fn a_library_belongs_to_no_context(cuda, primary = (_, _context)) {
        let (mut library, mut kernel, mut function) = (null_mut(), null_mut(), null_mut());
        let (mut count, mut pointer, mut size) = (0, 0, 0);
        let image = FILL.as_ptr().cast();
        let none = (null_mut(), null_mut());
        cu!(cuda, cuLibraryLoadData(&mut library, image, none.0, none.1, 0, null_mut(), null_mut(), 0))?;
        cu!(cuda, cuLibraryGetKernelCount(&mut count, library))?;
        same!(count, 2);
        cu!(cuda, cuLibraryGetKernel(&mut kernel, library, c"add".as_ptr()))?;
        cu!(cuda, cuKernelGetFunction(&mut function, kernel))?;
        cu!(cuda, cuLibraryGetGlobal(&mut pointer, &mut size, library, c"step".as_ptr()))?;
        same!(size, 4);
        let missing = c"missing".as_ptr();
        refused!(cu!(cuda, cuLibraryGetKernel(&mut kernel, library, missing)), NOT_FOUND);
        refused!(cu!(cuda, cuLibraryGetGlobal(&mut pointer, &mut size, library, missing)), NOT_FOUND);
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn a_library_has_variables_of_its_own_in_each_context(cuda, primary = (device, first)) {
        let mut library = null_mut();
        let (image, none) = (FILL.as_ptr().cast(), (null_mut(), null_mut()));
        cu!(cuda, cuLibraryLoadData(&mut library, image, none.0, none.1, 0, null_mut(), null_mut(), 0))?;
        let step = || -> Outcome<u64> {
            let (mut pointer, mut size) = (0, 0);
            cu!(cuda, cuLibraryGetGlobal(&mut pointer, &mut size, library, c"step".as_ptr()))?;
            same!(size, 4);
            Ok(pointer)
        };
        cuda.upload(step()?, &[7u32])?;
        // Create the second context twice. The second time, its objects may have the same addresses
        // as those of the first time.
        for _ in 0..2 {
            let second = get!(cuda, cuCtxCreate_v2(@, 0, device))?;
            same!(cuda.download::<u32>(step()?, 1)?, [5]);
            cuda.upload(step()?, &[9u32])?;
            same!(cuda.download::<u32>(step()?, 1)?, [9]);
            cu!(cuda, cuCtxSetCurrent(first))?;
            same!(cuda.download::<u32>(step()?, 1)?, [7]);
            cu!(cuda, cuCtxDestroy_v2(second))?;
        }
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn unknown_names_in_a_library_are_not_found(cuda, primary) {
        let (mut library, mut pointer, mut size, mut function) =
            (null_mut(), 0, 0, null_mut());
        let (image, none) = (FILL.as_ptr().cast(), (null_mut(), null_mut()));
        cu!(cuda, cuLibraryLoadData(&mut library, image, none.0, none.1, 0, null_mut(), null_mut(), 0))?;
        let missing = c"missing".as_ptr();
        refused!(cu!(cuda, cuLibraryGetManaged(&mut pointer, &mut size, library, missing)), NOT_FOUND);
        refused!(cu!(cuda, cuLibraryGetUnifiedFunction(&mut function, library, missing)), INVALID_VALUE);
        cu!(cuda, cuLibraryUnload(library))?;
    }
}
