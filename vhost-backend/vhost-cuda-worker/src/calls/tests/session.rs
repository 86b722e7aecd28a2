//! Tests of a session's basic calls: memory, copies, handles, contexts, and invalid commands.

use super::*;
use crate::calls::contexts::charges::fatbin;
use crate::executor::Pending;
use cuda_api::fatbin::WRAPPER_MAGIC;

#[test]
fn a_worker_that_must_use_mps_is_refused_without_it() {
    alone("a_worker_that_must_use_mps_is_refused_without_it", |_| {
        let refused = super::super::open(&library(), Prepare { mps: true, context: true });
        assert!(matches!(refused, Err(crate::executor::EngineError::WithoutMps)));
    });
}

/// The VM had no memory for a context when the worker started, and has it when the program creates one.
#[test]
fn a_worker_without_a_context_in_advance_charges_the_programs_context() {
    const CONTEXT: u64 = 6 << 20;
    let name = "a_worker_without_a_context_in_advance_charges_the_programs_context";
    run_alone(name, FirstContext { bytes: CONTEXT, in_advance: false }, &[], |mut bench| {
        assert_eq!(bench.charged("context"), CONTEXT);
        let f = bench.vector_add();
        let [a, b, c] = [(); 3].map(|()| bench.alloc(4));
        bench.launch(f, a, b, c, 1, 0);
        bench.good(&CuCtxSynchronize {});
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn a_vector_add_runs() {
    alone("a_vector_add_runs", |mut bench| {
        let n = 1000;
        let f = bench.vector_add();
        let [a, b, c] = [(); 3].map(|()| bench.alloc(4 * n));
        let data = floats((0..n).map(|i| i as f32));
        for stream in [0, 2, 500] {
            if stream == 500 {
                bench.post(&CuStreamCreateWithPriority {
                    ph_stream: StreamId(500),
                    flags: 1,
                    priority: 0,
                });
            }
            bench.post(&VcudaMemset {
                dst: c,
                pitch: 0,
                element_size: 4,
                value: 0,
                width: n,
                height: 1,
                h_stream: StreamId(stream),
            });
            bench.post(&VcudaCopyIn { dst: a, data: &data, h_stream: StreamId(stream) });
            bench.post(&VcudaCopyIn { dst: b, data: &data, h_stream: StreamId(stream) });
            bench.launch(f, a, b, c, n as u32, stream);
            let answer =
                bench.good(&VcudaCopyOut { src: c, len: 4 * n, h_stream: StreamId(stream) });
            assert_eq!(answer.data, floats((0..n).map(|i| 2.0 * i as f32)), "stream {stream}");
            bench.good(&CuStreamSynchronize { h_stream: StreamId(stream) });
        }
        bench.good(&CuCtxSynchronize {});
        assert_eq!(bench.used(), 2 * MIB);
        for dptr in [a, b, c] {
            bench.good(&CuMemFreeV2 { dptr });
        }
        assert_eq!(bench.used(), 0);
        bench.good(&CuModuleUnload { hmod: ModuleId(1001) });
        bench.launch(f, a, b, c, 1, 0);
        assert_eq!(bench.posted_error(), CuError::INVALID_HANDLE.0);
    });
}

#[test]
fn copies_go_through_the_arena_and_between_registered_memory() {
    alone("copies_go_through_the_arena_and_between_registered_memory", |mut bench| {
        let len = 1 << 20;
        let device = bench.alloc(len);
        let pattern: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
        // SAFETY: the arena is longer than both copies together, and nothing else accesses it.
        unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), bench.arena, len) };
        bench.good(&VcudaCopyInStaged { dst: device, arena: 0, len, h_stream: StreamId(0) });
        bench.good(&VcudaCopyOutStaged { src: device, arena: MIB, len, h_stream: StreamId(0) });
        // SAFETY: the arena is longer than both copies together. The copy to it has ended, so
        // nothing else accesses it.
        let back = unsafe { std::slice::from_raw_parts(bench.arena.wrapping_add(len), len) };
        assert!(back == pattern);
        for arena in [3 * MIB + 1, u64::MAX, u64::MAX - 4096] {
            let call = VcudaCopyOutStaged { src: device, arena, len, h_stream: StreamId(0) };
            assert_eq!(bench.call(&call).0, CuError::INVALID_VALUE.0, "{arena:#x}");
        }

        let vaddr = 0x3000_0020_0000;
        bench.attach_pinned(2, vaddr, len as u64);
        let register = VcudaHostRegister { vaddr, len, flags: 0 };
        assert_eq!(bench.good(&register).dptr, vaddr);
        bench.post(&VcudaCopy { dst: vaddr, src: device, len, h_stream: StreamId(0) });
        bench.good(&CuStreamSynchronize { h_stream: StreamId(0) });
        // SAFETY: the region is mapped at this address, and the copy to it has ended.
        let host = unsafe { std::slice::from_raw_parts(vaddr as *const u8, len) };
        assert!(host == pattern);
        bench.good(&VcudaHostUnregister { vaddr });
        bench.post(&VcudaCopy { dst: vaddr, src: device, len, h_stream: StreamId(0) });
        assert_eq!(bench.posted_error(), CuError::INVALID_VALUE.0);
        let unknown = VcudaHostRegister { vaddr: 0x3000_1000_0000, len, flags: 0 };
        assert_eq!(bench.call(&unknown).0, CuError::INVALID_VALUE.0);
    });
}

