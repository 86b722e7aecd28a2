//! CUDA's first launch interface. cuda-api has the entry points.

use cuda_api::error::CuResult;
use cuda_api::legacy_launch::Library;
use cuda_api::sys::{CUfunction, CUstream};

use super::entry::EntryPoint;
use super::launch::{Shape, launch_packed};
use super::module::function as named;
use crate::state::graph::Software;
use crate::state::stream::lookup;

cuda_api::legacy_launch_entries!(Software, EntryPoint);

impl Library for Software {
    fn check_function(function: CUfunction) -> CuResult {
        named(function.cast()).map(drop)
    }

    fn launch(
        function: CUfunction,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        parameters: &[u8],
        stream: CUstream,
    ) -> CuResult {
        let shape = Shape { grid, block, shared, cooperative: false };
        launch_packed(function, shape, &*lookup(stream, false)?, parameters)
    }
}
