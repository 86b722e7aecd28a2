//! The images that programs pass to the module loaders: fatbins, ELF cubins and PTX text.
//!
//! A fatbin is a header and a sequence of entries. An entry is a header and a payload: PTX or a
//! cubin for one architecture, usually compressed. [`Fatbin`] parses a fatbin without trusting any
//! of it: every length is checked, and decompression stops at a limit. [`span`](span()) finds the
//! end of an image when only its address is known, and [`prefix`] finds the end of an image in a
//! file.

mod decompress;
mod elf;
mod error;
mod span;

pub use decompress::Decompressor;
pub use error::FatbinError;
pub use span::{Span, SpanKind, is_elf, prefix, span};

use crate::error::CuError;

/// First word of a wrapper, the structure that nvcc puts around a fatbin's address.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// First word of a fatbin.
pub const FATBIN_MAGIC: u32 = 0xba55_ed50;
/// First bytes of an ELF file. A cubin is an ELF file.
pub const ELF_MAGIC: [u8; 4] = *b"\x7fELF";

/// Length of a fatbin's header: magic, version, header length, and length of the rest.
const FATBIN_HEADER: usize = 16;
/// The offset in a fatbin's header of the field that contains the length of the rest.
const LENGTH_AT: usize = 8;
/// Minimum length of an entry header. Newer toolkits write longer headers; each header contains its
/// own length.
const ENTRY_HEADER: usize = 64;

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;

/// Returns whether a library is loaded in spite of an error in its image, so that the calls that
/// look up something in the library return the error. NVIDIA's driver defers errors in the same
/// way. It checks only the headers of an ELF file when it loads the library.
pub fn is_deferred(error: CuError, of_elf_file: bool) -> bool {
    match error {
        CuError::INVALID_PTX | CuError::UNSUPPORTED_PTX_VERSION | CuError::NO_BINARY_FOR_GPU => {
            true
        }
        CuError::INVALID_IMAGE => !of_elf_file,
        _ => false,
    }
}

/// The kind of an entry's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// Machine code for one architecture.
    Cubin,
    /// Another kind, by its number: for example intermediate code for link-time optimization.
    Other(u16),
}

/// An image that can be compiled or loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// PTX text, without the zero bytes at its end.
    Ptx(String),
    /// An ELF file.
    Cubin(Vec<u8>),
}

/// A fatbin in memory.
#[derive(Debug, Clone, Copy)]
pub struct Fatbin<'a> {
    bytes: &'a [u8],
    header_len: usize,
}

impl<'a> Fatbin<'a> {
    /// Parses the fatbin's header. Bytes after the fatbin are ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FatbinError> {
        let (header_len, total) = header(&Reader(bytes))?;
        match bytes.get(..total) {
            Some(bytes) => Ok(Self { bytes, header_len }),
            None => Err(FatbinError::Truncated { what: "the fatbin", at: 0, len: bytes.len() }),
        }
    }

    /// Returns the bytes of the whole fatbin, including headers.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns a fatbin with only those entries that `keep` selects, or `None` if it selects none.
    ///
    /// # Errors
    ///
    /// Fails if an entry can't be read.
    pub fn only(&self, keep: impl Fn(&Entry<'_>) -> bool) -> Result<Option<Vec<u8>>, FatbinError> {
        let mut only = self.bytes[..self.header_len].to_vec();
        let mut at = self.header_len;
        for entry in self.entries() {
            let entry = entry?;
            if keep(&entry) {
                only.extend_from_slice(&self.bytes[at..entry.end]);
            }
            at = entry.end;
        }
        let len = only.len() - self.header_len;
        only[LENGTH_AT..][..8].copy_from_slice(&(len as u64).to_le_bytes());
        Ok((len != 0).then_some(only))
    }

    /// Returns the entries in order. The iterator ends after the first error.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'a>, FatbinError>> + use<'a> {
        let bytes = self.bytes;
        let mut at = self.header_len;
        std::iter::from_fn(move || {
            if bytes[at..].iter().all(|&byte| byte == 0) {
                return None; // The end, or padding before it.
            }
            let entry = Entry::parse(bytes, at);
            at = entry.as_ref().map_or(bytes.len(), |entry| entry.end);
            Some(entry)
        })
    }
}

/// The flags of an entry that say how its payload is compressed. Known toolkits set at most one,
/// and only [`FLAG_LZ4`] or [`FLAG_ZSTD`].
const FLAGS_COMPRESSED: u64 = 0xf000;

/// Returns the lengths of a fatbin's header and of the whole fatbin.
fn header(reader: &Reader<'_>) -> Result<(usize, usize), FatbinError> {
    let magic = reader.u32("the fatbin's magic", 0)?;
    if magic != FATBIN_MAGIC {
        return Err(invalid("the fatbin's magic", 0, magic));
    }
    let version = reader.u16("the fatbin's version", 4)?;
    if version != 1 {
        return Err(invalid("the fatbin's version", 4, version));
    }
    let header_len = reader.u16("the fatbin's header length", 6)?;
    if usize::from(header_len) < FATBIN_HEADER {
        return Err(invalid("the fatbin's header length", 6, header_len));
    }
    let body = reader.u64("the fatbin's length", LENGTH_AT)?;
    let total = usize::try_from(body).ok().and_then(|body| body.checked_add(header_len.into()));
    Ok((header_len.into(), total.ok_or(invalid("the fatbin's length", 8, body))?))
}