#[test]
fn registered_memory_of_several_regions_can_lie_in_one_page() {
    alone("registered_memory_of_several_regions_can_lie_in_one_page", |mut bench| {
        let page = 0x1234_5600_0000;
        let file = memory(3 << 12);
        bench.attach(&file, 2, RegionKind::User, page, 1 << 12);
        bench.attach(&file, 3, RegionKind::User, page, 3 << 12);
        let call = |(vaddr, len)| VcudaHostRegister { vaddr, len, flags: 0 };
        let [first, second, third] = [(page + 64, 100), (page + 164, 8), (page + 4000, 8192)];
        let [a, b, c] = [first, second, third].map(|range| bench.good(&call(range)).dptr);
        assert_eq!(b, a + 100, "both are in the region that ends with the page");
        for overlapping in [(page + 163, 2), (page + 64, 1)] {
            let refused = bench.call(&call(overlapping)).0;
            assert_eq!(refused, CuError::HOST_MEMORY_ALREADY_REGISTERED.0, "{overlapping:x?}");
        }

        let memset = |dst, value| VcudaMemset {
            dst,
            pitch: 0,
            element_size: 1,
            value,
            width: 8,
            height: 1,
            h_stream: StreamId(0),
        };
        bench.post(&memset(a, 1));
        bench.post(&memset(c, 3));
        // Detaching a region unregisters only the memory in that region.
        bench.good(&VcudaHostUnregister { vaddr: third.0 });
        let (told, unmapped) = std::sync::mpsc::channel();
        let region = bench.session.regions.detach(3, move || told.send(()).unwrap()).unwrap();
        bench.executor.region_detaching(region);
        unmapped.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
        bench.good(&VcudaHostUnregister { vaddr: first.0 });
        bench.post(&memset(b, 2));
        bench.good(&CuStreamSynchronize { h_stream: StreamId(0) });
        let mut seen = [0; 3 << 12];
        std::os::unix::fs::FileExt::read_exact_at(&std::fs::File::from(file), &mut seen, 0)
            .unwrap();
        assert_eq!([64, 164, 172, 4000, 4008].map(|at| seen[at]), [1, 2, 0, 3, 0]);
        for gone in [a, c] {
            bench.post(&memset(gone, 4));
            assert_eq!(bench.posted_error(), CuError::INVALID_VALUE.0);
        }
    });
}

