//! Tests the whole program with a fake vcudad.

mod support;

use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Server, completions, pty, vcudactl};

fn refused(message: &str) -> (u16, String) {
    (422, json!({"code": "invalid", "field": "compute.min", "message": message}).to_string())
}

#[test]
fn options_become_a_request() {
    let server = Server::start(|method, path, body| {
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!((method, path), ("PATCH", "/v1/vms/web"));
        assert_eq!(body, json!({"memory": {"max": 2u64 << 30}, "compute": {"max": "25%"}}));
        refused("140% of a GPU would be promised")
    });
    let words = ["vm", "set", "web", "--memory-max", "2G", "--compute-max", "25%"];
    let (code, out, err) = vcudactl(&server.socket, &words);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "vcudactl: compute.min: 140% of a GPU would be promised\n");
}

#[test]
fn lists_are_columns_or_json() {
    let gpus = json!([{
        "index": 0, "uuid": "GPU-1", "name": "Fast", "pci_bus_id": "0", "state": "faulty",
        "memory_total": 8u64 << 30, "memory_reserved": 0, "memory_promised": 1u64 << 30,
        "memory_used": 0, "memory_driver": null, "memory_difference": null, "compute_min": "10%",
        "compute_weight": 100, "faults": 1, "last_fault": "Xid 79", "vms": ["a", "b"],
        "something_new": 1
    }]);
    let text = gpus.to_string();
    let server = Server::start(move |_, path, _| {
        assert_eq!(path, "/v1/gpus");
        (200, text.clone())
    });
    let (code, out, _) = vcudactl(&server.socket, &["gpu", "ls"]);
    assert_eq!(code, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("GPU  MODEL  UUID"), "{out}");
    for part in ["Fast", "faulty: Xid 79", "8G", "1G", "10%", "a,b"] {
        assert!(lines[1].contains(part), "{part} in {out}");
    }
    let (_, out, _) = vcudactl(&server.socket, &["--json", "gpu", "ls"]);
    let printed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(printed[0]["last_fault"], json!("Xid 79"));
}

/// Returns vcudad's response for a VM that has failed for this reason.
fn failed(why: &str) -> Value {
    json!({
        "name": "web", "origin": "api", "state": "failed", "failure": why,
        "socket": "/run/virtio-cuda/web.sock", "device_pid": null,
        "settings": {"name": "web", "memory": {"max": 4096}},
        "stats": {"name": "web", "sessions": 0, "sessions_total": 0, "device_restarts": 0,
            "refused_calls": {"system_calls": 0, "driver_operations": 0},
            "activity": {"calls": 0, "launches": 0, "graph_launches": 0, "bytes_h2d": 0,
                "bytes_d2h": 0, "bytes_d2d": 0, "ring_depth": 0}, "gpus": []}
    })
}

