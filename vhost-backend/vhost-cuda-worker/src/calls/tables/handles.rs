//! Tables that map the guest's ids to the driver's handles.
//!
//! The guest chooses the ids, and only these tables map them to the driver's handles. Therefore, a
//! forged id causes an error, but the driver never gets an invalid pointer. The tables have a
//! maximum size, so a guest can't make the worker's memory grow without limit by creating objects.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock};

use cuda_api::sys::{
    CUcontext, CUdevice, CUevent, CUfunction, CUgreenCtx, CUkernel, CUlibrary, CUmodule, CUstream,
    CUsurfref, CUtexref,
};

use host_ipc::messages::Token;
use protocol::ids::{
    ArrayId, ContextId, EventId, FuncId, GraphExecId, GreenId, KernelId, LibraryId, LinkId,
    MipmapId, ModuleId, StreamId, SurfRefId, TexRefId, ValuesId,
};
use protocol::limits::HANDLES_MAX;

use crate::calls::arrays::array::{Array, Mipmap};
use crate::calls::code::library_kernels::LibraryKernels;
use crate::calls::code::link_state::Link;
use crate::calls::contexts::charges::{Code, Load, Need};
use crate::calls::graphs::graph_conditions::Values;
use crate::calls::graphs::graph_exec::GraphExec;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::id_map::{Id, IdMap};
use crate::calls::tables::uses::{Object, use_objects};
use crate::driver::{CuError, CuResult};

/// An object in a table.
pub(in crate::calls) trait Listed<K> {
    /// Returns the context with which the driver destroys the object, or 0 if there is none.
    fn ctx(&self) -> ContextId;

    /// Returns the object, or the larger object of which it's a part, for counting its uses by
    /// calls on mirrors. Returns `None` if no call on a mirror uses such objects. `id` is the
    /// object's id in the table.
    fn object(&self, id: K) -> Option<Object>;
}

/// The objects of one kind that the guest has created, by id.
pub(in crate::calls) struct Table<K, T> {
    entries: IdMap<K, T>,
    /// Ids that can't be used because the worker is creating or destroying their object. If the
    /// object is being destroyed together with a context, the value is the id of that context. In
    /// all other cases, the value is 0.
    claimed: IdMap<K, ContextId>,
    /// The contexts that are being destroyed. A call in progress may still add an object of such a
    /// context to the table, but no call can look it up.
    ending: Vec<ContextId>,
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Self {
        Self { entries: IdMap::default(), claimed: IdMap::default(), ending: Vec::new() }
    }
}

impl<K: Id, T: Listed<K>> Table<K, T> {
    /// Looks up an object for a call that passes it to the driver. If the call runs on a mirror,
    /// neither the object nor its context is destroyed before the call has ended.
    pub(in crate::calls) fn get(&self, id: K) -> CuResult<&T> {
        let found = self.entries.get(&id).ok_or(CuError::INVALID_HANDLE)?;
        let ctx = found.ctx();
        if !self.ending.is_empty() && self.ending.contains(&ctx) {
            return Err(CuError::INVALID_HANDLE);
        }
        use_objects(|| [Some(Object::Context(ctx)), found.object(id)]);
        Ok(found)
    }

    /// Removes and returns the objects of a context that is being destroyed. From now on, calls
    /// can't look up objects of this context, even objects that are added later.
    fn end_of(&mut self, ctx: ContextId) -> Vec<T> {
        if !self.ending.contains(&ctx) {
            self.ending.push(ctx);
        }
        self.entries.extract_if(|_, value| value.ctx() == ctx).map(|(_, value)| value).collect()
    }

    /// Records that no more objects can be added in a context that was being destroyed.
    fn ended(&mut self, ctx: ContextId) {
        self.ending.retain(|ending| *ending != ctx);
    }
}

impl<K: Id, T> Table<K, T> {
    /// Fails if a new object can't get the id `id`, because the id is in use or claimed, or because
    /// the table is full.
    fn vacant(&self, id: K) -> CuResult {
        if id == K::default() || self.entries.contains_key(&id) || self.claimed.contains_key(&id) {
            return Err(CuError::INVALID_VALUE);
        }
        if self.entries.len() + self.claimed.len() >= HANDLES_MAX {
            return Err(CuError::OUT_OF_MEMORY);
        }
        Ok(())
    }

    /// Claims an id for an object that is about to be created; see [`crate::calls::tables::claims`].
    pub(in crate::calls) fn claim(&mut self, id: K) -> CuResult {
        self.vacant(id)?;
        self.claimed.insert(id, ContextId::NONE);
        Ok(())
    }

