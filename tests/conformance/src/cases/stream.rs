//! Streams: order, host functions, and capture.

use super::cases;
use crate::cuda::{DefaultStream, Failure, cu, ensure, get, parameter, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{
    CUaccessPolicyWindow, CUaccessProperty, CUdevice_attribute, CUlaunchAttributeID,
    CUstreamAttrValue, CUstreamCaptureMode, CUstreamCaptureStatus, CUsynchronizationPolicy,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

static STEPS: AtomicU32 = AtomicU32::new(0);

/// A host function that appends a digit to `STEPS`.
unsafe extern "C" fn step(digit: *mut c_void) {
    let digit = digit as usize as u32;
    STEPS.store(STEPS.load(Ordering::SeqCst) * 10 + digit, Ordering::SeqCst);
}

fn digit(value: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(value)
}

cases! {
    fn work_in_a_stream_is_ordered(cuda, primary) {
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let pointer = cuda.alloc(4096)?;
        let mut stream = get!(cuda, cuStreamCreate(@, 1))?;
        cu!(cuda, cuMemsetD32Async(pointer, 1, 1024, stream))?;
        let (value, count) = (2u32, 1024u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        for _ in 0..50 {
            cuda.launch(add, [8, 128], stream, &mut parameters)?;
        }
        cu!(cuda, cuStreamSynchronize(stream))?;
        cu!(cuda, cuStreamQuery(stream))?;
        same!(cuda.download::<u32>(pointer, 1024)?, [101; 1024]);
        cu!(cuda, cuStreamDestroy_v2(stream))?;
        refused!(cu!(cuda, cuStreamCreate(&mut stream, 99)), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamCreate(null_mut(), 0)), INVALID_VALUE);
    }

    fn host_functions_run_in_order(cuda, primary) {
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        for value in [1, 2, 3] {
            cu!(cuda, cuLaunchHostFunc(stream, Some(step), digit(value)))?;
        }
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(STEPS.load(Ordering::SeqCst), 123);
        refused!(cu!(cuda, cuLaunchHostFunc(stream, None, null_mut())), INVALID_VALUE);
    }

    fn a_null_stream_belongs_to_its_thread_only_if_streams_are_per_thread(cuda, primary = (_, context)) {
        let flag = cuda.alloc(4)?;
        cu!(cuda, cuMemsetD32_v2(flag, 0, 1))?;
        cu!(cuda, cuCtxSynchronize())?;
        let other = get!(cuda, cuStreamCreate(@, 1))?;
        cu!(cuda, cuStreamWaitValue32_v2(null_mut(), flag, 1, 1))?;
        refused!(cu!(cuda, cuStreamQuery(null_mut())), NOT_READY);
        let context = context.expose_provenance();
        let query = || {
            cu!(cuda, cuCtxSetCurrent(std::ptr::with_exposed_provenance_mut(context)))?;
            cu!(cuda, cuStreamQuery(null_mut()))
        };
        let elsewhere = std::thread::scope(|scope| scope.spawn(query).join());
        cu!(cuda, cuStreamWriteValue32_v2(other, flag, 1, 0))?;
        cu!(cuda, cuStreamSynchronize(null_mut()))?;
        let Ok(elsewhere) = elsewhere else {
            return Err(Failure::new("the other thread panicked"));
        };
        match cuda.default_stream() {
            DefaultStream::Legacy => refused!(elsewhere, NOT_READY),
            DefaultStream::PerThread => elsewhere?,
        }
    }

    fn a_capture_becomes_a_graph(cuda, primary) {
        let pointer = cuda.alloc(64)?;
        cu!(cuda, cuMemsetD32_v2(pointer, 1, 16))?;
        let (mut stream, mut graph, mut exec) = (null_mut(), null_mut(), null_mut());
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        refused!(cu!(cuda, cuStreamEndCapture(stream, &mut graph)), ILLEGAL_STATE);
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        cu!(cuda, cuStreamBeginCapture_v2(stream, mode))?;
        cu!(cuda, cuStreamIsCapturing(stream, &mut status))?;
        same!(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
        cu!(cuda, cuMemsetD32Async(pointer, 9, 16, stream))?;
        cu!(cuda, cuStreamEndCapture(stream, &mut graph))?;
        same!(cuda.download::<u32>(pointer, 1)?, [1]);
        let nodes = get!(cuda, cuGraphGetNodes(graph, null_mut(), @))?;
        same!(nodes, 1);
        cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(pointer, 2)?, [9, 9]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
    }

    fn synchronizing_breaks_a_capture(cuda, primary) {
        let (mut stream, mut graph) = (null_mut(), null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        cu!(cuda, cuStreamBeginCapture_v2(stream, mode))?;
        refused!(cu!(cuda, cuStreamSynchronize(stream)), STREAM_CAPTURE_UNSUPPORTED);
        refused!(cu!(cuda, cuStreamEndCapture(stream, &mut graph)), STREAM_CAPTURE_INVALIDATED);
        ensure!(graph.is_null(), "a broken capture returned a graph");
        cu!(cuda, cuStreamSynchronize(stream))?;
    }

    fn a_stream_that_was_joined_can_be_destroyed_during_a_capture(cuda, primary) {
        let pointer = cuda.alloc(64)?;
        cuda.upload(pointer, &[0u32; 16])?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        for join in [true, false] {
            let (mut streams, mut events, mut graph) = ([null_mut(); 2], [null_mut(); 2], null_mut());
            for (stream, event) in streams.iter_mut().zip(&mut events) {
                cu!(cuda, cuStreamCreate(stream, 1))?;
                cu!(cuda, cuEventCreate(event, 2))?;
            }
            let ([first, second], [fork, end]) = (streams, events);
            cu!(cuda, cuStreamBeginCapture_v2(first, mode))?;
            cu!(cuda, cuMemsetD32Async(pointer, 1, 1, first))?;
            cu!(cuda, cuEventRecord(fork, first))?;
            cu!(cuda, cuStreamWaitEvent(second, fork, 0))?;
            cu!(cuda, cuMemsetD32Async(pointer + 4, 2, 1, second))?;
            cu!(cuda, cuEventRecord(end, second))?;
            if join {
                cu!(cuda, cuStreamWaitEvent(first, end, 0))?;
            }
            cu!(cuda, cuStreamDestroy_v2(second))?;
            cu!(cuda, cuEventDestroy_v2(end))?;
            cu!(cuda, cuMemsetD32Async(pointer + 8, 3, 1, first))?;
            let ended = cu!(cuda, cuStreamEndCapture(first, &mut graph));
            if !join {
                refused!(ended, STREAM_CAPTURE_UNJOINED | STREAM_CAPTURE_INVALIDATED);
                continue;
            }
            ended?;
            let exec = get!(cuda, cuGraphInstantiateWithFlags(@, graph, 0))?;
            cu!(cuda, cuGraphLaunch(exec, first))?;
            cu!(cuda, cuStreamSynchronize(first))?;
            same!(cuda.download::<u32>(pointer, 4)?, [1, 2, 3, 0]);
            cu!(cuda, cuGraphExecDestroy(exec))?;
            cu!(cuda, cuGraphDestroy(graph))?;
        }
    }

    fn a_stream_has_flags_and_a_priority(cuda, primary) {
        let (mut stream, mut flags, mut priority) = (null_mut(), 9, 9);
        cu!(cuda, cuStreamCreateWithPriority(&mut stream, 1, -1))?;
        cu!(cuda, cuStreamGetFlags(stream, &mut flags))?;
        cu!(cuda, cuStreamGetPriority(stream, &mut priority))?;
        same!((flags, priority), (1, -1));
        refused!(cu!(cuda, cuStreamGetFlags(stream, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamGetPriority(stream, null_mut())), INVALID_VALUE);
    }

    fn attributes_are_copied(cuda, primary) {
        let from = get!(cuda, cuStreamCreate(@, 1))?;
        let to = get!(cuda, cuStreamCreate(@, 1))?;
        let which = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
        let yielding = CUsynchronizationPolicy::CU_SYNC_POLICY_YIELD;
        let mut value = CUstreamAttrValue { pad: [0; 64] };
        value.syncPolicy = yielding;
        cu!(cuda, cuStreamSetAttribute(from, which, &value))?;
        cu!(cuda, cuStreamCopyAttributes(to, from))?;
        let mut found = CUstreamAttrValue { pad: [0; 64] };
        cu!(cuda, cuStreamGetAttribute(to, which, &mut found))?;
        // SAFETY: the attribute's value is a policy, which consists of integers.
        same!(unsafe { found.syncPolicy }, yielding);
    }

    fn a_stream_has_an_access_policy_window(cuda, primary = (device, _)) {
        let which = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
        let most = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE;
        let most = cuda.attribute(device, most)? as usize;
        let (pointer, mut stream) = (cuda.alloc(1 << 20)?, null_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let window = |bytes, ratio, miss| {
            let mut value = CUstreamAttrValue { pad: [0; 64] };
            value.accessPolicyWindow = CUaccessPolicyWindow {
                base_ptr: std::ptr::without_provenance_mut(pointer as usize),
                num_bytes: bytes,
                hitRatio: ratio,
                hitProp: CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING,
                missProp: miss,
            };
            value
        };
        let streaming = CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING;
        cu!(cuda, cuStreamSetAttribute(stream, which, &window(1 << 20, 0.5, streaming)))?;
        let shown = |value: CUstreamAttrValue| {
            // SAFETY: the attribute's value is a window, which consists of numbers.
            let window = unsafe { value.accessPolicyWindow };
            (window.base_ptr as u64, window.num_bytes, window.hitRatio, window.hitProp.0, window.missProp.0)
        };
        let mut found = CUstreamAttrValue { pad: [0; 64] };
        cu!(cuda, cuStreamGetAttribute(stream, which, &mut found))?;
        same!(shown(found), (pointer, 1 << 20, 0.5, 2, 1));
        let persisting = CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING;
        for bad in [
            window(1 << 20, 1.5, streaming),
            window(1 << 20, 0.5, persisting),
            window(most + 1, 0.5, streaming),
        ] {
            refused!(cu!(cuda, cuStreamSetAttribute(stream, which, &bad)), INVALID_VALUE);
        }

        // A captured kernel gets the access policy window and the priority of its stream.
        let priority = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY;
        let mut value = CUstreamAttrValue { pad: [0; 64] };
        value.priority = -1;
        cu!(cuda, cuStreamSetAttribute(stream, priority, &value))?;
        let (_, fill) = cuda.kernel(FILL, c"fill")?;
        let (word, count) = (7u32, 16u32);
        let mut parameters = [parameter(&pointer), parameter(&word), parameter(&count)];
        let (mut graph, mut node, mut one) = (null_mut(), null_mut(), 1);
        cu!(cuda, cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(0)))?;
        cuda.launch(fill, [1, 16], stream, &mut parameters)?;
        cu!(cuda, cuStreamEndCapture(stream, &mut graph))?;
        cu!(cuda, cuGraphGetNodes(graph, &mut node, &mut one))?;
        cu!(cuda, cuGraphKernelNodeGetAttribute(node, which, &mut found))?;
        same!(shown(found), (pointer, 1 << 20, 0.5, 2, 1));
        cu!(cuda, cuGraphKernelNodeGetAttribute(node, priority, &mut found))?;
        // SAFETY: the attribute's value is a number.
        same!(unsafe { found.priority }, -1);
        cu!(cuda, cuGraphKernelNodeSetAttribute(node, which, &window(4096, 1.0, streaming)))?;
        cu!(cuda, cuGraphKernelNodeGetAttribute(node, which, &mut found))?;
        same!(shown(found), (pointer, 4096, 1.0, 2, 1));
        let set = cu!(cuda, cuGraphKernelNodeSetAttribute(node, which, &window(4096, 2.0, streaming)));
        refused!(set, INVALID_VALUE);
        let exec = get!(cuda, cuGraphInstantiateWithFlags(@, graph, 8))?;
        cu!(cuda, cuGraphLaunch(exec, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(pointer, 16)?, [7; 16]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;
        // A window without bytes is valid, and has no effect.
        cu!(cuda, cuStreamSetAttribute(stream, which, &window(0, 0.0, streaming)))?;
    }

    fn a_streams_priority_is_an_attribute(cuda, primary) {
        let (mut stream, mut priority) = (null_mut(), 9);
        cu!(cuda, cuStreamCreateWithPriority(&mut stream, 1, -2))?;
        let which = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY;
        let mut value = CUstreamAttrValue { pad: [0; 64] };
        cu!(cuda, cuStreamGetAttribute(stream, which, &mut value))?;
        // SAFETY: the attribute's value is a number.
        same!(unsafe { value.priority }, -2);
        value.priority = -1;
        cu!(cuda, cuStreamSetAttribute(stream, which, &value))?;
        cu!(cuda, cuStreamGetPriority(stream, &mut priority))?;
        same!(priority, -1);
        // These launch attributes aren't attributes of streams.
        for other in [2, 4, 6, 11] {
            let other = CUlaunchAttributeID(other);
            refused!(cu!(cuda, cuStreamSetAttribute(stream, other, &value)), INVALID_VALUE);
            refused!(cu!(cuda, cuStreamGetAttribute(stream, other, &mut value)), INVALID_VALUE);
        }
        cu!(cuda, cuStreamDestroy_v2(stream))?;
    }

    fn an_ordinary_stream_has_no_green_context(cuda, primary) {
        let (mut stream, mut green) = (null_mut(), std::ptr::dangling_mut());
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        cu!(cuda, cuStreamGetGreenCtx(stream, &mut green))?;
        ensure!(green.is_null(), "the stream has a green context");
        refused!(cu!(cuda, cuStreamGetGreenCtx(stream, null_mut())), INVALID_VALUE);
    }
}
