//! Tests of objects that are destroyed while calls on other threads use them. softgpu's strict mode
//! aborts the process if the worker makes a driver call that isn't allowed.

use super::claims::{library, module};
use super::graphs::{add, chain};
use super::leftovers::descriptor;
use super::*;
use crate::driver::stubs::stop_next;
use protocol::graph::Step;
use protocol::ids::{ArrayId, GraphExecId, LinkId, MipmapId, SurfRefId, TexRefId};
use protocol::structs::{BoxSide, BoxSize, EventRecordStep};

const INVALID_HANDLE: u32 = CuError::INVALID_HANDLE.0;
/// `USER` is the guest thread that makes the call that uses the object. `ENDER` is the guest thread
/// that destroys the object.
const USER: u32 = 6;
const ENDER: u32 = 7;
const EXEC: GraphExecId = GraphExecId(700);
const FUNCTION: u64 = 20;
const KERNEL: u64 = 21;

const TEXT: &str = "
.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.global .surfref plane;
.visible .global .u32 variable;
.visible .entry kernel() { ret; }
";

/// The way in which a call destroys an object.
enum End {
    /// The call runs on a mirror, and destroys the object with this driver function. The guest
    /// waits for the reply.
    Waited(&'static str, fn(&mut Bench)),
    /// The call is posted, and normally runs on the ring reader's thread. The second function
    /// creates the object again, which must succeed once the object has been destroyed.
    Posted(fn(&mut Bench), fn(&mut Bench) -> u32),
}

use End::{Posted, Waited};

/// One test: a driver function in which a call on a mirror stops, that call, and a call that
/// destroys an object that it uses. Each test begins with all objects.
type Cell = (&'static str, fn(&mut Bench), End);

const CELLS: [Cell; 13] = [
    ("cuGraphAddEventRecordNode", |b| b.graph(&record()), Posted(end_event, create_event)),
    ("cuIpcGetEventHandle", export, Posted(end_event, create_event)),
    ("cuMemcpyDtoHAsync_v2", |b| b.copy_out(9), Posted(end_stream, create_stream)),
    ("cuMemcpyDtoHAsync_v2", |b| b.copy_out(2), Posted(end_thread, |_| 0)),
    ("cuGraphExecUpdate_v2", update, Posted(end_exec, create_exec)),
    ("cuModuleGetFunction", get_function, Waited("cuModuleUnload", unload)),
    ("cuGraphAddKernelNode_v2", |b| b.graph(&add(FUNCTION, &[])), Waited("cuModuleUnload", unload)),
    ("cuLibraryGetKernel", get_kernel, Waited("cuLibraryUnload", unload_library)),
    ("cuKernelGetFunction", kernel_function, Waited("cuLibraryUnload", unload_library)),
    ("cuSurfObjectCreate", surface, Waited("cuArrayDestroy", end_array)),
    ("cuSurfObjectCreate", surface_of_level, Waited("cuMipmappedArrayDestroy", end_mipmap)),
    ("cuLinkAddData_v2", add_to_link, Waited("cuLinkDestroy", end_link)),
    ("cuMemcpyDtoHAsync_v2", |b| b.copy_out(10), Waited("cuGreenCtxDestroy", end_green)),
];

fn record() -> Step<'static> {
    Step::EventRecord(EventRecordStep { event: EventId(8) })
}

fn export(bench: &mut Bench) {
    bench.begin(USER, &VcudaIpcGetEventHandle { event: EventId(8) });
}

fn end_event(bench: &mut Bench) {
    bench.post(&CuEventDestroyV2 { h_event: EventId(8) });
}

/// Creates an event for use in this process only, because graphs can't contain events for several
/// processes.
fn create_event(bench: &mut Bench) -> u32 {
    bench.call(&CuEventCreate { flags: 2, ph_event: EventId(8) }).0
}

fn end_stream(bench: &mut Bench) {
    bench.post(&CuStreamDestroyV2 { h_stream: StreamId(9) });
}

fn create_stream(bench: &mut Bench) -> u32 {
    let ph_stream = StreamId(9);
    bench.call(&CuStreamCreateWithPriority { flags: 1, priority: 0, ph_stream }).0
}

fn end_thread(bench: &mut Bench) {
    // Many other threads exit, too. They leave empty streams, of which the worker destroys all but
    // a few.
    let threads = || (1000..1020).chain([USER]);
    for thread in threads() {
        bench.thread = thread;
        bench.post(&CuStreamWaitEvent { h_stream: StreamId(2), h_event: EventId(8), flags: 0 });
    }
    for thread in threads() {
        bench.thread = thread;
        bench.post(&VcudaThreadEnd { h_stream: StreamId(2) });
    }
    bench.thread = THREAD;
}

fn update(bench: &mut Bench) {
    let (graph, blob) = (chain(&[add(FUNCTION, &[])]), BlobId(0));
    bench.begin(USER, &VcudaGraphExecUpdate { exec: EXEC, blob, graph: graph.as_bytes() });
}

fn end_exec(bench: &mut Bench) {
    bench.post(&CuGraphExecDestroy { h_graph_exec: EXEC });
}

fn create_exec(bench: &mut Bench) -> u32 {
    bench.instantiate(EXEC.0, &[add(FUNCTION, &[])])
}

fn get_function(bench: &mut Bench) {
    let (hfunc, hmod) = (FunctionId(30), ModuleId(7));
    bench.begin(USER, &VcudaModuleGetFunction { hfunc, hmod, name: "kernel" });
}

fn unload(bench: &mut Bench) {
    bench.begin(ENDER, &CuModuleUnload { hmod: ModuleId(7) });
}

fn kernel(id: u64) -> VcudaLibraryGetKernels<'static> {
    let library = LibraryId(11);
    VcudaLibraryGetKernels { p_kernel: KernelId(id), library, name: "kernel", more: 0 }
}

