//! Graphs that were instantiated: their launches, and what they do from the next one on.

use super::host_func;
use super::image;
use super::stream::stream_id;
use crate::capture;
use crate::context;
use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::graph::{Exec, ExecState, GRAPHS, encode, with_step};
use crate::handles::{Handle, Object};
use cuda_api::args::Out;
use cuda_api::graph::table::compare;
use cuda_api::graph::{NodeId, Operation};
use parking_lot::Mutex;
use protocol::calls::{
    CuGraphExecDestroy, CuGraphLaunch, CuGraphUpload, VcudaGraphExecNodeSet, VcudaGraphExecUpdate,
    VcudaGraphInstantiate,
};
use protocol::codec::Writer;
use protocol::options::GRAPH_INSTANTIATE_FLAGS;
use std::sync::Arc;

/// CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD and _DEVICE_LAUNCH.
const UPLOAD: u64 = 2;
const DEVICE_LAUNCH: u64 = 4;
const ALL_FLAGS: u64 = GRAPH_INSTANTIATE_FLAGS | UPLOAD | DEVICE_LAUNCH;
/// CUDA_GRAPH_INSTANTIATE_ERROR and _INVALID_STRUCTURE.
const INSTANTIATE_ERROR: u32 = 1;
const INVALID_STRUCTURE: u32 = 2;

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`, its enumeration as a number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Params {
    flags: u64,
    upload: Handle,
    error: usize,
    result: u32,
}

/// `CUgraphExecUpdateResultInfo`, its enumeration as a number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UpdateInfo {
    result: u32,
    node: NodeId,
    from: NodeId,
}

/// As CUDA has it for what is no graph.
pub fn named(driver: &Driver, exec: Handle) -> CuResult<Arc<Exec>> {
    driver.handles.get(exec).map_err(|_| CuError::INVALID_VALUE)
}

fn instantiate(out: Out<Handle>, graph: usize, flags: u64) -> CuResult {
    out.check()?;
    let driver = context::driver()?;
    if flags & !ALL_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    let steps = GRAPHS.with(|table| table.steps(graph))?;
    let (writer, tokens) = encode(driver, &steps)?;
    let state = ExecState { steps, tokens };
    let id = driver.session.mint();
    let made = image::send(driver, writer.as_bytes()).and_then(|sent| {
        let flags = flags & GRAPH_INSTANTIATE_FLAGS;
        let (blob, graph) = (sent.blob, sent.inline);
        driver.session.call(&VcudaGraphInstantiate { exec: id, flags, blob, graph })
    });
    if let Err(error) = made {
        host_func::let_go(&state.tokens);
        return Err(error);
    }
    let exec = Exec { id, flags, state: Mutex::new(state) };
    out.set(driver.handles.insert(Object::GraphExec(Arc::new(exec)))?)
}

fn instantiate_with(out: Out<Handle>, graph: usize, params: Out<Params>, null: usize) -> CuResult {
    let mut p = params.read()?;
    let circle = GRAPHS.with(|table| table.steps(graph)).is_err();
    let mut made = instantiate(out, graph, p.flags);
    if made.is_ok() && p.flags & UPLOAD != 0 {
        made = upload(out.read()?, p.upload, null);
    }
    p.error = 0;
    p.result = match made {
        Ok(()) => 0,
        Err(_) if circle => INVALID_STRUCTURE,
        Err(_) => INSTANTIATE_ERROR,
    };
    params.set(p)?;
    made
}

fn upload(exec: Handle, stream: Handle, null: usize) -> CuResult {
    let driver = context::driver()?;
    let exec = named(driver, exec)?;
    capture::forbid_on(driver, stream, null)?;
    let h_stream = stream_id(driver, stream, null)?;
    driver.session.post(&CuGraphUpload { h_graph_exec: exec.id, h_stream })
}

fn launch(exec: Handle, stream: Handle, null: usize) -> CuResult {
    let driver = context::driver()?;
    let exec = named(driver, exec)?;
    capture::forbid_on(driver, stream, null)?;
    let h_stream = stream_id(driver, stream, null)?;
    let state = exec.state.lock();
    host_func::expect(&state.tokens, 1);
    let posted = driver.session.post(&CuGraphLaunch { h_graph_exec: exec.id, h_stream });
    if posted.is_err() {
        host_func::expect(&state.tokens, -1);
    }
    posted
}

fn update(exec: Handle, graph: usize, info: Out<UpdateInfo>) -> CuResult {
    info.check()?;
    let driver = context::driver()?;
    let exec = named(driver, exec)?;
    let mut steps = GRAPHS.with(|table| table.steps(graph))?;
    let mut state = exec.state.lock();
    let refused = |result, node: Option<NodeId>| {
        info.set(UpdateInfo { result, node: node.unwrap_or(0), from: 0 })?;
        Err(CuError::GRAPH_EXEC_UPDATE_FAILURE)
    };
    if let Err((result, node)) = compare(&state.steps, &steps) {
        return refused(result, node);
    }
    let (writer, tokens) = encode(driver, &steps)?;
    let updated = image::send(driver, writer.as_bytes()).and_then(|sent| {
        let (blob, graph) = (sent.blob, sent.inline);
        driver.session.call(&VcudaGraphExecUpdate { exec: exec.id, blob, graph })
    });
    match updated {
        Ok(answer) if answer.result == 0 => {}
        Ok(answer) => {
            host_func::let_go(&tokens);
            return refused(answer.result, steps.get(answer.node as usize).map(|step| step.id));
        }
        Err(error) => {
            host_func::let_go(&tokens);
            return Err(error);
        }
    }
    for (new, old) in steps.iter_mut().zip(&state.steps) {
        new.id = old.id;
    }
    host_func::let_go(&std::mem::replace(&mut state.tokens, tokens));
    state.steps = steps;
    info.set(UpdateInfo { result: 0, node: 0, from: 0 })
}

/// Gives a node of an instantiated graph something else of the same kind to do.
pub fn set_node(driver: &Driver, exec: Handle, node: NodeId, op: crate::graph::Op) -> CuResult {
    let exec = named(driver, exec)?;
    let mut state = exec.state.lock();
    let place = state.steps.iter().position(|step| step.id == node);
    let place = place.ok_or(CuError::INVALID_VALUE)?;
    if state.steps[place].op.as_ref().map(Operation::kind) != Some(op.kind()) {
        return Err(CuError::INVALID_VALUE);
    }
    let mut writer = Writer::new();
    let token = with_step(driver, Some(&op), |step, token| {
        step.encode(&mut writer);
        token
    });
    let (node, step) = (place as u32, writer.as_bytes());
    let set = driver.session.call(&VcudaGraphExecNodeSet { exec: exec.id, node, step });
    if let Some(token) = token {
        let (old, kept): (Vec<_>, Vec<_>) =
            state.tokens.iter().copied().partition(|(at, _)| *at == place && set.is_ok());
        host_func::let_go(&old);
        state.tokens = kept;
        match set {
            Ok(()) => state.tokens.push((place, token)),
            Err(_) => host_func::let_go(&[(place, token)]),
        }
    }
    set?;
    state.steps[place].op = Some(op);
    Ok(())
}

entries! {
    fn cuGraphInstantiateWithFlags(out: Out<Handle>, graph: usize, flags: u64) {
        instantiate(out, graph, flags)
    }

    fn cuGraphInstantiateWithParams, fn cuGraphInstantiateWithParams_ptsz(
        out: Out<Handle>, graph: usize, params: Out<Params>,
    ) |null| {
        instantiate_with(out, graph, params, null)
    }

    fn cuGraphLaunch, fn cuGraphLaunch_ptsz(exec: Handle, stream: Handle) |null| {
        launch(exec, stream, null)
    }

    fn cuGraphUpload, fn cuGraphUpload_ptsz(exec: Handle, stream: Handle) |null| {
        upload(exec, stream, null)
    }

    fn cuGraphExecDestroy(exec: Handle) {
        let driver = driver()?;
        let exec: Arc<Exec> =
            driver.handles.remove(exec).map_err(|_| CuError::INVALID_VALUE)?;
        host_func::let_go(&exec.state.lock().tokens);
        driver.session.post(&CuGraphExecDestroy { h_graph_exec: exec.id })
    }

    fn cuGraphExecGetFlags(exec: Handle, flags: Out<u64>) {
        flags.set(named(driver()?, exec)?.flags)
    }

    fn cuGraphExecUpdate_v2(exec: Handle, graph: usize, info: Out<UpdateInfo>) {
        update(exec, graph, info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_that_c_gives_them() {
        assert_eq!(size_of::<Params>(), 32);
        assert_eq!(size_of::<UpdateInfo>(), 24);
    }
}
