//! Tests of memory and events that the session shares with other sessions of the VM.

use super::*;

const INVALID: u32 = CuError::INVALID_VALUE.0;
const OUT_OF_MEMORY: u32 = CuError::OUT_OF_MEMORY.0;
const FILE: u32 = 1;
const SIZE: usize = 4 * MIB as usize;
/// The name under which another session exports an object.
const THEIRS: Token = [1, 2, 3, 4];
/// The id of the share that belongs to another session's memory.
const SHARE: u64 = 1000;

impl Bench {
    fn export(&mut self, ptr: u64) -> VcudaIpcGetMemHandleAnswer {
        self.good(&VcudaIpcGetMemHandle { ptr })
    }

    fn open(&mut self, token: Token, offset: u64, size: u64) -> (u32, u64) {
        let (result, answer) = self.call(&VcudaIpcOpenMemHandle { token, offset, size });
        (result, answer.ptr)
    }

    /// Returns the number of times that sessions hold the shared memory `share`.
    fn holds(&self, share: u64) -> u64 {
        self.account.lock().unwrap().shares.get(&share).map_or(0, |(_, holds)| *holds)
    }

    fn exported(&self) -> usize {
        // Make a request and wait for its answer, so that the device process has handled all
        // earlier messages.
        assert_eq!(self.session.exchange.import([0; 4]), None);
        self.exports.lock().unwrap().things.len()
    }

    /// Makes another session export memory of `bytes` bytes, for which `charged` bytes are charged
    /// in the ledger.
    fn theirs(&mut self, bytes: u64, charged: u64) {
        let thing =
            Exported::Memory { share: SHARE, device: 0, bytes, handle_types: 0, compression: 0 };
        let mut account = self.account.lock().unwrap();
        account.shares.insert(SHARE, (charged, 1));
        account.used += charged;
        let mut exports = self.exports.lock().unwrap();
        exports.things.insert(THEIRS, thing);
        exports.files.insert(THEIRS, memory(bytes as usize));
    }
}

#[test]
fn exported_memory_stays_charged_until_it_is_freed() {
    alone("sharing::exported_memory_stays_charged_until_it_is_freed", |mut bench| {
        let (small, large) = (bench.alloc(512), bench.alloc(SIZE));
        let used = bench.used();
        let first = bench.export(large);
        assert_eq!((first.offset, first.size), (0, SIZE as u64));
        let inner = bench.export(large + 5);
        assert_eq!((inner.token, inner.offset), (first.token, 0), "the same export");
        let second = bench.export(small);
        assert_eq!(second.size, 512);
        assert_ne!(second.token, first.token);
        assert_eq!((bench.used(), bench.charged("memory"), bench.exported()), (used, 0, 2));
        // A session can't open an allocation that it exports itself.
        let own = bench.open(first.token, 0, first.size).0;
        assert_eq!(own, CuError::INVALID_CONTEXT.0);
        bench.good(&CuMemFreeV2 { dptr: large });
        assert_eq!((bench.used(), bench.exported()), (2 * MIB, 1));
        // The block of a small allocation stays exported as long as any allocation in it is in use.
        let other = bench.alloc(512);
        let third = bench.export(other);
        assert_eq!((third.token, third.size), (second.token, 512));
        assert_ne!(third.offset, second.offset);
        bench.good(&CuMemFreeV2 { dptr: small });
        assert_eq!((bench.used(), bench.exported()), (2 * MIB, 1));
        bench.good(&CuMemFreeV2 { dptr: other });
        assert_eq!((bench.used(), bench.exported()), (0, 0));
    });
}

