//! Tests that sessions continue when another vcudad takes over on SIGUSR2.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use common::{BROKER, Broker, TWO, with_programs};
use host_test_support::{Folder, Guest, wait_for};

mod common;

/// The status in a response from the device that reports success.
const OK: u32 = 0;

fn signal(broker: &Broker, signal: i32) {
    // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
    unsafe { libc::kill(broker.child.id() as i32, signal) };
}

/// Makes another vcudad take over, and waits until it has.
fn replace(broker: &Broker) {
    let count = || broker.log().matches("vcudad took over").count();
    let before = count();
    signal(broker, libc::SIGUSR2);
    wait_for("the next vcudad", || count() > before);
}

fn sessions(broker: &Broker, vm: &str) -> Vec<(u64, u64)> {
    let list = broker.ask("GET", &format!("/v1/vms/{vm}/sessions"), "").1;
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let session = |one: &serde_json::Value| (number(&one["id"]), number(&one["worker_pid"]));
    let mut list: Vec<_> = list.as_array().unwrap().iter().map(session).collect();
    list.sort_unstable();
    list
}

#[test]
fn sessions_and_settings_survive() {
    let folder = Folder::new("handover");
    let broker = Broker::start(&folder, TWO);
    let (mut a, mut b) = (Guest::connect(&folder.join("a")), Guest::connect(&folder.join("b")));
    assert_eq!((a.create(1), b.create(1)), (OK, OK));
    let (status, _) = broker.ask("PATCH", "/v1/vms/a", r#"{"compute": {"weight": 300}}"#);
    assert_eq!(status, 200);
    assert_eq!(broker.add("c", r#""memory": {"max": 1073741824}"#).0, 201);
    let mut c = Guest::connect(&folder.join("c"));
    assert_eq!(c.create(1), OK);
    assert_eq!(broker.ask("POST", "/v1/vms/c/pause", "").0, 200);
    let state = |broker: &Broker| {
        let device =
            |vm: &str| broker.ask("GET", &format!("/v1/vms/{vm}"), "").1["device_pid"].clone();
        let all = ["a", "b", "c"].map(|vm| (device(vm), sessions(broker, vm)));
        (broker.vms(), all)
    };
    let before = state(&broker);
    for round in 1..=3 {
        replace(&broker);
        assert_eq!(state(&broker), before, "round {round}");
        assert_eq!(broker.ask("GET", "/v1/vms/c", "").1["state"], "paused");
    }
    // After the handovers, sessions can be created and destroyed.
    assert_eq!((a.create(2), b.destroy(1), c.create(2)), (OK, OK, OK));
    wait_for("the end of the session", || sessions(&broker, "b").is_empty());
    assert_eq!(sessions(&broker, "a").len(), 2);
    let first = before.1[0].1[0];
    let kill = format!("/v1/vms/a/sessions/{}", first.0);
    assert_eq!(broker.ask("DELETE", &kill, "").0, 204);
    wait_for("the end of the killed session", || sessions(&broker, "a").len() == 1);
    // The new vcudad notices the ends of other processes, too.
    let worker = sessions(&broker, "a")[0].1;
    // SAFETY: kill takes no pointers.
    unsafe { libc::kill(worker as i32, libc::SIGKILL) };
    wait_for("the end of the other session", || sessions(&broker, "a").is_empty());
    assert_eq!(broker.ask("DELETE", "/v1/vms/c", "").0, 204);
    assert!(!folder.join("c").exists());
    broker.end();
    assert!(!folder.join("a").exists() && !folder.join("control").exists());
}

#[test]
fn the_log_keeps_its_level_and_format() {
    let folder = Folder::new("handover-log");
    let mut command = Broker::command(&folder, TWO);
    command.args(["--log-format", "json", "--log-level", "info,vcudad::sessions=trace"]);
    let broker = Broker::started(&folder, command);
    replace(&broker);
    assert!(!broker.log().contains("session begins"));
    assert_eq!(Guest::connect(&folder.join("a")).create(1), OK);
    wait_for("a line with level trace", || broker.log().contains("session begins"));
    broker.end();
    for line in std::fs::read_to_string(folder.join("log")).unwrap().lines() {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value["level"].is_string(), "{line}");
    }
}

#[test]
fn a_signal_to_stop_is_not_lost() {
    let folder = Folder::new("handover-stop");
    for _ in 0..5 {
        let broker = Broker::start(&folder, TWO);
        signal(&broker, libc::SIGUSR2);
        // The SIGTERM that ends the broker arrives before the next program is executed, or while it
        // starts.
        std::thread::sleep(Duration::from_millis(3));
        broker.end();
        assert!(!folder.join("a").exists() && !folder.join("control").exists());
    }
}

/// Puts another file in place of the program, as a package manager does.
fn put(folder: &Path, text: Option<&str>) {
    let next = folder.join("next");
    match text {
        Some(text) => std::fs::write(&next, text).unwrap(),
        None => drop(std::fs::copy(BROKER, &next).unwrap()),
    }
    std::fs::set_permissions(&next, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(next, folder.join("vcudad")).unwrap();
}

#[test]
fn a_program_that_cannot_take_over_does_not_get_the_chance() {
    let folder = Folder::new("handover-refused");
    let program = with_programs(&folder, "vhost-device-cuda", "vhost-cuda-worker");
    let broker = Broker::started(&folder, Broker::command_of(&program, 1, &folder, TWO));
    let mut a = Guest::connect(&folder.join("a"));
    assert_eq!(a.create(1), OK);
    let before = sessions(&broker, "a");
    let refused = |says: &str| {
        signal(&broker, libc::SIGUSR2);
        wait_for(says, || broker.log().contains(says));
        assert_eq!(sessions(&broker, "a"), before);
    };
    put(&folder, Some("#!/bin/sh\necho \"$1 $2: too old\" >&2\nexit 1\n"));
    refused("vcudad cannot take over: --accepts-handover 3: too old");
    put(&folder, Some("not a program"));
    refused("continuing without being replaced: cannot run");
    put(&folder, None);
    let config = folder.join("vcudad.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}colour = 1\n")).unwrap();
    refused("colour");
    std::fs::write(&config, text).unwrap();
    replace(&broker);
    let running = std::fs::read_link(format!("/proc/{}/exe", broker.child.id())).unwrap();
    assert_eq!(running, folder.join("vcudad"));
    assert_eq!((sessions(&broker, "a"), a.create(2)), (before, OK));
    broker.end();
}
