//! Tracks the resources that a context uses besides its allocations (code, heap, stacks, streams,
//! graphs), and computes the device memory that they take.
//!
//! The constants were measured on NVIDIA's driver (docs/memory.md). The driver doesn't report how
//! much memory it uses for these resources, and frees some of that memory only when the context is
//! destroyed.

use host_ipc::messages::Charge;

const MIB: u64 = 1 << 20;
/// The driver allocates device memory in units of this many bytes.
pub(super) const GRANULE: u64 = 2 * MIB;
/// The CU_LIMIT_STACK_SIZE of a new context, in bytes per thread. A stack of this size is included
/// in the charge for the context itself.
pub(super) const DEFAULT_STACK: u64 = 1024;
/// The CU_LIMIT_MALLOC_HEAP_SIZE of a new context, in bytes.
pub(super) const DEFAULT_HEAP: u64 = 8 * MIB;
/// Bytes of code and variables for which every context already has room. Only bytes beyond that are
/// charged.
const SMALL_MODULES: u64 = 256 << 10;
/// The CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT of a new context.
const DEFAULT_PENDING: u64 = 2048;
/// Bytes for each launch that a kernel has made and that hasn't begun. On an H200, the driver took
/// up to 9472 bytes for each, at the first launch of a kernel whose module can launch other
/// kernels.
const PENDING_LAUNCH: u64 = 9728;
/// The smallest heap, in bytes. The driver raises lower limits.
const LEAST_HEAP: u64 = 4 * MIB;
/// Bytes for the driver's functions with which kernels print or launch other kernels. On an H200,
/// the driver took 82 MiB for a context's first kernel that prints. It took 100 MiB for the first
/// kernel that launches others, which includes memory for [`DEFAULT_PENDING`] launches.
const DEVICE_RUNTIME: u64 = 102 * MIB;
/// Bytes that the malloc heap takes beyond its limit once a loaded module uses it: 138 MiB when the
/// module is loaded, and 2 MiB at the first launch.
const HEAP_EXTRA: u64 = 140 * MIB;
/// Bytes per stream. The charge depends on the largest number of streams that have existed at once,
/// because the driver keeps the memory of destroyed streams.
const STREAM: u64 = 560 << 10;
/// The number of streams for which every context already has room. Only further streams are
/// charged.
const FEW_STREAMS: u64 = 4;
/// Bytes per node of an instantiated graph, in addition to the node's parameters.
const GRAPH_NODE: u64 = 2304;
/// Bytes per branch of an instantiated graph, in addition to those of its nodes. On an H200, the
/// driver took up to 115,990 bytes for each branch. This was measured with 100 graphs of 1, 16, and
/// 33 branches each, with about the same result.
const BRANCH: u64 = 114 << 10;
/// Bytes that the driver keeps for each green context until the primary context is destroyed
/// (`GREEN_CONTEXT`), and the additional bytes that it takes for the first one
/// (`FIRST_GREEN_CONTEXT`). On an H200, the driver kept 42 MiB for 10 green contexts, and 402 MiB
/// for 100, although each was destroyed before the next was created.
const GREEN_CONTEXT: u64 = 4 * MIB;
const FIRST_GREEN_CONTEXT: u64 = 2 * MIB;
/// Bytes of instantiated graphs for which every context already has room, enough for 100 nodes.
/// Only further bytes are charged. The charge depends on the largest number of bytes that have
/// existed at once, because the driver keeps the memory of destroyed graphs.
const SMALL_GRAPHS: u64 = 100 * GRAPH_NODE;

/// The resources that a context uses besides its allocations, from which its charges are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// Bytes of code and variables of loaded modules and libraries.
    pub modules: u64,
    /// The context's CU_LIMIT_MALLOC_HEAP_SIZE, in bytes.
    pub heap: u64,
    /// The number of modules and libraries whose kernels may call malloc. The number includes loads
    /// in progress, loads that the driver has refused, and modules that were unloaded, because the
    /// driver never frees the heap.
    pub heap_users: u64,
    /// The number of modules and libraries whose kernels may print or may launch other kernels. It
    /// also includes loads in progress, loads that the driver has refused, and modules that were
    /// unloaded.
    pub runtime_users: u64,
    /// The context's CU_LIMIT_STACK_SIZE, in bytes per thread.
    pub stack: u64,
    /// The context's CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT.
    pub pending: u64,
    /// Bytes of local memory per thread: the most that any kernel needs that was launched since the
    /// stack limit was last set. If earlier kernels may have been running when the limit was set,
    /// they are included, too.
    pub local: u64,
    /// The number of streams that exist now.
    pub streams: u64,
    /// The largest number of streams that have existed at once.
    pub most_streams: u64,
    /// Bytes of the instantiated graphs that exist now.
    pub graphs: u64,
    /// The largest number of bytes of instantiated graphs that have existed at once.
    pub most_graphs: u64,
    /// The number of green contexts that were ever created in the context.
    pub green_contexts: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            modules: 0,
            heap: DEFAULT_HEAP,
            heap_users: 0,
            runtime_users: 0,
            stack: DEFAULT_STACK,
            pending: DEFAULT_PENDING,
            local: 0,
            streams: 0,
            most_streams: 0,
            graphs: 0,
            most_graphs: 0,
            green_contexts: 0,
        }
    }
}