    /// Adds an object under an id that has been claimed for it.
    pub(in crate::calls) fn list(&mut self, id: K, value: T) {
        self.claimed.remove(&id);
        self.entries.insert(id, value);
    }

    /// Removes and returns an object. Its id stays claimed.
    pub(in crate::calls) fn take(&mut self, id: K) -> CuResult<T> {
        let value = self.remove(id)?;
        self.claimed.insert(id, ContextId::NONE);
        Ok(value)
    }

    /// Ends the claim on an id, so that a new object can get it.
    pub(in crate::calls) fn free(&mut self, id: K) {
        self.claimed.remove(&id);
    }

    pub(in crate::calls) fn get_mut(&mut self, id: K) -> CuResult<&mut T> {
        self.entries.get_mut(&id).ok_or(CuError::INVALID_HANDLE)
    }

    /// Removes and returns an object, without claiming its id. Must be used only for objects for
    /// which no memory is charged.
    pub(in crate::calls) fn remove(&mut self, id: K) -> CuResult<T> {
        self.entries.remove(&id).ok_or(CuError::INVALID_HANDLE)
    }

    /// Removes all objects for which `gone` returns true.
    pub(in crate::calls) fn remove_where(&mut self, gone: impl Fn(&T) -> bool) {
        self.entries.retain(|_, value| !gone(value));
    }

    /// Removes all objects for whose ids `gone` returns true, and returns the ids.
    fn remove_ids(&mut self, gone: impl Fn(&K) -> bool) -> impl Iterator<Item = K> {
        self.entries.extract_if(move |id, _| gone(id)).map(|(id, _)| id)
    }

    /// Claims the ids of the objects for which `of` returns true, because they are about to be
    /// destroyed together with a context. The claims last until [`Table::free_of`] is called.
    fn claim_of(&mut self, ctx: ContextId, of: impl Fn(&T) -> bool) {
        let Self { entries, claimed, .. } = self;
        let ids = entries.iter().filter(|(_, value)| of(value)).map(|(id, _)| *id);
        claimed.extend(ids.map(|id| (id, ctx)));
    }

    /// Ends the claims on the ids of objects that were destroyed together with the context `ctx`.
    fn free_of(&mut self, ctx: ContextId) {
        self.claimed.retain(|_, of| *of != ctx);
    }

    pub(in crate::calls) fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.entries.iter().map(|(id, value)| (*id, value))
    }

    pub(in crate::calls) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.values_mut()
    }
}

pub(in crate::calls) struct Context {
    pub real: DriverHandle<CUcontext>,
    pub device: CUdevice,
    pub primary: bool,
    /// Whether work may have been queued in the context's legacy stream since the worker last found
    /// that stream empty.
    pub legacy_used: bool,
    /// Whether the context is being destroyed, so that calls must not use it.
    pub ending: bool,
}

/// A green context, which is destroyed together with its primary context.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Green {
    pub real: DriverHandle<CUgreenCtx>,
    /// The primary context.
    pub ctx: ContextId,
    pub device: CUdevice,
    /// Whether the green context is being destroyed, so that calls must not use it.
    pub ending: bool,
}

#[derive(Clone)]
pub(in crate::calls) struct Stream {
    pub real: DriverHandle<CUstream>,
    pub ctx: ContextId,
    /// The green context to which the stream belongs, or 0 if it belongs to none.
    pub green: GreenId,
    /// Whether work may have been queued in the stream since the worker last found it empty.
    pub used: bool,
    /// Whether the stream is a blocking one, which synchronizes with the legacy stream.
    pub blocking: bool,
}

/// The place at which an event was last recorded, if the worker knows it.
#[derive(Clone, Copy, Default)]
pub(in crate::calls) enum Recorded {
    /// The place is unknown until the event is next recorded in a stream.
    #[default]
    Unknown,
    /// The event was recorded in a stream, by the command with this sequence number.
    In(DriverHandle<CUstream>, ContextId, u64),
    /// The place can't be known any more, because graphs use the event, and each launch of such a
    /// graph can record it.
    InGraphs,
}

/// An event, which is destroyed together with its context.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Event {
    pub real: DriverHandle<CUevent>,
    pub ctx: ContextId,
    /// Whether other processes may use the event. A stream that waits for such an event may wait
    /// forever.
    pub interprocess: bool,
    /// Whether the event records the time.
    pub timing: bool,
    pub recorded: Recorded,
    /// The name under which this session exports the event, if it exports the event.
    pub token: Option<Token>,
}

