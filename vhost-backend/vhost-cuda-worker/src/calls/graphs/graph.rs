//! Calls for graphs. Stream capture and graph building happen in the guest's library. The worker
//! only instantiates, updates and launches complete graphs.

use std::sync::Arc;

use cuda_api::sys::{
    CUgraph, CUgraphExec, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUgraphNode,
    CUstreamBatchMemOpParams,
};
use protocol::calls as api;
use protocol::codec::DecodeError;
use protocol::graph::{ConditionalStep, Dependency, LaunchAttribute, Step, decode, decode_bodies};
use protocol::ids::{BlobId, ContextId, GraphExecId, ValuesId};
use protocol::limits::{GRAPH_DEPTH_MAX, GRAPH_NODES_MAX};
use protocol::options::GRAPH_INSTANTIATE_FLAGS;

use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{
    GraphSize, Need, Reservation, Settled, forget_graph, give_back_parameters, kind, reserve_graph,
    reserve_need, reserve_parameters,
};
use crate::calls::gate::pass::Pass;
use crate::calls::graphs::graph_conditions::Values;
use crate::calls::graphs::graph_exec::{Graph, GraphExec, Node};
use crate::calls::graphs::graph_node::{Before, Builder, complete};
use crate::calls::graphs::graph_shape::Shape;
use crate::calls::graphs::graph_values::{finish, values};
use crate::calls::lock;
use crate::calls::streams::hostfunc::GraphStops;
use crate::calls::streams::queue::queue;
use crate::calls::tables::claims::{GRAPHS, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::ending::begin_end;
use crate::driver::{CuError, CuResult};

/// An error that occurred while a graph was being built from the guest's description.
pub(in crate::calls) struct BuildError(pub CuError);

impl From<DecodeError> for BuildError {
    fn from(_: DecodeError) -> Self {
        Self(CuError::INVALID_VALUE)
    }
}

impl From<CuError> for BuildError {
    fn from(error: CuError) -> Self {
        Self(error)
    }
}

/// The state of a build that the graph shares with the bodies of its conditional nodes.
struct Build<'a> {
    cx: &'a Cx<'a>,
    stops: &'a GraphStops,
    reservation: &'a Reservation<kind::Local>,
    values: Option<(ValuesId, Arc<Values>)>,
    /// The size of the nodes that were added so far.
    size: GraphSize,
    /// The nodes that were added to bodies so far, in the order in which their construction began.
    /// `None` for a node that isn't complete yet.
    in_bodies: Vec<Option<Node>>,
    /// The largest need of local memory among the kernels that were added so far.
    need: Need,
}

impl Build<'_> {
    /// Adds the nodes of an encoded graph to a driver graph. Calls `each` for every node of this
    /// graph, but not for nodes in bodies.
    fn fill(
        &mut self,
        real: CUgraph,
        bytes: &[u8],
        nodes: &mut Vec<Node>,
        mut each: impl FnMut(&[Dependency], &Step<'_>, u32),
        depth: usize,
    ) -> CuResult {
        let builder = Builder::new(self.cx, real);
        let mut before: Vec<Before> = Vec::new();
        // For each node that was added so far, whether a later node already continues its branch.
        let mut is_followed: Vec<bool> = Vec::new();
        let decoded = decode(bytes, |after, step| {
            before.clear();
            for dependency in after {
                let (node, kind) = nodes[dependency.node as usize];
                before.push(Before::new(dependency, (node.0, kind), step.kind())?);
            }
            let mut padded = Vec::new();
            let step = complete(&lock(&self.cx.shared.tables), step, &mut padded)?;
            self.size.nodes += 1;
            let continues = match after {
                [only] => !std::mem::replace(&mut is_followed[only.node as usize], true),
                _ => false,
            };
            self.size.branches += usize::from(!continues);
            is_followed.push(false);
            self.size.parameters = self.size.parameters.max(parameters(&step));
            if self.size.nodes > GRAPH_NODES_MAX || depth > GRAPH_DEPTH_MAX {
                return Err(CuError::OUT_OF_MEMORY.into());
            }
            let place = nodes.len() as u32;
            let in_body = (depth > 0).then(|| {
                self.in_bodies.push(None);
                self.in_bodies.len() - 1
            });
            match &step {
                Step::Kernel(_)
                | Step::Copy(_)
                | Step::Memset(_)
                | Step::Empty
                | Step::Conditional(_) => {}
                _ if depth > 0 => return Err(CuError::INVALID_VALUE.into()),
                _ => {}
            }
            let node = match &step {
                Step::Conditional(conditional) => {
                    self.conditional(&builder, &before, conditional, depth)?
                }
                step => {
                    let place = (place, self.stops);
                    let (node, need) = builder.add(&before, step, place, self.reservation)?;
                    self.need = self.need.max(need);
                    node
                }
            };
            let node = (DriverHandle(node), step.kind());
            nodes.push(node);
            if let Some(index) = in_body {
                self.in_bodies[index] = Some(node);
            }
            each(after, &step, place);
            Ok::<_, BuildError>(())
        });
        decoded.map_err(|BuildError(error)| error)
    }

    /// Adds a conditional node and fills its bodies.
    fn conditional(
        &mut self,
        builder: &Builder<'_>,
        before: &[Before],
        step: &ConditionalStep<'_>,
        depth: usize,
    ) -> Result<CUgraphNode, BuildError> {
        let known = self
            .values
            .as_ref()
            .is_some_and(|(id, values)| *id == step.values && values.contain(step.handle));
        // A valid description has at least eight bytes for each body, so this check also limits the
        // number of bodies.
        if !known || step.size as usize > step.bodies.len() / 8 {
            return Err(CuError::INVALID_VALUE.into());
        }
        let (node, bodies) = builder.conditional(before, step)?;
        let filled = decode_bodies(step, |number, bytes| {
            let mut nodes = Vec::new();
            self.fill(bodies[number], bytes, &mut nodes, |_, _, _| {}, depth + 1)?;
            Ok::<_, BuildError>(())
        });
        if filled.is_err() {
            // SAFETY: the node was just added, and no other node or code refers to it.
            let _ = unsafe { self.cx.driver().cuGraphDestroyNode(node) };
        }
        filled.map(|()| node)
    }
}

