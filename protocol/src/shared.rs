//! The pages of a ring that the guest and the worker share.

use crate::uapi::{RING_MAX_BYTES, RING_MIN_BYTES};

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The words in the ring's header page, and the ring's data.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Number of bytes written so far. Written by the guest.
    pub tail: &'static AtomicU64,
    /// 1 if a guest thread sleeps and must be woken. Set by the guest, cleared by the worker.
    pub guest_sleeps: &'static AtomicU32,
    /// Number of bytes read so far. Written by the worker.
    pub head: &'static AtomicU64,
    /// The events for which the sleeping worker wants a doorbell (`SLEEPS_*`), or 0 if it is awake.
    /// Set by the worker, cleared by the guest.
    pub host_sleeps: &'static AtomicU32,
    /// The CUresult of the first posted call that failed and that no reply has reported to the
    /// guest yet, or 0. Written by the worker.
    pub posted_error: &'static AtomicU32,
    /// Token of the host function that the guest must run. Written by the worker.
    pub host_func: &'static AtomicU64,
    /// Number of host functions handed out so far. Written by the worker.
    pub host_funcs_begun: &'static AtomicU64,
    /// The time, in ns, during which work of the session has waited for the VM's turn on a GPU.
    /// Written by the worker.
    pub turn_ns: &'static AtomicU64,
    /// Number of host functions that have run. Written by the guest.
    pub host_funcs_ended: &'static AtomicU64,
    /// The ring's data, as words.
    pub data: &'static [AtomicU64],
}

/// The error that is returned if the size of a ring is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRing;

impl core::fmt::Display for BadRing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the ring's size is not a power of two from {RING_MIN_BYTES} to {RING_MAX_BYTES}")
    }
}

impl std::error::Error for BadRing {}

#[cfg(not(loom))]
impl Shared {
    /// Returns the ring in a mapped RING region.
    ///
    /// # Safety
    /// `base` must be page-aligned and the start of `RING_HEADER_BYTES + ring_bytes` mapped,
    /// writable bytes that stay mapped as long as the result or a copy of it is used.
    pub unsafe fn new(base: *mut u8, ring_bytes: usize) -> Result<Self, BadRing> {
        use crate::uapi::{RING_HEADER_BYTES, Ring};
        use core::mem::offset_of;
        if !ring_bytes.is_power_of_two() || !(RING_MIN_BYTES..=RING_MAX_BYTES).contains(&ring_bytes)
        {
            return Err(BadRing);
        }
        // SAFETY: the caller guarantees that the mapping is valid; the offsets are those of `Ring`,
        // aligned for their types and inside the header page; atomics allow any concurrent writer.
        unsafe {
            Ok(Self {
                tail: &*base.add(offset_of!(Ring, tail)).cast(),
                guest_sleeps: &*base.add(offset_of!(Ring, guest_sleeps)).cast(),
                head: &*base.add(offset_of!(Ring, head)).cast(),
                host_sleeps: &*base.add(offset_of!(Ring, host_sleeps)).cast(),
                posted_error: &*base.add(offset_of!(Ring, posted_error)).cast(),
                host_func: &*base.add(offset_of!(Ring, host_func)).cast(),
                host_funcs_begun: &*base.add(offset_of!(Ring, host_funcs_begun)).cast(),
                turn_ns: &*base.add(offset_of!(Ring, turn_ns)).cast(),
                host_funcs_ended: &*base.add(offset_of!(Ring, host_funcs_ended)).cast(),
                data: core::slice::from_raw_parts(
                    base.add(RING_HEADER_BYTES).cast(),
                    ring_bytes / 8,
                ),
            })
        }
    }
}

impl Shared {
    /// Returns the size of the ring in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.data.len() as u64 * 8
    }

    /// Returns the word at a byte position. Positions count all bytes since the ring was created.
    pub(crate) fn word(&self, position: u64) -> &AtomicU64 {
        &self.data[(position / 8) as usize & (self.data.len() - 1)]
    }

    /// Announces that this guest thread is about to sleep. The caller then checks once more for the
    /// event that it waits for, and sleeps only if the event hasn't happened.
    pub fn announce_guest_sleep(&self) {
        self.guest_sleeps.swap(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// Returns true if a guest thread sleeps and must be woken. The worker calls this after every
    /// write that a guest may be waiting for (a reply, the head).
    pub fn must_wake_guest(&self) -> bool {
        fence(Ordering::SeqCst);
        self.guest_sleeps.load(Ordering::Relaxed) != 0
            && self.guest_sleeps.swap(0, Ordering::AcqRel) != 0
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::*;

    /// Returns an empty ring in memory that is never freed.
    pub(crate) fn ring(words: usize) -> Shared {
        let leak64 = || &*Box::leak(Box::new(AtomicU64::new(0)));
        let leak32 = || &*Box::leak(Box::new(AtomicU32::new(0)));
        Shared {
            tail: leak64(),
            guest_sleeps: leak32(),
            head: leak64(),
            host_sleeps: leak32(),
            posted_error: leak32(),
            host_func: leak64(),
            host_funcs_begun: leak64(),
            turn_ns: leak64(),
            host_funcs_ended: leak64(),
            data: Box::leak((0..words).map(|_| AtomicU64::new(0)).collect()),
        }
    }
}
