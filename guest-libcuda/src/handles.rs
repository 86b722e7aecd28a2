//! The handles that programs hold: pointers to reserved addresses that are never mapped.
//!
//! A handle's offset in the range encodes a slot, and a count of how many objects have used the
//! slot before. Because of this count, and because handles are never dereferenced, forged and stale
//! handles are recognized safely.

use crate::error::{CuError, CuResult};
use crate::graph::Exec;
use crate::objects::{
    Array, Context, Event, Function, GreenHandle, Library, Link, Mipmap, Module, Stream,
};
use crate::thread;
use parking_lot::{Mutex, RwLock};
use protocol::ids::ContextId;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The C type of a handle, as an integer.
pub type Handle = usize;

/// The distance in bytes between the handles of consecutive slots.
const STEP: usize = 16;
const SLOT_BITS: u32 = 22;
const SLOTS: usize = 1 << SLOT_BITS;
/// The addresses that are reserved for handles. These 4 TiB are enough for 4 million slots, each of
/// which can be used for 65,536 objects, one after another.
pub const WINDOW: Range<usize> = 0x2800_0000_0000..0x2c00_0000_0000;
const GENERATIONS: usize = (WINDOW.end - WINDOW.start) / STEP / SLOTS;
const CHUNK: usize = 1024;

/// The object that a handle refers to. Kernels and functions are both [`Function`]s.
#[derive(Clone)]
pub enum Object {
    Context(&'static Context),
    Stream(Arc<Stream>),
    Event(Arc<Event>),
    Module(Arc<Module>),
    Library(Arc<Library>),
    Function(Arc<Function>),
    GraphExec(Arc<Exec>),
    Array(Arc<Array>),
    Mipmap(Arc<Mipmap>),
    Link(Arc<Link>),
    Green(GreenHandle),
}

impl Object {
    /// Returns the context whose destruction invalidates the object's handle, if there is one.
    /// There is none for a function, which is invalidated with its module.
    pub fn context(&self) -> Option<ContextId> {
        match self {
            Self::Stream(stream) => Some(stream.context.id()),
            Self::Event(event) => Some(event.context),
            Self::Module(module) => Some(module.context),
            Self::GraphExec(exec) => Some(exec.loaded.context),
            Self::Array(array) => Some(array.context.id()),
            Self::Mipmap(mipmap) => Some(mipmap.context.id()),
            Self::Context(_) | Self::Library(_) | Self::Function(_) | Self::Link(_) => None,
            Self::Green(_) => None,
        }
    }
}

/// A type of object that can be looked up by handle.
pub trait Named: Sized {
    /// Whether the error for a destroyed current context takes precedence over the error for an
    /// invalid handle of this type.
    const AFTER_CONTEXT: bool;

    /// Returns the object, if it has this type.
    fn of(object: &Object) -> Option<Self>;
}

macro_rules! named {
    ($after_context:literal: $($kind:ident: $t:ty),*) => { $(
        impl Named for $t {
            const AFTER_CONTEXT: bool = $after_context;

            fn of(object: &Object) -> Option<Self> {
                match object {
                    Object::$kind(object) => Some(object.clone()),
                    _ => None,
                }
            }
        }
    )* };
}
named! {
    true: Context: &'static Context, Stream: Arc<Stream>, Event: Arc<Event>, Library: Arc<Library>,
    GraphExec: Arc<Exec>, Array: Arc<Array>, Mipmap: Arc<Mipmap>, Link: Arc<Link>, Green: GreenHandle
}
named! { false: Module: Arc<Module>, Function: Arc<Function> }

#[derive(Default)]
struct Slot {
    occupant: RwLock<Occupant>,
}

#[derive(Default)]
struct Occupant {
    generation: usize,
    object: Option<Object>,
    /// The error of calls with the slot's previous handle, or `None` if there was no previous
    /// handle.
    ended: Option<CuError>,
}

impl Occupant {
    fn get<T: Named>(&self, generation: usize) -> CuResult<T> {
        if self.generation == generation {
            self.object.as_ref().and_then(T::of).ok_or(CuError::INVALID_HANDLE)
        } else if self.generation == (generation + 1) % GENERATIONS {
            Err(self.ended.unwrap_or(CuError::INVALID_HANDLE))
        } else {
            Err(CuError::INVALID_HANDLE)
        }
    }

