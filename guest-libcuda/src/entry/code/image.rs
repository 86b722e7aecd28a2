//! Sends code images to the worker.

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::log::{self, Level, say};
use crate::software;
use cuda_api::args::Text;
use cuda_api::fatbin::FatbinError;
use cuda_api::machine_code;
use protocol::calls::VcudaBlobPut;
use protocol::ids::BlobId;
use protocol::limits::{BLOB_PIECE_MAX, INLINE_IMAGE_MAX};
use std::ffi::{OsStr, c_void};
use std::os::unix::ffi::OsStrExt;

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
    // SAFETY: the caller promises that there is an image at the address.
    let spans = unsafe { cuda_api::fatbin::span(image) }.map_err(unreadable)?;
    // With relocatable device code, the first span is the linked image and the others are its
    // inputs.
    let span = spans.first().ok_or(CuError::INVALID_IMAGE)?;
    // SAFETY: the caller promises that the image stays in memory unchanged.
    Ok(unsafe { span.bytes() })
}

/// Reads a file as `cuModuleLoad` does. A zero byte is appended to PTX text, as the loaders
/// require.
pub fn read_file(path: Text) -> CuResult<Vec<u8>> {
    let path = OsStr::from_bytes(path.get()?.to_bytes());
    let mut bytes = std::fs::read(path).map_err(|_| CuError::FILE_NOT_FOUND)?;
    if bytes.is_empty() {
        return Err(CuError::INVALID_IMAGE);
    }
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
    if log::enabled(Level::Warn) && software::executes_ptx() {
        let text = machine_code::explain(image, driver.device(0)?.capability());
        text.into_iter().for_each(|text| say!(Warn, "{text}"));
    }
    let piece = BLOB_PIECE_MAX.min(driver.session.longest_bytes()?);
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
            // SAFETY: `name` is a C string.
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
        // SAFETY: `name` is a C string.
        let missing = read_file(unsafe { Text::from_c(name.as_ptr()) });
        assert_eq!(missing, Err(CuError::FILE_NOT_FOUND));
    }
}
