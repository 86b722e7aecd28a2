//! Tests of addresses and physical memory that the guest itself manages.

use super::gate::FREE;
use super::*;
use host_ipc::gate::Mode;
use protocol::structs::MemoryAccess;

const INVALID: u32 = CuError::INVALID_VALUE.0;
const OUT_OF_MEMORY: u32 = CuError::OUT_OF_MEMORY.0;
const CHUNK: usize = 4 * MIB as usize;
const READ_WRITE: u32 = 3;

impl Bench {
    fn reserve(&mut self, size: usize) -> u64 {
        self.good(&VcudaMemAddressReserve { size, alignment: 0, hint: 0 }).ptr
    }

    fn create(&mut self, size: usize) -> (u32, u64) {
        let create = VcudaMemCreate { device: 0, size, handle_types: 0, compression: 0 };
        let (result, answer) = self.call(&create);
        (result, answer.handle)
    }

    fn access(&mut self, ptr: u64, size: usize, flags: u32) -> u32 {
        let access: &[MemoryAccess] = &[MemoryAccess { device: 0, flags }];
        let access = access.into();
        match flags {
            READ_WRITE => self.call(&VcudaMemGrantAccess { ptr, size, access }).0,
            _ => self.call(&VcudaMemRestrictAccess { ptr, size, access }).0,
        }
    }

    /// Creates a chunk of physical memory, and maps it at `ptr`. Returns its handle.
    fn map(&mut self, ptr: u64) -> u64 {
        let (result, handle) = self.create(CHUNK);
        assert_eq!(result, 0);
        self.good(&VcudaMemMap { ptr, size: CHUNK, handle });
        assert_eq!(self.access(ptr, CHUNK, READ_WRITE), 0);
        handle
    }

    fn unmap(&mut self, ptr: u64, size: usize) -> u32 {
        self.call(&CuMemUnmap { ptr, size }).0
    }

    fn release(&mut self, handle: u64) -> u32 {
        self.call(&CuMemRelease { handle }).0
    }
}

#[test]
fn a_segment_grows_and_shrinks_within_the_quota() {
    alone("virtual_memory::a_segment_grows_and_shrinks_within_the_quota", |mut bench| {
        let f = bench.vector_add();
        let segment = bench.reserve(1 << 30);
        assert_eq!(bench.used(), 0, "addresses cost nothing");
        let chunks = (QUOTA / MIB) as usize / 4;
        let mut handles = Vec::new();
        for chunk in 0..chunks as u64 {
            handles.push(bench.map(segment + chunk * CHUNK as u64));
            assert_eq!(bench.used(), (chunk + 1) * CHUNK as u64);
        }
        assert_eq!(bench.create(CHUNK).0, OUT_OF_MEMORY);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 16 }).0, OUT_OF_MEMORY);
        assert_eq!(bench.charged("memory"), QUOTA);
        assert_eq!(bench.good(&CuMemGetInfoV2 {}).free, 0);

        // Copies and kernels can access bytes of two adjacent chunks.
        let n = 1000;
        let middle = segment + CHUNK as u64 - 2000;
        let data = floats((0..n).map(|i| i as f32));
        bench.post(&VcudaCopyIn { dst: middle, data: &data, h_stream: StreamId(0) });
        bench.launch(f, middle, middle, middle, n, 0);
        let out = VcudaCopyOut { src: middle, len: data.len(), h_stream: StreamId(0) };
        assert_eq!(bench.good(&out).data, floats((0..n).map(|i| 2.0 * i as f32)));

        // Physical memory exists as long as it's mapped or the guest holds a reference.
        for handle in &handles {
            assert_eq!(bench.release(*handle), 0);
        }
        assert_eq!(bench.used(), QUOTA);
        assert_eq!(bench.release(handles[0]), INVALID, "released twice");
        assert_eq!(bench.good(&out).data.len(), data.len());
        assert_eq!(bench.unmap(segment, 2 * CHUNK), 0);
        assert_eq!(bench.used(), QUOTA - 2 * CHUNK as u64);
        assert_eq!(bench.call(&out).0, INVALID);
        let all = chunks * CHUNK;
        assert_eq!(bench.call(&CuMemAddressFree { ptr: segment, size: 1 << 30 }).0, INVALID);
        assert_eq!(bench.unmap(segment + 2 * CHUNK as u64, all - 2 * CHUNK), 0);
        bench.good(&CuMemAddressFree { ptr: segment, size: 1 << 30 });
        assert_eq!(bench.used(), 0);
        // Physical memory can be released without ever having been mapped.
        let (_, handle) = bench.create(CHUNK);
        assert_eq!((bench.used(), bench.release(handle), bench.used()), (4 * MIB, 0, 0));
    });
}

