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
    /// The memory of a context itself.
    pub enum Context {}
    /// The memory of an allocation.
    pub enum Memory {}
    /// The memory behind a limit of a context.
    pub enum Limit {}
    /// The memory of a stream.
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
    /// Creates the reservation for a guest's call. Only the generated dispatch and [`ChargedReply`]
    /// use it.
    pub(in crate::calls) fn of_call() -> Self {
        Self(PhantomData)
    }

    /// Creates the reservation for a context or stream that the worker itself needs to serve calls,
    /// and keeps.
    pub(in crate::calls) fn of_worker() -> Self {
        Self(PhantomData)
    }

    /// Records that the bytes were added to the account. `give_back` removes them again if the call
    /// fails.
    pub(super) fn reserved<F: FnOnce() -> CuResult>(self, give_back: F) -> Reserved<K, F> {
        Reserved { give_back: Some(give_back), kind: PhantomData }
    }

    /// Records that the bytes were added to the account and stay there even if the call fails.
    pub(super) fn charged(self) -> Settled<K> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Context> {
    /// Settles a primary context that the worker had retained, and charged, before.
    pub(in crate::calls) fn retained_before(self) -> Settled<kind::Context> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Memory> {
    /// Settles an allocation that is part of a slab. The slab was charged as a whole when it was
    /// mapped.
    pub(in crate::calls) fn part_of_slab(self) -> Settled<kind::Memory> {
        Settled(PhantomData)
    }

    /// Settles an allocation that reuses memory whose free was still waiting, so that it is still
    /// charged.
    pub(in crate::calls) fn still_charged(self) -> Settled<kind::Memory> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Limit> {
    /// Settles a limit whose memory isn't charged.
    pub(super) fn takes_none(self) -> Settled<kind::Limit> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Module> {
    /// Settles a function whose code was charged when the function was created.
    pub(in crate::calls) fn charged_with_function(self) -> Settled<kind::Module> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Local> {
    /// The reservation for the code of a kernel, which the kernel's launch may load.
    pub(in crate::calls) fn code(&self) -> Reservation<kind::Module> {
        Reservation(PhantomData)
    }

    /// The reservation for one kernel node of a graph.
    pub(in crate::calls) fn node(&self) -> Self {
        Self(PhantomData)
    }

    /// Settles a kernel for which the context already has enough local memory.
    pub(super) fn has_room(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// Settles a node that isn't a kernel, and so has no local memory.
    pub(in crate::calls) fn not_a_kernel(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// Settles a graph whose kernel nodes were each settled separately.
    pub(in crate::calls) fn settled_by_nodes(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Graph> {
    /// The reservation for the kernels of the graph.
    pub(in crate::calls) fn kernels(&self) -> Reservation<kind::Local> {
        Reservation(PhantomData)
    }
}

impl<K, F: FnOnce() -> CuResult> Reserved<K, F> {
    /// Settles the charge: the driver has taken the bytes, and they stay on the account.
    pub(in crate::calls) fn settle(mut self) -> Settled<K> {
        self.give_back = None;
        Settled(PhantomData)
    }

    /// Gives the bytes back now, and returns whether that worked.
    pub(in crate::calls) fn undo(mut self) -> CuResult {
        self.give_back.take().map_or(Ok(()), |give_back| give_back())
    }
}

impl<K, F: FnOnce() -> CuResult> Drop for Reserved<K, F> {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            // This fails only if the context has ended. In that case its account was closed with
            // it.
            let _ = give_back();
        }
    }
}

impl<K> Settled<K> {
    /// Turns the settled charge into a successful result.
    pub(in crate::calls) fn done(self) -> CuResult {
        Ok(())
    }
}

/// The reply of a call that charges, for bodies that answer later. It accepts success only with a
/// settled charge.
pub(in crate::calls) struct ChargedReply<K> {
    reply: ReplyTo,
    kind: PhantomData<K>,
}

impl<K> ChargedReply<K> {
    /// Wraps the reply of a guest's call. Only the generated dispatch uses it.
    pub(in crate::calls) fn new(reply: ReplyTo) -> Self {
        Self { reply, kind: PhantomData }
    }

    /// The reservation for one attempt at the call.
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
