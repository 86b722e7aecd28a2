//! `cuGraphDebugDotPrint`: writes a graph in the DOT language.

use super::dag::Work;
use super::ids::{GraphId, NodeId};
use super::library::{Library, Op};
use super::table::Table;
use crate::args::Text;
use crate::error::{CuError, CuResult};
use crate::sys::{CUDA_MEMCPY3D, CUgraph, CUgraphDebugDot_flags as Flags, CUmemorytype};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

const VERBOSE: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE.0;
const HANDLES: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES.0;
const KERNELS: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS.0;
const COPIES: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS.0;
const MEMSETS: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS.0;
const HOSTS: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS.0;
const EVENTS: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS.0;
const BATCHES: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS.0;
const CONDITIONALS: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS.0;
const ALLOCS: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS.0;
const FREES: u32 = Flags::CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS.0;

/// Returns the letter for one side of a copy: H for host memory, D for device memory.
fn side<L: Library>(kind: CUmemorytype, address: u64) -> char {
    match kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => 'H',
        CUmemorytype::CU_MEMORYTYPE_ARRAY => 'A',
        CUmemorytype::CU_MEMORYTYPE_UNIFIED if !L::on_device(address) => 'H',
        _ => 'D',
    }
}

/// Returns a node's shape, and the lines of its label after the one with the node's number.
fn describe<L: Library>(
    table: &Table<Op<L>>,
    work: &Work<Op<L>>,
    shows: impl Fn(u32) -> bool,
) -> (&'static str, String) {
    let mut text = String::new();
    // Writing to a string never fails.
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    let shape = match work {
        Work::Empty => {
            line(format_args!("EMPTY"));
            "rectangle"
        }
        Work::Child(child) => {
            line(format_args!("graph_{}", table.graph(*child).map_or(0, |graph| graph.number)));
            "rectangle"
        }
        Work::Conditional(conditional) => {
            line(format_args!("CONDITIONAL"));
            if shows(CONDITIONALS) {
                line(format_args!("handle: {:#018X}", conditional.handle));
                line(format_args!("type: {:?}", conditional.kind));
                line(format_args!("bodies: {}", conditional.bodies.len()));
            }
            "rectangle"
        }
        Work::Op(Op::Kernel(kernel)) => {
            let params = L::kernel_params(kernel).node;
            line(format_args!("{}", L::kernel_name(kernel)));
            let grid = [params.gridDimX, params.gridDimY, params.gridDimZ];
            let block = [params.blockDimX, params.blockDimY, params.blockDimZ];
            let [blocks, threads] = [grid, block].map(|size| match size {
                [x, 1, 1] => x.to_string(),
                [x, y, z] => format!("({x},{y},{z})"),
            });
            line(format_args!("\\<\\<\\<{blocks},{threads},{}\\>\\>\\>", params.sharedMemBytes));
            if shows(KERNELS) {
                line(format_args!("func: {:#018X}", params.func as usize));
                line(format_args!("kern: {:#018X}", params.kern as usize));
            }
            "octagon"
        }
        Work::Op(Op::Copy(copy, params)) => {
            let CUDA_MEMCPY3D {
                srcMemoryType,
                srcDevice,
                srcHost,
                dstMemoryType,
                dstDevice,
                dstHost,
                WidthInBytes: width,
                Height: height,
                Depth: depth,
                ..
            } = params.as_ref().map_or_else(|| L::copy_params(copy), |params| params.get());
            let sides = [side::<L>(srcMemoryType, srcDevice), side::<L>(dstMemoryType, dstDevice)];
            line(format_args!("MEMCPY"));
            line(format_args!("({}to{},{width})", sides[0], sides[1]));
            if shows(COPIES) {
                let at =
                    |letter, host, device| if letter == 'H' && host != 0 { host } else { device };
                line(format_args!("src: {:#018X}", at(sides[0], srcHost as u64, srcDevice)));
                line(format_args!("dst: {:#018X}", at(sides[1], dstHost as u64, dstDevice)));
                line(format_args!("extent: {width} x {height} x {depth}"));
            }
            "trapezium"
        }
        Work::Op(Op::Memset(set)) => {
            let set = L::memset_params(set);
            line(format_args!("MEMSET"));
            line(format_args!("({},{})", set.value, set.width));
            if shows(MEMSETS) {
                line(format_args!("dptr: {:#018X}", set.dst));
                line(format_args!("pitch: {}", set.pitch));
                line(format_args!("elementSize: {}", set.elementSize));
                line(format_args!("height: {}", set.height));
            }
            "invtrapezium"
        }
        Work::Op(Op::Host(call)) => {
            line(format_args!("HOST"));
            if shows(HOSTS) {
                let params = call.params();
                let function = params.fn_.map_or(0, |function| function as usize);
                line(format_args!("fn: {function:#018X}"));
                line(format_args!("userData: {:#018X}", params.userData as usize));
            }
            "rectangle"
        }
        Work::Op(Op::Wait(_, event) | Op::Record(_, event)) => {
            let record = matches!(work, Work::Op(Op::Record(..)));
            line(format_args!("{}", if record { "EVENT_RECORD" } else { "EVENT_WAIT" }));
            if shows(EVENTS) {
                line(format_args!("event: {event:#018X}"));
            }
            "rectangle"
        }
        Work::Op(Op::Batch(_, operations)) => {
            line(format_args!("BATCH_MEM_OP"));
            if shows(BATCHES) {
                line(format_args!("count: {}", operations.list().len()));
            }
            "rectangle"
        }
        Work::Op(Op::Alloc(node)) => {
            line(format_args!("MEM_ALLOC"));
            if shows(ALLOCS) {
                line(format_args!("dptr: {:#018X}", node.allocation.address));
                line(format_args!("bytesize: {}", node.bytes));
            }
            "rectangle"
        }
        Work::Op(Op::Free(allocation)) => {
            line(format_args!("MEM_FREE"));
            if shows(FREES) {
                line(format_args!("dptr: {:#018X}", allocation.address));
            }
            "rectangle"
        }
    };
    (shape, text)
}

