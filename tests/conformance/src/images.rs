//! Arrays, texture objects, and surface objects for the cases, and the kernels that access them.

use crate::cuda::{Cuda, Outcome, cu, get, parameter};
use cuda_api::sys::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY3D, CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUaddress_mode,
    CUarray, CUarray_format, CUfilter_mode, CUmemorytype, CUmipmappedArray, CUresourcetype,
    CUtexObject,
};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// Declares a kernel `NAME(object, from, to)`. Each of its threads loads four words of `from` into
/// `%r0` to `%r3` and, as floats, into `%f0` to `%f3`. After that, it runs the given instructions,
/// and stores `%r4` to `%r7`.
macro_rules! kernel {
    ($name:literal, $($body:literal),+) => {
        concat!(
            ".visible .entry ", $name, "(.param .u64 object, .param .u64 from, .param .u64 to) {\n",
            ".reg .b64 %d<6>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b32 %t;\n",
            "ld.param.u64 %d0, [object]; ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to];\n",
            "mov.u32 %t, %tid.x; mul.wide.u32 %d3, %t, 16;\n",
            "add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;\n",
            "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%d4];\n",
            "mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;\n",
            "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;\n",
            $($body),+,
            "st.global.v4.b32 [%d5], {%r4, %r5, %r6, %r7};\nret; }\n"
        )
    };
}

/// Declares a kernel that runs a texture instruction with floating-point results.
macro_rules! texture {
    ($name:literal, $opcode:literal, $operands:literal) => {
        kernel!(
            $name,
            $opcode,
            " {%f4, %f5, %f6, %f7}, ",
            $operands,
            ";\n",
            "mov.b32 %r4, %f4; mov.b32 %r5, %f5; mov.b32 %r6, %f6; mov.b32 %r7, %f7;\n"
        )
    };
}

const TEXT: &str = concat!(
    ".version 7.0\n.target sm_70\n.address_size 64\n",
    texture!("tex1d", "tex.1d.v4.f32.f32", "[%d0, {%f0}]"),
    texture!("tex2d", "tex.2d.v4.f32.f32", "[%d0, {%f0, %f1}]"),
    texture!("tex3d", "tex.3d.v4.f32.f32", "[%d0, {%f0, %f1, %f2, %f2}]"),
    texture!("fetch1d", "tex.1d.v4.f32.s32", "[%d0, {%r0}]"),
    texture!("fetch2d", "tex.2d.v4.f32.s32", "[%d0, {%r0, %r1}]"),
    texture!("layered1d", "tex.a1d.v4.f32.f32", "[%d0, {%r0, %f1}]"),
    texture!("layered2d", "tex.a2d.v4.f32.f32", "[%d0, {%r0, %f1, %f2, %f2}]"),
    texture!("cube", "tex.cube.v4.f32.f32", "[%d0, {%f0, %f1, %f2, %f2}]"),
    texture!("layered_cube", "tex.acube.v4.f32.f32", "[%d0, {%r0, %f1, %f2, %f3}]"),
    texture!("level2d", "tex.level.2d.v4.f32.f32", "[%d0, {%f0, %f1}], %f2"),
    texture!("gradient2d", "tex.grad.2d.v4.f32.f32", "[%d0, {%f0, %f1}], {%f2, %f3}, {%f3, %f2}"),
    texture!("gather2d", "tld4.r.2d.v4.f32.f32", "[%d0, {%f0, %f1}]"),
    kernel!("integers2d", "tex.2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%d0, {%f0, %f1}];\n"),
    kernel!("texture_size", "txq.width.b32 %r4, [%d0];\ntxq.height.b32 %r5, [%d0];\n"),
    kernel!("surface_size", "suq.width.b32 %r4, [%d0];\nsuq.height.b32 %r5, [%d0];\n"),
    // The input words of a surface kernel are: the offset in the row in bytes, the row, the slice
    // or layer, and the value to store.
    kernel!("store2d", "sust.b.2d.b32.trap [%d0, {%r0, %r1}], {%r3};\n"),
    kernel!("store2d_zero", "sust.b.2d.b32.zero [%d0, {%r0, %r1}], {%r3};\n"),
    kernel!("store2d_clamp", "sust.b.2d.b32.clamp [%d0, {%r0, %r1}], {%r3};\n"),
    kernel!("load2d", "suld.b.2d.b32.trap {%r4}, [%d0, {%r0, %r1}];\n"),
    kernel!("load2d_zero", "suld.b.2d.b32.zero {%r4}, [%d0, {%r0, %r1}];\n"),
    kernel!("load2d_clamp", "suld.b.2d.b32.clamp {%r4}, [%d0, {%r0, %r1}];\n"),
    kernel!("store3d", "sust.b.3d.b32.trap [%d0, {%r0, %r1, %r2, %r2}], {%r3};\n"),
    kernel!("load3d", "suld.b.3d.b32.trap {%r4}, [%d0, {%r0, %r1, %r2, %r2}];\n"),
    kernel!("store_layer", "sust.b.a2d.b32.trap [%d0, {%r2, %r0, %r1, %r1}], {%r3};\n"),
    kernel!("load_layer", "suld.b.a2d.b32.trap {%r4}, [%d0, {%r2, %r0, %r1, %r1}];\n"),
    kernel!("store_pair", "sust.b.1d.v2.b32.trap [%d0, {%r0}], {%r2, %r3};\n"),
    kernel!("load_pair", "suld.b.1d.v2.b32.trap {%r4, %r5}, [%d0, {%r0}];\n"),
    "\0"
);

