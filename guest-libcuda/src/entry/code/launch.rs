//! Launches. Arguments are packed according to the kernel's layout, and the launch is sent without
//! waiting for a reply. This library detects the errors that NVIDIA's driver returns immediately,
//! such as a grid that is too large, and returns them immediately, too.

use crate::capture;
use crate::context::{self, current};
use crate::driver::Driver;
use crate::entry::code::function::attribute;
use crate::entry::code::occupancy::{ask, blocks};
use crate::entry::streams::stream::{own_stream, stream_id};
use crate::error::{CuError, CuResult};
use crate::graph::{GRAPHS, Kernel, Op, Shape};
use crate::handles::Handle;
use crate::log::say;
use crate::objects::{Event, Function};
use crate::program::{bytes_at, copy_from};
use cuda_api::args::{Arg, In, Out};
use cuda_api::attributes::Attributes;
use cuda_api::clusters;
use cuda_api::launch_event::{LaunchEvent, LaunchEvents, Point};
use cuda_api::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT,
    CU_LAUNCH_PARAM_END_AS_INT, CUdevice_attribute, CUfunction_attribute, CUlaunchAttribute,
    CUlaunchAttributeID, CUlaunchConfig, CUstreamAttrValue,
};
use protocol::calls::{
    VcudaLaunch, VcudaLaunchCooperative, VcudaLaunchEvent, VcudaLaunchEvents,
    VcudaOccupancyClusters,
};
use protocol::ids::{EventId, FuncId, StreamId};
use protocol::limits::{LAUNCH_ATTRIBUTES_MAX, PARAMETER_BYTES_MAX};
use protocol::options::{
    LAUNCH_ATTRIBUTES, LAUNCH_COMPLETION_EVENT, PROGRAMMATIC_EVENT, clusters as question,
};
use protocol::structs::LaunchAttribute;
use std::sync::Arc;

const MAX_THREADS_PER_BLOCK: u32 = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK.0;
const SHARED_SIZE: u32 = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES.0;
const MAX_DYNAMIC_SHARED: u32 =
    CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.0;
/// The maximum size in bytes of a kernel's static and dynamic shared memory together, unless the
/// program raises the kernel's limit.
const SHARED_DEFAULT: u32 = 48 << 10;

const END: usize = CU_LAUNCH_PARAM_END_AS_INT as usize;
const BUFFER_POINTER: usize = CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize;
const BUFFER_SIZE: usize = CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize;

const PROGRAMMATIC: u32 =
    CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.0;
const COOPERATIVE: u32 = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE.0;

/// Refuses a launch that exceeds the device's or the function's limits.
pub fn check(driver: &Driver, function: &Function, shape: &Shape) -> CuResult {
    let device = driver.device(current()?.device)?;
    let limits = device.launch_limits();
    let fits = |dims: &[u32; 3], limits: &[u32; 3]| {
        dims.iter().zip(limits).all(|(&dim, &limit)| dim > 0 && dim <= limit)
    };
    if !fits(&shape.grid, &limits.grid) || !fits(&shape.block, &limits.block) {
        return Err(CuError::INVALID_VALUE);
    }
    let threads: u64 = shape.block.iter().map(|&dim| u64::from(dim)).product();
    if threads > u64::from(limits.threads) {
        return Err(CuError::INVALID_VALUE);
    }
    let max_threads = match function.max_threads.get() {
        Some(&max) => max,
        None => {
            let max = attribute(driver, function, MAX_THREADS_PER_BLOCK)?.max(1) as u32;
            *function.max_threads.get_or_init(|| max)
        }
    };
    if threads > u64::from(max_threads) {
        return Err(CuError::INVALID_VALUE);
    }
    if shape.shared > 0 {
        let fixed = attribute(driver, function, SHARED_SIZE)?.max(0) as u32;
        let allowed = attribute(driver, function, MAX_DYNAMIC_SHARED)?.max(0) as u32;
        if shape.shared > allowed.max(SHARED_DEFAULT.saturating_sub(fixed)) {
            return Err(CuError::INVALID_VALUE);
        }
    }
    Ok(())
}

