//! Texture objects, and the instructions that read them. Coordinates are chosen so that the results
//! are exact with the 8-bit fractions that filtering uses.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, get, refused, same};
use crate::images::{
    array, filtered, floats, of_array, of_mipmap, plain, put, ramp, run, sample, texture,
};
use cuda_api::sys::{
    CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER, CUDA_ARRAY3D_CUBEMAP,
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_TEXTURE_GATHER, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUaddress_mode as Mode, CUarray_format as Format,
    CUdeviceptr, CUfilter_mode, CUresourceViewFormat as ViewFormat, CUresourcetype,
};
use std::ptr::{null, null_mut};

/// Describes `count` singles in device memory as the resource of an object.
fn of_memory(at: CUdeviceptr, count: usize) -> CUDA_RESOURCE_DESC {
    let mut resource = of_array(null_mut());
    resource.resType = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = at;
    resource.res.linear.format = Format::CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = count * 4;
    resource
}

/// Describes rows of singles in device memory as the resource of an object.
fn of_rows(at: CUdeviceptr, [width, height]: [usize; 2], pitch: usize) -> CUDA_RESOURCE_DESC {
    let mut resource = of_array(null_mut());
    resource.resType = CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = at;
    resource.res.pitch2D.format = Format::CU_AD_FORMAT_FLOAT;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    resource
}

/// Describes a view of an array with single-precision elements.
fn of_floats(size: [usize; 3]) -> CUDA_RESOURCE_VIEW_DESC {
    CUDA_RESOURCE_VIEW_DESC {
        format: ViewFormat::CU_RES_VIEW_FORMAT_FLOAT_1X32,
        width: size[0],
        height: size[1],
        depth: size[2],
        ..Default::default()
    }
}

fn normalized(description: CUDA_TEXTURE_DESC) -> CUDA_TEXTURE_DESC {
    CUDA_TEXTURE_DESC { flags: description.flags | CU_TRSF_NORMALIZED_COORDINATES, ..description }
}

/// Describes an array of bytes with four components.
fn bytes(format: Format, width: usize) -> CUDA_ARRAY3D_DESCRIPTOR {
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: 1,
        Depth: 0,
        Format: format,
        NumChannels: 4,
        Flags: 0,
    }
}

fn destroy(cuda: &Cuda, textures: &[u64]) -> Outcome {
    for object in textures {
        cu!(cuda, cuTexObjectDestroy(*object))?;
    }
    Ok(())
}

