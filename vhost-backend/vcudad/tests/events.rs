//! Tests that events say which user has changed something.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use common::{Broker, TWO};
use host_test_support::wait_for;
use serde_json::Value;

mod common;

#[test]
fn changes_name_the_user_who_made_them() {
    let folder = Broker::folder("events");
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
    // The log says it, too.
    let logged = |text: &str| {
        let uid = format!("uid={own}");
        broker.log().lines().any(|line| line.contains(text) && line.contains(&uid))
    };
    for text in ["changed: {", "paused by the control API", "removed", "added"] {
        wait_for(text, || logged(text));
    }
    broker.end();
    std::fs::remove_dir_all(folder).unwrap();
}