/// Keeps the mirrors of these guest threads busy until the caller drops the returned sender.
fn keep_busy(bench: &Bench, threads: std::ops::Range<u32>) -> std::sync::mpsc::Sender<()> {
    let (go, until) = std::sync::mpsc::channel();
    let until = Arc::new(Mutex::new(until));
    for thread in threads {
        let until = until.clone();
        let wait = move || until.lock().unwrap().recv().unwrap_or_default();
        bench.session.mirrors.seat(thread).unwrap().run(wait);
    }
    go
}

#[test]
fn a_thread_without_a_mirror_gets_an_operating_system_error() {
    alone("a_thread_without_a_mirror_gets_an_operating_system_error", |mut bench| {
        let go = keep_busy(&bench, 100..100 + crate::mirror::MAX_MIRRORS as u32);
        let refused = CuError::OPERATING_SYSTEM.0;
        assert_eq!(bench.call(&VcudaTpcTables {}).0, refused);
        drop(go);
    });
}

#[test]
fn memory_stays_mapped_until_it_is_unregistered_from_the_gpu() {
    alone("memory_stays_mapped_until_it_is_unregistered_from_the_gpu", |mut bench| {
        let (vaddr, len) = (0x3000_0020_0000, 1 << 20);
        let register = VcudaHostRegister { vaddr, len, flags: 0 };
        let region = |bench: &mut Bench, id| {
            bench.attach_pinned(id, vaddr, len as u64);
            assert_eq!(bench.good(&register).dptr, vaddr, "region {id}");
        };
        let detach = |bench: &mut Bench, id| {
            let (told, unmapped) = std::sync::mpsc::channel();
            let region = bench.session.regions.detach(id, move || told.send(()).unwrap()).unwrap();
            bench.executor.region_detaching(region);
            unmapped
        };
        let soon = std::time::Duration::from_secs(10);

        // A guest thread without a current context can unregister the memory, too.
        region(&mut bench, 2);
        bench.ctx = ContextId(0);
        bench.good(&VcudaHostUnregister { vaddr });
        bench.ctx = ContextId(77);
        bench.good(&register);
        detach(&mut bench, 2).recv_timeout(soon).unwrap();

        // A region can be detached even while the guest keeps all its mirrors busy.
        region(&mut bench, 3);
        let go = keep_busy(&bench, 100..100 + crate::mirror::MAX_MIRRORS as u32 - 1);
        let last = keep_busy(&bench, 5..6);
        detach(&mut bench, 3).recv_timeout(soon).unwrap();
        drop((go, last));
        region(&mut bench, 4);

        // While a context is being destroyed, the region's memory stays mapped.
        let go = keep_busy(&bench, 5..6);
        let mut writer = Writer::new();
        VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) }.encode(&mut writer);
        bench.send(VcudaPrimaryCtxRelease::OPCODE, writer.as_bytes(), 0);
        let unmapped = detach(&mut bench, 4);
        assert!(unmapped.recv_timeout(std::time::Duration::from_millis(200)).is_err());
        drop(go);
        unmapped.recv_timeout(soon).unwrap();
    });
}

#[test]
fn a_context_that_is_ending_is_not_used() {
    alone("a_context_that_is_ending_is_not_used", |mut bench| {
        let stream = 9;
        bench.post(&CuStreamCreateWithPriority {
            ph_stream: StreamId(stream),
            flags: 1,
            priority: 0,
        });
        assert_eq!(bench.posted_error(), 0);
        let go = keep_busy(&bench, 5..6);
        let mut writer = Writer::new();
        VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) }.encode(&mut writer);
        bench.send(VcudaPrimaryCtxRelease::OPCODE, writer.as_bytes(), 0);
        let invalid = CuError::INVALID_CONTEXT.0;
        assert_eq!(bench.call(&CuCtxSynchronize {}).0, invalid);
        assert_eq!(bench.call(&CuStreamSynchronize { h_stream: StreamId(stream) }).0, invalid);
        let again = VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) };
        assert_eq!(bench.call(&again).0, invalid);
        drop(go);
        bench.ctx = ContextId(0);
        let start = std::time::Instant::now();
        while bench.call(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(77) }).0 != 0 {
            assert!(start.elapsed().as_secs() < 10, "the context has not ended");
        }
        bench.ctx = ContextId(77);
        bench.good(&CuCtxSynchronize {});
    });
}

