//! Generates guest-libcuda's entry points that check their arguments, send their call, and wait.

use super::model::{Direction, Entry, Param, Table, Type};
use super::types;
use cuda_api::description::prototype;
use std::fmt::Write;

/// The type of a parameter in the entry point.
fn argument_type(param: &Param) -> String {
    let value = match &param.ty {
        Type::Scalar(scalar) => (*scalar).to_owned(),
        Type::Handle(handle) if handle.kind == "stream" => "Handle".to_owned(),
        Type::Fixed(element, count) => types::array(element, *count),
        other => panic!("{}: no entry point can be generated for {other:?}", param.name),
    };
    match (&param.ty, param.direction) {
        (_, Direction::Out) => format!("Out<{value}>"),
        (Type::Fixed(..), _) => format!("In<{value}>"),
        _ => value,
    }
}

/// Statements that check an argument, and turn it into what the call carries.
fn take(code: &mut String, entry: &Entry, param: &Param) {
    let field = param.field();
    if let Some(list) = &param.allowed {
        let _ = writeln!(
            code,
            "if !protocol::options::{list}.contains(&{field}) {{\n\
             return Err(CuError::NOT_SUPPORTED);\n}}"
        );
    }
    match (&param.ty, param.direction) {
        (_, Direction::Out) if !param.optional => {
            let _ = writeln!(code, "{field}.check()?;");
        }
        (Type::Handle(_), Direction::In) => {
            // A graph would lack a call that must follow the work of its stream.
            if entry.order != "none" {
                let name = &entry.name;
                let _ =
                    writeln!(code, "capture::unsupported_on(driver, {field}, null, {name:?})?;");
            }
            let _ = writeln!(code, "let {field} = stream_id(driver, {field}, null)?;");
        }
        (Type::Fixed(..), Direction::In) => {
            let _ = writeln!(code, "let {field} = {field}.get()?;");
        }
        _ if param.c_type == "CUdevice" => {
            let _ = writeln!(code, "driver.device({field})?;");
        }
        _ => {}
    }
}

fn entry_point(code: &mut String, entry: &Entry) {
    let arguments: Vec<String> =
        entry.params.iter().map(|p| format!("{}: {}", p.field(), argument_type(p))).collect();
    let arguments = arguments.join(", ");
    let (outs, ins): (Vec<&Param>, Vec<&Param>) =
        entry.params.iter().partition(|p| p.direction == Direction::Out);
    let fields: Vec<String> = ins.iter().map(|p| p.field()).collect();
    let name = &entry.name;
    let per_thread = format!("{name}_ptsz");
    let _ = if prototype(&per_thread).is_some() {
        writeln!(code, "fn {name}, fn {per_thread}({arguments}) |null| {{")
    } else {
        writeln!(code, "fn {name}({arguments}) {{")
    };
    // A call about a device needs no context.
    let about_device = entry.params.iter().any(|p| p.c_type == "CUdevice");
    let module = if about_device { "driver" } else { "context" };
    let _ = writeln!(code, "let driver = {module}::driver()?;");
    for param in &entry.params {
        take(code, entry, param);
    }
    let call = match &fields[..] {
        [] => format!("{} {{}}", entry.type_name()),
        fields => format!("{} {{ {} }}", entry.type_name(), fields.join(", ")),
    };
    if outs.is_empty() {
        let _ = writeln!(code, "driver.session.call(&{call})\n}}\n");
        return;
    }
    let _ = writeln!(code, "let answer = driver.session.call(&{call})?;");
    for param in outs {
        let field = param.field();
        let _ = if param.optional {
            writeln!(code, "{field}.set_if_wanted(answer.{field});")
        } else {
            writeln!(code, "{field}.set(answer.{field})?;")
        };
    }
    let _ = writeln!(code, "Ok(())\n}}\n");
}

/// `guest-libcuda/src/entry/generated.rs`.
pub fn generate(table: &Table) -> String {
    let entries: Vec<&Entry> = table.entries.iter().filter(|entry| entry.has("guest")).collect();
    let mut body = String::new();
    for entry in &entries {
        entry_point(&mut body, entry);
    }
    let mut out = String::from(
        "//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.\n\n",
    );
    for (word, item) in [
        ("capture::", "crate::capture"),
        ("context::", "crate::context"),
        (" driver::", "crate::driver"),
        ("CuError::", "crate::error::CuError"),
        ("Handle", "crate::handles::Handle"),
        ("stream_id(", "super::stream::stream_id"),
        ("In<", "cuda_api::args::In"),
        ("Out<", "cuda_api::args::Out"),
    ] {
        if body.contains(word) {
            let _ = writeln!(out, "use {item};");
        }
    }
    let types: Vec<String> = entries.iter().map(|entry| entry.type_name()).collect();
    let _ = writeln!(out, "use protocol::calls::{{{}}};\n\nentries! {{", types.join(", "));
    // rustfmt doesn't format a macro's arguments.
    let mut depth = 1;
    for line in body.trim_end().lines() {
        depth -= usize::from(line.starts_with('}'));
        let indent = if line.is_empty() { 0 } else { 4 * depth };
        let _ = writeln!(out, "{:indent$}{line}", "");
        depth += usize::from(line.ends_with('{'));
    }
    out.push_str("}\n");
    out
}
