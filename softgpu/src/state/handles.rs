//! Handles: numbers that look like pointers but are never dereferenced. Therefore, a stale or
//! forged handle causes an error instead of a crash.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use cuda_api::error::CuError;

pub(crate) use super::kind::Kind;
use super::strict::{self, End};

/// Returns an id that no other context, stream or allocation in the process has.
pub(crate) fn unique_id() -> u64 {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

struct Slot<T> {
    generation: u32,
    value: Option<Arc<T>>,
    /// The error that calls return for the handle of the object that was in this slot before.
    ended: CuError,
    /// How the object that was in this slot before ended.
    end: End,
}

struct Slots<T> {
    all: Vec<Slot<T>>,
    /// The slots whose objects were removed, in the order of their removal.
    free: VecDeque<u32>,
}

/// Minimum number of free slots before one is reused. A handle is recognized as stale only until
/// its slot is reused.
const SPARES: usize = 1024;

/// The objects of one kind, by handle.
pub(crate) struct Table<T> {
    kind: Kind,
    slots: RwLock<Slots<T>>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self { kind, slots: RwLock::new(Slots { all: Vec::new(), free: VecDeque::new() }) }
    }

    fn encode(&self, index: u32, generation: u32) -> usize {
        // The result is larger than all special handle values in CUDA, such as those of the default
        // streams.
        (generation as usize & 0x7fff) << 40 | (index as usize + 1) << 8 | self.kind as usize
    }

    fn decode(&self, handle: usize) -> Option<(usize, u32)> {
        if handle & 0xff != self.kind as usize {
            return None;
        }
        let index = (handle >> 8 & 0xffff_ffff).checked_sub(1)?;
        Some((index, (handle >> 40) as u32))
    }

    /// Calls `make` with a new handle, and adds the object that it returns. Returns the handle and
    /// the object.
    pub(crate) fn insert_with(&self, make: impl FnOnce(usize) -> T) -> (usize, Arc<T>) {
        self.insert_shared(|handle| Arc::new(make(handle)))
    }

    /// Calls `make` with a new handle, and adds the shared object that it returns. Returns the
    /// handle and the object.
    pub(crate) fn insert_shared(&self, make: impl FnOnce(usize) -> Arc<T>) -> (usize, Arc<T>) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let free = if slots.free.len() > SPARES { slots.free.pop_front() } else { None };
        let index = match free {
            Some(index) => index,
            None => {
                let ended = CuError::INVALID_HANDLE;
                slots.all.push(Slot { generation: 1, value: None, ended, end: End::Destroyed });
                slots.all.len() as u32 - 1
            }
        };
        let slot = &mut slots.all[index as usize];
        let handle = self.encode(index, slot.generation);
        let value = make(handle);
        slot.value = Some(value.clone());
        (handle, value)
    }

    /// Adds an object and returns its handle.
    pub(crate) fn insert(&self, value: T) -> usize {
        self.insert_with(|_| value).0
    }

    /// Returns the object for a handle that the program has passed. In strict mode, reports a
    /// handle whose object has ended, and marks the handle as in use until the call returns.
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        let (index, generation) = self.decode(handle)?;
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.all.get(index)?;
        if slot.generation & 0x7fff != generation {
            strict::stale(self.kind, handle, slot.end);
            return None;
        }
        strict::used(handle);
        slot.value.clone()
    }

    /// Returns the object for a handle that softgpu has stored, if the object still exists.
    pub(crate) fn find(&self, handle: usize) -> Option<Arc<T>> {
        let (index, generation) = self.decode(handle)?;
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.all.get(index)?;
        if slot.generation & 0x7fff != generation { None } else { slot.value.clone() }
    }

    /// Returns the error that a call must return for a handle for which there is no object.
    pub(crate) fn error(&self, handle: usize) -> CuError {
        let Some((index, generation)) = self.decode(handle) else { return CuError::INVALID_HANDLE };
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let previous = |slot: &&Slot<T>| slot.generation.wrapping_sub(1) & 0x7fff == generation;
        slots.all.get(index).filter(previous).map_or(CuError::INVALID_HANDLE, |slot| slot.ended)
    }

    /// Returns all objects in the table.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.all.iter().filter_map(|slot| slot.value.clone()).collect()
    }

    /// Removes an object from the table and returns it.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let (index, generation) = self.decode(handle)?;
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.all.get_mut(index)?;
        if slot.generation & 0x7fff != generation {
            strict::stale(self.kind, handle, slot.end);
            return None;
        }
        strict::removed(self.kind, handle);
        let value = slot.value.take()?;
        slot.generation += 1;
        (slot.ended, slot.end) = (CuError::INVALID_HANDLE, End::Destroyed);
        slots.free.push_back(index as u32);
        Some(value)
    }

    /// Removes all objects that match a predicate, and returns them.
    pub(crate) fn remove_where(&self, test: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        self.end_where(CuError::INVALID_HANDLE, test)
    }

    /// Does the same as [`end_where`](Self::end_where), for the objects of a context that is being
    /// destroyed. In strict mode, reports any such objects, because the program should have
    /// destroyed them before.
    pub(crate) fn end_of_context(&self, error: CuError, test: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let ended = self.end_where(error, test);
        if !ended.is_empty() {
            strict::left(self.kind, ended.len());
        }
        ended
    }

    /// Does the same as [`remove_where`](Self::remove_where), for objects that end because their
    /// owner ends. Later calls with their handles fail with `error`, until the slots are reused.
    pub(crate) fn end_where(&self, error: CuError, test: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let mut gone = Vec::new();
        let Slots { all, free } = &mut *slots;
        for (index, slot) in all.iter_mut().enumerate() {
            if slot.value.as_deref().is_some_and(&test) {
                strict::removed(self.kind, self.encode(index as u32, slot.generation));
                gone.extend(slot.value.take());
                slot.generation += 1;
                (slot.ended, slot.end) = (error, End::WithOwner);
                free.push_back(index as u32);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_stale_and_forged_handles_are_refused() {
        let table = Table::new(Kind::Event);
        let a = table.insert(1);
        assert_eq!(table.get(a).as_deref(), Some(&1));
        assert!(table.get(a + 1).is_none() && table.get(0).is_none() && table.get(2).is_none());
        assert!(table.remove(a).is_some());
        let b = table.insert(2);
        assert_ne!(a, b);
        assert!(table.get(a).is_none() && table.remove(a).is_none());
        assert_eq!(table.remove_where(|v| *v == 2).len(), 1);
        assert!(table.get(b).is_none());
        assert_eq!(table.error(b), CuError::INVALID_HANDLE);
        let c = table.insert(3);
        table.end_where(CuError::CONTEXT_IS_DESTROYED, |v| *v == 3);
        assert_eq!(table.error(c), CuError::CONTEXT_IS_DESTROYED);
        for value in 0..3 * SPARES {
            let handle = table.insert(value);
            table.remove(handle);
        }
        assert_eq!(table.error(c), CuError::INVALID_HANDLE);
        assert_eq!(
            (table.error(b), table.error(7)),
            (CuError::INVALID_HANDLE, CuError::INVALID_HANDLE)
        );
    }
}
