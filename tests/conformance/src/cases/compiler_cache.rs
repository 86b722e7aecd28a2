//! The private function table through which NVRTC and nvJitLink look up compiled code in the
//! driver's cache. softgpu returns PTX instead of machine code.

use super::cases;
use crate::cuda::{cu, ensure, parameter, same};
use crate::kernels::FILL;
use cuda_api::sys::{CUresult, CUuuid};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

const TABLE: [u8; 16] = 0xDA9151D3_3AE6_CC41_A5C0_4F26D533E328_u128.to_be_bytes();

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    u32,
    *const u8,
    usize,
    *const c_char,
    *const c_char,
    *const c_char,
    u32,
    u32,
) -> CUresult;
type LookUp = unsafe extern "C" fn(*mut c_void, usize, *mut *mut u8, *mut u32) -> CUresult;
type Free = unsafe extern "C" fn(*mut c_void) -> CUresult;

cases! {
    fn compilers_get_code_that_the_device_executes(cuda, primary = (device, _)) {
        let mut name = [0 as c_char; 64];
        cu!(cuda, cuDeviceGetName(name.as_mut_ptr(), 64, device))?;
        // SAFETY: `cuDeviceGetName` has written a null-terminated string.
        let softgpu = unsafe { CStr::from_ptr(name.as_ptr()) } == c"softgpu";
        let (mut table, id) = (null(), CUuuid { bytes: TABLE.map(|byte| byte as c_char) });
        cu!(cuda, cuGetExportTable(&mut table, &id))?;
        let table: *const *const c_void = table.cast();
        // SAFETY: the table has seven elements, and the functions at these positions have these
        // types.
        let (create, destroy, look_up, free) = unsafe {
            (
                std::mem::transmute::<*const c_void, Create>(*table.add(1)),
                std::mem::transmute::<*const c_void, Free>(*table.add(2)),
                std::mem::transmute::<*const c_void, LookUp>(*table.add(3)),
                std::mem::transmute::<*const c_void, Free>(*table.add(6)),
            )
        };
        // The code has a newer PTX version than the driver supports, as with a compiler that is
        // newer than the driver.
        let code = FILL.to_str().unwrap_or_default().replace(".version 7.0", ".version 9.9");
        let mut key = null_mut();
        let options = c" -arch=sm_90 --conformance".as_ptr();
        // SAFETY: the strings and the code are valid for the call.
        let created = unsafe {
            create(
                &mut key, 1, code.as_ptr(), code.len(), options, c"HOST64".as_ptr(),
                c"conformance".as_ptr(), 90, 0,
            )
        };
        if !softgpu && created != CUresult::CUDA_SUCCESS {
            // NVIDIA's driver fails if its cache is disabled.
            return Ok(());
        }
        same!(created, CUresult::CUDA_SUCCESS);
        let (mut image, mut size) = (null_mut(), 0);
        // SAFETY: the key hasn't been destroyed, and the results are stored in local variables.
        let found = unsafe { look_up(key, 0, &mut image, &mut size) };
        // SAFETY: the key hasn't been destroyed, and isn't used again.
        same!(unsafe { destroy(key) }, CUresult::CUDA_SUCCESS);
        if !softgpu {
            same!(found, CUresult::CUDA_ERROR_NOT_FOUND);
            return Ok(());
        }
        same!(found, CUresult::CUDA_SUCCESS);
        ensure!(size as usize > code.len(), "the image has {size} bytes");
        let (mut module, mut fill) = (null_mut(), null_mut());
        cu!(cuda, cuModuleLoadData(&mut module, image.cast()))?;
        // SAFETY: the image was returned by `look_up`, and isn't used again.
        same!(unsafe { free(image.cast()) }, CUresult::CUDA_SUCCESS);
        cu!(cuda, cuModuleGetFunction(&mut fill, module, c"fill".as_ptr()))?;
        let (values, value, count) = (cuda.alloc(16)?, 7u32, 4u32);
        let mut parameters = [parameter(&values), parameter(&value), parameter(&count)];
        cuda.launch(fill, [1, 32], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(values, 4)?, [7; 4]);
        cu!(cuda, cuMemFree_v2(values))?;
        cu!(cuda, cuModuleUnload(module))?;
    }
}
