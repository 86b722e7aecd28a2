//! What is in flight stays on the account, however its stream or context ends.

use protocol::graph::{self, MemsetStep, Step};
use protocol::ids::{BlobId, ContextId, EventId, GraphExecId, StreamId};
use protocol::structs::HostFuncStep;

use super::gate::{BLOCKING, EVENT, FREE, PINNED};
use super::*;
use host_ipc::gate::Mode;

impl Bench {
    /// A stream stands at a host function, and another one's work waits for it, as a long kernel would.
    fn long_work(&mut self, a: u64, h_stream: u64) {
        self.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        self.post(&CuEventRecordWithFlags {
            h_event: EventId(EVENT),
            h_stream: StreamId(FREE),
            flags: 0,
        });
        self.post(&CuStreamWaitEvent {
            h_stream: StreamId(h_stream),
            h_event: EventId(EVENT),
            flags: 0,
        });
        self.fill(a, 1, 256, h_stream);
        assert_eq!((self.host_func(), self.posted_error()), (42, 0));
    }

    fn stalled(&self) -> bool {
        self.gpu().stalled.load(Ordering::Relaxed) == 1
    }

    /// For some looks it runs, and since when is known.
    fn runs_on(&mut self) {
        for _ in 0..20 {
            self.executor.poll();
            assert!(self.is_active() && !self.stalled());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_ne!(self.gpu().oldest.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn what_a_stream_holds_runs_on_when_the_stream_ends() {
    alone("account::what_a_stream_holds_runs_on_when_the_stream_ends", |mut bench| {
        bench.streams();
        let a = bench.alloc(4096);
        bench.grant(Mode::Window, 1_000_000);
        // How long a call of its kind takes is known: so nothing marks it by itself.
        for _ in 0..4 {
            bench.fill(a, 1, 256, BLOCKING);
            bench.good(&CuStreamSynchronize { h_stream: StreamId(BLOCKING) });
        }
        bench.long_work(a, BLOCKING);
        bench.good(&CuStreamDestroyV2 { h_stream: StreamId(BLOCKING) });
        bench.runs_on();
        let busy = bench.gpu().busy_ns.load(Ordering::Relaxed);
        assert!(busy >= 10_000_000, "{busy} ns");
        bench.executor.host_func_ended();
        bench.until("drained", |bench| !bench.is_active());
        assert_eq!(bench.gpu().oldest.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn what_a_context_holds_runs_until_the_context_has_ended() {
    alone("account::what_a_context_holds_runs_until_the_context_has_ended", |mut bench| {
        bench.streams();
        let a = bench.alloc(4096);
        bench.grant(Mode::Window, 1_000_000);
        bench.long_work(a, BLOCKING);
        let mut writer = Writer::new();
        VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) }.encode(&mut writer);
        bench.send(VcudaPrimaryCtxRelease::OPCODE, writer.as_bytes(), 0);
        bench.runs_on();
        bench.executor.host_func_ended();
        bench.until("drained", |bench| !bench.is_active());
        let gpu = bench.gpu();
        assert_eq!(gpu.finished.load(Ordering::Relaxed), gpu.queued.load(Ordering::Relaxed));
    });
}

#[test]
fn copies_beside_a_closed_gate_are_counted_though_a_stream_stands_at_the_host() {
    let test =
        "account::copies_beside_a_closed_gate_are_counted_though_a_stream_stands_at_the_host";
    alone(test, |mut bench| {
        let len = 64 << 20;
        bench.streams();
        bench.pinned(len);
        let a = bench.alloc(len);
        bench.grant(Mode::Window, 1_000_000);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        bench.fill(a, 1, 256, FREE);
        assert_eq!(bench.host_func(), 42);
        bench.until("stalled", Bench::stalled);
        bench.grant(Mode::Closed, 0);
        bench.may_copy(1_000_000_000);
        for _ in 0..4 {
            bench.post(&VcudaCopy { dst: PINNED, src: a, len, h_stream: StreamId(BLOCKING) });
            bench.until("copied", |bench| !bench.copying());
        }
        assert!(bench.is_active() && bench.stalled());
        let copied = bench.gpu().copied_ns.load(Ordering::Relaxed);
        assert!(copied > 0, "the copies are free");
        bench.executor.host_func_ended();
        bench.until("drained", |bench| !bench.is_active());
    });
}

#[test]
fn a_graph_stands_at_a_host_function_only_if_nothing_of_it_runs_beside() {
    let test = "account::a_graph_stands_at_a_host_function_only_if_nothing_of_it_runs_beside";
    alone(test, |mut bench| {
        bench.streams();
        let dst = bench.alloc(4096);
        let set = Step::Memset(MemsetStep {
            dst,
            pitch: 0,
            element_size: 4,
            value: 1,
            width: 4,
            height: 1,
        });
        let stop = Step::HostFunc(HostFuncStep { token: 42 });
        bench.grant(Mode::Window, 1_000_000);
        for (exec, before, stands) in [(700, &[0][..], true), (701, &[], false)] {
            let mut writer = Writer::new();
            writer.word(2);
            graph::encode_node(&[], &stop, &mut writer);
            graph::encode_node(before, &set, &mut writer);
            let graph = writer.as_bytes();
            bench.good(&VcudaGraphInstantiate {
                exec: GraphExecId(exec),
                flags: 0,
                blob: BlobId(0),
                graph,
            });
            bench.post(&CuGraphLaunch { h_graph: GraphExecId(exec), h_stream: StreamId(FREE) });
            assert_eq!(bench.host_func(), 42);
            if stands {
                bench.until("it stands", Bench::stalled);
            } else {
                bench.runs_on();
            }
            bench.executor.host_func_ended();
            bench.until("drained", |bench| !bench.is_active());
        }
    });
}
