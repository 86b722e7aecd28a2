//! The calls' structures and their codecs, for both sides.

use super::parse::{Direction, Entry, Param};
use std::fmt::Write;

/// The code of `protocol/src/generated/calls.rs`.
pub fn generate(entries: &[Entry]) -> String {
    let mut code = String::from(
        "//! Made from `api.table` by `cargo xtask codegen`; not to be edited.\n\
         //!\n//! One structure for each call, and one for its answer.\n\n\
         use crate::codec::{Answer, Call, DecodeError, Reader, Word, Writer};\n\
         use crate::table::{Charges, Entry, Order};\n\n",
    );
    code += "/// All entries, by number.\npub const ENTRIES: &[Entry] = &[\n";
    for entry in entries {
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
    for entry in entries {
        call(&mut code, entry);
        answer(&mut code, entry);
    }
    code
}

/// A word of the table as a variant's name.
fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

fn is_in(param: &Param) -> bool {
    param.direction != Direction::Out
}

fn field_type(param: &Param) -> &str {
    match param.kind.as_str() {
        "bytes" | "str" => "&'a [u8]",
        "dev" => "u64",
        _ if param.is_handle() => "u64",
        scalar => scalar,
    }
}

fn field_doc(param: &Param) -> String {
    match (param.direction, param.kind.as_str()) {
        (Direction::New, kind) => format!("Id of the new {kind}."),
        (Direction::Del, kind) => format!("The {kind} that ends."),
        (_, "dev") => "An address of device-visible memory.".into(),
        (_, "str") => "A name in UTF-8.".into(),
        (_, "bytes") => "A byte string.".into(),
        (_, kind) if param.is_handle() => format!("Id of a {kind}."),
        _ => format!("`{}`.", param.name),
    }
}

fn call(code: &mut String, entry: &Entry) {
    let name = entry.type_name();
    let inputs: Vec<&Param> = entry.params.iter().filter(|p| is_in(p)).collect();
    let borrowed = inputs.iter().any(|p| matches!(p.kind.as_str(), "bytes" | "str"));
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
        let _ = writeln!(
            code,
            "/// {}\npub {}: {},",
            field_doc(param),
            param.field(),
            field_type(param)
        );
    }
    code.push_str("}\n");
    let has_answer = entry.params.iter().any(|p| p.direction == Direction::Out);
    let answer = if has_answer { format!("{name}Answer") } else { "()".into() };
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
        let field = param.field();
        let _ = match param.kind.as_str() {
            "bytes" | "str" => writeln!(code, "writer.bytes(self.{field});"),
            _ => writeln!(code, "writer.word(self.{field}.to_word());"),
        };
    }
    let mutable = if inputs.is_empty() { "" } else { "mut " };
    let _ = writeln!(
        code,
        "}}\nfn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {{\n\
         let {mutable}reader = Reader::new(bytes);\nlet call = Self {{"
    );
    for param in &inputs {
        decode_field(code, param, "reader.bytes()?");
    }
    code.push_str("};\nreader.finish()?;\nOk(call)\n}\n}\n\n");
}

fn answer(code: &mut String, entry: &Entry) {
    let outputs: Vec<&Param> = entry.params.iter().filter(|p| !is_in(p)).collect();
    if outputs.is_empty() {
        return;
    }
    let name = format!("{}Answer", entry.type_name());
    let _ = writeln!(
        code,
        "/// What `{}` brings back.\n#[derive(Clone, Debug, Default, PartialEq)]\npub struct {name} {{",
        entry.name
    );
    for param in &outputs {
        let owned = if param.kind == "bytes" { "Vec<u8>" } else { field_type(param) };
        let _ = writeln!(code, "/// {}\npub {}: {owned},", field_doc(param), param.field());
    }
    let _ =
        writeln!(code, "}}\nimpl Answer for {name} {{\nfn encode(&self, writer: &mut Writer) {{");
    for param in &outputs {
        let field = param.field();
        let _ = match param.kind.as_str() {
            "bytes" => writeln!(code, "writer.bytes(&self.{field});"),
            _ => writeln!(code, "writer.word(self.{field}.to_word());"),
        };
    }
    code.push_str(
        "}\nfn decode(bytes: &[u8]) -> Result<Self, DecodeError> {\n\
         let mut reader = Reader::new(bytes);\nlet answer = Self {\n",
    );
    for param in &outputs {
        decode_field(code, param, "reader.bytes()?.to_vec()");
    }
    code.push_str("};\nreader.finish()?;\nOk(answer)\n}\n}\n\n");
}

fn decode_field(code: &mut String, param: &Param, bytes: &str) {
    let field = param.field();
    let _ = match param.kind.as_str() {
        "bytes" | "str" => writeln!(code, "{field}: {bytes},"),
        _ => writeln!(code, "{field}: <{}>::from_word(reader.word()?)?,", field_type(param)),
    };
}
