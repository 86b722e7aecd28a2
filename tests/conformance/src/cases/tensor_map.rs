//! Tensor maps: valid and invalid descriptions, and their encoding.

use super::cases;
use crate::cuda::{Called, Cuda};
use crate::cuda::{cu, ensure, refused};
use cuda_api::sys::{
    CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapIm2ColWideMode,
    CUtensorMapInterleave, CUtensorMapL2promotion, CUtensorMapSwizzle,
};
use std::ffi::c_void;

/// Encodes the map of a tensor of 64 by 64 single-precision numbers.
fn tiled(
    cuda: &Cuda,
    map: &mut CUtensorMap,
    address: usize,
    stride: u64,
    boxes: [u32; 2],
) -> Called {
    cu!(
        cuda,
        cuTensorMapEncodeTiled(
            map,
            CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            2,
            address as *mut c_void,
            [64u64, 64].as_ptr(),
            [stride].as_ptr(),
            boxes.as_ptr(),
            [1u32, 1].as_ptr(),
            CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    )
}

cases! {
    fn a_map_depends_on_its_description(cuda, primary) {
        let device = cuda.alloc(64 * 64 * 4)? as usize;
        let (mut map, mut other) = (CUtensorMap::default(), CUtensorMap::default());
        tiled(cuda, &mut map, device, 256, [16, 16])?;
        tiled(cuda, &mut other, device, 256, [16, 8])?;
        ensure!(map != other, "maps with different boxes are equal");
        tiled(cuda, &mut other, 4096, 256, [16, 16])?;
        ensure!(map != other, "maps with different addresses are equal");
        cu!(cuda, cuTensorMapReplaceAddress(&mut other, device as *mut c_void))?;
        ensure!(map == other, "the address was not replaced");
        refused!(cu!(cuda, cuTensorMapReplaceAddress(&mut other, 8 as *mut c_void)), INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(device as u64))?;
    }

    fn equal_descriptions_have_equal_maps(cuda, primary) {
        let mut first = [CUtensorMap::default(); 4];
        for round in 0..50 {
            for (index, first) in first.iter_mut().enumerate() {
                let mut map = CUtensorMap::default();
                tiled(cuda, &mut map, 4096 * (index / 2), 256, [16, 8 << (index % 2)])?;
                if round == 0 {
                    *first = map;
                }
                ensure!(map == *first, "map {index} differs in round {round}");
            }
            // The guest library caches maps. Invalid parameters must cause an error even if a map
            // with similar parameters is cached, and valid parameters must succeed even after an
            // error.
            let mut map = CUtensorMap::default();
            refused!(tiled(cuda, &mut map, 8, 256, [16, 16]), INVALID_VALUE);
        }
        for index in 1..4 {
            ensure!(first[index] != first[index - 1], "maps {index} and {} are equal", index - 1);
        }
        // Without a current context, the call must fail, even if the map with these parameters was
        // encoded before.
        cu!(cuda, cuCtxSetCurrent(std::ptr::null_mut()))?;
        let mut map = CUtensorMap::default();
        refused!(tiled(cuda, &mut map, 4096, 256, [16, 16]), INVALID_CONTEXT);
    }

    fn invalid_maps_are_refused(cuda, primary) {
        let mut map = CUtensorMap::default();
        // The address of a tensor can be any multiple of 16, including null.
        tiled(cuda, &mut map, 0, 256, [16, 16])?;
        for (address, stride, boxes) in [
            (8, 256, [16, 16]),
            (4096, 8, [16, 16]),
            (4096, 1 << 40, [16, 16]),
            (4096, 256, [0, 16]),
            (4096, 256, [257, 1]),
            (4096, 256, [3, 3]),
        ] {
            refused!(tiled(cuda, &mut map, address, stride, boxes), INVALID_VALUE);
        }
    }

    /// A map can be encoded even if the device has no instructions that use it.
    fn a_wide_im2col_map_needs_three_dimensions(cuda, primary) {
        let mut map = CUtensorMap::default();
        let (narrow, too_narrow) = (-1, -(1 << 15) - 1);
        for (rank, mode, corner, succeeds) in [
            (2, 0, narrow, false),
            (3, 0, narrow, true),
            (4, 1, narrow, true),
            (4, 2, narrow, false),
            (4, 0, too_narrow, false),
            (6, 0, narrow, false),
        ] {
            let called = cu!(
                cuda,
                cuTensorMapEncodeIm2colWide(
                    &mut map,
                    CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                    rank,
                    4096 as *mut c_void,
                    [64u64, 32, 32, 8, 1, 1].as_ptr(),
                    [128u64, 4096, 131072, 1 << 20, 1 << 20].as_ptr(),
                    corner,
                    -1,
                    32,
                    64,
                    [1u32, 1, 1, 1, 1, 1].as_ptr(),
                    CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                    CUtensorMapIm2ColWideMode(mode),
                    CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
                    CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                    CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                )
            );
            if !succeeds {
                refused!(called, INVALID_VALUE);
                continue;
            }
            called?;
            ensure!(map.opaque != CUtensorMap::default().opaque, "the map is empty");
            map = CUtensorMap::default();
        }
    }

    fn an_im2col_map_needs_three_dimensions(cuda, primary) {
        let mut map = CUtensorMap::default();
        for (rank, succeeds) in [(2, false), (4, true), (6, false)] {
            let called = cu!(
                cuda,
                cuTensorMapEncodeIm2col(
                    &mut map,
                    CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                    rank,
                    4096 as *mut c_void,
                    [64u64, 32, 32, 8, 1, 1].as_ptr(),
                    [128u64, 4096, 131072, 1 << 20, 1 << 20].as_ptr(),
                    [-1i32, -1, 0, 0].as_ptr(),
                    [-1i32, -1, 0, 0].as_ptr(),
                    32,
                    64,
                    [1u32, 1, 1, 1, 1, 1].as_ptr(),
                    CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                    CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
                    CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                    CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                )
            );
            match succeeds {
                true => called?,
                false => refused!(called, INVALID_VALUE),
            }
        }
    }
}
