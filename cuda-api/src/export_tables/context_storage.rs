//! The table CONTEXT_LOCAL_STORAGE: values that libraries store for a context, under their own
//! keys.
//!
//! cudart looks its state up here on almost every call, so a lookup must be very cheap. Each thread
//! remembers the values that it found last, until any thread stores or deletes a value. Values are
//! stored and deleted only when a context is first used or destroyed.

use crate::sys::CUcontext;
use core::cell::Cell;
use core::ffi::c_void;
use std::collections::{HashMap, hash_map};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The type of a function that is called with (context, key, value) when a context is destroyed.
pub type Destructor = unsafe extern "C" fn(CUcontext, *mut c_void, *mut c_void);

#[derive(Clone, Copy)]
struct Entry {
    value: usize,
    destructor: Option<Destructor>,
    /// The generation in which the value was stored.
    stored: u64,
    /// Whether the context has been destroyed, so that the destructors of its values are being
    /// called.
    ending: bool,
}

/// The addresses of the context and the key. They are only compared.
type Key = (usize, usize);

static VALUES: LazyLock<RwLock<HashMap<Key, Entry>>> = LazyLock::new(Default::default);

/// Incremented under the write lock with each change of `VALUES`. It starts at 1, so that a
/// thread's empty slots, whose generation is 0, are never valid.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// A value that this thread looked up. It is valid as long as [`GENERATION`] equals `generation`.
#[derive(Clone, Copy)]
struct Remembered {
    generation: u64,
    key: Key,
    value: usize,
}

/// The number of values that a thread remembers. It is more than 1 because a thread may use several
/// libraries in turn, each with its own key.
const SLOTS: usize = 8;

thread_local! {
    // The slots have constant initial values and no destructor, so they can be used until the
    // thread exits, even by other destructors.
    static REMEMBERED: [Cell<Remembered>; SLOTS] = const {
        [const { Cell::new(Remembered { generation: 0, key: (0, 0), value: 0 }) }; SLOTS]
    };
}

fn slot_of(key: Key) -> usize {
    // Keys are addresses of objects, whose low bits are mostly equal, so use the high bits of a
    // product, which depend on all bits.
    let mixed = (key.0 ^ key.1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed >> (usize::BITS - SLOTS.ilog2())
}

fn read() -> RwLockReadGuard<'static, HashMap<Key, Entry>> {
    VALUES.read().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the write lock. All values that threads remember become invalid.
fn write() -> RwLockWriteGuard<'static, HashMap<Key, Entry>> {
    let values = VALUES.write().unwrap_or_else(PoisonError::into_inner);
    GENERATION.fetch_add(1, Ordering::Release);
    values
}

/// Stores a value, unless the key already has one. Returns whether the value was stored.
pub fn put(
    context: CUcontext,
    key: *mut c_void,
    value: *mut c_void,
    destructor: Option<Destructor>,
) -> bool {
    let mut values = write();
    let stored = GENERATION.load(Ordering::Relaxed);
    let entry = Entry { value: value.expose_provenance(), destructor, stored, ending: false };
    match values.entry((context.addr(), key.addr())) {
        hash_map::Entry::Occupied(_) => false,
        hash_map::Entry::Vacant(vacant) => {
            vacant.insert(entry);
            true
        }
    }
}

/// Removes a value without calling its destructor. Returns whether there was one.
pub fn delete(context: CUcontext, key: *mut c_void) -> bool {
    write().remove(&(context.addr(), key.addr())).is_some()
}

/// Returns the value that is stored for a context and a key.
pub fn get(context: CUcontext, key: *mut c_void) -> Option<*mut c_void> {
    let key = (context.addr(), key.addr());
    REMEMBERED.with(|slots| {
        let slot = &slots[slot_of(key)];
        let remembered = slot.get();
        let value = if remembered.generation == GENERATION.load(Ordering::Acquire)
            && remembered.key == key
        {
            remembered.value
        } else {
            let values = read();
            let value = values.get(&key)?.value;
            // The read lock prevents changes, so `value` belongs to the generation that is read
            // here.
            let generation = GENERATION.load(Ordering::Acquire);
            slot.set(Remembered { generation, key, value });
            value
        };
        Some(core::ptr::with_exposed_provenance_mut(value))
    })
}

