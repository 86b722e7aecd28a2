//! Entry points that launch kernels, and those that compute occupancy.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use cuda_api::args::{Arg, In, Out};
use cuda_api::attributes::{Attributes, OF_NODES, Value};
use cuda_api::clusters::check as check_clusters;
use cuda_api::error::{CuError, CuResult};
use cuda_api::launch_event::{LaunchEvent, LaunchEvents};
use cuda_api::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT,
    CU_LAUNCH_PARAM_END_AS_INT, CUevent, CUfunction, CUlaunchAttribute, CUlaunchAttributeID as L,
    CUlaunchConfig, CUoccupancy_flags, CUstream, CUstreamAttrValue,
};

use super::capture;
use super::entry::entries;
use crate::exec::grid;
use crate::exec::launch::Launch;
use crate::log;

use crate::state::context::{Context, current};
use crate::state::device::RANGES;
use crate::state::errors::Errors;
use crate::state::event::Event;
use crate::state::graph::Op;
use crate::state::limits;
use crate::state::memory::{self, Memory};
use crate::state::module::Function;
use crate::state::stream::{Stream, lookup};
use crate::state::texture;

/// The flags that the occupancy functions accept.
const OCCUPANCY_FLAGS: u32 = CUoccupancy_flags::CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE.0;
/// Maximum number of blocks per multiprocessor for which a cooperative launch is accepted.
const COOPERATIVE_BLOCKS: u64 = 32;
/// Size of the workspace in device memory that each cooperative grid gets, in bytes.
const WORKSPACE: u64 = 4096;

/// Maximum number of key-value pairs read from `extra`.
const EXTRA_PAIRS_MAX: usize = 8;
/// Key that marks the end of `extra`. [`EXTRA_POINTER`] and [`EXTRA_SIZE`] are the other keys that
/// `extra` may contain.
const EXTRA_END: usize = CU_LAUNCH_PARAM_END_AS_INT as usize;
const EXTRA_POINTER: usize = CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize;
const EXTRA_SIZE: usize = CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize;

const COOPERATIVE: u32 = L::CU_LAUNCH_ATTRIBUTE_COOPERATIVE.0;
const CLUSTER: u32 = L::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION.0;

/// The numbers of blocks and threads and the shared memory of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
}

/// A checked launch with a copy of its parameters. It can run any number of times.
#[derive(Clone)]
pub(crate) struct Kernel {
    /// The handle that the program passed for the function.
    pub(crate) handle: usize,
    pub(crate) function: Arc<Function>,
    pub(crate) shape: Shape,
    pub(crate) params: Arc<[u8]>,
    /// The launch attributes of the kernel, as a graph node stores them.
    pub(crate) attributes: Attributes,
}

/// Copies the parameters from the program's memory.
///
/// # Safety
///
/// If not null, `params` must contain the address of each function parameter, and `extra` must
/// contain pairs that describe a buffer, as `cuLaunchKernel` requires.
unsafe fn parameters(
    function: &Function,
    params: In<*const c_void>,
    extra: In<*mut c_void>,
) -> CuResult<Vec<u8>> {
    let kernel = function.kernel()?;
    let mut bytes = vec![0u8; kernel.param_bytes()];
    if !params.is_null() {
        if !extra.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the caller guarantees one address per function parameter.
        let params = unsafe { params.array(kernel.params.len()) };
        for (index, param) in kernel.params.iter().enumerate() {
            let from = params.get(index)?;
            if from.is_null() {
                return Err(CuError::INVALID_VALUE);
            }
            // SAFETY: the caller guarantees that this is the address of the parameter's value.
            unsafe {
                let to = bytes[param.offset..].as_mut_ptr();
                std::ptr::copy_nonoverlapping(from.cast(), to, param.size);
            }
        }
    } else if !extra.is_null() {
        let (mut buffer, mut size) = (std::ptr::null(), 0usize);
        for pair in 0..EXTRA_PAIRS_MAX {
            // SAFETY: the caller guarantees that `extra` consists of pairs up to an end marker.
            // This loop stops at the end marker, so another key follows.
            let key = unsafe { extra.element(2 * pair) }? as usize;
            if key == EXTRA_END {
                break;
            }
            // SAFETY: the key isn't the end marker, so the caller guarantees that a value follows
            // it.
            let value = unsafe { extra.element(2 * pair + 1) }?;
            match key {
                EXTRA_POINTER => buffer = value.cast::<u8>().cast_const(),
                // SAFETY: this key's value is the address of the buffer's size.
                EXTRA_SIZE => size = unsafe { In::from_address(value as usize) }.get()?,
                _ => return Err(CuError::INVALID_VALUE),
            }
        }
        // As with NVIDIA's driver, the buffer may be shorter than the parameters.
        let size = size.min(bytes.len());
        if buffer.is_null() && !bytes.is_empty() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the caller guarantees that the buffer has the size in `extra`.
        unsafe { std::ptr::copy_nonoverlapping(buffer, bytes.as_mut_ptr(), size) };
    } else if !bytes.is_empty() {
        return Err(CuError::INVALID_VALUE);
    }
    Ok(bytes)
}

