//! Graphs and captures. cuda-api has the entry points; this module implements the guest library's
//! part.

use crate::capture;
use crate::context;
use crate::driver::{Driver, driver};
use crate::entry::code::{image, launch};
use crate::entry::graphs::graph_copy::{Parts, Staging};
use crate::entry::macros::{EntryPoint, LEGACY, PER_THREAD};
use crate::entry::memory::box_copy::BoxCopy;
use crate::entry::memory::graph_memory::{self, GraphMemory, MEMORIES};
use crate::entry::streams::host_func::{self, Callback};
use crate::entry::streams::stream::stream_id;
use crate::entry::streams::stream_memory;
use crate::error::{CuError, CuResult};
use crate::graph::{Exec, GRAPHS, GraphCopy, Guest, Kernel, Op, Shape};
use crate::handles::{Handle, Object};
use crate::log;
use crate::memory::Place;
use crate::objects::{Event, Function, Library as CodeLibrary, Module, Origin};
use crate::thread;
use cuda_api::attributes::Attributes;
use cuda_api::graph::condition::Conditions;
use cuda_api::graph::library::{Change, Held, KernelParams};
use cuda_api::graph::memory::{Allocation, Memories};
use cuda_api::graph::steps::{Branch, Difference, Position, Step};
use cuda_api::graph::{Edge, Graphs, Library, capture as captures, kernel_params};
use cuda_api::sys::CUgraphExecUpdateResult;
use parking_lot::Mutex;
use protocol::calls::{
    CuEventCreate, CuEventDestroyV2, CuEventQuery, CuEventRecordWithFlags, CuEventSynchronize,
    CuGraphExecDestroy, CuGraphLaunch, CuGraphUpload, VcudaGraphExecNodeEnable,
    VcudaGraphExecNodePost, VcudaGraphExecNodeSet, VcudaGraphExecUpdate, VcudaGraphInstantiate,
    VcudaGraphInstantiateConditional, VcudaGraphValueCreate, VcudaGraphValuesDestroy,
};
use protocol::codec::Writer;
use protocol::graph as wire;
use protocol::ids::{ContextId, EventId, GraphExecId, ValuesId};
use protocol::limits::GRAPH_NODES_MAX;
use protocol::options::GRAPH_INSTANTIATE_FLAGS;
use protocol::structs::LaunchAttribute;
use std::sync::{Arc, OnceLock};

cuda_api::graph_entries!(Guest);

const DISABLE_TIMING: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
const UPDATED: u32 = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS.0;

/// The tokens of a graph's host functions, each with the index of the step that calls the function.
type Tokens = Vec<(usize, u64)>;

fn dim3([x, y, z]: [u32; 3]) -> wire::Dim3 {
    wire::Dim3 { x, y, z }
}