fn get_kernel(bench: &mut Bench) {
    bench.begin(USER, &kernel(31));
}

fn kernel_function(bench: &mut Bench) {
    bench.begin(USER, &CuFuncLoad { hfunc: FuncId(KERNEL) });
}

fn unload_library(bench: &mut Bench) {
    bench.begin(ENDER, &CuLibraryUnload { library: LibraryId(11) });
}

fn surface(bench: &mut Bench) {
    bench.begin(USER, &VcudaSurfaceCreate { array: ArrayId(1) });
}

fn end_array(bench: &mut Bench) {
    bench.begin(ENDER, &VcudaArrayDestroy { array: ArrayId(1) });
}

fn surface_of_level(bench: &mut Bench) {
    bench.begin(USER, &VcudaSurfaceCreate { array: ArrayId(3) });
}

fn end_mipmap(bench: &mut Bench) {
    bench.begin(ENDER, &VcudaMipmappedArrayDestroy { mipmap: MipmapId(2) });
}

fn add_to_link(bench: &mut Bench) {
    let (link, kind, blob, options) = (LinkId(5), 1, BlobId(0), Default::default());
    let data = TEXT.as_bytes();
    bench.begin(USER, &VcudaLinkAdd { link, kind, name: "a", blob, data, options });
}

fn end_link(bench: &mut Bench) {
    bench.begin(ENDER, &CuLinkDestroy { state: LinkId(5) });
}

fn end_green(bench: &mut Bench) {
    bench.begin(ENDER, &VcudaGreenCtxDestroy { green: GreenId(4) });
}

impl Bench {
    fn graph(&mut self, step: &Step<'_>) {
        let writer = chain(std::slice::from_ref(step));
        let (exec, flags, blob, graph) = (GraphExecId(701), 0, BlobId(0), writer.as_bytes());
        self.begin(USER, &VcudaGraphInstantiate { exec, flags, blob, graph });
    }

    /// Posts a copy to the host. The guest thread doesn't wait, so the copy has no reply slot in
    /// guest memory.
    fn copy_out(&mut self, stream: u64) {
        let src = self.alloc(64);
        self.thread = USER;
        self.post(&VcudaCopyOut { src, len: 64, h_stream: StreamId(stream) });
        self.thread = THREAD;
        self.state_of(USER).store(1, Ordering::Release);
    }

