//! The types of nodes, except for semaphore nodes.

use super::changes::{self, graph};
use super::node::{Form, Type};
use crate::arguments::objects::Objects;
use crate::cuda::{Outcome, cu};
use cuda_api::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, CUDA_CHILD_GRAPH_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS,
    CUDA_EVENT_RECORD_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3,
    CUDA_MEM_ALLOC_NODE_PARAMS_v2, CUDA_MEM_FREE_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS,
    CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, CUgraph,
    CUgraphConditionalNodeType, CUgraphNodeParams_st__bindgen_ty_1 as Union, CUgraphNodeType,
};
use std::mem::offset_of;
use std::ptr::null_mut;

macro_rules! calls {
    ($add:literal, $get:literal, $set:literal, $exec:literal) => {
        [Some($add), Some($get), Some($set), Some($exec)]
    };
}

const MEMORY_ALLOCATION: [Option<&str>; 4] =
    [Some("cuGraphAddMemAllocNode"), Some("cuGraphMemAllocNodeGetParams"), None, None];
const MEMORY_FREE: [Option<&str>; 4] =
    [Some("cuGraphAddMemFreeNode"), Some("cuGraphMemFreeNodeGetParams"), None, None];
const CHILD: [Option<&str>; 4] = [
    Some("cuGraphAddChildGraphNode"),
    Some("cuGraphChildGraphNodeGetGraph"),
    None,
    Some("cuGraphExecChildGraphNodeSetParams"),
];

