//! The ways to instantiate a graph, and the properties of executable graphs.

use super::cases;
use super::graph::{add, empty, graph, instantiate, memset, run};
use crate::cuda::{Cuda, Outcome, cu, refused, same};
use cuda_api::sys::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph, CUgraphInstantiate_flags as Flags,
    CUgraphInstantiateResult as Made,
};
use std::ptr::null_mut;

/// Creates a graph whose nodes depend on each other in a cycle, so that it can't be instantiated.
fn circle(cuda: &Cuda) -> Outcome<CUgraph> {
    let graph = graph(cuda)?;
    let first = empty(cuda, graph, &[])?;
    let second = empty(cuda, graph, &[first])?;
    cu!(cuda, cuGraphAddDependencies(graph, &second, &first, 1))?;
    Ok(graph)
}

cases! {
    fn the_first_version_instantiates_graphs(cuda, primary) {
        let (pointer, graph, circle) = (cuda.alloc(64)?, graph(cuda)?, circle(cuda)?);
        cuda.upload(pointer, &[0u32; 4])?;
        add(cuda, graph, &[], memset(pointer, 4, 2))?;
        let (mut exec, mut node, mut log) = (null_mut(), null_mut(), [1i8; 256]);
        let (text, room) = (log.as_mut_ptr(), log.len());
        cu!(cuda, cuGraphInstantiate(&mut exec, graph, &mut node, text, room))?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 3)?, [4, 4, 0]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        let made = cu!(cuda, cuGraphInstantiate(&mut exec, circle, &mut node, text, room));
        refused!(made, INVALID_VALUE);
        refused!(cu!(cuda, cuGraphExecDestroy(null_mut())), INVALID_VALUE);
        for graph in [graph, circle] {
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }

    fn a_graph_is_uploaded_when_it_is_instantiated(cuda, primary) {
        let (pointer, graph, circle) = (cuda.alloc(64)?, graph(cuda)?, circle(cuda)?);
        cuda.upload(pointer, &[0u32; 4])?;
        add(cuda, graph, &[], memset(pointer, 4, 2))?;
        let (mut stream, mut exec, mut flags) = (null_mut(), null_mut(), 0);
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let upload = u64::from(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0);
        let auto_free = u64::from(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0);
        let given = CUDA_GRAPH_INSTANTIATE_PARAMS {
            flags: upload | auto_free,
            hUploadStream: stream,
            hErrNode_out: null_mut(),
            result_out: Made(77),
        };
        let mut params = given;
        cu!(cuda, cuGraphInstantiateWithParams(&mut exec, graph, &mut params))?;
        same!(params.result_out, Made::CUDA_GRAPH_INSTANTIATE_SUCCESS);
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(pointer, 3)?, [0, 0, 0]);
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(pointer, 3)?, [4, 4, 0]);
        cu!(cuda, cuGraphExecGetFlags(exec, &mut flags))?;
        // CU_GRAPH_INSTANTIATE_FLAG_UPLOAD only affects the instantiation, so it isn't among the
        // flags of the executable graph.
        same!(flags, auto_free);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        params = CUDA_GRAPH_INSTANTIATE_PARAMS { flags: 0, ..given };
        let made = cu!(cuda, cuGraphInstantiateWithParams(&mut exec, circle, &mut params));
        refused!(made, INVALID_VALUE);
        refused!(cu!(cuda, cuGraphExecGetFlags(null_mut(), &mut flags)), INVALID_VALUE);
        for graph in [graph, circle] {
            cu!(cuda, cuGraphDestroy(graph))?;
        }
        same!(params.result_out, Made::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    }

    fn an_upload_does_not_run_the_graph(cuda, primary) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        cuda.upload(pointer, &[0u32; 4])?;
        add(cuda, graph, &[], memset(pointer, 4, 2))?;
        let (exec, mut stream) = (instantiate(cuda, graph)?, null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        for stream in [stream, null_mut()] {
            cu!(cuda, cuGraphUpload(exec, stream))?;
            cu!(cuda, cuStreamSynchronize(stream))?;
            same!(cuda.download::<u32>(pointer, 3)?, [0, 0, 0]);
        }
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 3)?, [4, 4, 0]);
        refused!(cu!(cuda, cuGraphUpload(null_mut(), stream)), INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }
}
