//! Texture references and surface references, which kernels name.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, parameter, refused, same};
use cuda_api::sys::{
    CU_PARAM_TR_DEFAULT, CU_TRSA_OVERRIDE_FORMAT, CUDA_ARRAY3D_DESCRIPTOR,
    CUDA_ARRAY3D_SURFACE_LDST, CUaddress_mode, CUarray, CUarray_format, CUdeviceptr, CUfilter_mode,
    CUfunction, CUtexref,
};
use std::ffi::CStr;
use std::ptr::null_mut;

const FLOAT: CUarray_format = CUarray_format::CU_AD_FORMAT_FLOAT;

/// `filtered(to, x)` and `texel(to, x)` store what `image` returns. `store(x, value)` writes to
/// `plane`.
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

/// Creates an array of eight numbers.
fn array(cuda: &Cuda) -> Outcome<CUarray> {
    let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
        Width: 8,
        Height: 0,
        Depth: 0,
        Format: FLOAT,
        NumChannels: 1,
        Flags: CUDA_ARRAY3D_SURFACE_LDST,
    };
    let mut array = null_mut();
    cu!(cuda, cuArray3DCreate_v2(&mut array, &descriptor))?;
    let values: Vec<f32> = (0..8u8).map(|number| f32::from(number) * 10.0).collect();
    cu!(cuda, cuMemcpyHtoA_v2(array, 0, values.as_ptr().cast(), 32))?;
    Ok(array)
}

/// Launches a kernel that reads `image` at `x`, and returns the result.
fn read<T>(cuda: &Cuda, kernel: CUfunction, to: CUdeviceptr, x: T) -> Outcome<f32> {
    let mut parameters = [parameter(&to), parameter(&x)];
    cuda.launch(kernel, [1, 1], null_mut(), &mut parameters)?;
    cu!(cuda, cuCtxSynchronize())?;
    Ok(cuda.download::<f32>(to, 1)?[0])
}

cases! {
    fn a_kernel_reads_an_array_through_a_texture_reference(cuda) {
        cuda.primary()?;
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
        // A change applies to later launches.
        cu!(cuda, cuTexRefSetFilterMode(image, CUfilter_mode::CU_TR_FILTER_MODE_LINEAR))?;
        same!(read(cuda, filtered, to, 3.0f32)?, 25.0);
        let mut found = null_mut();
        cu!(cuda, cuTexRefGetArray(&mut found, image))?;
        same!(found, array);
        let (mut mode, mut filter) = (CUaddress_mode(9), CUfilter_mode(9));
        cu!(cuda, cuTexRefGetAddressMode(&mut mode, image, 0))?;
        same!(mode, CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP);
        cu!(cuda, cuTexRefGetFilterMode(&mut filter, image))?;
        same!(filter, CUfilter_mode::CU_TR_FILTER_MODE_LINEAR);
        let wrap = CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP;
        refused!(cu!(cuda, cuTexRefSetAddressMode(image, 7, wrap)), INVALID_VALUE);
        Ok(())
    }

    fn a_kernel_reads_memory_through_a_texture_reference(cuda) {
        cuda.primary()?;
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
        Ok(())
    }

    fn a_kernel_writes_through_a_surface_reference(cuda) {
        cuda.primary()?;
        let (module, store) = cuda.kernel(KERNELS, c"store")?;
        let (array, mut plane, mut found) = (array(cuda)?, null_mut(), null_mut());
        cu!(cuda, cuModuleGetSurfRef(&mut plane, module, c"plane".as_ptr()))?;
        refused!(cu!(cuda, cuModuleGetSurfRef(&mut plane, module, c"image".as_ptr())), NOT_FOUND);
        cu!(cuda, cuSurfRefSetArray(plane, array, 0))?;
        cu!(cuda, cuSurfRefGetArray(&mut found, plane))?;
        same!(found, array);
        // Surfaces are addressed in bytes.
        let (x, value) = (12u32, 5.5f32);
        cuda.launch(store, [1, 1], null_mut(), &mut [parameter(&x), parameter(&value)])?;
        cu!(cuda, cuCtxSynchronize())?;
        let mut values = [0f32; 8];
        cu!(cuda, cuMemcpyAtoH_v2(values.as_mut_ptr().cast(), array, 0, 32))?;
        same!(values, [0.0, 10.0, 20.0, 5.5, 40.0, 50.0, 60.0, 70.0]);
        Ok(())
    }

    fn a_program_can_create_a_texture_reference(cuda) {
        cuda.primary()?;
        let (mut image, mut flags) = (null_mut(), 9);
        cu!(cuda, cuTexRefCreate(&mut image))?;
        cu!(cuda, cuTexRefSetFlags(image, 2))?;
        cu!(cuda, cuTexRefGetFlags(&mut flags, image))?;
        same!(flags, 2);
        cu!(cuda, cuTexRefDestroy(image))?;
        refused!(cu!(cuda, cuTexRefCreate(null_mut())), INVALID_VALUE);
        Ok(())
    }
}
