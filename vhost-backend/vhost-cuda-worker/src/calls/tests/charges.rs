//! Tests of the charges for memory other than allocations.

use super::claims::{library, module};
use super::*;
use crate::driver::stubs::stop_next;
use protocol::ids::{
    BlobId, ContextId, FuncId, FunctionId, KernelId, LibraryId, ModuleId, StreamId,
};

pub(super) const OUT_OF_MEMORY: u32 = CuError::OUT_OF_MEMORY.0;
/// PTX text with 100 MiB of variables, and with a kernel that uses none of them.
pub(super) const LARGE: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 large[104857600];
.visible .entry empty() { ret; }
";
/// Returns PTX text with a kernel that uses `bytes` bytes of local memory per thread.
pub(super) fn with_local(bytes: usize) -> String {
    format!(
        r"
.version 7.0
.target sm_70
.address_size 64
.visible .entry empty()
{{
    .local .align 4 .b8 mine[{bytes}];
    .reg .b64 %d1;
    .reg .b32 %r1;
    mov.u64 %d1, mine;
    mov.u32 %r1, 7;
    st.local.u32 [%d1], %r1;
    ret;
}}
"
    )
}
const ALLOCATES: &str = r"
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.visible .entry empty()
{
    .reg .b64 %d<3>;
    mov.u64 %d1, 16;
    {
        .param .b64 n;
        st.param.b64 [n], %d1;
        .param .b64 r;
        call.uni (r), malloc, (n);
        ld.param.b64 %d2, [r];
    }
    ret;
}
";

impl Bench {
    pub(super) fn load(&mut self, module: u64, text: &str) -> u32 {
        let image = text.as_bytes();
        self.call(&VcudaModuleLoad {
            module: ModuleId(module),
            blob: BlobId(0),
            image,
            options: Default::default(),
            log_max: 0,
        })
        .0
    }

    /// Gets the function `empty` from a module.
    pub(super) fn empty(&mut self, module: u64, hfunc: u64) -> u64 {
        self.good(&VcudaModuleGetFunction {
            hfunc: FunctionId(hfunc),
            hmod: ModuleId(module),
            name: "empty",
        });
        hfunc
    }

    pub(super) fn launch_empty(&mut self, f: u64) -> u32 {
        self.launch_empty_in(f, 0)
    }

    pub(super) fn launch_empty_in(&mut self, f: u64, h_stream: u64) -> u32 {
        self.post_launch(f, h_stream);
        self.posted_error()
    }

    /// Posts a launch of one thread, without parameters.
    pub(super) fn post_launch(&mut self, f: u64, h_stream: u64) {
        self.post(&VcudaLaunch {
            f: FuncId(f),
            grid_x: 1,
            grid_y: 1,
            grid_z: 1,
            block_x: 1,
            block_y: 1,
            block_z: 1,
            shared_mem_bytes: 0,
            h_stream: StreamId(h_stream),
            params: &[],
            attributes: Default::default(),
        });
    }

    pub(super) fn set_limit(&mut self, limit: u32, value: usize) -> u32 {
        self.call(&CuCtxSetLimit { limit, value }).0
    }
}

/// Returns the total charge, in bytes, for `each` bytes of local memory per thread on softgpu's
/// device. The default of 1024 bytes per thread isn't charged.
pub(super) fn for_all_threads(each: u64) -> u64 {
    let processors = std::thread::available_parallelism().unwrap().get() as u64;
    ((each - 1024) * processors * 2048).next_multiple_of(2 * MIB)
}

