//! Graphs: what their nodes do.

use super::copy2d::Memcpy3D;
use super::graph::add;
use super::graph_exec::set_node;
use super::host_func::{Callback, HostFunction};
use super::launch::{self, Shape, attribute_of, set_attribute};
use crate::context;
use crate::driver::driver;
use crate::error::{CuError, CuResult};
use crate::graph::{GRAPHS, Kernel, Op};
use crate::handles::Handle;
use crate::memory::Place;
use crate::objects::{Event, Function, Origin};
use cuda_api::args::{In, Out};
use cuda_api::graph::Operation;
use cuda_api::graph::dag::Work;
use protocol::graph::Memset;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// `CUDA_KERNEL_NODE_PARAMS_v2`, as C has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelParams {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    parameters: usize,
    extra: usize,
    /// Used if `function` is null.
    kernel: Handle,
    context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`, as C has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemsetParams {
    dst: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`, as C has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostParams {
    function: Option<HostFunction>,
    data: usize,
}

fn kernel(params: In<KernelParams>, attributes: Vec<u8>) -> CuResult<Op> {
    let params = params.get()?;
    let handle = if params.function == 0 { params.kernel } else { params.function };
    let driver = context::driver()?;
    let function: Arc<Function> = driver.handles.get(handle)?;
    let shape = Shape { grid: params.grid, block: params.block, shared: params.shared };
    launch::check(driver, &function, &shape)?;
    // SAFETY: the program passes arguments as the API requires for a launch of this function.
    let params = unsafe {
        let pointers = (In::from_address(params.parameters), In::from_address(params.extra));
        launch::with_parameters(&function, pointers.0, pointers.1, |p| Ok(p.into()))
    }?;
    Ok(Op::Kernel(Kernel { handle, function, shape, params, attributes }))
}

fn memset(params: In<MemsetParams>) -> CuResult<Op> {
    let p = params.get()?;
    let set = Memset {
        dst: p.dst,
        pitch: p.pitch as u64,
        element_size: p.element,
        value: p.value,
        width: p.width as u64,
        height: p.height as u64,
    };
    let (size, invalid) = (u64::from(p.element), CuError::INVALID_VALUE);
    if !matches!(size, 1 | 2 | 4) || set.width == 0 || set.height == 0 {
        return Err(invalid);
    }
    let bytes = set.width.checked_mul(size).ok_or(invalid)?;
    if !p.dst.is_multiple_of(size)
        || set.height > 1 && (set.pitch < bytes || !set.pitch.is_multiple_of(size))
    {
        return Err(invalid);
    }
    let rows = set.pitch.checked_mul(set.height - 1);
    let span = rows.and_then(|rows| rows.checked_add(bytes)).ok_or(invalid)?;
    match driver()?.memory.place(p.dst, span)? {
        Place::Visible { address, .. } => Ok(Op::Memset(Memset { dst: address, ..set })),
        Place::Pageable => Err(invalid),
    }
}

fn copy(params: In<Memcpy3D>) -> CuResult<Op> {
    let params = params.get()?;
    Ok(Op::Copy(params.node(driver()?)?, Some(params)))
}

fn host(params: In<HostParams>) -> CuResult<Op> {
    let params = params.get()?;
    let function = params.function.ok_or(CuError::INVALID_VALUE)?;
    Ok(Op::Host(Callback::Function(function, params.data)))
}

fn event(handle: Handle) -> CuResult<Arc<Event>> {
    driver()?.handles.get(handle)
}

fn op(node: usize) -> CuResult<Op> {
    Ok(GRAPHS.with(|table| table.op(node).cloned())?)
}

