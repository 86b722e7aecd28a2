//! Entry points for nodes that allocate and free memory.

use super::capture::Stream;
use super::dag::{Graph, Work};
use super::edge::Edge;
use super::ids::{GraphId, NodeId};
use super::library::{Library, Op, Shared};
use super::lists::After;
use super::memory::{AllocNode, Allocation};
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUdeviceptr, CUgraph, CUgraphNode, CUmemAccess_flags as Access,
    CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPoolProps, CUstream,
};
use std::sync::Arc;

const INVALID: CuError = CuError::INVALID_VALUE;
const DEVICE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
const NO_HANDLES: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
const HOST: [CUmemLocationType; 3] = [
    CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
    CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
];
const NO_ACCESS: Access = Access::CU_MEM_ACCESS_FLAGS_PROT_NONE;
const READ_WRITE: Access = Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
/// The maximum number of access descriptors of a node. One is enough to describe the only access
/// that is supported.
const MAX_ACCESS: usize = 64;

/// A request for memory.
struct Request {
    device: i32,
    bytes: usize,
    access: Vec<CUmemAccessDesc>,
}

impl Request {
    /// Reads and checks the parameters of a node.
    fn new(params: &CUDA_MEM_ALLOC_NODE_PARAMS) -> CuResult<Self> {
        let CUmemPoolProps { allocType: kind, handleTypes: handles, location, reserved, .. } =
            params.poolProps;
        if kind != PINNED || reserved != [0; 54] {
            return Err(INVALID);
        }
        if handles != NO_HANDLES || HOST.contains(&location.type_) {
            return Err(CuError::NOT_SUPPORTED);
        }
        if location.type_ != DEVICE {
            return Err(INVALID);
        }
        if params.accessDescCount > MAX_ACCESS {
            return Err(INVALID);
        }
        // SAFETY: the program passes an array of this many elements.
        let access =
            unsafe { In::from_address(params.accessDescs as usize).array(params.accessDescCount) };
        let access = (0..params.accessDescCount).map(|index| access.get(index));
        let access: Vec<CUmemAccessDesc> = access.collect::<CuResult<_>>()?;
        for CUmemAccessDesc { location: of, flags } in &access {
            match *flags {
                _ if of.type_ != DEVICE => return Err(INVALID),
                _ if of.id != location.id => return Err(CuError::INVALID_DEVICE),
                READ_WRITE => {}
                NO_ACCESS => return Err(CuError::NOT_SUPPORTED),
                _ => return Err(INVALID),
            }
        }
        Ok(Self { device: location.id, bytes: params.bytesize, access })
    }
}

/// Adds a node that allocates memory. `add` calls its argument with the graph and the new node's
/// dependencies, and adds a node with the operation that it returns, if any. Returns the node and
/// the address.
fn add_alloc<L: Library>(
    request: &Request,
    add: impl Fn(
        &mut dyn FnMut(&Graph<Op<L>>, &[(NodeId, Edge)]) -> CuResult<Option<Op<L>>>,
    ) -> CuResult<Option<NodeId>>,
) -> CuResult<(NodeId, CUdeviceptr)> {
    let len = Allocation::<L::Memory>::rounded(request.bytes)?;
    let mut new = None;
    loop {
        let mut address = 0;
        let added = add(&mut |graph, after| {
            let reused = graph.reusable(after, len, request.device);
            let reused = reused.and_then(|node| match &graph.nodes.get(&node)?.work {
                Work::Op(Op::Alloc(node)) => Some(node.allocation.clone()),
                _ => None,
            });
            let Some(allocation) = reused.or_else(|| new.clone()) else { return Ok(None) };
            address = allocation.address;
            let (bytes, access) = (request.bytes, request.access.clone());
            Ok(Some(Op::Alloc(Arc::new(AllocNode { allocation, bytes, access }))))
        })?;
        if let Some(node) = added {
            return Ok((node, address));
        }
        // The graphs aren't locked here, because the allocation may have to wait for the GPU.
        let (address, memory) = L::allocate(request.device, len as usize)?;
        let device = request.device;
        let allocation = Arc::new(Allocation { address, len, device, memory });
        L::memories().add(&allocation);
        new = Some(allocation);
    }
}

/// Adds a node that allocates memory, and stores the address in the parameters.
///
/// # Safety
///
/// If not null, the arrays in `after` must have as many elements as `after` says, and the array in
/// the parameters as many as `accessDescCount` says.
pub unsafe fn alloc<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: impl Into<After>,
    params: &mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> CuResult {
    to.check()?;
    L::ready()?;
    let request = Request::new(params)?;
    // SAFETY: the caller promises that the arrays have as many elements as `after` says.
    let after = unsafe { after.into().read() }?;
    let graph = graph as GraphId;
    let added = add_alloc::<L>(&request, |make| {
        L::graphs().with(|table| table.add_with(graph, &after, make))
    });
    let (node, address) = added.map_err(|error| match error {
        CuError::INVALID_DEVICE => INVALID,
        error => error,
    })?;
    params.dptr = address;
    to.set(node as CUgraphNode)
}

