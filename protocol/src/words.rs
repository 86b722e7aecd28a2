//! The values of completion words.
//!
//! A call that waits for the GPU can name a 64-bit word in the arena and a value that no other wait
//! of the session uses. Before the worker makes the GPU write the next higher value after the work,
//! it writes the value itself. The word can change after its wait has ended: if the worker replies
//! first, the GPU's write may come later, even while another wait uses the word. Therefore, each
//! wait compares the word only with its own two values, and the worker sends a reply in any case.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

/// The progress of one wait, as its word shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It isn't known whether the GPU will write the word, so the wait ends with the worker's
    /// reply.
    Unknown,
    /// The GPU will write the word when it reaches the awaited point.
    Armed,
    /// The GPU has reached the awaited point.
    Reached,
}

/// The value that a waiting call sends to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitValue(pub u64);

impl WaitValue {
    /// Returns the value that the GPU writes when it reaches the awaited point.
    pub fn reached(self) -> u64 {
        self.0.wrapping_add(1)
    }

    /// Returns the progress of the wait with this value, given `word`, the present contents of its
    /// word.
    #[inline]
    pub fn progress(self, word: u64) -> Progress {
        if word == self.reached() {
            Progress::Reached
        } else if word == self.0 {
            Progress::Armed
        } else {
            Progress::Unknown
        }
    }
}

/// Generates values for waits. Each value is used by only one wait.
#[derive(Debug)]
pub struct WaitValues(AtomicU64);

impl WaitValues {
    /// Creates a generator whose values start after the given one, which must be even.
    pub fn after(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Returns an unused value. It is even and isn't 0: the worker writes 0 to the word if the GPU
    /// won't write to it after all.
    pub fn next(&self) -> WaitValue {
        loop {
            match self.0.fetch_add(2, Ordering::Relaxed).wrapping_add(2) {
                0 => {}
                value => return WaitValue(value),
            }
        }
    }
}

impl Default for WaitValues {
    fn default() -> Self {
        Self::after(0)
    }
}

/// The number of words, which is also the number of threads that can wait with a word at the same
/// time.
pub const COUNT: usize = u64::BITS as usize;

/// Gives each wait a word that no other wait is using, and a value.
#[derive(Debug, Default)]
pub struct Slots {
    /// Bit i is set while a wait uses word i.
    used: AtomicU64,
    values: WaitValues,
}

impl Slots {
    /// Takes a word for a wait. Returns the word's index and the wait's value, or `None` if all
    /// words are in use.
    pub fn take(&self) -> Option<(usize, WaitValue)> {
        let free = |used: u64| used | (!used & used.wrapping_add(1));
        let take = |used| Some(free(used)).filter(|more| *more != used);
        let used = self.used.fetch_update(Ordering::Acquire, Ordering::Relaxed, take).ok()?;
        Some((used.trailing_ones() as usize, self.values.next()))
    }

    /// Releases the word of a wait that has ended.
    pub fn give(&self, index: usize) {
        self.used.fetch_and(!(1 << index), Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The number of words that the waits share.
    const WORDS: usize = 2;

    /// A step of the guest, the worker, or the GPU.
    #[derive(Clone, Debug)]
    enum Step {
        /// The guest begins a wait with this word, if none of its waits uses the word.
        Begin(usize),
        /// The worker takes the next call from the ring, and makes the GPU write the word if the
        /// flag is true.
        Take(bool),
        /// The GPU reaches the oldest point that it hasn't reached yet, or fails there if the flag
        /// is false.
        Reach(bool),
        /// The worker replies to a call that it has taken. The flag says whether with an error. It
        /// replies with success only if the GPU has reached the point.
        Reply(usize, bool),
        /// The guest reads the word of a wait, and ends the wait if the GPU has reached its point
        /// or the worker has replied.
        Look(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..WORDS).prop_map(Step::Begin),
            any::<bool>().prop_map(Step::Take),
            prop::bool::weighted(0.9).prop_map(Step::Reach),
            (0..8usize, prop::bool::weighted(0.2)).prop_map(|(at, error)| Step::Reply(at, error)),
            (0..WORDS).prop_map(Step::Look),
        ]
    }

    #[derive(Clone, Copy)]
    struct Wait {
        word: usize,
        value: WaitValue,
        taken: bool,
        written: bool,
        reached: bool,
        reply: Option<bool>,
        ended: bool,
    }

    proptest! {
        /// A wait without an error doesn't end before the GPU has reached its point, and every wait
        /// ends at the latest with its reply. This holds for any interleaving, for values that wrap
        /// around, and for writes and replies that come after their wait has ended.
        #[test]
        fn a_wait_ends_after_its_point_and_with_its_reply(
            steps in prop::collection::vec(step(), 0..200),
            begun in any::<bool>(),
        ) {
            let values = WaitValues::after(if begun { 0 } else { u64::MAX - 5 });
            let (mut words, mut waits) = ([0u64; WORDS], Vec::<Wait>::new());
            let mut failed = false;
            for step in steps {
                match step {
                    Step::Begin(word) if !waits.iter().any(|w| w.word == word && !w.ended) => {
                        let value = values.next();
                        waits.push(Wait {
                            word, value, taken: false, written: false, reached: false,
                            reply: None, ended: false,
                        });
                    }
                    Step::Take(writes) => {
                        if let Some(wait) = waits.iter_mut().find(|wait| !wait.taken) {
                            (wait.taken, wait.written) = (true, writes);
                            if writes {
                                words[wait.word] = wait.value.0;
                            }
                        }
                    }
                    Step::Reach(works) => {
                        failed |= !works;
                        let next = waits.iter_mut().find(|wait| wait.taken && !wait.reached);
                        if let Some(wait) = next.filter(|_| !failed) {
                            wait.reached = true;
                            if wait.written {
                                words[wait.word] = wait.value.reached();
                            }
                        }
                    }
                    Step::Reply(at, error) => {
                        let mut taken = waits.iter_mut().filter(|w| w.taken && w.reply.is_none());
                        if let Some(wait) = taken.nth(at).filter(|w| error || w.reached) {
                            wait.reply = Some(wait.reached && !error);
                        }
                    }
                    Step::Look(word) => {
                        let waiting = waits.iter_mut().find(|w| w.word == word && !w.ended);
                        let Some(wait) = waiting else { continue };
                        if wait.value.progress(words[word]) == Progress::Reached {
                            prop_assert!(wait.reached);
                            wait.ended = true;
                        } else if let Some(succeeded) = wait.reply {
                            prop_assert!(wait.reached || !succeeded);
                            wait.ended = true;
                        }
                    }
                    Step::Begin(_) => {}
                }
            }
            for wait in waits.iter().filter(|wait| wait.reached && wait.written && !wait.ended) {
                // The word of a wait must contain its value, unless another wait's write has
                // overwritten the word.
                let seen = wait.value.progress(words[wait.word]);
                let abandoned = waits.iter().any(|w| w.word == wait.word && w.value != wait.value && w.written);
                prop_assert!(seen == Progress::Reached || abandoned);
            }
        }

        #[test]
        fn values_are_not_used_twice_or_zero(start in any::<u64>()) {
            let values = WaitValues::after(start & !1);
            let made: std::collections::HashSet<u64> = (0..100).map(|_| values.next().0).collect();
            prop_assert!(made.len() == 100 && !made.contains(&0));
            prop_assert!(made.iter().all(|value| value % 2 == 0));
        }
    }
}
