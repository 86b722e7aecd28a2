//! Images of code on their way to the worker, and the options that go with them.

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::log::say;
use cuda_api::args::{In, Out};
use protocol::calls::VcudaBlobPut;
use protocol::limits::{BLOB_PIECE_MAX, INLINE_IMAGE_MAX, JIT_LOG_MAX};
use protocol::options::JIT_OPTIONS;
use std::ffi::{c_char, c_void};

const INFO_LOG_BUFFER: u32 = 3;
const INFO_LOG_SIZE: u32 = 4;
const ERROR_LOG_BUFFER: u32 = 5;
const ERROR_LOG_SIZE: u32 = 6;

/// How an image reaches the worker.
pub struct Sent<'a> {
    /// The blob that it was put into, or 0.
    pub blob: u64,
    /// The image if it travels in the call, else nothing.
    pub inline: &'a [u8],
}

/// The bytes of an image at an address of the program.
///
/// # Safety
///
/// The address is that of an image in a form that the module loaders take, which stays unchanged as
/// long as the result is used.
pub unsafe fn bytes_of<'a>(image: *const c_void) -> CuResult<&'a [u8]> {
    // SAFETY: the address is that of an image, as the caller promises.
    let spans = unsafe { cuda_api::fatbin::span(image) }.map_err(|error| {
        say!(Warn, "an image that can't be read: {error}");
        CuError::INVALID_IMAGE
    })?;
    // With relocatable code the first is the linked one; the others went into it.
    let span = spans.first().ok_or(CuError::INVALID_IMAGE)?;
    // SAFETY: the image stays, as the caller promises.
    Ok(unsafe { span.bytes() })
}

/// Sends a large image ahead.
pub fn send<'a>(driver: &Driver, image: &'a [u8]) -> CuResult<Sent<'a>> {
    let piece = BLOB_PIECE_MAX.min(driver.session.longest_bytes());
    if image.len() <= INLINE_IMAGE_MAX.min(piece) {
        return Ok(Sent { blob: 0, inline: image });
    }
    let blob = driver.session.mint();
    for (index, data) in image.chunks(piece).enumerate() {
        let offset = (index * piece) as u64;
        let put = VcudaBlobPut { blob, total: image.len() as u64, offset, data };
        driver.session.call(&put)?;
    }
    Ok(Sent { blob, inline: &[] })
}

/// Options of the JIT, split into what goes to the worker and what comes back.
#[derive(Default)]
pub struct JitOptions {
    /// Pairs, as the API table has them.
    pub wire: Vec<u8>,
    info: Log,
    error: Log,
}

/// Where a log of the JIT goes.
#[derive(Default)]
struct Log {
    buffer: Option<Out<c_char>>,
    size: usize,
    /// Where the log's length goes: the option's own value.
    size_at: Option<Out<usize>>,
}

impl JitOptions {
    /// Reads the two arrays.
    ///
    /// # Safety
    ///
    /// If not null, the arrays have `count` elements. A log's buffer has the size that its option
    /// says, and both that buffer and the array of values are valid as long as the result is used.
    pub unsafe fn read(count: u32, options: In<u32>, values: In<usize>) -> CuResult<Self> {
        let mut jit = Self::default();
        let count = count as usize;
        // SAFETY: the arrays have `count` elements, as the caller promises.
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
                    // SAFETY: this option's value is a buffer, as the caller promises.
                    log.buffer = Some(unsafe { Out::from_address(value) });
                }
                INFO_LOG_SIZE | ERROR_LOG_SIZE => {
                    let address = values.address() + index * size_of::<usize>();
                    log.size = value as u32 as usize;
                    // SAFETY: an element of the array, to which the API writes the length.
                    log.size_at = Some(unsafe { Out::from_address(address) });
                }
                option if JIT_OPTIONS.contains(&option) => {
                    jit.wire.extend_from_slice(&u64::from(option).to_le_bytes());
                    jit.wire.extend_from_slice(&(value as u64).to_le_bytes());
                }
                option => say!(Info, "JIT option {option} is left out"),
            }
        }
        Ok(jit)
    }

    /// Bytes that each log may have.
    pub fn log_max(&self) -> u32 {
        let wanted = self.info.size.max(self.error.size);
        wanted.min(JIT_LOG_MAX) as u32
    }

    /// Room for an answer that has both logs.
    pub fn answer_room(&self) -> usize {
        2 * (self.log_max() as usize + 16)
    }

    /// Gives the program its logs.
    pub fn store_logs(&self, info: &[u8], error: &[u8]) {
        for (log, text) in [(&self.info, info), (&self.error, error)] {
            if let Some(to) = log.buffer.filter(|to| to.is_wanted() && log.size > 0) {
                // SAFETY: the buffer has this size, as promised to `read`.
                let _ = unsafe { to.array(log.size) }.set_text(text);
                if let Some(at) = log.size_at {
                    at.set_if_wanted(text.len().min(log.size));
                }
            }
        }
    }
}