#[test]
fn a_modules_variables_are_charged_while_it_is_loaded() {
    alone("a_modules_variables_are_charged_while_it_is_loaded", |mut bench| {
        assert_eq!(bench.load(1, LARGE), OUT_OF_MEMORY);
        assert_eq!(bench.used(), 0);
        bench.set_quota(250 * MIB);
        assert_eq!(bench.load(1, LARGE), 0);
        assert_eq!(bench.charged("module"), 100 * MIB);
        assert_eq!(bench.load(2, LARGE), 0);
        assert_eq!(bench.load(3, LARGE), OUT_OF_MEMORY);
        assert_eq!(bench.charged("module"), 200 * MIB);
        bench.good(&CuModuleUnload { hmod: ModuleId(1) });
        assert_eq!(bench.charged("module"), 100 * MIB);
        // A module that the driver refuses isn't charged.
        assert_ne!(bench.load(3, &LARGE.replace("ret;", "nonsense;")), 0);
        assert_eq!(bench.used(), 100 * MIB);
        assert_eq!(bench.load(4, ".global .b8 a[1024*1024];"), CuError::NOT_SUPPORTED.0);
        bench.good(&CuModuleUnload { hmod: ModuleId(2) });
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn many_small_modules_are_charged() {
    alone("many_small_modules_are_charged", |mut bench| {
        const SMALL: &str = ".version 7.0\n.target sm_70\n.entry k() { ret; }";
        for module in 0..1024 {
            assert_eq!(bench.load(1000 + module, SMALL), 0);
        }
        assert_eq!(bench.charged("module"), 16 * MIB);
        for module in 0..1024 {
            bench.good(&CuModuleUnload { hmod: ModuleId(1000 + module) });
        }
        assert_eq!(bench.used(), 0);
    });
}

/// Returns a call that gets the kernel `empty` from library 9, under the id 10.
fn kernel() -> VcudaLibraryGetKernels<'static> {
    let (p_kernel, library) = (KernelId(10), LibraryId(9));
    VcudaLibraryGetKernels { p_kernel, library, name: "empty", more: 0 }
}

#[test]
fn a_library_is_charged_in_the_context_of_its_first_use() {
    alone("a_library_is_charged_in_the_context_of_its_first_use", |mut bench| {
        bench.good(&library(9, LARGE));
        assert_eq!(bench.used(), 0);
        // To describe the parameters of a kernel, the driver loads its library, for which the quota
        // has no room.
        assert_eq!(bench.call(&kernel()).0, OUT_OF_MEMORY);
        let variable = VcudaLibraryGetGlobal { library: LibraryId(9), name: "large" };
        assert_eq!(bench.call(&variable).0, OUT_OF_MEMORY);
        assert_eq!(bench.used(), 0);
        bench.set_quota(250 * MIB);
        bench.good(&kernel());
        for _ in 0..2 {
            assert_eq!(bench.charged("module"), 100 * MIB);
            assert_eq!(bench.launch_empty(10), 0);
        }
        // In another context, the library is charged at its first use, too.
        let first = bench.ctx;
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        bench.set_quota(190 * MIB);
        assert_eq!(bench.launch_empty(10), OUT_OF_MEMORY);
        bench.set_quota(250 * MIB);
        assert_eq!(bench.launch_empty(10), 0);
        assert_eq!(bench.charged("module"), 200 * MIB);
        bench.ctx = first;
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        assert_eq!(bench.charged("module"), 100 * MIB);
        bench.good(&CuLibraryUnload { library: LibraryId(9) });
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn a_library_is_charged_without_a_current_context() {
    alone("a_library_is_charged_without_a_current_context", |mut bench| {
        bench.set_quota(190 * MIB);
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: bench.ctx });
        bench.ctx = ContextId::NONE;
        bench.good(&library(9, LARGE));
        bench.good(&kernel());
        assert_eq!(bench.charged("module"), 100 * MIB);
        assert_eq!(bench.call(&library(11, LARGE)).0, 0);
        let another = VcudaLibraryGetKernels { library: LibraryId(11), ..kernel() };
        let another = VcudaLibraryGetKernels { p_kernel: KernelId(12), ..another };
        assert_eq!(bench.call(&another).0, OUT_OF_MEMORY);
        // The worker has loaded the library in its own primary context, which the guest's context
        // now becomes.
        bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        assert_eq!(bench.launch_empty(10), 0);
        assert_eq!(bench.charged("module"), 100 * MIB);
        bench.good(&CuLibraryUnload { library: LibraryId(9) });
        assert_eq!(bench.charged("module"), 0);
    });
}

#[test]
fn an_eager_library_is_charged_in_all_contexts() {
    let eager = [("CUDA_MODULE_LOADING", "EAGER")];
    alone_in("an_eager_library_is_charged_in_all_contexts", &eager, |mut bench| {
        bench.set_quota(250 * MIB);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.good(&library(9, LARGE));
        assert_eq!(bench.charged("module"), 200 * MIB);
        let another = VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(79) };
        assert_eq!(bench.call(&another).0, OUT_OF_MEMORY);
        assert_eq!(bench.call(&library(10, LARGE)).0, OUT_OF_MEMORY);
        assert_eq!(bench.charged("module"), 200 * MIB);
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        assert_eq!(bench.charged("module"), 100 * MIB);
        bench.good(&another);
        assert_eq!(bench.charged("module"), 200 * MIB);
        bench.good(&CuLibraryUnload { library: LibraryId(9) });
        assert_eq!(bench.used(), 0);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(80) });
        assert_eq!(bench.used(), 0);
        // A library that the driver refuses isn't charged.
        assert_ne!(bench.call(&library(9, &LARGE.replace("ret;", "nonsense;"))).0, 0);
        assert_eq!(bench.used(), 0);
    });
}