#[test]
fn addresses_outside_the_session_are_refused() {
    alone("addresses_outside_the_session_are_refused", |mut bench| {
        let device = bench.alloc(4096);
        let secret = vec![0x5a_u8; 4096];
        let invalid = CuError::INVALID_VALUE.0;
        let wild = [
            secret.as_ptr() as u64,
            bench.arena as u64,
            0,
            4096,
            device + 4096,
            device - 1,
            0x2000_0000_0000 + (1 << 41),
            0x3000_0000_0000,
            u64::MAX - 8,
        ];
        for address in wild {
            let len = 16;
            let out = VcudaCopyOut { src: address, len, h_stream: StreamId(0) };
            assert_eq!(bench.call(&out).0, invalid, "{address:#x}");
            for (dst, src) in [(address, device), (device, address)] {
                bench.post(&VcudaCopy { dst, src, len, h_stream: StreamId(0) });
                assert_eq!(bench.posted_error(), invalid, "{address:#x}");
                let rows = VcudaCopy2D {
                    dst,
                    dst_pitch: 16,
                    src,
                    src_pitch: 16,
                    width: 16,
                    height: 2,
                    h_stream: StreamId(0),
                };
                bench.post(&rows);
                assert_eq!(bench.posted_error(), invalid, "{address:#x}");
            }
            bench.post(&VcudaCopyIn { dst: address, data: &[1; 16], h_stream: StreamId(0) });
            assert_eq!(bench.posted_error(), invalid, "{address:#x}");
            let set = VcudaMemset {
                dst: address,
                pitch: 0,
                element_size: 1,
                value: 0,
                width: 16,
                height: 1,
                h_stream: StreamId(0),
            };
            bench.post(&set);
            assert_eq!(bench.posted_error(), invalid, "{address:#x}");
            assert_eq!(bench.call(&CuMemFreeV2 { dptr: address }).0, invalid, "{address:#x}");
        }
        assert!(secret.iter().all(|byte| *byte == 0x5a));
        let past = VcudaCopyOut { src: device, len: 4097, h_stream: StreamId(0) };
        assert_eq!(bench.call(&past).0, invalid);
        let rows = VcudaMemset {
            dst: device,
            pitch: usize::MAX / 2,
            element_size: 4,
            value: 0,
            width: 1,
            height: 3,
            h_stream: StreamId(0),
        };
        bench.post(&rows);
        assert_eq!(bench.posted_error(), invalid);
    });
}

/// A copy with a pitch of 0 must be refused. The driver would treat it as rows without gaps, so the
/// copy would go beyond the memory that was checked.
#[test]
fn rows_that_overlap_are_refused() {
    alone("rows_that_overlap_are_refused", |mut bench| {
        let invalid = CuError::INVALID_VALUE.0;
        let [from, to, next] = [(); 3].map(|()| bench.alloc(4096));
        let rows = |dst_pitch, src_pitch| VcudaCopy2D {
            dst: to,
            dst_pitch,
            src: from,
            src_pitch,
            width: 4096,
            height: (next - to) as usize / 4096 + 1,
            h_stream: StreamId(0),
        };
        for (dst_pitch, src_pitch) in [(0, 0), (0, 4096), (4096, 0), (1, 1), (4095, 4095)] {
            bench.post(&rows(dst_pitch, src_pitch));
            assert_eq!(bench.posted_error(), invalid, "{dst_pitch} {src_pitch}");
        }
        for (element_size, pitch) in [(1, 0), (1, 4095), (2, 0), (4, 0), (4, 16)] {
            bench.post(&VcudaMemset {
                dst: to,
                pitch,
                element_size,
                value: 0x5a5a_5a5a,
                width: 4096 / element_size as usize,
                height: rows(0, 0).height,
                h_stream: StreamId(0),
            });
            assert_eq!(bench.posted_error(), invalid, "{element_size} {pitch}");
        }
        let after = bench.good(&VcudaCopyOut { src: next, len: 4096, h_stream: StreamId(0) });
        assert!(after.data.iter().all(|byte| *byte == 0), "other memory has changed");
    });
}

