//! Generates the Rust types for the table's types, and code that encodes and decodes their values.

use super::model::{Param, Table, Type};

/// Returns the Rust type of values to be sent, and of decoded values that borrow from the encoded
/// bytes.
pub fn borrowed(table: &Table, ty: &Type) -> String {
    match ty {
        Type::Scalar(scalar) => (*scalar).into(),
        Type::Dev => "u64".into(),
        Type::Handle(handle) => handle.id.into(),
        Type::Bytes => "&'a [u8]".into(),
        Type::Str => "&'a str".into(),
        Type::Names => "Names".into(),
        Type::Struct(name) | Type::Choice(name) if table.borrows(ty) => format!("{name}<'a>"),
        Type::Struct(name) | Type::Choice(name) => name.clone(),
        Type::Fixed(element, count) => format!("[{}; {count}]", borrowed(table, element)),
        Type::Array(element, _) => format!("Array<'a, {}>", borrowed(table, element)),
    }
}

/// Returns the Rust type of an array of `count` plain numbers.
pub fn array(element: &Type, count: usize) -> String {
    match element {
        Type::Scalar(scalar) => format!("[{scalar}; {count}]"),
        other => panic!("{other:?} is not a plain number"),
    }
}

/// Returns the Rust type of values in a reply, which don't borrow.
pub fn owned(table: &Table, ty: &Type) -> String {
    match ty {
        Type::Bytes => "Vec<u8>".into(),
        Type::Str => "String".into(),
        Type::Array(element, _) => format!("Vec<{}>", borrowed(table, element)),
        _ => borrowed(table, ty),
    }
}

/// Returns a statement that encodes a value to `writer`. `place` is an expression of the owned or
/// borrowed type.
pub fn encode(ty: &Type, place: &str) -> String {
    match ty {
        Type::Scalar(_) | Type::Dev | Type::Handle(_) => format!("writer.word({place}.to_word());"),
        Type::Bytes => format!("writer.bytes({place}.as_ref());"),
        Type::Str | Type::Names => format!("writer.bytes({place}.as_bytes());"),
        Type::Struct(_) => format!("{place}.encode(writer);"),
        Type::Choice(_) => format!("writer.nested(|writer| {place}.encode(writer));"),
        Type::Fixed(..) => format!("writer.packed(&{place});"),
        Type::Array(..) => format!("writer.array({place});"),
    }
}

/// Returns an expression that decodes a value from `reader`.
pub fn decode(table: &Table, ty: &Type) -> String {
    let rust = borrowed(table, ty);
    let plain = rust.trim_end_matches("<'a>");
    match ty {
        Type::Scalar(_) | Type::Dev | Type::Handle(_) => {
            format!("<{rust}>::from_word(reader.word()?)?")
        }
        Type::Bytes => "reader.bytes()?".into(),
        Type::Str => "reader.text()?".into(),
        Type::Names => "Names::from_bytes(reader.bytes()?)?".into(),
        Type::Struct(_) => format!("{plain}::decode(reader)?"),
        Type::Choice(_) => format!("reader.nested({plain}::decode)?"),
        Type::Fixed(..) => "reader.packed()?".into(),
        Type::Array(_, max) => format!("reader.array({})?", limit(max)),
    }
}

/// Returns an expression that decodes a value of the owned type from `reader`.
pub fn decode_owned(table: &Table, ty: &Type) -> String {
    match ty {
        Type::Bytes => "reader.bytes()?.to_vec()".into(),
        Type::Str => "reader.text()?.to_owned()".into(),
        Type::Array(_, max) => format!("reader.vec({})?", limit(max)),
        _ => decode(table, ty),
    }
}

fn limit(max: &Option<String>) -> String {
    max.as_ref().map_or("usize::MAX".into(), |max| format!("crate::limits::{max}"))
}

/// Returns the doc comment for the member that represents a parameter.
pub fn doc(param: &Param) -> String {
    use super::model::Direction::{Del, New};
    match (param.direction, &param.ty) {
        (New, Type::Handle(handle)) => format!("Id of the new {}.", bare(handle.noun)),
        (Del, Type::Handle(handle)) => format!("The {} that the call destroys.", bare(handle.noun)),
        (_, Type::Handle(handle)) => format!("Id of {}.", handle.noun),
        (_, Type::Dev) => format!("`{}`, an address of device-visible memory.", param.name),
        _ => format!("`{}`.", param.name),
    }
}

fn bare(noun: &str) -> &str {
    ["an ", "a ", "the "].iter().find_map(|article| noun.strip_prefix(article)).unwrap_or(noun)
}
