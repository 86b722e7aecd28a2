//! A type for the device memory that a module or library takes.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The device memory that a module or library takes, divided by purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// Bytes of variables and constants, which are allocated when the module or library is loaded.
    pub data: u64,
    /// Bytes of code that doesn't belong to a single kernel.
    pub code: u64,
    /// For each kernel, a hash of its name and the size of its code in bytes. Sorted by hash.
    pub kernels: Vec<(u64, u64)>,
    /// Whether the kernels may call malloc.
    pub uses_heap: bool,
    /// Whether the kernels may call printf.
    pub may_print: bool,
}

impl Footprint {
    /// Returns the size of all code in bytes.
    pub(super) fn all_code(&self) -> u64 {
        self.kernels.iter().fold(self.code, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Sorts the kernels, and adds up those with the same hash: they are parts of one kernel, or a
    /// guest has chosen their names.
    pub(super) fn join_kernels(&mut self) {
        self.kernels.sort_unstable();
        self.kernels.dedup_by(|(name, bytes), (kept, sum)| {
            let is_same = name == kept;
            if is_same {
                *sum = sum.saturating_add(*bytes);
            }
            is_same
        });
    }

    /// Returns the size of a kernel's code in bytes, or 0 if there is no such kernel.
    pub(super) fn code_of(&self, name: &[u8]) -> u64 {
        let at = self.kernels.binary_search_by_key(&name_hash(name), |(name, _)| *name);
        at.map_or(0, |at| self.kernels[at].1)
    }

    pub(super) fn total(&self) -> u64 {
        self.data.saturating_add(self.all_code())
    }
}

/// Hashes a kernel's name. Charges distinguish kernels only by this hash.
pub(super) fn name_hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
