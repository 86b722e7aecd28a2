//! Tests that instantiate, launch and change graphs, and tests of requests that the worker must
//! refuse.

use super::*;
use crate::driver::stubs::stop_next;
use cuda_api::sys::CUstreamBatchMemOpType;
use protocol::graph::{
    self, ConditionalStep, CopySide, Dependency, Dim3, KernelStep, MemoryOperation,
    MemoryOperationsStep, MemsetStep, Step,
};
use protocol::ids::{BlobId, GraphExecId, StreamId, ValuesId};
use protocol::structs::EventRecordStep;
use protocol::structs::EventWaitStep;
use protocol::structs::HostFuncStep;

/// Encodes a graph in which each step depends on the step before it.
pub(super) fn chain(steps: &[Step<'_>]) -> Writer {
    let mut writer = Writer::new();
    writer.word(steps.len() as u64);
    for (number, step) in steps.iter().enumerate() {
        let before = (number as u32).checked_sub(1).map(Dependency::on);
        graph::encode_node(before.as_slice(), step, &mut writer);
    }
    writer
}

pub(super) fn set(dst: u64, value: u32) -> Step<'static> {
    Step::Memset(MemsetStep { dst, pitch: 0, element_size: 4, value, width: 4, height: 1 })
}

fn copy(dst: u64, src: u64, len: u64) -> Step<'static> {
    let side = |address| CopySide { address, pitch: len, height: 1 };
    let (width, height, depth) = (len, 1, 1);
    Step::Copy(graph::CopyStep { dst: side(dst), src: side(src), width, height, depth })
}

/// Returns a graph step that adds 4 floats with the kernel `f`. `params` contains the addresses of
/// c = a + b.
pub(super) fn add(f: u64, params: &[u8]) -> Step<'_> {
    Step::Kernel(KernelStep {
        f: FuncId(f),
        grid: Dim3 { x: 1, y: 1, z: 1 },
        block: Dim3 { x: 128, y: 1, z: 1 },
        shared: 0,
        params,
        attributes: Default::default(),
    })
}

fn params(a: u64, b: u64, c: u64) -> Vec<u8> {
    [a, b, c, 4].iter().flat_map(|word| word.to_le_bytes()).take(28).collect()
}

/// Returns a stream memory operation that writes 4 bytes.
fn write(address: u64, value: u64) -> MemoryOperation {
    MemoryOperation { operation: WRITE_32, address, value, flags: 0 }
}

fn batch(operations: &[MemoryOperation]) -> Step<'_> {
    Step::MemoryOperations(MemoryOperationsStep { operations: operations.into() })
}

