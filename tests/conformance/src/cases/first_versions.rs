//! The first versions of functions, whose device pointers and sizes have 32 bits.

use super::cases;
use crate::cuda::{cu, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{CUDA_ARRAY_DESCRIPTOR_v1, CUarray_format, CUjitInputType};
use std::ffi::c_void;
use std::ptr::null_mut;

cases! {
    fn they_fail_in_todays_contexts(cuda) {
        let (mut pointer, mut size, mut array) = (0u32, 0u32, null_mut());
        refused!(cu!(cuda, cuMemAlloc(&mut pointer, 4096)), NOT_INITIALIZED);
        cuda.primary()?;
        refused!(cu!(cuda, cuMemAlloc(&mut pointer, 4096)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemGetInfo(&mut pointer, &mut size)), INVALID_CONTEXT);
        let mut words = [1u32; 4];
        let data = words.as_mut_ptr().cast::<c_void>();
        refused!(cu!(cuda, cuMemcpyHtoD(0, data, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyDtoH(data, 0, 16)), INVALID_CONTEXT);
        same!(words, [1; 4]);
        refused!(cu!(cuda, cuMemsetD32(0, 7, 4)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemFree(0)), INVALID_CONTEXT);
        let mut host = null_mut();
        refused!(cu!(cuda, cuMemAllocHost(&mut host, 4096)), INVALID_CONTEXT);
        let descriptor = CUDA_ARRAY_DESCRIPTOR_v1 {
            Width: 8, Height: 4, Format: CUarray_format::CU_AD_FORMAT_FLOAT, NumChannels: 1,
        };
        refused!(cu!(cuda, cuArrayCreate(&mut array, &descriptor)), INVALID_CONTEXT);
        let mut module = null_mut();
        cu!(cuda, cuModuleLoadData(&mut module, FILL.as_ptr().cast()))?;
        let found = cu!(cuda, cuModuleGetGlobal(&mut pointer, &mut size, module, c"step".as_ptr()));
        refused!(found, INVALID_CONTEXT);
        same!((pointer, size), (0, 0));
        Ok(())
    }

    fn a_context_of_the_first_version_cant_be_created(cuda) {
        let (device, primary) = cuda.primary()?;
        let (mut context, mut current) = (null_mut(), null_mut());
        refused!(cu!(cuda, cuCtxCreate(&mut context, 0, device)), OUT_OF_MEMORY);
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, primary);
        Ok(())
    }

    fn a_large_memory_is_reported_as_four_gigabytes(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut bytes, mut short) = (0usize, 0u32);
        cu!(cuda, cuDeviceTotalMem_v2(&mut bytes, 0))?;
        cu!(cuda, cuDeviceTotalMem(&mut short, 0))?;
        same!(short, u32::try_from(bytes).unwrap_or(u32::MAX));
        refused!(cu!(cuda, cuDeviceTotalMem(&mut short, 99)), INVALID_DEVICE);
        Ok(())
    }

    fn the_linker_has_a_first_version_too(cuda) {
        cuda.primary()?;
        let (ptx, mut link) = (CUjitInputType::CU_JIT_INPUT_PTX, null_mut());
        let (options, values) = (null_mut(), null_mut());
        cu!(cuda, cuLinkCreate(0, options, values, &mut link))?;
        let text = FILL.to_bytes_with_nul();
        let (data, size) = (text.as_ptr().cast_mut().cast::<c_void>(), text.len());
        cu!(cuda, cuLinkAddData(link, ptx, data, size, c"fill".as_ptr(), 0, options, values))?;
        refused!(
            cu!(cuda, cuLinkAddData(link, ptx, null_mut(), 0, c"x".as_ptr(), 0, options, values)),
            INVALID_VALUE
        );
        let missing = c"/nonexistent/file.ptx";
        refused!(
            cu!(cuda, cuLinkAddFile(link, ptx, missing.as_ptr(), 0, options, values)),
            FILE_NOT_FOUND
        );
        let (mut image, mut bytes, mut module) = (null_mut(), 0, null_mut());
        cu!(cuda, cuLinkComplete(link, &mut image, &mut bytes))?;
        cu!(cuda, cuModuleLoadData(&mut module, image))?;
        cu!(cuda, cuLinkDestroy(link))?;
        let mut function = null_mut();
        cu!(cuda, cuModuleGetFunction(&mut function, module, c"fill".as_ptr()))?;
        Ok(())
    }
}
