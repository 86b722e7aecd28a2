//! Finds the end of an image.
//!
//! `cuModuleLoadData`, `cuLibraryLoadData` and similar functions take no length. A library that
//! sends an image elsewhere must find the length in the image itself.

use super::{ELF_MAGIC, FATBIN_MAGIC, FatbinError, Reader, WRAPPER_MAGIC, elf, header, invalid};
use core::ffi::{CStr, c_void};

/// The format of a [`Span`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A fatbin, including its header.
    Fatbin,
    /// An ELF cubin.
    Elf,
    /// PTX text, including its final zero.
    Ptx,
}

/// The format, address and length of an image in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub kind: SpanKind,
    pub start: *const u8,
    pub len: usize,
}

impl Span {
    /// # Safety
    /// The image must stay in memory, unchanged, for as long as the result is used.
    pub unsafe fn bytes<'a>(&self) -> &'a [u8] {
        // SAFETY: `span` found an image of this length, and the caller keeps it unchanged.
        unsafe { core::slice::from_raw_parts(self.start, self.len) }
    }
}

/// Version number of a wrapper that points to one fatbin.
const WRAPPER_ONE: u32 = 1;
/// Version number of a wrapper for relocatable device code. It points to the linked fatbin and to a
/// null-terminated array of its inputs, from which PTX can be linked again.
const WRAPPER_LINKED: u32 = 2;

/// Returns the pieces that make up an image: the fatbins that a wrapper points to, or the one
/// fatbin, ELF file or PTX text at the address itself. The image need not be aligned.
///
/// # Safety
/// `image` must be null or a pointer that `cuModuleLoadData` or `cuLibraryLoadData` accepts, and
/// the whole image must be readable.
pub unsafe fn span(image: *const c_void) -> Result<Vec<Span>, FatbinError> {
    let start: *const u8 = image.cast();
    if start.is_null() {
        return Err(FatbinError::UnknownFormat);
    }
    // SAFETY: the caller promises that the whole image is readable, and every image has at least
    // the bytes that `begins_with` compares up to the first difference.
    if unsafe { begins_with(start, &WRAPPER_MAGIC.to_le_bytes()) } {
        // SAFETY: the image begins with a wrapper's magic number, so it is a wrapper, all of which
        // is readable as the caller promises.
        return unsafe { wrapper(start) };
    }
    // SAFETY: the pointer isn't null, and the caller promises that the whole image is readable.
    Ok(vec![unsafe { single(start)? }])
}

/// Returns the image at the start of a file's bytes: a fatbin, an ELF file, or PTX text with its
/// final zero. Nothing beyond the bytes is read. It fails for an image that is longer than the
/// bytes, and for a wrapper, whose addresses mean nothing in a file.
pub fn prefix(bytes: &[u8]) -> Result<&[u8], FatbinError> {
    let truncated = |what| FatbinError::Truncated { what, at: 0, len: bytes.len() };
    if bytes.starts_with(&FATBIN_MAGIC.to_le_bytes()) {
        let (_, len) = header(&Reader(bytes))?;
        return bytes.get(..len).ok_or(truncated("the fatbin"));
    }
    if bytes.starts_with(&ELF_MAGIC) {
        let read = |at: u64, width: usize| {
            let field = bytes.get(usize::try_from(at).ok()?..)?.get(..width)?;
            Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
        };
        let len = elf::len(&read).ok_or(truncated("the ELF file's headers"))?;
        let len = usize::try_from(len).ok();
        return len.and_then(|len| bytes.get(..len)).ok_or(truncated("the ELF file"));
    }
    let text = CStr::from_bytes_until_nul(bytes).map_err(|_| FatbinError::UnknownFormat)?;
    let text = text.to_bytes_with_nul();
    if super::is_ptx(text) { Ok(text) } else { Err(FatbinError::UnknownFormat) }
}

/// # Safety
/// `start` must not be null, and a fatbin, an ELF file, or PTX text must be readable there.
unsafe fn single(start: *const u8) -> Result<Span, FatbinError> {
    // SAFETY: the caller promises that there is an image. The magic numbers are compared byte by
    // byte, so that nothing beyond a short text is read.
    let (fatbin, elf) = unsafe {
        (begins_with(start, &FATBIN_MAGIC.to_le_bytes()), begins_with(start, &ELF_MAGIC))
    };
    let (kind, len) = if fatbin {
        // SAFETY: a fatbin has a header of at least this length.
        let bytes = unsafe { core::slice::from_raw_parts(start, super::FATBIN_HEADER) };
        (SpanKind::Fatbin, header(&Reader(bytes))?.1)
    } else if elf {
        let read = |at: u64, width: usize| {
            let mut field = [0u8; 8];
            let at = usize::try_from(at).ok()?;
            // SAFETY: `elf::len` reads only what the file's headers describe.
            unsafe {
                let field = field.as_mut_ptr();
                core::ptr::copy_nonoverlapping(start.wrapping_add(at), field, width);
            }
            Some(u64::from_le_bytes(field))
        };
        let len = elf::len(&read).and_then(|len| usize::try_from(len).ok());
        (SpanKind::Elf, len.ok_or(FatbinError::UnknownFormat)?)
    } else {
        // SAFETY: PTX ends with a zero.
        let text = unsafe { CStr::from_ptr(start.cast()) }.to_bytes_with_nul();
        if !super::is_ptx(text) {
            return Err(FatbinError::UnknownFormat);
        }
        (SpanKind::Ptx, text.len())
    };
    // No object in memory is longer than `isize::MAX`, and a slice must not be.
    if isize::try_from(len).is_err() {
        return Err(FatbinError::UnknownFormat);
    }
    Ok(Span { kind, start, len })
}

/// # Safety
/// There must be a wrapper at `start`.
unsafe fn wrapper(start: *const u8) -> Result<Vec<Span>, FatbinError> {
    // SAFETY: a wrapper has these four fields.
    let (version, linked, parts) = unsafe {
        (
            start.add(4).cast::<u32>().read_unaligned(),
            start.add(8).cast::<*const u8>().read_unaligned(),
            start.add(16).cast::<*const *const u8>().read_unaligned(),
        )
    };
    if version != WRAPPER_ONE && version != WRAPPER_LINKED {
        return Err(invalid("the wrapper's version", 4, version));
    }
    let mut spans = Vec::new();
    if !linked.is_null() {
        // SAFETY: a wrapper points to an image.
        spans.push(unsafe { single(linked)? });
    }
    if version == WRAPPER_LINKED && !parts.is_null() {
        for index in 0.. {
            // SAFETY: the array continues until a null pointer.
            let part = unsafe { parts.add(index).read_unaligned() };
            if part.is_null() {
                break;
            }
            // SAFETY: the address points to an image.
            spans.push(unsafe { single(part)? });
        }
    }
    if spans.is_empty() { Err(FatbinError::UnknownFormat) } else { Ok(spans) }
}

/// Returns whether an image in memory is an ELF file.
///
/// # Safety
/// There must be an image at the address, or a text that ends with a zero.
pub unsafe fn is_elf(image: *const c_void) -> bool {
    // SAFETY: the caller promises that the bytes are readable up to the first difference.
    unsafe { begins_with(image.cast(), &ELF_MAGIC) }
}

/// # Safety
/// The bytes at `start` must be readable up to the first that differs from `magic`.
unsafe fn begins_with(start: *const u8, magic: &[u8]) -> bool {
    // SAFETY: the caller promises that these bytes are readable; the comparison stops at the first
    // difference.
    magic.iter().enumerate().all(|(index, &byte)| unsafe { *start.add(index) } == byte)
}
