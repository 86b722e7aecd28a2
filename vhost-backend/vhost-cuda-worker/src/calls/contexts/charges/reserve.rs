//! Reserves device memory in the VM's account for each kind of charge, and releases it.

use std::collections::HashMap;

use host_ipc::messages::Charge;
use protocol::ids::ContextId;

use super::account::{GRANULE, GraphSize, KINDS, Terms};
use super::load::{Load, Need, Part};
use super::session::OfContext;
use super::settle::{Reservation, Reserved, kind};
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

/// Changes the resources that a context uses, and adjusts the context's charge of the given kind.
pub(super) fn change_terms(
    cx: &Cx<'_>,
    ctx: ContextId,
    kind: Charge,
    change: impl Fn(&mut Terms),
) -> CuResult {
    change_parts(cx, ctx, kind, |terms, _| change(terms), |_| {})
}

/// Changes the resources that a context uses, and adjusts the context's charge of the given kind.
/// In contrast to [`change_terms`], `change` also gets the charged parts of modules and libraries,
/// and `listed` can change them.
fn change_parts(
    cx: &Cx<'_>,
    ctx: ContextId,
    kind: Charge,
    change: impl FnMut(&mut Terms, &HashMap<Part, u64>),
    listed: impl FnOnce(&mut HashMap<Part, u64>),
) -> CuResult {
    let charges = &cx.shared.charges;
    let devices = charges.devices(cx.driver(), cx.shared.devices);
    charges.change((&cx.shared.session.ledger, devices), ctx, kind, change, listed)
}

/// Charges a context for a part of a module or library. If the context is already charged for the
/// part, the new amount replaces the old one. Returns whether the part is new.
pub(super) fn add_part(cx: &Cx<'_>, ctx: ContextId, part: Part, bytes: u64) -> CuResult<bool> {
    let mut is_new = false;
    let change = |terms: &mut Terms, parts: &HashMap<Part, u64>| {
        let before = parts.get(&part).copied();
        is_new = before.is_none();
        terms.modules = (terms.modules - before.unwrap_or(0)).saturating_add(bytes);
    };
    let listed = |parts: &mut HashMap<Part, u64>| {
        parts.insert(part, bytes);
    };
    change_parts(cx, ctx, Charge::Module, change, listed)?;
    Ok(is_new)
}

/// Counts a module or library as a user of the context's malloc heap and of the driver's functions
/// for kernels, unless the context is already charged for its variables. Returns whether it isn't
/// charged for them yet.
pub(super) fn add_users(cx: &Cx<'_>, ctx: ContextId, load: &Load) -> CuResult<bool> {
    let (image, users) = (Part::Image(load.number), Part::Users(load.number));
    let mut is_new = false;
    let change = |terms: &mut Terms, parts: &HashMap<Part, u64>| {
        is_new = !parts.contains_key(&image);
        // If the command runs again after the broker's answer, the users were already counted the
        // first time.
        if is_new && !parts.contains_key(&users) {
            let (heap, runtime) = load.users();
            terms.heap_users = terms.heap_users.saturating_add(heap);
            terms.runtime_users = terms.runtime_users.saturating_add(runtime);
        }
    };
    let listed = |parts: &mut HashMap<Part, u64>| {
        parts.insert(users, 0);
    };
    change_parts(cx, ctx, Charge::Heap, change, listed)?;
    Ok(is_new)
}

/// Undoes [`add_users`] for an image that wasn't passed to the driver.
pub(super) fn remove_users(cx: &Cx<'_>, load: &Load) {
    let users = Part::Users(load.number);
    let change = |terms: &mut Terms, parts: &HashMap<Part, u64>| {
        if parts.contains_key(&users) {
            let (heap, runtime) = load.users();
            terms.heap_users = terms.heap_users.saturating_sub(heap);
            terms.runtime_users = terms.runtime_users.saturating_sub(runtime);
        }
    };
    let listed = |parts: &mut HashMap<Part, u64>| {
        parts.remove(&users);
    };
    let _ = change_parts(cx, cx.ctx, Charge::Heap, change, listed);
}

/// Releases a context's charges for all parts of a module or library, after it was unloaded from
/// the context. `load` is [`Load::number`](super::load::Load).
pub(super) fn remove_parts(cx: &Cx<'_>, ctx: ContextId, load: u64) -> CuResult {
    let change = |terms: &mut Terms, parts: &HashMap<Part, u64>| {
        let rest = parts.iter().filter(|(part, _)| part.load() != load);
        terms.modules = rest.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes));
    };
    let listed = |parts: &mut HashMap<Part, u64>| parts.retain(|part, _| part.load() != load);
    change_parts(cx, ctx, Charge::Module, change, listed)
}

