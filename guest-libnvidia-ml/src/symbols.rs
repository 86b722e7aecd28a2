//! The names that a libnvidia-ml.so.1 exports.

use crate::generated::symbols::ALL;

pub(crate) use crate::generated::symbols::for_each_symbol;

/// The number of symbols.
pub(crate) const COUNT: usize = ALL.len();

/// The exported name of the symbol at `index`.
pub(crate) const fn name(index: usize) -> &'static str {
    ALL[index]
}

/// The index of the symbol with that exported name.
pub(crate) fn index_of(name: &str) -> Option<usize> {
    ALL.binary_search(&name).ok()
}

/// The index of each symbol, under its name.
#[allow(non_upper_case_globals)]
pub(crate) mod index {
    macro_rules! indices {
        ($($name:ident $index:literal)*) => { $( #[allow(dead_code)] pub(crate) const $name: usize = $index; )* };
    }
    super::for_each_symbol! { (indices) }
}
