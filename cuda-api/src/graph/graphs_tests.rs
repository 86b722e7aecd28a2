use super::*;
use crate::graph::dag::Work;
use crate::graph::edge::full;

const IMPLICIT: CuError = CuError::STREAM_CAPTURE_IMPLICIT;
const INVALIDATED: CuError = CuError::STREAM_CAPTURE_INVALIDATED;
const UNSUPPORTED: CuError = CuError::STREAM_CAPTURE_UNSUPPORTED;

fn stream(id: u64) -> Stream {
    Stream { key: Key { id, of: 0 }, ctx: 1, blocking: id < 100, legacy: id == 0 }
}

fn begun(id: u64, mode: Mode) -> Graphs<u32> {
    let graphs = Graphs::new();
    graphs.begin(&stream(id), 7, mode, None).unwrap();
    graphs
}

fn edges(graphs: &Graphs<u32>, graph: GraphId) -> Vec<(u32, u32)> {
    graphs.with(|table| {
        let edges = table.graph(graph).unwrap().edges();
        edges.iter().map(|(a, b, _)| (*table.op(*a).unwrap(), *table.op(*b).unwrap())).collect()
    })
}

#[test]
fn a_fork_and_a_join_become_a_diamond() {
    let graphs = begun(3, Mode::Global);
    graphs.push(&stream(3), 1).unwrap();
    assert_eq!(graphs.record(50, || Ok(stream(3))), Ok(true));
    assert_eq!(graphs.wait(50, || Ok(stream(4))), Ok(true));
    graphs.push(&stream(4), 2).unwrap();
    graphs.push(&stream(3), 3).unwrap();
    assert_eq!(graphs.record(51, || Ok(stream(4))), Ok(true));
    assert_eq!(graphs.wait(51, || Ok(stream(3))), Ok(true));
    graphs.push(&stream(3), 4).unwrap();
    let graph = graphs.end(&stream(3), 7).unwrap();
    assert_eq!(edges(&graphs, graph), [(1, 2), (1, 3), (2, 4), (3, 4)]);
    assert_eq!(graphs.info(&stream(4)), Ok(None));
    assert_eq!(graphs.captures_stream(|| Ok(stream(3))), Ok(false));
    // Even after the end of the capture, the event marks one of its nodes, until the event is
    // recorded again.
    assert_eq!(graphs.forbid_captured_event(51), Err(CuError::CAPTURED_EVENT));
    assert_eq!(graphs.record(51, || Ok(stream(3))), Ok(false));
    assert_eq!(graphs.forbid_captured_event(51), Ok(()));
}

#[test]
fn an_event_that_a_captured_launch_records_is_invalid_outside_of_the_capture() {
    for edge in [Edge::Programmatic, Edge::LaunchOrder, Edge::ProgrammaticLaunchOrder] {
        let graphs = begun(3, Mode::Global);
        graphs.push_launch(&stream(3), 1, false, [(50, edge)]).unwrap();
        assert_eq!(graphs.forbid_captured_event(50), Err(CuError::INVALID_VALUE));
        graphs.forget_event(50);
        assert_eq!(graphs.forbid_captured_event(50), Ok(()));
    }
}

#[test]
fn work_of_another_stream_must_be_joined() {
    let graphs = begun(3, Mode::Global);
    graphs.push(&stream(3), 1).unwrap();
    graphs.record(50, || Ok(stream(3))).unwrap();
    graphs.wait(50, || Ok(stream(4))).unwrap();
    graphs.push(&stream(4), 2).unwrap();
    assert_eq!(graphs.end(&stream(3), 7), Err(CuError::STREAM_CAPTURE_UNJOINED));
    assert_eq!(graphs.info(&stream(3)), Ok(None));
}

