//! The attributes of GPU core dumps. cuda-api has the entry points.

use crate::context::current;
use crate::driver::driver;
use crate::entry::macros::EntryPoint;
use crate::error::CuResult;
use cuda_api::coredump::Settings;

/// Passes the current context's settings to `body`.
fn with_current(body: impl FnOnce(&Settings) -> CuResult) -> CuResult {
    driver()?;
    body(&current()?.coredump)
}

cuda_api::coredump_entries!(EntryPoint, driver, with_current);
