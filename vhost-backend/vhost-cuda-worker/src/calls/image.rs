//! Code images.
//!
//! An image's header contains its length. Before the driver gets the image, the worker checks that
//! the guest has sent at least that many bytes. If the driver still reads past the end, it reads
//! zeros.

use std::ffi::{CString, c_void};

use protocol::ids::BlobId;

use super::cx::Cx;
use super::lock;
use crate::driver::{CuError, CuResult};

const FATBIN_MAGIC: u32 = 0xba55_ed50;
const ELF_MAGIC: u32 = 0x464c_457f;
/// The number of zero bytes after the copy of an image. They terminate PTX text, and leave room for
/// a parser that reads ahead.
const TAIL: usize = 64;

/// A private, aligned copy of an image that the guest has sent, followed by zeros.
pub(super) struct Image {
    words: Vec<u64>,
    len: usize,
}

impl Image {
    /// Copies an image, after checking that it is as long as its header says.
    pub(super) fn new(bytes: &[u8]) -> CuResult<Self> {
        if bytes.is_empty() || !tells_its_length(bytes) {
            return Err(CuError::INVALID_IMAGE);
        }
        let mut words = vec![0u64; (bytes.len() + TAIL).div_ceil(8)];
        // SAFETY: the vector has room for the bytes; the two don't overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr().cast(), bytes.len());
        }
        Ok(Self { words, len: bytes.len() })
    }

    /// Returns the image without the zeros after it.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the vector has at least `len` bytes, and every byte of it is initialized.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    pub(super) fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }
}

/// Returns the image to load: the bytes in the call itself or, if the call names a blob, those in
/// the blob.
pub(super) fn image(cx: &Cx<'_>, blob: BlobId, inline: &[u8]) -> CuResult<Image> {
    if blob == BlobId::INLINE {
        return Image::new(inline);
    }
    let bytes = lock(&cx.shared.blobs).take(blob)?;
    Image::new(&bytes)
}

/// Converts a name from the guest to a C string.
pub(super) fn c_name(name: &str) -> CuResult<CString> {
    CString::new(name).map_err(|_| CuError::INVALID_VALUE)
}

/// Returns whether an image is at least as long as its header says. PTX text has no header, so any
/// length is right.
fn tells_its_length(bytes: &[u8]) -> bool {
    let field = |at: usize, len: usize| {
        let mut value = [0; 8];
        value[..len].copy_from_slice(bytes.get(at..at + len)?);
        Some(u64::from_le_bytes(value))
    };
    let ends = |end: Option<u64>| end.is_some_and(|end| end <= bytes.len() as u64);
    match field(0, 4).map(|magic| magic as u32) {
        Some(FATBIN_MAGIC) => {
            let (Some(head), Some(body)) = (field(6, 2), field(8, 8)) else { return false };
            head >= 16 && ends(head.checked_add(body))
        }
        Some(ELF_MAGIC) => {
            let table = |offset, size, count| {
                let (offset, size, count) = (field(offset, 8)?, field(size, 2)?, field(count, 2)?);
                offset.checked_add(size * count)
            };
            // The file's tables of program headers and of sections must not go past its end. Only
            // 64-bit ELF files are accepted.
            field(4, 1) == Some(2) && ends(table(0x20, 0x36, 0x38)) && ends(table(0x28, 0x3a, 0x3c))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fatbin(head: u16, body: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        bytes[..4].copy_from_slice(&FATBIN_MAGIC.to_le_bytes());
        bytes[6..8].copy_from_slice(&head.to_le_bytes());
        bytes[8..16].copy_from_slice(&body.to_le_bytes());
        bytes
    }

    #[test]
    fn a_fatbin_may_not_claim_more_than_it_has() {
        assert!(Image::new(&fatbin(16, 48, 64)).is_ok());
        assert!(Image::new(&fatbin(16, 49, 64)).is_err());
        assert!(Image::new(&fatbin(16, u64::MAX, 64)).is_err());
        assert!(Image::new(&fatbin(8, 8, 64)).is_err());
        assert!(Image::new(&fatbin(16, 0, 64)[..15]).is_err());
    }

    #[test]
    fn an_elf_may_not_claim_tables_past_its_end() {
        let mut elf = vec![0; 128];
        elf[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2]);
        assert!(Image::new(&elf).is_ok());
        elf[0x28] = 100;
        elf[0x3a] = 64;
        elf[0x3c] = 1;
        assert!(Image::new(&elf).is_err());
    }

    #[test]
    fn zeros_follow_a_text() {
        let image = Image::new(b".version 8.0").unwrap();
        // SAFETY: the image is followed by zeros.
        let text = unsafe { std::ffi::CStr::from_ptr(image.as_ptr().cast()) };
        assert_eq!(text.to_bytes(), b".version 8.0");
    }
}
