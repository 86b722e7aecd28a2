//! Tests of the gate with several GPUs, with contexts that are being created, and with variables of
//! modules.

use protocol::ids::KernelId;

use super::gate::{FREE, PINNED};
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

#[test]
fn a_copy_between_variables_is_no_copy_to_the_host() {
    let test = "gate_contexts::a_copy_between_variables_is_no_copy_to_the_host";
    alone(test, |mut bench| {
        const LEN: usize = 1 << 20;
        let image = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .global .b8 a[{LEN}];\n.visible .global .b8 b[{LEN}];\n"
        );
        let module = ModuleId(1001);
        bench.good(&VcudaModuleLoad {
            module,
            blob: BlobId(0),
            image: image.as_bytes(),
            options: Default::default(),
            log_max: 0,
        });
        let variable =
            |bench: &mut Bench, name| bench.good(&VcudaModuleGetGlobal { hmod: module, name }).dptr;
        let (a, b) = (variable(&mut bench, "a"), variable(&mut bench, "b"));
        bench.streams();
        bench.pinned(LEN);
        let window = bench.alloc(LEN);
        bench.grant(Mode::Closed, 0);
        bench.may_copy(1_000_000);
        let mut copy = |dst, src, held| {
            bench.post(&VcudaCopy { dst, src, len: LEN, h_stream: StreamId(FREE) });
            assert_eq!(bench.held(), held);
        };
        copy(PINNED, a, 0);
        copy(a, b, 1);
        copy(window, b, 2);
        copy(b, window, 3);
        bench.grant(Mode::Window, 1_000_000);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        assert_eq!((bench.held(), bench.posted_error()), (0, 0));
    });
}
