//! Numbers and choices from a fuzzer's bytes. When the bytes are used up, every number is 0, so
//! that each input has an end.

use arbitrary::Unstructured;

/// The bytes of one run.
pub struct Input<'a> {
    bytes: Unstructured<'a>,
}

impl<'a> Input<'a> {
    /// Reads from a fuzzer's bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: Unstructured::new(bytes) }
    }

    /// Returns whether all bytes have been used.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns a byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes.arbitrary().unwrap_or(0)
    }

    /// Returns a number of 32 bits.
    pub fn number(&mut self) -> u32 {
        self.bytes.arbitrary().unwrap_or(0)
    }

    /// Returns a number of 64 bits.
    pub fn long(&mut self) -> u64 {
        self.bytes.arbitrary().unwrap_or(0)
    }

    /// Returns true with a probability of about 1 in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 1
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        match end.checked_sub(1) {
            Some(last) => self.bytes.int_in_range(0..=last).unwrap_or(0),
            None => 0,
        }
    }

    /// Returns one of the values.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Returns at most `max` of the next bytes.
    pub fn bytes(&mut self, max: usize) -> &'a [u8] {
        let len = self.below(max + 1).min(self.bytes.len());
        self.bytes.bytes(len).unwrap_or_default()
    }

    /// Returns all bytes that are left.
    pub fn rest(self) -> &'a [u8] {
        self.bytes.take_rest()
    }
}
