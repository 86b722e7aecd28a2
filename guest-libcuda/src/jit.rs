//! The options that programs pass to the JIT compiler and the linker.

use crate::error::CuResult;
use crate::log::say;
use cuda_api::args::{In, Out};
use cuda_api::sys::CUjit_option;
use protocol::limits::JIT_LOG_MAX;
use protocol::options::JIT_OPTIONS;
use protocol::structs::JitOption;
use std::ffi::c_char;
use std::time::Instant;

const INFO_LOG_BUFFER: u32 = CUjit_option::CU_JIT_INFO_LOG_BUFFER.0;
const INFO_LOG_SIZE: u32 = CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES.0;
const ERROR_LOG_BUFFER: u32 = CUjit_option::CU_JIT_ERROR_LOG_BUFFER.0;
const ERROR_LOG_SIZE: u32 = CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.0;
const WALL_TIME: u32 = CUjit_option::CU_JIT_WALL_TIME.0;

/// JIT options: the ones that are sent to the worker, and the program's buffers for the compiler's
/// logs.
#[derive(Default)]
pub struct JitOptions {
    /// The options that are sent to the worker.
    pub wire: Vec<JitOption>,
    info: Log,
    error: Log,
    /// The address at which the elapsed time in milliseconds is stored.
    time_at: Option<Out<f32>>,
}

/// The program's buffer for one of the two logs of the JIT compiler.
#[derive(Default)]
struct Log {
    buffer: Option<Out<c_char>>,
    size: usize,
    /// The address at which the length of the log is stored, which is that of the option's value.
    size_at: Option<Out<usize>>,
}

// SAFETY: the pointers are to the program's buffers, which stay valid as long as the options are
// used, as the caller of `JitOptions::read` promises. No two threads write to them at the same
// time, because the API doesn't allow a program to use a link on two threads at once.
unsafe impl Send for JitOptions {}
// SAFETY: no two threads write to the program's buffers at the same time, because the API doesn't
// allow a program to use a link on two threads at once.
unsafe impl Sync for JitOptions {}

impl JitOptions {
    /// Reads the JIT options that a program passed, with their values.
    ///
    /// # Safety
    ///
    /// If not null, the arrays must have `count` elements. A log buffer must have the size that its
    /// option says. The log buffers and the array of values must be valid as long as the result is
    /// used.
    pub unsafe fn read(count: u32, options: In<u32>, values: In<usize>) -> CuResult<Self> {
        let mut jit = Self::default();
        let count = count as usize;
        // SAFETY: the caller promises that the arrays have `count` elements.
        let (ids, settings) = unsafe { (options.array(count), values.array(count)) };
        for index in 0..count {
            let option = ids.get(index)?;
            let value = settings.get(index)?;
            let log = match option {
                INFO_LOG_BUFFER | INFO_LOG_SIZE => &mut jit.info,
                _ => &mut jit.error,
            };
            match option {
                INFO_LOG_BUFFER | ERROR_LOG_BUFFER => {
                    // SAFETY: the caller promises that the value of this option is a buffer.
                    log.buffer = Some(unsafe { Out::from_address(value) });
                }
                INFO_LOG_SIZE | ERROR_LOG_SIZE => {
                    let address = values.address() + index * size_of::<usize>();
                    log.size = value as u32 as usize;
                    // SAFETY: this is the address of an element of `values`, which stays valid as
                    // the caller promises. The API allows the driver to store the log's length
                    // there.
                    log.size_at = Some(unsafe { Out::from_address(address) });
                }
                WALL_TIME => {
                    let address = values.address() + index * size_of::<usize>();
                    // SAFETY: this is the address of an element of `values`, which stays valid as
                    // the caller promises. The API allows the driver to store the time there.
                    jit.time_at = Some(unsafe { Out::from_address(address) });
                }
                option if JIT_OPTIONS.contains(&option) => {
                    jit.wire.push(JitOption { option, value: value as u64 });
                }
                option => say!(Info, "ignoring JIT option {option}"),
            }
        }
        Ok(jit)
    }

    /// Returns the maximum size of each log in bytes.
    pub fn log_max(&self) -> u32 {
        let wanted = self.info.size.max(self.error.size);
        wanted.min(JIT_LOG_MAX) as u32
    }

    /// Returns the maximum length in bytes of a reply that contains both logs.
    pub fn answer_room(&self) -> usize {
        2 * (self.log_max() as usize + 16)
    }

    /// Stores the time since `since`, for which compiling and linking took. It includes the time
    /// for sending the image.
    pub fn store_time(&self, since: Instant) {
        if let Some(at) = self.time_at {
            at.set_if_wanted(since.elapsed().as_secs_f32() * 1000.0);
        }
    }

    /// Copies the logs to the program's buffers.
    pub fn store_logs(&self, info: &[u8], error: &[u8]) {
        for (log, text) in [(&self.info, info), (&self.error, error)] {
            if let Some(to) = log.buffer.filter(|to| to.is_wanted() && log.size > 0) {
                // SAFETY: the caller of `read` promised that the buffer has this size.
                let _ = unsafe { to.array(log.size) }.set_text(text);
                if let Some(at) = log.size_at {
                    at.set_if_wanted(text.len().min(log.size));
                }
            }
        }
    }
}
