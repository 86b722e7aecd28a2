//! Types that prove that a call has accounted for the memory that it takes.
//!
//! A call whose line in the API table has `charges=` gets a [`Reservation`] of that kind from the
//! generated dispatch, and can return success only with a [`Settled`] of the same kind. These types
//! have no run-time cost.

use std::marker::PhantomData;

use crate::driver::{CuError, CuResult};
use crate::reply::ReplyTo;

/// The values of `charges=` in the API table.
pub(in crate::calls) mod kind {
    /// The memory that a context itself takes.
    pub enum Context {}
    /// An allocation of device memory.
    pub enum Memory {}
    /// Memory that a limit of a context reserves, such as the malloc heap.
    pub enum Limit {}
    /// Memory that a stream takes.
    pub enum Stream {}
    /// Code and variables of a module or library.
    pub enum Module {}
    /// Local memory for kernels.
    pub enum Local {}
    /// Memory for the nodes of an instantiated graph.
    pub enum Graph {}
}

/// The obligation of a call to account for the memory that it takes. Nothing is reserved yet.
#[must_use]
pub(in crate::calls) struct Reservation<K>(PhantomData<K>);

/// Memory reserved in the account while the driver tries to take it. Dropping this value releases
/// the reservation.
#[must_use]
pub(in crate::calls) struct Reserved<K, F: FnOnce() -> CuResult> {
    give_back: Option<F>,
    kind: PhantomData<K>,
}

/// Proof that a charge was settled: reserved and kept, or not needed.
#[must_use]
pub(in crate::calls) struct Settled<K>(PhantomData<K>);

impl<K> Reservation<K> {
    /// Creates the reservation for a call from the guest. Only the generated dispatch and
    /// [`ChargedReply`] use it.
    pub(in crate::calls) fn of_call() -> Self {
        Self(PhantomData)
    }

    /// Creates the reservation for a context or stream that the worker creates for its own use and
    /// never destroys.
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
    /// Settles the charge for a primary context that was already charged when the worker first
    /// retained it.
    pub(in crate::calls) fn retained_before(self) -> Settled<kind::Context> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Memory> {
    /// Settles the charge for an allocation inside a slab. The whole slab was charged when it was
    /// mapped.
    pub(in crate::calls) fn part_of_slab(self) -> Settled<kind::Memory> {
        Settled(PhantomData)
    }

    /// Settles the charge for an allocation that reuses memory with a pending free. That memory is
    /// still charged.
    pub(in crate::calls) fn still_charged(self) -> Settled<kind::Memory> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Limit> {
    /// Settles the charge for a limit that takes no charged memory.
    pub(super) fn takes_none(self) -> Settled<kind::Limit> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Module> {
    /// Settles the charge for the code of a function. The code was charged when the function was
    /// created.
    pub(in crate::calls) fn charged_with_function(self) -> Settled<kind::Module> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Local> {
    /// Returns the reservation for the code of a kernel, which the kernel's launch may load.
    pub(in crate::calls) fn code(&self) -> Reservation<kind::Module> {
        Reservation(PhantomData)
    }

    /// The reservation for one kernel node of a graph.
    pub(in crate::calls) fn node(&self) -> Self {
        Self(PhantomData)
    }

    /// Settles the charge for a kernel whose context already has enough local memory.
    pub(super) fn has_room(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// Settles the charge for a graph node that isn't a kernel and so needs no local memory.
    pub(in crate::calls) fn not_a_kernel(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// Settles the charge for a graph. Each of its kernel nodes has settled its own charge.
    pub(in crate::calls) fn settled_by_nodes(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Graph> {
    /// Returns the reservation for the kernels of the graph.
    pub(in crate::calls) fn kernels(&self) -> Reservation<kind::Local> {
        Reservation(PhantomData)
    }
}

impl<K, F: FnOnce() -> CuResult> Reserved<K, F> {
    /// Settles the charge after the driver has taken the memory. The memory stays charged.
    pub(in crate::calls) fn settle(mut self) -> Settled<K> {
        self.give_back = None;
        Settled(PhantomData)
    }

    /// Releases the reservation now. Fails if the account no longer exists.
    pub(in crate::calls) fn undo(mut self) -> CuResult {
        self.give_back.take().map_or(Ok(()), |give_back| give_back())
    }
}

impl<K, F: FnOnce() -> CuResult> Drop for Reserved<K, F> {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            // This fails only if the context has been destroyed, which closed its account.
            let _ = give_back();
        }
    }
}

impl<K> Settled<K> {
    /// Converts the settled charge to a successful result.
    pub(in crate::calls) fn done(self) -> CuResult {
        Ok(())
    }
}

/// The reply channel of a charged call whose body replies later. Reporting success requires a
/// settled charge.
pub(in crate::calls) struct ChargedReply<K> {
    reply: ReplyTo,
    kind: PhantomData<K>,
}

impl<K> ChargedReply<K> {
    /// Wraps the reply channel of a call from the guest. Only the generated dispatch uses it.
    pub(in crate::calls) fn new(reply: ReplyTo) -> Self {
        Self { reply, kind: PhantomData }
    }

    /// Returns the reservation for one attempt at the call.
    pub(in crate::calls) fn reservation(&self) -> Reservation<K> {
        Reservation::of_call()
    }

    /// Replies with success.
    pub(in crate::calls) fn succeed(self, _: Settled<K>, answer: &[u8]) {
        self.reply.finish(0, answer);
    }

    /// Replies with an error.
    pub(in crate::calls) fn fail(self, error: CuError) {
        self.reply.finish(error.0, &[]);
    }
}
