//! Kinds of objects: streams, events, arrays, device memory, and executable graphs.

use super::object::{Call, Kind, Object, calls, of_memory, output};
use crate::cuda::{Called, Cuda, Outcome, cu};
use crate::images::floats;
use cuda_api::sys::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUgraphExecUpdateResultInfo,
    CUpointer_attribute as Pointer, CUstreamCaptureMode, CUstreamCaptureStatus,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "stream", create: stream },
    Kind { name: "event", create: event },
    Kind { name: "array", create: array },
    Kind { name: "device-memory", create: memory },
    Kind { name: "executable-graph", create: exec },
];

const NON_BLOCKING: u32 = 1;

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// Ways to end the primary context. Afterwards, another context is current, or none.
fn resets() -> Vec<(&'static str, Call)> {
    calls! {
        "reset-other" => |cuda| {
            cu!(cuda, cuDevicePrimaryCtxReset_v2(0))?;
            other(cuda)
        },
        "reset-none" => |cuda| {
            cu!(cuda, cuDevicePrimaryCtxReset_v2(0))?;
            cu!(cuda, cuCtxSetCurrent(null_mut()))
        },
    }
}

/// Makes a context current that isn't the primary context. Creates it the first time.
fn other(cuda: &Cuda) -> Called {
    static OTHER: Mutex<usize> = Mutex::new(0);
    let mut other = OTHER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if *other == 0 {
        let mut context = null_mut();
        cu!(cuda, cuCtxCreate_v2(&mut context, 0, 0))?;
        cu!(cuda, cuCtxPopCurrent_v2(&mut context))?;
        *other = context as usize;
    }
    cu!(cuda, cuCtxSetCurrent(*other as CUcontext))
}

fn stream(cuda: &Cuda) -> Outcome<Object> {
    let mut stream = null_mut();
    cu!(cuda, cuStreamCreate(&mut stream, NON_BLOCKING))?;
    let calls = calls! {
        "synchronize" => |cuda| cu!(cuda, cuStreamSynchronize(stream)),
        "query" => |cuda| cu!(cuda, cuStreamQuery(stream)),
        "flags" => |cuda| cu!(cuda, cuStreamGetFlags(stream, &mut 0)),
        "priority" => |cuda| cu!(cuda, cuStreamGetPriority(stream, &mut 0)),
        "context" => |cuda| cu!(cuda, cuStreamGetCtx(stream, &mut null_mut())),
        "id" => |cuda| cu!(cuda, cuStreamGetId(stream, &mut 0)),
        "function" => |cuda| cu!(cuda, cuLaunchHostFunc(stream, Some(nothing), null_mut())),
        "is-capturing" => |cuda| {
            let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
            cu!(cuda, cuStreamIsCapturing(stream, &mut status))
        },
        "begin-capture" => |cuda| {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            cu!(cuda, cuStreamBeginCapture_v2(stream, mode))
        },
        "destroy" => |cuda| cu!(cuda, cuStreamDestroy_v2(stream)),
    };
    Ok(Object::new(calls, resets()))
}

fn event(cuda: &Cuda) -> Outcome<Object> {
    let mut event = null_mut();
    cu!(cuda, cuEventCreate(&mut event, 0))?;
    cu!(cuda, cuEventRecord(event, null_mut()))?;
    let calls = calls! {
        "record" => |cuda| cu!(cuda, cuEventRecord(event, null_mut())),
        "query" => |cuda| cu!(cuda, cuEventQuery(event)),
        "synchronize" => |cuda| cu!(cuda, cuEventSynchronize(event)),
        "wait" => |cuda| cu!(cuda, cuStreamWaitEvent(null_mut(), event, 0)),
        "elapsed" => |cuda| cu!(cuda, cuEventElapsedTime(&mut 0.0, event, event)),
        "destroy" => |cuda| cu!(cuda, cuEventDestroy_v2(event)),
    };
    Ok(Object::new(calls, resets()))
}

fn array(cuda: &Cuda) -> Outcome<Object> {
    let (mut array, mut mipmap) = (null_mut(), null_mut());
    cu!(cuda, cuArray3DCreate_v2(&mut array, &floats([16, 4, 0], 0)))?;
    cu!(cuda, cuMipmappedArrayCreate(&mut mipmap, &floats([16, 4, 0], 0), 2))?;
    let calls = calls! {
        "descriptor" => |cuda| {
            cu!(cuda, cuArray3DGetDescriptor_v2(&mut CUDA_ARRAY3D_DESCRIPTOR::default(), array))
        },
        "copy" => |cuda| cu!(cuda, cuMemcpyHtoA_v2(array, 0, output(&mut [0u8; 4]), 4)),
        "level" => |cuda| cu!(cuda, cuMipmappedArrayGetLevel(&mut null_mut(), mipmap, 1)),
        "destroy-levels" => |cuda| cu!(cuda, cuMipmappedArrayDestroy(mipmap)),
        "destroy" => |cuda| cu!(cuda, cuArrayDestroy(array)),
    };
    Ok(Object::new(calls, resets()))
}

fn memory(cuda: &Cuda) -> Outcome<Object> {
    let (pointer, which) = (cuda.alloc(64)?, Pointer::CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    let mut calls = of_memory(pointer, which);
    calls.extend(calls! {
        "free-async" => |cuda| cu!(cuda, cuMemFreeAsync(pointer, null_mut())),
        "free" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    });
    Ok(Object::new(calls, resets()))
}

fn exec(cuda: &Cuda) -> Outcome<Object> {
    let (mut graph, mut node, mut exec, mut context) =
        (null_mut(), null_mut(), null_mut(), null_mut());
    cu!(cuda, cuCtxGetCurrent(&mut context))?;
    cu!(cuda, cuGraphCreate(&mut graph, 0))?;
    let dst = cuda.alloc(64)?;
    let fill =
        CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value: 1, elementSize: 4, width: 1, height: 1 };
    cu!(cuda, cuGraphAddMemsetNode(&mut node, graph, null(), 0, &fill, context))?;
    cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
    let calls = calls! {
        "launch" => |cuda| cu!(cuda, cuGraphLaunch(exec, null_mut())),
        "upload" => |cuda| cu!(cuda, cuGraphUpload(exec, null_mut())),
        "update" => |cuda| {
            let mut result = CUgraphExecUpdateResultInfo::default();
            cu!(cuda, cuGraphExecUpdate_v2(exec, graph, &mut result))
        },
        "flags" => |cuda| cu!(cuda, cuGraphExecGetFlags(exec, &mut 0)),
        "destroy" => |cuda| cu!(cuda, cuGraphExecDestroy(exec)),
    };
    Ok(Object::new(calls, resets()))
}
