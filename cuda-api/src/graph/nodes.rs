//! Entry points that set and query the operations of nodes.

use super::dag::Work;
use super::edge::Edge;
use super::host_call::HostCall;
use super::ids::{NodeId, Operation};
use super::library::{CopyParams, KernelParams, Library, Op};
use super::lists::After;
use super::memory_operations::MemoryOperations;
use super::structure;
use crate::args::{In, Out, check_handle};
use crate::attributes::Value;
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUarray, CUcontext, CUevent, CUgraph, CUgraphNode, CUkernelNodeAttrID,
    CUmemorytype, CUstreamAttrValue,
};
use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::Arc;

const INVALID: CuError = CuError::INVALID_VALUE;
const ARRAY: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_ARRAY;
const _: () = assert!(size_of::<Value>() == size_of::<CUstreamAttrValue>());

/// Creates the operation of a new kernel node from any version of its parameters.
///
/// # Safety
///
/// The pointers in the parameters must be valid as `cuLaunchKernel` requires.
pub unsafe fn kernel<L: Library>(
    params: In<impl Copy + Into<CUDA_KERNEL_NODE_PARAMS>>,
) -> CuResult<Op<L>> {
    let params = params.get()?.into();
    // SAFETY: the caller promises that the pointers in the parameters are valid, as
    // `cuLaunchKernel` requires.
    unsafe { L::kernel(&params, L::Kept::default()) }.map(Op::Kernel)
}

/// Returns a kernel node's operation with new parameters. The node's attributes, which aren't among
/// the parameters, stay the same.
///
/// # Safety
///
/// The requirements of [`kernel`] apply.
pub unsafe fn other_kernel<L: Library>(
    node: CUgraphNode,
    params: In<impl Copy + Into<CUDA_KERNEL_NODE_PARAMS>>,
) -> CuResult<Op<L>> {
    let kept = L::graphs().with(|table| match table.op(node as NodeId)? {
        Op::Kernel(present) => Ok(L::kept(present)),
        _ => Err(INVALID),
    })?;
    let params = params.get()?.into();
    // SAFETY: the caller promises that the pointers in the parameters are valid, as
    // `cuLaunchKernel` requires.
    unsafe { L::kernel(&params, kept) }.map(Op::Kernel)
}

/// Creates the operation of a copy node.
///
/// # Safety
///
/// Addresses of host memory in the parameters must be valid whenever the node runs.
pub unsafe fn copy<L: Library>(params: In<CUDA_MEMCPY3D>) -> CuResult<Op<L>> {
    let params = params.get()?;
    let has_none = |kind, array: CUarray| kind == ARRAY && array.is_null();
    if params.WidthInBytes == 0
        || params.Height == 0
        || params.Depth == 0
        || has_none(params.srcMemoryType, params.srcArray)
        || has_none(params.dstMemoryType, params.dstArray)
    {
        return Err(INVALID);
    }
    // SAFETY: the caller promises that addresses of host memory are valid whenever the node runs.
    let copy = unsafe { L::copy(&params) }?;
    Ok(Op::Copy(copy, Some(CopyParams::new(params))))
}

/// Creates the operation of a memset node.
pub fn memset<L: Library>(params: In<CUDA_MEMSET_NODE_PARAMS>) -> CuResult<Op<L>> {
    L::memset(&params.get()?).map(Op::Memset)
}

/// Creates the operation of a new memset node in a context. If the context is null, the node uses
/// the context of the memory. Memory that a graph allocates is then refused, because it has no
/// context until a launch.
pub fn memset_in<L: Library>(
    params: In<CUDA_MEMSET_NODE_PARAMS>,
    context: CUcontext,
) -> CuResult<Op<L>> {
    if context.is_null() && L::memories().is_reserved(params.get()?.dst) {
        return Err(INVALID);
    }
    memset(params)
}

