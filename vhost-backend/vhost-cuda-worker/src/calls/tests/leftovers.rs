//! Tests of objects that are destroyed while other objects use them, or together with their
//! context. softgpu's strict mode aborts the process if the worker makes a driver call that isn't
//! allowed.

use super::claims::module;
use super::graphs::{chain, set};
use super::*;
use crate::driver::stubs::{self, stop_next};
use protocol::ids::{ArrayId, GraphExecId, MipmapId};
use protocol::structs::ArrayDescriptor;

const OTHER: ContextId = ContextId(78);
const EXEC: GraphExecId = GraphExecId(700);

pub(super) fn descriptor() -> ArrayDescriptor {
    ArrayDescriptor { width: 16, height: 16, depth: 0, format: 0x20, channels: 1, flags: 2 }
}

impl Bench {
    /// Creates an executable graph in the current context.
    fn exec(&mut self, memory: u64) {
        let graph = chain(&[set(memory, 1)]);
        let (flags, blob, graph) = (0, BlobId(0), graph.as_bytes());
        self.good(&VcudaGraphInstantiate { exec: EXEC, flags, blob, graph });
    }

    /// Creates an object of each kind in the context `ctx`, which is the current context
    /// afterwards.
    fn objects(&mut self, ctx: ContextId) {
        self.ctx = ctx;
        let memory = self.alloc(64);
        self.exec(memory);
        let (array, mipmap, descriptor) = (ArrayId(1), MipmapId(2), descriptor());
        self.good(&VcudaArrayCreate { array, descriptor });
        self.good(&VcudaMipmappedArrayCreate { mipmap, descriptor, levels: 2 });
        self.good(&VcudaMipmappedArrayGetLevel { array: ArrayId(3), mipmap, level: 1 });
        self.good(&VcudaSurfaceCreate { array: ArrayId(1) });
        assert_eq!(self.call(&module(7, std::str::from_utf8(VECTOR_ADD).unwrap())).0, 0);
        self.good(&CuEventCreate { flags: 0, ph_event: EventId(8) });
        self.good(&CuStreamCreateWithPriority { flags: 0, priority: 0, ph_stream: StreamId(9) });
    }
}

#[test]
fn a_context_ends_after_the_objects_in_it() {
    alone("a_context_ends_after_the_objects_in_it", |mut bench| {
        bench.set_quota(1 << 30);
        let first = bench.ctx;
        let used = bench.used();
        for _ in 0..3 {
            bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: OTHER });
            bench.objects(OTHER);
            bench.ctx = first;
            bench.good(&VcudaCtxDestroy { ctx: OTHER });
            assert_eq!(bench.used(), used);
        }
        bench.objects(first);
        bench.good(&VcudaPrimaryCtxReset { dev: 0 });
    });
}

#[test]
fn a_context_ends_after_calls_in_others_that_use_its_objects() {
    alone("a_context_ends_after_calls_in_others_that_use_its_objects", |mut bench| {
        bench.set_quota(1 << 30);
        let first = bench.ctx;
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: OTHER });
        bench.objects(OTHER);
        bench.ctx = first;
        let unload = stop_next("cuModuleUnload");
        bench.begin(6, &CuModuleUnload { hmod: ModuleId(7) });
        unload.wait();
        let end = stop_next("cuCtxDestroy_v2");
        bench.begin(7, &VcudaCtxDestroy { ctx: OTHER });
        assert!(!end.comes());
        drop(unload);
        assert_eq!(bench.ended(6), 0);
        end.wait();
        drop(end);
        assert_eq!(bench.ended(7), 0);
    });
}