#[test]
fn exported_memory_of_a_pool_stays_charged_until_the_pool_releases_it() {
    let test = "sharing::exported_memory_of_a_pool_stays_charged_until_the_pool_releases_it";
    alone(test, |mut bench| {
        let (pool, stream) = (PoolId(600), StreamId(500));
        bench.post(&CuStreamCreateWithPriority { ph_stream: stream, flags: 1, priority: 0 });
        bench.good(&VcudaMemPoolCreate { pool, dev: 0, max_size: 0 });
        let threshold = 4;
        bench.good(&VcudaMemPoolSet { pool, attribute: threshold, value: u64::MAX });
        let mut allocate = |bytesize| {
            bench.good(&CuMemAllocFromPoolAsync { bytesize, pool, h_stream: stream }).dptr
        };
        let (large, small) = (allocate(SIZE - 512), allocate(512));
        assert_eq!(small, large + SIZE as u64 - 512, "both are in one piece of memory");
        let (first, second) = (bench.export(large), bench.export(small));
        assert_eq!((first.offset, first.size), (0, SIZE as u64 - 512));
        assert_eq!((second.offset, second.size), (SIZE as u64 - 512, 512));
        assert_eq!((first.token, bench.exported()), (second.token, 1));
        assert_eq!((bench.used(), bench.charged("memory")), (SIZE as u64, 0));
        for dptr in [large, small] {
            bench.post(&CuMemFreeAsync { dptr, h_stream: stream });
        }
        bench.good(&CuStreamSynchronize { h_stream: stream });
        // After the frees, the pool keeps the memory, but the guest can't export it.
        assert_eq!(bench.call(&VcudaIpcGetMemHandle { ptr: large }).0, INVALID);
        assert_eq!((bench.used(), bench.exported()), (SIZE as u64, 1));
        bench.good(&CuMemPoolDestroy { pool });
        assert_eq!((bench.used(), bench.exported()), (0, 0));
    });
}

#[test]
fn imported_memory_can_be_freed_in_a_stream() {
    alone("sharing::imported_memory_can_be_freed_in_a_stream", |mut bench| {
        let stream = StreamId(500);
        bench.post(&CuStreamCreateWithPriority { ph_stream: stream, flags: 1, priority: 0 });
        bench.theirs(SIZE as u64, SIZE as u64);
        let (result, dptr) = bench.open(THEIRS, 0, SIZE as u64);
        assert_eq!((result, bench.holds(SHARE)), (0, 2));
        bench.post(&CuMemFreeAsync { dptr, h_stream: stream });
        bench.good(&CuStreamSynchronize { h_stream: stream });
        bench.good(&CuMemGetInfoV2 {});
        assert_eq!(bench.holds(SHARE), 1);
        let again = CuMemFreeAsync { dptr, h_stream: stream };
        assert_eq!(bench.call(&again).0, INVALID, "freed twice");
    });
}

#[test]
fn memory_that_can_not_be_exported_is_freed_as_usual() {
    alone("sharing::memory_that_can_not_be_exported_is_freed_as_usual", |mut bench| {
        let large = bench.alloc(SIZE);
        bench.exports.lock().unwrap().full = true;
        for _ in 0..2 {
            assert_eq!(bench.call(&VcudaIpcGetMemHandle { ptr: large }).0, OUT_OF_MEMORY);
        }
        bench.exports.lock().unwrap().full = false;
        let handle = bench.export(large);
        assert_eq!(bench.exported(), 1);
        bench.exports.lock().unwrap().full = true;
        assert_eq!(bench.export(large).token, handle.token);
        for ptr in [0, large - 1, large + SIZE as u64, u64::MAX] {
            assert_eq!(bench.call(&VcudaIpcGetMemHandle { ptr }).0, INVALID, "{ptr:#x}");
        }
        bench.good(&CuMemFreeV2 { dptr: large });
        assert_eq!((bench.used(), bench.exported()), (0, 0));
        assert_eq!(bench.call(&VcudaIpcGetMemHandle { ptr: large }).0, INVALID);
    });
}

