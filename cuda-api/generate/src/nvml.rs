//! Generates NVML's types, the prototypes of its functions, and the names that a libnvidia-ml.so.1
//! exports.

use crate::output::{HEAD, type_text};
use crate::{headers, rename, types};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use syn::{File, FnArg, ForeignItem, ForeignItemFn, Item, ReturnType};

/// The name and signature of a function that nvidia-smi calls although no header declares it.
const UNDOCUMENTED: (&str, &str) = (
    "nvmlInternalGetExportTable",
    "(ppExportTable: *mut *const c_void, pExportTableId: *const [u8; 16]) -> nvmlReturn_t",
);

/// Returns the path and contents of each generated file that describes NVML.
pub fn files(include: &Path) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let mut file = headers::nvml(include)?;
    rename::canonical(&mut file);
    let functions = take(&mut file);
    Ok(vec![
        ("guest-libnvidia-ml/src/generated/symbols.rs", symbols(&functions)),
        ("guest-libnvidia-ml/src/generated/prototypes.rs", prototypes(&functions)),
        ("guest-libnvidia-ml/src/generated/sys.rs", types::code(&file, &[])?),
    ])
}

/// Removes the function declarations from the file. Returns each function's parameters and result
/// as text, by name.
fn take(file: &mut File) -> BTreeMap<String, String> {
    let (name, signature) = UNDOCUMENTED;
    let mut found = BTreeMap::from([(name.to_owned(), signature.to_owned())]);
    file.items.retain(|item| {
        let Item::ForeignMod(block) = item else { return true };
        found.extend(block.items.iter().filter_map(|item| match item {
            ForeignItem::Fn(function) => {
                Some((function.sig.ident.to_string(), signature_of(function)))
            }
            _ => None,
        }));
        false
    });
    found
}

/// Returns a function's parameters and result as text.
fn signature_of(function: &ForeignItemFn) -> String {
    let parameters = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(format!("{}: {}", type_text(&input.pat), type_text(&input.ty))),
        FnArg::Receiver(_) => None,
    });
    let parameters: Vec<String> = parameters.collect();
    let result = match &function.sig.output {
        ReturnType::Default => String::new(),
        ReturnType::Type(_, ty) => format!(" -> {}", type_text(ty)),
    };
    format!("({}){result}", parameters.join(", "))
}

/// Returns code that declares one function pointer type per symbol, with the symbol's name.
fn prototypes(functions: &BTreeMap<String, String>) -> String {
    let mut out = format!("{HEAD}use super::sys::*;\nuse core::ffi::{{c_char, c_void}};\n\n");
    for (name, signature) in functions {
        let _ = writeln!(out, "pub type {name} = unsafe extern \"C\" fn{signature};");
    }
    out
}

/// Returns code that defines the table of symbols, and a macro that lists them.
fn symbols(functions: &BTreeMap<String, String>) -> String {
    let mut out = format!("{HEAD}/// Every exported name, sorted.\npub const ALL: &[&str] = &[\n");
    for name in functions.keys() {
        let _ = writeln!(out, "    {name:?},");
    }
    out.push_str(
        "];\n\n/// Calls a macro with each exported name and its index in [`ALL`].\n\
         macro_rules! for_each_symbol {\n    (($($callback:tt)+)) => {\n        $($callback)+! {\n",
    );
    for (index, name) in functions.keys().enumerate() {
        let _ = writeln!(out, "            {name} {index}");
    }
    out.push_str("        }\n    };\n}\npub(crate) use for_each_symbol;\n");
    out
}
