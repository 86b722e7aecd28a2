//! Entry points for the limits of contexts, such as the stack size.

use crate::context;
use crate::thread;
use cuda_api::args::Out;
use cuda_api::sys::CUlimit;
use protocol::calls::{CuCtxGetLimit, CuCtxSetLimit};

/// The stack size. It isn't remembered, because the driver increases this limit when a kernel that
/// needs a larger stack is launched.
const STACK_SIZE: u32 = CUlimit::CU_LIMIT_STACK_SIZE.0;

entries! {
    /// Remembers the value, because some libraries query the same limit thousands of times.
    fn cuCtxGetLimit(out: Out<usize>, limit: u32) {
        let driver = context::driver()?;
        out.check()?;
        let question = (thread::origin().1, limit);
        if let Some(known) = driver.limits.get(&question) {
            driver.session.check_sticky()?;
            return out.set(known);
        }
        let version = driver.limits.version();
        let value = driver.session.call(&CuCtxGetLimit { limit })?.pvalue;
        if limit != STACK_SIZE {
            driver.limits.keep(version, [(question, value)]);
        }
        out.set(value)
    }

    fn cuCtxSetLimit(limit: u32, value: usize) {
        let driver = context::driver()?;
        let result = driver.session.call(&CuCtxSetLimit { limit, value });
        // Forget all limits, because the driver rounds values up, and some limits apply to the
        // whole device.
        driver.limits.forget();
        result
    }
}
