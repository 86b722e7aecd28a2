//! Fills a table: first with unknown slots, then with the known ones.

use super::driver::driver;
use super::names::NAMES;
use crate::sys::CUresult;
use core::ffi::c_void;

/// The maximum length of a table in words.
const MAX_WORDS: usize = 100;

/// A table in memory.
#[repr(transparent)]
pub struct Table<const WORDS: usize>([*const c_void; WORDS]);

// SAFETY: the words are sizes and addresses of functions, and they never change.
unsafe impl<const WORDS: usize> Sync for Table<WORDS> {}

impl<const WORDS: usize> Table<WORDS> {
    /// Creates a table whose first word is its size in bytes. `known` has the index and address of
    /// each known function. `NAME` is the index of the table's name in [`NAMES`].
    pub const fn sized<const NAME: usize>(known: &[(usize, *const c_void)]) -> Self {
        let mut table = Self::unsized_::<NAME>(known);
        table.0[0] = core::ptr::without_provenance(WORDS * size_of::<usize>());
        table
    }

    /// Creates a table like [`Table::sized`] does, but without a size word: it contains only
    /// functions.
    pub const fn unsized_<const NAME: usize>(known: &[(usize, *const c_void)]) -> Self {
        let unknown = unknown_slots::<NAME>();
        let mut words = [core::ptr::null(); WORDS];
        let mut index = 0;
        while index < WORDS {
            words[index] = unknown[index];
            index += 1;
        }
        let mut next = 0;
        while next < known.len() {
            words[known[next].0] = known[next].1;
            next += 1;
        }
        Self(words)
    }

    /// Returns the table's address, which `cuGetExportTable` returns.
    pub const fn address(&'static self) -> *const c_void {
        self.0.as_ptr().cast()
    }

    /// Returns the address of the function in a slot.
    pub fn slot(&self, index: usize) -> *const c_void {
        self.0[index]
    }
}

/// The function in a slot that no library is known to call. Its arguments are unknown and unused.
extern "C" fn unknown_slot<const NAME: usize, const INDEX: usize>() -> CUresult {
    driver().unsupported(&format!("export table {}[{INDEX}]", NAMES[NAME]))
}

const fn unknown_slots<const NAME: usize>() -> [*const c_void; MAX_WORDS] {
    macro_rules! slots {
        ($($tens:literal)*) => { [$(
            unknown_slot::<NAME, { $tens * 10 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 1 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 2 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 3 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 4 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 5 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 6 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 7 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 8 }> as *const c_void,
            unknown_slot::<NAME, { $tens * 10 + 9 }> as *const c_void,
        )*] };
    }
    slots!(0 1 2 3 4 5 6 7 8 9)
}
