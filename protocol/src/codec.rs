//! Encodes and decodes the arguments and the reply of a command.
//!
//! Every encoding is a multiple of 8 bytes. A scalar or handle takes 8 bytes. A byte string is
//! encoded as its length, followed by its padded bytes. An array is encoded as its length in bytes,
//! followed by its padded elements (docs/device.md, "Arguments"). Decoding works on a private copy.
//! It compares every length with the available bytes before it allocates, and rejects extra bytes
//! at the end.

use core::marker::PhantomData;

/// The reason why bytes can't be decoded as the arguments or the reply of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// There are fewer bytes than the arguments need.
    Short,
    /// There are bytes after the last argument.
    Long,
    /// A value is outside its type's range.
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

/// Encodes arguments into a buffer, which can be reused.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates an empty writer.
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Removes the encoded bytes, but keeps the buffer's memory for reuse.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns the encoded bytes. Their number is a multiple of 8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a scalar or a handle.
    pub fn word(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a byte string.
    pub fn bytes(&mut self, value: &[u8]) {
        self.word(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self.pad();
    }

    /// Appends elements one after the other, without a length.
    pub fn packed<T: Element>(&mut self, values: &[T]) {
        for value in values {
            value.put(self);
        }
        self.pad();
    }

    /// Appends an array: its length in bytes, then its elements.
    pub fn array<'a, T: Element>(&mut self, values: impl Into<Array<'a, T>>) {
        match values.into().source {
            Source::Elements(values) => {
                self.word((values.len() * T::BYTES) as u64);
                self.packed(values);
            }
            Source::Bytes(bytes, _) => self.bytes(bytes),
        }
    }

    /// Appends everything that `then` writes, as a byte string.
    pub fn nested(&mut self, then: impl FnOnce(&mut Self)) {
        let at = self.bytes.len();
        self.word(0);
        then(self);
        let len = (self.bytes.len() - at - 8) as u64;
        self.bytes[at..at + 8].copy_from_slice(&len.to_le_bytes());
    }

    /// Appends bytes without a length or padding.
    fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

/// Decodes arguments.
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

    /// Reads a scalar or a handle.
    pub fn word(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("take gives 8 bytes")))
    }

    /// Reads `N` consecutive elements.
    pub fn packed<T: Element, const N: usize>(&mut self) -> Result<[T; N], DecodeError> {
        let bytes = self.take(N * T::BYTES)?;
        let mut values = [T::ZERO; N];
        for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(T::BYTES)) {
            *value = T::get(bytes)?;
        }
        Ok(values)
    }

    /// Reads an array of at most `max` elements. All of them are decoded once here, so that later
    /// accesses can't fail.
    pub fn array<T: Element>(&mut self, max: usize) -> Result<Array<'a, T>, DecodeError> {
        let bytes = self.bytes()?;
        if !bytes.len().is_multiple_of(T::BYTES) || bytes.len() / T::BYTES > max {
            return Err(DecodeError::Range);
        }
        bytes.chunks_exact(T::BYTES).try_for_each(|bytes| T::get(bytes).map(drop))?;
        Ok(Array { source: Source::Bytes(bytes, PhantomData) })
    }

    /// Reads an array in the same way as [`Reader::array`], and returns a copy of its elements.
    pub fn vec<T: Element>(&mut self, max: usize) -> Result<Vec<T>, DecodeError> {
        Ok(self.array(max)?.iter().collect())
    }

    /// Reads a name: UTF-8 without a zero byte.
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        let text = core::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::Range)?;
        if text.contains('\0') { Err(DecodeError::Range) } else { Ok(text) }
    }

    /// Reads a byte string and decodes its contents with `then`. Fails if `then` doesn't read all
    /// of them.
    pub fn nested<T>(
        &mut self,
        then: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut inner = Self::new(self.bytes()?);
        let value = then(&mut inner)?;
        inner.finish()?;
        Ok(value)
    }

    /// Reads a byte string.
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = usize::try_from(self.word()?).map_err(|_| DecodeError::Range)?;
        self.take(len)
    }

    /// Fails if not all bytes have been read.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Long) }
    }
}

