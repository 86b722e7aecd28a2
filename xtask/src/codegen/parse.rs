//! Parses the API table. The comment at the top of the table describes its syntax.

use super::model::{
    Choice, Direction, DriverFunction, Entry, HANDLES, Param, SCALARS, Struct, Table, Type,
    handle_kind,
};
use super::prototype;

const FLAGS: &[&str] = &[
    "posted", "waited", "quiet", "blocking", "pending", "reader", "always", "guest", "worker",
    "gated", "free",
];
/// Values of `order=`, which says which earlier work a call must not overtake. They match
/// `protocol::table::Order`.
pub const ORDERS: &[&str] =
    &["none", "stream", "pool", "query", "wait", "function", "allocation", "context", "session"];
/// Values of `charges=`, which says what kind of device memory a call may allocate. They match
/// `protocol::table::Charges`.
pub const CHARGES: &[&str] =
    &["none", "memory", "context", "module", "limit", "local", "stream", "graph"];

/// Parses the whole table and checks it against CUDA's prototypes.
pub fn parse(text: &str) -> Result<Table, String> {
    let mut table = Table::default();
    let mut doc: Vec<String> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |message: String| format!("line {}: {message}", index + 1);
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            if comment.starts_with(" ---") {
                doc.clear();
            } else {
                doc.push(comment.trim().to_owned());
            }
            continue;
        }
        if line.trim().is_empty() {
            doc.clear();
            continue;
        }
        let doc = std::mem::take(&mut doc);
        statement(&mut table, line, doc).map_err(at)?;
    }
    Ok(table)
}

fn statement(table: &mut Table, line: &str, doc: Vec<String>) -> Result<(), String> {
    let (word, rest) = line.trim_start().split_once(' ').unwrap_or((line, ""));
    match word {
        "struct" => {
            let structure = structure(table, rest, doc)?;
            table.structs.push(structure);
        }
        "choice" => {
            let name = type_name(table, rest)?;
            table.choices.push(Choice { name, variants: Vec::new(), doc });
        }
        "driver" => {
            let function = driver_function(table, rest)?;
            table.driver.push(function);
        }
        _ if line.starts_with(' ') => variant(table, word, rest, doc)?,
        _ => {
            let entry = entry(table, line, doc)?;
            table.entries.push(entry);
        }
    }
    Ok(())
}

fn type_name(table: &Table, name: &str) -> Result<String, String> {
    let taken = table.structs.iter().any(|other| other.name == name)
        || table.choices.iter().any(|other| {
            other.name == name || other.variants.iter().any(|(_, variant)| variant.name == name)
        });
    if taken {
        return Err(format!("the name {name} is already in use"));
    }
    let good = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric());
    match good {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "{name} is not a structure name: use ASCII letters and digits, starting with a capital"
        )),
    }
}

/// Parses `NAME(TYPE name, …)`.
fn structure(table: &Table, text: &str, doc: Vec<String>) -> Result<Struct, String> {
    let (name, list) = call_like(text)?;
    let name = type_name(table, name)?;
    let members = list.map(|text| {
        let [ty, name] = words(text)?;
        Ok(param(Direction::In, parse_type(table, ty)?, name))
    });
    let members = members.collect::<Result<Vec<_>, String>>()?;
    Ok(Struct { name, members, doc })
}

fn variant(table: &mut Table, number: &str, rest: &str, doc: Vec<String>) -> Result<(), String> {
    let number =
        number.parse().map_err(|_| format!("expected the number of a variant, found {number}"))?;
    let structure = structure(table, rest, doc)?;
    let choice = table.choices.last_mut().ok_or("an indented line must follow a `choice` line")?;
    if choice.variants.last().is_some_and(|(last, _)| *last >= number) {
        return Err("numbers must increase from line to line".into());
    }
    choice.variants.push((number, structure));
    Ok(())
}