/// Returns the length in bytes of a node's parameters, if the node is of a kind for which the guest
/// chooses the length. Returns 0 for other kinds, because the memory that the driver takes for
/// every node includes room for their parameters.
fn parameters(step: &Step<'_>) -> usize {
    match step {
        Step::Kernel(kernel) => {
            kernel.params.len() + size_of::<LaunchAttribute>() * kernel.attributes.len()
        }
        Step::MemoryOperations(step) => {
            size_of::<CUstreamBatchMemOpParams>() * step.operations.len()
        }
        _ => 0,
    }
}

/// Returns the id of the values on which a graph's conditional nodes depend, if the graph has such
/// nodes.
fn values_in(bytes: &[u8]) -> CuResult<Option<ValuesId>> {
    let mut found = None;
    let decoded = decode(bytes, |_, step| {
        if let Step::Conditional(step) = step {
            found = Some(step.values);
        }
        Ok::<_, BuildError>(())
    });
    decoded.map_err(|BuildError(error)| error)?;
    Ok(found)
}

/// Builds a driver graph from the guest's description, in the current context. `conditional` says
/// whether the graph may contain conditional nodes.
fn build(
    cx: &Cx<'_>,
    (blob, inline): (BlobId, &[u8]),
    conditional: bool,
    reservation: Reservation<kind::Local>,
) -> CuResult<(Graph, GraphStops, Settled<kind::Local>)> {
    let taken = match blob {
        BlobId::INLINE => None,
        blob => Some(lock(&cx.shared.blobs).take(blob)?),
    };
    let bytes = taken.as_deref().unwrap_or(inline);
    let mut real = std::ptr::null_mut();
    let values = match values_in(bytes)? {
        Some(_) if !conditional => return Err(CuError::NOT_SUPPORTED),
        Some(id) => {
            let values = values(cx, id)?;
            values.begin(cx.ctx)?;
            real = values.real.0;
            Some((id, values))
        }
        None => {
            // SAFETY: the pointer is to a local variable.
            unsafe { cx.driver().cuGraphCreate(&mut real, 0)? };
            None
        }
    };
    let owner = values.as_ref().map(|(_, values)| values.clone());
    let (stops, mut nodes) = (GraphStops::default(), Vec::new());
    let (mut shape, mut hosts) = (Shape::default(), Vec::new());
    let mut build = Build {
        cx,
        stops: &stops,
        reservation: &reservation,
        values,
        size: GraphSize::default(),
        in_bodies: Vec::new(),
        need: Need::NONE,
    };
    let each = |after: &[Dependency], step: &Step<'_>, place| {
        // If a dependency lets a node start before the other node has finished, it doesn't order
        // the two, so leave it out.
        shape.add(after.iter().filter(|d| **d == Dependency::on(d.node)).map(|d| d.node));
        if matches!(step, Step::HostFunc { .. }) {
            hosts.push(place);
        }
    };
    let built = build.fill(real, bytes, &mut nodes, each, 0);
    let (size, need) = (build.size, build.need);
    let in_bodies = build.in_bodies.into_iter().flatten().collect();
    let graph = Graph { real: DriverHandle(real), nodes, in_bodies, size, values: owner, need };
    if let Err(error) = built {
        end_graph(cx, &graph);
        return Err(error);
    }
    shape.alone(&hosts).for_each(|place| stops.set_alone(place));
    Ok((graph, stops, reservation.settled_by_nodes()))
}

