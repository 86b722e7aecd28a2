//! Tests restarts of vcudad while its spawner, which was started separately, continues to run.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use virtio_cuda_tests::continuity::{Programs, vms};
use virtio_cuda_tests::{A, B, Host, eventually};

#[test]
fn programs_continue_and_their_memory_stays_charged() {
    let mut host = Host::start_beside_spawner(&vms(), 60);
    let mut programs = Programs::start(&host);
    // The last restart happens after more than a second, because the spawner closes all gates after
    // one second without vcudad.
    for without in [Duration::ZERO, Duration::ZERO, Duration::from_millis(1500)] {
        assert!(host.kill_broker(libc::SIGTERM).success(), "{}", host.log());
        std::thread::sleep(without);
        host.start_broker();
        programs.check(&host);
    }
    programs.end(&host);
    assert!(host.end().success());
    assert!(!host.control().exists() && !host.socket(A).exists());
}

#[test]
fn sessions_end_if_vcudad_does_not_return() {
    let mut host = Host::start_beside_spawner(&[A, B], 2);
    let idle = host.memory(A);
    let mut program = host.command(A, "spin", &["hold=512", "loop"]);
    let mut program = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let holds = || host.memory(A).0 + 512 <= idle.0;
    assert!(eventually(Duration::from_secs(60), holds), "{}", host.log());
    assert!(host.kill_broker(libc::SIGTERM).success());
    let ended = || program.try_wait().unwrap().is_some();
    assert!(eventually(Duration::from_secs(60), ended), "{}", host.log());
    let output = program.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cudaErrorDevicesUnavailable"), "{output:?}\n{}", host.log());
    assert!(host.log().contains("ending all sessions"), "{}", host.log());
    let is_gone = || !host.socket(A).exists() && !host.control().exists();
    assert!(eventually(Duration::from_secs(60), is_gone), "{}", host.log());
    host.restart(&[A, B]);
    assert_eq!(host.memory(A), idle);
    assert!(host.run(A, "vectoradd", &[]).status.success());
}

/// If vcudad is stopped or not running, vcudactl must fail at once and say so. If it waited for a
/// response, vcudad would only seem to be slow.
#[test]
fn operators_learn_at_once_that_vcudad_is_stopped_or_gone() {
    let mut host = Host::start_beside_spawner(&[A, B], 60);
    let pid = host.pid();
    let signal = |signal: &str| {
        let kill = Command::new("kill").args([signal, &pid.to_string()]).status();
        assert!(kill.unwrap().success());
    };
    signal("-STOP");
    let (code, text) = host.refused(&["vm", "ls"]);
    // Continue vcudad before the checks, because it would remain stopped if a check failed.
    signal("-CONT");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(&format!("kill -CONT {pid}")), "{text}");
    host.ask(&["vm", "ls"]);
    host.kill_broker(libc::SIGKILL);
    for words in [&["vm", "ls"][..], &["vm", "rm", A.name]] {
        let (code, text) = host.refused(words);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("vcudad isn't running; the sessions of its VMs end in "), "{text}");
    }
    // During the restart of vcudad, requests wait until it responds.
    host.start_broker();
    host.ask(&["vm", "ls"]);
}

/// Checks that after `kill`, the VM's socket accepts no connection that would end at once.
/// cloud-hypervisor connects again as soon as its connection has ended. If that connection is
/// refused, it tries again, but if the connection is accepted and ends, it gives up the device.
fn ends_without_accepting_others(kill: impl FnOnce(&mut Host)) {
    let mut host = Host::start_beside_spawner(&[A, B], 1);
    let socket = host.socket(A);
    let mut connection = UnixStream::connect(&socket).unwrap();
    // vcudad accepts connections in order. This program's connection has been accepted, so
    // `connection` has been, too.
    assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
    let next = std::thread::spawn(move || {
        let _ = connection.read(&mut [0]);
        UnixStream::connect(&socket)
    });
    kill(&mut host);
    let next = next.join().unwrap().map_err(|error| error.kind());
    assert!(
        matches!(next, Err(ErrorKind::NotFound | ErrorKind::ConnectionRefused)),
        "{next:?}\n{}",
        host.log()
    );
}

#[test]
fn no_vmm_connects_to_a_socket_that_is_about_to_close() {
    ends_without_accepting_others(|host| assert!(host.kill_broker(libc::SIGTERM).success()));
    ends_without_accepting_others(|host| assert!(host.end().success()));
    // If the spawner is killed, the kernel closes the sockets of its processes in an order that may
    // vary, so repeat the test.
    for _ in 0..20 {
        ends_without_accepting_others(Host::kill_spawner);
    }
}

#[test]
fn programs_continue_after_vcudad_was_killed() {
    let mut host = Host::start_beside_spawner(&vms(), 60);
    let mut programs = Programs::start(&host);
    for without in [Duration::ZERO, Duration::ZERO, Duration::from_millis(1500)] {
        // Wait until the broker has handled the end of the programs that have read the free memory.
        // If the broker were killed while it handles a message of a device process, that device's
        // sessions would end.
        std::thread::sleep(Duration::from_millis(500));
        host.kill_broker(libc::SIGKILL);
        std::thread::sleep(without);
        host.start_broker();
        programs.check(&host);
    }
    programs.end(&host);
    assert!(host.end().success());
    assert!(!host.control().exists() && !host.socket(A).exists());
}

