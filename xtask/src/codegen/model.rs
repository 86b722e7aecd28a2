//! The parsed API table.

/// The direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Sent to the worker.
    In,
    /// Returned by the worker.
    Out,
    /// A handle's id, minted by the guest.
    New,
    /// A handle that the call destroys.
    Del,
}

/// The encoded form of a parameter or member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// One word.
    Scalar(&'static str),
    /// An address of device-visible memory: one word.
    Dev,
    /// A handle's id: one word. The kind is one of `HANDLES`.
    Handle(&'static Handle),
    /// A byte string.
    Bytes,
    /// A name in UTF-8 without a zero byte.
    Str,
    /// Names, each ended by a zero byte.
    Names,
    /// A structure of the table.
    Struct(String),
    /// One of several structures: its number, then its members.
    Choice(String),
    /// A fixed number of elements, packed.
    Fixed(Box<Type>, usize),
    /// A byte string of packed elements, with an optional limit on their number.
    Array(Box<Type>, Option<String>),
}

/// A kind of handle.
#[derive(Debug, PartialEq, Eq)]
pub struct Handle {
    /// Its name in the table.
    pub kind: &'static str,
    /// The type of its ids.
    pub id: &'static str,
    /// CUDA's type.
    pub cuda: &'static str,
    /// Its name in documentation, with an article.
    pub noun: &'static str,
}

const fn handle(
    kind: &'static str,
    id: &'static str,
    cuda: &'static str,
    noun: &'static str,
) -> Handle {
    Handle { kind, id, cuda, noun }
}

/// Kinds of handles. A CUfunction is a `func` unless the table says `function`.
pub const HANDLES: &[Handle] = &[
    handle("ctx", "ContextId", "CUcontext", "a context"),
    handle("stream", "StreamId", "CUstream", "a stream"),
    handle("event", "EventId", "CUevent", "an event"),
    handle("module", "ModuleId", "CUmodule", "a module"),
    handle("library", "LibraryId", "CUlibrary", "a library"),
    handle("kernel", "KernelId", "CUkernel", "a kernel"),
    handle("func", "FuncId", "CUfunction", "a function or a kernel"),
    handle("function", "FunctionId", "CUfunction", "a function"),
    handle("graphexec", "GraphExecId", "CUgraphExec", "an executable graph"),
    handle("blob", "BlobId", "", "a blob"),
];

/// A kind of handle by its name in the table.
pub fn handle_kind(kind: &str) -> Option<&'static Handle> {
    HANDLES.iter().find(|handle| handle.kind == kind)
}

pub const SCALARS: &[&str] = &["u8", "u32", "i32", "u64", "i64", "usize", "f32"];

/// One parameter, or a member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    pub direction: Direction,
    pub ty: Type,
    /// Its name in the prototype.
    pub name: String,
    /// The type in CUDA's prototype; empty for our own calls.
    pub c_type: String,
    /// The caller may pass null for it.
    pub optional: bool,
    /// The list of `protocol::options` that must contain it.
    pub allowed: Option<String>,
}

impl Param {
    pub fn is_in(&self) -> bool {
        self.direction != Direction::Out
    }

    /// Its kind of handle, if it's one.
    pub fn handle(&self) -> Option<&'static Handle> {
        match self.ty {
            Type::Handle(handle) => Some(handle),
            _ => None,
        }
    }

    /// The parameter's name in Rust.
    pub fn field(&self) -> String {
        snake(&self.name)
    }
}

/// One call.
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
    /// The comment above it in the table.
    pub doc: Vec<String>,
}

impl Entry {
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    pub fn inputs(&self) -> Vec<&Param> {
        self.params.iter().filter(|p| p.is_in()).collect()
    }

    pub fn outputs(&self) -> Vec<&Param> {
        self.params.iter().filter(|p| !p.is_in()).collect()
    }