    /// Frees the slot's handle and returns its object. Later calls with the handle fail with
    /// `error`.
    fn end(&mut self, error: CuError) -> Option<Object> {
        self.generation = (self.generation + 1) % GENERATIONS;
        self.ended = Some(error);
        self.object.take()
    }
}

#[derive(Default)]
struct Free {
    /// Free slots, in the order in which they became free.
    slots: std::collections::VecDeque<usize>,
    used: usize,
}

/// All handles of the process.
pub struct Handles {
    chunks: Box<[OnceLock<Box<[Slot]>>]>,
    free: Mutex<Free>,
}

impl Default for Handles {
    fn default() -> Self {
        Self {
            chunks: (0..SLOTS / CHUNK).map(|_| OnceLock::new()).collect(),
            free: Mutex::default(),
        }
    }
}

impl Handles {
    fn slot(&self, index: usize) -> Option<&Slot> {
        self.chunks.get(index / CHUNK)?.get()?.get(index % CHUNK)
    }

    fn find(&self, handle: Handle) -> Option<(usize, usize, &Slot)> {
        if !WINDOW.contains(&handle) || !handle.is_multiple_of(STEP) {
            return None;
        }
        let number = (handle - WINDOW.start) / STEP;
        let (index, generation) = (number % SLOTS, number / SLOTS);
        Some((index, generation, self.slot(index)?))
    }

    /// Creates a handle for an object.
    pub fn insert(&self, object: Object) -> CuResult<Handle> {
        let index = {
            let mut free = self.free.lock();
            // Reuse a free slot as late as possible, because a slot's stale handles are recognized
            // only until its generations wrap around.
            match free.slots.len() > CHUNK || free.used == SLOTS {
                true => free.slots.pop_front().ok_or(CuError::OUT_OF_MEMORY)?,
                false => {
                    free.used += 1;
                    free.used - 1
                }
            }
        };
        let chunk = self.chunks[index / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| Slot::default()).collect());
        let mut occupant = chunk[index % CHUNK].occupant.write();
        occupant.object = Some(object);
        Ok(handle(index, occupant.generation))
    }

    /// Returns the object that a handle refers to, if it has the requested type.
    #[inline]
    pub fn get<T: Named>(&self, handle: Handle) -> CuResult<T> {
        let (_, generation, slot) = self.find(handle).ok_or(CuError::INVALID_HANDLE)?;
        let found = slot.occupant.read().get(generation);
        found.map_err(of_thread::<T>)
    }

    /// Invalidates a handle and returns its object.
    pub fn remove<T: Named>(&self, handle: Handle) -> CuResult<T> {
        let (index, generation, slot) = self.find(handle).ok_or(CuError::INVALID_HANDLE)?;
        let mut occupant = slot.occupant.write();
        let object = occupant.get(generation).map_err(of_thread::<T>)?;
        occupant.end(CuError::INVALID_HANDLE);
        drop(occupant);
        self.free.lock().slots.push_back(index);
        Ok(object)
    }

    /// Invalidates the handles of all objects for which `ended` returns an error, and returns these
    /// handles and objects. Later calls with such a handle fail with that error.
    pub fn end_where(
        &self,
        mut ended: impl FnMut(&Object) -> Option<CuError>,
    ) -> Vec<(Handle, Object)> {
        let used = self.free.lock().used;
        let mut gone = Vec::new();
        for (index, slot) in (0..used).filter_map(|index| Some((index, self.slot(index)?))) {
            let mut occupant = slot.occupant.write();
            let Some(error) = occupant.object.as_ref().and_then(&mut ended) else { continue };
            let of = handle(index, occupant.generation);
            gone.extend(occupant.end(error).map(|object| (of, object)));
            drop(occupant);
            self.free.lock().slots.push_back(index);
        }
        gone
    }
}

