//! Creates the driver's graph nodes from the guest's descriptions, after checking all addresses in
//! them.

use cuda_api::graph::Edge;
use cuda_api::graph::memory_operations::describe;
use cuda_api::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_HOST_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUfunction,
    CUgraph, CUgraphConditionalNodeType, CUgraphEdgeData, CUgraphExec, CUgraphNode,
    CUgraphNodeParams, CUgraphNodeParams_st__bindgen_ty_1, CUgraphNodeType, CUmemorytype,
    CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation,
};
use protocol::graph::{
    ConditionalStep, CopyStep, Dependency, KernelStep, MemoryOperation, MemoryOperationsStep,
    MemsetStep, Step,
};
use protocol::ids::FuncId;
use protocol::structs::{EventRecordStep, EventWaitStep, HostFuncStep};

use crate::calls::code::launch::{attributes, with_parameters};
use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{Need, Reservation, Settled, function_of, kind};
use crate::calls::lock;
use crate::calls::memory::extent::span;
use crate::calls::streams::hostfunc::GraphStops;
use crate::calls::streams::stream_memory;
use crate::calls::tables::handles::{Owner, Tables};
use crate::driver::{CuError, CuResult};

/// A node on which another node depends.
pub(in crate::calls) struct Before {
    node: CUgraphNode,
    edge: Edge,
}

impl Before {
    /// Checks a dependency of a node of kind `to` on an earlier node of kind `from`, and converts
    /// it.
    pub(in crate::calls) fn new(
        dependency: &Dependency,
        (node, from): (CUgraphNode, u32),
        to: u32,
    ) -> CuResult<Self> {
        let Dependency { from_port, programmatic, .. } = *dependency;
        let type_ = programmatic.into();
        let edge = Edge::new(CUgraphEdgeData { from_port, to_port: 0, type_, reserved: [0; 5] })?;
        edge.check(CUgraphNodeType(from), CUgraphNodeType(to))?;
        Ok(Self { node, edge })
    }
}

/// Appends zeros to the parameters of a kernel node if they are shorter than those that the kernel
/// declares. A launch does the same, and the driver reads all declared parameters. `padded` holds
/// the bytes for the result.
pub(in crate::calls) fn complete<'a>(
    tables: &Tables,
    step: Step<'a>,
    padded: &'a mut Vec<u8>,
) -> CuResult<Step<'a>> {
    let Step::Kernel(kernel) = step else { return Ok(step) };
    let bytes = tables.functions.get(kernel.f)?.parameter_bytes();
    if bytes <= kernel.params.len() {
        return Ok(Step::Kernel(kernel));
    }
    padded.extend_from_slice(kernel.params);
    padded.resize(bytes, 0);
    Ok(Step::Kernel(KernelStep { params: padded, ..kernel }))
}

/// Adds nodes to a graph, and changes nodes of an executable graph.
pub(in crate::calls) struct Builder<'a> {
    cx: &'a Cx<'a>,
    graph: CUgraph,
}

fn size(value: u64) -> CuResult<usize> {
    usize::try_from(value).map_err(|_| CuError::INVALID_VALUE)
}

impl<'a> Builder<'a> {
    /// Creates a builder for a graph in the current context of `cx`, which must have been entered.
    pub(in crate::calls) fn new(cx: &'a Cx<'a>, graph: CUgraph) -> Self {
        Self { cx, graph }
    }

    /// Returns the driver's context in which the graph's copies and memsets run.
    fn context(&self) -> CuResult<CUcontext> {
        Ok(lock(&self.cx.shared.tables).contexts.get(self.cx.ctx)?.real.0)
    }

    /// Adds a node to the graph. The node runs after the nodes in `after`. Also returns its need of
    /// local memory.
    pub(in crate::calls) fn add(
        &self,
        after: &[Before],
        step: &Step<'_>,
        place: (u32, &GraphStops),
        reservation: &Reservation<kind::Local>,
    ) -> CuResult<(CUgraphNode, Need)> {
        let full: Vec<_> = after.iter().filter(|before| before.edge == Edge::Full).collect();
        let nodes: Vec<CUgraphNode> = full.iter().map(|before| before.node).collect();
        let (node, need) = self.add_after(&nodes, step, place, reservation)?;
        let others: Vec<_> = after.iter().filter(|before| before.edge != Edge::Full).collect();
        if !others.is_empty() {
            let (from, to): (Vec<_>, Vec<_>) =
                others.iter().map(|before| (before.node, node)).unzip();
            let data: Vec<_> = others.iter().map(|before| before.edge.data()).collect();
            let (from, to, data) = (from.as_ptr(), to.as_ptr(), data.as_ptr());
            // SAFETY: the graph and its nodes are live, and the arrays have `count` elements.
            unsafe {
                let driver = self.cx.driver();
                driver.cuGraphAddDependencies(self.graph, from, to, data, others.len())?;
            }
        }
        Ok((node, need))
    }

