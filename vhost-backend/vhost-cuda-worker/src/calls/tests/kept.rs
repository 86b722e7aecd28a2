//! Tests of memory that the worker keeps after the program has freed it.

use super::credit::OTHER;
use super::gate::FREE;
use super::*;
use crate::driver::stubs::{self, stop_next};
use host_ipc::gate::MemoryBase;

/// The memory that the VM may use, in bytes. The worker may keep a sixteenth of it (`MOST`).
const MAX: u64 = 1 << 30;
const MOST: u64 = MAX / 16;

/// Counts the driver calls that create, map, unmap, or free memory.
#[derive(Clone, Default)]
struct Calls(Arc<AtomicU32>);

impl stubs::Watch for Calls {
    fn enters(&self, name: &'static str, _: &[u64]) {
        self.0.fetch_add(
            u32::from(name.starts_with("cuMem") && !name.contains("cpy")),
            Ordering::SeqCst,
        );
    }

    fn leaves(&self, _: &'static str, _: &[u64], _: u32) {}
}

impl Calls {
    fn watch() -> Self {
        let calls = Self::default();
        stubs::watch(calls.clone());
        calls
    }

    /// Returns the number of driver calls since this function was last called.
    fn take(&self) -> u32 {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Bench {
    /// Offers the worker to keep memory and to use credit, as the broker does.
    fn offer_kept(&mut self) {
        self.set_quota(MAX);
        let page = &self.session.gate.page;
        page.gpus[0].publish_base(MemoryBase { vm: 0, session: i64::MIN, max: MAX });
        page.gpus[0].credit.offer(true);
        page.kept[0].offer(true);
    }

    fn kept(&self) -> u64 {
        self.session.gate.page.kept[0].bytes()
    }

    fn free(&mut self, dptr: u64) {
        self.good(&CuMemFreeV2 { dptr });
    }

    /// Returns the VM's use of memory, as its sessions see it.
    fn seen(&self) -> u64 {
        self.session.ledger.usage(0).used
    }

    /// Recalls all kept memory, as the broker does.
    fn recall(&mut self) {
        let page = self.session.gate.page.clone();
        page.kept[0].offer(false);
        page.worker.recall_kept();
        self.until("the worker frees what it keeps", |bench| bench.kept() == 0);
    }

    /// Returns the number of bytes that are charged to the VM, without its credit and without kept
    /// memory.
    fn charged_to_program(&self) -> u64 {
        self.session.ledger.usage(-1);
        self.used() - self.session.gate.page.gpus[0].credit.bytes() - self.kept()
    }
}

#[test]
fn freed_memory_is_used_again_without_the_driver() {
    alone("freed_memory_is_used_again_without_the_driver", |mut bench| {
        bench.offer_kept();
        let other = bench.alloc(2 << 20);
        let calls = Calls::watch();
        let before = (bench.seen(), bench.charged_to_program());
        for bytes in [512, 2 << 20, 4 << 20, (4 << 20) - 1, 50 << 20] {
            let first = bench.alloc(bytes);
            let used = bench.seen();
            bench.free(first);
            calls.take();
            for _ in 0..10 {
                assert_eq!((bench.seen(), bench.charged_to_program()), before, "{bytes}");
                // To all calls, kept memory is freed memory.
                assert_eq!(bench.call(&CuMemFreeV2 { dptr: first }).0, 1);
                assert_eq!(bench.call(&VcudaIpcGetMemHandle { ptr: first }).0, 1);
                bench.fill(first, 7, 1, 0);
                assert_eq!(bench.posted_error(), 1);
                assert_eq!((bench.alloc(bytes), bench.seen()), (first, used));
                bench.fill(first, 7, 1, 0);
                assert_eq!(bench.posted_error(), 0);
                bench.free(first);
            }
            assert_eq!(calls.take(), 0, "{bytes}");
        }
        // An allocation of another size can't reuse the kept memory.
        let large = bench.alloc(6 << 20);
        assert_ne!(calls.take(), 0);
        bench.free(large);
        bench.recall();
        assert_eq!((bench.seen(), bench.charged_to_program()), before);
        bench.free(other);
        assert_eq!(bench.kept(), 0, "it's recalled");
        assert_eq!(bench.charged_to_program(), 0);
    });
}

#[test]
fn a_worker_keeps_no_more_than_its_limits() {
    alone("a_worker_keeps_no_more_than_its_limits", |mut bench| {
        bench.offer_kept();
        let large = bench.alloc(MOST as usize + 1);
        bench.free(large);
        assert_eq!(bench.kept(), 0);
        let all: Vec<_> = (0..40).map(|_| bench.alloc(2 << 20)).collect();
        for at in all {
            bench.free(at);
            assert!(bench.kept() <= MOST);
        }
        // The oldest kept mappings are freed to make room for new ones.
        for kept in [0, MOST] {
            let large = bench.alloc(MOST as usize);
            bench.free(large);
            bench.until("the older ones are freed", |bench| bench.kept() == kept);
        }
        assert_eq!((bench.kept(), bench.charged_to_program()), (MOST, 0));
        // A worker also keeps at most 64 mappings.
        bench.recall();
        bench.session.gate.page.gpus[0].publish_base(MemoryBase {
            vm: 0,
            session: i64::MIN,
            max: 1 << 40,
        });
        bench.session.gate.page.kept[0].offer(true);
        let all: Vec<_> = (0..100).map(|_| bench.alloc(2 << 20)).collect();
        all.into_iter().for_each(|at| bench.free(at));
        assert!(bench.kept() <= 64 * 2 * MIB && bench.kept() > 60 * 2 * MIB, "{}", bench.kept());
    });
}

#[test]
fn memory_is_kept_only_after_all_work_that_may_use_it() {
    alone("memory_is_kept_only_after_all_work_that_may_use_it", |mut bench| {
        bench.offer_kept();
        bench.streams();
        let a = bench.alloc(4 << 20);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        bench.fill(a, 7, 64, FREE);
        bench.begin(OTHER, &CuMemFreeV2 { dptr: a });
        assert_eq!((bench.host_func(), bench.kept()), (42, 0));
        let b = bench.alloc(4 << 20);
        assert_ne!(a, b, "the stream still uses it");
        bench.executor.host_func_ended();
        assert_eq!((bench.ended(OTHER), bench.kept()), (0, 4 * MIB));
        assert_eq!(bench.alloc(4 << 20), a);
        bench.free(b);
        assert_eq!(bench.kept(), 4 * MIB);
        // A free doesn't wait for work in a stream that was destroyed. So after such work, memory
        // isn't kept.
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 43 });
        bench.fill(a, 7, 64, FREE);
        assert_eq!(bench.host_func(), 43);
        bench.good(&CuStreamDestroyV2 { h_stream: StreamId(FREE) });
        bench.begin(OTHER, &CuMemFreeV2 { dptr: a });
        bench.executor.host_func_ended();
        assert_eq!((bench.ended(OTHER), bench.kept()), (0, 4 * MIB));
    });
}

#[test]
fn destroying_an_empty_stream_does_not_matter() {
    alone("destroying_an_empty_stream_does_not_matter", |mut bench| {
        bench.offer_kept();
        bench.streams();
        let a = bench.alloc(4 << 20);
        bench.fill(a, 7, 64, FREE);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.good(&CuStreamDestroyV2 { h_stream: StreamId(FREE) });
        bench.free(a);
        assert_eq!(bench.kept(), 4 * MIB);
    });
}

#[test]
fn memory_to_which_something_else_refers_is_not_kept() {
    alone("memory_to_which_something_else_refers_is_not_kept", |mut bench| {
        bench.offer_kept();
        bench.streams();
        // The worker doesn't keep shared memory, a pool's memory, or memory that is freed in a
        // stream.
        let shared = bench.alloc(4 << 20);
        bench.good(&VcudaIpcGetMemHandle { ptr: shared });
        let h_stream = StreamId(FREE);
        let pooled = bench.good(&CuMemAllocAsync { bytesize: 4 << 20, h_stream }).dptr;
        bench.good(&CuStreamSynchronize { h_stream });
        for at in [shared, pooled] {
            bench.free(at);
            assert_eq!(bench.kept(), 0);
        }
        let dptr = bench.alloc(4 << 20);
        bench.post(&CuMemFreeAsync { dptr, h_stream });
        bench.good(&CuCtxSynchronize {});
        assert_eq!((bench.posted_error(), bench.kept()), (0, 0));
        // While another context exists, memory isn't kept, because work in that context may use it.
        let (a, b) = (bench.alloc(4 << 20), bench.alloc(6 << 20));
        bench.free(b);
        assert_eq!(bench.kept(), 6 * MIB);
        let (first, other) = (bench.ctx, ContextId(78));
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: other });
        bench.free(a);
        assert_eq!(bench.kept(), 6 * MIB);
        // Memory that was kept in one context isn't reused in another.
        bench.ctx = other;
        assert_ne!(bench.alloc(6 << 20), b);
        bench.ctx = first;
        assert_eq!((bench.alloc(6 << 20), bench.kept()), (b, 0));
    });
}