/// One entry of a fatbin.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The kind of the payload.
    pub kind: Kind,
    /// The architecture: 90 for sm_90 or compute_90.
    pub arch: u32,
    flags: u64,
    /// The decompressed length according to the entry's header, or 0 if the header has none.
    decompressed_len: u64,
    payload: &'a [u8],
    payload_at: usize,
    end: usize,
}

impl<'a> Entry<'a> {
    fn parse(bytes: &'a [u8], at: usize) -> Result<Self, FatbinError> {
        let reader = Reader(bytes);
        if bytes.len() - at < ENTRY_HEADER {
            let what = "an entry's header";
            return Err(FatbinError::Truncated { what, at, len: bytes.len() });
        }
        let header_len = reader.u32("an entry's header length", at + 4)?;
        if (header_len as usize) < ENTRY_HEADER {
            return Err(invalid("an entry's header length", at + 4, header_len));
        }
        let flags = reader.u64("an entry's flags", at + 40)?;
        if ![0, FLAG_LZ4, FLAG_ZSTD].contains(&(flags & FLAGS_COMPRESSED)) {
            return Err(invalid("an entry's flags", at + 40, flags));
        }
        let stored = reader.u64("an entry's length", at + 8)?;
        // The stored length includes padding, but decompressors need the exact length.
        let used = match flags & (FLAG_LZ4 | FLAG_ZSTD) {
            0 => stored,
            _ => reader.u32("an entry's compressed length", at + 16)?.into(),
        };
        if used > stored {
            return Err(invalid("an entry's compressed length", at + 16, used));
        }
        let payload_at = at.checked_add(header_len as usize);
        let end_of = |len: u64| payload_at?.checked_add(usize::try_from(len).ok()?);
        let (payload_at, payload, end) = (|| {
            let payload = bytes.get(payload_at?..end_of(used)?)?;
            Some((payload_at?, payload, end_of(stored).filter(|&end| end <= bytes.len())?))
        })()
        .ok_or(FatbinError::Truncated { what: "an entry", at, len: bytes.len() })?;
        Ok(Self {
            kind: match reader.u16("an entry's kind", at)? {
                1 => Kind::Ptx,
                2 => Kind::Cubin,
                other => Kind::Other(other),
            },
            arch: reader.u32("an entry's architecture", at + 28)?,
            flags,
            decompressed_len: reader.u64("an entry's decompressed length", at + 56)?,
            payload,
            payload_at,
            end,
        })
    }

    /// Returns the payload, decompressed if necessary. Fails if it is longer than `limit` bytes.
    pub fn payload(&self, limit: usize) -> Result<Vec<u8>, FatbinError> {
        self.payload_with(&mut Decompressor::default(), limit).map(<[u8]>::to_vec)
    }

    /// Returns the payload as [`payload`](Self::payload) does, with a decompressor that the caller
    /// can reuse.
    pub fn payload_with<'b>(
        &self,
        decompressor: &'b mut Decompressor,
        limit: usize,
    ) -> Result<&'b [u8], FatbinError>
    where
        'a: 'b,
    {
        let payload = if self.flags & FLAG_ZSTD != 0 {
            decompressor.zstd(self.payload, self.decompressed_len, limit)
        } else if self.flags & FLAG_LZ4 != 0 {
            decompressor.lz4(self.payload, self.decompressed_len, limit)
        } else if self.payload.len() > limit {
            Err(decompress::Error::TooLarge)
        } else {
            Ok(self.payload)
        };
        payload.map_err(|error| error.at(self.payload_at, limit))
    }

    /// Returns the payload as an image, or `None` for payloads of other kinds.
    pub fn image(&self, limit: usize) -> Result<Option<Image>, FatbinError> {
        Ok(match self.kind {
            Kind::Ptx => Some(Image::Ptx(text(self.payload(limit)?, self.payload_at)?)),
            Kind::Cubin => Some(Image::Cubin(self.payload(limit)?)),
            Kind::Other(_) => None,
        })
    }
}

/// Returns whether NVIDIA's driver compiles an image as PTX. It does so if the image contains the
/// directive with which PTX begins, even if the rest isn't valid.
pub fn is_ptx(bytes: &[u8]) -> bool {
    const BEGIN: &[u8] = b".version";
    bytes.windows(BEGIN.len()).any(|window| window == BEGIN)
}

/// Returns the PTX text up to its first zero byte, at which the driver stops reading too.
fn text(mut bytes: Vec<u8>, at: usize) -> Result<String, FatbinError> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    String::from_utf8(bytes).map_err(|_| FatbinError::NotText { at })
}

fn invalid(what: &'static str, at: usize, value: impl Into<u64>) -> FatbinError {
    FatbinError::Invalid { what, at, value: value.into() }
}

/// Reads little-endian fields from a slice.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn field<const N: usize>(&self, what: &'static str, at: usize) -> Result<[u8; N], FatbinError> {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or(FatbinError::Truncated { what, at, len: self.0.len() })
    }

    fn u16(&self, what: &'static str, at: usize) -> Result<u16, FatbinError> {
        self.field(what, at).map(u16::from_le_bytes)
    }

    fn u32(&self, what: &'static str, at: usize) -> Result<u32, FatbinError> {
        self.field(what, at).map(u32::from_le_bytes)
    }

    fn u64(&self, what: &'static str, at: usize) -> Result<u64, FatbinError> {
        self.field(what, at).map(u64::from_le_bytes)
    }
}
