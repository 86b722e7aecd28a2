//! Contexts that calls are at work in, so that none ends under them.
//!
//! What a call has reserved in a context is given back when that ends. If the call then went on in
//! the driver, what it makes could land, uncharged, in the primary context that the guest has got
//! anew.

use std::sync::{Condvar, Mutex};

use protocol::ids::ContextId;

use super::id_map::IdMap;
use super::lock;

/// How many calls are at work in each context.
#[derive(Default)]
pub(super) struct ActiveCalls {
    counts: Mutex<IdMap<ContextId, usize>>,
    fewer: Condvar,
}

/// A call is at work, until this is dropped.
pub(super) struct ActiveCall<'a> {
    uses: &'a ActiveCalls,
    ctx: ContextId,
}

impl ActiveCalls {
    /// A call begins, before it looks whether its context may be used.
    pub(super) fn begin(&self, ctx: ContextId) -> ActiveCall<'_> {
        *lock(&self.counts).entry(ctx).or_default() += 1;
        ActiveCall { uses: self, ctx }
    }

    /// Waits until no call is at work in a context whose end has begun: those that come now are
    /// refused by themselves.
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
