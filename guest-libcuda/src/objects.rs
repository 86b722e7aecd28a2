//! The guest's record of contexts, streams, events, modules and kernels. Queries about properties
//! that can't change need no call to the worker.

use crate::error::{CuError, CuResult};
use crate::jit::JitOptions;
use crate::log::say;
use crate::remembered::{Remembered, Version};
use cuda_api::attributes::Attributes;
use cuda_api::coredump::Settings;
use cuda_api::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUevent_flags};
use parking_lot::Mutex;
use protocol::ids::{
    ArrayId, ContextId, EventId, FuncId, GreenId, LibraryId, LinkId, MipmapId, ModuleId, StreamId,
};
use protocol::limits::{FUNCTION_ATTRIBUTES_MAX, PARAMETER_BYTES_MAX};
use protocol::structs::{FunctionAttribute, ParameterPlace};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The properties that only green contexts have.
pub struct Green {
    pub id: GreenId,
    /// The device's primary context, to which the green context's memory and modules belong.
    pub home: &'static Context,
    /// The primary context's id when the green context was created.
    pub home_id: ContextId,
    /// The stream that is used in place of the default streams. Its work runs on the green
    /// context's SMs.
    pub default_stream: StreamId,
    /// The CUgreenCtx handle. The CUcontext handle is in [`Context`].
    pub handle: OnceLock<usize>,
}

