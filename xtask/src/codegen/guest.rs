//! Generates guest-libcuda's entry points that only send their call and wait.

use super::model::{Direction, Entry, Param, Table, Type};
use std::fmt::Write;

/// The C type of a parameter, in Rust.
fn c_type(param: &Param) -> String {
    match (&param.ty, param.direction) {
        (Type::Scalar(scalar), Direction::Out) => format!("Out<{scalar}>"),
        (Type::Scalar(scalar), _) => (*scalar).to_owned(),
        (other, _) => panic!("{}: no entry point can be generated for {other:?}", param.name),
    }
}

/// `guest-libcuda/src/entry/generated.rs`.
pub fn generate(table: &Table) -> String {
    let entries: Vec<&Entry> = table.entries.iter().filter(|entry| entry.has("guest")).collect();
    let mut out = String::from(
        "//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.\n\n\
         use cuda_api::args::Out;\nuse crate::context;\n",
    );
    let types: Vec<String> = entries.iter().map(|entry| entry.type_name()).collect();
    let _ = writeln!(out, "use protocol::calls::{{{}}};\n\nentries! {{", types.join(", "));
    for entry in entries {
        let arguments: Vec<String> =
            entry.params.iter().map(|p| format!("{}: {}", p.field(), c_type(p))).collect();
        let (outs, ins): (Vec<&Param>, Vec<&Param>) =
            entry.params.iter().partition(|p| p.direction == Direction::Out);
        let fields: Vec<String> = ins.iter().map(|p| p.field()).collect();
        let _ = writeln!(out, "    fn {}({}) {{", entry.name, arguments.join(", "));
        let _ = writeln!(out, "        let driver = context::driver()?;");
        let call = match &fields[..] {
            [] => format!("{} {{}}", entry.type_name()),
            fields => format!("{} {{ {} }}", entry.type_name(), fields.join(", ")),
        };
        if outs.is_empty() {
            let _ = writeln!(out, "        driver.session.call(&{call})");
        } else {
            let _ = writeln!(out, "        let answer = driver.session.call(&{call})?;");
            for param in outs {
                let field = param.field();
                let _ = writeln!(out, "        {field}.set_if_wanted(answer.{field});");
            }
            let _ = writeln!(out, "        Ok(())");
        }
        let _ = writeln!(out, "    }}\n");
    }
    // No blank line before the end.
    out.truncate(out.trim_end().len());
    out.push_str("\n}\n");
    out
}
