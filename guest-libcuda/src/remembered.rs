//! Remembers results of queries to the worker that stay valid until a call of the program changes
//! them.

use crate::error::CuResult;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::OnceLock;

/// Returns the result of a query that never changes. Calls `ask` unless an earlier call succeeded.
pub fn once<T: Copy>(known: &OnceLock<T>, ask: impl FnOnce() -> CuResult<T>) -> CuResult<T> {
    match known.get() {
        Some(&answer) => Ok(answer),
        None => ask().map(|answer| *known.get_or_init(|| answer)),
    }
}

/// The maximum number of results about one object. Programs make only a few different queries.
const MOST: usize = 1024;

/// The results of at most `N` queries, by query.
pub struct Remembered<K, V, const N: usize = MOST> {
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    answers: HashMap<K, V>,
    /// The number of times that results were forgotten.
    version: u64,
}

/// A version of the results, from [`Remembered::version`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version(u64);

impl<K, V, const N: usize> Default for Remembered<K, V, N> {
    fn default() -> Self {
        Self { state: Mutex::new(State { answers: HashMap::new(), version: 0 }) }
    }
}

impl<K: Eq + Hash, V: Copy, const N: usize> Remembered<K, V, N> {
    /// Returns the result of a query, if it is known.
    pub fn get(&self, question: &K) -> Option<V> {
        self.state.lock().answers.get(question).copied()
    }

    /// Returns the current version. Call this before querying the worker, and pass the result to
    /// [`keep`](Self::keep).
    pub fn version(&self) -> Version {
        Version(self.state.lock().version)
    }

    /// Remembers results, unless they may be outdated because [`forget`](Self::forget) was called
    /// after `version` was current.
    pub fn keep(&self, version: Version, answers: impl IntoIterator<Item = (K, V)>) {
        let mut state = self.state.lock();
        if state.version != version.0 {
            return;
        }
        if state.answers.len() >= N {
            state.answers.clear();
        }
        state.answers.extend(answers);
    }

    /// Forgets all results. Call this after the worker has made the change that outdates them.
    pub fn forget(&self) {
        self.forget_where(|_| true);
    }

    /// Forgets the results of the queries for which `is_outdated` returns true. Call this after the
    /// worker has made the change that outdates them.
    pub fn forget_where(&self, is_outdated: impl Fn(&K) -> bool) {
        let version = self.version();
        self.replace(version, is_outdated, None);
    }

    /// Forgets the results of the queries for which `is_outdated` returns true, and remembers
    /// `answer` unless another change was made after `version` was current. Call this after the
    /// worker has made the change.
    pub fn replace(
        &self,
        version: Version,
        is_outdated: impl Fn(&K) -> bool,
        answer: Option<(K, V)>,
    ) {
        let mut state = self.state.lock();
        state.answers.retain(|question, _| !is_outdated(question));
        if state.version == version.0 && state.answers.len() < N {
            state.answers.extend(answer);
        }
        state.version += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_from_before_a_change_is_not_kept() {
        let remembered: Remembered<_, _> = Remembered::default();
        let before = remembered.version();
        remembered.keep(before, [("a", 1), ("b", 2)]);
        assert_eq!((remembered.get(&"a"), remembered.get(&"b")), (Some(1), Some(2)));
        remembered.forget();
        assert_eq!(remembered.get(&"a"), None);
        remembered.keep(before, [("a", 1)]);
        assert_eq!(remembered.get(&"a"), None);
        remembered.keep(remembered.version(), [("a", 3)]);
        assert_eq!(remembered.get(&"a"), Some(3));
    }

    #[test]
    fn only_the_last_of_several_changes_at_once_counts() {
        let remembered: Remembered<_, _> = Remembered::default();
        remembered.keep(remembered.version(), [("a", 1), ("b", 2)]);
        let before = remembered.version();
        remembered.replace(before, |question| *question == "a", Some(("a", 3)));
        assert_eq!((remembered.get(&"a"), remembered.get(&"b")), (Some(3), Some(2)));
        // Both changes began at the same version, and it isn't known which one the worker made
        // last. So neither value is remembered.
        remembered.replace(before, |question| *question == "a", Some(("a", 4)));
        assert_eq!((remembered.get(&"a"), remembered.get(&"b")), (None, Some(2)));
    }

    #[test]
    fn the_number_of_answers_is_limited() {
        let remembered: Remembered<_, _, 16> = Remembered::default();
        for question in 0..160 {
            remembered.keep(remembered.version(), [(question, ())]);
            assert_eq!(remembered.get(&question), Some(()));
        }
        assert!(remembered.state.lock().answers.len() <= 16);
    }
}