/// Makes a call that uses kernel 10 of library 9, in a context into which no part of the library
/// has been loaded. Checks that the context is charged for the library.
fn loads_a_library<'a, C: Call<'a>>(bench: &mut Bench, call: &C)
where
    C::Answer: Default,
{
    let charges = protocol::table::entry(C::OPCODE).unwrap().charges;
    assert_ne!(charges, protocol::table::Charges::None, "{}", C::NAME);
    bench.set_quota(250 * MIB);
    bench.good(&library(9, LARGE));
    bench.good(&kernel());
    let first = bench.ctx;
    bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
    bench.ctx = ContextId(78);
    bench.set_quota(190 * MIB);
    assert_eq!(bench.call(call).0, OUT_OF_MEMORY, "{}", C::NAME);
    assert_eq!(bench.used(), 100 * MIB, "{}", C::NAME);
    bench.set_quota(250 * MIB);
    for _ in 0..2 {
        assert_ne!(bench.call(call).0, OUT_OF_MEMORY, "{}", C::NAME);
        assert_eq!(bench.charged("module"), 200 * MIB, "{}", C::NAME);
    }
    bench.good(&CuLibraryUnload { library: LibraryId(9) });
    assert_eq!(bench.used(), 0, "{}", C::NAME);
    bench.ctx = first;
    bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
}

#[test]
fn calls_that_need_a_kernels_function_charge_its_library_first() {
    alone("calls_that_need_a_kernels_function_charge_its_library_first", |mut bench| {
        let [hfunc, func, function, kernel, f] = [10; 5];
        let bench = &mut bench;
        loads_a_library(bench, &VcudaFuncAttributes { hfunc: FuncId(hfunc) });
        loads_a_library(bench, &CuFuncSetAttribute { hfunc: FuncId(hfunc), attrib: 8, value: 0 });
        loads_a_library(bench, &CuFuncSetCacheConfig { hfunc: FuncId(hfunc), config: 0 });
        let (kernel, dev) = (KernelId(kernel), 0);
        loads_a_library(bench, &VcudaKernelAttributes { kernel, dev });
        loads_a_library(bench, &CuKernelSetAttribute { attrib: 8, val: 0, kernel, dev });
        loads_a_library(bench, &CuKernelSetCacheConfig { kernel, config: 0, dev });
        loads_a_library(bench, &CuFuncLoad { hfunc: FuncId(function) });
        loads_a_library(bench, &CuFuncIsLoaded { hfunc: FuncId(function) });
        loads_a_library(bench, &CuKernelGetFunction { p_func: FunctionId(11), kernel });
        loads_a_library(bench, &CuLibraryGetModule { p_mod: ModuleId(12), library: LibraryId(9) });
        loads_a_library(bench, &VcudaLibraryGetGlobal { library: LibraryId(9), name: "large" });
        let (num_blocks, block_size, dynamic_s_mem_size, flags) = (1, 32, 0, 0);
        loads_a_library(
            bench,
            &CuOccupancyAvailableDynamicSMemPerBlock { func: FuncId(func), num_blocks, block_size },
        );
        loads_a_library(
            bench,
            &CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags {
                func: FuncId(func),
                block_size,
                dynamic_s_mem_size,
                flags,
            },
        );
        for question in [0, 1] {
            loads_a_library(
                bench,
                &VcudaOccupancyClusters {
                    question,
                    f: FuncId(f),
                    grid_x: 1,
                    grid_y: 1,
                    grid_z: 1,
                    block_x: 1,
                    block_y: 1,
                    block_z: 1,
                    shared_mem_bytes: 0,
                    attributes: Default::default(),
                },
            );
        }
    });
}

#[test]
fn a_library_is_charged_in_the_context_of_the_launch() {
    alone("a_library_is_charged_in_the_context_of_the_launch", |mut bench| {
        bench.set_quota(250 * MIB);
        bench.good(&library(9, LARGE));
        bench.good(&kernel());
        assert_eq!(bench.charged("module"), 100 * MIB);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        let first = bench.ctx;
        bench.ctx = ContextId(78);
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        bench.ctx = first;
        // A launch in a stream of another context loads the library into that context.
        assert_eq!(bench.launch_empty_in(10, 500), 0);
        assert_eq!(bench.charged("module"), 200 * MIB);
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        assert_eq!(bench.charged("module"), 100 * MIB);
    });
}

