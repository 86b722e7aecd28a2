//! Argument values that are graphs, nodes, or executable graphs.

use super::objects::Objects;
use crate::cuda::{Outcome, cu};
use cuda_api::sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUuserObject,
};
use std::ptr::{null, null_mut};

impl Objects<'_> {
    pub fn graphs(&mut self, name: &str, type_: &str) -> Outcome<u64> {
        let (cuda, mut made): (_, CUgraph) = (self.cuda, null_mut());
        match (type_, name) {
            ("CUgraph", "childGraph") => {
                let context = cuda.primary()?.1;
                cu!(cuda, cuGraphCreate(&mut made, 0))?;
                self.fill(made, &[], context)?;
                Ok(made as u64)
            }
            ("CUgraph", "hClonedGraph") => {
                self.node()?;
                let graph = self.graph()? as CUgraph;
                cu!(cuda, cuGraphClone(&mut made, graph))?;
                Ok(made as u64)
            }
            ("CUgraph", _) => {
                // Add a node to the graph, unless the call itself adds nodes. The node is necessary
                // for updates: an executable graph can be updated only from a graph with the same
                // nodes.
                if !self.named("Add") && !self.named("Capture") {
                    self.node()?;
                }
                self.graph()
            }
            ("CUgraphNode", "src") => self.root(),
            ("CUgraphNode", _) => self.node(),
            ("CUuserObject", _) => self.user_object(),
            _ => self.shared("exec", |objects| {
                let (mut exec, graph): (CUgraphExec, _) = (null_mut(), objects.graph()? as CUgraph);
                objects.node()?;
                cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
                Ok(exec as u64)
            }),
        }
    }

    fn graph(&mut self) -> Outcome<u64> {
        self.shared("graph", |objects| {
            let (cuda, mut graph): (_, CUgraph) = (objects.cuda, null_mut());
            cu!(cuda, cuGraphCreate(&mut graph, 0))?;
            Ok(graph as u64)
        })
    }

    fn fill(&mut self, graph: CUgraph, after: &[CUgraphNode], context: CUcontext) -> Outcome<u64> {
        let (cuda, mut node): (_, CUgraphNode) = (self.cuda, null_mut());
        let fill = self.structure("CUDA_MEMSET_NODE_PARAMS")? as *const _;
        cu!(
            cuda,
            cuGraphAddMemsetNode(&mut node, graph, after.as_ptr(), after.len(), fill, context)
        )?;
        Ok(node as u64)
    }

    /// Returns a node without dependencies. If the entry point adds a node that frees memory, this
    /// node allocates that memory.
    pub fn root(&mut self) -> Outcome<u64> {
        self.shared("root", |objects| {
            let (cuda, graph) = (objects.cuda, objects.graph()? as CUgraph);
            let context = cuda.primary()?.1;
            if !objects.named("MemFreeNode") {
                return match objects.named("KernelNode") {
                    true => objects.kernel_node(graph, &[]),
                    false => objects.fill(graph, &[], context),
                };
            }
            let mut node: CUgraphNode = null_mut();
            let request =
                objects.structure("CUDA_MEM_ALLOC_NODE_PARAMS")? as *mut CUDA_MEM_ALLOC_NODE_PARAMS;
            cu!(cuda, cuGraphAddMemAllocNode(&mut node, graph, null(), 0, request))?;
            // SAFETY: the structure is never freed, and the call has stored the address in it.
            let address = unsafe { (*request).dptr };
            objects.shared("graph memory", |_| Ok(address))?;
            Ok(node as u64)
        })
    }

    /// Returns the address of the memory that the root node allocates, or 0 if it doesn't allocate
    /// memory.
    pub fn graph_memory(&mut self) -> Outcome<u64> {
        self.root()?;
        self.shared("graph memory", |_| Ok(0))
    }

    fn kernel_node(&mut self, graph: CUgraph, after: &[CUgraphNode]) -> Outcome<u64> {
        let (cuda, mut node): (_, CUgraphNode) = (self.cuda, null_mut());
        let kernel = self.structure("CUDA_KERNEL_NODE_PARAMS")? as *const _;
        cu!(cuda, cuGraphAddKernelNode_v2(&mut node, graph, after.as_ptr(), after.len(), kernel))?;
        Ok(node as u64)
    }

    /// Returns a node of the type that the entry point requires. The node depends on the root node,
    /// unless the entry point adds dependencies itself.
    pub fn node(&mut self) -> Outcome<u64> {
        self.shared("node", |objects| {
            let (cuda, graph) = (objects.cuda, objects.graph()? as CUgraph);
            let (context, root) = (cuda.primary()?.1, objects.root()? as CUgraphNode);
            let adds = objects.named("AddDependencies");
            let (from, mut node): (&[CUgraphNode], CUgraphNode) =
                (if adds { &[] } else { &[root] }, null_mut());
            let (after, count) = (from.as_ptr(), from.len());
            let is = |part| objects.function.contains(part);
            if is("KernelNode") {
                return objects.kernel_node(graph, from);
            } else if is("MemcpyNode") {
                let copy = objects.structure("CUDA_MEMCPY3D")? as *const _;
                cu!(cuda, cuGraphAddMemcpyNode(&mut node, graph, after, count, copy, context))?;
            } else if is("HostNode") {
                let host = objects.structure("CUDA_HOST_NODE_PARAMS")? as *const _;
                cu!(cuda, cuGraphAddHostNode(&mut node, graph, after, count, host))?;
            } else if is("ChildGraphNode") {
                let child = objects.graphs("childGraph", "CUgraph")? as CUgraph;
                cu!(cuda, cuGraphAddChildGraphNode(&mut node, graph, after, count, child))?;
            } else if is("EventRecordNode") {
                let event = objects.event()? as *mut _;
                cu!(cuda, cuGraphAddEventRecordNode(&mut node, graph, after, count, event))?;
            } else if is("EventWaitNode") {
                let event = objects.event()? as *mut _;
                cu!(cuda, cuGraphAddEventWaitNode(&mut node, graph, after, count, event))?;
            } else if is("BatchMemOp") {
                let batch = objects.structure("CUDA_BATCH_MEM_OP_NODE_PARAMS")? as *const _;
                cu!(cuda, cuGraphAddBatchMemOpNode(&mut node, graph, after, count, batch))?;
            } else if is("MemAllocNode") {
                let request = objects.structure("CUDA_MEM_ALLOC_NODE_PARAMS")? as *mut _;
                cu!(cuda, cuGraphAddMemAllocNode(&mut node, graph, after, count, request))?;
            } else if is("MemFreeNode") {
                let memory = objects.graph_memory()?;
                cu!(cuda, cuGraphAddMemFreeNode(&mut node, graph, after, count, memory))?;
            } else {
                return objects.fill(graph, from, context);
            }
            Ok(node as u64)
        })
    }

    fn user_object(&mut self) -> Outcome<u64> {
        let (cuda, mut object): (_, CUuserObject) = (self.cuda, null_mut());
        unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
        let none = null_mut();
        cu!(cuda, cuUserObjectCreate(&mut object, none, Some(nothing), 1, 1))?;
        if self.named("GraphRelease") {
            let graph = self.graph()? as CUgraph;
            cu!(cuda, cuGraphRetainUserObject(graph, object, 1, 0))?;
        }
        Ok(object as u64)
    }
}