/// A wrapper that points to a fatbin must be refused. The driver follows the pointer, with which a
/// guest could refer to anything in the worker's memory.
#[test]
fn a_wrapper_of_a_fatbin_is_refused() {
    alone("a_wrapper_of_a_fatbin_is_refused", |mut bench| {
        let target = fatbin(&[(1, 75, VECTOR_ADD.to_vec())]);
        let load = |id, image| VcudaModuleLoad {
            module: ModuleId(id),
            blob: BlobId(0),
            image,
            options: Default::default(),
            log_max: 0,
        };
        bench.good(&load(1, &target));
        let mut wrapper = WRAPPER_MAGIC.to_le_bytes().to_vec();
        wrapper.extend_from_slice(&1u32.to_le_bytes());
        wrapper.extend_from_slice(&(target.as_ptr() as u64).to_le_bytes());
        wrapper.extend_from_slice(&[0; 8]);
        let invalid = CuError::INVALID_IMAGE.0;
        assert_eq!(bench.call(&load(2, &wrapper)).0, invalid);
        let library = VcudaLibraryLoad {
            library: LibraryId(3),
            blob: BlobId(0),
            image: &wrapper,
            options: Default::default(),
            library_options: Default::default(),
            log_max: 0,
        };
        assert_eq!(bench.call(&library).0, invalid);
        let create = VcudaLinkCreate {
            link: protocol::ids::LinkId(4),
            options: Default::default(),
            log_max: 0,
        };
        bench.good(&create);
        for kind in 0..=4 {
            let add = VcudaLinkAdd {
                link: protocol::ids::LinkId(4),
                kind,
                blob: BlobId(0),
                data: &wrapper,
                name: "wrapper",
                options: Default::default(),
            };
            assert_eq!(bench.call(&add).0, invalid, "{kind}");
        }
    });
}

#[test]
fn forged_handles_are_refused() {
    alone("forged_handles_are_refused", |mut bench| {
        let invalid = CuError::INVALID_HANDLE.0;
        for id in [3, 77, 1 << 40, u64::MAX, bench.arena as u64] {
            assert_eq!(bench.call(&CuStreamSynchronize { h_stream: StreamId(id) }).0, invalid);
            assert_eq!(bench.call(&CuEventSynchronize { h_event: EventId(id) }).0, invalid);
            assert_eq!(bench.call(&CuEventQuery { h_event: EventId(id) }).0, invalid);
            assert_eq!(bench.call(&CuModuleUnload { hmod: ModuleId(id) }).0, invalid);
            assert_eq!(bench.call(&CuLibraryUnload { library: LibraryId(id) }).0, invalid);
            assert_eq!(bench.call(&VcudaFuncAttributes { hfunc: FuncId(id) }).0, invalid);
            assert_eq!(bench.call(&CuStreamDestroyV2 { h_stream: StreamId(id) }).0, invalid);
            bench.launch(id, 0, 0, 0, 1, 0);
            assert_eq!(bench.posted_error(), invalid);
        }
        let ctx = std::mem::replace(&mut bench.ctx, ContextId(1234));
        let no_context = CuError::INVALID_CONTEXT.0;
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 1 }).0, no_context);
        bench.ctx = ContextId(0);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 1 }).0, no_context);
        bench.ctx = ctx;
        bench.post(&CuEventCreate { ph_event: EventId(600), flags: 2 });
        bench.post(&CuEventCreate { ph_event: EventId(600), flags: 2 });
        assert_eq!(bench.posted_error(), CuError::INVALID_VALUE.0);
        bench.post(&CuEventRecordWithFlags {
            h_event: EventId(600),
            h_stream: StreamId(0),
            flags: 0,
        });
        bench.good(&CuEventSynchronize { h_event: EventId(600) });
        bench.post(&CuEventDestroyV2 { h_event: EventId(600) });
        assert_eq!(bench.call(&CuEventQuery { h_event: EventId(600) }).0, invalid);
    });
}

