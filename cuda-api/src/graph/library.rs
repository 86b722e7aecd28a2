//! The part of graphs and captures that each library has for itself.

use super::capture::Stream;
use super::graphs::Graphs;
use super::ids::Operation;
use super::table::{Difference, Step, compare};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
    CUevent, CUgraphExec, CUresult, CUstream,
};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A libcuda, as its graphs and captures see it.
pub trait Library: Copy + 'static {
    /// A launch, checked and with its parameters as they were when it was captured or added.
    type Kernel: Clone;
    /// A checked copy.
    type Copy: Clone;
    /// A checked memset.
    type Memset: Clone;
    /// An event.
    type Event: Clone;
    /// What the library keeps with an instantiated graph.
    type Loaded;
    /// As [`Library::Loaded`], for the part that changes with the graph's nodes.
    type Bound;

    /// All graphs and captures of the process.
    fn graphs() -> &'static Graphs<Op<Self>>;

    /// Runs the body of an entry point and reports its result. `name` is the entry point's.
    fn run(name: &'static str, body: impl FnOnce() -> CuResult) -> CUresult;

    /// Fails unless `cuInit` was called.
    fn initialized() -> CuResult;

    /// Fails unless there is a current context that can be used.
    fn ready() -> CuResult;

    /// A number for the calling thread.
    fn thread() -> u64;

    /// A stream. A null handle is the thread's default stream if `per_thread` is set.
    fn stream(stream: CUstream, per_thread: bool) -> CuResult<Stream>;

    /// A kernel node's launch, with the attributes of `like` or none.
    ///
    /// # Safety
    ///
    /// The pointers in `params` are valid as `cuLaunchKernel` requires.
    unsafe fn kernel(
        params: &CUDA_KERNEL_NODE_PARAMS,
        like: Option<&Self::Kernel>,
    ) -> CuResult<Self::Kernel>;

    /// The parameters of a launch.
    fn kernel_params(kernel: &Self::Kernel) -> KernelParams;

    /// An attribute of a launch.
    fn attribute(kernel: &Self::Kernel, which: u32) -> CuResult<[u8; 64]>;

    /// Sets an attribute of a launch.
    fn set_attribute(kernel: &mut Self::Kernel, which: u32, value: &[u8; 64]) -> CuResult;

    /// Gives a launch all attributes of another.
    fn copy_attributes(to: &mut Self::Kernel, from: &Self::Kernel);

    /// A copy node's copy.
    fn copy(params: &CUDA_MEMCPY3D) -> CuResult<Self::Copy>;

    /// Parameters that describe a captured copy.
    fn copy_params(copy: &Self::Copy) -> CUDA_MEMCPY3D;

    /// A memset node's memset.
    fn memset(params: &CUDA_MEMSET_NODE_PARAMS) -> CuResult<Self::Memset>;

    /// The parameters of a memset.
    fn memset_params(memset: &Self::Memset) -> CUDA_MEMSET_NODE_PARAMS;

    /// The event of a handle.
    fn event(event: CUevent) -> CuResult<Self::Event>;

    /// Makes a graph ready to be launched.
    fn instantiate(flags: u64, steps: &[Step<Op<Self>>]) -> CuResult<(Self::Loaded, Self::Bound)>;

    /// Gives an instantiated graph a handle.
    fn insert(exec: Exec<Self>) -> CuResult<CUgraphExec>;

    /// The instantiated graph of a handle.
    fn exec(exec: CUgraphExec) -> CuResult<Arc<Exec<Self>>>;

    /// Ends an instantiated graph.
    fn destroy(exec: CUgraphExec) -> CuResult;

    /// Gives an instantiated graph other steps, if the library finds no difference that prevents
    /// it. The shape of the graph has been compared.
    fn update(
        loaded: &Self::Loaded,
        bound: &mut Self::Bound,
        steps: &[Step<Op<Self>>],
    ) -> CuResult<Result<(), Difference>>;

    /// Gives one step of an instantiated graph other work of the same kind.
    fn set_step(
        loaded: &Self::Loaded,
        bound: &mut Self::Bound,
        place: usize,
        op: &Op<Self>,
    ) -> CuResult;

    /// Prepares the next launch in a stream that is not captured.
    fn upload(exec: &Exec<Self>, stream: CUstream, per_thread: bool) -> CuResult;

    /// Launches in a stream that is not captured.
    fn launch(exec: &Exec<Self>, stream: CUstream, per_thread: bool) -> CuResult;
}

/// The parameters of a launch, as `cuGraphKernelNodeGetParams` gives them.
pub struct KernelParams {
    /// All but the pointer to the parameters.
    pub node: CUDA_KERNEL_NODE_PARAMS,
    /// The parameter buffer.
    pub bytes: Arc<[u8]>,
    /// Where in the buffer each parameter begins.
    pub offsets: Vec<usize>,
}

