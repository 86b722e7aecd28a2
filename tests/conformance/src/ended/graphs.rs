//! Kinds of objects: nodes of graphs, and memory that graphs allocate.

use super::object::{Kind, Object, calls, of_memory};
use crate::cuda::{Cuda, Outcome, cu};
use cuda_api::sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, CUgraphNodeType, CUmemAllocationType,
    CUmemLocation, CUmemLocationType, CUmemPoolProps, CUpointer_attribute as Pointer,
};
use std::ptr::{null, null_mut};

pub(super) const KINDS: &[Kind] =
    &[Kind { name: "graph-node", create: node }, Kind { name: "graph-memory", create: memory }];

fn node(cuda: &Cuda) -> Outcome<Object> {
    let (mut graph, mut node, mut exec, mut context) =
        (null_mut(), null_mut(), null_mut(), null_mut());
    cu!(cuda, cuCtxGetCurrent(&mut context))?;
    cu!(cuda, cuGraphCreate(&mut graph, 0))?;
    let fill = CUDA_MEMSET_NODE_PARAMS {
        dst: cuda.alloc(64)?,
        pitch: 0,
        value: 1,
        elementSize: 4,
        width: 1,
        height: 1,
    };
    cu!(cuda, cuGraphAddMemsetNode(&mut node, graph, null(), 0, &fill, context))?;
    cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
    let calls = calls! {
        "type" => |cuda| cu!(cuda, cuGraphNodeGetType(node, &mut CUgraphNodeType(0))),
        "get-parameters" => |cuda| cu!(cuda, cuGraphMemsetNodeGetParams(node, &mut fill.clone())),
        "set-parameters" => |cuda| cu!(cuda, cuGraphMemsetNodeSetParams(node, &fill)),
        "dependencies" => |cuda| cu!(cuda, cuGraphNodeGetDependencies(node, null_mut(), &mut 0)),
        "enabled" => |cuda| cu!(cuda, cuGraphNodeGetEnabled(exec, node, &mut 0)),
        "destroy" => |cuda| cu!(cuda, cuGraphDestroyNode(node)),
    };
    let ends = calls! {
        "graph-destroy" => |cuda| cu!(cuda, cuGraphDestroy(graph)),
        "end" => |cuda| cu!(cuda, cuGraphDestroyNode(node)),
    };
    Ok(Object::new(calls, ends))
}

fn memory(cuda: &Cuda) -> Outcome<Object> {
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    let type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let mut request = CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            location: CUmemLocation { type_, id: 0 },
            ..CUmemPoolProps::default()
        },
        accessDescs: null(),
        accessDescCount: 0,
        bytesize: 4096,
        dptr: 0,
    };
    cu!(cuda, cuGraphCreate(&mut graph, 0))?;
    cu!(cuda, cuGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut request))?;
    cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
    cu!(cuda, cuGraphLaunch(exec, null_mut()))?;
    let (pointer, which) = (request.dptr, Pointer::CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    let mut calls = of_memory(pointer, which);
    calls.extend(calls! {
        "free-async" => |cuda| cu!(cuda, cuMemFreeAsync(pointer, null_mut())),
        "free" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    });
    let ends = calls! {
        "graph-destroy" => |cuda| cu!(cuda, cuGraphDestroy(graph)),
        "exec-destroy" => |cuda| cu!(cuda, cuGraphExecDestroy(exec)),
        "both-destroy" => |cuda| {
            cu!(cuda, cuGraphExecDestroy(exec))?;
            cu!(cuda, cuGraphDestroy(graph))
        },
        "end" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    };
    Ok(Object::new(calls, ends))
}