fn check(function: &Function, shape: &Shape, processors: u32) -> CuResult {
    let threads: u64 = shape.block.iter().map(|n| u64::from(*n)).product();
    let [gx, gy, gz] = shape.grid;
    if shape.grid.contains(&0)
        || shape.block.contains(&0)
        || gx > i32::MAX as u32
        || gy > 65535
        || gz > 65535
        || threads > 1024
        || shape.block[2] > 64
    {
        return Err(CuError::INVALID_VALUE);
    }
    let kernel = function.kernel()?;
    if kernel.max_threads.is_some_and(|most| threads > most.into())
        || kernel.required.is_some_and(|required| required != shape.block)
    {
        return Err(CuError::INVALID_VALUE);
    }
    if shape.shared > function.dynamic_limit()?.max(function.default_dynamic_limit()?)
        || kernel.shared + shape.shared > 227 << 10
    {
        return Err(CuError::INVALID_VALUE);
    }
    let blocks = u64::from(gx) * u64::from(gy) * u64::from(gz);
    if shape.cooperative && blocks > COOPERATIVE_BLOCKS * u64::from(processors) {
        return Err(CuError::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(())
}

impl Kernel {
    /// Checks a launch and copies its parameters.
    ///
    /// # Safety
    ///
    /// `params` and `extra` must be valid for the function, as `cuLaunchKernel` requires.
    pub(crate) unsafe fn new(
        handle: usize,
        shape: Shape,
        context: &Arc<Context>,
        params: In<*const c_void>,
        extra: In<*mut c_void>,
    ) -> CuResult<Self> {
        let function = crate::state::module::function_of(handle, || Ok(context.clone()))?;
        if function.context().id != context.id {
            return Err(CuError::INVALID_HANDLE);
        }
        check(&function, &shape, context.device()?.processors)?;
        // SAFETY: the caller guarantees that `params` and `extra` are valid for the function.
        let params = unsafe { parameters(&function, params, extra) }?.into();
        Ok(Self { handle, function, shape, params, attributes: Attributes::default() })
    }

    /// Replaces the launch attributes. Among them, only the cooperative attribute affects how
    /// softgpu runs the kernel. Attributes such as priorities affect only timing, and softgpu
    /// supports only clusters of one block.
    pub(crate) fn set_attributes(&mut self, attributes: Attributes) -> CuResult {
        let [low, z, ..] = attributes.get(CLUSTER);
        if ![[0; 3], [1; 3]].contains(&[low as u32, (low >> 32) as u32, z as u32]) {
            return Err(CuError::NOT_SUPPORTED);
        }
        self.shape.cooperative = attributes.get(COOPERATIVE)[0] as u32 != 0;
        self.attributes = attributes;
        Ok(())
    }

    /// Returns the bytes of local memory that each thread needs.
    pub(crate) fn local(&self) -> u64 {
        let needed = self.function.kernel().map_or(0, |kernel| kernel.local.into());
        let frames = &self.function.loaded.program.source.frames;
        let declared = self.function.name.to_str().ok().and_then(|name| frames.get(name));
        declared.map_or(needed, |declared| needed.max(*declared))
    }

    /// Prepares one run of the launch, and allocates a workspace if the launch is cooperative.
    pub(crate) fn prepare(&self) -> CuResult<Launch> {
        let (function, shape) = (&self.function, &self.shape);
        let context = function.context();
        limits::begin_heap(context, &function.loaded.heap)?;
        let workspace = match shape.cooperative {
            true => memory::allocate_as(context, WORKSPACE, Memory::Internal)?,
            false => 0,
        };
        Ok(Launch {
            program: function.loaded.program.clone(),
            kernel: function.kernel()?.clone(),
            grid: shape.grid,
            block: shape.block,
            dynamic_shared: shape.shared,
            params: self.params.to_vec(),
            memory: &RANGES,
            objects: &texture::Bound,
            printf: context.printf.clone(),
            heap: function.loaded.heap.clone(),
            id: context.next_launch(),
            device: context.device()?.ordinal as usize,
            processors: context.device()?.processors,
            workspace,
            cooperative: shape.cooperative,
        })
    }

    /// Runs a prepared launch on the calling thread and frees its workspace.
    pub(crate) fn run(&self, launch: Launch, errors: &Errors) {
        let workspace = launch.workspace;
        if !errors.failed() {
            let name = log::enabled().then(|| self.function.name.clone());
            if let Err(fault) = grid::run(launch) {
                errors.fault(fault);
                if let Some(name) = name {
                    log::line(&format!("kernel {} ended with {fault:?}", name.to_string_lossy()));
                }
            }
        }
        if workspace != 0 {
            memory::forget(workspace);
        }
    }
}

/// Queues a launch, or adds it to the graph that the stream is being captured into. `programmatic`
/// says that the kernel may start before the previous one has finished. That matters only in a
/// graph, because softgpu runs kernels one after the other.
///
/// # Safety
///
/// `params` and `extra` must be valid for the function, as [`Kernel::new`] requires.
pub(crate) unsafe fn launch(
    handle: CUfunction,
    shape: Shape,
    stream: &Stream,
    (params, extra): (In<*const c_void>, In<*mut c_void>),
    (mut attributes, programmatic, events): (Attributes, bool, LaunchEvents),
) -> CuResult {
    let events = events.try_map(|event| Ok((recorded_event(event.handle, stream)?, event)))?;
    let captured = capture::captured(stream)?;
    // SAFETY: the caller guarantees that `params` and `extra` are valid for the function.
    let mut kernel =
        unsafe { Kernel::new(handle as usize, shape, &stream.context, params, extra) }?;
    if captured {
        if shape.cooperative {
            attributes.insert(COOPERATIVE, [1, 0, 0, 0, 0, 0, 0, 0]);
        }
        attributes.inherit(&stream.queue.attributes());
        kernel.set_attributes(attributes)?;
        let op = Op::Kernel(kernel);
        let events = events.iter().map(|(_, event)| (event.handle as u64, event.point.edge()));
        return capture::GRAPHS.push_launch(&stream.into(), op, programmatic, events);
    }
    kernel.function.context().resources()?.reserve_local(kernel.local())?;
    let launch = kernel.prepare()?;
    stream.submit(move |errors| kernel.run(launch, errors));
    for (recorded, event) in events.iter() {
        // A capture may have recorded the event before. This launch records it outside any capture,
        // so the event no longer refers to that capture. softgpu can record the event only at the
        // end of the kernel, which CUDA allows.
        capture::GRAPHS.record(event.handle as u64, || Ok(stream.into()))?;
        recorded.record(stream);
    }
    Ok(())
}

/// Returns an event that a launch in this stream can record.
fn recorded_event(handle: usize, stream: &Stream) -> CuResult<Arc<Event>> {
    let event = super::event::named(handle as CUevent)?;
    if event.context.id != stream.context.id {
        return Err(CuError::INVALID_HANDLE);
    }
    LaunchEvent::check(event.timing, event.shared.is_some())?;
    Ok(event)
}

/// Launches a kernel with a parameter buffer.
pub(crate) fn launch_packed(
    handle: CUfunction,
    shape: Shape,
    stream: &Stream,
    params: &[u8],
) -> CuResult {
    let size = params.len();
    let extra = [
        EXTRA_POINTER,
        params.as_ptr() as usize,
        EXTRA_SIZE,
        (&raw const size) as usize,
        EXTRA_END,
    ];
    // SAFETY: `extra` contains the pairs that describe the buffer, followed by the end marker.
    unsafe {
        let extra = In::from_address(extra.as_ptr() as usize);
        launch(handle, shape, stream, (In::null(), extra), Default::default())
    }
}

/// Launches a kernel with a launch configuration and its attributes.
///
/// # Safety
///
/// If not null, `config` must have an array of `numAttrs` attributes. `params` and `extra` must be
/// valid as for [`Kernel::new`].
unsafe fn launch_ex(
    config: In<CUlaunchConfig>,
    handle: CUfunction,
    params: In<*const c_void>,
    extra: In<*mut c_void>,
    per_thread: bool,
) -> CuResult {
    let config = config.get()?;
    let stream = lookup(config.hStream, per_thread)?;
    let mut shape = Shape {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        block: [config.blockDimX, config.blockDimY, config.blockDimZ],
        shared: config.sharedMemBytes,
        cooperative: false,
    };
    let count = config.numAttrs as usize;
    // SAFETY: the caller guarantees an array of `numAttrs` attributes.
    let attributes = unsafe { In::from_c(config.attrs.cast_const()).array(count) };
    let (mut kept, mut programmatic) = (Attributes::default(), false);
    let mut events = LaunchEvents::default();
    for index in 0..count {
        let attribute = attributes.get(index)?;
        if events.read(&attribute)? {
            continue;
        }
        let CUlaunchAttribute { id, value, .. } = attribute;
        match id {
            L::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                // SAFETY: this attribute's value is an integer.
                shape.cooperative = unsafe { value.cooperative } != 0;
            }
            L::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => {
                // SAFETY: this attribute's value is an integer.
                programmatic = unsafe { value.programmaticStreamSerializationAllowed } != 0;
            }
            L::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                // SAFETY: this attribute's value consists of integers.
                let cluster = unsafe { value.clusterDim };
                if [cluster.x, cluster.y, cluster.z] != [1; 3] {
                    return Err(CuError::NOT_SUPPORTED);
                }
            }
            // Other attributes, such as access-policy windows and priorities, affect only timing,
            // so softgpu ignores them when it runs the kernel. If the launch is captured, the
            // kernel node keeps them.
            id if OF_NODES.contains(&id.0) => {
                // SAFETY: both types have 64 bytes, and integers may have any value.
                kept.insert(id.0, unsafe {
                    std::mem::transmute::<CUstreamAttrValue, Value>(value)
                });
            }
            _ => {}
        }
    }
    // SAFETY: the caller guarantees that `params` and `extra` are valid for the function.
    unsafe { launch(handle, shape, &stream, (params, extra), (kept, programmatic, events)) }
}