/// Ends the use of a driver graph. Destroys the graph or, if it belongs to the values of
/// conditional nodes, removes its nodes.
pub(in crate::calls) fn end_graph(cx: &Cx<'_>, graph: &Graph) {
    // SAFETY: the worker created the graph and its nodes, and destroys them only here.
    unsafe {
        match &graph.values {
            None => {
                let _ = cx.driver().cuGraphDestroy(graph.real.0);
            }
            Some(values) => {
                for (node, _) in &graph.nodes {
                    let _ = cx.driver().cuGraphDestroyNode(node.0);
                }
                finish(cx, values);
            }
        }
    }
}

fn exec(cx: &Cx<'_>, id: GraphExecId) -> CuResult<GraphExec> {
    let tables = lock(&cx.shared.tables);
    // For an unknown graph, CUDA returns CUDA_ERROR_INVALID_VALUE, not CUDA_ERROR_INVALID_HANDLE.
    tables.graphs.get(id).cloned().map_err(|_| CuError::INVALID_VALUE)
}

/// Looks up an executable graph for a change. Fails unless it belongs to the current context,
/// because the current context is charged for the change, and because the driver can't change a
/// node's context.
fn exec_here(cx: &Cx<'_>, id: GraphExecId) -> CuResult<GraphExec> {
    exec(cx, id).and_then(|exec| match exec.ctx == cx.ctx {
        true => Ok(exec),
        false => Err(CuError::INVALID_VALUE),
    })
}

/// Instantiates a graph. `conditional` says whether the graph may contain conditional nodes.
fn instantiate(
    cx: &Cx<'_>,
    call: api::VcudaGraphInstantiate<'_>,
    conditional: bool,
    reservation: Reservation<kind::Graph>,
) -> CuResult<Settled<kind::Graph>> {
    cx.enter()?;
    let id = claim(cx, GRAPHS, call.exec)?;
    if call.flags & !GRAPH_INSTANTIATE_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let (graph, stops, _) = build(cx, (call.blob, call.graph), conditional, reservation.kernels())?;
    let (size, need) = (graph.size, graph.need);
    let mut real = std::ptr::null_mut();
    let made = reserve_graph(cx, reservation, size).and_then(|reserved| {
        // SAFETY: the driver writes only to a local variable, and the graph was just built.
        unsafe {
            cx.driver().cuGraphInstantiateWithFlags(&mut real, graph.real.0, call.flags)?;
        }
        Ok(reserved.settle())
    });
    let settled = made.inspect_err(|_| end_graph(cx, &graph))?;
    let graph = Arc::new(graph);
    id.list(GraphExec { real: DriverHandle(real), graph, ctx: cx.ctx, stops, size, need });
    Ok(settled)
}

pub(in crate::calls) fn vcuda_graph_instantiate_conditional(
    cx: &Cx<'_>,
    call: api::VcudaGraphInstantiateConditional<'_>,
    reservation: Reservation<kind::Graph>,
) -> CuResult<Settled<kind::Graph>> {
    let api::VcudaGraphInstantiateConditional { exec, flags, blob, graph } = call;
    instantiate(cx, api::VcudaGraphInstantiate { exec, flags, blob, graph }, true, reservation)
}

pub(in crate::calls) fn vcuda_graph_instantiate(
    cx: &Cx<'_>,
    call: api::VcudaGraphInstantiate<'_>,
    reservation: Reservation<kind::Graph>,
) -> CuResult<Settled<kind::Graph>> {
    instantiate(cx, call, false, reservation)
}

