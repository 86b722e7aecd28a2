//! The names of all symbols that NVIDIA's libnvidia-ml.so.1 exports.

use crate::generated::symbols::ALL;

pub(crate) use crate::generated::symbols::for_each_symbol;

/// The number of exported symbols.
pub(crate) const COUNT: usize = ALL.len();

/// Returns the exported name of the symbol at `index`.
pub(crate) const fn name(index: usize) -> &'static str {
    ALL[index]
}

/// Returns the index of the symbol with this exported name.
pub(crate) fn index_of(name: &str) -> Option<usize> {
    ALL.binary_search(&name).ok()
}

/// One constant per symbol, with the symbol's name. Its value is the symbol's index.
#[allow(non_upper_case_globals)]
pub(crate) mod index {
    macro_rules! indices {
        ($($name:ident $index:literal)*) => { $( #[allow(dead_code)] pub(crate) const $name: usize = $index; )* };
    }
    super::for_each_symbol! { (indices) }
}
