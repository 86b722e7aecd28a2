//! Measures graphs of twenty kernels that run one after another.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::p50;
use crate::bench::gpu::Gpu;
use crate::bench::sample::{Measured, samples, time};
use crate::cuda::{Failed, Handle, KernelNode};

/// Number of kernels in a graph.
const NODES: usize = 20;

/// A graph, its executable graph, and its nodes.
struct Graph {
    graph: Handle,
    exec: Handle,
    nodes: Vec<Handle>,
}

/// Measures how long it takes to launch a graph and wait for it.
pub(in crate::bench) fn graph(gpu: &Gpu) -> Measured {
    measure(gpu, false)
}

/// Measures how long it takes to set new parameters for each node of a graph, launch it, and wait
/// for it.
pub(in crate::bench) fn graph_updates(gpu: &Gpu) -> Measured {
    measure(gpu, true)
}

fn measure(gpu: &Gpu, updates: bool) -> Measured {
    let mut graph = build(gpu)?;
    let times = samples(gpu.count(500), || {
        time(|| {
            if updates {
                update(gpu, &mut graph)?;
            }
            // SAFETY: the executable graph and the stream exist.
            unsafe { gpu.cuda.graph_launch(graph.exec, gpu.stream) }?;
            gpu.wait()
        })
    })?;
    // SAFETY: the graph and the executable graph exist, and nothing uses them any longer.
    unsafe {
        gpu.cuda.graph_exec_destroy(graph.exec)?;
        gpu.cuda.graph_destroy(graph.graph)?;
    }
    Ok(p50(&times))
}

/// Returns the parameters of a node that runs the kernel `spin` for 0 ns.
fn node(gpu: &Gpu, params: &mut [*mut c_void; 1]) -> KernelNode {
    KernelNode {
        function: gpu.spin,
        grid: [1; 3],
        block: [1; 3],
        shared: 0,
        params: params.as_mut_ptr(),
        extra: null_mut(),
        kernel: null_mut(),
        context: null_mut(),
    }
}

fn build(gpu: &Gpu) -> Result<Graph, Failed> {
    let (mut graph, mut exec) = (null_mut(), null_mut());
    let mut ns = 0u64;
    let mut params = [(&raw mut ns).cast()];
    let kernel = node(gpu, &mut params);
    let mut nodes: Vec<Handle> = Vec::new();
    // SAFETY: the pointers are to live variables, and the calls copy the kernel's parameters before
    // they return.
    unsafe {
        gpu.cuda.graph_create(&mut graph, 0)?;
        for _ in 0..NODES {
            let mut added = null_mut();
            let after = nodes.last().map_or(std::ptr::null(), std::ptr::from_ref);
            let count = usize::from(!nodes.is_empty());
            gpu.cuda.graph_add_kernel(&mut added, graph, after, count, &kernel)?;
            nodes.push(added);
        }
        gpu.cuda.graph_instantiate(&mut exec, graph, 0)?;
    }
    Ok(Graph { graph, exec, nodes })
}

fn update(gpu: &Gpu, graph: &mut Graph) -> Result<(), Failed> {
    for (number, handle) in graph.nodes.iter().enumerate() {
        let mut ns = number as u64;
        let mut params = [(&raw mut ns).cast()];
        let kernel = node(gpu, &mut params);
        // SAFETY: the executable graph and the node exist, and the call copies the parameters
        // before it returns.
        unsafe { gpu.cuda.graph_set_kernel(graph.exec, *handle, &kernel) }?;
    }
    Ok(())
}
