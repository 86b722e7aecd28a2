//! Compares the charge for local memory with a model of the driver, while calls that use limits and
//! calls that change them are in progress on several guest threads, in random orders.
//!
//! The test runs the real worker, with its gate, mirrors and ledger. Each driver call on a mirror
//! stops when it begins and when it ends, until the test lets it continue. The model assumes that
//! the driver takes local memory as early and frees it as late as it can.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Condvar;
use std::thread::ThreadId;

use cuda_api::sys::{CUDA_KERNEL_NODE_PARAMS_v2, CUfunction, CUfunction_attribute};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::charges::for_all_threads;
use super::graph_charges::EXEC;
use super::graphs::{add, chain};
use super::*;
use crate::driver::stubs;
use protocol::ids::GraphExecId;

/// The local memory of the kernels, in bytes per thread. `LOCALS[i]` is that of the kernel with the
/// id `FIRST_KERNEL + i`.
const LOCALS: [usize; 4] = [512, 4096, 8192, 16384];
const STACKS: [usize; 4] = [512, 1024, 4096, 12288];
const FIRST_KERNEL: u64 = 1100;
/// The guest threads that make the calls which run on mirrors.
const THREADS: std::ops::Range<u32> = 6..9;

#[derive(Clone, Copy, Debug)]
enum Action {
    /// `Set`, `Instantiate`, `Update`, and `ChangeNode` make a call that runs on the mirror of a
    /// guest thread, if that thread's earlier call has ended.
    Set(u32, usize),
    Instantiate(u32, u64),
    Update(u32, u64),
    ChangeNode(u32, u64),
    /// `Launch`, `PostNode`, `LaunchGraph`, and `Upload` make a call that runs on the ring reader's
    /// thread.
    Launch(u64),
    PostNode(u64),
    LaunchGraph,
    Upload,
    /// Lets one of the stopped driver calls continue.
    GoOn(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let kernel = || 0..LOCALS.len() as u64;
    prop_oneof![
        3 => (THREADS, 0..STACKS.len()).prop_map(|(thread, value)| Action::Set(thread, value)),
        2 => (THREADS, kernel()).prop_map(|(thread, f)| Action::Instantiate(thread, f)),
        1 => (THREADS, kernel()).prop_map(|(thread, f)| Action::Update(thread, f)),
        1 => (THREADS, kernel()).prop_map(|(thread, f)| Action::ChangeNode(thread, f)),
        3 => kernel().prop_map(Action::Launch),
        1 => kernel().prop_map(Action::PostNode),
        2 => Just(Action::LaunchGraph),
        1 => Just(Action::Upload),
        8 => (0usize..8).prop_map(Action::GoOn),
    ]
}

/// The state of the modeled driver, and the driver calls that have stopped.
struct Model {
    stack: u64,
    /// The stack limit that is being set. The model assumes that the driver takes memory for it as
    /// soon as the call begins.
    setting: u64,
    local: u64,
    /// The local memory that the kernels in a graph or executable graph need, by the driver's
    /// handle of the graph.
    graphs: HashMap<u64, u64>,
    /// The number of stops of driver calls so far (`stops`), by which stops are numbered, and the
    /// stops at which a call is waiting now (`stopped`).
    stops: u64,
    stopped: Vec<u64>,
    /// Whether driver calls on mirrors stop.
    stopping: bool,
    /// A message for each time that the charge was less than the memory that the driver uses.
    failures: Vec<String>,
}

struct Watched {
    model: Mutex<Model>,
    changed: Condvar,
    account: Arc<Mutex<Account>>,
    reader: ThreadId,
}

impl Watched {
    /// Returns the number of bytes that the driver uses beyond those of a new context.
    fn used(model: &Model) -> u64 {
        for_all_threads(model.stack.max(model.setting).max(model.local).max(1024))
    }

    fn check(&self, model: &mut Model, place: &str) {
        let charged = self.account.lock().unwrap().kinds.get("local").copied().unwrap_or(0);
        let used = Self::used(model);
        if charged < used {
            model.failures.push(format!("{place}: {charged} of {used} bytes are charged"));
        }
    }