/// Destroys an executable graph. Launches that are already queued still run to completion.
pub(in crate::calls) fn cu_graph_exec_destroy(
    cx: &Cx<'_>,
    call: api::CuGraphExecDestroy,
) -> CuResult {
    let (exec, ending) = begin_end(cx, GRAPHS, call.h_graph_exec, |_, _| Ok(()))?;
    ending.now_or_later(cx, move |cx| {
        // SAFETY: the executable graph was live, and it was removed from the tables, so no other
        // call can use it any more.
        let ended = unsafe { cx.driver().cuGraphExecDestroy({ exec.real }.0) };
        end_graph(cx, &exec.graph);
        ended.inspect(|()| forget_graph(cx, exec.ctx, exec.size))
    })
}

pub(in crate::calls) fn cu_graph_launch(
    cx: &Cx<'_>,
    call: api::CuGraphLaunch,
    pass: &Pass,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let exec = exec(cx, call.h_graph)?;
    let (stream, ctx) = queue(cx, call.h_stream, exec.weight())?;
    let settled = reserve_exec(cx, ctx, &exec, reservation)?;
    cx.tally(|words| &words.graph_launches, 1);
    exec.stops.expect((stream as u64, ctx));
    // SAFETY: the handles are live, because only this thread removes streams and executable graphs
    // from the tables.
    let launched = unsafe { cx.driver().cuGraphLaunch(pass, exec.real.0, stream) };
    if launched.is_err() {
        exec.stops.unexpect();
    }
    launched.map(|()| settled)
}

/// Charges for the local memory that an executable graph needs, before the graph is launched or
/// uploaded in a stream of the context `ctx`. Fails if `ctx` isn't the graph's context. The need
/// must be checked each time, because the guest may have set the stack limit since the previous
/// launch, which frees local memory.
fn reserve_exec(
    cx: &Cx<'_>,
    ctx: ContextId,
    exec: &GraphExec,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    if ctx != exec.ctx {
        return Err(CuError::INVALID_VALUE);
    }
    match cx.shared.charges.has_room_for(exec.need, reservation) {
        Ok(has_room) => Ok(has_room),
        Err(reservation) => reserve_need(&cx.within(ctx), reservation, exec.need),
    }
}

pub(in crate::calls) fn cu_graph_upload(
    cx: &Cx<'_>,
    call: api::CuGraphUpload,
    pass: &Pass,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let exec = exec(cx, call.h_graph)?;
    let (stream, ctx) = queue(cx, call.h_stream, 0)?;
    let settled = reserve_exec(cx, ctx, &exec, reservation)?;
    // SAFETY: the handles are live, because only this thread removes streams and executable graphs
    // from the tables.
    unsafe { cx.driver().cuGraphUpload(pass, exec.real.0, stream)? };
    Ok(settled)
}

/// Reserves memory for longer parameters of an executable graph's nodes, unless parameters of this
/// length are already charged.
fn reserve_longer(cx: &Cx<'_>, id: GraphExecId, parameters: usize) -> CuResult {
    loop {
        let GraphExec { ctx, size, real, .. } = exec(cx, id)?;
        if parameters <= size.parameters {
            return Ok(());
        }
        let longer = GraphSize { parameters, ..size };
        reserve_parameters(cx, ctx, size, longer)?;
        let mut tables = lock(&cx.shared.tables);
        let listed = tables.graphs.get_mut(id).ok();
        if let Some(listed) = listed.filter(|listed| listed.real == real && listed.size == size) {
            listed.size = longer;
            return Ok(());
        }
        drop(tables);
        // Another thread has changed or destroyed the graph in the meantime, so release the memory
        // and try again.
        give_back_parameters(cx, ctx, size, longer);
    }
}

pub(in crate::calls) fn vcuda_graph_exec_update(
    cx: &Cx<'_>,
    call: api::VcudaGraphExecUpdate<'_>,
    reservation: Reservation<kind::Local>,
) -> CuResult<(api::VcudaGraphExecUpdateAnswer, Settled<kind::Local>)> {
    cx.enter()?;
    let exec = exec_here(cx, call.exec)?;
    if exec.graph.values.is_some() {
        return Err(CuError::NOT_SUPPORTED);
    }
    let (graph, stops, settled) = build(cx, (call.blob, call.graph), false, reservation)?;
    reserve_longer(cx, call.exec, graph.size.parameters).inspect_err(|_| end_graph(cx, &graph))?;
    let mut info = CUgraphExecUpdateResultInfo {
        result: CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
        errorNode: std::ptr::null_mut(),
        errorFromNode: std::ptr::null_mut(),
    };
    // SAFETY: the executable graph is live, because objects that a call has looked up aren't
    // destroyed before the call ends (`tables/uses.rs`). The pointer is to a local variable. The
    // driver only reads the new graph, which was just built.
    let updated = unsafe { cx.driver().cuGraphExecUpdate(exec.real.0, graph.real.0, &mut info) };
    let differs = graph.nodes.iter().position(|(node, _)| node.0 == info.errorNode);
    let node = differs.unwrap_or(graph.nodes.len()) as u32;
    if updated.is_ok() {
        let mut tables = lock(&cx.shared.tables);
        if let Ok(listed) = tables.graphs.get_mut(call.exec) {
            listed.stops = stops;
        }
        drop(tables);
        raise_need(cx, call.exec, exec.real, graph.need);
    }
    end_graph(cx, &graph);
    match updated {
        Err(error) if info.result == CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS => {
            Err(error)
        }
        _ => Ok((api::VcudaGraphExecUpdateAnswer { result: info.result.0, node }, settled)),
    }
}

