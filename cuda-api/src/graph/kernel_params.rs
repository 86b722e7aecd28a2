//! The versions of a kernel node's parameters. The entry points use the second version.

use crate::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v3, CUfunction,
};
use std::ptr::null_mut;

/// Returns parameters of another version: the members that all versions have, and these.
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

/// The first version has no kernels of libraries, and the node gets the current context.
impl From<CUDA_KERNEL_NODE_PARAMS_v1> for CUDA_KERNEL_NODE_PARAMS {
    fn from(params: CUDA_KERNEL_NODE_PARAMS_v1) -> Self {
        convert!(params, { func: params.func, kern: null_mut(), ctx: null_mut() })
    }
}

/// The handle of a library's kernel can be used as that of a function, as in launches.
impl From<CUDA_KERNEL_NODE_PARAMS> for CUDA_KERNEL_NODE_PARAMS_v1 {
    fn from(params: CUDA_KERNEL_NODE_PARAMS) -> Self {
        let func = if params.func.is_null() { params.kern as CUfunction } else { params.func };
        convert!(params, { func: func })
    }
}

/// The third version is the member of the parameters of any kind of node.
impl From<CUDA_KERNEL_NODE_PARAMS_v3> for CUDA_KERNEL_NODE_PARAMS {
    fn from(params: CUDA_KERNEL_NODE_PARAMS_v3) -> Self {
        convert!(params, { func: params.func, kern: params.kern, ctx: params.ctx })
    }
}