/// Calls the destructors of all values of a context, and then removes the values. Call this in
/// `cuCtxDestroy`, `cuDevicePrimaryCtxReset`, and the last `cuDevicePrimaryCtxRelease` when the
/// context has been destroyed but is still the thread's current context. As with NVIDIA's driver
/// (observed on an H200), the destructor of the value that was stored last comes first, and
/// destructors can still look up all values, but can't replace them.
#[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the handle is only passed on")]
pub fn context_ended(context: CUcontext) {
    let mut ended: Vec<_> = {
        let mut values = write();
        let of_context = values.iter_mut().filter(|(key, _)| key.0 == context.addr());
        of_context
            .map(|(key, entry)| {
                entry.ending = true;
                let destructor = entry.destructor.take();
                (key.1, Entry { destructor, ..*entry })
            })
            .collect()
    };
    if ended.is_empty() {
        return;
    }
    ended.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.stored));
    // Call the destructors without the lock, because a destructor may call back into this library.
    for (key, entry) in ended {
        if let Some(destructor) = entry.destructor {
            let key = core::ptr::with_exposed_provenance_mut(key);
            let value = core::ptr::with_exposed_provenance_mut(entry.value);
            // SAFETY: the library that stored the value provided this function for it, and it is
            // called once.
            unsafe { destructor(context, key, value) };
        }
    }
    write().retain(|key, entry| key.0 != context.addr() || !entry.ending);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn context(id: usize) -> CUcontext {
        core::ptr::without_provenance_mut(0xC000_0000 + id * 64)
    }

    fn pointer(id: usize) -> *mut c_void {
        core::ptr::without_provenance_mut(id)
    }

    #[test]
    fn values_belong_to_context_and_key() {
        put(context(1), pointer(1), pointer(11), None);
        put(context(1), pointer(2), pointer(12), None);
        put(context(2), pointer(1), pointer(21), None);
        for _ in 0..2 {
            assert_eq!(get(context(1), pointer(1)), Some(pointer(11)));
            assert_eq!(get(context(1), pointer(2)), Some(pointer(12)));
            assert_eq!(get(context(2), pointer(1)), Some(pointer(21)));
            assert_eq!(get(context(2), pointer(2)), None);
        }
        assert!(!put(context(1), pointer(1), pointer(111), None));
        assert_eq!(get(context(1), pointer(1)), Some(pointer(11)));
        assert!(delete(context(1), pointer(1)));
        assert_eq!(get(context(1), pointer(1)), None);
        assert!(!delete(context(1), pointer(1)));
    }

    #[test]
    fn changes_by_another_thread_are_seen() {
        put(context(3), pointer(1), pointer(31), None);
        assert_eq!(get(context(3), pointer(1)), Some(pointer(31)));
        let replace = || {
            delete(context(3), pointer(1));
            put(context(3), pointer(1), pointer(32), None);
        };
        std::thread::spawn(replace).join().unwrap();
        assert_eq!(get(context(3), pointer(1)), Some(pointer(32)));
        std::thread::spawn(|| delete(context(3), pointer(1))).join().unwrap();
        assert_eq!(get(context(3), pointer(1)), None);
    }

    #[test]
    fn destructors_run_once_at_the_contexts_end_and_may_call_back() {
        static SUM: AtomicUsize = AtomicUsize::new(0);
        unsafe extern "C" fn destructor(context: CUcontext, key: *mut c_void, value: *mut c_void) {
            let sum = SUM.fetch_add(value.addr(), Ordering::Relaxed);
            // The destructor of the value that was stored last is called first.
            assert_eq!(sum, if key == pointer(2) { 0 } else { 10 });
            assert_eq!(get(context, key), Some(value));
            assert_eq!(get(context, pointer(1)), Some(pointer(1)));
            assert!(!put(context, key, pointer(7), Some(destructor)));
            if key == pointer(2) {
                delete(context, key);
            }
        }
        put(context(4), pointer(1), pointer(1), Some(destructor));
        put(context(4), pointer(2), pointer(10), Some(destructor));
        put(context(4), pointer(3), pointer(100), Some(destructor));
        put(context(5), pointer(1), pointer(1000), Some(destructor));
        assert!(delete(context(4), pointer(3)));
        context_ended(context(4));
        context_ended(context(4));
        assert_eq!(SUM.load(Ordering::Relaxed), 11);
        assert_eq!(get(context(4), pointer(1)), None);
        assert_eq!(get(context(5), pointer(1)), Some(pointer(1000)));
    }
}
