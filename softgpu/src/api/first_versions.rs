//! Functions that CUDA 3.2 replaced. cuda-api has the entry points.

use super::entry::EntryPoint;
use crate::state::device::driver;

cuda_api::first_version_entries!(EntryPoint, driver);
