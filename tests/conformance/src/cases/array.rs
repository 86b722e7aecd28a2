//! Arrays, mipmapped arrays, and copies from and to them.

use super::cases;
use crate::cuda::{Cuda, Outcome};
use crate::cuda::{cu, ensure, get, refused, same};
use cuda_api::sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_CUBEMAP, CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED,
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUarray_format as Format, CUmemorytype,
};
use std::ptr::null_mut;

fn descriptor(size: [usize; 3], flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: size[0],
        Height: size[1],
        Depth: size[2],
        Format: Format::CU_AD_FORMAT_UNSIGNED_INT32,
        NumChannels: 1,
        Flags: flags,
    }
}

/// Creates an array of 32-bit integers with this width, height, and depth.
fn array(cuda: &Cuda, size: [usize; 3], flags: u32) -> Outcome<CUarray> {
    Ok(get!(cuda, cuArray3DCreate_v2(@, &descriptor(size, flags)))?)
}

/// Returns a copy between host memory with packed rows and a box of an array.
fn whole(size: [usize; 3]) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcPitch: size[0] * 4,
        srcHeight: size[1],
        dstPitch: size[0] * 4,
        dstHeight: size[1],
        WidthInBytes: size[0] * 4,
        Height: size[1],
        Depth: size[2],
        ..Default::default()
    }
}

fn put(cuda: &Cuda, to: CUarray, size: [usize; 3], values: &[u32]) -> Outcome {
    let mut copy = whole(size);
    (copy.srcMemoryType, copy.srcHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, values.as_ptr().cast());
    (copy.dstMemoryType, copy.dstArray) = (CUmemorytype::CU_MEMORYTYPE_ARRAY, to);
    Ok(cu!(cuda, cuMemcpy3D_v2(&copy))?)
}

fn get(cuda: &Cuda, from: CUarray, size: [usize; 3]) -> Outcome<Vec<u32>> {
    let mut values = vec![0; size.iter().product()];
    let mut copy = whole(size);
    (copy.srcMemoryType, copy.srcArray) = (CUmemorytype::CU_MEMORYTYPE_ARRAY, from);
    (copy.dstMemoryType, copy.dstHost) =
        (CUmemorytype::CU_MEMORYTYPE_HOST, values.as_mut_ptr().cast());
    cu!(cuda, cuMemcpy3D_v2(&copy))?;
    Ok(values)
}