/// Writes a graph and its child graphs.
fn write<L: Library>(table: &Table<Op<L>>, first: GraphId, flags: u32) -> CuResult<String> {
    let shows = |flag| flags & (flag | VERBOSE) != 0;
    let mut text = String::from("digraph dot {\n");
    let mut graphs = VecDeque::from([first]);
    while let Some(id) = graphs.pop_front() {
        let graph = table.graph(id)?;
        let name = format!("graph_{}", graph.number);
        // Writing to a string never fails.
        let _ = writeln!(text, "subgraph cluster_{} {{", graph.number);
        let _ = writeln!(text, "label=\"{name}\" graph[style=\"dashed\"];");
        let mut numbers: HashMap<NodeId, usize> = HashMap::new();
        for (number, (id, node)) in graph.nodes.iter().enumerate() {
            numbers.insert(*id, number);
            let (shape, label) = describe::<L>(table, &node.work, shows);
            let style = if shape == "octagon" { "bold" } else { "solid" };
            let _ = write!(text, "\"{name}_node_{number}\"[style=\"{style}\" shape=\"{shape}\"");
            let space = if shape.ends_with("trapezium") { "" } else { " " };
            let _ = write!(text, "{space}label=\"{number}\n{label}");
            if shows(HANDLES) {
                let _ = writeln!(text, "node handle: {id:#018X}");
            }
            text.push_str("\"];\n\n");
            graphs.extend(node.work.parts());
        }
        for (from, to, _) in graph.edges() {
            let (from, to) = (numbers[&from], numbers[&to]);
            let label = if flags & VERBOSE != 0 { " [headlabel=0]" } else { "" };
            let _ = writeln!(text, "\"{name}_node_{from}\" -> \"{name}_node_{to}\"{label};");
        }
        text.push_str("}\n");
    }
    text.push_str("}\n");
    Ok(text)
}

/// Implements `cuGraphDebugDotPrint`.
pub fn print<L: Library>(graph: CUgraph, path: Text, flags: u32) -> CuResult {
    let path = path.name()?;
    let text = L::graphs().with(|table| write::<L>(table, graph as GraphId, flags))?;
    std::fs::write(path, text).map_err(|_| CuError::OPERATING_SYSTEM)
}