/// Implements `cuGraphAddMemAllocNode`.
///
/// # Safety
///
/// The requirements of [`alloc`] apply.
pub unsafe fn add<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: impl Into<After>,
    params: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> CuResult {
    let mut given = params.read()?;
    // SAFETY: the caller promises what `alloc` requires.
    unsafe { alloc::<L>(to, graph, after, &mut given) }?;
    params.set(given)
}

/// Returns the existing memory of a graph at an address.
fn existing<L: Library>(address: CUdeviceptr) -> Option<Shared<L>> {
    L::memories().get(address).filter(|allocation| L::exists(&allocation.memory))
}

/// Returns the operation that frees the memory at an address in a graph.
fn freeing<L: Library>(graph: &Graph<Op<L>>, address: CUdeviceptr) -> CuResult<Op<L>> {
    let allocation = existing::<L>(address).ok_or(INVALID)?;
    graph.check_free(address)?;
    Ok(Op::Free(allocation))
}

/// Implements `cuGraphAddMemFreeNode`.
///
/// # Safety
///
/// If not null, the arrays in `after` must have as many elements as `after` says.
pub unsafe fn add_free<L: Library>(
    to: Out<CUgraphNode>,
    graph: CUgraph,
    after: impl Into<After>,
    address: CUdeviceptr,
) -> CuResult {
    to.check()?;
    L::ready()?;
    // SAFETY: the caller promises that the arrays have as many elements as `after` says.
    let after = unsafe { after.into().read() }?;
    let added = L::graphs().with(|table| {
        table.add_with(graph as GraphId, &after, |graph, _| freeing::<L>(graph, address).map(Some))
    });
    to.set(added?.ok_or(INVALID)? as CUgraphNode)
}

/// Implements `cuGraphMemAllocNodeGetParams`.
pub fn alloc_params<L: Library>(
    node: CUgraphNode,
    to: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> CuResult {
    to.check()?;
    let Op::Alloc(node) = op::<L>(node)? else { return Err(INVALID) };
    let Allocation { address, device, .. } = *node.allocation;
    // The program gets a pointer to the node's list, which lives as long as the node.
    let access = match node.access.len() {
        0 => std::ptr::null(),
        _ => node.access.as_ptr(),
    };
    to.set(CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps {
            allocType: PINNED,
            handleTypes: NO_HANDLES,
            location: CUmemLocation { type_: DEVICE, id: device },
            ..Default::default()
        },
        accessDescs: access,
        accessDescCount: node.access.len(),
        bytesize: node.bytes,
        dptr: address,
    })
}

/// Implements `cuGraphMemFreeNodeGetParams`.
pub fn free_params<L: Library>(node: CUgraphNode, to: Out<CUdeviceptr>) -> CuResult {
    to.check()?;
    let Op::Free(allocation) = op::<L>(node)? else { return Err(INVALID) };
    to.set(allocation.address)
}

fn op<L: Library>(node: CUgraphNode) -> CuResult<Op<L>> {
    L::graphs().with(|table| table.op(node as NodeId).cloned())
}

/// Captures `cuMemAllocAsync` for a pool of the device with this ordinal.
pub fn captured_alloc<L: Library>(
    stream: &Stream,
    device: i32,
    bytes: usize,
) -> CuResult<CUdeviceptr> {
    let request = Request { device, bytes, access: Vec::new() };
    let (_, address) = add_alloc::<L>(&request, |make| L::graphs().push_with(stream, make))?;
    Ok(address)
}

/// Captures `cuMemFreeAsync`, which can only free memory that a graph allocates.
pub fn captured_free<L: Library>(stream: &Stream, address: CUdeviceptr) -> CuResult {
    let added = L::graphs().push_with(stream, |graph, _| freeing::<L>(graph, address).map(Some));
    added.map(drop)
}

/// Frees memory that a graph has allocated, as `cuMemFreeAsync` does if there is a stream, and
/// otherwise as `cuMemFree` does. Returns false if the address isn't that of a graph's memory.
pub fn free<L: Library>(address: CUdeviceptr, stream: Option<(CUstream, bool)>) -> CuResult<bool> {
    if existing::<L>(address).is_none() {
        return Ok(false);
    }
    // Check everything that can fail before taking the program's share, because a call that fails
    // must not take it.
    L::ready()?;
    let allocation = L::memories().take(address).ok_or(INVALID)??;
    L::free(allocation, stream).map(|()| true)
}
