//! Surface objects, and the instructions that access them.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, get, refused, same};
use crate::images::{array, floats, of_array, plain, ramp, run, sample, texture};
use cuda_api::sys::{
    CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_SURFACE_LDST, CUDA_RESOURCE_DESC, CUarray, CUresourcetype,
};
use std::ffi::CStr;
use std::ptr::null_mut;

fn surface(cuda: &Cuda, source: CUarray) -> Outcome<u64> {
    Ok(get!(cuda, cuSurfObjectCreate(@, &of_array(source)))?)
}

/// Runs a kernel with these inputs, and returns the first word of each output.
fn words(cuda: &Cuda, name: &CStr, object: u64, inputs: &[[u32; 4]]) -> Outcome<Vec<u32>> {
    Ok(run(cuda, name, object, inputs)?.iter().map(|output| output[0]).collect())
}

cases! {
    fn textures_show_what_kernels_write_to_surfaces(cuda, primary) {
        let source = array(cuda, &floats([8, 4, 0], CUDA_ARRAY3D_SURFACE_LDST), &ramp(32))?;
        let (object, shown) = (surface(cuda, source)?, texture(cuda, &of_array(source), &plain())?);
        let new = [[0, 0, 0, 50f32.to_bits()], [28, 3, 0, 51f32.to_bits()]];
        run(cuda, c"store2d", object, &new)?;
        let at = [[0.5, 0.5], [7.5, 3.5], [1.5, 0.5]];
        same!(sample(cuda, c"tex2d", shown, at)?, [50.0, 51.0, 1.0]);
        let found = words(cuda, c"load2d", object, &[[28, 3, 0, 0], [4, 1, 0, 0]])?;
        same!(found, [51f32.to_bits(), 9f32.to_bits()]);
        same!(run(cuda, c"surface_size", object, &[[0; 4]])?[0][..2], [8, 4]);
        cu!(cuda, cuSurfObjectDestroy(object))?;
        cu!(cuda, cuTexObjectDestroy(shown))?;
        cu!(cuda, cuArrayDestroy(source))?;
    }

    fn accesses_outside_are_ignored_or_moved_inside(cuda, primary) {
        let source = array(cuda, &floats([8, 4, 0], CUDA_ARRAY3D_SURFACE_LDST), &ramp(32))?;
        let object = surface(cuda, source)?;
        let minus = |value: i32| -value as u32;
        let outside = [[32, 0, 0, 0], [minus(4), 1, 0, 0], [0, 4, 0, 0], [4, minus(1), 0, 0]];
        same!(words(cuda, c"load2d_zero", object, &outside)?, [0; 4]);
        let nearest = [7.0, 8.0, 24.0, 1.0].map(f32::to_bits);
        same!(words(cuda, c"load2d_clamp", object, &outside)?, nearest);
        let new = outside.map(|[x, y, z, _]| [x, y, z, 99]);
        run(cuda, c"store2d_zero", object, &new)?;
        same!(words(cuda, c"load2d_clamp", object, &outside)?, nearest);
        run(cuda, c"store2d_clamp", object, &new)?;
        same!(words(cuda, c"load2d_clamp", object, &outside)?, [99; 4]);
        let found = words(cuda, c"load2d", object, &[[28, 0, 0, 0], [8, 0, 0, 0]])?;
        same!(found, [99, 2f32.to_bits()]);
        cu!(cuda, cuSurfObjectDestroy(object))?;
    }

    fn an_access_outside_that_must_not_happen_fails_the_kernel(cuda, primary) {
        let source = array(cuda, &floats([8, 4, 0], CUDA_ARRAY3D_SURFACE_LDST), &ramp(32))?;
        let object = surface(cuda, source)?;
        same!(run(cuda, c"store2d", object, &[[32, 0, 0, 1]]).is_err(), true);
        let synchronized = cu!(cuda, cuCtxSynchronize());
        refused!(synchronized, ILLEGAL_ADDRESS);
    }

    fn surfaces_have_one_to_three_dimensions_and_layers(cuda, primary) {
        for (name, flags) in [
            ([c"store3d", c"load3d"], 0),
            ([c"store_layer", c"load_layer"], CUDA_ARRAY3D_LAYERED),
        ] {
            let flags = flags | CUDA_ARRAY3D_SURFACE_LDST;
            let source = array(cuda, &floats([4, 4, 4], flags), &ramp(64))?;
            let object = surface(cuda, source)?;
            let new = [[0, 1, 2, 70], [12, 3, 3, 71]];
            run(cuda, name[0], object, &new)?;
            same!(words(cuda, name[1], object, &new)?, [70, 71]);
            same!(words(cuda, name[1], object, &[[4, 1, 2, 0]])?, [37f32.to_bits()]);
            cu!(cuda, cuSurfObjectDestroy(object))?;
        }
        let source = array(cuda, &floats([8, 0, 0], CUDA_ARRAY3D_SURFACE_LDST), &ramp(8))?;
        let object = surface(cuda, source)?;
        run(cuda, c"store_pair", object, &[[8, 0, 5, 6]])?;
        let found = run(cuda, c"load_pair", object, &[[8, 0, 0, 0], [0; 4]])?;
        same!(found[0][..2], [5, 6]);
        same!(found[1][..2], [0, 1f32.to_bits()]);
        cu!(cuda, cuSurfObjectDestroy(object))?;
    }

    fn objects_have_the_resource_that_they_were_created_with(cuda, primary) {
        let source = array(cuda, &floats([8, 4, 0], CUDA_ARRAY3D_SURFACE_LDST), &ramp(32))?;
        let object = surface(cuda, source)?;
        let mut found = of_array(null_mut());
        cu!(cuda, cuSurfObjectGetResourceDesc(&mut found, object))?;
        same!(found.resType, CUresourcetype::CU_RESOURCE_TYPE_ARRAY);
        // SAFETY: the type says that this member of the union is initialized.
        same!(unsafe { found.res.array.hArray }, source);
        cu!(cuda, cuSurfObjectDestroy(object))?;
        let (mut made, good) = (0, of_array(source));
        let kind = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
        let linear = CUDA_RESOURCE_DESC { resType: kind, ..good };
        let flags = CUDA_RESOURCE_DESC { flags: 1, ..good };
        refused!(cu!(cuda, cuSurfObjectCreate(&mut made, &linear)), INVALID_VALUE);
        refused!(cu!(cuda, cuSurfObjectCreate(&mut made, &flags)), INVALID_VALUE);
    }
}
