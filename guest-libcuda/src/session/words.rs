//! Completion words: words in the arena that the GPU writes when it reaches the point that a thread
//! waits for (docs/design/words.md).

use super::arena::{Arena, Part};
use protocol::words::{COUNT, Progress, Slots, WaitValue};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The distance between two words in bytes: a cache line, so that one thread's word doesn't slow
/// down the thread that polls another.
const STRIDE: usize = 64;

/// The words of a session.
#[derive(Default)]
pub struct Words {
    page: OnceLock<Option<Part>>,
    slots: Slots,
    /// Whether the host doesn't know the calls that take completion words, as the previous release
    /// doesn't.
    unknown: AtomicBool,
}

/// A completion word, and the value by which one wait recognizes its own progress in the word.
pub struct Word<'a> {
    words: &'a Words,
    index: usize,
    /// The word's offset in the arena.
    pub offset: u64,
    pub value: WaitValue,
    at: &'a AtomicU64,
}

/// Returns the word at this index in the part of the arena for words.
fn at(arena: &Arena, page: Part, index: usize) -> &AtomicU64 {
    let offset = page.offset + index * STRIDE;
    let word = arena.ptr(Part { offset, len: size_of::<u64>() });
    // SAFETY: `index` is less than the number of words in the part. The part belongs to `Words` as
    // long as the arena exists, its words are aligned, and the guest, the worker, and the GPU
    // access them atomically.
    unsafe { AtomicU64::from_ptr(word.cast()) }
}

/// Takes a part of the arena for the words, and sets all of them to 0. They could otherwise contain
/// data that the program has uploaded, which could look like the value that ends a wait.
fn prepare(arena: &Arena) -> Option<Part> {
    let page = arena.try_take(COUNT * STRIDE)?;
    (0..COUNT).for_each(|index| at(arena, page, index).store(0, Ordering::Relaxed));
    Some(page)
}

impl Words {
    /// Takes a word for a wait. Returns `None` if the host doesn't know completion words, or if all
    /// are in use.
    pub fn take<'a>(&'a self, arena: &'a Arena) -> Option<Word<'a>> {
        if self.unknown.load(Ordering::Relaxed) {
            return None;
        }
        let page = (*self.page.get_or_init(|| prepare(arena)))?;
        let (index, value) = self.slots.take()?;
        let offset = (page.offset + index * STRIDE) as u64;
        Some(Word { words: self, index, offset, value, at: at(arena, page, index) })
    }

    /// Makes later waits work without words, because the host doesn't know them.
    pub fn forget(&self) {
        self.unknown.store(true, Ordering::Relaxed);
    }
}

impl Word<'_> {
    /// Returns the progress of the wait.
    #[inline]
    pub fn progress(&self) -> Progress {
        self.value.progress(self.at.load(Ordering::Acquire))
    }
}

impl Drop for Word<'_> {
    fn drop(&mut self) {
        self.words.slots.give(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_uploads_do_not_end_waits() {
        // Fill the arena with data that a program could have uploaded: integers that equal the
        // values of the first waits.
        let mut memory: Vec<u64> =
            (0..(4u64 << 20) / 8).map(|i| 2 * (i % 512 / 8 + 1) + 1).collect();
        // SAFETY: `memory` has 4 MiB and outlives the arena.
        let arena = unsafe { Arena::new(memory.as_mut_ptr().cast(), 4 << 20) };
        let words = Words::default();
        let taken: Vec<Word<'_>> = (0..COUNT).map(|_| words.take(&arena).unwrap()).collect();
        assert!(taken.iter().all(|word| word.progress() == Progress::Unknown));
    }

    #[test]
    fn a_word_serves_one_wait_at_a_time() {
        let mut memory = vec![0u64; (4 << 20) / 8];
        // SAFETY: `memory` has 4 MiB and outlives the arena.
        let arena = unsafe { Arena::new(memory.as_mut_ptr().cast(), 4 << 20) };
        let words = Words::default();
        let mut taken: Vec<Word<'_>> = (0..COUNT).map(|_| words.take(&arena).unwrap()).collect();
        assert!(words.take(&arena).is_none(), "all are in use");
        let mut offsets: Vec<u64> = taken.iter().map(|word| word.offset).collect();
        offsets.sort_unstable();
        assert!(offsets.windows(2).all(|two| two[1] - two[0] == STRIDE as u64));
        let (offset, value) = (taken[7].offset, taken[7].value);
        drop(taken.remove(7));
        let again = words.take(&arena).unwrap();
        assert!(again.offset == offset && again.value != value);
        // The GPU writes the word for the earlier wait late. This must not end the new wait.
        again.at.store(value.reached(), Ordering::Relaxed);
        assert_eq!(again.progress(), Progress::Unknown);
        again.at.store(again.value.0, Ordering::Relaxed);
        assert_eq!(again.progress(), Progress::Armed);
        again.at.store(again.value.reached(), Ordering::Relaxed);
        assert_eq!(again.progress(), Progress::Reached);
        words.forget();
        drop(again);
        assert!(words.take(&arena).is_none());
    }
}
