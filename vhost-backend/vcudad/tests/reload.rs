//! Tests of `vcudad --check`, and that SIGHUP makes the broker read its configuration file again.

use std::path::Path;

use common::{BROKER, Broker, Spawner, TWO};
use host_test_support::{Folder, Guest, softgpu, wait_for};

mod common;

const GIB: u64 = 1 << 30;
/// The status in a response from the device that reports success.
const OK: u32 = 0;

fn vm(name: &str, more: &str) -> String {
    format!("[[vm]]\nname = \"{name}\"\nsocket = \"DIR/{name}\"\nmemory.max = \"1G\"\n{more}\n")
}

/// Writes another configuration, and waits until the broker has applied or refused it.
fn reload(broker: &Broker, folder: &Path, text: &str) {
    let count = || {
        let log = broker.log();
        let lines = ["applied the configuration file", "the configuration file was not applied"];
        lines.iter().map(|line| log.matches(line).count()).sum::<usize>()
    };
    let before = count();
    // `Broker::command` writes the file. The command isn't run.
    let _ = Broker::command(folder, text);
    // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
    unsafe { libc::kill(broker.child.id() as i32, libc::SIGHUP) };
    wait_for("the configuration", || count() > before);
}

fn row(name: &str, weight: u64, memory: u64) -> (String, u64, u64) {
    (name.into(), weight, memory)
}

#[test]
fn sighup_adds_changes_and_removes_vms() {
    let folder = Folder::new("reload");
    let broker = Broker::start(&folder, TWO);
    let events = broker.send("GET", "/v1/events?since_ms=0", "");
    let (mut a, mut b) = (Guest::connect(&folder.join("a")), Guest::connect(&folder.join("b")));
    assert_eq!((a.create(1), b.create(1)), (OK, OK));
    let text = format!("{}{}", vm("a", "compute.weight = 300\nsessions.max = 1"), vm("c", ""));
    reload(&broker, &folder, &text);
    wait_for("the end of VM b", || broker.vms().len() == 2);
    assert_eq!(broker.vms(), [row("a", 300, GIB), row("c", 100, GIB)]);
    // The running VM has kept its session, and has its new limit.
    let sessions = broker.ask("GET", "/v1/vms/a/sessions", "").1;
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
    assert_ne!(a.create(2), OK);
    assert!(!folder.join("b").exists());
    assert_eq!(Guest::connect(&folder.join("c")).create(1), OK);
    let c = broker.ask("GET", "/v1/vms/c", "").1;
    assert_eq!((&c["origin"], &c["state"]), (&"file".into(), &"running".into()));

    // A setting without a value gets its default.
    reload(&broker, &folder, &format!("{}{}", vm("a", ""), vm("c", "")));
    assert_eq!(broker.vms(), [row("a", 100, GIB), row("c", 100, GIB)]);
    // The device process may not have received the limit yet.
    wait_for("the new limit", || a.create(3) == OK);
    let parts = [
        r#""kind":"vm_added","vm":"c""#,
        r#""kind":"vm_removed","vm":"b""#,
        r#""kind":"config_reloaded","message":"added c; changed a; removed b""#,
        r#""kind":"config_reloaded","message":"changed a""#,
    ];
    events.text_when(|text| parts.iter().all(|part| text.contains(part)));
    broker.end();
}

#[test]
fn a_file_with_an_error_changes_nothing() {
    let folder = Folder::new("reload-error");
    let broker = Broker::start(&folder, TWO);
    let events = broker.send("GET", "/v1/events?since_ms=0", "");
    let before = broker.vms();
    let new = vm("c", "compute.weight = 5");
    for (text, says) in [
        (format!("{new}colour = 1\n"), "line 11: vm 'c': colour"),
        (format!("{new}compute.max = \"0.5%\"\n"), "line 11: vm 'c': compute.max: 0.5%"),
        (format!("{TWO}{}", new.replace("1G", "100G")), "vm 'c': memory.max: 100G does not fit"),
        (format!("{TWO}{}", vm("c", "gpus = [\"7\"]")), "vm 'c': gpus: there is no GPU 7"),
        (TWO.replacen("1G", "9G", 1), "vm 'a': memory.max: 9G does not fit"),
        (format!("{TWO}{}", new.replace("DIR/c", "DIR/gone/c")), "directory does not exist"),
    ] {
        reload(&broker, &folder, &text);
        assert!(broker.log().contains(says), "{says}: {}", broker.log());
        assert_eq!(broker.vms(), before, "{says}");
    }
    // Make the next write of the state fail as if the disk were full.
    std::os::unix::fs::symlink("/dev/full", folder.join("state/state.json.next")).unwrap();
    reload(&broker, &folder, &format!("{TWO}{new}"));
    assert!(broker.log().contains("No space left"), "{}", broker.log());
    assert_eq!(broker.vms(), before);
    assert!(!folder.join("c").exists());
    std::fs::remove_file(folder.join("state/state.json.next")).unwrap();
    reload(&broker, &folder, &format!("{TWO}{new}"));
    assert_eq!(broker.vms().len(), 3);
    events.text_when(|text| text.matches("config_refused").count() == 7);
    broker.end();
}

