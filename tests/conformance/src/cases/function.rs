//! Functions: their module, their state, their attributes, and less common ways to launch them.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, ensure, get, parameter, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{
    CUfunc_cache, CUfunction, CUfunction_attribute as Attribute, CUfunctionLoadingState as State,
    CUlaunchConfig, CUmoduleLoadingMode as Mode, CUsharedconfig, CUstream,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Describes a launch with one-dimensional blocks.
fn config([grid, block]: [u32; 2], stream: CUstream) -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: grid,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: block,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: stream,
        attrs: null_mut(),
        numAttrs: 0,
    }
}

/// Allocates 16 words with the value 1.
fn ones(cuda: &Cuda) -> Outcome<u64> {
    let pointer = cuda.alloc(64)?;
    cuda.upload(pointer, &[1u32; 16])?;
    cu!(cuda, cuCtxSynchronize())?;
    Ok(pointer)
}

/// A launch that adds `value` (2) to the first `count` (8) of 16 words, which have the value 1.
struct Addition {
    function: CUfunction,
    stream: CUstream,
    pointer: u64,
    value: u32,
    count: u32,
}

impl Addition {
    fn new(cuda: &Cuda) -> Outcome<Self> {
        let (_, function) = cuda.kernel(FILL, c"add")?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        Ok(Self { function, stream, pointer: ones(cuda)?, value: 2, count: 8 })
    }

    fn parameters(&self) -> [*mut c_void; 3] {
        [parameter(&self.pointer), parameter(&self.value), parameter(&self.count)]
    }

    /// Checks the words. Fails unless the kernel has run exactly once.
    fn check(&self, cuda: &Cuda) -> Outcome {
        cu!(cuda, cuStreamSynchronize(self.stream))?;
        same!(cuda.download::<u32>(self.pointer, 16)?, [[3u32; 8], [1; 8]].concat());
        Ok(())
    }
}

