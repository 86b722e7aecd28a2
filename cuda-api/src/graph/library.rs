//! The part of graphs and captures that each libcuda implements itself.

use super::capture::Stream;
use super::condition::Conditions;
use super::graphs::Graphs;
use super::host_call::HostCall;
use super::ids::{MemoryUse, Operation};
use super::memory::{AllocNode, Allocation, Before, Effect, Memories};
use super::memory_operations::MemoryOperations;
use super::steps::{Difference, Position, Step, compare, find, find_mut, replace_child};
use super::user_objects::References;
use crate::attributes::Attributes;
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent,
    CUgraphExec, CUgraphExecUpdateResult, CUgraphNodeType, CUresult, CUstream,
    CUstreamBatchMemOpParams,
};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The functions and types that a libcuda provides to the implementation of graphs and captures.
pub trait Library: Copy + 'static {
    /// A validated kernel launch, with a copy of its parameters from the time of capture or
    /// creation.
    type Kernel: Clone;
    /// The properties that a kernel node keeps when its parameters change.
    type Kept: Default;
    /// A validated copy.
    type Copy: Clone;
    /// A validated memset.
    type Memset: Clone;
    /// A validated batch of stream memory operations.
    type Batch: Clone;
    type Event: Clone;
    /// Memory that a graph allocates. Dropping it frees the memory, once no work that is already
    /// queued can use it.
    type Memory: Send + Sync + 'static;
    /// The library's data for an instantiated graph, except [`Bound`](Self::Bound).
    type Loaded;
    /// The part of the library's data for an instantiated graph that depends on the work of its
    /// nodes.
    type Bound;

    /// Returns all graphs and captures of the process.
    fn graphs() -> &'static Graphs<Op<Self>>;

    /// Runs the body of the entry point `name`, and converts its result to a `CUresult`.
    fn run(name: &'static str, body: impl FnOnce() -> CuResult) -> CUresult;

    /// Fails unless `cuInit` was called.
    fn initialized() -> CuResult;

    /// Fails unless there is a usable current context.
    fn ready() -> CuResult;

    /// Returns a number that identifies the calling thread.
    fn thread() -> u64;

    /// Returns the properties of a stream that matter for captures. A null handle means the calling
    /// thread's default stream if `per_thread` is set, otherwise the legacy stream.
    fn stream(stream: CUstream, per_thread: bool) -> CuResult<Stream>;

    /// Creates the launch for a kernel node with these parameters. `kept` has the properties that
    /// aren't among the parameters.
    ///
    /// # Safety
    ///
    /// The pointers in `params` must be valid as `cuLaunchKernel` requires.
    unsafe fn kernel(params: &CUDA_KERNEL_NODE_PARAMS, kept: Self::Kept) -> CuResult<Self::Kernel>;

    /// Returns the properties of a launch that aren't among its parameters.
    fn kept(kernel: &Self::Kernel) -> Self::Kept;

    /// Returns the parameters of a launch in the form that queries return.
    fn kernel_params(kernel: &Self::Kernel) -> KernelParams;

    /// Returns the name of a launch's kernel.
    fn kernel_name(kernel: &Self::Kernel) -> String;

    /// Returns the attributes of a launch.
    fn attributes(kernel: &Self::Kernel) -> &Attributes;

    /// Replaces the attributes of a launch. Fails if the library doesn't support them.
    fn set_attributes(kernel: &mut Self::Kernel, attributes: Attributes) -> CuResult;

    /// Creates the copy for a copy node.
    ///
    /// # Safety
    ///
    /// Addresses of host memory must be valid whenever the node runs.
    unsafe fn copy(params: &CUDA_MEMCPY3D) -> CuResult<Self::Copy>;

    /// Returns the parameters that describe a captured copy.
    fn copy_params(copy: &Self::Copy) -> CUDA_MEMCPY3D;

    /// Returns whether an address is in device memory.
    fn on_device(address: u64) -> bool;

    /// Creates the memset for a memset node.
    fn memset(params: &CUDA_MEMSET_NODE_PARAMS) -> CuResult<Self::Memset>;

    /// Returns the parameters of a memset.
    fn memset_params(memset: &Self::Memset) -> CUDA_MEMSET_NODE_PARAMS;

    /// Creates the batch for a node with stream memory operations.
    fn batch(operations: &[CUstreamBatchMemOpParams]) -> CuResult<Self::Batch>;

    /// Returns the event with this handle.
    fn event(event: CUevent) -> CuResult<Self::Event>;

    /// Returns all memory that the graphs of the process allocate.
    fn memories() -> &'static Memories<Self::Memory>;

    /// Allocates memory for a graph on the device with this ordinal. Returns its address.
    fn allocate(device: i32, bytes: usize) -> CuResult<(u64, Self::Memory)>;

    /// Returns whether the memory still exists. Memory is freed when the context in which it was
    /// allocated is destroyed.
    fn exists(memory: &Self::Memory) -> bool;

    /// Drops the program's share in memory, because the program frees it. If `stream` is given,
    /// work that is already in the stream may still use the memory. If it isn't, waits for all work
    /// that may use the memory.
    fn free(allocation: Shared<Self>, stream: Option<(CUstream, bool)>) -> CuResult;

    /// Creates a value for a conditional node in a context, and a handle for it. Each launch first
    /// sets the value to `default`, if given. `present` is the data for the graph's handles, if the
    /// graph has any. Returns the data, which now includes the new handle, and the handle.
    fn condition(
        context: CUcontext,
        present: Option<Conditions>,
        default: Option<u32>,
    ) -> CuResult<(Conditions, u64)>;

    /// Instantiates a graph that consists of these steps.
    fn instantiate(flags: u64, steps: &[Step<Op<Self>>]) -> CuResult<(Self::Loaded, Self::Bound)>;

    /// Creates a handle for an instantiated graph.
    fn insert(exec: Exec<Self>) -> CuResult<CUgraphExec>;

    /// Returns the instantiated graph with this handle.
    fn exec(exec: CUgraphExec) -> CuResult<Arc<Exec<Self>>>;

    /// Destroys an instantiated graph.
    fn destroy(exec: CUgraphExec) -> CuResult;

    /// Replaces the steps of an instantiated graph, unless the library finds a difference that CUDA
    /// doesn't allow. The caller has checked that the graphs differ only in their nodes'
    /// operations.
    fn update(
        loaded: &Self::Loaded,
        bound: &mut Self::Bound,
        steps: &[Step<Op<Self>>],
    ) -> CuResult<Result<(), Difference>>;

    /// Returns the call that makes an instantiated graph run `new` instead of `old`. Both are
    /// operations of the same kind.
    fn change(_old: &Op<Self>, _new: &Op<Self>) -> Change {
        Change::Graph
    }

    /// Makes a step of an instantiated graph run the operation `new` instead of `old`. Both are
    /// operations of the same kind.
    fn set_step(
        loaded: &Self::Loaded,
        bound: &mut Self::Bound,
        place: Position,
        old: &Op<Self>,
        new: &Op<Self>,
    ) -> CuResult;

    /// Enables or disables the step at index `place` of an instantiated graph.
    fn set_enabled(loaded: &Self::Loaded, place: usize, enabled: bool) -> CuResult;

    /// Releases references to user objects that an instantiated graph has held, once all its
    /// launches so far have finished. `ended` is true if the graph has been destroyed.
    fn retire(loaded: &Self::Loaded, users: Arc<Held<Self>>, ended: bool);

    /// Uploads the graph for its next launch. The stream isn't being captured.
    fn upload(exec: &Exec<Self>, stream: CUstream, per_thread: bool) -> CuResult;

    /// Launches the graph in a stream that isn't being captured.
    fn launch(exec: &Exec<Self>, stream: CUstream, per_thread: bool) -> CuResult;
}