#[test]
fn a_session_that_has_used_two_gpus_keeps_nothing() {
    let test = "a_session_that_has_used_two_gpus_keeps_nothing";
    alone_in(test, &[("SOFTGPU_DEVICES", "2")], |mut bench| {
        bench.offer_kept();
        let a = bench.alloc(4 << 20);
        bench.free(a);
        assert_eq!(bench.kept(), 4 * MIB);
        let other = ContextId(78);
        bench.good(&VcudaPrimaryCtxRetain { dev: 1, ctx: other });
        bench.good(&VcudaPrimaryCtxRelease { dev: 1, ctx: other });
        // The second GPU may lack access to memory that is allocated now, so it isn't kept.
        let a = bench.alloc(6 << 20);
        bench.free(a);
        assert_eq!(bench.kept(), 4 * MIB);
    });
}

#[test]
fn what_is_kept_is_freed_with_its_context() {
    alone("what_is_kept_is_freed_with_its_context", |mut bench| {
        bench.offer_kept();
        for release in [true, false] {
            let a = bench.alloc(4 << 20);
            bench.free(a);
            assert_eq!(bench.kept(), 4 * MIB);
            match release {
                true => bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) }),
                false => bench.good(&VcudaPrimaryCtxReset { dev: 0 }),
            }
            assert_eq!((bench.kept(), bench.charged_to_program()), (0, 0));
            bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(77) });
        }
    });
}

