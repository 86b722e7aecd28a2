//! CUDA's first launch interface. cuda-api has the entry points.

use crate::driver::driver;
use crate::entry::code::launch::launch_packed;
use crate::entry::macros::{EntryPoint, LEGACY};
use crate::error::CuResult;
use crate::graph::{Guest, Shape};
use crate::handles::Handle;
use crate::objects::Function;
use cuda_api::legacy_launch::Library;
use cuda_api::sys::{CUfunction, CUstream};
use std::sync::Arc;

cuda_api::legacy_launch_entries!(Guest, EntryPoint);

impl Library for Guest {
    fn check_function(function: CUfunction) -> CuResult {
        driver()?.handles.get::<Arc<Function>>(function as Handle).map(drop)
    }

    fn launch(
        function: CUfunction,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        parameters: &[u8],
        stream: CUstream,
    ) -> CuResult {
        let shape = Shape { grid, block, shared };
        launch_packed(function as Handle, shape, (stream as Handle, LEGACY), parameters)
    }
}
