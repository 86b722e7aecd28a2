//! Made from `protocol/api.table` by `cargo xtask codegen`; not to be edited.

use cuda_api::sys;
use protocol::calls as api;
use protocol::codec::Answer;

use super::charges::{ChargedReply, Reservation, Settled, kind};
use super::dispatch::{blocking, decode, gated, inline, pending, unknown};
use super::gate::Names;
use super::gate::pass::Pass;
use super::{Calls, Command, ReplyTo};
use crate::driver::{CuError, CuResult};

/// Executes one command. Bodies of gated calls get the gate's pass.
pub(super) fn dispatch(calls: &mut Calls, command: &Command<'_>, pass: &Pass, reply: ReplyTo) {
    match command.opcode {
        // vcudaFacts
        1 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaFacts>(args)?;
            cx.vcuda_facts(call)?.encode(out);
            Ok(())
        }),
        // vcudaTakeOutput
        2 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaTakeOutput>(args)?;
            cx.vcuda_take_output(call)?.encode(out);
            Ok(())
        }),
        // vcudaNop
        3 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaNop>(args)?;
            cx.vcuda_nop(call)
        }),
        // vcudaPing
        4 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaPing>(args)?;
            cx.vcuda_ping(call)
        }),
        // cuDeviceGetLuid
        5 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuDeviceGetLuid>(args)?;
            cx.enter_any()?;
            let mut luid = <[u8; 8]>::default();
            let mut device_node_mask = u32::default();
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuDeviceGetLuid(
                    (&raw mut luid).cast(),
                    &mut device_node_mask,
                    call.dev,
                )?;
            }
            api::CuDeviceGetLuidAnswer { luid, device_node_mask }.encode(out);
            Ok(())
        }),
        // cuDeviceGetTexture1DLinearMaxWidth
        6 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuDeviceGetTexture1DLinearMaxWidth>(args)?;
            cx.enter_any()?;
            let mut max_width_in_elements = usize::default();
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuDeviceGetTexture1DLinearMaxWidth(
                    &mut max_width_in_elements,
                    sys::CUarray_format(call.format),
                    call.num_channels,
                    call.dev,
                )?;
            }
            api::CuDeviceGetTexture1DLinearMaxWidthAnswer { max_width_in_elements }.encode(out);
            Ok(())
        }),
        // vcudaPrimaryCtxRetain
        10 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaPrimaryCtxRetain>(args)?;
            cx.vcuda_primary_ctx_retain(call, Reservation::of_call())
                .and_then(Settled::<kind::Context>::done)
        }),
        // vcudaPrimaryCtxRelease
        11 => {
            pending(calls, command, reply, |calls, cx, call: api::VcudaPrimaryCtxRelease, reply| {
                calls.vcuda_primary_ctx_release(cx, call, reply)
            })
        }
        // vcudaPrimaryCtxReset
        12 => {
            pending(calls, command, reply, |calls, cx, call: api::VcudaPrimaryCtxReset, reply| {
                calls.vcuda_primary_ctx_reset(cx, call, reply)
            })
        }
        // vcudaPrimaryCtxSetFlags
        13 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaPrimaryCtxSetFlags>(args)?;
            cx.vcuda_primary_ctx_set_flags(call)
        }),
        // vcudaCtxCreate
        14 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaCtxCreate>(args)?;
            cx.vcuda_ctx_create(call, Reservation::of_call())
                .and_then(Settled::<kind::Context>::done)
        }),
        // vcudaCtxDestroy
        15 => pending(calls, command, reply, |calls, cx, call: api::VcudaCtxDestroy, reply| {
            calls.vcuda_ctx_destroy(cx, call, reply)
        }),
        // cuCtxSynchronize
        16 => pending(calls, command, reply, |calls, cx, call: api::CuCtxSynchronize, reply| {
            calls.cu_ctx_synchronize(cx, call, reply)
        }),
        // cuCtxGetLimit
        17 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuCtxGetLimit>(args)?;
            cx.enter_any()?;
            let mut pvalue = usize::default();
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuCtxGetLimit(&mut pvalue, sys::CUlimit(call.limit))?;
            }
            api::CuCtxGetLimitAnswer { pvalue }.encode(out);
            Ok(())
        }),
        // cuCtxSetLimit
        18 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuCtxSetLimit>(args)?;
            cx.cu_ctx_set_limit(call, Reservation::of_call()).and_then(Settled::<kind::Limit>::done)
        }),
        // cuCtxGetStreamPriorityRange
        19 => inline(calls, command, reply, |cx, args, out| {
            let _ = decode::<api::CuCtxGetStreamPriorityRange>(args)?;
            cx.enter_any()?;
            let mut least_priority = i32::default();
            let mut greatest_priority = i32::default();
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver()
                    .cuCtxGetStreamPriorityRange(&mut least_priority, &mut greatest_priority)?;
            }
            api::CuCtxGetStreamPriorityRangeAnswer { least_priority, greatest_priority }
                .encode(out);
            Ok(())
        }),
        // cuCtxGetCacheConfig
        20 => inline(calls, command, reply, |cx, args, out| {
            let _ = decode::<api::CuCtxGetCacheConfig>(args)?;
            cx.enter_any()?;
            let mut pconfig = sys::CUfunc_cache(0);
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuCtxGetCacheConfig(&mut pconfig)?;
            }
            api::CuCtxGetCacheConfigAnswer { pconfig: pconfig.0 }.encode(out);
            Ok(())
        }),
        // cuCtxSetCacheConfig
        21 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuCtxSetCacheConfig>(args)?;
            cx.enter_any()?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuCtxSetCacheConfig(sys::CUfunc_cache(call.config))?;
            }
            Ok(())
        }),
        // cuCtxGetSharedMemConfig
        22 => inline(calls, command, reply, |cx, args, out| {
            let _ = decode::<api::CuCtxGetSharedMemConfig>(args)?;
            cx.enter_any()?;
            let mut p_config = sys::CUsharedconfig(0);
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuCtxGetSharedMemConfig(&mut p_config)?;
            }
            api::CuCtxGetSharedMemConfigAnswer { p_config: p_config.0 }.encode(out);
            Ok(())
        }),
        // cuCtxSetSharedMemConfig
        23 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuCtxSetSharedMemConfig>(args)?;
            cx.enter_any()?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuCtxSetSharedMemConfig(sys::CUsharedconfig(call.config))?;
            }
            Ok(())
        }),
        // cuCtxResetPersistingL2Cache
        24 => inline(calls, command, reply, |cx, args, _| {
            let _ = decode::<api::CuCtxResetPersistingL2Cache>(args)?;
            cx.enter_any()?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuCtxResetPersistingL2Cache()?;
            }
            Ok(())
        }),
        // cuProfilerStart
        25 => inline(calls, command, reply, |cx, args, _| {
            let _ = decode::<api::CuProfilerStart>(args)?;
            cx.enter_any()?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuProfilerStart()?;
            }
            Ok(())
        }),
        // cuProfilerStop
        26 => inline(calls, command, reply, |cx, args, _| {
            let _ = decode::<api::CuProfilerStop>(args)?;
            cx.enter_any()?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuProfilerStop()?;
            }
            Ok(())
        }),
        // cuMemAlloc_v2
        30 => pending(calls, command, reply, |calls, cx, call: api::CuMemAllocV2, reply| {
            calls.cu_mem_alloc_v2(cx, call, ChargedReply::<kind::Memory>::new(reply))
        }),
        // cuMemFree_v2
        31 => pending(calls, command, reply, |calls, cx, call: api::CuMemFreeV2, reply| {
            calls.cu_mem_free_v2(cx, call, reply)
        }),
        // cuMemGetInfo_v2
        32 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuMemGetInfoV2>(args)?;
            cx.cu_mem_get_info_v2(call)?.encode(out);
            Ok(())
        }),
        // vcudaCopyIn
        33 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::VcudaCopyIn>(args)?;
            cx.vcuda_copy_in(call, pass)
        }),
        // vcudaCopyInStaged
        34 => pending(calls, command, reply, |calls, cx, call: api::VcudaCopyInStaged, reply| {
            calls.vcuda_copy_in_staged(cx, call, pass, reply)
        }),
        // vcudaCopyOut
        35 => pending(calls, command, reply, |calls, cx, call: api::VcudaCopyOut, reply| {
            calls.vcuda_copy_out(cx, call, pass, reply)
        }),
        // vcudaCopyOutStaged
        36 => pending(calls, command, reply, |calls, cx, call: api::VcudaCopyOutStaged, reply| {
            calls.vcuda_copy_out_staged(cx, call, pass, reply)
        }),
        // vcudaCopy
        37 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::VcudaCopy>(args)?;
            cx.vcuda_copy(call, pass)
        }),
        // vcudaCopy2D
        38 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::VcudaCopy2D>(args)?;
            cx.vcuda_copy_2d(call, pass)
        }),
        // vcudaMemset
        39 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::VcudaMemset>(args)?;
            cx.vcuda_memset(call, pass)
        }),
        // vcudaHostRegister
        40 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaHostRegister>(args)?;
            cx.vcuda_host_register(call)?.encode(out);
            Ok(())
        }),
        // vcudaHostUnregister
        41 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaHostUnregister>(args)?;
            cx.vcuda_host_unregister(call)
        }),
        // cuMemAllocAsync
        42 => pending(calls, command, reply, |calls, cx, call: api::CuMemAllocAsync, reply| {
            calls.cu_mem_alloc_async(cx, call, ChargedReply::<kind::Memory>::new(reply))
        }),
        // cuMemFreeAsync
        43 => pending(calls, command, reply, |calls, cx, call: api::CuMemFreeAsync, reply| {
            calls.cu_mem_free_async(cx, call, reply)
        }),
        // cuStreamCreateWithPriority
        50 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuStreamCreateWithPriority>(args)?;
            cx.cu_stream_create_with_priority(call, Reservation::of_call())
                .and_then(Settled::<kind::Stream>::done)
        }),
        // cuStreamDestroy_v2
        51 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuStreamDestroyV2>(args)?;
            cx.cu_stream_destroy_v2(call)
        }),
        // cuStreamSynchronize
        52 => pending(calls, command, reply, |calls, cx, call: api::CuStreamSynchronize, reply| {
            calls.cu_stream_synchronize(cx, call, reply)
        }),
        // cuStreamQuery
        53 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuStreamQuery>(args)?;
            cx.cu_stream_query(call)
        }),
        // cuStreamWaitEvent
        54 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuStreamWaitEvent>(args)?;
            cx.cu_stream_wait_event(call)
        }),
        // cuStreamGetAttribute
        55 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuStreamGetAttribute>(args)?;
            if !protocol::options::STREAM_ATTRIBUTES.contains(&call.attr) {
                return Err(CuError::NOT_SUPPORTED);
            }
            cx.enter()?;
            let h_stream = cx.stream(call.h_stream)?;
            const { assert!(size_of::<[u64; 8]>() == size_of::<cuda_api::sys::CUstreamAttrValue>()) };
            let mut value = <[u64; 8]>::default();
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuStreamGetAttribute(
                    h_stream,
                    sys::CUlaunchAttributeID(call.attr),
                    (&raw mut value).cast(),
                )?;
            }
            api::CuStreamGetAttributeAnswer { value }.encode(out);
            Ok(())
        }),
        // cuStreamSetAttribute
        56 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuStreamSetAttribute>(args)?;
            if !protocol::options::STREAM_ATTRIBUTES.contains(&call.attr) {
                return Err(CuError::NOT_SUPPORTED);
            }
            cx.enter()?;
            let h_stream = cx.stream(call.h_stream)?;
            const { assert!(size_of::<[u64; 8]>() == size_of::<cuda_api::sys::CUstreamAttrValue>()) };
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuStreamSetAttribute(
                    h_stream,
                    sys::CUlaunchAttributeID(call.attr),
                    (&raw const call.param).cast(),
                )?;
            }
            Ok(())
        }),
        // cuEventCreate
        60 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuEventCreate>(args)?;
            cx.cu_event_create(call)
        }),
        // cuEventDestroy_v2
        61 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuEventDestroyV2>(args)?;
            cx.cu_event_destroy_v2(call)
        }),
        // cuEventRecordWithFlags
        62 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuEventRecordWithFlags>(args)?;
            cx.cu_event_record_with_flags(call)
        }),
        // cuEventQuery
        63 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuEventQuery>(args)?;
            cx.cu_event_query(call)
        }),
        // cuEventSynchronize
        64 => pending(calls, command, reply, |calls, cx, call: api::CuEventSynchronize, reply| {
            calls.cu_event_synchronize(cx, call, reply)
        }),
        // cuEventElapsedTime_v2
        65 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuEventElapsedTimeV2>(args)?;
            cx.cu_event_elapsed_time_v2(call)?.encode(out);
            Ok(())
        }),
        // vcudaBlobPut
        70 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaBlobPut>(args)?;
            cx.vcuda_blob_put(call)
        }),
        // vcudaModuleLoad
        71 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaModuleLoad>(args)?;
            let (result, answer) = cx.vcuda_module_load(call, Reservation::of_call());
            answer.encode(out);
            result.and_then(Settled::<kind::Module>::done)
        }),
        // cuModuleUnload
        72 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuModuleUnload>(args)?;
            cx.cu_module_unload(call)
        }),
        // vcudaModuleGetFunction
        73 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaModuleGetFunction>(args)?;
            let (answer, settled) = cx.vcuda_module_get_function(call, Reservation::of_call())?;
            answer.encode(out);
            Settled::<kind::Module>::done(settled)
        }),
        // vcudaModuleGetGlobal
        74 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaModuleGetGlobal>(args)?;
            cx.vcuda_module_get_global(call)?.encode(out);
            Ok(())
        }),
        // vcudaLibraryLoad
        75 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaLibraryLoad>(args)?;
            let (result, answer) = cx.vcuda_library_load(call);
            answer.encode(out);
            result
        }),
        // cuLibraryUnload
        76 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuLibraryUnload>(args)?;
            cx.cu_library_unload(call)
        }),
        // vcudaLibraryGetKernel
        77 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaLibraryGetKernel>(args)?;
            cx.vcuda_library_get_kernel(call)?.encode(out);
            Ok(())
        }),
        // cuLibraryGetModule
        78 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuLibraryGetModule>(args)?;
            cx.cu_library_get_module(call, Reservation::of_call())
                .and_then(Settled::<kind::Module>::done)
        }),
        // vcudaLibraryGetGlobal
        79 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaLibraryGetGlobal>(args)?;
            let (answer, settled) = cx.vcuda_library_get_global(call, Reservation::of_call())?;
            answer.encode(out);
            Settled::<kind::Module>::done(settled)
        }),
        // cuKernelGetFunction
        80 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuKernelGetFunction>(args)?;
            cx.cu_kernel_get_function(call, Reservation::of_call())
                .and_then(Settled::<kind::Module>::done)
        }),
        // cuFuncGetAttribute
        81 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuFuncGetAttribute>(args)?;
            cx.enter_any()?;
            let mut pi = i32::default();
            let (hfunc, settled) = cx.func(Reservation::of_call(), call.hfunc)?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuFuncGetAttribute(
                    &mut pi,
                    sys::CUfunction_attribute(call.attrib),
                    hfunc,
                )?;
            }
            api::CuFuncGetAttributeAnswer { pi }.encode(out);
            Settled::<kind::Module>::done(settled)
        }),
        // cuFuncSetAttribute
        82 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuFuncSetAttribute>(args)?;
            cx.cu_func_set_attribute(call, Reservation::of_call())
                .and_then(Settled::<kind::Module>::done)
        }),
        // cuKernelGetAttribute
        83 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuKernelGetAttribute>(args)?;
            cx.enter_any()?;
            let mut pi = i32::default();
            let kernel = cx.kernel(call.kernel)?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuKernelGetAttribute(
                    &mut pi,
                    sys::CUfunction_attribute(call.attrib),
                    kernel,
                    call.dev,
                )?;
            }
            api::CuKernelGetAttributeAnswer { pi }.encode(out);
            Ok(())
        }),
        // cuKernelSetAttribute
        84 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuKernelSetAttribute>(args)?;
            cx.cu_kernel_set_attribute(call)
        }),
        // cuFuncSetCacheConfig
        85 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuFuncSetCacheConfig>(args)?;
            cx.cu_func_set_cache_config(call, Reservation::of_call())
                .and_then(Settled::<kind::Module>::done)
        }),
        // cuKernelSetCacheConfig
        86 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuKernelSetCacheConfig>(args)?;
            cx.cu_kernel_set_cache_config(call)
        }),
        // cuLibraryGetKernelCount
        87 => inline(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuLibraryGetKernelCount>(args)?;
            cx.enter_any()?;
            let mut count = u32::default();
            let lib = cx.library(call.lib)?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuLibraryGetKernelCount(&mut count, lib)?;
            }
            api::CuLibraryGetKernelCountAnswer { count }.encode(out);
            Ok(())
        }),
        // vcudaLibraryKernelNames
        88 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaLibraryKernelNames>(args)?;
            cx.vcuda_library_kernel_names(call)?.encode(out);
            Ok(())
        }),
        // cuModuleGetLoadingMode
        89 => inline(calls, command, reply, |cx, args, out| {
            let _ = decode::<api::CuModuleGetLoadingMode>(args)?;
            cx.enter_any()?;
            let mut mode = sys::CUmoduleLoadingMode(0);
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuModuleGetLoadingMode(&mut mode)?;
            }
            api::CuModuleGetLoadingModeAnswer { mode: mode.0 }.encode(out);
            Ok(())
        }),
        // cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
        90 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags>(args)?;
            cx.enter_any()?;
            let mut num_blocks = i32::default();
            let (func, settled) = cx.func(Reservation::of_call(), call.func)?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                    &mut num_blocks,
                    func,
                    call.block_size,
                    call.dynamic_s_mem_size,
                    call.flags,
                )?;
            }
            api::CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlagsAnswer { num_blocks }
                .encode(out);
            Settled::<kind::Module>::done(settled)
        }),
        // cuOccupancyAvailableDynamicSMemPerBlock
        91 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuOccupancyAvailableDynamicSMemPerBlock>(args)?;
            cx.enter_any()?;
            let mut dynamic_smem_size = usize::default();
            let (func, settled) = cx.func(Reservation::of_call(), call.func)?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuOccupancyAvailableDynamicSMemPerBlock(
                    &mut dynamic_smem_size,
                    func,
                    call.num_blocks,
                    call.block_size,
                )?;
            }
            api::CuOccupancyAvailableDynamicSMemPerBlockAnswer { dynamic_smem_size }.encode(out);
            Settled::<kind::Module>::done(settled)
        }),
        // cuFuncLoad
        92 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuFuncLoad>(args)?;
            cx.enter_any()?;
            let (hfunc, settled) = cx.func(Reservation::of_call(), call.hfunc)?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuFuncLoad(hfunc)?;
            }
            Settled::<kind::Module>::done(settled)
        }),
        // cuFuncIsLoaded
        93 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::CuFuncIsLoaded>(args)?;
            cx.enter_any()?;
            let mut state = sys::CUfunctionLoadingState(0);
            let (hfunc, settled) = cx.func(Reservation::of_call(), call.hfunc)?;
            // SAFETY: handles are live (just looked up), pointers are those of locals.
            unsafe {
                cx.driver().cuFuncIsLoaded(&mut state, hfunc)?;
            }
            api::CuFuncIsLoadedAnswer { state: state.0 }.encode(out);
            Settled::<kind::Module>::done(settled)
        }),
        // vcudaOccupancyClusters
        94 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaOccupancyClusters>(args)?;
            let (answer, settled) = cx.vcuda_occupancy_clusters(call, Reservation::of_call())?;
            answer.encode(out);
            Settled::<kind::Module>::done(settled)
        }),
        // vcudaLaunch
        100 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::VcudaLaunch>(args)?;
            cx.vcuda_launch(call, pass, Reservation::of_call())
                .and_then(Settled::<kind::Local>::done)
        }),
        // vcudaLaunchCooperative
        101 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::VcudaLaunchCooperative>(args)?;
            cx.vcuda_launch_cooperative(call, pass, Reservation::of_call())
                .and_then(Settled::<kind::Local>::done)
        }),
        // vcudaHostFunc
        102 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaHostFunc>(args)?;
            cx.vcuda_host_func(call)
        }),
        // vcudaGraphInstantiate
        110 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaGraphInstantiate>(args)?;
            cx.vcuda_graph_instantiate(call, Reservation::of_call())
                .and_then(Settled::<kind::Graph>::done)
        }),
        // cuGraphExecDestroy
        111 => inline(calls, command, reply, |cx, args, _| {
            let call = decode::<api::CuGraphExecDestroy>(args)?;
            cx.cu_graph_exec_destroy(call)
        }),
        // cuGraphLaunch
        112 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::CuGraphLaunch>(args)?;
            cx.cu_graph_launch(call, pass, Reservation::of_call())
                .and_then(Settled::<kind::Local>::done)
        }),
        // cuGraphUpload
        113 => gated(calls, command, pass, reply, |cx, args, pass, _| {
            let call = decode::<api::CuGraphUpload>(args)?;
            cx.cu_graph_upload(call, pass)
        }),
        // vcudaGraphExecUpdate
        114 => blocking(calls, command, reply, |cx, args, out| {
            let call = decode::<api::VcudaGraphExecUpdate>(args)?;
            let (answer, settled) = cx.vcuda_graph_exec_update(call, Reservation::of_call())?;
            answer.encode(out);
            Settled::<kind::Local>::done(settled)
        }),
        // vcudaGraphExecNodeSet
        115 => blocking(calls, command, reply, |cx, args, _| {
            let call = decode::<api::VcudaGraphExecNodeSet>(args)?;
            cx.vcuda_graph_exec_node_set(call, Reservation::of_call())
                .and_then(Settled::<kind::Local>::done)
        }),
        _ => unknown(command, reply),
    }
}