#[test]
fn the_quota_holds_and_freed_memory_can_be_allocated_again() {
    alone("the_quota_holds_and_freed_memory_can_be_allocated_again", |mut bench| {
        let out_of_memory = CuError::OUT_OF_MEMORY.0;
        let info = bench.good(&CuMemGetInfoV2 {});
        assert_eq!((info.free as u64, info.total as u64), (QUOTA, QUOTA));
        let large = bench.alloc((QUOTA - 2 * MIB) as usize);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 4 << 20 }).0, out_of_memory);
        let small = bench.alloc(100);
        assert_eq!(bench.good(&CuMemGetInfoV2 {}).free, 0);
        assert_ne!(bench.alloc(100), small);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: (2 << 20) + 1 }).0, out_of_memory);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: usize::MAX }).0, out_of_memory);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 0 }).0, CuError::INVALID_VALUE.0);
        assert_eq!(bench.used(), QUOTA);
        bench.good(&CuMemFreeV2 { dptr: large });
        assert_eq!(bench.used(), 2 * MIB);
        assert_eq!(bench.call(&CuMemFreeV2 { dptr: large }).0, CuError::INVALID_VALUE.0);
        assert_eq!(bench.alloc((QUOTA - 2 * MIB) as usize), large);
        // Destroying the context frees all memory that was allocated in it.
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.used(), 0);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 1 }).0, CuError::INVALID_CONTEXT.0);
        bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        let again = bench.alloc(4096);
        bench.good(&VcudaCopyOut { src: again, len: 16, h_stream: StreamId(0) });
    });
}

#[test]
fn free_memory_is_the_published_one() {
    alone("free_memory_is_the_published_one", |mut bench| {
        bench.alloc(4 << 20);
        let asked = bench.good(&CuMemGetInfoV2 {});
        assert_eq!((asked.free as u64, asked.total as u64), (QUOTA - 4 * MIB, QUOTA));
        let publish = |bench: &Bench, used, max| {
            let usage = host_ipc::gate::MemoryUsage { used, max };
            bench.session.gate.page.gpus[0].publish_memory(usage);
        };
        publish(&bench, 7 * MIB, 10 * MIB);
        let read = bench.good(&CuMemGetInfoV2 {});
        assert_eq!((read.free as u64, read.total as u64), (3 * MIB, 10 * MIB));
        publish(&bench, 11 * MIB, 10 * MIB);
        assert_eq!(bench.good(&CuMemGetInfoV2 {}).free, 0);
    });
}

#[test]
fn stream_ordered_memory_is_freed_when_its_stream_reaches_the_free() {
    alone("stream_ordered_memory_is_freed_when_its_stream_reaches_the_free", |mut bench| {
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        let bytesize = 4 << 20;
        for _ in 0..100 {
            let alloc = CuMemAllocAsync { bytesize, h_stream: StreamId(500) };
            let dptr = bench.good(&alloc).dptr;
            bench.post(&CuMemFreeAsync { dptr, h_stream: StreamId(500) });
            bench.post(&VcudaCopyIn { dst: dptr, data: &[1; 8], h_stream: StreamId(500) });
            assert_eq!(bench.posted_error(), CuError::INVALID_VALUE.0);
        }
        bench.good(&CuStreamSynchronize { h_stream: StreamId(500) });
        // All memory can be allocated again, because the allocation waits for memory that is still
        // being freed.
        let all = bench.alloc(QUOTA as usize);
        bench.good(&CuMemFreeV2 { dptr: all });
        let start = std::time::Instant::now();
        while bench.used() > 0 {
            bench.executor.poll();
            assert!(start.elapsed().as_secs() < 10);
        }
    });
}