#[test]
fn imported_memory_is_held_while_it_is_open() {
    alone("sharing::imported_memory_is_held_while_it_is_open", |mut bench| {
        bench.theirs(SIZE as u64, SIZE as u64);
        let (result, ptr) = bench.open(THEIRS, 4096, 8192);
        assert_eq!((result, bench.holds(SHARE)), (0, 2));
        bench.post(&VcudaCopyIn { dst: ptr, data: &[7; 16], h_stream: StreamId(0) });
        let out = VcudaCopyOut { src: ptr, len: 16, h_stream: StreamId(0) };
        assert_eq!(bench.good(&out).data, [7; 16]);
        // Calls can use only the part of the memory that was opened.
        for src in [ptr - 16, ptr + 8192 - 8] {
            let out = VcudaCopyOut { src, len: 16, h_stream: StreamId(0) };
            assert_eq!(bench.call(&out).0, INVALID);
        }
        assert_eq!(bench.call(&VcudaIpcGetMemHandle { ptr }).0, INVALID, "another's memory");
        assert_eq!(bench.call(&VcudaIpcCloseMemHandle { dptr: ptr + 1 }).0, INVALID);
        bench.good(&VcudaIpcCloseMemHandle { dptr: ptr });
        assert_eq!(bench.holds(SHARE), 1);
        assert_eq!(bench.call(&VcudaIpcCloseMemHandle { dptr: ptr }).0, INVALID, "closed twice");
        assert_eq!(bench.call(&out).0, INVALID);
        // When a context is destroyed, memory that is open in it is closed.
        assert_eq!(bench.open(THEIRS, 0, 16).0, 0);
        assert_eq!(bench.holds(SHARE), 2);
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.holds(SHARE), 1);
    });
}

#[test]
fn forged_handles_and_false_exports_are_refused() {
    alone("sharing::forged_handles_and_false_exports_are_refused", |mut bench| {
        let size = SIZE as u64;
        bench.theirs(size, size);
        for (offset, len) in [(0, 0), (0, size + 1), (size, 1), (8, u64::MAX), (u64::MAX, 1)] {
            assert_eq!(bench.open(THEIRS, offset, len).0, INVALID, "{offset:#x} {len:#x}");
        }
        for token in [[0; 4], [1, 2, 3, 5], [u64::MAX; 4]] {
            assert_eq!(bench.open(token, 0, 16).0, INVALID);
            assert_eq!(bench.call(&VcudaMemImport { token }).0, INVALID);
            let event = VcudaIpcOpenEventHandle { event: EventId(700), token };
            assert_eq!(bench.call(&event).0, CuError::MAP_FAILED.0);
        }
        let event = VcudaIpcOpenEventHandle { event: EventId(700), token: THEIRS };
        assert_eq!(bench.call(&event).0, CuError::MAP_FAILED.0, "memory isn't an event");
        // An import fails if the ledger has another length for the memory than the exporter claims.
        for charged in [size / 2, 2 * size] {
            bench.theirs(size, charged);
            assert_eq!(bench.open(THEIRS, 0, 16).0, INVALID);
        }
        // An import fails if the memory's length isn't a multiple of the granularity.
        for bytes in [0, 4096, size + 1] {
            bench.theirs(bytes, bytes);
            assert_eq!(bench.open(THEIRS, 0, 16).0, INVALID);
        }
        // An import fails if the exporter sends another file, or none.
        bench.theirs(size, size);
        bench.exports.lock().unwrap().files.insert(THEIRS, memory(5));
        assert_eq!(bench.open(THEIRS, 0, 16).0, INVALID);
        bench.exports.lock().unwrap().files.remove(&THEIRS);
        assert_eq!(bench.open(THEIRS, 0, 16).0, INVALID);
        // An import fails if the memory has been freed.
        bench.theirs(size, size);
        bench.account.lock().unwrap().shares.remove(&SHARE);
        assert_eq!(bench.open(THEIRS, 0, 16).0, INVALID);
        bench.account.lock().unwrap().shares.insert(SHARE, (size, 1));
        // An import fails if the memory is on a device that the session doesn't have.
        for device in [1, 77, u32::MAX] {
            let (share, bytes) = (SHARE, size);
            let thing = Exported::Memory { share, device, bytes, handle_types: 0, compression: 0 };
            bench.exports.lock().unwrap().things.insert(THEIRS, thing);
            assert_ne!(bench.open(THEIRS, 0, 16).0, 0);
        }
        assert_eq!(bench.holds(SHARE), 1, "a refused session holds nothing");
    });
}

