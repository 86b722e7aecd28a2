//! Green contexts, each of which can use a part of a device's SMs.

use super::cases;
use crate::cuda::{Cuda, DefaultStream, Outcome, cu, ensure, get, parameter, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{
    CUcontext, CUdevResource, CUdevResource_st__bindgen_ty_1 as Union, CUdevResourceType,
    CUdevSmResource, CUgreenCtx, CUstream,
};
use std::ptr::null_mut;

const SM: CUdevResourceType = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
const INVALID: CUdevResourceType = CUdevResourceType::CU_DEV_RESOURCE_TYPE_INVALID;
const NONE: CUdevResource = CUdevResource {
    type_: INVALID,
    _internal_padding: [0; 92],
    __bindgen_anon_1: Union { _oversize: [0; 48] },
};
const NON_BLOCKING: u32 = 1;
const DEFAULT_STREAM: u32 = 1;
const BYTES: usize = 1 << 20;

fn sms(resource: &CUdevResource) -> CUdevSmResource {
    // SAFETY: every member of the union consists of plain integers and bytes, for which all bit
    // patterns are valid.
    unsafe { resource.__bindgen_anon_1.sm }
}

/// Returns the resource that consists of all SMs of the device.
fn all(cuda: &Cuda, device: i32) -> Outcome<CUdevResource> {
    let mut all = NONE;
    cu!(cuda, cuDeviceGetDevResource(device, &mut all, SM))?;
    Ok(all)
}

/// Splits off the smallest possible group of SMs. Returns the group and the remaining SMs.
fn group(cuda: &Cuda, whole: &CUdevResource) -> Outcome<(CUdevResource, CUdevResource)> {
    let (mut group, mut rest, mut count) = (NONE, NONE, 1);
    cu!(cuda, cuDevSmResourceSplitByCount(&mut group, &mut count, whole, &mut rest, 0, 1))?;
    same!(count, 1);
    Ok((group, rest))
}

fn create(cuda: &Cuda, device: i32, resource: &CUdevResource) -> Outcome<CUgreenCtx> {
    let (mut descriptor, mut green, mut resource) = (null_mut(), null_mut(), *resource);
    cu!(cuda, cuDevResourceGenerateDesc(&mut descriptor, &mut resource, 1))?;
    cu!(cuda, cuGreenCtxCreate(&mut green, descriptor, device, DEFAULT_STREAM))?;
    Ok(green)
}

/// Returns the number of SMs that a green context has.
fn count(cuda: &Cuda, green: CUgreenCtx) -> Outcome<u32> {
    let mut own = NONE;
    cu!(cuda, cuGreenCtxGetDevResource(green, &mut own, SM))?;
    Ok(sms(&own).smCount)
}

fn context_of(cuda: &Cuda, green: CUgreenCtx) -> Outcome<CUcontext> {
    Ok(get!(cuda, cuCtxFromGreenCtx(@, green))?)
}

fn stream_in(cuda: &Cuda, green: CUgreenCtx) -> Outcome<CUstream> {
    Ok(get!(cuda, cuGreenCtxStreamCreate(@, green, NON_BLOCKING, 0))?)
}

cases! {
    fn sms_are_split_into_groups(cuda, primary = (device, context)) {
        let whole = all(cuda, device)?;
        let total = sms(&whole).smCount;
        let mut of_context = NONE;
        cu!(cuda, cuCtxGetDevResource(context, &mut of_context, SM))?;
        same!(sms(&of_context).smCount, total);
        let mut counted = 0;
        cu!(cuda, cuDevSmResourceSplitByCount(null_mut(), &mut counted, &whole, null_mut(), 0, 1))?;
        ensure!(counted >= 1, "{total} SMs can't be split");
        let (first, rest) = group(cuda, &whole)?;
        let size = sms(&first).smCount;
        ensure!(size >= 1 && size < total, "a group has {size} of {total} SMs");
        same!(sms(&rest).smCount, total - size);
        // Split the device into as many groups as possible.
        let (mut groups, mut made) = (vec![NONE; counted as usize], counted);
        let to = groups.as_mut_ptr();
        cu!(cuda, cuDevSmResourceSplitByCount(to, &mut made, &whole, null_mut(), 0, 1))?;
        same!(made, counted);
        ensure!(groups.iter().all(|group| sms(group).smCount == size), "groups differ in size");
        // A group has at least as many SMs as requested.
        let mut one = 1;
        cu!(cuda, cuDevSmResourceSplitByCount(to, &mut one, &whole, null_mut(), 0, total))?;
        same!((one, sms(&groups[0]).smCount), (1, total));
        let more = total + 1;
        let split = cu!(cuda, cuDevSmResourceSplitByCount(to, &mut one, &whole, null_mut(), 0, more));
        refused!(split, INVALID_RESOURCE_CONFIGURATION);
    }

    fn resources_have_types(cuda, primary = (device, context)) {
        let (whole, mut other, mut descriptor) = (all(cuda, device)?, NONE, null_mut());
        let of_device = cu!(cuda, cuDeviceGetDevResource(device, &mut other, INVALID));
        refused!(of_device, INVALID_RESOURCE_TYPE);
        let of_context = cu!(cuda, cuCtxGetDevResource(context, &mut other, INVALID));
        refused!(of_context, INVALID_RESOURCE_TYPE);
        let invalid = cu!(cuda, cuDevResourceGenerateDesc(&mut descriptor, &mut other, 1));
        refused!(invalid, INVALID_RESOURCE_TYPE | INVALID_RESOURCE_CONFIGURATION);
        let green = create(cuda, device, &group(cuda, &whole)?.0)?;
        let of_green = cu!(cuda, cuGreenCtxGetDevResource(green, &mut other, INVALID));
        refused!(of_green, INVALID_RESOURCE_TYPE);
        refused!(cu!(cuda, cuCtxFromGreenCtx(null_mut(), green)), INVALID_VALUE);
        cu!(cuda, cuGreenCtxDestroy(green))?;
    }

    fn a_green_context_has_a_part_of_the_sms(cuda, primary = (device, context)) {
        let whole = all(cuda, device)?;
        let (first, rest) = group(cuda, &whole)?;
        let (mut descriptor, mut green, mut part) = (null_mut(), null_mut(), first);
        cu!(cuda, cuDevResourceGenerateDesc(&mut descriptor, &mut part, 1))?;
        refused!(cu!(cuda, cuGreenCtxCreate(&mut green, descriptor, device, 0)), INVALID_VALUE);
        cu!(cuda, cuGreenCtxCreate(&mut green, descriptor, device, DEFAULT_STREAM))?;
        same!(count(cuda, green)?, sms(&first).smCount);
        // Groups from one split don't overlap, so one green context can have several of them.
        let mut both = [first, rest];
        cu!(cuda, cuDevResourceGenerateDesc(&mut descriptor, both.as_mut_ptr(), 2))?;
        let large = get!(cuda, cuGreenCtxCreate(@, descriptor, device, DEFAULT_STREAM))?;
        same!(count(cuda, large)?, sms(&whole).smCount);
        cu!(cuda, cuGreenCtxDestroy(large))?;
        let converted = context_of(cuda, green)?;
        ensure!(converted != context, "the context is the primary one");
        let (mut of_context, mut id, mut same_id) = (NONE, 0, 0);
        cu!(cuda, cuCtxGetDevResource(converted, &mut of_context, SM))?;
        same!(sms(&of_context).smCount, sms(&first).smCount);
        cu!(cuda, cuGreenCtxGetId(green, &mut id))?;
        cu!(cuda, cuCtxGetId(converted, &mut same_id))?;
        same!(id, same_id);
        cu!(cuda, cuCtxGetId(context, &mut same_id))?;
        ensure!(id != same_id, "the primary context has the same id");
        refused!(cu!(cuda, cuGreenCtxGetId(green, null_mut())), INVALID_VALUE);
        cu!(cuda, cuGreenCtxDestroy(green))?;
        let destroyed = cu!(cuda, cuGreenCtxDestroy(null_mut()));
        refused!(destroyed, INVALID_CONTEXT | INVALID_VALUE | INVALID_HANDLE);
    }

    fn streams_work_in_a_green_context(cuda, primary = (device, context)) {
        let green = create(cuda, device, &group(cuda, &all(cuda, device)?)?.0)?;
        let (mut stream, mut of_stream, mut flags) = (null_mut(), null_mut(), 0);
        refused!(cu!(cuda, cuGreenCtxStreamCreate(&mut stream, green, 0, 0)), INVALID_VALUE);
        let stream = stream_in(cuda, green)?;
        cu!(cuda, cuStreamGetGreenCtx(stream, &mut of_stream))?;
        same!(of_stream, green);
        cu!(cuda, cuStreamGetFlags(stream, &mut flags))?;
        same!(flags, NON_BLOCKING);
        let pointer = cuda.alloc(BYTES)?;
        cu!(cuda, cuMemsetD8Async(pointer, 7, BYTES, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u8>(pointer, BYTES)?, vec![7; BYTES]);
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (value, elements) = (42u32, 1000u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&elements)];
        cuda.launch(fill, [8, 128], stream, &mut parameters)?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(pointer, 1000)?, [42; 1000]);
        // An event that is recorded in the green context makes a stream of the primary context
        // wait.
        let event = get!(cuda, cuEventCreate(@, 0))?;
        let copy = get!(cuda, cuStreamCreate(@, NON_BLOCKING))?;
        let second = cuda.alloc(BYTES)?;
        cu!(cuda, cuMemsetD8Async(pointer, 8, BYTES, stream))?;
        refused!(cu!(cuda, cuGreenCtxRecordEvent(green, null_mut())), INVALID_HANDLE);
        refused!(cu!(cuda, cuGreenCtxWaitEvent(green, null_mut())), INVALID_HANDLE);
        cu!(cuda, cuGreenCtxRecordEvent(green, event))?;
        cu!(cuda, cuStreamWaitEvent(copy, event, 0))?;
        cu!(cuda, cuMemcpyDtoDAsync_v2(second, pointer, BYTES, copy))?;
        cu!(cuda, cuEventRecord(event, copy))?;
        // `cuGreenCtxWaitEvent` makes later work in the green context wait for the copy.
        cu!(cuda, cuGreenCtxWaitEvent(green, event))?;
        cu!(cuda, cuMemsetD8Async(pointer, 9, BYTES, stream))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u8>(second, BYTES)?, vec![8; BYTES]);
        same!(cuda.download::<u8>(pointer, BYTES)?, vec![9; BYTES]);
        cu!(cuda, cuStreamGetGreenCtx(copy, &mut of_stream))?;
        same!(of_stream, null_mut());
        let current = get!(cuda, cuCtxGetCurrent(@))?;
        same!(current, context);
        cu!(cuda, cuStreamDestroy_v2(stream))?;
        cu!(cuda, cuGreenCtxDestroy(green))?;
        same!(cuda.download::<u8>(pointer, BYTES)?, vec![9; BYTES]);
    }

    fn a_green_context_can_be_current(cuda, primary = (device, context)) {
        let whole = all(cuda, device)?;
        let (first, rest) = group(cuda, &whole)?;
        let green = create(cuda, device, &first)?;
        let converted = context_of(cuda, green)?;
        cu!(cuda, cuCtxSetCurrent(converted))?;
        let (mut current, mut of_stream, mut stream) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuCtxGetCurrent(&mut current))?;
        same!(current, converted);
        cu!(cuda, cuStreamCreate(&mut stream, NON_BLOCKING))?;
        cu!(cuda, cuStreamGetGreenCtx(stream, &mut of_stream))?;
        same!(of_stream, green);
        let pointer = cuda.alloc(BYTES)?;
        if cuda.default_stream() == DefaultStream::PerThread {
            // A green context has no per-thread default streams.
            let filled = cu!(cuda, cuMemsetD8Async(pointer, 3, BYTES, null_mut()));
            refused!(filled, INVALID_HANDLE);
            refused!(cu!(cuda, cuMemsetD8_v2(pointer, 3, BYTES)), INVALID_HANDLE);
            cu!(cuda, cuMemsetD8Async(pointer, 4, BYTES, stream))?;
            cu!(cuda, cuCtxSynchronize())?;
            cu!(cuda, cuCtxSetCurrent(context))?;
            same!(cuda.download::<u8>(pointer, BYTES)?, vec![4; BYTES]);
            return Ok(());
        }
        // Fill the memory in the default stream, and later in a created stream. Each download must
        // see the last value.
        cu!(cuda, cuMemsetD8Async(pointer, 3, BYTES, null_mut()))?;
        same!(cuda.download::<u8>(pointer, BYTES)?, vec![3; BYTES]);
        cu!(cuda, cuMemsetD8Async(pointer, 4, BYTES, stream))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u8>(pointer, BYTES)?, vec![4; BYTES]);
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (value, elements) = (7u32, 1000u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&elements)];
        for stream in [null_mut(), stream] {
            cu!(cuda, cuMemsetD8_v2(pointer, 0, BYTES))?;
            cu!(cuda, cuCtxSynchronize())?;
            cuda.launch(fill, [8, 128], stream, &mut parameters)?;
            cu!(cuda, cuCtxSynchronize())?;
            same!(cuda.download::<u32>(pointer, 1000)?, [7; 1000]);
        }
        cu!(cuda, cuStreamDestroy_v2(stream))?;
        cu!(cuda, cuCtxSetCurrent(context))?;
        // Two green contexts with groups from one split can be used at the same time.
        let other = create(cuda, device, &rest)?;
        let (one, two) = (stream_in(cuda, green)?, stream_in(cuda, other)?);
        let second = cuda.alloc(BYTES)?;
        cu!(cuda, cuMemsetD8Async(pointer, 5, BYTES, one))?;
        cu!(cuda, cuMemsetD8Async(second, 6, BYTES, two))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u8>(pointer, BYTES)?, vec![5; BYTES]);
        same!(cuda.download::<u8>(second, BYTES)?, vec![6; BYTES]);
        for (green, stream) in [(green, one), (other, two)] {
            cu!(cuda, cuStreamDestroy_v2(stream))?;
            cu!(cuda, cuGreenCtxDestroy(green))?;
        }
    }
}
