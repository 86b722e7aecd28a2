//! How a command's arguments and its answer become bytes, and back.
//!
//! Everything is a multiple of 8 bytes: a scalar or handle takes 8, a structure its bytes padded,
//! a byte string its length, then its bytes padded (docs/device.md, "Arguments"). Decoding works
//! on a private copy, checks every length against what is there, and refuses bytes left over.

use crate::plain::Plain;

/// Why bytes are not the arguments that their opcode asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Fewer bytes than the arguments need.
    Short,
    /// Bytes after the last argument.
    Long,
    /// A value outside its type's range.
    Range,
}

impl core::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Short => "arguments end early",
            Self::Long => "bytes are left over after the last argument",
            Self::Range => "an argument is outside its type's range",
        })
    }
}

impl std::error::Error for DecodeError {}

/// Collects encoded arguments; its buffer is meant to be used again.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// An empty writer.
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Forgets the content, keeps the buffer.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// What was written; its length is a multiple of 8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a scalar or a handle.
    pub fn word(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a structure.
    pub fn plain<T: Plain>(&mut self, value: &T) {
        self.bytes.extend_from_slice(value.as_bytes());
        self.pad();
    }

    /// Appends a byte string.
    pub fn bytes(&mut self, value: &[u8]) {
        self.word(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

/// Takes encoded arguments apart.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from `bytes`, which must be a private copy of what the peer sent.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let padded = len.checked_next_multiple_of(8).ok_or(DecodeError::Short)?;
        if padded > self.rest.len() {
            return Err(DecodeError::Short);
        }
        let (taken, rest) = self.rest.split_at(padded);
        self.rest = rest;
        Ok(&taken[..len])
    }

    /// A scalar or a handle.
    pub fn word(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("take gives 8 bytes")))
    }

    /// A structure.
    pub fn plain<T: Plain>(&mut self) -> Result<T, DecodeError> {
        T::from_bytes(self.take(size_of::<T>())?).ok_or(DecodeError::Short)
    }

    /// A byte string.
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = usize::try_from(self.word()?).map_err(|_| DecodeError::Range)?;
        self.take(len)
    }

    /// Refuses bytes that nobody asked for.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Long) }
    }
}

/// A scalar that takes one word on the wire.
pub trait Word: Copy {
    /// Zero- or sign-extends the value.
    fn to_word(self) -> u64;
    /// Takes the value back; a word outside the type's range is refused.
    fn from_word(word: u64) -> Result<Self, DecodeError>;
}

macro_rules! words {
    ($($t:ty)*) => { $(
        impl Word for $t {
            fn to_word(self) -> u64 {
                self as i128 as u64
            }
            fn from_word(word: u64) -> Result<Self, DecodeError> {
                let value = word as $t;
                if value.to_word() == word { Ok(value) } else { Err(DecodeError::Range) }
            }
        }
    )* };
}
words! { u8 u16 u32 u64 i32 i64 usize }

impl Word for f32 {
    fn to_word(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn from_word(word: u64) -> Result<Self, DecodeError> {
        u32::from_word(word).map(f32::from_bits)
    }
}

/// A call of the API table: its arguments, as they cross the boundary.
pub trait Call<'a>: Sized {
    /// Number in the API table.
    const OPCODE: u32;
    /// Name of the entry point.
    const NAME: &'static str;
    /// Whether the caller waits for an answer.
    const WAITED: bool;
    /// Whether the worker runs it on the thread that mirrors the guest's.
    const BLOCKING: bool;
    /// What comes back; `()` if only a result does.
    type Answer: Answer;

    /// Appends the arguments.
    fn encode(&self, writer: &mut Writer);
    /// Takes the arguments apart, all of them.
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError>;
}

/// What a waited call brings back beside its CUresult.
pub trait Answer: Sized {
    /// Appends the answer.
    fn encode(&self, writer: &mut Writer);
    /// Takes an answer apart.
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;
}

impl Answer for () {
    fn encode(&self, _: &mut Writer) {}
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn scalars_keep_their_values_and_refuse_what_does_not_fit() {
        assert_eq!(i32::from_word((-7i32).to_word()), Ok(-7));
        assert_eq!(u32::from_word(u64::from(u32::MAX)), Ok(u32::MAX));
        assert_eq!(u32::from_word(1 << 32), Err(DecodeError::Range));
        assert_eq!(i32::from_word(1 << 31), Err(DecodeError::Range));
        assert_eq!(f32::from_word(1.5f32.to_word()), Ok(1.5));
    }

    #[test]
    fn byte_strings_are_padded_and_bounded() {
        let mut writer = Writer::new();
        writer.bytes(b"twelve bytes");
        writer.word(9);
        assert_eq!(writer.as_bytes().len(), 8 + 16 + 8);
        let mut reader = Reader::new(writer.as_bytes());
        assert_eq!(reader.bytes(), Ok(&b"twelve bytes"[..]));
        assert_eq!(reader.word(), Ok(9));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn a_length_past_the_end_is_refused() {
        for len in [9, u64::MAX, u64::MAX - 7] {
            let mut bytes = len.to_le_bytes().to_vec();
            bytes.extend([0; 8]);
            assert_eq!(Reader::new(&bytes).bytes(), Err(DecodeError::Short));
        }
    }
}