/// Creates the operation of a host node.
///
/// # Safety
///
/// The requirements of [`HostCall::new`] apply, if there is a function.
pub unsafe fn host<L: Library>(params: In<CUDA_HOST_NODE_PARAMS>) -> CuResult<Op<L>> {
    let params = params.get()?;
    let function = params.fn_.ok_or(INVALID)?;
    // SAFETY: the caller promises that the function can be called with this argument from any
    // thread.
    Ok(Op::Host(unsafe { HostCall::new(function, params.userData) }))
}

/// Creates the operation of a node with stream memory operations.
///
/// # Safety
///
/// If the array in the parameters isn't null, it must have as many elements as `count` in the
/// parameters says.
pub unsafe fn batch<L: Library>(params: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>) -> CuResult<Op<L>> {
    // SAFETY: the caller promises that the array has as many elements as `count` says.
    let operations = unsafe { MemoryOperations::read(params) }?;
    Ok(Op::Batch(L::batch(operations.list())?, operations))
}

/// Creates the operation of an event record node if `record` is set, otherwise of an event wait
/// node.
pub fn event<L: Library>(event: CUevent, record: bool) -> CuResult<Op<L>> {
    check_handle(event as usize)?;
    let (named, handle) = (L::event(event)?, event as usize);
    Ok(if record { Op::Record(named, handle) } else { Op::Wait(named, handle) })
}

/// Adds a node with the operation `op`.
///
/// # Safety
///
/// The requirements of [`structure::add`] apply.
pub unsafe fn add<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: impl Into<After>,
    op: Op<L>,
) -> CuResult {
    let make = |table: &mut super::table::Table<Op<L>>, graph, after: &[(NodeId, Edge)]| {
        table.add(graph, Work::Op(op), after)
    };
    // SAFETY: the caller promises that the arrays have as many elements as `after` says.
    unsafe { structure::add::<L>(to, graph, after, make) }
}

/// Replaces a node's operation with another one of the same kind.
pub fn set<L: Library>(node: CUgraphNode, new: Op<L>) -> CuResult {
    L::graphs().with(|table| {
        let op = table.op_mut(node as NodeId)?;
        if op.kind() != new.kind() {
            return Err(INVALID);
        }
        *op = new;
        Ok(())
    })
}

fn work<L: Library>(node: CUgraphNode) -> CuResult<Op<L>> {
    L::graphs().with(|table| table.op(node as NodeId).cloned())
}

/// A parameter buffer, and the address of each parameter in it.
type Parameters = ManuallyDrop<(Arc<[u8]>, Vec<*mut c_void>)>;

thread_local! {
    /// The parameters that the last query on this thread returned. Programs may read them until the
    /// thread's next query. They aren't freed when the thread exits, because that would need a
    /// destructor, whose code might already be unloaded.
    static PARAMETERS: RefCell<Option<Parameters>> = const { RefCell::new(None) };
}

/// Implements `cuGraphKernelNodeGetParams`, for any version of the parameters.
pub fn kernel_params<L: Library>(
    node: CUgraphNode,
    to: Out<impl From<CUDA_KERNEL_NODE_PARAMS>>,
) -> CuResult {
    let Op::Kernel(kernel) = work::<L>(node)? else { return Err(INVALID) };
    let KernelParams { node, bytes, offsets } = L::kernel_params(&kernel);
    let base = bytes.as_ptr().cast_mut();
    let mut pointers: Vec<*mut c_void> =
        offsets.iter().map(|offset| base.wrapping_add(*offset).cast()).collect();
    let parameters = pointers.as_mut_ptr();
    to.set(CUDA_KERNEL_NODE_PARAMS { kernelParams: parameters, ..node }.into())?;
    let shown = ManuallyDrop::new((bytes, pointers));
    let before = PARAMETERS.with_borrow_mut(|parameters| parameters.replace(shown));
    drop(before.map(ManuallyDrop::into_inner));
    Ok(())
}

