//! The first versions of functions, whose device pointers and sizes have 32 bits.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, get, refused, same};
use crate::file::File;
use crate::images::floats;
use crate::kernels::FILL;
use cuda_api::sys::{
    CUDA_ARRAY_DESCRIPTOR_v1, CUDA_ARRAY3D_DESCRIPTOR_v1, CUDA_MEMCPY2D_v1, CUDA_MEMCPY3D_v1,
    CUarray, CUarray_format, CUjitInputType, CUmemorytype as Memory,
};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const VARIABLE: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 linked = 9;
";

/// Creates an array of four words.
fn array(cuda: &Cuda) -> Outcome<CUarray> {
    Ok(get!(cuda, cuArray3DCreate_v2(@, &floats([4, 0, 0], 0)))?)
}

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
        refused!(cu!(cuda, cuMemcpyDtoD(0, 256, 16)), INVALID_CONTEXT);
        same!(words, [1; 4]);
        refused!(cu!(cuda, cuMemFree(0)), INVALID_CONTEXT);
        let mut host = null_mut();
        refused!(cu!(cuda, cuMemAllocHost(&mut host, 4096)), INVALID_CONTEXT);
        let mut pitch = 0;
        let allocated = cu!(cuda, cuMemAllocPitch(&mut pointer, &mut pitch, 64, 4, 4));
        refused!(allocated, INVALID_CONTEXT);
        let found = cu!(cuda, cuMemGetAddressRange(&mut pointer, &mut size, 0));
        refused!(found, INVALID_CONTEXT);
        cu!(cuda, cuMemHostAlloc(&mut host, 4096, 2))?;
        let found = cu!(cuda, cuMemHostGetDevicePointer(&mut pointer, host, 0));
        refused!(found, INVALID_CONTEXT);
        cu!(cuda, cuMemFreeHost(host))?;
        let descriptor = CUDA_ARRAY_DESCRIPTOR_v1 {
            Width: 8, Height: 4, Format: CUarray_format::CU_AD_FORMAT_FLOAT, NumChannels: 1,
        };
        refused!(cu!(cuda, cuArrayCreate(&mut array, &descriptor)), INVALID_CONTEXT);
        let module = get!(cuda, cuModuleLoadData(@, FILL.as_ptr().cast()))?;
        let found = cu!(cuda, cuModuleGetGlobal(&mut pointer, &mut size, module, c"step".as_ptr()));
        refused!(found, INVALID_CONTEXT);
        same!((pointer, size), (0, 0));
    }

    fn memsets_fail_in_todays_contexts(cuda, primary) {
        refused!(cu!(cuda, cuMemsetD8(0, 7, 4)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemsetD16(0, 7, 4)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemsetD32(0, 7, 4)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemsetD2D8(0, 64, 7, 4, 2)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemsetD2D16(0, 64, 7, 4, 2)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemsetD2D32(0, 64, 7, 4, 2)), INVALID_CONTEXT);
    }

    fn copies_in_streams_fail_in_todays_contexts(cuda, primary) {
        let (mut words, mut stream) = ([1u32; 4], null_mut());
        let data = words.as_mut_ptr().cast::<c_void>();
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        refused!(cu!(cuda, cuMemcpyHtoDAsync(0, data, 16, stream)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyDtoHAsync(data, 0, 16, stream)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyDtoDAsync(0, 256, 16, stream)), INVALID_CONTEXT);
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(words, [1; 4]);
    }

    fn copies_of_rows_and_boxes_fail_in_todays_contexts(cuda, primary) {
        let (from, mut to, mut stream) = ([1u32; 4], [2u32; 4], null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let row = CUDA_MEMCPY2D_v1 {
            srcMemoryType: Memory::CU_MEMORYTYPE_HOST,
            srcHost: from.as_ptr().cast(),
            srcPitch: 16,
            dstMemoryType: Memory::CU_MEMORYTYPE_HOST,
            dstHost: to.as_mut_ptr().cast(),
            dstPitch: 16,
            WidthInBytes: 16,
            Height: 1,
            ..Default::default()
        };
        refused!(cu!(cuda, cuMemcpy2D(&row)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpy2DUnaligned(&row)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpy2DAsync(&row, stream)), INVALID_CONTEXT);
        let one = CUDA_MEMCPY3D_v1 {
            srcMemoryType: Memory::CU_MEMORYTYPE_HOST,
            srcHost: from.as_ptr().cast(),
            srcPitch: 16,
            srcHeight: 1,
            dstMemoryType: Memory::CU_MEMORYTYPE_HOST,
            dstHost: to.as_mut_ptr().cast(),
            dstPitch: 16,
            dstHeight: 1,
            WidthInBytes: 16,
            Height: 1,
            Depth: 1,
            ..Default::default()
        };
        refused!(cu!(cuda, cuMemcpy3D(&one)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpy3DAsync(&one, stream)), INVALID_CONTEXT);
        cu!(cuda, cuStreamSynchronize(stream))?;
        std::hint::black_box(&mut to);
        same!(to, [2; 4]);
    }

    fn copies_of_arrays_fail_in_todays_contexts(cuda, primary) {
        let (first, second) = (array(cuda)?, array(cuda)?);
        let (mut words, mut stream) = ([1u32; 4], null_mut());
        let data = words.as_mut_ptr().cast::<c_void>();
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        refused!(cu!(cuda, cuMemcpyAtoA(first, 0, second, 0, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyAtoD(0, first, 0, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyDtoA(first, 0, 0, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyAtoH(data, first, 0, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyHtoA(first, 0, data, 16)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyAtoHAsync(data, first, 0, 16, stream)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuMemcpyHtoAAsync(first, 0, data, 16, stream)), INVALID_CONTEXT);
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(words, [1; 4]);
    }

    fn arrays_have_no_properties_in_todays_contexts(cuda, primary) {
        let (array, mut made) = (array(cuda)?, null_mut());
        let (mut plain, mut deep) =
            (CUDA_ARRAY_DESCRIPTOR_v1::default(), CUDA_ARRAY3D_DESCRIPTOR_v1::default());
        refused!(cu!(cuda, cuArrayGetDescriptor(&mut plain, array)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuArray3DGetDescriptor(&mut deep, array)), INVALID_CONTEXT);
        let wanted = CUDA_ARRAY3D_DESCRIPTOR_v1 {
            Width: 8,
            Height: 4,
            Depth: 2,
            Format: CUarray_format::CU_AD_FORMAT_FLOAT,
            NumChannels: 1,
            Flags: 0,
        };
        refused!(cu!(cuda, cuArray3DCreate(&mut made, &wanted)), INVALID_CONTEXT);
    }

    fn a_context_of_the_first_version_cant_be_created(cuda, primary = (device, primary)) {
        let (mut context, mut current) = (null_mut(), null_mut());
        refused!(cu!(cuda, cuCtxCreate(&mut context, 0, device)), OUT_OF_MEMORY);
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, primary);
    }

    fn a_large_memory_is_reported_as_four_gigabytes(cuda) {
        cu!(cuda, cuInit(0))?;
        let bytes: usize = get!(cuda, cuDeviceTotalMem_v2(@, 0))?;
        let mut short: u32 = get!(cuda, cuDeviceTotalMem(@, 0))?;
        same!(short, u32::try_from(bytes).unwrap_or(u32::MAX));
        refused!(cu!(cuda, cuDeviceTotalMem(&mut short, 99)), INVALID_DEVICE);
    }

    fn the_linker_has_a_first_version_too(cuda, primary) {
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
        let file = File::new("variable.ptx", VARIABLE.to_bytes())?;
        cu!(cuda, cuLinkAddFile(link, ptx, file.name().as_ptr(), 0, options, values))?;
        let (mut image, mut bytes, mut module) = (null_mut(), 0, null_mut());
        cu!(cuda, cuLinkComplete(link, &mut image, &mut bytes))?;
        cu!(cuda, cuModuleLoadData(&mut module, image))?;
        cu!(cuda, cuLinkDestroy(link))?;
        get!(cuda, cuModuleGetFunction(@, module, c"fill".as_ptr()))?;
        let (mut pointer, mut bytes) = (0, 0);
        cu!(cuda, cuModuleGetGlobal_v2(&mut pointer, &mut bytes, module, c"linked".as_ptr()))?;
        same!(cuda.download::<u32>(pointer, 1)?, [9]);
        cu!(cuda, cuModuleUnload(module))?;
        refused!(cu!(cuda, cuLinkCreate(0, options, values, null_mut())), INVALID_VALUE);
    }
}
