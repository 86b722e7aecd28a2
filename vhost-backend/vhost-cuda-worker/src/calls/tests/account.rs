//! Tests that commands in flight stay counted while their stream or context is being destroyed.

use protocol::graph::{self, Dependency, MemsetStep, Step};
use protocol::ids::{BlobId, ContextId, EventId, GraphExecId, StreamId};
use protocol::structs::HostFuncStep;

use super::gate::{BLOCKING, EVENT, FREE, PINNED};
use super::*;
use host_ipc::gate::Mode;

impl Bench {
    /// Simulates a long kernel: `h_stream` waits for an event in the stream `FREE`, and that stream
    /// waits for a host function.
    pub(super) fn long_work(&mut self, a: u64, h_stream: u64) {
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

    pub(super) fn stalled(&self) -> bool {
        self.gpu().stalled.load(Ordering::Relaxed) == 1
    }

    /// Polls several times, and checks that the session stays active and that the start time of its
    /// oldest call is known.
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
fn commands_of_a_destroyed_stream_still_run() {
    alone("account::commands_of_a_destroyed_stream_still_run", |mut bench| {
        bench.streams();
        let a = bench.alloc(4096);
        bench.grant(Mode::Window, 1_000_000);
        // Run the same kind of call a few times first, so that its time is known. The worker would
        // otherwise record a mark after the call to measure it.
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
fn work_in_a_legacy_stream_is_seen_while_another_context_is_current() {
    let test = "account::work_in_a_legacy_stream_is_seen_while_another_context_is_current";
    alone(test, |mut bench| {
        let (context, legacy, other) = (bench.ctx, StreamId(0), ContextId(78));
        bench.streams();
        let a = bench.alloc(4096);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: other });
        for mode in [Mode::Window, Mode::Unlimited] {
            bench.ctx = context;
            bench.grant(mode, 1_000_000);
            for _ in 0..4 {
                bench.fill(a, 1, 256, 0);
                bench.good(&CuStreamSynchronize { h_stream: legacy });
            }
            let finished = bench.finished();
            bench.long_work(a, 0);
            bench.ctx = other;
            bench.good(&CuStreamQuery { h_stream: legacy });
            for _ in 0..20 {
                bench.executor.poll();
                assert_eq!(bench.finished(), finished, "{mode:?}");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            bench.executor.host_func_ended();
            bench.until("drained", |bench| !bench.is_active());
        }
    });
}

#[test]
fn commands_run_until_their_context_has_ended() {
    alone("account::commands_run_until_their_context_has_ended", |mut bench| {
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
        // Three calls have finished: the event record, the memset, and the destruction of the
        // context.
        assert_eq!(bench.finished(), 3);
    });
}

#[test]
fn copies_past_a_closed_gate_are_counted_while_a_stream_waits_for_the_host() {
    let test = "account::copies_past_a_closed_gate_are_counted_while_a_stream_waits_for_the_host";
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
        assert!(copied > 0, "the copies must not be free");
        bench.executor.host_func_ended();
        bench.until("drained", |bench| !bench.is_active());
    });
}

#[test]
fn a_graph_waits_for_the_host_only_if_its_other_nodes_do_not_run() {
    let test = "account::a_graph_waits_for_the_host_only_if_its_other_nodes_do_not_run";
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
            let after: Vec<_> = before.iter().map(|node| Dependency::on(*node)).collect();
            graph::encode_node(&after, &set, &mut writer);
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