/// Calls `then` to change the launch of a kernel node.
fn change_kernel<L: Library>(
    node: CUgraphNode,
    then: impl FnOnce(&mut L::Kernel) -> CuResult,
) -> CuResult {
    L::graphs().with(|table| match table.op_mut(node as NodeId)? {
        Op::Kernel(kernel) => then(kernel),
        _ => Err(INVALID),
    })
}

/// Implements `cuGraphKernelNodeGetAttribute`.
pub fn attribute<L: Library>(
    node: CUgraphNode,
    which: CUkernelNodeAttrID,
    to: Out<CUstreamAttrValue>,
) -> CuResult {
    let Op::Kernel(kernel) = work::<L>(node)? else { return Err(INVALID) };
    let value = L::attributes(&kernel).of_node(which.0)?;
    // SAFETY: `Value` has the size of the union `CUlaunchAttributeValue`, and `Out` allows
    // unaligned pointers.
    unsafe { to.cast::<Value>() }.set(value)
}

/// Implements `cuGraphKernelNodeSetAttribute`.
pub fn set_attribute<L: Library>(
    node: CUgraphNode,
    which: CUkernelNodeAttrID,
    value: In<CUstreamAttrValue>,
) -> CuResult {
    // SAFETY: `Value` has the size of the union `CUlaunchAttributeValue`, and `In` allows unaligned
    // pointers.
    let value = unsafe { value.cast::<Value>() }.get()?;
    change_kernel::<L>(node, |kernel| {
        let mut attributes = L::attributes(kernel).clone();
        attributes.set_of_node(which.0, value)?;
        L::set_attributes(kernel, attributes)
    })
}

/// Implements `cuGraphKernelNodeCopyAttributes`.
pub fn copy_attributes<L: Library>(to: CUgraphNode, from: CUgraphNode) -> CuResult {
    let Op::Kernel(from) = work::<L>(from)? else { return Err(INVALID) };
    change_kernel::<L>(to, |to| L::set_attributes(to, L::attributes(&from).clone()))
}

/// Implements `cuGraphMemcpyNodeGetParams`.
pub fn copy_params<L: Library>(node: CUgraphNode, to: Out<CUDA_MEMCPY3D>) -> CuResult {
    match work::<L>(node)? {
        Op::Copy(_, Some(params)) => to.set(params.get()),
        Op::Copy(copy, None) => to.set(L::copy_params(&copy)),
        _ => Err(INVALID),
    }
}

/// Implements `cuGraphMemsetNodeGetParams`.
pub fn memset_params<L: Library>(node: CUgraphNode, to: Out<CUDA_MEMSET_NODE_PARAMS>) -> CuResult {
    let Op::Memset(memset) = work::<L>(node)? else { return Err(INVALID) };
    to.set(L::memset_params(&memset))
}

/// Implements `cuGraphBatchMemOpNodeGetParams`.
pub fn batch_params<L: Library>(
    node: CUgraphNode,
    to: Out<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> CuResult {
    let Op::Batch(_, operations) = work::<L>(node)? else { return Err(INVALID) };
    to.set(operations.params())
}

/// Implements `cuGraphHostNodeGetParams`.
pub fn host_params<L: Library>(node: CUgraphNode, to: Out<CUDA_HOST_NODE_PARAMS>) -> CuResult {
    let Op::Host(call) = work::<L>(node)? else { return Err(INVALID) };
    to.set(call.params())
}

/// Implements `cuGraphEventRecordNodeGetEvent` if `record` is set, otherwise
/// `cuGraphEventWaitNodeGetEvent`.
pub fn event_of<L: Library>(node: CUgraphNode, record: bool, to: Out<CUevent>) -> CuResult {
    match work::<L>(node)? {
        Op::Record(_, handle) if record => to.set(handle as CUevent),
        Op::Wait(_, handle) if !record => to.set(handle as CUevent),
        _ => Err(INVALID),
    }
}
