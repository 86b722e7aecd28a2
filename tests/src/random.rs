//! A small pseudorandom number generator, with which a seed determines the actions of a run.

/// The state of a SplitMix64 generator.
pub struct Random(u64);

impl Random {
    /// Creates a generator. The seed determines all numbers that it returns.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next random 64-bit number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Returns a number from `low` to `high`, including both.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.word() % (high - low + 1)
    }

    /// Returns a random element of `all`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.word() % all.len() as u64) as usize]
    }

    /// Returns `len` random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.word() as u8).collect()
    }
}
