//! Functions that CUDA 3.2 replaced. cuda-api has the entry points.

use crate::driver::driver;
use crate::entry::macros::EntryPoint;

cuda_api::first_version_entries!(EntryPoint, driver);