/// Packs a launch's arguments into the kernel's parameter buffer, and calls `then` with the buffer.
///
/// # Safety
///
/// If not null, `parameters` must contain the address of each of the function's parameters, and
/// `extra` must contain pairs that describe a buffer, as `cuLaunchKernel` requires.
pub unsafe fn with_parameters<R>(
    function: &Function,
    parameters: In<usize>,
    extra: In<usize>,
    then: impl FnOnce(&[u8]) -> CuResult<R>,
) -> CuResult<R> {
    if !parameters.is_null() {
        // SAFETY: the pointer is not null, so the array has at least one element: the marker of its
        // end.
        if !extra.is_null() && unsafe { extra.element(0) }? != END {
            return Err(CuError::INVALID_VALUE);
        }
        let mut short = [0; 512];
        let mut long = Vec::new();
        let len = function.parameter_bytes;
        let buffer = match short.get_mut(..len) {
            Some(buffer) => buffer,
            None => {
                long.resize(len, 0);
                &mut long[..]
            }
        };
        // SAFETY: the caller promises that the array has an address for each of the function's
        // parameters.
        let parameters = unsafe { parameters.array(function.parameters.len()) };
        for (index, parameter) in function.parameters.iter().enumerate() {
            let to = &mut buffer[parameter.offset..parameter.offset + parameter.size];
            // SAFETY: the caller promises that the element is the address of this parameter.
            unsafe { copy_from(parameters.get(index)?, to) };
        }
        return then(buffer);
    }
    if !extra.is_null() {
        let (mut buffer, mut size) = (0, 0);
        let mut index = 0;
        loop {
            // SAFETY: the caller promises that the array extends to its end marker, and this loop
            // stops there.
            match unsafe { extra.element(index) }? {
                END => break,
                // SAFETY: the array consists of pairs before its end marker, so this key has a
                // value.
                BUFFER_POINTER => buffer = unsafe { extra.element(index + 1) }?,
                BUFFER_SIZE => {
                    // SAFETY: the array consists of pairs before its end marker, so this key has a
                    // value.
                    let at = unsafe { extra.element(index + 1) }?;
                    let mut bytes = [0; size_of::<usize>()];
                    if at == 0 {
                        return Err(CuError::INVALID_VALUE);
                    }
                    // SAFETY: the caller promises that the value of this key is the address of a
                    // size, and the address is not null.
                    unsafe { copy_from(at, &mut bytes) };
                    size = usize::from_le_bytes(bytes);
                }
                _ => return Err(CuError::INVALID_VALUE),
            }
            index += 2;
        }
        // Don't compare the size with the kernel's layout: the program's buffer may be longer, or
        // shorter if the layout ends with padding.
        if (buffer == 0 && size > 0) || size > PARAMETER_BYTES_MAX {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the caller promises that the pairs describe a buffer of this size.
        return then(unsafe { bytes_at(buffer, size) });
    }
    if !function.parameters.is_empty() {
        return Err(CuError::INVALID_VALUE);
    }
    then(&[])
}

/// Returns an event that a launch can record.
fn checked_event(driver: &Driver, handle: Handle) -> CuResult<Arc<Event>> {
    let event: Arc<Event> = driver.handles.get(handle)?;
    LaunchEvent::check(event.has_timing(), event.is_interprocess())?;
    Ok(event)
}

/// Returns a call with this shape, in which all handles are 0.
fn launch_events(shape: &Shape) -> VcudaLaunchEvents<'static> {
    VcudaLaunchEvents {
        f: FuncId(0),
        grid_x: shape.grid[0],
        grid_y: shape.grid[1],
        grid_z: shape.grid[2],
        block_x: shape.block[0],
        block_y: shape.block[1],
        block_z: shape.block[2],
        shared_mem_bytes: shape.shared,
        h_stream: StreamId(0),
        params: &[],
        attributes: Default::default(),
        programmatic: EventId(0),
        at_block_start: 0,
        begun: EventId(0),
    }
}