    /// Stops a driver call on a mirror until the test lets it continue.
    fn stop(&self) {
        let mut model = self.model.lock().unwrap();
        if !model.stopping || std::thread::current().id() == self.reader {
            return;
        }
        model.stops += 1;
        let stop = model.stops;
        model.stopped.push(stop);
        self.changed.notify_all();
        let _model = self.changed.wait_while(model, |model| model.stopped.contains(&stop)).unwrap();
    }
}

/// Returns the local memory of a function, in bytes per thread.
fn local_of(function: u64) -> u64 {
    type Get = unsafe extern "C" fn(*mut i32, CUfunction_attribute, CUfunction) -> u32;
    let mut local = 0;
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
    // SAFETY: the library's function has this type, and it writes only to a local variable. The
    // worker has passed `function` to the driver, so it's a live function.
    let result = unsafe {
        let get = std::mem::transmute::<*mut c_void, Get>(stubs::real("cuFuncGetAttribute"));
        get(&mut local, attribute, function as CUfunction)
    };
    assert_eq!(result, 0);
    local as u64
}

fn function_in(params: u64) -> u64 {
    // SAFETY: `params` is an argument with which the worker calls the driver, so it points to a
    // valid structure.
    unsafe { (*(params as *const CUDA_KERNEL_NODE_PARAMS_v2)).func as u64 }
}

/// The observer of the stubs, which updates the model.
struct Watching(Arc<Watched>);

impl stubs::Watch for Watching {
    fn enters(&self, name: &'static str, arguments: &[u64]) {
        let watched = &self.0;
        watched.stop();
        let mut model = watched.model.lock().unwrap();
        let of = |model: &Model, graph| model.graphs.get(&graph).copied().unwrap_or(0);
        let takes = match name {
            "cuCtxSetLimit" if arguments[0] == 0 => {
                model.setting = arguments[1];
                0
            }
            "cuLaunchKernel" => local_of(arguments[0]),
            "cuGraphAddKernelNode_v2" => {
                let local = local_of(function_in(arguments[4]));
                let before = of(&model, arguments[1]);
                model.graphs.insert(arguments[1], local.max(before));
                local
            }
            "cuGraphExecKernelNodeSetParams_v2" => {
                let local = local_of(function_in(arguments[2]));
                let before = of(&model, arguments[0]);
                model.graphs.insert(arguments[0], local.max(before));
                local
            }
            "cuGraphExecUpdate_v2" => {
                let (local, before) = (of(&model, arguments[1]), of(&model, arguments[0]));
                model.graphs.insert(arguments[0], local.max(before));
                local
            }
            "cuGraphLaunch" | "cuGraphUpload" => of(&model, arguments[0]),
            "cuGraphInstantiateWithFlags" => of(&model, arguments[1]),
            _ => 0,
        };
        model.local = model.local.max(takes);
        watched.check(&mut model, name);
    }

    fn leaves(&self, name: &'static str, arguments: &[u64], result: u32) {
        let watched = &self.0;
        let mut model = watched.model.lock().unwrap();
        match name {
            "cuCtxSetLimit" if arguments[0] == 0 => {
                if result == 0 {
                    (model.stack, model.local) = (arguments[1], 0);
                }
                model.setting = 0;
            }
            "cuGraphCreate" => {
                // SAFETY: the argument is the address of a variable of the worker, which the driver
                // has set. (The driver may have reused the handle of a destroyed graph, so the old
                // entry is removed.)
                model.graphs.remove(&unsafe { *(arguments[0] as *const u64) });
            }
            "cuGraphInstantiateWithFlags" => {
                // SAFETY: the argument is the address of a variable of the worker, which the driver
                // has set.
                let exec = unsafe { *(arguments[0] as *const u64) };
                let local = model.graphs.get(&arguments[1]).copied().unwrap_or(0);
                model.graphs.insert(exec, local);
            }
            _ => {}
        }
        watched.check(&mut model, name);
        drop(model);
        watched.stop();
    }
}

/// A run of a script: the worker, and the guest threads whose calls are in progress.
struct Run<'a> {
    bench: &'a mut Bench,
    watched: &'a Watched,
    busy: Vec<u32>,
    made: u64,
}

