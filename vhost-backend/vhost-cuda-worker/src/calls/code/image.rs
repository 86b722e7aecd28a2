//! Code images.
//!
//! The driver gets only images in formats that contain no addresses. It also accepts formats that
//! do, such as the wrapper that nvcc puts into programs, which points to a fatbin. From a guest,
//! such a pointer could lead anywhere in the worker's memory. Before the driver gets an image, the
//! worker checks the format and the length in the image's header. If the driver still reads past
//! the image's end, it reads zeros.

use std::borrow::Cow;
use std::ffi::{CString, c_void};

use cuda_api::fatbin::{ELF_MAGIC, Entry, FATBIN_MAGIC, Fatbin, Kind, is_ptx, prefix};
use cuda_api::sys::CUjitInputType;
use protocol::ids::BlobId;

use crate::calls::commands::budget::Part;
use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{capabilities, is_text};
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

const ARCHIVE_MAGIC: &[u8] = b"!<arch>\n";
/// The number of zero bytes after the copy of an image. They terminate PTX text, and leave room for
/// a parser that reads ahead.
const TAIL: usize = 64;

/// A private, aligned copy of an image that the guest has sent, followed by zeros.
pub(in crate::calls) struct Image {
    words: Vec<u64>,
    len: usize,
}

impl Image {
    /// Copies an image, after checking that it has one of these formats.
    pub(in crate::calls) fn new(bytes: &[u8], accepted: &[Format]) -> CuResult<Self> {
        if !Format::of(bytes).is_some_and(|format| accepted.contains(&format)) {
            // PTX with bytes that aren't text results in CUDA_ERROR_INVALID_PTX, as it does from
            // NVIDIA's compiler.
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            return Err(match is_ptx(text) {
                true => CuError::INVALID_PTX,
                false => CuError::INVALID_IMAGE,
            });
        }
        let mut words = vec![0u64; (bytes.len() + TAIL).div_ceil(8)];
        // SAFETY: the vector has room for the bytes, and it doesn't overlap with them, because it
        // was just allocated.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr().cast(), bytes.len());
        }
        Ok(Self { words, len: bytes.len() })
    }

    /// Returns the image without the zeros after it.
    pub(in crate::calls) fn bytes(&self) -> &[u8] {
        // SAFETY: the vector has at least `len` bytes, and every byte of it is initialized.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    pub(in crate::calls) fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }
}

/// The format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) enum Format {
    Fatbin,
    /// A 64-bit ELF file: a cubin or a host object.
    Elf,
    Ptx,
    /// A library of objects. Only the linker accepts it.
    Archive,
}

/// The formats that contain a program's kernels.
const PROGRAMS: &[Format] = &[Format::Fatbin, Format::Elf, Format::Ptx];

impl Format {
    /// Returns the format of an image, if it has one that contains no addresses and is complete.
    fn of(bytes: &[u8]) -> Option<Self> {
        let field = |at: usize, len: usize| {
            let mut value = [0; 8];
            value[..len].copy_from_slice(bytes.get(at..at + len)?);
            Some(u64::from_le_bytes(value))
        };
        let len = bytes.len() as u64;
        let (format, complete) = if bytes.starts_with(&FATBIN_MAGIC.to_le_bytes()) {
            let (head, body) = (field(6, 2)?, field(8, 8)?);
            (Self::Fatbin, head >= 16 && head.checked_add(body) == Some(len))
        } else if bytes.starts_with(&ELF_MAGIC) {
            // Everything that the headers describe must be in the file, because a driver reads it
            // without knowing the file's length.
            (Self::Elf, prefix(bytes).is_ok())
        } else if bytes.starts_with(ARCHIVE_MAGIC) {
            (Self::Archive, true)
        } else {
            (Self::Ptx, is_text(bytes.strip_suffix(&[0]).unwrap_or(bytes)))
        };
        complete.then_some(format)
    }
}

/// Returns a code image from the guest: the bytes in the call itself or, if the call names a blob,
/// those in the blob.
fn sent<'a>(cx: &Cx<'_>, blob: BlobId, inline: &'a [u8]) -> CuResult<Cow<'a, [u8]>> {
    match blob {
        BlobId::INLINE => Ok(inline.into()),
        blob => Ok(lock(&cx.shared.blobs).take(blob)?.into()),
    }
}