/// Returns a call with this shape, in which all handles and the attribute are 0.
fn launch_event(shape: &Shape) -> VcudaLaunchEvent<'static> {
    VcudaLaunchEvent {
        f: FuncId(0),
        grid_x: shape.grid[0],
        grid_y: shape.grid[1],
        grid_z: shape.grid[2],
        block_x: shape.block[0],
        block_y: shape.block[1],
        block_z: shape.block[2],
        shared_mem_bytes: shape.shared,
        h_stream: StreamId(0),
        params: &[],
        attributes: Default::default(),
        event: EventId(0),
        attribute: 0,
        at_block_start: 0,
    }
}

/// Fails if the host doesn't know launches that record one event, or two if `both` is true. To find
/// out, the first such launch makes a call that launches nothing.
fn known_to_host(driver: &Driver, both: bool) -> CuResult {
    let (known, what) = match both {
        false => (&driver.records_in_launches, "an event"),
        true => (&driver.records_two_in_launches, "two events"),
    };
    let ask = || {
        let nothing = Shape { grid: [0; 3], block: [0; 3], shared: 0 };
        match both {
            false => driver.session.call(&launch_event(&nothing)),
            true => driver.session.call(&launch_events(&nothing)),
        }
    };
    if !*known.get_or_init(|| ask() != Err(CuError::NOT_SUPPORTED)) {
        say!(Warn, "the host doesn't support launches that record {what}: update the host");
        return Err(CuError::NOT_SUPPORTED);
    }
    Ok(())
}

/// Queues a launch.
///
/// # Safety
///
/// The requirements of [`with_parameters`] apply.
unsafe fn launch(
    handle: Handle,
    shape: Shape,
    (stream, null): (Handle, usize),
    (parameters, extra): (In<usize>, In<usize>),
    (attributes, events): (&[LaunchAttribute], LaunchEvents),
) -> CuResult {
    let driver = context::driver()?;
    let function: Arc<Function> = driver.handles.get(handle)?;
    let h_stream = stream_id(driver, stream, null)?;
    check(driver, &function, &shape)?;
    let events = events.try_map(|event| Ok((checked_event(driver, event.handle)?, event.point)))?;
    if capture::captured(driver, stream, null)? {
        let push = |params: &[u8]| {
            // In a graph, this attribute isn't a property of the launch, but of the edges to its
            // node.
            let is_programmatic = |attribute: &LaunchAttribute| {
                attribute.id == PROGRAMMATIC && attribute.value[0] as u32 != 0
            };
            let programmatic = attributes.iter().any(is_programmatic);
            let mut own = Attributes::default();
            let others = attributes.iter().filter(|attribute| attribute.id != PROGRAMMATIC);
            others.for_each(|attribute| own.insert(attribute.id, attribute.value));
            if let Some(stream) = own_stream(driver, stream)? {
                own.inherit(&stream.attributes.lock());
            }
            let (params, attributes) = (params.into(), own);
            let function = function.clone();
            let kernel = Kernel { handle, function, shape, params, attributes };
            let (stream, op) = (capture::describe(driver, stream, null)?, Op::Kernel(kernel));
            let events = events.iter().map(|(event, point)| (event.id.0, point.edge()));
            GRAPHS.push_launch(&stream, op, programmatic, events)
        };
        // SAFETY: the caller promises what `with_parameters` requires.
        return unsafe { with_parameters(&function, parameters, extra, push) };
    }
    let both = events.programmatic.is_some() && events.begun.is_some();
    if events.iter().next().is_some() {
        known_to_host(driver, both)?;
    }
    for (event, _) in events.iter() {
        // This launch records the event. If the event marked a node of a capture before, it doesn't
        // any more.
        GRAPHS.record(event.id.0, || capture::describe(driver, stream, null))?;
    }
    let post = |params: &[u8]| match (&events.programmatic, &events.begun) {
        (Some((programmatic, point)), Some((begun, _))) => {
            driver.session.post(&VcudaLaunchEvents {
                f: function.id,
                h_stream,
                params,
                attributes: attributes.into(),
                programmatic: programmatic.id,
                at_block_start: point.at_block_start().into(),
                begun: begun.id,
                ..launch_events(&shape)
            })
        }
        (Some((event, point)), None) | (None, Some((event, point))) => {
            driver.session.post(&VcudaLaunchEvent {
                f: function.id,
                h_stream,
                params,
                attributes: attributes.into(),
                event: event.id,
                attribute: match point {
                    Point::Programmatic { .. } => PROGRAMMATIC_EVENT,
                    Point::Begun => LAUNCH_COMPLETION_EVENT,
                },
                at_block_start: point.at_block_start().into(),
                ..launch_event(&shape)
            })
        }
        (None, None) => driver.session.post(&VcudaLaunch {
            f: function.id,
            grid_x: shape.grid[0],
            grid_y: shape.grid[1],
            grid_z: shape.grid[2],
            block_x: shape.block[0],
            block_y: shape.block[1],
            block_z: shape.block[2],
            shared_mem_bytes: shape.shared,
            h_stream,
            params,
            attributes: attributes.into(),
        }),
    };
    // SAFETY: the caller promises what `with_parameters` requires.
    unsafe { with_parameters(&function, parameters, extra, post) }
}

