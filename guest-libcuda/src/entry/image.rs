//! Images of code on their way to the worker, and the options that go with them.

use super::args::{In, Out};
use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::log::say;
use protocol::calls::VcudaBlobPut;
use protocol::limits::{BLOB_PIECE_MAX, INLINE_IMAGE_MAX, JIT_LOG_MAX};
use protocol::options::JIT_OPTIONS;
use std::ffi::c_void;

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
pub fn bytes_of<'a>(image: *const c_void) -> CuResult<&'a [u8]> {
    // SAFETY: by the API's rules the address is that of an image.
    let spans = unsafe { cuda_api::fatbin::span(image) }.map_err(|error| {
        say!(Warn, "an image that can't be read: {error}");
        CuError::INVALID_IMAGE
    })?;
    // With relocatable code the first is the linked one; the others went into it.
    let span = spans.first().ok_or(CuError::INVALID_IMAGE)?;
    // SAFETY: the image stays where it is while the call lasts.
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
    info: Option<Out<u8>>,
    info_size: usize,
    error: Option<Out<u8>>,
    error_size: usize,
    /// Where the lengths of the logs go: the options' own values.
    info_size_at: Option<Out<usize>>,
    error_size_at: Option<Out<usize>>,
}

impl JitOptions {
    /// Reads the two arrays.
    pub fn read(count: u32, options: In<u32>, values: In<usize>) -> CuResult<Self> {
        let mut jit = Self::default();
        for index in 0..count as usize {
            let option = options.element(index)?;
            let value = values.element(index)?;
            let value_at = Out::from_address(values.address() + index * size_of::<usize>());
            match option {
                INFO_LOG_BUFFER => jit.info = Some(Out::from_address(value)),
                ERROR_LOG_BUFFER => jit.error = Some(Out::from_address(value)),
                INFO_LOG_SIZE => {
                    jit.info_size = value as u32 as usize;
                    jit.info_size_at = Some(value_at);
                }
                ERROR_LOG_SIZE => {
                    jit.error_size = value as u32 as usize;
                    jit.error_size_at = Some(value_at);
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
        let wanted = self.info_size.max(self.error_size);
        wanted.min(JIT_LOG_MAX) as u32
    }

    /// Room for an answer that has both logs.
    pub fn answer_room(&self) -> usize {
        2 * (self.log_max() as usize + 16)
    }

    /// Gives the program its logs.
    pub fn store_logs(&self, info: &[u8], error: &[u8]) {
        let store = |to: Option<Out<u8>>, size: usize, at: Option<Out<usize>>, log: &[u8]| {
            if let Some(to) = to.filter(|to| to.is_wanted() && size > 0) {
                let _ = to.set_text(log, size);
                if let Some(at) = at {
                    at.set_if_wanted(log.len().min(size));
                }
            }
        };
        store(self.info, self.info_size, self.info_size_at, info);
        store(self.error, self.error_size, self.error_size_at, error);
    }
}