/// Takes a part of the session's budget of host memory, for the image in a call or in the blob that
/// the call names.
pub(in crate::calls) fn part_for<'a>(cx: &Cx<'a>, blob: BlobId, inline: &[u8]) -> Part<'a> {
    let sent = if blob == BlobId::INLINE { 0 } else { lock(&cx.shared.blobs).len(blob) };
    cx.shared.budget.take_for(sent.max(inline.len() as u64))
}

/// Discards the blob of a call that fails before it uses the blob.
pub(in crate::calls) fn discard(cx: &Cx<'_>, blob: BlobId) {
    drop(lock(&cx.shared.blobs).take(blob));
}

/// Returns a checked copy of the image that a call loads. Of a fatbin, keeps only the entries that
/// the session's devices can use: cubins for those devices, and PTX. The VM isn't charged for the
/// other entries, because a GPU can't use them.
pub(in crate::calls) fn image(cx: &Cx<'_>, blob: BlobId, inline: &[u8]) -> CuResult<Image> {
    let image = Image::new(&sent(cx, blob, inline)?, PROGRAMS)?;
    if Format::of(image.bytes()) != Some(Format::Fatbin) {
        return Ok(image);
    }
    let only = only_usable(image.bytes(), &capabilities(cx))?;
    if only.len() == image.len { Ok(image) } else { Image::new(&only, PROGRAMS) }
}

/// Returns a fatbin with only the entries that devices with these compute capabilities (90 for 9.0)
/// can use.
fn only_usable(bytes: &[u8], capabilities: &[u32]) -> CuResult<Vec<u8>> {
    let usable = |entry: &Entry<'_>| {
        capabilities.iter().any(|capability| match entry.kind {
            Kind::Cubin => entry.arch / 10 == capability / 10 && entry.arch % 10 <= capability % 10,
            Kind::Ptx => entry.arch <= *capability,
            Kind::Other(_) => false,
        })
    };
    let only = Fatbin::parse(bytes).and_then(|fatbin| fatbin.only(usable));
    only.map_err(|_| CuError::INVALID_IMAGE)?.ok_or(CuError::NO_BINARY_FOR_GPU)
}

/// Returns a checked copy of an input for the linker. Its format must be the one that `kind`
/// requires.
pub(in crate::calls) fn link_input(
    cx: &Cx<'_>,
    kind: CUjitInputType,
    blob: BlobId,
    inline: &[u8],
) -> CuResult<Image> {
    let accepted: &[Format] = match kind {
        CUjitInputType::CU_JIT_INPUT_CUBIN | CUjitInputType::CU_JIT_INPUT_OBJECT => &[Format::Elf],
        CUjitInputType::CU_JIT_INPUT_PTX => &[Format::Ptx],
        CUjitInputType::CU_JIT_INPUT_FATBINARY => &[Format::Fatbin],
        CUjitInputType::CU_JIT_INPUT_LIBRARY => &[Format::Archive],
        _ => &[],
    };
    let bytes = sent(cx, blob, inline)?;
    Image::new(&bytes, accepted).map_err(|error| {
        // NVIDIA's driver also returns the error for a cubin of another device if a cubin is
        // damaged.
        match kind == CUjitInputType::CU_JIT_INPUT_CUBIN && bytes.starts_with(&ELF_MAGIC) {
            true => CuError::NO_BINARY_FOR_GPU,
            false => error,
        }
    })
}