cases! {
    fn a_function_knows_its_module(cuda, primary) {
        let (module, fill) = cuda.kernel(FILL, c"fill")?;
        let (mut found, mut name) = (null_mut(), null());
        cu!(cuda, cuFuncGetModule(&mut found, fill))?;
        same!(found, module);
        cu!(cuda, cuFuncGetName(&mut name, fill))?;
        refused!(cu!(cuda, cuFuncGetModule(null_mut(), fill)), INVALID_VALUE);
        refused!(cu!(cuda, cuFuncGetModule(&mut found, null_mut())), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuFuncGetName(null_mut(), fill)), INVALID_VALUE);
        refused!(cu!(cuda, cuFuncGetName(&mut name, null_mut())), INVALID_VALUE);
        cu!(cuda, cuModuleUnload(module))?;
        refused!(cu!(cuda, cuModuleUnload(null_mut())), INVALID_VALUE | INVALID_HANDLE);
    }

    fn functions_are_loaded_on_demand(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (mut mode, mut state) = (Mode(77), State(77));
        cu!(cuda, cuModuleGetLoadingMode(&mut mode))?;
        ensure!(matches!(mode.0, 1 | 2), "the mode is {mode:?}");
        cu!(cuda, cuFuncLoad(fill))?;
        cu!(cuda, cuFuncIsLoaded(&mut state, fill))?;
        same!(state, State::CU_FUNCTION_LOADING_STATE_LOADED);
    }

    fn preferences_do_not_change_results(cuda, primary) {
        let add = Addition::new(cuda)?;
        cu!(cuda, cuFuncSetCacheConfig(add.function, CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED))?;
        let banks = CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
        cu!(cuda, cuFuncSetSharedMemConfig(add.function, banks))?;
        cuda.launch(add.function, [1, 16], add.stream, &mut add.parameters())?;
        add.check(cuda)?;
        let (cache, null) = (CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE, null_mut());
        refused!(cu!(cuda, cuFuncSetCacheConfig(null, cache)), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuFuncSetSharedMemConfig(null, banks)), INVALID_VALUE | INVALID_HANDLE);
    }

    fn the_first_launch_interface_sets_parameters_of_any_type(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (pointer, mut stream) = (ones(cuda)?, null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let mut address = pointer;
        cu!(cuda, cuParamSetSize(fill, 16))?;
        cu!(cuda, cuParamSetv(fill, 0, (&raw mut address).cast(), 8))?;
        cu!(cuda, cuParamSetf(fill, 8, 2.5))?;
        cu!(cuda, cuParamSeti(fill, 12, 3))?;
        cu!(cuda, cuFuncSetBlockShape(fill, 4, 1, 1))?;
        cu!(cuda, cuFuncSetSharedSize(fill, 128))?;
        cu!(cuda, cuLaunchGridAsync(fill, 1, 1, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        let half = 2.5f32.to_bits();
        same!(cuda.download::<u32>(pointer, 4)?, [half, half, half, 1]);
        let null = null_mut();
        refused!(cu!(cuda, cuParamSetSize(null, 16)), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuParamSeti(null, 0, 1)), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuParamSetf(null, 0, 1.0)), INVALID_VALUE | INVALID_HANDLE);
        let data = (&raw mut address).cast();
        refused!(cu!(cuda, cuParamSetv(null, 0, data, 8)), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuFuncSetSharedSize(null, 0)), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuLaunch(null)), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuLaunchGridAsync(null, 1, 1, stream)), INVALID_VALUE | INVALID_HANDLE);
    }

    fn a_launch_can_be_described_in_a_structure(cuda, primary) {
        let add = Addition::new(cuda)?;
        let (mut parameters, stream) = (add.parameters(), add.stream);
        let (function, list) = (add.function, parameters.as_mut_ptr());
        cu!(cuda, cuLaunchKernelEx(&config([2, 4], stream), function, list, null_mut()))?;
        add.check(cuda)?;
        for wrong in [config([0, 4], stream), config([1, 2048], stream)] {
            refused!(cu!(cuda, cuLaunchKernelEx(&wrong, function, list, null_mut())), INVALID_VALUE);
        }
        refused!(cu!(cuda, cuLaunchKernelEx(null(), function, list, null_mut())), INVALID_VALUE);
        add.check(cuda)
    }

    fn a_cooperative_launch_must_fit_on_the_device(cuda, primary) {
        let add = Addition::new(cuda)?;
        let (mut parameters, function, stream) = (add.parameters(), add.function, add.stream);
        let list = parameters.as_mut_ptr();
        let launch = |[grid, block]: [u32; 2]| {
            cu!(cuda, cuLaunchCooperativeKernel(function, grid, 1, 1, block, 1, 1, 0, stream, list))
        };
        launch([2, 4])?;
        add.check(cuda)?;
        refused!(launch([1 << 20, 1024]), COOPERATIVE_LAUNCH_TOO_LARGE);
        refused!(launch([0, 4]), INVALID_VALUE);
    }

    fn occupancy_depends_on_the_size_of_a_block(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (mut large, mut small, mut grid, mut block, mut bytes) = (0, 0, 0, 0, 0);
        let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        let limit = get!(cuda, cuFuncGetAttribute(@, most, fill))?;
        cu!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut large, fill, 1024, 0, 0))?;
        cu!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut small, fill, 128, 0, 1))?;
        ensure!(large >= 1 && small >= large, "{large} large blocks and {small} small ones fit");
        cu!(cuda, cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, fill, None, 0, 0))?;
        ensure!(block % 32 == 0 && (32..=limit).contains(&block), "the block size is {block}");
        ensure!(grid >= 1, "the grid size is {grid}");
        cu!(cuda, cuOccupancyMaxPotentialBlockSizeWithFlags(&mut grid, &mut block, fill, None, 0, 64, 0))?;
        ensure!((32..=64).contains(&block), "the block size is {block}");
        cu!(cuda, cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, fill, 1, 128))?;
        ensure!((32 << 10..=48 << 10).contains(&bytes), "{bytes} bytes are available");
        let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        cu!(cuda, cuFuncSetAttribute(fill, most, 64 << 10))?;
        cu!(cuda, cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, fill, 1, 128))?;
        ensure!((48 << 10..=64 << 10).contains(&bytes), "{bytes} bytes are available");
        let blocks = &mut large;
        refused!(
            cu!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, fill, 0, 0, 0)),
            INVALID_VALUE
        );
        refused!(
            cu!(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, fill, 128, 0, 99)),
            INVALID_VALUE
        );
        let called =
            cu!(cuda, cuOccupancyMaxPotentialBlockSizeWithFlags(&mut grid, &mut block, fill, None, 0, 0, 99));
        refused!(called, INVALID_VALUE);
    }

    fn a_launch_without_cluster_dimensions_has_no_clusters(cuda, primary) {
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (mut clusters, mut size, launch) = (7, 0, config([8, 128], null_mut()));
        cu!(cuda, cuOccupancyMaxPotentialClusterSize(&mut size, fill, &launch))?;
        ensure!(size >= 1, "the cluster size is {size}");
        cu!(cuda, cuOccupancyMaxActiveClusters(&mut clusters, fill, &launch))?;
        same!(clusters, 0);
    }
}
