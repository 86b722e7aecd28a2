//! Tests for the individual paths.

use std::io::{BufRead, BufReader, Write};

use control_server::handle::About;
use control_server::model::{Event, EventKind, TraceChange, TraceRecord, VmInfo};
use control_server::openapi;
use control_server::trace_point::TracePoint;
use serde_json::{Value, json};

use crate::client::{ask, connect};
use crate::fake::Fake;

const GIB: u64 = 1 << 30;

#[test]
fn a_vm_is_added_listed_changed_and_removed() {
    let fake = Fake::start();
    let body = json!({"name": "web", "memory": {"max": GIB}, "compute": {"max": "25%"}});
    let added = ask(&fake.socket, "POST", "/v1/vms", &body.to_string());
    assert_eq!(added.status, 201, "{added:?}");
    assert!(added.head.contains("location: /v1/vms/web"), "{added:?}");
    let vm: VmInfo = serde_json::from_str(&added.body).unwrap();
    assert_eq!(vm.settings.compute.weight, 100);

    let again = ask(&fake.socket, "POST", "/v1/vms", &body.to_string());
    assert_eq!((again.status, &again.json()["code"]), (409, &json!("conflict")));

    let all = ask(&fake.socket, "GET", "/v1/vms", "");
    assert_eq!((all.status, &all.json()[0]["name"]), (200, &json!("web")));

    let patch = r#"{"compute": {"weight": 300}, "class": "latency"}"#;
    let changed = ask(&fake.socket, "PATCH", "/v1/vms/web", patch);
    assert_eq!(changed.status, 200, "{changed:?}");
    let shown = ask(&fake.socket, "GET", "/v1/vms/web", "").json();
    assert_eq!(shown["settings"]["compute"]["weight"], json!(300));
    assert_eq!(shown["settings"]["compute"]["max"], json!("25%"));
    assert_eq!(shown["settings"]["class"], json!("latency"));

    let removed = ask(&fake.socket, "DELETE", "/v1/vms/web", "");
    assert_eq!((removed.status, removed.body.as_str()), (204, ""));
    assert_eq!(ask(&fake.socket, "GET", "/v1/vms/web", "").status, 404);
    assert_eq!(ask(&fake.socket, "GET", "/v1/vms", "").json(), json!([]));
}

#[test]
fn a_vm_is_paused_and_resumed() {
    let fake = Fake::start();
    let body = json!({"name": "web", "memory": {"max": GIB}});
    assert_eq!(ask(&fake.socket, "POST", "/v1/vms", &body.to_string()).status, 201);
    let paused = ask(&fake.socket, "POST", "/v1/vms/web/pause", "");
    let shown = paused.json();
    assert_eq!(paused.status, 200, "{paused:?}");
    assert_eq!((&shown["state"], &shown["paused_by"]), (&json!("paused"), &json!(["api"])));
    let resumed = ask(&fake.socket, "POST", "/v1/vms/web/resume", "");
    assert_eq!((resumed.status, &resumed.json()["state"]), (200, &json!("running")));
    assert!(resumed.json().get("paused_by").is_none(), "{resumed:?}");
}

#[test]
fn a_partly_invalid_patch_changes_nothing() {
    let fake = Fake::start();
    let body = json!({"name": "web", "memory": {"max": GIB}});
    assert_eq!(ask(&fake.socket, "POST", "/v1/vms", &body.to_string()).status, 201);
    let before = ask(&fake.socket, "GET", "/v1/vms/web", "").json();
    for patch in [
        r#"{"class": "latency", "compute": {"weight": 0}}"#,
        r#"{"memory": {"max": 5}, "compute": {"min": "50%", "max": "10%"}}"#,
        r#"{"memory": {"max": 5}, "gpus": ["0"]}"#,
    ] {
        assert_eq!(ask(&fake.socket, "PATCH", "/v1/vms/web", patch).status, 422, "{patch}");
    }
    assert_eq!(ask(&fake.socket, "GET", "/v1/vms/web", "").json(), before);
}

