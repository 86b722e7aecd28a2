//! A type for the device memory that a module or library takes.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The maximum number of kernels in an image for which each kernel is charged when it's first used.
/// In an image with more kernels, all code is charged when the image is loaded, and every kernel
/// counts with the local memory of the most demanding one.
pub(super) const MAX_KERNELS: usize = 1 << 16;

/// The device memory that a module or library takes, divided by purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// Bytes of variables and constants, which are allocated when the module or library is loaded.
    pub data: u64,
    /// Bytes of code that doesn't belong to a single kernel.
    pub code: u64,
    /// For each kernel, a hash of its name and the size of its code in bytes. Sorted by hash.
    pub kernels: Vec<(u64, u64)>,
    /// Bytes of local memory per thread that the image declares for all of its kernels.
    pub local: u64,
    /// The hash of each kernel's name, and the bytes of local memory per thread that the image
    /// declares for the kernel. Sorted by hash, and each hash occurs once.
    pub locals: Vec<(u64, u64)>,
    /// Whether the kernels may call malloc.
    pub uses_heap: bool,
    /// Whether the kernels may call printf.
    pub may_print: bool,
    /// Whether the kernels may launch other kernels.
    pub may_launch: bool,
}

impl Footprint {
    /// Returns the size of all code in bytes.
    pub(super) fn all_code(&self) -> u64 {
        self.kernels.iter().fold(self.code, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Sorts the kernels, and merges those with the same hash by adding up their sizes. Equal
    /// hashes mean that they are parts of one kernel, or that a guest has chosen the names for this
    /// purpose.
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

    /// Sorts the entries for the local memory of kernels, and keeps only the largest entry of each
    /// kernel.
    pub(super) fn join_locals(&mut self) {
        self.locals.sort_unstable_by_key(|&(name, bytes)| (name, std::cmp::Reverse(bytes)));
        self.locals.dedup_by_key(|(name, _)| *name);
        if self.locals.len() > MAX_KERNELS {
            let most = self.locals.drain(..).map(|(_, bytes)| bytes).max();
            self.local = self.local.max(most.unwrap_or(0));
        }
    }

    /// Returns the bytes of local memory per thread that the image declares for the kernel whose
    /// name has the hash `name`.
    pub(super) fn local_of(&self, name: u64) -> u64 {
        let at = self.locals.binary_search_by_key(&name, |(name, _)| *name);
        at.map_or(0, |at| self.locals[at].1).max(self.local)
    }

    /// Returns the larger of two footprints, of which the driver will choose one. The result has
    /// the maximum of the local memory of both, and all functions that kernels of either may call.
    pub(super) fn or(mut self, mut other: Self) -> Self {
        let larger = other.total() > self.total();
        if larger {
            std::mem::swap(&mut self, &mut other);
        }
        self.local = self.local.max(other.local);
        self.locals.append(&mut other.locals);
        self.join_locals();
        self.uses_heap |= other.uses_heap;
        self.may_print |= other.may_print;
        self.may_launch |= other.may_launch;
        self
    }

    /// Adds the footprint of PTX text that the driver loads in addition to this image.
    pub(super) fn add(&mut self, ptx: Self) {
        self.data = self.data.saturating_add(ptx.data);
        self.code = self.code.saturating_add(ptx.code);
        self.uses_heap |= ptx.uses_heap;
        self.may_print |= ptx.may_print;
        self.may_launch |= ptx.may_launch;
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