/// A type of fixed size that arrays can hold: a packed integer or a structure.
pub trait Element: Copy + 'static {
    /// The number of bytes of an encoded element.
    const BYTES: usize;
    /// A valid value, with which arrays are initialized.
    const ZERO: Self;
    /// Appends the value as [`Element::BYTES`] bytes.
    fn put(&self, writer: &mut Writer);
    /// Decodes a value from exactly [`Element::BYTES`] bytes.
    fn get(bytes: &[u8]) -> Result<Self, DecodeError>;
}

macro_rules! packed {
    ($($t:ty)*) => { $(
        impl Element for $t {
            const BYTES: usize = size_of::<$t>();
            const ZERO: Self = 0;
            fn put(&self, writer: &mut Writer) {
                writer.raw(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
                Ok(<$t>::from_le_bytes(bytes.try_into().map_err(|_| DecodeError::Short)?))
            }
        }
    )* };
}
packed! { u8 u32 i32 u64 }

/// An array in the arguments or the reply of a call. It contains either elements to encode, or
/// received bytes that have been checked.
#[derive(Clone, Copy)]
pub struct Array<'a, T> {
    source: Source<'a, T>,
}

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Elements(&'a [T]),
    /// Received bytes. Their number is a multiple of [`Element::BYTES`], and all elements are known
    /// to decode.
    Bytes(&'a [u8], PhantomData<T>),
}

impl<'a, T: Element> Array<'a, T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self.source {
            Source::Elements(values) => values.len(),
            Source::Bytes(bytes, _) => bytes.len() / T::BYTES,
        }
    }

    /// Returns whether the array is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element at an index.
    pub fn get(&self, index: usize) -> Option<T> {
        match self.source {
            Source::Elements(values) => values.get(index).copied(),
            Source::Bytes(bytes, _) => {
                let start = index.checked_mul(T::BYTES)?;
                T::get(bytes.get(start..start.checked_add(T::BYTES)?)?).ok()
            }
        }
    }

    /// Returns all elements in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        let array = *self;
        (0..self.len()).map(move |index| array.get(index).unwrap_or(T::ZERO))
    }
}

impl<T: Element + core::fmt::Debug> core::fmt::Debug for Array<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T> From<&'a [T]> for Array<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self { source: Source::Elements(values) }
    }
}

impl<'a, T> From<&'a Vec<T>> for Array<'a, T> {
    fn from(values: &'a Vec<T>) -> Self {
        values.as_slice().into()
    }
}

impl<T> Default for Array<'_, T> {
    fn default() -> Self {
        Self { source: Source::Elements(&[]) }
    }
}

impl<T: Element + PartialEq> PartialEq for Array<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// A list of names in one byte string. A zero byte ends each name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    bytes: Vec<u8>,
}

impl Names {
    /// Adds a name.
    pub fn push(&mut self, name: &core::ffi::CStr) {
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Returns the names in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.bytes
            .split_inclusive(|byte| *byte == 0)
            .filter_map(|name| core::str::from_utf8(name.strip_suffix(&[0])?).ok())
    }

    /// Returns the encoded names.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Checks and copies encoded names. They must be UTF-8, and the last name must also end with a
    /// zero byte.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let ended = bytes.last().is_none_or(|last| *last == 0);
        if !ended || core::str::from_utf8(bytes).is_err() {
            return Err(DecodeError::Range);
        }
        Ok(Self { bytes: bytes.to_vec() })
    }
}

/// A scalar that is encoded as one word.
pub trait Word: Copy {
    /// Zero-extends or sign-extends the value.
    fn to_word(self) -> u64;
    /// Converts a word back, and fails if it is outside the type's range.
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

/// A call of the API table, with its arguments.
pub trait Call<'a>: Sized {
    /// The call's number in the API table.
    const OPCODE: u32;
    /// The name of the entry point.
    const NAME: &'static str;
    /// Whether the caller waits for a reply.
    const WAITED: bool;
    /// Whether the worker runs the call on the worker thread that mirrors the calling guest thread,
    /// because the call may block in the driver.
    const BLOCKING: bool;
    /// The type of the reply; `()` if the call returns only a CUresult.
    type Answer: Answer;

    /// Appends the arguments.
    fn encode(&self, writer: &mut Writer);
    /// Decodes the arguments, and fails if there are extra bytes at the end.
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError>;
}

/// The reply to a waited call, without the CUresult.
pub trait Answer: Sized {
    /// Appends the reply.
    fn encode(&self, writer: &mut Writer);
    /// Decodes a reply.
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
    fn scalars_keep_their_values_and_refuse_others() {
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
