//! softgpu's backend for graphs and captures. cuda-api implements the entry points.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_api::attributes::Attributes;
use cuda_api::callback;
use cuda_api::entries::EntryPoint as _;
use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::condition::{Conditions, Kind};
use cuda_api::graph::library::{Held, KernelParams};
use cuda_api::graph::memory::{Allocation, Memories};
use cuda_api::graph::steps::{Branch, Difference, Position, Step};
use cuda_api::graph::stream_memory::Operation;
use cuda_api::graph::{Graphs, Library, capture, kernel_params};
use cuda_api::pool::graphs::pool as pool_of_graphs;

use super::copy::Copy;
use super::entry::{EntryPoint, unsupported};
use super::fill::Fill;
use super::launch::{Kernel, Shape};
use super::stream_memory;
use crate::exec::memory::Fault;
use crate::state::context::{CONTEXTS, by_handle, current};
use crate::state::device::driver;
use crate::state::errors::Errors;
use crate::state::event::Event;
use crate::state::graph::{
    EXECS, Exec, ExecMemory, GRAPHS, GraphMemory, Loaded, MEMORIES, Needs, Op, Software, Values,
    parameters,
};
use crate::state::memory;
use crate::state::stream::{Stream, lookup};

cuda_api::graph_entries!(Software);

impl Library for Software {
    type Kernel = Kernel;
    type Kept = (Attributes, bool);
    type Copy = Copy;
    type Memset = Fill;
    type Batch = Arc<[Operation]>;
    type Event = Arc<Event>;
    type Memory = GraphMemory;
    type Loaded = Loaded;
    type Bound = ();