/// Parses `SYMBOL [or SYMBOL] [gated]`.
fn driver_function(table: &Table, text: &str) -> Result<DriverFunction, String> {
    let mut function = DriverFunction { symbols: Vec::new(), gated: false };
    let mut more = true;
    for word in text.split_whitespace() {
        match word {
            "or" => more = true,
            "gated" => function.gated = true,
            symbol if std::mem::take(&mut more) => {
                prototype::known(symbol)?;
                function.symbols.push(symbol.to_owned());
            }
            other => return Err(format!("unknown word {other}: expected `or` or `gated`")),
        }
    }
    let first = function.symbols.first().ok_or("expected a symbol after `driver`")?;
    if let Some(other) = table.driver.iter().find(|other| other.method() == function.method()) {
        return Err(format!("{first} is already listed, as {}", other.symbols[0]));
    }
    if function.symbols.iter().any(|other| !prototype::same_types(first, other)) {
        return Err(format!(
            "{} have different parameters, so they can't be one function",
            function.symbols.join(" and ")
        ));
    }
    Ok(function)
}

fn entry(table: &Table, line: &str, doc: Vec<String>) -> Result<Entry, String> {
    let (head, list) = match line.split_once('(') {
        Some((head, _)) => (head, call_like(line)?.1.collect::<Vec<_>>()),
        None => (line, Vec::new()),
    };
    let mut words = head.split_whitespace();
    let number: u32 = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or("a call's line must begin with its number")?;
    let mut flags: Vec<String> = words.map(str::to_owned).collect();
    let name = flags.pop().ok_or("the call's name is missing")?;
    let order = take_word(&mut flags, "order=", ORDERS)?;
    let charges = take_word(&mut flags, "charges=", CHARGES)?;
    if let Some(flag) = flags.iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
        return Err(format!("unknown flag {flag}: expected one of {}", FLAGS.join(", ")));
    }
    let params = if name.starts_with("vcuda") {
        list.into_iter().map(|text| own_param(table, text)).collect::<Result<Vec<_>, _>>()?
    } else {
        prototype::params(&name, &list, |ty| parse_type(table, ty))?
    };
    let entry = Entry { number, flags, order, charges, name, params, doc };
    check(&entry)?;
    if table.entries.last().is_some_and(|last| last.number >= number) || number == 0 {
        return Err("numbers must increase from line to line".into());
    }
    if table.entries.iter().any(|other| other.name == entry.name) {
        return Err(format!("{} is already listed", entry.name));
    }
    Ok(entry)
}

fn check(entry: &Entry) -> Result<(), String> {
    let one_of = |a: &str, b: &str| match entry.has(a) == entry.has(b) {
        true => Err(format!("needs exactly one of the flags {a} and {b}")),
        false => Ok(()),
    };
    one_of("posted", "waited")?;
    one_of("gated", "free")?;
    if entry.has("gated") && !["stream", "context"].contains(&entry.order.as_str()) {
        return Err("a gated call must have order=stream or order=context".into());
    }
    let kinds: &[&str] = match entry.order.as_str() {
        "stream" | "query" | "wait" => &["stream", "event"],
        "pool" => &["stream"],
        "function" => &["function", "kernel", "func"],
        _ => &[],
    };
    if !kinds.is_empty() && !entry.takes(kinds) {
        let kinds = kinds.join(" or ");
        return Err(format!("order={} needs a parameter of type {kinds}", entry.order));
    }
    if entry.has("posted") && !entry.outputs().is_empty() {
        return Err(
            "a posted call can't have results: make it waited, or remove its out parameters".into(),
        );
    }
    if entry.has("quiet") && !entry.has("posted") {
        return Err("`quiet` is only for posted calls".into());
    }
    if entry.has("always") && entry.outputs().is_empty() {
        return Err("`always` is only for calls with results".into());
    }
    if entry.has("worker") && (entry.has("pending") || entry.has("reader")) {
        return Err(
            "`worker` excludes `pending` and `reader`: a generated body can't take the reply"
                .into(),
        );
    }
    let ends = entry.params.iter().any(|param| param.direction == Direction::Del);
    if ends && entry.has("blocking") && !entry.has("reader") {
        return Err("a blocking call that ends an object must have the flag reader".into());
    }
    if (entry.has("worker") || entry.has("guest")) && entry.name.starts_with("vcuda") {
        return Err("`guest` and `worker` are only for calls with the name of a CUDA symbol".into());
    }
    Ok(())
}

