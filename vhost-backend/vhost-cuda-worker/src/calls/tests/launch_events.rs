//! Tests of launches that record one or two events.

use super::gate::FREE;
use super::*;
use host_ipc::gate::Mode;
use protocol::options::{LAUNCH_COMPLETION_EVENT, PROGRAMMATIC_EVENT};

const NOT_READY: u32 = CuError::NOT_READY.0;
/// The id of an event without timing.
const EVENT: EventId = EventId(620);

/// Returns a launch that records an event. The function must do nothing if all its parameters are
/// zeros.
fn launch(f: u64, event: EventId) -> VcudaLaunchEvent<'static> {
    VcudaLaunchEvent {
        f: FuncId(f),
        grid_x: 1,
        grid_y: 1,
        grid_z: 1,
        block_x: 1,
        block_y: 1,
        block_z: 1,
        shared_mem_bytes: 0,
        h_stream: StreamId(FREE),
        params: &[],
        attributes: Default::default(),
        event,
        attribute: PROGRAMMATIC_EVENT,
        at_block_start: 0,
    }
}

/// Such a launch that records two events.
fn launch_both(f: u64, [programmatic, begun]: [EventId; 2]) -> VcudaLaunchEvents<'static> {
    VcudaLaunchEvents {
        f: FuncId(f),
        grid_x: 1,
        grid_y: 1,
        grid_z: 1,
        block_x: 1,
        block_y: 1,
        block_z: 1,
        shared_mem_bytes: 0,
        h_stream: StreamId(FREE),
        params: &[],
        attributes: Default::default(),
        programmatic,
        at_block_start: 0,
        begun,
    }
}

impl Bench {
    fn state_of_event(&mut self) -> u32 {
        self.call(&CuEventQuery { h_event: EVENT }).0
    }
}

#[test]
fn a_held_launch_records_its_event_when_it_runs() {
    alone("launch_events::a_held_launch_records_its_event_when_it_runs", |mut bench| {
        bench.streams();
        bench.post(&CuEventCreate { ph_event: EVENT, flags: 2 });
        let f = bench.vector_add();
        for attribute in [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT] {
            bench.grant(Mode::Closed, 0);
            bench.post(&VcudaLaunchEvent { attribute, at_block_start: 1, ..launch(f, EVENT) });
            assert_eq!(bench.state_of_event(), NOT_READY);
            bench.grant(Mode::Window, 1_000_000);
            bench.good(&CuEventSynchronize { h_event: EVENT });
            assert_eq!((bench.state_of_event(), bench.posted_error()), (0, 0));
        }
        // Destroying an event waits for a held launch that records the event.
        bench.grant(Mode::Closed, 0);
        bench.post(&launch(f, EVENT));
        bench.post(&CuEventDestroyV2 { h_event: EVENT });
        assert_eq!(bench.state_of_event(), CuError::INVALID_HANDLE.0);
        bench.grant(Mode::Window, 1_000_000);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn a_held_launch_records_two_events_when_it_runs() {
    alone("launch_events::a_held_launch_records_two_events_when_it_runs", |mut bench| {
        bench.streams();
        let other = EventId(621);
        for event in [EVENT, other] {
            bench.post(&CuEventCreate { ph_event: event, flags: 2 });
        }
        let f = bench.vector_add();
        for events in [[EVENT, other], [other, EVENT], [EVENT; 2]] {
            bench.grant(Mode::Closed, 0);
            bench.post(&launch_both(f, events));
            for h_event in events {
                assert_eq!(bench.call(&CuEventQuery { h_event }).0, NOT_READY);
            }
            bench.grant(Mode::Window, 1_000_000);
            for h_event in events {
                bench.good(&CuEventSynchronize { h_event });
            }
            assert_eq!(bench.posted_error(), 0);
        }
    });
}

#[test]
fn hostile_launches_that_record_an_event_are_refused() {
    alone("launch_events::hostile_launches_that_record_an_event_are_refused", |mut bench| {
        bench.streams();
        bench.grant(Mode::Window, 1_000_000);
        bench.post(&CuEventCreate { ph_event: EVENT, flags: 2 });
        let (timed, shared, other) = (EventId(621), EventId(622), EventId(623));
        bench.post(&CuEventCreate { ph_event: timed, flags: 0 });
        bench.post(&CuEventCreate { ph_event: shared, flags: 4 | 2 });
        let (first, ctx) = (bench.ctx, ContextId(624));
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx });
        bench.ctx = ctx;
        bench.post(&CuEventCreate { ph_event: other, flags: 2 });
        bench.ctx = first;
        let f = bench.vector_add();
        let (value, handle) = (CuError::INVALID_VALUE.0, CuError::INVALID_HANDLE.0);
        let unsupported = CuError::NOT_SUPPORTED.0;
        for (event, error) in [
            (EventId(0), handle),
            (EventId(999), handle),
            (timed, unsupported),
            (shared, unsupported),
            (other, handle),
        ] {
            assert_eq!(bench.call(&launch(f, event)).0, error, "{event:?}");
            for events in [[event, EVENT], [EVENT, event]] {
                assert_eq!(bench.call(&launch_both(f, events)).0, error, "{events:?}");
            }
        }
        for attribute in [0, 1, 6, 13, u32::MAX] {
            let wrong = VcudaLaunchEvent { attribute, ..launch(f, EVENT) };
            assert_eq!(bench.call(&wrong).0, value, "{attribute}");
        }
        // The event is a separate argument of the call, so the list of attributes must not contain
        // an event.
        for id in [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT] {
            let list = [protocol::structs::LaunchAttribute { id, value: [u64::MAX; 8] }];
            let wrong = VcudaLaunchEvent { attributes: list.as_slice().into(), ..launch(f, EVENT) };
            assert_eq!(bench.call(&wrong).0, unsupported, "{id}");
            let attributes = list.as_slice().into();
            let wrong = VcudaLaunchEvents { attributes, ..launch_both(f, [EVENT; 2]) };
            assert_eq!(bench.call(&wrong).0, unsupported, "{id}");
        }
        // To find out whether the host knows these calls, a guest makes them without a function or an
        // event.
        let nothing = VcudaLaunchEvent { h_stream: StreamId(0), ..launch(0, EventId(0)) };
        assert_eq!(bench.call(&nothing).0, handle);
        let events = [EventId(0); 2];
        let nothing = VcudaLaunchEvents { h_stream: StreamId(0), ..launch_both(0, events) };
        assert_eq!(bench.call(&nothing).0, handle);
        assert_eq!((bench.state_of_event(), bench.posted_error()), (0, 0));
    });
}