/// A kernel node's attributes, which its parameters don't have.
fn attributes(node: usize) -> CuResult<Vec<u8>> {
    match op(node)? {
        Op::Kernel(kernel) => Ok(kernel.attributes),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Gives a node something else of the same kind to do.
fn set(node: usize, new: Op) -> CuResult {
    GRAPHS.with(|table| {
        let op = table.op_mut(node)?;
        if op.kind() != new.kind() {
            return Err(CuError::INVALID_VALUE);
        }
        *op = new;
        Ok(())
    })
}

fn set_in(exec: Handle, node: usize, new: Op) -> CuResult {
    set_node(context::driver()?, exec, node, new)
}

/// Parameters and where each of them lies.
type Parameters = ManuallyDrop<(Arc<[u8]>, Vec<usize>)>;

thread_local! {
    /// Programs read a kernel's parameters here until the thread asks again.
    static PARAMETERS: RefCell<Option<Parameters>> = const { RefCell::new(None) };
}

fn kernel_params(node: usize, to: Out<KernelParams>) -> CuResult {
    let Op::Kernel(kernel) = op(node)? else { return Err(CuError::INVALID_VALUE) };
    let base = kernel.params.as_ptr() as usize;
    let pointers: Vec<usize> =
        kernel.function.parameters.iter().map(|parameter| base + parameter.offset).collect();
    let parameters = pointers.as_ptr() as usize;
    let Shape { grid, block, shared } = kernel.shape;
    let (function, of_library) = match kernel.function.origin {
        Origin::Module(_) => (kernel.handle, 0),
        Origin::Library(_) => (0, kernel.handle),
    };
    to.set(KernelParams {
        function,
        grid,
        block,
        shared,
        parameters,
        extra: 0,
        kernel: of_library,
        context: 0,
    })?;
    let shown = ManuallyDrop::new((kernel.params, pointers));
    let before = PARAMETERS.with_borrow_mut(|parameters| parameters.replace(shown));
    drop(before.map(ManuallyDrop::into_inner));
    Ok(())
}

fn event_of(node: usize, record: bool, to: Out<Handle>) -> CuResult {
    match op(node)? {
        Op::Record(_, handle) if record => to.set(handle),
        Op::Wait(_, handle) if !record => to.set(handle),
        _ => Err(CuError::INVALID_VALUE),
    }
}

fn set_event(node: usize, record: bool, handle: Handle) -> CuResult {
    let event = event(handle)?;
    set(node, if record { Op::Record(event, handle) } else { Op::Wait(event, handle) })
}

entries! {
    fn cuGraphAddKernelNode_v2(
        to: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<KernelParams>,
    ) {
        let op = kernel(params, Vec::new())?;
        add(to, graph, after, count, |table, after| table.add(graph, Work::Op(op), after))
    }

    fn cuGraphAddMemcpyNode(
        to: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<Memcpy3D>,
        _context: Handle,
    ) {
        let op = copy(params)?;
        add(to, graph, after, count, |table, after| table.add(graph, Work::Op(op), after))
    }

    fn cuGraphAddMemsetNode(
        to: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<MemsetParams>,
        _context: Handle,
    ) {
        let op = memset(params)?;
        add(to, graph, after, count, |table, after| table.add(graph, Work::Op(op), after))
    }

    fn cuGraphAddHostNode(
        to: Out<usize>, graph: usize, after: In<usize>, count: usize, params: In<HostParams>,
    ) {
        let op = host(params)?;
        add(to, graph, after, count, |table, after| table.add(graph, Work::Op(op), after))
    }

    fn cuGraphAddEventRecordNode(
        to: Out<usize>, graph: usize, after: In<usize>, count: usize, handle: Handle,
    ) {
        let op = Op::Record(event(handle)?, handle);
        add(to, graph, after, count, |table, after| table.add(graph, Work::Op(op), after))
    }

    fn cuGraphAddEventWaitNode(
        to: Out<usize>, graph: usize, after: In<usize>, count: usize, handle: Handle,
    ) {
        let op = Op::Wait(event(handle)?, handle);
        add(to, graph, after, count, |table, after| table.add(graph, Work::Op(op), after))
    }

    fn cuGraphKernelNodeGetParams_v2(node: usize, to: Out<KernelParams>) {
        kernel_params(node, to)
    }

    fn cuGraphKernelNodeSetParams_v2(node: usize, params: In<KernelParams>) {
        set(node, kernel(params, attributes(node)?)?)
    }

    fn cuGraphKernelNodeGetAttribute(node: usize, which: u32, to: Out<[u8; 64]>) {
        to.set(attribute_of(&attributes(node)?, which)?)
    }

    fn cuGraphKernelNodeSetAttribute(node: usize, which: u32, value: In<[u8; 64]>) {
        let value = value.get()?;
        GRAPHS.with(|table| match table.op_mut(node)? {
            Op::Kernel(kernel) => set_attribute(&mut kernel.attributes, which, &value),
            _ => Err(CuError::INVALID_VALUE),
        })
    }

    fn cuGraphKernelNodeCopyAttributes(to: usize, from: usize) {
        let attributes = attributes(from)?;
        GRAPHS.with(|table| match table.op_mut(to)? {
            Op::Kernel(kernel) => {
                kernel.attributes = attributes;
                Ok(())
            }
            _ => Err(CuError::INVALID_VALUE),
        })
    }

    fn cuGraphMemcpyNodeGetParams(node: usize, to: Out<Memcpy3D>) {
        match op(node)? {
            Op::Copy(_, Some(params)) => to.set(params),
            Op::Copy(copy, None) => to.set(Memcpy3D::of_node(&copy)),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    fn cuGraphMemcpyNodeSetParams(node: usize, params: In<Memcpy3D>) { set(node, copy(params)?) }

    fn cuGraphMemsetNodeGetParams(node: usize, to: Out<MemsetParams>) {
        let Op::Memset(set) = op(node)? else { return Err(CuError::INVALID_VALUE) };
        to.set(MemsetParams {
            dst: set.dst,
            pitch: set.pitch as usize,
            value: set.value,
            element: set.element_size,
            width: set.width as usize,
            height: set.height as usize,
        })
    }

    fn cuGraphMemsetNodeSetParams(node: usize, params: In<MemsetParams>) {
        set(node, memset(params)?)
    }

    fn cuGraphHostNodeGetParams(node: usize, to: Out<HostParams>) {
        match op(node)? {
            Op::Host(Callback::Function(function, data)) => {
                to.set(HostParams { function: Some(function), data })
            }
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    fn cuGraphHostNodeSetParams(node: usize, params: In<HostParams>) { set(node, host(params)?) }

    fn cuGraphEventRecordNodeGetEvent(node: usize, to: Out<Handle>) { event_of(node, true, to) }
    fn cuGraphEventRecordNodeSetEvent(node: usize, event: Handle) { set_event(node, true, event) }
    fn cuGraphEventWaitNodeGetEvent(node: usize, to: Out<Handle>) { event_of(node, false, to) }
    fn cuGraphEventWaitNodeSetEvent(node: usize, event: Handle) { set_event(node, false, event) }

    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: usize, params: In<KernelParams>) {
        set_in(exec, node, kernel(params, attributes(node)?)?)
    }

    fn cuGraphExecMemcpyNodeSetParams(
        exec: Handle, node: usize, params: In<Memcpy3D>, _context: Handle,
    ) {
        set_in(exec, node, copy(params)?)
    }

    fn cuGraphExecMemsetNodeSetParams(
        exec: Handle, node: usize, params: In<MemsetParams>, _context: Handle,
    ) {
        set_in(exec, node, memset(params)?)
    }

    fn cuGraphExecHostNodeSetParams(exec: Handle, node: usize, params: In<HostParams>) {
        set_in(exec, node, host(params)?)
    }

    fn cuGraphExecEventRecordNodeSetEvent(exec: Handle, node: usize, handle: Handle) {
        set_in(exec, node, Op::Record(event(handle)?, handle))
    }

    fn cuGraphExecEventWaitNodeSetEvent(exec: Handle, node: usize, handle: Handle) {
        set_in(exec, node, Op::Wait(event(handle)?, handle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_that_c_gives_them() {
        assert_eq!(size_of::<KernelParams>(), 72);
        assert_eq!(size_of::<MemsetParams>(), 40);
        assert_eq!(size_of::<HostParams>(), 16);
    }
}
