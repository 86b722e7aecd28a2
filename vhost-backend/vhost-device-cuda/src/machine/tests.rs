//! Tests for the effects of requests and worker events.

use proptest::prelude::*;
use protocol::plain::Plain;
use protocol::uapi::{Cmd, Hdr, Hello, RegionAttach, RegionDetach, Segment, SessionCreate};

use super::*;

const LIMITS: Limits = Limits {
    max_sessions: 2,
    max_regions: 2,
    max_segments: 8,
    pinned_max: 1 << 20,
    max_plain: 4096,
    max_connections: 1,
};

/// Treats only the first MiB of addresses as guest memory.
struct FirstMiB;

impl GuestPages for FirstMiB {
    fn pieces(&self, segments: &[Segment]) -> Option<Vec<(u32, u64, u64)>> {
        segments.iter().map(|s| (s.addr + s.len <= 1 << 20).then_some((1, s.addr, s.len))).collect()
    }

    fn bytes(&self) -> u64 {
        1 << 20
    }
}

fn machine() -> Machine {
    let mut last = 0;
    Machine::new(
        LIMITS,
        Box::new(move || {
            last += 1;
            last
        }),
    )
}

fn hdr(kind: u32, session: u32) -> Hdr {
    Hdr { kind, session }
}

fn hello(epoch: u64) -> Vec<u8> {
    let version_major = uapi::VERSION_MAJOR;
    Hello { hdr: hdr(uapi::CTRL_HELLO, 0), epoch, version_major, ..Hello::zeroed() }
        .as_bytes()
        .to_vec()
}

fn create(session: u32) -> Vec<u8> {
    SessionCreate { hdr: hdr(uapi::CTRL_SESSION_CREATE, session), pid: 1, env_len: 0 }
        .as_bytes()
        .to_vec()
}

fn destroy(session: u32) -> Vec<u8> {
    hdr(uapi::CTRL_SESSION_DESTROY, session).as_bytes().to_vec()
}

fn attach(session: u32, region: u32, addr: u64) -> Vec<u8> {
    attach_segments(session, region, &[Segment { addr, len: 4096 }])
}

fn attach_segments(session: u32, region: u32, segments: &[Segment]) -> Vec<u8> {
    let attach = RegionAttach {
        hdr: hdr(uapi::CTRL_REGION_ATTACH, session),
        region,
        kind: uapi::REGION_USER,
        vaddr: 0x10000,
        len: segments.iter().map(|segment| segment.len).sum(),
        ring_bytes: 0,
        nr_segments: segments.len() as u32,
    };
    segments.iter().fold(attach.as_bytes().to_vec(), |mut bytes, segment| {
        bytes.extend_from_slice(segment.as_bytes());
        bytes
    })
}

fn detach(session: u32, region: u32) -> Vec<u8> {
    RegionDetach { hdr: hdr(uapi::CTRL_REGION_DETACH, session), region, reserved: 0 }
        .as_bytes()
        .to_vec()
}

fn answer(chain: ChainId, status: u32) -> Effect {
    Effect::Answer { chain, status, body: Vec::new() }
}

fn ask(machine: &mut Machine, chain: ChainId, bytes: &[u8]) -> Vec<Effect> {
    machine.control(chain, bytes, 4096, &FirstMiB);
    machine.take_effects()
}

/// Creates a machine with a live session 5, whose worker is request 1.
fn with_session() -> Machine {
    let mut machine = machine();
    assert_eq!(ask(&mut machine, 1, &hello(7)), [answer(1, uapi::OK)]);
    let start = Effect::Start { request: 1, session: 5, pid: 1, env: vec![] };
    assert_eq!(ask(&mut machine, 2, &create(5)), [start]);
    assert!(machine.worker_started(1, &FirstMiB));
    assert_eq!(machine.take_effects(), [answer(2, uapi::OK)]);
    machine
}

fn query() -> Vec<u8> {
    uapi::Query { hdr: hdr(uapi::CTRL_QUERY, 0), reserved: 0 }.as_bytes().to_vec()
}