    fn state_of(&mut self, thread: u32) -> &AtomicU32 {
        self.thread = thread;
        let state = self.state() as *const AtomicU32;
        self.thread = THREAD;
        // SAFETY: the slot is in the arena, which stays mapped while `ring` exists.
        unsafe { &*state }
    }

    /// Creates at least one object of each kind.
    fn everything(&mut self) {
        self.set_quota(1 << 30);
        self.good(&module(7, TEXT));
        let (hfunc, hmod) = (FunctionId(FUNCTION), ModuleId(7));
        self.good(&VcudaModuleGetFunction { hfunc, hmod, name: "kernel" });
        self.good(&VcudaModuleGetTexRef { texref: TexRefId(1), hmod, name: "image" });
        self.good(&VcudaModuleGetSurfRef { surfref: SurfRefId(1), hmod, name: "plane" });
        self.good(&library(11, TEXT));
        self.good(&kernel(KERNEL));
        self.good(&CuEventCreate { flags: 2, ph_event: EventId(8) });
        assert_eq!(create_stream(self), 0);
        let descriptor = descriptor();
        for array in [ArrayId(1), ArrayId(6)] {
            self.good(&VcudaArrayCreate { array, descriptor });
        }
        let mipmap = MipmapId(2);
        self.good(&VcudaMipmappedArrayCreate { mipmap, descriptor, levels: 2 });
        self.good(&VcudaMipmappedArrayGetLevel { array: ArrayId(3), mipmap, level: 1 });
        self.good(&VcudaLinkCreate { link: LinkId(5), options: Default::default(), log_max: 0 });
        let (green, source, parts) = (GreenId(4), GreenId(0), [u32::MAX]);
        let [groups, flags, min_count] = [0; 3];
        let parts = parts.as_slice().into();
        self.good(&VcudaGreenCtxCreate { green, source, groups, flags, min_count, parts });
        let stream = StreamId(10);
        self.good(&VcudaGreenCtxStreamCreate { stream, green, priority: 0 });
        assert_eq!(create_exec(self), 0);
    }
}

fn an_object_ends_after_calls(number: usize, mut bench: Bench) {
    let (uses, begin, end) = &CELLS[number];
    bench.everything();
    if *uses == "cuIpcGetEventHandle" {
        end_event(&mut bench);
        bench.good(&CuEventCreate { flags: 4 | 2, ph_event: EventId(8) });
    }
    let used = stop_next(uses);
    begin(&mut bench);
    used.wait();
    match end {
        Waited(destroys, end) => {
            let destroyed = stop_next(destroys);
            end(&mut bench);
            assert!(!destroyed.comes(), "{destroys} during {uses}");
            drop((used, destroyed));
            assert_eq!(bench.ended(ENDER), 0);
        }
        Posted(end, create) => {
            end(&mut bench);
            drop(used);
            let start = std::time::Instant::now();
            while create(&mut bench) != 0 {
                assert!(start.elapsed().as_secs() < 60, "the object of {uses} doesn't end");
            }
        }
    }
    bench.ended(USER);
    // Calls that were posted to the same mirror run before this call, so they have ended when this
    // call has.
    bench.begin(USER, &VcudaTpcTables {});
    bench.ended(USER);
}

macro_rules! after_calls {
    ($($test:ident $number:expr;)*) => {
        $(#[test]
        fn $test() {
            alone(stringify!($test), |bench| an_object_ends_after_calls($number, bench));
        })*

        #[test]
        fn each_cell_has_a_test() {
            assert_eq!([$($number),*], std::array::from_fn::<_, { CELLS.len() }, _>(|i| i));
        }
    };
}

