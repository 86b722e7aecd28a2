//! For the build scripts of crates that are a library of NVIDIA's: exports for all that they leave
//! out. What follows is of a libcuda.so.1; [`generate_for`] is for one with other symbols.
//!
//! A build script says
//!
//! ```no_run
//! cuda_api::build::generate().expect("the exports can be written");
//! ```
//!
//! and the crate includes what it writes:
//!
//! ```text
//! mod exports {
//!     include!(concat!(env!("OUT_DIR"), "/exports.rs"));
//! }
//! pub(crate) fn unsupported(name: &'static str) -> CUresult { /* log once */ }
//! ```
//!
//! The module then exports a stub for each symbol of [`symbols::ALL`] that the
//! crate does not define (it calls `crate::unsupported` and returns its answer), and has
//!
//! ```text
//! pub const STUBS: &[&str];                                        // names of the stubs, sorted
//! pub fn address(name: &str) -> Option<*const core::ffi::c_void>;  // of any exported symbol
//! ```
//!
//! A function counts as defined if `fn <name>` stands in a `.rs` file of the crate's `src`, outside
//! of line comments, with `<name>` the exported name to the letter. So no other function may bear
//! such a name. Functions that a macro names can be given with [`Exports::defined`].

use crate::symbols;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Scans the `src` of the crate being built and writes `$OUT_DIR/exports.rs`.
pub fn generate() -> io::Result<()> {
    let mut exports = Exports::default();
    exports.scan_graphs();
    generate_for(exports)
}

/// As [`generate`], for the symbols of another library.
pub fn generate_for(mut exports: Exports) -> io::Result<()> {
    let source = cargo_path("CARGO_MANIFEST_DIR")?.join("src");
    exports.scan(&source)?;
    exports.write(&cargo_path("OUT_DIR")?.join("exports.rs"))?;
    println!("cargo::rerun-if-changed={}", source.display());
    link_to_itself();
    Ok(())
}

/// Makes the library use its own functions where it takes their addresses, whatever other libcuda
/// the process has loaded before. [`generate`] does it.
pub fn link_to_itself() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}

fn cargo_path(variable: &str) -> io::Result<PathBuf> {
    env::var_os(variable).map(PathBuf::from).ok_or_else(|| {
        io::Error::other(format!("{variable} is not set; call this from a build script"))
    })
}

/// The symbols of a library, and those of them that a crate defines itself.
#[derive(Debug)]
pub struct Exports {
    /// All of them.
    names: BTreeSet<&'static str>,
    /// What all of them begin with.
    prefix: &'static str,
    defined: BTreeSet<&'static str>,
}

impl Default for Exports {
    fn default() -> Self {
        let names: Vec<_> = symbols::ALL.iter().map(|symbol| symbol.name).collect();
        Self::of(&names, "cu")
    }
}