#[test]
fn memory_stays_reusable_after_a_stream_ordered_free_until_a_wait() {
    alone("memory_stays_reusable_after_a_stream_ordered_free_until_a_wait", |mut bench| {
        let h_stream = StreamId(500);
        bench.post(&CuStreamCreateWithPriority { ph_stream: h_stream, flags: 1, priority: 0 });
        let mut tries = 0;
        loop {
            let dptr = bench.good(&CuMemAllocAsync { bytesize: 4 << 20, h_stream }).dptr;
            let start = std::time::Instant::now();
            bench.post(&CuMemFreeAsync { dptr, h_stream });
            let pending = bench.executor.poll();
            // Try several times, because on a busy machine, the time for which memory stays
            // reusable may already be over.
            tries += 1;
            if start.elapsed().as_micros() < 500 {
                assert_ne!(pending, Pending::Nothing, "the memory was freed at once");
                break;
            }
            assert!(tries < 1000, "the machine is too slow");
        }
        bench.good(&CuStreamSynchronize { h_stream });
        let start = std::time::Instant::now();
        while bench.used() > 0 {
            assert!(start.elapsed().as_secs() < 10, "the wait didn't free the memory");
            std::thread::yield_now();
        }
    });
}

#[test]
fn memory_freed_in_another_contexts_default_stream_is_not_reused() {
    alone("memory_freed_in_another_contexts_default_stream_is_not_reused", |mut bench| {
        let (first, second) = (bench.ctx, ContextId(79));
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: second });
        let alloc = CuMemAllocAsync { bytesize: 4 << 20, h_stream: StreamId(0) };
        for attempt in 0.. {
            bench.ctx = first;
            let dptr = bench.good(&alloc).dptr;
            let start = std::time::Instant::now();
            bench.ctx = second;
            bench.post(&CuMemFreeAsync { dptr, h_stream: StreamId(0) });
            bench.ctx = first;
            let other = bench.good(&alloc).dptr;
            bench.post(&CuMemFreeAsync { dptr: other, h_stream: StreamId(0) });
            // Compare only if little time has passed. Later, the freed memory has been unmapped,
            // and its address may be used for the new allocation.
            if start.elapsed().as_micros() < 500 {
                assert_ne!(other, dptr);
                break;
            }
            assert!(attempt < 1000, "the machine is too slow");
        }
    });
}

#[test]
fn invalid_commands_are_answered_with_errors() {
    alone("invalid_commands_are_answered_with_errors", |mut bench| {
        assert_eq!(bench.raw(0, &[]).0, CuError::NOT_SUPPORTED.0);
        assert_eq!(bench.raw(u32::MAX, &[1; 64]).0, CuError::NOT_SUPPORTED.0);
        for entry in protocol::table::ENTRIES {
            for args in [&[0xff_u8; 8][..], &[0xff; 256], &[0xff; 4096]] {
                let (result, ..) = bench.raw(entry.number, args);
                assert_ne!(result, 0, "{} took rubbish", entry.name);
            }
        }
        // After all these invalid commands, the session still works.
        let device = bench.alloc(16);
        bench.good(&VcudaCopyOut { src: device, len: 16, h_stream: StreamId(0) });
        let blob = VcudaBlobPut { blob: BlobId(9), total: 1 << 40, offset: 0, data: &[1] };
        assert_eq!(bench.call(&blob).0, CuError::OUT_OF_MEMORY.0);
        let load = VcudaModuleLoad {
            module: ModuleId(5000),
            blob: BlobId(0),
            image: b".version 7.0\n.target sm_70\nnonsense",
            options: Default::default(),
            log_max: 4096,
        };
        let (result, answer) = bench.call(&load);
        assert_ne!(result, 0);
        assert!(!answer.error.is_empty(), "the answer has the JIT's log");
    });
}