/// Converts a name from the guest to a C string.
pub(in crate::calls) fn c_name(name: &str) -> CuResult<CString> {
    CString::new(name).map_err(|_| CuError::INVALID_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_api::fatbin::WRAPPER_MAGIC;

    fn fatbin(head: u16, body: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        bytes[..4].copy_from_slice(&FATBIN_MAGIC.to_le_bytes());
        bytes[6..8].copy_from_slice(&head.to_le_bytes());
        bytes[8..16].copy_from_slice(&body.to_le_bytes());
        bytes
    }

    #[test]
    fn a_fatbin_has_the_length_that_its_header_claims() {
        assert_eq!(Format::of(&fatbin(16, 48, 64)), Some(Format::Fatbin));
        for wrong in [
            fatbin(16, 49, 64),
            fatbin(16, 47, 64),
            fatbin(16, u64::MAX, 64),
            fatbin(8, 56, 64),
            fatbin(16, 0, 64)[..15].to_vec(),
        ] {
            assert_eq!(Format::of(&wrong), None, "{wrong:?}");
        }
    }

    /// Returns an ELF file of 256 bytes, for tests. Its single section header, at offset 64, says
    /// that the section is `size` bytes at offset `at`.
    fn elf(at: u64, size: u64) -> Vec<u8> {
        let mut elf = vec![0; 256];
        elf[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2]);
        for (place, value) in [(0x28, 64u64), (0x34, 64), (0x3a, 64 | 1 << 16)] {
            elf[place..place + 4].copy_from_slice(&value.to_le_bytes()[..4]);
        }
        elf[64 + 24..64 + 32].copy_from_slice(&at.to_le_bytes());
        elf[64 + 32..64 + 40].copy_from_slice(&size.to_le_bytes());
        elf
    }

    #[test]
    fn an_elf_may_not_claim_anything_past_its_end() {
        assert_eq!(Format::of(&elf(128, 128)), Some(Format::Elf));
        for (at, size) in [(128, 129), (257, 0), (128, 1 << 40), (u64::MAX, 2)] {
            assert_eq!(Format::of(&elf(at, size)), None, "{size} bytes at {at}");
        }
        let changed = |place: usize, value: u8| {
            let mut elf = elf(128, 128);
            elf[place] = value;
            Format::of(&elf)
        };
        assert_eq!(changed(4, 1), None, "a 32-bit file");
        assert_eq!(changed(0x28, 200), None, "a table past the end");
        // If the header says that there are 0 sections, the size field of the first section
        // contains their number, here 128.
        assert_eq!(changed(0x3c, 0), None, "a number of sections that doesn't fit");
        assert_eq!(changed(0x3a, 0), None, "section headers without a length");
        assert_eq!(Format::of(&elf(128, 128)[..40]), None);
    }

    #[test]
    fn only_text_is_ptx() {
        for text in [&b".version 8.0\n\t// \xc3\xa9\r\n"[..], b"//\n.version 8.0\0", b" "] {
            assert_eq!(Format::of(text), Some(Format::Ptx), "{text:?}");
        }
        for other in [
            &b""[..],
            b"\0",
            b".version\x008.0",
            b".version\x01",
            b"\xb1CbF",
            b"BC\xc0\xde\x35\x14\0\0",
            b"\xed\x43\x4e\x7f",
        ] {
            assert_eq!(Format::of(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_wrapper_is_not_an_image() {
        let target = fatbin(16, 48, 64);
        let mut wrapper = WRAPPER_MAGIC.to_le_bytes().to_vec();
        wrapper.extend_from_slice(&1u32.to_le_bytes());
        wrapper.extend_from_slice(&(target.as_ptr() as u64).to_le_bytes());
        wrapper.extend_from_slice(&[0; 8]);
        assert_eq!(Image::new(&wrapper, PROGRAMS).err(), Some(CuError::INVALID_IMAGE));
    }

    #[test]
    fn entries_that_no_device_can_use_are_left_out() {
        let entries = [(2, 80), (2, 89), (2, 90), (2, 100), (1, 75), (1, 120), (8, 90), (16, 90)];
        let fatbin = |entries: &[(u16, u32)]| {
            let entries = entries.iter().map(|&(kind, arch)| (kind, arch, vec![b' '; 8]));
            crate::calls::contexts::charges::fatbin(&entries.collect::<Vec<_>>())
        };
        let only = |capabilities: &[u32]| only_usable(&fatbin(&entries), capabilities);
        assert_eq!(only(&[90]), Ok(fatbin(&[(2, 90), (1, 75)])));
        assert_eq!(only(&[86]), Ok(fatbin(&[(2, 80), (1, 75)])));
        assert_eq!(only(&[86, 100]), Ok(fatbin(&[(2, 80), (2, 100), (1, 75)])));
        assert_eq!(only(&[70]), Err(CuError::NO_BINARY_FOR_GPU));
        assert_eq!(only_usable(&fatbin(&entries)[..40], &[90]), Err(CuError::INVALID_IMAGE));
    }

    #[test]
    fn archives_are_for_the_linker_alone() {
        let archive = b"!<arch>\n".as_slice();
        assert!(Image::new(archive, PROGRAMS).is_err());
        assert!(Image::new(archive, &[Format::Archive]).is_ok());
    }

    #[test]
    fn zeros_follow_a_text() {
        let image = Image::new(b".version 8.0", PROGRAMS).unwrap();
        // SAFETY: the image is followed by zeros, which terminate the C string.
        let text = unsafe { std::ffi::CStr::from_ptr(image.as_ptr().cast()) };
        assert_eq!(text.to_bytes(), b".version 8.0");
    }
}
