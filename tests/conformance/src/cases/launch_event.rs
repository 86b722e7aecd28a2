//! Events that a launch records through its attributes, when its kernel has started or reached a
//! certain point.

use super::cases;
use crate::cuda::{Called, Cuda, Outcome, cu, ensure, get, parameter, refused, same};
use crate::kernels::DEPENDENT;
use cuda_api::sys::{
    CUevent, CUevent_flags, CUevent_record_flags, CUfunction, CUgraph, CUgraphEdgeData,
    CUlaunchAttribute, CUlaunchAttributeID as Id, CUlaunchConfig, CUstream, CUstream_flags,
    CUstreamAttrValue, CUstreamCaptureMode,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
const UNTIMED: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
const INTERPROCESS: u32 = CUevent_flags::CU_EVENT_INTERPROCESS.0;
const EXTERNAL: i32 = CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL.0 as i32;
const IDS: [Id; 2] =
    [Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT];

/// A host function that keeps a stream waiting until the flag at this address is set.
unsafe extern "C" fn wait_for_flag(flag: *mut c_void) {
    // SAFETY: the case passes the address of a static atomic.
    let flag = unsafe { &*flag.cast::<AtomicBool>() };
    while !flag.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a launch attribute that makes the launch record an event.
fn attribute(id: Id, event: CUevent, flags: i32) -> CUlaunchAttribute {
    let mut value = CUstreamAttrValue { pad: [0; 64] };
    match id {
        Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
            value.programmaticEvent.event = event;
            value.programmaticEvent.flags = flags;
        }
        _ => {
            value.launchCompletionEvent.event = event;
            value.launchCompletionEvent.flags = flags;
        }
    }
    CUlaunchAttribute { id, pad: [0; 4], value }
}

/// Two streams, an event, and a kernel that doubles a word and adds 3. The word is 1 at first.
struct Pair {
    function: CUfunction,
    streams: [CUstream; 2],
    event: CUevent,
    word: u64,
}

impl Pair {
    fn new(cuda: &Cuda) -> Outcome<Self> {
        let (_, function) = cuda.kernel(DEPENDENT, c"double_and_add")?;
        let (mut streams, mut event) = ([null_mut(); 2], null_mut());
        for stream in &mut streams {
            cu!(cuda, cuStreamCreate(stream, NON_BLOCKING))?;
        }
        cu!(cuda, cuEventCreate(&mut event, UNTIMED))?;
        let word = cuda.alloc(64)?;
        cuda.upload(word, &[1u32])?;
        cu!(cuda, cuCtxSynchronize())?;
        Ok(Self { function, streams, event, word })
    }

    /// Launches the kernel in one of the streams.
    fn launch(&self, cuda: &Cuda, stream: usize, attributes: &mut [CUlaunchAttribute]) -> Called {
        let config = CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: self.streams[stream],
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        let (word, value) = (self.word, 3u32);
        let mut parameters = [parameter(&word), parameter(&value)];
        let list = parameters.as_mut_ptr();
        cu!(cuda, cuLaunchKernelEx(&config, self.function, list, null_mut()))
    }

    /// Captures a launch that records the event in the first stream, and a launch in the second
    /// stream that waits for the event. Joins the streams, and ends the capture. Returns the graph,
    /// and the data of its only edge.
    fn capture(
        &self,
        cuda: &Cuda,
        attribute: CUlaunchAttribute,
    ) -> Outcome<(CUgraph, CUgraphEdgeData)> {
        let ([first, second], mut joined, mut graph) = (self.streams, null_mut(), null_mut());
        cu!(cuda, cuEventCreate(&mut joined, UNTIMED))?;
        cu!(cuda, cuStreamBeginCapture_v2(first, CUstreamCaptureMode(0)))?;
        self.launch(cuda, 0, &mut [attribute])?;
        cu!(cuda, cuStreamWaitEvent(second, self.event, 0))?;
        self.launch(cuda, 1, &mut [])?;
        cu!(cuda, cuEventRecord(joined, second))?;
        cu!(cuda, cuStreamWaitEvent(first, joined, 0))?;
        cu!(cuda, cuStreamEndCapture(first, &mut graph))?;
        let (mut from, mut to, mut count) = (null_mut(), null_mut(), 1);
        let mut data = CUgraphEdgeData { from_port: 9, to_port: 9, type_: 9, reserved: [9; 5] };
        cu!(cuda, cuGraphGetEdges_v2(graph, &mut from, &mut to, &mut data, &mut count))?;
        same!(count, 1);
        cu!(cuda, cuEventDestroy_v2(joined))?;
        Ok((graph, data))
    }
}

cases! {
    fn a_launch_records_an_event(cuda) {
        static GO: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
        cuda.primary()?;
        for (id, go) in IDS.into_iter().zip(&GO) {
            let pair = Pair::new(cuda)?;
            let [first, second] = pair.streams;
            cu!(cuda, cuLaunchHostFunc(first, Some(wait_for_flag), parameter(go)))?;
            pair.launch(cuda, 0, &mut [attribute(id, pair.event, 0)])?;
            cu!(cuda, cuStreamWaitEvent(second, pair.event, 0))?;
            // The event isn't complete, because the kernel can't start before `go` is set.
            refused!(cu!(cuda, cuEventQuery(pair.event)), NOT_READY);
            refused!(cu!(cuda, cuStreamQuery(second)), NOT_READY);
            go.store(true, Ordering::SeqCst);
            cu!(cuda, cuEventSynchronize(pair.event))?;
            cu!(cuda, cuEventQuery(pair.event))?;
            cu!(cuda, cuStreamSynchronize(second))?;
            cu!(cuda, cuStreamSynchronize(first))?;
            same!(cuda.download::<u32>(pair.word, 1)?, [5]);
            // Recording the event again replaces the record that the launch made.
            cu!(cuda, cuEventRecord(pair.event, second))?;
            cu!(cuda, cuEventSynchronize(pair.event))?;
            cu!(cuda, cuEventDestroy_v2(pair.event))?;
        }
    }

    fn a_launch_records_two_events(cuda) {
        static GO: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
        cuda.primary()?;
        let pair = Pair::new(cuda)?;
        let [first, second] = pair.streams;
        let other = get!(cuda, cuEventCreate(@, UNTIMED))?;
        let mut list = [attribute(IDS[0], pair.event, 0), attribute(IDS[1], other, 0)];
        for (round, go) in (0..).zip(&GO) {
            match round {
                0 => {}
                1 => list.reverse(),
                // Both records can be of the same event.
                _ => list = [attribute(IDS[0], pair.event, 0), attribute(IDS[1], pair.event, 0)],
            }
            cuda.upload(pair.word, &[1u32])?;
            cu!(cuda, cuLaunchHostFunc(first, Some(wait_for_flag), parameter(go)))?;
            pair.launch(cuda, 0, &mut list)?;
            refused!(cu!(cuda, cuEventQuery(pair.event)), NOT_READY);
            if round < 2 {
                refused!(cu!(cuda, cuEventQuery(other)), NOT_READY);
            }
            for event in [other, pair.event] {
                cu!(cuda, cuStreamWaitEvent(second, event, 0))?;
            }
            refused!(cu!(cuda, cuStreamQuery(second)), NOT_READY);
            go.store(true, Ordering::SeqCst);
            for event in [other, pair.event] {
                cu!(cuda, cuEventSynchronize(event))?;
            }
            cu!(cuda, cuStreamSynchronize(second))?;
            cu!(cuda, cuStreamSynchronize(first))?;
            same!(cuda.download::<u32>(pair.word, 1)?, [5]);
        }
        cu!(cuda, cuEventDestroy_v2(other))?;
    }

    /// Of two attributes that record an event at the same point, only the last one counts.
    fn a_launch_records_one_event_of_each_kind(cuda) {
        static GO: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
        cuda.primary()?;
        let pair = Pair::new(cuda)?;
        let first = get!(cuda, cuEventCreate(@, UNTIMED))?;
        for (id, go) in IDS.into_iter().zip(&GO) {
            cu!(cuda, cuLaunchHostFunc(pair.streams[0], Some(wait_for_flag), parameter(go)))?;
            pair.launch(cuda, 0, &mut [attribute(id, first, 0), attribute(id, pair.event, 0)])?;
            cu!(cuda, cuEventQuery(first))?;
            refused!(cu!(cuda, cuEventQuery(pair.event)), NOT_READY);
            go.store(true, Ordering::SeqCst);
            cu!(cuda, cuEventSynchronize(pair.event))?;
        }
        cu!(cuda, cuStreamSynchronize(pair.streams[0]))?;
        cu!(cuda, cuEventDestroy_v2(first))?;
    }

    /// A kernel that waits for a programmatic event may start before the kernel that records the
    /// event ends. Therefore, the second kernel itself waits for the first one, in its code.
    fn a_dependent_kernel_waits_for_the_kernel_of_a_programmatic_event(cuda, primary) {
        let pair = Pair::new(cuda)?;
        for at_block_start in [0, 1] {
            cuda.upload(pair.word, &[1u32])?;
            let mut event = attribute(IDS[0], pair.event, 0);
            event.value.programmaticEvent.triggerAtBlockStart = at_block_start;
            pair.launch(cuda, 0, &mut [event])?;
            cu!(cuda, cuStreamWaitEvent(pair.streams[1], pair.event, 0))?;
            pair.launch(cuda, 1, &mut [])?;
            cu!(cuda, cuCtxSynchronize())?;
            same!(cuda.download::<u32>(pair.word, 1)?, [(2 + 3) * 2 + 3]);
        }
    }

    fn events_that_a_launch_can_not_record_are_refused(cuda, primary) {
        let pair = Pair::new(cuda)?;
        let timed = get!(cuda, cuEventCreate(@, 0))?;
        let shared = get!(cuda, cuEventCreate(@, UNTIMED | INTERPROCESS))?;
        for id in IDS {
            let launch = |event, flags| pair.launch(cuda, 0, &mut [attribute(id, event, flags)]);
            refused!(launch(null_mut(), 0), INVALID_HANDLE);
            refused!(launch(timed, 0), NOT_SUPPORTED);
            refused!(launch(shared, 0), NOT_SUPPORTED);
            refused!(launch(pair.event, EXTERNAL), ILLEGAL_STATE);
            refused!(launch(pair.event, 2), INVALID_VALUE);
        }
        // If a launch can't record one of two events, it doesn't record the other one either.
        for (good, bad) in [(IDS[0], IDS[1]), (IDS[1], IDS[0])] {
            let mut list = [attribute(good, pair.event, 0), attribute(bad, timed, 0)];
            refused!(pair.launch(cuda, 0, &mut list), NOT_SUPPORTED);
        }
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(pair.word, 1)?, [1]);
        cu!(cuda, cuEventQuery(pair.event))?;
    }

    fn events_of_captured_launches_become_edges(cuda, primary) {
        let pair = Pair::new(cuda)?;
        let programmatic = attribute(IDS[0], pair.event, 0);
        let (graph, edge) = pair.capture(cuda, programmatic)?;
        same!((edge.from_port, edge.to_port, edge.type_), (1, 0, 1));
        let exec = get!(cuda, cuGraphInstantiateWithFlags(@, graph, 0))?;
        cu!(cuda, cuGraphLaunch(exec, pair.streams[0]))?;
        cu!(cuda, cuStreamSynchronize(pair.streams[0]))?;
        same!(cuda.download::<u32>(pair.word, 1)?, [(2 + 3) * 2 + 3]);
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))?;

        let mut at_start = programmatic;
        at_start.value.programmaticEvent.triggerAtBlockStart = 1;
        for attribute in [at_start, attribute(IDS[1], pair.event, 0)] {
            let (graph, edge) = pair.capture(cuda, attribute)?;
            same!((edge.from_port, edge.to_port), (2, 0));
            cu!(cuda, cuGraphDestroy(graph))?;
        }

        let late = get!(cuda, cuEventCreate(@, UNTIMED))?;
        let [first, second] = pair.streams;
        cu!(cuda, cuStreamBeginCapture_v2(first, CUstreamCaptureMode(0)))?;
        pair.launch(cuda, 0, &mut [programmatic, attribute(IDS[1], late, 0)])?;
        cu!(cuda, cuStreamWaitEvent(second, late, 0))?;
        pair.launch(cuda, 1, &mut [])?;
        cu!(cuda, cuStreamWaitEvent(second, pair.event, 0))?;
        pair.launch(cuda, 1, &mut [])?;
        cu!(cuda, cuEventRecord(late, second))?;
        cu!(cuda, cuStreamWaitEvent(first, late, 0))?;
        let graph = get!(cuda, cuStreamEndCapture(first, @))?;
        let mut data = [CUgraphEdgeData { from_port: 9, to_port: 9, type_: 9, reserved: [9; 5] }; 3];
        let (mut from, mut to, mut count) = ([null_mut(); 3], [null_mut(); 3], 3);
        let (from, to) = (from.as_mut_ptr(), to.as_mut_ptr());
        cu!(cuda, cuGraphGetEdges_v2(graph, from, to, data.as_mut_ptr(), &mut count))?;
        same!(count, 3);
        // The second launch waits for one event, and the third one for the other.
        let mut ports = data.map(|edge| (edge.from_port, edge.type_));
        ports.sort_unstable();
        same!(ports, [(0, 0), (1, 1), (2, 0)]);
        cu!(cuda, cuGraphDestroy(graph))?;
        cu!(cuda, cuEventDestroy_v2(late))?;
        // The event was recorded in a capture, so a query fails. After a launch in a stream that
        // isn't captured has recorded the event, a query succeeds.
        refused!(cu!(cuda, cuEventQuery(pair.event)), INVALID_VALUE);
        pair.launch(cuda, 0, &mut [programmatic])?;
        cu!(cuda, cuEventSynchronize(pair.event))?;
        cu!(cuda, cuStreamSynchronize(pair.streams[0]))?;
        ensure!(cuda.download::<u32>(pair.word, 1)? == [29], "the launch after the captures ran");
    }
}