/// Splits `name(a, b)` into the name and the comma-separated parts.
fn call_like(text: &str) -> Result<(&str, impl Iterator<Item = &str>), String> {
    let (name, rest) = text.split_once('(').ok_or("expected a parameter list in parentheses")?;
    let list =
        rest.trim_end().strip_suffix(')').ok_or("the parameter list has no closing parenthesis")?;
    Ok((name, list.split(',').map(str::trim).filter(|text| !text.is_empty())))
}

fn words<const N: usize>(text: &str) -> Result<[&str; N], String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.try_into().map_err(|_| format!("expected {N} words, found `{text}`"))
}

fn param(direction: Direction, ty: Type, name: &str) -> Param {
    let (name, c_type) = (name.to_owned(), String::new());
    Param { direction, ty, name, c_type, optional: false, allowed: None }
}

/// Parses `DIRECTION TYPE name`, a parameter of one of the project's own calls.
fn own_param(table: &Table, text: &str) -> Result<Param, String> {
    let [direction, ty, name] = words(text)?;
    let word = direction;
    let direction = prototype::direction(direction)
        .ok_or_else(|| format!("unknown direction {direction}: expected in, out, new, or del"))?;
    let param = param(direction, parse_type(table, ty)?, name);
    let handle = matches!(param.ty, Type::Handle(_));
    let good = match direction {
        Direction::In => true,
        Direction::Out => !handle && !matches!(param.ty, Type::Choice(_)),
        Direction::New | Direction::Del => handle,
    };
    if good {
        Ok(param)
    } else {
        Err(format!("a parameter of type {ty} can't have the direction {word}"))
    }
}

/// Parses the type of a parameter or member.
fn parse_type(table: &Table, text: &str) -> Result<Type, String> {
    if let Some((element, length)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        let element = parse_type(table, element)?;
        if table.element_bytes(&element).is_none() {
            return Err(format!("{text}: the elements of an array must have a fixed size"));
        }
        return Ok(match length.parse() {
            Ok(count) => Type::Fixed(Box::new(element), count),
            Err(_) if length.is_empty() => Type::Array(Box::new(element), None),
            Err(_) => Type::Array(Box::new(element), Some(length.to_owned())),
        });
    }
    if let Some(scalar) = SCALARS.iter().find(|scalar| **scalar == text) {
        return Ok(Type::Scalar(scalar));
    }
    if let Some(handle) = handle_kind(text) {
        return Ok(Type::Handle(handle));
    }
    match text {
        "dev" => Ok(Type::Dev),
        "bytes" => Ok(Type::Bytes),
        "str" => Ok(Type::Str),
        "names" => Ok(Type::Names),
        name if table.structure(name).is_some() => Ok(Type::Struct(name.to_owned())),
        name if table.choices.iter().any(|choice| choice.name == name) => {
            Ok(Type::Choice(name.to_owned()))
        }
        _ => {
            let kinds: Vec<&str> = HANDLES.iter().map(|handle| handle.kind).collect();
            Err(format!(
                "{text} is not a type: expected {}, dev, bytes, str, names, a structure, a choice, or a \
                 kind of handle ({})",
                SCALARS.join(", "),
                kinds.join(", ")
            ))
        }
    }
}