impl Bench {
    pub(super) fn instantiate(&mut self, exec: u64, steps: &[Step<'_>]) -> u32 {
        let writer = chain(steps);
        let graph = writer.as_bytes();
        self.call(&VcudaGraphInstantiate {
            exec: GraphExecId(exec),
            flags: 0,
            blob: BlobId(0),
            graph,
        })
        .0
    }

    fn run(&mut self, exec: u64) {
        self.post(&CuGraphLaunch { h_graph: GraphExecId(exec), h_stream: StreamId(500) });
    }

    fn first_float(&mut self, src: u64) -> f32 {
        let data = self.good(&VcudaCopyOut { src, len: 4, h_stream: StreamId(500) }).data;
        f32::from_le_bytes(data.try_into().unwrap())
    }
}

const WRITE_32: u32 = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32.0;
const WAIT_32: u32 = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_32.0;
const ONE: u32 = 1.0f32.to_bits();
const INVALID: u32 = CuError::INVALID_VALUE.0;

#[test]
fn conditional_nodes_need_values_of_their_graph() {
    alone("conditional_nodes_need_values_of_their_graph", |mut bench| {
        let a = bench.alloc(16);
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        let create = |bench: &mut Bench, values, flags| {
            let values = ValuesId(values);
            bench.call(&VcudaGraphValueCreate { values, default_value: 1, flags })
        };
        assert_eq!(create(&mut bench, 900, 2).0, INVALID);
        let handle = create(&mut bench, 900, 1).1.handle;
        let (body, host) =
            (chain(&[set(a, ONE)]), chain(&[Step::HostFunc(HostFuncStep { token: 1 })]));
        let encoded = |body: &Writer| graph::encode_bodies([body.as_bytes()]);
        let (bodies, hosts) = (encoded(&body), encoded(&host));
        let step = |values, handle, size, bodies| ConditionalStep {
            values: ValuesId(values),
            handle,
            kind: 0,
            size,
            bodies,
        };
        let good = step(900, handle, 1, bodies.as_bytes());
        let instantiate = |bench: &mut Bench, exec, step: ConditionalStep<'_>| {
            let graph = chain(&[Step::Conditional(step)]);
            let (exec, blob, graph) = (GraphExecId(exec), BlobId(0), graph.as_bytes());
            bench.call(&VcudaGraphInstantiateConditional { exec, flags: 0, blob, graph }).0
        };
        for bad in [
            step(901, handle, 1, bodies.as_bytes()),
            step(900, handle + 1, 1, bodies.as_bytes()),
            step(900, handle, 2, bodies.as_bytes()),
            step(900, handle, u32::MAX, bodies.as_bytes()),
            step(900, handle, 1, &[]),
            step(900, handle, 1, hosts.as_bytes()),
            ConditionalStep { kind: 9, ..good },
        ] {
            assert_eq!(instantiate(&mut bench, 700, bad), INVALID, "{bad:?}");
        }
        assert_eq!(bench.instantiate(700, &[Step::Conditional(good)]), CuError::NOT_SUPPORTED.0);
        // Only one executable graph at a time can use the values. They exist as long as that graph
        // does, even after the guest has destroyed them.
        assert_eq!(instantiate(&mut bench, 701, good), 0);
        assert_eq!(instantiate(&mut bench, 702, good), INVALID);
        bench.post(&CuGraphExecDestroy { h_graph_exec: GraphExecId(701) });
        assert_eq!(instantiate(&mut bench, 702, good), 0);
        bench.post(&VcudaGraphValuesDestroy { values: ValuesId(900) });
        assert_eq!(instantiate(&mut bench, 703, good), INVALID);
        bench.run(702);
        assert_eq!(bench.first_float(a), 1.0);
        // The node in the body has number 1, the number after that of the conditional node.
        let (exec, two) = (GraphExecId(702), set(a, 2.0f32.to_bits()));
        for (node, step, expected) in [
            (0, two, INVALID),
            (2, two, INVALID),
            (u32::MAX, two, INVALID),
            (1, copy(a, a, 4), INVALID),
            (1, set(&raw const bench as u64, 0), INVALID),
            (1, two, 0),
        ] {
            let node_set = VcudaGraphExecNodeSet { exec, node, step };
            assert_eq!(bench.call(&node_set).0, expected, "{node} {step:?}");
        }
        bench.run(702);
        assert_eq!(bench.first_float(a), 2.0);
        bench.post(&CuGraphExecDestroy { h_graph_exec: exec });
        bench.good(&CuCtxSynchronize {});
    });
}

#[test]
fn programmatic_edges_connect_only_kernels() {
    alone("programmatic_edges_connect_only_kernels", |mut bench| {
        let f = bench.vector_add();
        let [a, b, c] = [16, 16, 16].map(|bytes| bench.alloc(bytes));
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        let bytes = params(a, b, c);
        let (set, kernel) = (set(a, ONE), add(f, &bytes));
        let mut instantiate = |exec, from: &Step<'_>, to: &Step<'_>, (from_port, programmatic)| {
            let mut writer = Writer::new();
            writer.word(2);
            graph::encode_node(&[], from, &mut writer);
            let edge = Dependency { node: 0, from_port, programmatic };
            graph::encode_node(&[edge], to, &mut writer);
            let (exec, graph) = (GraphExecId(exec), writer.as_bytes());
            bench.call(&VcudaGraphInstantiate { exec, flags: 0, blob: BlobId(0), graph }).0
        };
        assert_eq!(instantiate(700, &kernel, &kernel, (1, true)), 0);
        assert_eq!(instantiate(701, &kernel, &kernel, (2, true)), 0);
        assert_eq!(instantiate(702, &kernel, &set, (2, false)), 0);
        for (from, to, edge) in [
            (&kernel, &set, (1, true)),
            (&set, &kernel, (1, true)),
            (&set, &kernel, (2, false)),
            (&kernel, &kernel, (1, false)),
            (&kernel, &kernel, (0, true)),
            (&kernel, &kernel, (3, true)),
        ] {
            assert_eq!(instantiate(703, from, to, edge), INVALID, "{edge:?}");
        }
        [700, 701, 702].into_iter().for_each(|exec| bench.run(exec));
        bench.good(&CuCtxSynchronize {});
    });
}

