//! Calls for graphs. Stream capture and graph building happen in the guest's library. The worker
//! only instantiates, updates and launches complete graphs.

use std::sync::Arc;

use cuda_api::sys::{CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo};
use protocol::calls as api;
use protocol::codec::DecodeError;
use protocol::graph::{Dependency, Step, decode};
use protocol::ids::{BlobId, GraphExecId};
use protocol::options::GRAPH_INSTANTIATE_FLAGS;

use super::charges::{
    Reservation, Settled, forget_graph, kind, need_of, reserve_graph, reserve_need,
};
use super::claims::{GRAPHS, claim, claim_listed};
use super::cx::Cx;
use super::driver_handle::DriverHandle;
use super::gate::pass::Pass;
use super::graph_exec::{Graph, GraphExec};
use super::graph_node::{Before, Builder};
use super::graph_shape::Shape;
use super::hostfunc::GraphStops;
use super::lock;
use super::queue::queue;
use crate::driver::{CuError, CuResult};

/// An error that occurred while a graph was being built from the guest's description.
pub(super) struct BuildError(pub CuError);

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

/// Builds a driver graph from the guest's description in a blob, in the current context.
fn build(
    cx: &Cx<'_>,
    blob: BlobId,
    inline: &[u8],
    reservation: Reservation<kind::Local>,
) -> CuResult<(Graph, GraphStops, Settled<kind::Local>)> {
    let taken = match blob {
        BlobId::INLINE => None,
        blob => Some(lock(&cx.shared.blobs).take(blob)?),
    };
    let bytes = taken.as_deref().unwrap_or(inline);
    let mut real = std::ptr::null_mut();
    // SAFETY: the pointer is to a local variable.
    unsafe { cx.driver().cuGraphCreate(&mut real, 0)? };
    let mut graph = Graph { real: DriverHandle(real), nodes: Vec::new(), need: 0 };
    let stops = GraphStops::default();
    let (mut shape, mut hosts) = (Shape::default(), Vec::new());
    let builder = Builder::new(cx, real);
    let built = builder.and_then(|builder| {
        let mut before: Vec<Before> = Vec::new();
        decode(bytes, |after, step| {
            before.clear();
            for dependency in after {
                let (node, kind) = graph.nodes[dependency.node as usize];
                before.push(Before::new(dependency, (node.0, kind), step.kind())?);
            }
            let place = graph.nodes.len() as u32;
            let node = builder.add(&before, &step, (place, &stops), &reservation)?;
            graph.nodes.push((DriverHandle(node), step.kind()));
            // A node that may start before another one has finished isn't ordered after it.
            shape.add(after.iter().filter(|d| **d == Dependency::on(d.node)).map(|d| d.node));
            match &step {
                Step::Kernel(kernel) => graph.need = graph.need.max(need_of(cx, kernel.f)),
                Step::HostFunc { .. } => hosts.push(place),
                _ => {}
            }
            Ok::<_, BuildError>(())
        })
        .map_err(|BuildError(error)| error)
    });
    if let Err(error) = built {
        end_graph(cx, &graph);
        return Err(error);
    }
    shape.alone(&hosts).for_each(|place| stops.set_alone(place));
    Ok((graph, stops, reservation.settled_by_nodes()))
}

fn end_graph(cx: &Cx<'_>, graph: &Graph) {
    // SAFETY: the worker created the graph, and destroys it once.
    let _ = unsafe { cx.driver().cuGraphDestroy(graph.real.0) };
}

fn exec(cx: &Cx<'_>, id: GraphExecId) -> CuResult<GraphExec> {
    let tables = lock(&cx.shared.tables);
    // For an unknown graph, CUDA returns this error instead of CUDA_ERROR_INVALID_HANDLE.
    tables.graphs.get(id).cloned().map_err(|_| CuError::INVALID_VALUE)
}