#[test]
fn a_capture_can_end_only_where_it_began() {
    let graphs = begun(3, Mode::ThreadLocal);
    let wrong = CuError::STREAM_CAPTURE_WRONG_THREAD;
    assert_eq!(graphs.end(&stream(3), 8), Err(wrong));
    assert_eq!(graphs.end(&stream(5), 7), Err(CuError::ILLEGAL_STATE));
    assert_eq!(graphs.begin(&stream(3), 7, Mode::Global, None), Err(CuError::ILLEGAL_STATE));
    assert!(graphs.end(&stream(3), 7).is_ok());
    let graphs = begun(3, Mode::Relaxed);
    assert!(graphs.end(&stream(3), 8).is_ok());
    assert_eq!(graphs.begin(&stream(0), 7, Mode::Relaxed, None), Err(UNSUPPORTED));
}

#[test]
fn ending_at_a_stream_that_joined_is_unmatched() {
    let graphs = begun(3, Mode::Relaxed);
    graphs.record(50, || Ok(stream(3))).unwrap();
    graphs.wait(50, || Ok(stream(4))).unwrap();
    let unmatched = CuError::STREAM_CAPTURE_UNMATCHED;
    assert_eq!(graphs.end(&stream(4), 7), Err(unmatched));
    assert_eq!(graphs.end(&stream(3), 7), Err(INVALIDATED));
}

#[test]
fn the_legacy_stream_invalidates_only_captures_of_blocking_streams() {
    let graphs = begun(3, Mode::Relaxed);
    assert_eq!(graphs.captures_stream(|| Ok(stream(0))), Err(IMPLICIT));
    assert_eq!(graphs.push(&stream(3), 1), Err(INVALIDATED));
    assert_eq!(graphs.end(&stream(3), 7), Err(INVALIDATED));
    let graphs = begun(100, Mode::Relaxed);
    assert_eq!(graphs.captures_stream(|| Ok(stream(0))), Ok(false));
    assert!(graphs.end(&stream(100), 7).is_ok());
}

#[test]
fn waiting_for_a_captured_stream_invalidates_the_capture() {
    for wait in [
        |graphs: &Graphs<u32>| graphs.forbid_on(&stream(3)),
        |graphs: &Graphs<u32>| graphs.forbid_in_context(1),
    ] {
        let graphs = begun(3, Mode::Relaxed);
        assert_eq!(wait(&graphs), Err(UNSUPPORTED));
        assert!(graphs.info(&stream(3)).unwrap().unwrap().invalid);
        assert_eq!(graphs.end(&stream(3), 7), Err(INVALIDATED));
    }
    let graphs = begun(3, Mode::Relaxed);
    assert_eq!(graphs.forbid_on(&stream(4)), Ok(()));
    assert_eq!(graphs.forbid_in_context(2), Ok(()));
}

#[test]
fn unsafe_calls_are_forbidden_according_to_the_modes() {
    use Mode::{Global, Relaxed, ThreadLocal};
    let forbidden = |capture, thread, mode| begun(3, capture).forbid_unsafe(thread, mode).is_err();
    for (capture, thread, mode, expected) in [
        (Global, 7, Global, true),
        (Global, 8, Global, true),
        (Global, 8, ThreadLocal, false),
        (Global, 7, ThreadLocal, true),
        (Global, 7, Relaxed, false),
        (ThreadLocal, 7, Global, true),
        (ThreadLocal, 8, Global, false),
        (Relaxed, 7, Global, false),
    ] {
        assert_eq!(forbidden(capture, thread, mode), expected, "{capture:?} {thread} {mode:?}");
    }
}

#[test]
fn dependencies_stay_within_one_capture() {
    let graphs = begun(3, Mode::Relaxed);
    let isolation = CuError::STREAM_CAPTURE_ISOLATION;
    assert_eq!(graphs.wait(60, || Ok(stream(3))), Err(isolation));
    assert_eq!(graphs.end(&stream(3), 7), Err(INVALIDATED));
    let graphs = begun(3, Mode::Relaxed);
    graphs.begin(&stream(4), 7, Mode::Relaxed, None).unwrap();
    graphs.record(50, || Ok(stream(3))).unwrap();
    let merge = CuError::STREAM_CAPTURE_MERGE;
    assert_eq!(graphs.wait(50, || Ok(stream(4))), Err(merge));
    for id in [3, 4] {
        assert_eq!(graphs.end(&stream(id), 7), Err(INVALIDATED));
    }
    assert!(graphs.with(|table| table.create()) > 0);
}