/// Reserves device memory in the VM's account, for an allocation.
pub(in crate::calls) fn reserve_memory(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    device: i32,
    bytes: u64,
) -> CuResult<Reserved<kind::Memory, impl FnOnce() -> CuResult>> {
    let ledger = &cx.shared.session.ledger;
    ledger.reserve(device, bytes, Charge::Memory)?;
    Ok(reservation.reserved(move || {
        ledger.release(device, bytes, Charge::Memory);
        Ok(())
    }))
}

/// Reserves the memory that a context itself takes, before the driver creates the context on the
/// device. The memory is reserved in the VM's account.
pub(in crate::calls) fn reserve_context(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Context>,
    device: i32,
) -> CuResult<Reserved<kind::Context, impl FnOnce() -> CuResult>> {
    let bytes = cx.shared.session.context_bytes(device);
    if bytes != 0 {
        cx.shared.session.ledger.reserve(device, bytes, Charge::Context)?;
    }
    Ok(reservation.reserved(move || {
        give_back_context(cx, device);
        Ok(())
    }))
}

/// Charges the current primary context for the memory that the driver keeps for a green context
/// until the primary context is destroyed. Must be called before the driver creates the green
/// context.
pub(in crate::calls) fn charge_green_context(cx: &Cx<'_>) -> CuResult {
    change_terms(cx, cx.ctx, Charge::Context, |terms| terms.green_contexts += 1)
}

/// Releases the reservation for the memory that a context itself takes, after the driver has
/// destroyed the context or failed to create it.
pub(in crate::calls) fn give_back_context(cx: &Cx<'_>, device: i32) {
    let bytes = cx.shared.session.context_bytes(device);
    if bytes != 0 {
        cx.shared.session.ledger.release(device, bytes, Charge::Context);
    }
}

/// Starts counting a new context's resources. The memory for the context itself must already be
/// reserved.
pub(in crate::calls) fn begin_charges(cx: &Cx<'_>, ctx: ContextId, device: i32) {
    let new = OfContext {
        device,
        terms: Terms::default(),
        charged: [0; KINDS.len()],
        parts: HashMap::new(),
        arrays: 0,
    };
    let mut contexts = lock(&cx.shared.charges.contexts);
    contexts.insert(ctx, new);
    cx.shared.charges.set_floor(&contexts);
    drop(contexts);
    forget_needs(cx);
}

fn forget_needs(cx: &Cx<'_>) {
    // Forget the recorded needs of all kernels. They were checked only for the previous context,
    // and each kernel's next launch must be checked for the launch's own context. While there are
    // several contexts, no need is recorded, because it might not apply to the context that remains
    // in the end.
    for function in lock(&cx.shared.tables).functions.values_mut() {
        function.need = Need::UNKNOWN;
    }
}

/// Gives a new id to a context whose resources are counted. Returns whether the old id had such a
/// context.
pub(in crate::calls) fn adopt_charges(cx: &Cx<'_>, from: ContextId, to: ContextId) -> bool {
    let mut contexts = lock(&cx.shared.charges.contexts);
    let Some(context) = contexts.remove(&from) else { return false };
    contexts.insert(to, context);
    cx.shared.charges.set_floor(&contexts);
    drop(contexts);
    forget_needs(cx);
    true
}

/// Releases all charges of a context, after the driver has destroyed it.
pub(in crate::calls) fn end_charges(cx: &Cx<'_>, ctx: ContextId) {
    let mut contexts = lock(&cx.shared.charges.contexts);
    let Some(ended) = contexts.remove(&ctx) else { return };
    cx.shared.charges.set_floor(&contexts);
    drop(contexts);
    for (kind, bytes) in KINDS.into_iter().zip(ended.charged) {
        if bytes != 0 {
            cx.shared.session.ledger.release(ended.device, bytes, kind);
        }
    }
    if ended.arrays != 0 {
        cx.shared.session.ledger.release(ended.device, ended.arrays, Charge::Memory);
    }
}

