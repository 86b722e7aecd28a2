//! Graphs that are ready to be launched.

use std::ffi::c_uint;

use cuda_api::graph::table::compare;
use cuda_api::sys::CUstream;

use super::capture::GRAPHS;
use super::{Answer, CUresult, cuda, cuda_on_stream, get, put};
use crate::state::context::current;
use crate::state::graph::{EXECS, Exec};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const DEVICE_LAUNCH: u64 = 4;

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`, its enumeration as a number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Params {
    flags: u64,
    upload: CUstream,
    error: usize,
    result: c_uint,
}

fn instantiate(to: *mut usize, graph: usize, flags: u64) -> Answer {
    let context = current()?;
    if flags & !15 != 0 || to.is_null() {
        return Err(INVALID);
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(super::unsupported("launching a graph from the device"));
    }
    let steps = GRAPHS.with(|table| table.steps(graph))?;
    put(to, EXECS.insert(Exec::new(context, flags, steps)))
}

/// `CUgraphExecUpdateResultInfo`, its enumeration as a number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UpdateInfo {
    result: c_uint,
    node: usize,
    from: usize,
}

fn update(exec: usize, graph: usize, to: *mut UpdateInfo) -> Answer {
    let exec = EXECS.get(exec).ok_or(INVALID)?;
    let mut steps = GRAPHS.with(|table| table.steps(graph))?;
    let old = exec.steps();
    if let Err((result, node)) = compare(&old, &steps) {
        put(to, UpdateInfo { result, node: node.unwrap_or(0), from: 0 })?;
        return Err(CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    }
    for (new, old) in steps.iter_mut().zip(old.iter()) {
        new.id = old.id;
    }
    exec.set_steps(steps);
    put(to, UpdateInfo { result: 0, node: 0, from: 0 })
}

fn instantiate_with(to: *mut usize, graph: usize, params: *mut Params) -> Answer {
    let mut p = get(params)?;
    let done = instantiate(to, graph, p.flags);
    // INVALID_STRUCTURE is all that there is to find.
    (p.error, p.result) = (0, if done.is_ok() { 0 } else { 2 });
    put(params, p)?;
    done
}

cuda! {
    fn cuGraphInstantiateWithFlags(to: *mut usize, graph: usize, flags: u64) {
        instantiate(to, graph, flags)
    }

    fn cuGraphInstantiateWithParams(to: *mut usize, graph: usize, params: *mut Params) {
        instantiate_with(to, graph, params)
    }

    fn cuGraphInstantiateWithParams_ptsz(to: *mut usize, graph: usize, params: *mut Params) {
        instantiate_with(to, graph, params)
    }

    fn cuGraphExecDestroy(exec: usize) {
        crate::state::device::driver()?;
        EXECS.remove(exec).map(drop).ok_or(INVALID)
    }

    fn cuGraphExecGetFlags(exec: usize, to: *mut u64) {
        put(to, EXECS.get(exec).ok_or(INVALID)?.flags)
    }

    fn cuGraphExecUpdate_v2(exec: usize, graph: usize, info: *mut UpdateInfo) {
        update(exec, graph, info)
    }
}

cuda_on_stream! {
    fn cuGraphLaunch, fn cuGraphLaunch_ptsz(exec: usize; stream) {
        let exec = EXECS.get(exec).ok_or(INVALID)?;
        if exec.context.id != stream.context.id {
            return Err(INVALID);
        }
        GRAPHS.forbid_on(&(&*stream).into())?;
        exec.launch(&stream);
        Ok(())
    }

    fn cuGraphUpload, fn cuGraphUpload_ptsz(exec: usize; _stream) {
        EXECS.get(exec).map(drop).ok_or(INVALID)
    }
}