/// Returns the maximum number of a kernel's blocks that can be resident on a multiprocessor.
fn occupancy(function: &Function, threads: c_int, shared: usize) -> CuResult<u32> {
    let threads = u32::try_from(threads).ok().filter(|n| *n > 0);
    let threads = threads.ok_or(CuError::INVALID_VALUE)?;
    if threads > function.kernel()?.max_threads.unwrap_or(1024).min(1024) {
        return Ok(0);
    }
    let shared = shared as u64 + u64::from(function.kernel()?.shared);
    if shared > 227 << 10 {
        return Ok(0);
    }
    let by_threads = 2048 / threads.next_multiple_of(32);
    let by_shared = (228 << 10) / (shared + 1024);
    Ok(by_threads.min(by_shared as u32).min(32))
}

fn named(handle: CUfunction) -> CuResult<Arc<Function>> {
    current()?;
    super::module::function(handle.cast())
}

/// Finds the block size that gives the most resident threads, and the grid size that fills the
/// device with blocks of that size.
///
/// # Safety
///
/// `shared_of` must be safe to call with any block size.
unsafe fn potential(
    grid: Out<c_int>,
    block: Out<c_int>,
    handle: CUfunction,
    shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
    shared: usize,
    limit: c_int,
) -> CuResult {
    let function = named(handle)?;
    let mut most = function.kernel()?.max_threads.unwrap_or(1024).min(1024) as c_int;
    if limit > 0 {
        most = most.min(limit);
    }
    let mut best = (0, 0);
    let mut threads = (most + 31) / 32 * 32;
    while threads > 0 {
        let size = threads.min(most);
        // SAFETY: the caller guarantees that the function can be called with any block size.
        let bytes = shared_of.map_or(shared, |f| unsafe { f(size) });
        let blocks = occupancy(&function, size, bytes)? as c_int;
        if blocks * size > best.0 * best.1 {
            best = (blocks, size);
        }
        threads -= 32;
    }
    let processors = function.context().device()?.processors as c_int;
    grid.set(best.0 * processors)?;
    block.set(best.1)
}