#[test]
fn forged_handles_and_addresses_are_refused() {
    alone("virtual_memory::forged_handles_and_addresses_are_refused", |mut bench| {
        let allocated = bench.alloc(CHUNK);
        let (first, second) = (bench.reserve(2 * CHUNK), bench.reserve(2 * CHUNK));
        let handle = bench.map(first);
        let used = bench.used();
        for forged in [0, handle + 1, u64::MAX, first, allocated] {
            assert_eq!(bench.release(forged), INVALID);
            assert_eq!(bench.call(&VcudaMemProperties { handle: forged }).0, INVALID);
            let map = VcudaMemMap { ptr: second, size: CHUNK, handle: forged };
            assert_eq!(bench.call(&map).0, INVALID);
        }
        // A mapping must be in a part of a single reservation in which nothing is mapped yet.
        for ptr in [allocated, first, first + 1, second + CHUNK as u64 + 2 * MIB, 0, 1 << 20, !0] {
            let map = VcudaMemMap { ptr, size: CHUNK, handle };
            assert_eq!(bench.call(&map).0, INVALID, "{ptr:#x}");
        }
        for (ptr, size) in [
            (allocated, CHUNK),
            (second, CHUNK),
            (first, 2 * CHUNK),
            (first, CHUNK / 2),
            (first + 2 * MIB, CHUNK / 2),
            (first, 0),
            (first, usize::MAX),
        ] {
            assert_eq!(bench.unmap(ptr, size), INVALID, "{ptr:#x}");
            assert_eq!(bench.access(ptr, size, READ_WRITE), INVALID, "{ptr:#x}");
            assert_eq!(bench.access(ptr, size, 0), INVALID, "{ptr:#x}");
            assert_eq!(bench.call(&CuMemAddressFree { ptr, size }).0, INVALID, "{ptr:#x}");
        }
        assert_eq!(bench.access(first, CHUNK, 2), INVALID);
        for ptr in [allocated, second, first + CHUNK as u64, 0] {
            assert_eq!(bench.call(&VcudaMemRetainHandle { ptr }).0, INVALID, "{ptr:#x}");
            assert_eq!(bench.call(&VcudaMemGetAccess { device: 0, ptr }).0, INVALID, "{ptr:#x}");
        }
        assert_eq!(bench.call(&CuMemFreeV2 { dptr: first }).0, INVALID);
        let device = CuError::INVALID_DEVICE.0;
        for wrong in [-1, 1] {
            let size = CHUNK;
            let create = VcudaMemCreate { device: wrong, size, handle_types: 0, compression: 0 };
            assert_eq!(bench.call(&create).0, device);
            let access: &[MemoryAccess] = &[MemoryAccess { device: wrong, flags: 3 }];
            let grant = VcudaMemGrantAccess { ptr: first, size, access: access.into() };
            assert_eq!(bench.call(&grant).0, device);
        }
        let create = VcudaMemCreate { device: 0, size: CHUNK, handle_types: 8, compression: 0 };
        assert_eq!(bench.call(&create).0, CuError::NOT_SUPPORTED.0);
        for size in [0, 1, CHUNK + 4096] {
            assert_eq!(bench.create(size).0, INVALID);
            let reserve = VcudaMemAddressReserve { size, alignment: 0, hint: 0 };
            assert_eq!(bench.call(&reserve).0, INVALID);
        }
        assert_eq!(bench.create(!0 << 21).0, OUT_OF_MEMORY);
        let reserve = VcudaMemAddressReserve { size: !0 << 21, alignment: 0, hint: 0 };
        assert_eq!(bench.call(&reserve).0, OUT_OF_MEMORY);
        assert_eq!(bench.used(), used);
    });
}

