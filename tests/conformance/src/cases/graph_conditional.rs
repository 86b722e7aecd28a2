//! Conditional nodes: bodies that run depending on a value that kernels set.

use super::cases;
use super::graph::{add, graph, instantiate, launch, memset, node, one_thread, run};
use crate::cuda::{Cuda, Outcome, parameter};
use crate::cuda::{cu, ensure, get, refused, same};
use crate::kernels::{CONDITIONAL, FILL};
use cuda_api::sys::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUcontext, CUgraph, CUgraphConditionalNodeType as Type,
    CUgraphNode, CUgraphNodeParams, CUgraphNodeParams_st__bindgen_ty_1 as Params,
    CUgraphNodeType as Kind, CUstreamCaptureMode,
};
use std::ptr::{null, null_mut};

const IF: Type = Type::CU_GRAPH_COND_TYPE_IF;
const WHILE: Type = Type::CU_GRAPH_COND_TYPE_WHILE;
const SWITCH: Type = Type::CU_GRAPH_COND_TYPE_SWITCH;

/// Returns the parameters of a conditional node.
fn conditional(handle: u64, kind: Type, size: u32, context: CUcontext) -> CUgraphNodeParams {
    let mut params = Params { reserved1: [0; 29] };
    params.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
        handle,
        type_: kind,
        size,
        phGraph_out: null_mut(),
        ctx: context,
    };
    node(Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL, params)
}

/// Adds a conditional node. Returns the node and its bodies.
fn add_conditional(
    cuda: &Cuda,
    graph: CUgraph,
    after: &[CUgraphNode],
    mut params: CUgraphNodeParams,
) -> Outcome<(CUgraphNode, Vec<CUgraph>)> {
    let mut node = null_mut();
    let (before, count) = (after.as_ptr(), after.len());
    cu!(cuda, cuGraphAddNode_v2(&mut node, graph, before, null(), count, &mut params))?;
    // SAFETY: the parameters are those of a conditional node. If the call succeeds, it stores the
    // address of an array of `size` bodies in them.
    let bodies = unsafe {
        let params = params.__bindgen_anon_1.conditional;
        std::slice::from_raw_parts(params.phGraph_out, params.size as usize).to_vec()
    };
    Ok((node, bodies))
}

/// Creates a conditional handle for a graph. Without a default value, the handle's value isn't
/// reset at launches.
fn handle(cuda: &Cuda, graph: CUgraph, context: CUcontext, default: Option<u32>) -> Outcome<u64> {
    let (mut handle, flags) = (0, default.is_some().into());
    let default = default.unwrap_or(0);
    cu!(cuda, cuGraphConditionalHandleCreate(&mut handle, graph, context, default, flags))?;
    Ok(handle)
}

