//! Counts the calls in progress per context, so that no context is destroyed during a call.
//!
//! A call on a mirror is in progress in its current context and in those of all objects that it uses:
//! NVIDIA's driver doesn't check that they exist, so a call with an object whose context is destroyed
//! at the same time could corrupt its memory.
//!
//! Besides, destroying a context releases all its charges. If a call were still in the driver then, it could
//! create an object without a charge: the guest may meanwhile have retained the same primary
//! context again.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex};

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

thread_local! {
    /// The call that this thread executes, if it is a mirror.
    static CALL: RefCell<Option<OnMirror>> = const { RefCell::new(None) };
}

/// The contexts in which a mirror's call counts as in progress.
struct OnMirror {
    uses: Arc<ActiveCalls>,
    contexts: Vec<ContextId>,
}

/// A guard for a call on a mirror.
pub(super) struct MirrorCall(());

/// Counts this thread's call as in progress in a context, until it ends. This has no effect on the
/// ring reader's thread, on which contexts begin to end: an object that it has just found is live
/// until its call has ended. The tables must be locked since the object of the context was found.
pub(super) fn use_context(ctx: ContextId) {
    CALL.with_borrow_mut(|call| {
        if let Some(OnMirror { uses, contexts }) = call
            && !contexts.contains(&ctx)
            && ctx != ContextId::NONE
        {
            uses.add(ctx);
            contexts.push(ctx);
        }
    });
}

impl Drop for MirrorCall {
    fn drop(&mut self) {
        if let Some(OnMirror { uses, contexts }) = CALL.take() {
            contexts.into_iter().for_each(|ctx| uses.remove(ctx));
        }
    }
}

impl ActiveCalls {
    /// Counts a call on a mirror as in progress in its current context and in the contexts of all
    /// objects that it finds in the tables. Must be called before checking whether the current
    /// context is being destroyed.
    pub(super) fn begin_on_mirror(self: &Arc<Self>, ctx: ContextId) -> MirrorCall {
        CALL.set(Some(OnMirror { uses: self.clone(), contexts: Vec::new() }));
        use_context(ctx);
        MirrorCall(())
    }

    /// Like [`ActiveCalls::begin`], for a job on another thread.
    pub(super) fn begin_job(self: Arc<Self>, ctx: ContextId) -> ActiveJob {
        self.add(ctx);
        ActiveJob { uses: self, ctx }
    }

    fn add(&self, ctx: ContextId) {
        *lock(&self.counts).entry(ctx).or_default() += 1;
    }

    fn remove(&self, ctx: ContextId) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&ctx) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&ctx);
                self.fewer.notify_all();
            }
        }
    }

    /// Counts a call in a context as in progress. Must be called before checking whether the
    /// context is being destroyed.
    pub(super) fn begin(&self, ctx: ContextId) -> ActiveCall<'_> {
        self.add(ctx);
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

/// Like [`ActiveCall`], for a job on another thread.
pub(super) struct ActiveJob {
    uses: Arc<ActiveCalls>,
    ctx: ContextId,
}

impl Drop for ActiveJob {
    fn drop(&mut self) {
        self.uses.remove(self.ctx);
    }
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        self.uses.remove(self.ctx);
    }
}
