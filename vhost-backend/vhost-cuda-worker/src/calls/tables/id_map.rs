//! Maps whose keys are ids from the guest.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A fast hash function for the guest's ids. Guests normally use small ascending numbers, for which
/// a weak hash suffices. A guest that chooses colliding ids slows down only its own worker.
#[derive(Default)]
pub(in crate::calls) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
}

/// An id that the guest chooses for an object.
pub(in crate::calls) trait Id: Copy + Default + Eq + Hash {}

impl<T: Copy + Default + Eq + Hash> Id for T {}

pub(in crate::calls) type IdMap<K, T> = HashMap<K, T, BuildHasherDefault<IdHasher>>;
