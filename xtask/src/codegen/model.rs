//! The parsed API table.

/// The direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The parameter's value is sent to the worker.
    In,
    /// The parameter's value is returned by the worker.
    Out,
    /// The parameter is the id of a new handle, which the guest assigns.
    New,
    /// The parameter is an existing handle that the call destroys.
    Del,
}

/// The type of a parameter or member, which determines its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number, encoded as one word.
    Scalar(&'static str),
    /// An address of device-visible memory, encoded as one word.
    Dev,
    /// A handle's id, encoded as one word. The kind of handle is one of [`HANDLES`].
    Handle(&'static Handle),
    /// A byte string.
    Bytes,
    /// A name in UTF-8 without a zero byte.
    Str,
    /// Names, each terminated by a zero byte.
    Names,
    /// A structure defined in the table.
    Struct(String),
    /// One of several structures, encoded as the variant's number and then the structure's members.
    Choice(String),
    /// A fixed number of packed elements.
    Fixed(Box<Type>, usize),
    /// A byte string of packed elements. The optional string is the name of a constant that limits
    /// the number of elements.
    Array(Box<Type>, Option<String>),
}

/// A kind of handle.
#[derive(Debug, PartialEq, Eq)]
pub struct Handle {
    /// The kind's name in the table.
    pub kind: &'static str,
    /// The Rust type of the handle's ids.
    pub id: &'static str,
    /// The CUDA type of the handle.
    pub cuda: &'static str,
    /// The English name of the kind, with its article, for generated documentation.
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

/// All kinds of handles. A CUfunction parameter is a `func` unless the table declares it as
/// `function`.
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
    handle("values", "ValuesId", "", "the values of a graph's conditional nodes"),
    handle("link", "LinkId", "CUlinkState", "a link in progress"),
    handle("blob", "BlobId", "", "a blob"),
    handle("pool", "PoolId", "CUmemoryPool", "a memory pool"),
    handle("array", "ArrayId", "CUarray", "an array"),
    handle("mipmap", "MipmapId", "CUmipmappedArray", "a mipmapped array"),
    handle("green", "GreenId", "CUgreenCtx", "a green context"),
    handle("texref", "TexRefId", "CUtexref", "a texture reference"),
    handle("surfref", "SurfRefId", "CUsurfref", "a surface reference"),
];

/// Returns a kind of handle by its name in the table.
pub fn handle_kind(kind: &str) -> Option<&'static Handle> {
    HANDLES.iter().find(|handle| handle.kind == kind)
}

pub const SCALARS: &[&str] = &["u8", "u32", "i32", "u64", "i64", "usize", "f32"];

/// A call's parameter, or a structure's member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    pub direction: Direction,
    pub ty: Type,
    /// The parameter's name in CUDA's prototype or in the table.
    pub name: String,
    /// The parameter's type in CUDA's prototype. Empty for structure members and the project's own
    /// calls.
    pub c_type: String,
    /// Whether the caller may pass null.
    pub optional: bool,
    /// The name of the list in `protocol::options` that must contain the parameter's value.
    pub allowed: Option<String>,
}

impl Param {
    pub fn is_in(&self) -> bool {
        self.direction != Direction::Out
    }

    /// Returns the kind of handle, if the parameter is a handle.
    pub fn handle(&self) -> Option<&'static Handle> {
        match self.ty {
            Type::Handle(handle) => Some(handle),
            _ => None,
        }
    }

    /// Returns the parameter's name in Rust.
    pub fn field(&self) -> String {
        snake(&self.name)
    }
}

/// A call from the guest to the worker.
#[derive(Clone, Debug)]
pub struct Entry {
    pub number: u32,
    pub flags: Vec<String>,
    /// The value of `order=`, which is one of `ORDERS`.
    pub order: String,
    /// The value of `charges=`, which is one of `CHARGES`.
    pub charges: String,
    pub name: String,
    pub params: Vec<Param>,
    /// The comment above the call in the table.
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

    /// Returns true if any parameter sent to the worker is an existing handle of one of these
    /// kinds.
    pub fn takes(&self, kinds: &[&str]) -> bool {
        self.params.iter().any(|param| {
            let named = param.handle().is_some_and(|handle| kinds.contains(&handle.kind));
            named && matches!(param.direction, Direction::In | Direction::Del)
        })
    }

    /// Returns the name of the call's structure, such as CuMemAllocV2 for cuMemAlloc_v2.
    pub fn type_name(&self) -> String {
        self.name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
    }

    /// Returns the name of the call's function, such as cu_mem_alloc_v2 for cuMemAlloc_v2.
    pub fn function_name(&self) -> String {
        snake(&self.name)
    }
}

/// A structure defined in the table.
#[derive(Clone, Debug)]
pub struct Struct {
    pub name: String,
    pub members: Vec<Param>,
    pub doc: Vec<String>,
}

/// A `choice` in the table: a value that is one of several numbered structures.
#[derive(Clone, Debug)]
pub struct Choice {
    pub name: String,
    pub variants: Vec<(u32, Struct)>,
    pub doc: Vec<String>,
}

/// A driver function that the worker calls.
#[derive(Clone, Debug)]
pub struct DriverFunction {
    /// The function's symbol, followed by symbols to try if the driver library doesn't have it.
    pub symbols: Vec<String>,
    /// Whether the function submits GPU work.
    pub gated: bool,
}

impl DriverFunction {
    /// Returns the method's name, which is the symbol without its version.
    pub fn method(&self) -> &str {
        without_version(&self.symbols[0])
    }
}

/// Returns a symbol without its version, such as cuMemAlloc for cuMemAlloc_v2.
pub fn without_version(symbol: &str) -> &str {
    match symbol.rsplit_once("_v") {
        Some((name, digits)) if digits.parse::<u32>().is_ok() => name,
        _ => symbol,
    }
}

/// The API table.
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

    /// Returns whether a decoded value of this type borrows from the encoded bytes.
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

    /// Returns the size in bytes that a fixed-size value takes as an argument, including padding.
    /// `None` if the type's size isn't fixed.
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

    /// Returns the encoded size of an array's element, in bytes. `None` if the type can't be an
    /// element.
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

/// Converts a name to snake case. For example, cuMemAlloc_v2 becomes cu_mem_alloc_v2, hStream
/// becomes h_stream, and vcudaCopy2D becomes vcuda_copy_2d.
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