#[test]
fn destroying_a_stream_ends_its_capture() {
    let graphs = begun(3, Mode::Relaxed);
    graphs.push(&stream(3), 1).unwrap();
    let graph = graphs.info(&stream(3)).unwrap().unwrap().graph;
    assert_eq!(graphs.destroy(graph), Err(CuError::INVALID_VALUE));
    graphs.forget_stream(stream(3).key);
    assert!(!graphs.any_capture());
    assert!(graphs.with(|table| table.graph(graph).is_err()));
}

#[test]
fn a_joined_stream_can_be_destroyed_during_the_capture() {
    for join in [true, false] {
        let graphs = begun(3, Mode::Global);
        graphs.push(&stream(3), 1).unwrap();
        graphs.record(50, || Ok(stream(3))).unwrap();
        graphs.wait(50, || Ok(stream(4))).unwrap();
        graphs.push(&stream(4), 2).unwrap();
        graphs.record(51, || Ok(stream(4))).unwrap();
        if join {
            graphs.wait(51, || Ok(stream(3))).unwrap();
        }
        graphs.forget_stream(stream(4).key);
        graphs.push(&stream(3), 3).unwrap();
        let unjoined = CuError::STREAM_CAPTURE_UNJOINED;
        match (graphs.end(&stream(3), 7), join) {
            (Ok(graph), true) => assert_eq!(edges(&graphs, graph), [(1, 2), (1, 3), (2, 3)]),
            (ended, _) => assert_eq!((ended, join), (Err(unjoined), false)),
        }
    }
}

#[test]
fn a_capture_can_add_to_an_existing_graph() {
    let graphs = Graphs::new();
    let graph = graphs.with(|table| table.create());
    let first = graphs.with(|table| table.add(graph, Work::Op(1), &[])).unwrap();
    graphs.begin(&stream(3), 7, Mode::Relaxed, Some((graph, &full(&[first])))).unwrap();
    graphs.push(&stream(3), 2).unwrap();
    graphs.update(&stream(3), &full(&[first]), true).unwrap();
    graphs.push(&stream(3), 3).unwrap();
    graphs.update(&stream(3), &full(&[9]), true).unwrap_err();
    assert_eq!(graphs.info(&stream(3)).unwrap().unwrap().after.len(), 1);
    // Node 2 was dropped from the dependencies, so the capture can end without joining it.
    assert_eq!(graphs.end(&stream(3), 7), Ok(graph));
    assert_eq!(edges(&graphs, graph), [(1, 2), (1, 3)]);
}

/// NCCL captures an event record with these calls.
#[test]
fn a_capture_may_end_unjoined_if_the_program_has_changed_the_dependencies() {
    for (replace, push, destroy) in
        [(true, false, false), (false, false, false), (true, true, false), (true, false, true)]
    {
        let graphs = begun(3, Mode::Relaxed);
        graphs.push(&stream(3), 1).unwrap();
        graphs.record(50, || Ok(stream(3))).unwrap();
        graphs.wait(50, || Ok(stream(4))).unwrap();
        graphs.push(&stream(4), 2).unwrap();
        let Info { graph, after, .. } = graphs.info(&stream(4)).unwrap().unwrap();
        let added = graphs.with(|table| table.add(graph, Work::Op(3), &after)).unwrap();
        graphs.update(&stream(4), &full(&[added]), replace).unwrap();
        if push {
            // Work that is captured in the stream after the update must be joined again.
            graphs.push(&stream(4), 4).unwrap();
            assert_eq!(graphs.end(&stream(3), 7), Err(CuError::STREAM_CAPTURE_UNJOINED));
            continue;
        }
        if destroy {
            graphs.forget_stream(stream(4).key);
        }
        assert_eq!(graphs.end(&stream(3), 7), Ok(graph));
        assert_eq!(edges(&graphs, graph), [(1, 2), (2, 3)]);
    }
}