    fn graphs() -> &'static Graphs<Op> {
        &GRAPHS
    }

    fn run(name: &'static str, body: impl FnOnce() -> CuResult) -> CUresult {
        match EntryPoint::run(name, body) {
            CUresult::CUDA_ERROR_NOT_SUPPORTED => unsupported(name),
            result => result,
        }
    }

    fn initialized() -> CuResult {
        driver()?;
        Ok(())
    }

    fn ready() -> CuResult {
        current()?;
        Ok(())
    }

    fn thread() -> u64 {
        // SAFETY: gettid has no preconditions.
        unsafe { libc::gettid() as u64 }
    }

    fn stream(stream: CUstream, per_thread: bool) -> CuResult<capture::Stream> {
        Ok((&*lookup(stream, per_thread)?).into())
    }

    unsafe fn kernel(
        p: &CUDA_KERNEL_NODE_PARAMS,
        (attributes, cooperative): (Attributes, bool),
    ) -> CuResult<Kernel> {
        let handle = if p.func.is_null() { p.kern as usize } else { p.func as usize };
        let shape = Shape {
            grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
            block: [p.blockDimX, p.blockDimY, p.blockDimZ],
            shared: p.sharedMemBytes,
            cooperative,
        };
        // SAFETY: the caller guarantees that the pointers are valid as `cuLaunchKernel` requires.
        unsafe {
            let params = In::from_c(p.kernelParams.cast_const().cast());
            let extra = In::from_c(p.extra.cast_const());
            let kernel = Kernel::new(handle, shape, &current()?, params, extra)?;
            kernel_params::check_size(p, kernel.params.len())?;
            Ok(Kernel { attributes, ..kernel })
        }
    }

    fn kept(kernel: &Kernel) -> (Attributes, bool) {
        (kernel.attributes.clone(), kernel.shape.cooperative)
    }

    fn kernel_params(kernel: &Kernel) -> KernelParams {
        let Shape { grid, block, shared, .. } = kernel.shape;
        // cudart looks up the kernel by the member `kern`, even if it has passed the member `func`.
        let kern = kernel.function.library_kernel();
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
        let offsets = kernel.function.params().iter().map(|param| param.offset).collect();
        KernelParams { node, bytes: kernel.params.clone(), offsets }
    }

    fn kernel_name(kernel: &Kernel) -> String {
        kernel.function.name.to_string_lossy().into_owned()
    }

    fn attributes(kernel: &Kernel) -> &Attributes {
        &kernel.attributes
    }

    fn set_attributes(kernel: &mut Kernel, attributes: Attributes) -> CuResult {
        kernel.set_attributes(attributes)
    }

    unsafe fn copy(params: &CUDA_MEMCPY3D) -> CuResult<Copy> {
        // SAFETY: the caller guarantees that host addresses are valid whenever the copy runs.
        unsafe { Copy::of_node(params) }
    }

    fn copy_params(copy: &Copy) -> CUDA_MEMCPY3D {
        copy.params()
    }

    fn on_device(address: u64) -> bool {
        memory::find(address).is_some_and(|found| !found.on_host())
    }

    fn memset(p: &CUDA_MEMSET_NODE_PARAMS) -> CuResult<Fill> {
        let (width, height, size) = (p.width, p.height, p.elementSize as usize);
        let fill = Fill { to: p.dst, pitch: p.pitch, value: p.value, size, width, height };
        fill.check()?;
        Ok(fill)
    }

    #[allow(non_snake_case)]
    fn memset_params(fill: &Fill) -> CUDA_MEMSET_NODE_PARAMS {
        let Fill { to: dst, pitch, value, size, width, height } = *fill;
        let elementSize = size as u32;
        CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height }
    }

    fn batch(operations: &[CUstreamBatchMemOpParams]) -> CuResult<Self::Batch> {
        stream_memory::of_node(operations)
    }

    fn event(event: CUevent) -> CuResult<Arc<Event>> {
        super::event::named(event)
    }

    fn memories() -> &'static Memories<GraphMemory> {
        &MEMORIES
    }

    fn allocate(device: i32, bytes: usize) -> CuResult<(u64, GraphMemory)> {
        let pool = pool_of_graphs::<Software>(device)?;
        let address = memory::allocate_from(&*current()?, bytes as u64, pool as usize, 0)?;
        let found = memory::at(address).ok_or(CuError::UNKNOWN)?;
        Ok((address, GraphMemory { address, id: found.id }))
    }

    fn exists(memory: &GraphMemory) -> bool {
        memory.exists()
    }

    fn free(
        allocation: Arc<Allocation<GraphMemory>>,
        stream: Option<(CUstream, bool)>,
    ) -> CuResult {
        match stream {
            Some((stream, per_thread)) => {
                lookup(stream, per_thread)?.now_or_submit(move |_| drop(allocation));
            }
            None => {
                // Before freeing the memory, wait for running kernels, which may still use it.
                let found = memory::at(allocation.address);
                let owner = found.and_then(|found| CONTEXTS.find(found.context_handle));
                owner.map_or_else(current, Ok)?.synchronize();
            }
        }
        Ok(())
    }

    fn condition(
        context: CUcontext,
        present: Option<Conditions>,
        _default: Option<u32>,
    ) -> CuResult<(Conditions, u64)> {
        let context = by_handle(context as usize)?;
        let present = present.and_then(|present| present.downcast::<Values>().ok());
        let values = present.unwrap_or_default();
        let address = values.add(&context)?;
        Ok((values, address))
    }

    fn instantiate(_flags: u64, steps: &[Step<Op>]) -> CuResult<(Loaded, ())> {
        let context = current()?;
        let (resources, needs) = (context.resources()?, Needs::of(steps));
        resources.reserve_local(needs.local)?;
        let part = resources.add_graph(needs.bytes)?;
        let memory = Mutex::new(ExecMemory { needed: needs.bytes, part });
        Ok((Loaded { context, last: Mutex::new(None), memory }, ()))
    }

    fn insert(exec: Exec) -> CuResult<CUgraphExec> {
        Ok(EXECS.insert(exec) as CUgraphExec)
    }

    fn exec(exec: CUgraphExec) -> CuResult<Arc<Exec>> {
        driver()?;
        EXECS.get(exec as usize).ok_or(CuError::INVALID_VALUE)
    }

    fn destroy(exec: CUgraphExec) -> CuResult {
        driver()?;
        EXECS.remove(exec as usize).ok_or(CuError::INVALID_VALUE)?.end();
        Ok(())
    }

    fn update(exec: &Loaded, (): &mut (), steps: &[Step<Op>]) -> CuResult<Result<(), Difference>> {
        let needs = Needs::of(steps);
        exec.context.resources()?.reserve_local(needs.local)?;
        exec.memory().grow(needs.bytes)?;
        Ok(Ok(()))
    }

    fn set_step(exec: &Loaded, (): &mut (), _place: Position, old: &Op, new: &Op) -> CuResult {
        if let Op::Kernel(kernel) = new {
            exec.context.resources()?.reserve_local(kernel.local())?;
        }
        let mut memory = exec.memory();
        let needed = memory.needed.saturating_sub(parameters(old)) + parameters(new);
        memory.grow(needed)
    }

    fn set_enabled(_exec: &Loaded, _place: usize, _enabled: bool) -> CuResult {
        Ok(())
    }

    /// Drops a destroyed graph's references to the objects that its nodes use. Launches in progress
    /// don't need them, because each launch holds its own references.
    fn retire(_exec: &Loaded, users: Arc<Held<Self>>, _ended: bool) {
        drop(users);
    }

    fn upload(exec: &Exec, stream: CUstream, per_thread: bool) -> CuResult {
        lookup(stream, per_thread)?;
        reserve_local(exec)
    }

    fn launch(exec: &Exec, stream: CUstream, per_thread: bool) -> CuResult {
        let stream = lookup(stream, per_thread)?;
        if exec.loaded.context.id != stream.context.id {
            return Err(CuError::INVALID_VALUE);
        }
        launch(exec, &stream)
    }
}

