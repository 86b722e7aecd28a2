//! Tests of the limits of contexts: which of them a guest may set, and that a change of a limit is
//! kept apart from the calls that depend on it.

use super::charges::{OUT_OF_MEMORY, for_all_threads};
use super::graph_charges::EXEC;
use super::graphs::{add, chain};
use super::*;
use crate::driver::stubs::stop_next;

const LOCAL: usize = 16 << 10;
const SET: &str = "cuCtxSetLimit";
const INSTANTIATE: &str = "cuGraphInstantiateWithFlags";
const STACK: u32 = 0;

/// A command that sets a limit, but has no arguments.
struct Malformed;

impl Call<'_> for Malformed {
    const OPCODE: u32 = CuCtxSetLimit::OPCODE;
    const NAME: &'static str = "malformed";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = <CuCtxSetLimit as Call<'static>>::Answer;

    fn encode(&self, _: &mut Writer) {}
    fn decode(_: &[u8]) -> Result<Self, protocol::codec::DecodeError> {
        Ok(Self)
    }
}

fn stack(value: usize) -> CuCtxSetLimit {
    CuCtxSetLimit { limit: STACK, value }
}

#[test]
fn only_limits_whose_memory_is_bounded_can_be_set() {
    alone("limits::only_limits_whose_memory_is_bounded_can_be_set", |mut bench| {
        const GOOD: u32 = 0;
        const INVALID: u32 = CuError::INVALID_VALUE.0;
        const UNSUPPORTED: u32 = CuError::UNSUPPORTED_LIMIT.0;
        const MIB: usize = super::MIB as usize;
        const MOST: usize = usize::MAX;
        // The values to set for one limit, each with the call's result and the charge afterwards in
        // MiB.
        type Values = &'static [(usize, u32, u64)];
        let table: &[(u32, Values)] = &[
            (STACK, &[(1024, GOOD, 0), (MOST, OUT_OF_MEMORY, 0), (512, GOOD, 0)]),
            (
                1,
                &[
                    (1, GOOD, 0),
                    (64 * MIB, GOOD, 0),
                    (64 * MIB + 1, INVALID, 0),
                    (MOST, INVALID, 0),
                ],
            ),
            (2, &[(1 << 30, GOOD, 0), (8 * MIB, GOOD, 0)]),
            (3, &[(0, UNSUPPORTED, 0), (2, UNSUPPORTED, 0), (MOST, UNSUPPORTED, 0)]),
            (
                4,
                &[
                    (16384, GOOD, 134),
                    (16385, OUT_OF_MEMORY, 134),
                    (MOST, OUT_OF_MEMORY, 134),
                    (4096, GOOD, 20),
                    (1, GOOD, 0),
                ],
            ),
            (5, &[(0, GOOD, 0), (128, GOOD, 0), (129, INVALID, 0), (MOST, INVALID, 0)]),
            (6, &[(0, GOOD, 0), (1, UNSUPPORTED, 0), (MOST, UNSUPPORTED, 0)]),
            (7, &[(0, UNSUPPORTED, 0), (1, UNSUPPORTED, 0)]),
            (8, &[(0, UNSUPPORTED, 0), (1, UNSUPPORTED, 0)]),
            (9, &[(0, UNSUPPORTED, 0), (1, UNSUPPORTED, 0)]),
            (10, &[(0, INVALID, 0), (MOST, INVALID, 0)]),
            (u32::MAX, &[(0, INVALID, 0)]),
        ];
        bench.set_quota(1 << 40);
        for (limit, values) in table {
            for (value, result, charged) in *values {
                assert_eq!(bench.set_limit(*limit, *value), *result, "limit {limit} to {value}");
                assert_eq!(bench.used() / super::MIB, *charged, "limit {limit} to {value}");
            }
        }
        bench.set_quota(50 * super::MIB);
        assert_eq!(bench.set_limit(4, 16384), OUT_OF_MEMORY);
        assert_eq!(bench.good(&CuCtxGetLimit { limit: 4 }).pvalue, 1);
    });
}

/// Starts a change of the stack limit on guest thread 6. Returns once the change has reached the
/// driver, where it waits.
fn changing(bench: &mut Bench, value: usize) -> crate::driver::stubs::Stopped {
    let stopped = stop_next(SET);
    bench.begin(6, &stack(value));
    stopped.wait();
    stopped
}