/// The call that makes an instantiated graph run another operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No call is needed, because the operations do the same.
    Nothing,
    /// Call [`Library::set_step`] for the step.
    Step,
    /// Call [`Library::update`] for the whole graph.
    Graph,
}

/// The parameters of a launch, in the form of `cuGraphKernelNodeGetParams`.
pub struct KernelParams {
    /// The node's parameters, except the pointer to the kernel's parameters.
    pub node: CUDA_KERNEL_NODE_PARAMS,
    /// The parameter buffer.
    pub bytes: Arc<[u8]>,
    /// The offset of each parameter in the buffer.
    pub offsets: Vec<usize>,
}

/// The parameters that a program passed for a copy node. They are kept only so that queries can
/// return them to the program. They are boxed so that an [`Op`], which is moved often, stays small.
#[derive(Clone)]
pub struct CopyParams(Box<CUDA_MEMCPY3D>);

impl CopyParams {
    pub(super) fn new(params: CUDA_MEMCPY3D) -> Self {
        Self(Box::new(params))
    }

    pub(super) fn get(&self) -> CUDA_MEMCPY3D {
        *self.0
    }
}

// SAFETY: this code doesn't dereference the pointers in the parameters.
unsafe impl Send for CopyParams {}
// SAFETY: this code doesn't dereference the pointers in the parameters.
unsafe impl Sync for CopyParams {}

