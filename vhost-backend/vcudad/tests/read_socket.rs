//! Tests of the control API's socket that is only for reading.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::{Broker, Reply, Spawner, TWO};
use host_test_support::{Folder, wait_for};
use serde_json::Value;

mod common;

const READ: &str = "read_socket = \"DIR/read\"\n";

fn ask(folder: &Path, method: &str, path: &str) -> (u16, Value) {
    Reply::to(&folder.join("read"), method, path, "").wait()
}

/// Checks that the socket answers requests that change nothing, and refuses all others.
fn check(folder: &Path, broker: &Broker) {
    let (status, vms) = ask(folder, "GET", "/v1/vms");
    assert_eq!((status, vms.as_array().map(Vec::len)), (200, Some(2)));
    for (method, path) in
        [("DELETE", "/v1/vms/a"), ("POST", "/v1/vms/a/pause"), ("POST", "/v1/config/check")]
    {
        let (status, error) = ask(folder, method, path);
        assert_eq!((status, &error["code"]), (403, &"read_only".into()), "{method} {path}");
        let control = folder.join("control").display().to_string();
        assert!(error["message"].as_str().unwrap().contains(&control), "{error}");
    }
    assert_eq!(broker.ask("GET", "/v1/vms/a", "").1["state"], "running");
}

#[test]
fn the_read_socket_is_for_its_owner_and_group_and_stays_when_vcudad_is_replaced() {
    let folder = Folder::new("read");
    let broker = Broker::start(&folder, &format!("{READ}{TWO}"));
    let mode = folder.join("read").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    check(&folder, &broker);
    // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
    unsafe { libc::kill(broker.child.id() as i32, libc::SIGUSR2) };
    wait_for("the next vcudad", || broker.log().contains("vcudad took over"));
    check(&folder, &broker);
    broker.end();
    assert!(!folder.join("read").exists());
}

#[test]
fn without_a_vcudad_the_spawner_answers_and_the_next_one_decides() {
    let folder = Folder::new("read-restart");
    let _spawner = Spawner::start(&folder.join("spawner"));
    let start = |vms: &str| {
        let mut command: Command = Broker::command(&folder, vms);
        command.arg("--spawner").arg(folder.join("spawner"));
        Broker::started(&folder, command)
    };
    let with = format!("{READ}{TWO}");
    start(&with).end();
    // The spawner doesn't read the request, so the connection ends with an error.
    let reply = Reply::to(&folder.join("read"), "GET", "/v1/vms", "");
    let text = reply.text_when(|text| text.ends_with('}'));
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("vcudad isn't running"), "{text}");
    let broker = start(&with);
    // Wait until vcudad has taken over, because both sockets accept connections before that.
    wait_for("the next vcudad", || broker.log().contains("vcudad took over"));
    check(&folder, &broker);
    broker.end();
    let broker = start(TWO);
    wait_for("the last vcudad", || broker.log().contains("vcudad took over"));
    broker.end();
    assert!(!folder.join("read").exists());
}

#[test]
fn there_is_a_read_socket_only_with_its_path_or_the_default_control_socket() {
    let folder = Folder::new("read-default");
    let broker = Broker::start(&folder, TWO);
    assert!(!broker.log().contains("read_socket"), "{}", broker.log());
    let sockets = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!sockets.into_iter().any(|name| name.to_string_lossy().contains("read")));
    broker.end();
}
