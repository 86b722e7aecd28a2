//! Generates the worker's dispatch, which maps a command's number to the body of its call.

use super::model::{Direction, Entry, Param, Table, Type, without_version};
use super::types;
use cuda_api::description;
use std::fmt::Write;

/// The code of `vhost-backend/vhost-cuda-worker/src/calls/generated/dispatch.rs`.
pub fn generate(table: &Table) -> String {
    let mut code = String::from(
        "//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.\n\n\
         use cuda_api::sys;\nuse protocol::calls as api;\nuse protocol::codec::Answer;\n\n\
         use super::charges::{ChargedReply, Reservation, Settled, kind};\n\
         use super::dispatch::{blocking, decode, gated, inline, pending, unknown};\n\
         use super::gate::Names;\n\
         use super::gate::pass::Pass;\n\
         use super::{Calls, Command, ReplyTo};\nuse crate::driver::CuResult;\n\n\
         /// Executes one command. Bodies of gated calls get the gate's pass.\n\
         pub(super) fn dispatch(calls: &mut Calls, command: &Command<'_>, pass: &Pass, reply: ReplyTo) {\n\
         match command.opcode {\n",
    );
    for entry in &table.entries {
        arm(&mut code, entry);
    }
    code += "_ => unknown(command, reply),\n}\n}\n\n";
    if code.contains("CuError::") {
        code = code.replace("driver::CuResult;", "driver::{CuError, CuResult};");
    }
    names(&mut code, &table.entries);
    code
}

/// Generates the function that lists the handles of calls that may be held.
fn names(code: &mut String, entries: &[Entry]) {
    *code += "/// The handles that a command which may be held names.\n\
              pub(super) fn names(opcode: u32, args: &[u8]) -> CuResult<Names> {\n\
              let mut names = Names::default();\n\
              match opcode {\n";
    let kinds = [
        ("stream", "streams"),
        ("event", "events"),
        ("function", "functions"),
        ("kernel", "functions"),
        ("func", "functions"),
        ("ctx", "contexts"),
    ];
    for entry in entries.iter().filter(|entry| entry.order != "none") {
        let named: Vec<String> = entry
            .params
            .iter()
            .filter(|p| matches!(p.direction, Direction::In | Direction::Del))
            .filter_map(|p| {
                let handle = p.handle()?;
                let (_, list) = kinds.iter().find(|(kind, _)| *kind == handle.kind)?;
                let ends = p.direction == Direction::Del;
                Some(format!("names.{list}.add(call.{}.0, {ends});", p.field()))
            })
            .collect();
        if named.is_empty() {
            continue;
        }
        let _ = writeln!(code, "// {}", entry.name);
        let _ = writeln!(code, "{} => {{", entry.number);
        let _ = writeln!(code, "let call = decode::<api::{}>(args)?;", entry.type_name());
        let _ = writeln!(code, "{}\n}}", named.join("\n"));
    }
    *code += "_ => {}\n}\nOk(names)\n}\n";
}

fn arm(code: &mut String, entry: &Entry) {
    let ty = entry.type_name();
    let method = entry.function_name();
    let _ = writeln!(code, "// {}", entry.name);
    if entry.has("pending") || entry.has("reader") {
        let pass = if entry.has("gated") { "pass, " } else { "" };
        let reply = match charge(entry) {
            Some(kind) => format!("ChargedReply::<{kind}>::new(reply)"),
            None => "reply".to_owned(),
        };
        let _ = writeln!(
            code,
            "{} => pending(calls, command, reply, |calls, cx, call: api::{ty}, reply| calls.{method}(cx, call, {pass}{reply})),",
            entry.number
        );
        return;
    }
    let (how, pass) = match (entry.has("gated"), entry.has("blocking")) {
        (true, true) => panic!("{}: a gated call can't be blocking", entry.name),
        (true, false) => ("gated", ", pass"),
        (false, true) => ("blocking", ""),
        (false, false) => ("inline", ""),
    };
    let empty = !entry.params.iter().any(|p| p.direction != Direction::Out);
    let call = if empty && entry.has("worker") { "_" } else { "call" };
    let answers = entry.params.iter().any(|p| p.direction == Direction::Out);
    let out = if answers { "out" } else { "_" };
    let _ = writeln!(
        code,
        "{} => {how}(calls, command{pass}, reply, |cx, args{pass}, {out}| {{",
        entry.number
    );
    let _ = writeln!(code, "let {call} = decode::<api::{ty}>(args)?;");
    let reservation = charge(entry).map_or("", |_| ", Reservation::of_call()");
    let call = format!("cx.{method}(call{pass}{reservation})");
    // A charged call succeeds only with the proof that its charge was settled.
    let done = charge(entry).map(|kind| format!("Settled::<{kind}>::done"));
    if entry.has("worker") {
        driver_call(code, entry);
    } else if entry.has("always") {
        let result = done.map_or("result".to_owned(), |done| format!("result.and_then({done})"));
        let _ = writeln!(code, "let (result, answer) = {call};\nanswer.encode(out);\n{result}");
    } else {
        let _ = match (answers, done) {
            (true, None) => writeln!(code, "{call}?.encode(out);\nOk(())"),
            (true, Some(done)) => writeln!(
                code,
                "let (answer, settled) = {call}?;\nanswer.encode(out);\n{done}(settled)"
            ),
            (false, None) => writeln!(code, "{call}"),
            (false, Some(done)) => writeln!(code, "{call}.and_then({done})"),
        };
    }
    code.push_str("}),\n");
}

