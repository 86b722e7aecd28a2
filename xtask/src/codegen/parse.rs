//! Reads the API table; its head says what the lines mean.

/// What happens with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Goes to the worker.
    In,
    /// Comes back.
    Out,
    /// A handle's id, minted by the guest.
    New,
    /// A handle that ends.
    Del,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    pub direction: Direction,
    pub kind: String,
    pub name: String,
}

pub const SCALARS: &[&str] = &["u8", "u32", "i32", "u64", "i64", "usize", "f32"];
pub const HANDLES: &[&str] =
    &["ctx", "stream", "event", "module", "library", "kernel", "function", "func", "graphexec"];

impl Param {
    pub fn is_scalar(&self) -> bool {
        SCALARS.contains(&self.kind.as_str())
    }

    pub fn is_handle(&self) -> bool {
        HANDLES.contains(&self.kind.as_str())
    }

    /// The parameter's name in Rust.
    pub fn field(&self) -> String {
        snake(&self.name)
    }
}

/// One entry.
#[derive(Clone, Debug)]
pub struct Entry {
    pub number: u32,
    pub flags: Vec<String>,
    /// One of `ORDERS`.
    pub order: String,
    /// One of `CHARGES`.
    pub charges: String,
    pub name: String,
    pub params: Vec<Param>,
    /// The comment above it.
    pub doc: Vec<String>,
}

const FLAGS: &[&str] =
    &["posted", "waited", "blocking", "pending", "guest", "worker", "gated", "free"];
/// What a call may not overtake: `protocol::table::Order`.
pub const ORDERS: &[&str] =
    &["none", "stream", "pool", "query", "wait", "function", "allocation", "context", "session"];
/// Device memory that a call may take: `protocol::table::Charges`.
pub const CHARGES: &[&str] =
    &["none", "memory", "context", "module", "limit", "local", "stream", "graph"];

impl Entry {
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// Whether a parameter that goes to the worker is a handle of one of these kinds.
    pub fn takes(&self, kinds: &[&str]) -> bool {
        let named = |p: &Param| p.direction != Direction::New && kinds.contains(&p.kind.as_str());
        self.params.iter().any(named)
    }

    /// The name of the call's structure: cuMemAlloc_v2 is CuMemAllocV2.
    pub fn type_name(&self) -> String {
        self.name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
    }

    /// The name of the call's function: cuMemAlloc_v2 is cu_mem_alloc_v2.
    pub fn function_name(&self) -> String {
        snake(&self.name)
    }
}

