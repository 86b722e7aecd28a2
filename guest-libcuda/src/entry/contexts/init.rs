//! Entry points for initialization, versions and errors.

use crate::driver;
use crate::error::{CuError, CuResult};
use crate::thread_end;
use cuda_api::args::{Out, Text};
use cuda_api::error_text;
use std::ffi::{CStr, c_char};

/// The CUDA version of this library. It doesn't depend on the host's version, because programs may
/// query it before `cuInit`, and the result must not change afterwards.
pub const VERSION: i32 = cuda_api::symbols::CUDA_VERSION as i32;

fn text(text: Option<&'static CStr>, out: Out<*const c_char>) -> CuResult {
    out.check()?;
    out.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(drop).ok_or(CuError::INVALID_VALUE)
}

entries! {
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        thread_end::begin();
        driver::init().map(drop)
    }

    /// Does nothing, because the profiler that this function configured no longer exists.
    fn cuProfilerInitialize(_config: Text, _output: Text, _mode: u32) {
        driver::driver()?;
        Err(CuError::NOT_SUPPORTED)
    }

    fn cuDriverGetVersion(version: Out<i32>) {
        version.set(VERSION)
    }

    fn cuGetErrorName(error: u32, name: Out<*const c_char>) {
        text(error_text::name(error), name)
    }

    fn cuGetErrorString(error: u32, description: Out<*const c_char>) {
        text(error_text::description(error), description)
    }
}
