//! Tests for adding, changing and removing VMs at run time, and for the saved state.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Broker, TWO, with_programs, with_worker};
use host_test_support::{Folder, wait_for};

mod common;

const GIB: u64 = 1 << 30;

fn row(name: &str, weight: u64, memory: u64) -> (String, u64, u64) {
    (name.into(), weight, memory)
}

#[test]
fn changes_at_run_time_survive_a_restart() {
    let folder = Folder::new("survives");
    let broker = Broker::start(&folder, TWO);
    let (status, vm) = broker.add("c", r#""memory": {"max": 1073741824}"#);
    assert_eq!((status, &vm["origin"]), (201, &"api".into()), "{vm}");
    assert!(folder.join("c").exists());
    let patch = r#"{"compute": {"weight": 7}, "memory": {"max": 2147483648}}"#;
    assert_eq!(broker.ask("PATCH", "/v1/vms/c", patch).0, 200);
    assert_eq!(broker.ask("PATCH", "/v1/vms/a", r#"{"compute": {"weight": 9}}"#).0, 200);
    assert_eq!(broker.ask("DELETE", "/v1/vms/b", "").0, 204);
    assert!(!folder.join("b").exists());
    let expected = [row("a", 9, GIB), row("c", 7, 2 * GIB)];
    assert_eq!(broker.vms(), expected);
    broker.end();
    let broker = Broker::start(&folder, TWO);
    assert_eq!(broker.vms(), expected);
    assert_eq!(broker.ask("DELETE", "/v1/vms/c", "").0, 204);
    broker.end();
    // Once the file doesn't contain VM b, its saved removal is dropped. A VM b that is added to the
    // file later is served.
    let one = TWO.split_at(TWO.rfind("[[vm]]").unwrap()).0;
    Broker::start(&folder, one).end();
    let broker = Broker::start(&folder, TWO);
    assert_eq!(broker.vms(), [row("a", 9, GIB), row("b", 100, GIB)]);
}

#[test]
fn refused_requests_change_nothing() {
    let folder = Folder::new("refused");
    let broker = Broker::start(&folder, TWO);
    let before = broker.vms();
    for (more, field) in [
        (r#""memory": {"max": 9000000000}"#, "memory.max"),
        // A size without a unit.
        (r#""memory": {"max": 8}"#, "memory.max"),
        (r#""memory": {"max": 2097152, "session_max": 2097151}"#, "memory.session_max"),
        (r#""memory": {"max": 2097152}, "gpus": ["2"]"#, "gpus"),
        (r#""memory": {"max": 2097152}, "gpus": ["any", "any", "any"]"#, "gpus"),
        (r#""memory": {"max": 2097152}, "compute": {"weight": 10001}"#, "compute.weight"),
        (r#""memory": {"max": 2097152}, "uid": 0"#, "uid"),
        (r#""memory": {"max": 2097152}, "uid": 4294967295"#, "uid"),
        (r#""memory": {"max": 2097152}, "uid": 61001"#, "uid"),
        (r#""memory": {"max": 2097152}, "socket_group": "2113929217""#, "socket_group"),
    ] {
        let (status, error) = broker.add("c", more);
        assert!((400..600).contains(&status) && error["field"] == field, "{more}: {error}");
        assert!(!folder.join("c").exists());
    }
    assert_eq!(broker.add("a", r#""memory": {"max": 2097152}"#).0, 409);
    let gone = folder.join("gone/c");
    let body =
        format!(r#"{{"name": "c", "socket": "{}", "memory": {{"max": 2097152}}}}"#, gone.display());
    let (status, error) = broker.ask("POST", "/v1/vms", &body);
    assert_eq!(
        (status, &error["code"], &error["field"]),
        (422, &"invalid".into(), &"socket".into())
    );
    // Users of the API can't make vcudad create files anywhere on the host.
    let elsewhere = folder.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    for socket in [elsewhere.join("c"), folder.join("elsewhere/../c"), folder.join("..")] {
        let socket = socket.display();
        let body =
            format!(r#"{{"name": "c", "socket": "{socket}", "memory": {{"max": 2097152}}}}"#);
        let (status, error) = broker.ask("POST", "/v1/vms", &body);
        assert!(status == 422 && error["field"] == "socket", "{socket}: {error}");
        assert!(error["message"].as_str().unwrap().contains("must be directly in"), "{error}");
    }
    assert_eq!(elsewhere.read_dir().unwrap().count(), 0);
    for (patch, field) in [
        (r#"{"compute": {"weight": 5, "max": "0.5%"}}"#, "compute.max"),
        (r#"{"compute": {"weight": 5}, "memory": {"max": 9000000000}}"#, "memory.max"),
        (r#"{"compute": {"weight": 5}, "memory": {"max": 8}}"#, "memory.max"),
        (r#"{"compute": {"weight": 5}, "memory": {"session_max": 8}}"#, "memory.session_max"),
        (r#"{"compute": {"min": "50%", "max": "40%"}}"#, "compute.min"),
    ] {
        let (status, error) = broker.ask("PATCH", "/v1/vms/a", patch);
        assert!((400..600).contains(&status) && error["field"] == field, "{patch}: {error}");
    }
    // Make each write of the state fail as if the disk were full.
    std::os::unix::fs::symlink("/dev/full", folder.join("state/state.json.next")).unwrap();
    let (status, error) = broker.add("c", r#""memory": {"max": 2097152}"#);
    assert!(
        status == 507 && error["message"].as_str().unwrap().contains("No space left"),
        "{error}"
    );
    assert!(!folder.join("c").exists());
    assert_eq!(broker.ask("PATCH", "/v1/vms/a", r#"{"compute": {"weight": 5}}"#).0, 507);
    assert_eq!(broker.ask("DELETE", "/v1/vms/a", "").0, 507);
    assert_eq!(broker.vms(), before);
}

#[test]
fn a_failed_vm_reports_its_reason_and_refuses_connections() {
    let folder = Folder::new("failed");
    let broker = Broker::start(&folder, TWO);
    let since = Instant::now();
    let mut last = 0;
    let vm = loop {
        let (_, vm) = broker.ask("GET", "/v1/vms/a", "");
        if vm["state"] == "failed" {
            break vm;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "{vm}");
        match vm["device_pid"].as_u64() {
            Some(pid) if pid != last => {
                last = pid;
                // SAFETY: kill takes only integers. The broker hasn't reaped the process, so its
                // process ID can't have been reused.
                unsafe { libc::kill(pid as i32, libc::SIGKILL) };
            }
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(vm["failure"].as_str().unwrap().contains("ended 5 times within a minute"), "{vm}");
    assert!(UnixStream::connect(folder.join("a")).is_err());
    let metrics = broker.send("GET", "/metrics", "").text();
    assert!(metrics.contains("virtio_cuda_failed{vm=\"a\"} 1.0"), "{metrics}");
    // An operator can restart the failed VM.
    let (status, vm) = broker.ask("POST", "/v1/vms/a/restart", "");
    assert_eq!(
        (status, &vm["state"], &vm["failure"]),
        (200, &"running".into(), &serde_json::Value::Null)
    );
    let (status, error) = broker.ask("POST", "/v1/vms/a/restart", "");
    assert!(
        status == 409 && error["message"].as_str().unwrap().contains("has not failed"),
        "{error}"
    );
    assert_eq!(host_test_support::Guest::connect(&folder.join("a")).create(1), 0);
    let (_, other) = broker.ask("GET", "/v1/vms/b", "");
    assert!(other["state"] == "running" && other["failure"].is_null(), "{other}");
    assert_eq!(broker.ask("DELETE", "/v1/vms/a", "").0, 204);
}

/// The socket or the settings of a VM that was added through the API may be invalid when the broker
/// is restarted. The broker then serves the other VMs, and an operator can repair or remove this
/// VM.
#[test]
fn a_vm_that_cannot_be_served_does_not_affect_others() {
    let folder = Folder::new("wrong");
    let broker = Broker::start(&folder, TWO);
    let memory = r#""memory": {"max": 2097152}"#;
    std::fs::create_dir(folder.join("gone")).unwrap();
    for name in ["gone/gone", "taken", "odd", "twin"] {
        let path = folder.join(name);
        let name = name.rsplit('/').next().unwrap();
        let body = format!(r#"{{"name": "{name}", "socket": "{}", {memory}}}"#, path.display());
        assert_eq!(broker.ask("POST", "/v1/vms", &body).0, 201);
    }
    assert!(broker.add("more", memory).0 == 201);
    broker.end();
    std::fs::remove_dir(folder.join("gone")).unwrap();
    let other = std::os::unix::net::UnixListener::bind(folder.join("taken")).unwrap();
    let file = folder.join("state/state.json");
    let mut state: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let uid = state["vms"][0]["uid"].clone();
    for vm in state["vms"].as_array_mut().unwrap() {
        match vm["name"].as_str().unwrap() {
            "odd" => vm["compute"]["weight"] = 0.into(),
            "twin" => vm["uid"] = uid.clone(),
            _ => {}
        }
    }
    std::fs::write(&file, state.to_string()).unwrap();

    let broker = Broker::start(&folder, TWO);
    for (name, says) in [
        ("a", ""),
        ("b", ""),
        ("gone", "its directory does not exist"),
        ("taken", "in use by another process"),
        ("odd", "compute.weight: 0 is out of range: it must be from 1 to 10000 (from state.json"),
        ("twin", "already uses user ID"),
        ("more", ""),
    ] {
        let (_, vm) = broker.ask("GET", &format!("/v1/vms/{name}"), "");
        let state = if says.is_empty() { "running" } else { "failed" };
        let why = vm["failure"].as_str().unwrap_or_default();
        assert!(vm["state"] == state && why.contains(says), "{vm}");
    }
    let patch = r#"{"compute": {"weight": 3}}"#;
    assert_eq!(broker.ask("PATCH", "/v1/vms/odd", patch).1["state"], "failed");
    for name in ["gone", "taken", "twin"] {
        assert_eq!(broker.ask("DELETE", &format!("/v1/vms/{name}"), "").0, 204);
    }
    broker.end();
    drop(other);
    let broker = Broker::start(&folder, TWO);
    assert_eq!(broker.ask("GET", "/v1/vms/odd", "").1["state"], "running");
    broker.end();
    // If a saved change to a VM in the configuration file is invalid, the error mentions the state
    // file.
    let changed = r#"{"version": 1, "changed": {"a": {"compute": {"weight": 0}}}}"#;
    std::fs::write(&file, changed).unwrap();
    let output = Broker::command(&folder, TWO).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("vm 'a': compute.weight: 0") && text.contains("state.json"), "{text}");
}

#[test]
fn guarantees_and_memory_are_promised_once() {
    let folder = Folder::new("promised");
    let broker = Broker::start(&folder, "");
    let half = r#""memory": {"max": 5000000000}, "compute": {"min": "60%"}"#;
    let gpu = |vm: &serde_json::Value| vm["stats"]["gpus"][0]["gpu"].as_u64();
    let (first, second) = (broker.add("a", half).1, broker.add("b", half).1);
    assert_eq!((gpu(&first), gpu(&second)), (Some(0), Some(1)));
    let (status, error) = broker.add("c", half);
    assert_eq!((status, &error["code"]), (507, &"no_room".into()));
    // Reducing VM b's memory isn't enough to make room for VM c, because VM b's guarantee is too
    // high.
    assert_eq!(broker.ask("PATCH", "/v1/vms/b", r#"{"memory": {"max": 3000000000}}"#).0, 200);
    let (_, error) = broker.add("c", half);
    let says = error["message"].as_str().unwrap();
    assert!(says.contains("GPU 1 has 40% left to guarantee"), "{says}");
    assert_eq!(broker.ask("PATCH", "/v1/vms/b", r#"{"compute": {"min": "40%"}}"#).0, 200);
    assert_eq!(gpu(&broker.add("c", half).1), Some(1));
}

#[test]
fn only_one_broker_can_use_a_state_folder() {
    let folder = Folder::new("locked");
    let broker = Broker::start(&folder, TWO);
    let said = |folder: &Path, vms: &str| {
        let output = Broker::command(folder, vms).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        text.lines().last().unwrap_or_default().to_owned()
    };
    let text = said(&folder, TWO);
    assert!(text.contains("state_dir") && text.contains("in use by another vcudad"), "{text}");
    broker.end();
    let file = folder.join("state/state.json");
    for (text, says) in [("{", "damaged"), (r#"{"version": 99}"#, "has version 99")] {
        std::fs::write(&file, text).unwrap();
        let refused = said(&folder, TWO);
        assert!(refused.contains(says) && refused.contains("state.json"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        assert!(!folder.join("a").exists());
    }
}

#[test]
fn a_file_that_promises_too_much_is_refused() {
    let folder = Folder::new("promises");
    let output = Broker::command(&folder, &TWO.replace("1G", "9G")).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.contains("vm 'a': memory.max: 9G does not fit: GPU 0 has"), "{text}");
}

#[test]
fn a_workers_descriptors_do_not_block_the_broker() {
    let folder = Folder::new("linger");
    let program = with_worker(&folder, "lingering-worker");
    let broker = Broker::started(&folder, Broker::command_of(&program, 1, &folder, TWO));
    wait_for("the worker's message", || folder.join("sent").exists());
    assert_eq!(broker.vms(), [row("a", 100, GIB), row("b", 100, GIB)], "{}", broker.log());
    broker.end();
}

#[test]
fn a_device_process_cannot_flood_the_broker() {
    let folder = Folder::new("flood");
    let program = with_programs(&folder, "flooding-device", "vhost-cuda-worker");
    let one = TWO.split_at(TWO.rfind("[[vm]]").unwrap()).0;
    let broker = Broker::started(&folder, Broker::command_of(&program, 0, &folder, one));
    let place = folder.join("answers-a");
    wait_for("the end of the flood", || place.exists());
    let text = std::fs::read_to_string(place).unwrap();
    let (answers, milliseconds) = text.split_once(' ').unwrap();
    let (answers, milliseconds): (u64, u64) =
        (answers.parse().unwrap(), milliseconds.parse().unwrap());
    // At most 1024 messages are handled at once, and 2048 a second in the long run.
    assert!(answers <= 1024 + 2048 * (milliseconds + 100) / 1000, "{text}");
    assert_eq!(broker.vms().len(), 1);
    // Environment variables that no worker can get don't keep workers from starting.
    assert!(!broker.log().contains("cannot start a worker"), "{}", broker.log());
    broker.end();
}

#[test]
fn the_control_socket_is_for_its_owner_and_group_and_opened_only_once() {
    let folder = Folder::new("control");
    // Create a socket file, as a killed broker would leave it.
    drop(std::os::unix::net::UnixListener::bind(folder.join("control")).unwrap());
    let broker = Broker::start(&folder, TWO);
    let mode = folder.join("control").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let said = |arguments: [&str; 2], more: &str| {
        let mut command = Broker::command(&folder, more);
        let output = command.args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = said(["--state-dir", ""], "");
    let says = "control: the socket is in use by another process";
    assert!(code == Some(2) && text.contains(says), "{text}");
    assert_eq!(broker.vms().len(), 2);
    let (code, text) = said(["--state-dir", ""], "control_group = \"no-such-group\"");
    assert!(code == Some(2) && text.contains("group 'no-such-group' does not exist"), "{text}");
    broker.end();
    assert!(!folder.join("control").exists());
}

/// Depending on the host's cgroup controllers, a limit is enforced or refused, but never ignored.
#[test]
fn a_limit_on_processes_is_enforced_or_refused() {
    let folder = Folder::new("limited");
    let broker = Broker::start(&folder, "");
    let (status, answer) = broker.add("c", r#""memory": {"max": 2097152}, "pids": {"max": 500}"#);
    if status == 201 {
        let mut pid = None;
        wait_for("the device process", || {
            pid = broker.ask("GET", "/v1/vms/c", "").1["device_pid"].as_u64();
            pid.is_some()
        });
        let cgroup = || std::fs::read_to_string(format!("/proc/{}/cgroup", pid.unwrap())).unwrap();
        wait_for("its cgroup", || cgroup().lines().any(|line| line.ends_with("/vm-c")));
    } else {
        let message = answer["message"].as_str().unwrap();
        assert_eq!((status, &answer["field"]), (422, &"pids.max".into()), "{answer}");
        assert!(message.contains("the cgroup v2 controller 'pids'"), "{message}");
    }
}

/// If a process with threads needs a larger table of descriptors, it waits for an RCU grace period,
/// which takes seconds on a busy host. So the broker must have a large table from the start.
#[test]
fn the_broker_has_room_for_descriptors_from_the_start() {
    let folder = Folder::new("descriptors");
    let broker = Broker::start(&folder, TWO);
    let (mut limit, most) = (libc::rlimit { rlim_cur: 0, rlim_max: 0 }, 1 << 16);
    // SAFETY: `limit` is writable.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    assert!(broker.descriptor_table() >= limit.rlim_max.min(most));
    broker.end();
}