/// PTX of all kernels, for every GPU since Volta.
const KERNELS: &CStr = match CStr::from_bytes_with_nul(TEXT.as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("the text contains a zero byte"),
};

/// Runs a kernel in one block with a thread for each input. Returns the four words that each thread
/// has stored.
pub fn run(cuda: &Cuda, name: &CStr, object: u64, inputs: &[[u32; 4]]) -> Outcome<Vec<[u32; 4]>> {
    let (module, kernel) = cuda.kernel(KERNELS, name)?;
    let bytes = size_of_val(inputs);
    let (from, to) = (cuda.alloc(bytes)?, cuda.alloc(bytes)?);
    cuda.upload(from, inputs)?;
    let parameters = &mut [parameter(&object), parameter(&from), parameter(&to)];
    cuda.launch(kernel, [1, inputs.len() as u32], null_mut(), parameters)?;
    cu!(cuda, cuCtxSynchronize())?;
    let outputs = cuda.download(to, inputs.len())?;
    for pointer in [from, to] {
        cu!(cuda, cuMemFree_v2(pointer))?;
    }
    cu!(cuda, cuModuleUnload(module))?;
    Ok(outputs)
}

/// Runs a kernel with floating-point inputs, each of which may have fewer than four components.
/// Returns the first component of each output.
pub fn sample<const N: usize, const D: usize>(
    cuda: &Cuda,
    name: &CStr,
    texture: CUtexObject,
    at: [[f32; D]; N],
) -> Outcome<[f32; N]> {
    let inputs = at.map(|input| {
        let mut words = [0; 4];
        words.iter_mut().zip(input).for_each(|(word, value)| *word = value.to_bits());
        words
    });
    let outputs = run(cuda, name, texture, &inputs)?;
    Ok(std::array::from_fn(|index| f32::from_bits(outputs[index][0])))
}

/// Describes an array with single-precision elements.
pub fn floats(size: [usize; 3], flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: size[0],
        Height: size[1],
        Depth: size[2],
        Format: CUarray_format::CU_AD_FORMAT_FLOAT,
        NumChannels: 1,
        Flags: flags,
    }
}

/// Copies values to an array or to a level of a mipmapped array. Each value is one element.
pub fn put<T: Copy>(cuda: &Cuda, to: CUarray, size: [usize; 3], values: &[T]) -> Outcome {
    let bytes = size[0] * size_of::<T>();
    let copy = CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: values.as_ptr().cast(),
        srcPitch: bytes,
        srcHeight: size[1].max(1),
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        dstArray: to,
        WidthInBytes: bytes,
        Height: size[1].max(1),
        Depth: size[2].max(1),
        ..Default::default()
    };
    assert_eq!(values.len(), size.map(|side| side.max(1)).iter().product());
    Ok(cu!(cuda, cuMemcpy3D_v2(&copy))?)
}

/// Creates an array of the given description that contains these values.
pub fn array<T: Copy>(
    cuda: &Cuda,
    descriptor: &CUDA_ARRAY3D_DESCRIPTOR,
    values: &[T],
) -> Outcome<CUarray> {
    let made = get!(cuda, cuArray3DCreate_v2(@, descriptor))?;
    put(cuda, made, [descriptor.Width, descriptor.Height, descriptor.Depth], values)?;
    Ok(made)
}

/// Returns the values 0, 1, 2, … up to `count` - 1.
pub fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|value| value as f32).collect()
}

/// Returns the description of a resource that consists of an array.
pub fn of_array(array: CUarray) -> CUDA_RESOURCE_DESC {
    let mut resource = CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
        res: Default::default(),
        flags: 0,
    };
    resource.res.array.hArray = array;
    resource
}

/// Returns the description of a resource that consists of a mipmapped array.
pub fn of_mipmap(mipmap: CUmipmappedArray) -> CUDA_RESOURCE_DESC {
    let mut resource = of_array(null_mut());
    resource.resType = CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmap;
    resource
}

/// Returns the description of a texture that clamps coordinates and doesn't filter.
pub fn plain() -> CUDA_TEXTURE_DESC {
    CUDA_TEXTURE_DESC {
        addressMode: [CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP; 3],
        ..Default::default()
    }
}

/// Returns the description of a texture that clamps coordinates and filters linearly.
pub fn filtered() -> CUDA_TEXTURE_DESC {
    CUDA_TEXTURE_DESC { filterMode: CUfilter_mode::CU_TR_FILTER_MODE_LINEAR, ..plain() }
}

/// Creates a texture object without a resource view.
pub fn texture(
    cuda: &Cuda,
    resource: &CUDA_RESOURCE_DESC,
    description: &CUDA_TEXTURE_DESC,
) -> Outcome<CUtexObject> {
    Ok(get!(cuda, cuTexObjectCreate(@, resource, description, null()))?)
}
