//! Keeps memory that the program has freed mapped for the next allocation of the same size in the
//! same context.
//!
//! The supervisor checks each operation of the driver, so without kept memory, an allocation and
//! its free took twice as long as natively. Kept memory is charged to the VM, but no program uses
//! it, and it's freed before any request of the VM is refused; docs/design/charges.md describes how
//! the broker recalls it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::ids::ContextId;

use super::allocate::give_back_now;
use super::charged::Charged;
use super::plan::Mapping;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::shared::Shared;
use crate::calls::lock;
use crate::ledger::Keeps;

/// The maximum number of mappings that a session keeps.
const MOST: usize = 64;

/// Keeps a mapping that the program has freed, for a later allocation. All work in the current
/// context must have ended. If the mapping can't be kept, returns older kept mappings, which the
/// caller must free together with it. Runs only on the ring reader's thread.
pub(in crate::calls) fn keep(cx: &Cx<'_>, mapping: Mapping) -> Result<(), Vec<Mapping>> {
    let Mapping { len, device, .. } = mapping;
    let (ledger, plan) = (&cx.shared.session.ledger, &cx.shared.memory.plan);
    if mapping.charged != Charged::Alone || !ledger.may_keep(device) || has_other_work(cx) {
        return Err(Vec::new());
    }
    // Don't keep the mapping if the session uses several GPUs, because a GPU that the session has
    // used since the mapping was made could lack access to it. While `accessors` exists, no GPU is
    // added, so this stays true until the mapping is listed.
    let accessors = cx.shared.memory.peers.accessors();
    if accessors.len() > 1 {
        return Err(Vec::new());
    }
    if lock(plan).kept.len() >= MOST {
        return Err(oldest(cx, device, 1));
    }
    if !watch(cx.shared) {
        return Err(Vec::new());
    }
    match ledger.keep(device, len) {
        Keeps::Kept => {}
        Keeps::Full(excess) => return Err(oldest(cx, device, excess)),
        Keeps::Never => return Err(Vec::new()),
    }
    lock(plan).kept.add(cx.ctx, Mapping { charged: Charged::Kept, ..mapping });
    // Check again whether the mapping may be kept. The broker may have recalled kept memory before
    // this mapping was listed, and then the thread that frees recalled memory hasn't seen it.
    if !ledger.may_keep(device)
        && !lock(plan).kept.extract(|_, of| of.addr == mapping.addr).is_empty()
    {
        ledger.use_kept(device, len);
        return Err(Vec::new());
    }
    Ok(())
}

/// Removes and returns the oldest kept mappings on a GPU, as many as are needed for `bytes` bytes
/// in total.
fn oldest(cx: &Cx<'_>, device: i32, bytes: u64) -> Vec<Mapping> {
    let mut sum = 0;
    lock(&cx.shared.memory.plan).kept.extract(|_, mapping| {
        let is_needed = mapping.device == device && sum < bytes;
        sum += if is_needed { mapping.len } else { 0 };
        is_needed
    })
}

/// Returns whether memory that the program frees now may still be used by work for which the free
/// hasn't waited: work in other contexts, and work of streams that were destroyed before it ended.
fn has_other_work(cx: &Cx<'_>) -> bool {
    let tables = lock(&cx.shared.tables);
    let contexts = tables.contexts.iter().count() + tables.greens.iter().count();
    contexts > 1 || cx.shared.has_lost_work.load(Ordering::Relaxed)
}

/// Starts the thread that frees kept mappings when the broker recalls them, unless it's already
/// running. Returns whether it's running.
fn watch(shared: &Arc<Shared>) -> bool {
    if shared.memory.is_watched.load(Ordering::Relaxed) {
        return true;
    }
    let (thread, of) = (std::thread::Builder::new().name("kept".into()), shared.clone());
    let is_watched = thread.spawn(move || free_recalled(&of)).is_ok();
    shared.memory.is_watched.store(is_watched, Ordering::Relaxed);
    is_watched
}

/// Frees kept mappings whenever the broker recalls them. Never returns.
fn free_recalled(shared: &Arc<Shared>) {
    let cx = Cx { shared, thread: u32::MAX, ctx: ContextId::NONE };
    let (page, ledger) = (&shared.session.gate.page, &shared.session.ledger);
    let mut known = 0;
    loop {
        known = page.worker.changed_recalls(known);
        let (recalled, number) = {
            let mut plan = lock(&shared.memory.plan);
            let recalled = plan.kept.extract(|_, mapping| !ledger.may_keep(mapping.device));
            // List this as an unmapping in progress, so that allocations that fail now wait for its
            // end.
            (recalled, lock(&shared.unmapping).begin())
        };
        // Don't wait until the VM may use the GPU, because other sessions may be waiting for the
        // memory. The session still owes the GPU time in which the driver clears the memory.
        recalled.into_iter().for_each(|mapping| give_back_now(&cx, mapping));
        lock(&shared.unmapping).end(number);
        shared.session.waker.wake();
    }
}
