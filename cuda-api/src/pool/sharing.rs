//! Memory pools that processes share.
//!
//! A process exports a pool as a file descriptor, which has the pool's name and device. A process
//! that imports the pool gets a handle, but no memory. It imports each allocation by the data that
//! the exporting process got for it, which contains the pool's name and the library's description
//! of the memory.

use crate::error::{CuError, CuResult};
use crate::sys::CUmemPoolPtrExportData;

/// The number of words in which a library describes an allocation.
pub const WORDS: usize = 6;

/// The name of a pool: random bits.
pub type Name = [u64; 2];

/// How a pool is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The pool belongs to this process alone.
    None,
    /// The program created the pool so that other processes can import it under this name, but
    /// hasn't exported it yet.
    Exportable(Name),
    /// The program has exported the pool under this name.
    Exported(Name),
    /// Another process's pool.
    Imported(Name),
}

/// The contents of the file descriptor that represents a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPool {
    /// The pool's name.
    pub name: Name,
    /// The ordinal of the pool's device.
    pub device: i32,
}

/// Chooses the name of a pool.
pub fn new_name() -> CuResult<Name> {
    let mut name: Name = [0; 2];
    let len = size_of::<Name>();
    // SAFETY: the buffer has this length.
    let filled = unsafe { libc::getrandom(name.as_mut_ptr().cast(), len, 0) };
    if filled == len as isize { Ok(name) } else { Err(CuError::OPERATING_SYSTEM) }
}

/// Returns the data for another process that imports an allocation.
pub fn encode(name: Name, allocation: [u64; WORDS]) -> CUmemPoolPtrExportData {
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    for (to, word) in data.reserved.chunks_exact_mut(8).zip(name.into_iter().chain(allocation)) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    data
}

/// Returns the name of the pool and the description of the allocation in data that [`encode`]
/// created. A program can pass any data, so the library must check the description.
pub fn decode(data: &CUmemPoolPtrExportData) -> (Name, [u64; WORDS]) {
    let word = |index: usize| {
        let bytes = &data.reserved[8 * index..][..8];
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    ([word(0), word(1)], std::array::from_fn(|index| word(2 + index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_names_the_pool_and_the_allocation() {
        let (name, allocation) = ([u64::MAX, 2], [3, 4, 5, 6, 7, 1 << 63]);
        assert_eq!(decode(&encode(name, allocation)), (name, allocation));
        assert_ne!(new_name(), new_name());
    }
}