/// Returns the error of a call with an invalid handle. As with NVIDIA's driver,
/// CUDA_ERROR_CONTEXT_IS_DESTROYED takes precedence for most kinds of handles, if the calling
/// thread's current context has been destroyed.
#[cold]
fn of_thread<T: Named>(error: CuError) -> CuError {
    match thread::current() {
        Some(context) if T::AFTER_CONTEXT && !context.is_alive() => CuError::CONTEXT_IS_DESTROYED,
        _ => error,
    }
}

/// Returns the handle of the object in slot `index` after `generation` earlier uses of the slot.
fn handle(index: usize, generation: usize) -> Handle {
    WINDOW.start + (generation * SLOTS + index) * STEP
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::ids::EventId;

    fn event(id: u64) -> Object {
        Object::Event(Arc::new(Event { id: EventId(id), flags: 0, context: ContextId(id % 2) }))
    }

    #[test]
    fn a_handle_finds_its_object_only_as_its_own_type() {
        let handles = Handles::default();
        let handle = handles.insert(event(7)).unwrap();
        assert!(WINDOW.contains(&handle));
        assert_eq!(handles.get::<Arc<Event>>(handle).unwrap().id, EventId(7));
        assert!(handles.get::<Arc<Module>>(handle).is_err());
        assert!(handles.remove::<Arc<Module>>(handle).is_err());
        assert!(handles.get::<Arc<Event>>(handle).is_ok());
    }

    #[test]
    fn the_handles_of_a_contexts_objects_end_together() {
        let handles = Handles::default();
        let all: Vec<_> = (0..100).map(|id| handles.insert(event(id)).unwrap()).collect();
        handles.remove::<Arc<Event>>(all[1]).unwrap();
        let of_context = |object: &Object| object.context() == Some(ContextId(1));
        let gone = handles.end_where(|object| of_context(object).then_some(CuError::UNKNOWN));
        assert_eq!(gone.len(), 49);
        for (id, handle) in (0..).zip(all) {
            let expected = match id {
                1 => Err(CuError::INVALID_HANDLE),
                _ if id % 2 == 1 => Err(CuError::UNKNOWN),
                _ => Ok(id),
            };
            assert_eq!(handles.get::<Arc<Event>>(handle).map(|event| event.id.0), expected);
            assert_eq!(gone.iter().any(|(of, _)| *of == handle), id % 2 == 1 && id != 1);
        }
        for _ in 0..3 * CHUNK {
            let handle = handles.insert(event(1)).unwrap();
            handles.remove::<Arc<Event>>(handle).unwrap();
            assert!(!gone.iter().any(|(of, _)| *of == handle));
        }
        assert_eq!(handles.get::<Arc<Event>>(gone[0].0).err(), Some(CuError::INVALID_HANDLE));
    }

    #[test]
    fn one_of_two_threads_removes_an_object() {
        let (handles, barrier) = (Handles::default(), std::sync::Barrier::new(2));
        for _ in 0..100 {
            let handle = handles.insert(event(1)).unwrap();
            let remove = || {
                barrier.wait();
                handles.remove::<Arc<Event>>(handle).is_ok()
            };
            let removed = std::thread::scope(|scope| {
                [scope.spawn(remove), scope.spawn(remove)].map(|thread| thread.join().unwrap())
            });
            assert_eq!(removed.iter().filter(|removed| **removed).count(), 1);
        }
    }

    #[test]
    fn stale_and_forged_handles_are_refused() {
        let handles = Handles::default();
        let first = handles.insert(event(1)).unwrap();
        handles.remove::<Arc<Event>>(first).unwrap();
        assert!(handles.remove::<Arc<Event>>(first).is_err());
        for id in 0..3 * CHUNK as u64 {
            let handle = handles.insert(event(id)).unwrap();
            assert_ne!(handle, first);
            handles.remove::<Arc<Event>>(handle).unwrap();
            assert!(handles.get::<Arc<Event>>(first).is_err());
        }
        let forged =
            [0, 1, 8, WINDOW.start + 8, WINDOW.end - STEP, WINDOW.end, usize::MAX, 0x7fff_0000];
        for handle in forged {
            assert!(handles.get::<Arc<Event>>(handle).is_err(), "{handle:#x}");
        }
    }
}
