//! Tests that the local memory of the kernels in graphs is charged. They cover all ways in which a
//! kernel can get into a graph, and limits that change before the graph is launched.

use super::charges::{LARGE, OUT_OF_MEMORY, for_all_threads, with_local};
use super::claims::library;
use super::graphs::{add, chain};
use super::*;
use protocol::graph::{self, ConditionalStep, Step};
use protocol::ids::{GraphExecId, KernelId, LibraryId, ValuesId};

/// The local memory per thread, in bytes, of the kernel that gets into a graph.
const LOCAL: usize = 16 << 10;
pub(super) const EXEC: GraphExecId = GraphExecId(700);
const STREAM: StreamId = StreamId(500);
const DEFAULT_STACK: usize = 1024;

/// Makes [`EXEC`] an executable graph that contains the kernel `f`, which hasn't been launched yet.
/// `small` is a kernel that needs almost no local memory.
type Way = fn(bench: &mut Bench, f: u64, small: u64);

const WAYS: [(&str, Way); 5] = [
    ("instantiated", |bench, f, _| assert_eq!(bench.instantiate(EXEC.0, &[add(f, &[])]), 0)),
    ("in a body", |bench, f, _| {
        let (values, default_value, flags) = (ValuesId(900), 1, 1);
        let handle = bench.good(&VcudaGraphValueCreate { values, default_value, flags }).handle;
        let body = chain(&[add(f, &[])]);
        let bodies = graph::encode_bodies([body.as_bytes()]);
        let bodies = bodies.as_bytes();
        let step = Step::Conditional(ConditionalStep { values, handle, kind: 0, size: 1, bodies });
        let graph = chain(&[step]);
        let (flags, blob, graph) = (0, BlobId(0), graph.as_bytes());
        bench.good(&VcudaGraphInstantiateConditional { exec: EXEC, flags, blob, graph });
    }),
    ("updated", |bench, f, small| {
        assert_eq!(bench.instantiate(EXEC.0, &[add(small, &[])]), 0);
        let graph = chain(&[add(f, &[])]);
        let (blob, graph) = (BlobId(0), graph.as_bytes());
        assert_eq!(bench.good(&VcudaGraphExecUpdate { exec: EXEC, blob, graph }).result, 0);
    }),
    ("set", |bench, f, small| {
        assert_eq!(bench.instantiate(EXEC.0, &[add(small, &[])]), 0);
        bench.good(&VcudaGraphExecNodeSet { exec: EXEC, node: 0, step: add(f, &[]) });
    }),
    ("posted", |bench, f, small| {
        assert_eq!(bench.instantiate(EXEC.0, &[add(small, &[])]), 0);
        bench.post(&VcudaGraphExecNodePost { exec: EXEC, node: 0, step: add(f, &[]) });
        assert_eq!(bench.posted_error(), 0);
    }),
];

impl Bench {
    pub(super) fn stream_of_graphs(&mut self) {
        self.post(&CuStreamCreateWithPriority { ph_stream: STREAM, flags: 1, priority: 0 });
    }

    /// Loads a module with a kernel that uses `local` bytes of local memory per thread, and returns
    /// the kernel.
    pub(super) fn kernel_with(&mut self, local: usize, id: u64) -> u64 {
        assert_eq!(self.load(id, &with_local(local)), 0);
        self.empty(id, 1000 + id)
    }

    /// Launches or uploads [`EXEC`], and returns the posted error.
    pub(super) fn use_exec(&mut self, launch: bool) -> u32 {
        match launch {
            true => self.post(&CuGraphLaunch { h_graph: EXEC, h_stream: STREAM }),
            false => self.post(&CuGraphUpload { h_graph: EXEC, h_stream: STREAM }),
        }
        self.posted_error()
    }
}