#[test]
fn only_mapped_memory_with_access_is_usable() {
    alone("virtual_memory::only_mapped_memory_with_access_is_usable", |mut bench| {
        let segment = bench.reserve(2 * CHUNK);
        let (_, handle) = bench.create(CHUNK);
        let out = VcudaCopyOut { src: segment, len: 8, h_stream: StreamId(0) };
        assert_eq!(bench.call(&out).0, INVALID, "reserved");
        bench.good(&VcudaMemMap { ptr: segment, size: CHUNK, handle });
        assert_eq!(bench.call(&out).0, INVALID, "mapped");
        assert_eq!(bench.access(segment, CHUNK, READ_WRITE), 0);
        assert_eq!(bench.good(&VcudaMemGetAccess { device: 0, ptr: segment + 8 }).flags, 3);
        bench.good(&out);
        let past = VcudaCopyOut { src: segment + CHUNK as u64 - 4, ..out };
        assert_eq!(bench.call(&past).0, INVALID);
        // Map the same physical memory at a second address.
        let second = segment + CHUNK as u64;
        bench.good(&VcudaMemMap { ptr: second, size: CHUNK, handle });
        assert_eq!(bench.access(segment, 2 * CHUNK, READ_WRITE), 0);
        bench.post(&VcudaCopyIn { dst: second, data: &[7; 8], h_stream: StreamId(0) });
        assert_eq!(bench.good(&out).data, [7; 8]);
        assert_eq!(bench.good(&VcudaMemRetainHandle { ptr: second + 100 }).handle, handle);
        assert_eq!(bench.access(second, CHUNK, 0), 0);
        assert_eq!(bench.call(&VcudaCopyOut { src: second, ..out }).0, INVALID);
        assert_eq!(bench.good(&out).data, [7; 8]);
        for _ in 0..2 {
            assert_eq!(bench.release(handle), 0);
        }
        assert_eq!(bench.unmap(segment, 2 * CHUNK), 0);
        assert_eq!(bench.used(), 0);
    });
}

#[test]
fn memory_is_unmapped_after_the_work_that_the_gate_holds() {
    alone("virtual_memory::memory_is_unmapped_after_the_work_that_the_gate_holds", |mut bench| {
        bench.streams();
        let segment = bench.reserve(CHUNK);
        let handle = bench.map(segment);
        assert_eq!(bench.release(handle), 0);
        let copy = bench.alloc(1024);
        bench.grant(Mode::Closed, 0);
        bench.until("nothing is in flight", |bench| !bench.is_active());
        bench.fill(segment, 5, 256, FREE);
        bench.post(&VcudaCopy { dst: copy, src: segment, len: 1024, h_stream: StreamId(FREE) });
        bench.begin(THREAD + 1, &CuMemUnmap { ptr: segment, size: CHUNK });
        bench.executor.poll();
        assert_eq!(bench.used(), 6 * MIB, "the held commands use the memory");
        // Mapping more memory doesn't wait for the held commands.
        let other = bench.reserve(CHUNK);
        bench.map(other);
        bench.grant(Mode::Window, 1_000_000);
        assert_eq!(bench.ended(THREAD + 1), 0);
        assert_eq!(bench.posted_error(), 0, "the held commands succeeded");
        let out = VcudaCopyOut { src: copy, len: 1024, h_stream: StreamId(FREE) };
        assert_eq!(bench.good(&out).data, [5; 1024]);
        assert_eq!(bench.used(), 6 * MIB);
    });
}

