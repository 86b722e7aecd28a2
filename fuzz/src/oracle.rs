//! Compares the account of device memory with the memory that softgpu has allocated.

use std::time::Duration;

use crate::session::Session;
use crate::softgpu::Softgpu;

/// Observes the number of bytes that softgpu has allocated, according to softgpu itself.
pub struct Allocated {
    softgpu: Softgpu,
    context_bytes: u64,
    /// The bytes that were in use before the session's first context.
    before: u64,
}

impl Allocated {
    /// Starts observing a session that has just started.
    pub fn new(session: &Session) -> Self {
        let (softgpu, context_bytes) = (Softgpu::find(), session.context_bytes());
        let used = softgpu.used(context_bytes).expect("no kernel has run yet");
        let before = used - session.account().used();
        Self { softgpu, context_bytes, before }
    }

    /// Returns the bytes of device memory that are in use, or `None` if a kernel's error has made
    /// the session's context fail.
    fn bytes(&self) -> Option<u64> {
        self.softgpu.used(self.context_bytes).map(|used| used.saturating_sub(self.before))
    }

    /// Panics if softgpu has allocated more bytes than are charged. `doing` returns a description
    /// of the session's actions, for the message. Memory that is being freed may be released from
    /// the account between the two readings, so only a lasting difference counts.
    pub fn check(&self, session: &mut Session, doing: impl FnOnce() -> String) {
        let mut difference = (0, 0);
        for _ in 0..100 {
            let Some(bytes) = self.bytes() else { return };
            difference = (bytes, session.account().used());
            if difference.0 <= difference.1 {
                return;
            }
            session.poll();
            std::thread::sleep(Duration::from_millis(5));
        }
        let (bytes, charged) = difference;
        panic!("softgpu has allocated {bytes} bytes, but only {charged} are charged: {}", doing());
    }
}
