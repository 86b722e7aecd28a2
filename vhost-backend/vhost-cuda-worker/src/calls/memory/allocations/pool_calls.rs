//! Calls that create, destroy, and query memory pools.

use protocol::calls as api;
use protocol::codec::{Answer, Writer};

use super::plan::Mapping;
use super::pools::{attribute, set_attribute};
use super::waiting::Waiter;
use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

pub(in crate::calls) fn vcuda_mem_pool_create(
    cx: &Cx<'_>,
    call: api::VcudaMemPoolCreate,
) -> CuResult {
    if !(0..cx.shared.devices).contains(&call.dev) {
        return Err(CuError::INVALID_DEVICE);
    }
    lock(&cx.shared.memory.plan).pools.create(call.pool, call.dev, call.max_size)
}

/// Unmaps memory that a pool has released, and then replies. Before the reply, also waits for
/// unmappings that began earlier, so that all of this memory can be allocated when the call
/// returns.
fn release(deferred: &mut Deferred, cx: &Cx<'_>, released: CuResult<Vec<Mapping>>, reply: ReplyTo) {
    match released {
        Err(error) => reply.finish(error.0, &[]),
        Ok(gone) => {
            for mapping in gone {
                deferred.give_back_later(cx.ctx, mapping, || {});
            }
            deferred.after_frees(Waiter::Done(reply));
        }
    }
}

pub(in crate::calls) fn cu_mem_pool_destroy(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuMemPoolDestroy,
    reply: ReplyTo,
) {
    deferred.poll_async_frees();
    let destroyed = lock(&cx.shared.memory.plan).pools.destroy(call.pool);
    release(deferred, cx, destroyed, reply);
}

pub(in crate::calls) fn cu_mem_pool_trim_to(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuMemPoolTrimTo,
    reply: ReplyTo,
) {
    deferred.poll_async_frees();
    let mut plan = lock(&cx.shared.memory.plan);
    let pool = plan.pools.open(call.pool, cx.shared.devices);
    let trimmed = pool.map(|pool| pool.store.trim(call.min_bytes_to_keep as u64));
    drop(plan);
    release(deferred, cx, trimmed, reply);
}

pub(in crate::calls) fn vcuda_mem_pool_set(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaMemPoolSet,
    reply: ReplyTo,
) {
    let mut plan = lock(&cx.shared.memory.plan);
    let pool = plan.pools.open(call.pool, cx.shared.devices);
    let set = pool.and_then(|pool| {
        set_attribute(&mut pool.store, call.attribute, call.value)?;
        Ok(pool.store.trim(pool.store.threshold))
    });
    drop(plan);
    release(deferred, cx, set, reply);
}

pub(in crate::calls) fn vcuda_mem_pool_get(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaMemPoolGet,
    reply: ReplyTo,
) {
    deferred.poll_async_frees();
    let mut plan = lock(&cx.shared.memory.plan);
    let pool = plan.pools.open(call.pool, cx.shared.devices);
    let value = pool.and_then(|pool| attribute(&pool.store, call.attribute));
    drop(plan);
    match value {
        Ok(value) => {
            let mut writer = Writer::new();
            api::VcudaMemPoolGetAnswer { value }.encode(&mut writer);
            reply.finish(0, writer.as_bytes());
        }
        Err(error) => reply.finish(error.0, &[]),
    }
}