    /// Whether a parameter that goes to the worker is a handle of one of these kinds.
    pub fn takes(&self, kinds: &[&str]) -> bool {
        self.params.iter().any(|param| {
            let named = param.handle().is_some_and(|handle| kinds.contains(&handle.kind));
            named && matches!(param.direction, Direction::In | Direction::Del)
        })
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

/// A structure.
#[derive(Clone, Debug)]
pub struct Struct {
    pub name: String,
    pub members: Vec<Param>,
    pub doc: Vec<String>,
}

/// One of several structures, each with its number.
#[derive(Clone, Debug)]
pub struct Choice {
    pub name: String,
    pub variants: Vec<(u32, Struct)>,
    pub doc: Vec<String>,
}

/// A function of the driver that the worker calls.
#[derive(Clone, Debug)]
pub struct DriverFunction {
    /// Its symbol, followed by fallbacks for libraries that don't have it.
    pub symbols: Vec<String>,
    /// Whether it makes the GPU work.
    pub gated: bool,
}

impl DriverFunction {
    /// The method's name: the symbol without its version.
    pub fn method(&self) -> &str {
        without_version(&self.symbols[0])
    }
}

/// A symbol without its version: cuMemAlloc_v2 is cuMemAlloc.
pub fn without_version(symbol: &str) -> &str {
    match symbol.rsplit_once("_v") {
        Some((name, digits)) if digits.parse::<u32>().is_ok() => name,
        _ => symbol,
    }
}

/// The whole table.
#[derive(Debug, Default)]
pub struct Table {
    pub entries: Vec<Entry>,
    pub structs: Vec<Struct>,
    pub choices: Vec<Choice>,
    pub driver: Vec<DriverFunction>,
}

impl Table {
    pub fn structure(&self, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|structure| structure.name == name)
    }

    /// Whether a value borrows from the bytes that it was decoded from.
    pub fn borrows(&self, ty: &Type) -> bool {
        match ty {
            Type::Bytes | Type::Str | Type::Array(..) => true,
            Type::Struct(name) => self
                .structure(name)
                .is_some_and(|s| s.members.iter().any(|member| self.borrows(&member.ty))),
            Type::Choice(name) => {
                self.choices.iter().filter(|choice| choice.name == *name).any(|choice| {
                    let mut members = choice.variants.iter().flat_map(|(_, s)| &s.members);
                    members.any(|member| self.borrows(&member.ty))
                })
            }
            _ => false,
        }
    }

    /// The size of a fixed-size value as an argument, including padding.
    pub fn argument_bytes(&self, ty: &Type) -> Option<usize> {
        match ty {
            Type::Scalar(_) | Type::Dev | Type::Handle(_) => Some(8),
            Type::Fixed(element, count) => {
                Some((self.element_bytes(element)? * count).next_multiple_of(8))
            }
            Type::Struct(name) => {
                let members = self.structure(name)?.members.iter();
                members.map(|member| self.argument_bytes(&member.ty)).sum()
            }
            _ => None,
        }
    }

    /// The size of an array's element.
    pub fn element_bytes(&self, ty: &Type) -> Option<usize> {
        match ty {
            Type::Scalar("u8") => Some(1),
            Type::Scalar("u32" | "i32") => Some(4),
            Type::Scalar("u64") => Some(8),
            Type::Struct(_) => self.argument_bytes(ty),
            _ => None,
        }
    }
}

/// Converts a name to snake case: cuMemAlloc_v2 to cu_mem_alloc_v2, hStream to h_stream,
/// vcudaCopy2D to vcuda_copy_2d.
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
    fn a_version_is_a_number_at_the_end() {
        assert_eq!(without_version("cuMemAlloc_v2"), "cuMemAlloc");
        assert_eq!(without_version("cuGraphExecUpdate"), "cuGraphExecUpdate");
        assert_eq!(without_version("cuMemcpyAsync_ptsz"), "cuMemcpyAsync_ptsz");
    }
}
