//! Launches and occupancy.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use cuda_api::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, CUevent, CUfunction,
    CUlaunchAttributeID as L, CUstream,
};

use super::{Answer, CUresult, capture, cuda, get, put};
use crate::exec::grid;
use crate::exec::launch::Launch;
use crate::log;

use crate::state::context::Context;
use crate::state::device::RANGES;
use crate::state::errors::Errors;
use crate::state::graph::Op;
use crate::state::memory::{self, Memory};
use crate::state::module::Function;
use crate::state::stream::{Stream, lookup};

/// Maximum blocks of a cooperative launch per multiprocessor.
const COOPERATIVE_BLOCKS: u64 = 32;
/// Size of a cooperative grid's workspace in bytes.
const WORKSPACE: u64 = 4096;

/// The keys in `extra`.
const EXTRA_POINTER: usize = CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize;
const EXTRA_SIZE: usize = CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize;

/// The geometry of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
}

/// A checked launch with its parameters, which can be executed any number of times.
#[derive(Clone)]
pub(crate) struct Kernel {
    /// The program's handle of the function.
    pub(crate) handle: usize,
    pub(crate) function: Arc<Function>,
    pub(crate) shape: Shape,
    pub(crate) params: Arc<[u8]>,
}

/// Copies the parameters from the program's memory.
fn parameters(
    function: &Function,
    params: *const *const c_void,
    extra: *const *mut c_void,
) -> Result<Vec<u8>, CUresult> {
    let kernel = &function.kernel;
    let mut bytes = vec![0u8; kernel.param_bytes()];
    if !params.is_null() {
        if !extra.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for (i, param) in kernel.params.iter().enumerate() {
            let from: *const c_void = get(params.wrapping_add(i))?;
            if from.is_null() {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
            // SAFETY: the program passes a pointer to each parameter's value.
            unsafe {
                let to = bytes[param.offset..].as_mut_ptr();
                std::ptr::copy_nonoverlapping(from.cast(), to, param.size);
            }
        }
    } else if !extra.is_null() {
        let (mut buffer, mut size) = (std::ptr::null(), 0usize);
        for pair in 0..8 {
            let key = get(extra.wrapping_add(2 * pair))? as usize;
            if key == 0 {
                break;
            }
            let value = get(extra.wrapping_add(2 * pair + 1))?;
            match key {
                EXTRA_POINTER => buffer = value.cast::<u8>().cast_const(),
                EXTRA_SIZE => size = get(value.cast::<usize>())?,
                _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
            }
        }
        if size < bytes.len() || (buffer.is_null() && !bytes.is_empty()) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the program passes a buffer of that size.
        unsafe { std::ptr::copy_nonoverlapping(buffer, bytes.as_mut_ptr(), bytes.len()) };
    } else if !bytes.is_empty() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(bytes)
}

fn check(function: &Function, shape: &Shape, processors: u32) -> Answer {
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
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let kernel = &function.kernel;
    if kernel.max_threads.is_some_and(|most| threads > most.into())
        || kernel.required.is_some_and(|required| required != shape.block)
    {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if shape.shared > function.dynamic_limit() || kernel.shared + shape.shared > 227 << 10 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let blocks = u64::from(gx) * u64::from(gy) * u64::from(gz);
    if shape.cooperative && blocks > COOPERATIVE_BLOCKS * u64::from(processors) {
        return Err(CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(())
}

impl Kernel {
    /// Checks a launch and copies its parameters.
    pub(crate) fn new(
        handle: usize,
        shape: Shape,
        context: &Arc<Context>,
        params: *const *const c_void,
        extra: *const *mut c_void,
    ) -> Result<Self, CUresult> {
        let function = crate::state::module::function_of(handle, || Ok(context.clone()))?;
        if function.context().id != context.id {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        check(&function, &shape, context.device()?.processors)?;
        let params = parameters(&function, params, extra)?.into();
        Ok(Self { handle, function, shape, params })
    }

    /// Prepares one launch, with a workspace if it needs one.
    pub(crate) fn prepare(&self) -> Result<Launch, CUresult> {
        let (function, shape) = (&self.function, &self.shape);
        let context = function.context();
        let workspace = match shape.cooperative {
            true => memory::allocate_as(context, WORKSPACE, Memory::Device)?,
            false => 0,
        };
        Ok(Launch {
            program: function.loaded.program.clone(),
            kernel: function.kernel.clone(),
            grid: shape.grid,
            block: shape.block,
            dynamic_shared: shape.shared,
            params: self.params.to_vec(),
            memory: &RANGES,
            printf: context.printf.clone(),
            heap: function.loaded.heap.clone(),
            id: context.next_launch(),
            processors: context.device()?.processors,
            workspace,
            cooperative: shape.cooperative,
        })
    }

    /// Runs a launch on the calling thread.
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

fn launch(
    handle: CUfunction,
    shape: Shape,
    stream: &Stream,
    params: *const *const c_void,
    extra: *const *mut c_void,
) -> Answer {
    let captured = capture::captured(stream)?;
    let kernel = Kernel::new(handle as usize, shape, &stream.context, params, extra)?;
    if captured {
        return capture::push(stream, Op::Kernel(kernel));
    }
    let launch = kernel.prepare()?;
    stream.submit(move |errors| kernel.run(launch, errors));
    Ok(())
}

/// `CUlaunchConfig`, with its enumerations as integers.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: CUstream,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

/// `CUlaunchAttribute`: an identifier and 64 bytes of value.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaunchAttribute {
    id: c_uint,
    _pad: c_uint,
    value: [u32; 16],
}

const ATTRIBUTE_COOPERATIVE: u32 = L::CU_LAUNCH_ATTRIBUTE_COOPERATIVE.0;
const ATTRIBUTE_CLUSTER: u32 = L::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION.0;
const ATTRIBUTE_EVENT: u32 = L::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT.0;
const ATTRIBUTE_COMPLETION_EVENT: u32 = L::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT.0;

fn launch_ex(
    config: *const LaunchConfig,
    handle: CUfunction,
    params: *const *const c_void,
    extra: *const *mut c_void,
    per_thread: bool,
) -> Answer {
    let config = get(config)?;
    let stream = lookup(config.stream, per_thread)?;
    let mut shape =
        Shape { grid: config.grid, block: config.block, shared: config.shared, cooperative: false };
    let mut event: Option<CUevent> = None;
    for i in 0..config.count as usize {
        let attribute = get(config.attributes.wrapping_add(i))?;
        let value = attribute.value;
        match attribute.id {
            ATTRIBUTE_COOPERATIVE => shape.cooperative = value[0] != 0,
            ATTRIBUTE_CLUSTER if value[0] * value[1] * value[2] != 1 => {
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
            ATTRIBUTE_EVENT | ATTRIBUTE_COMPLETION_EVENT => {
                let low = u64::from(value[0]);
                event = Some((low | u64::from(value[1]) << 32) as usize as CUevent);
            }
            // Other attributes (access windows, priorities, early starts) affect only timing.
            _ => {}
        }
    }
    launch(handle, shape, &stream, params, extra)?;
    match event {
        Some(event) => super::event::record(event, &stream, 0),
        None => Ok(()),
    }
}

macro_rules! launches {
    ($(fn $name:ident($extra:ident, $cooperative:expr, $per_thread:expr);)*) => {$(
        launches!(@one $name, $extra, $cooperative, $per_thread);
    )*
        /// The functions above, for the library's table of exports.
        pub(crate) const LAUNCHES: &[cuda_api::exports::Entry] = &[$(cuda_api::entry!($name)),*];
    };
    (@one $name:ident, with_extra, $cooperative:expr, $per_thread:expr) => {
        cuda_api::check_signature! { $name(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
            *const *const c_void, *const *mut c_void
        ) }
        #[allow(clippy::too_many_arguments)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name(
            function: CUfunction,
            gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
            shared: c_uint,
            stream: CUstream,
            params: *const *const c_void,
            extra: *const *mut c_void,
        ) -> CUresult {
            super::answer(|| {
                let stream = super::stream::lookup(stream, $per_thread)?;
                let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared, cooperative: $cooperative };
                launch(function, shape, &stream, params, extra)
            })
        }
    };
    (@one $name:ident, without_extra, $cooperative:expr, $per_thread:expr) => {
        cuda_api::check_signature! { $name(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
            *const *const c_void
        ) }
        #[allow(clippy::too_many_arguments)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name(
            function: CUfunction,
            gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
            shared: c_uint,
            stream: CUstream,
            params: *const *const c_void,
        ) -> CUresult {
            super::answer(|| {
                let stream = super::stream::lookup(stream, $per_thread)?;
                let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared, cooperative: $cooperative };
                launch(function, shape, &stream, params, std::ptr::null())
            })
        }
    };
}

launches! {
    fn cuLaunchKernel(with_extra, false, false);
    fn cuLaunchKernel_ptsz(with_extra, false, true);
    fn cuLaunchCooperativeKernel(without_extra, true, false);
    fn cuLaunchCooperativeKernel_ptsz(without_extra, true, true);
}

/// Maximum resident blocks of a kernel per multiprocessor.
fn occupancy(function: &Function, threads: c_int, shared: usize) -> Result<u32, CUresult> {
    let threads = u32::try_from(threads).ok().filter(|n| *n > 0);
    let threads = threads.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    if threads > function.kernel.max_threads.unwrap_or(1024).min(1024) {
        return Ok(0);
    }
    let shared = shared as u64 + u64::from(function.kernel.shared);
    if shared > 227 << 10 {
        return Ok(0);
    }
    let by_threads = 2048 / threads.next_multiple_of(32);
    let by_shared = (228 << 10) / (shared + 1024);
    Ok(by_threads.min(by_shared as u32).min(32))
}

fn named(handle: CUfunction) -> Result<Arc<Function>, CUresult> {
    super::module::function(handle.cast())
}

fn potential(
    grid: *mut c_int,
    block: *mut c_int,
    handle: CUfunction,
    shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
    shared: usize,
    limit: c_int,
) -> Answer {
    let function = named(handle)?;
    let mut most = function.kernel.max_threads.unwrap_or(1024).min(1024) as c_int;
    if limit > 0 {
        most = most.min(limit);
    }
    let mut best = (0, 0);
    let mut threads = (most + 31) / 32 * 32;
    while threads > 0 {
        let size = threads.min(most);
        // SAFETY: the program passed the function to be called with block sizes.
        let bytes = shared_of.map_or(shared, |f| unsafe { f(size) });
        let blocks = occupancy(&function, size, bytes)? as c_int;
        if blocks * size > best.0 * best.1 {
            best = (blocks, size);
        }
        threads -= 32;
    }
    let processors = function.context().device()?.processors as c_int;
    put(grid, best.0 * processors)?;
    put(block, best.1)
}

cuda! {
    fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        function: CUfunction,
        params: *const *const c_void,
        extra: *const *mut c_void,
    ) {
        launch_ex(config, function, params, extra, false)
    }

    fn cuLaunchKernelEx_ptsz(
        config: *const LaunchConfig,
        function: CUfunction,
        params: *const *const c_void,
        extra: *const *mut c_void,
    ) {
        launch_ex(config, function, params, extra, true)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: *mut c_int,
        function: CUfunction,
        threads: c_int,
        shared: usize,
    ) {
        put(to, occupancy(&*named(function)?, threads, shared)? as c_int)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut c_int,
        function: CUfunction,
        threads: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        if flags > 1 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        put(to, occupancy(&*named(function)?, threads, shared)? as c_int)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int,
        block: *mut c_int,
        function: CUfunction,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
        shared: usize,
        limit: c_int,
    ) {
        potential(grid, block, function, shared_of, shared, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int,
        block: *mut c_int,
        function: CUfunction,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
        shared: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        if flags > 1 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        potential(grid, block, function, shared_of, shared, limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        to: *mut usize,
        function: CUfunction,
        blocks: c_int,
        threads: c_int,
    ) {
        let function = named(function)?;
        if blocks <= 0 || threads <= 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let each = (228usize << 10) / blocks as usize;
        let used = 1024 + function.kernel.shared as usize;
        put(to, each.saturating_sub(used).min(227 << 10))
    }

    fn cuOccupancyMaxActiveClusters(
        to: *mut c_int,
        function: CUfunction,
        _config: *const LaunchConfig,
    ) {
        // There are no clusters of more than one block.
        let function = named(function)?;
        let processors = function.context().device()?.processors;
        put(to, occupancy(&function, 1024, 0)?.max(1) as c_int * processors as c_int)
    }

    fn cuOccupancyMaxPotentialClusterSize(
        to: *mut c_int,
        function: CUfunction,
        _config: *const LaunchConfig,
    ) {
        named(function)?;
        put(to, 1)
    }
}