/// Encodes a node's operation and passes it to `then`. A host function gets a token, which the
/// worker later sends to request a call of the function; `then` gets that token too.
fn with_step<R>(
    driver: &Driver,
    op: Option<&Op>,
    then: impl FnOnce(&wire::Step<'_>, Option<u64>) -> R,
) -> R {
    let attributes_of: Vec<LaunchAttribute>;
    let step = match op {
        None => wire::Step::Empty,
        // The worker refuses an empty batch, so send a step that does nothing.
        Some(Op::Batch(operations, _)) if operations.is_empty() => wire::Step::Empty,
        Some(Op::Kernel(kernel)) => {
            let Shape { grid, block, shared } = kernel.shape;
            let attributes = kernel.attributes.iter();
            attributes_of = attributes.map(|(id, value)| LaunchAttribute { id, value }).collect();
            wire::Step::Kernel(wire::KernelStep {
                f: kernel.function.id,
                grid: dim3(grid),
                block: dim3(block),
                shared,
                params: &kernel.params,
                attributes: (&attributes_of).into(),
            })
        }
        Some(Op::Copy(copy, _)) => wire::Step::Copy(copy.step),
        Some(Op::Memset(set)) => wire::Step::Memset(*set),
        Some(Op::Batch(operations, _)) => {
            let operations = operations[..].into();
            wire::Step::MemoryOperations(wire::MemoryOperationsStep { operations })
        }
        // A launch neither allocates nor frees the memory, so send a step that does nothing.
        Some(Op::Alloc(_) | Op::Free(_)) => wire::Step::Empty,
        Some(Op::Wait(event, _)) => wire::Step::EventWait(wire::EventWaitStep { event: event.id }),
        Some(Op::Record(event, _)) => {
            wire::Step::EventRecord(wire::EventRecordStep { event: event.id })
        }
        Some(Op::Host(call)) => {
            let token = host_func::keep(driver, Callback::Function(*call));
            return then(&wire::Step::HostFunc(wire::HostFuncStep { token }), Some(token));
        }
    };
    then(&step, None)
}

/// Returns the dependency on a node as it's encoded for the worker.
fn dependency(node: u32, edge: Edge) -> wire::Dependency {
    let CUgraphEdgeData { from_port, type_, .. } = edge.data();
    wire::Dependency { node, from_port, programmatic: type_ != 0 }
}

/// A graph as it's encoded for the worker.
struct Encoded {
    graph: Writer,
    tokens: Tokens,
    /// For each step, the number of its last node.
    ends: Vec<u32>,
}

/// Encodes a graph. Takes pinned memory for copies of pageable memory from `staging`.
fn encode(driver: &Driver, steps: &[Step<Op>], staging: &mut Staging) -> CuResult<Encoded> {
    let nodes = |step: &Step<Op>| match &step.op {
        Some(Op::Copy(copy, _)) => copy.nodes(),
        _ => 1,
    };
    let count: usize = steps.iter().map(nodes).sum();
    if count > GRAPH_NODES_MAX {
        return Err(CuError::OUT_OF_MEMORY);
    }
    let (mut graph, mut tokens) = (Writer::new(), Vec::new());
    let mut ends: Vec<u32> = Vec::with_capacity(steps.len());
    graph.word(count as u64);
    for (place, step) in steps.iter().enumerate() {
        let mut after: Vec<wire::Dependency> =
            step.after.iter().map(|(place, edge)| dependency(ends[*place], *edge)).collect();
        after.sort_unstable();
        after.dedup_by_key(|dependency| dependency.node);
        let first = ends.last().map_or(0, |last| last + 1);
        if let Some(branch) = &step.branch {
            let encoded = encode_branch(driver, branch, &after, &mut graph);
            encoded.inspect_err(|_| host_func::let_go(&tokens))?;
            ends.push(first);
            continue;
        }
        let parts = match &step.op {
            Some(Op::Copy(copy, _)) if copy.is_pageable() => {
                copy.parts(|len| staging.take(driver, place, len))
            }
            _ => {
                with_step(driver, step.op.as_ref(), |step, token| {
                    wire::encode_node(&after, step, &mut graph);
                    tokens.extend(token.map(|token| (place, token)));
                });
                ends.push(first);
                continue;
            }
        };
        let parts = parts.inspect_err(|_| host_func::let_go(&tokens))?;
        let mut host = |copy| {
            let token = host_func::keep(driver, Callback::Copy(copy));
            tokens.push((place, token));
            wire::Step::HostFunc(wire::HostFuncStep { token })
        };
        let (one, two) = match parts {
            Parts::Copy(copy) => (wire::Step::Copy(copy), None),
            Parts::Host(copy) => (host(copy), None),
            Parts::HostThenCopy(first, then) => (host(first), Some(wire::Step::Copy(then))),
            Parts::CopyThenHost(first, then) => (wire::Step::Copy(first), Some(host(then))),
        };
        wire::encode_node(&after, &one, &mut graph);
        ends.push(first + u32::from(two.is_some()));
        if let Some(two) = two {
            wire::encode_node(&[wire::Dependency::on(first)], &two, &mut graph);
        }
    }
    Ok(Encoded { graph, tokens, ends })
}

/// Encodes a conditional node. Its bodies can contain neither host functions nor copies of pageable
/// memory, so the worker needs no tokens for them.
fn encode_branch(
    driver: &Driver,
    branch: &Branch<Op>,
    after: &[wire::Dependency],
    graph: &mut Writer,
) -> CuResult {
    let values = branch.conditions.downcast_ref::<Values>().ok_or(CuError::INVALID_VALUE)?.id;
    let mut bodies = Vec::new();
    for steps in &branch.bodies {
        let pageable = |step: &Step<Op>| match &step.op {
            Some(Op::Copy(copy, _)) => copy.is_pageable(),
            _ => false,
        };
        if steps.iter().any(pageable) {
            log::unsupported("copying pageable memory in the body of a conditional node");
            return Err(CuError::NOT_SUPPORTED);
        }
        bodies.push(encode(driver, steps, &mut Staging::default())?.graph);
    }
    let bodies = wire::encode_bodies(bodies.iter().map(|body| body.as_bytes()));
    let (kind, size) = (branch.kind.number(), branch.bodies.len() as u32);
    let (handle, bodies) = (branch.handle, bodies.as_bytes());
    let step = wire::ConditionalStep { values, handle, kind, size, bodies };
    wire::encode_node(after, &wire::Step::Conditional(step), graph);
    Ok(())
}

/// The values of a graph's conditional nodes. The values themselves are in the worker.
struct Values {
    id: ValuesId,
}

impl Drop for Values {
    fn drop(&mut self) {
        if let Ok(driver) = driver() {
            // Ignore errors: if the call can't be posted, the session has ended, and the worker's
            // values with it.
            let _ = driver.session.post(&VcudaGraphValuesDestroy { values: self.id });
        }
    }
}

/// Returns the handle of the library's kernel that a function belongs to, or 0.
fn library_kernel(function: &Function) -> Handle {
    let Ok(driver) = driver() else { return 0 };
    let library = match function.origin {
        Origin::Library(library) => Some(library),
        Origin::Module(module) => {
            driver.handles.get::<Arc<Module>>(module).ok().and_then(|module| module.library)
        }
    };
    let library = library.and_then(|library| driver.handles.get::<Arc<CodeLibrary>>(library).ok());
    let kernel =
        |library: Arc<CodeLibrary>| library.kernels.lock().get(function.name.to_bytes()).copied();
    library.and_then(kernel).unwrap_or(0)
}

/// Returns the constant ([`PER_THREAD`] or [`LEGACY`]) that says which default stream a null handle
/// means.
fn null_of(per_thread: bool) -> usize {
    if per_thread { PER_THREAD } else { LEGACY }
}

/// Calls `then` once the GPU has reached an event, usually on another thread.
fn wait_for_launches(
    driver: &'static Driver,
    event: EventId,
    then: impl FnOnce() + Send + 'static,
) {
    let then = Arc::new(Mutex::new(Some(then)));
    let waiter = {
        let then = then.clone();
        move || {
            // Ignore errors: if the call fails because the session has ended, no launch is running
            // any more.
            let _ = driver.session.call(&CuEventSynchronize { h_event: event });
            if let Some(then) = then.lock().take() {
                then();
            }
        }
    };
    let thread = std::thread::Builder::new().name("cuda-user-objects".into());
    if thread.spawn(host_func::with_signals_blocked(waiter.clone())).is_err() {
        // If no other thread can be started, this thread has to wait.
        waiter();
    }
}

/// Returns whether the driver is certain to allow `new` in place of `old`, so that the worker's
/// reply isn't needed. This library has checked the parameters of `new`. If this returns false, the
/// driver has more rules for the change, so the worker must ask it.
fn is_allowed(old: &Op, new: &Op) -> bool {
    let on_device = |side: &wire::CopySide| Guest::on_device(side.address);
    let is_flat = |copy: &GraphCopy| {
        let wire::CopyStep { dst, src, height, depth, .. } = &copy.step;
        (*height, *depth) == (1, 1) && on_device(dst) && on_device(src)
    };
    match (old, new) {
        (Op::Kernel(_), Op::Kernel(_)) => true,
        (Op::Memset(old), Op::Memset(new)) => (old.height, new.height) == (1, 1),
        (Op::Copy(old, _), Op::Copy(new, _)) => is_flat(old) && is_flat(new),
        _ => false,
    }
}

/// The session's data for an instantiated graph.
pub struct Loaded {
    id: GraphExecId,
    /// The instantiated graph's context. When the context is destroyed, so is the instantiated
    /// graph.
    pub context: ContextId,
    /// For each step, the number of its last node in the worker's graph. A step has two nodes if it
    /// copies between pageable memory and other memory.
    ends: Vec<u32>,
    /// The pinned memory through which launches copy pageable memory.
    staging: Mutex<Staging>,
    /// An event that is recorded after each launch, if the graph holds references to user objects.
    event: OnceLock<EventId>,
}

impl Loaded {
    /// Returns the number of a step's node in the worker's graph.
    fn node(&self, place: Position) -> CuResult<u32> {
        match place {
            Position::Graph(place) => self.only_node(place),
            // A step in a body has exactly one node. The nodes of bodies follow those of the graph,
            // in the order of the steps.
            Position::Body(place) => {
                let first = self.ends.last().map_or(0, |last| last + 1);
                let place = u32::try_from(place).ok();
                place.and_then(|place| first.checked_add(place)).ok_or(CuError::INVALID_VALUE)
            }
        }
    }

    /// Returns the number of the only node of a step. Fails if the step has more than one.
    fn only_node(&self, place: usize) -> CuResult<u32> {
        let end = *self.ends.get(place).ok_or(CuError::INVALID_VALUE)?;
        let first = match place.checked_sub(1) {
            Some(before) => self.ends[before] + 1,
            None => 0,
        };
        if first != end {
            log::unsupported("changing a copy of pageable memory in an instantiated graph");
            return Err(CuError::NOT_SUPPORTED);
        }
        Ok(end)
    }
}

impl Library for Guest {
    type Kernel = Kernel;
    type Kept = Attributes;
    type Copy = GraphCopy;
    type Memset = wire::MemsetStep;
    type Batch = Arc<[wire::MemoryOperation]>;
    type Event = Arc<Event>;
    type Memory = GraphMemory;
    type Loaded = Loaded;
    type Bound = Tokens;

    #[inline]
    fn graphs() -> &'static Graphs<Op> {
        &GRAPHS
    }

    #[inline(always)]
    fn run(name: &'static str, body: impl FnOnce() -> CuResult) -> CUresult {
        <EntryPoint as cuda_api::entries::EntryPoint>::run(name, body)
    }

    fn initialized() -> CuResult {
        driver().map(drop)
    }

    fn ready() -> CuResult {
        context::driver().map(drop)
    }

    fn thread() -> u64 {
        u64::from(thread::origin().0)
    }

    fn stream(stream: CUstream, per_thread: bool) -> CuResult<captures::Stream> {
        capture::describe(driver()?, stream as Handle, null_of(per_thread))
    }

    unsafe fn kernel(p: &CUDA_KERNEL_NODE_PARAMS, attributes: Attributes) -> CuResult<Kernel> {
        let handle = if p.func.is_null() { p.kern as Handle } else { p.func as Handle };
        let driver = context::driver()?;
        let function: Arc<Function> = driver.handles.get(handle)?;
        let shape = Shape {
            grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
            block: [p.blockDimX, p.blockDimY, p.blockDimZ],
            shared: p.sharedMemBytes,
        };
        launch::check(driver, &function, &shape)?;
        // SAFETY: the caller promises that the pointers are valid for a launch of this function.
        let params = unsafe {
            let parameters = In::from_address(p.kernelParams as usize);
            let extra = In::from_address(p.extra as usize);
            let bytes =
                launch::with_parameters(&function, parameters, extra, |bytes| Ok(bytes.into()))?;
            kernel_params::check_size(p, function.parameter_bytes)?;
            bytes
        };
        Ok(Kernel { handle, function, shape, params, attributes })
    }

    fn kept(kernel: &Kernel) -> Attributes {
        kernel.attributes.clone()
    }

    fn kernel_params(kernel: &Kernel) -> KernelParams {
        let Shape { grid, block, shared } = kernel.shape;
        // cudart looks up a node's kernel by the member `kern`, even if the program created the
        // node with the member `func`.
        let kern = library_kernel(&kernel.function);
        let func = if kern == kernel.handle { 0 } else { kernel.handle };
        let node = CUDA_KERNEL_NODE_PARAMS {
            func: func as CUfunction,
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shared,
            kern: kern as CUkernel,
            ..Default::default()
        };
        let parameters = &kernel.function.parameters;
        let offsets = parameters.iter().map(|parameter| parameter.offset).collect();
        KernelParams { node, bytes: kernel.params.clone(), offsets }
    }

    fn kernel_name(kernel: &Kernel) -> String {
        kernel.function.name.to_string_lossy().into_owned()
    }

    fn attributes(kernel: &Kernel) -> &Attributes {
        &kernel.attributes
    }

    fn set_attributes(kernel: &mut Kernel, attributes: Attributes) -> CuResult {
        kernel.attributes = attributes;
        Ok(())
    }

    unsafe fn copy(params: &CUDA_MEMCPY3D) -> CuResult<GraphCopy> {
        BoxCopy::from(params).node(driver()?)
    }

    fn copy_params(copy: &GraphCopy) -> CUDA_MEMCPY3D {
        BoxCopy::params(copy)
    }

    fn on_device(address: u64) -> bool {
        let found = driver().ok().and_then(|driver| driver.memory.find(address));
        found.is_some_and(|found| found.kind.is_device())
    }

    fn memset(p: &CUDA_MEMSET_NODE_PARAMS) -> CuResult<wire::MemsetStep> {
        let set = wire::MemsetStep {
            dst: p.dst,
            pitch: p.pitch as u64,
            element_size: p.elementSize,
            value: p.value,
            width: p.width as u64,
            height: p.height as u64,
        };
        let (size, invalid) = (u64::from(p.elementSize), CuError::INVALID_VALUE);
        if !matches!(size, 1 | 2 | 4) || set.width == 0 || set.height == 0 {
            return Err(invalid);
        }
        let bytes = set.width.checked_mul(size).ok_or(invalid)?;
        if !p.dst.is_multiple_of(size)
            || set.height > 1 && (set.pitch < bytes || !set.pitch.is_multiple_of(size))
        {
            return Err(invalid);
        }
        let rows = set.pitch.checked_mul(set.height - 1);
        let span = rows.and_then(|rows| rows.checked_add(bytes)).ok_or(invalid)?;
        match driver()?.memory.place(p.dst, span)? {
            Place::Visible { address, .. } => Ok(wire::MemsetStep { dst: address, ..set }),
            Place::Pageable => Err(invalid),
        }
    }

    fn memset_params(set: &wire::MemsetStep) -> CUDA_MEMSET_NODE_PARAMS {
        CUDA_MEMSET_NODE_PARAMS {
            dst: set.dst,
            pitch: set.pitch as usize,
            value: set.value,
            elementSize: set.element_size,
            width: set.width as usize,
            height: set.height as usize,
        }
    }

    fn batch(operations: &[CUstreamBatchMemOpParams]) -> CuResult<Self::Batch> {
        stream_memory::of_node(operations)
    }

    fn event(event: CUevent) -> CuResult<Arc<Event>> {
        driver()?.handles.get(event as Handle)
    }

    fn memories() -> &'static Memories<GraphMemory> {
        &MEMORIES
    }

    fn allocate(device: i32, bytes: usize) -> CuResult<(u64, GraphMemory)> {
        graph_memory::allocate(device, bytes)
    }

    fn exists(memory: &GraphMemory) -> bool {
        memory.exists()
    }

    fn free(
        allocation: Arc<Allocation<GraphMemory>>,
        stream: Option<(CUstream, bool)>,
    ) -> CuResult {
        graph_memory::free(allocation, stream.is_none())
    }

    fn condition(
        context: CUcontext,
        present: Option<Conditions>,
        default: Option<u32>,
    ) -> CuResult<(Conditions, u64)> {
        let driver = context::driver()?;
        if context::current()?.handle() != context as Handle {
            log::unsupported("a conditional handle of a context that isn't current");
            return Err(CuError::NOT_SUPPORTED);
        }
        let known = present.as_ref().and_then(|present| present.downcast_ref::<Values>());
        let values = known.map_or_else(|| driver.session.mint(), |values| values.id);
        let (default_value, flags) = (default.unwrap_or(0), default.is_some().into());
        let call = VcudaGraphValueCreate { values, default_value, flags };
        let handle = driver.session.call(&call)?.handle;
        Ok((present.unwrap_or_else(|| Arc::new(Values { id: values })), handle))
    }

    fn instantiate(flags: u64, steps: &[Step<Op>]) -> CuResult<(Loaded, Tokens)> {
        let driver = context::driver()?;
        let mut staging = Staging::default();
        let Encoded { graph, tokens, ends } = encode(driver, steps, &mut staging)?;
        let exec = driver.session.mint();
        let made = image::send(driver, graph.as_bytes()).and_then(|sent| {
            let (flags, blob, graph) = (flags & GRAPH_INSTANTIATE_FLAGS, sent.blob, sent.inline);
            match steps.iter().any(|step| step.branch.is_some()) {
                false => driver.session.call(&VcudaGraphInstantiate { exec, flags, blob, graph }),
                true => {
                    let call = VcudaGraphInstantiateConditional { exec, flags, blob, graph };
                    driver.session.call(&call)
                }
            }
        });
        match made {
            Ok(()) => {
                let (event, staging) = (OnceLock::new(), Mutex::new(staging));
                let context = thread::origin().1;
                Ok((Loaded { id: exec, context, ends, staging, event }, tokens))
            }
            Err(error) => {
                host_func::let_go(&tokens);
                Err(error)
            }
        }
    }

    fn insert(exec: Exec) -> CuResult<CUgraphExec> {
        Ok(driver()?.handles.insert(Object::GraphExec(Arc::new(exec)))? as CUgraphExec)
    }

    /// Returns an instantiated graph by its handle. An invalid handle results in
    /// CUDA_ERROR_INVALID_VALUE, as with NVIDIA's driver.
    fn exec(exec: CUgraphExec) -> CuResult<Arc<Exec>> {
        driver()?.handles.get(exec as Handle).map_err(|_| CuError::INVALID_VALUE)
    }

    fn destroy(exec: CUgraphExec) -> CuResult {
        let driver = driver()?;
        let exec: Arc<Exec> =
            driver.handles.remove(exec as Handle).map_err(|_| CuError::INVALID_VALUE)?;
        host_func::let_go(&exec.lock().bound);
        exec.end();
        driver.session.post(&CuGraphExecDestroy { h_graph_exec: exec.loaded.id })
    }

    fn update(
        exec: &Loaded,
        bound: &mut Tokens,
        steps: &[Step<Op>],
    ) -> CuResult<Result<(), Difference>> {
        let driver = driver()?;
        let encoded = encode(driver, steps, &mut exec.staging.lock())?;
        let Encoded { graph, tokens, ends } = encoded;
        if ends != exec.ends {
            // A copy in the new graph needs two nodes in the worker's graph instead of one, or one
            // instead of two, because its memory has become pageable or isn't pageable any more.
            host_func::let_go(&tokens);
            let differs = ends.iter().zip(&exec.ends).position(|(new, old)| new != old);
            let node = differs.map(|place| steps[place].id);
            let result = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
            return Ok(Err((result, node)));
        }
        let updated = image::send(driver, graph.as_bytes()).and_then(|sent| {
            let (blob, graph) = (sent.blob, sent.inline);
            driver.session.call(&VcudaGraphExecUpdate { exec: exec.id, blob, graph })
        });
        match updated {
            Ok(answer) if answer.result == UPDATED => {
                host_func::let_go(&std::mem::replace(bound, tokens));
                Ok(Ok(()))
            }
            Ok(answer) => {
                host_func::let_go(&tokens);
                let place = ends.iter().position(|end| *end >= answer.node);
                let node = place.map(|place| steps[place].id);
                Ok(Err((CUgraphExecUpdateResult(answer.result), node)))
            }
            Err(error) => {
                host_func::let_go(&tokens);
                Err(error)
            }
        }
    }

    fn change(old: &Op, new: &Op) -> Change {
        match (old, new) {
            (Op::Kernel(old), Op::Kernel(new)) => old.change(new),
            (Op::Memset(old), Op::Memset(new)) if old == new => Change::Nothing,
            (Op::Copy(old, _), Op::Copy(new, _)) if old == new && !old.is_pageable() => {
                Change::Nothing
            }
            _ if is_allowed(old, new) => Change::Step,
            _ => Change::Graph,
        }
    }

    fn set_step(
        exec: &Loaded,
        bound: &mut Tokens,
        place: Position,
        old: &Op,
        new: &Op,
    ) -> CuResult {
        let driver = driver()?;
        let node = exec.node(place)?;
        if matches!(new, Op::Copy(copy, _) if copy.is_pageable()) {
            log::unsupported("changing a copy of pageable memory in an instantiated graph");
            return Err(CuError::NOT_SUPPORTED);
        }
        let (set, token) = with_step(driver, Some(new), |step, token| {
            let (exec, step) = (exec.id, *step);
            let set = if is_allowed(old, new) {
                // The worker need not make the change before the graph's next launch, so there's no
                // need to wake it now.
                driver.session.post_ahead(&VcudaGraphExecNodePost { exec, node, step })
            } else {
                driver.session.call(&VcudaGraphExecNodeSet { exec, node, step })
            };
            (set, token)
        });
        // Only steps of the graph itself can have a token, because bodies contain no host
        // functions.
        if let (Some(token), Position::Graph(place)) = (token, place) {
            let (old, kept): (Vec<_>, Vec<_>) =
                bound.iter().copied().partition(|(at, _)| *at == place && set.is_ok());
            host_func::let_go(&old);
            *bound = kept;
            match set {
                Ok(()) => bound.push((place, token)),
                Err(_) => host_func::let_go(&[(place, token)]),
            }
        }
        set
    }

    fn set_enabled(exec: &Loaded, place: usize, enabled: bool) -> CuResult {
        let (exec, node) = (exec.id, exec.only_node(place)?);
        let call = VcudaGraphExecNodeEnable { exec, node, enabled: enabled.into() };
        driver()?.session.call(&call)
    }

    fn retire(exec: &Loaded, users: Arc<Held<Self>>, ended: bool) {
        let (Ok(driver), Some(event)) = (driver(), exec.event.get().copied()) else { return };
        let finish = move || {
            drop(users);
            if ended {
                // Ignore errors: if the call can't be posted, the session has ended, and the event
                // with it.
                let _ = driver.session.post(&CuEventDestroyV2 { h_event: event });
            }
        };
        match driver.session.call(&CuEventQuery { h_event: event }) {
            Err(CuError::NOT_READY) => wait_for_launches(driver, event, finish),
            _ => finish(),
        }
    }

    fn upload(exec: &Exec, stream: CUstream, per_thread: bool) -> CuResult {
        let driver = driver()?;
        let h_stream = stream_id(driver, stream as Handle, null_of(per_thread))?;
        driver.session.post(&CuGraphUpload { h_graph: exec.loaded.id, h_stream })
    }

    fn launch(exec: &Exec, stream: CUstream, per_thread: bool) -> CuResult {
        let driver = driver()?;
        let h_stream = stream_id(driver, stream as Handle, null_of(per_thread))?;
        let state = exec.lock();
        host_func::expect(&state.bound, 1);
        let posted = driver.session.post(&CuGraphLaunch { h_graph: exec.loaded.id, h_stream });
        if posted.is_err() {
            host_func::expect(&state.bound, -1);
        }
        posted?;
        if state.users.is_empty() {
            return Ok(());
        }
        // The launch needs the user objects until the GPU reaches this event.
        let h_event = match exec.loaded.event.get() {
            Some(event) => *event,
            None => {
                let event = driver.session.mint();
                driver.session.post(&CuEventCreate { ph_event: event, flags: DISABLE_TIMING })?;
                *exec.loaded.event.get_or_init(|| event)
            }
        };
        driver.session.post(&CuEventRecordWithFlags { h_event, h_stream, flags: 0 })
    }
}
