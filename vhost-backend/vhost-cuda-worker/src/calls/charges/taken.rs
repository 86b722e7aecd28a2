//! The device memory that a load takes.

use std::hash::{DefaultHasher, Hash, Hasher};

/// What a load takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// Bytes of variables and constants, taken at the load.
    pub data: u64,
    /// Bytes of code that is loaded with any kernel.
    pub code: u64,
    /// Each kernel's name, hashed, and its code's bytes; in order.
    pub kernels: Vec<(u64, u64)>,
    /// Kernels may call malloc.
    pub uses_heap: bool,
}

impl Footprint {
    /// All of the code.
    pub(super) fn all_code(&self) -> u64 {
        self.kernels.iter().fold(self.code, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The code of one kernel.
    pub(super) fn code_of(&self, name: &[u8]) -> u64 {
        let at = self.kernels.binary_search_by_key(&name_hash(name), |(name, _)| *name);
        at.map_or(0, |at| self.kernels[at].1)
    }

    pub(super) fn total(&self) -> u64 {
        self.data.saturating_add(self.all_code())
    }
}

/// Names are compared by hash: a guest that makes its own kernels' collide gets its own account a
/// little wrong.
pub(super) fn name_hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