#[test]
fn a_change_without_effect_is_reported_with_what_must_be_restarted() {
    let folder = Folder::new("reload-restart");
    let socket = folder.join("spawner");
    let _spawner = Spawner::start(&socket);
    let launch = |text: &str| {
        let mut command = Broker::command(&folder, text);
        command.arg("--spawner").arg(&socket);
        Broker::started(&folder, command)
    };
    let broker = launch(TWO);
    let events = broker.send("GET", "/v1/events?since_ms=0", "");
    let text = |b: &str| {
        let top = "scheduler = \"off\"\nallow_pageable_memory_access = true\njail = \"off\"\n";
        let c = vm("c", "").replace("DIR/c", "DIR/elsewhere/c");
        format!("{top}{}{b}{c}", vm("a", ""))
    };
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    let b = vm("b", "gpus = [\"1\"]\ncompute.weight = 7\nspin_us = 9");
    reload(&broker, &folder, &text(&b));
    // The settings that can change while the VM is running have changed.
    assert_eq!(broker.vms(), [row("a", 100, GIB), row("b", 7, GIB)]);
    // A different VM with the same name has all of the file's settings.
    let spin_us = || broker.ask("GET", "/v1/vms/b", "").1["settings"]["spin_us"].clone();
    assert_ne!(spin_us(), 9);
    reload(&broker, &folder, &text(""));
    wait_for("the end of VM b", || broker.vms().len() == 1);
    reload(&broker, &folder, &text(&b));
    wait_for("VM b", || broker.vms().len() == 2);
    assert_eq!(spin_us(), 9);
    let of_broker = "needs a restart of vcudad, which ends no sessions: ";
    let of_spawner = "needs a restart of virtio-cuda-spawner, which ends all sessions: ";
    let of_vm = "needs the VM to be removed and restored (vcudactl vm rm --force b; vcudactl vm \
                 restore b), which ends its sessions: ";
    let says = [
        format!("{of_broker}scheduler\""),
        format!("{of_broker}VM 'c': its socket"),
        format!("{of_spawner}allow_pageable_memory_access\""),
        format!("{of_spawner}jail\""),
        format!("{of_vm}gpus, spin_us\""),
    ];
    events.text_when(|text| says.iter().all(|says| text.contains(says)));
    broker.end();
    // A restart of vcudad applies the first two changes, and no other changes.
    let broker = launch(&text(&b));
    wait_for("VM c", || broker.vms().len() == 3);
    let log = broker.log();
    for (key, is_fixed) in
        [("jail", true), ("allow_pageable_memory_access", true), ("scheduler", false)]
    {
        let says = format!("{key} has changed, which needs a restart of virtio-cuda-spawner");
        assert_eq!(log.contains(&says), is_fixed, "{says} in {log}");
    }
    assert_eq!(broker.ask("POST", "/v1/vms/a/pause", "").0, 409, "the scheduler is still on");
    broker.end();
}

/// A spawner that vcudad has started ends with vcudad, and so do all sessions.
#[test]
fn a_restart_without_a_separate_spawner_is_reported_to_end_all_sessions() {
    let folder = Folder::new("reload-own");
    let broker = Broker::start(&folder, TWO);
    let events = broker.send("GET", "/v1/events?since_ms=0", "");
    reload(&broker, &folder, &format!("jail = \"off\"\nscheduler = \"off\"\n{TWO}"));
    let says = ["jail", "scheduler"]
        .map(|key| format!("needs a restart of vcudad, which ends all sessions: {key}\""));
    events.text_when(|text| says.iter().all(|says| text.contains(says)));
    broker.end();
}

