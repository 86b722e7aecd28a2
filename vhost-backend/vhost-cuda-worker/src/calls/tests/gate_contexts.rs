//! Tests of the gate with several GPUs, and while contexts are being created.

use protocol::ids::KernelId;

use super::gate::FREE;
use super::*;
use host_ipc::gate::{Grant, Mode, NO_END};

#[test]
fn work_in_a_stream_on_another_gpu_waits_for_that_gpu() {
    let test = "gate_contexts::work_in_a_stream_on_another_gpu_waits_for_that_gpu";
    alone_in(test, &[("SOFTGPU_DEVICES", "2")], |mut bench| {
        let first = bench.ctx;
        bench.good(&VcudaPrimaryCtxRetain { dev: 1, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        bench.streams();
        let there = bench.alloc(1024);
        bench.ctx = first;
        let here = bench.alloc(1024);
        bench.good(&CuCtxSynchronize {});
        let page = bench.session.gate.page.clone();
        let second = &page.gpus[1];
        second.open(Grant { epoch: second.grant().epoch + 1, mode: Mode::Closed }, NO_END, 0);
        bench.fill(here, 1, 256, 0);
        bench.fill(there, 1, 256, FREE);
        let held = |gpu: usize| page.gpus[gpu].held.load(Ordering::Relaxed);
        assert_eq!((held(0), held(1)), (0, 1));
        bench.fill(here, 2, 256, 0);
        assert_eq!((held(0), held(1)), (0, 1));
        second.open(Grant { epoch: second.grant().epoch + 1, mode: Mode::Unlimited }, NO_END, 0);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        assert_eq!((held(1), bench.posted_error()), (0, 0));
    });
}

#[test]
fn a_query_without_a_context_waits_for_a_turn_before_it_creates_one() {
    let test = "gate_contexts::a_query_without_a_context_waits_for_a_turn_before_it_creates_one";
    alone(test, |mut bench| {
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        bench.ctx = ContextId::NONE;
        let library = LibraryId(9);
        bench.good(&VcudaLibraryLoad {
            library,
            blob: BlobId(0),
            image: VECTOR_ADD,
            options: Default::default(),
            library_options: Default::default(),
            log_max: 0,
        });
        bench.grant(Mode::Closed, 0);
        let p_kernel = KernelId(10);
        bench.begin(
            THREAD,
            &VcudaLibraryGetKernels { p_kernel, library, name: "vector_add", more: 0 },
        );
        let begun = bench.gpu().contexts_begun.load(Ordering::SeqCst);
        bench.until("the query waits", |bench| bench.held() == 1);
        assert_eq!(bench.state().load(Ordering::Acquire), 0);
        bench.grant(Mode::Window, 1_000_000);
        assert_eq!(bench.ended(THREAD), 0);
        assert_eq!(bench.gpu().contexts_begun.load(Ordering::SeqCst), begun + 1);
        assert_eq!(bench.gpu().contexts.load(Ordering::SeqCst), 0);
    });
}