/// A texture reference or surface reference, which is destroyed together with its module.
#[derive(Clone, Copy)]
pub(in crate::calls) struct OfModule<H> {
    pub real: DriverHandle<H>,
    pub module: ModuleId,
    /// The module or the library to which the reference belongs, for counting uses.
    pub object: Option<Object>,
    pub ctx: ContextId,
}

impl<H> OfModule<H> {
    pub(in crate::calls) fn new(real: H, (id, module): (ModuleId, &Module)) -> Self {
        let object = module.object(id);
        Self { real: DriverHandle(real), module: id, object, ctx: module.ctx }
    }
}

#[derive(Clone)]
pub(in crate::calls) struct Module {
    pub real: DriverHandle<CUmodule>,
    pub ctx: ContextId,
    /// The library to which the module belongs, if it belongs to one. Unloading that library also
    /// unloads the module.
    pub library: Option<LibraryId>,
    /// The description under which the module's memory is charged. A module that belongs to a
    /// library has the library's description.
    pub load: Load,
}

#[derive(Clone)]
pub(in crate::calls) struct Library {
    pub real: DriverHandle<CUlibrary>,
    /// The description under which the library's memory is charged.
    pub load: Load,
    /// The library's kernels. The list isn't filled before the guest first gets several kernels
    /// with one call.
    pub kernels: Arc<OnceLock<Mutex<LibraryKernels>>>,
}

/// The module or library to which a function belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) enum Owner {
    Module { id: ModuleId, ctx: ContextId },
    Library { id: LibraryId, ctx: ContextId },
}

/// The offset and size of each kernel parameter in the parameter buffer, in bytes. `None` if the
/// driver doesn't report them.
pub(in crate::calls) type Layout = Option<Arc<[(u32, u32)]>>;

#[derive(Clone)]
pub(in crate::calls) struct Function {
    /// The driver's handle. For a kernel, it's the CUkernel, cast to a CUfunction, because many
    /// driver calls accept both types.
    pub real: DriverHandle<CUfunction>,
    pub is_kernel: bool,
    pub layout: Layout,
    pub owner: Owner,
    /// The description under which the memory of the function's module or library is charged.
    pub load: Load,
    /// The size of the code that the driver may load at the first launch.
    pub code: Code,
    /// The function's need of local memory, or [`Need::UNKNOWN`] if its next launch must be checked.
    pub need: Need,
}

impl Function {
    /// Returns the size of the parameter buffer in bytes, or 0 if the driver doesn't report it.
    pub(in crate::calls) fn parameter_bytes(&self) -> usize {
        let last = self.layout.as_deref().and_then(|layout| layout.last());
        last.map_or(0, |(offset, size)| (*offset + *size) as usize)
    }

    /// Returns whether both values are the same function of the same loaded module or library.
    pub(in crate::calls) fn is(&self, other: &Self) -> bool {
        self.real == other.real && self.load.is(&other.load)
    }
}

/// Identifies a guest thread's per-thread default stream in a context. The worker uses an ordinary
/// stream for each of them, because a single thread of the worker makes the calls of all guest
/// threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::calls) struct ThreadStream {
    pub thread: u32,
    pub ctx: ContextId,
}

/// A per-thread default stream.
#[derive(Clone, Copy)]
pub(in crate::calls) struct DefaultStream {
    pub real: DriverHandle<CUstream>,
    pub ctx: ContextId,
    /// Whether the guest has changed the stream's attributes.
    pub changed: bool,
}

/// The per-thread default streams of a session.
#[derive(Default)]
pub(in crate::calls) struct ThreadStreams {
    pub of: HashMap<ThreadStream, DefaultStream>,
    /// The streams of threads that have exited. They may still contain unfinished work.
    pub ended: Vec<DefaultStream>,
}

impl ThreadStreams {
    /// Returns the per-thread default streams in a context.
    pub(in crate::calls) fn in_context(
        &self,
        ctx: ContextId,
    ) -> impl Iterator<Item = DefaultStream> + '_ {
        self.of.values().chain(&self.ended).filter(move |stream| stream.ctx == ctx).copied()
    }

    /// Removes and returns the per-thread default streams in a context that is about to be
    /// destroyed.
    fn end_of(&mut self, ctx: ContextId) -> Vec<DriverHandle<CUstream>> {
        let of = self.of.extract_if(|key, _| key.ctx == ctx).map(|(_, stream)| stream);
        let gone = of.chain(self.ended.extract_if(.., |stream| stream.ctx == ctx));
        gone.map(|stream| stream.real).collect()
    }
}