pub(super) fn vcuda_graph_instantiate(
    cx: &Cx<'_>,
    call: api::VcudaGraphInstantiate<'_>,
    reservation: Reservation<kind::Graph>,
) -> CuResult<Settled<kind::Graph>> {
    cx.enter()?;
    let id = claim(cx, GRAPHS, call.exec)?;
    if call.flags & !GRAPH_INSTANTIATE_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let (graph, stops, _) = build(cx, call.blob, call.graph, reservation.kernels())?;
    let (size, need) = (graph.nodes.len(), graph.need);
    let mut real = std::ptr::null_mut();
    let made = reserve_graph(cx, reservation, size).and_then(|reserved| {
        // SAFETY: the pointer is to a local variable; the graph is live.
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

/// Destroys an executable graph. Launches in progress still complete.
pub(super) fn cu_graph_exec_destroy(cx: &Cx<'_>, call: api::CuGraphExecDestroy) -> CuResult {
    cx.enter_any()?;
    let taken = claim_listed(cx, GRAPHS, call.h_graph_exec, |_, _| Ok(()));
    let (exec, id) = taken.map_err(|_| CuError::INVALID_VALUE)?;
    // SAFETY: the executable graph was live, and was removed from the tables, so nobody else can
    // use it.
    let ended = unsafe { cx.driver().cuGraphExecDestroy(exec.real.0) };
    end_graph(cx, &exec.graph);
    id.end(ended, || forget_graph(cx, exec.ctx, exec.size))
}

pub(super) fn cu_graph_launch(
    cx: &Cx<'_>,
    call: api::CuGraphLaunch,
    pass: &Pass,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let exec = exec(cx, call.h_graph)?;
    let (stream, ctx) = queue(cx, call.h_stream, exec.weight())?;
    if ctx != exec.ctx {
        return Err(CuError::INVALID_VALUE);
    }
    // The guest may have set the stack limit since the last launch, which frees the local memory,
    // so the need must be checked again.
    let settled = match cx.shared.charges.has_room_for(exec.need, reservation) {
        Ok(has_room) => has_room,
        Err(reservation) => reserve_need(cx, reservation, exec.need)?,
    };
    cx.tally(|words| &words.graph_launches, 1);
    exec.stops.expect((stream as u64, ctx));
    // SAFETY: the handles are live: only this thread destroys them.
    let launched = unsafe { cx.driver().cuGraphLaunch(pass, exec.real.0, stream) };
    if launched.is_err() {
        exec.stops.unexpect();
    }
    launched.map(|()| settled)
}

pub(super) fn cu_graph_upload(cx: &Cx<'_>, call: api::CuGraphUpload, pass: &Pass) -> CuResult {
    cx.enter()?;
    let exec = exec(cx, call.h_graph)?;
    let (stream, _) = queue(cx, call.h_stream, 0)?;
    // SAFETY: as in `cu_graph_launch`.
    unsafe { cx.driver().cuGraphUpload(pass, exec.real.0, stream) }
}

pub(super) fn vcuda_graph_exec_update(
    cx: &Cx<'_>,
    call: api::VcudaGraphExecUpdate<'_>,
    reservation: Reservation<kind::Local>,
) -> CuResult<(api::VcudaGraphExecUpdateAnswer, Settled<kind::Local>)> {
    cx.enter()?;
    let exec = exec(cx, call.exec)?;
    let (graph, stops, settled) = build(cx, call.blob, call.graph, reservation)?;
    let mut info = CUgraphExecUpdateResultInfo {
        result: CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
        errorNode: std::ptr::null_mut(),
        errorFromNode: std::ptr::null_mut(),
    };
    // SAFETY: the handles are live, and the pointer is to a local variable. The driver only
    // reads the new graph.
    let updated = unsafe { cx.driver().cuGraphExecUpdate(exec.real.0, graph.real.0, &mut info) };
    let differs = graph.nodes.iter().position(|(node, _)| node.0 == info.errorNode);
    let node = differs.unwrap_or(graph.nodes.len()) as u32;
    if updated.is_ok() {
        let mut tables = lock(&cx.shared.tables);
        if let Ok(listed) = tables.graphs.get_mut(call.exec) {
            listed.stops = stops;
            listed.need = listed.need.max(graph.need);
        }
    }
    end_graph(cx, &graph);
    match updated {
        Err(error) if info.result == CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS => {
            Err(error)
        }
        _ => Ok((api::VcudaGraphExecUpdateAnswer { result: info.result.0, node }, settled)),
    }
}

pub(super) fn vcuda_graph_exec_node_enable(
    cx: &Cx<'_>,
    call: api::VcudaGraphExecNodeEnable,
) -> CuResult {
    /// The numbers of the kinds that can be disabled: kernels, copies, and memsets.
    const OPTIONAL: std::ops::RangeInclusive<u32> = 0..=2;
    cx.enter()?;
    let exec = exec(cx, call.exec)?;
    let node = exec.graph.nodes.get(call.node as usize);
    let node = node.filter(|(_, kind)| OPTIONAL.contains(kind)).ok_or(CuError::INVALID_VALUE)?;
    // SAFETY: the handles are live: an executable graph is destroyed only after it was removed from
    // the tables, behind all calls in its context, and its graph lives as long as it does.
    unsafe { cx.driver().cuGraphNodeSetEnabled(exec.real.0, node.0.0, (call.enabled != 0).into()) }
}

pub(super) fn vcuda_graph_exec_node_set(
    cx: &Cx<'_>,
    call: api::VcudaGraphExecNodeSet<'_>,
    reservation: Reservation<kind::Local>,
) -> CuResult<Settled<kind::Local>> {
    cx.enter()?;
    let exec = exec(cx, call.exec)?;
    let step = call.step;
    let node = exec.graph.nodes.get(call.node as usize).ok_or(CuError::INVALID_VALUE)?;
    if node.1 != step.kind() {
        return Err(CuError::INVALID_VALUE);
    }
    let stops = exec.stops.clone();
    let set = Builder::new(cx, exec.graph.real.0)?.set(
        exec.real.0,
        node.0.0,
        &step,
        (call.node, &stops),
        reservation,
    );
    if let (Ok(_), Step::Kernel(kernel)) = (&set, &step) {
        let need = need_of(cx, kernel.f);
        if let Ok(listed) = lock(&cx.shared.tables).graphs.get_mut(call.exec) {
            listed.need = listed.need.max(need);
        }
    }
    set
}
