//! A restart of vcudad beside a spawner that outlives it.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use virtio_cuda_tests::continuity::{Programs, vms};
use virtio_cuda_tests::{A, B, Host, eventually};

#[test]
fn programs_continue_and_their_memory_stays_charged() {
    let mut host = Host::start_beside_spawner(&vms(), 60);
    let mut programs = Programs::start(&host);
    // In a longer time, the spawner closes the gates.
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
    assert!(!host.socket(A).exists() && !host.control().exists());
    host.restart(&[A, B]);
    assert_eq!(host.memory(A), idle);
    assert!(host.run(A, "vectoradd", &[]).status.success());
}

#[test]
fn a_broker_that_starts_again_after_a_failure_begins_with_nothing() {
    let mut host = Host::start_beside_spawner(&[A], 60);
    let idle = host.memory(A);
    let (mut program, _) = host.spawn(A, "spin", &["hold=512", "loop"]);
    host.kill_broker(libc::SIGKILL);
    host.restart(&[A]);
    assert!(!program.wait().unwrap().success());
    assert_eq!(host.memory(A), idle);
}

#[test]
fn only_the_spawners_user_may_connect_to_it() {
    let host = Host::start_beside_spawner(&[A], 60);
    let socket = host.spawner_socket();
    if !is_root() {
        return eprintln!("skipped: not root");
    }
    // Even if somebody has changed its permissions.
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
