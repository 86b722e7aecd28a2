//! The attributes of GPU core dumps. cuda-api has the entry points.

use cuda_api::coredump::Settings;
use cuda_api::error::CuResult;

use super::entry::EntryPoint;
use crate::state::context::current;
use crate::state::device::driver;

/// Passes the current context's settings to `body`.
fn with_current(body: impl FnOnce(&Settings) -> CuResult) -> CuResult {
    body(&current()?.coredump)
}

cuda_api::coredump_entries!(EntryPoint, driver, with_current);