cases! {
    fn a_body_runs_if_a_kernel_says_so(cuda, primary = (_, context)) {
        let (module, choose) = cuda.kernel(CONDITIONAL, c"choose")?;
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        let value = handle(cuda, graph, context, None)?;
        let mut parameters = [parameter(&pointer), parameter(&value)];
        let first = add(cuda, graph, &[], launch(choose, &mut parameters))?;
        let (branch, bodies) =
            add_conditional(cuda, graph, &[first], conditional(value, IF, 2, context))?;
        ensure!(bodies[0] != bodies[1], "the bodies are the same");
        for (body, set) in bodies.iter().zip([5, 6]) {
            add(cuda, *body, &[], memset(pointer + 4, set, 1))?;
        }
        add(cuda, graph, &[branch], memset(pointer + 8, 7, 1))?;
        let mut kind = Kind(77);
        cu!(cuda, cuGraphNodeGetType(branch, &mut kind))?;
        same!(kind, Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL);
        let exec = instantiate(cuda, graph)?;
        for (chosen, expected) in [(1, 5), (0, 6), (9, 5)] {
            cuda.upload(pointer, &[chosen, 0, 0, 0u32])?;
            run(cuda, exec)?;
            same!(cuda.download::<u32>(pointer, 4)?, [chosen, expected, 7, 0]);
        }
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        cu!(cuda, cuModuleUnload(module))?;
    }

    fn a_body_runs_until_the_value_is_zero(cuda, primary = (_, context)) {
        let (_, count) = cuda.kernel(CONDITIONAL, c"count")?;
        let (pointer, graph, limit) = (cuda.alloc(64)?, graph(cuda)?, 10u32);
        let value = handle(cuda, graph, context, Some(1))?;
        let (_, bodies) =
            add_conditional(cuda, graph, &[], conditional(value, WHILE, 1, context))?;
        // Capture operations into the body.
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        cu!(cuda, cuStreamBeginCaptureToGraph(stream, bodies[0], null(), null(), 0, mode))?;
        let mut parameters = [parameter(&pointer), parameter(&limit), parameter(&value)];
        cuda.launch(count, [1, 1], stream, &mut parameters)?;
        cu!(cuda, cuStreamEndCapture(stream, null_mut()))?;
        // Each launch starts with the default value of the handle, so the second launch runs the
        // body, too.
        for _ in 0..2 {
            let exec = instantiate(cuda, graph)?;
            for _ in 0..2 {
                cuda.upload(pointer, &[3u32])?;
                run(cuda, exec)?;
                same!(cuda.download::<u32>(pointer, 1)?, [10]);
            }
            cuda.upload(pointer, &[20u32])?;
            run(cuda, exec)?;
            same!(cuda.download::<u32>(pointer, 1)?, [21]);
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn one_of_several_bodies_runs(cuda, primary = (_, context)) {
        let (_, choose) = cuda.kernel(CONDITIONAL, c"choose")?;
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        let (outer, inner) =
            (handle(cuda, graph, context, None)?, handle(cuda, graph, context, Some(1))?);
        let mut parameters = [parameter(&pointer), parameter(&outer)];
        let first = add(cuda, graph, &[], launch(choose, &mut parameters))?;
        let (_, bodies) =
            add_conditional(cuda, graph, &[first], conditional(outer, SWITCH, 3, context))?;
        for (body, set) in bodies.iter().zip(5..) {
            add(cuda, *body, &[], memset(pointer + 4, set, 1))?;
        }
        // The last body contains another conditional node.
        let (_, within) =
            add_conditional(cuda, bodies[2], &[], conditional(inner, IF, 1, context))?;
        add(cuda, within[0], &[], memset(pointer + 8, 8, 1))?;
        let exec = instantiate(cuda, graph)?;
        for (chosen, expected) in [(0, [5, 0]), (1, [6, 0]), (2, [7, 8]), (3, [0, 0])] {
            cuda.upload(pointer, &[chosen, 0, 0u32])?;
            run(cuda, exec)?;
            same!(cuda.download::<u32>(pointer + 4, 2)?, expected);
        }
        // The executable graph doesn't need the graph that it was instantiated from.
        cu!(cuda, cuGraphDestroy(graph))?;
        cuda.upload(pointer, &[2, 0, 0u32])?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer + 4, 2)?, [7, 8]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
    }

    fn nodes_in_bodies_are_changed(cuda, primary = (_, context)) {
        let (_, choose) = cuda.kernel(CONDITIONAL, c"choose")?;
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (pointer, graph, words, count) = (cuda.alloc(64)?, graph(cuda)?, [5u32, 6], 1u32);
        let (outer, inner) =
            (handle(cuda, graph, context, None)?, handle(cuda, graph, context, Some(1))?);
        let mut parameters = [parameter(&pointer), parameter(&outer)];
        let first = add(cuda, graph, &[], launch(choose, &mut parameters))?;
        let (branch, bodies) =
            add_conditional(cuda, graph, &[first], conditional(outer, SWITCH, 2, context))?;
        // The first body contains a memset, and an inner conditional node with a kernel. The second
        // body contains a memset.
        let set = add(cuda, bodies[0], &[], memset(pointer + 4, 1, 1))?;
        let (_, within) =
            add_conditional(cuda, bodies[0], &[set], conditional(inner, IF, 1, context))?;
        let second = pointer + 8;
        let mut parameters = words.map(|_| [parameter(&second), null_mut(), parameter(&count)]);
        for (parameters, word) in parameters.iter_mut().zip(&words) {
            parameters[1] = parameter(word);
        }
        let kernel = add(cuda, within[0], &[], launch(fill, &mut parameters[0]))?;
        let other = add(cuda, bodies[1], &[], memset(pointer + 12, 2, 1))?;
        let exec = instantiate(cuda, graph)?;
        let results = |chosen: u32| {
            cuda.upload(pointer, &[chosen, 0, 0, 0])?;
            run(cuda, exec)?;
            cuda.download::<u32>(pointer + 4, 3)
        };
        same!((results(0)?, results(1)?), (vec![1, 5, 0], vec![0, 0, 2]));
        let changed = one_thread(fill, &mut parameters[1]);
        cu!(cuda, cuGraphExecKernelNodeSetParams_v2(exec, kernel, &changed))?;
        same!((results(0)?, results(1)?), (vec![1, 6, 0], vec![0, 0, 2]));
        cu!(cuda, cuGraphExecNodeSetParams(exec, set, &mut memset(pointer + 4, 3, 1)))?;
        cu!(cuda, cuGraphExecNodeSetParams(exec, other, &mut memset(pointer + 12, 4, 1)))?;
        same!((results(0)?, results(1)?), (vec![3, 6, 0], vec![0, 0, 4]));
        // A node in an executable graph can't become a node of another type.
        let set = cu!(cuda, cuGraphExecKernelNodeSetParams_v2(exec, other, &changed));
        refused!(set, INVALID_VALUE);
        let set = cu!(cuda, cuGraphExecKernelNodeSetParams_v2(exec, branch, &changed));
        refused!(set, INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn conditional_nodes_have_restrictions(cuda, primary = (_, context)) {
        let (graph, other) = (graph(cuda)?, graph(cuda)?);
        let (mut value, mut node) = (0, null_mut());
        for (flags, wrong) in [(2, context), (0, null_mut())] {
            let made = cu!(cuda, cuGraphConditionalHandleCreate(&mut value, graph, wrong, 0, flags));
            refused!(made, INVALID_VALUE | INVALID_CONTEXT);
        }
        let value = handle(cuda, graph, context, Some(0))?;
        let mut exec = null_mut();
        // A graph with a handle but without a conditional node for it can't be instantiated.
        let made = cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        refused!(made, INVALID_VALUE);
        for (graph, mut params) in [
            (other, conditional(value, IF, 1, context)),
            (graph, conditional(value + 12345, IF, 1, context)),
            (graph, conditional(value, IF, 3, context)),
            (graph, conditional(value, IF, 0, context)),
            (graph, conditional(value, WHILE, 2, context)),
            (graph, conditional(value, SWITCH, 0, context)),
            (graph, conditional(value, Type(3), 1, context)),
        ] {
            let added = cu!(cuda, cuGraphAddNode_v2(&mut node, graph, null(), null(), 0, &mut params));
            refused!(added, INVALID_VALUE);
        }
        let mut params = conditional(value, IF, 1, null_mut());
        let added = cu!(cuda, cuGraphAddNode_v2(&mut node, graph, null(), null(), 0, &mut params));
        refused!(added, INVALID_CONTEXT);
        let (first, bodies) =
            add_conditional(cuda, graph, &[], conditional(value, IF, 1, context))?;
        // A second conditional node can't use the same handle.
        let mut params = conditional(value, IF, 1, context);
        let added = cu!(cuda, cuGraphAddNode_v2(&mut node, graph, null(), null(), 0, &mut params));
        refused!(added, INVALID_VALUE);
        let (mut clone, mut child) = (null_mut(), null_mut());
        refused!(cu!(cuda, cuGraphClone(&mut clone, graph)), NOT_SUPPORTED);
        let added = cu!(cuda, cuGraphAddChildGraphNode(&mut child, other, null(), 0, graph));
        refused!(added, NOT_SUPPORTED);
        refused!(cu!(cuda, cuGraphDestroy(bodies[0])), INVALID_VALUE);
        // When the node is destroyed, another node can use its handle.
        cu!(cuda, cuGraphDestroyNode(first))?;
        let (_, bodies) =
            add_conditional(cuda, graph, &[], conditional(value, WHILE, 1, context))?;
        let pointer = cuda.alloc(64)?;
        cuda.upload(pointer, &[0u32; 4])?;
        add(cuda, bodies[0], &[], memset(pointer, 1, 1))?;
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 1)?, [0]);
        let mut second = null_mut();
        let made = cu!(cuda, cuGraphInstantiateWithFlags(&mut second, graph, 0));
        refused!(made, INVALID_VALUE | NOT_SUPPORTED);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        cu!(cuda, cuGraphDestroy(other))?;
    }
}
