//! Reservations, and the proof that a call has settled its charge.
//!
//! A call whose line in the API table has `charges=` gets a [`Reservation`] of that kind from the
//! generated dispatch, and can answer success only with a [`Settled`] of the same kind. All types
//! here are free at run time.

use std::marker::PhantomData;

use crate::driver::{CuError, CuResult};
use crate::reply::ReplyTo;

/// The values of `charges=` in the API table.
pub(in crate::calls) mod kind {
    /// A context's own bytes.
    pub enum Context {}
    /// An allocation.
    pub enum Memory {}
    /// A limit of a context.
    pub enum Limit {}
    /// A stream.
    pub enum Stream {}
    /// Code and variables of a module or library.
    pub enum Module {}
    /// Local memory of kernels.
    pub enum Local {}
    /// Nodes of an instantiated graph.
    pub enum Graph {}
}

/// A call's duty to account for the memory that it takes. Nothing is reserved yet.
#[must_use]
pub(in crate::calls) struct Reservation<K>(PhantomData<K>);

/// Bytes that are reserved while the driver is asked to take them. Dropping it gives them back.
#[must_use]
pub(in crate::calls) struct Reserved<K, F: FnOnce() -> CuResult> {
    give_back: Option<F>,
    kind: PhantomData<K>,
}

/// Proof that a charge was settled: reserved and kept, or not needed.
#[must_use]
pub(in crate::calls) struct Settled<K>(PhantomData<K>);

impl<K> Reservation<K> {
    /// For a call of the guest. Only the generated dispatch and [`ChargedReply`] use it.
    pub(in crate::calls) fn of_call() -> Self {
        Self(PhantomData)
    }

    /// For a context or stream that the worker needs itself to serve any call, and keeps.
    pub(in crate::calls) fn of_worker() -> Self {
        Self(PhantomData)
    }

    /// The bytes are on the account. `give_back` takes them off again if the call fails.
    pub(super) fn reserved<F: FnOnce() -> CuResult>(self, give_back: F) -> Reserved<K, F> {
        Reserved { give_back: Some(give_back), kind: PhantomData }
    }

    /// The bytes are on the account, and stay there even if the call fails.
    pub(super) fn charged(self) -> Settled<K> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Context> {
    /// The worker has retained this primary context before, and charged it then.
    pub(in crate::calls) fn retained_before(self) -> Settled<kind::Context> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Memory> {
    /// The allocation is part of a slab, which was charged as a whole when it was mapped.
    pub(in crate::calls) fn part_of_slab(self) -> Settled<kind::Memory> {
        Settled(PhantomData)
    }

    /// The allocation reuses memory whose free was still waiting, so it is still charged.
    pub(in crate::calls) fn still_charged(self) -> Settled<kind::Memory> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Limit> {
    /// Memory behind this limit isn't charged.
    pub(super) fn takes_none(self) -> Settled<kind::Limit> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Module> {
    /// The function's code was charged when the function was made.
    pub(in crate::calls) fn charged_with_function(self) -> Settled<kind::Module> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Local> {
    /// The duty for the code of a kernel, which its launch may load.
    pub(in crate::calls) fn code(&self) -> Reservation<kind::Module> {
        Reservation(PhantomData)
    }

    /// The duty for one kernel node of a graph.
    pub(in crate::calls) fn node(&self) -> Self {
        Self(PhantomData)
    }

    /// The context has as much local memory as the kernel needs.
    pub(super) fn has_room(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// A node that isn't a kernel has no local memory.
    pub(in crate::calls) fn not_a_kernel(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// Each kernel node of a graph has settled its own duty.
    pub(in crate::calls) fn settled_by_nodes(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Graph> {
    /// The duty for the kernels of the graph.
    pub(in crate::calls) fn kernels(&self) -> Reservation<kind::Local> {
        Reservation(PhantomData)
    }
}

impl<K, F: FnOnce() -> CuResult> Reserved<K, F> {
    /// The driver has taken the bytes: they stay on the account.
    pub(in crate::calls) fn settle(mut self) -> Settled<K> {
        self.give_back = None;
        Settled(PhantomData)
    }

    /// Gives the bytes back now, and says whether that worked.
    pub(in crate::calls) fn undo(mut self) -> CuResult {
        self.give_back.take().map_or(Ok(()), |give_back| give_back())
    }
}

impl<K, F: FnOnce() -> CuResult> Drop for Reserved<K, F> {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            // The account of a context that has ended was closed with it.
            let _ = give_back();
        }
    }
}

impl<K> Settled<K> {
    /// The result of a successful call.
    pub(in crate::calls) fn done(self) -> CuResult {
        Ok(())
    }
}

/// Takes the answer of a call that charges, for bodies that answer later.
pub(in crate::calls) struct ChargedReply<K> {
    reply: ReplyTo,
    kind: PhantomData<K>,
}

impl<K> ChargedReply<K> {
    /// For a call of the guest. Only the generated dispatch uses it.
    pub(in crate::calls) fn new(reply: ReplyTo) -> Self {
        Self { reply, kind: PhantomData }
    }

    /// The duty of one attempt at the call.
    pub(in crate::calls) fn reservation(&self) -> Reservation<K> {
        Reservation::of_call()
    }

    /// Answers success.
    pub(in crate::calls) fn succeed(self, _: Settled<K>, answer: &[u8]) {
        self.reply.finish(0, answer);
    }

    /// Answers with an error.
    pub(in crate::calls) fn fail(self, error: CuError) {
        self.reply.finish(error.0, &[]);
    }
}
