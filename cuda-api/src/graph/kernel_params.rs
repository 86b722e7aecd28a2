//! The versions of a kernel node's parameters. The entry points use the second version.

use crate::args::In;
use crate::error::{CuError, CuResult};
use crate::sys::{
    CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, CU_LAUNCH_PARAM_END_AS_INT, CUDA_KERNEL_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v3, CUfunction,
};
use std::ptr::null_mut;

/// Converts the parameters to another version: copies the members that all versions have, and sets
/// the given ones.
macro_rules! convert {
    ($params:expr, { $($member:ident: $value:expr),* }) => {
        Self {
            gridDimX: $params.gridDimX,
            gridDimY: $params.gridDimY,
            gridDimZ: $params.gridDimZ,
            blockDimX: $params.blockDimX,
            blockDimY: $params.blockDimY,
            blockDimZ: $params.blockDimZ,
            sharedMemBytes: $params.sharedMemBytes,
            kernelParams: $params.kernelParams,
            extra: $params.extra,
            $($member: $value),*
        }
    };
}

/// The first version has only a function handle, not the handle of a library's kernel. Its node
/// gets the current context.
impl From<CUDA_KERNEL_NODE_PARAMS_v1> for CUDA_KERNEL_NODE_PARAMS {
    fn from(params: CUDA_KERNEL_NODE_PARAMS_v1) -> Self {
        convert!(params, { func: params.func, kern: null_mut(), ctx: null_mut() })
    }
}

/// The first version has no member for the handle of a library's kernel, so it's returned as the
/// function handle. Launches accept it there, too.
impl From<CUDA_KERNEL_NODE_PARAMS> for CUDA_KERNEL_NODE_PARAMS_v1 {
    fn from(params: CUDA_KERNEL_NODE_PARAMS) -> Self {
        let func = if params.func.is_null() { params.kern as CUfunction } else { params.func };
        convert!(params, { func: func })
    }
}

/// The third version is a member of `CUgraphNodeParams`.
impl From<CUDA_KERNEL_NODE_PARAMS_v3> for CUDA_KERNEL_NODE_PARAMS {
    fn from(params: CUDA_KERNEL_NODE_PARAMS_v3) -> Self {
        convert!(params, { func: params.func, kern: params.kern, ctx: params.ctx })
    }
}

/// Checks the size of the buffer in `extra` for a kernel with `bytes` bytes of parameters. For a
/// node, the buffer must not be larger than that, and `extra` must contain a size other than 0 if
/// the kernel has parameters. (For a launch, the buffer may be larger.)
///
/// # Safety
///
/// If the parameters have no array of addresses, `extra` must contain pairs that describe a buffer,
/// as `cuLaunchKernel` requires.
pub unsafe fn check_size(params: &CUDA_KERNEL_NODE_PARAMS, bytes: usize) -> CuResult {
    if !params.kernelParams.is_null() || params.extra.is_null() {
        return Ok(());
    }
    // SAFETY: the caller promises that `extra` is an array of pairs that describe a buffer.
    let extra: In<usize> = unsafe { In::from_address(params.extra as usize) };
    let mut size = 0;
    for pair in 0.. {
        // SAFETY: the array extends to its end marker, and this loop stops there.
        match unsafe { extra.element(2 * pair) }? as u32 {
            CU_LAUNCH_PARAM_END_AS_INT => break,
            CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT => {
                // SAFETY: the second element of this pair is the address of the size.
                size = unsafe { In::from_address(extra.element(2 * pair + 1)?) }.get()?;
            }
            _ => {}
        }
    }
    let valid = size <= bytes && (size > 0 || bytes == 0);
    if valid { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}
