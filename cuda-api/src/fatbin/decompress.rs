//! Decompresses payloads, with a limit on the decompressed length.

use super::error::FatbinError;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::Read;

/// The maximum ratio of an LZ4 block's decompressed length to its own length: each byte of the
/// block adds at most 255 to the length of a literal or match.
const LZ4_MAX_RATIO: usize = 255;

pub enum Error {
    TooLarge,
    Damaged { method: &'static str, reason: String },
}

impl Error {
    /// Converts this error to a [`FatbinError`] for the payload at byte `at` of the image.
    pub fn at(self, at: usize, limit: usize) -> FatbinError {
        match self {
            Error::TooLarge => FatbinError::TooLarge { at, limit },
            Error::Damaged { method, reason } => FatbinError::Damaged { method, at, reason },
        }
    }
}

/// Decompresses payloads one after another, and reuses its memory for the next one, because
/// allocating memory from the kernel takes a third as long as decompressing.
#[derive(Default)]
pub struct Decompressor {
    zstd: FrameDecoder,
    out: Vec<u8>,
    /// The length in bytes of the longest payload so far.
    longest: usize,
}

impl Decompressor {
    /// Returns the length in bytes of the longest payload so far. The decompressor keeps a few
    /// times as much memory.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Decompresses one LZ4 block. `len` is the decompressed length, or 0 if it is not known.
    pub(super) fn lz4(&mut self, block: &[u8], len: u64, limit: usize) -> Result<&[u8], Error> {
        let possible = block.len().saturating_mul(LZ4_MAX_RATIO);
        // Don't trust `len`: allocate at most as much as the block can expand to.
        let room = match usize::try_from(len) {
            Ok(0) => possible.min(limit),
            Ok(len) if len <= limit => len.min(possible),
            _ => return Err(Error::TooLarge),
        };
        if self.out.len() < room {
            self.out.resize(room, 0);
        }
        self.longest = self.longest.max(room);
        match lz4_flex::block::decompress_into(block, &mut self.out[..room]) {
            Ok(written) => Ok(&self.out[..written]),
            Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) if room == limit => {
                Err(Error::TooLarge)
            }
            Err(error) => Err(Error::Damaged { method: "LZ4", reason: error.to_string() }),
        }
    }

    /// Decompresses a zstd frame. `len` only suggests the initial capacity of the buffer.
    pub(super) fn zstd(&mut self, frame: &[u8], len: u64, limit: usize) -> Result<&[u8], Error> {
        let damaged = |reason: String| Error::Damaged { method: "zstd", reason };
        let decoder = StreamingDecoder::new_with_decoder(frame, &mut self.zstd)
            .map_err(|error| damaged(error.to_string()))?;
        self.out.clear();
        // Trust the claimed length only up to a limit; the buffer grows if more is needed.
        self.out.reserve(usize::try_from(len).unwrap_or(0).min(limit).min(1 << 20));
        let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let read = decoder.take(bound).read_to_end(&mut self.out);
        self.longest = self.longest.max(self.out.len());
        read.map_err(|error| damaged(error.to_string()))?;
        if self.out.len() > limit { Err(Error::TooLarge) } else { Ok(&self.out) }
    }
}