/// The kinds of charge that are computed from [`Terms`].
pub(super) const KINDS: [Charge; 6] = [
    Charge::Module,
    Charge::Heap,
    Charge::Local,
    Charge::Stream,
    Charge::Graph,
    // In addition to the fixed charge for each context, green contexts count as
    // [`Charge::Context`].
    Charge::Context,
];

impl Terms {
    /// Returns the number of bytes to charge for resources of this kind. `threads` is the number of
    /// threads that the device can run at once.
    pub(super) fn due(&self, kind: Charge, threads: u64) -> u64 {
        let whole = |bytes: u64| bytes.checked_next_multiple_of(GRANULE).unwrap_or(u64::MAX);
        match kind {
            Charge::Module => whole(self.modules.saturating_sub(SMALL_MODULES)),
            Charge::Heap => {
                let runtime = if self.runtime_users > 0 { DEVICE_RUNTIME } else { 0 };
                let launches = self.pending.saturating_sub(DEFAULT_PENDING);
                let launches = whole(launches.saturating_mul(PENDING_LAUNCH));
                whole(self.malloc_heap()).saturating_add(runtime).saturating_add(launches)
            }
            Charge::Local => whole((self.per_thread() - DEFAULT_STACK).saturating_mul(threads)),
            Charge::Stream => {
                whole(self.most_streams.saturating_sub(FEW_STREAMS).saturating_mul(STREAM))
            }
            Charge::Graph => whole(self.most_graphs.saturating_sub(SMALL_GRAPHS)),
            Charge::Context if self.green_contexts > 0 => FIRST_GREEN_CONTEXT
                .saturating_add(self.green_contexts.saturating_mul(GREEN_CONTEXT)),
            _ => 0,
        }
    }

    /// Returns the bytes that the driver reserves for malloc in kernels.
    fn malloc_heap(&self) -> u64 {
        match self.heap_users {
            0 => 0,
            _ => self.heap.max(LEAST_HEAP).saturating_add(HEAP_EXTRA),
        }
    }

    /// Returns the bytes per thread that the driver reserves for stacks and local memory. The
    /// driver rounds the number up to a multiple of 16.
    pub(super) fn per_thread(&self) -> u64 {
        let bytes = self.stack.max(self.local).max(DEFAULT_STACK);
        bytes.checked_next_multiple_of(16).unwrap_or(u64::MAX)
    }

    /// Counts one more stream.
    pub(super) fn add_stream(&mut self) {
        self.streams += 1;
        self.most_streams = self.most_streams.max(self.streams);
    }

    /// Counts more bytes of instantiated graphs.
    pub(super) fn add_graph(&mut self, bytes: u64) {
        self.graphs = self.graphs.saturating_add(bytes);
        self.most_graphs = self.most_graphs.max(self.graphs);
    }
}

/// The size of a graph, for charging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::calls) struct GraphSize {
    /// The number of nodes, including those in bodies of conditional nodes.
    pub nodes: usize,
    /// The size of the parameters of the node with the most parameters, in bytes. A program can
    /// change the parameters of each node, so every node counts with this many bytes.
    pub parameters: usize,
    /// The number of nodes that don't continue the branch of an earlier node. A node continues a
    /// branch if it depends on exactly one node, and is the first node that does so. The driver can
    /// run branches at the same time, and takes memory for each.
    pub branches: usize,
}