/// The objects of a context that is being destroyed. They have already been removed from the
/// tables.
#[derive(Default)]
pub(in crate::calls) struct Leftovers {
    pub graphs: Vec<GraphExec>,
    pub values: Vec<Arc<Values>>,
    pub textures: Vec<u64>,
    pub surfaces: Vec<u64>,
    pub arrays: Vec<Array>,
    pub mipmaps: Vec<Mipmap>,
    pub events: Vec<Event>,
    pub streams: Vec<DriverHandle<CUstream>>,
    pub modules: Vec<Module>,
}

/// All objects that the guest has created in the session, by kind.
#[derive(Default)]
pub(in crate::calls) struct Tables {
    pub contexts: Table<ContextId, Context>,
    pub greens: Table<GreenId, Green>,
    pub streams: Table<StreamId, Stream>,
    pub events: Table<EventId, Event>,
    pub modules: Table<ModuleId, Module>,
    pub libraries: Table<LibraryId, Library>,
    pub functions: Table<FuncId, Function>,
    pub graphs: Table<GraphExecId, GraphExec>,
    pub values: Table<ValuesId, Arc<Values>>,
    pub arrays: Table<ArrayId, Array>,
    pub mipmaps: Table<MipmapId, Mipmap>,
    /// The texture objects and surface objects, by their contexts and the driver's handles.
    pub textures: Table<(ContextId, u64), ()>,
    pub surfaces: Table<(ContextId, u64), ()>,
    pub texrefs: Table<TexRefId, OfModule<CUtexref>>,
    pub surfrefs: Table<SurfRefId, OfModule<CUsurfref>>,
    pub links: Table<LinkId, Link>,
    pub thread_streams: ThreadStreams,
    /// The objects of contexts that are being destroyed.
    leftovers: IdMap<ContextId, Leftovers>,
}

impl Tables {
    pub(in crate::calls) fn kernel(&self, id: KernelId) -> CuResult<CUkernel> {
        let function = self.functions.get(id.into())?;
        if function.is_kernel { Ok(function.real.0.cast()) } else { Err(CuError::INVALID_HANDLE) }
    }

    /// Returns the ordinal of the device to which a context belongs.
    pub(in crate::calls) fn device_of(&self, ctx: ContextId) -> Option<usize> {
        usize::try_from(self.contexts.get(ctx).ok()?.device).ok()
    }

    /// Returns the address of a stream's handle and the id of the stream's context. Returns `None`
    /// if the stream doesn't exist, or is a per-thread default stream that hasn't been used yet.
    pub(in crate::calls) fn stream_key(
        &self,
        thread: u32,
        ctx: ContextId,
        stream: StreamId,
    ) -> Option<(u64, ContextId)> {
        match stream {
            StreamId::DEFAULT | StreamId::LEGACY => Some((0, ctx)),
            StreamId::PER_THREAD => {
                let stream = self.thread_streams.of.get(&ThreadStream { thread, ctx })?;
                Some((stream.real.0 as u64, ctx))
            }
            id => {
                let stream = self.streams.get(id).ok()?;
                Some((stream.real.0 as u64, stream.ctx))
            }
        }
    }

    /// Removes everything in a context that is about to be destroyed from the tables, and keeps it
    /// for [`Tables::forget_context`]. The ids of the context and of everything that is charged in
    /// it stay claimed until [`Tables::free_ids_of`] is called.
    pub(in crate::calls) fn begin_end_of_context(&mut self, ctx: ContextId) -> CuResult {
        let context = self.contexts.get_mut(ctx).map_err(|_| CuError::INVALID_CONTEXT)?;
        context.ending = true;
        let of_context = |green: &&mut Green| green.ctx == ctx;
        self.greens.values_mut().filter(of_context).for_each(|green| green.ending = true);
        let left = self.leftovers.entry(ctx).or_default();
        left.streams.extend(self.streams.end_of(ctx).into_iter().map(|stream| stream.real));
        left.streams.extend(self.thread_streams.end_of(ctx));
        left.events.extend(self.events.end_of(ctx));
        left.graphs.extend(self.graphs.end_of(ctx));
        left.values.extend(self.values.end_of(ctx));
        left.arrays.extend(self.arrays.end_of(ctx));
        left.mipmaps.extend(self.mipmaps.end_of(ctx));
        left.textures.extend(self.textures.remove_ids(|(of, _)| *of == ctx).map(|(_, it)| it));
        left.surfaces.extend(self.surfaces.remove_ids(|(of, _)| *of == ctx).map(|(_, it)| it));
        self.modules.claim_of(ctx, |module| module.ctx == ctx);
        left.modules.extend(self.modules.end_of(ctx));
        self.texrefs.end_of(ctx);
        self.surfrefs.end_of(ctx);
        self.functions.end_of(ctx);
        Ok(())
    }