impl Exports {
    /// For a library that exports these symbols, all of which begin with `prefix`.
    pub fn of(names: &[&'static str], prefix: &'static str) -> Self {
        Self { names: names.iter().copied().collect(), prefix, defined: BTreeSet::new() }
    }

    /// Adds the symbols that are defined in the `.rs` files below `dir`.
    pub fn scan(&mut self, dir: &Path) -> io::Result<&mut Self> {
        let mut folders = vec![dir.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    self.scan_text(&fs::read_to_string(&path)?);
                }
            }
        }
        Ok(self)
    }

    /// Adds the symbols that `graph_entries!` defines.
    pub fn scan_graphs(&mut self) -> &mut Self {
        self.scan_text(include_str!("graph/entries.rs"));
        self
    }

    /// Adds one symbol by its exported name. Panics if there is no such symbol.
    pub fn defined(&mut self, name: &str) -> &mut Self {
        match self.names.get(name) {
            Some(name) => self.defined.insert(name),
            None => panic!("{name} is no symbol of the library: see cuda_api::symbols::ALL"),
        };
        self
    }

    /// Whether a symbol was found.
    pub fn has(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    fn scan_text(&mut self, text: &str) {
        let begin = format!("fn {}", self.prefix);
        for line in text.lines() {
            let code = line.split("//").next().unwrap_or_default();
            for (at, _) in code.match_indices(&begin) {
                if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    continue;
                }
                let name = &code[at + "fn ".len()..];
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &name[..end.unwrap_or(name.len())];
                self.defined.extend(self.names.get(name));
            }
        }
    }

    /// Writes the Rust source.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, self.source())
    }

    fn source(&self) -> String {
        let names = &self.names;
        let mut out = String::from("// Made by cuda_api::build.\n\nmod own {\n");
        // Declared without arguments: only the addresses are used.
        out.push_str("    #![allow(clashing_extern_declarations)]\n");
        out.push_str("    unsafe extern \"C\" {\n");
        for name in &self.defined {
            let _ = writeln!(out, "        pub fn {name}();");
        }
        out.push_str("    }\n}\n\n#[allow(non_snake_case)]\nmod stubs {\n");
        let stubs = || names.iter().filter(|name| !self.defined.contains(**name));
        for name in stubs() {
            // SAFETY of no_mangle: the names are unique, see the tests of `symbols`.
            let _ = writeln!(out, "    #[unsafe(no_mangle)]");
            let _ = writeln!(out, "    pub extern \"C\" fn {name}() -> ::core::ffi::c_int {{");
            let number = if self.prefix == "cu" { ".0" } else { "" };
            let _ = writeln!(
                out,
                "        crate::unsupported(\"{name}\"){number} as ::core::ffi::c_int"
            );
            let _ = writeln!(out, "    }}");
        }
        out.push_str("}\n\n/// Symbols that are exported and not implemented, sorted.\n");
        out.push_str("#[allow(dead_code)]\npub const STUBS: &[&str] = &[\n");
        for name in stubs() {
            let _ = writeln!(out, "    \"{name}\",");
        }
        out.push_str("];\n\n#[derive(Clone, Copy)]\nenum Address {\n");
        out.push_str("    #[allow(dead_code)]\n    Own(unsafe extern \"C\" fn()),\n");
        out.push_str(
            "    #[allow(dead_code)]\n    Stub(extern \"C\" fn() -> ::core::ffi::c_int),\n",
        );
        out.push_str("}\n\nstatic ADDRESSES: &[(&str, Address)] = &[\n");
        for name in names {
            let (kind, module) =
                if self.defined.contains(name) { ("Own", "own") } else { ("Stub", "stubs") };
            let _ = writeln!(out, "    (\"{name}\", Address::{kind}({module}::{name})),");
        }
        out.push_str("];\n\n/// The address of an exported symbol, implemented or not.\n");
        out.push_str("#[allow(dead_code)]\npub fn address(name: &str) -> Option<*const ::core::ffi::c_void> {\n");
        out.push_str("    let index = ADDRESSES.binary_search_by_key(&name, |&(n, _)| n).ok()?;\n");
        out.push_str("    Some(match ADDRESSES[index].1 {\n");
        out.push_str("        Address::Own(function) => function as *const ::core::ffi::c_void,\n");
        out.push_str(
            "        Address::Stub(function) => function as *const ::core::ffi::c_void,\n",
        );
        out.push_str("    })\n}\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_and_look_alikes_are_not() {
        let mut exports = Exports::default();
        exports.scan_text(
            "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn cuInit(flags: u32) -> CUresult {\n\
             // pub extern \"C\" fn cuMemFree_v2(\n\
             fn cuNotAFunction() {}\n\
             xfn cuDeviceGet() cuda_fn cuDeviceGetCount()\n\
             type T = unsafe extern \"C\" fn cuMemAlloc_v2<T>(x: T);\n",
        );
        assert_eq!(exports.defined.into_iter().collect::<Vec<_>>(), ["cuInit", "cuMemAlloc_v2"]);
    }

    #[test]
    fn every_symbol_is_either_a_stub_or_the_crates_own() {
        let mut exports = Exports::default();
        exports.defined("cuInit");
        let source = exports.source();
        assert!(source.contains("        pub fn cuInit();"));
        assert!(!source.contains("pub extern \"C\" fn cuInit()"));
        assert!(source.contains("pub extern \"C\" fn cuMemAlloc_v2() -> "));
        assert_eq!(source.matches("no_mangle").count(), symbols::ALL.len() - 1);
        assert_eq!(source.matches(", Address::").count(), symbols::ALL.len());
    }
}
