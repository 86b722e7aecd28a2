//! Counts the calls in progress in each context, so that no context is destroyed under them.
//!
//! The bytes that a call has reserved are released when its context ends. If the call continued in
//! the driver after that, it could create something, uncharged, in a primary context that the guest
//! has retained again.

use std::sync::{Condvar, Mutex};

use protocol::ids::ContextId;

use super::id_map::IdMap;
use super::lock;

/// The number of calls in progress in each context.
#[derive(Default)]
pub(super) struct ActiveCalls {
    counts: Mutex<IdMap<ContextId, usize>>,
    fewer: Condvar,
}

/// Counts a call as in progress until this guard is dropped.
pub(super) struct ActiveCall<'a> {
    uses: &'a ActiveCalls,
    ctx: ContextId,
}

impl ActiveCalls {
    /// Counts a call, before it checks whether its context may be used.
    pub(super) fn begin(&self, ctx: ContextId) -> ActiveCall<'_> {
        *lock(&self.counts).entry(ctx).or_default() += 1;
        ActiveCall { uses: self, ctx }
    }

    /// Waits until no calls are in progress in a context that is about to end. New calls are
    /// refused, because its end has begun.
    pub(super) fn wait_for_none(&self, ctx: ContextId) {
        let mut counts = lock(&self.counts);
        while counts.contains_key(&ctx) {
            counts = self.fewer.wait(counts).unwrap_or_else(|error| error.into_inner());
        }
    }
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        let mut counts = lock(&self.uses.counts);
        if let Some(count) = counts.get_mut(&self.ctx) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.ctx);
                self.uses.fewer.notify_all();
            }
        }
    }
}