#[test]
fn a_graph_is_charged_for_kernels_that_were_never_launched() {
    let test = "graph_charges::a_graph_is_charged_for_kernels_that_were_never_launched";
    alone(test, |mut bench| {
        bench.stream_of_graphs();
        for (number, (way, make)) in WAYS.into_iter().enumerate() {
            let id = 10 * number as u64 + 1;
            bench.set_quota(1 << 40);
            let (f, small) = (bench.kernel_with(LOCAL, id), bench.kernel_with(16, id + 1));
            make(&mut bench, f, small);
            for launch in [false, true, false] {
                // Setting the limit makes the driver free the local memory of kernels that have
                // ended.
                bench.good(&CuCtxSynchronize {});
                assert_eq!(bench.set_limit(0, DEFAULT_STACK), 0);
                assert_eq!(bench.charged("local"), 0, "{way}");
                bench.set_quota(bench.used() + for_all_threads(LOCAL as u64) - 1);
                assert_eq!(bench.use_exec(launch), OUT_OF_MEMORY, "{way}");
                assert_eq!(bench.charged("local"), 0, "{way}");
                bench.set_quota(1 << 40);
                assert_eq!(bench.use_exec(launch), 0, "{way}");
                assert_eq!(bench.charged("local"), for_all_threads(LOCAL as u64), "{way}");
            }
            bench.post(&CuGraphExecDestroy { h_graph_exec: EXEC });
            bench.good(&CuCtxSynchronize {});
        }
    });
}

#[test]
fn a_graph_is_charged_in_its_own_context() {
    alone("graph_charges::a_graph_is_charged_in_its_own_context", |mut bench| {
        bench.set_quota(1 << 40);
        bench.stream_of_graphs();
        let f = bench.kernel_with(LOCAL, 1);
        assert_eq!(bench.instantiate(EXEC.0, &[add(f, &[])]), 0);
        assert_eq!(bench.set_limit(0, DEFAULT_STACK), 0);
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        assert_eq!(bench.set_limit(0, 2 * LOCAL), 0);
        let other = bench.charged("local");
        // The graph's stream belongs to the first context, so that context is charged, although
        // another one is current.
        for launch in [false, true] {
            assert_eq!(bench.use_exec(launch), 0);
            let both = other + for_all_threads(LOCAL as u64);
            assert_eq!(bench.charged("local"), both, "launch: {launch}");
        }
        // A graph can't contain a kernel that runs in another context, and can't be changed while
        // another context is current.
        let not_supported = CuError::NOT_SUPPORTED.0;
        assert_eq!(bench.instantiate(701, &[add(f, &[])]), not_supported);
        let (invalid, step) = (CuError::INVALID_VALUE.0, add(f, &[]));
        assert_eq!(bench.call(&VcudaGraphExecNodeSet { exec: EXEC, node: 0, step }).0, invalid);
        let graph = chain(&[step]);
        let (blob, graph) = (BlobId(0), graph.as_bytes());
        assert_eq!(bench.call(&VcudaGraphExecUpdate { exec: EXEC, blob, graph }).0, invalid);
    });
}

#[test]
fn a_kernel_is_checked_in_the_context_that_remains() {
    alone("graph_charges::a_kernel_is_checked_in_the_context_that_remains", |mut bench| {
        bench.set_quota(1 << 40);
        bench.good(&library(9, LARGE));
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        let first = bench.ctx;
        bench.ctx = ContextId(78);
        let (p_kernel, library) = (KernelId(10), LibraryId(9));
        bench.good(&VcudaLibraryGetKernels { p_kernel, library, name: "empty", more: 0 });
        assert_eq!(bench.launch_empty(10), 0);
        assert_eq!(bench.charged("module"), 100 * MIB);
        bench.good(&VcudaCtxDestroy { ctx: ContextId(78) });
        bench.ctx = first;
        assert_eq!(bench.charged("module"), 0);
        assert_eq!(bench.launch_empty(10), 0);
        assert_eq!(bench.charged("module"), 100 * MIB);
    });
}
