//! Generates the types and constants, and their description as data.

use crate::output::{HEAD, type_text};
use crate::rename;
use quote::ToTokens;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use syn::{Fields, File, ImplItem, Item};

/// Returns code that defines the types and constants. `constants` has the name, type and value of
/// each constant that bindgen skips.
pub fn code(file: &File, constants: &[[String; 3]]) -> Result<String, Box<dyn Error>> {
    let mut out = format!(
        "{HEAD}#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]\n\
         #![allow(missing_docs, unpredictable_function_pointer_comparisons, clippy::all, clippy::undocumented_unsafe_blocks)]\n\n\
         use core::ffi::{{c_char, c_void}};\n\n"
    );
    for item in &file.items {
        writeln!(out, "{}\n", item.to_token_stream())?;
    }
    for [name, ty, value] in constants {
        writeln!(out, "pub const {name}: {ty} = {value} as {ty};")?;
    }
    Ok(out)
}

/// Returns the members and values of each enumeration, by the enumeration's name.
fn enumerations(file: &File) -> BTreeMap<String, Vec<(String, String)>> {
    let mut found = BTreeMap::new();
    for item in &file.items {
        let Item::Impl(item) = item else { continue };
        if item.trait_.is_some() {
            continue;
        }
        let name = type_text(&item.self_ty);
        let members = item.items.iter().filter_map(|item| match item {
            ImplItem::Const(item) => match &item.expr {
                syn::Expr::Call(call) => {
                    Some((item.ident.to_string(), type_text(call.args.first()?)))
                }
                _ => None,
            },
            _ => None,
        });
        found.entry(name).or_insert_with(Vec::new).extend(members);
    }
    found.retain(|_, members| !members.is_empty());
    found
}

/// Returns the members of CUresult, by value.
fn result_values(file: &File) -> Result<Vec<(u32, String)>, Box<dyn Error>> {
    let mut all = enumerations(file);
    let members = all.remove("CUresult").ok_or("cuda.h defines no CUresult")?;
    let mut values = Vec::new();
    for (name, value) in members {
        values.push((value.parse()?, name));
    }
    values.sort();
    Ok(values)
}

/// Returns code that lists the names of all results, by value.
pub fn results(file: &File) -> Result<String, Box<dyn Error>> {
    let mut out = format!(
        "{HEAD}/// Every value of CUresult and its name.\n\
         #[rustfmt::skip]\n\
         pub static ALL: &[(u32, &core::ffi::CStr)] = &[\n"
    );
    for (value, name) in result_values(file)? {
        writeln!(out, "    ({value}, c{name:?}),")?;
    }
    out.push_str("];\n");
    Ok(out)
}

/// Returns code that defines one CuError constant per error.
pub fn errors(file: &File) -> Result<String, Box<dyn Error>> {
    let mut out = format!("{HEAD}use crate::error::CuError;\n\nimpl CuError {{\n");
    for (value, name) in result_values(file)? {
        if let Some(short) = name.strip_prefix("CUDA_ERROR_") {
            writeln!(out, "    /// {name}.\n    pub const {short}: Self = Self({value});")?;
        }
    }
    out.push_str("}\n");
    Ok(out)
}

/// Returns code that lists the types that functions may take by value.
pub fn shapes(file: &File) -> String {
    let structures = file.items.iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Union(item) => Some(item.ident.to_string()),
        _ => None,
    });
    let names: Vec<String> = structures.collect();
    format!("{HEAD}use crate::sys::*;\n\ncrate::signature::values!({});\n", names.join(", "))
}

/// Returns code that describes the structures and enumerations as data.
pub fn data(file: &File) -> String {
    let mut structures = BTreeMap::new();
    let enumerations = enumerations(file);
    for item in &file.items {
        let (name, fields, union) = match item {
            Item::Struct(item) => match &item.fields {
                Fields::Named(fields) => (&item.ident, fields, false),
                _ => continue,
            },
            Item::Union(item) => (&item.ident, &item.fields, true),
            _ => continue,
        };
        let fields: Vec<(String, String)> = fields
            .named
            .iter()
            .map(|field| {
                let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                (name, type_text(&field.ty))
            })
            .collect();
        // Skip the structures without a definition, which handles point to.
        if fields.first().is_none_or(|(name, _)| name != "_unused") {
            structures.insert(name.to_string(), (union, fields));
        }
    }
    let mut out = String::from(
        "\n/// Every structure and union, by name.\n\
         #[rustfmt::skip]\n\
         pub static STRUCTURES: &[Structure] = &[\n",
    );
    for (name, (union, fields)) in &structures {
        let _ = writeln!(
            out,
            "    Structure {{ name: {name:?}, is_union: {union}, fields: &{fields:?} }},"
        );
    }
    out.push_str(
        "];\n\n/// Every enumeration, by name.\n\
         #[rustfmt::skip]\n\
         pub static ENUMERATIONS: &[Enumeration] = &[\n",
    );
    for (name, members) in &enumerations {
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("({name:?}, {value})")).collect();
        let _ = writeln!(
            out,
            "    Enumeration {{ name: {name:?}, members: &[{}] }},",
            members.join(", ")
        );
    }
    out.push_str(
        "];\n\n/// Every other name of a type, and the type, by name.\n\
         #[rustfmt::skip]\n\
         pub static ALIASES: &[(&str, &str)] = &[\n",
    );
    let aliases: BTreeMap<String, String> = file.items.iter().filter_map(rename::alias).collect();
    for alias in &aliases {
        let _ = writeln!(out, "    {alias:?},");
    }
    out.push_str("];\n");
    out
}
