//! The symbols that a libcuda.so.1 exports.

pub use crate::generated::symbols::{ALL, CUDA_VERSION};

/// One exported function of the driver API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// The exported name, such as `cuMemcpyHtoD_v2_ptds`.
    pub name: &'static str,
    /// The name that programs pass to `cuGetProcAddress`, such as `cuMemcpyHtoD`.
    pub base: &'static str,
    /// The CUDA version that introduced the function, as 1000 * major + 10 * minor.
    pub since: u32,
    /// Whether a null stream means the per-thread default stream (`_ptds`, `_ptsz`).
    pub per_thread: bool,
}

/// The number of symbols.
pub const COUNT: usize = ALL.len();

/// Returns the exported name of the symbol at `index` of [`ALL`].
pub const fn name(index: usize) -> &'static str {
    ALL[index].name
}

/// Returns all variants of a base name, oldest first, or an empty list.
pub fn variants(base: &str) -> &'static [Symbol] {
    let start = ALL.partition_point(|symbol| symbol.base < base);
    let end = start + ALL[start..].partition_point(|symbol| symbol.base == base);
    &ALL[start..end]
}

/// Returns the symbol with this exported name.
pub fn by_name(name: &str) -> Option<&'static Symbol> {
    let base = strip_version(strip_per_thread(name));
    // A base name might itself end in a version suffix such as `_v2` (none does today), so try
    // both.
    [base, name].iter().find_map(|base| variants(base).iter().find(|symbol| symbol.name == name))
}

/// Returns the index in [`ALL`] of the symbol with this exported name.
pub fn index_of(name: &str) -> Option<usize> {
    let symbol = by_name(name)?;
    let start = ALL.partition_point(|other| other.base < symbol.base);
    ALL[start..].iter().position(|other| other.name == name).map(|at| start + at)
}

/// One constant per symbol, with the symbol's name. Its value is the symbol's index in [`ALL`].
#[allow(non_upper_case_globals, missing_docs)]
pub mod index {
    macro_rules! indices {
        ($($name:ident $index:literal)*) => { $( pub const $name: usize = $index; )* };
    }
    crate::for_each_symbol! { (indices) }
}

fn strip_per_thread(name: &str) -> &str {
    name.strip_suffix("_ptds").or_else(|| name.strip_suffix("_ptsz")).unwrap_or(name)
}

fn strip_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((base, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_the_table_is_sorted_by_base() {
        let names: HashSet<_> = ALL.iter().map(|symbol| symbol.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.is_sorted_by_key(|symbol| (symbol.base, symbol.since, symbol.per_thread)));
    }

    #[test]
    fn every_symbol_is_found_by_its_name() {
        for symbol in ALL {
            assert_eq!(by_name(symbol.name), Some(symbol));
            assert_eq!(index_of(symbol.name).map(|index| &ALL[index]), Some(symbol));
        }
        assert_eq!(by_name("cuNoSuchFunction"), None);
        assert_eq!(by_name("cuInit_v9"), None);
        assert_eq!(by_name(""), None);
    }

    #[test]
    fn each_symbol_has_its_index() {
        assert_eq!(ALL[index::cuInit].name, "cuInit");
        assert_eq!(ALL[index::cuMemcpyHtoDAsync_v2_ptsz].name, "cuMemcpyHtoDAsync_v2_ptsz");
        assert_eq!(index_of("cuNoSuchFunction"), None);
    }

    #[test]
    fn names_that_are_missing_from_the_headers_are_listed() {
        for name in [
            "cuMemAlloc",
            "cuMemAlloc_v2",
            "cuCtxCreate",
            "cuCtxCreate_v2",
            "cuCtxCreate_v3",
            "cuCtxCreate_v4",
            "cuGetProcAddress",
            "cuGetProcAddress_v2",
            "cuGetExportTable",
            "cuStreamBeginCapture_ptsz",
            "cuStreamBeginCapture_v2_ptsz",
            "cuGraphInstantiate",
            "cuGraphInstantiate_v2",
            "cuGraphInstantiateWithFlags",
            "cuMemcpy_ptds",
            "cuMemcpyHtoDAsync_v2_ptsz",
            "cuCtxSynchronize_v2",
            "cuProfilerStart",
        ] {
            assert!(by_name(name).is_some(), "{name}");
        }
    }
}