/// Queues a launch whose parameters are packed in a buffer already.
pub fn launch_packed(
    handle: Handle,
    shape: Shape,
    stream: (Handle, usize),
    parameters: &[u8],
) -> CuResult {
    let size = parameters.len();
    let extra = [
        BUFFER_POINTER,
        parameters.as_ptr() as usize,
        BUFFER_SIZE,
        (&raw const size) as usize,
        END,
    ];
    // SAFETY: the pairs describe `parameters`, which lives until the call returns, and the end
    // marker follows them.
    unsafe {
        let extra = In::from_address(extra.as_ptr() as usize);
        launch(handle, shape, stream, (In::null(), extra), Default::default())
    }
}

/// Checks that all blocks of a cooperative launch can run at the same time.
fn check_cooperative(driver: &Driver, function: &Function, shape: &Shape) -> CuResult {
    let device = driver.device(current()?.device)?;
    let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT.0;
    let multiprocessors = u64::from(device.attribute(count)?.unsigned_abs());
    let wanted = shape.grid.iter().fold(1u64, |all, &dim| all.saturating_mul(dim.into()));
    // Each multiprocessor can run at least one block of the function, so no query is needed for
    // this number of blocks.
    if wanted <= multiprocessors {
        return Ok(());
    }
    let threads = shape.block.iter().product::<u32>() as i32;
    let each = blocks(driver, function, threads, shape.shared as usize, 0)?;
    if wanted > multiprocessors * u64::from(each.unsigned_abs()) {
        return Err(CuError::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(())
}

/// Queues a cooperative launch, in which all blocks of the grid run at the same time.
///
/// # Safety
///
/// The requirements of [`with_parameters`] apply.
pub unsafe fn launch_cooperative(
    function: Handle,
    shape: Shape,
    (stream, null): (Handle, usize),
    parameters: In<usize>,
) -> CuResult {
    let driver = context::driver()?;
    if capture::captured(driver, stream, null)? {
        // In a graph, a cooperative launch is an ordinary launch with the attribute COOPERATIVE.
        let value = [1, 0, 0, 0, 0, 0, 0, 0];
        let attributes = [LaunchAttribute { id: COOPERATIVE, value }];
        let arguments = (parameters, In::null());
        let options = (&attributes[..], LaunchEvents::default());
        // SAFETY: the caller promises what `launch` requires.
        return unsafe { launch(function, shape, (stream, null), arguments, options) };
    }
    let function: Arc<Function> = driver.handles.get(function)?;
    let h_stream = stream_id(driver, stream, null)?;
    check(driver, &function, &shape)?;
    check_cooperative(driver, &function, &shape)?;
    let post = |params: &[u8]| {
        driver.session.post(&VcudaLaunchCooperative {
            f: function.id,
            grid_x: shape.grid[0],
            grid_y: shape.grid[1],
            grid_z: shape.grid[2],
            block_x: shape.block[0],
            block_y: shape.block[1],
            block_z: shape.block[2],
            shared_mem_bytes: shape.shared,
            h_stream,
            params,
        })
    };
    // SAFETY: the caller promises what `with_parameters` requires.
    unsafe { with_parameters(&function, parameters, In::null(), post) }
}

/// Returns the shape, stream, encoded attributes, and events of a launch configuration.
///
/// # Safety
///
/// The configuration's array must have as many attributes as the configuration's count.
unsafe fn read_config(
    config: In<CUlaunchConfig>,
) -> CuResult<(Shape, Handle, Vec<LaunchAttribute>, LaunchEvents)> {
    let config = config.get()?;
    let count = config.numAttrs as usize;
    if count > LAUNCH_ATTRIBUTES_MAX {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller promises that the array has as many attributes as the configuration says.
    let attributes = unsafe { In::from_c(config.attrs.cast_const()).array(count) };
    let (mut wire, mut events) = (Vec::new(), LaunchEvents::default());
    for index in 0..count {
        let attribute = attributes.get(index)?;
        if events.read(&attribute)? {
            continue;
        }
        let CUlaunchAttribute { id, value, .. } = attribute;
        if id == CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_IGNORE {
            continue;
        }
        let id = id.0;
        if !LAUNCH_ATTRIBUTES.contains(&id) {
            say!(Warn, "launch attribute {id} is not supported");
            return Err(CuError::NOT_SUPPORTED);
        }
        // SAFETY: both types have 64 bytes, and every bit pattern is valid for integers.
        let value = unsafe { std::mem::transmute::<CUstreamAttrValue, [u64; 8]>(value) };
        wire.push(LaunchAttribute { id, value });
    }
    let shape = Shape {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        block: [config.blockDimX, config.blockDimY, config.blockDimZ],
        shared: config.sharedMemBytes,
    };
    Ok((shape, config.hStream as Handle, wire, events))
}

/// Queues a launch that a configuration describes.
///
/// # Safety
///
/// The requirements of [`read_config`] and [`with_parameters`] apply.
unsafe fn launch_ex(
    config: In<CUlaunchConfig>,
    function: Handle,
    arguments: (In<usize>, In<usize>),
    null: usize,
) -> CuResult {
    // SAFETY: the caller promises what `read_config` requires.
    let (shape, stream, attributes, events) = unsafe { read_config(config) }?;
    // SAFETY: the caller promises what `with_parameters` requires, and so what `launch` requires.
    unsafe { launch(function, shape, (stream, null), arguments, (&attributes, events)) }
}

/// Queries how many clusters of a launch can run at once, or how large a cluster may be.
///
/// # Safety
///
/// The requirements of [`read_config`] apply.
unsafe fn count_clusters(
    question: u32,
    out: Out<i32>,
    function: Handle,
    config: In<CUlaunchConfig>,
) -> CuResult {
    out.check()?;
    clusters::check(function, config)?;
    let driver = context::driver()?;
    let function: Arc<Function> = driver.handles.get(function)?;
    // SAFETY: the caller promises what `read_config` requires.
    let (shape, _, attributes, _) = unsafe { read_config(config) }?;
    let call = VcudaOccupancyClusters {
        question,
        f: function.id,
        grid_x: shape.grid[0],
        grid_y: shape.grid[1],
        grid_z: shape.grid[2],
        block_x: shape.block[0],
        block_y: shape.block[1],
        block_z: shape.block[2],
        shared_mem_bytes: shape.shared,
        attributes: (&attributes).into(),
    };
    out.set(ask(driver, &function, &call, |answer| answer.clusters as u64)? as i32)
}

entries! {
    fn cuLaunchKernel, fn cuLaunchKernel_ptsz(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32,
        block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, parameters: In<usize>, extra: In<usize>,
    ) |null| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = Shape { grid, block, shared };
        // SAFETY: the program passes arguments as the API requires for this function.
        unsafe { launch(function, shape, (stream, null), (parameters, extra), Default::default()) }
    }

    fn cuLaunchCooperativeKernel, fn cuLaunchCooperativeKernel_ptsz(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32,
        block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, parameters: In<usize>,
    ) |null| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = Shape { grid, block, shared };
        // SAFETY: the program passes arguments as the API requires for this function.
        unsafe { launch_cooperative(function, shape, (stream, null), parameters) }
    }

    fn cuLaunchKernelEx, fn cuLaunchKernelEx_ptsz(
        config: In<CUlaunchConfig>, function: Handle, parameters: In<usize>, extra: In<usize>,
    ) |null| {
        // SAFETY: the program passes arguments as the API requires for this function.
        unsafe { launch_ex(config, function, (parameters, extra), null) }
    }

    fn cuOccupancyMaxActiveClusters(
        out: Out<i32>, function: Handle, config: In<CUlaunchConfig>,
    ) {
        // SAFETY: the program passes a configuration as for a launch.
        unsafe { count_clusters(question::MAX_ACTIVE, out, function, config) }
    }

    fn cuOccupancyMaxPotentialClusterSize(
        out: Out<i32>, function: Handle, config: In<CUlaunchConfig>,
    ) {
        // SAFETY: the program passes a configuration as for a launch.
        unsafe { count_clusters(question::MAX_POTENTIAL_SIZE, out, function, config) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Origin;
    use protocol::structs::ParameterPlace;

    #[test]
    fn parameters_are_packed_according_to_the_layout() {
        let place = |(offset, size)| ParameterPlace { offset, size };
        let layout = [(0, 8), (8, 4), (16, 8)].map(place);
        let function = Function::new(FuncId(1), "f", Origin::Module(0), &layout).unwrap();
        let (a, b, c) = (0x1122_3344_5566_7788u64, 7u32, 9u64);
        let pointers = [&raw const a as usize, &raw const b as usize, &raw const c as usize];
        // SAFETY: the array has an address for each of the function's parameters.
        let parameters = unsafe { In::from_c(pointers.as_ptr()) };
        let check = |bytes: &[u8]| {
            assert_eq!(bytes.len(), 24);
            assert_eq!(bytes[..8], a.to_le_bytes());
            assert_eq!(bytes[8..12], b.to_le_bytes());
            assert_eq!(bytes[16..], c.to_le_bytes());
            Ok(())
        };
        // SAFETY: `parameters` has an address for each of the function's parameters.
        unsafe { with_parameters(&function, parameters, In::null(), check) }.unwrap();
        let buffer = [a, u64::from(b), c];
        let size = size_of_val(&buffer);
        let extra = [1, buffer.as_ptr() as usize, 2, &raw const size as usize, 0];
        // SAFETY: the pairs describe `buffer`, and the end marker follows them.
        let extra = unsafe { In::from_c(extra.as_ptr()) };
        // SAFETY: the pairs in `extra` describe a buffer, and the end marker follows them.
        unsafe { with_parameters(&function, In::null(), extra, check) }.unwrap();
        // SAFETY: `with_parameters` allows null pointers.
        let none = unsafe { with_parameters(&function, In::null(), In::null(), |_| Ok(())) };
        assert_eq!(none, Err(CuError::INVALID_VALUE));
    }
}
