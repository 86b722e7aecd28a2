//! Sends code images and their JIT options to the worker.

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::log::say;
use cuda_api::args::{In, Out, Text};
use cuda_api::fatbin::FatbinError;
use cuda_api::sys::CUjit_option;
use protocol::calls::VcudaBlobPut;
use protocol::ids::BlobId;
use protocol::limits::{BLOB_PIECE_MAX, INLINE_IMAGE_MAX, JIT_LOG_MAX};
use protocol::options::JIT_OPTIONS;
use protocol::structs::JitOption;
use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;

const INFO_LOG_BUFFER: u32 = CUjit_option::CU_JIT_INFO_LOG_BUFFER.0;
const INFO_LOG_SIZE: u32 = CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES.0;
const ERROR_LOG_BUFFER: u32 = CUjit_option::CU_JIT_ERROR_LOG_BUFFER.0;
const ERROR_LOG_SIZE: u32 = CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.0;

/// An image in the form in which a call passes it to the worker.
pub struct Sent<'a> {
    /// The blob that contains the image, unless the call itself contains it.
    pub blob: BlobId,
    /// The image, if the call itself contains it; otherwise empty.
    pub inline: &'a [u8],
}

/// Returns the bytes of the image at an address in the program's memory.
///
/// # Safety
///
/// There must be an image at the address, in a format that the module loaders accept. It must stay
/// unchanged as long as the result is used.
pub unsafe fn bytes_of<'a>(image: *const c_void) -> CuResult<&'a [u8]> {
    // SAFETY: there is an image at the address, as the caller promises.
    let spans = unsafe { cuda_api::fatbin::span(image) }.map_err(unreadable)?;
    // With relocatable device code, the first span is the linked image and the others are its
    // inputs.
    let span = spans.first().ok_or(CuError::INVALID_IMAGE)?;
    // SAFETY: the image stays in memory unchanged, as the caller promises.
    Ok(unsafe { span.bytes() })
}

/// Reads a file as `cuModuleLoad` does. A zero byte is appended to PTX text, as the loaders
/// require.
pub fn read_file(path: Text) -> CuResult<Vec<u8>> {
    let path = OsStr::from_bytes(path.get()?.to_bytes());
    let mut bytes = std::fs::read(path).map_err(|_| CuError::FILE_NOT_FOUND)?;
    if !bytes.contains(&0) {
        bytes.push(0);
    }
    Ok(bytes)
}

/// Returns the image at the start of a file's bytes. A truncated image is refused.
pub fn in_file(bytes: &[u8]) -> CuResult<&[u8]> {
    cuda_api::fatbin::prefix(bytes).map_err(unreadable)
}

fn unreadable(error: FatbinError) -> CuError {
    say!(Warn, "can't read the image: {error}");
    CuError::INVALID_IMAGE
}

/// Prepares an image for a call. If the image is large, sends it to the worker as a blob first.
pub fn send<'a>(driver: &Driver, image: &'a [u8]) -> CuResult<Sent<'a>> {
    let piece = BLOB_PIECE_MAX.min(driver.session.longest_bytes());
    if image.len() <= INLINE_IMAGE_MAX.min(piece) {
        return Ok(Sent { blob: BlobId::INLINE, inline: image });
    }
    let blob = driver.session.mint();
    for (index, data) in image.chunks(piece).enumerate() {
        let offset = (index * piece) as u64;
        let put = VcudaBlobPut { blob, total: image.len() as u64, offset, data };
        driver.session.call(&put)?;
    }
    Ok(Sent { blob, inline: &[] })
}

/// JIT options: the ones that are sent to the worker, and the program's buffers for the compiler's
/// logs.
#[derive(Default)]
pub struct JitOptions {
    /// The options that are sent to the worker.
    pub wire: Vec<JitOption>,
    info: Log,
    error: Log,
}

/// The program's buffer for one of the two logs of the JIT compiler.
#[derive(Default)]
struct Log {
    buffer: Option<Out<c_char>>,
    size: usize,
    /// The address at which the length of the log is returned: that of the option's value.
    size_at: Option<Out<usize>>,
}

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
                    // SAFETY: this is the address of an element of the array, to which the API
                    // writes the length.
                    log.size_at = Some(unsafe { Out::from_address(address) });
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

    /// Copies the logs to the program's buffers.
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

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_api::args::Arg;
    use std::ffi::CString;

    #[test]
    fn a_truncated_file_is_refused() {
        let mut fatbin = vec![0u8; 80];
        fatbin[..4].copy_from_slice(&cuda_api::fatbin::FATBIN_MAGIC.to_le_bytes());
        fatbin[4..8].copy_from_slice(&[1, 0, 16, 0]);
        fatbin[8] = 64;
        let path = std::env::temp_dir().join(format!("virtio-cuda-image-{}", std::process::id()));
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        let load = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            // SAFETY: the name ends with a zero byte.
            let file = read_file(unsafe { Text::from_c(name.as_ptr()) })?;
            in_file(&file).map(<[u8]>::len)
        };
        assert_eq!(load(&fatbin), Ok(80));
        assert_eq!(load(&[&fatbin[..], b"rest"].concat()), Ok(80));
        assert_eq!(load(&fatbin[..79]), Err(CuError::INVALID_IMAGE));
        assert_eq!(load(&fatbin[..60]), Err(CuError::INVALID_IMAGE));
        assert_eq!(load(&fatbin[..6]), Err(CuError::INVALID_IMAGE));
        assert_eq!(load(b"\x7fELF\x02\x01\x01"), Err(CuError::INVALID_IMAGE));
        assert_eq!(load(b".version 9.0\n"), Ok(14));
        let wrapper = [&cuda_api::fatbin::WRAPPER_MAGIC.to_le_bytes()[..], &[1; 20]].concat();
        assert_eq!(load(&wrapper), Err(CuError::INVALID_IMAGE));
        std::fs::remove_file(&path).unwrap();
        // SAFETY: as above.
        let missing = read_file(unsafe { Text::from_c(name.as_ptr()) });
        assert_eq!(missing, Err(CuError::FILE_NOT_FOUND));
    }
}
