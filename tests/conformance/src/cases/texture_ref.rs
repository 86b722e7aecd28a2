//! Texture references and surface references, which are variables that kernels refer to by name.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, get, parameter, refused, same};
use crate::images::{floats, put, ramp};
use cuda_api::sys::{
    CU_PARAM_TR_DEFAULT, CU_TRSA_OVERRIDE_FORMAT, CU_TRSF_NORMALIZED_COORDINATES,
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY_DESCRIPTOR_v1, CUDA_ARRAY3D_DESCRIPTOR,
    CUDA_ARRAY3D_SURFACE_LDST, CUaddress_mode, CUarray, CUarray_format, CUdeviceptr, CUfilter_mode,
    CUfunction, CUtexref,
};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const FLOAT: CUarray_format = CUarray_format::CU_AD_FORMAT_FLOAT;

/// `filtered(to, x)` and `texel(to, x)` store the value of the texture reference `image` at a
/// coordinate. `store(x, value)` writes to the surface reference `plane`.
const KERNELS: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.global .surfref plane;
.visible .entry filtered(.param .u64 to, .param .f32 x) {
    .reg .b64 %rd<2>;
    .reg .f32 %f<6>;
    ld.param.u64 %rd1, [to];
    ld.param.f32 %f5, [x];
    tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [image, {%f5}];
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry texel(.param .u64 to, .param .u32 x) {
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    .reg .f32 %f<5>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [x];
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1}];
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry store(.param .u32 x, .param .f32 value) {
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x];
    ld.param.b32 %r2, [value];
    sust.b.1d.b32.trap [plane, {%r1}], %r2;
    ret;
}
";

/// `texel_2d(to, x, y)` stores the value of the texture reference `image`. The kernel has its own
/// module, because NVIDIA's driver crashes if it's in one module with those in [`KERNELS`].
const ROWS: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.visible .entry texel_2d(.param .u64 to, .param .u32 x, .param .u32 y) {
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    .reg .f32 %f<5>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [x];
    ld.param.u32 %r2, [y];
    tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1, %r2}];
    st.global.f32 [%rd1], %f1;
    ret;
}
";

/// `level(to, level)` stores the value of a level of the texture reference `image`.
const LEVELS: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.visible .entry level(.param .u64 to, .param .f32 level) {
    .reg .b64 %rd<2>;
    .reg .f32 %f<7>;
    ld.param.u64 %rd1, [to];
    ld.param.f32 %f5, [level];
    mov.f32 %f6, 0f3F000000;
    tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [image, {%f6, %f6}], %f5;
    st.global.f32 [%rd1], %f1;
    ret;
}
";

/// Creates an array of eight single-precision numbers.
fn array(cuda: &Cuda) -> Outcome<CUarray> {
    let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
        Width: 8,
        Height: 0,
        Depth: 0,
        Format: FLOAT,
        NumChannels: 1,
        Flags: CUDA_ARRAY3D_SURFACE_LDST,
    };
    let array = get!(cuda, cuArray3DCreate_v2(@, &descriptor))?;
    let values: Vec<f32> = (0..8u8).map(|number| f32::from(number) * 10.0).collect();
    cu!(cuda, cuMemcpyHtoA_v2(array, 0, values.as_ptr().cast(), 32))?;
    Ok(array)
}

/// Launches a kernel that reads `image` at the coordinate `x`, and returns the value.
fn read<T>(cuda: &Cuda, kernel: CUfunction, to: CUdeviceptr, x: T) -> Outcome<f32> {
    read_at(cuda, kernel, to, &mut [parameter(&to), parameter(&x)])
}

/// Launches a kernel with these parameters, the first of which is `to`, and returns the value that
/// it stores there.
fn read_at(
    cuda: &Cuda,
    kernel: CUfunction,
    to: CUdeviceptr,
    parameters: &mut [*mut c_void],
) -> Outcome<f32> {
    cuda.launch(kernel, [1, 1], null_mut(), parameters)?;
    cu!(cuda, cuCtxSynchronize())?;
    Ok(cuda.download::<f32>(to, 1)?[0])
}