/// Checks that vcudad doesn't write its whole record because of a guest's actions. The time for
/// that grows with the number of VMs and sessions, so a guest could slow down vcudad. For sessions,
/// vcudad only appends lines to the record. After a restart of vcudad, the sessions in these lines
/// must continue, too.
#[test]
fn guests_only_add_to_the_record() {
    let mut host = Host::start_beside_spawner(&[A, B], 60);
    host.ask(&["vm", "set", A.name, "--sessions-max", "1"]);
    let record = host.record();
    let (mut long, _) = host.spawn(B, "spin", &["hold=64", "loop", "input"]);
    assert!(host.run(B, "vectoradd", &[]).status.success(), "{}", host.log());
    let (mut only, _) = host.spawn(A, "spin", &["hold=16", "loop", "input"]);
    for _ in 0..20 {
        assert!(!host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
    }
    let refused = || host.ask(&["vm", "show", A.name])["stats"]["refused"]["sessions_max"].as_u64();
    assert!(refused() >= Some(20), "{}", host.ask(&["vm", "show", A.name]));
    assert_eq!(host.record(), record);
    // Wait until vcudad has handled all messages of A's device process. Killing vcudad while it
    // handles one would end that device's sessions.
    std::thread::sleep(Duration::from_millis(500));
    let before = refused();
    host.kill_broker(libc::SIGKILL);
    host.start_broker();
    let refused = host.ask(&["vm", "show", A.name])["stats"]["refused"]["sessions_max"].as_u64();
    assert_eq!(refused, before);
    for program in [&mut long, &mut only] {
        drop(program.stdin.take());
        assert!(program.wait().unwrap().success(), "{}", host.log());
    }
    let idle = || host.workers(A).is_empty() && host.workers(B).is_empty();
    assert!(eventually(Duration::from_secs(60), idle), "{}", host.log());
    assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
}

/// Kills vcudad at random moments, while programs start, allocate memory, and end. Each program
/// must get either the right result or an error, and nothing may be left over.
#[test]
fn no_memory_stays_charged_and_new_programs_work_wherever_vcudad_was_killed() {
    let mut host = Host::start_beside_spawner(&[A, B], 60);
    let idle = [host.settled_memory(A), host.settled_memory(B)];
    let (mut long, _) = host.spawn(B, "spin", &["hold=64", "loop", "input"]);
    let mut seed = 1_u64;
    let mut failed = 0;
    for _ in 0..12 {
        let start = |vm, program: &str, arguments: &[&str]| {
            let mut command = host.command(vm, program, arguments);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let programs: Vec<_> = (0..4)
            .map(|_| start(A, "vectoradd", &[]))
            .chain([start(A, "spin", &["hold=16", "loop", "1"])])
            .collect();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(seed >> 57));
        host.kill_broker(libc::SIGKILL);
        host.start_broker();
        for mut program in programs {
            let ended = || program.try_wait().unwrap().is_some();
            assert!(eventually(Duration::from_secs(60), ended), "a program hangs\n{}", host.log());
            failed += u32::from(!program.wait().unwrap().success());
        }
        // Run the program in B first, so that vcudad has handled the end of B's session long before
        // it's killed again.
        for vm in [B, A] {
            assert!(host.run(vm, "vectoradd", &[]).status.success(), "{}", host.log());
        }
    }
    println!("{failed} of 60 programs got an error");
    // Killing vcudad while it handles a message of a VM's device process ends the VM's sessions. No
    // program in VM B was starting or ending at that time, so this program must continue.
    assert!(long.try_wait().unwrap().is_none(), "{}", host.log());
    drop(long.stdin.take());
    assert!(long.wait().unwrap().success(), "{}", host.log());
    let is_free = || [host.look(A).ok(), host.look(B).ok()] == idle.map(Some);
    assert!(eventually(Duration::from_secs(60), is_free), "{}", host.log());
}

#[test]
fn changes_at_run_time_outlive_a_killed_vcudad() {
    let mut host = Host::start_beside_spawner(&[A, B], 60);
    host.ask(&["vm", "set", "a", "--memory-max", "1G"]);
    host.ask(&["vm", "pause", "b"]);
    let socket = host.dir().join("c");
    let path = socket.to_str().unwrap();
    host.ask(&["vm", "add", "c", "--memory-max", "1G", "--socket-path", path]);
    let shown = |host: &Host| {
        let vms = host.ask(&["vm", "ls"]);
        let keys = ["name", "origin", "memory", "paused_by"];
        let vms = vms.as_array().unwrap().iter();
        vms.map(|vm| keys.map(|key| vm[key].clone())).collect::<Vec<_>>()
    };
    let before = shown(&host);
    assert_eq!(before.len(), 3, "{before:?}");
    host.kill_broker(libc::SIGKILL);
    host.start_broker();
    assert_eq!(shown(&host), before, "{}", host.log());
    host.ask(&["vm", "rm", "--force", "c"]);
    assert!(!socket.exists());
    host.kill_broker(libc::SIGKILL);
    host.start_broker();
    assert_eq!(shown(&host).len(), 2, "{}", host.log());
}

#[test]
fn only_the_spawners_user_may_connect_to_it() {
    let host = Host::start_beside_spawner(&[A], 60);
    let socket = host.spawner_socket();
    if !is_root() {
        return eprintln!("skipped: not root");
    }
    // The spawner must check the user itself, in case somebody has changed the permissions of its
    // socket.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    let connect = || {
        let script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); \
                      sys.exit(len(s.recv(1)))";
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(&socket).uid(A.uid).gid(A.uid);
        command.output().unwrap()
    };
    let refused = connect();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("PermissionError"), "{refused:?}");
    std::fs::set_permissions(&socket, mode).unwrap();
    let refused = connect();
    assert!(refused.status.success(), "it must get nothing: {refused:?}");
    assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
}

fn is_root() -> bool {
    // SAFETY: geteuid takes no arguments.
    unsafe { libc::geteuid() == 0 }
}