/// Values that were set through the API win over those in the file until they're reset.
#[test]
fn a_vm_returns_to_the_values_in_the_file() {
    let folder = Folder::new("reset");
    let broker = Broker::start(&folder, TWO);
    let patch = r#"{"compute": {"weight": 7, "kernel_timeout": "2s"}}"#;
    let (status, set) = broker.ask("PATCH", "/v1/vms/a", patch);
    let differs = &set["differs_from_file"];
    assert_eq!((status, &differs["compute.weight"]["file"]), (200, &"100".into()), "{set}");
    assert!(differs["compute.kernel_timeout"]["file"].is_null(), "{set}");
    let since = differs["compute.weight"]["since_ms"].as_u64().unwrap();
    assert_eq!(broker.ask("GET", "/v1/vms/b", "").1["differs_from_file"], serde_json::Value::Null);
    // Values in the file that aren't overridden still apply.
    let text = format!("{}{}", vm("a", "compute.weight = 300\ncompute.max = \"50%\""), vm("b", ""));
    reload(&broker, &folder, &text);
    let shown = || broker.ask("GET", "/v1/vms/a", "").1;
    assert_eq!(shown()["settings"]["compute"]["max"], "50%");
    assert_eq!(shown()["settings"]["compute"]["weight"], 7);
    assert_eq!(shown()["differs_from_file"]["compute.weight"]["file"], "300");
    broker.end();
    let broker = Broker::start(&folder, &text);
    let (_, vm) = broker.ask("GET", "/v1/vms/a", "");
    assert_eq!(vm["differs_from_file"]["compute.weight"]["since_ms"], since, "{vm}");
    let (status, vm) = broker.ask("POST", "/v1/vms/a/reset", "");
    assert_eq!((status, &vm["settings"]["compute"]["weight"]), (200, &300.into()), "{vm}");
    let none = &serde_json::Value::Null;
    assert_eq!(
        (&vm["differs_from_file"], &vm["settings"]["compute"]["kernel_timeout"]),
        (none, none)
    );
    assert_eq!(broker.add("c", r#""memory": {"max": 4194304}"#).0, 201);
    assert_eq!(broker.ask("POST", "/v1/vms/c/reset", "").0, 409);
    broker.end();
    let broker = Broker::start(&folder, &text);
    assert_eq!(broker.ask("GET", "/v1/vms/a", "").1["settings"]["compute"]["weight"], 300);
    broker.end();
}

/// A new VM can have the memory of a VM that the same file removes.
#[test]
fn a_vm_replaces_another_one_on_a_full_gpu() {
    let folder = Folder::new("reload-full");
    let big = |name: &str| vm(name, "gpus = [\"0\"]").replace("1G", "6G");
    let broker = Broker::start(&folder, &big("a"));
    let mut guest = Guest::connect(&folder.join("a"));
    assert_eq!(guest.create(1), OK);
    reload(&broker, &folder, &big("b"));
    wait_for("the replacement", || broker.vms() == [row("b", 100, 6 * GIB)]);
    wait_for("the device", || broker.ask("GET", "/v1/vms/b", "").1["device_pid"].is_u64());
    assert_eq!(Guest::connect(&folder.join("b")).create(1), OK);
    broker.end();
}

#[test]
fn a_file_is_checked_without_serving_it() {
    let folder = Folder::new("check");
    let check = |text: &str| {
        let mut command = Broker::command(&folder, text);
        let output = command.arg("--check").env("VIRTIO_CUDA_SOFTGPU", softgpu()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    assert_eq!(Path::new(BROKER).file_name().unwrap(), "vcudad");
    let (code, out, err) = check(TWO);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("vcudad.toml: OK: 2 VMs") && out.contains("2 GPUs"), "{out}");
    // The check works while another broker is running with the same directories.
    let broker = Broker::start(&folder, TWO);
    let (code, out, err) = check(&TWO.replacen("1G", "2G", 1));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("vcudad.toml: OK: 2 VMs; after a reload: changed a"), "{out}");
    // The check also lists changes that have no effect before a restart.
    let text =
        format!("scheduler = \"off\"\n{}", TWO.replace("DIR/b\"", "DIR/b\"\ngpus = [\"1\"]"));
    let (code, out, err) = check(&text);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    for says in [
        "no VM was added, changed, or removed; without effect: needs a restart of vcudad, which ends \
         all sessions: scheduler",
        "; without effect: VM 'b': needs the VM to be removed and restored (vcudactl vm rm --force b; \
         vcudactl vm restore b), which ends its sessions: gpus",
    ] {
        assert!(out.contains(says), "{out}");
    }
    for (text, says) in [
        (format!("{TWO}colour = 1"), "line 14: vm 'b': colour"),
        (format!("{TWO}gpus = [\"2\"]"), "vm 'b': gpus: there is no GPU 2: this host has 2 GPUs"),
        (format!("{TWO}gpus = [\"GPU-12345678\"]"), "there is no GPU GPU-12345678"),
        (TWO.replace("1G", "100G"), "vm 'a': memory.max: 100G does not fit"),
        (format!("{TWO}socket_group = \"nobody-here\""), "group 'nobody-here' does not exist"),
        (format!("control_group = \"nobody-here\"\n{TWO}"), "group 'nobody-here' does not exist"),
        (TWO.replace("DIR/a", "DIR/missing/a"), "its directory does not exist"),
    ] {
        let (code, out, err) = check(&text);
        assert_eq!((code, out.as_str(), err.lines().count()), (1, "", 1), "{err}");
        assert!(err.contains(says), "{says}: {err}");
    }
    if host_ipc::process::is_root() {
        let (code, _, err) = check(&format!("user = \"nobody-here\"\n{TWO}"));
        assert!(code == 1 && err.contains("user 'nobody-here' does not exist"), "{err}");
    }
    assert_eq!(broker.vms().len(), 2);
    broker.end();
}
