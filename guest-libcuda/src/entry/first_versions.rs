//! Functions that CUDA 3.2 replaced. cuda-api has the entry points.

use super::macros::EntryPoint;
use crate::driver::driver;

cuda_api::first_version_entries!(EntryPoint, driver);