cases! {
    fn arrays_have_the_properties_that_they_were_created_with(cuda, primary) {
        let made = array(cuda, [10, 6, 4], CUDA_ARRAY3D_LAYERED)?;
        let mut found = CUDA_ARRAY3D_DESCRIPTOR::default();
        cu!(cuda, cuArray3DGetDescriptor_v2(&mut found, made))?;
        same!(found, descriptor([10, 6, 4], CUDA_ARRAY3D_LAYERED));
        cu!(cuda, cuArrayDestroy(made))?;
        let mut plain = null_mut();
        let wanted = CUDA_ARRAY_DESCRIPTOR {
            Width: 100,
            Height: 0,
            Format: Format::CU_AD_FORMAT_HALF,
            NumChannels: 4,
        };
        cu!(cuda, cuArrayCreate_v2(&mut plain, &wanted))?;
        let mut found = CUDA_ARRAY_DESCRIPTOR::default();
        cu!(cuda, cuArrayGetDescriptor_v2(&mut found, plain))?;
        same!(found, wanted);
        // The array's format has no planes. Only arrays with deferred mapping have memory
        // requirements.
        let (mut plane, mut needed) = (null_mut(), Default::default());
        refused!(cu!(cuda, cuArrayGetPlane(&mut plane, plain, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuArrayGetMemoryRequirements(&mut needed, plain, 0)), INVALID_VALUE);
        cu!(cuda, cuArrayDestroy(plain))?;
    }

    fn invalid_properties_are_refused(cuda, primary) {
        let mut made = null_mut();
        for (size, flags) in [
            ([0, 0, 0], 0),
            ([0, 4, 0], 0),
            ([4, 0, 4], 0),
            ([1 << 20, 0, 0], 0),
            ([4, 4, 0], CUDA_ARRAY3D_LAYERED),
            ([4, 4, 3], CUDA_ARRAY3D_CUBEMAP),
            ([4, 8, 6], CUDA_ARRAY3D_CUBEMAP),
            ([4, 4, 7], CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED),
        ] {
            let refused = descriptor(size, flags);
            refused!(cu!(cuda, cuArray3DCreate_v2(&mut made, &refused)), INVALID_VALUE);
        }
        let three = CUDA_ARRAY3D_DESCRIPTOR { NumChannels: 3, ..descriptor([4, 4, 0], 0) };
        refused!(cu!(cuda, cuArray3DCreate_v2(&mut made, &three)), INVALID_VALUE);
        let unknown = CUDA_ARRAY_DESCRIPTOR::default();
        refused!(cu!(cuda, cuArrayCreate_v2(&mut made, &unknown)), INVALID_VALUE);
    }

    fn boxes_are_copied_between_host_memory_and_arrays(cuda, primary) {
        for (size, flags) in [
            ([1000, 300, 3], 0),
            ([64, 64, 6], CUDA_ARRAY3D_CUBEMAP),
            ([17, 5, 9], CUDA_ARRAY3D_LAYERED),
        ] {
            let made = array(cuda, size, flags)?;
            let values: Vec<u32> = (0..size.iter().product::<usize>() as u32).collect();
            put(cuda, made, size, &values)?;
            same!(get(cuda, made, size)? == values, true);
            cu!(cuda, cuArrayDestroy(made))?;
        }
    }

    fn a_rectangle_lands_at_its_place_in_an_array(cuda, primary) {
        let size = [8, 4, 1];
        let made = array(cuda, [8, 4, 0], 0)?;
        put(cuda, made, size, &[7; 32])?;
        let device = cuda.alloc(256)?;
        cuda.upload(device, &[1u32, 2, 3, 0, 4, 5, 6, 0])?;
        let mut copy = CUDA_MEMCPY2D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: device,
            srcPitch: 16,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
            dstArray: made,
            dstXInBytes: 8,
            dstY: 1,
            WidthInBytes: 12,
            Height: 2,
            ..Default::default()
        };
        cu!(cuda, cuMemcpy2DAsync_v2(&copy, null_mut()))?;
        let found = get(cuda, made, size)?;
        same!(found[8..16], [7, 7, 1, 2, 3, 7, 7, 7]);
        same!(found[16..24], [7, 7, 4, 5, 6, 7, 7, 7]);
        copy.dstXInBytes = 24;
        refused!(cu!(cuda, cuMemcpy2D_v2(&copy)), INVALID_VALUE);
        (copy.dstXInBytes, copy.dstY) = (8, 3);
        refused!(cu!(cuda, cuMemcpy2D_v2(&copy)), INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(device))?;
        cu!(cuda, cuArrayDestroy(made))?;
    }

    fn bytes_are_copied_from_and_to_the_first_row(cuda, primary) {
        let (first, second) = (array(cuda, [64, 0, 0], 0)?, array(cuda, [64, 0, 0], 0)?);
        let values: Vec<u32> = (100..164).collect();
        let mut found = vec![0u32; 64];
        let device = cuda.alloc(256)?;
        cu!(cuda, cuMemcpyHtoA_v2(first, 0, values.as_ptr().cast(), 256))?;
        cu!(cuda, cuMemcpyAtoA_v2(second, 8, first, 4, 248))?;
        cu!(cuda, cuMemcpyAtoD_v2(device, second, 8, 248))?;
        same!(cuda.download::<u32>(device, 62)?, values[1..63]);
        cu!(cuda, cuMemcpyDtoA_v2(first, 4, device, 248))?;
        cu!(cuda, cuMemcpyAtoH_v2(found.as_mut_ptr().cast(), first, 0, 256))?;
        same!(found[..3], [100, 101, 102]);
        cu!(cuda, cuMemcpyHtoAAsync_v2(first, 0, values[32..].as_ptr().cast(), 8, null_mut()))?;
        cu!(cuda, cuMemcpyAtoHAsync_v2(found.as_mut_ptr().cast(), first, 4, 8, null_mut()))?;
        cu!(cuda, cuStreamSynchronize(null_mut()))?;
        same!(found[..2], [133, 102]);
        refused!(cu!(cuda, cuMemcpyAtoH_v2(found.as_mut_ptr().cast(), first, 8, 256)), INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(device))?;
        cu!(cuda, cuArrayDestroy(first))?;
        cu!(cuda, cuArrayDestroy(second))?;
    }

    fn levels_of_a_mipmapped_array_have_half_the_size(cuda, primary) {
        let mipmap = get!(cuda, cuMipmappedArrayCreate(@, &descriptor([16, 4, 0], 0), 99))?;
        let mut level = null_mut();
        for number in 0..5 {
            cu!(cuda, cuMipmappedArrayGetLevel(&mut level, mipmap, number))?;
            let size = [16usize >> number, (4usize >> number).max(1), 1];
            let mut found = CUDA_ARRAY3D_DESCRIPTOR::default();
            cu!(cuda, cuArray3DGetDescriptor_v2(&mut found, level))?;
            same!([found.Width, found.Height], size[..2]);
            put(cuda, level, size, &vec![number; size[0] * size[1]])?;
        }
        cu!(cuda, cuMipmappedArrayGetLevel(&mut level, mipmap, 1))?;
        ensure!(get(cuda, level, [8, 2, 1])?.iter().all(|value| *value == 1), "level 1");
        refused!(cu!(cuda, cuMipmappedArrayGetLevel(&mut level, mipmap, 5)), INVALID_VALUE);
        let mut needed = Default::default();
        refused!(
            cu!(cuda, cuMipmappedArrayGetMemoryRequirements(&mut needed, mipmap, 0)),
            INVALID_VALUE
        );
        cu!(cuda, cuMipmappedArrayDestroy(mipmap))?;
    }
}