#[test]
fn the_facts_match_the_devices() {
    alone("the_facts_match_the_devices", |mut bench| {
        let facts = bench.good(&VcudaFacts {});
        assert!(facts.driver_version >= 12000);
        let device = facts.devices[0];
        assert_eq!(device.total_memory, QUOTA);
        assert_ne!(device.name[0], 0);
        assert_eq!(device.attributes[10], 32, "the warp size");
    });
}

/// Returns a fatbin with an entry that consists of `len` zeros, compressed by LZ4 to a much smaller
/// size.
fn bomb(len: usize) -> Vec<u8> {
    // The LZ4 block consists of a zero byte, a match that repeats it `19 + more` times, and five
    // literal zeros.
    let more = len - 1 - 19 - 5;
    let mut block = vec![0x1f, 0, 1, 0];
    block.resize(block.len() + more / 255, 255);
    block.push((more % 255) as u8);
    block.extend([0x50, 0, 0, 0, 0, 0]);
    let mut bytes = fatbin(&[(2, 90, block.clone())]);
    let entry = &mut bytes[16..];
    entry[16..20].copy_from_slice(&(block.len() as u32).to_le_bytes());
    entry[40..48].copy_from_slice(&0x2000u64.to_le_bytes());
    entry[56..64].copy_from_slice(&(len as u64).to_le_bytes());
    bytes
}

/// Returns the largest amount of memory that this process has used so far, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

#[test]
fn images_on_many_threads_share_a_budget_of_host_memory() {
    alone("images_on_many_threads_share_a_budget_of_host_memory", |mut bench| {
        const LEN: usize = 140 << 20;
        const THREADS: u32 = 3;
        let image = bomb(LEN);
        for thread in THREAD..THREAD + THREADS {
            let (total, mut offset) = (image.len() as u64, 0);
            for data in image.chunks(128 << 10) {
                let blob = BlobId(thread.into());
                bench.good(&VcudaBlobPut { blob, total, offset, data });
                offset += data.len() as u64;
            }
        }
        let before = peak();
        for thread in THREAD..THREAD + THREADS {
            let load = VcudaModuleLoad {
                module: ModuleId(thread.into()),
                blob: BlobId(thread.into()),
                image: &[],
                options: Default::default(),
                log_max: 0,
            };
            bench.begin(thread, &load);
        }
        for thread in THREAD..THREAD + THREADS {
            // The load fails in the end, because the entry isn't a cubin.
            assert_eq!(bench.ended(thread), CuError::INVALID_IMAGE.0);
        }
        let more = peak() - before;
        assert!(more < 2 * LEN as u64, "{} MiB more", more >> 20);
    });
}

#[test]
fn errors_of_calls_that_end_objects_are_not_reported_at_other_calls() {
    let test = "errors_of_calls_that_end_objects_are_not_reported_at_other_calls";
    alone(test, |mut bench| {
        bench.post(&CuEventDestroyV2 { h_event: EventId(9) });
        bench.post(&CuStreamDestroyV2 { h_stream: StreamId(9) });
        bench.post(&CuGraphExecDestroy { h_graph_exec: 9.into() });
        bench.post(&VcudaGraphValuesDestroy { values: 9.into() });
        bench.post(&CuMemFreeAsync { dptr: 4096, h_stream: StreamId(0) });
        assert_eq!(bench.posted_error(), 0);
        // In contrast, the error of a command that queues work is reported.
        let record =
            CuEventRecordWithFlags { h_event: EventId(9), h_stream: StreamId(0), flags: 0 };
        bench.post(&record);
        assert_eq!(bench.posted_error(), CuError::INVALID_HANDLE.0);
    });
}