#[test]
fn missing_objects_and_paths_are_not_found() {
    let fake = Fake::start();
    for (method, path, message) in [
        ("GET", "/v1/vms/none", "none"),
        ("PATCH", "/v1/vms/none", "none"),
        ("DELETE", "/v1/vms/none", "none"),
        ("POST", "/v1/vms/none/pause", "none"),
        ("POST", "/v1/vms/none/resume", "none"),
        ("GET", "/v1/vms/none/sessions", "none"),
        ("DELETE", "/v1/vms/none/sessions/1", "none"),
        ("DELETE", "/v1/vms/none/sessions/one", "one"),
        ("GET", "/v1/vms/%ff", "UTF-8"),
        ("GET", "/v2/vms", "openapi.json"),
        ("GET", "/", "openapi.json"),
    ] {
        let answer = ask(&fake.socket, method, path, "{}");
        assert_eq!(answer.status, 404, "{method} {path}: {answer:?}");
        assert_eq!(answer.json()["code"], json!("not_found"));
        assert!(answer.json()["message"].as_str().unwrap().contains(message), "{answer:?}");
    }
    let answer = ask(&fake.socket, "PUT", "/v1/vms", "{}");
    assert_eq!((answer.status, &answer.json()["code"]), (405, &json!("method_not_allowed")));
}

#[test]
fn sessions_are_listed_and_ended() {
    let fake = Fake::start();
    let body = json!({"name": "web", "memory": {"max": GIB}});
    assert_eq!(ask(&fake.socket, "POST", "/v1/vms", &body.to_string()).status, 201);
    for path in ["/v1/sessions", "/v1/vms/web/sessions"] {
        let sessions = ask(&fake.socket, "GET", path, "").json();
        assert_eq!((&sessions[0]["vm"], &sessions[0]["id"]), (&json!("web"), &json!(1)));
    }
    assert_eq!(ask(&fake.socket, "DELETE", "/v1/vms/web/sessions/1", "").status, 204);
    let missing = ask(&fake.socket, "DELETE", "/v1/vms/web/sessions/2", "");
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("no session 2"), "{missing:?}");
}

#[test]
fn past_events_come_first_with_the_user_who_caused_them() {
    let fake = Fake::start();
    let body = json!({"name": "web", "memory": {"max": GIB}});
    assert_eq!(ask(&fake.socket, "POST", "/v1/vms", &body.to_string()).status, 201);
    let mut stream = connect(&fake.socket);
    stream.write_all(b"GET /v1/events?since_ms=0 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut events = lines.filter(|line| line.starts_with('{'));
    let mut next = || serde_json::from_str::<Event>(&events.next().unwrap()).unwrap();
    let added = next();
    // SAFETY: geteuid has no preconditions.
    let own = unsafe { libc::geteuid() };
    assert_eq!((added.kind, added.uid), (EventKind::VmAdded, Some(own)));
    fake.events.publish(EventKind::VmRemoved, About::default(), "removed");
    let removed = next();
    assert_eq!((removed.kind, removed.id, removed.uid), (EventKind::VmRemoved, 2, None));
    for query in [
        "since_ms=",
        "since_ms=-1",
        "since_ms=10m",
        "since_ms=9223372036854775808",
        "since=1",
        "since_ms=1&x=1",
    ] {
        let refused = ask(&fake.socket, "GET", &format!("/v1/events?{query}"), "");
        assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("bad_request")));
    }
}

