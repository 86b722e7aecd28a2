//! Checks of the calls that return how many clusters fit, and how large they can be.

use crate::args::In;
use crate::error::{CuError, CuResult};
use crate::sys::CUlaunchConfig;

/// Checks the arguments of `cuOccupancyMaxActiveClusters` and `cuOccupancyMaxPotentialClusterSize`,
/// before anything else is checked. These calls return CUDA_ERROR_INVALID_VALUE even if the
/// function is null.
pub fn check(function: usize, config: In<CUlaunchConfig>) -> CuResult {
    let config = config.get()?;
    let (grid, block) = (
        [config.gridDimX, config.gridDimY, config.gridDimZ],
        [config.blockDimX, config.blockDimY, config.blockDimZ],
    );
    if function == 0 || grid.contains(&0) || block.contains(&0) {
        return Err(CuError::INVALID_VALUE);
    }
    Ok(())
}
