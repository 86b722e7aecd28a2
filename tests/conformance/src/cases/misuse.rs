//! Invalid uses of the API that the library must survive. Each call fails with an error, and the
//! context still works.

use super::cases;
use crate::cuda::{Called, Cuda, Outcome, cu, parameter, refused, same};
use crate::kernels::{FAT_BINARY, FILL};
use cuda_api::sys::{CUresult, CUstream};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// The argument of a host function that calls the library, which CUDA forbids. The function stores
/// the results of its calls here.
struct Inside<'a> {
    cuda: &'a Cuda,
    memory: u64,
    returned: Mutex<Vec<Called>>,
}

impl Inside<'_> {
    fn call_the_library(&self) {
        let (cuda, mut pointer, mut stream) = (self.cuda, 0, null_mut());
        let returned = vec![
            cu!(cuda, cuMemAlloc_v2(&mut pointer, 64)),
            cu!(cuda, cuMemFree_v2(self.memory)),
            cu!(cuda, cuMemsetD32_v2(self.memory, 9, 1)),
            cu!(cuda, cuStreamCreate(&mut stream, 1)),
            // The function runs in a stream, so without an error, this call would wait for the
            // function itself.
            cu!(cuda, cuCtxSynchronize()),
        ];
        *self.returned.lock().unwrap_or_else(PoisonError::into_inner) = returned;
    }

    /// Checks that the host function has run, and that none of its calls succeeded.
    fn check(&self) -> Outcome {
        let returned =
            std::mem::take(&mut *self.returned.lock().unwrap_or_else(PoisonError::into_inner));
        same!(returned.len(), 5);
        for called in returned {
            refused!(called, NOT_PERMITTED);
        }
        Ok(())
    }
}

unsafe extern "C" fn host_function(inside: *mut c_void) {
    // SAFETY: the case passes an `Inside` that lives until the stream has been synchronized.
    unsafe { &*inside.cast::<Inside<'_>>() }.call_the_library();
}

unsafe extern "C" fn stream_callback(_: CUstream, _: CUresult, inside: *mut c_void) {
    // SAFETY: the case passes an `Inside` that lives until the stream has been synchronized.
    unsafe { &*inside.cast::<Inside<'_>>() }.call_the_library();
}

/// Checks that the current context can still be used.
fn works(cuda: &Cuda) -> Outcome {
    let pointer = cuda.alloc(64)?;
    cu!(cuda, cuMemsetD32_v2(pointer, 3, 16))?;
    same!(cuda.download::<u32>(pointer, 16)?, [3; 16]);
    cu!(cuda, cuMemFree_v2(pointer))?;
    Ok(())
}

cases! {
    fn functions_that_a_stream_calls_cannot_call_the_library(cuda, primary) {
        let (memory, mut stream) = (cuda.alloc(64)?, null_mut());
        cu!(cuda, cuMemsetD32_v2(memory, 7, 1))?;
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let inside = Inside { cuda, memory, returned: Mutex::default() };
        let data = parameter(&inside);
        cu!(cuda, cuLaunchHostFunc(stream, Some(host_function), data))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        inside.check()?;
        cu!(cuda, cuStreamAddCallback(stream, Some(stream_callback), data, 0))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        inside.check()?;
        same!(cuda.download::<u32>(memory, 1)?, [7]);
        works(cuda)
    }

    fn a_corrupt_fat_binary_is_refused(cuda, primary) {
        let mut module = null_mut();
        let mut corrupt = FAT_BINARY.to_vec();
        corrupt[0] ^= 0xff;
        let image = corrupt.as_ptr().cast();
        refused!(cu!(cuda, cuModuleLoadData(&mut module, image)), INVALID_IMAGE | INVALID_PTX);
        refused!(cu!(cuda, cuModuleLoadFatBinary(&mut module, image)), INVALID_IMAGE | INVALID_PTX);
        works(cuda)
    }

    fn a_grid_that_is_too_large_is_refused(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let pointer = cuda.alloc(16)?;
        let (value, count) = (0u32, 4u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        for [x, y, z] in [[1 << 31, 1, 1], [1, 1 << 16, 1], [1, 1, 1 << 16], [u32::MAX; 3]] {
            let parameters = parameters.as_mut_ptr();
            let launched = cu!(
                cuda,
                cuLaunchKernel(fill, x, y, z, 1, 1, 1, 0, null_mut(), parameters, null_mut())
            );
            refused!(launched, INVALID_VALUE);
        }
        works(cuda)
    }
}
