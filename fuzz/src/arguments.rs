//! Generates the arguments of calls, most of which are plausible. The kind of a value follows from
//! its type and from the argument's name.

use protocol::calls::*;
use protocol::codec::{Array, Call, Element, Writer};
use protocol::ids::*;
use protocol::structs::*;

use crate::graphs;
use crate::ptx;
use crate::world::{Generate, World};

/// A call of the API table.
pub struct AnyCall {
    pub name: &'static str,
    pub opcode: u32,
    /// Generates the encoded arguments.
    pub arguments: fn(&mut World<'_>) -> Vec<u8>,
}

macro_rules! calls {
    ($($call:ident { $($argument:ident),* } => $answer:ty),* $(,)?) => {
        /// All calls, in the order of their numbers.
        pub const CALLS: &[AnyCall] = &[$(AnyCall {
            name: stringify!($call),
            opcode: <$call as Call>::OPCODE,
            arguments: |_world| {
                encoded(&$call { $($argument: _world.make(stringify!($argument))),* })
            },
        }),*];
    };
}
protocol::each_call!(calls);

/// Encodes a call's arguments.
pub fn encoded<'a, C: Call<'a>>(call: &C) -> Vec<u8> {
    let mut writer = Writer::new();
    call.encode(&mut writer);
    writer.as_bytes().to_vec()
}

/// Leaks bytes, to get a `'static` slice. That is acceptable, because a target that makes calls
/// runs in a process that ends after one run.
fn kept(bytes: Vec<u8>) -> &'static [u8] {
    bytes.leak()
}

macro_rules! numbers {
    ($($t:ty)*) => { $(
        impl Generate for $t {
            fn generate(world: &mut World<'_>, name: &str) -> Self {
                world.word(name) as Self
            }
        }
    )* };
}
numbers! { u8 u64 i64 usize }

impl Generate for u32 {
    fn generate(world: &mut World<'_>, name: &str) -> Self {
        let is = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if is(&["grid", "block"]) || ["x", "y", "z"].contains(&name) {
            return world.input.pick(&[1, 1, 1, 1, 2, 3, 32, 0, 1024]);
        }
        world.small() as Self
    }
}

impl Generate for i32 {
    fn generate(world: &mut World<'_>, name: &str) -> Self {
        if name.contains("dev") && !world.input.one_in(16) { 0 } else { world.small() as Self }
    }
}

impl Generate for f32 {
    fn generate(world: &mut World<'_>, _: &str) -> Self {
        Self::from_bits(world.input.number())
    }
}

macro_rules! ids {
    ($($t:ident)*) => { $(
        impl Generate for $t {
            fn generate(world: &mut World<'_>, _: &str) -> Self {
                Self(world.id())
            }
        }
    )* };
}
ids! {
    ContextId StreamId EventId ModuleId LibraryId KernelId FuncId FunctionId GraphExecId ValuesId
    LinkId PoolId ArrayId MipmapId GreenId TexRefId SurfRefId
}

impl Generate for BlobId {
    fn generate(world: &mut World<'_>, _: &str) -> Self {
        if world.input.one_in(8) { Self(world.id()) } else { Self::INLINE }
    }
}

impl<T: Generate, const N: usize> Generate for [T; N] {
    fn generate(world: &mut World<'_>, name: &str) -> Self {
        std::array::from_fn(|_| T::generate(world, name))
    }
}

impl<T: Generate + Element> Generate for Array<'static, T> {
    fn generate(world: &mut World<'_>, name: &str) -> Self {
        let count = world.input.pick(&[0, 0, 1, 2, 5]);
        let values: Vec<T> = (0..count).map(|_| T::generate(world, name)).collect();
        Array::from(&*values.leak())
    }
}

impl Generate for &'static [u8] {
    fn generate(world: &mut World<'_>, name: &str) -> Self {
        let mut bytes = match name {
            "image" => ptx::text(&mut world.input).into_bytes(),
            "graph" => graphs::graph(world, 0),
            "bodies" => graphs::bodies(world, 0),
            "params" => {
                (0..world.input.below(6)).flat_map(|_| world.address().to_le_bytes()).collect()
            }
            _ => world.input.bytes(256).to_vec(),
        };
        if world.input.one_in(24) && !bytes.is_empty() {
            let at = world.input.below(bytes.len());
            bytes[at] = world.input.byte();
        }
        kept(bytes)
    }
}

impl Generate for &'static str {
    fn generate(world: &mut World<'_>, _: &str) -> Self {
        world.input.pick(&["fill", "empty", "data", "k0", "v0", "", "x"])
    }
}

macro_rules! structures {
    ($($t:ident $(<$lifetime:lifetime>)? { $($member:ident),* })*) => { $(
        impl Generate for $t $(<$lifetime>)? {
            fn generate(world: &mut World<'_>, _: &str) -> Self {
                Self { $($member: world.make(stringify!($member))),* }
            }
        }
    )* };
}
structures! {
    Dim3 { x, y, z }
    LaunchAttribute { id, value }
    JitOption { option, value }
    LibraryOption { option, value }
    CopySide { address, pitch, height }
    MemoryOperation { operation, address, value, flags }
    ArrayDescriptor { width, height, depth, format, channels, flags }
    BoxSide { array, address, pitch, height, x, y, z }
    BoxSize { width, height, depth }
    TextureResource {
        kind, array, mipmap, address, format, channels, width, height, pitch, bytes, flags
    }
    MemoryAccess { device, flags }
    CopyStep { dst, src, width, height, depth }
    MemsetStep { dst, pitch, element_size, value, width, height }
    HostFuncStep { token }
    EventWaitStep { event }
    EventRecordStep { event }
    KernelStep<'static> { f, grid, block, shared, params, attributes }
    MemoryOperationsStep<'static> { operations }
    ConditionalStep<'static> { values, handle, kind, size, bodies }
}

impl Generate for Step<'static> {
    fn generate(world: &mut World<'_>, name: &str) -> Self {
        match world.input.below(12) {
            0..=2 => Self::Kernel(world.make(name)),
            3 | 4 => Self::Copy(world.make(name)),
            5 | 6 => Self::Memset(world.make(name)),
            7 => Self::HostFunc(world.make(name)),
            8 => Self::EventWait(world.make(name)),
            9 => Self::EventRecord(world.make(name)),
            10 => Self::MemoryOperations(world.make(name)),
            _ => Self::Empty,
        }
    }
}