/// Removes the flag that starts with `key` from the list and returns its value. Fails if the value
/// isn't in `known`.
fn take_word(flags: &mut Vec<String>, key: &str, known: &[&str]) -> Result<String, String> {
    let found: Vec<usize> = (0..flags.len()).filter(|i| flags[*i].starts_with(key)).collect();
    let [index] = found[..] else {
        return Err(format!("needs exactly one {key}, set to one of {}", known.join(", ")));
    };
    let word = flags.remove(index).split_off(key.len());
    if known.contains(&word.as_str()) {
        Ok(word)
    } else {
        Err(format!("unknown {key}{word}: expected one of {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "1 waited free order=none charges=none";

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, message) in [
            ("1 posted free order=none charges=none vcudaF(out u32 x)", "can't have results"),
            ("1 free order=none charges=none vcudaF()", "posted and waited"),
            (
                "2 posted free order=none charges=none vcudaF()\n\
                 2 posted free order=none charges=none vcudaG()",
                "line 2: numbers must increase",
            ),
            ("1 waited free order=none charges=none vcudaF(in int x)", "int is not a type"),
            ("1 waited quiet free order=none charges=none vcudaF()", "only for posted calls"),
            ("1 waited odd free order=none charges=none vcudaF()", "unknown flag odd"),
            ("1 waited order=none charges=none vcudaF()", "gated and free"),
            ("1 waited free charges=none vcudaF()", "needs exactly one order="),
            ("1 waited free order=none vcudaF()", "needs exactly one charges="),
            ("1 waited free order=none charges=much vcudaF()", "unknown charges=much"),
            (
                "1 waited gated order=none charges=none vcudaF()",
                "gated call must have order=stream or order=context",
            ),
            ("1 waited gated order=stream charges=none vcudaF()", "stream or event"),
            (
                "1 waited blocking free order=none charges=none vcudaF(del event e)",
                "must have the flag reader",
            ),
            ("struct S(u32 a)\nstruct S(u32 a)", "line 2: the name S is already in use"),
            ("struct S(bytes[4] a)", "must have a fixed size"),
            ("driver cuNoSuchFunction", "cuNoSuchFunction is not a symbol"),
            ("driver cuInit\ndriver cuInit", "line 2: cuInit is already listed"),
            ("driver cuInit or cuMemAlloc_v2", "different parameters"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_cuda_call_takes_its_parameters_from_the_prototype() {
        let table = parse(&format!("{PLAIN} cuMemAllocAsync")).unwrap();
        let [dptr, bytesize, stream] = &table.entries[0].params[..] else { panic!() };
        assert_eq!((dptr.direction, &dptr.ty), (Direction::Out, &Type::Scalar("u64")));
        assert_eq!((bytesize.direction, &bytesize.ty), (Direction::In, &Type::Scalar("usize")));
        assert_eq!(stream.handle().unwrap().kind, "stream");
        let table = parse(&format!("{PLAIN} cuStreamDestroy_v2(hStream: del)")).unwrap();
        assert_eq!(table.entries[0].params[0].direction, Direction::Del);
    }

    #[test]
    fn an_annotation_must_fit_the_prototype() {
        for (call, message) in [
            ("cuNoSuchFunction", "cuNoSuchFunction is not a symbol"),
            ("cuMemAlloc", "line 1"),
            ("cuMemAlloc_v2(dptr: u64, size: usize)", "no parameter size"),
            ("cuDeviceGetLuid", "luid: *mut c_char needs an annotation"),
            ("cuMemcpy2D_v2", "pCopy: *const CUDA_MEMCPY2D needs an annotation"),
            ("cuMemAlloc_v2(dptr: nonsense)", "nonsense is not a type"),
            ("cuCtxSetLimit(limit: of)", "must be followed by the name of a list"),
            ("cuCtxSetLimit(value: of LIST)", "only for a u32"),
        ] {
            let result = parse(&format!("{PLAIN} {call}"));
            if call != "cuMemAlloc" {
                let error = result.unwrap_err();
                assert!(error.contains(message), "{error}");
            }
        }
    }
}
