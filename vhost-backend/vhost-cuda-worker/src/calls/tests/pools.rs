//! Tests of memory pools: the memory that they keep, the memory that they release, and their
//! charges.

use super::gate::BLOCKING;
use super::*;

const POOL: PoolId = PoolId(600);
const THRESHOLD: u32 = 4;
const RESERVED: u32 = 5;
const RESERVED_HIGH: u32 = 6;
const USED: u32 = 7;
const STREAM: StreamId = StreamId(500);

impl Bench {
    fn pool(&mut self, pool: PoolId, max_size: u64) {
        self.good(&VcudaMemPoolCreate { pool, dev: 0, max_size });
    }

    fn stream(&mut self) {
        self.post(&CuStreamCreateWithPriority { ph_stream: STREAM, flags: 1, priority: 0 });
    }

    fn attribute(&mut self, pool: PoolId, attribute: u32) -> u64 {
        self.good(&VcudaMemPoolGet { pool, attribute }).value
    }

    fn alloc_from(&mut self, pool: PoolId, bytesize: usize) -> u64 {
        self.good(&CuMemAllocFromPoolAsync { bytesize, pool, h_stream: STREAM }).dptr
    }

    /// Waits until `bytes` bytes of the pool's memory are in use.
    fn in_use(&mut self, bytes: u64) {
        for _ in 0..10_000 {
            self.executor.poll();
            if self.attribute(POOL, USED) == bytes {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("never {bytes} bytes in use");
    }

    /// Frees memory in the test's stream, and waits for the stream.
    fn free_in_stream(&mut self, dptr: u64) {
        self.post(&CuMemFreeAsync { dptr, h_stream: STREAM });
        self.good(&CuStreamSynchronize { h_stream: STREAM });
    }
}

#[test]
fn a_pool_keeps_memory_charged_until_it_is_trimmed() {
    alone("a_pool_keeps_memory_charged_until_it_is_trimmed", |mut bench| {
        bench.stream();
        bench.pool(POOL, 0);
        bench.good(&VcudaMemPoolSet { pool: POOL, attribute: THRESHOLD, value: 32 * MIB });
        let a = bench.alloc_from(POOL, 10 << 20);
        assert_eq!((bench.used(), bench.attribute(POOL, USED)), (10 * MIB, 10 * MIB));
        bench.free_in_stream(a);
        let amounts = [RESERVED, USED, THRESHOLD].map(|a| bench.attribute(POOL, a));
        assert_eq!((bench.used(), amounts), (10 * MIB, [10 * MIB, 0, 32 * MIB]));
        // The guest can't use freed memory that the pool keeps.
        let copy = VcudaCopyIn { dst: a, data: &[1; 8], h_stream: STREAM };
        bench.post(&copy);
        assert_eq!(bench.posted_error(), CuError::INVALID_VALUE.0);
        assert_eq!(bench.alloc_from(POOL, 4 << 20), a, "kept memory is reused");
        assert_eq!(bench.used(), 10 * MIB);
        bench.good(&CuMemPoolTrimTo { pool: POOL, min_bytes_to_keep: 0 });
        assert_eq!(bench.used(), 10 * MIB, "memory in use is not released");
        bench.free_in_stream(a);
        bench.good(&CuMemPoolTrimTo { pool: POOL, min_bytes_to_keep: 10 << 20 });
        assert_eq!(bench.used(), 10 * MIB);
        bench.good(&CuMemPoolTrimTo { pool: POOL, min_bytes_to_keep: 0 });
        assert_eq!((bench.used(), bench.attribute(POOL, RESERVED)), (0, 0));
        assert_eq!(bench.attribute(POOL, RESERVED_HIGH), 10 * MIB);
        bench.good(&VcudaMemPoolSet { pool: POOL, attribute: RESERVED_HIGH, value: 0 });
        assert_eq!(bench.attribute(POOL, RESERVED_HIGH), 0);
    });
}

#[test]
fn memory_that_a_stream_has_freed_is_reported_as_free() {
    alone("memory_that_a_stream_has_freed_is_reported_as_free", |mut bench| {
        bench.stream();
        bench.pool(POOL, 0);
        for _ in 0..100 {
            let a = bench.alloc_from(POOL, 10 << 20);
            bench.free_in_stream(a);
            assert_eq!(bench.good(&CuMemGetInfoV2 {}).free as u64, QUOTA);
        }
    });
}

#[test]
fn a_free_does_not_wait_for_earlier_ones_in_other_streams() {
    let test = "a_free_does_not_wait_for_earlier_ones_in_other_streams";
    alone(test, |mut bench| {
        let idle = StreamId(502);
        bench.streams();
        bench.post(&CuStreamCreateWithPriority { ph_stream: idle, flags: 1, priority: 0 });
        bench.pool(POOL, 0);
        bench.good(&VcudaMemPoolSet { pool: POOL, attribute: THRESHOLD, value: u64::MAX });
        let work = bench.alloc(1024);
        let (first, second) = (bench.alloc_from(POOL, 4 << 20), bench.alloc_from(POOL, 8 << 20));
        bench.long_work(work, BLOCKING);
        bench.post(&CuMemFreeAsync { dptr: first, h_stream: StreamId(BLOCKING) });
        bench.post(&CuMemFreeAsync { dptr: second, h_stream: idle });
        bench.in_use(4 * MIB);
        bench.executor.host_func_ended();
        bench.in_use(0);
    });
}

#[test]
fn trimming_returns_after_earlier_frees_have_been_returned() {
    alone("trimming_returns_after_earlier_frees_have_been_returned", |mut bench| {
        bench.stream();
        bench.pool(POOL, 0);
        for _ in 0..100 {
            let a = bench.alloc_from(POOL, 10 << 20);
            bench.free_in_stream(a);
            bench.good(&CuMemPoolTrimTo { pool: POOL, min_bytes_to_keep: 0 });
            assert_eq!(bench.used(), 0);
        }
    });
}

#[test]
fn an_allocation_takes_back_the_memory_that_pools_keep() {
    alone("an_allocation_takes_back_the_memory_that_pools_keep", |mut bench| {
        bench.stream();
        let default_pool = PoolId::default_of(0);
        for pool in [POOL, default_pool] {
            if pool == POOL {
                bench.pool(pool, 0);
            }
            bench.good(&VcudaMemPoolSet { pool, attribute: THRESHOLD, value: u64::MAX });
            let a = bench.alloc_from(pool, QUOTA as usize);
            bench.free_in_stream(a);
            assert_eq!(bench.used(), QUOTA);
        }
        assert_eq!(bench.attribute(POOL, RESERVED), 0, "the other pool's allocation took it");
        let all = bench.alloc(QUOTA as usize);
        assert_eq!((bench.used(), bench.attribute(default_pool, RESERVED)), (QUOTA, 0));
        bench.good(&CuMemFreeV2 { dptr: all });
    });
}

#[test]
fn a_pool_does_not_exceed_its_maximum_size() {
    alone("a_pool_does_not_exceed_its_maximum_size", |mut bench| {
        bench.stream();
        bench.pool(POOL, 8 * MIB);
        let alloc = |bench: &mut Bench, bytesize| {
            bench.call(&CuMemAllocFromPoolAsync { bytesize, pool: POOL, h_stream: STREAM }).0
        };
        assert_eq!(alloc(&mut bench, 9 << 20), CuError::OUT_OF_MEMORY.0);
        assert_eq!(alloc(&mut bench, 8 << 20), 0);
        assert_eq!(alloc(&mut bench, 1), CuError::OUT_OF_MEMORY.0);
        assert_eq!(bench.used(), 8 * MIB);
    });
}

#[test]
fn allocations_outlive_their_pool() {
    alone("allocations_outlive_their_pool", |mut bench| {
        bench.stream();
        bench.pool(POOL, 0);
        bench.good(&VcudaMemPoolSet { pool: POOL, attribute: THRESHOLD, value: u64::MAX });
        let (a, b) = (bench.alloc_from(POOL, 1 << 20), bench.alloc_from(POOL, 4 << 20));
        bench.free_in_stream(b);
        assert_eq!(bench.used(), 6 * MIB);
        bench.good(&CuMemPoolDestroy { pool: POOL });
        assert_eq!(bench.used(), 2 * MIB, "only the memory in use is left");
        let alloc = CuMemAllocFromPoolAsync { bytesize: 8, pool: POOL, h_stream: STREAM };
        assert_eq!(bench.call(&alloc).0, CuError::INVALID_HANDLE.0);
        let create = VcudaMemPoolCreate { pool: POOL, dev: 0, max_size: 0 };
        assert_eq!(bench.call(&create).0, CuError::INVALID_VALUE.0, "the id is still in use");
        bench.good(&VcudaCopyOut { src: a, len: 8, h_stream: STREAM });
        bench.good(&CuMemFreeV2 { dptr: a });
        assert_eq!(bench.used(), 0);
        bench.good(&create);
    });
}

#[test]
fn invalid_pools_are_refused() {
    alone("invalid_pools_are_refused", |mut bench| {
        bench.stream();
        for (pool, dev) in [(PoolId(0), 0), (PoolId(15), 0), (POOL, 1), (POOL, -1)] {
            assert_ne!(bench.call(&VcudaMemPoolCreate { pool, dev, max_size: 0 }).0, 0);
        }
        for pool in [PoolId(1), PoolId(15), POOL, PoolId(u64::MAX)] {
            assert_ne!(bench.call(&CuMemPoolDestroy { pool }).0, 0);
            assert_ne!(bench.call(&VcudaMemPoolGet { pool, attribute: USED }).0, 0);
            assert_ne!(bench.call(&CuMemPoolTrimTo { pool, min_bytes_to_keep: 0 }).0, 0);
            let alloc = CuMemAllocFromPoolAsync { bytesize: 8, pool, h_stream: STREAM };
            assert_ne!(bench.call(&alloc).0, 0);
        }
        let default_pool = PoolId::default_of(0);
        assert_ne!(bench.call(&CuMemPoolDestroy { pool: default_pool }).0, 0);
        for attribute in [0, 1, 3, 9, u32::MAX] {
            let get = VcudaMemPoolGet { pool: default_pool, attribute };
            assert_ne!(bench.call(&get).0, 0);
        }
        let set = VcudaMemPoolSet { pool: default_pool, attribute: USED, value: 0 };
        assert_ne!(bench.call(&set).0, 0);
    });
}