cases! {
    fn a_kernel_reads_an_array_through_a_texture_reference(cuda, primary) {
        let (module, filtered) = cuda.kernel(KERNELS, c"filtered")?;
        let (to, array) = (cuda.alloc(4)?, array(cuda)?);
        let (mut image, mut again): (CUtexref, CUtexref) = (null_mut(), null_mut());
        cu!(cuda, cuModuleGetTexRef(&mut image, module, c"image".as_ptr()))?;
        cu!(cuda, cuModuleGetTexRef(&mut again, module, c"image".as_ptr()))?;
        same!(again, image);
        refused!(cu!(cuda, cuModuleGetTexRef(&mut again, module, c"none".as_ptr())), NOT_FOUND);
        cu!(cuda, cuTexRefSetArray(image, array, CU_TRSA_OVERRIDE_FORMAT))?;
        cu!(cuda, cuTexRefSetFilterMode(image, CUfilter_mode::CU_TR_FILTER_MODE_POINT))?;
        cu!(cuda, cuTexRefSetAddressMode(image, 0, CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP))?;
        cu!(cuda, cuTexRefSetFlags(image, 0))?;
        cu!(cuda, cuParamSetTexRef(filtered, CU_PARAM_TR_DEFAULT, image))?;
        same!(read(cuda, filtered, to, 2.5f32)?, 20.0);
        // A change of a texture reference applies to launches that follow it.
        cu!(cuda, cuTexRefSetFilterMode(image, CUfilter_mode::CU_TR_FILTER_MODE_LINEAR))?;
        same!(read(cuda, filtered, to, 3.0f32)?, 25.0);
        let found = get!(cuda, cuTexRefGetArray(@, image))?;
        same!(found, array);
        let (mut mode, mut filter) = (CUaddress_mode(9), CUfilter_mode(9));
        cu!(cuda, cuTexRefGetAddressMode(&mut mode, image, 0))?;
        same!(mode, CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP);
        cu!(cuda, cuTexRefGetFilterMode(&mut filter, image))?;
        same!(filter, CUfilter_mode::CU_TR_FILTER_MODE_LINEAR);
        let wrap = CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP;
        refused!(cu!(cuda, cuTexRefSetAddressMode(image, 7, wrap)), INVALID_VALUE);
    }

    fn a_kernel_reads_memory_through_a_texture_reference(cuda, primary) {
        let (module, texel) = cuda.kernel(KERNELS, c"texel")?;
        let (to, memory) = (cuda.alloc(4)?, cuda.alloc(1024)?);
        let values: Vec<f32> = (0..256u16).map(f32::from).collect();
        cuda.upload(memory, &values)?;
        let (mut image, mut offset, mut address) = (null_mut(), 7, 0);
        cu!(cuda, cuModuleGetTexRef(&mut image, module, c"image".as_ptr()))?;
        cu!(cuda, cuTexRefSetFormat(image, FLOAT, 1))?;
        cu!(cuda, cuTexRefSetAddress_v2(&mut offset, image, memory, 1024))?;
        same!(offset, 0);
        same!(read(cuda, texel, to, 33u32)?, 33.0);
        cu!(cuda, cuTexRefGetAddress_v2(&mut address, image))?;
        same!(address, memory);
        let mut array = null_mut();
        refused!(cu!(cuda, cuTexRefGetArray(&mut array, image)), INVALID_VALUE);
        let (mut format, mut channels) = (CUarray_format(0), 0);
        cu!(cuda, cuTexRefGetFormat(&mut format, &mut channels, image))?;
        same!((format, channels), (FLOAT, 1));
        cu!(cuda, cuModuleUnload(module))?;
    }

    fn a_kernel_writes_through_a_surface_reference(cuda, primary) {
        let (module, store) = cuda.kernel(KERNELS, c"store")?;
        let (array, mut plane, mut found) = (array(cuda)?, null_mut(), null_mut());
        cu!(cuda, cuModuleGetSurfRef(&mut plane, module, c"plane".as_ptr()))?;
        refused!(cu!(cuda, cuModuleGetSurfRef(&mut plane, module, c"image".as_ptr())), NOT_FOUND);
        cu!(cuda, cuSurfRefSetArray(plane, array, 0))?;
        cu!(cuda, cuSurfRefGetArray(&mut found, plane))?;
        same!(found, array);
        // The coordinates of surfaces are in bytes.
        let (x, value) = (12u32, 5.5f32);
        cuda.launch(store, [1, 1], null_mut(), &mut [parameter(&x), parameter(&value)])?;
        cu!(cuda, cuCtxSynchronize())?;
        let mut values = [0f32; 8];
        cu!(cuda, cuMemcpyAtoH_v2(values.as_mut_ptr().cast(), array, 0, 32))?;
        same!(values, [0.0, 10.0, 20.0, 5.5, 40.0, 50.0, 60.0, 70.0]);
    }

    fn a_program_can_create_a_texture_reference(cuda, primary) {
        let (mut image, mut flags) = (null_mut(), 9);
        cu!(cuda, cuTexRefCreate(&mut image))?;
        cu!(cuda, cuTexRefSetFlags(image, 2))?;
        cu!(cuda, cuTexRefGetFlags(&mut flags, image))?;
        same!(flags, 2);
        cu!(cuda, cuTexRefDestroy(image))?;
        refused!(cu!(cuda, cuTexRefCreate(null_mut())), INVALID_VALUE);
    }

    fn a_kernel_reads_rows_of_memory_through_a_texture_reference(cuda, primary) {
        let (module, texel) = cuda.kernel(ROWS, c"texel_2d")?;
        let (to, memory, pitch) = (cuda.alloc(4)?, cuda.alloc(1024)?, 64);
        // Each row of the texture has 8 texels in memory, followed by a gap of 8 words.
        cuda.upload(memory, &ramp(256))?;
        let (mut image, mut address) = (null_mut(), 0);
        cu!(cuda, cuModuleGetTexRef(&mut image, module, c"image".as_ptr()))?;
        let rows = CUDA_ARRAY_DESCRIPTOR { Width: 8, Height: 4, Format: FLOAT, NumChannels: 1 };
        let (x, y) = (5u32, 2u32);
        cu!(cuda, cuTexRefSetAddress2D_v3(image, &rows, memory, pitch))?;
        let parameters = &mut [parameter(&to), parameter(&x), parameter(&y)];
        same!(read_at(cuda, texel, to, parameters)?, 37.0);
        cu!(cuda, cuTexRefGetAddress_v2(&mut address, image))?;
        same!(address, memory);
        cu!(cuda, cuTexRefSetAddress2D_v2(image, &rows, memory + 512, pitch))?;
        same!(read_at(cuda, texel, to, parameters)?, 165.0);
        // An address that isn't aligned is rejected.
        let unaligned = memory + 4;
        let set = cu!(cuda, cuTexRefSetAddress2D_v3(image, &rows, unaligned, pitch));
        refused!(set, INVALID_VALUE);
        let mut mipmap = null_mut();
        refused!(cu!(cuda, cuTexRefGetMipmappedArray(&mut mipmap, image)), INVALID_VALUE);
    }

    fn texels_outside_have_the_color_of_the_border(cuda, primary) {
        let (module, filtered) = cuda.kernel(KERNELS, c"filtered")?;
        let (to, array, mut image) = (cuda.alloc(4)?, array(cuda)?, null_mut());
        cu!(cuda, cuModuleGetTexRef(&mut image, module, c"image".as_ptr()))?;
        cu!(cuda, cuTexRefSetArray(image, array, CU_TRSA_OVERRIDE_FORMAT))?;
        cu!(cuda, cuTexRefSetFilterMode(image, CUfilter_mode::CU_TR_FILTER_MODE_POINT))?;
        for dimension in 0..3 {
            let border = CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER;
            cu!(cuda, cuTexRefSetAddressMode(image, dimension, border))?;
        }
        let (mut color, mut found) = ([77.0f32, 1.0, 2.0, 3.0], [0f32; 4]);
        cu!(cuda, cuTexRefSetBorderColor(image, color.as_mut_ptr()))?;
        cu!(cuda, cuTexRefGetBorderColor(found.as_mut_ptr(), image))?;
        same!(found, color);
        same!(read(cuda, filtered, to, 2.5f32)?, 20.0);
        same!(read(cuda, filtered, to, -1.5f32)?, 77.0);
        let mut most = 0;
        cu!(cuda, cuTexRefSetMaxAnisotropy(image, 4))?;
        cu!(cuda, cuTexRefGetMaxAnisotropy(&mut most, image))?;
        same!(most, 4);
        let mut address = 0;
        refused!(cu!(cuda, cuTexRefGetAddress_v2(&mut address, image)), INVALID_VALUE);
    }

    fn a_kernel_reads_a_mipmapped_array_through_a_texture_reference(cuda, primary) {
        let (module, kernel) = cuda.kernel(LEVELS, c"level")?;
        let (to, mut mipmap, mut level, mut image) =
            (cuda.alloc(4)?, null_mut(), null_mut(), null_mut());
        cu!(cuda, cuMipmappedArrayCreate(&mut mipmap, &floats([8, 8, 0], 0), 3))?;
        for number in 0..3 {
            cu!(cuda, cuMipmappedArrayGetLevel(&mut level, mipmap, number))?;
            let side = 8usize >> number;
            put(cuda, level, [side, side, 0], &vec![number as f32 * 100.0; side * side])?;
        }
        let (point, linear) =
            (CUfilter_mode::CU_TR_FILTER_MODE_POINT, CUfilter_mode::CU_TR_FILTER_MODE_LINEAR);
        cu!(cuda, cuModuleGetTexRef(&mut image, module, c"image".as_ptr()))?;
        cu!(cuda, cuTexRefSetMipmappedArray(image, mipmap, CU_TRSA_OVERRIDE_FORMAT))?;
        cu!(cuda, cuTexRefSetFlags(image, CU_TRSF_NORMALIZED_COORDINATES))?;
        for dimension in 0..2 {
            let clamp = CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP;
            cu!(cuda, cuTexRefSetAddressMode(image, dimension, clamp))?;
        }
        cu!(cuda, cuTexRefSetFilterMode(image, point))?;
        cu!(cuda, cuTexRefSetMipmapFilterMode(image, point))?;
        cu!(cuda, cuTexRefSetMipmapLevelClamp(image, 0.0, 2.0))?;
        for (wanted, expected) in [(0f32, 0.0), (1.0, 100.0), (2.0, 200.0), (9.0, 200.0)] {
            same!(read(cuda, kernel, to, wanted)?, expected);
        }
        cu!(cuda, cuTexRefSetMipmapFilterMode(image, linear))?;
        cu!(cuda, cuTexRefSetMipmapLevelClamp(image, 0.5, 1.75))?;
        for (wanted, expected) in [(0f32, 50.0), (1.25, 125.0), (2.0, 175.0)] {
            same!(read(cuda, kernel, to, wanted)?, expected);
        }
        let (mut found, mut filter, mut bias, mut least, mut most) =
            (null_mut(), CUfilter_mode(9), 0.0, 0.0, 0.0);
        cu!(cuda, cuTexRefGetMipmappedArray(&mut found, image))?;
        same!(found, mipmap);
        cu!(cuda, cuTexRefGetMipmapFilterMode(&mut filter, image))?;
        same!(filter, linear);
        cu!(cuda, cuTexRefGetMipmapLevelClamp(&mut least, &mut most, image))?;
        same!((least, most), (0.5, 1.75));
        cu!(cuda, cuTexRefSetMipmapLevelBias(image, 0.25))?;
        cu!(cuda, cuTexRefGetMipmapLevelBias(&mut bias, image))?;
        same!(bias, 0.25);
        let mut array = null_mut();
        refused!(cu!(cuda, cuTexRefGetArray(&mut array, image)), INVALID_VALUE);
    }

    fn memory_cannot_be_bound_before_initialization(cuda) {
        let (image, rows) = (null_mut(), CUDA_ARRAY_DESCRIPTOR::default());
        let flags = CU_TRSA_OVERRIDE_FORMAT;
        refused!(cu!(cuda, cuTexRefSetArray(image, null_mut(), flags)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetMipmappedArray(image, null_mut(), flags)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetAddress_v2(null_mut(), image, 512, 64)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetAddress2D_v2(image, &rows, 512, 64)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetAddress2D_v3(image, &rows, 512, 64)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuSurfRefSetArray(null_mut(), null_mut(), 0)), NOT_INITIALIZED);
        let set = cu!(cuda, cuParamSetTexRef(null_mut(), CU_PARAM_TR_DEFAULT, image));
        refused!(set, NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefDestroy(image)), NOT_INITIALIZED);
    }

    fn properties_cannot_be_set_before_initialization(cuda) {
        let (image, mode) = (null_mut(), CUfilter_mode::CU_TR_FILTER_MODE_POINT);
        let clamp = CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP;
        refused!(cu!(cuda, cuTexRefSetFormat(image, FLOAT, 1)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetAddressMode(image, 0, clamp)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetFilterMode(image, mode)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetMipmapFilterMode(image, mode)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetMipmapLevelBias(image, 0.0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetMipmapLevelClamp(image, 0.0, 1.0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetMaxAnisotropy(image, 1)), NOT_INITIALIZED);
        let mut color = [0f32; 4];
        refused!(cu!(cuda, cuTexRefSetBorderColor(image, color.as_mut_ptr())), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetFlags(image, 0)), NOT_INITIALIZED);
    }

    fn properties_are_unknown_before_initialization(cuda) {
        let (image, mut address, mut array, mut mipmap) = (null_mut(), 0, null_mut(), null_mut());
        refused!(cu!(cuda, cuTexRefGetAddress_v2(&mut address, image)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetArray(&mut array, image)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetMipmappedArray(&mut mipmap, image)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuSurfRefGetArray(&mut array, null_mut())), NOT_INITIALIZED);
        let (mut mode, mut filter) = (CUaddress_mode(9), CUfilter_mode(9));
        refused!(cu!(cuda, cuTexRefGetAddressMode(&mut mode, image, 0)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetFilterMode(&mut filter, image)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetMipmapFilterMode(&mut filter, image)), NOT_INITIALIZED);
        let (mut format, mut number, mut least, mut most) = (FLOAT, 0, 0.0, 0.0);
        refused!(cu!(cuda, cuTexRefGetFormat(&mut format, &mut number, image)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetMipmapLevelBias(&mut least, image)), NOT_INITIALIZED);
        let found = cu!(cuda, cuTexRefGetMipmapLevelClamp(&mut least, &mut most, image));
        refused!(found, NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetMaxAnisotropy(&mut number, image)), NOT_INITIALIZED);
        let (mut color, mut flags) = ([0f32; 4], 0);
        refused!(cu!(cuda, cuTexRefGetBorderColor(color.as_mut_ptr(), image)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetFlags(&mut flags, image)), NOT_INITIALIZED);
        same!((address, mode.0, filter.0, number, flags), (0, 9, 9, 0, 0));
    }

    /// The first versions of these calls have 32-bit device pointers, so they fail in a context
    /// with 64-bit pointers.
    fn first_versions_fail_in_todays_contexts(cuda) {
        let (mut image, mut offset, mut address) = (null_mut(), 0u32, 0u32);
        let rows = CUDA_ARRAY_DESCRIPTOR_v1 { Width: 8, Height: 4, Format: FLOAT, NumChannels: 1 };
        refused!(cu!(cuda, cuTexRefSetAddress(&mut offset, image, 512, 64)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefSetAddress2D(image, &rows, 512, 64)), NOT_INITIALIZED);
        refused!(cu!(cuda, cuTexRefGetAddress(&mut address, image)), NOT_INITIALIZED);
        cuda.primary()?;
        let (module, _) = cuda.kernel(KERNELS, c"texel")?;
        cu!(cuda, cuModuleGetTexRef(&mut image, module, c"image".as_ptr()))?;
        refused!(cu!(cuda, cuTexRefSetAddress(&mut offset, image, 512, 64)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuTexRefSetAddress2D(image, &rows, 512, 64)), INVALID_CONTEXT);
        refused!(cu!(cuda, cuTexRefGetAddress(&mut address, image)), INVALID_CONTEXT);
        same!((offset, address), (0, 0));
    }
}
