//! The macro that exports the entry points for graphs and captures.

/// Exports the entry points for graphs and captures for a [`Library`](crate::graph::Library). Each
/// function is checked against its prototype. If a function has a variant for the per-thread
/// default stream, one definition with `|per_thread|` declares both. In its body, `per_thread` says
/// which variant was called.
///
/// The bodies are unsafe code: they rely on programs to pass valid arguments.
#[macro_export]
macro_rules! graph_entries {
    ($library:ty) => {
        use $crate::args::{Arg, In, Out, Text};
        use $crate::graph::dag::{Graph, Work};
        use $crate::graph::{GraphId, alloc, capturing, conditional, dot, exec, generic, nodes, structure, users};
        use $crate::sys::*;

        type L = $library;

        $crate::graph_entries! { @each []
            fn cuGraphCreate(to: Out<CUgraph>, flags: u32) => structure::create::<L>(to, flags);
            fn cuGraphDestroy(graph: CUgraph) =>
                <L as $crate::graph::Library>::graphs().destroy(graph as GraphId);
            fn cuGraphClone(to: Out<CUgraph>, graph: CUgraph) => structure::clone::<L>(to, graph);
            fn cuGraphNodeFindInClone(to: Out<CUgraphNode>, node: CUgraphNode, clone: CUgraph) =>
                structure::find_in_clone::<L>(to, node, clone);
            fn cuGraphNodeGetType(node: CUgraphNode, to: Out<CUgraphNodeType>) =>
                structure::kind::<L>(node, to);
            fn cuGraphDestroyNode(node: CUgraphNode) => structure::destroy_node::<L>(node);
            fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, to: Out<CUgraph>) =>
                structure::child::<L>(node, to);

            fn cuGraphGetNodes(graph: CUgraph, to: Out<CUgraphNode>, count: Out<usize>) =>
                structure::nodes::<L>(graph, to, count, |graph| {
                    graph.nodes.keys().copied().collect()
                });
            fn cuGraphGetRootNodes(graph: CUgraph, to: Out<CUgraphNode>, count: Out<usize>) =>
                structure::nodes::<L>(graph, to, count, Graph::roots);
            fn cuGraphGetEdges(
                graph: CUgraph, from: Out<CUgraphNode>, to: Out<CUgraphNode>, count: Out<usize>,
            ) => structure::edges::<L>(graph, (from, to), Out::null(), count);
            fn cuGraphGetEdges_v2(
                graph: CUgraph, from: Out<CUgraphNode>, to: Out<CUgraphNode>,
                data: Out<CUgraphEdgeData>, count: Out<usize>,
            ) => structure::edges::<L>(graph, (from, to), data, count);
            fn cuGraphNodeGetDependencies(
                node: CUgraphNode, to: Out<CUgraphNode>, count: Out<usize>,
            ) => structure::neighbors::<L>(node, false, to, Out::null(), count);
            fn cuGraphNodeGetDependencies_v2(
                node: CUgraphNode, to: Out<CUgraphNode>, data: Out<CUgraphEdgeData>,
                count: Out<usize>,
            ) => structure::neighbors::<L>(node, false, to, data, count);
            fn cuGraphNodeGetDependentNodes(
                node: CUgraphNode, to: Out<CUgraphNode>, count: Out<usize>,
            ) => structure::neighbors::<L>(node, true, to, Out::null(), count);
            fn cuGraphNodeGetDependentNodes_v2(
                node: CUgraphNode, to: Out<CUgraphNode>, data: Out<CUgraphEdgeData>,
                count: Out<usize>,
            ) => structure::neighbors::<L>(node, true, to, data, count);
            fn cuGraphAddDependencies(
                graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>, count: usize,
            ) => structure::change_edges::<L>(graph, (from, to), In::null(), count, true);
            fn cuGraphAddDependencies_v2(
                graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>,
                data: In<CUgraphEdgeData>, count: usize,
            ) => structure::change_edges::<L>(graph, (from, to), data, count, true);
            fn cuGraphRemoveDependencies(
                graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>, count: usize,
            ) => structure::remove_any_edges::<L>(graph, (from, to), count);
            fn cuGraphRemoveDependencies_v2(
                graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>,
                data: In<CUgraphEdgeData>, count: usize,
            ) => structure::change_edges::<L>(graph, (from, to), data, count, false);

            fn cuGraphConditionalHandleCreate(
                to: Out<CUgraphConditionalHandle>, graph: CUgraph, context: CUcontext,
                default: u32, flags: u32,
            ) => conditional::create_handle::<L>(to, graph, context, default, flags);
            fn cuGraphDebugDotPrint(graph: CUgraph, path: Text, flags: u32) =>
                dot::print::<L>(graph, path, flags);
            fn cuUserObjectCreate(
                to: Out<CUuserObject>, data: *mut std::ffi::c_void, destructor: CUhostFn,
                count: u32, flags: u32,
            ) => users::create::<L>(to, data, destructor, count, flags);
            fn cuUserObjectRetain(object: CUuserObject, count: u32) =>
                users::retain::<L>(object, count);
            fn cuUserObjectRelease(object: CUuserObject, count: u32) =>
                users::release::<L>(object, count);
            fn cuGraphRetainUserObject(
                graph: CUgraph, object: CUuserObject, count: u32, flags: u32,
            ) => users::graph_retain::<L>(graph, object, count, flags);
            fn cuGraphReleaseUserObject(graph: CUgraph, object: CUuserObject, count: u32) =>
                users::graph_release::<L>(graph, object, count);

            fn cuGraphAddNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: *mut CUgraphNodeParams,
            ) => generic::add::<L>(to, graph, (after, count).into(), params);
            fn cuGraphAddNode_v2(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>,
                data: In<CUgraphEdgeData>, count: usize, params: *mut CUgraphNodeParams,
            ) => generic::add::<L>(to, graph, (after, data, count).into(), params);
            fn cuGraphNodeSetParams(node: CUgraphNode, params: *mut CUgraphNodeParams) =>
                generic::set::<L>(node, params);
            fn cuGraphExecNodeSetParams(
                exec: CUgraphExec, node: CUgraphNode, params: *mut CUgraphNodeParams,
            ) => generic::set_in_exec::<L>(exec, node, params);
            fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, to: Out<u32>) =>
                exec::is_enabled::<L>(exec, node, to);
            fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: u32) =>
                exec::set_enabled::<L>(exec, node, enabled);

            fn cuGraphAddEmptyNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
            ) => structure::add::<L>(to, graph, (after, count), |table, graph, after| {
                table.add(graph, Work::Empty, after)
            });
            fn cuGraphAddChildGraphNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                child: CUgraph,
            ) => structure::add::<L>(to, graph, (after, count), |table, graph, after| {
                table.add_child(graph, child as GraphId, after)
            });
            fn cuGraphAddKernelNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: In<CUDA_KERNEL_NODE_PARAMS_v1>,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::kernel(params)?);
            fn cuGraphAddKernelNode_v2(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: In<CUDA_KERNEL_NODE_PARAMS>,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::kernel(params)?);
            fn cuGraphAddMemcpyNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: In<CUDA_MEMCPY3D>, _context: CUcontext,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::copy(params)?);
            fn cuGraphAddMemsetNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: In<CUDA_MEMSET_NODE_PARAMS>, context: CUcontext,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::memset_in(params, context)?);
            fn cuGraphAddHostNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: In<CUDA_HOST_NODE_PARAMS>,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::host(params)?);
            fn cuGraphAddEventRecordNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                event: CUevent,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::event(event, true)?);
            fn cuGraphAddEventWaitNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                event: CUevent,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::event(event, false)?);

            fn cuGraphAddBatchMemOpNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
            ) => nodes::add::<L>(to, graph, (after, count), nodes::batch(params)?);
            fn cuGraphBatchMemOpNodeGetParams(
                node: CUgraphNode, to: Out<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
            ) => nodes::batch_params::<L>(node, to);
            fn cuGraphBatchMemOpNodeSetParams(
                node: CUgraphNode, params: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
            ) => nodes::set::<L>(node, nodes::batch(params)?);
            fn cuGraphExecBatchMemOpNodeSetParams(
                exec: CUgraphExec, node: CUgraphNode, params: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
            ) => exec::set_node::<L>(exec, node, nodes::batch(params)?);
            fn cuGraphAddMemAllocNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                params: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
            ) => alloc::add::<L>(to, graph, (after, count), params);
            fn cuGraphAddMemFreeNode(
                to: Out<CUgraphNode>, graph: CUgraph, after: In<CUgraphNode>, count: usize,
                address: CUdeviceptr,
            ) => alloc::add_free::<L>(to, graph, (after, count), address);
            fn cuGraphMemAllocNodeGetParams(
                node: CUgraphNode, to: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
            ) => alloc::alloc_params::<L>(node, to);
            fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, to: Out<CUdeviceptr>) =>
                alloc::free_params::<L>(node, to);

            fn cuGraphKernelNodeGetParams(
                node: CUgraphNode, to: Out<CUDA_KERNEL_NODE_PARAMS_v1>,
            ) => nodes::kernel_params::<L>(node, to);
            fn cuGraphKernelNodeGetParams_v2(
                node: CUgraphNode, to: Out<CUDA_KERNEL_NODE_PARAMS>,
            ) => nodes::kernel_params::<L>(node, to);
            fn cuGraphKernelNodeSetParams(
                node: CUgraphNode, params: In<CUDA_KERNEL_NODE_PARAMS_v1>,
            ) => nodes::set::<L>(node, nodes::other_kernel(node, params)?);
            fn cuGraphKernelNodeSetParams_v2(
                node: CUgraphNode, params: In<CUDA_KERNEL_NODE_PARAMS>,
            ) => nodes::set::<L>(node, nodes::other_kernel(node, params)?);
            fn cuGraphKernelNodeGetAttribute(
                node: CUgraphNode, which: CUkernelNodeAttrID, to: Out<CUstreamAttrValue>,
            ) => nodes::attribute::<L>(node, which, to);
            fn cuGraphKernelNodeSetAttribute(
                node: CUgraphNode, which: CUkernelNodeAttrID, value: In<CUstreamAttrValue>,
            ) => nodes::set_attribute::<L>(node, which, value);
            fn cuGraphKernelNodeCopyAttributes(to: CUgraphNode, from: CUgraphNode) =>
                nodes::copy_attributes::<L>(to, from);
            fn cuGraphMemcpyNodeGetParams(node: CUgraphNode, to: Out<CUDA_MEMCPY3D>) =>
                nodes::copy_params::<L>(node, to);
            fn cuGraphMemcpyNodeSetParams(node: CUgraphNode, params: In<CUDA_MEMCPY3D>) =>
                nodes::set::<L>(node, nodes::copy(params)?);
            fn cuGraphMemsetNodeGetParams(node: CUgraphNode, to: Out<CUDA_MEMSET_NODE_PARAMS>) =>
                nodes::memset_params::<L>(node, to);
            fn cuGraphMemsetNodeSetParams(
                node: CUgraphNode, params: In<CUDA_MEMSET_NODE_PARAMS>,
            ) => nodes::set::<L>(node, nodes::memset(params)?);
            fn cuGraphHostNodeGetParams(node: CUgraphNode, to: Out<CUDA_HOST_NODE_PARAMS>) =>
                nodes::host_params::<L>(node, to);
            fn cuGraphHostNodeSetParams(node: CUgraphNode, params: In<CUDA_HOST_NODE_PARAMS>) =>
                nodes::set::<L>(node, nodes::host(params)?);
            fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, to: Out<CUevent>) =>
                nodes::event_of::<L>(node, true, to);
            fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) =>
                nodes::set::<L>(node, nodes::event(event, true)?);
            fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, to: Out<CUevent>) =>
                nodes::event_of::<L>(node, false, to);
            fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) =>
                nodes::set::<L>(node, nodes::event(event, false)?);

            fn cuGraphExecKernelNodeSetParams(
                exec: CUgraphExec, node: CUgraphNode, params: In<CUDA_KERNEL_NODE_PARAMS_v1>,
            ) => exec::set_node::<L>(exec, node, nodes::other_kernel(node, params)?);
            fn cuGraphExecKernelNodeSetParams_v2(
                exec: CUgraphExec, node: CUgraphNode, params: In<CUDA_KERNEL_NODE_PARAMS>,
            ) => exec::set_node::<L>(exec, node, nodes::other_kernel(node, params)?);
            fn cuGraphExecMemcpyNodeSetParams(
                exec: CUgraphExec, node: CUgraphNode, params: In<CUDA_MEMCPY3D>,
                _context: CUcontext,
            ) => exec::set_node::<L>(exec, node, nodes::copy(params)?);
            fn cuGraphExecMemsetNodeSetParams(
                exec: CUgraphExec, node: CUgraphNode, params: In<CUDA_MEMSET_NODE_PARAMS>,
                _context: CUcontext,
            ) => exec::set_node::<L>(exec, node, nodes::memset(params)?);
            fn cuGraphExecHostNodeSetParams(
                exec: CUgraphExec, node: CUgraphNode, params: In<CUDA_HOST_NODE_PARAMS>,
            ) => exec::set_node::<L>(exec, node, nodes::host(params)?);
            fn cuGraphExecEventRecordNodeSetEvent(
                exec: CUgraphExec, node: CUgraphNode, event: CUevent,
            ) => exec::set_node::<L>(exec, node, nodes::event(event, true)?);
            fn cuGraphExecEventWaitNodeSetEvent(
                exec: CUgraphExec, node: CUgraphNode, event: CUevent,
            ) => exec::set_node::<L>(exec, node, nodes::event(event, false)?);

            fn cuGraphExecChildGraphNodeSetParams(
                exec: CUgraphExec, node: CUgraphNode, child: CUgraph,
            ) => exec::set_child::<L>(exec, node, child);

            fn cuGraphInstantiate(
                to: Out<CUgraphExec>, graph: CUgraph, error_node: Out<CUgraphNode>,
                log: Out<std::ffi::c_char>, room: usize,
            ) => exec::instantiate_with_log::<L>(to, graph, error_node, (log, room));
            fn cuGraphInstantiate_v2(
                to: Out<CUgraphExec>, graph: CUgraph, error_node: Out<CUgraphNode>,
                log: Out<std::ffi::c_char>, room: usize,
            ) => exec::instantiate_with_log::<L>(to, graph, error_node, (log, room));
            fn cuGraphInstantiateWithFlags(to: Out<CUgraphExec>, graph: CUgraph, flags: u64) =>
                exec::instantiate::<L>(to, graph, flags);
            fn cuGraphInstantiateWithParams, fn cuGraphInstantiateWithParams_ptsz(
                to: Out<CUgraphExec>, graph: CUgraph, params: Out<CUDA_GRAPH_INSTANTIATE_PARAMS>,
            ) |per_thread| => exec::instantiate_with::<L>(to, graph, params, per_thread);
            fn cuGraphLaunch, fn cuGraphLaunch_ptsz(
                exec: CUgraphExec, stream: CUstream,
            ) |per_thread| => exec::launch::<L>(exec, stream, per_thread);
            fn cuGraphUpload, fn cuGraphUpload_ptsz(
                exec: CUgraphExec, stream: CUstream,
            ) |per_thread| => exec::upload::<L>(exec, stream, per_thread);
            fn cuGraphExecDestroy(exec: CUgraphExec) =>
                <L as $crate::graph::Library>::destroy(exec);
            fn cuGraphExecGetFlags(exec: CUgraphExec, to: Out<u64>) => exec::flags::<L>(exec, to);
            fn cuGraphExecUpdate(
                exec: CUgraphExec, graph: CUgraph, error_node: Out<CUgraphNode>,
                result: Out<CUgraphExecUpdateResult>,
            ) => exec::update_v1::<L>(exec, graph, error_node, result);
            fn cuGraphExecUpdate_v2(
                exec: CUgraphExec, graph: CUgraph, info: Out<CUgraphExecUpdateResultInfo>,
            ) => exec::update::<L>(exec, graph, info);

            fn cuStreamBeginCapture, fn cuStreamBeginCapture_ptsz(stream: CUstream) |per_thread| => {
                // The first version of the call has no parameter for the capture mode. As in
                // NVIDIA's driver, it uses the relaxed mode.
                let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
                capturing::begin_new::<L>((stream, per_thread), mode)
            };
            fn cuStreamBeginCapture_v2, fn cuStreamBeginCapture_v2_ptsz(
                stream: CUstream, mode: CUstreamCaptureMode,
            ) |per_thread| => capturing::begin_new::<L>((stream, per_thread), mode);
            fn cuStreamBeginCaptureToGraph, fn cuStreamBeginCaptureToGraph_ptsz(
                stream: CUstream, graph: CUgraph, nodes: In<CUgraphNode>,
                edges: In<CUgraphEdgeData>, count: usize, mode: CUstreamCaptureMode,
            ) |per_thread| => {
                capturing::begin_into::<L>((stream, per_thread), graph, (nodes, edges, count), mode)
            };
            fn cuStreamEndCapture, fn cuStreamEndCapture_ptsz(
                stream: CUstream, graph: Out<CUgraph>,
            ) |per_thread| => capturing::end::<L>((stream, per_thread), graph);
            fn cuStreamIsCapturing, fn cuStreamIsCapturing_ptsz(
                stream: CUstream, status: Out<CUstreamCaptureStatus>,
            ) |per_thread| => capturing::is_capturing::<L>((stream, per_thread), status);
            fn cuStreamGetCaptureInfo, fn cuStreamGetCaptureInfo_ptsz(
                stream: CUstream, status: Out<CUstreamCaptureStatus>, id: Out<u64>,
            ) |per_thread| => {
                capturing::info::<L>((stream, per_thread), capturing::InfoTo::new(status, id))
            };
            fn cuStreamGetCaptureInfo_v2, fn cuStreamGetCaptureInfo_v2_ptsz(
                stream: CUstream, status: Out<CUstreamCaptureStatus>, id: Out<u64>,
                graph: Out<CUgraph>, nodes: Out<*const CUgraphNode>, count: Out<usize>,
            ) |per_thread| => {
                let to = capturing::InfoTo::new(status, id);
                let to = capturing::InfoTo { graph, nodes, count, ..to };
                capturing::info::<L>((stream, per_thread), to)
            };
            fn cuStreamGetCaptureInfo_v3, fn cuStreamGetCaptureInfo_v3_ptsz(
                stream: CUstream, status: Out<CUstreamCaptureStatus>, id: Out<u64>,
                graph: Out<CUgraph>, nodes: Out<*const CUgraphNode>,
                edges: Out<*const CUgraphEdgeData>, count: Out<usize>,
            ) |per_thread| => {
                let to = capturing::InfoTo { status, id, graph, nodes, edges, count };
                capturing::info::<L>((stream, per_thread), to)
            };
            fn cuStreamUpdateCaptureDependencies, fn cuStreamUpdateCaptureDependencies_ptsz(
                stream: CUstream, nodes: *mut CUgraphNode, count: usize, flags: u32,
            ) |per_thread| => {
                let nodes = (In::from_c(nodes.cast_const()), In::null(), count);
                capturing::update::<L>((stream, per_thread), nodes, flags)
            };
            fn cuStreamUpdateCaptureDependencies_v2, fn cuStreamUpdateCaptureDependencies_v2_ptsz(
                stream: CUstream, nodes: *mut CUgraphNode, edges: In<CUgraphEdgeData>,
                count: usize, flags: u32,
            ) |per_thread| => {
                let nodes = (In::from_c(nodes.cast_const()), edges, count);
                capturing::update::<L>((stream, per_thread), nodes, flags)
            };
            fn cuThreadExchangeStreamCaptureMode(mode: Out<CUstreamCaptureMode>) =>
                capturing::exchange_mode::<L>(mode);
        }
    };

    (@each [$($done:ident)*]) => {
        /// The entry points, for [`exports!`](cuda_api::exports).
        pub(crate) const ENTRIES: &[$crate::exports::Entry] = &[$($crate::entry!($done)),*];
    };
    (@each [$($done:ident)*]
     fn $name:ident, fn $of_thread:ident($($arg:ident: $t:ty),* $(,)?) |$per_thread:ident|
     => $body:expr; $($rest:tt)*) => {
        $crate::graph_entries! { @one $name($($arg: $t),*) |$per_thread = false| $body }
        $crate::graph_entries! { @one $of_thread($($arg: $t),*) |$per_thread = true| $body }
        $crate::graph_entries! { @each [$($done)* $name $of_thread] $($rest)* }
    };
    (@each [$($done:ident)*]
     fn $name:ident($($arg:ident: $t:ty),* $(,)?) => $body:expr; $($rest:tt)*) => {
        $crate::graph_entries! { @one $name($($arg: $t),*) |_per_thread = false| $body }
        $crate::graph_entries! { @each [$($done)* $name] $($rest)* }
    };
    (@one $name:ident($($arg:ident: $t:ty),*) |$per_thread:ident = $value:literal| $body:expr) => {
        #[allow(non_snake_case, unused_unsafe)]
        unsafe extern "C" fn $name($($arg: <$t as Arg>::C),*) -> CUresult {
            let $per_thread = $value;
            <L as $crate::graph::Library>::run(stringify!($name), move || {
                // SAFETY: the program passes its arguments by the driver API's rules, and they are
                // used only during the call.
                unsafe {
                    $(let $arg = <$t as Arg>::from_c($arg);)*
                    $body
                }
            })
        }
        const _: $crate::prototypes::$name = $name;
    };
}