/// When the broker recalls kept memory, the driver takes time to free it. Meanwhile, the reader
/// continues to run calls.
#[test]
fn a_recall_delays_no_call() {
    alone("a_recall_delays_no_call", |mut bench| {
        bench.offer_kept();
        let a = bench.alloc(4 << 20);
        bench.free(a);
        let stopped = stop_next("cuMemUnmap");
        let page = bench.session.gate.page.clone();
        page.kept[0].offer(false);
        page.worker.recall_kept();
        stopped.wait();
        assert_eq!(bench.kept(), 4 * MIB, "the driver hasn't freed it");
        let b = bench.alloc(4 << 20);
        assert_ne!(a, b);
        bench.fill(b, 7, 64, 0);
        bench.good(&CuCtxSynchronize {});
        drop(stopped);
        bench.until("the memory is freed", |bench| bench.kept() == 0);
        assert_eq!(bench.charged_to_program(), 4 * MIB);
        // After a recall, nothing is kept until the broker offers it again.
        bench.free(b);
        assert_eq!((bench.kept(), bench.charged_to_program()), (0, 0));
        page.kept[0].offer(true);
        let c = bench.alloc(4 << 20);
        bench.free(c);
        assert_eq!(bench.kept(), 4 * MIB);
    });
}

/// If an allocation doesn't fit, all kept memory is freed and the allocation is tried again. That
/// also happens if only the driver has no room.
#[test]
fn an_allocation_does_not_fail_because_of_what_is_kept() {
    alone("an_allocation_does_not_fail_because_of_what_is_kept", |mut bench| {
        bench.offer_kept();
        let a = bench.alloc(40 << 20);
        bench.free(a);
        assert_eq!(bench.kept(), 40 * MIB);
        let all = bench.alloc(MAX as usize);
        assert_eq!((bench.kept(), bench.charged_to_program()), (0, MAX));
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 1 }).0, 2);
        bench.free(all);
        assert_eq!((bench.kept(), bench.charged_to_program()), (0, 0));
    });
}

/// After a kernel has failed in a context, memory isn't kept there, and kept memory isn't reused.
#[test]
fn a_context_with_an_error_keeps_nothing() {
    alone("a_context_with_an_error_keeps_nothing", |mut bench| {
        bench.offer_kept();
        let (a, b) = (bench.alloc(4 << 20), bench.alloc(6 << 20));
        bench.free(b);
        let f = bench.vector_add();
        bench.launch(f, 8, 8, 8, 1, 0);
        let failed = bench.call(&CuCtxSynchronize {}).0;
        assert_ne!(failed, 0);
        assert_eq!(bench.call(&CuMemFreeV2 { dptr: a }).0, failed);
        assert_eq!(bench.kept(), 6 * MIB);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 6 << 20 }).0, failed);
        assert_eq!(bench.kept(), 6 * MIB);
    });
}

/// While other workers free memory that they keep, the broker answers `Later`, and the worker
/// repeats its request.
#[test]
fn a_request_is_sent_again_until_the_broker_decides() {
    let (ours, broker) = seqpacket::pair().unwrap();
    let page = Arc::new(GateMap::private().unwrap());
    let ledger = ledger_client(ours, &page);
    let asks = std::thread::spawn(move || ledger.reserve(0, 2 * MIB, Charge::Memory));
    for answer in [ToWorker::Later, ToWorker::Later, ToWorker::Granted] {
        let request = seqpacket::receive::<ToBroker>(&broker).unwrap().unwrap().0;
        assert!(matches!(request, ToBroker::Reserve { device: 0, bytes, .. } if bytes == 2 * MIB));
        seqpacket::send(&broker, &answer, &[]).unwrap();
    }
    assert_eq!(asks.join().unwrap(), Ok(()));
    assert!(page.kept[0].is_known(), "the broker may answer so");
}