#[test]
fn a_graph_runs_at_each_launch_with_its_changed_nodes() {
    let test = "a_graph_runs_at_each_launch_with_its_changed_nodes";
    alone(test, |mut bench| {
        let f = bench.vector_add();
        let [a, b, c] = [16, 16, 16].map(|bytes| bench.alloc(bytes));
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        bench.post(&VcudaMemset {
            dst: c,
            pitch: 0,
            element_size: 4,
            value: 0,
            width: 4,
            height: 1,
            h_stream: StreamId(500),
        });
        // The graph sets a to 1, copies a to b, and adds b to c.
        let bytes = params(c, b, c);
        let steps = [set(a, ONE), copy(b, a, 16), add(f, &bytes), Step::Empty];
        assert_eq!(bench.instantiate(700, &steps), 0);
        (0..10).for_each(|_| bench.run(700));
        assert_eq!(bench.first_float(c), 10.0);
        let step = set(a, 5.0f32.to_bits());
        let node_set = VcudaGraphExecNodeSet { exec: GraphExecId(700), node: 0, step };
        bench.good(&node_set);
        bench.run(700);
        assert_eq!(bench.first_float(c), 15.0);
        // Kernel, copy, and memset nodes can be changed with a posted call.
        let exec = GraphExecId(700);
        let twice = params(a, a, c);
        bench.post(&VcudaGraphExecNodePost { exec, node: 2, step: add(f, &twice) });
        bench.run(700);
        assert_eq!(bench.first_float(c), 10.0);
        for (node, step) in [(3, Step::Empty), (1, add(f, &bytes)), (9, add(f, &bytes))] {
            bench.post(&VcudaGraphExecNodePost { exec, node, step });
            assert_eq!(bench.posted_error(), INVALID);
        }
        // Update the executable graph with another graph of the same shape, and then with one of a
        // different shape.
        let steps = [set(a, ONE), copy(b, a, 16), add(f, &bytes), Step::Empty];
        let update = |bench: &mut Bench, steps: &[Step<'_>]| {
            let writer = chain(steps);
            let graph = writer.as_bytes();
            bench
                .good(&VcudaGraphExecUpdate { exec: GraphExecId(700), blob: BlobId(0), graph })
                .result
        };
        assert_eq!(update(&mut bench, &steps), 0);
        assert_eq!(update(&mut bench, &steps[..2]), 2);
        bench.run(700);
        assert_eq!(bench.first_float(c), 11.0);
        bench.post(&CuGraphExecDestroy { h_graph_exec: GraphExecId(700) });
        bench.run(700);
        assert_eq!(bench.posted_error(), INVALID);
        assert_eq!(bench.first_float(c), 11.0);
    });
}

#[test]
fn each_launch_of_a_graph_reaches_its_host_functions() {
    alone("each_launch_of_a_graph_reaches_its_host_functions", |mut bench| {
        let a = bench.alloc(16);
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        assert_eq!(
            bench.instantiate(700, &[Step::HostFunc(HostFuncStep { token: 7 }), set(a, ONE)]),
            0
        );
        bench.run(700);
        bench.run(700);
        // Launches that are already queued still run to completion.
        bench.post(&CuGraphExecDestroy { h_graph_exec: GraphExecId(700) });
        for _ in 0..2 {
            bench.run_host_func(7);
        }
        assert_eq!(bench.first_float(a), 1.0);
    });
}

#[test]
fn a_graph_node_writes_values_but_does_not_wait_for_them() {
    alone("a_graph_node_writes_values_but_does_not_wait_for_them", |mut bench| {
        let a = bench.alloc(16);
        bench.post(&CuStreamCreateWithPriority { ph_stream: StreamId(500), flags: 1, priority: 0 });
        let two = u64::from(2.0f32.to_bits());
        let writes = [write(a + 4, ONE.into()), write(a, two)];
        assert_eq!(bench.instantiate(700, &[set(a, ONE), batch(&writes)]), 0);
        bench.run(700);
        assert_eq!([a, a + 4, a + 8].map(|at| bench.first_float(at)), [2.0, 1.0, 1.0]);
        let exec = GraphExecId(700);
        let others = [write(a + 8, two), write(a + 12, two)];
        bench.good(&VcudaGraphExecNodeSet { exec, node: 1, step: batch(&others) });
        bench.run(700);
        assert_eq!([a, a + 4, a + 8].map(|at| bench.first_float(at)), [1.0, 1.0, 2.0]);
        let wait = MemoryOperation { operation: WAIT_32, ..write(a, 0) };
        for (operation, expected) in [
            (wait, CuError::NOT_SUPPORTED.0),
            (write(a + 2, 0), INVALID),
            (write(&raw const bench as u64, 0), INVALID),
            (MemoryOperation { flags: 2, ..write(a, 0) }, INVALID),
            (MemoryOperation { operation: 99, ..write(a, 0) }, INVALID),
        ] {
            let list = [write(a, 0), operation];
            assert_eq!(bench.instantiate(701, &[batch(&list)]), expected, "{operation:?}");
            let node_set = VcudaGraphExecNodeSet { exec, node: 1, step: batch(&list) };
            assert_eq!(bench.call(&node_set).0, expected, "{operation:?}");
        }
        assert_eq!(bench.instantiate(701, &[batch(&[])]), INVALID);
    });
}