/// cuMemAlloc_v2 to cu_mem_alloc_v2, hStream to h_stream, vcudaCopy2D to vcuda_copy_2d.
pub fn snake(name: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (i, c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).map(|j| chars[j]);
        let starts_word = match before {
            None => false,
            Some('_') => false,
            Some(b) => {
                c.is_uppercase()
                    && (b.is_lowercase() || chars.get(i + 1).is_some_and(|n| n.is_lowercase()))
                    || c.is_ascii_digit() && b.is_lowercase() && b != 'v'
            }
        };
        if starts_word && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The whole table, checked.
pub fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut doc: Vec<String> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |message: &str| format!("line {}: {message}", index + 1);
        if let Some(comment) = line.strip_prefix('#') {
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
        let (head, rest) = line.split_once('(').ok_or_else(|| at("no parameter list"))?;
        let list = rest.trim_end().strip_suffix(')').ok_or_else(|| at("no closing parenthesis"))?;
        let mut words = head.split_whitespace();
        let number: u32 = words
            .next()
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| at("begins with no number"))?;
        let mut flags: Vec<String> = words.map(str::to_owned).collect();
        let name = flags.pop().ok_or_else(|| at("no name"))?;
        let order = take_word(&mut flags, "order=", ORDERS).map_err(|e| at(&e))?;
        let charges = take_word(&mut flags, "charges=", CHARGES).map_err(|e| at(&e))?;
        if let Some(flag) = flags.iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
            return Err(at(&format!("unknown flag {flag}")));
        }
        let params = list
            .split(',')
            .filter(|param| !param.trim().is_empty())
            .map(|param| parse_param(param).map_err(|e| at(&e)))
            .collect::<Result<Vec<_>, _>>()?;
        let doc = std::mem::take(&mut doc);
        let entry = Entry { number, flags, order, charges, name, params, doc };
        if entry.has("posted") == entry.has("waited") {
            return Err(at("needs one of posted and waited"));
        }
        if entry.has("gated") == entry.has("free") {
            return Err(at("needs one of gated and free"));
        }
        if entry.has("gated") && entry.order != "stream" {
            return Err(at("a gated call has order=stream"));
        }
        let named = match entry.order.as_str() {
            "stream" | "query" | "wait" => entry.takes(&["stream", "event"]),
            "pool" => entry.takes(&["stream"]),
            "function" => entry.takes(&["function", "kernel", "func"]),
            _ => true,
        };
        if !named {
            return Err(at("names nothing that such an order could be about"));
        }
        if entry.has("posted") && entry.params.iter().any(|p| p.direction == Direction::Out) {
            return Err(at("a posted call brings nothing back"));
        }
        if entries.last().is_some_and(|last| last.number >= number) || number == 0 {
            return Err(at("numbers must grow"));
        }
        if entries.iter().any(|other| other.name == entry.name) {
            return Err(at("the name stands already"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Takes the one flag that begins with `key` out of the list: its value, which must be known.
fn take_word(flags: &mut Vec<String>, key: &str, known: &[&str]) -> Result<String, String> {
    let found: Vec<usize> = (0..flags.len()).filter(|i| flags[*i].starts_with(key)).collect();
    let [index] = found[..] else {
        return Err(format!("needs one {key} of {}", known.join(", ")));
    };
    let word = flags.remove(index).split_off(key.len());
    if known.contains(&word.as_str()) {
        Ok(word)
    } else {
        Err(format!("{key}{word} is none of {}", known.join(", ")))
    }
}

fn parse_param(text: &str) -> Result<Param, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [direction, kind, name] = words[..] else {
        return Err(format!("{} is not DIRECTION TYPE NAME", text.trim()));
    };
    let direction = match direction {
        "in" => Direction::In,
        "out" => Direction::Out,
        "new" => Direction::New,
        "del" => Direction::Del,
        other => return Err(format!("unknown direction {other}")),
    };
    let known = match direction {
        Direction::In => {
            SCALARS.contains(&kind)
                || HANDLES.contains(&kind)
                || ["dev", "bytes", "str"].contains(&kind)
        }
        Direction::Out => SCALARS.contains(&kind) || kind == "bytes",
        Direction::New | Direction::Del => HANDLES.contains(&kind) && kind != "func",
    };
    if !known {
        return Err(format!("{kind} can't be a parameter of that direction"));
    }
    Ok(Param { direction, kind: kind.to_owned(), name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_rust_names() {
        assert_eq!(snake("cuMemAlloc_v2"), "cu_mem_alloc_v2");
        assert_eq!(snake("hStream"), "h_stream");
        assert_eq!(snake("gridX"), "grid_x");
        assert_eq!(snake("vcudaCopy2D"), "vcuda_copy_2d");
        assert_eq!(snake("dynamicSMemSize"), "dynamic_s_mem_size");
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, message) in [
            ("1 posted free order=none charges=none f(out u32 x)", "brings nothing back"),
            ("1 free order=none charges=none f()", "posted and waited"),
            (
                "2 posted free order=none charges=none f()\n2 posted free order=none charges=none g()",
                "line 2: numbers must grow",
            ),
            ("1 waited free order=none charges=none f(in int x)", "int can't be"),
            ("1 waited odd free order=none charges=none f()", "unknown flag odd"),
            ("1 waited order=none charges=none f()", "gated and free"),
            ("1 waited free charges=none f()", "needs one order="),
            ("1 waited free order=none f()", "needs one charges="),
            ("1 waited free order=none charges=much f()", "charges=much is none of"),
            ("1 waited gated order=none charges=none f()", "gated call has order=stream"),
            ("1 waited gated order=stream charges=none f()", "names nothing"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
