//! The rows of the table: changes that make valid node parameters invalid, or that are edge cases.

use crate::arguments::objects::{Objects, keep};
use crate::cuda::{Outcome, cu};
use cuda_api::sys::{
    CUDA_KERNEL_NODE_PARAMS_v3, CUfunction, CUgraph, CUgraphChildGraphNodeOwnership,
    CUgraphConditionalNodeType, CUgraphNodeParams, CUgraphNodeType, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemLocationType, CUmemorytype, CUstreamBatchMemOpParams,
    CUstreamBatchMemOpType,
};
use std::ptr::null_mut;

/// A function that changes the valid parameters of a node.
type Change = fn(&mut Objects<'_>, &mut CUgraphNodeParams) -> Outcome;

/// A change of parameters, with the name of its row.
pub type Named = (&'static str, Change);

/// Returns the graph to which the tested node belongs.
pub fn graph(objects: &mut Objects<'_>) -> Outcome<CUgraph> {
    Ok(objects.graphs("hGraph", "CUgraph")? as CUgraph)
}

/// Creates a list of named changes for the parameters in one field of the union: `changes! {
/// kernel, "no grid" => |p, _objects| p.gridDimX = 0 }`.
macro_rules! changes {
    ($field:ident, $($name:literal => |$p:ident, $objects:ident| $body:expr),* $(,)?) => {
        &[$(($name, |$objects, parameters| {
            // SAFETY: the parameters belong to a node of the type whose field this is.
            let $p = unsafe { &mut parameters.__bindgen_anon_1.$field };
            $body;
            Ok(())
        })),*]
    };
}

/// An address that isn't in any memory of the program.
const UNKNOWN: u64 = 0x1000;
const FAR: usize = 1 << 30;

pub const KERNEL: &[Named] = changes! { kernel,
    "no function" => |p, _o| p.func = null_mut(),
    "kernel" => |p, o| {
        p.func = null_mut();
        p.kern = o.code("CUkernel")? as _;
    },
    "function and kernel" => |p, o| p.kern = o.code("CUkernel")? as _,
    "kernel as function" => |p, o| p.func = o.code("CUkernel")? as CUfunction,
    "grid x 0" => |p, _o| p.gridDimX = 0,
    "grid y 0" => |p, _o| p.gridDimY = 0,
    "grid z 0" => |p, _o| p.gridDimZ = 0,
    "grid x 2^31" => |p, _o| p.gridDimX = 1 << 31,
    "grid y 65536" => |p, _o| p.gridDimY = 65_536,
    "grid z 65536" => |p, _o| p.gridDimZ = 65_536,
    "block x 0" => |p, _o| p.blockDimX = 0,
    "block y 0" => |p, _o| p.blockDimY = 0,
    "block z 0" => |p, _o| p.blockDimZ = 0,
    "block x 1025" => |p, _o| p.blockDimX = 1025,
    "block y 1025" => |p, _o| p.blockDimY = 1025,
    "block z 65" => |p, _o| p.blockDimZ = 65,
    "block of 2048" => |p, _o| {
        p.blockDimX = 64;
        p.blockDimY = 32;
    },
    "shared memory 48K" => |p, _o| p.sharedMemBytes = 48 << 10,
    "shared memory 48K + 1" => |p, _o| p.sharedMemBytes = (48 << 10) + 1,
    "shared memory 1G" => |p, _o| p.sharedMemBytes = 1 << 30,
    "no parameters" => |p, _o| p.kernelParams = null_mut(),
    "parameters twice" => |p, _o| p.extra = extra(8, 2) as _,
    "extra" => |p, _o| only_extra(p, 8, 2),
    "extra too short" => |p, _o| only_extra(p, 4, 2),
    "extra too long" => |p, _o| only_extra(p, 16, 2),
    "extra without size" => |p, _o| only_extra(p, 8, 0),
    "extra with unknown key" => |p, _o| only_extra(p, 8, 9),
    "own context" => |p, o| p.ctx = o.cuda.primary()?.1,
};

/// Returns the address of a list of keys and values that describes a parameter buffer. Key 1
/// precedes the buffer's address, and key 2 precedes the address of its size.
fn extra(size: u64, key_of_size: u64) -> u64 {
    keep([1, keep([0u64; 4]), key_of_size, keep(size), 0])
}

fn only_extra(parameters: &mut CUDA_KERNEL_NODE_PARAMS_v3, size: u64, key_of_size: u64) {
    parameters.kernelParams = null_mut();
    parameters.extra = extra(size, key_of_size) as _;
}

pub const COPY: &[Named] = changes! { memcpy,
    "flags 1" => |p, _o| p.flags = 1,
    "reserved 1" => |p, _o| p.reserved = 1,
    "no context" => |p, _o| p.copyCtx = null_mut(),
    "width 0" => |p, _o| p.copyParams.WidthInBytes = 0,
    "height 0" => |p, _o| p.copyParams.Height = 0,
    "depth 0" => |p, _o| p.copyParams.Depth = 0,
    "depth 2" => |p, _o| p.copyParams.Depth = 2,
    "source pitch 8" => |p, _o| p.copyParams.srcPitch = 8,
    "target pitch 8" => |p, _o| p.copyParams.dstPitch = 8,
    "no source pitch" => |p, _o| p.copyParams.srcPitch = 0,
    "no target pitch" => |p, _o| p.copyParams.dstPitch = 0,
    "source height 1" => |p, _o| {
        p.copyParams.srcHeight = 1;
        p.copyParams.Depth = 2;
    },
    "source type 0" => |p, _o| p.copyParams.srcMemoryType = CUmemorytype(0),
    "source type 9" => |p, _o| p.copyParams.srcMemoryType = CUmemorytype(9),
    "target type 0" => |p, _o| p.copyParams.dstMemoryType = CUmemorytype(0),
    "target type 9" => |p, _o| p.copyParams.dstMemoryType = CUmemorytype(9),
    "no source" => |p, _o| p.copyParams.srcDevice = 0,
    "no target" => |p, _o| p.copyParams.dstDevice = 0,
    "unknown source" => |p, _o| p.copyParams.srcDevice = UNKNOWN,
    "unknown target" => |p, _o| p.copyParams.dstDevice = UNKNOWN,
    "source is no array" => |p, _o| p.copyParams.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_ARRAY,
    "source is no host memory" => |p, _o| {
        p.copyParams.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
    },
    "source offset 2^30" => |p, _o| p.copyParams.srcXInBytes = FAR,
    "target offset 2^30" => |p, _o| p.copyParams.dstXInBytes = FAR,
    "source level 1" => |p, _o| p.copyParams.srcLOD = 1,
    "target level 1" => |p, _o| p.copyParams.dstLOD = 1,
    "reserved source" => |p, _o| p.copyParams.reserved0 = keep(0u64) as _,
    "width 2^30" => |p, _o| {
        p.copyParams.WidthInBytes = FAR;
        p.copyParams.srcPitch = FAR;
        p.copyParams.dstPitch = FAR;
    },
};

pub const FILL: &[Named] = changes! { memset,
    "no context" => |p, _o| p.ctx = null_mut(),
    "no memory" => |p, _o| p.dst = 0,
    "unknown memory" => |p, _o| p.dst = UNKNOWN,
    "odd address" => |p, _o| p.dst += 1,
    "width 0" => |p, _o| p.width = 0,
    "height 0" => |p, _o| p.height = 0,
    "width 2^30" => |p, _o| p.width = FAR,
    "two rows without pitch" => |p, _o| p.height = 2,
    "two rows of pitch 8" => |p, _o| {
        p.height = 2;
        p.pitch = 8;
    },
    "two rows of pitch 32" => |p, _o| {
        p.height = 2;
        p.pitch = 32;
    },
    "rows beyond the end" => |p, _o| {
        p.height = 3;
        p.pitch = 1 << 20;
    },
    "element 0" => |p, _o| p.elementSize = 0,
    "element 3" => |p, _o| p.elementSize = 3,
    "element 8" => |p, _o| p.elementSize = 8,
    "value too large for 1 byte" => |p, _o| {
        p.elementSize = 1;
        p.value = 0x100;
    },
    "value too large for 2 bytes" => |p, _o| {
        p.elementSize = 2;
        p.value = 0x1_0000;
    },
};

pub const HOST: &[Named] = changes! { host,
    "no function" => |p, _o| p.fn_ = None,
    "no data" => |p, _o| p.userData = null_mut(),
};

pub const CHILD: &[Named] = changes! { graph,
    "no graph" => |p, _o| p.graph = null_mut(),
    "the same graph" => |p, o| p.graph = graph(o)?,
    "an empty graph" => |p, o| {
        let cuda = o.cuda;
        cu!(cuda, cuGraphCreate(&mut p.graph, 0))?;
    },
    "ownership moves" => |p, _o| p.ownership = CUgraphChildGraphNodeOwnership(1),
    "ownership 9" => |p, _o| p.ownership = CUgraphChildGraphNodeOwnership(9),
};

pub const EVENT: &[Named] = changes! { eventRecord,
    "no event" => |p, _o| p.event = null_mut(),
    "an event without times" => |p, o| {
        let cuda = o.cuda;
        cu!(cuda, cuEventCreate(&mut p.event, 2))?;
    },
};

pub const EMPTY: &[Named] = &[
    ("unknown type", |_, parameters| {
        parameters.type_ = CUgraphNodeType(99);
        Ok(())
    }),
    ("reserved number 1", |_, parameters| {
        parameters.reserved0[0] = 1;
        Ok(())
    }),
    ("last reserved number 1", |_, parameters| {
        parameters.reserved2 = 1;
        Ok(())
    }),
    ("reserved parameter 1", |_, parameters| {
        parameters.__bindgen_anon_1.reserved1 = [1; 29];
        Ok(())
    }),
];

pub const ALLOCATION: &[Named] = changes! { alloc,
    "size 0" => |p, _o| p.bytesize = 0,
    "size 2^50" => |p, _o| p.bytesize = 1 << 50,
    "size 2^63" => |p, _o| p.bytesize = 1 << 63,
    "type 0" => |p, _o| p.poolProps.allocType = CUmemAllocationType(0),
    "type 9" => |p, _o| p.poolProps.allocType = CUmemAllocationType(9),
    "handle type 1" => |p, _o| p.poolProps.handleTypes = CUmemAllocationHandleType(1),
    "handle type 9" => |p, _o| p.poolProps.handleTypes = CUmemAllocationHandleType(9),
    "location 0" => |p, _o| p.poolProps.location.type_ = CUmemLocationType(0),
    "location host" => |p, _o| p.poolProps.location.type_ = CUmemLocationType(2),
    "location 9" => |p, _o| p.poolProps.location.type_ = CUmemLocationType(9),
    "device -1" => |p, _o| p.poolProps.location.id = -1,
    "device 99" => |p, _o| p.poolProps.location.id = 99,
    "maximum size 1" => |p, _o| p.poolProps.maxSize = 1,
    "usage 9" => |p, _o| p.poolProps.usage = 9,
    "reserved 1" => |p, _o| p.poolProps.reserved[0] = 1,
    "security attributes" => |p, _o| p.poolProps.win32SecurityAttributes = keep(0u64) as _,
    "access without a list" => |p, _o| p.accessDescCount = 1,
    "access of the device" => |p, o| {
        p.accessDescCount = 1;
        p.accessDescs = o.structure("CUmemAccessDesc")? as _;
    },
    "access of device 99" => |p, _o| {
        p.accessDescCount = 1;
        p.accessDescs = keep([1u32, 99, 3]) as _;
    },
    "access 9" => |p, _o| {
        p.accessDescCount = 1;
        p.accessDescs = keep([1u32, 0, 9]) as _;
    },
    "access 0" => |p, _o| {
        p.accessDescCount = 1;
        p.accessDescs = keep([1u32, 0, 0]) as _;
    },
    "an address" => |p, _o| p.dptr = UNKNOWN,
};

pub const FREE: &[Named] = changes! { free,
    "no memory" => |p, _o| p.dptr = 0,
    "unknown memory" => |p, _o| p.dptr = UNKNOWN,
    "inside the memory" => |p, _o| p.dptr += 256,
    "memory of no graph" => |p, o| p.dptr = o.cuda.alloc(4096)?,
};

pub const OPERATIONS: &[Named] = changes! { memOp,
    "no context" => |p, _o| p.ctx = null_mut(),
    "none" => |p, _o| p.count = 0,
    "257" => |p, _o| {
        p.count = 257;
        // SAFETY: the valid parameters contain an array of one operation.
        p.paramArray = keep([unsafe { *p.paramArray }; 257]) as _;
    },
    "no list" => |p, _o| p.paramArray = null_mut(),
    "flags 1" => |p, _o| p.flags = 1,
    "flags 2^31" => |p, _o| p.flags = 1 << 31,
    "unknown operation" => |p, _o| operation(p.paramArray).operation = CUstreamBatchMemOpType(99),
    "no memory" => |p, _o| operation(p.paramArray).writeValue.address = 0,
    "unknown memory" => |p, _o| operation(p.paramArray).writeValue.address = UNKNOWN,
    "unaligned address" => |p, _o| {
        // SAFETY: the operation in the valid parameters is a write.
        unsafe { operation(p.paramArray).writeValue.address += 2 };
    },
    "flags of the write" => |p, _o| operation(p.paramArray).writeValue.flags = 0x80,
    "a 64-bit write" => |p, _o| operation(p.paramArray).operation = CUstreamBatchMemOpType(5),
    "a flush" => |p, _o| operation(p.paramArray).operation = CUstreamBatchMemOpType(3),
    "a barrier" => |p, _o| operation(p.paramArray).operation = CUstreamBatchMemOpType(6),
};

fn operation<'a>(list: *mut CUstreamBatchMemOpParams) -> &'a mut CUstreamBatchMemOpParams {
    // SAFETY: the list contains one operation, and is never freed.
    unsafe { &mut *list }
}

pub const CONDITIONAL: &[Named] = changes! { conditional,
    "no handle" => |p, _o| p.handle = 0,
    "unknown handle" => |p, _o| p.handle = u64::MAX,
    "handle of another graph" => |p, o| {
        let (cuda, mut other) = (o.cuda, null_mut());
        cu!(cuda, cuGraphCreate(&mut other, 0))?;
        cu!(cuda, cuGraphConditionalHandleCreate(&mut p.handle, other, p.ctx, 0, 0))?;
    },
    "type 9" => |p, _o| p.type_ = CUgraphConditionalNodeType(9),
    "no body" => |p, _o| p.size = 0,
    "if with 2 bodies" => |p, _o| p.size = 2,
    "if with 3 bodies" => |p, _o| p.size = 3,
    "while with 2 bodies" => |p, _o| {
        p.type_ = CUgraphConditionalNodeType(1);
        p.size = 2;
    },
    "switch with no body" => |p, _o| {
        p.type_ = CUgraphConditionalNodeType(2);
        p.size = 0;
    },
    "no context" => |p, _o| p.ctx = null_mut(),
    "a list" => |p, _o| p.phGraph_out = keep([0u64; 4]) as _,
};