#[test]
fn limits_of_a_context_are_set_one_at_a_time() {
    alone("limits::limits_of_a_context_are_set_one_at_a_time", |mut bench| {
        bench.set_quota(1 << 40);
        let first = changing(&mut bench, 8192);
        let second = stop_next(SET);
        // A malformed change fails, and doesn't end the change that is in progress.
        bench.begin(8, &Malformed);
        bench.begin(7, &stack(512));
        assert!(!second.comes());
        drop(first);
        assert_eq!((bench.ended(6), bench.ended(8)), (0, CuError::INVALID_VALUE.0));
        bench.executor.poll();
        second.wait();
        drop(second);
        assert_eq!(bench.ended(7), 0);
        assert_eq!(bench.good(&CuCtxGetLimit { limit: STACK }).pvalue, 512);
        assert_eq!(bench.charged("local"), 0);
    });
}

#[test]
fn a_launch_waits_while_a_limit_of_its_context_changes() {
    alone("limits::a_launch_waits_while_a_limit_of_its_context_changes", |mut bench| {
        bench.set_quota(1 << 40);
        let full = for_all_threads(LOCAL as u64);
        let f = bench.kernel_with(LOCAL, 1);
        assert_eq!(bench.launch_empty(f), 0);
        assert_eq!(bench.charged("local"), full);
        let change = changing(&mut bench, 1024);
        assert_eq!(bench.launch_empty(f), 0);
        let launches =
            |bench: &Bench| bench.session.gate.page.worker.launches.load(Ordering::Relaxed);
        assert_eq!(launches(&bench), 1);
        // A memset doesn't depend on limits, so it runs during the change.
        let a = bench.alloc(4096);
        let fill = VcudaMemset {
            dst: a,
            pitch: 0,
            element_size: 1,
            value: 1,
            width: 1,
            height: 1,
            h_stream: StreamId(500),
        };
        bench.stream_of_graphs();
        bench.post(&fill);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(500) });
        drop(change);
        assert_eq!(bench.ended(6), 0);
        bench.good(&CuCtxSynchronize {});
        assert_eq!(launches(&bench), 2);
        // The change has made the driver free the local memory, and the launch has made it allocate
        // the memory again.
        assert_eq!(bench.charged("local"), full);
    });
}

#[test]
fn another_context_goes_on_while_a_limit_changes() {
    alone("limits::another_context_goes_on_while_a_limit_changes", |mut bench| {
        bench.set_quota(1 << 40);
        let change = changing(&mut bench, 8192);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        let f = bench.kernel_with(LOCAL, 1);
        assert_eq!(bench.launch_empty(f), 0);
        bench.good(&CuCtxSynchronize {});
        assert_eq!(bench.set_limit(STACK, 4096), 0);
        drop(change);
        assert_eq!(bench.ended(6), 0);
        assert_eq!(bench.charged("local"), for_all_threads(8192) + for_all_threads(4096));
    });
}

#[test]
fn a_graph_is_instantiated_before_or_after_a_change_of_a_limit() {
    let test = "limits::a_graph_is_instantiated_before_or_after_a_change_of_a_limit";
    alone(test, |mut bench| {
        bench.set_quota(1 << 40);
        bench.stream_of_graphs();
        let full = for_all_threads(LOCAL as u64);
        let f = bench.kernel_with(LOCAL, 1);
        let writer = chain(&[add(f, &[])]);
        let (flags, blob, graph) = (0, BlobId(0), writer.as_bytes());
        let instantiate = VcudaGraphInstantiate { exec: EXEC, flags, blob, graph };
        // First case: the change begins before the instantiation of the graph, which must wait.
        let (change, graph) = (changing(&mut bench, 1024), stop_next(INSTANTIATE));
        bench.begin(7, &instantiate);
        assert!(!graph.comes());
        drop((change, graph));
        assert_eq!((bench.ended(6), bench.ended(7)), (0, 0));
        assert_eq!(bench.charged("local"), full);
        // Second case: the instantiation begins before the change, which must wait. Later calls
        // wait for the change.
        bench.good(&stack(1024));
        assert_eq!(bench.charged("local"), 0);
        let graph = stop_next(INSTANTIATE);
        bench.begin(
            7,
            &VcudaGraphInstantiate { exec: protocol::ids::GraphExecId(701), ..instantiate },
        );
        graph.wait();
        assert_eq!(bench.charged("local"), full);
        let change = stop_next(SET);
        bench.begin(6, &stack(1024));
        assert_eq!(bench.use_exec(true), 0);
        assert!(!change.comes());
        assert_eq!(bench.charged("local"), full);
        drop(graph);
        assert_eq!(bench.ended(7), 0);
        bench.executor.poll();
        change.wait();
        drop(change);
        assert_eq!(bench.ended(6), 0);
        bench.good(&CuCtxSynchronize {});
        assert_eq!(bench.charged("local"), full);
        assert_eq!(bench.set_limit(STACK, 1024), 0);
        assert_eq!(bench.charged("local"), 0);
    });
}