#[test]
fn a_failed_vm_is_shown_with_the_reason() {
    let why = "gpus: there is no GPU 7: this host has 2 GPUs, index 0 to 1";
    let server = Server::start(move |_, path, _| match path {
        "/v1/vms" => (200, json!([failed(why)]).to_string()),
        _ => (200, failed(why).to_string()),
    });
    let (code, out, err) = vcudactl(&server.socket, &["vm", "ls"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("failed: gpus: there is no GPU 7: this host has 2…  "), "{out}");
    assert!(out.contains("  0.0%"), "{out}");
    let (_, out, _) = vcudactl(&server.socket, &["vm", "show", "web"]);
    assert!(out.contains(&format!("failed: {why}\n")), "{out}");
    let (code, out, err) = vcudactl(&server.socket, &["vm", "set", "web", "--compute-weight", "5"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(err.contains("vcudactl vm restart web") && err.contains(why), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}

#[test]
fn vcudactl_waits_until_the_memory_of_a_vm_has_left() {
    for (end, fails) in [("away", false), ("on_gpu", true)] {
        let asked = AtomicUsize::new(0);
        let server = Server::start(move |method, path, _| {
            let swap = match (method, path, asked.fetch_add(1, Ordering::SeqCst)) {
                ("POST", "/v1/vms/web/swap-out", 0) => "leaving",
                ("GET", "/v1/vms/web", 1) => "leaving",
                ("GET", "/v1/vms/web", 2) => end,
                _ => return (404, String::new()),
            };
            let mut vm = failed("");
            vm.as_object_mut().unwrap().remove("failure");
            (vm["state"], vm["stats"]["swap"]) = (json!("running"), json!(swap));
            (200, vm.to_string())
        });
        let (code, out, err) = vcudactl(&server.socket, &["vm", "swap-out", "web"]);
        assert_eq!((code != 0, out.as_str()), (fails, ""), "{err}");
        assert_eq!(err.contains("the memory of VM 'web' is on its GPUs"), fails, "{err}");
    }
}

#[test]
fn a_vm_is_paused_and_resumed() {
    let server = Server::start(|method, path, body| {
        let paused_by = match (method, path) {
            ("POST", "/v1/vms/web/pause") => json!(["api", "vmm"]),
            ("POST", "/v1/vms/web/resume") => json!(["vmm"]),
            _ => return (404, String::new()),
        };
        assert_eq!(body, "");
        let mut vm = failed("");
        vm.as_object_mut().unwrap().remove("failure");
        (vm["state"], vm["paused_by"]) = (json!("paused"), paused_by);
        (200, vm.to_string())
    });
    assert_eq!(vcudactl(&server.socket, &["vm", "pause", "web"]), (0, "".into(), "".into()));
    let (code, out, err) = vcudactl(&server.socket, &["vm", "resume", "web"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(err, "vcudactl: VM 'web' is still paused by the VMM\n");
    let (_, out, _) = vcudactl(&server.socket, &["--json", "vm", "pause", "web"]);
    let printed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(printed["paused_by"], json!(["api", "vmm"]));
}

#[test]
fn one_missing_vm_does_not_stop_the_others() {
    let server = Server::start(|method, path, _| {
        if method == "GET" {
            return (404, json!({"code": "not_found", "message": ""}).to_string());
        }
        assert_eq!(method, "DELETE");
        match path {
            "/v1/vms/gone?if_idle=true" => {
                let error = json!({"code": "not_found", "message": "there is no VM named 'gone'"});
                (404, error.to_string())
            }
            "/v1/vms/busy?if_idle=true" => (
                409,
                json!({"code": "conflict", "message": "VM 'busy' has 2 sessions"}).to_string(),
            ),
            // Without the parameter `if_idle`, vcudad removes the VM and ends its sessions.
            "/v1/vms/busy" | "/v1/vms/a?if_idle=true" | "/v1/vms/b?if_idle=true" => {
                (204, String::new())
            }
            other => panic!("{other}"),
        }
    });
    let (code, out, err) = vcudactl(&server.socket, &["--json", "vm", "rm", "a", "gone", "b"]);
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("\"a\"") && out.contains("\"b\"") && !out.contains("gone"), "{out}");
    assert!(err.contains(r#""vm":"gone""#), "{err}");
    let (_, _, err) = vcudactl(&server.socket, &["vm", "rm", "a", "gone"]);
    assert!(err.starts_with("vcudactl: gone: there is no VM named 'gone'\n"), "{err}");
    assert_eq!(vcudactl(&server.socket, &["vm", "rm", "gone"]).0, 2);
    let (code, _, err) = vcudactl(&server.socket, &["vm", "rm", "busy"]);
    assert!(code == 2 && err.contains("has 2 sessions"), "{err}");
    assert_eq!(vcudactl(&server.socket, &["vm", "rm", "--force", "busy"]).0, 0);
}

#[test]
fn a_vm_is_shown_with_all_its_settings_and_what_differs_from_the_file() {
    let mut vm = failed("");
    vm.as_object_mut().unwrap().remove("failure");
    (vm["origin"], vm["state"]) = (json!("file"), json!("running"));
    vm["differs_from_file"] = json!({
        "compute.weight": {"file": "300", "since_ms": 0},
        "gpus": {"file": "[\"1\"]", "since_ms": null},
    });
    vm["settings"] = json!({
        "name": "web", "socket": "/run/web", "socket_mode": "0600", "socket_group": "kvm",
        "gpus": ["0"], "memory": {"max": 8 << 20, "session_max": 4 << 20, "host_max": 2 << 20},
        "compute": {"weight": 7, "max": "50%", "min": "5%", "kernel_timeout": "2s"},
        "class": "latency", "sessions": {"max": 9}, "connections": {"max": 11},
        "pinned": {"max": 1 << 30}, "plain": {"max": 1 << 20}, "cpu": {"max": "1000"},
        "pids": {"max": 77}, "env": {"allow": ["CUDA_FORCE_JIT"]}, "uid": 2113929300u32,
        "spin_us": 99
    });
    let text = vm.to_string();
    let server = Server::start(move |_, _, _| (200, text.clone()));
    let (code, out, err) = vcudactl(&server.socket, &["vm", "show", "web"]);
    assert_eq!(code, 0, "{err}");
    for value in [
        "0600",
        "kvm",
        "8M",
        "4M",
        "2M",
        "50%",
        "5%",
        "2s",
        "latency",
        "9",
        "11",
        "1G",
        "1M",
        "1000",
        "77",
        "CUDA_FORCE_JIT",
        "2113929300",
        "99",
    ] {
        assert!(out.lines().any(|line| line.ends_with(&format!(" {value}"))), "{value} in {out}");
    }
    let differs = "compute.weight (300 in the file; changed with vm set at 1970-01-01T00:00:00Z)\n";
    assert!(out.contains(differs) && out.contains("gpus ([\"1\"] in the file)\n"), "{out}");
}

#[test]
fn a_space_separates_names_and_values() {
    let mut vm: Value = serde_json::from_str(&stats(1000)).unwrap();
    let mut shown = failed("");
    shown["stats"] = vm["vms"][0].take();
    let settings = &mut shown["settings"];
    settings["sharing"] = json!("mps");
    settings["mps"] = json!({"active_thread_percentage": "40%"});
    let text = shown.to_string();
    let server = Server::start(move |_, _, _| (200, text.clone()));
    let (_, out, err) = vcudactl(&server.socket, &["vm", "show", "web"]);
    assert!(out.contains("mps.active_thread_percentage 40%\n"), "{out}{err}");
    assert!(out.contains("    concurrent copies   0\n"), "{out}");
    // A setting with a long name doesn't change the alignment of the other values.
    assert!(out.starts_with("name                    web\n"), "{out}");
}

#[test]
fn mistakes_are_one_line_and_code_2() {
    let server = Server::start(|_, _, _| panic!("no request is expected"));
    for (words, expected) in [
        (&["vm", "add", "web"][..], "--memory-max"),
        (&["vm", "add", "web", "--memory-max", "5Q"], "5Q"),
        (&["vm", "add", "web", "--memory-max", "0"], "blocks of 2M"),
        (&["vm", "add", "web", "--memory-max", "1G", "--compute-weight", "0"], "1 to 10000"),
        (&["vm", "set", "web", "--compute-max", "25"], "25%"),
        (&["vm", "set", "web", "--compute-weight=-1"], "from 1 to 10000"),
        (&["vm", "set", "web", "--compute-weight", "-1"], "from 1 to 10000"),
        (&["vm", "set", "web", "--sessions-max", "many"], "from 1 to 4096"),
        (&["vm", "set", "web", "--memory-max", "-1"], "'-1' is not a size"),
        (&["vm", "add", "web", "--memory-max", "1G", "--uid", "-1"], "from 1 to 4294967294"),
        (&["vm", "add", "web", "--memory-max", "1G", "--cpu-max", "1000 2000000"], "1000000"),
        (&["vm", "show", "../gpus"], "letters"),
        (&["colour"], "colour"),
    ] {
        let (code, out, err) = vcudactl(&server.socket, words);
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
        assert!(err.starts_with("vcudactl: ") && err.contains(expected), "{words:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    let (code, _, err) = vcudactl(&server.socket, &["vm"]);
    assert_eq!(code, 2);
    assert!(err.contains("Usage: vcudactl vm"), "{err}");
}

#[test]
fn without_vcudad_the_error_says_what_to_do() {
    let server = Server::start(|_, _, _| (204, String::new()));
    let missing = server.folder.join("none.sock");
    let (code, _, err) = vcudactl(&missing, &["vm", "ls"]);
    assert_eq!(code, 1);
    assert!(err.contains("is vcudad running") && err.contains("none.sock"), "{err}");

    let stale = server.folder.join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let (code, _, err) = vcudactl(&stale, &["vm", "ls"]);
    assert_eq!(code, 1);
    assert!(err.contains("start it"), "{err}");

    let file = server.folder.join("file");
    std::fs::write(&file, "").unwrap();
    let (code, _, err) = vcudactl(&file, &["vm", "ls"]);
    assert_eq!(code, 1);
    assert!(err.contains("is not a socket"), "{err}");
}

/// Runs the program as another user than root, because root may connect to any socket.
#[test]
fn without_permission_the_error_names_the_group() {
    let server = Server::start(|_, _, _| (204, String::new()));
    let mode = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(&server.socket, mode).unwrap();
    if std::fs::metadata(&server.socket).unwrap().gid() == 0 {
        // The error must not suggest joining root's group, because members of that group can access
        // much more than this socket.
        let (code, _, err) = support::vcudactl_as_nobody(&server.socket, &["vm", "ls"]);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("control_group") && !err.contains("usermod"), "{err}");
        let read = server.folder.join("read.sock");
        support::listen(&read, |_, _, _| panic!("it isn't for this user"));
        std::fs::set_permissions(&read, std::fs::Permissions::from_mode(0o000)).unwrap();
        std::os::unix::fs::chown(&read, None, Some(61_185)).unwrap();
        let (_, _, err) = support::vcudactl_as_nobody(&server.socket, &["vm", "ls"]);
        assert!(err.contains("control_group") && err.contains("to only read, join 61185"), "{err}");
        std::os::unix::fs::chown(&server.socket, None, Some(61_184)).unwrap();
    }
    let (code, _, err) = support::vcudactl_as_nobody(&server.socket, &["vm", "ls"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("join the socket's group") && err.contains("usermod"), "{err}");
}

/// Each of the two fake sockets responds with its own name, which shows which one a command has
/// used.
#[test]
fn commands_that_only_read_use_the_read_socket_without_permission() {
    let server = Server::start(|_, _, _| (200, "[]".into()));
    let read = server.folder.join("read.sock");
    support::listen(&read, |method, _, _| {
        assert_eq!(method, "GET");
        (422, json!({"code": "invalid", "message": "the read socket"}).to_string())
    });
    let permit = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(path, None, Some(61_184)).unwrap();
    };
    let run = |words: &[&str]| support::vcudactl_as_nobody(&server.socket, words);
    permit(&read, 0o666);
    permit(&server.socket, 0o666);
    assert_eq!(run(&["vm", "ls", "--json"]).1, "[]\n");
    permit(&server.socket, 0o000);
    for command in
        ["vm ls", "vm show a", "gpu ls", "session ls", "stats", "usage", "events", "trace -o -"]
    {
        let words: Vec<&str> = command.split(' ').collect();
        let (_, _, err) = run(&words);
        assert!(err.contains("the read socket"), "{command}: {err}");
    }
    for command in ["vm pause a", "vm rm a", "vm set a --class batch", "session kill a 1"] {
        let words: Vec<&str> = command.split(' ').collect();
        let (_, _, err) = run(&words);
        assert!(err.contains("control.sock: permission denied"), "{command}: {err}");
        assert!(!err.contains("to only read"), "{command}: {err}");
    }
    permit(&read, 0o000);
    let (_, _, err) = run(&["vm", "ls"]);
    assert!(err.contains("control.sock: permission denied"), "{err}");
    assert!(err.contains("; to only read, join 61184"), "{err}");
}

#[test]
fn an_unknown_answer_is_reported() {
    for (status, body) in [(200, "{}"), (200, "not json"), (500, "<html>"), (404, "{}")] {
        let server = Server::start(move |_, _, _| (status, body.to_owned()));
        let (code, _, err) = vcudactl(&server.socket, &["vm", "ls"]);
        assert_eq!(code, 1, "{body}: {err}");
        assert!(err.contains("release"), "{err}");
    }
}

#[test]
fn events_are_printed_as_they_arrive() {
    let event = |vm: &str| {
        json!({"id": 1, "time_ms": 0, "kind": "vm_added", "vm": vm, "message": "a VM"}).to_string()
    };
    let missed = json!({"id": 0, "time_ms": 0, "kind": "missed", "message": "5 are missing"});
    let body = format!("{}\n\n{missed}\n{}\n", event("a"), event("b"));
    let server = Server::start(move |_, path, _| {
        if path == "/v1/vms/b" {
            let message = "there is no VM named 'b'; did you mean 'bb'?";
            return (404, json!({"code": "not_found", "message": message}).to_string());
        }
        assert_eq!(path, "/v1/events");
        (200, body.clone())
    });
    let (code, out, err) = vcudactl(&server.socket, &["events", "--vm", "b"]);
    let time = "1970-01-01T00:00:00Z";
    assert_eq!(out, format!("{time} missed: 5 are missing\n{time} vm_added vm=b: a VM\n"));
    // The named VM may have been removed, so its events are printed even though it doesn't exist.
    assert!(err.starts_with("vcudactl: there is no VM named 'b'; did you mean 'bb'?; "), "{err}");
    // vcudad never ends the stream normally, so its end is an error.
    assert_eq!(code, 1);
    assert!(err.contains("ended the stream"), "{err}");
}

#[test]
fn a_trace_is_written_only_if_vcudad_sends_it_all_the_time() {
    let record = json!({"time_ns": 1, "vm": "a", "gpu": 0, "kind": "evicted"});
    let server = Server::start(move |_, path, _| {
        assert_eq!(path, "/v1/trace");
        (200, format!("{record}\n"))
    });
    let file = server.folder.join("trace.json");
    let arguments = ["trace", "--seconds", "9", "-o", file.to_str().unwrap()];
    let (code, _, err) = vcudactl(&server.socket, &arguments);
    assert_eq!(code, 1);
    assert!(err.contains("ended the stream"), "{err}");

    let arguments = ["trace", "-o", "/nonexistent/trace.json"];
    let (code, _, err) = vcudactl(&server.socket, &arguments);
    assert_eq!(code, 1);
    assert!(err.contains("cannot create /nonexistent/trace.json"), "{err}");
}

/// If vcudad is killed during a response, the response body is incomplete, which must be an error.
#[test]
fn a_broken_event_stream_was_ended_by_vcudad() {
    let server = Server::start(|_, _, _| (204, String::new()));
    let socket = server.folder.join("broken.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n\n\r\n";
        stream.write_all(head).unwrap();
    });
    let (code, _, err) = vcudactl(&socket, &["events"]);
    answers.join().unwrap();
    assert_eq!(code, 1);
    assert!(err.contains("ended the stream"), "{err}");
}

#[test]
fn completions_and_manual_pages_need_no_vcudad() {
    let server = Server::start(|_, _, _| panic!("no request is expected"));
    for (shell, expected) in
        [("bash", "_vcudactl"), ("zsh", "#compdef vcudactl"), ("fish", "complete")]
    {
        let (code, out, _) = vcudactl(&server.socket, &["completions", shell]);
        assert_eq!(code, 0);
        assert!(out.contains(expected), "{shell}");
    }
    let pages = server.folder.join("man");
    let (code, _, err) = vcudactl(&server.socket, &["man", &pages.display().to_string()]);
    assert_eq!(code, 0, "{err}");
    let page = std::fs::read_to_string(pages.join("vcudactl-vm-set.1")).unwrap();
    assert!(page.contains("memory\\-max"), "{page}");
    assert!(pages.join("vcudactl.1").exists());
}

fn stats(time_ms: u64) -> String {
    json!({
        "time_ms": time_ms, "started_ms": 0, "gpus": [],
        "workers": {"warm": 1, "assigned": 1, "ending": 0, "started_total": 2, "killed_total": 0},
        "scheduler": {"on": true, "restarts": 0},
        "vms": [{"name": "web", "sessions": 1, "sessions_total": 1, "device_restarts": 0,
            "refused_calls": {"system_calls": 0, "driver_operations": 0},
            "activity": {"calls": 0, "launches": time_ms, "graph_launches": 0, "bytes_h2d": 0,
                "bytes_d2h": 0, "bytes_d2d": 0, "ring_depth": 0},
            "gpus": [{"gpu": 0, "uuid": "GPU-1", "memory_max": 4096, "memory_used": 1024,
                "memory_peak": 0, "memory_rejected": 0, "memory_driver": null, "gpu_ns": 0, "copied_ns": 0,
                "throttled_ns": 0, "windows": 0, "handovers": 0, "handover_ns": 0,
                "handover_max_ns": 0, "debt_ns": 0, "share_1s": 0.25, "share_10s": 0.5,
                "share_promised": 0.5, "kernel_timeouts": 0}]}]
    })
    .to_string()
}

/// Starts a fake vcudad whose launch counter grows by one per millisecond.
fn running() -> Server {
    let asked = std::sync::atomic::AtomicU64::new(0);
    Server::start(move |_, path, _| {
        assert_eq!(path, "/v1/stats");
        (200, stats(1000 * (1 + asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed))))
    })
}

#[test]
fn top_prints_one_frame_as_text() {
    let server = running();
    let (code, out, err) = vcudactl(&server.socket, &["top", "--once", "--interval", "100ms"]);
    assert_eq!(code, 0, "{err}");
    let row = out.lines().find(|line| line.starts_with("web")).unwrap();
    for part in ["1K/4K", "25.0", "50.0", "1.00k"] {
        assert!(row.contains(part), "{part} in {out}");
    }
    let (code, _, err) = vcudactl(&server.socket, &["top"]);
    assert_eq!(code, 1);
    assert!(err.contains("--once"), "{err}");
}

#[test]
fn top_draws_in_a_terminal_and_restores_it() {
    let server = running();
    let mut terminal = pty(&server.socket, &["top", "--interval", "100ms"]);
    terminal.read_until("LAUN/s");
    terminal.read_until("1.00k");
    terminal.resize(60, 10);
    terminal.write(b"m");
    terminal.read_until("\u{1b}[");
    terminal.write(b"q");
    let start = Instant::now();
    let code = loop {
        if let Some(status) = terminal.child.try_wait().unwrap() {
            break status.code();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it does not exit on q");
        if start.elapsed() > Duration::from_secs(1) {
            // The terminal library may hold back a key that arrives together with a resize, until
            // the next key arrives. So send the key again.
            terminal.write(b"q");
        }
        terminal.drain();
    };
    assert_eq!(code, Some(0));
    assert_eq!(terminal.modes(), terminal.modes_before);
}

#[test]
fn the_doctor_needs_no_vcudad() {
    let missing = std::env::temp_dir().join("virtio-cuda-ctl-no-such.sock");
    let (code, out, err) = vcudactl(&missing, &["doctor"]);
    // Check only this finding, because the others depend on this machine.
    assert!(out.lines().any(|line| line.starts_with("warning  vcudad  ")), "{out}");
    assert_eq!(code == 0, !out.contains("problem  "), "{out}");
    assert_eq!(code == 0, err.is_empty(), "{err}");
    let (json_code, out, _) = vcudactl(&missing, &["doctor", "--json"]);
    let findings: Value = serde_json::from_str(&out).unwrap();
    let vcudad = findings.as_array().unwrap().iter().find(|one| one["check"] == "vcudad").unwrap();
    assert_eq!((json_code, &vcudad["status"]), (code, &json!("warning")));
    assert!(vcudad["advice"].is_string(), "{out}");
}

#[test]
fn the_doctor_asks_vcudad_for_its_file_eviction_and_the_jail() {
    let version = json!({"name": "vcudad", "version": env!("CARGO_PKG_VERSION"), "api": 1});
    let gpus = json!([{
        "index": 0, "uuid": "GPU-1", "name": "Fast", "pci_bus_id": "0", "state": "healthy",
        "memory_total": 8u64 << 30, "memory_reserved": 0, "memory_promised": 0, "memory_used": 0,
        "memory_driver": null, "memory_difference": null, "compute_min": "0%",
        "compute_weight": 0, "faults": 0, "last_fault": null, "vms": [],
        "eviction": false, "eviction_unavailable": "unknown driver",
        "jail": false, "jail_unavailable": "no namespaces"
    }]);
    let config = json!({"read_ms": 1_700_000_000_000u64, "applied_ms": null,
        "refused": "/etc/virtio-cuda/vcudad.toml: line 3: colour: unknown field"});
    let stats = json!({"time_ms": 1, "started_ms": 0, "vms": [], "gpus": gpus.clone(),
        "workers": {"warm": 0, "assigned": 0, "ending": 0, "started_total": 0, "killed_total": 0},
        "scheduler": {"on": true, "restarts": 0}, "config": config});
    let server = Server::start(move |_, path, _| match path {
        "/v1/version" => (200, version.to_string()),
        "/v1/stats" => (200, stats.to_string()),
        _ => (200, gpus.to_string()),
    });
    let (_, out, _) = vcudactl(&server.socket, &["doctor"]);
    assert!(out.lines().any(|line| line.starts_with("ok       vcudad  ")), "{out}");
    assert!(out.contains("not available (GPU 0: unknown driver): "), "{out}");
    let (code, out, _) = vcudactl(&server.socket, &["doctor"]);
    for says in [
        "problem  jail              workers have none (no namespaces): ",
        "problem  configuration     REFUSED at 2023-11-14T22:13:20Z: /etc/virtio-cuda/vcudad.toml: line 3: \
         colour: unknown field: correct line 3 of /etc/virtio-cuda/vcudad.toml, run vcudad --check --config \
         /etc/virtio-cuda/vcudad.toml and then systemctl reload vcudad; ",
    ] {
        assert!(code == 1 && out.lines().any(|line| line.starts_with(says)), "{out}");
    }
    let (_, out, _) = vcudactl(&server.socket, &["stats"]);
    assert!(out.contains("configuration: REFUSED at 2023-11-14T22:13:20Z: /etc"), "{out}");
    let (_, out, _) = vcudactl(&server.socket, &["gpu", "ls"]);
    assert!(out.contains("no: unknown driver") && out.contains("no: no namespaces"), "{out}");
    assert!(!out.contains('\x1b'), "{out}");
}

#[test]
fn events_since_a_time_are_requested() {
    let event = json!({"id": 1, "time_ms": 1_700_000_000_000u64, "kind": "vm_removed", "vm": "web",
        "uid": 1000, "message": "removed"});
    let server = Server::start(move |_, path, _| {
        assert_eq!(path, "/v1/events?since_ms=1700000000000");
        (200, format!("{event}\n"))
    });
    let words = ["events", "--since", "2023-11-14T22:13:20Z"];
    let (code, out, err) = vcudactl(&server.socket, &words);
    assert_eq!(out, "2023-11-14T22:13:20Z vm_removed vm=web uid=1000: removed\n", "{err}");
    assert_eq!(code, 1);
    let (code, _, err) = vcudactl(&server.socket, &["events", "--since", "yesterday"]);
    assert_eq!(code, 2);
    assert!(err.contains("such as 10m or 2h"), "{err}");
}

#[test]
fn errors_are_json_on_request() {
    let server = Server::start(|_, path, _| match path {
        "/v1/vms/web" => (200, failed("no room").to_string()),
        "/v1/vms/web/pause" => refused("0 is out of range"),
        _ => (404, json!({"code": "not_found", "message": "no VM"}).to_string()),
    });
    let run = |words: &[&str]| {
        let (code, _, err) = vcudactl(&server.socket, words);
        let lines: Vec<Value> =
            err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (code, lines)
    };
    let (code, lines) = run(&["--json", "vm", "pause", "web"]);
    assert_eq!(code, 2);
    let refusal =
        json!({"code": "invalid", "field": "compute.min", "message": "0 is out of range"});
    assert_eq!(lines, [refusal]);
    let (code, lines) = run(&["--json", "vm", "show", "none", "web", "gone"]);
    assert_eq!((code, lines.len()), (1, 3));
    assert_eq!(lines[0], json!({"code": "not_found", "message": "no VM", "vm": "none"}));
    assert_eq!(lines[2]["code"], json!("several"));
    let (code, lines) = run(&["vm", "ls", "-o", "json"]);
    assert_eq!((code, &lines[0]["code"]), (2, &json!("not_found")));
    let (code, lines) = run(&["vm", "set", "web", "--json", "--class", "fast"]);
    assert_eq!((code, &lines[0]["code"]), (2, &json!("usage")));
    let (code, lines) = run(&["vm", "set", "web", "--json", "--compute-weight", "5"]);
    assert_eq!((code, &lines[0]["code"]), (0, &json!("warning")));
    let missing = std::env::temp_dir().join("virtio-cuda-ctl-no-such.sock");
    let (code, _, err) = vcudactl(&missing, &["stats", "--json"]);
    let error: Value = serde_json::from_str(&err).unwrap();
    assert_eq!((code, &error["code"]), (1, &json!("not_running")));
}

#[test]
fn lists_can_be_wide_or_names_only() {
    let server = Server::start(|_, path, _| {
        let list = match path {
            "/v1/vms" => json!([failed("no room"), failed("no room")]),
            "/v1/sessions" => json!([{"vm": "web", "id": 3, "worker_pid": 7, "started_ms": 0,
                "memory": [{"gpu": 1, "bytes": 4096}],
                "activity": {"calls": 0, "launches": 0, "graph_launches": 0, "bytes_h2d": 0,
                    "bytes_d2h": 0, "bytes_d2d": 0, "ring_depth": 0}}]),
            _ => json!([]),
        };
        (200, list.to_string())
    });
    let run = |words: &[&str]| {
        let (code, out, err) = vcudactl(&server.socket, words);
        assert_eq!((code, err.as_str()), (0, ""));
        out
    };
    assert_eq!(run(&["vm", "ls", "--quiet"]), "web\nweb\n");
    assert_eq!(run(&["session", "ls", "-q"]), "web 3\n");
    assert_eq!(run(&["gpu", "ls", "-q"]), "");
    let names: Value = serde_json::from_str(&run(&["vm", "ls", "-q", "-o", "json"])).unwrap();
    assert_eq!(names, json!(["web", "web"]));
    let narrow = run(&["vm", "ls"]);
    let wide = run(&["vm", "ls", "-o", "wide"]);
    for (line, more) in narrow.lines().zip(wide.lines()) {
        assert!(more.starts_with(line), "{wide}");
    }
    assert!(wide.lines().next().unwrap().ends_with("SOCKET"), "{wide}");
    assert!(wide.contains("/run/virtio-cuda/web.sock") && !narrow.contains("web.sock"), "{wide}");
    assert!(run(&["session", "ls", "-o", "wide"]).contains("QUEUED"));
    assert!(run(&["gpu", "ls", "-o", "wide"]).contains("FAULTS"));
}

#[test]
fn a_vm_that_is_only_in_the_file_is_listed_and_can_be_restored() {
    let server = Server::start(|method, path, _| {
        let mut vm = failed("removed with vcudactl vm rm");
        (vm["state"], vm["origin"]) = (json!("not_added"), json!("file"));
        let mut added = failed("");
        added.as_object_mut().unwrap().remove("failure");
        (added["state"], added["name"]) = (json!("running"), json!("other"));
        match (method, path) {
            ("GET", "/v1/vms") => (200, json!([added, vm]).to_string()),
            ("GET", "/v1/vms/web") => (200, vm.to_string()),
            ("DELETE", "/v1/vms/web?if_idle=true" | "/v1/vms/other?if_idle=true") => {
                (204, String::new())
            }
            ("POST", "/v1/vms/web/restore") => (200, added.to_string()),
            ("POST", "/v1/vms") => {
                added["differs_from_file"] = json!({"compute.weight": {"file": "300"}});
                (201, added.to_string())
            }
            _ => (404, json!({"code": "not_found", "message": "no"}).to_string()),
        }
    });
    let run = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let (code, out, err) = vcudactl(&server.socket, &words);
        assert_eq!(code, 0, "{words:?} {err}");
        (out, err)
    };
    assert!(
        run("vm ls").0.contains("not added: removed with vcudactl vm rm"),
        "{}",
        run("vm ls").0
    );
    // The list of names contains only VMs that exist, because it's used as input of other commands.
    assert_eq!(run("vm ls --quiet"), ("other\n".into(), String::new()));
    let (out, err) = run("vm rm web");
    assert!(out.is_empty() && err.contains("run vcudactl vm restore web"), "{err}");
    assert_eq!(run("vm rm other"), (String::new(), String::new()));
    assert_eq!(run("vm restore web"), (String::new(), String::new()));
    let (_, err) = run("vm add other --memory-max 1G");
    assert!(err.contains("other values of compute.weight; to use those"), "{err}");
}

#[test]
fn bash_completes_the_names_of_vms() {
    let server = Server::start(|_, _, _| {
        let vm = |name: &str| {
            let mut vm = failed("no room");
            vm["name"] = json!(name);
            vm
        };
        (200, json!([vm("web-1"), vm("web-2"), vm("training")]).to_string())
    });
    let complete = |line: &str| completions(&server.socket, line);
    assert_eq!(complete("vm show web"), ["web-1", "web-2"]);
    assert_eq!(complete("vm pause web-1 t"), ["training"]);
    assert_eq!(complete("vm set t"), ["training"]);
    assert_eq!(complete("events --vm w"), ["web-1", "web-2"]);
    assert_eq!(complete("session kill w"), ["web-1", "web-2"]);
    // The generated script completes everything except the names of VMs.
    assert_eq!(complete("vm res"), ["reset", "restart", "restore", "resume"]);
    assert_eq!(complete("vm set web-1 --memory-m"), ["--memory-max"]);
}

#[test]
fn misspelled_words_are_explained() {
    let missing = std::env::temp_dir().join("virtio-cuda-ctl-no-such.sock");
    for (words, says) in [
        (&["vm", "lss"][..], "unrecognized subcommand 'lss'; did you mean 'ls'?"),
        (&["sesion", "ls"], "did you mean 'session'?"),
        (&["vm", "set", "a", "--compute-wieght", "5"], "did you mean '--compute-weight'?"),
        (&["vm", "set", "a", "--class", "latencyy"], "did you mean 'latency'?"),
        (
            &["vm", "set", "a", "--sharing", "mps"],
            "; sharing can't be changed while the VM exists: ",
        ),
        (
            &["vm", "set", "a", "--host-memory-max=1G"],
            "; memory.host_max can't be changed while the",
        ),
        (
            &["session", "kill", "web", "abc"],
            "invalid value 'abc' for '<ID>': a session is named by its number",
        ),
        (&["session", "kill", "web", "-1"], "see --help"),
        (&["session", "kill", "web", "4294967296"], "its number; vcudactl session ls lists them"),
    ] {
        let (code, _, err) = vcudactl(&missing, words);
        assert!(code == 2 && err.contains(says) && err.lines().count() == 1, "{words:?}: {err}");
    }
    for path in ["/nope/x", "/"] {
        let (code, _, err) = vcudactl(&missing, &["trace", "-o", path]);
        assert!(code == 1 && err.contains(&format!("cannot create {path}: ")), "{err}");
    }
}
