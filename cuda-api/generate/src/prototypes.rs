//! Generates the prototypes of functions, as types and as data.

use crate::output::{HEAD, type_text};
use crate::symbols::Symbol;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use syn::{File, GenericArgument, Item, PathArguments, Type, TypeBareFn};

/// The names and types of a function's parameters.
pub type Parameters = Vec<(String, String)>;

/// Removes the function pointer types, such as `PFN_cuInit_v2000`, from the file. Returns the
/// parameters of each type, by the type's name.
pub fn take(file: &mut File) -> BTreeMap<String, Parameters> {
    let mut found = BTreeMap::new();
    file.items.retain(|item| {
        let Item::Type(item) = item else { return true };
        let name = item.ident.to_string();
        if !name.starts_with("PFN_") {
            return true;
        }
        if let Some(function) = function(&item.ty) {
            found.insert(name, parameters(function));
        }
        false
    });
    // No header declares this function, but NVIDIA's own libraries call it.
    let undocumented =
        [("ppExportTable", "*mut *const c_void"), ("pExportTableId", "*const CUuuid")];
    found.insert(
        "PFN_cuGetExportTable_v3000".to_owned(),
        undocumented.map(|(name, ty)| (name.to_owned(), ty.to_owned())).to_vec(),
    );
    found
}

/// Returns the function type inside `Option<unsafe extern "C" fn(…) -> …>`.
fn function(ty: &Type) -> Option<&TypeBareFn> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(args) = &path.path.segments.last()?.arguments else {
        return None;
    };
    match args.args.first()? {
        GenericArgument::Type(Type::BareFn(function)) => Some(function),
        _ => None,
    }
}

/// Returns the names and types of a function type's parameters.
fn parameters(function: &TypeBareFn) -> Parameters {
    let inputs = function.inputs.iter().enumerate();
    inputs
        .map(|(index, input)| {
            let name = input.name.as_ref();
            let name = name.map_or_else(|| format!("arg{index}"), |(name, _)| name.to_string());
            (name, type_text(&input.ty))
        })
        .collect()
}

fn of<'a>(
    symbol: &Symbol,
    functions: &'a BTreeMap<String, Parameters>,
) -> Result<&'a Parameters, String> {
    functions.get(&symbol.typedef).ok_or_else(|| format!("{} has no prototype", symbol.name))
}

/// Returns code that declares one function pointer type per symbol, with the symbol's name.
pub fn aliases(
    symbols: &[Symbol],
    functions: &BTreeMap<String, Parameters>,
) -> Result<String, Box<dyn Error>> {
    let mut out = format!("{HEAD}use crate::sys::*;\nuse core::ffi::{{c_char, c_void}};\n\n");
    for symbol in symbols {
        let parameters: Vec<String> =
            of(symbol, functions)?.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        let name = &symbol.name;
        writeln!(
            out,
            "pub type {name} = unsafe extern \"C\" fn({}) -> CUresult;",
            parameters.join(", ")
        )?;
    }
    Ok(out)
}

/// Returns code that defines the prototypes as data.
pub fn data(
    symbols: &[Symbol],
    functions: &BTreeMap<String, Parameters>,
) -> Result<String, Box<dyn Error>> {
    let mut out = format!(
        "{HEAD}use crate::description::{{Enumeration, Prototype, Structure}};\n\n\
         /// The prototype of each exported symbol, by name.\n\
         #[rustfmt::skip]\n\
         pub static PROTOTYPES: &[Prototype] = &[\n"
    );
    let mut sorted: Vec<&Symbol> = symbols.iter().collect();
    sorted.sort_by_key(|symbol| &symbol.name);
    for symbol in sorted {
        let parameters = of(symbol, functions)?;
        writeln!(out, "    Prototype {{ name: {:?}, parameters: &{parameters:?} }},", symbol.name)?;
    }
    out.push_str("];\n");
    Ok(out)
}
