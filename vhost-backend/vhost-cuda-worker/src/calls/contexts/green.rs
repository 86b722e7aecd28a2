//! Green contexts. The guest describes the multiprocessors (SMs) of a green context as a split of a
//! device's SMs. The worker splits the SMs in the same way itself, so it passes only checked
//! numbers from the guest to the driver.

use std::collections::BTreeSet;

use cuda_api::green::{Part, Sms};
use cuda_api::sys::{
    CUdevResource, CUdevResource_st__bindgen_ty_1 as Union, CUdevResourceType, CUgreenCtx,
    CUgreenCtxCreate_flags, CUstream_flags,
};
use protocol::calls as api;
use protocol::ids::{ContextId, GreenId, StreamId};
use protocol::limits::SM_GROUPS_MAX;

use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::result::number;
use crate::calls::contexts::charges::{
    Reservation, Settled, charge_green_context, forget_stream, give_back_context, kind,
    reserve_context, reserve_stream,
};
use crate::calls::gate::pass::Pass;
use crate::calls::lock;
use crate::calls::tables::claims::{GREENS, STREAMS, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::{Green, Recorded, Stream};
use crate::calls::tables::uses::Object;
use crate::driver::{CuError, CuResult};

const SM: CUdevResourceType = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
const DEFAULT_STREAM: u32 = CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM.0;
const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
/// The flags for splits: CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING and
/// CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE.
const SPLIT_FLAGS: u32 = 1 | 2;
/// The maximum number of descriptors that a session may create. A limit is necessary because CUDA
/// has no function that destroys a descriptor.
const MAX_DESCRIPTORS: usize = 1 << 16;

const NO_RESOURCE: CUdevResource = CUdevResource {
    type_: CUdevResourceType::CU_DEV_RESOURCE_TYPE_INVALID,
    _internal_padding: [0; 92],
    __bindgen_anon_1: Union { _oversize: [0; 48] },
};

/// Fails if MPS limits the VM to a percentage of the GPU's SMs. It isn't known whether green
/// contexts respect that limit.
fn refuse_with_mps() -> CuResult {
    match std::env::var_os("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") {
        Some(_) => Err(CuError::NOT_SUPPORTED),
        None => Ok(()),
    }
}

/// Returns the number of SMs in a resource, the minimum size of a part of it, and the alignment of
/// parts. Returns zeros for a remainder without SMs, which the driver marks as invalid.
fn numbers(resource: &CUdevResource) -> [u32; 3] {
    if resource.type_ != SM {
        return [0; 3];
    }
    // SAFETY: all variants of the union consist of plain integers and bytes, for which every bit
    // pattern is valid.
    let Sms { smCount, minSmPartitionSize, smCoscheduledAlignment } =
        unsafe { resource.__bindgen_anon_1.sm };
    [smCount, minSmPartitionSize, smCoscheduledAlignment]
}

/// Looks up a green context. Fails if it's being destroyed.
fn named(cx: &Cx<'_>, id: GreenId) -> CuResult<Green> {
    let green = *lock(&cx.shared.tables).greens.get(id)?;
    if green.ending { Err(CuError::CONTEXT_IS_DESTROYED) } else { Ok(green) }
}

/// Enters the current context, and looks up a green context in it. Fails if the green context is
/// being destroyed or belongs to another primary context.
fn named_here(cx: &Cx<'_>, id: GreenId) -> CuResult<Green> {
    cx.enter()?;
    let green = named(cx, id)?;
    if green.ctx == cx.ctx { Ok(green) } else { Err(CuError::INVALID_CONTEXT) }
}

/// Returns all SMs of the green context `source`, or of the device if `source` is 0. The green
/// context must not be destroyed during the call, so the caller must be the ring reader's thread or
/// hold the lock `green_descriptors`.
fn whole(cx: &Cx<'_>, device: i32, source: GreenId) -> CuResult<CUdevResource> {
    refuse_with_mps()?;
    cx.check_device(device)?;
    let mut resource = NO_RESOURCE;
    // SAFETY: the driver writes only to a local variable, and the caller ensures that the green
    // context stays live.
    unsafe {
        match source {
            GreenId(0) => cx.driver().cuDeviceGetDevResource(device, &mut resource, SM)?,
            _ => {
                let green = named(cx, source)?;
                if green.device != device {
                    return Err(CuError::INVALID_RESOURCE_CONFIGURATION);
                }
                cx.driver().cuGreenCtxGetDevResource(green.real.0, &mut resource, SM)?;
            }
        }
    }
    Ok(resource)
}

/// The groups into which SMs were split, and the SMs that were left over.
struct Groups {
    made: u32,
    groups: Vec<CUdevResource>,
    rest: CUdevResource,
}

/// Splits the SMs `whole` into at most `count` groups. If `count` is 0, only determines the number
/// of possible groups.
fn split(
    cx: &Cx<'_>,
    whole: &CUdevResource,
    (count, flags, min_count): (u32, u32, u32),
) -> CuResult<Groups> {
    if flags & !SPLIT_FLAGS != 0 || count as usize > SM_GROUPS_MAX {
        return Err(CuError::INVALID_VALUE);
    }
    let (mut groups, mut rest) = (vec![NO_RESOURCE; count as usize], NO_RESOURCE);
    let (mut made, none) = (count, std::ptr::null_mut());
    let (to, left) = match count {
        0 => (none, none),
        _ => (groups.as_mut_ptr(), &raw mut rest),
    };
    // SAFETY: the pointers are null or to local variables, and the array has `made` elements. The
    // driver has filled in the resource that is split.
    unsafe {
        cx.driver().cuDevSmResourceSplitByCount(to, &mut made, whole, left, flags, min_count)?;
    }
    groups.truncate(made as usize);
    Ok(Groups { made, groups, rest })
}

pub(in crate::calls) fn vcuda_sm_resource(
    cx: &Cx<'_>,
    call: api::VcudaSmResource,
) -> CuResult<api::VcudaSmResourceAnswer> {
    let sms = numbers(&whole(cx, call.dev, call.source)?);
    Ok(api::VcudaSmResourceAnswer { sms })
}

pub(in crate::calls) fn vcuda_sm_split(
    cx: &Cx<'_>,
    call: api::VcudaSmSplit,
) -> CuResult<api::VcudaSmSplitAnswer> {
    let whole = whole(cx, call.dev, call.source)?;
    let Groups { made, groups, rest } =
        split(cx, &whole, (call.groups, call.flags, call.min_count))?;
    let group = groups.first().map_or([0; 3], numbers);
    Ok(api::VcudaSmSplitAnswer { made, group, rest: numbers(&rest) })
}

/// Returns the resources for a new green context, which the guest describes by splits.
fn provided(
    cx: &Cx<'_>,
    device: i32,
    call: &api::VcudaGreenCtxCreate,
) -> CuResult<Vec<CUdevResource>> {
    let whole = whole(cx, device, call.source)?;
    let listed: Vec<u32> = call.parts.iter().collect();
    if listed == [Part::Whole.number()] {
        return Ok(vec![whole]);
    }
    let parts: BTreeSet<u32> = listed.iter().copied().collect();
    if call.groups == 0 || parts.is_empty() || parts.len() != listed.len() {
        return Err(CuError::INVALID_RESOURCE_CONFIGURATION);
    }
    let groups = split(cx, &whole, (call.groups, call.flags, call.min_count))?;
    let part = |number| {
        let found = match Part::from_number(number) {
            Part::Whole => None,
            Part::Group(index) => groups.groups.get(index as usize),
            Part::Rest => Some(&groups.rest),
        };
        let found = found.filter(|resource| numbers(resource)[0] > 0);
        found.copied().ok_or(CuError::INVALID_RESOURCE_CONFIGURATION)
    };
    parts.into_iter().map(part).collect()
}

pub(in crate::calls) fn vcuda_green_ctx_create(
    cx: &Cx<'_>,
    call: api::VcudaGreenCtxCreate,
    reservation: Reservation<kind::Context>,
) -> CuResult<Settled<kind::Context>> {
    let device = cx.enter()?.device;
    let is_primary = |ctx| lock(&cx.shared.tables).contexts.get(ctx).is_ok_and(|ctx| ctx.primary);
    if !is_primary(cx.ctx) {
        return Err(CuError::INVALID_CONTEXT);
    }
    let mut descriptors = lock(&cx.shared.green_descriptors);
    if *descriptors >= MAX_DESCRIPTORS {
        return Err(CuError::OUT_OF_MEMORY);
    }
    let mut resources = provided(cx, device, &call)?;
    let id = claim(cx, GREENS, call.green)?;
    // Charge a whole context, because the amount of memory that the driver takes for a green
    // context isn't known.
    let reserved = reserve_context(cx, reservation, device)?;
    charge_green_context(cx)?;
    *descriptors += 1;
    let (mut descriptor, mut real): (_, CUgreenCtx) = (std::ptr::null_mut(), std::ptr::null_mut());
    let count = resources.len() as u32;
    // SAFETY: the pointers are to local variables. The array has `count` resources, all of which
    // the driver has returned.
    unsafe {
        let driver = cx.driver();
        driver.cuDevResourceGenerateDesc(&mut descriptor, resources.as_mut_ptr(), count)?;
        driver.cuGreenCtxCreate(&mut real, descriptor, device, DEFAULT_STREAM)?;
    }
    id.list(Green { real: DriverHandle(real), ctx: cx.ctx, device, ending: false });
    Ok(reserved.settle())
}

/// Removes a green context's streams from the tables, so that no new call can use them. Returns
/// them for `destroy_streams`. May be called only on the ring reader's thread.
fn end_streams(cx: &Cx<'_>, green: GreenId) -> Vec<Stream> {
    let mut tables = lock(&cx.shared.tables);
    let ids = tables.streams.iter().filter(|(_, stream)| stream.green == green).map(|(id, _)| id);
    let ids: Vec<StreamId> = ids.collect();
    let ended: Vec<Stream> = ids.into_iter().flat_map(|id| tables.streams.remove(id)).collect();
    drop(tables);
    ended.iter().for_each(|stream| cx.shared.forget_stream(stream.real, stream.ctx));
    ended
}

/// Destroys streams that were removed from the tables, once the calls on mirrors that use them have
/// ended.
fn destroy_streams(cx: &Cx<'_>, ended: Vec<Stream>) {
    for Stream { real, ctx, .. } in ended {
        cx.shared.uses.wait_for_none(Object::stream(real.0));
        // SAFETY: the stream was live, and all calls that used it have ended.
        if unsafe { cx.driver().cuStreamDestroy(real.0) }.is_ok() {
            forget_stream(cx, ctx);
        }
    }
}

/// Destroys a green context that no call can use any more. Does nothing if another thread has
/// already destroyed it.
fn destroy(cx: &Cx<'_>, id: GreenId) -> CuResult {
    let _one_at_a_time = lock(&cx.shared.green_descriptors);
    let Ok(green) = lock(&cx.shared.tables).greens.take(id) else { return Ok(()) };
    // SAFETY: the green context was live, and it was removed from the tables, so it's destroyed
    // only once.
    unsafe { cx.driver().cuGreenCtxDestroy(green.real.0)? };
    give_back_context(cx, green.device);
    lock(&cx.shared.tables).greens.free(id);
    Ok(())
}

pub(in crate::calls) fn vcuda_green_ctx_destroy(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaGreenCtxDestroy,
    reply: ReplyTo,
) {
    let begun = named(cx, call.green).and_then(|green| {
        lock(&cx.shared.tables).greens.get_mut(call.green)?.ending = true;
        Ok(green.ctx)
    });
    let ctx = match begun {
        Ok(ctx) => ctx,
        Err(error) => return reply.finish(error.0, &[]),
    };
    let streams = end_streams(cx, call.green);
    let in_context = cx.shared.uses.begin(Object::Context(ctx));
    deferred.own_job(Some(cx.thread), ContextId::NONE, move |cx| {
        destroy_streams(cx, streams);
        let destroyed = destroy(cx, call.green);
        drop(in_context);
        reply.finish(number(destroyed), &[]);
    });
}

/// Destroys the green contexts of a primary context that is being destroyed. The driver keeps the
/// primary context until its green contexts have been destroyed.
pub(in crate::calls) fn destroy_all_of(cx: &Cx<'_>, ctx: ContextId) -> CuResult {
    let ids: Vec<GreenId> = {
        let tables = lock(&cx.shared.tables);
        tables.greens.iter().filter(|(_, green)| green.ctx == ctx).map(|(id, _)| id).collect()
    };
    let mut destroyed = Ok(());
    for id in ids {
        destroyed = destroyed.and(destroy(cx, id));
    }
    destroyed
}

pub(in crate::calls) fn vcuda_green_ctx_stream_create(
    cx: &Cx<'_>,
    call: api::VcudaGreenCtxStreamCreate,
    reservation: Reservation<kind::Stream>,
) -> CuResult<Settled<kind::Stream>> {
    let green = named_here(cx, call.green)?;
    let id = claim(cx, STREAMS, call.stream)?;
    let reserved = reserve_stream(cx, reservation)?;
    let mut stream = std::ptr::null_mut();
    // SAFETY: the green context is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`). The pointer is to a local variable.
    unsafe {
        let driver = cx.driver();
        driver.cuGreenCtxStreamCreate(&mut stream, green.real.0, NON_BLOCKING, call.priority)?;
    }
    let real = DriverHandle(stream);
    id.list(Stream { real, ctx: cx.ctx, green: call.green, used: false, blocking: false });
    Ok(reserved.settle())
}

pub(in crate::calls) fn vcuda_green_ctx_record_event(
    cx: &Cx<'_>,
    call: api::VcudaGreenCtxRecordEvent,
    pass: &Pass,
) -> CuResult {
    let green = named_here(cx, call.green)?;
    let event = cx.event_to_record(call.event, Recorded::Unknown)?;
    // SAFETY: the green context and the event are live. Their lookup fails once their destruction
    // has begun, and only the ring reader's thread, which runs this call, begins it.
    unsafe { cx.driver().cuGreenCtxRecordEvent(pass, green.real.0, event) }
}

pub(in crate::calls) fn vcuda_green_ctx_wait_event(
    cx: &Cx<'_>,
    call: api::VcudaGreenCtxWaitEvent,
) -> CuResult {
    let (green, event) = (named_here(cx, call.green)?, cx.event(call.event)?);
    // SAFETY: the green context and the event are live. Their lookup fails once their destruction
    // has begun, and only the ring reader's thread, which runs this call, begins it.
    unsafe { cx.driver().cuGreenCtxWaitEvent(green.real.0, event) }
}
