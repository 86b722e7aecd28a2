//! Guests that violate the protocol. The device must refuse their requests or end their session.
//! Other sessions must not be affected.

use host_test_support::{BASE, Descriptor, FREE, Guest, MEMORY, REGION, RING, ring_request};
use protocol::codec::{Call, Writer};
use protocol::plain::Plain;
use protocol::uapi::{self, Cmd, Hdr, RegionAttach, Reply, Resp};
use std::time::Duration;
use virtio_cuda_tests::{A, B, Host, eventually};

/// Guest-physical address of the memory that a test may use. [`END`] is that of the end of guest
/// memory.
const AT: u64 = BASE + FREE as u64;
const END: u64 = BASE + MEMORY as u64;
const LEN: u64 = REGION as u64;

/// A xorshift generator of pseudorandom bytes. It produces the same bytes in every run.
struct Rubbish(u64);

impl Rubbish {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.word() as u8).collect()
    }
}

/// Checks that programs in VM A, which has the hostile guest, and in VM B still work.
fn others_are_well(host: &Host) {
    for vm in [A, B] {
        let output = host.run(vm, "vectoradd", &[]);
        assert!(output.status.success(), "{output:?}\n{}", host.log());
    }
}

/// Connects a front end, and starts session 1 with its ring at `FREE`.
fn with_session(host: &Host) -> Guest {
    let mut guest = Guest::connect_without_hello(&host.socket(A));
    assert_eq!(guest.hello(1), uapi::OK);
    assert_eq!(guest.create(1), uapi::OK, "{}", host.log());
    assert_eq!(guest.attach(ring_request(1), &[(AT, LEN)]), uapi::OK, "{}", host.log());
    guest
}

/// Writes the ring's tail and rings the doorbell, so that the worker reads the ring.
fn announce(guest: &mut Guest, tail: u64) {
    guest.write(FREE, &tail.to_le_bytes());
    let doorbell = Hdr { kind: uapi::CMD_DOORBELL, session: 1 };
    guest.ask(2, doorbell.as_bytes(), 8);
}

fn expect_end(host: &Host, guest: &mut Guest, why: u32) {
    let mut event = None;
    eventually(Duration::from_secs(60), || {
        event = guest.event();
        event.is_some()
    });
    let event = event.unwrap_or_else(|| panic!("no event\n{}", host.log()));
    assert_eq!((event.kind, event.session, event.value), (uapi::EVENT_ENDED, 1, why));
}

#[test]
fn garbage_on_the_control_queue_is_refused() {
    let host = Host::start(&[A, B]);
    let mut guest = Guest::connect_without_hello(&host.socket(A));
    assert_eq!(guest.create(1), uapi::ERR_INVALID, "before HELLO");
    assert_eq!(guest.hello(1), uapi::OK);
    let mut rubbish = Rubbish(0x1234_5678_9abc_def1);
    for len in 0..200 {
        let mut request = rubbish.bytes(len);
        if len >= 4 && len % 2 == 0 {
            // Begin the request with a valid type. The other bytes are random.
            request[..4].copy_from_slice(&(len as u32 % 7).to_le_bytes());
        }
        let status = guest.control(&request);
        assert!(status != uapi::OK && status <= uapi::ERR_BUSY, "{len}: {status:#x}");
    }
    others_are_well(&host);
}

#[test]
fn the_device_survives_invalid_chains() {
    let host = Host::start(&[A, B]);
    let d = |addr, len, flags, next| Descriptor { addr, len, flags, next };
    for queue in 0..3 {
        for chain in [
            vec![d(END - 4, 64, 0, 0)],
            vec![d(u64::MAX - 8, 64, 2, 0)],
            vec![d(0, 0, 0, 0)],
            vec![d(AT, 64, 1, 0)],
            vec![d(AT, 64, 1, 1), d(AT, 64, 1, 0)],
            vec![d(AT, 64, 1, 60_000)],
            vec![d(AT, u32::MAX, 1, 1), d(AT, u32::MAX, 2, 0)],
            vec![d(AT, 16, 4, 0)],
            vec![d(AT, 16, 2, 0)],
        ] {
            // The device may respond or stop the queue, but must not crash.
            let mut guest = Guest::connect_without_hello(&host.socket(A));
            guest.push(queue, 0, &chain);
            eventually(Duration::from_millis(50), || guest.returned(queue).is_some());
        }
    }
    others_are_well(&host);
}

