//! Derives a call's parameters from cuda.h's prototype and the table's annotations.

use super::model::{Direction, HANDLES, Param, SCALARS, Type};
use cuda_api::description::{Prototype, enumeration, prototype};

/// Returns a symbol's prototype. Fails if the symbol is unknown.
pub fn known(symbol: &str) -> Result<&'static Prototype, String> {
    prototype(symbol).ok_or_else(|| format!("{symbol} is not a symbol of CUDA's driver API"))
}

/// Returns whether two symbols have the same parameter types.
pub fn same_types(a: &str, b: &str) -> bool {
    let types = |symbol| {
        prototype(symbol).map(|p| p.parameters.iter().map(|(_, ty)| *ty).collect::<Vec<_>>())
    };
    types(a) == types(b)
}

/// Parses a parameter's direction, such as `in`.
pub fn direction(word: &str) -> Option<Direction> {
    Some(match word {
        "in" => Direction::In,
        "out" => Direction::Out,
        "new" => Direction::New,
        "del" => Direction::Del,
        _ => return None,
    })
}

/// Returns the parameters of a CUDA call. Each annotation has the form `NAME: WORD …`.
pub fn params(
    symbol: &str,
    annotations: &[&str],
    parse_type: impl Fn(&str) -> Result<Type, String>,
) -> Result<Vec<Param>, String> {
    let prototype = known(symbol)?;
    let mut rest = annotations
        .iter()
        .map(|text| {
            let (name, words) =
                text.split_once(':').ok_or(format!("expected NAME: ANNOTATION, found `{text}`"))?;
            Ok((name.trim(), words.split_whitespace().collect::<Vec<_>>()))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let params = prototype
        .parameters
        .iter()
        .map(|(name, c_type)| {
            let annotated = rest.iter().position(|(annotated, _)| annotated == name);
            let words = annotated.map(|at| rest.remove(at).1).unwrap_or_default();
            param(name, c_type, &words, &parse_type).map_err(|e| format!("{symbol}: {e}"))
        })
        .collect::<Result<Vec<_>, String>>()?;
    match rest.first() {
        Some((name, _)) => Err(format!("{symbol} has no parameter {name}")),
        None => Ok(params),
    }
}

fn param(
    name: &str,
    c_type: &str,
    words: &[&str],
    parse_type: impl Fn(&str) -> Result<Type, String>,
) -> Result<Param, String> {
    let (mut said_direction, mut said_type, mut optional) = (None, None, false);
    let mut allowed = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "optional" {
            optional = true;
        } else if *word == "of" {
            let list = words
                .next()
                .ok_or_else(|| format!("{name}: `of` must be followed by the name of a list"))?;
            allowed = Some((*list).to_owned());
        } else if let Some(direction) = direction(word) {
            said_direction = Some(direction);
        } else {
            said_type = Some(parse_type(word)?);
        }
    }
    let pointee = c_type.strip_prefix("*mut ");
    let value = value(pointee.unwrap_or(c_type));
    let (derived_direction, derived_type) = match (pointee, value) {
        // An output parameter that is a device address is the address of newly allocated memory,
        // which is encoded as a plain number.
        (Some(_), Some(Type::Dev)) => (Direction::Out, Some(Type::Scalar("u64"))),
        (Some(_), Some(handle @ Type::Handle(_))) => (Direction::New, Some(handle)),
        (Some(_), value) => (Direction::Out, value),
        (None, value) => (Direction::In, value),
    };
    let derived_type = if c_type == "*const c_char" { Some(Type::Str) } else { derived_type };
    let ty = said_type
        .or(derived_type)
        .ok_or_else(|| format!("{name}: {c_type} needs an annotation with its type"))?;
    let direction = said_direction.unwrap_or(derived_direction);
    if optional && direction != Direction::Out {
        return Err(format!("{name}: only a result can be `optional`"));
    }
    if allowed.is_some() && (direction, &ty) != (Direction::In, &Type::Scalar("u32")) {
        return Err(format!("{name}: `of` is only for a u32 that the guest sends"));
    }
    let (name, c_type) = (name.to_owned(), c_type.to_owned());
    Ok(Param { direction, ty, name, c_type, optional, allowed })
}

/// Returns the encoded form of a parameter with this CUDA type, or `None` if the type alone doesn't
/// determine it.
fn value(c_type: &str) -> Option<Type> {
    if let Some(scalar) = SCALARS.iter().find(|scalar| **scalar == c_type) {
        return Some(Type::Scalar(scalar));
    }
    if let Some(handle) = HANDLES.iter().find(|handle| handle.cuda == c_type) {
        return Some(Type::Handle(handle));
    }
    match c_type {
        "CUdevice" => Some(Type::Scalar("i32")),
        "CUdeviceptr" => Some(Type::Dev),
        _ => {
            let members = enumeration(c_type)?.members;
            let signed = members.iter().any(|(_, value)| *value < 0);
            Some(Type::Scalar(if signed { "i32" } else { "u32" }))
        }
    }
}