/// The handles that a command which may be held names.
pub(super) fn names(opcode: u32, args: &[u8]) -> CuResult<Names> {
    let mut names = Names::default();
    match opcode {
        // vcudaPrimaryCtxRelease
        11 => {
            let call = decode::<api::VcudaPrimaryCtxRelease>(args)?;
            names.contexts.add(call.ctx.0, true);
        }
        // vcudaCtxDestroy
        15 => {
            let call = decode::<api::VcudaCtxDestroy>(args)?;
            names.contexts.add(call.ctx.0, true);
        }
        // vcudaCopyIn
        33 => {
            let call = decode::<api::VcudaCopyIn>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaCopyInStaged
        34 => {
            let call = decode::<api::VcudaCopyInStaged>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaCopyOut
        35 => {
            let call = decode::<api::VcudaCopyOut>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaCopyOutStaged
        36 => {
            let call = decode::<api::VcudaCopyOutStaged>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaCopy
        37 => {
            let call = decode::<api::VcudaCopy>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaCopy2D
        38 => {
            let call = decode::<api::VcudaCopy2D>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaMemset
        39 => {
            let call = decode::<api::VcudaMemset>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuMemAllocAsync
        42 => {
            let call = decode::<api::CuMemAllocAsync>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuMemFreeAsync
        43 => {
            let call = decode::<api::CuMemFreeAsync>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuStreamDestroy_v2
        51 => {
            let call = decode::<api::CuStreamDestroyV2>(args)?;
            names.streams.add(call.h_stream.0, true);
        }
        // cuStreamSynchronize
        52 => {
            let call = decode::<api::CuStreamSynchronize>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuStreamQuery
        53 => {
            let call = decode::<api::CuStreamQuery>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuStreamWaitEvent
        54 => {
            let call = decode::<api::CuStreamWaitEvent>(args)?;
            names.streams.add(call.h_stream.0, false);
            names.events.add(call.h_event.0, false);
        }
        // cuStreamSetAttribute
        56 => {
            let call = decode::<api::CuStreamSetAttribute>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuEventDestroy_v2
        61 => {
            let call = decode::<api::CuEventDestroyV2>(args)?;
            names.events.add(call.h_event.0, true);
        }
        // cuEventRecordWithFlags
        62 => {
            let call = decode::<api::CuEventRecordWithFlags>(args)?;
            names.events.add(call.h_event.0, false);
            names.streams.add(call.h_stream.0, false);
        }
        // cuEventQuery
        63 => {
            let call = decode::<api::CuEventQuery>(args)?;
            names.events.add(call.h_event.0, false);
        }
        // cuEventSynchronize
        64 => {
            let call = decode::<api::CuEventSynchronize>(args)?;
            names.events.add(call.h_event.0, false);
        }
        // cuEventElapsedTime_v2
        65 => {
            let call = decode::<api::CuEventElapsedTimeV2>(args)?;
            names.events.add(call.h_start.0, false);
            names.events.add(call.h_end.0, false);
        }
        // cuFuncSetAttribute
        82 => {
            let call = decode::<api::CuFuncSetAttribute>(args)?;
            names.functions.add(call.hfunc.0, false);
        }
        // cuKernelSetAttribute
        84 => {
            let call = decode::<api::CuKernelSetAttribute>(args)?;
            names.functions.add(call.kernel.0, false);
        }
        // cuFuncSetCacheConfig
        85 => {
            let call = decode::<api::CuFuncSetCacheConfig>(args)?;
            names.functions.add(call.hfunc.0, false);
        }
        // cuKernelSetCacheConfig
        86 => {
            let call = decode::<api::CuKernelSetCacheConfig>(args)?;
            names.functions.add(call.kernel.0, false);
        }
        // vcudaLaunch
        100 => {
            let call = decode::<api::VcudaLaunch>(args)?;
            names.functions.add(call.f.0, false);
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaLaunchCooperative
        101 => {
            let call = decode::<api::VcudaLaunchCooperative>(args)?;
            names.functions.add(call.f.0, false);
            names.streams.add(call.h_stream.0, false);
        }
        // vcudaHostFunc
        102 => {
            let call = decode::<api::VcudaHostFunc>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuGraphLaunch
        112 => {
            let call = decode::<api::CuGraphLaunch>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        // cuGraphUpload
        113 => {
            let call = decode::<api::CuGraphUpload>(args)?;
            names.streams.add(call.h_stream.0, false);
        }
        _ => {}
    }
    Ok(names)
}