cases! {
    fn objects_have_the_descriptions_that_they_were_created_with(cuda, primary) {
        let source = array(cuda, &floats([8, 4, 0], 0), &ramp(32))?;
        let (resource, description) = (of_array(source), normalized(filtered()));
        let view = of_floats([8, 4, 0]);
        let (mut first, second) = (0, texture(cuda, &resource, &description)?);
        cu!(cuda, cuTexObjectCreate(&mut first, &resource, &description, &view))?;
        let mut found = of_array(null_mut());
        cu!(cuda, cuTexObjectGetResourceDesc(&mut found, first))?;
        same!(found.resType, CUresourcetype::CU_RESOURCE_TYPE_ARRAY);
        // SAFETY: the type says that this member of the union is initialized.
        same!(unsafe { found.res.array.hArray }, source);
        let mut found = plain();
        cu!(cuda, cuTexObjectGetTextureDesc(&mut found, first))?;
        same!(found.addressMode, description.addressMode);
        same!((found.filterMode, found.flags), (description.filterMode, description.flags));
        let mut found = CUDA_RESOURCE_VIEW_DESC::default();
        cu!(cuda, cuTexObjectGetResourceViewDesc(&mut found, first))?;
        same!((found.width, found.height), (8, 4));
        // For a texture object without a view, the driver returns an empty view and succeeds.
        cu!(cuda, cuTexObjectGetResourceViewDesc(&mut found, second))?;
        refused!(cu!(cuda, cuTexObjectGetResourceViewDesc(null_mut(), first)), INVALID_VALUE);
        destroy(cuda, &[first, second])?;
        cu!(cuda, cuArrayDestroy(source))?;
    }

    fn invalid_descriptions_are_refused(cuda, primary) {
        let source = array(cuda, &floats([8, 4, 0], 0), &ramp(32))?;
        let memory = cuda.alloc(4096)?;
        let (good, mut object) = (of_array(source), 0);
        let flags = CUDA_RESOURCE_DESC { flags: 1, ..good };
        let kind = CUDA_RESOURCE_DESC { resType: CUresourcetype(9), ..good };
        let misaligned = of_memory(memory + 4, 8);
        let mut refuse = |resource, description, view| -> Outcome {
            let created = cu!(cuda, cuTexObjectCreate(&mut object, resource, description, view));
            refused!(created, INVALID_VALUE);
            Ok(())
        };
        refuse(&flags, &plain(), null())?;
        refuse(&kind, &plain(), null())?;
        refuse(&misaligned, &plain(), null())?;
        refuse(null(), &plain(), null())?;
        refuse(&good, null(), null())?;
        refuse(&of_memory(0, 8), &plain(), null())?;
        refuse(&of_rows(memory, [8, 4], 16), &plain(), null())?;
        // A view must specify a format, and must have the size of the array.
        let view = of_floats([8, 4, 0]);
        let none = CUDA_RESOURCE_VIEW_DESC { format: ViewFormat::CU_RES_VIEW_FORMAT_NONE, ..view };
        for wrong in [none, of_floats([8, 2, 0]), of_floats([8, 4, 1])] {
            refuse(&good, &plain(), &wrong)?;
        }
    }

    fn coordinates_select_the_texel_that_contains_them(cuda, primary) {
        let source = array(cuda, &floats([8, 4, 0], 0), &ramp(32))?;
        let clamp = texture(cuda, &of_array(source), &plain())?;
        let inside = [[0.0, 0.0], [3.75, 2.25], [7.5, 3.5]];
        same!(sample(cuda, c"tex2d", clamp, inside)?, [0.0, 19.0, 31.0]);
        let outside = [[-5.0, 1.5], [100.0, 1.5], [2.5, 100.0]];
        same!(sample(cuda, c"tex2d", clamp, outside)?, [8.0, 15.0, 26.0]);
        let mut description = plain();
        description.addressMode = [Mode::CU_TR_ADDRESS_MODE_BORDER; 3];
        description.borderColor = [-7.0, 0.0, 0.0, 0.0];
        let border = texture(cuda, &of_array(source), &description)?;
        same!(sample(cuda, c"tex2d", border, outside)?, [-7.0; 3]);
        same!(sample(cuda, c"tex2d", border, inside)?, [0.0, 19.0, 31.0]);
        let found = run(cuda, c"fetch2d", clamp, &[[3, 2, 0, 0], [7, 3, 0, 0]])?;
        same!([found[0][0], found[1][0]].map(f32::from_bits), [19.0, 31.0]);
        let found = run(cuda, c"texture_size", clamp, &[[0; 4]])?;
        same!(found[0][..2], [8, 4]);
        destroy(cuda, &[clamp, border])?;
        cu!(cuda, cuArrayDestroy(source))?;
    }

    fn linear_filtering_interpolates_between_the_centers_of_texels(cuda, primary) {
        let line = array(cuda, &floats([8, 0, 0], 0), &ramp(8))?;
        let object = texture(cuda, &of_array(line), &filtered())?;
        let at = [[2.5], [2.75], [3.0], [0.25]];
        same!(sample(cuda, c"tex1d", object, at)?, [2.0, 2.25, 2.5, 0.0]);
        let plane = array(cuda, &floats([8, 4, 0], 0), &ramp(32))?;
        let flat = texture(cuda, &of_array(plane), &filtered())?;
        let at = [[2.0, 1.5], [2.5, 2.0], [2.25, 1.75], [9.0, 3.0]];
        same!(sample(cuda, c"tex2d", flat, at)?, [9.5, 14.0, 11.75, 27.0]);
        let space = array(cuda, &floats([4, 4, 4], 0), &ramp(64))?;
        let deep = texture(cuda, &of_array(space), &filtered())?;
        let at = [[1.5, 1.5, 1.5], [2.0, 2.0, 2.0], [2.0, 1.5, 1.75]];
        same!(sample(cuda, c"tex3d", deep, at)?, [21.0, 31.5, 25.5]);
        destroy(cuda, &[object, flat, deep])?;
    }

    fn normalized_coordinates_repeat_or_mirror_the_texture(cuda, primary) {
        let source = array(cuda, &floats([4, 0, 0], 0), &ramp(4))?;
        let mut description = normalized(plain());
        let at = [[0.125], [0.875], [1.125], [-0.375]];
        let mut found = Vec::new();
        for mode in [
            Mode::CU_TR_ADDRESS_MODE_CLAMP,
            Mode::CU_TR_ADDRESS_MODE_WRAP,
            Mode::CU_TR_ADDRESS_MODE_MIRROR,
        ] {
            description.addressMode = [mode; 3];
            let object = texture(cuda, &of_array(source), &description)?;
            found.push(sample(cuda, c"tex1d", object, at)?);
            destroy(cuda, &[object])?;
        }
        same!(found, [[0.0, 3.0, 3.0, 0.0], [0.0, 3.0, 0.0, 2.0], [0.0, 3.0, 3.0, 1.0]]);
        // With wrap mode and linear filtering, the first and the last texel are neighbors.
        description.filterMode = CUfilter_mode::CU_TR_FILTER_MODE_LINEAR;
        description.addressMode = [Mode::CU_TR_ADDRESS_MODE_WRAP; 3];
        let object = texture(cuda, &of_array(source), &description)?;
        let at = [[0.0], [0.25], [1.0]];
        same!(sample(cuda, c"tex1d", object, at)?, [1.5, 0.5, 1.5]);
        destroy(cuda, &[object])?;
    }

    fn integers_become_numbers_up_to_1_unless_they_are_read_as_integers(cuda, primary) {
        let (plus, at) = (1f32.to_bits(), [[0f32.to_bits(); 4], [1.5f32.to_bits(), 0, 0, 0]]);
        let texels = [[0u8, 255, 128, 7], [255, 0, 127, 9]];
        let source = array(cuda, &bytes(Format::CU_AD_FORMAT_UNSIGNED_INT8, 2), &texels)?;
        let mut description = plain();
        let object = texture(cuda, &of_array(source), &description)?;
        let found = run(cuda, c"tex2d", object, &at)?;
        same!((found[0][0], found[0][1], found[1][0]), (0, plus, plus));
        description.flags = CU_TRSF_READ_AS_INTEGER;
        let raw = texture(cuda, &of_array(source), &description)?;
        same!(run(cuda, c"integers2d", raw, &at)?, texels.map(|texel| texel.map(u32::from)));
        let texels = [[0i8, 127, -127, -128], [-1, 1, 2, 3]];
        let source = array(cuda, &bytes(Format::CU_AD_FORMAT_SIGNED_INT8, 2), &texels)?;
        let signed = texture(cuda, &of_array(source), &description)?;
        let found = run(cuda, c"integers2d", signed, &at)?;
        same!(found, texels.map(|texel| texel.map(|value| i32::from(value) as u32)));
        description.flags = 0;
        let halves = texture(cuda, &of_array(source), &description)?;
        let found = run(cuda, c"tex2d", halves, &at[..1])?[0].map(f32::from_bits);
        same!(found, [0.0, 1.0, -1.0, -1.0]);
        destroy(cuda, &[object, raw, signed, halves])?;
    }

    fn textures_read_device_memory(cuda, primary) {
        let memory = cuda.alloc(4096)?;
        cuda.upload(memory, &ramp(1024))?;
        let linear = texture(cuda, &of_memory(memory, 1000), &plain())?;
        let found = run(cuda, c"fetch1d", linear, &[[0; 4], [1, 0, 0, 0], [999, 0, 0, 0]])?;
        same!([found[0][0], found[1][0], found[2][0]].map(f32::from_bits), [0.0, 1.0, 999.0]);
        // Each row has 32 elements in memory, and the texture contains the first 20 of them.
        let rows = texture(cuda, &of_rows(memory, [20, 10], 128), &filtered())?;
        let at = [[0.5, 1.5], [3.0, 2.0], [50.0, 0.5]];
        same!(sample(cuda, c"tex2d", rows, at)?, [32.0, 50.5, 19.0]);
        // The texture must return the values that a program writes to the memory after its
        // creation.
        cuda.upload(memory + 128, &[-3f32])?;
        same!(sample(cuda, c"tex2d", rows, [at[0]])?, [-3.0]);
        destroy(cuda, &[linear, rows])?;
        // The size of a texture can exceed that of the allocation.
        let long = texture(cuda, &of_memory(memory, 1 << 29), &plain())?;
        let found = run(cuda, c"fetch1d", long, &[[1023, 0, 0, 0]])?;
        same!(f32::from_bits(found[0][0]), 1023.0);
        destroy(cuda, &[long])?;
        let (mut object, pitch) = (0, of_rows(memory, [20, 10], 100));
        let created = cu!(cuda, cuTexObjectCreate(&mut object, &pitch, &plain(), null()));
        refused!(created, INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(memory))?;
    }

    fn layers_and_faces_are_filtered_by_themselves(cuda, primary) {
        let lines = array(cuda, &floats([4, 0, 3], CUDA_ARRAY3D_LAYERED), &ramp(12))?;
        let object = texture(cuda, &of_array(lines), &filtered())?;
        let at = |layer: u32, x: f32, y: f32| [layer, x.to_bits(), y.to_bits(), 0];
        let found = run(cuda, c"layered1d", object, &[at(0, 2.0, 0.0), at(2, 9.0, 0.0)])?;
        same!([found[0][0], found[1][0]].map(f32::from_bits), [1.5, 11.0]);
        let planes = array(cuda, &floats([4, 4, 3], CUDA_ARRAY3D_LAYERED), &ramp(48))?;
        let flat = texture(cuda, &of_array(planes), &filtered())?;
        let found = run(cuda, c"layered2d", flat, &[at(1, 2.0, 2.0), at(2, 0.0, 9.0)])?;
        same!([found[0][0], found[1][0]].map(f32::from_bits), [23.5, 44.0]);
        let faces = CUDA_ARRAY3D_CUBEMAP;
        let cube = array(cuda, &floats([2, 2, 6], faces), &ramp(24))?;
        let solid = texture(cuda, &of_array(cube), &normalized(plain()))?;
        let x = [[1.0, 0.5, 0.5], [-1.0, 0.5, 0.5]];
        let y = [[0.5, 1.0, 0.5], [0.5, -1.0, 0.5]];
        let z = [[0.5, 0.5, 1.0], [0.5, 0.5, -1.0]];
        let all = [x[0], x[1], y[0], y[1], z[0], z[1]];
        same!(sample(cuda, c"cube", solid, all)?, [0.0, 5.0, 11.0, 13.0, 17.0, 20.0]);
        let cubes = array(cuda, &floats([2, 2, 12], faces | CUDA_ARRAY3D_LAYERED), &ramp(48))?;
        let solids = texture(cuda, &of_array(cubes), &normalized(plain()))?;
        let second = [1, 0.5f32.to_bits(), (-1f32).to_bits(), 0.5f32.to_bits()];
        let found = run(cuda, c"layered_cube", solids, &[second])?;
        same!(f32::from_bits(found[0][0]), 37.0);
        destroy(cuda, &[object, flat, solid, solids])?;
    }

    fn a_view_restricts_a_texture_to_some_layers(cuda, primary) {
        let planes = array(cuda, &floats([4, 4, 5], CUDA_ARRAY3D_LAYERED), &ramp(80))?;
        let view = CUDA_RESOURCE_VIEW_DESC { firstLayer: 2, lastLayer: 3, ..of_floats([4, 4, 5]) };
        let mut object = get!(cuda, cuTexObjectCreate(@, &of_array(planes), &plain(), &view))?;
        let found = run(cuda, c"layered2d", object, &[[0; 4], [1, 0, 0, 0]])?;
        same!([found[0][0], found[1][0]].map(f32::from_bits), [32.0, 48.0]);
        destroy(cuda, &[object])?;
        let (other, resource) = (CUDA_RESOURCE_VIEW_DESC { depth: 2, ..view }, of_array(planes));
        let created = cu!(cuda, cuTexObjectCreate(&mut object, &resource, &plain(), &other));
        refused!(created, INVALID_VALUE);
    }

    fn levels_of_a_mipmapped_array_are_chosen_and_mixed(cuda, primary) {
        let (mut mipmap, mut level) = (null_mut(), null_mut());
        cu!(cuda, cuMipmappedArrayCreate(&mut mipmap, &floats([8, 8, 0], 0), 3))?;
        for number in 0..3 {
            cu!(cuda, cuMipmappedArrayGetLevel(&mut level, mipmap, number))?;
            let side = 8usize >> number;
            put(cuda, level, [side, side, 0], &vec![number as f32 * 100.0; side * side])?;
        }
        let mut description = normalized(plain());
        description.maxMipmapLevelClamp = 2.0;
        let points = texture(cuda, &of_mipmap(mipmap), &description)?;
        let at = [0.0, 1.0, 2.0, 9.0].map(|level| [0.5, 0.5, level]);
        same!(sample(cuda, c"level2d", points, at)?, [0.0, 100.0, 200.0, 200.0]);
        same!(sample(cuda, c"tex2d", points, [at[3]])?, [0.0]);
        // In the first level, neighboring points are two texels apart, which is one texel in the
        // second level, so the second level is read.
        same!(sample(cuda, c"gradient2d", points, [[0.5, 0.5, 0.25, 0.0]])?, [100.0]);
        description.mipmapFilterMode = CUfilter_mode::CU_TR_FILTER_MODE_LINEAR;
        (description.minMipmapLevelClamp, description.maxMipmapLevelClamp) = (0.5, 1.75);
        let mixed = texture(cuda, &of_mipmap(mipmap), &description)?;
        let at = [0.0, 1.25, 2.0].map(|level| [0.5, 0.5, level]);
        same!(sample(cuda, c"level2d", mixed, at)?, [50.0, 125.0, 175.0]);
        destroy(cuda, &[points, mixed])?;
        // The size of a view must be that of the array's first level, even if the view doesn't
        // contain that level.
        let (mut object, resource) = (0, of_mipmap(mipmap));
        let levels = CUDA_RESOURCE_VIEW_DESC {
            firstMipmapLevel: 1,
            lastMipmapLevel: 2,
            ..of_floats([8, 8, 0])
        };
        cu!(cuda, cuTexObjectCreate(&mut object, &resource, &description, &levels))?;
        let at = [0.5, 1.0].map(|level| [0.5, 0.5, level]);
        same!(sample(cuda, c"level2d", object, at)?, [150.0, 200.0]);
        destroy(cuda, &[object])?;
        let smaller = CUDA_RESOURCE_VIEW_DESC { width: 4, height: 4, ..levels };
        let created = cu!(cuda, cuTexObjectCreate(&mut object, &resource, &plain(), &smaller));
        refused!(created, INVALID_VALUE);
        cu!(cuda, cuMipmappedArrayDestroy(mipmap))?;
    }

    fn gathers_return_the_neighbors_counterclockwise(cuda, primary) {
        let descriptor = floats([8, 4, 0], CUDA_ARRAY3D_TEXTURE_GATHER);
        let source = array(cuda, &descriptor, &ramp(32))?;
        let object = texture(cuda, &of_array(source), &filtered())?;
        let at = [3f32.to_bits(), 2f32.to_bits(), 0, 0];
        let found = run(cuda, c"gather2d", object, &[at])?[0].map(f32::from_bits);
        same!(found, [18.0, 19.0, 11.0, 10.0]);
        destroy(cuda, &[object])?;
        let unknown = CUDA_RESOURCE_DESC { resType: CUresourcetype(4), ..of_array(source) };
        let mut object = 0;
        let created = cu!(cuda, cuTexObjectCreate(&mut object, &unknown, &filtered(), null()));
        refused!(created, INVALID_VALUE);
    }
}