after_calls! {
    an_event_ends_after_a_graph_gets_it 0;
    an_event_ends_after_its_export 1;
    a_stream_ends_after_a_copy 2;
    a_thread_stream_ends_after_a_copy 3;
    an_executable_graph_ends_after_an_update 4;
    a_module_ends_after_a_query 5;
    a_module_ends_after_a_graph_gets_its_function 6;
    a_library_ends_after_a_query 7;
    a_library_ends_after_a_query_of_its_kernel 8;
    an_array_ends_after_a_surface_gets_it 9;
    a_mipmapped_array_ends_after_a_surface_gets_its_level 10;
    a_link_ends_after_an_addition 11;
    a_green_context_ends_after_a_copy 12;
}

/// Destroys an object on a mirror that is still busy with another call. Meanwhile, `calls` checks
/// that calls on the ring reader's thread can't look up the object.
fn the_reader_does_not_find<'a, C: Call<'a>>(
    bench: &mut Bench,
    end: &C,
    calls: impl FnOnce(&mut Bench),
) {
    let busy = stop_next("cuModuleLoadDataEx");
    bench.thread = ENDER;
    bench.post(&module(99, TEXT));
    bench.thread = THREAD;
    busy.wait();
    bench.begin(ENDER, end);
    calls(bench);
    drop(busy);
    assert_eq!(bench.ended(ENDER), 0);
    bench.good(&CuModuleUnload { hmod: ModuleId(99) });
}

impl Bench {
    fn launch_kernel(&mut self, f: u64) -> u32 {
        self.launch_empty_in(f, 9)
    }
}

#[test]
fn the_reader_does_not_find_an_object_that_is_ending() {
    alone("the_reader_does_not_find_an_object_that_is_ending", |mut bench| {
        bench.everything();
        assert_eq!((bench.launch_kernel(FUNCTION), bench.launch_kernel(KERNEL)), (0, 0));
        let hmod = ModuleId(7);
        the_reader_does_not_find(&mut bench, &CuModuleUnload { hmod }, |bench| {
            assert_eq!(bench.launch_kernel(FUNCTION), INVALID_HANDLE);
            let post = VcudaGraphExecNodePost { exec: EXEC, node: 0, step: add(FUNCTION, &[]) };
            bench.post(&post);
            assert_eq!(bench.posted_error(), INVALID_HANDLE);
            let results = [
                bench.call(&VcudaModuleGetGlobal { hmod, name: "variable" }).0,
                bench.call(&CuModuleGetFunctionCount { hmod }).0,
                bench.call(&VcudaModuleGetTexRef { texref: TexRefId(2), hmod, name: "image" }).0,
                bench.call(&VcudaModuleGetSurfRef { surfref: SurfRefId(2), hmod, name: "plane" }).0,
                bench.call(&super::texture_refs::bind(1, 6, 0)).0,
                bench.call(&VcudaSurfRefBind { surfref: SurfRefId(1), array: ArrayId(6) }).0,
            ];
            assert_eq!(results, [INVALID_HANDLE; 6]);
        });
        let library = LibraryId(11);
        the_reader_does_not_find(&mut bench, &CuLibraryUnload { library }, |bench| {
            assert_eq!(bench.launch_kernel(KERNEL), INVALID_HANDLE);
            assert_eq!(bench.call(&CuLibraryGetKernelCount { lib: library }).0, INVALID_HANDLE);
        });
        let array = ArrayId(1);
        the_reader_does_not_find(&mut bench, &VcudaArrayDestroy { array }, |bench| {
            let (at, height) = (0, 0);
            let side = |array| BoxSide { array, address: at, pitch: at, height, x: 0, y: 0, z: 0 };
            let size = BoxSize { width: 4, height: 1, depth: 1 };
            let (dst, src) = (side(ArrayId(6)), side(array));
            bench.post(&VcudaCopyBox { dst, src, size, h_stream: StreamId(9) });
            assert_eq!(bench.posted_error(), INVALID_HANDLE);
        });
        let mipmap = MipmapId(2);
        the_reader_does_not_find(&mut bench, &VcudaMipmappedArrayDestroy { mipmap }, |bench| {
            let level = VcudaMipmappedArrayGetLevel { array: ArrayId(9), mipmap, level: 0 };
            assert_eq!(bench.call(&level).0, INVALID_HANDLE);
        });
    });
}
