//! The API table as data: what the coverage report, the counters and the worker's checks read.

pub use crate::calls::ENTRIES;

/// One entry of the API table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number that a command carries.
    pub number: u32,
    /// CUDA's name, or ours with the prefix `vcuda`.
    pub name: &'static str,
    /// Whether the guest waits for an answer.
    pub waited: bool,
    /// Whether it runs on the thread that mirrors the guest's.
    pub blocking: bool,
    /// Whether it is answered when the GPU gets there.
    pub pending: bool,
}

/// The entry with that number; `None` if there is none.
pub fn entry(number: u32) -> Option<&'static Entry> {
    ENTRIES.binary_search_by_key(&number, |entry| entry.number).ok().map(|i| &ENTRIES[i])
}
