//! Kernel nodes: their attributes, and both versions of their parameters.

use super::cases;
use super::graph::{add, empty, graph, instantiate, launch, one_thread, run};
use crate::cuda::{cu, parameter, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUaccessPolicyWindow, CUaccessProperty,
    CUlaunchAttributeID, CUstreamAttrValue,
};
use std::ptr::{null, null_mut};

/// The body of a case that changes the parameters of kernel nodes. The arguments select the version
/// of the parameters and the functions for that version.
macro_rules! parameters_are_changed {
    ($cuda:ident, $params:ident, $add:ident, $get:ident, $set:ident, $set_in_exec:ident) => {{
        $cuda.primary()?;
        let (_, function) = $cuda.kernel(FILL, c"fill")?;
        let (pointer, graph) = ($cuda.alloc(64)?, graph($cuda)?);
        let (values, count) = ([3u32, 4, 5], 16u32);
        let mut first = [parameter(&pointer), parameter(&values[0]), parameter(&count)];
        let mut second = [parameter(&pointer), parameter(&values[1]), parameter(&count)];
        let mut third = [parameter(&pointer), parameter(&values[2]), parameter(&count)];
        let [first, second, third] =
            [(&mut first, 8), (&mut second, 6), (&mut third, 4)].map(|(parameters, block)| {
                $params {
                    func: function,
                    gridDimX: 1,
                    gridDimY: 1,
                    gridDimZ: 1,
                    blockDimX: block,
                    blockDimY: 1,
                    blockDimZ: 1,
                    kernelParams: parameters.as_mut_ptr(),
                    ..Default::default()
                }
            });
        let (mut kernel, mut found) = (null_mut(), $params::default());
        cu!($cuda, $add(&mut kernel, graph, null(), 0, &first))?;
        let other = empty($cuda, graph, &[kernel])?;
        let exec = instantiate($cuda, graph)?;
        $cuda.upload(pointer, &[0u32; 16])?;
        run($cuda, exec)?;
        same!($cuda.download::<u32>(pointer, 9)?[5..], [3, 3, 3, 0]);
        cu!($cuda, $get(kernel, &mut found))?;
        same!((found.func, found.gridDimX, found.blockDimX), (function, 1, 8));
        // SAFETY: the kernel has three parameters, so the array has three elements. The second
        // parameter has 32 bits, and its value is aligned.
        same!(unsafe { **found.kernelParams.add(1).cast::<*const u32>() }, 3);

        // A change of a node affects only later instantiations. A change of an executable graph's
        // node affects later launches.
        cu!($cuda, $set(kernel, &second))?;
        cu!($cuda, $get(kernel, &mut found))?;
        same!(found.blockDimX, 6);
        let later = instantiate($cuda, graph)?;
        cu!($cuda, $set_in_exec(exec, kernel, &third))?;
        for (exec, expected) in [(later, [4, 4, 4, 4, 4, 4, 0]), (exec, [5, 5, 5, 5, 0, 0, 0])] {
            $cuda.upload(pointer, &[0u32; 16])?;
            run($cuda, exec)?;
            same!($cuda.download::<u32>(pointer, 7)?, expected);
        }
        let mut node = null_mut();
        refused!(cu!($cuda, $add(&mut node, null_mut(), null(), 0, &first)), INVALID_VALUE);
        refused!(cu!($cuda, $get(other, &mut found)), INVALID_VALUE);
        refused!(cu!($cuda, $set(other, &first)), INVALID_VALUE);
        refused!(cu!($cuda, $set_in_exec(exec, other, &first)), INVALID_VALUE);
        // `node` was added after the instantiation, so the executable graph has no node for it.
        cu!($cuda, $add(&mut node, graph, null(), 0, &first))?;
        refused!(cu!($cuda, $set_in_exec(exec, node, &first)), INVALID_VALUE);
        for exec in [exec, later] {
            cu!($cuda, cuGraphExecDestroy(exec))?;
        }
        cu!($cuda, cuGraphDestroy(graph))?;
        Ok(())
    }};
}