/// A host function with its argument.
#[derive(Clone, Copy)]
pub struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the program gave the pointer for use on another thread, and nothing here follows it.
unsafe impl Send for HostCall {}
// SAFETY: as above.
unsafe impl Sync for HostCall {}

impl HostCall {
    /// A call that a program asks for.
    ///
    /// # Safety
    ///
    /// The function may be called with this argument from any thread.
    pub unsafe fn new(function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) -> Self {
        Self { function, data }
    }

    /// The node parameters that describe the call.
    pub fn params(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(self.function), userData: self.data }
    }

    /// Makes the call.
    pub fn run(&self) {
        // SAFETY: the function may be called with this argument, as promised to `new`.
        unsafe { (self.function)(self.data) };
    }
}

/// The parameters that a program gave for a copy. They are only given back.
#[derive(Clone, Copy)]
pub struct CopyParams(CUDA_MEMCPY3D);

impl CopyParams {
    pub(super) fn new(params: CUDA_MEMCPY3D) -> Self {
        Self(params)
    }

    pub(super) fn get(self) -> CUDA_MEMCPY3D {
        self.0
    }
}

// SAFETY: nothing here follows the pointers.
unsafe impl Send for CopyParams {}
// SAFETY: as above.
unsafe impl Sync for CopyParams {}

/// What a node does.
#[derive(Clone)]
pub enum Op<L: Library> {
    /// Launches.
    Kernel(L::Kernel),
    /// Copies; with the parameters that the program gave, if it gave any.
    Copy(L::Copy, Option<CopyParams>),
    /// Sets.
    Memset(L::Memset),
    /// Calls a host function.
    Host(HostCall),
    /// Waits for an event; with the event's handle.
    Wait(L::Event, usize),
    /// Records an event; with the event's handle.
    Record(L::Event, usize),
}

impl<L: Library> Operation for Op<L> {
    fn kind(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(..) => 1,
            Self::Memset(_) => 2,
            Self::Host(_) => 3,
            Self::Wait(..) => 6,
            Self::Record(..) => 7,
        }
    }
}

/// A graph that was instantiated.
pub struct Exec<L: Library> {
    /// What the library keeps with it.
    pub loaded: L::Loaded,
    flags: u64,
    state: Mutex<ExecState<L>>,
}

/// What the next launch of an instantiated graph does.
pub struct ExecState<L: Library> {
    /// In an order in which they can run. The handles are those of the graph that was instantiated.
    pub steps: Arc<Vec<Step<Op<L>>>>,
    /// What the library keeps with these steps.
    pub bound: L::Bound,
}

impl<L: Library> Exec<L> {
    /// Instantiates a graph's steps.
    pub fn new(flags: u64, steps: Vec<Step<Op<L>>>) -> CuResult<Self> {
        let (loaded, bound) = L::instantiate(flags, &steps)?;
        let state = ExecState { steps: Arc::new(steps), bound };
        Ok(Self { loaded, flags, state: Mutex::new(state) })
    }

    /// The flags that it was instantiated with.
    pub fn flags(&self) -> u64 {
        self.flags
    }

    /// What the next launch does; it does not change while this is held.
    pub fn lock(&self) -> MutexGuard<'_, ExecState<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it the steps of another graph of the same shape. Its nodes keep their handles.
    pub fn update(&self, mut steps: Vec<Step<Op<L>>>) -> CuResult<Result<(), Difference>> {
        let mut state = self.lock();
        let state = &mut *state;
        if let Err(difference) = compare(&state.steps, &steps) {
            return Ok(Err(difference));
        }
        if let Err(difference) = L::update(&self.loaded, &mut state.bound, &steps)? {
            return Ok(Err(difference));
        }
        for (new, old) in steps.iter_mut().zip(state.steps.iter()) {
            new.id = old.id;
        }
        state.steps = Arc::new(steps);
        Ok(Ok(()))
    }

    /// Gives a node other work of the same kind.
    pub fn set_node(&self, node: usize, op: Op<L>) -> CuResult {
        let mut state = self.lock();
        let place = state.steps.iter().position(|step| step.id == node);
        let place = place.ok_or(CuError::INVALID_VALUE)?;
        if state.steps[place].op.as_ref().map(Operation::kind) != Some(op.kind()) {
            return Err(CuError::INVALID_VALUE);
        }
        let state = &mut *state;
        L::set_step(&self.loaded, &mut state.bound, place, &op)?;
        Arc::make_mut(&mut state.steps)[place].op = Some(op);
        Ok(())
    }
}
