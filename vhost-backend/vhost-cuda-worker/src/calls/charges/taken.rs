//! The device memory that a load takes.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The memory that a load takes, divided by purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// Bytes of variables and constants, which are allocated when the image is loaded.
    pub data: u64,
    /// Bytes of code that belongs to no single kernel.
    pub code: u64,
    /// A hash of each kernel's name, with the size of the kernel's code in bytes. Sorted.
    pub kernels: Vec<(u64, u64)>,
    /// Whether kernels may call malloc.
    pub uses_heap: bool,
}

impl Footprint {
    /// Returns the bytes of all code.
    pub(super) fn all_code(&self) -> u64 {
        self.kernels.iter().fold(self.code, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Returns the bytes of one kernel's code.
    pub(super) fn code_of(&self, name: &[u8]) -> u64 {
        let at = self.kernels.binary_search_by_key(&name_hash(name), |(name, _)| *name);
        at.map_or(0, |at| self.kernels[at].1)
    }

    pub(super) fn total(&self) -> u64 {
        self.data.saturating_add(self.all_code())
    }
}

/// Hashes a kernel's name. Only hashes are compared. If a guest makes the names of its kernels
/// collide, only its own account becomes slightly wrong.
pub(super) fn name_hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