/// The work of a node that allocates memory. (With the type written out in [`Op`] instead of this
/// alias, `derive(Clone)` would require that the memory can be cloned.)
pub type SharedNode<L> = Arc<AllocNode<<L as Library>::Memory>>;
/// Memory that a graph allocates. (Like [`SharedNode`], an alias for the sake of `derive(Clone)`.)
pub type Shared<L> = Arc<Allocation<<L as Library>::Memory>>;

/// The operation of a node in a graph.
#[derive(Clone)]
pub enum Op<L: Library> {
    /// A kernel launch.
    Kernel(L::Kernel),
    /// A copy, with the parameters that the program passed, if any.
    Copy(L::Copy, Option<CopyParams>),
    /// A memset.
    Memset(L::Memset),
    /// A call of a host function.
    Host(HostCall),
    /// A wait for an event, with the event's handle.
    Wait(L::Event, usize),
    /// An event record, with the event's handle.
    Record(L::Event, usize),
    /// A batch of stream memory operations, with the parameters that the program passed.
    Batch(L::Batch, MemoryOperations),
    /// An allocation. The memory exists as long as the node, so a launch doesn't allocate anything.
    Alloc(SharedNode<L>),
    /// A free of memory that a graph allocates. A launch only changes whether the memory is live.
    Free(Shared<L>),
}

impl<L: Library> Op<L> {
    /// Returns the memory that the operation allocates or frees, and whether it allocates.
    fn allocation(&self) -> Option<(&Shared<L>, bool)> {
        match self {
            Self::Alloc(node) => Some((&node.allocation, true)),
            Self::Free(allocation) => Some((allocation, false)),
            _ => None,
        }
    }

    /// Returns whether this is a copy that isn't one contiguous range. Such a copy can't be changed
    /// in an instantiated graph.
    fn has_several_rows(&self) -> bool {
        match self {
            Self::Copy(copy, given) => {
                let params = given.as_ref().map(|given| given.get());
                let params = params.unwrap_or_else(|| L::copy_params(copy));
                params.Height > 1 || params.Depth > 1
            }
            Self::Memset(memset) => L::memset_params(memset).height > 1,
            _ => false,
        }
    }
}

