//! Types that prove that a call has accounted for the device memory that it takes.
//!
//! If a call's entry in the API table has `charges=`, the generated dispatch gives a
//! [`Reservation`] of that kind to the function that implements the call. That function can return
//! success only with a [`Settled`] of the same kind. These types have no run-time cost.

use std::marker::PhantomData;

use crate::driver::{CuError, CuResult};
use crate::reply::ReplyTo;

/// The kinds of charge, which correspond to the values of `charges=` in the API table.
pub(in crate::calls) mod kind {
    /// The memory that a context itself takes while it contains no objects.
    pub enum Context {}
    /// Memory that the guest allocates.
    pub enum Memory {}
    /// Memory whose size a limit of a context determines, such as the malloc heap.
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

/// The obligation of a call to account for the memory that it takes. The call hasn't reserved any
/// memory yet.
#[must_use]
pub(in crate::calls) struct Reservation<K>(PhantomData<K>);

/// Memory reserved in the VM's account while the driver tries to allocate it. Dropping this value
/// releases the reservation.
#[must_use]
pub(in crate::calls) struct Reserved<K, F: FnOnce() -> CuResult> {
    give_back: Option<F>,
    kind: PhantomData<K>,
}

/// Proof that a call has accounted for its memory: either the memory was reserved and stays
/// reserved, or the call needs none.
#[must_use]
pub(in crate::calls) struct Settled<K>(PhantomData<K>);

impl<K> Reservation<K> {
    /// Creates the obligation for a call from the guest. Only the generated dispatch and
    /// [`ChargedReply`] use this function.
    pub(in crate::calls) fn of_call() -> Self {
        Self(PhantomData)
    }

    /// Creates the obligation for a context or stream that the worker creates for its own use and
    /// never destroys.
    pub(in crate::calls) fn of_worker() -> Self {
        Self(PhantomData)
    }

    /// Records that memory was reserved in the account. `give_back` releases the memory, and is
    /// called unless the result is settled.
    pub(super) fn reserved<F: FnOnce() -> CuResult>(self, give_back: F) -> Reserved<K, F> {
        Reserved { give_back: Some(give_back), kind: PhantomData }
    }

    /// Records that memory was reserved in the account and stays reserved even if the call fails.
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

    /// Settles the charge for an allocation that reuses freed memory that is still charged, because
    /// its free is pending or the worker keeps it.
    pub(in crate::calls) fn still_charged(self) -> Settled<kind::Memory> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Limit> {
    /// Settles the charge for a limit that takes no device memory.
    pub(super) fn takes_none(self) -> Settled<kind::Limit> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Module> {
    /// Returns the obligation for one kernel, in a call that may load the code of several kernels.
    pub(in crate::calls) fn part(&self) -> Self {
        Self(PhantomData)
    }

    /// Settles the charge for a library that takes memory only when it's first used in a context.
    pub(super) fn charged_at_use(self) -> Settled<kind::Module> {
        Settled(PhantomData)
    }

    /// Settles the charge for the code of a function from a module, because the code was charged
    /// when the function was created.
    pub(in crate::calls) fn charged_with_function(self) -> Settled<kind::Module> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Local> {
    /// Returns the obligation for the code of a kernel. A launch has this obligation, too, because
    /// it may load the kernel's code.
    pub(in crate::calls) fn code(&self) -> Reservation<kind::Module> {
        Reservation(PhantomData)
    }

    /// Returns the obligation for one kernel node of a graph.
    pub(in crate::calls) fn node(&self) -> Self {
        Self(PhantomData)
    }

    /// Settles the charge for launching a kernel whose context already has enough local memory.
    pub(super) fn has_room(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// Settles the charge for a graph node that isn't a kernel and so needs no local memory.
    pub(in crate::calls) fn not_a_kernel(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }

    /// Settles the charge for a graph, because each of its kernel nodes has settled its own charge.
    pub(in crate::calls) fn settled_by_nodes(self) -> Settled<kind::Local> {
        Settled(PhantomData)
    }
}

impl Reservation<kind::Graph> {
    /// Returns the obligation for the local memory of the kernels in a graph.
    pub(in crate::calls) fn kernels(&self) -> Reservation<kind::Local> {
        Reservation(PhantomData)
    }
}

impl<K, F: FnOnce() -> CuResult> Reserved<K, F> {
    /// Settles the charge after the driver has allocated the memory. The memory stays reserved.
    pub(in crate::calls) fn settle(mut self) -> Settled<K> {
        self.give_back = None;
        Settled(PhantomData)
    }
}

impl<K, F: FnOnce() -> CuResult> Drop for Reserved<K, F> {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            // Releasing the memory fails only if the context has been destroyed, and destroying it
            // has released all its charges.
            let _ = give_back();
        }
    }
}

impl<K> Settled<K> {
    /// Returns success as the result of the call.
    pub(in crate::calls) fn done(self) -> CuResult {
        Ok(())
    }
}

/// The reply channel of a call that takes device memory and whose implementation replies later.
/// Sending a successful reply requires a settled charge.
pub(in crate::calls) struct ChargedReply<K> {
    reply: ReplyTo,
    kind: PhantomData<K>,
}

impl<K> ChargedReply<K> {
    /// Wraps the reply channel of a call from the guest. Only the generated dispatch uses this
    /// function.
    pub(in crate::calls) fn new(reply: ReplyTo) -> Self {
        Self { reply, kind: PhantomData }
    }

    /// Returns the obligation for one attempt to perform the call.
    pub(in crate::calls) fn reservation(&self) -> Reservation<K> {
        Reservation::of_call()
    }

    /// Sends a successful reply with the encoded outputs.
    pub(in crate::calls) fn succeed(self, _: Settled<K>, answer: &[u8]) {
        self.reply.finish(0, answer);
    }

    /// Replies with `error`.
    pub(in crate::calls) fn fail(self, error: CuError) {
        self.reply.finish(error.0, &[]);
    }
}