#[test]
fn regions_are_checked() {
    let host = Host::start(&[A, B]);
    let mut guest = Guest::connect_without_hello(&host.socket(A));
    assert_eq!(guest.hello(1), uapi::OK);
    assert_eq!(guest.create(1), uapi::OK);
    assert_eq!(guest.create(1), uapi::ERR_EXISTS);
    let good = ring_request(1);
    let refused = |guest: &mut Guest, request, segments: &[(u64, u64)], what| {
        assert_ne!(guest.attach(request, segments), uapi::OK, "{what}");
    };
    refused(&mut guest, good, &[(END - 4096, LEN)], "past the end of guest memory");
    refused(&mut guest, good, &[(u64::MAX - 4095, LEN)], "around the end of addresses");
    refused(&mut guest, good, &[(AT + 1, LEN)], "not page-aligned");
    refused(&mut guest, good, &[(AT, LEN - 4096)], "shorter than its stated length");
    refused(&mut guest, good, &[], "no segment");
    let many = RegionAttach { nr_segments: u32::MAX, ..good };
    refused(&mut guest, many, &[(AT, LEN)], "more segments than there are");
    let odd = RegionAttach { ring_bytes: 12_345, ..good };
    refused(&mut guest, odd, &[(AT, LEN)], "a ring size that isn't a power of two");
    let foreign = RegionAttach { hdr: Hdr { session: 2, ..good.hdr }, ..good };
    assert_eq!(guest.attach(foreign, &[(AT, LEN)]), uapi::ERR_NO_SESSION);
    let pinned = RegionAttach { region: 9, kind: uapi::REGION_PINNED, ring_bytes: 0, ..good };
    for vaddr in [0, 0x40_0000, 0x2000_0000_0000, 0x3400_0000_0000 - 4096, u64::MAX - 4095] {
        let request = RegionAttach { vaddr, ..pinned };
        refused(&mut guest, request, &[(AT, LEN)], "outside the window");
    }
    assert_eq!(guest.attach(good, &[(AT, LEN)]), uapi::OK, "{}", host.log());
    refused(&mut guest, good, &[(AT, LEN)], "the same id again");
    let second = RegionAttach { region: 2, ..good };
    refused(&mut guest, second, &[(AT, LEN)], "a second ring");
    others_are_well(&host);
}

#[test]
fn invalid_ring_contents_end_only_their_session() {
    let host = Host::start(&[A, B]);
    let command = |len| Cmd { len, opcode: 4, flags: 1, reply_len: 64, ..Cmd::zeroed() };
    for (tail, cmd, what) in [
        (1 << 40, command(32), "a tail far ahead"),
        (33, command(32), "a tail between words"),
        (32, command(64), "a command longer than announced"),
        (64, command(8), "a command shorter than its header"),
        (32, Cmd { reply: u32::MAX - 7, ..command(32) }, "a reply outside the arena"),
        (32, Cmd { reply_len: u32::MAX, ..command(32) }, "a reply longer than the arena"),
        (32, Cmd { reply_len: 8, ..command(32) }, "a reply without room for its header"),
    ] {
        let mut guest = with_session(&host);
        guest.write(FREE + 4096, cmd.as_bytes());
        announce(&mut guest, tail);
        expect_end(&host, &mut guest, uapi::ENDED_PROTOCOL);
        let again = Hdr { kind: uapi::CTRL_SESSION_DESTROY, session: 1 };
        assert_eq!(guest.control(again.as_bytes()), uapi::OK, "{what}");
        assert_eq!(guest.create(1), uapi::OK, "{what}: a new session in its place");
    }
    others_are_well(&host);
}

