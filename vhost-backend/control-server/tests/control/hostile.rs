//! Malformed, slow, excessive and disconnecting clients. The API must still respond after each of
//! them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use control_server::handle::About;
use control_server::model::EventKind;
use serde_json::json;

use crate::client::{answer, ask, connect};
use crate::fake::Fake;

fn still_answers(socket: &Path) {
    // Retry, because connections that have just ended may count against the limit for a moment
    // longer.
    for _ in 0..600 {
        let mut stream = connect(socket);
        let text = "GET /v1/version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        if stream.write_all(text.as_bytes()).is_ok() && answer(stream).status == 200 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the API no longer responds");
}

#[test]
fn bad_input_is_refused_with_field_and_range() {
    let fake = Fake::start();
    for (body, status, field, message) in [
        (
            r#"{"name": "a", "memory": {"max": 2097152}, "compute": {"weight": 0}}"#,
            422,
            "compute.weight",
            "1 to 10000",
        ),
        (
            r#"{"name": "a", "memory": {"max": 2097152}, "compute": {"weight": 1e99}}"#,
            400,
            "compute.weight",
            "1 to 10000",
        ),
        (
            r#"{"name": "a", "memory": {"max": 2097152}, "compute": {"max": "100.01%"}}"#,
            422,
            "compute.max",
            "1% to 100%",
        ),
        (r#"{"name": "a", "memory": {"max": 8}}"#, 422, "memory.max", "from 2097152"),
        (r#"{"name": "a", "memory": {"max": -1}}"#, 400, "memory.max", "from 2097152"),
        (r#"{"name": "../a", "memory": {"max": 2097152}}"#, 422, "name", "letters"),
        (r#"{"name": "a", "memory": {"max": 2097152}, "quota": 1}"#, 400, "quota", "unknown field"),
    ] {
        let refused = ask(&fake.socket, "POST", "/v1/vms", body);
        assert_eq!(refused.status, status, "{body}: {refused:?}");
        assert_eq!(refused.json()["field"], json!(field), "{body}: {refused:?}");
        assert!(refused.json()["message"].as_str().unwrap().contains(message), "{refused:?}");
    }
    let deep = "[".repeat(10_000);
    assert_eq!(ask(&fake.socket, "POST", "/v1/vms", &deep).status, 400);
    assert_eq!(ask(&fake.socket, "GET", "/v1/vms", "").json(), json!([]));
}

#[test]
fn a_gigabyte_is_refused_without_being_read() {
    let fake = Fake::start();
    let mut stream = connect(&fake.socket);
    let head = "POST /v1/vms HTTP/1.1\r\nhost: x\r\ncontent-length: 1073741824\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // The response arrives even though no part of the body was sent.
    let refused = answer(&stream);
    assert_eq!((refused.status, &refused.json()["code"]), (413, &json!("too_large")));

    // Send an endless body without a declared length.
    let mut stream = connect(&fake.socket);
    let head = "POST /v1/vms HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
    for _ in 0..64 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
    still_answers(&fake.socket);
}

#[test]
fn input_other_than_http_ends_only_its_connection() {
    let fake = Fake::start();
    for bytes in [&b"\0\xff\xfe\0"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[b'a'; 100_000]]
    {
        let mut stream = connect(&fake.socket);
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        assert!(!text.starts_with(b"HTTP/1.1 2"), "{text:?}");
    }
    still_answers(&fake.socket);
}

#[test]
fn a_request_cut_off_in_the_middle_changes_nothing() {
    let fake = Fake::start();
    let body = r#"{"name": "a", "memory": {"max": 1073741824}}"#;
    let length = body.len();
    let head = format!("POST /v1/vms HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    let whole = head + body;
    for end in [3, 20, whole.len() - length, whole.len() - 1] {
        let mut stream = connect(&fake.socket);
        stream.write_all(&whole.as_bytes()[..end]).unwrap();
        drop(stream);
    }
    still_answers(&fake.socket);
    assert_eq!(ask(&fake.socket, "GET", "/v1/vms", "").json(), json!([]));
}

/// The client shuts down its sending side and waits for the response, as `nc -N` does.
#[test]
fn a_half_closed_client_is_answered() {
    let fake = Fake::start();
    let body = r#"{"name": "a", "memory": {"max": 1073741824}}"#;
    let length = body.len();
    let text =
        format!("POST /v1/vms HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}");
    // Repeat the request many times, because the server may see the end of input either before or
    // after it has produced the response.
    for status in [201].into_iter().chain([409; 200]) {
        let mut stream = connect(&fake.socket);
        stream.write_all(text.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said:?}");
    }
}

#[test]
fn excess_connections_get_a_503() {
    host_ipc::process::raise_descriptor_limit();
    let fake = Fake::start();
    let held: Vec<UnixStream> = (0..1000).map(|_| connect(&fake.socket)).collect();
    let mut refused = 0;
    for stream in held.iter().rev().take(500) {
        let told = answer(stream);
        assert_eq!((told.status, &told.json()["code"]), (503, &json!("unavailable")));
        refused += 1;
    }
    assert_eq!(refused, 500);
    drop(held);
    still_answers(&fake.socket);
}

#[test]
fn slow_and_vanished_event_readers_do_not_block_others() {
    let fake = Fake::start();
    let request = "GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n";
    // This client subscribes to events, but doesn't read yet.
    let mut silent = connect(&fake.socket);
    silent.write_all(request.as_bytes()).unwrap();
    // This client subscribes to events, and then disconnects.
    let mut gone = connect(&fake.socket);
    gone.write_all(request.as_bytes()).unwrap();
    drop(gone);
    still_answers(&fake.socket);
    let long = "x".repeat(1000);
    for _ in 0..5000 {
        fake.events.publish(EventKind::MemoryRefused, About::default(), long.as_str());
    }
    still_answers(&fake.socket);
    // The slow reader finally reads, and is notified that it missed events.
    let mut text = String::new();
    let mut bytes = [0u8; 1 << 16];
    while !text.contains(r#""kind":"missed""#) {
        let count = silent.read(&mut bytes).unwrap();
        assert!(count > 0, "the stream ended without a missed event");
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    assert!(text.contains("events before the next one"));
}

#[test]
fn readers_of_events_and_of_traces_are_bounded() {
    readers_are_bounded("/v1/events", 32);
    readers_are_bounded("/v1/trace", 4);
}

fn readers_are_bounded(path: &str, max: usize) {
    let fake = Fake::start();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    let mut held = Vec::new();
    let refused = (0..64).find_map(|_| {
        let mut stream = connect(&fake.socket);
        stream.write_all(request.as_bytes()).unwrap();
        let mut start = [0u8; 12];
        stream.read_exact(&mut start).unwrap();
        held.push(stream);
        (&start == b"HTTP/1.1 503").then_some(held.len())
    });
    assert_eq!(refused, Some(max + 1));
    still_answers(&fake.socket);
    // Disconnected readers are detected even if nothing is published.
    drop(held);
    let answered = |status: &[u8; 12]| {
        let mut stream = connect(&fake.socket);
        stream.write_all(request.as_bytes()).unwrap();
        let mut start = [0u8; 12];
        stream.read_exact(&mut start).unwrap();
        &start == status
    };
    let free = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        answered(b"HTTP/1.1 200")
    });
    assert!(free, "disconnected readers still count against the limit");
}