cases! {
    fn parameters_are_changed(cuda) {
        parameters_are_changed!(
            cuda,
            CUDA_KERNEL_NODE_PARAMS,
            cuGraphAddKernelNode_v2,
            cuGraphKernelNodeGetParams_v2,
            cuGraphKernelNodeSetParams_v2,
            cuGraphExecKernelNodeSetParams_v2
        )
    }

    fn parameters_of_the_first_version_are_changed(cuda) {
        parameters_are_changed!(
            cuda,
            CUDA_KERNEL_NODE_PARAMS_v1,
            cuGraphAddKernelNode,
            cuGraphKernelNodeGetParams,
            cuGraphKernelNodeSetParams,
            cuGraphExecKernelNodeSetParams
        )
    }

    /// Half of the changes set parameters that the node already has, so they must not have an
    /// effect.
    fn many_nodes_are_changed_between_launches(cuda) {
        const NODES: usize = 20;
        cuda.primary()?;
        let (_, function) = cuda.kernel(FILL, c"fill")?;
        let (pointer, graph) = (cuda.alloc(4 * NODES)?, graph(cuda)?);
        let mut nodes = [null_mut(); NODES];
        let (mut exec, count) = (null_mut(), 1u32);
        for round in 0..=10u32 {
            for (index, node) in nodes.iter_mut().enumerate() {
                let target = pointer + 4 * index as u64;
                let value = if index % 2 == 0 { 100 + round } else { 7 };
                let mut parameters = [parameter(&target), parameter(&value), parameter(&count)];
                let params = one_thread(function, &mut parameters);
                match round {
                    0 => cu!(cuda, cuGraphAddKernelNode_v2(node, graph, null(), 0, &params))?,
                    _ => cu!(cuda, cuGraphExecKernelNodeSetParams_v2(exec, *node, &params))?,
                }
            }
            if round == 0 {
                exec = instantiate(cuda, graph)?;
            }
            cuda.upload(pointer, &[0u32; NODES])?;
            run(cuda, exec)?;
            let expected: Vec<u32> =
                (0..NODES).map(|index| if index % 2 == 0 { 100 + round } else { 7 }).collect();
            same!(cuda.download::<u32>(pointer, NODES)?, expected);
        }
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn a_node_names_the_kernel_of_a_library(cuda, primary) {
        let (mut library, mut kernel, mut function) = (null_mut(), null_mut(), null_mut());
        let (image, none) = (FILL.as_ptr().cast(), (null_mut(), null_mut()));
        cu!(cuda, cuLibraryLoadData(&mut library, image, none.0, none.1, 0, null_mut(), null_mut(), 0))?;
        cu!(cuda, cuLibraryGetKernel(&mut kernel, library, c"fill".as_ptr()))?;
        cu!(cuda, cuKernelGetFunction(&mut function, kernel))?;
        let (pointer, graph, value, count) = (cuda.alloc(64)?, graph(cuda)?, 7u32, 4u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        let by_function = CUDA_KERNEL_NODE_PARAMS {
            func: function,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 4,
            blockDimY: 1,
            blockDimZ: 1,
            kernelParams: parameters.as_mut_ptr(),
            ..Default::default()
        };
        let by_kernel = CUDA_KERNEL_NODE_PARAMS { func: null_mut(), kern: kernel, ..by_function };
        let mut node = null_mut();
        for params in [by_function, by_kernel] {
            cu!(cuda, cuGraphAddKernelNode_v2(&mut node, graph, null(), 0, &params))?;
            // The query returns the kernel in `kern`, even if the program passed a function in
            // `func`. cudart depends on this.
            let mut found = CUDA_KERNEL_NODE_PARAMS::default();
            cu!(cuda, cuGraphKernelNodeGetParams_v2(node, &mut found))?;
            same!(found.kern, kernel);
            // The parameters that a query returns can be passed to a call that sets them.
            found.blockDimX = 3;
            cu!(cuda, cuGraphKernelNodeSetParams_v2(node, &found))?;
            let mut again = CUDA_KERNEL_NODE_PARAMS::default();
            cu!(cuda, cuGraphKernelNodeGetParams_v2(node, &mut again))?;
            same!((again.kern, again.blockDimX), (kernel, 3));
        }
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 3)?, [7, 7, 7]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn attributes_are_copied(cuda, primary) {
        let (_, function) = cuda.kernel(FILL, c"fill")?;
        let (pointer, graph, value, count) = (cuda.alloc(4096)?, graph(cuda)?, 7u32, 1u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        let first = add(cuda, graph, &[], launch(function, &mut parameters))?;
        let second = add(cuda, graph, &[first], launch(function, &mut parameters))?;
        let which = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
        let mut window = CUstreamAttrValue { pad: [0; 64] };
        window.accessPolicyWindow = CUaccessPolicyWindow {
            base_ptr: std::ptr::without_provenance_mut(pointer as usize),
            num_bytes: 4096,
            hitRatio: 0.5,
            hitProp: CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING,
            missProp: CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING,
        };
        cu!(cuda, cuGraphKernelNodeSetAttribute(first, which, &window))?;
        cu!(cuda, cuGraphKernelNodeCopyAttributes(second, first))?;
        let mut found = CUstreamAttrValue { pad: [0; 64] };
        cu!(cuda, cuGraphKernelNodeGetAttribute(second, which, &mut found))?;
        // SAFETY: the value of this attribute is an access policy window, which consists of
        // numbers.
        let found = unsafe { found.accessPolicyWindow };
        same!((found.base_ptr as u64, found.num_bytes, found.hitRatio), (pointer, 4096, 0.5));
        same!(found.missProp, CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING);
        let exec = instantiate(cuda, graph)?;
        run(cuda, exec)?;
        same!(cuda.download::<u32>(pointer, 1)?, [7]);
        let (other, mut value) = (empty(cuda, graph, &[])?, window);
        refused!(cu!(cuda, cuGraphKernelNodeGetAttribute(other, which, &mut value)), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphKernelNodeCopyAttributes(second, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuGraphKernelNodeCopyAttributes(null_mut(), first)), INVALID_VALUE);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }
}