#[test]
fn events_are_sent_as_lines_or_as_server_sent_events() {
    let fake = Fake::start();
    for (accept, kind) in
        [("*/*", "application/x-ndjson"), ("text/event-stream", "text/event-stream")]
    {
        let mut stream = connect(&fake.socket);
        let text = format!("GET /v1/events HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        assert!(head.contains(&format!("content-type: {kind}")), "{head:?}");
        let about = About { vm: Some("web"), session: Some(3), ..About::default() };
        fake.events.publish(EventKind::SessionEnded, about, "it exited\nor so");
        let json = lines.find_map(|line| {
            let at = line.strip_prefix("data: ").unwrap_or(&line).to_owned();
            at.starts_with('{').then_some(at)
        });
        let event: Event = serde_json::from_str(&json.unwrap()).unwrap();
        assert_eq!(event.kind, EventKind::SessionEnded);
        assert_eq!((event.vm.as_deref(), event.session), (Some("web"), Some(3)));
        assert_eq!(event.message, "it exited\nor so");
    }
}

#[test]
fn a_trace_names_the_vms_and_counts_the_records_that_its_reader_misses() {
    let fake = Fake::start();
    assert!(!fake.traces.are_wanted());
    assert_eq!(
        ask(&fake.socket, "POST", "/v1/vms", r#"{"name": "web", "memory": {"max": 1073741824}}"#)
            .status,
        201
    );
    let mut stream = connect(&fake.socket);
    stream.write_all(b"GET /v1/trace HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    assert!(head.contains(&"content-type: application/x-ndjson".to_owned()), "{head:?}");
    let mut records = lines.filter_map(|line| {
        let line = line.starts_with('{').then_some(line)?;
        Some(serde_json::from_str::<TraceRecord>(&line).unwrap())
    });
    // The first record is about the VM's memory.
    let memory = records.next().unwrap();
    assert!(matches!(memory.change, TraceChange::Memory { .. }), "{memory:?}");

    let publish = |time_ns, vm| {
        let change = TraceChange::Evicted;
        fake.traces.publish(TracePoint { time_ns, vm, gpu: 3, change });
    };
    // There is no VM with the key 9, so this point must not produce a record.
    publish(1, 9);
    publish(2, 1);
    let record = records.next().unwrap();
    let expected = TraceRecord {
        time_ns: 2,
        vm: "web".into(),
        gpu: 3,
        missed: 0,
        change: TraceChange::Evicted,
    };
    assert_eq!(record, expected);

    (0..1_000_000).for_each(|time| publish(time, 1));
    publish(u64::MAX, 1);
    let mut missed = 0;
    let received = records.by_ref().take_while(|record| {
        missed += record.missed;
        record.time_ns != u64::MAX
    });
    assert_eq!(received.count() as u64 + missed, 1_000_000);
}

#[test]
fn every_path_of_the_description_is_served() {
    let fake = Fake::start();
    let served = ask(&fake.socket, "GET", "/openapi.json", "");
    assert_eq!(served.body, openapi::json());
    let description = served.json();
    let mut seen = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            if ["/v1/events", "/v1/trace"].contains(&path.as_str()) {
                continue;
            }
            let path = path.replace("{name}", "web").replace("{id}", "1");
            let answer = ask(&fake.socket, &method.to_uppercase(), &path, "");
            let known = answer.status != 405 && !answer.body.contains("no such path");
            assert!(known, "{method} {path}: {answer:?}");
            seen += 1;
        }
    }
    assert!(seen >= 14, "{seen}");
}

/// The requests that the read socket answers. Add a request to this list only if it changes
/// nothing, and reveals no information except about VMs, sessions, and GPUs.
const READS: [(&str, &str); 13] = [
    ("get", "/metrics"),
    ("get", "/openapi.json"),
    ("get", "/v1/events"),
    ("get", "/v1/gpus"),
    ("get", "/v1/health"),
    ("get", "/v1/sessions"),
    ("get", "/v1/stats"),
    ("get", "/v1/trace"),
    ("get", "/v1/usage"),
    ("get", "/v1/version"),
    ("get", "/v1/vms"),
    ("get", "/v1/vms/{name}"),
    ("get", "/v1/vms/{name}/sessions"),
];

#[test]
fn the_read_socket_answers_only_requests_that_change_nothing() {
    let fake = Fake::start();
    let body = json!({"name": "web", "memory": {"max": GIB}}).to_string();
    assert_eq!(ask(&fake.socket, "POST", "/v1/vms", &body).status, 201);
    let description = ask(&fake.read, "GET", "/openapi.json", "").json();
    let (mut read, mut refused) = (Vec::new(), 0);
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let is_read = READS.contains(&(method.as_str(), path.as_str()));
            assert_eq!(operation["responses"]["403"].is_null(), is_read, "{method} {path}");
            let real = path.replace("{name}", "web").replace("{id}", "1");
            let text = format!("{} {real} HTTP/1.1\r\nhost: x\r\n", method.to_uppercase());
            // Read only the first line, because streams don't end.
            let status = |socket| {
                let mut stream = connect(socket);
                let body = if method == "post" && path == "/v1/vms" { "{}" } else { "" };
                let length = body.len();
                write!(stream, "{text}content-length: {length}\r\n\r\n{body}").unwrap();
                let line = BufReader::new(stream).lines().next().unwrap().unwrap();
                line.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
            };
            if is_read {
                assert!((200..300).contains(&status(&fake.read)), "{method} {path}");
                read.push((method.as_str(), path.as_str()));
                continue;
            }
            // The read socket must refuse this request, and the VM must not change.
            assert_eq!(status(&fake.read), 403, "{method} {path}");
            let vm = ask(&fake.read, "GET", "/v1/vms/web", "");
            assert_eq!((vm.status, &vm.json()["state"]), (200, &json!("running")));
            refused += 1;
        }
    }
    assert_eq!((read, refused), (READS.to_vec(), 12));
    let refused = ask(&fake.read, "DELETE", "/v1/vms/web", "").json();
    assert_eq!(refused["code"], json!("read_only"));
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(&*fake.socket.to_string_lossy()), "{message}");
    // Requests that no socket answers get the usual error, not one about the read socket.
    for (method, path, status) in [
        ("PUT", "/v1/vms", 405),
        ("OPTIONS", "/v1/vms/web", 405),
        ("POST", "/v1/stats", 405),
        ("GET", "/v1/vms/none", 404),
        ("GET", "/v1/config", 404),
        ("POST", "/v2/vms", 404),
    ] {
        for socket in [&fake.read, &fake.socket] {
            assert_eq!(ask(socket, method, path, "").status, status, "{method} {path}");
        }
    }
}