#[test]
fn memory_is_unmapped_after_the_work_in_flight() {
    alone("virtual_memory::memory_is_unmapped_after_the_work_in_flight", |mut bench| {
        bench.streams();
        let segment = bench.reserve(CHUNK);
        bench.map(segment);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 9 });
        bench.fill(segment, 5, 256, FREE);
        bench.begin(THREAD + 1, &CuMemUnmap { ptr: segment, size: CHUNK });
        // The memory stays mapped until the stream has finished using it, but new calls can't use
        // it.
        let out = VcudaCopyOut { src: segment, len: 8, h_stream: StreamId(0) };
        let start = std::time::Instant::now();
        while bench.call(&out).0 != INVALID {
            assert!(start.elapsed().as_secs() < 10, "the memory is still usable");
        }
        let map = VcudaMemMap { ptr: segment, size: CHUNK, handle: 1 };
        assert_eq!(bench.call(&map).0, INVALID);
        assert_eq!(bench.call(&CuMemAddressFree { ptr: segment, size: CHUNK }).0, INVALID);
        bench.run_host_func(9);
        assert_eq!(bench.ended(THREAD + 1), 0);
        assert_eq!(bench.posted_error(), 0);
        bench.good(&CuMemAddressFree { ptr: segment, size: CHUNK });
        assert_eq!(bench.used(), 4 * MIB, "the handle keeps the memory");
    });
}

#[test]
fn mappings_outlive_contexts() {
    alone("virtual_memory::mappings_outlive_contexts", |mut bench| {
        let segment = bench.reserve(CHUNK);
        bench.map(segment);
        bench.post(&VcudaCopyIn { dst: segment, data: &[3; 8], h_stream: StreamId(0) });
        bench.good(&CuCtxSynchronize {});
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        assert_eq!(bench.used(), 4 * MIB);
        bench.ctx = ContextId(0);
        bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        let out = VcudaCopyOut { src: segment, len: 8, h_stream: StreamId(0) };
        assert_eq!(bench.good(&out).data, [3; 8]);
    });
}

#[test]
fn creating_memory_waits_for_memory_that_is_being_freed() {
    alone("virtual_memory::creating_memory_waits_for_memory_that_is_being_freed", |mut bench| {
        for _ in 0..20 {
            let bytesize = QUOTA as usize;
            let dptr = bench.good(&CuMemAllocAsync { bytesize, h_stream: StreamId(0) }).dptr;
            bench.post(&CuMemFreeAsync { dptr, h_stream: StreamId(0) });
            bench.good(&CuStreamSynchronize { h_stream: StreamId(0) });
            let (result, handle) = bench.create(bytesize);
            assert_eq!(result, 0);
            assert_eq!(bench.release(handle), 0);
        }
    });
}

#[test]
fn reservations_honor_alignments_and_free_hints() {
    alone("virtual_memory::reservations_honor_alignments_and_free_hints", |mut bench| {
        let size = CHUNK;
        let first = bench.reserve(size);
        let aligned = VcudaMemAddressReserve { size, alignment: 1 << 30, hint: 0 };
        assert!(bench.good(&aligned).ptr.is_multiple_of(1 << 30));
        let hint = first + (1 << 35);
        let hinted = VcudaMemAddressReserve { size, alignment: 0, hint };
        assert_eq!(bench.good(&hinted).ptr, hint);
        assert_ne!(bench.good(&hinted).ptr, hint, "it is taken");
        for hint in [hint + 1, 0x7000_0000_0000, !0] {
            let hinted = VcudaMemAddressReserve { size, alignment: 0, hint };
            let ptr = bench.good(&hinted).ptr;
            assert!(super::super::memory::allocations::WINDOW.contains(&ptr), "{ptr:#x}");
        }
        let odd = VcudaMemAddressReserve { size, alignment: 3, hint: 0 };
        assert_eq!(bench.call(&odd).0, INVALID);
        let granularity = |option| VcudaMemGranularity { device: 0, option };
        assert_eq!(bench.good(&granularity(0)).granularity, 2 << 20);
        assert!(bench.good(&granularity(1)).granularity >= 2 << 20);
        assert_eq!(bench.call(&granularity(2)).0, INVALID);
    });
}