/// All types of nodes that the table covers.
pub const ALL: &[Type] = &[
    Type {
        name: "kernel",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
        function: "cuGraphAddKernelNode_v2",
        calls: calls!(
            "cuGraphAddKernelNode_v2",
            "cuGraphKernelNodeGetParams_v2",
            "cuGraphKernelNodeSetParams_v2",
            "cuGraphExecKernelNodeSetParams_v2"
        ),
        form: Form::Structure,
        create: |objects| {
            let from = objects.structure("CUDA_KERNEL_NODE_PARAMS")?;
            // SAFETY: `structure` returns the address of this structure, which is never freed. Both
            // versions start with the same fields.
            let kernel = unsafe { *(from as *const CUDA_KERNEL_NODE_PARAMS_v3) };
            Ok(Union { kernel })
        },
        changes: changes::KERNEL,
    },
    Type {
        name: "copy",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
        function: "cuGraphAddMemcpyNode",
        calls: calls!(
            "cuGraphAddMemcpyNode",
            "cuGraphMemcpyNodeGetParams",
            "cuGraphMemcpyNodeSetParams",
            "cuGraphExecMemcpyNodeSetParams"
        ),
        form: Form::WithContext(
            offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams),
            offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyCtx),
        ),
        create: |objects| {
            let from = objects.structure("CUDA_MEMCPY3D")?;
            let memcpy = CUDA_MEMCPY_NODE_PARAMS {
                copyCtx: objects.cuda.primary()?.1,
                // SAFETY: `structure` returns the address of this structure, which is never freed.
                copyParams: unsafe { *(from as *const CUDA_MEMCPY3D) },
                ..Default::default()
            };
            Ok(Union { memcpy })
        },
        changes: changes::COPY,
    },
    Type {
        name: "fill",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
        function: "cuGraphAddMemsetNode",
        calls: calls!(
            "cuGraphAddMemsetNode",
            "cuGraphMemsetNodeGetParams",
            "cuGraphMemsetNodeSetParams",
            "cuGraphExecMemsetNodeSetParams"
        ),
        form: Form::WithContext(0, offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, ctx)),
        create: |objects| {
            let from = objects.structure("CUDA_MEMSET_NODE_PARAMS")?;
            let ctx = objects.cuda.primary()?.1;
            // SAFETY: `structure` returns the address of this structure, which is never freed.
            let CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height } =
                unsafe { *(from as *const CUDA_MEMSET_NODE_PARAMS) };
            let memset =
                CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx };
            Ok(Union { memset })
        },
        changes: changes::FILL,
    },
    Type {
        name: "host",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
        function: "cuGraphAddHostNode",
        calls: calls!(
            "cuGraphAddHostNode",
            "cuGraphHostNodeGetParams",
            "cuGraphHostNodeSetParams",
            "cuGraphExecHostNodeSetParams"
        ),
        form: Form::Structure,
        create: |objects| {
            let from = objects.structure("CUDA_HOST_NODE_PARAMS")?;
            // SAFETY: `structure` returns the address of this structure, which is never freed. Both
            // versions start with the same fields.
            let host = unsafe { *(from as *const CUDA_HOST_NODE_PARAMS_v2) };
            Ok(Union { host })
        },
        changes: changes::HOST,
    },
    Type {
        name: "child",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH,
        function: "cuGraphAddChildGraphNode",
        calls: CHILD,
        form: Form::Word,
        create: |objects| {
            let graph = objects.graphs("childGraph", "CUgraph")? as CUgraph;
            Ok(Union { graph: CUDA_CHILD_GRAPH_NODE_PARAMS { graph, ..Default::default() } })
        },
        changes: changes::CHILD,
    },
    Type {
        name: "empty",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY,
        function: "cuGraphAddEmptyNode",
        calls: [Some("cuGraphAddEmptyNode"), None, None, None],
        form: Form::None,
        create: |_| Ok(Union { reserved1: [0; 29] }),
        changes: changes::EMPTY,
    },
    Type {
        name: "wait",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
        function: "cuGraphAddEventWaitNode",
        calls: calls!(
            "cuGraphAddEventWaitNode",
            "cuGraphEventWaitNodeGetEvent",
            "cuGraphEventWaitNodeSetEvent",
            "cuGraphExecEventWaitNodeSetEvent"
        ),
        form: Form::Word,
        create: event,
        changes: changes::EVENT,
    },
    Type {
        name: "record",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        function: "cuGraphAddEventRecordNode",
        calls: calls!(
            "cuGraphAddEventRecordNode",
            "cuGraphEventRecordNodeGetEvent",
            "cuGraphEventRecordNodeSetEvent",
            "cuGraphExecEventRecordNodeSetEvent"
        ),
        form: Form::Word,
        create: event,
        changes: changes::EVENT,
    },
    Type {
        name: "allocation",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        function: "cuGraphAddMemAllocNode",
        calls: MEMORY_ALLOCATION,
        form: Form::Structure,
        create: |objects| {
            let from = objects.structure("CUDA_MEM_ALLOC_NODE_PARAMS")?;
            // SAFETY: `structure` returns the address of this structure, which is never freed. Both
            // versions start with the same fields.
            let alloc = unsafe { *(from as *const CUDA_MEM_ALLOC_NODE_PARAMS_v2) };
            Ok(Union { alloc })
        },
        changes: changes::ALLOCATION,
    },
    Type {
        name: "free",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
        function: "cuGraphAddMemFreeNode",
        calls: MEMORY_FREE,
        form: Form::Word,
        create: |objects| {
            Ok(Union { free: CUDA_MEM_FREE_NODE_PARAMS { dptr: objects.graph_memory()? } })
        },
        changes: changes::FREE,
    },
    Type {
        name: "operations",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
        function: "cuGraphAddBatchMemOpNode",
        calls: calls!(
            "cuGraphAddBatchMemOpNode",
            "cuGraphBatchMemOpNodeGetParams",
            "cuGraphBatchMemOpNodeSetParams",
            "cuGraphExecBatchMemOpNodeSetParams"
        ),
        form: Form::Structure,
        create: |objects| {
            let from = objects.structure("CUDA_BATCH_MEM_OP_NODE_PARAMS")?;
            // SAFETY: `structure` returns the address of this structure, which is never freed. Both
            // versions start with the same fields.
            let batch = unsafe { *(from as *const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2) };
            Ok(Union { memOp: batch })
        },
        changes: changes::OPERATIONS,
    },
    Type {
        name: "conditional",
        number: CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
        function: "cuGraphAddNode_v2",
        calls: [None; 4],
        form: Form::None,
        create: |objects| {
            let (cuda, mut handle) = (objects.cuda, 0);
            let (graph, ctx) = (graph(objects)?, cuda.primary()?.1);
            cu!(cuda, cuGraphConditionalHandleCreate(&mut handle, graph, ctx, 0, 0))?;
            let conditional = CUDA_CONDITIONAL_NODE_PARAMS {
                handle,
                type_: CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
                size: 1,
                phGraph_out: null_mut(),
                ctx,
            };
            Ok(Union { conditional })
        },
        changes: changes::CONDITIONAL,
    },
];

fn event(objects: &mut Objects<'_>) -> Outcome<Union> {
    let event = objects.event()? as *mut _;
    Ok(Union { eventRecord: CUDA_EVENT_RECORD_NODE_PARAMS { event } })
}