#[test]
fn a_programmatic_launch_depends_on_the_kernel_before_it_in_that_way() {
    let graphs = begun(3, Mode::Relaxed);
    for op in 1..=2 {
        graphs.push(&stream(3), op).unwrap();
    }
    graphs.push_launch(&stream(3), 3, true, []).unwrap();
    graphs.push(&stream(3), 4).unwrap();
    let graph = graphs.end(&stream(3), 7).unwrap();
    let edges = graphs.with(|table| table.graph(graph).unwrap().edges());
    let edges: Vec<_> = edges.iter().map(|(.., edge)| *edge).collect();
    assert_eq!(edges, [Edge::Full, Edge::Programmatic, Edge::Full]);
}

#[test]
fn the_event_of_a_captured_launch_has_an_edge_of_its_own() {
    let graphs = begun(3, Mode::Relaxed);
    graphs.push_launch(&stream(3), 1, false, [(9, Edge::LaunchOrder)]).unwrap();
    assert!(graphs.wait(9, || Ok(stream(4))).unwrap());
    let after = |key| graphs.info(&stream(key)).unwrap().unwrap().after;
    assert_eq!(after(4), [(after(3)[0].0, Edge::LaunchOrder)]);
    assert_eq!(after(3)[0].1, Edge::Full);
    // When the event is recorded again in the stream, it no longer marks the start of the kernel.
    assert!(graphs.record(9, || Ok(stream(3))).unwrap());
    assert!(graphs.wait(9, || Ok(stream(4))).unwrap());
    assert_eq!(after(4), after(3));
}

#[test]
fn each_event_of_a_captured_launch_has_an_edge_of_its_own() {
    let graphs = begun(3, Mode::Relaxed);
    let events = [(9, Edge::LaunchOrder), (10, Edge::Programmatic)];
    graphs.push_launch(&stream(3), 1, false, events).unwrap();
    let after = |key| graphs.info(&stream(key)).unwrap().unwrap().after;
    for ((event, edge), waiting) in events.into_iter().zip([4, 5]) {
        assert!(graphs.wait(event, || Ok(stream(waiting))).unwrap());
        assert_eq!(after(waiting), [(after(3)[0].0, edge)]);
    }
}

#[test]
fn the_next_node_gets_the_edges_that_the_program_sets() {
    let graphs = begun(3, Mode::Relaxed);
    graphs.push(&stream(3), 1).unwrap();
    let before = graphs.info(&stream(3)).unwrap().unwrap().after;
    let [(node, Edge::Full)] = before[..] else { panic!("{before:?}") };
    graphs.update(&stream(3), &[(node, Edge::LaunchOrder)], true).unwrap();
    assert_eq!(graphs.info(&stream(3)).unwrap().unwrap().after, [(node, Edge::LaunchOrder)]);
    graphs.push(&stream(3), 2).unwrap();
    let graph = graphs.end(&stream(3), 7).unwrap();
    let edges = graphs.with(|table| table.graph(graph).unwrap().edges());
    assert_eq!(edges[0].2, Edge::LaunchOrder);
}

#[test]
fn a_programmatic_launch_replaces_the_edges_that_the_program_sets() {
    let graphs = begun(3, Mode::Relaxed);
    graphs.push(&stream(3), 1).unwrap();
    let (node, _) = graphs.info(&stream(3)).unwrap().unwrap().after[0];
    graphs.update(&stream(3), &[(node, Edge::LaunchOrder)], true).unwrap();
    graphs.push_launch(&stream(3), 2, true, []).unwrap();
    let graph = graphs.end(&stream(3), 7).unwrap();
    let edges = graphs.with(|table| table.graph(graph).unwrap().edges());
    assert_eq!(edges[0].2, Edge::Programmatic);
}
