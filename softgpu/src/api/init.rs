//! Initialization, versions, private function tables, and error names.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use cuda_api::args::{In, Out, Text};
use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::capture::Key;
use cuda_api::graph::capturing;
use cuda_api::{error_text, export_tables, thread_end};

use super::capture::GRAPHS;
use super::entry::entries;
use crate::state::device::DRIVER_VERSION;
use crate::state::{context, primary, stream};

/// Stores an error's name or description for the program. For an unknown error, stores null and
/// fails.
fn give_text(text: Option<&'static CStr>, to: Out<*const c_char>) -> CuResult {
    to.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(drop).ok_or(CuError::INVALID_VALUE)
}

entries! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        thread_end::call_at_thread_end(|| {
            capturing::thread_ended();
            for id in stream::thread_ended() {
                GRAPHS.forget_stream(Key { id, of: 0 });
            }
            context::thread_ended();
        });
        primary::init()
    }

    fn cuDriverGetVersion(version: Out<c_int>) {
        version.set(DRIVER_VERSION)
    }

    fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) {
        let found = export_tables::get(&id.get()?, &super::tables::TABLES);
        table.set(found.ok_or(CuError::INVALID_VALUE)?)
    }

    fn cuGetErrorName(error: c_uint, name: Out<*const c_char>) {
        give_text(error_text::name(error), name)
    }

    fn cuGetErrorString(error: c_uint, string: Out<*const c_char>) {
        give_text(error_text::description(error), string)
    }

    /// The profiler that this function configured no longer exists.
    fn cuProfilerInitialize(_config: Text, _output: Text, _mode: c_uint) {
        crate::state::device::driver()?;
        Err(CuError::NOT_SUPPORTED)
    }

    fn cuProfilerStart() {
        context::current().map(drop)
    }

    fn cuProfilerStop() {
        context::current().map(drop)
    }
}
