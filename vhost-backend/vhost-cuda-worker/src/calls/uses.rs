//! Counts the calls in progress per context, so that no context is destroyed during a call.
//!
//! Destroying a context releases all its charges. If a call were still in the driver then, it could
//! create an object without a charge: the guest may meanwhile have retained the same primary
//! context again.

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

/// A guard for one call: as long as it exists, the call counts as in progress.
pub(super) struct ActiveCall<'a> {
    uses: &'a ActiveCalls,
    ctx: ContextId,
}

impl ActiveCalls {
    /// Counts a call in a context as in progress. Must be called before checking whether the
    /// context is being destroyed.
    pub(super) fn begin(&self, ctx: ContextId) -> ActiveCall<'_> {
        *lock(&self.counts).entry(ctx).or_default() += 1;
        ActiveCall { uses: self, ctx }
    }

    /// Waits until no call is in progress in a context that is about to be destroyed. New calls in
    /// that context must already be refused.
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