#[test]
fn garbage_commands_get_error_replies() {
    let host = Host::start(&[A, B]);
    let mut guest = with_session(&host);
    let mut rubbish = Rubbish(0xfeed_beef_1234_5677);
    let mut tail = 0u64;
    let arena = FREE + 4096 + RING;
    let mut send = |guest: &mut Guest, opcode: u32, args: &[u8]| {
        let len = 32 + args.len() as u32;
        let cmd = Cmd {
            len,
            opcode,
            flags: 1,
            thread: opcode % 3,
            ctx: u64::from(opcode % 5),
            reply: 0,
            reply_len: 1 << 16,
        };
        guest.write(arena, Reply::zeroed().as_bytes());
        for (i, byte) in [cmd.as_bytes(), args].concat().iter().enumerate() {
            guest.write(FREE + 4096 + (tail as usize + i) % RING, &[*byte]);
        }
        tail += u64::from(len);
        announce(guest, tail);
        for _ in 0..100_000 {
            let reply = Reply::from_bytes(&guest.read(arena, 16)).expect("16 bytes");
            if reply.state == 1 {
                return Some(reply.result);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        None
    };
    for entry in protocol::table::ENTRIES {
        if !entry.waited {
            continue;
        }
        for words in 0..10 {
            let mut args = rubbish.bytes(words * 8);
            if words % 2 == 1 {
                // Replace the arguments with small numbers, because these often are valid handles
                // and lengths.
                for word in args.as_chunks_mut::<8>().0 {
                    *word = (rubbish.word() % 4).to_le_bytes();
                }
            }
            let result = send(&mut guest, entry.number, &args);
            assert!(result.is_some(), "{} {args:?}: no reply\n{}", entry.name, host.log());
        }
    }
    assert_eq!(send(&mut guest, 4_000_000, &[]), Some(801), "an unknown number");
    let mut writer = Writer::new();
    protocol::calls::VcudaPing {}.encode(&mut writer);
    assert_eq!(send(&mut guest, protocol::calls::VcudaPing::OPCODE, writer.as_bytes()), Some(0));
    others_are_well(&host);
}

#[test]
fn floods_are_bounded() {
    let host = Host::start(&[A, B]);
    let mut guest = with_session(&host);
    let mut refused = false;
    for session in 2..100 {
        match guest.create(session) {
            uapi::OK => {}
            uapi::ERR_LIMIT => {
                refused = true;
                break;
            }
            other => panic!("session {session}: {other}\n{}", host.log()),
        }
    }
    assert!(refused, "sessions.max did not hold");
    for _ in 0..20_000 {
        guest.kick(2);
        guest.kick(0);
    }
    let output = host.run(B, "vectoradd", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    drop(guest);
    // VM A can start sessions again as soon as the workers of the sessions above have exited.
    let gone = eventually(Duration::from_secs(60), || host.look(A).is_ok());
    assert!(gone, "{}", host.log());
    others_are_well(&host);
}

/// Returns a QUERY request with this session ID and this value in the reserved field.
fn question(session: u32, reserved: u64) -> Vec<u8> {
    let hdr = Hdr { kind: uapi::CTRL_QUERY, session };
    uapi::Query { hdr, reserved }.as_bytes().to_vec()
}

#[test]
fn gpu_queries_are_checked_and_bounded() {
    let host = Host::start(&[A, B]);
    let mut guest = Guest::connect_without_hello(&host.socket(A));
    assert_eq!(guest.control(&question(0, 0)), uapi::ERR_INVALID, "before HELLO");
    assert_eq!(guest.hello(1), uapi::OK);
    assert_eq!(guest.control(&question(1, 0)), uapi::ERR_INVALID, "with a session id");
    assert_eq!(guest.control(&question(0, 1)), uapi::ERR_INVALID, "with reserved bytes");
    assert_eq!(guest.control(&question(0, 0)[..12]), uapi::ERR_INVALID, "cut off");
    let long = [question(0, 0), vec![0; 8]].concat();
    assert_eq!(guest.control(&long), uapi::ERR_INVALID, "too long");
    for room in [8, 9, 71, 72, 72 + 223] {
        let answer = guest.ask(0, &question(0, 0), room);
        let resp = Resp::from_bytes(&answer).unwrap();
        assert_eq!((resp.status, answer.len()), (uapi::ERR_LIMIT, 8), "room of {room}");
    }
    for _ in 0..20_000 {
        let answer = guest.ask(0, &question(0, 0), 4096);
        let resp = Resp::from_bytes(&answer).unwrap();
        assert_eq!(resp.status, uapi::OK, "{}", host.log());
        assert_eq!(resp.len as usize + size_of::<Resp>(), answer.len());
        let facts = uapi::Facts::from_bytes(&answer[8..]).unwrap();
        assert_eq!((facts.gpus, facts.processes), (1, 0));
    }
    // Send 30 requests without waiting for responses. The device executes at most eight at a time,
    // but must answer all of them.
    guest.write(FREE, &question(0, 0));
    let d = |addr, len, flags, next| Descriptor { addr, len, flags, next };
    for head in (0..60).step_by(2) {
        guest.push(0, head, &[d(AT, 16, 1, head + 1), d(AT + 4096, 4096, 2, 0)]);
    }
    for answer in 0..30 {
        let arrived = eventually(Duration::from_secs(60), || guest.returned(0).is_some());
        assert!(arrived, "response {answer} did not arrive\n{}", host.log());
    }
    assert_eq!(host.workers(A).len(), 0, "queries don't need a worker");
    others_are_well(&host);
}

#[test]
fn a_guest_that_disconnects_midway_leaves_nothing() {
    let host = Host::start(&[A, B]);
    let (free, _) = host.memory(A);
    for _ in 0..5 {
        let mut guest = with_session(&host);
        let long = Cmd { len: 1 << 16, opcode: 70, ..Cmd::zeroed() };
        guest.write(FREE + 4096, long.as_bytes());
        guest.write(FREE, &48u64.to_le_bytes());
        let request = Hdr { kind: uapi::CTRL_SESSION_CREATE, session: 2 };
        let half = Descriptor { addr: AT + LEN, len: 4, flags: 0, next: 0 };
        guest.write(FREE + REGION, request.as_bytes());
        guest.push(0, 0, &[half]);
        drop(guest);
    }
    let gone = eventually(Duration::from_secs(60), || host.workers(A).is_empty());
    assert!(gone, "workers are left: {:?}\n{}", host.workers(A), host.log());
    assert_eq!(host.memory(A).0, free);
    others_are_well(&host);
}