#[test]
fn physical_memory_is_kept_by_its_export() {
    alone("sharing::physical_memory_is_kept_by_its_export", |mut bench| {
        let create =
            |handle_types| VcudaMemCreate { device: 0, size: SIZE, handle_types, compression: 0 };
        let plain = bench.good(&create(0)).handle;
        assert_eq!(bench.call(&VcudaMemExport { handle: plain }).0, INVALID);
        bench.good(&CuMemRelease { handle: plain });
        let handle = bench.good(&create(FILE)).handle;
        let token = bench.good(&VcudaMemExport { handle }).token;
        assert_eq!(bench.good(&VcudaMemExport { handle }).token, token);
        bench.good(&CuMemRelease { handle });
        assert_eq!(bench.call(&VcudaMemExport { handle }).0, INVALID, "the handle is released");
        assert_eq!((bench.used(), bench.exported()), (SIZE as u64, 1));
        // Physical memory of another session can be imported, but not exported again.
        bench.theirs(SIZE as u64, SIZE as u64);
        let imported = bench.good(&VcudaMemImport { token: THEIRS }).handle;
        assert_eq!(bench.holds(SHARE), 2);
        assert_eq!(bench.call(&VcudaMemExport { handle: imported }).0, INVALID);
        bench.good(&CuMemRelease { handle: imported });
        assert_eq!(bench.holds(SHARE), 1);
        bench.good(&VcudaMemWithdraw { token: [9; 4] });
        assert_eq!(bench.used(), 2 * SIZE as u64);
        for _ in 0..2 {
            bench.good(&VcudaMemWithdraw { token });
            assert_eq!((bench.used(), bench.exported()), (SIZE as u64, 1));
        }
    });
}

#[test]
fn a_wait_for_another_sessions_event_does_not_use_the_gpu() {
    use super::gate::FREE;
    use host_ipc::gate::Mode;

    let test = "sharing::a_wait_for_another_sessions_event_does_not_use_the_gpu";
    alone(test, |mut bench| {
        let (ours, event) = (EventId(610), EventId(611));
        bench.streams();
        bench.grant(Mode::Window, 1_000_000);
        // The flags are CU_EVENT_INTERPROCESS and CU_EVENT_DISABLE_TIMING.
        bench.post(&CuEventCreate { ph_event: ours, flags: 4 | 2 });
        let token = bench.good(&VcudaIpcGetEventHandle { event: ours }).token;
        assert_eq!(bench.good(&VcudaIpcGetEventHandle { event: ours }).token, token);
        let own = bench.call(&VcudaIpcOpenEventHandle { event, token });
        assert_eq!(own.0, CuError::INVALID_CONTEXT.0);
        // Another stream of this session records the event later. It takes the place of the other
        // session.
        bench.post(&VcudaHostFunc { h_stream: StreamId(super::gate::BLOCKING), token: 42 });
        let record = CuEventRecordWithFlags {
            h_event: ours,
            h_stream: StreamId(super::gate::BLOCKING),
            flags: 0,
        };
        bench.post(&record);
        let dst = bench.alloc(4096);
        let h_stream = StreamId(FREE);
        bench.post(&CuStreamWaitEvent { h_stream, h_event: ours, flags: 0 });
        assert_eq!(bench.posted_error(), CuError::INVALID_VALUE.0, "there's another call for this");
        bench.good(&VcudaStreamWaitInterprocessEvent { h_stream, h_event: ours, flags: 0 });
        bench.fill(dst, 1, 256, FREE);
        assert_eq!((bench.host_func(), bench.posted_error()), (42, 0));
        bench.until("stalled", Bench::stalled);
        bench.executor.host_func_ended();
        bench.until("drained", |bench| !bench.is_active());
        bench.post(&CuEventDestroyV2 { h_event: ours });
        assert_eq!(bench.posted_error(), 0);
        let start = std::time::Instant::now();
        while bench.exported() > 0 {
            assert!(start.elapsed().as_secs() < 10, "the event is still exported");
        }
    });
}