#[test]
fn a_query_needs_a_hello_but_no_session() {
    let mut machine = machine();
    assert_eq!(ask(&mut machine, 1, &query()), [answer(1, uapi::ERR_INVALID)]);
    assert_eq!(ask(&mut machine, 2, &hello(7)), [answer(2, uapi::OK)]);
    assert_eq!(ask(&mut machine, 3, &query()), [Effect::Query { request: 1 }]);
    machine.facts(1, vec![9; 80]);
    let expected = Effect::Answer { chain: 3, status: uapi::OK, body: vec![9; 80] };
    assert_eq!(machine.take_effects(), [expected]);
    machine.facts(1, vec![]);
    assert_eq!(machine.take_effects(), []);
}

#[test]
fn queries_are_bounded_and_an_answer_must_fit() {
    let mut machine = machine();
    ask(&mut machine, 1, &hello(7));
    for chain in 2..10 {
        let request = chain - 1;
        assert_eq!(ask(&mut machine, chain, &query()), [Effect::Query { request }]);
    }
    assert_eq!(ask(&mut machine, 10, &query()), [answer(10, uapi::ERR_BUSY)]);
    machine.facts(1, vec![0; 4096]);
    assert_eq!(machine.take_effects(), [answer(2, uapi::ERR_LIMIT)]);
    assert_eq!(ask(&mut machine, 11, &query()), [Effect::Query { request: 9 }]);
    machine.reset();
    machine.facts(2, vec![]);
    assert_eq!(machine.take_effects(), []);
}

#[test]
fn a_malformed_query_is_refused() {
    let mut machine = machine();
    ask(&mut machine, 1, &hello(7));
    let mut of_a_session = query();
    of_a_session[4] = 5;
    let mut reserved = query();
    reserved[15] = 1;
    let long = [query(), vec![0; 8]].concat();
    let cut = query()[..12].to_vec();
    for (chain, bad) in (2..).zip([of_a_session, reserved, long, cut]) {
        assert_eq!(ask(&mut machine, chain, &bad), [answer(chain, uapi::ERR_INVALID)]);
    }
}

fn died() -> Ending {
    Ending::Died("was killed".into())
}

#[test]
fn requests_before_a_hello_are_refused() {
    let mut machine = machine();
    assert_eq!(ask(&mut machine, 1, &create(5)), [answer(1, uapi::ERR_INVALID)]);
}

#[test]
fn ids_in_use_and_limits_are_refused() {
    let mut machine = with_session();
    assert_eq!(ask(&mut machine, 3, &create(5)), [answer(3, uapi::ERR_EXISTS)]);
    assert_eq!(ask(&mut machine, 4, &destroy(6)), [answer(4, uapi::ERR_NO_SESSION)]);
    ask(&mut machine, 5, &create(6));
    // Reaching the limit is also reported to the broker, so that the operator learns of it.
    assert_eq!(ask(&mut machine, 6, &create(7)), [Effect::Refused, answer(6, uapi::ERR_LIMIT)]);
}

#[test]
fn a_session_without_a_worker_is_refused_and_forgotten() {
    let mut machine = with_session();
    ask(&mut machine, 3, &create(6));
    machine.worker_ended(2, &Ending::NoWorker("no".into()), &FirstMiB);
    assert_eq!(machine.take_effects(), [answer(3, uapi::ERR_NO_WORKER)]);
    assert_eq!(ask(&mut machine, 4, &destroy(6)), [answer(4, uapi::ERR_NO_SESSION)]);
}

#[test]
fn a_destroy_is_answered_and_frees_the_id_once_the_worker_is_reaped() {
    let mut machine = with_session();
    assert_eq!(ask(&mut machine, 3, &destroy(5)), [Effect::End { request: 1 }]);
    // While the session is ending, later requests for it wait.
    assert_eq!(ask(&mut machine, 4, &create(5)), []);
    assert_eq!(ask(&mut machine, 5, &attach(5, 1, 0)), []);
    machine.worker_ended(1, &died(), &FirstMiB);
    let start = Effect::Start { request: 2, session: 5, pid: 1, env: vec![] };
    assert_eq!(machine.take_effects(), [answer(3, uapi::OK), start]);
    machine.worker_started(2, &FirstMiB);
    let effects = machine.take_effects();
    assert_eq!(effects[0], answer(4, uapi::OK));
    assert!(matches!(effects[1], Effect::Send { request: 2, .. }), "{effects:?}");
}