/// The kind of reservation that a call with `charges=` gets.
fn charge(entry: &Entry) -> Option<String> {
    let (first, rest) = entry.charges.split_at(1);
    (entry.charges != "none").then(|| format!("kind::{}{rest}", first.to_uppercase()))
}

/// The name of the enumeration that a parameter is, or points to.
fn enumeration(param: &Param) -> Option<&'static str> {
    let name = param.c_type.trim_start_matches("*mut ");
    description::enumeration(name).map(|enumeration| enumeration.name)
}

/// The driver's function of the same name, with the arguments in the table's order.
fn driver_call(code: &mut String, entry: &Entry) {
    for param in &entry.params {
        if let Some(list) = &param.allowed {
            let _ = writeln!(
                code,
                "if !protocol::options::{list}.contains(&call.{}) {{\n\
                 return Err(CuError::NOT_SUPPORTED);\n}}",
                param.field()
            );
        }
    }
    // The default streams are the current context's.
    let enter = if entry.takes(&["stream"]) { "enter" } else { "enter_any" };
    let _ = writeln!(code, "cx.{enter}()?;");
    let outputs: Vec<&Param> =
        entry.params.iter().filter(|p| p.direction == Direction::Out).collect();
    let mut arguments = Vec::new();
    for param in &entry.params {
        let field = param.field();
        if let Type::Fixed(element, count) = &param.ty {
            let (out, place) = match param.direction {
                Direction::Out => (true, field.clone()),
                _ => (false, format!("call.{field}")),
            };
            let array = types::array(element, *count);
            same_size(code, param, &array);
            if out {
                let _ = writeln!(code, "let mut {field} = <{array}>::default();");
            }
            arguments.push(format!("(&raw {} {place}).cast()", if out { "mut" } else { "const" }));
        } else if param.direction == Direction::Out {
            let Type::Scalar(scalar) = param.ty else {
                panic!("{}: no body can be generated for {:?}", entry.name, param.ty)
            };
            let start = match enumeration(param) {
                Some(name) => format!("sys::{name}(0)"),
                None => format!("{scalar}::default()"),
            };
            let _ = writeln!(code, "let mut {field} = {start};");
            arguments.push(format!("&mut {field}"));
        } else if let Some(handle) = param.handle() {
            let (pattern, reservation) = if handle.kind == "func" && charge(entry).is_some() {
                (format!("({field}, settled)"), "Reservation::of_call(), ")
            } else {
                (field.clone(), "")
            };
            let _ =
                writeln!(code, "let {pattern} = cx.{}({reservation}call.{field})?;", handle.kind);
            arguments.push(field);
        } else if let Some(name) = enumeration(param) {
            arguments.push(format!("sys::{name}(call.{field})"));
        } else {
            arguments.push(format!("call.{field}"));
        }
    }
    code.push_str(
        "// SAFETY: handles are live (just looked up), pointers are those of locals.\nunsafe { ",
    );
    // The driver table selects the version.
    let function = without_version(&entry.name);
    let _ = writeln!(code, "cx.driver().{function}({})?; }}", arguments.join(", "));
    if !outputs.is_empty() {
        let field = |p: &&Param| match enumeration(p) {
            Some(_) => format!("{0}: {0}.0", p.field()),
            None => p.field(),
        };
        let fields: Vec<String> = outputs.iter().map(field).collect();
        let _ = writeln!(
            code,
            "api::{}Answer {{ {} }}.encode(out);",
            entry.type_name(),
            fields.join(", ")
        );
    }
    match charge(entry) {
        Some(kind) => {
            let _ = writeln!(code, "Settled::<{kind}>::done(settled)");
        }
        None => code.push_str("Ok(())\n"),
    }
}

/// Compares an array with the structure or union that CUDA takes its address for.
fn same_size(code: &mut String, param: &Param, array: &str) {
    let pointee = param.c_type.trim_start_matches("*mut ").trim_start_matches("*const ");
    if pointee != "c_char" {
        let _ = writeln!(
            code,
            "const {{ assert!(size_of::<{array}>() == size_of::<cuda_api::sys::{pointee}>()) }};"
        );
    }
}