impl<L: Library> Operation for Op<L> {
    fn kind(&self) -> CUgraphNodeType {
        match self {
            Self::Kernel(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            Self::Copy(..) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
            Self::Memset(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
            Self::Host(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
            Self::Wait(..) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            Self::Record(..) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            Self::Batch(..) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            Self::Alloc(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            Self::Free(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
        }
    }

    fn memory(&self) -> Option<MemoryUse> {
        let (allocation, allocates) = self.allocation()?;
        let Allocation { address, len, device, .. } = **allocation;
        Some(match allocates {
            true => MemoryUse::Allocate { address, len, device },
            false => MemoryUse::Free { address },
        })
    }
}

/// References that an executable graph holds, and keeps for launches in progress. Dropping the
/// value releases them and may call destructors. It must not be dropped while the table of graphs
/// is locked.
pub struct Held<L: Library> {
    references: References,
    library: PhantomData<fn() -> L>,
}

impl<L: Library> Held<L> {
    /// Takes ownership of references that the caller has added for this value.
    pub(super) fn new(references: References) -> Self {
        Self { references, library: PhantomData }
    }

    /// Adds a reference for each reference that `other` holds.
    fn add(&mut self, other: &Self) {
        L::graphs().with(|table| table.users.retain_all(&other.references));
        for (object, count) in &other.references {
            *self.references.entry(*object).or_default() += count;
        }
    }

    /// Returns whether there are no references.
    pub fn is_empty(&self) -> bool {
        self.references.is_empty()
    }
}

impl<L: Library> Drop for Held<L> {
    fn drop(&mut self) {
        if !self.references.is_empty() {
            L::graphs().with(|table| table.users.release_all(&self.references));
        }
    }
}

/// An instantiated graph.
pub struct Exec<L: Library> {
    /// The library's data for the graph.
    pub loaded: L::Loaded,
    flags: u64,
    effect: Effect<L::Memory>,
    state: Mutex<ExecState<L>>,
}

/// The work that the next launch of an instantiated graph will run.
pub struct ExecState<L: Library> {
    /// The steps, in an order in which they can run. Their node handles are those of the graph from
    /// which this one was first instantiated.
    pub steps: Arc<Vec<Step<Op<L>>>>,
    /// The library's data for these steps.
    pub bound: L::Bound,
    /// The references to user objects that the graph holds. A launch must keep them until it has
    /// finished.
    pub users: Arc<Held<L>>,
    /// The index of the step that is likely to be changed next: programs change nodes in order.
    likely: usize,
    /// If the graph allocates or frees memory, a token that keeps it from being instantiated again.
    instance: Option<Arc<()>>,
}

impl<L: Library> Exec<L> {
    /// Instantiates a graph's steps. A graph that allocates or frees memory has a token.
    pub fn new(
        flags: u64,
        steps: Vec<Step<Op<L>>>,
        users: Held<L>,
        instance: Option<Arc<()>>,
    ) -> CuResult<Self> {
        let (loaded, bound) = L::instantiate(flags, &steps)?;
        let effect = Effect::new(steps.iter().filter_map(|step| step.op.as_ref()?.allocation()));
        let (steps, users, likely) = (Arc::new(steps), Arc::new(users), 0);
        let state = ExecState { steps, bound, users, likely, instance };
        Ok(Self { loaded, flags, effect, state: Mutex::new(state) })
    }

    /// Records which memory becomes live or is freed by a launch. Fails if the launch isn't
    /// allowed.
    pub(super) fn begin_launch(&self, auto_free: bool) -> CuResult<Option<Before<L::Memory>>> {
        if self.effect.is_none() {
            return Ok(None);
        }
        L::memories().begin(&self.effect, auto_free).map(Some)
    }

    /// Returns the flags with which the graph was instantiated.
    pub fn flags(&self) -> u64 {
        self.flags
    }

    /// Locks and returns the work that the next launch will run. The work doesn't change while the
    /// guard is held.
    pub fn lock(&self) -> MutexGuard<'_, ExecState<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the steps with those of another graph. Fails if the graphs differ in more than
    /// their nodes' operations. The nodes keep their handles.
    pub fn update(
        &self,
        mut steps: Vec<Step<Op<L>>>,
        users: Held<L>,
    ) -> CuResult<Result<(), Difference>> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let uses = |step: &&Step<Op<L>>| {
            step.branch.is_some() || step.op.as_ref().is_some_and(|op| op.memory().is_some())
        };
        let with_memory = steps.iter().find(uses).map(|step| step.id);
        if state.instance.is_some() || with_memory.is_some() {
            let unsupported = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
            return Ok(Err((unsupported, with_memory)));
        }
        if let Err(difference) = compare(&state.steps, &steps) {
            return Ok(Err(difference));
        }
        if let Err(difference) = self.replace(state, &steps, 0..steps.len())? {
            return Ok(Err(difference));
        }
        for (new, old) in steps.iter_mut().zip(state.steps.iter()) {
            (new.id, new.enabled) = (old.id, old.enabled);
        }
        state.steps = Arc::new(steps);
        let before = std::mem::replace(&mut state.users, Arc::new(users));
        drop(guard);
        // This may call destructors of the program, so the lock has been released.
        L::retire(&self.loaded, before, false);
        Ok(Ok(()))
    }

    /// Makes launches run `steps`, which differ from the present steps only in the operations of
    /// the given range. Changes single steps if the library can do that: programs often update
    /// large graphs in which few parameters have changed.
    fn replace(
        &self,
        state: &mut ExecState<L>,
        steps: &[Step<Op<L>>],
        range: Range<usize>,
    ) -> CuResult<Result<(), Difference>> {
        let changes = range.filter_map(|place| {
            let (old, new) = (state.steps[place].op.as_ref()?, steps[place].op.as_ref()?);
            Some((place, old, new, L::change(old, new)))
        });
        let changes: Vec<_> = changes.filter(|(.., change)| *change != Change::Nothing).collect();
        if changes.iter().any(|(.., change)| *change == Change::Graph) {
            return L::update(&self.loaded, &mut state.bound, steps);
        }
        for (place, old, new, _) in changes {
            L::set_step(&self.loaded, &mut state.bound, Position::Graph(place), old, new)?;
        }
        Ok(Ok(()))
    }

    /// Replaces the work of a child graph with that of another graph. Fails if the graphs differ in
    /// more than their nodes' operations. From then on, the instantiated graph also holds the new
    /// graph's user objects.
    pub fn set_child(&self, node: usize, child: &[Step<Op<L>>], mut users: Held<L>) -> CuResult {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut steps = Vec::clone(&state.steps);
        let replaced = replace_child(&mut steps, node, child)?;
        if self.replace(state, &steps, replaced)?.is_err() {
            return Err(CuError::GRAPH_EXEC_UPDATE_FAILURE);
        }
        state.steps = Arc::new(steps);
        if users.is_empty() {
            return Ok(());
        }
        users.add(&state.users);
        let before = std::mem::replace(&mut state.users, Arc::new(users));
        drop(guard);
        // This may call destructors of the program, so the lock has been released.
        L::retire(&self.loaded, before, false);
        Ok(())
    }

    /// Handles the destruction of the graph: releases its references to user objects.
    pub fn end(&self) {
        let none = Arc::new(Held::new(Default::default()));
        let users = {
            let mut state = self.lock();
            state.instance = None;
            std::mem::replace(&mut state.users, none)
        };
        L::retire(&self.loaded, users, true);
    }

    /// Returns the index of a step whose node can be disabled: a kernel, copy, or memset.
    fn optional_step(steps: &[Step<Op<L>>], node: usize) -> CuResult<usize> {
        let place = steps.iter().position(|step| step.id == node);
        let place = place.ok_or(CuError::INVALID_VALUE)?;
        match steps[place].op {
            Some(Op::Kernel(_) | Op::Copy(..) | Op::Memset(_)) => Ok(place),
            _ => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns whether launches run a node's operation.
    pub fn is_enabled(&self, node: usize) -> CuResult<bool> {
        let state = self.lock();
        Ok(state.steps[Self::optional_step(&state.steps, node)?].enabled)
    }

    /// Enables or disables a node.
    pub fn set_enabled(&self, node: usize, enabled: bool) -> CuResult {
        let mut state = self.lock();
        let place = Self::optional_step(&state.steps, node)?;
        L::set_enabled(&self.loaded, place, enabled)?;
        Arc::make_mut(&mut state.steps)[place].enabled = enabled;
        Ok(())
    }

    /// Replaces the work of a node with other work of the same kind. The node can be in the body of
    /// a conditional node.
    pub fn set_node(&self, node: usize, op: Op<L>) -> CuResult {
        let mut guard = self.lock();
        let state = &mut *guard;
        let found = find(&state.steps, node, state.likely);
        let (place, step) = found.ok_or(CuError::INVALID_VALUE)?;
        let same_kind = |old: &&Op<L>| old.kind() == op.kind();
        let old = step.op.as_ref().filter(same_kind).ok_or(CuError::INVALID_VALUE)?;
        if let (Op::Batch(_, old), Op::Batch(_, new)) = (old, &op)
            && !new.can_replace(old)
        {
            return Err(CuError::INVALID_VALUE);
        }
        if [old, &op].into_iter().any(Op::has_several_rows) {
            return Err(CuError::INVALID_VALUE);
        }
        if L::change(old, &op) != Change::Nothing {
            L::set_step(&self.loaded, &mut state.bound, place, old, &op)?;
        }
        let steps = Arc::make_mut(&mut state.steps);
        let step = match place {
            Position::Graph(place) => {
                state.likely = place + 1;
                steps.get_mut(place)
            }
            Position::Body(_) => find_mut(steps, node),
        };
        step.ok_or(CuError::INVALID_VALUE)?.op = Some(op);
        Ok(())
    }
}