/// Reserves the local memory that a graph's kernels need. Instantiation has already reserved it,
/// but the program may have set the stack limit since then, which frees local memory.
fn reserve_local(exec: &Exec) -> CuResult {
    let local = Needs::of(&exec.lock().steps).local;
    exec.loaded.context.resources()?.reserve_local(local)
}

/// Queues one run of a graph.
fn launch(exec: &Exec, stream: &Stream) -> CuResult {
    reserve_local(exec)?;
    let mut last = exec.loaded.last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mark) = last.take().filter(|mark| !mark.reached()) {
        stream.submit_after(mark);
    }
    let (steps, users) = {
        let state = exec.lock();
        (state.steps.clone(), state.users.clone())
    };
    let mut records = Vec::new();
    for step in steps.iter() {
        if let Some(Op::Record(event, _)) = &step.op {
            records.push((event.clone(), event.begin()));
        }
    }
    let cells: Vec<_> = records.iter().map(|(_, cell)| cell.clone()).collect();
    let own: Vec<_> = records.iter().map(|(event, _)| Arc::as_ptr(event) as usize).collect();
    let mark = stream.submit(move |errors| {
        assign_defaults(&steps);
        let mut cells = cells.iter();
        for step in steps.iter() {
            if let Some(branch) = &step.branch {
                run_branch(branch, errors);
            }
            match &step.op {
                Some(Op::Record(..)) => {
                    cells.next().into_iter().for_each(|cell| cell.reach());
                }
                // Don't wait for an event that this launch also records. softgpu runs nodes in
                // sequence, so if the record precedes the wait, the wait is already satisfied. The
                // event completes only at the end of this launch, so waiting for it here would
                // deadlock.
                Some(Op::Wait(event, _)) if !own.contains(&(Arc::as_ptr(event) as usize)) => {
                    event.wait();
                }
                Some(op) if step.enabled && !errors.failed() => run(op, errors),
                _ => {}
            }
        }
        drop(users);
    });
    for (event, cell) in records {
        event.set(mark.clone(), cell);
    }
    *last = Some(mark);
    Ok(())
}

/// Assigns the default values of the conditional nodes in a graph.
fn assign_defaults(steps: &[Step<Op>]) {
    for branch in steps.iter().filter_map(|step| step.branch.as_ref()) {
        if let Some(default) = branch.default {
            Values::value(branch.handle).store(default, Ordering::Relaxed);
        }
        branch.bodies.iter().for_each(|body| assign_defaults(body));
    }
}

/// Runs the bodies of a conditional node.
fn run_branch(branch: &Branch<Op>, errors: &Errors) {
    let run_body = |at: usize| {
        for step in branch.bodies.get(at).into_iter().flatten() {
            match (&step.branch, &step.op) {
                (Some(branch), _) => run_branch(branch, errors),
                (None, Some(op)) if !errors.failed() => run(op, errors),
                _ => {}
            }
        }
    };
    // Read the value that selects the body. It's part of the graph's data, which `branch` keeps
    // alive.
    let value = || Values::value(branch.handle).load(Ordering::Relaxed);
    match branch.kind {
        Kind::If => run_body(usize::from(value() == 0)),
        Kind::Switch => run_body(value() as usize),
        Kind::While => {
            while value() != 0 && !errors.failed() {
                run_body(0);
            }
        }
    }
}

fn run(op: &Op, errors: &Errors) {
    match op {
        Op::Kernel(kernel) => match kernel.prepare() {
            Ok(launch) => kernel.run(launch, errors),
            Err(_) => errors.fail(CuError::OUT_OF_MEMORY),
        },
        // Skip the copy if its memory isn't accessible: the program may have freed it since it
        // added the node.
        Op::Copy(copy, _) if copy.is_accessible() => copy.run(),
        Op::Memset(fill) if fill.check().is_ok() => fill.run(),
        Op::Copy(..) | Op::Memset(_) => errors.fault(Fault::IllegalAddress),
        Op::Host(call) => callback::run(|| call.run()),
        Op::Batch(operations, _) => {
            operations.iter().for_each(|each| stream_memory::run(*each, errors));
        }
        Op::Wait(..) | Op::Record(..) | Op::Alloc(_) | Op::Free(_) => {}
    }
}
