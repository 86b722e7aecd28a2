//! Derives the names that a libcuda.so.1 exports.
//!
//! cudaTypedefs.h has one typedef for every ABI version of every function, `PFN_<base>_v<CUDA
//! version>[_ptds|_ptsz]`. The exported names are derived from these: the k-th version of a base is
//! `<base>_v<k>` (the first has no suffix), and a per-thread variant adds its suffix to the name of
//! its version. The result is checked against the declarations and macros in cuda.h and its
//! companion headers: it must include every name in them.

use crate::headers;
use crate::output::HEAD;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// The typedef headers declare these functions on every system, but only the libraries for Windows
/// or Tegra export them.
const ELSEWHERE: [&str; 2] = ["cuWGLGetDevice", "cuEventCreateFromEGLSync"];

/// An exported function.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// The name that programs give to cuGetProcAddress.
    pub base: String,
    /// The CUDA version that introduced the function.
    pub since: u32,
    /// Whether a null stream means the thread's default stream.
    pub per_thread: bool,
    /// The exported name.
    pub name: String,
    /// The name of the function pointer type in the headers.
    pub typedef: String,
}

/// Derives the symbols from the names of the function pointer types, and sorts them.
pub fn symbols<'a>(
    typedefs: impl Iterator<Item = &'a String>,
) -> Result<Vec<Symbol>, Box<dyn Error>> {
    let pattern = Regex::new(r"^PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?$")?;
    // The CUDA versions of each function, by base name and then by suffix.
    let mut found: BTreeMap<String, BTreeMap<String, BTreeSet<u32>>> = BTreeMap::new();
    for typedef in typedefs {
        let Some(parts) = pattern.captures(typedef) else { continue };
        if ELSEWHERE.contains(&&parts[1]) {
            continue;
        }
        let suffix = parts.get(3).map_or("", |suffix| suffix.as_str());
        let versions = found.entry(parts[1].to_owned()).or_default();
        versions.entry(suffix.to_owned()).or_default().insert(parts[2].parse()?);
    }
    let mut symbols = Vec::new();
    for (base, by_suffix) in &found {
        let plain: Vec<u32> = by_suffix.get("").into_iter().flatten().copied().collect();
        for (suffix, versions) in by_suffix {
            for &since in versions {
                let nth = plain.iter().filter(|&&version| version <= since).count();
                let version = match nth {
                    0 => return Err(format!(
                        "{base}_v{since}{suffix}: the headers have no version that this variant \
                         could belong to"
                    )
                    .into()),
                    1 => String::new(),
                    _ => format!("_v{nth}"),
                };
                symbols.push(Symbol {
                    base: base.clone(),
                    since,
                    per_thread: !suffix.is_empty(),
                    name: format!("{base}{version}{suffix}"),
                    typedef: format!("PFN_{base}_v{since}{suffix}"),
                });
            }
        }
    }
    symbols.sort();
    Ok(symbols)
}

/// Checks that every function in the headers is among the symbols, whether it is declared there or
/// is the target of a macro.
pub fn check(include: &Path, symbols: &[Symbol]) -> Result<(), Box<dyn Error>> {
    let declared = Regex::new(r"CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(")?;
    let mapped =
        Regex::new(r"#\s*define\s+cu[A-Z]\w*[ \t]+(?:__CUDA_API_(PTDS|PTSZ)\()?(cu[A-Z]\w*)")?;
    // Inline functions in the headers aren't exported.
    let inline = Regex::new(r"static\s+inline\s+CUresult\s+(?:CUDAAPI\s+)?(cu[A-Z]\w*)")?;
    let (mut names, mut helpers) = (BTreeSet::new(), BTreeSet::new());
    for text in headers::declarations(include)? {
        names.extend(declared.captures_iter(&text).map(|found| found[1].to_owned()));
        for found in mapped.captures_iter(&text) {
            names.insert(found[2].to_owned());
            if let Some(suffix) = found.get(1) {
                names.insert(format!("{}_{}", &found[2], suffix.as_str().to_lowercase()));
            }
        }
        helpers.extend(inline.captures_iter(&text).map(|found| found[1].to_owned()));
    }
    for symbol in symbols {
        names.remove(&symbol.name);
    }
    names.retain(|name| !helpers.contains(name) && !ELSEWHERE.contains(&name.as_str()));
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!("the typedef headers have no type for {names:?}").into()),
    }
}

/// Returns code that defines the table of symbols.
pub fn code(symbols: &[Symbol], version: u32) -> String {
    let mut out = format!(
        "{HEAD}use crate::symbols::Symbol;\n\n\
         /// The CUDA version of the headers.\n\
         pub const CUDA_VERSION: u32 = {version};\n\n\
         const fn s(name: &'static str, base: &'static str, since: u32, per_thread: bool) -> Symbol \
         {{ Symbol {{ name, base, since, per_thread }} }}\n\n\
         /// Every exported symbol, by base name, then by version.\n\
         #[rustfmt::skip]\n\
         pub static ALL: &[Symbol] = &[\n"
    );
    for Symbol { base, since, per_thread, name, .. } in symbols {
        let _ = writeln!(out, "    s({name:?}, {base:?}, {since}, {per_thread}),");
    }
    out.push_str("];\n");
    out
}

/// Returns code that defines a macro, which passes all symbols to another macro.
pub fn list(symbols: &[Symbol]) -> String {
    let mut out = format!(
        "{HEAD}/// Calls a macro with each exported symbol and its index in [`ALL`](crate::symbols::ALL).\n\
         #[macro_export]\n\
         macro_rules! for_each_symbol {{\n    (($($callback:tt)+)) => {{\n        $($callback)+! {{\n"
    );
    for (index, symbol) in symbols.iter().enumerate() {
        let _ = writeln!(out, "            {} {index}", symbol.name);
    }
    out.push_str("        }\n    };\n}\n");
    out
}