/// Records that an executable graph needs at least this much local memory from now on.
fn raise_need(cx: &Cx<'_>, id: GraphExecId, exec: DriverHandle<CUgraphExec>, need: Need) {
    let mut tables = lock(&cx.shared.tables);
    // Check that the id still means the same graph, because another thread may have destroyed the
    // graph in the meantime, and the guest may have reused its id.
    let listed = tables.graphs.get_mut(id).ok().filter(|listed| listed.real == exec);
    if let Some(listed) = listed {
        listed.need = listed.need.max(need);
    }
}

pub(in crate::calls) fn vcuda_graph_exec_node_enable(
    cx: &Cx<'_>,
    call: api::VcudaGraphExecNodeEnable,
) -> CuResult {
    /// The numbers of the kinds of nodes that can be disabled: kernels, copies, and memsets.
    const OPTIONAL: std::ops::RangeInclusive<u32> = 0..=2;
    cx.enter()?;
    let exec = exec(cx, call.exec)?;
    let node = exec.graph.nodes.get(call.node as usize);
    let node = node.filter(|(_, kind)| OPTIONAL.contains(kind)).ok_or(CuError::INVALID_VALUE)?;
    // SAFETY: the executable graph is live. The node is live, too, because the executable graph
    // keeps the graph that it was instantiated from.
    unsafe { cx.driver().cuGraphNodeSetEnabled(exec.real.0, node.0.0, (call.enabled != 0).into()) }
}

/// Changes the parameters of a kernel, copy, or memset node. The guest doesn't wait for the result.
pub(in crate::calls) fn vcuda_graph_exec_node_post(
    cx: &Cx<'_>,
    call: api::VcudaGraphExecNodePost<'_>,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    let api::VcudaGraphExecNodePost { exec, node, step } = call;
    if !matches!(step, Step::Kernel(_) | Step::Copy(_) | Step::Memset(_)) {
        return Err(CuError::INVALID_VALUE);
    }
    vcuda_graph_exec_node_set(cx, api::VcudaGraphExecNodeSet { exec, node, step }, reservation)
}

pub(in crate::calls) fn vcuda_graph_exec_node_set(
    cx: &Cx<'_>,
    call: api::VcudaGraphExecNodeSet<'_>,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let mut padded = Vec::new();
    // Programs change many nodes between launches. To be fast, this function looks up everything
    // while it holds the lock once, and clones only the data that it needs afterwards.
    let tables = lock(&cx.shared.tables);
    let listed = tables.graphs.get(call.exec).ok().filter(|exec| exec.ctx == cx.ctx);
    let exec = listed.ok_or(CuError::INVALID_VALUE)?;
    let step = complete(&tables, call.step, &mut padded)?;
    let node = exec.graph.node(call.node).filter(|node| node.1 == step.kind());
    let (node, _) = node.ok_or(CuError::INVALID_VALUE)?;
    let (real, graph, stops) = (exec.real, exec.graph.real, exec.stops.clone());
    let (most, needed) = (exec.size.parameters, exec.need);
    drop(tables);
    // Comparing with the values read above is enough, because the charged length and need of a
    // graph never decrease. Most changes need no more than the nodes had before, so most calls
    // reserve nothing.
    if parameters(&step) > most {
        reserve_longer(cx, call.exec, parameters(&step))?;
    }
    let builder = Builder::new(cx, graph.0);
    let place = (call.node, &stops);
    let (settled, need) = builder.set(real.0, node.0, &step, place, reservation)?;
    if need > needed {
        raise_need(cx, call.exec, real, need);
    }
    Ok(settled)
}