#[test]
fn the_backlog_of_a_session_is_bounded() {
    let mut machine = with_session();
    assert_eq!(ask(&mut machine, 3, &destroy(5)), [Effect::End { request: 1 }]);
    let (name, value) = (vec![b'A'; 500], vec![b'b'; 3500]);
    let env = [&name[..], b"=", &value, b"\0"].concat();
    let hdr = hdr(uapi::CTRL_SESSION_CREATE, 5);
    let long = SessionCreate { hdr, pid: 1, env_len: env.len() as u32 };
    let long = [long.as_bytes(), &env].concat();
    let waiting = (4..1000).take_while(|chain| ask(&mut machine, *chain, &long).is_empty()).count();
    assert!((100..300).contains(&waiting), "{waiting}");
    let all = 4 + waiting as ChainId;
    assert_eq!(ask(&mut machine, all + 1, &long), [answer(all + 1, uapi::ERR_BUSY)]);
    machine.worker_ended(1, &died(), &FirstMiB);
    assert!(matches!(machine.take_effects()[1], Effect::Start { request: 2, .. }));
    // The first request creates the session again, and the others wait for it.
    assert_eq!(ask(&mut machine, all + 2, &long), []);
}

#[test]
fn waiting_hellos_are_bounded() {
    let mut machine = with_session();
    let reset = Effect::Abort { request: 1, why: Abort::GuestReset };
    assert_eq!(ask(&mut machine, 3, &hello(8)), [reset]);
    for chain in 4..11 {
        assert_eq!(ask(&mut machine, chain, &hello(chain)), []);
    }
    assert_eq!(ask(&mut machine, 11, &hello(8)), [answer(11, uapi::ERR_BUSY)]);
    machine.worker_ended(1, &died(), &FirstMiB);
    let answered: Vec<Effect> = (3..11).map(|chain| answer(chain, uapi::OK)).collect();
    assert_eq!(machine.take_effects(), answered);
}

#[test]
fn a_dead_worker_is_reported_once_and_acknowledged_by_a_destroy() {
    let mut machine = with_session();
    ask(&mut machine, 3, &attach(5, 1, 0));
    machine.worker_ended(1, &died(), &FirstMiB);
    let expected = Effect::Ended { session: 5, request: 1, value: uapi::ENDED_WORKER };
    assert_eq!(machine.take_effects(), [answer(3, uapi::ERR_NO_SESSION), expected]);
    assert_eq!(ask(&mut machine, 4, &detach(5, 1)), [answer(4, uapi::ERR_NO_SESSION)]);
    assert_eq!(ask(&mut machine, 5, &create(5)), [answer(5, uapi::ERR_EXISTS)]);
    assert_eq!(ask(&mut machine, 6, &destroy(5)), [answer(6, uapi::OK)]);
    assert_eq!(ask(&mut machine, 7, &destroy(5)), [answer(7, uapi::ERR_NO_SESSION)]);
}

#[test]
fn a_protocol_violation_ends_the_session_once_its_worker_is_reaped() {
    let mut machine = with_session();
    let broken = WorkerToDevice::Broken { reason: "tail".into() };
    machine.worker_spoke(1, broken, vec![]).unwrap();
    let violation = Effect::Abort { request: 1, why: Abort::Violation };
    assert_eq!(machine.take_effects(), [violation]);
    // The worker may use the session's pages until it has been reaped, so the detach waits.
    assert_eq!(ask(&mut machine, 3, &detach(5, 1)), []);
    machine.worker_ended(1, &died(), &FirstMiB);
    let expected = Effect::Ended { session: 5, request: 1, value: uapi::ENDED_PROTOCOL };
    assert_eq!(machine.take_effects(), [expected, answer(3, uapi::ERR_NO_SESSION)]);
}