#[test]
fn the_stack_limit_is_charged_for_all_threads() {
    alone("the_stack_limit_is_charged_for_all_threads", |mut bench| {
        bench.set_quota(for_all_threads(8192));
        assert_eq!(bench.set_limit(0, 8192), 0);
        assert_eq!(bench.charged("local"), for_all_threads(8192));
        assert_eq!(bench.set_limit(0, 16384), OUT_OF_MEMORY);
        assert_eq!(bench.good(&CuCtxGetLimit { limit: 0 }).pvalue, 8192);
        assert_eq!(bench.set_limit(0, 4096), 0);
        assert_eq!(bench.charged("local"), for_all_threads(4096));
        assert_eq!(bench.set_limit(0, 512), 0);
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn local_memory_is_charged_before_the_launch_that_needs_it() {
    alone("local_memory_is_charged_before_the_launch_that_needs_it", |mut bench| {
        bench.set_quota(1 << 40);
        for (i, (local, most)) in
            [(512, 1024), (4096, 4096), (2048, 4096), (16384, 16384)].into_iter().enumerate()
        {
            let module = 20 + i as u64;
            assert_eq!(bench.load(module, &with_local(local)), 0);
            let f = bench.empty(module, 30 + i as u64);
            assert_eq!(bench.launch_empty(f), 0);
            assert_eq!(bench.charged("local"), for_all_threads(most), "{local}");
        }
        // A launch for which the quota has no room fails. Launches that need less local memory
        // still work.
        bench.set_quota(for_all_threads(16384));
        assert_eq!(bench.load(24, &with_local(32768)), 0);
        let too_large = bench.empty(24, 34);
        assert_eq!(bench.launch_empty(too_large), OUT_OF_MEMORY);
        assert_eq!(bench.launch_empty(33), 0);
        bench.good(&CuCtxSynchronize {});
        // Setting the stack limit makes the driver free the local memory.
        assert_eq!(bench.set_limit(0, 1024), 0);
        assert_eq!(bench.charged("local"), 0);
        assert_eq!(bench.launch_empty(31), 0);
        assert_eq!(bench.charged("local"), for_all_threads(4096));
    });
}

#[test]
fn the_kernel_heap_is_charged_when_a_module_uses_it() {
    alone("the_kernel_heap_is_charged_when_a_module_uses_it", |mut bench| {
        assert_eq!(bench.set_limit(2, 1 << 30), 0);
        assert_eq!(bench.used(), 0);
        assert_eq!(bench.load(1, ALLOCATES), OUT_OF_MEMORY);
        assert_eq!(bench.used(), 0);
        assert_eq!(bench.set_limit(2, 8 << 20), 0);
        bench.set_quota(300 * MIB);
        assert_eq!(bench.load(1, ALLOCATES), 0);
        assert_eq!(bench.charged("heap"), 148 * MIB);
        // The heap is charged once for all modules in a context, and stays charged until the
        // context is destroyed.
        assert_eq!(bench.load(2, ALLOCATES), 0);
        bench.good(&CuModuleUnload { hmod: ModuleId(1) });
        bench.good(&CuModuleUnload { hmod: ModuleId(2) });
        assert_eq!(bench.used(), 148 * MIB);
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn a_failed_load_keeps_the_heap_charged_for_other_loads() {
    alone("a_failed_load_keeps_the_heap_charged_for_other_loads", |mut bench| {
        bench.set_quota(290 * MIB);
        let broken = ALLOCATES.replace("ret;", "nonsense;");
        let first = stop_next("cuModuleLoadDataEx");
        bench.begin(6, &module(1, &broken));
        first.wait();
        assert_eq!(bench.charged("heap"), 148 * MIB);
        assert_eq!(bench.load(2, ALLOCATES), 0);
        drop(first);
        assert_ne!(bench.ended(6), 0);
        assert_eq!(bench.charged("heap"), 148 * MIB);
        bench.good(&CuModuleUnload { hmod: ModuleId(2) });
        assert_eq!(bench.charged("heap"), 148 * MIB);
        // In a context where no other module uses the heap, it stays charged after a failed load,
        // because the driver may keep it.
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        assert_eq!(bench.load(3, &broken), OUT_OF_MEMORY);
        bench.set_quota(300 * MIB);
        assert_ne!(bench.load(3, &broken), 0);
        assert_eq!(bench.used(), 296 * MIB);
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        assert_eq!(bench.used(), 148 * MIB);
    });
}

#[test]
fn streams_are_charged_at_their_peak() {
    alone("streams_are_charged_at_their_peak", |mut bench| {
        bench.set_quota(1 << 30);
        for round in 0..3 {
            for ph_stream in 500..1500 {
                bench.post(&CuStreamCreateWithPriority {
                    ph_stream: StreamId(ph_stream),
                    flags: 1,
                    priority: 0,
                });
            }
            assert_eq!(bench.posted_error(), 0);
            assert_eq!(bench.charged("stream"), 546 * MIB, "{round}");
            for h_stream in 500..1500 {
                bench.post(&CuStreamDestroyV2 { h_stream: StreamId(h_stream) });
            }
        }
        bench.set_quota(546 * MIB);
        for ph_stream in 500..1510 {
            bench.post(&CuStreamCreateWithPriority {
                ph_stream: StreamId(ph_stream),
                flags: 1,
                priority: 0,
            });
        }
        assert_eq!(bench.posted_error(), OUT_OF_MEMORY);
        assert_eq!(bench.used(), 546 * MIB);
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn contexts_are_charged_and_refused_without_room() {
    alone_with("contexts_are_charged_and_refused_without_room", 20 * MIB, |mut bench| {
        assert_eq!(bench.used(), 20 * MIB);
        for ctx in [78, 79] {
            bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(ctx) });
        }
        assert_eq!(bench.used(), 60 * MIB);
        let third = VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(80) };
        assert_eq!(bench.call(&third).0, OUT_OF_MEMORY);
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        bench.good(&third);
        for ctx in [79, 80] {
            bench.good(&VcudaCtxDestroy { ctx: ContextId(ctx) });
        }
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.used(), 0);
        bench.set_quota(19 * MIB);
        let again = VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(81) };
        assert_eq!(bench.call(&again).0, OUT_OF_MEMORY);
        bench.set_quota(20 * MIB);
        bench.good(&again);
        assert_eq!(bench.used(), 20 * MIB);
    });
}

/// Compares the account with softgpu's own count of memory in use.
#[test]
fn ten_thousand_allocations_and_frees_leave_nothing_behind() {
    alone("ten_thousand_allocations_and_frees_leave_nothing_behind", |mut bench| {
        bench.set_quota(1 << 50);
        let info = bench.good(&CuMemGetInfoV2 {});
        let witness = |bench: &mut Bench| {
            let now = bench.good(&CuMemGetInfoV2 {});
            (info.free - now.free) as u64
        };
        let (mut live, mut random) = (Vec::new(), 1u64);
        for step in 0..10_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (free, size) = (random >> 63 == 0, (random >> 33) as usize);
            if live.len() > 60 || (free && !live.is_empty()) {
                let dptr = live.swap_remove(size % live.len());
                bench.good(&CuMemFreeV2 { dptr });
            } else {
                // Most allocations are small, and some have several MiB.
                let bytes = if size % 8 == 0 { size % (5 << 20) } else { size % 5000 };
                live.push(bench.alloc(bytes + 1));
            }
            if step % 100 == 0 {
                assert_eq!(witness(&mut bench), bench.used(), "after {step} steps");
            }
        }
        for dptr in live {
            bench.good(&CuMemFreeV2 { dptr });
        }
        assert_eq!((witness(&mut bench), bench.used()), (0, 0));
    });
}

#[test]
fn a_quota_below_the_usage_only_stops_new_allocations() {
    alone("a_quota_below_the_usage_only_stops_new_allocations", |mut bench| {
        let kept = bench.alloc(40 << 20);
        bench.set_quota(10 * MIB);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 1 << 20 }).0, OUT_OF_MEMORY);
        let info = bench.good(&CuMemGetInfoV2 {});
        assert_eq!((info.free, info.total), (0, 10 << 20));
        // Memory that was allocated before the quota was lowered can still be used and freed.
        let (dst, width) = (kept, 40 << 20);
        let (pitch, element_size, value, height, h_stream) = (0, 1, 1, 1, 0);
        bench.post(&VcudaMemset {
            dst,
            pitch,
            element_size,
            value,
            width,
            height,
            h_stream: StreamId(h_stream),
        });
        bench.good(&CuStreamSynchronize { h_stream: StreamId(0) });
        bench.good(&CuMemFreeV2 { dptr: kept });
        assert_eq!(bench.used(), 0);
        bench.alloc(10 << 20);
    });
}
