//! Gives each type a single name.
//!
//! In C, a type can have several names: `struct CUDA_MEMCPY2D_st` is also CUDA_MEMCPY2D_v2 and
//! CUDA_MEMCPY2D. Programs use the last of these, so it becomes the type's name, and the others
//! become aliases.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit_mut::{self, VisitMut};
use syn::{File, Ident, Item, Type, parse_quote};

/// Replaces all names of a type with the name that programs use, and C's integer types with Rust's.
pub fn canonical(file: &mut File) {
    let groups = groups(file);
    let mut names = BTreeMap::new();
    for group in &groups {
        let best = best(group);
        names.extend(group.iter().map(|name| (name.clone(), best.clone())));
    }
    // All names in a group have become the same name, so aliases between them are redundant.
    file.items.retain(|item| {
        alias(item).is_none_or(|(name, of)| {
            names.get(&name).is_none_or(|best| names.get(&of) != Some(best))
        })
    });
    Renamer { names: &names }.visit_file_mut(file);
    for (name, best) in &names {
        if name != best
            && !name.ends_with("_st")
            && !name.ends_with("_enum")
            && !name.ends_with("_union")
        {
            let (name, best) = (ident(name), ident(best));
            file.items.push(parse_quote!(pub type #name = #best;));
        }
    }
}

/// Returns the sets of two or more names for the same type.
fn groups(file: &File) -> Vec<BTreeSet<String>> {
    let defined: BTreeSet<String> = file.items.iter().filter_map(name).collect();
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for (name, of) in file.items.iter().filter_map(alias) {
        // Integer types with a fixed size, such as cuuint64_t, keep their own names.
        if !defined.contains(&of) || of.starts_with("cuuint") {
            continue;
        }
        let mut joined = BTreeSet::from([name, of]);
        groups.retain(|group| {
            let apart = group.is_disjoint(&joined);
            if !apart {
                joined.extend(group.iter().cloned());
            }
            apart
        });
        groups.push(joined);
    }
    groups
}

/// Returns the name of the type that an item defines.
fn name(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Union(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

/// Returns the alias and the name of its target, if the item only gives a type another name.
pub fn alias(item: &Item) -> Option<(String, String)> {
    match item {
        Item::Type(item) => match &*item.ty {
            Type::Path(path) => Some((item.ident.to_string(), path.path.get_ident()?.to_string())),
            _ => None,
        },
        Item::Use(item) => match &item.tree {
            syn::UseTree::Path(path) => match &*path.tree {
                syn::UseTree::Rename(to) => Some((to.rename.to_string(), to.ident.to_string())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Returns the name that programs use: preferably one without a version or a tag such as `_st`.
fn best(group: &BTreeSet<String>) -> String {
    let marks = |name: &str| {
        let tag = ["_st", "_enum", "_union"].iter().any(|tag| name.ends_with(tag));
        let version = name.rsplit_once("_v").is_some_and(|(_, v)| v.parse::<u32>().is_ok());
        // Prefer names that begin with CU to names from other headers, such as EGL's.
        (tag || name == "cudaError_enum", version, !name.starts_with("CU"), name.len())
    };
    group.iter().min_by_key(|name| marks(name)).expect("no group is empty").clone()
}

/// Returns an identifier with this text.
pub fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

struct Renamer<'a> {
    names: &'a BTreeMap<String, String>,
}

impl VisitMut for Renamer<'_> {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if let Some(best) = self.names.get(&ident.to_string()) {
            *ident = self::ident(best);
        }
    }

    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        if let Some(rust) = path.get_ident().and_then(|ident| size(&ident.to_string())) {
            *path = ident(rust).into();
            return;
        }
        let words: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let ["core", "ffi", name] = words.iter().map(String::as_str).collect::<Vec<_>>()[..]
            && let Some(rust) = rust_name(name)
        {
            *path = ident(rust).into();
            return;
        }
        visit_mut::visit_path_mut(self, path);
    }

    fn visit_type_array_mut(&mut self, array: &mut syn::TypeArray) {
        if let syn::Expr::Lit(length) = &mut array.len
            && let syn::Lit::Int(number) = &length.lit
        {
            let digits = number.base10_digits().to_owned();
            length.lit = syn::LitInt::new(&digits, Span::call_site()).into();
        }
        visit_mut::visit_type_array_mut(self, array);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        call.tokens = self.tokens(std::mem::take(&mut call.tokens));
    }
}

impl Renamer<'_> {
    /// Renames types in the tokens of a macro call, such as `offset_of!(CUuuid_st, bytes)`.
    fn tokens(&self, tokens: TokenStream) -> TokenStream {
        tokens
            .into_iter()
            .map(|token| match token {
                TokenTree::Ident(mut ident) => {
                    if let Some(best) = self.names.get(&ident.to_string()) {
                        ident = self::ident(best);
                    }
                    TokenTree::Ident(ident)
                }
                TokenTree::Group(group) => {
                    TokenTree::Group(Group::new(group.delimiter(), self.tokens(group.stream())))
                }
                other => other,
            })
            .collect()
    }
}

/// Returns the Rust name of an integer type that cuda.h defines.
fn size(c: &str) -> Option<&'static str> {
    match c {
        "cuuint32_t" => Some("u32"),
        "cuuint64_t" => Some("u64"),
        _ => None,
    }
}

/// Returns the Rust name of a C type on 64-bit Linux.
fn rust_name(c: &str) -> Option<&'static str> {
    Some(match c {
        "c_char" => "c_char",
        "c_void" => "c_void",
        "c_schar" => "i8",
        "c_uchar" => "u8",
        "c_short" => "i16",
        "c_ushort" => "u16",
        "c_int" => "i32",
        "c_uint" => "u32",
        "c_long" | "c_longlong" => "i64",
        "c_ulong" | "c_ulonglong" => "u64",
        "c_float" => "f32",
        "c_double" => "f64",
        _ => return None,
    })
}