#[test]
fn regions_are_attached_once_and_only_from_guest_memory() {
    let mut machine = with_session();
    assert_eq!(ask(&mut machine, 3, &attach(5, 1, 1 << 20)), [answer(3, uapi::ERR_MEMORY)]);
    let effects = ask(&mut machine, 4, &attach(5, 1, 0x2000));
    let [Effect::Send { message: DeviceToWorker::Attach { request, pieces, .. }, .. }] =
        effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(pieces, &[(1, 0x2000, 4096)]);
    assert_eq!(ask(&mut machine, 5, &attach(5, 1, 0)), [answer(5, uapi::ERR_EXISTS)]);
    let done = WorkerToDevice::Done { request: *request, status: uapi::OK };
    machine.worker_spoke(1, done, vec![]).unwrap();
    assert_eq!(machine.take_effects(), [answer(4, uapi::OK)]);
    // A second reply to the same request is an error.
    let again = WorkerToDevice::Done { request: *request, status: uapi::OK };
    assert!(machine.worker_spoke(1, again, vec![]).is_err());
    ask(&mut machine, 6, &attach(5, 2, 0));
    assert_eq!(ask(&mut machine, 7, &attach(5, 3, 0)), [answer(7, uapi::ERR_LIMIT)]);
    assert_eq!(ask(&mut machine, 8, &detach(5, 9)), [answer(8, uapi::ERR_INVALID)]);
}

/// A session can't attach more memory than the guest has. If a guest could attach the same pages
/// any number of times, each time would take more of the host's memory for page tables.
#[test]
fn a_session_cannot_attach_more_than_the_guest_has() {
    let mut machine = with_session();
    machine.limits.pinned_max = 1 << 40;
    let half = Segment { addr: 0, len: 1 << 19 };
    for segments in [[half; 3].as_slice(), &[Segment { addr: 0, len: 1 << 20 }, half]] {
        let refused = ask(&mut machine, 3, &attach_segments(5, 1, segments));
        assert_eq!(refused, [answer(3, uapi::ERR_LIMIT)]);
    }
    let accepted = ask(&mut machine, 4, &attach_segments(5, 1, &[half]));
    assert!(matches!(accepted.as_slice(), [Effect::Send { .. }]), "{accepted:?}");
    let whole = Segment { addr: 0, len: 1 << 20 };
    assert_eq!(
        ask(&mut machine, 5, &attach_segments(5, 2, &[whole])),
        [answer(5, uapi::ERR_LIMIT)]
    );
    let accepted = ask(&mut machine, 6, &attach_segments(5, 2, &[half]));
    assert!(matches!(accepted.as_slice(), [Effect::Send { .. }]), "{accepted:?}");
}

/// Guest memory that contains every address, and maps each segment as one piece.
struct Scattered;

impl GuestPages for Scattered {
    fn pieces(&self, segments: &[Segment]) -> Option<Vec<(u32, u64, u64)>> {
        Some(segments.iter().map(|segment| (1, segment.addr, segment.len)).collect())
    }

    fn bytes(&self) -> u64 {
        u64::MAX
    }
}

/// A session's regions have a limited number of pieces. Without the limit, a guest could use up the
/// mappings that the kernel allows the worker's process, and the driver's own would fail.
#[test]
fn a_session_cannot_take_all_mappings_of_its_worker() {
    let mut machine = with_session();
    machine.limits =
        Limits { max_regions: 4096, max_segments: 16_384, pinned_max: 1 << 40, ..LIMITS };
    let segments: Vec<_> =
        (0..16_384).map(|page| Segment { addr: 2 * page * 4096, len: 4096 }).collect();
    let mut attach = |chain, region, count: usize| {
        machine.control(chain, &attach_segments(5, region, &segments[..count]), 64, &Scattered);
        machine.take_effects()
    };
    for region in 1..=3 {
        let effects = attach(3, region, 16_384);
        assert!(matches!(effects.as_slice(), [Effect::Send { .. }]), "region {region}");
    }
    assert_eq!(attach(4, 4, 1), [answer(4, uapi::ERR_LIMIT)]);
}

#[test]
fn a_new_epoch_ends_all_sessions_before_its_hello_is_answered() {
    let mut machine = with_session();
    assert_eq!(ask(&mut machine, 3, &hello(7)), [answer(3, uapi::OK)]);
    let reset = Effect::Abort { request: 1, why: Abort::GuestReset };
    assert_eq!(ask(&mut machine, 4, &hello(8)), [reset]);
    machine.worker_ended(1, &died(), &FirstMiB);
    assert_eq!(machine.take_effects(), [answer(4, uapi::OK)]);
    assert_eq!(ask(&mut machine, 5, &destroy(5)), [answer(5, uapi::ERR_NO_SESSION)]);
}

