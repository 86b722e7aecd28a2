//! Reserving and giving back.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use host_ipc::messages::Charge;
use protocol::ids::ContextId;

use super::account::{KINDS, Terms};
use super::load::{Part, UNKNOWN_NEED};
use super::session::OfContext;
use super::settle::{Reservation, Reserved, kind};
use crate::calls::cx::Cx;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

impl Cx<'_> {
    pub(super) fn change(
        &self,
        ctx: ContextId,
        kind: Charge,
        change: impl FnOnce(&mut Terms),
    ) -> CuResult {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        let account = (&self.shared.session.ledger, devices);
        charges.change(account, ctx, kind, |terms, _| change(terms), |_| {})
    }

    /// Before something is loaded into a context, which may have been there before.
    pub(super) fn add_part(&self, ctx: ContextId, part: Part, bytes: u64) -> CuResult {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        charges.change(
            (&self.shared.session.ledger, devices),
            ctx,
            Charge::Module,
            |terms, parts| {
                let before = parts.get(&part).copied().unwrap_or(0);
                terms.modules = (terms.modules - before).saturating_add(bytes);
            },
            |parts| {
                parts.insert(part, bytes);
            },
        )
    }

    /// Before a load that uses the heap: whether it is a user that its context did not have.
    pub(super) fn add_heap_user(&self, ctx: ContextId, load: u64) -> CuResult<bool> {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        let mut is_new = false;
        charges.change(
            (&self.shared.session.ledger, devices),
            ctx,
            Charge::Heap,
            |terms, parts| {
                is_new = !parts.contains_key(&Part::Image(load));
                terms.heap_users = terms.heap_users.saturating_add(is_new.into());
            },
            |_| {},
        )?;
        Ok(is_new)
    }

    /// After all parts of a load were unloaded from a context.
    pub(super) fn remove_parts(&self, ctx: ContextId, load: u64) -> CuResult {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        charges.change(
            (&self.shared.session.ledger, devices),
            ctx,
            Charge::Module,
            |terms, parts| {
                let rest = parts.iter().filter(|(part, _)| part.load() != load);
                terms.modules = rest.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes));
            },
            |parts| parts.retain(|part, _| part.load() != load),
        )
    }

    /// Reserves device memory for an allocation.
    pub(in crate::calls) fn reserve_memory(
        &self,
        reservation: Reservation<kind::Memory>,
        device: i32,
        bytes: u64,
    ) -> CuResult<Reserved<kind::Memory, impl FnOnce() -> CuResult>> {
        let ledger = &self.shared.session.ledger;
        ledger.reserve(device, bytes, Charge::Memory).map_err(|_| CuError::OUT_OF_MEMORY)?;
        Ok(reservation.reserved(move || {
            ledger.release(device, bytes, Charge::Memory);
            Ok(())
        }))
    }

    /// Before the driver makes a context on a device.
    pub(in crate::calls) fn reserve_context(
        &self,
        reservation: Reservation<kind::Context>,
        device: i32,
    ) -> CuResult<Reserved<kind::Context, impl FnOnce() -> CuResult>> {
        let bytes = self.shared.session.context_bytes(device);
        if bytes != 0 {
            let reserved = self.shared.session.ledger.reserve(device, bytes, Charge::Context);
            reserved.map_err(|_| CuError::OUT_OF_MEMORY)?;
        }
        Ok(reservation.reserved(move || {
            self.give_back_context(device);
            Ok(())
        }))
    }

    /// After the driver has ended a context, or failed to make it.
    pub(in crate::calls) fn give_back_context(&self, device: i32) {
        let bytes = self.shared.session.context_bytes(device);
        if bytes != 0 {
            self.shared.session.ledger.release(device, bytes, Charge::Context);
        }
    }

    /// The guest has a new context, whose own bytes are reserved.
    pub(in crate::calls) fn begin_charges(&self, ctx: ContextId, device: i32) {
        let new = OfContext {
            device,
            terms: Terms::default(),
            charged: [0; KINDS.len()],
            parts: HashMap::new(),
        };
        let mut contexts = lock(&self.shared.charges.contexts);
        contexts.insert(ctx, new);
        self.shared.charges.set_floor(&contexts);
        drop(contexts);
        // Kernels that were launched in another context have not been looked at for this one.
        let mut tables = lock(&self.shared.tables);
        self.shared.charges.begun.fetch_add(1, Ordering::AcqRel);
        for function in tables.functions.values_mut() {
            function.need = UNKNOWN_NEED;
        }
    }

    /// The driver has ended a context, and let go of all that it held.
    pub(in crate::calls) fn end_charges(&self, ctx: ContextId) {
        let mut contexts = lock(&self.shared.charges.contexts);
        let Some(ended) = contexts.remove(&ctx) else { return };
        self.shared.charges.set_floor(&contexts);
        for (kind, bytes) in KINDS.into_iter().zip(ended.charged) {
            if bytes != 0 {
                self.shared.session.ledger.release(ended.device, bytes, kind);
            }
        }
    }

    /// Before a stream is made in the current context.
    pub(in crate::calls) fn reserve_stream(
        &self,
        reservation: Reservation<kind::Stream>,
    ) -> CuResult<Reserved<kind::Stream, impl FnOnce() -> CuResult>> {
        self.change(self.ctx, Charge::Stream, Terms::add_stream)?;
        Ok(reservation.reserved(|| {
            self.forget_stream(self.ctx);
            Ok(())
        }))
    }

    /// Before a graph of so many nodes is instantiated in the current context.
    pub(in crate::calls) fn reserve_graph(
        &self,
        reservation: Reservation<kind::Graph>,
        nodes: usize,
    ) -> CuResult<Reserved<kind::Graph, impl FnOnce() -> CuResult>> {
        self.change(self.ctx, Charge::Graph, |terms| terms.add_nodes(nodes as u64))?;
        Ok(reservation.reserved(move || {
            self.forget_graph(self.ctx, nodes);
            Ok(())
        }))
    }

    /// A graph of a context is gone, or was not made. The driver keeps what it took for the next.
    pub(in crate::calls) fn forget_graph(&self, ctx: ContextId, nodes: usize) {
        let _ = self.change(ctx, Charge::Graph, |terms| {
            terms.nodes = terms.nodes.saturating_sub(nodes as u64);
        });
    }

    /// A stream of a context is gone. The driver keeps what it took for the next one.
    pub(in crate::calls) fn forget_stream(&self, ctx: ContextId) {
        let _ = self.change(ctx, Charge::Stream, |terms| {
            terms.streams = terms.streams.saturating_sub(1);
        });
    }
}
