//! Errors in reading images.

/// The reason why an image can't be read. `at` is an offset from the image's start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// The image is shorter than its headers say.
    #[error("the image is truncated: {what} at byte {at} extends past the end at byte {len}")]
    Truncated { what: &'static str, at: usize, len: usize },
    /// A field has a value that no known toolkit writes.
    #[error("{what} at byte {at} is {value:#x}, which no known CUDA toolkit writes")]
    Invalid { what: &'static str, at: usize, value: u64 },
    /// The image has none of the known formats.
    #[error("the image is neither a fatbin, nor an ELF cubin, nor PTX text")]
    UnknownFormat,
    /// A payload can't be decompressed.
    #[error("the {method} payload at byte {at} is damaged: {reason}")]
    Damaged { method: &'static str, at: usize, reason: String },
    /// A payload's decompressed length exceeds the caller's limit.
    #[error("the payload at byte {at} is larger than {limit} bytes when decompressed")]
    TooLarge { at: usize, limit: usize },
    /// The PTX isn't valid UTF-8.
    #[error("the PTX at byte {at} is not UTF-8")]
    NotText { at: usize },
}