#[test]
fn submitted_commands_are_answered_once_and_bounded() {
    let mut machine = with_session();
    let submit = |len: usize| {
        let cmd = Cmd { len: 32 + len as u32, reply_len: 16, ..Cmd::zeroed() };
        [hdr(uapi::CMD_SUBMIT, 5).as_bytes(), cmd.as_bytes(), &vec![0; len]].concat()
    };
    machine.command(3, &submit(8), 24);
    let effects = machine.take_effects();
    let [Effect::Send { message: DeviceToWorker::Submit { request, room: 16 }, body, .. }] =
        effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(body.len(), 40);
    let number = *request;
    let tell = |machine: &mut Machine, len| {
        machine.worker_spoke(1, WorkerToDevice::Answer { request: number }, vec![1; len])
    };
    tell(&mut machine, 16).unwrap();
    let expected = Effect::Answer { chain: 3, status: uapi::OK, body: vec![1; 16] };
    assert_eq!(machine.take_effects(), [expected]);
    assert!(tell(&mut machine, 16).is_err());
    for chain in 4..6 {
        machine.command(chain, &submit(4000), 24);
        assert!(matches!(machine.take_effects()[..], [Effect::Send { .. }]));
    }
    machine.command(6, &submit(4000), 24);
    assert_eq!(machine.take_effects(), [answer(6, uapi::ERR_BUSY)]);
}

#[test]
fn reply_room_is_capped_at_a_worker_messages_size() {
    let mut machine = with_session();
    let cmd = Cmd { len: 32, reply_len: 1 << 30, ..Cmd::zeroed() };
    let bytes = [hdr(uapi::CMD_SUBMIT, 5).as_bytes(), cmd.as_bytes()].concat();
    machine.command(3, &bytes, 2 << 30);
    let effects = machine.take_effects();
    let [Effect::Send { message: DeviceToWorker::Submit { room, .. }, .. }] = effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(*room, LIMITS.max_plain);
}