#[test]
fn a_graph_with_foreign_addresses_or_handles_is_refused() {
    let test = "a_graph_with_foreign_addresses_or_handles_is_refused";
    alone(test, |mut bench| {
        let a = bench.alloc(16);
        let own = &raw const bench as u64;
        let bytes = params(a, a, a);
        let record = Step::EventRecord(EventRecordStep { event: EventId(999) });
        let handle = CuError::INVALID_HANDLE.0;
        let far = CopySide { address: a, pitch: u64::MAX, height: u64::MAX };
        let (width, height, depth) = (16, 2, 2);
        let boxed = Step::Copy(graph::CopyStep { dst: far, src: far, width, height, depth });
        // The driver replaces a pitch or a height of 0 by that of the box.
        let packed = |pitch, height, size: [u64; 3]| {
            let side = CopySide { address: a, pitch, height };
            let [width, height, depth] = size;
            Step::Copy(graph::CopyStep { dst: side, src: side, width, height, depth })
        };
        let memset = |pitch, width, height| {
            Step::Memset(MemsetStep { dst: a, pitch, element_size: 4, value: 0, width, height })
        };
        for (step, expected) in [
            (set(own, 1), INVALID),
            (set(a + (1 << 40), 1), INVALID),
            (copy(a, own, 16), INVALID),
            (copy(own, a, 16), INVALID),
            (boxed, INVALID),
            (packed(0, 0, [16, 1 << 20, 1]), INVALID),
            (packed(0, 1, [16, 1, 1 << 20]), INVALID),
            (packed(16, 0, [16, 1, 1 << 20]), INVALID),
            (memset(0, 4, 1 << 20), INVALID),
            (memset(0, u64::MAX, 1), INVALID),
            (add(999, &bytes), handle),
            (record, handle),
            (Step::EventWait(EventWaitStep { event: EventId(0) }), handle),
            (Step::HostFunc(HostFuncStep { token: 0 }), INVALID),
        ] {
            let got = bench.instantiate(700, &[Step::Empty, step]);
            assert_eq!(got, expected, "{step:?}");
        }
        // The failed attempts above haven't used up any ids or memory.
        assert_eq!(bench.instantiate(700, &[set(a, ONE)]), 0);
        assert_eq!(bench.instantiate(700, &[set(a, ONE)]), INVALID);
        assert_eq!(bench.instantiate(0, &[set(a, ONE)]), INVALID);
        let step = copy(a, a, 16);
        // A memset node can't be changed into a copy node, and neither can nodes that don't exist.
        for (exec, node) in [(701, 0), (700, 1), (700, 0)] {
            let node_set = VcudaGraphExecNodeSet { exec: GraphExecId(exec), node, step };
            assert_eq!(bench.call(&node_set).0, INVALID, "{exec} {node}");
        }
        let garbage = VcudaGraphInstantiate {
            exec: GraphExecId(702),
            flags: 0,
            blob: BlobId(0),
            graph: &[0xff; 64],
        };
        assert_eq!(bench.call(&garbage).0, INVALID);
        let missing =
            VcudaGraphInstantiate { exec: GraphExecId(702), flags: 0, blob: BlobId(9), graph: &[] };
        assert_eq!(bench.call(&missing).0, INVALID);
        let flags = VcudaGraphInstantiate {
            exec: GraphExecId(702),
            flags: 4,
            blob: BlobId(0),
            graph: &[0; 8],
        };
        assert_eq!(bench.call(&flags).0, INVALID);
    });
}

#[test]
fn only_the_first_of_several_graphs_with_one_id_is_created() {
    alone("only_the_first_of_several_graphs_with_one_id_is_created", |mut bench| {
        bench.set_quota(1 << 30);
        let steps = vec![Step::Empty; 10_000];
        let writer = chain(&steps);
        let graph = writer.as_bytes();
        let instantiate =
            VcudaGraphInstantiate { exec: GraphExecId(700), flags: 0, blob: BlobId(0), graph };
        let first = stop_next("cuGraphInstantiateWithFlags");
        bench.begin(6, &instantiate);
        first.wait();
        assert_eq!(bench.call(&instantiate).0, INVALID);
        assert_eq!(bench.charged("graph"), 22 * MIB);
        drop(first);
        assert_eq!(bench.ended(6), 0);
        bench.post(&CuGraphExecDestroy { h_graph_exec: GraphExecId(700) });
        bench.good(&instantiate);
        assert_eq!(bench.charged("graph"), 22 * MIB);
    });
}

