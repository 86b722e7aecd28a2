//! Graphs: what their nodes do.

use std::ffi::c_uint;

use cuda_api::graph::dag::Work;
use cuda_api::sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
    CUcontext, CUevent,
};

use super::capture::GRAPHS;
use super::copy::{Copy, Fill};
use super::graph::add;
use super::launch::{Kernel, Shape};
use super::{Answer, CUresult, cuda, get, put};
use crate::state::context::current;
use crate::state::graph::{CopyParams, EXECS, Host, Op};
use crate::state::module::KERNELS;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE` and `_CLUSTER_DIMENSION`.
const COOPERATIVE: c_uint = 2;
const CLUSTER: c_uint = 4;

fn kernel(params: *const CUDA_KERNEL_NODE_PARAMS_v2, cooperative: bool) -> Result<Op, CUresult> {
    let p = get(params)?;
    let handle = if p.func.is_null() { p.kern as usize } else { p.func as usize };
    let shape = Shape {
        grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
        block: [p.blockDimX, p.blockDimY, p.blockDimZ],
        shared: p.sharedMemBytes,
        cooperative,
    };
    let (params, extra) = (p.kernelParams.cast_const().cast(), p.extra.cast_const());
    Kernel::new(handle, shape, &current()?, params, extra).map(Op::Kernel)
}

fn copy(params: *const CUDA_MEMCPY3D) -> Result<Op, CUresult> {
    let params = get(params)?;
    Ok(Op::Copy(Copy::of_node(&params)?, Some(CopyParams(params))))
}

fn fill(params: *const CUDA_MEMSET_NODE_PARAMS) -> Result<Op, CUresult> {
    let p = get(params)?;
    let (width, height) = (p.width, p.height);
    let size = p.elementSize as usize;
    let fill = Fill { to: p.dst, pitch: p.pitch, value: p.value, size, width, height };
    fill.check()?;
    Ok(Op::Fill(fill))
}

fn host(params: *const CUDA_HOST_NODE_PARAMS) -> Result<Op, CUresult> {
    let p = get(params)?;
    Ok(Op::Host(Host { function: p.fn_.ok_or(INVALID)?, data: p.userData }))
}

fn op(node: usize) -> Result<Op, CUresult> {
    GRAPHS.with(|table| table.op(node).cloned())
}

/// Whether a node's kernel is cooperative, which its parameters don't say.
fn cooperative(node: usize) -> Result<bool, CUresult> {
    match op(node)? {
        Op::Kernel(kernel) => Ok(kernel.shape.cooperative),
        _ => Err(INVALID),
    }
}

/// Gives a node something else of the same kind to do.
fn set(node: usize, new: Op) -> Answer {
    use cuda_api::graph::Operation;
    GRAPHS.with(|table| {
        let op = table.op_mut(node)?;
        if op.kind() != new.kind() {
            return Err(INVALID);
        }
        *op = new;
        Ok(())
    })
}

/// As [`set`], for the next launches of a graph that was instantiated.
fn set_in(exec: usize, node: usize, new: Op) -> Answer {
    use cuda_api::graph::Operation;
    let exec = EXECS.get(exec).ok_or(INVALID)?;
    let mut steps = exec.steps().to_vec();
    let step = steps.iter_mut().find(|step| step.id == node).ok_or(INVALID)?;
    if step.op.as_ref().map(Op::kind) != Some(new.kind()) {
        return Err(INVALID);
    }
    step.op = Some(new);
    exec.set_steps(steps);
    Ok(())
}

thread_local! {
    /// Programs read a kernel's parameters here until the next call.
    static PARAMETERS: std::cell::RefCell<(Vec<u8>, Vec<usize>)> =
        const { std::cell::RefCell::new((Vec::new(), Vec::new())) };
}

fn kernel_params(node: usize, to: *mut CUDA_KERNEL_NODE_PARAMS_v2) -> Answer {
    let Op::Kernel(kernel) = op(node)? else { return Err(INVALID) };
    let pointers = PARAMETERS.with_borrow_mut(|(bytes, pointers)| {
        *bytes = kernel.params.to_vec();
        let base = bytes.as_ptr() as usize;
        *pointers = kernel.function.kernel.params.iter().map(|p| base + p.offset).collect();
        pointers.as_mut_ptr()
    });
    let Shape { grid, block, shared, .. } = kernel.shape;
    let of_library = KERNELS.get(kernel.handle).is_some();
    let (func, kern) = if of_library { (0, kernel.handle) } else { (kernel.handle, 0) };
    put(
        to,
        CUDA_KERNEL_NODE_PARAMS_v2 {
            func: func as _,
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shared,
            kernelParams: pointers.cast(),
            extra: std::ptr::null_mut(),
            kern: kern as _,
            ctx: std::ptr::null_mut(),
        },
    )
}

/// What a node's event is, if it is of that kind.
fn event_of(node: usize, record: bool, to: *mut CUevent) -> Answer {
    match op(node)? {
        Op::Record(_, handle) if record => put(to, handle as CUevent),
        Op::Wait(_, handle) if !record => put(to, handle as CUevent),
        _ => Err(INVALID),
    }
}

macro_rules! adds {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $op:block)*) => { cuda! { $(
        fn $name(to: *mut usize, graph: usize, after: *const usize, count: usize $(, $arg: $ty)*) {
            let op = $op?;
            add(to, graph, after, count, |table, after| table.add(graph, Work::Op(op), after))
        }
    )* } };
}

adds! {
    fn cuGraphAddKernelNode_v2(params: *const CUDA_KERNEL_NODE_PARAMS_v2) { kernel(params, false) }
    fn cuGraphAddMemcpyNode(params: *const CUDA_MEMCPY3D, _context: CUcontext) { copy(params) }
    fn cuGraphAddMemsetNode(params: *const CUDA_MEMSET_NODE_PARAMS, _context: CUcontext) {
        fill(params)
    }
    fn cuGraphAddHostNode(params: *const CUDA_HOST_NODE_PARAMS) { host(params) }
    fn cuGraphAddEventRecordNode(event: CUevent) {
        super::event::named(event).map(|named| Op::Record(named, event as usize))
    }
    fn cuGraphAddEventWaitNode(event: CUevent) {
        super::event::named(event).map(|named| Op::Wait(named, event as usize))
    }
}

cuda! {
    fn cuGraphKernelNodeGetParams_v2(node: usize, to: *mut CUDA_KERNEL_NODE_PARAMS_v2) {
        kernel_params(node, to)
    }

    fn cuGraphKernelNodeSetParams_v2(node: usize, params: *const CUDA_KERNEL_NODE_PARAMS_v2) {
        set(node, kernel(params, cooperative(node)?)?)
    }

    fn cuGraphKernelNodeSetAttribute(node: usize, which: c_uint, value: *const [c_uint; 16]) {
        let value = get(value)?;
        match which {
            COOPERATIVE => GRAPHS.with(|table| match table.op_mut(node)? {
                Op::Kernel(kernel) => {
                    kernel.shape.cooperative = value[0] != 0;
                    Ok(())
                }
                _ => Err(INVALID),
            }),
            CLUSTER if value[0] * value[1] * value[2] != 1 => {
                Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
            }
            // Windows, priorities, early starts and the like change when, not what.
            _ => cooperative(node).map(drop),
        }
    }

    fn cuGraphMemcpyNodeGetParams(node: usize, to: *mut CUDA_MEMCPY3D) {
        match op(node)? {
            Op::Copy(_, Some(params)) => put(to, params.0),
            Op::Copy(..) => Err(super::unsupported("parameters of a captured copy")),
            _ => Err(INVALID),
        }
    }

    fn cuGraphMemcpyNodeSetParams(node: usize, params: *const CUDA_MEMCPY3D) {
        set(node, copy(params)?)
    }

    #[allow(non_snake_case)]
    fn cuGraphMemsetNodeGetParams(node: usize, to: *mut CUDA_MEMSET_NODE_PARAMS) {
        let Op::Fill(fill) = op(node)? else { return Err(INVALID) };
        let Fill { to: dst, pitch, value, size, width, height } = fill;
        let elementSize = size as c_uint;
        put(to, CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height })
    }

    fn cuGraphMemsetNodeSetParams(node: usize, params: *const CUDA_MEMSET_NODE_PARAMS) {
        set(node, fill(params)?)
    }

    fn cuGraphHostNodeGetParams(node: usize, to: *mut CUDA_HOST_NODE_PARAMS) {
        let Op::Host(host) = op(node)? else { return Err(INVALID) };
        put(to, CUDA_HOST_NODE_PARAMS { fn_: Some(host.function), userData: host.data })
    }

    fn cuGraphHostNodeSetParams(node: usize, params: *const CUDA_HOST_NODE_PARAMS) {
        set(node, host(params)?)
    }

    fn cuGraphEventRecordNodeGetEvent(node: usize, to: *mut CUevent) { event_of(node, true, to) }
    fn cuGraphEventWaitNodeGetEvent(node: usize, to: *mut CUevent) { event_of(node, false, to) }

    fn cuGraphExecKernelNodeSetParams_v2(
        exec: usize, node: usize, params: *const CUDA_KERNEL_NODE_PARAMS_v2,
    ) {
        set_in(exec, node, kernel(params, cooperative(node)?)?)
    }

    fn cuGraphExecMemcpyNodeSetParams(
        exec: usize, node: usize, params: *const CUDA_MEMCPY3D, _context: CUcontext,
    ) {
        set_in(exec, node, copy(params)?)
    }

    fn cuGraphExecMemsetNodeSetParams(
        exec: usize, node: usize, params: *const CUDA_MEMSET_NODE_PARAMS, _context: CUcontext,
    ) {
        set_in(exec, node, fill(params)?)
    }

    fn cuGraphExecHostNodeSetParams(
        exec: usize, node: usize, params: *const CUDA_HOST_NODE_PARAMS,
    ) {
        set_in(exec, node, host(params)?)
    }
}
