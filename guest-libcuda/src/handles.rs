//! The handles that programs hold: pointers to reserved addresses that are never mapped.
//!
//! A handle's offset in the range encodes a slot, and a count of how many objects have used the
//! slot before. So forged and stale handles are recognized without dereferencing them.

use crate::error::{CuError, CuResult};
use crate::graph::Exec;
use crate::objects::{
    Array, Context, Event, Function, GreenHandle, Library, Link, Mipmap, Module, Stream,
};
use parking_lot::{Mutex, RwLock};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The C type of a handle, as an integer.
pub type Handle = usize;

/// The distance between consecutive handles in bytes.
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

/// A type of object that can be looked up by handle.
pub trait Named: Sized {
    /// Returns the object, if it has this type.
    fn of(object: &Object) -> Option<Self>;
}

macro_rules! named {
    ($($kind:ident: $t:ty),*) => { $(
        impl Named for $t {
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
    Context: &'static Context, Stream: Arc<Stream>, Event: Arc<Event>, Module: Arc<Module>,
    Library: Arc<Library>, Function: Arc<Function>, GraphExec: Arc<Exec>, Array: Arc<Array>,
    Mipmap: Arc<Mipmap>, Link: Arc<Link>, Green: GreenHandle
}

#[derive(Default)]
struct Slot {
    occupant: RwLock<(usize, Option<Object>)>,
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
            // A free slot is reused as late as possible, so that stale handles stay recognizable.
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
        occupant.1 = Some(object);
        Ok(WINDOW.start + (occupant.0 * SLOTS + index) * STEP)
    }

    /// Returns the object that a handle refers to, if it has the requested type.
    #[inline]
    pub fn get<T: Named>(&self, handle: Handle) -> CuResult<T> {
        let (_, generation, slot) = self.find(handle).ok_or(CuError::INVALID_HANDLE)?;
        let occupant = slot.occupant.read();
        let object = occupant.1.as_ref().filter(|_| occupant.0 == generation);
        object.and_then(T::of).ok_or(CuError::INVALID_HANDLE)
    }

    /// Invalidates a handle and returns its object.
    pub fn remove<T: Named>(&self, handle: Handle) -> CuResult<T> {
        let (index, generation, slot) = self.find(handle).ok_or(CuError::INVALID_HANDLE)?;
        let mut occupant = slot.occupant.write();
        let object = occupant.1.as_ref().filter(|_| occupant.0 == generation);
        let object = object.and_then(T::of).ok_or(CuError::INVALID_HANDLE)?;
        occupant.1 = None;
        occupant.0 = (occupant.0 + 1) % GENERATIONS;
        drop(occupant);
        self.free.lock().slots.push_back(index);
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::ids::EventId;

    fn event(id: u64) -> Object {
        Object::Event(Arc::new(Event { id: EventId(id), flags: 0 }))
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
