//! The calling thread's current context, which most entry points need.

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::objects::Context;
use crate::thread;

/// Returns the current context.
#[inline]
pub fn current() -> CuResult<&'static Context> {
    match thread::current() {
        Some(context) if context.is_alive() => Ok(context),
        Some(_) => Err(CuError::CONTEXT_IS_DESTROYED),
        None => Err(CuError::INVALID_CONTEXT),
    }
}

/// Returns the driver, if the calling thread has a current context.
#[inline]
pub fn driver() -> CuResult<&'static Driver> {
    let driver = crate::driver::driver()?;
    current()?;
    Ok(driver)
}

/// Returns the driver, unless the calling thread's current context has been destroyed. The thread
/// may also have none.
#[inline]
pub fn driver_unless_ended() -> CuResult<&'static Driver> {
    let driver = crate::driver::driver()?;
    match thread::current() {
        Some(context) if !context.is_alive() => Err(CuError::CONTEXT_IS_DESTROYED),
        _ => Ok(driver),
    }
}