impl Run<'_> {
    fn model(&self) -> std::sync::MutexGuard<'_, Model> {
        self.watched.model.lock().unwrap()
    }

    /// Begins a call on a guest thread, unless the thread's earlier call hasn't ended.
    fn begin<'c, C: Call<'c>>(&mut self, thread: u32, call: &C) {
        if !self.busy.contains(&thread) {
            self.bench.begin(thread, call);
            self.busy.push(thread);
        }
    }

    fn act(&mut self, action: Action) {
        let graph = |f| chain(&[add(FIRST_KERNEL + f, &[])]);
        match action {
            Action::Set(thread, value) => {
                self.begin(thread, &CuCtxSetLimit { limit: 0, value: STACKS[value] });
            }
            Action::Instantiate(thread, f) => {
                self.made += 1;
                let (writer, exec) = (graph(f), GraphExecId(EXEC.0 + self.made));
                let (flags, blob, graph) = (0, BlobId(0), writer.as_bytes());
                self.begin(thread, &VcudaGraphInstantiate { exec, flags, blob, graph });
            }
            Action::Update(thread, f) => {
                let writer = graph(f);
                let (blob, graph) = (BlobId(0), writer.as_bytes());
                self.begin(thread, &VcudaGraphExecUpdate { exec: EXEC, blob, graph });
            }
            Action::ChangeNode(thread, f) => {
                let step = add(FIRST_KERNEL + f, &[]);
                self.begin(thread, &VcudaGraphExecNodeSet { exec: EXEC, node: 0, step });
            }
            Action::Launch(f) => assert_eq!(self.bench.launch_empty(FIRST_KERNEL + f), 0),
            Action::PostNode(f) => {
                let step = add(FIRST_KERNEL + f, &[]);
                self.bench.post(&VcudaGraphExecNodePost { exec: EXEC, node: 0, step });
            }
            Action::LaunchGraph => assert_eq!(self.bench.use_exec(true), 0),
            Action::Upload => assert_eq!(self.bench.use_exec(false), 0),
            Action::GoOn(which) => self.go_on(which),
        }
        self.settle();
    }

    fn go_on(&mut self, which: usize) {
        let mut model = self.model();
        if !model.stopped.is_empty() {
            let which = which % model.stopped.len();
            model.stopped.remove(which);
            self.watched.changed.notify_all();
        }
    }

    /// Gives the mirrors some time to reach their next stop, and lets the gate begin held calls.
    fn settle(&mut self) {
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_micros(50));
            self.bench.executor.poll();
        }
        let bench = &mut *self.bench;
        self.busy.retain(|thread| {
            let ended = bench.has_ended(*thread);
            if ended {
                assert_eq!(bench.ended(*thread), 0);
            }
            !ended
        });
    }

    /// Lets all calls continue until they have ended.
    fn finish(&mut self) {
        let start = std::time::Instant::now();
        while !self.busy.is_empty() {
            self.go_on(0);
            self.settle();
            assert!(start.elapsed().as_secs() < 60, "{:?} have not ended", self.busy);
        }
        self.bench.good(&CuCtxSynchronize {});
    }
}

impl Bench {
    /// Returns whether the call of a guest thread has ended.
    fn has_ended(&mut self, thread: u32) -> bool {
        self.thread = thread;
        let ended = self.state().load(Ordering::Acquire) != 0;
        self.thread = THREAD;
        ended
    }
}

#[test]
fn no_interleaving_leaves_local_memory_uncharged() {
    alone("interleavings::no_interleaving_leaves_local_memory_uncharged", |mut bench| {
        bench.set_quota(1 << 50);
        bench.stream_of_graphs();
        for (number, local) in (100..).zip(LOCALS) {
            assert_eq!(bench.kernel_with(local, number), 1000 + number);
        }
        let model = Model {
            stack: 1024,
            setting: 0,
            local: 0,
            graphs: HashMap::new(),
            stops: 0,
            stopped: Vec::new(),
            stopping: false,
            failures: Vec::new(),
        };
        let watched = Arc::new(Watched {
            model: Mutex::new(model),
            changed: Condvar::new(),
            account: bench.account.clone(),
            reader: std::thread::current().id(),
        });
        stubs::watch(Watching(watched.clone()));
        let bench = RefCell::new(bench);
        let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
        let scripts = prop::collection::vec(action(), 1..40);
        let case = |script: Vec<Action>| {
            let mut bench = bench.borrow_mut();
            // Create the context again, so that in each case, the kernels' first launches are in
            // this context.
            let ctx = bench.ctx;
            bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx });
            bench.good(&VcudaPrimaryCtxRetain { dev: 0, ctx });
            bench.stream_of_graphs();
            for (number, local) in (100..).zip(LOCALS) {
                bench.kernel_with(local, number);
            }
            assert_eq!(bench.instantiate(EXEC.0, &[add(FIRST_KERNEL, &[])]), 0);
            {
                let mut model = watched.model.lock().unwrap();
                (model.stack, model.setting, model.local) = (1024, 0, 512);
                model.failures.clear();
                model.stopping = true;
            }
            let mut run = Run { bench: &mut bench, watched: &watched, busy: vec![], made: 0 };
            script.into_iter().for_each(|action| run.act(action));
            run.finish();
            let mut model = watched.model.lock().unwrap();
            model.stopping = false;
            prop_assert!(model.failures.is_empty(), "{:?}", model.failures);
            prop_assert!(bench.charged("local") >= Watched::used(&model));
            // If a limit was set while kernels were running, the local memory of those kernels is
            // still charged. Setting the limit while no kernel is running ends that.
            let stack = model.stack;
            drop(model);
            prop_assert_eq!(bench.set_limit(0, stack as usize), 0);
            prop_assert_eq!(bench.charged("local"), for_all_threads(stack.max(1024)));
            Ok(())
        };
        if let Err(error) = TestRunner::new(config).run(&scripts, case) {
            panic!("{error}");
        }
    });
}
