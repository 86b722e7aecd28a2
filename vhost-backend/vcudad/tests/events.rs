//! Tests that events say which user has changed something, why a session ended, and what was
//! refused.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use common::{Broker, TWO};
use host_test_support::{FREE, Folder, Guest, create_with, wait_for};
use serde_json::Value;

mod common;

/// Statuses of the device (docs/device.md).
const OK: u32 = 0;
const ERR_LIMIT: u32 = 4;

#[test]
fn changes_name_the_user_who_made_them() {
    let folder = Folder::new("events");
    let broker = Broker::start(&folder, TWO);
    for (method, path, body, status) in [
        ("PATCH", "/v1/vms/a", r#"{"compute": {"weight": 300}}"#, 200),
        ("POST", "/v1/vms/a/pause", "", 200),
        ("POST", "/v1/vms/a/resume", "", 200),
        ("DELETE", "/v1/vms/b", "", 204),
    ] {
        assert_eq!(broker.ask(method, path, body).0, status, "{method} {path}");
    }
    assert_eq!(broker.add("c", r#""memory": {"max": 1073741824}"#).0, 201);
    let mut stream = UnixStream::connect(folder.join("control")).unwrap();
    stream.write_all(b"GET /v1/events?since_ms=0 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut left = vec!["vm_changed", "vm_paused", "vm_resumed", "vm_removed", "vm_added"];
    // SAFETY: geteuid has no preconditions.
    let own = unsafe { libc::geteuid() };
    for line in BufReader::new(stream).lines().map(Result::unwrap) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
        if event["kind"] == left[0] {
            assert_eq!(event["uid"], own, "{event}");
            left.remove(0);
        }
        if left.is_empty() {
            break;
        }
    }
    // The log names the user, too.
    let logged = |text: &str| {
        let uid = format!("uid={own}");
        broker.log().lines().any(|line| line.contains(text) && line.contains(&uid))
    };
    for text in ["changed: {", "paused by the control API", "removed", "added"] {
        wait_for(text, || logged(text));
    }
    broker.end();
}

/// Returns the next event of a kind.
fn next(events: &mut impl Iterator<Item = Value>, kind: &str) -> Value {
    events.find(|event| event["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// Reads all events from the start of the broker on.
fn events(folder: &Path) -> impl Iterator<Item = Value> + use<> {
    let mut stream = UnixStream::connect(folder.join("control")).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /v1/events?since_ms=0 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.filter_map(|line| serde_json::from_str(&line).ok())
}

#[test]
fn the_end_of_a_session_has_a_reason() {
    let folder = Folder::new("reasons");
    let broker = Broker::start(&folder, &TWO.replace("DIR/a\"", "DIR/a\"\nsessions.max = 8"));
    let mut told = events(&folder);
    let mut check = |reason: &str, text: &str| {
        let event = next(&mut told, "session_ended");
        assert_eq!(event["reason"], reason, "{event}");
        assert!(event["message"].as_str().unwrap().contains(text), "{event}");
        event
    };
    let mut guest = Guest::connect(&folder.join("a"));
    assert_eq!(guest.create(1), OK);
    assert_eq!(guest.destroy(1), OK);
    // A session whose program ends it isn't reported as killed.
    let event = check("exited", "the program exited or closed the device");
    assert!(event.get("uid").is_none(), "{event}");
    wait_for("the log", || broker.log().contains("session ended: the program exited"));
    assert!(!broker.log().contains("killed"), "{}", broker.log());

    assert_eq!(guest.create(1), OK);
    let session = || {
        let (_, sessions) = broker.ask("GET", "/v1/vms/a/sessions", "");
        sessions[0].clone()
    };
    let path = format!("/v1/vms/a/sessions/{}", session()["id"]);
    assert_eq!(broker.ask("DELETE", &path, "").0, 204);
    let event = check("killed_by_operator", "an operator ended it");
    // SAFETY: geteuid has no preconditions.
    assert_eq!(event["uid"], unsafe { libc::geteuid() }, "{event}");

    assert_eq!(guest.create(2), OK);
    let worker = session()["worker_pid"].as_i64().unwrap();
    // SAFETY: kill takes only integers, and the broker hasn't reaped the process.
    unsafe { libc::kill(worker as i32, libc::SIGKILL) };
    check("killed", "signal 9");

    assert_eq!(guest.create(3), OK);
    let ring = guest.attach_ring(3, FREE);
    // Set the tail of the ring beyond its end, which the worker must detect.
    ring.ring.shared().tail.store(1 << 40, std::sync::atomic::Ordering::Release);
    guest.doorbell(3);
    check("protocol_violation", "the guest process violated the protocol");

    assert_eq!(guest.create(4), OK);
    assert_eq!(guest.hello(99), OK);
    check("guest_reset", "reset");

    assert_eq!(guest.create(5), OK);
    drop(guest);
    check("disconnected", "the front end disconnected");

    let mut guest = Guest::connect(&folder.join("a"));
    assert_eq!(guest.create(1), OK);
    let device = broker.ask("GET", "/v1/vms/a", "").1["device_pid"].as_i64().unwrap();
    // SAFETY: kill takes only integers, and the broker hasn't reaped the process.
    unsafe { libc::kill(device as i32, libc::SIGKILL) };
    check("device_ended", "device process");

    let mut guest = Guest::connect(&folder.join("b"));
    assert_eq!(guest.create(1), OK);
    let (status, error) = broker.ask("DELETE", "/v1/vms/b?if_idle=true", "");
    assert_eq!((status, &error["code"]), (409, &"conflict".into()), "{error}");
    assert!(error["message"].as_str().unwrap().contains("'b' has 1 session,"), "{error}");
    assert_eq!(broker.ask("DELETE", "/v1/vms/b?if_idle=maybe", "").0, 400);
    for (method, path) in
        [("DELETE", "/v1/vms/bb"), ("GET", "/v1/vms/bb"), ("GET", "/v1/vms/bb/sessions")]
    {
        let message = &broker.ask(method, path, "").1["message"];
        assert_eq!(message, "there is no VM named 'bb'; did you mean 'b'?", "{method} {path}");
    }
    assert_eq!(broker.ask("DELETE", "/v1/vms/b", "").0, 204);
    check("vm_removed", "the VM was removed");
    broker.end();
}

/// A limit is explained where it's noticed: in the log, in an event, and in a metric.
#[test]
fn refused_sessions_and_front_ends_are_explained_and_counted() {
    let folder = Folder::new("limits");
    let vms = TWO.replace("DIR/a\"", "DIR/a\"\nsessions.max = 1\nconnections.max = 2");
    let broker = Broker::start(&folder, &vms);
    let mut told = events(&folder);
    let mut first = Guest::connect(&folder.join("a"));
    assert_eq!(first.create(1), OK);
    // The device process refuses a second session of the same front end, and the broker refuses a
    // session of another front end.
    assert_eq!(first.create(2), ERR_LIMIT);
    let mut second = Guest::connect(&folder.join("a"));
    assert_eq!(second.create(1), ERR_LIMIT);
    let says = |event: &Value, text: &str| {
        assert!(event["message"].as_str().unwrap().contains(text), "{event}");
    };
    let event = next(&mut told, "session_refused");
    says(&event, "sessions.max is 1, and that many programs");
    says(&event, "vcudactl vm set --sessions-max");

    let refused = Guest::connect_unsealed(&folder.join("a")).set_up();
    assert!(refused.is_err());
    let event = next(&mut told, "connection_refused");
    says(&event, "connections.max is 2, and that many front ends");
    says(&event, "--connections-max");

    let mut only = Guest::connect_unsealed(&folder.join("b"));
    only.set_up().unwrap();
    assert!(Guest::connect_unsealed(&folder.join("b")).set_up().is_err());
    let event = next(&mut told, "connection_refused");
    says(&event, "sealed against shrinking (F_SEAL_SHRINK) must be the VM's only one");

    let metrics = broker.send("GET", "/metrics", "").text();
    for sample in [
        r#"sessions_refused_total{vm="a",reason="sessions_max"} 2"#,
        r#"sessions_refused_total{vm="a",reason="session_starts"} 0"#,
        r#"connections_refused_total{vm="a",reason="connections_max"} 1"#,
        r#"connections_refused_total{vm="b",reason="memory_not_sealed"} 1"#,
        r#"connections_limit{vm="a"} 2"#,
        r#"sessions_limit{vm="a"} 1"#,
        r#"compute_weight{vm="a"} 100"#,
        r#"compute_min_ratio{vm="a"} 0"#,
        r#"compute_max_ratio{vm="a"} 1"#,
    ] {
        assert!(metrics.contains(&format!("virtio_cuda_{sample}")), "{sample}: {metrics}");
    }
    for text in ["refusing a front end: connections.max is 2", "isn't sealed against shrinking"] {
        wait_for(text, || broker.log().contains(text));
    }
    broker.end();
}

#[test]
fn operators_see_whether_a_vmm_is_connected() {
    let folder = Folder::new("front-ends");
    let broker = Broker::start(&folder, TWO);
    let mut told = events(&folder);
    let connections = || broker.ask("GET", "/v1/vms/a", "").1["stats"]["connections"].clone();
    wait_for("the device process", || connections() == 0);
    let mut guest = Guest::connect(&folder.join("a"));
    assert_eq!(next(&mut told, "front_end_connected")["vm"], "a");
    let second = Guest::connect(&folder.join("a"));
    wait_for("another front end", || connections() == 2);
    let metrics = broker.send("GET", "/metrics", "").text();
    for sample in [r#"connections{vm="a"} 2"#, r#"connections{vm="b"} 0"#] {
        assert!(metrics.contains(&format!("virtio_cuda_{sample}")), "{sample}: {metrics}");
    }
    assert_eq!(guest.create(1), OK);
    drop(second);
    wait_for("its end", || connections() == 1);
    drop(guest);
    assert_eq!(next(&mut told, "front_end_disconnected")["vm"], "a");
    assert_eq!(connections(), 0);
    // If the device process ends, its front ends are no longer counted.
    let _guest = Guest::connect(&folder.join("a"));
    next(&mut told, "front_end_connected");
    let device = broker.ask("GET", "/v1/vms/a", "").1["device_pid"].as_i64().unwrap();
    // SAFETY: kill takes only integers, and the broker hasn't reaped the process.
    unsafe { libc::kill(device as i32, libc::SIGKILL) };
    next(&mut told, "front_end_disconnected");
    assert_eq!(connections(), 0);
    broker.end();
}

#[test]
fn sessions_say_which_program_has_opened_them() {
    let folder = Folder::new("programs");
    let broker = Broker::start(&folder, TWO);
    let mut guest = Guest::connect(&folder.join("a"));
    let claims = b"CUDA_LAUNCH_BLOCKING=1\0VIRTIO_CUDA_PROGRAM=train\x1b[2J me\0";
    assert_eq!(guest.control(&create_with(1, claims)), OK);
    assert_eq!(guest.control(&create_with(2, b"")), OK);
    let (_, sessions) = broker.ask("GET", "/v1/sessions", "");
    assert_eq!(sessions[0]["program"], "train\\u{1b}[2J me", "{sessions}");
    assert!(sessions[1]["program"].is_null(), "{sessions}");
    assert_eq!(sessions[0]["guest_pid"], std::process::id(), "{sessions}");
    assert!(sessions[0]["gpu_ns"].is_u64(), "{sessions}");
    broker.end();
}