#[test]
fn an_executable_graph_ends_after_a_change() {
    alone("an_executable_graph_ends_after_a_change", |mut bench| {
        bench.set_quota(1 << 30);
        let first = bench.ctx;
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: OTHER });
        bench.ctx = OTHER;
        let memory = bench.alloc(64);
        bench.exec(memory);
        let update = stop_next("cuGraphExecUpdate_v2");
        let graph = chain(&[set(memory, 2)]);
        let (blob, graph) = (BlobId(0), graph.as_bytes());
        bench.begin(6, &VcudaGraphExecUpdate { exec: EXEC, blob, graph });
        update.wait();
        bench.post(&CuGraphExecDestroy { h_graph_exec: EXEC });
        assert_eq!(bench.posted_error(), 0);
        bench.ctx = first;
        let end = stop_next("cuCtxDestroy_v2");
        bench.begin(7, &VcudaCtxDestroy { ctx: OTHER });
        assert!(!end.comes());
        drop(update);
        assert_eq!(bench.ended(6), 0);
        end.wait();
        drop(end);
        assert_eq!(bench.ended(7), 0);
    });
}

#[test]
fn registrations_end_with_their_context() {
    alone("registrations_end_with_their_context", |mut bench| {
        let (vaddr, len, first) = (0x3000_0020_0000, 1 << 20, bench.ctx);
        bench.attach_pinned(2, vaddr, len as u64);
        let register = VcudaHostRegister { vaddr, len, flags: 0 };
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: OTHER });
        bench.ctx = OTHER;
        bench.good(&register);
        bench.ctx = first;
        bench.good(&VcudaCtxDestroy { ctx: OTHER });
        let unregister = VcudaHostUnregister { vaddr };
        assert_eq!(bench.call(&unregister).0, CuError::HOST_MEMORY_NOT_REGISTERED.0);
        bench.good(&register);
        bench.good(&unregister);
    });
}

#[test]
fn a_context_ends_with_the_names_of_its_events() {
    alone("a_context_ends_with_the_names_of_its_events", |mut bench| {
        let first = bench.ctx;
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: OTHER });
        bench.ctx = OTHER;
        // The flags are CU_EVENT_INTERPROCESS and CU_EVENT_DISABLE_TIMING.
        bench.good(&CuEventCreate { flags: 4 | 2, ph_event: EventId(8) });
        bench.good(&VcudaIpcGetEventHandle { event: EventId(8) });
        assert_eq!(bench.exports.lock().unwrap().things.len(), 1);
        bench.ctx = first;
        bench.good(&VcudaCtxDestroy { ctx: OTHER });
        // The worker sends the message that ends the export before it replies. But the thread that
        // simulates the device process may read that message later.
        let start = std::time::Instant::now();
        while !bench.exports.lock().unwrap().things.is_empty() {
            assert!(start.elapsed().as_secs() < 60, "the event stays exported");
        }
    });
}

/// Counts the events that the worker creates.
#[derive(Clone, Default)]
struct Created(Arc<AtomicU32>);

impl stubs::Watch for Created {
    fn enters(&self, name: &'static str, _: &[u64]) {
        self.0.fetch_add((name == "cuEventCreate").into(), Ordering::Relaxed);
    }

    fn leaves(&self, _: &'static str, _: &[u64], _: u32) {}
}

#[test]
fn a_context_that_ends_leaves_the_events_of_others() {
    alone("a_context_that_ends_leaves_the_events_of_others", |mut bench| {
        let created = Created::default();
        stubs::watch(created.clone());
        let (first, h_stream) = (bench.ctx, StreamId(9));
        bench.good(&CuStreamCreateWithPriority { flags: 1, priority: 0, ph_stream: h_stream });
        bench.post(&VcudaHostFunc { h_stream, token: 42 });
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: OTHER });
        bench.ctx = OTHER;
        let dptr = bench.alloc(64);
        bench.ctx = first;
        bench.post(&CuMemFreeAsync { dptr, h_stream });
        assert_eq!(created.0.load(Ordering::Relaxed), 1);
        // Destroying the context waits for its memory, which can be unmapped only after the host
        // function.
        bench.begin(7, &VcudaCtxDestroy { ctx: OTHER });
        let dptr = bench.alloc(64);
        bench.post(&CuMemFreeAsync { dptr, h_stream });
        assert_eq!(created.0.load(Ordering::Relaxed), 1);
        bench.run_host_func(42);
        assert_eq!(bench.ended(7), 0);
        bench.good(&CuStreamSynchronize { h_stream });
    });
}
