//! Code images, and options for the driver's JIT compiler.
//!
//! An image's header contains its length. Before the driver gets the image, the worker checks that
//! the guest has sent at least that many bytes. If the driver still reads past the end, it reads
//! zeros.

use std::ffi::c_void;

use cuda_api::sys::CUjit_option;
use protocol::codec::Array;
use protocol::limits::JIT_LOG_MAX;
use protocol::options::JIT_OPTIONS;
use protocol::structs::JitOption;

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
    may_print: bool,
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
        Ok(Self { words, len: bytes.len(), may_print: may_print(bytes) })
    }

    /// Returns whether the image's kernels may print.
    pub(super) fn may_print(&self) -> bool {
        self.may_print
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

/// Images up to this size in bytes are searched for printf, after decompression if necessary.
const MAX_SEARCHED: usize = 4 << 20;
/// The maximum number of bytes that this search decompresses.
const MAX_DECOMPRESSED: usize = 32 << 20;

/// Returns whether the kernels in an image may print. Images larger than [`MAX_SEARCHED`] aren't
/// searched, so the output of their kernels is noticed a little later.
fn may_print(bytes: &[u8]) -> bool {
    let calls_printf = |bytes: &[u8]| bytes.windows(7).any(|name| name == b"vprintf");
    if bytes.len() > MAX_SEARCHED {
        return false;
    }
    match cuda_api::fatbin::images(bytes, MAX_DECOMPRESSED) {
        Ok(images) => images.iter().any(|(_, image)| match image {
            cuda_api::fatbin::Image::Ptx(text) => calls_printf(text.as_bytes()),
            cuda_api::fatbin::Image::Cubin(elf) => calls_printf(elf),
        }),
        // Assume that the kernels may print: the driver may be able to load an image that this
        // parser can't read.
        Err(_) => true,
    }
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

/// The JIT options for loading one image, and the logs that the JIT compiler writes.
pub(super) struct Jit {
    options: Vec<CUjit_option>,
    values: Vec<*mut c_void>,
    error: Vec<u8>,
    info: Vec<u8>,
}

impl Jit {
    /// Takes the guest's options, and allocates an error log and an info log of up to `log_max`
    /// bytes each.
    pub(super) fn new(wire: Array<'_, JitOption>, log_max: u32) -> CuResult<Self> {
        let log = vec![0; (log_max as usize).min(JIT_LOG_MAX)];
        let mut jit = Self { options: vec![], values: vec![], error: log.clone(), info: log };
        for JitOption { option, value } in wire.iter() {
            if !JIT_OPTIONS.contains(&option) {
                return Err(CuError::INVALID_VALUE);
            }
            jit.push(CUjit_option(option), value);
        }
        if !jit.error.is_empty() {
            let (len, error, info) =
                (jit.error.len() as u64, jit.error.as_mut_ptr(), jit.info.as_mut_ptr());
            jit.push(CUjit_option::CU_JIT_ERROR_LOG_BUFFER, error as u64);
            jit.push(CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, len);
            jit.push(CUjit_option::CU_JIT_INFO_LOG_BUFFER, info as u64);
            jit.push(CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, len);
        }
        Ok(jit)
    }

    fn push(&mut self, option: CUjit_option, value: u64) {
        self.options.push(option);
        self.values.push(value as *mut c_void);
    }

    /// Returns the number of options, the options, and their values, for the driver.
    pub(super) fn parts(&mut self) -> (u32, *mut CUjit_option, *mut *mut c_void) {
        (self.options.len() as u32, self.options.as_mut_ptr(), self.values.as_mut_ptr())
    }

    /// Returns the contents of the error log and the info log.
    pub(super) fn logs(self) -> (Vec<u8>, Vec<u8>) {
        let text = |mut log: Vec<u8>| {
            log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(log.len()));
            log
        };
        (text(self.error), text(self.info))
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

    #[test]
    fn options_that_are_addresses_are_refused() {
        let jit = |option, value| Jit::new([JitOption { option, value }].as_slice().into(), 0);
        assert!(jit(7, 3).is_ok());
        for option in [2, 3, 5, 17, 18, 25, 26, 27, 28, 99] {
            assert!(jit(option, 0x1000).is_err(), "{option}");
        }
    }
}
