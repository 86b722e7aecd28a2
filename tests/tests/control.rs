//! Adds, changes, watches, and removes VMs with vcudactl while vcudad is running.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use virtio_cuda_tests::{A, Host, Vm, eventually};

/// A VM that isn't in the configuration file. Its uid is one that the control API allows.
const C: Vm = Vm { name: "c", memory_max: "1G", uid: 2_113_969_303 };

fn add(host: &Host, vm: Vm, more: &[&str]) -> Value {
    let (socket, uid) = (host.socket(vm).display().to_string(), vm.uid.to_string());
    let words = ["vm", "add", vm.name, "--memory-max", vm.memory_max, "--socket-path", &socket];
    host.ask(&[&words[..], &["--uid", &uid], more].concat())
}

fn allocation(host: &Host, vm: Vm, size: &str) -> String {
    let output = host.run(vm, "deviceinfo", &["alloc", size]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn names(host: &Host) -> Vec<String> {
    let vms = host.ask(&["vm", "ls"]);
    vms.as_array().unwrap().iter().map(|vm| vm["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_vm_is_added_used_changed_while_it_runs_and_removed() {
    let host = Host::start(&[A]);
    let added = add(&host, C, &["--compute-weight", "30"]);
    assert_eq!(added["origin"], json!("api"));
    assert!(host.socket(C).exists());
    assert_eq!(names(&host), ["a", "c"]);
    assert_eq!(host.memory(C).1, 1024);

    let (mut program, _) = host.spawn(C, "spin", &["hold=512", "loop"]);
    // Poll, because the session of the memory query above may not have ended yet.
    let shown = eventually(Duration::from_secs(60), || {
        let stats = &host.ask(&["vm", "show", "c"])["stats"];
        let used = stats["gpus"][0]["memory_used"].as_u64().unwrap();
        stats["sessions"] == json!(1) && used >= 512 << 20
    });
    assert!(shown, "{}", host.ask(&["vm", "show", "c"]));

    // A limit below the current usage is accepted, but further allocations fail.
    host.ask(&["vm", "set", "c", "--memory-max", "256M"]);
    assert_eq!(host.memory(C), (0, 256));
    assert!(allocation(&host, C, "2M").contains("refused"));
    // After the limit was raised above the usage, allocations succeed.
    host.ask(&["vm", "set", "c", "--memory-max", "2G", "--class", "latency"]);
    assert!(allocation(&host, C, "1G").contains("granted"));
    let settings = &host.ask(&["vm", "show", "c"])["settings"];
    assert_eq!(settings["memory"]["max"], json!(2u64 << 30));
    assert_eq!(
        (&settings["class"], &settings["compute"]["weight"]),
        (&json!("latency"), &json!(30))
    );

    host.ask(&["vm", "rm", "--force", "c"]);
    assert!(!host.socket(C).exists());
    assert!(!program.wait().unwrap().success(), "the program's device is gone");
    assert_eq!(names(&host), ["a"]);
    // VM A is unaffected by the removal of VM C.
    assert!(allocation(&host, A, "1G").contains("granted"));
}

#[test]
fn a_session_is_listed_and_ended_while_others_continue() {
    let host = Host::start(&[A]);
    let (mut first, _) = host.spawn(A, "spin", &["hold=64", "loop"]);
    let one = host.ask(&["session", "ls", "--vm", "a"]);
    let id = one[0]["id"].to_string();
    let (mut second, _) = host.spawn(A, "spin", &["hold=64", "loop"]);
    let both = host.ask(&["session", "ls"]);
    assert_eq!(both.as_array().unwrap().len(), 2);
    assert_ne!(both[0]["id"], both[1]["id"], "each has its own id");
    host.ask(&["session", "kill", "a", &id]);
    assert!(!first.wait().unwrap().success());
    let left = || host.ask(&["session", "ls"]).as_array().unwrap().len();
    assert!(eventually(Duration::from_secs(60), || left() == 1), "{}", host.log());
    assert!(second.try_wait().unwrap().is_none(), "{}", host.log());
    let (code, says) = host.refused(&["session", "kill", "a", "999"]);
    assert_eq!(code, Some(2));
    assert!(says.contains("no session 999"), "{says}");
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn vms_and_changes_survive_a_restart_of_vcudad() {
    let mut host = Host::start(&[A]);
    add(&host, C, &["--compute-max", "25%"]);
    host.ask(&["vm", "set", "a", "--memory-max", "1500M"]);
    host.ask(&["vm", "set", "c", "--compute-weight", "7"]);
    host.restart(&[A, C]);
    assert_eq!(names(&host), ["a", "c"]);
    let settings = &host.ask(&["vm", "show", "c"])["settings"]["compute"];
    assert_eq!((&settings["max"], &settings["weight"]), (&json!("25%"), &json!(7)));
    assert_eq!(host.memory(A).1, 1500);
    assert_eq!(host.memory(C).1, 1024);
    host.ask(&["vm", "rm", "--force", "c"]);
    host.restart(&[A]);
    assert_eq!(names(&host), ["a"]);
    assert!(!host.socket(C).exists());
}

#[test]
fn invalid_changes_are_refused_without_effect() {
    let host = Host::start(&[A]);
    let before = host.ask(&["vm", "show", "a"])["settings"].clone();
    for (words, code, says) in [
        (&["vm", "add", "a", "--memory-max", "1G"][..], 2, "already"),
        (&["vm", "add", "big", "--memory-max", "1000T"], 1, "memory.max"),
        (&["vm", "add", "far", "--memory-max", "1G", "--gpus", "15"], 2, "gpus"),
        (&["vm", "set", "a", "--memory-max", "1000T"], 1, "memory.max"),
        (&["vm", "set", "a", "--memory-max", "1G", "--compute-weight", "0"], 2, "1 to 10000"),
        (&["vm", "set", "none", "--compute-weight", "5"], 2, "none"),
        (&["vm", "rm", "none"], 2, "none"),
    ] {
        let (got, said) = host.refused(words);
        assert_eq!(got, Some(code), "{words:?}: {said}");
        assert!(said.contains(says), "{words:?}: {said}");
    }
    assert_eq!(names(&host), ["a"]);
    assert_eq!(host.ask(&["vm", "show", "a"])["settings"], before);
}

#[test]
fn events_report_vms_and_sessions() {
    let host = Host::start(&[A]);
    let mut command = host.vcudactl(&["--json", "events", "--vm", "c"]);
    let mut watcher = command.stdout(Stdio::piped()).spawn().unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    let lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
    let reader = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let event: Value = serde_json::from_str(&line).unwrap();
            let _ =
                told.send((event["kind"].as_str().unwrap().to_owned(), event["session"].as_u64()));
        }
    });
    // The watcher misses events until it's connected, so add and remove a VM until the watcher
    // receives an event.
    let first = (0..100).find_map(|_| {
        add(&host, C, &[]);
        let event = heard.recv_timeout(Duration::from_millis(200)).ok();
        host.ask(&["vm", "rm", "--force", "c"]);
        event
    });
    assert!(first.is_some(), "no event:\n{}", host.log());
    add(&host, C, &[]);
    // Each of these queries starts a session on a new front end. Because each front end numbers its
    // sessions from 1, both sessions have number 1.
    host.memory(C);
    host.memory(C);
    host.ask(&["vm", "set", "c", "--compute-weight", "5"]);
    host.ask(&["vm", "rm", "--force", "c"]);
    let mut missing = vec!["vm_changed", "vm_removed"];
    let (mut started, mut ended) = (Vec::new(), Vec::new());
    while !missing.is_empty() || ended.len() < 2 {
        let event = heard.recv_timeout(Duration::from_secs(60));
        let (kind, session) = event.unwrap_or_else(|_| panic!("no {missing:?}:\n{}", host.log()));
        missing.retain(|wanted| *wanted != kind);
        match kind.as_str() {
            "session_started" => started.extend(session),
            "session_ended" => ended.extend(session),
            _ => {}
        }
    }
    assert_eq!(started.len(), 2, "{started:?}");
    assert_ne!(started[0], started[1]);
    assert_eq!(ended, started, "start and end events must have the same session ids");
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    reader.join().unwrap();
}

#[test]
fn launches_of_graphs_are_counted() {
    let host = Host::start(&[A]);
    let output = host.run(A, "graphs", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    let activity = || host.ask(&["stats"])["vms"][0]["activity"].clone();
    let counted = eventually(Duration::from_secs(60), || {
        activity()["graph_launches"].as_u64().is_some_and(|launches| launches > 0)
    });
    assert!(counted, "{}\n{}", activity(), host.log());
}

#[test]
fn counts_and_the_live_table_show_what_a_program_does() {
    let host = Host::start(&[A]);
    let output = host.run(A, "vectoradd", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    let stats = || host.ask(&["stats"]);
    let of =
        |stats: &Value, pointer: &str| stats.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    // The VM's counters also include the activity of sessions that have ended.
    let counted = eventually(Duration::from_secs(60), || {
        let stats = stats();
        of(&stats, "/vms/0/sessions") == 0 && of(&stats, "/vms/0/activity/launches") > 0
    });
    assert!(counted, "{}", stats());
    let stats = stats();
    assert!(of(&stats, "/vms/0/activity/bytes_h2d") > 0, "{stats}");
    assert!(of(&stats, "/vms/0/sessions_total") == 1, "{stats}");
    let output = host.vcudactl(&["top", "--once", "--interval", "100ms"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.lines().any(|line| line.starts_with("a ")), "{text}");
}

#[test]
fn sessions_max_changes_while_sessions_run() {
    let host = Host::start(&[A]);
    let launches = |id: &Value| {
        let sessions = host.ask(&["session", "ls", "--vm", "a"]);
        let session = sessions.as_array().unwrap().iter().find(|session| session["id"] == *id);
        session.and_then(|session| session["activity"]["launches"].as_u64())
    };
    let mut programs = [(); 2].map(|()| host.spawn(A, "spin", &["loop"]).0);
    let sessions = host.ask(&["session", "ls", "--vm", "a"]);
    let ids = sessions.as_array().unwrap().iter().map(|session| session["id"].clone());
    let ids: Vec<Value> = ids.collect();
    assert_eq!(ids.len(), 2, "{sessions}");

    // Lowering the limit below the number of open sessions doesn't end these sessions.
    host.ask(&["vm", "set", "a", "--sessions-max", "1"]);
    for id in &ids {
        let before = launches(id).unwrap();
        let goes_on = || launches(id).is_some_and(|now| now > before);
        assert!(eventually(Duration::from_secs(60), goes_on), "session {id}\n{}", host.log());
    }
    // New sessions are refused while at least one session is open, because the limit is 1.
    let refused = || {
        let output = host.run(A, "vectoradd", &[]);
        let says = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{output:?}\n{}", host.log());
        assert!(says.contains("cudaErrorDevicesUnavailable"), "{says}\n{}", host.log());
        // A program that only queries the devices doesn't need a session.
        let output = host.run(A, "deviceinfo", &["list"]);
        assert!(output.status.success(), "{output:?}\n{}", host.log());
    };
    refused();
    programs[0].kill().unwrap();
    programs[0].wait().unwrap();
    let one_left = || host.ask(&["vm", "show", "a"])["stats"]["sessions"] == json!(1);
    assert!(eventually(Duration::from_secs(60), one_left), "{}", host.log());
    refused();
    assert!(programs[1].try_wait().unwrap().is_none(), "{}", host.log());

    host.ask(&["vm", "set", "a", "--sessions-max", "2"]);
    let output = host.run(A, "vectoradd", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    programs[1].kill().unwrap();
    programs[1].wait().unwrap();
}
