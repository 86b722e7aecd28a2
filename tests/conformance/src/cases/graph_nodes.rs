//! Nodes that set memory, copy it, or call host functions. Their parameters are changed in graphs
//! and in executable graphs.

use super::cases;
use super::graph::{add_copy, copy, empty, graph, instantiate, run};
use crate::cuda::{cu, refused, same};
use cuda_api::sys::{CUDA_HOST_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS};
use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The arguments of all calls of the host functions so far, as decimal digits. The last call's
/// argument is the last digit. Each case runs in its own process.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A host function that appends its argument to `CALLS` as a digit.
unsafe extern "C" fn digit(argument: *mut c_void) {
    let add = |calls: usize| Some(calls * 10 + argument.addr());
    let _ = CALLS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
}

/// A host function that appends the digit 9 to `CALLS`.
unsafe extern "C" fn nine(_: *mut c_void) {
    // SAFETY: `digit` doesn't dereference its argument.
    unsafe { digit(without_provenance_mut(9)) };
}

cases! {
    fn memsets_are_changed(cuda, primary = (_, context)) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        let set = |value, width| CUDA_MEMSET_NODE_PARAMS {
            dst: pointer,
            pitch: 0,
            value,
            elementSize: 2,
            width,
            height: 1,
        };
        let (mut node, mut found) = (null_mut(), CUDA_MEMSET_NODE_PARAMS::default());
        cu!(cuda, cuGraphAddMemsetNode(&mut node, graph, null(), 0, &set(3, 8), context))?;
        let other = empty(cuda, graph, &[node])?;
        cu!(cuda, cuGraphMemsetNodeGetParams(node, &mut found))?;
        same!((found.dst, found.value, found.elementSize), (pointer, 3, 2));
        same!((found.width, found.height), (8, 1));
        let exec = instantiate(cuda, graph)?;
        cuda.upload(pointer, &[0u16; 16])?;
        run(cuda, exec)?;
        same!(cuda.download::<u16>(pointer, 10)?, [3, 3, 3, 3, 3, 3, 3, 3, 0, 0]);

        // A change of a node affects only later instantiations. A change of an executable graph's
        // node affects later launches.
        cu!(cuda, cuGraphMemsetNodeSetParams(node, &set(4, 6)))?;
        cu!(cuda, cuGraphMemsetNodeGetParams(node, &mut found))?;
        same!((found.value, found.width), (4, 6));
        let later = instantiate(cuda, graph)?;
        let moved = CUDA_MEMSET_NODE_PARAMS { dst: pointer + 4, ..set(5, 8) };
        cu!(cuda, cuGraphExecMemsetNodeSetParams(exec, node, &moved, context))?;
        for (exec, expected) in
            [(later, [4, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0]), (exec, [0, 0, 5, 5, 5, 5, 5, 5, 5, 5, 0])]
        {
            cuda.upload(pointer, &[0u16; 16])?;
            run(cuda, exec)?;
            same!(cuda.download::<u16>(pointer, 11)?, expected);
        }
        let odd = CUDA_MEMSET_NODE_PARAMS { elementSize: 3, ..set(1, 1) };
        let mut none = null_mut();
        let added = cu!(cuda, cuGraphAddMemsetNode(&mut none, graph, null(), 0, &odd, context));
        refused!(added, INVALID_VALUE);
        refused!(cu!(cuda, cuGraphMemsetNodeGetParams(other, &mut found)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphMemsetNodeSetParams(other, &set(1, 1))), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphMemsetNodeSetParams(node, &odd)), INVALID_VALUE);
        let changed = cu!(cuda, cuGraphExecMemsetNodeSetParams(exec, other, &set(1, 1), context));
        refused!(changed, INVALID_VALUE);
        for exec in [exec, later] {
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn copies_are_changed(cuda, primary = (_, context)) {
        let (pointer, graph) = (cuda.alloc(64)?, graph(cuda)?);
        let source = [1u32, 2, 3, 4, 0, 0, 0, 0];
        let node = add_copy(cuda, graph, &[], &copy(pointer + 16, pointer, 8))?;
        let other = empty(cuda, graph, &[node])?;
        let mut found = CUDA_MEMCPY3D::default();
        cu!(cuda, cuGraphMemcpyNodeGetParams(node, &mut found))?;
        same!((found.dstDevice, found.srcDevice), (pointer + 16, pointer));
        same!((found.WidthInBytes, found.Height, found.Depth), (8, 1, 1));
        let exec = instantiate(cuda, graph)?;
        cu!(cuda, cuGraphMemcpyNodeSetParams(node, &copy(pointer + 16, pointer + 4, 8)))?;
        cu!(cuda, cuGraphMemcpyNodeGetParams(node, &mut found))?;
        same!(found.srcDevice, pointer + 4);
        let later = instantiate(cuda, graph)?;
        let moved = copy(pointer + 24, pointer + 8, 8);
        for (exec, expected, change) in
            [(exec, [1, 2, 0, 0], true), (later, [2, 3, 0, 0], false), (exec, [0, 0, 3, 4], false)]
        {
            cuda.upload(pointer, &source)?;
            run(cuda, exec)?;
            same!(cuda.download::<u32>(pointer + 16, 4)?, expected);
            if change {
                cu!(cuda, cuGraphExecMemcpyNodeSetParams(exec, node, &moved, context))?;
            }
        }
        refused!(cu!(cuda, cuGraphMemcpyNodeGetParams(other, &mut found)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphMemcpyNodeSetParams(other, &moved)), INVALID_VALUE);
        let changed = cu!(cuda, cuGraphExecMemcpyNodeSetParams(exec, other, &moved, context));
        refused!(changed, INVALID_VALUE);
        for exec in [exec, later] {
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn functions_of_the_program_are_changed(cuda, primary) {
        let graph = graph(cuda)?;
        let call = |number| CUDA_HOST_NODE_PARAMS {
            fn_: Some(digit),
            userData: without_provenance_mut(number),
        };
        let (mut first, mut second, mut found) = (null_mut(), null_mut(), call(0));
        cu!(cuda, cuGraphAddHostNode(&mut first, graph, null(), 0, &call(1)))?;
        cu!(cuda, cuGraphAddHostNode(&mut second, graph, &first, 1, &call(2)))?;
        let other = empty(cuda, graph, &[second])?;
        cu!(cuda, cuGraphHostNodeGetParams(second, &mut found))?;
        same!(found.userData.addr(), 2);
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(CALLS.load(Ordering::SeqCst), 12);
        cu!(cuda, cuGraphHostNodeSetParams(second, &call(3)))?;
        cu!(cuda, cuGraphHostNodeGetParams(second, &mut found))?;
        same!(found.userData.addr(), 3);
        let later = instantiate(cuda, graph)?;
        run(cuda, later)?;
        same!(CALLS.load(Ordering::SeqCst), 1213);
        let changed = CUDA_HOST_NODE_PARAMS { fn_: Some(nine), userData: null_mut() };
        cu!(cuda, cuGraphExecHostNodeSetParams(exec, first, &changed))?;
        run(cuda, exec)?;
        run(cuda, later)?;
        same!(CALLS.load(Ordering::SeqCst), 12_139_213);
        let (none, mut node) = (CUDA_HOST_NODE_PARAMS { fn_: None, ..call(1) }, null_mut());
        refused!(cu!(cuda, cuGraphAddHostNode(&mut node, graph, null(), 0, &none)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphHostNodeGetParams(other, &mut found)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphHostNodeSetParams(other, &call(1))), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphHostNodeSetParams(first, &none)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphExecHostNodeSetParams(exec, other, &call(1))), INVALID_VALUE);
        for exec in [exec, later] {
            cu!(cuda, cuGraphExecDestroy(exec))?;
        }
        cu!(cuda, cuGraphDestroy(graph))?;
    }
}