/// Reserves memory for an array of `bytes` bytes in the current context, before the driver creates
/// the array. Also returns the number of reserved bytes.
///
/// The driver puts small arrays into blocks of 2 MiB, and frees a block when all of its arrays have
/// been destroyed. The worker doesn't know which arrays share a block, so it reserves a whole block
/// for each.
pub(in crate::calls) fn reserve_array(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Memory>,
    bytes: u64,
) -> CuResult<(u64, Reserved<kind::Memory, impl FnOnce() -> CuResult>)> {
    let whole = bytes.max(1).checked_next_multiple_of(GRANULE).ok_or(CuError::OUT_OF_MEMORY)?;
    let contexts = &cx.shared.charges.contexts;
    let device = lock(contexts).get(&cx.ctx).ok_or(CuError::INVALID_CONTEXT)?.device;
    let ledger = &cx.shared.session.ledger;
    ledger.reserve(device, whole, Charge::Memory)?;
    let counted = lock(contexts).get_mut(&cx.ctx).map(|context| context.arrays += whole);
    if counted.is_none() {
        ledger.release(device, whole, Charge::Memory);
        return Err(CuError::INVALID_CONTEXT);
    }
    Ok((
        whole,
        reservation.reserved(move || {
            give_back_array(cx, cx.ctx, whole);
            Ok(())
        }),
    ))
}

/// Releases the reservation for an array after the driver has destroyed it or failed to create it.
/// If its context has been destroyed, the reservation was released together with the context's.
pub(in crate::calls) fn give_back_array(cx: &Cx<'_>, ctx: ContextId, reserved: u64) {
    let device = lock(&cx.shared.charges.contexts).get_mut(&ctx).map(|context| {
        context.arrays -= reserved;
        context.device
    });
    if let Some(device) = device {
        cx.shared.session.ledger.release(device, reserved, Charge::Memory);
    }
}

/// Reserves memory for a stream before the driver creates the stream in the current context.
pub(in crate::calls) fn reserve_stream(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Stream>,
) -> CuResult<Reserved<kind::Stream, impl FnOnce() -> CuResult>> {
    change_terms(cx, cx.ctx, Charge::Stream, Terms::add_stream)?;
    Ok(reservation.reserved(|| {
        forget_stream(cx, cx.ctx);
        Ok(())
    }))
}

/// Reserves memory for a graph of this size before the driver instantiates the graph in the current
/// context.
pub(in crate::calls) fn reserve_graph(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Graph>,
    size: GraphSize,
) -> CuResult<Reserved<kind::Graph, impl FnOnce() -> CuResult>> {
    change_terms(cx, cx.ctx, Charge::Graph, |terms| terms.add_graph(size.bytes()))?;
    Ok(reservation.reserved(move || {
        forget_graph(cx, cx.ctx, size);
        Ok(())
    }))
}

/// Reserves memory in a context for a graph whose parameters become longer, before the driver gets
/// the longer parameters.
pub(in crate::calls) fn reserve_parameters(
    cx: &Cx<'_>,
    ctx: ContextId,
    before: GraphSize,
    after: GraphSize,
) -> CuResult {
    let more = after.bytes().saturating_sub(before.bytes());
    change_terms(cx, ctx, Charge::Graph, |terms| terms.add_graph(more))
}

/// Undoes [`reserve_parameters`] if the driver has refused the longer parameters.
pub(in crate::calls) fn give_back_parameters(
    cx: &Cx<'_>,
    ctx: ContextId,
    before: GraphSize,
    after: GraphSize,
) {
    let more = after.bytes().saturating_sub(before.bytes());
    let _ = change_terms(cx, ctx, Charge::Graph, |terms| {
        terms.graphs = terms.graphs.saturating_sub(more);
    });
}

/// Subtracts a graph's size from the total size of the existing graphs, after the graph was
/// destroyed or couldn't be created. The charge doesn't shrink, because the driver keeps the memory
/// for the next graph.
pub(in crate::calls) fn forget_graph(cx: &Cx<'_>, ctx: ContextId, size: GraphSize) {
    let _ = change_terms(cx, ctx, Charge::Graph, |terms| {
        terms.graphs = terms.graphs.saturating_sub(size.bytes());
    });
}

/// Subtracts one from the number of existing streams, after a stream was destroyed or couldn't be
/// created. The charge doesn't shrink, because the driver keeps the memory for the next stream.
pub(in crate::calls) fn forget_stream(cx: &Cx<'_>, ctx: ContextId) {
    let _ = change_terms(cx, ctx, Charge::Stream, |terms| {
        terms.streams = terms.streams.saturating_sub(1);
    });
}