    /// Removes and returns a context that is about to be destroyed, and the objects in it. No call
    /// may use them any more.
    pub(in crate::calls) fn forget_context(
        &mut self,
        ctx: ContextId,
    ) -> CuResult<(Context, Leftovers)> {
        // Remove objects from the tables again, because calls in progress may have added some since
        // the first time.
        self.begin_end_of_context(ctx)?;
        let context = self.contexts.remove(ctx).map_err(|_| CuError::INVALID_CONTEXT)?;
        self.contexts.claimed.insert(ctx, ctx);
        self.streams.ended(ctx);
        self.events.ended(ctx);
        self.graphs.ended(ctx);
        self.values.ended(ctx);
        self.arrays.ended(ctx);
        self.mipmaps.ended(ctx);
        self.modules.ended(ctx);
        self.texrefs.ended(ctx);
        self.surfrefs.ended(ctx);
        self.functions.ended(ctx);
        Ok((context, self.leftovers.remove(&ctx).unwrap_or_default()))
    }

    /// Ends the claims on the ids of a destroyed context and of everything that was charged in it.
    /// Must be called after their charges were released.
    pub(in crate::calls) fn free_ids_of(&mut self, ctx: ContextId) {
        self.modules.free_of(ctx);
        self.contexts.free_of(ctx);
    }

    /// Removes the functions and references that belong to a module.
    pub(in crate::calls) fn forget_parts_of_module(&mut self, id: ModuleId) {
        self.texrefs.remove_where(|texture| texture.module == id);
        self.surfrefs.remove_where(|surface| surface.module == id);
        self.functions
            .remove_where(|f| matches!(f.owner, Owner::Module { id: owner, .. } if owner == id));
    }

    /// Removes the modules and functions that belong to a library.
    pub(in crate::calls) fn forget_parts_of_library(&mut self, id: LibraryId) {
        let modules = self.modules.iter().filter(|(_, module)| module.library == Some(id));
        let modules: Vec<ModuleId> = modules.map(|(id, _)| id).collect();
        modules.into_iter().for_each(|module| self.forget_parts_of_module(module));
        self.modules.remove_where(|module| module.library == Some(id));
        self.functions.remove_where(
            |function| matches!(function.owner, Owner::Library { id: owner, .. } if owner == id),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forged_id_is_an_invalid_handle() {
        let mut table = Table::default();
        table.claim(7).unwrap();
        assert_eq!(table.get(7), Err(CuError::INVALID_HANDLE));
        table.list(7, "seven");
        assert_eq!(table.get(7), Ok(&"seven"));
        for id in [0, 6, 8, u64::MAX] {
            assert_eq!(table.get(id), Err(CuError::INVALID_HANDLE));
            assert_eq!(table.remove(id), Err(CuError::INVALID_HANDLE));
        }
    }

    #[test]
    fn an_id_in_use_and_the_id_0_are_refused() {
        let mut table = Table::default();
        table.list(7, ());
        assert_eq!(table.vacant(7), Err(CuError::INVALID_VALUE));
        assert_eq!(table.vacant(0), Err(CuError::INVALID_VALUE));
        table.remove(7).unwrap();
        assert_eq!(table.vacant(7), Ok(()));
    }

    #[test]
    fn a_context_takes_what_it_owns_with_it() {
        let mut tables = Tables::default();
        for ctx in [1, 2] {
            let real = DriverHandle(std::ptr::null_mut());
            tables.contexts.list(
                ContextId(ctx),
                Context { real, device: 0, primary: true, legacy_used: false, ending: false },
            );
            let real = DriverHandle(std::ptr::null_mut());
            tables.streams.list(
                StreamId(10 + ctx),
                Stream {
                    real,
                    ctx: ContextId(ctx),
                    green: GreenId::default(),
                    used: false,
                    blocking: true,
                },
            );
        }
        assert!(tables.forget_context(ContextId(1)).is_ok());
        assert!(tables.streams.get(StreamId(11)).is_err());
        assert!(tables.streams.get(StreamId(12)).is_ok());
        assert_eq!(tables.forget_context(ContextId(1)).err(), Some(CuError::INVALID_CONTEXT));
        assert_eq!(tables.contexts.vacant(ContextId(1)), Err(CuError::INVALID_VALUE));
        tables.free_ids_of(ContextId(1));
        assert_eq!(tables.contexts.vacant(ContextId(1)), Ok(()));
    }
}
