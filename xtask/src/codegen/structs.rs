//! The table's structures and choices, with their codecs.

use super::model::{Choice, Struct, Table, Type};
use super::{model::Param, types};
use std::fmt::Write;

/// The code of `protocol/src/generated/structs.rs`.
pub fn generate(table: &Table) -> String {
    let mut code = String::from(
        "//! Made from `api.table` by `cargo xtask codegen`; not to be edited.\n\
         //!\n//! Structures that travel within calls and answers.\n\n\
         use crate::codec::{Array, DecodeError, Element, Reader, Word, Writer};\nuse crate::ids::*;\n\n",
    );
    for structure in &table.structs {
        structure_code(&mut code, table, structure);
    }
    for choice in &table.choices {
        for (_, structure) in &choice.variants {
            if !structure.members.is_empty() {
                structure_code(&mut code, table, structure);
            }
        }
        choice_code(&mut code, table, choice);
    }
    code
}

fn docs(code: &mut String, doc: &[String], name: &str) {
    if doc.is_empty() {
        let _ = writeln!(code, "/// {name}.");
    }
    for line in doc {
        let _ = writeln!(code, "/// {line}");
    }
}

fn structure_code(code: &mut String, table: &Table, structure: &Struct) {
    let name = &structure.name;
    let borrows = structure.members.iter().any(|member| table.borrows(&member.ty));
    let generics = if borrows { "<'a>" } else { "" };
    docs(code, &structure.doc, name);
    let _ =
        writeln!(code, "#[derive(Clone, Copy, Debug, PartialEq)]\npub struct {name}{generics} {{");
    for member in &structure.members {
        let rust = types::borrowed(table, &member.ty);
        let _ = writeln!(code, "/// {}\npub {}: {rust},", types::doc(member), member.field());
    }
    let lifetime = if borrows { "'a" } else { "'_" };
    let _ = writeln!(
        code,
        "}}\n\nimpl{generics} {name}{generics} {{\n/// Appends the structure.\n\
         pub fn encode(&self, writer: &mut Writer) {{"
    );
    for member in &structure.members {
        let _ =
            writeln!(code, "{}", types::encode(&member.ty, &format!("self.{}", member.field())));
    }
    let _ = writeln!(
        code,
        "}}\n\n/// Takes the structure.\n\
         pub fn decode(reader: &mut Reader<{lifetime}>) -> Result<Self, DecodeError> {{\nOk(Self {{"
    );
    for member in &structure.members {
        let _ = writeln!(code, "{}: {},", member.field(), types::decode(table, &member.ty));
    }
    code.push_str("})\n}\n}\n\n");
    let sizes = structure.members.iter().map(|member| table.argument_bytes(&member.ty));
    if let Some(bytes) = sizes.sum() {
        element(code, name, bytes, &structure.members);
    }
}

fn element(code: &mut String, name: &str, bytes: usize, members: &[Param]) {
    let _ = writeln!(
        code,
        "impl Element for {name} {{\nconst BYTES: usize = {bytes};\nconst ZERO: Self = Self {{"
    );
    for member in members {
        let _ = writeln!(code, "{}: {},", member.field(), zero(&member.ty));
    }
    code.push_str(
        "};\nfn put(&self, writer: &mut Writer) {\nself.encode(writer);\n}\n\
         fn get(bytes: &[u8]) -> Result<Self, DecodeError> {\n\
         let mut reader = Reader::new(bytes);\nlet value = Self::decode(&mut reader)?;\n\
         reader.finish()?;\nOk(value)\n}\n}\n\n",
    );
}

fn zero(ty: &Type) -> String {
    match ty {
        Type::Scalar("f32") => "0.0".into(),
        Type::Handle(handle) => format!("{}(0)", handle.id),
        Type::Struct(name) => format!("{name}::ZERO"),
        Type::Fixed(element, count) => format!("[{}; {count}]", zero(element)),
        _ => "0".into(),
    }
}

fn choice_code(code: &mut String, table: &Table, choice: &Choice) {
    let name = &choice.name;
    let borrows = table.borrows(&Type::Choice(name.clone()));
    let (generics, lifetime) = if borrows { ("<'a>", "'a") } else { ("", "'_") };
    let variants = |code: &mut String, each: &dyn Fn(u32, &Struct) -> String| {
        for (number, structure) in &choice.variants {
            let _ = writeln!(code, "{}", each(*number, structure));
        }
    };
    docs(code, &choice.doc, name);
    let _ =
        writeln!(code, "#[derive(Clone, Copy, Debug, PartialEq)]\npub enum {name}{generics} {{");
    variants(code, &|_, structure| {
        let mut text = String::new();
        docs(&mut text, &structure.doc, &structure.name);
        let borrows = structure.members.iter().any(|member| table.borrows(&member.ty));
        let generics = if borrows { "<'a>" } else { "" };
        let variant = variant(choice, structure);
        text + &match structure.members.is_empty() {
            true => format!("{variant},"),
            false => format!("{variant}({}{generics}),", structure.name),
        }
    });
    let _ = writeln!(
        code,
        "}}\n\nimpl{generics} {name}{generics} {{\n/// The variant's number.\n\
         pub fn kind(&self) -> u32 {{\nmatch self {{"
    );
    let pattern = |structure: &Struct, inner: &str| match structure.members.is_empty() {
        true => format!("Self::{}", variant(choice, structure)),
        false => format!("Self::{}({inner})", variant(choice, structure)),
    };
    variants(code, &|number, structure| format!("{} => {number},", pattern(structure, "_")));
    code.push_str(
        "}\n}\n\n/// Appends the variant's number and members.\n\
         pub fn encode(&self, writer: &mut Writer) {\nwriter.word(self.kind().into());\n\
         match self {\n",
    );
    variants(code, &|_, structure| match structure.members.is_empty() {
        true => format!("{} => {{}}", pattern(structure, "")),
        false => format!("{} => value.encode(writer),", pattern(structure, "value")),
    });
    let _ = writeln!(
        code,
        "}}\n}}\n\n/// Takes a variant.\n\
         pub fn decode(reader: &mut Reader<{lifetime}>) -> Result<Self, DecodeError> {{\n\
         Ok(match u32::from_word(reader.word()?)? {{"
    );
    variants(code, &|number, structure| match structure.members.is_empty() {
        true => format!("{number} => Self::{},", variant(choice, structure)),
        false => {
            let (variant, name) = (variant(choice, structure), &structure.name);
            format!("{number} => Self::{variant}({name}::decode(reader)?),")
        }
    });
    code.push_str("_ => return Err(DecodeError::Range),\n})\n}\n}\n\n");
}

/// The variant's name: the structure's name without the choice's name.
fn variant<'a>(choice: &Choice, structure: &'a Struct) -> &'a str {
    structure.name.strip_suffix(&choice.name).unwrap_or(&structure.name)
}
