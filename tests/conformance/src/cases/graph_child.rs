//! Changes of child graphs in instantiated graphs, and the first versions of graph calls.

use super::cases;
use super::graph::{add, graph, instantiate, memset, run};
use crate::cuda::{Cuda, Outcome};
use crate::cuda::{cu, get, refused, same};
use cuda_api::sys::{CUgraph, CUgraphExecUpdateResult as Update};
use std::ptr::null_mut;

/// Creates a graph that sets two words, one after the other.
fn two(cuda: &Cuda, pointer: u64, values: [u32; 2]) -> Outcome<CUgraph> {
    let graph = graph(cuda)?;
    let first = add(cuda, graph, &[], memset(pointer, values[0], 1))?;
    add(cuda, graph, &[first], memset(pointer + 4, values[1], 1))?;
    Ok(graph)
}

cases! {
    fn the_work_of_a_child_graph_is_replaced(cuda, primary) {
        let (pointer, outer) = (cuda.alloc(64)?, graph(cuda)?);
        cuda.upload(pointer, &[0u32; 16])?;
        let (before, after) = (two(cuda, pointer, [1, 2])?, two(cuda, pointer, [3, 4])?);
        let first = add(cuda, outer, &[], memset(pointer + 8, 5, 1))?;
        let child = get!(cuda, cuGraphAddChildGraphNode(@, outer, &first, 1, before))?;
        add(cuda, outer, &[child], memset(pointer + 12, 6, 1))?;
        let exec = instantiate(cuda, outer)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 5)?, [1, 2, 5, 6, 0]);
        cu!(cuda, cuGraphExecChildGraphNodeSetParams(exec, child, after))?;
        cuda.upload(pointer, &[0u32; 16])?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 5)?, [3, 4, 5, 6, 0]);
        // A child graph node can get only a graph with the same nodes as its present one. Other
        // nodes can't get a graph.
        add(cuda, after, &[], memset(pointer + 16, 7, 1))?;
        let changed = cu!(cuda, cuGraphExecChildGraphNodeSetParams(exec, child, after));
        refused!(changed, INVALID_VALUE | GRAPH_EXEC_UPDATE_FAILURE);
        let changed = cu!(cuda, cuGraphExecChildGraphNodeSetParams(exec, first, before));
        refused!(changed, INVALID_VALUE);
        cuda.upload(pointer, &[0u32; 16])?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 5)?, [3, 4, 5, 6, 0]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        for graph in [before, after, outer] {
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }

    fn older_forms_of_graph_calls_work(cuda, primary) {
        let pointer = cuda.alloc(64)?;
        let (before, after) = (two(cuda, pointer, [1, 2])?, two(cuda, pointer, [3, 4])?);
        let (mut exec, mut node, mut log) = (null_mut(), null_mut(), [1i8; 16]);
        cu!(cuda, cuGraphInstantiate_v2(&mut exec, before, &mut node, log.as_mut_ptr(), 16))?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 2)?, [1, 2]);
        let mut result = Update(77);
        cu!(cuda, cuGraphExecUpdate(exec, after, &mut node, &mut result))?;
        same!(result, Update::CU_GRAPH_EXEC_UPDATE_SUCCESS);
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 2)?, [3, 4]);
        add(cuda, after, &[], memset(pointer, 5, 1))?;
        let updated = cu!(cuda, cuGraphExecUpdate(exec, after, &mut node, &mut result));
        refused!(updated, GRAPH_EXEC_UPDATE_FAILURE);
        same!(result, Update::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
        let mut info = Default::default();
        let updated = cu!(cuda, cuGraphExecUpdate_v2(exec, after, &mut info));
        refused!(updated, GRAPH_EXEC_UPDATE_FAILURE);
        same!(info.result, Update::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        let made = cu!(cuda, cuGraphInstantiate_v2(null_mut(), before, null_mut(), null_mut(), 0));
        refused!(made, INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        for graph in [before, after] {
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }
}
