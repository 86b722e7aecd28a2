//! The calls' structures and their codecs, for both sides.

use super::model::{Entry, Table};
use super::types;
use std::fmt::Write;

/// The code of `protocol/src/generated/calls.rs`.
pub fn generate(table: &Table) -> String {
    let mut code = String::from(
        "//! Made from `api.table` by `cargo xtask codegen`; not to be edited.\n\
         //!\n//! One structure for each call, and one for its answer.\n\n\
         use crate::codec::{Answer, Array, Call, DecodeError, Names, Reader, Word, Writer};\n\
         use crate::ids::*;\nuse crate::structs::*;\n\
         use crate::table::{Charges, Entry, Order};\n\n",
    );
    code += "/// All entries, by number.\npub const ENTRIES: &[Entry] = &[\n";
    for entry in &table.entries {
        let _ = writeln!(
            code,
            "Entry {{ number: {}, name: {:?}, waited: {}, blocking: {}, pending: {}, \
             gated: {}, order: Order::{}, charges: Charges::{} }},",
            entry.number,
            entry.name,
            entry.has("waited"),
            entry.has("blocking"),
            entry.has("pending"),
            entry.has("gated"),
            capital(&entry.order),
            capital(&entry.charges),
        );
    }
    code += "];\n\n";
    for entry in &table.entries {
        call(&mut code, table, entry);
        answer(&mut code, table, entry);
    }
    code
}

/// A word of the table as a variant's name.
pub fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

fn call(code: &mut String, table: &Table, entry: &Entry) {
    let name = entry.type_name();
    let inputs = entry.inputs();
    let borrowed = inputs.iter().any(|p| table.borrows(&p.ty));
    let generics = if borrowed { "<'a>" } else { "" };
    let _ = writeln!(code, "/// Call {}, `{}`.", entry.number, entry.name);
    if !entry.doc.is_empty() {
        let _ = writeln!(code, "///");
        for line in &entry.doc {
            let _ = writeln!(code, "/// {line}");
        }
    }
    let _ =
        writeln!(code, "#[derive(Clone, Copy, Debug, PartialEq)]\npub struct {name}{generics} {{");
    for param in &inputs {
        let rust = types::borrowed(table, &param.ty);
        let _ = writeln!(code, "/// {}\npub {}: {rust},", types::doc(param), param.field());
    }
    code.push_str("}\n");
    let answer = if entry.outputs().is_empty() { "()".into() } else { format!("{name}Answer") };
    let _ = writeln!(
        code,
        "impl<'a> Call<'a> for {name}{generics} {{\n\
         const OPCODE: u32 = {};\nconst NAME: &'static str = {:?};\n\
         const WAITED: bool = {};\nconst BLOCKING: bool = {};\ntype Answer = {answer};\n",
        entry.number,
        entry.name,
        entry.has("waited"),
        entry.has("blocking"),
    );
    let unused = if inputs.is_empty() { "_" } else { "" };
    let _ = writeln!(code, "fn encode(&self, {unused}writer: &mut Writer) {{");
    for param in &inputs {
        let _ = writeln!(code, "{}", types::encode(&param.ty, &format!("self.{}", param.field())));
    }
    let _ = writeln!(code, "}}\nfn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {{");
    if inputs.is_empty() {
        code.push_str("Reader::new(bytes).finish()?;\nOk(Self {})\n}\n}\n\n");
        return;
    }
    code.push_str(
        "let mut reader = Reader::new(bytes);\nlet call = Self::take(&mut reader)?;\n\
         reader.finish()?;\nOk(call)\n}\n}\n\n",
    );
    let lifetime = if borrowed { "'a" } else { "'_" };
    let _ = writeln!(
        code,
        "impl{generics} {name}{generics} {{\n\
         fn take(reader: &mut Reader<{lifetime}>) -> Result<Self, DecodeError> {{\nOk(Self {{"
    );
    for param in &inputs {
        let _ = writeln!(code, "{}: {},", param.field(), types::decode(table, &param.ty));
    }
    code.push_str("})\n}\n}\n\n");
}

fn answer(code: &mut String, table: &Table, entry: &Entry) {
    let outputs = entry.outputs();
    if outputs.is_empty() {
        return;
    }
    let name = format!("{}Answer", entry.type_name());
    let _ = writeln!(
        code,
        "/// The answer to `{}`.\n#[derive(Clone, Debug, Default, PartialEq)]\npub struct {name} {{",
        entry.name
    );
    for param in &outputs {
        let owned = types::owned(table, &param.ty);
        let _ = writeln!(code, "/// {}\npub {}: {owned},", types::doc(param), param.field());
    }
    let _ =
        writeln!(code, "}}\nimpl Answer for {name} {{\nfn encode(&self, writer: &mut Writer) {{");
    for param in &outputs {
        let place = format!("self.{}", param.field());
        let place = match param.ty {
            super::model::Type::Array(..) => format!("&{place}"),
            _ => place,
        };
        let _ = writeln!(code, "{}", types::encode(&param.ty, &place));
    }
    code.push_str(
        "}\nfn decode(bytes: &[u8]) -> Result<Self, DecodeError> {\n\
         let mut reader = Reader::new(bytes);\nlet answer = Self::take(&mut reader)?;\n\
         reader.finish()?;\nOk(answer)\n}\n}\n\n",
    );
    let _ = writeln!(
        code,
        "impl {name} {{\nfn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {{\nOk(Self {{"
    );
    for param in &outputs {
        let _ = writeln!(code, "{}: {},", param.field(), types::decode_owned(table, &param.ty));
    }
    code.push_str("})\n}\n}\n\n");
}