    /// Adds a conditional node, whose handle the caller has checked. Returns the node and its body
    /// graphs.
    pub(in crate::calls) fn conditional(
        &self,
        after: &[Before],
        step: &ConditionalStep<'_>,
    ) -> CuResult<(CUgraphNode, Vec<CUgraph>)> {
        let nodes: Vec<CUgraphNode> = after.iter().map(|before| before.node).collect();
        let data: Vec<CUgraphEdgeData> = after.iter().map(|before| before.edge.data()).collect();
        let mut params = CUgraphNodeParams {
            type_: CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
            reserved0: [0; 3],
            __bindgen_anon_1: CUgraphNodeParams_st__bindgen_ty_1 { reserved1: [0; 29] },
            reserved2: 0,
        };
        params.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
            handle: step.handle,
            type_: CUgraphConditionalNodeType(step.kind),
            size: step.size,
            phGraph_out: std::ptr::null_mut(),
            ctx: self.context()?,
        };
        let mut node = std::ptr::null_mut();
        let (before, data, count) = (nodes.as_ptr(), data.as_ptr(), nodes.len());
        // SAFETY: the graph and the nodes are live, because the caller is still building the graph.
        // The arrays have `count` elements, and the parameters are a local variable. On success,
        // the driver has stored the address of an array of `size` body graphs, which lives as long
        // as the node.
        let bodies = unsafe {
            let driver = self.cx.driver();
            driver.cuGraphAddNode(&mut node, self.graph, before, data, count, &mut params)?;
            let bodies = params.__bindgen_anon_1.conditional.phGraph_out;
            if bodies.is_null() {
                return Err(CuError::UNKNOWN);
            }
            std::slice::from_raw_parts(bodies, step.size as usize).to_vec()
        };
        Ok((node, bodies))
    }

    fn add_after(
        &self,
        after: &[CUgraphNode],
        step: &Step<'_>,
        (place, stops): (u32, &GraphStops),
        reservation: &Reservation<kind::Local>,
    ) -> CuResult<(CUgraphNode, Need)> {
        let driver = self.cx.driver();
        let mut need = Need::NONE;
        let mut node = std::ptr::null_mut();
        let (at, graph, before, count) = (&raw mut node, self.graph, after.as_ptr(), after.len());
        // SAFETY: the graph and its nodes in `after` are live, because the caller is still building
        // the graph. The parameters point to local variables, and the addresses in them were
        // checked.
        unsafe {
            match step {
                Step::Conditional(_) => return Err(CuError::INVALID_VALUE),
                Step::Empty => driver.cuGraphAddEmptyNode(at, graph, before, count)?,
                Step::Kernel(kernel) => {
                    (_, need) = self.with_kernel(kernel, reservation.node(), |params| {
                        driver.cuGraphAddKernelNode(at, graph, before, count, params)
                    })?;
                    let list = attributes(kernel.attributes, |addr, len| self.cx.check(addr, len))?;
                    for attribute in &list {
                        let value = &attribute.value;
                        driver.cuGraphKernelNodeSetAttribute(node, attribute.id, value)?;
                    }
                }
                Step::Copy(copy) => {
                    let (params, ctx) = (self.copy(copy)?, self.context()?);
                    driver.cuGraphAddMemcpyNode(at, graph, before, count, &params, ctx)?;
                }
                Step::Memset(set) => {
                    let (params, ctx) = (self.memset(set)?, self.context()?);
                    driver.cuGraphAddMemsetNode(at, graph, before, count, &params, ctx)?;
                }
                Step::HostFunc(HostFuncStep { token }) => {
                    let params = self.stop(stops, place, *token)?;
                    driver.cuGraphAddHostNode(at, graph, before, count, &params)?;
                }
                Step::MemoryOperations(step) => {
                    let mut operations = self.memory_operations(step)?;
                    let params = self.batch(&mut operations)?;
                    driver.cuGraphAddBatchMemOpNode(at, graph, before, count, &params)?;
                }
                Step::EventWait(EventWaitStep { event }) => {
                    let event = self.cx.event_for_graph(*event)?;
                    driver.cuGraphAddEventWaitNode(at, graph, before, count, event)?;
                }
                Step::EventRecord(EventRecordStep { event }) => {
                    let event = self.cx.event_for_graph(*event)?;
                    driver.cuGraphAddEventRecordNode(at, graph, before, count, event)?;
                }
            }
        }
        Ok((node, need))
    }

    /// Changes the parameters of a node in an executable graph. The change applies to all later
    /// launches. Also returns the node's need of local memory.
    pub(in crate::calls) fn set(
        &self,
        exec: CUgraphExec,
        node: CUgraphNode,
        step: &Step<'_>,
        (place, stops): (u32, &GraphStops),
        reservation: Reservation<kind::Local>,
    ) -> CuResult<(Settled<kind::Local>, Need)> {
        let driver = self.cx.driver();
        // SAFETY: the executable graph is live, and the node belongs to the graph from which it was
        // instantiated. The parameters point to local variables, and the addresses in them were
        // checked.
        unsafe {
            match step {
                Step::Empty | Step::Conditional(_) => return Err(CuError::INVALID_VALUE),
                Step::Kernel(kernel) => {
                    return self.with_kernel(kernel, reservation, |params| {
                        driver.cuGraphExecKernelNodeSetParams(exec, node, params)
                    });
                }
                Step::Copy(copy) => {
                    let (params, ctx) = (self.copy(copy)?, self.context()?);
                    driver.cuGraphExecMemcpyNodeSetParams(exec, node, &params, ctx)?;
                }
                Step::Memset(set) => {
                    let (params, ctx) = (self.memset(set)?, self.context()?);
                    driver.cuGraphExecMemsetNodeSetParams(exec, node, &params, ctx)?;
                }
                Step::HostFunc(HostFuncStep { token }) => {
                    let params = self.stop(stops, place, *token)?;
                    driver.cuGraphExecHostNodeSetParams(exec, node, &params)?;
                }
                Step::MemoryOperations(step) => {
                    let mut operations = self.memory_operations(step)?;
                    let params = self.batch(&mut operations)?;
                    driver.cuGraphExecBatchMemOpNodeSetParams(exec, node, &params)?;
                }
                Step::EventWait(EventWaitStep { event }) => {
                    driver.cuGraphExecEventWaitNodeSetEvent(
                        exec,
                        node,
                        self.cx.event_for_graph(*event)?,
                    )?;
                }
                Step::EventRecord(EventRecordStep { event }) => {
                    driver.cuGraphExecEventRecordNodeSetEvent(
                        exec,
                        node,
                        self.cx.event_for_graph(*event)?,
                    )?;
                }
            }
        }
        Ok((reservation.not_a_kernel(), Need::NONE))
    }

    /// Returns the driver's parameters for the host function node at index `place`.
    fn stop(&self, stops: &GraphStops, place: u32, token: u64) -> CuResult<CUDA_HOST_NODE_PARAMS> {
        let shared = self.cx.shared;
        stops.put(&shared.host_funcs, &shared.session.waker, place, token)
    }

    /// Calls `then` with the driver's parameters for a kernel node. `kernel` must have all
    /// parameters that the kernel function declares.
    fn with_kernel(
        &self,
        kernel: &KernelStep<'_>,
        reservation: Reservation<kind::Local>,
        then: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS_v2) -> CuResult,
    ) -> CuResult<(Settled<kind::Local>, Need)> {
        let (real, bytes, of_context) = self.function(kernel.f, reservation.code())?;
        let (grid, block) = (kernel.grid, kernel.block);
        with_parameters(self.cx, kernel.f, kernel.params, reservation, |found, params, extra| {
            // Check the function again, because the guest may have reused the id for another
            // function in the meantime. The parameters of that function might be longer than those
            // that were charged, and longer than the buffer to which `params` points.
            if found != real || kernel.params.len() < bytes {
                return Err(CuError::INVALID_VALUE);
            }
            then(&CUDA_KERNEL_NODE_PARAMS_v2 {
                func: of_context,
                gridDimX: grid.x,
                gridDimY: grid.y,
                gridDimZ: grid.z,
                blockDimX: block.x,
                blockDimY: block.y,
                blockDimZ: block.z,
                sharedMemBytes: kernel.shared,
                kernelParams: params,
                extra,
                kern: std::ptr::null_mut(),
                ctx: std::ptr::null_mut(),
            })
        })
    }

    /// Returns a function, the length of its parameters, and the function to use in a kernel node.
    /// Fails if the function belongs to another context than the graph: the driver would run it in
    /// its own context, but the graph's context is charged for it.
    fn function(
        &self,
        id: FuncId,
        reservation: Reservation<kind::Module>,
    ) -> CuResult<(CUfunction, usize, CUfunction)> {
        let tables = lock(&self.cx.shared.tables);
        let function = tables.functions.get(id)?;
        let (real, bytes) = (function.real.0, function.parameter_bytes());
        if function.is_kernel {
            let kernel = function.clone();
            drop(tables);
            return Ok((real, bytes, function_of(self.cx, reservation, &kernel)?.0));
        }
        let (Owner::Module { ctx, .. } | Owner::Library { ctx, .. }) = function.owner;
        if ctx != self.cx.ctx {
            let session = &self.cx.shared.session.label;
            tracing::warn!(session, "a graph with a function of another context is not supported");
            return Err(CuError::NOT_SUPPORTED);
        }
        Ok((real, bytes, real))
    }

    fn copy(&self, copy: &CopyStep) -> CuResult<CUDA_MEMCPY3D> {
        if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        for side in [&copy.dst, &copy.src] {
            let size = [copy.width, copy.height, copy.depth];
            self.cx.check(side.address, span(side.pitch, side.height, size)?)?;
        }
        Ok(CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            srcHost: std::ptr::null(),
            srcDevice: copy.src.address,
            srcArray: std::ptr::null_mut(),
            reserved0: std::ptr::null_mut(),
            srcPitch: size(copy.src.pitch)?,
            srcHeight: size(copy.src.height)?,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            dstHost: std::ptr::null_mut(),
            dstDevice: copy.dst.address,
            dstArray: std::ptr::null_mut(),
            reserved1: std::ptr::null_mut(),
            dstPitch: size(copy.dst.pitch)?,
            dstHeight: size(copy.dst.height)?,
            WidthInBytes: size(copy.width)?,
            Height: size(copy.height)?,
            Depth: size(copy.depth)?,
        })
    }

    fn memory_operations(
        &self,
        step: &MemoryOperationsStep<'_>,
    ) -> CuResult<Vec<CUstreamBatchMemOpParams>> {
        let checked = |operation: MemoryOperation| {
            let MemoryOperation { operation, address, value, flags } = operation;
            let operation = Operation(operation);
            match stream_memory::check(self.cx, operation, address, flags)? {
                // Refuse a wait for a value in a graph. The gate must know each stream that waits
                // for a value, but it can't see which node of a graph the GPU has reached.
                true => Err(CuError::NOT_SUPPORTED),
                false => Ok(describe(operation, address, value, flags)),
            }
        };
        let operations: Vec<_> = step.operations.iter().map(checked).collect::<CuResult<_>>()?;
        if operations.is_empty() { Err(CuError::INVALID_VALUE) } else { Ok(operations) }
    }

    /// Returns the driver's parameters for a node that performs these operations on memory.
    fn batch(
        &self,
        operations: &mut [CUstreamBatchMemOpParams],
    ) -> CuResult<CUDA_BATCH_MEM_OP_NODE_PARAMS> {
        Ok(CUDA_BATCH_MEM_OP_NODE_PARAMS {
            ctx: self.context()?,
            count: operations.len() as u32,
            paramArray: operations.as_mut_ptr(),
            flags: 0,
        })
    }

    fn memset(&self, set: &MemsetStep) -> CuResult<CUDA_MEMSET_NODE_PARAMS> {
        let element = u64::from(set.element_size);
        if !matches!(element, 1 | 2 | 4) || set.width == 0 || set.height == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let bytes = set.width.checked_mul(element).ok_or(CuError::INVALID_VALUE)?;
        self.cx.check(set.dst, span(set.pitch, 0, [bytes, set.height, 1])?)?;
        Ok(CUDA_MEMSET_NODE_PARAMS {
            dst: set.dst,
            pitch: size(set.pitch)?,
            value: set.value,
            elementSize: set.element_size,
            width: size(set.width)?,
            height: size(set.height)?,
        })
    }
}