#[test]
fn an_answer_longer_than_its_room_is_an_error() {
    let mut machine = with_session();
    let cmd = Cmd { len: 32, reply_len: 16, ..Cmd::zeroed() };
    let bytes = [hdr(uapi::CMD_SUBMIT, 5).as_bytes(), cmd.as_bytes()].concat();
    machine.command(3, &bytes, 24);
    let effects = machine.take_effects();
    let [Effect::Send { message: DeviceToWorker::Submit { request, .. }, .. }] = effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    let answer = WorkerToDevice::Answer { request: *request };
    assert!(machine.worker_spoke(1, answer, vec![0; 17]).is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Control(Vec<u8>),
    Command(Vec<u8>, usize),
    Started(u64),
    Ended(u64),
    Done(u64, u64),
    Broken(u64),
    Facts(u64),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0u32..4;
    let control = prop_oneof![
        (0u64..3).prop_map(hello),
        Just(query()),
        id.clone().prop_map(create),
        id.clone().prop_map(destroy),
        (id.clone(), 0u32..4, 0u64..4).prop_map(|(s, r, page)| attach(s, r, page << 12)),
        (id.clone(), 0u32..4).prop_map(|(s, r)| detach(s, r)),
        prop::collection::vec(any::<u8>(), 0..64),
    ];
    let command = (id, 0usize..3).prop_map(|(session, extra)| {
        let cmd = Cmd { len: 32 + 8 * extra as u32, reply_len: 16, ..Cmd::zeroed() };
        [hdr(uapi::CMD_SUBMIT, session).as_bytes(), cmd.as_bytes(), &vec![0; 8 * extra]].concat()
    });
    prop_oneof![
        4 => control.prop_map(Step::Control),
        1 => (command, 0usize..64).prop_map(|(bytes, room)| Step::Command(bytes, room)),
        1 => (0u64..8).prop_map(Step::Started),
        1 => (0u64..8).prop_map(Step::Ended),
        1 => (0u64..8, 0u64..60).prop_map(|(worker, request)| Step::Done(worker, request)),
        1 => (0u64..8).prop_map(Step::Broken),
        1 => (0u64..8).prop_map(Step::Facts),
        1 => Just(Step::Reset),
    ]
}

#[test]
fn a_worker_that_replies_wrongly_does_not_lose_a_chain() {
    let cmd = Cmd { len: 32, reply_len: 16, ..Cmd::zeroed() };
    let submit = [hdr(uapi::CMD_SUBMIT, 5).as_bytes(), cmd.as_bytes()].concat();
    let done = |request| WorkerToDevice::Done { request, status: uapi::OK };
    let answered = |request| WorkerToDevice::Answer { request };
    // Each of these replies is a protocol violation: the wrong kind of reply, and a reply that is
    // longer than its room.
    for (reply, body) in [(&done as &dyn Fn(u64) -> _, vec![]), (&answered, vec![0; 17])] {
        let mut machine = with_session();
        machine.command(3, &submit, 24);
        let effects = machine.take_effects();
        let [Effect::Send { message: DeviceToWorker::Submit { request, .. }, .. }] = &effects[..]
        else {
            panic!("{effects:?}")
        };
        assert!(machine.worker_spoke(1, reply(*request), body).is_err());
        machine.end(1, uapi::ENDED_WORKER);
        machine.worker_ended(1, &died(), &FirstMiB);
        let effects = machine.take_effects();
        assert!(effects.contains(&answer(3, uapi::ERR_NO_SESSION)), "{effects:?}");
    }
}

proptest! {
    /// Whatever guests and workers do, every chain is answered exactly once by the time all workers
    /// have exited, unless a reset dropped it.
    #[test]
    fn every_chain_is_answered_exactly_once(steps in prop::collection::vec(step(), 0..120)) {
        let mut machine = machine();
        let mut open: std::collections::BTreeSet<ChainId> = Default::default();
        let mut started: Vec<u64> = Vec::new();
        let mut questions: Vec<u64> = Vec::new();
        let mut chain = 0;
        let mut settle = |machine: &mut Machine,
                          open: &mut std::collections::BTreeSet<ChainId>,
                          started: &mut Vec<u64>| {
            for effect in machine.take_effects() {
                match effect {
                    Effect::Answer { chain, .. } => {
                        assert!(open.remove(&chain), "chain {chain} was answered twice");
                    }
                    Effect::Start { request, .. } => started.push(request),
                    Effect::Query { request } => questions.push(request),
                    _ => {}
                }
            }
        };
        for step in steps {
            match step {
                Step::Control(bytes) => {
                    chain += 1;
                    open.insert(chain);
                    machine.control(chain, &bytes, 8, &FirstMiB);
                }
                Step::Command(bytes, room) => {
                    chain += 1;
                    open.insert(chain);
                    machine.command(chain, &bytes, room);
                }
                Step::Started(worker) => {
                    machine.worker_started(worker, &FirstMiB);
                }
                Step::Ended(worker) => {
                    started.retain(|w| *w != worker);
                    machine.worker_ended(worker, &died(), &FirstMiB);
                }
                Step::Done(worker, request) => {
                    let _ = machine.worker_spoke(
                        worker, WorkerToDevice::Done { request, status: 0 }, vec![]);
                }
                Step::Broken(worker) => {
                    let broken = WorkerToDevice::Broken { reason: String::new() };
                    let _ = machine.worker_spoke(worker, broken, vec![]);
                }
                Step::Facts(request) => machine.facts(request, vec![]),
                Step::Reset => {
                    machine.reset();
                    settle(&mut machine, &mut open, &mut started);
                    // A reset drops waiting HELLOs together with their queue, so they needn't be
                    // answered.
                    open.clear();
                }
            }
            settle(&mut machine, &mut open, &mut started);
        }
        while !started.is_empty() {
            for worker in std::mem::take(&mut started) {
                machine.worker_ended(worker, &died(), &FirstMiB);
                settle(&mut machine, &mut open, &mut started);
            }
        }
        for request in questions {
            machine.facts(request, vec![]);
        }
        for effect in machine.take_effects() {
            let Effect::Answer { chain, .. } = effect else { panic!("{effect:?}") };
            assert!(open.remove(&chain), "chain {chain} was answered twice");
        }
        prop_assert!(open.is_empty(), "never answered: {open:?}");
    }
}