/// Returns the cluster dimensions of a launch configuration, if it has any.
///
/// # Safety
///
/// If not null, `config` must have an array of `numAttrs` attributes.
unsafe fn clusters(config: In<CUlaunchConfig>) -> CuResult<Option<[u32; 3]>> {
    let config = config.get()?;
    let count = config.numAttrs as usize;
    // SAFETY: the caller guarantees an array of `numAttrs` attributes.
    let attributes = unsafe { In::from_c(config.attrs.cast_const()).array(count) };
    for index in 0..count {
        let CUlaunchAttribute { id, value, .. } = attributes.get(index)?;
        if id == L::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
            // SAFETY: this attribute's value consists of integers.
            let cluster = unsafe { value.clusterDim };
            return Ok(Some([cluster.x, cluster.y, cluster.z]));
        }
    }
    Ok(None)
}

entries! {
    fn cuLaunchKernel, fn cuLaunchKernel_ptsz(
        function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint,
        stream: CUstream, params: In<*const c_void>, extra: In<*mut c_void>,
    ) |per_thread| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = Shape { grid, block, shared, cooperative: false };
        // SAFETY: the program passes valid arguments, as the API requires.
        unsafe { launch(function, shape, &*lookup(stream, per_thread)?, (params, extra), Default::default()) }
    }

    fn cuLaunchCooperativeKernel, fn cuLaunchCooperativeKernel_ptsz(
        function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint,
        stream: CUstream, params: In<*const c_void>,
    ) |per_thread| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = Shape { grid, block, shared, cooperative: true };
        // SAFETY: the program passes valid arguments, as the API requires.
        unsafe { launch(function, shape, &*lookup(stream, per_thread)?, (params, In::null()), Default::default()) }
    }

    fn cuLaunchKernelEx, fn cuLaunchKernelEx_ptsz(
        config: In<CUlaunchConfig>, function: CUfunction,
        params: In<*const c_void>, extra: In<*mut c_void>,
    ) |per_thread| {
        // SAFETY: the program passes valid arguments, as the API requires.
        unsafe { launch_ex(config, function, params, extra, per_thread) }
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: Out<c_int>,
        function: CUfunction,
        threads: c_int,
        shared: usize,
    ) {
        to.set(occupancy(&*named(function)?, threads, shared)? as c_int)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: Out<c_int>,
        function: CUfunction,
        threads: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        if flags > OCCUPANCY_FLAGS {
            return Err(CuError::INVALID_VALUE);
        }
        to.set(occupancy(&*named(function)?, threads, shared)? as c_int)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>,
        block: Out<c_int>,
        function: CUfunction,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
        shared: usize,
        limit: c_int,
    ) {
        // SAFETY: the program passes this function for softgpu to call with block sizes.
        unsafe { potential(grid, block, function, shared_of, shared, limit) }
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>,
        block: Out<c_int>,
        function: CUfunction,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
        shared: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        if flags > OCCUPANCY_FLAGS {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the program passes this function for softgpu to call with block sizes.
        unsafe { potential(grid, block, function, shared_of, shared, limit) }
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        to: Out<usize>,
        function: CUfunction,
        blocks: c_int,
        threads: c_int,
    ) {
        let function = named(function)?;
        if blocks <= 0 || threads <= 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let each = (228usize << 10) / blocks as usize;
        let used = 1024 + function.kernel()?.shared as usize;
        // A block may use more than 48 KiB of dynamic shared memory only if the program has raised
        // the function's limit.
        let limit = function.dynamic_limit()? as usize;
        to.set(each.saturating_sub(used).min(227 << 10).min(limit))
    }

    fn cuOccupancyMaxActiveClusters(
        to: Out<c_int>,
        function: CUfunction,
        config: In<CUlaunchConfig>,
    ) {
        to.check()?;
        check_clusters(function as usize, config)?;
        let function = named(function)?;
        // SAFETY: the program passes a configuration as for a launch.
        to.set(match unsafe { clusters(config) }? {
            // As in NVIDIA's driver, a launch without cluster dimensions has no clusters.
            None => 0,
            // softgpu supports only clusters of one block, so the maximum number of clusters is the
            // maximum number of resident blocks.
            Some([1, 1, 1]) => {
                let processors = function.context().device()?.processors;
                occupancy(&function, 1024, 0)?.max(1) as c_int * processors as c_int
            }
            Some(_) => return Err(CuError::INVALID_CLUSTER_SIZE),
        })
    }

    fn cuOccupancyMaxPotentialClusterSize(
        to: Out<c_int>,
        function: CUfunction,
        config: In<CUlaunchConfig>,
    ) {
        to.check()?;
        check_clusters(function as usize, config)?;
        named(function)?;
        to.set(1)
    }
}