#[test]
fn readers_cannot_take_the_connections_of_the_control_socket() {
    let fake = Fake::start();
    let _silent: Vec<_> = (0..140).map(|_| connect(&fake.read)).collect();
    assert_eq!(ask(&fake.socket, "GET", "/v1/version", "").status, 200);
}

/// Checks that every reference in the description resolves.
#[test]
fn all_references_in_the_description_resolve() {
    fn walk(value: &Value, root: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref") {
                    let pointer = target.strip_prefix('#').unwrap();
                    assert!(root.pointer(pointer).is_some(), "{target}");
                }
                members.values().for_each(|member| walk(member, root));
            }
            Value::Array(members) => members.iter().for_each(|member| walk(member, root)),
            _ => {}
        }
    }
    let description: Value = serde_json::from_str(&openapi::json()).unwrap();
    walk(&description, &description);
    assert!(description.pointer("/components/schemas/VmSpec").is_some());
}

#[test]
fn a_configuration_file_is_checked() {
    let fake = Fake::start();
    let check = |text: &str| ask(&fake.socket, "POST", "/v1/config/check", text);
    let good = check("[[vm]]\nname = \"a\"\n");
    assert_eq!((good.status, &good.json()["summary"]), (200, &"added a".into()), "{good:?}");
    let bad = check("colour = 1");
    assert_eq!((bad.status, &bad.json()["code"]), (422, &"invalid".into()), "{bad:?}");
    // Configuration files may be longer than other request bodies.
    assert_eq!(check(&"#\n".repeat(1 << 19)).status, 200);
}
