//! A session's budget of host memory for images that are being loaded or linked.
//!
//! To load an image, the worker copies it, the worker and the driver decompress it, and the driver
//! may compile it. A session can do this on many threads at once, so each image takes a part of a
//! budget first, and waits if there is too little left.

use std::sync::{Condvar, Mutex};

use crate::calls::lock::lock;

/// The maximum host memory, in bytes, that a session's images may use at once. An image that needs
/// more than this is processed while no other image is.
const LIMIT: u64 = 256 << 20;

/// The most bytes to which one byte of a fatbin's LZ4 block can be decompressed. NVIDIA's compiler
/// needs less than this many bytes of memory for each byte of PTX.
const MOST: u64 = 255;

/// Tracks the host memory that a session's images use at the moment.
#[derive(Default)]
pub(in crate::calls) struct Budget {
    taken: Mutex<u64>,
    returned: Condvar,
}

/// A part of the budget. Dropping this value returns it to the budget.
pub(in crate::calls) struct Part<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    /// Takes the part of the budget that loading or linking images with this total size in bytes
    /// needs. Assumes the format that needs the most memory, because the images haven't been parsed
    /// yet. Waits until the budget has room, or until no other image uses any of it.
    pub(in crate::calls) fn take_for(&self, images: u64) -> Part<'_> {
        self.take(images.saturating_mul(MOST))
    }

    fn take(&self, bytes: u64) -> Part<'_> {
        let mut taken = lock(&self.taken);
        while *taken > 0 && taken.saturating_add(bytes) > LIMIT {
            taken = self.returned.wait(taken).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        *taken = taken.saturating_add(bytes);
        Part { budget: self, bytes }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut taken = lock(&self.budget.taken);
        *taken = taken.saturating_sub(self.bytes);
        self.budget.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_share_the_budget_and_a_large_one_is_alone() {
        let budget = Budget::default();
        let small = budget.take(LIMIT / 2);
        let other = budget.take(LIMIT / 2);
        std::thread::scope(|scope| {
            let (done, when_done) = std::sync::mpsc::channel();
            let budget = &budget;
            scope.spawn(move || {
                let _large = budget.take(u64::MAX);
                done.send(*lock(&budget.taken)).unwrap();
            });
            drop(small);
            assert!(when_done.try_recv().is_err());
            drop(other);
            assert_eq!(when_done.recv(), Ok(u64::MAX));
        });
        assert_eq!(*lock(&budget.taken), 0);
    }
}
