//! The options of functions that compile or link code.

use std::ffi::{c_char, c_uint};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cuda_api::args::{In, Out, OutArray};
use cuda_api::error::CuResult;
use cuda_api::sys::CUjit_option as J;

use crate::state::image::LoadError;

/// The options that a program passed. softgpu doesn't compile code, so only the options for logs
/// and for the elapsed time have an effect.
#[derive(Default)]
pub(crate) struct Jit {
    error: Option<Log>,
    /// The elements of the option-value array in which this stores the length of the information
    /// log. That length is always 0.
    info: Vec<Out<usize>>,
    info_text: Option<OutArray<c_char>>,
    /// The element of the option-value array in which this stores the elapsed time.
    time: Option<Out<f32>>,
    started: Option<Instant>,
}

/// A log, and the program's buffer for it.
struct Log {
    text: OutArray<c_char>,
    size: usize,
    /// The elements of the option-value array in which this stores the log's length.
    sizes: Vec<Out<usize>>,
    /// The log so far. Several calls of the linker write to the same log.
    lines: Mutex<String>,
}

// SAFETY: the API requires that the program keeps the buffers valid until it destroys the link.
// Accesses to them are ordered, because the log's lock protects them or because the API forbids the
// use of a link on two threads at once.
unsafe impl Send for Jit {}
// SAFETY: the guarantees that make `Jit` Send also cover shared references, because they order all
// accesses to the buffers.
unsafe impl Sync for Jit {}

impl Jit {
    /// Reads the options that were passed to a function that loads or links code.
    ///
    /// # Safety
    ///
    /// If not null, the arrays must have `count` elements. A log buffer must have the size that its
    /// size option gives. The buffers and the array of values must stay valid for as long as the
    /// result is used.
    pub(crate) unsafe fn new(count: c_uint, options: In<J>, values: In<usize>) -> CuResult<Self> {
        let mut jit = Self { started: Some(Instant::now()), ..Self::default() };
        let (mut error, mut info) = ((Out::null(), 0, vec![]), (Out::null(), 0));
        let count = count as usize;
        // SAFETY: the caller guarantees that the arrays have `count` elements.
        let (ids, settings) = unsafe { (options.array(count), values.array(count)) };
        for index in 0..count {
            let (option, value) = (ids.get(index)?, settings.get(index)?);
            let place = values.address() + index * size_of::<usize>();
            // SAFETY: the caller guarantees that the values of these options are addresses of
            // buffers. `place` is the address of an element of the value array, and the API defines
            // that the driver writes to this element.
            unsafe {
                match option {
                    J::CU_JIT_ERROR_LOG_BUFFER => error.0 = Out::from_address(value),
                    J::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => {
                        error.1 = value as u32 as usize;
                        error.2.push(Out::from_address(place));
                    }
                    J::CU_JIT_INFO_LOG_BUFFER => info.0 = Out::from_address(value),
                    J::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => {
                        info.1 = value as u32 as usize;
                        jit.info.push(Out::from_address(place));
                    }
                    J::CU_JIT_WALL_TIME => jit.time = Some(Out::from_address(place)),
                    _ => {}
                }
            }
        }
        if info.0.is_wanted() && info.1 > 0 {
            // SAFETY: the caller guarantees that the buffer has this size.
            jit.info_text = Some(unsafe { info.0.array(info.1) });
        }
        let (buffer, size, sizes) = error;
        if buffer.is_wanted() && size > 0 {
            // SAFETY: the caller guarantees that the buffer has this size.
            let text = unsafe { buffer.array(size) };
            jit.error = Some(Log { text, size, sizes, lines: Mutex::default() });
        }
        Ok(jit)
    }

    /// Converts the result of loading or linking code to the result that the API returns. First
    /// writes the log and the elapsed time to the program's memory.
    pub(crate) fn report<T>(&self, result: Result<T, LoadError>) -> CuResult<T> {
        if let Some(log) = &self.error {
            let mut lines = log.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = &result {
                if !lines.is_empty() {
                    lines.push('\n');
                }
                lines.push_str(&error.text);
            }
            let _ = log.text.set_text(lines.as_bytes());
            for size in &log.sizes {
                size.set_if_wanted(lines.len().min(log.size - 1));
            }
        }
        if let Some(text) = &self.info_text {
            let _ = text.set_text(b"");
        }
        for size in &self.info {
            size.set_if_wanted(0);
        }
        if let (Some(time), Some(started)) = (self.time, self.started) {
            time.set_if_wanted(started.elapsed().as_secs_f32() * 1000.0);
        }
        result.map_err(|error| error.code)
    }
}
