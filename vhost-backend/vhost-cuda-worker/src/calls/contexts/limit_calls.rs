//! Keeps a call that changes a context's limits apart from the calls for which the driver may take
//! local memory in the context.
//!
//! A call of the second kind is first charged according to the limits, and then the driver takes
//! the memory. A change of a limit is first charged, then the driver takes or frees memory, and
//! then the charge is adjusted. If these steps of two calls were mixed, the ledger and the driver
//! could end up with different amounts. Therefore, a context has either one change in progress, or
//! any number of calls of the other kind. The gate holds calls that would break this rule, so no
//! thread waits, and no lock is held while the driver or the broker is called.
//!
//! Every call that the API table marks as `blocking` was checked for whether it reads or changes a
//! context's charges around a driver call (docs/design/charges.md).

use std::sync::{Arc, Mutex};

use protocol::ids::ContextId;
use protocol::table::Charges;

use crate::calls::lock::lock;
use crate::calls::tables::id_map::IdMap;
use crate::waker::Waker;

/// How a call depends on the limits of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) enum LimitAccess {
    /// The driver may take local memory for the call.
    Use,
    /// The call changes a limit.
    Change,
}

impl LimitAccess {
    /// Returns how a call with this value of `charges=` in the API table depends on limits, or
    /// `None` if it doesn't.
    pub(in crate::calls) const fn of(charges: Charges) -> Option<Self> {
        match charges {
            Charges::Local | Charges::Graph => Some(Self::Use),
            Charges::Limit => Some(Self::Change),
            _ => None,
        }
    }
}

/// The calls in progress on mirrors in one context. There is at least one.
enum InProgress {
    Uses(usize),
    Change,
}

/// The calls in progress on mirrors that use or change limits, by context. Calls on the ring
/// reader's thread needn't be listed, because no other call can begin while that thread is busy
/// with one.
pub(in crate::calls) struct LimitCalls {
    contexts: Arc<Mutex<IdMap<ContextId, InProgress>>>,
    /// Wakes the ring reader.
    waker: Waker,
}

/// One call in progress. Dropping this value removes it from the calls in progress.
#[must_use]
pub(in crate::calls) struct LimitCall {
    contexts: Arc<Mutex<IdMap<ContextId, InProgress>>>,
    ctx: ContextId,
    waker: Waker,
}

impl LimitCalls {
    pub(in crate::calls) fn new(waker: Waker) -> Self {
        Self { contexts: Arc::default(), waker }
    }

    /// Returns whether a call with this access to limits may begin in a context.
    pub(in crate::calls) fn lets_begin(&self, ctx: ContextId, access: LimitAccess) -> bool {
        match (lock(&self.contexts).get(&ctx), access) {
            (None, _) | (Some(InProgress::Uses(_)), LimitAccess::Use) => true,
            (Some(_), _) => false,
        }
    }

    /// Returns whether a limit of any context is being changed.
    pub(in crate::calls) fn are_changing(&self) -> bool {
        lock(&self.contexts).values().any(|calls| matches!(calls, InProgress::Change))
    }

    /// Records that a call begins, after the gate has let it begin. Returns `None` if the calls in
    /// progress don't allow that. Only the ring reader's thread may call this.
    pub(in crate::calls) fn begin(&self, ctx: ContextId, access: LimitAccess) -> Option<LimitCall> {
        let mut contexts = lock(&self.contexts);
        let begun = match (contexts.get(&ctx), access) {
            (None, LimitAccess::Change) => InProgress::Change,
            (None, LimitAccess::Use) => InProgress::Uses(1),
            (Some(InProgress::Uses(count)), LimitAccess::Use) => InProgress::Uses(count + 1),
            (Some(_), _) => return None,
        };
        contexts.insert(ctx, begun);
        let (contexts, waker) = (self.contexts.clone(), self.waker.clone());
        Some(LimitCall { contexts, ctx, waker })
    }
}

impl Drop for LimitCall {
    fn drop(&mut self) {
        let mut contexts = lock(&self.contexts);
        match contexts.get_mut(&self.ctx) {
            Some(InProgress::Uses(count)) if *count > 1 => *count -= 1,
            _ => {
                contexts.remove(&self.ctx);
                drop(contexts);
                // Wake the ring reader, because the gate may hold calls that can begin now.
                self.waker.wake();
            }
        }
    }
}
