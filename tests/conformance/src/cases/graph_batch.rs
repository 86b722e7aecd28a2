//! Stream memory operations in graphs.

use super::cases;
use super::graph::{add, graph, instantiate, memset, node, run};
use crate::cuda::{cu, refused, same};
use cuda_api::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, CUcontext,
    CUgraphNodeParams_st__bindgen_ty_1 as Params, CUgraphNodeType as Kind,
    CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation, CUstreamCaptureMode,
};
use std::ptr::{null, null_mut};

const WRITE_32: Operation = Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32;
const WRITE_64: Operation = Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64;

fn write(operation: Operation, address: u64, value: u64) -> CUstreamBatchMemOpParams {
    CUstreamBatchMemOpParams { pad: [operation.0.into(), address, value, 0, 0, 0] }
}

fn batch(
    context: CUcontext,
    operations: &mut [CUstreamBatchMemOpParams],
) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
    CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: context,
        count: operations.len() as u32,
        paramArray: operations.as_mut_ptr(),
        flags: 0,
    }
}

cases! {
    fn a_node_writes_values(cuda, primary = (_, context)) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        cuda.upload(pointer, &[0u64; 8])?;
        let first = add(cuda, graph, &[], memset(pointer, 1, 2))?;
        let mut operations = [write(WRITE_32, pointer, 5), write(WRITE_64, pointer + 8, 6 << 32)];
        let (mut second, params) = (null_mut(), batch(context, &mut operations));
        cu!(cuda, cuGraphAddBatchMemOpNode(&mut second, graph, &first, 1, &params))?;
        let mut operations = [write(WRITE_32, pointer + 16, 7)];
        let last = batch(context, &mut operations);
        let mut any = Params { reserved1: [0; 29] };
        any.memOp = CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
            ctx: last.ctx,
            count: last.count,
            paramArray: last.paramArray,
            flags: 0,
        };
        add(cuda, graph, &[second], node(Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, any))?;
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 6)?, [5, 1, 0, 6, 7, 0]);

        let (mut kind, mut found) = (Kind(77), batch(null_mut(), &mut []));
        cu!(cuda, cuGraphNodeGetType(second, &mut kind))?;
        same!(kind, Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
        cu!(cuda, cuGraphBatchMemOpNodeGetParams(second, &mut found))?;
        same!((found.count, found.flags), (2, 0));
        // SAFETY: the array has two elements, which consist of integers.
        let listed = unsafe { (*found.paramArray.add(1)).pad };
        same!((listed[0] as u32, listed[1], listed[2]), (WRITE_64.0, pointer + 8, 6 << 32));
        refused!(cu!(cuda, cuGraphBatchMemOpNodeGetParams(first, &mut found)), INVALID_VALUE);

        // A change of a node affects only later instantiations. A change of an executable graph's
        // node affects later launches.
        let mut other = [write(WRITE_32, pointer + 20, 8), write(WRITE_64, pointer + 24, 9)];
        let other = batch(context, &mut other);
        cu!(cuda, cuGraphExecBatchMemOpNodeSetParams(exec, second, &other))?;
        cuda.upload(pointer, &[0u64; 8])?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 8)?, [1, 1, 0, 0, 7, 8, 9, 0]);
        // The number of operations in an executable graph's node can't be changed.
        let mut fewer = [write(WRITE_32, pointer + 20, 8)];
        let other = batch(context, &mut fewer);
        let changed = cu!(cuda, cuGraphExecBatchMemOpNodeSetParams(exec, second, &other));
        refused!(changed, INVALID_VALUE | NOT_SUPPORTED);
        cu!(cuda, cuGraphBatchMemOpNodeSetParams(second, &other))?;
        cu!(cuda, cuGraphBatchMemOpNodeGetParams(second, &mut found))?;
        same!(found.count, 1);
        refused!(cu!(cuda, cuGraphBatchMemOpNodeSetParams(first, &other)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphExecBatchMemOpNodeSetParams(exec, first, &other)), INVALID_VALUE);
        let made = cu!(cuda, cuGraphAddBatchMemOpNode(&mut second, graph, null(), 0, null()));
        refused!(made, INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn captured_writes_become_nodes(cuda, primary) {
        let (pointer, mut stream, mut graph) = (cuda.alloc(64)?, null_mut(), null_mut());
        cuda.upload(pointer, &[0u64; 8])?;
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        cu!(cuda, cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(0)))?;
        cu!(cuda, cuStreamWriteValue32_v2(stream, pointer, 3, 0))?;
        let mut operations = [write(WRITE_64, pointer + 8, 4)];
        cu!(cuda, cuStreamBatchMemOp_v2(stream, 1, operations.as_mut_ptr(), 0))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut graph))?;
        same!(cuda.download::<u32>(pointer, 3)?, [0, 0, 0]);
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 3)?, [3, 0, 4]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }
}