impl GraphSize {
    /// Returns the number of bytes that the graph takes when it's instantiated.
    pub(super) fn bytes(self) -> u64 {
        let parameters = (self.parameters as u64).next_multiple_of(8);
        let nodes = (self.nodes as u64).saturating_mul(GRAPH_NODE.saturating_add(parameters));
        nodes.saturating_add((self.branches as u64).saturating_mul(BRANCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of threads that an H200 can run at once.
    const THREADS: u64 = 132 * 2048;

    #[track_caller]
    fn due(kind: Charge, mib: u64, change: impl Fn(&mut Terms)) {
        let mut terms = Terms::default();
        change(&mut terms);
        assert_eq!(terms.due(kind, THREADS) / MIB, mib);
    }

    #[test]
    fn a_new_context_has_no_further_charges() {
        for kind in Charge::ALL {
            due(kind, 0, |_| {});
        }
    }

    #[test]
    fn modules_are_charged_in_granules() {
        for (bytes, mib) in [(4 << 10, 0), (MIB, 2), (3 * MIB, 4), (100 * MIB + 4096, 100)] {
            due(Charge::Module, mib, |terms| terms.modules = bytes);
        }
    }

    #[test]
    fn stacks_and_local_memory_are_charged_for_all_threads_beyond_the_default() {
        for (stack, mib) in [(0, 0), (1024, 0), (2048, 264), (8192, 1848), (131_072, 33_528)] {
            due(Charge::Local, mib, |terms| terms.stack = stack);
        }
        for (local, mib) in [(512, 0), (4096, 792), (262_144, 67_320)] {
            due(Charge::Local, mib, |terms| terms.local = local);
        }
        // The charge depends on the larger of the stack limit and the local memory that kernels
        // need.
        due(Charge::Local, 1848, |terms| (terms.stack, terms.local) = (2048, 8192));
    }

    #[test]
    fn the_heap_is_charged_from_its_first_use() {
        due(Charge::Heap, 0, |terms| terms.heap = 1 << 30);
        due(Charge::Heap, 1164, |terms| (terms.heap, terms.heap_users) = (1 << 30, 1));
        due(Charge::Heap, 148, |terms| terms.heap_users = 2);
        // The driver raises a limit that is below the smallest heap.
        due(Charge::Heap, 144, |terms| (terms.heap, terms.heap_users) = (0, 1));
    }

    #[test]
    fn kernels_that_print_or_launch_are_charged_once() {
        due(Charge::Heap, 102, |terms| terms.runtime_users = 1);
        due(Charge::Heap, 102, |terms| terms.runtime_users = 7);
        due(Charge::Heap, 102, |terms| (terms.runtime_users, terms.pending) = (1, 0));
        due(Charge::Heap, 250, |terms| (terms.runtime_users, terms.heap_users) = (1, 1));
    }

    #[test]
    fn launches_from_kernels_are_charged_beyond_the_default() {
        for (pending, mib) in [(0, 0), (2048, 0), (2049, 2), (4096, 20), (16384, 134)] {
            due(Charge::Heap, mib, |terms| terms.pending = pending);
        }
        due(Charge::Heap, 282, |terms| (terms.pending, terms.heap_users) = (16384, 1));
    }

    #[test]
    fn streams_and_graphs_are_charged_at_their_peak() {
        due(Charge::Stream, 0, |terms| (0..4).for_each(|_| terms.add_stream()));
        due(Charge::Stream, 546, |terms| {
            for _ in 0..1000 {
                terms.add_stream();
            }
            terms.streams = 0;
        });
        let graph = |nodes, parameters| GraphSize { nodes, parameters, branches: 1 }.bytes();
        due(Charge::Graph, 0, |terms| terms.add_graph(graph(40, 0)));
        due(Charge::Graph, 22, |terms| terms.add_graph(graph(10_000, 0)));
        due(Charge::Graph, 62, |terms| terms.add_graph(graph(10_000, 4096)));
    }

    /// Compares the charges for graphs with the amounts in MiB that the driver took on an H200.
    /// Each case has a number of graphs, and the number of nodes and branches of each graph.
    #[test]
    fn graphs_are_charged_for_at_least_what_the_driver_takes() {
        for (graphs, nodes, branches, taken) in [
            (1, 20_000, 1, 44),
            (1, 32, 32, 2),
            (1, 33, 33, 2),
            (1, 64, 64, 6),
            (1, 256, 256, 28),
            (1, 3200, 32, 8),
            (1, 1280, 128, 18),
            (1, 512, 512, 56),
            (1, 2000, 2000, 224),
            (1, 5000, 1000, 120),
            (1, 8000, 8000, 890),
            (1, 20_000, 20_000, 2230),
            (100, 1, 1, 10),
            (100, 16, 16, 176),
            (100, 32, 32, 354),
            (100, 33, 33, 364),
        ] {
            let mut terms = Terms::default();
            for _ in 0..graphs {
                terms.add_graph(GraphSize { nodes, branches, parameters: 0 }.bytes());
            }
            let charged = terms.due(Charge::Graph, THREADS) / MIB;
            let most = taken + taken / 20 + 4;
            let case = format!("{graphs} graphs of {nodes} nodes, {branches} branches: {charged}");
            assert!((taken..=most).contains(&charged), "{case}");
        }
    }

    /// Compares the charges for green contexts with the amounts in MiB that the driver kept on an
    /// H200.
    #[test]
    fn green_contexts_stay_charged() {
        for (created, kept) in [(0, 0), (1, 6), (10, 42), (100, 402)] {
            due(Charge::Context, kept, |terms| terms.green_contexts = created);
        }
    }

    #[test]
    fn absurd_amounts_do_not_wrap_around() {
        let terms = Terms {
            modules: u64::MAX,
            heap: u64::MAX,
            heap_users: u64::MAX,
            runtime_users: u64::MAX,
            stack: u64::MAX,
            pending: u64::MAX,
            most_streams: u64::MAX,
            most_graphs: u64::MAX,
            green_contexts: u64::MAX,
            ..Terms::default()
        };
        for kind in KINDS {
            assert_eq!(terms.due(kind, THREADS), u64::MAX, "{}", kind.name());
        }
    }
}
