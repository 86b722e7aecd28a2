//! File descriptors that forked children close.

use std::sync::atomic::{AtomicI32, Ordering};

/// The descriptors of a transport. If a forked child kept them open, the session wouldn't end when
/// the parent exits.
pub struct ClosedInChildren {
    /// The descriptors. Unused slots contain -1.
    slots: [AtomicI32; 4],
}

impl ClosedInChildren {
    #[expect(clippy::new_without_default, reason = "it's for statics")]
    pub const fn new() -> Self {
        Self { slots: [const { AtomicI32::new(-1) }; 4] }
    }

    /// Replaces the descriptors that a forked child closes.
    pub fn set(&self, descriptors: &[i32]) {
        for (place, slot) in self.slots.iter().enumerate() {
            slot.store(descriptors.get(place).copied().unwrap_or(-1), Ordering::Relaxed);
        }
    }

    /// Returns whether there are no descriptors.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.load(Ordering::Relaxed) < 0)
    }

    /// Closes the descriptors. Call this in a forked child, where no code uses the descriptors. It
    /// is async-signal-safe.
    pub fn close(&self) {
        for slot in &self.slots {
            let descriptor = slot.swap(-1, Ordering::Relaxed);
            if descriptor >= 0 {
                // SAFETY: this is the child's copy of the descriptor, and no code in the child uses
                // it.
                unsafe { libc::close(descriptor) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::IntoRawFd;

    #[test]
    fn only_the_last_descriptors_are_closed_and_only_once() {
        let (mut kept, first) = std::os::unix::net::UnixStream::pair().unwrap();
        let (mut closed, second) = std::os::unix::net::UnixStream::pair().unwrap();
        let descriptors = ClosedInChildren::new();
        descriptors.set(&[std::os::fd::AsRawFd::as_raw_fd(&first)]);
        descriptors.set(&[second.into_raw_fd()]);
        assert!(!descriptors.is_empty());
        descriptors.close();
        assert!(descriptors.is_empty());
        descriptors.close();
        assert_eq!(closed.read(&mut [0]).unwrap(), 0, "the other end is closed");
        kept.set_nonblocking(true).unwrap();
        assert!(kept.read(&mut [0]).is_err(), "the other end is open");
    }
}