/// The object behind a CUgreenCtx handle: the context to which the green context can be converted.
#[derive(Clone)]
pub struct GreenHandle(pub &'static Context);

/// All contexts that exist in the worker, and all primary contexts, but no green contexts.
static CONTEXTS: Mutex<Vec<&'static Context>> = Mutex::new(Vec::new());

/// A context. Threads keep references to contexts, and a program creates few of them, so their
/// memory is never freed.
pub struct Context {
    /// The context's id in the session. A primary context gets a new id whenever it becomes active.
    id: AtomicU64,
    /// The result of `cuCtxGetId`, unique in the process. The runtime's private tables return it
    /// too.
    pub unique: u64,
    /// The ordinal of the context's device, as the program sees it.
    pub device: i32,
    /// Whether this is the primary context of the device.
    pub primary: bool,
    /// Not `None` if the context was converted from a green context.
    pub green: Option<Green>,
    flags: AtomicU32,
    handle: AtomicUsize,
    alive: AtomicBool,
    /// The number of calls to `cuCtxAttach` without a `cuCtxDetach`.
    attached: AtomicU32,
    /// The attributes of core dumps that were set for this context.
    pub coredump: Settings,
}

impl Context {
    /// Creates a context. Its handle is set later.
    pub fn new(id: ContextId, device: i32, primary: bool, flags: u32) -> &'static Self {
        Self::leak((id, id.0), device, primary, flags, None)
    }

    /// Creates a green context. Its handles are set later.
    pub fn new_green(green: Green) -> &'static Self {
        let (device, flags) = (green.home.device, green.home.flags());
        Self::leak((green.home_id, green.id.0), device, false, flags, Some(green))
    }

    fn leak(
        (id, unique): (ContextId, u64),
        device: i32,
        primary: bool,
        flags: u32,
        green: Option<Green>,
    ) -> &'static Self {
        let context: &Self = Box::leak(Box::new(Self {
            id: AtomicU64::new(id.0),
            unique,
            device,
            primary,
            green,
            flags: AtomicU32::new(flags),
            handle: AtomicUsize::new(0),
            alive: AtomicBool::new(true),
            attached: AtomicU32::new(0),
            coredump: Settings::default(),
        }));
        if context.green.is_none() {
            CONTEXTS.lock().push(context);
        }
        context
    }

    /// Returns all contexts that currently exist in the worker, except green ones.
    pub fn all_alive() -> Vec<&'static Self> {
        let mut all = CONTEXTS.lock();
        // Keep primary contexts, because only they can be created again after they have been
        // destroyed.
        all.retain(|context| context.primary || context.is_alive());
        all.iter().copied().filter(|context| context.is_alive()).collect()
    }

    /// Counts a `cuCtxAttach`.
    pub fn attach(&self) {
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// Undoes one `cuCtxAttach`. Returns false if there is none to undo.
    pub fn detach(&self) -> bool {
        let less = |count: u32| count.checked_sub(1);
        self.attached.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Returns the context's id in the session. A green context has the id of its primary context.
    #[inline]
    pub fn id(&self) -> ContextId {
        ContextId(self.id.load(Ordering::Relaxed))
    }

    /// Returns the context's handle in the program.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    /// Sets the context's handle in the program.
    pub fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// Returns the flags of `cuCtxCreate` or `cuCtxSetFlags`.
    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Changes the flags of the context.
    pub fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// Returns whether the context currently exists in the worker. A green context is destroyed
    /// with its primary context.
    pub fn is_alive(&self) -> bool {
        let has_home = |green: &Green| green.home.is_alive() && green.home.id() == green.home_id;
        self.alive.load(Ordering::Relaxed) && self.green.as_ref().is_none_or(has_home)
    }

    /// Returns the context that owns memory allocated in this context.
    pub fn owner(&self) -> &Self {
        self.green.as_ref().map_or(self, |green| green.home)
    }

    /// Returns the handle of the green context that was converted to this context, or 0.
    pub fn green_handle(&self) -> usize {
        self.green.as_ref().and_then(|green| green.handle.get()).copied().unwrap_or(0)
    }

    /// Marks the context as destroyed.
    pub fn end(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    /// Marks a primary context as existing again, under a new id.
    pub fn revive(&self, id: ContextId) {
        self.id.store(id.0, Ordering::Relaxed);
        self.alive.store(true, Ordering::Relaxed);
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A stream that the program created.
pub struct Stream {
    pub id: StreamId,
    pub flags: u32,
    pub priority: AtomicI32,
    /// The attributes that the program has set, which captured launches inherit.
    pub attributes: Mutex<Attributes>,
    pub context: &'static Context,
}

impl Stream {
    /// Fails if the stream belongs to a green context that has been destroyed. Other streams need
    /// no check: their handles are invalidated when their context is destroyed.
    pub fn check(&self) -> CuResult {
        if self.context.is_alive() { Ok(()) } else { Err(CuError::CONTEXT_IS_DESTROYED) }
    }
}

/// An event that the program created.
pub struct Event {
    pub id: EventId,
    pub flags: u32,
    pub context: ContextId,
}

impl Event {
    /// Returns whether other processes may use the event.
    pub fn is_interprocess(&self) -> bool {
        self.flags & CUevent_flags::CU_EVENT_INTERPROCESS.0 != 0
    }

    /// Returns whether a thread that waits for the event sleeps.
    pub fn is_blocking(&self) -> bool {
        self.flags & CUevent_flags::CU_EVENT_BLOCKING_SYNC.0 != 0
    }

    /// Returns whether the event records the time.
    pub fn has_timing(&self) -> bool {
        self.flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0
    }
}

/// An array, or a level of a mipmapped array.
pub struct Array {
    pub id: ArrayId,
    pub descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    /// Whether the array is a level of a mipmapped array. Its memory then belongs to the mipmapped
    /// array.
    pub is_level: bool,
    pub context: &'static Context,
}

/// A mipmapped array.
pub struct Mipmap {
    pub id: MipmapId,
    /// The properties of the first level.
    pub descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    /// The handle of each level that the program has queried, by the level's number.
    pub levels: Mutex<HashMap<u32, usize>>,
    pub level_count: u32,
    pub context: &'static Context,
}

/// A link in progress.
pub struct Link {
    pub id: LinkId,
    /// The options that the program created the link with, and its buffers for the logs.
    pub jit: JitOptions,
    /// The linked image, once the link is complete. The program uses it until it destroys the link.
    pub image: OnceLock<Vec<u8>>,
}

/// The handles of functions by name, so that looking up the same name twice returns the same
/// handle.
pub type ByName = Mutex<HashMap<Vec<u8>, usize>>;

/// The addresses and sizes of variables, by name and by the context in which they were queried.
pub type Globals = Mutex<HashMap<(ContextId, Vec<u8>), (u64, usize)>>;

/// A module.
pub struct Module {
    pub id: ModuleId,
    pub context: ContextId,
    pub functions: ByName,
    /// The handle of the library that the module belongs to, if any. The program can't unload the
    /// module of a library.
    pub library: Option<usize>,
    /// The variables that the program has queried. They are removed from the map of the program's
    /// memory when the module is unloaded.
    pub globals: Globals,
    pub function_count: OnceLock<u32>,
}

/// A library.
pub struct Library {
    pub id: LibraryId,
    /// If the image is damaged, the error of the calls that look something up in the library. The
    /// worker then doesn't know the library.
    pub failed: Option<CuError>,
    pub kernels: ByName,
    /// The handles of the library's modules, by context id.
    pub modules: Mutex<HashMap<ContextId, usize>>,
    /// The handles of the kernels' functions, by context id and by the kernel's handle. A function
    /// is the same object as its kernel, but the function's handle is invalidated when its context
    /// is destroyed.
    pub functions: Mutex<HashMap<(ContextId, usize), usize>>,
    /// The variables that the program has queried. They are removed from the map of the program's
    /// memory when the library is unloaded.
    pub globals: Globals,
    pub kernel_count: OnceLock<u32>,
    /// The addresses of the managed variables of which the program has a copy.
    pub managed: Mutex<Vec<u64>>,
    /// Whether the library retains the primary context of device 0, for its managed variables.
    pub holds_primary: AtomicBool,
}

/// The object that a function belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The handle of the function's module.
    Module(usize),
    /// The handle of the kernel's library.
    Library(usize),
}

/// The offset and size of one kernel parameter in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub offset: usize,
    pub size: usize,
}

/// The maximum length in bytes of a list of all attributes of a function in a reply.
pub const ATTRIBUTES_ROOM: usize = FUNCTION_ATTRIBUTES_MAX * 16 + 8;

/// The context or device for which a function's attributes were queried.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// A context, for the attributes of functions.
    Context(ContextId),
    /// A device, for the attributes of kernels. The id is that of the device's primary context, so
    /// the attributes are forgotten when that context is destroyed.
    Device(ContextId),
}

/// A function of a module, or a kernel of a library.
pub struct Function {
    pub id: FuncId,
    pub name: CString,
    pub origin: Origin,
    pub parameters: Vec<Parameter>,
    /// The size of the parameter buffer in bytes.
    pub parameter_bytes: usize,
    /// The attributes by their number and by the context or device for which they were queried.
    pub attributes: Remembered<(Place, u32), i32>,
    /// The values to which the program has set attributes. A value is removed if anything else may
    /// have changed the attribute.
    pub set: Remembered<(Place, u32), i32>,
    /// The attribute CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, queried at the first launch.
    pub max_threads: OnceLock<u32>,
    /// The results of occupancy queries, by context and by the encoded query.
    pub occupancy: Remembered<(ContextId, Vec<u8>), u64>,
}

impl Function {
    /// Creates a function from the worker's description of its parameters.
    pub fn new(
        id: FuncId,
        name: &str,
        origin: Origin,
        layout: &[ParameterPlace],
    ) -> CuResult<Self> {
        let (parameters, parameter_bytes) = Self::parse_layout(layout).ok_or_else(|| {
            say!(Error, "the worker sent an invalid parameter layout for kernel {name}");
            CuError::UNKNOWN
        })?;
        Ok(Self {
            id,
            name: CString::new(name).map_err(|_| CuError::INVALID_VALUE)?,
            origin,
            parameters,
            parameter_bytes,
            attributes: Default::default(),
            set: Default::default(),
            max_threads: OnceLock::new(),
            occupancy: Default::default(),
        })
    }

    /// Remembers the attributes in a reply from the worker, unless they may be outdated because an
    /// attribute was set after `version` was current.
    pub fn keep_attributes(
        &self,
        version: Version,
        place: Place,
        attributes: &[FunctionAttribute],
    ) {
        let known = attributes.iter().zip(0..).filter(|(attribute, _)| attribute.result == 0);
        let answers = known.map(|(attribute, number)| ((place, number), attribute.value));
        self.attributes.keep(version, answers);
    }

    /// Forgets the results of queries that depend on the function's attributes and settings.
    pub fn forget_answers(&self) {
        self.attributes.forget();
        self.set.forget();
        self.occupancy.forget();
    }

    /// Checks the worker's description of a kernel's parameters. Returns the parameters and the
    /// size of their buffer in bytes, or `None` if the description is invalid.
    fn parse_layout(places: &[ParameterPlace]) -> Option<(Vec<Parameter>, usize)> {
        let mut end = 0;
        let mut parameters = Vec::with_capacity(places.len());
        for place in places {
            let offset = usize::try_from(place.offset).ok()?;
            let size = usize::try_from(place.size).ok()?;
            let parameter_end = offset.checked_add(size)?;
            if parameter_end > PARAMETER_BYTES_MAX {
                return None;
            }
            end = end.max(parameter_end);
            parameters.push(Parameter { offset, size });
        }
        Some((parameters, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_parameter_layouts_are_refused() {
        let place = |(offset, size)| ParameterPlace { offset, size };
        let layout = [(0, 8), (8, 4), (16, 24)].map(place);
        let (parameters, end) = Function::parse_layout(&layout).unwrap();
        assert_eq!(parameters[2], Parameter { offset: 16, size: 24 });
        assert_eq!(end, 40);
        assert_eq!(Function::parse_layout(&[]), Some((vec![], 0)));
        for bad in [(u64::MAX, 8), (1 << 20, 8), (PARAMETER_BYTES_MAX as u64, 1)] {
            assert_eq!(Function::parse_layout(&[place(bad)]), None);
        }
    }
}