#[test]
fn parameters_of_nodes_are_charged() {
    alone("parameters_of_nodes_are_charged", |mut bench| {
        bench.set_quota(100 * MIB);
        let f = bench.vector_add();
        let dst = bench.alloc(4096);
        let before = bench.used();
        let instantiate = |bench: &mut Bench, id, step: Step<'_>| {
            let mut steps = vec![Step::Empty; 1000];
            steps[0] = step;
            let writer = chain(&steps);
            let (exec, graph) = (GraphExecId(id), writer.as_bytes());
            let call = VcudaGraphInstantiate { exec, flags: 0, blob: BlobId(0), graph };
            bench.call(&call).0
        };
        let short = params(dst, dst, dst);
        assert_eq!(instantiate(&mut bench, 700, add(f, &short)), 0);
        assert_eq!(bench.charged("graph"), 4 * MIB);
        // The parameters of this node are 100 operations of 48 bytes each.
        let operations: Vec<_> = (0..100).map(|number| write(dst + 4 * number, 1)).collect();
        assert_eq!(instantiate(&mut bench, 701, batch(&operations)), 0);
        assert_eq!(bench.charged("graph"), 10 * MIB);
        let mut long = short.clone();
        let mut set = |bench: &mut Bench, len| {
            long.resize(len, 0);
            let (exec, step) = (GraphExecId(700), add(f, &long));
            bench.call(&VcudaGraphExecNodeSet { exec, node: 0, step }).0
        };
        for _ in 0..2 {
            assert_eq!(set(&mut bench, 4096), 0);
            assert_eq!(bench.charged("graph"), 14 * MIB);
        }
        bench.set_quota(before + 20 * MIB);
        assert_eq!(set(&mut bench, 32 << 10), CuError::OUT_OF_MEMORY.0);
        assert_eq!(bench.charged("graph"), 14 * MIB);
        bench.post(&CuGraphExecDestroy { h_graph_exec: GraphExecId(700) });
        assert_eq!(instantiate(&mut bench, 702, add(f, &short)), 0);
        assert_eq!(bench.charged("graph"), 14 * MIB);
    });
}

#[test]
fn parameters_that_a_guest_leaves_out_are_charged() {
    const LONG: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry empty(.param .align 8 .b8 p[4000]) { ret; }\n";
    alone("parameters_that_a_guest_leaves_out_are_charged", |mut bench| {
        bench.set_quota(1 << 40);
        assert_eq!(bench.load(1, LONG), 0);
        let (long, small) = (bench.empty(1, 2), bench.vector_add());
        let dst = bench.alloc(4096);
        let short = params(dst, dst, dst);
        let graph = |step| {
            let mut steps = vec![Step::Empty; 1000];
            steps[0] = step;
            chain(&steps)
        };
        type Change = fn(&mut Bench, &[u8], Step<'_>);
        let changes: [(&str, Change); 2] = [
            ("update", |bench, graph, _| {
                let (exec, blob) = (GraphExecId(700), BlobId(0));
                assert_eq!(bench.good(&VcudaGraphExecUpdate { exec, blob, graph }).result, 0);
            }),
            ("set", |bench, _, step| {
                bench.good(&VcudaGraphExecNodeSet { exec: GraphExecId(700), node: 0, step });
            }),
        ];
        let make = |bench: &mut Bench, id, step| {
            let (exec, graph) = (GraphExecId(id), graph(step));
            let (flags, blob, graph) = (0, BlobId(0), graph.as_bytes());
            bench.good(&VcudaGraphInstantiate { exec, flags, blob, graph });
        };
        // The charge is the sum of 2304 bytes for each of 900 nodes (the first 100 are free), the
        // size of the longest parameters for each of 1000 nodes, and 114 KiB for a branch.
        make(&mut bench, 699, add(long, &[]));
        assert_eq!(bench.charged("graph"), 6 * MIB);
        make(&mut bench, 700, add(small, &short));
        for (number, (name, change)) in changes.into_iter().enumerate() {
            if number > 0 {
                bench.post(&CuGraphExecDestroy { h_graph_exec: GraphExecId(700) });
                make(&mut bench, 700, add(small, &short));
            }
            change(&mut bench, graph(add(long, &[])).as_bytes(), add(long, &[]));
            assert_eq!(bench.charged("graph"), 14 * MIB, "{name}");
        }
    });
}
