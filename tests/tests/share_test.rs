//! Tests `vcudactl test`, which runs a program in a VM's share of a GPU, or says why no program can
//! run.

use std::path::Path;
use std::process::Output;

use host_test_support::Guest;
use serde_json::{Value, json};
use virtio_cuda_tests::{A, B, Host, Vm, roomy};

/// A VM whose quota is too small for the program.
const TINY: Vm = Vm { name: "tiny", memory_max: "2M", uid: 61_303 };
const STEPS: [&str; 8] =
    ["connect", "session", "allocate", "copy", "load", "launch", "verify", "free"];

fn test(host: &Host, words: &[&str]) -> Output {
    host.vcudactl(&[&["test"], words].concat()).output().unwrap()
}

/// Runs `vcudactl test`, which must fail. Returns the steps that were done, and the error message.
fn fails(host: &Host, words: &[&str]) -> (Vec<String>, String) {
    let output = test(host, words);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8(output.stderr));
    assert_eq!(output.status.code(), Some(1), "{words:?}: {out} {err:?}");
    let done = out.lines().skip(1).filter(|line| !line.contains("failed"));
    let done = done.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    (done, err.unwrap())
}

fn set(host: &Host, words: &[&str]) {
    let output = host.vcudactl(&[&["vm"], words].concat()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

#[test]
fn the_program_runs_as_a_session_of_the_vm_under_its_quotas() {
    let (a, _) = roomy(A);
    let host = Host::start_with(&[
        (a, "sessions.max = 1"),
        (TINY, ""),
        (B, "memory.session_max = \"2M\""),
    ]);
    let report = host.ask(&["test", "a"]);
    let steps = report["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!((names, &report["failed"]), (STEPS.to_vec(), &Value::Null));
    assert!(steps.iter().all(|step| step["ns"].as_u64().unwrap() > 0), "{report}");
    let stats = &host.ask(&["vm", "show", "a"])["stats"];
    assert_eq!(stats["sessions_total"], json!(1));
    assert!(stats["activity"]["launches"].as_u64().unwrap() >= 1, "{stats}");

    // Start a program in the VM, which uses the only session that the VM may have.
    let (mut program, _) = host.spawn(a, "spin", &["hold=1", "idle"]);
    let (done, err) = fails(&host, &["a"]);
    assert_eq!(done, ["connect"]);
    assert!(err.contains("as sessions.max permits (1)") && err.contains("--sessions-max"), "{err}");
    program.kill().unwrap();
    program.wait().unwrap();

    let (_, err) = fails(&host, &["tiny"]);
    assert!(err.contains("of memory.max (2M) on GPU") && err.contains("--memory-max"), "{err}");
    // The message of the guest library also contains the limit that was reached.
    assert!(err.contains("0 of 2 MiB on GPU 0 (the host's setting memory.max)"), "{err}");
    assert!(!err.contains("memory.session_max"), "{err}");
    let (_, err) = fails(&host, &[B.name]);
    assert!(err.contains("2 MiB on each GPU (memory.session_max)"), "{err}");
    assert!(err.contains("--memory-session-max"), "{err}");
}

#[test]
fn a_vm_that_cannot_run_a_program_is_explained() {
    let host = Host::start(&[A, B]);
    let (code, err) = host.refused(&["test", "c"]);
    assert!(code == Some(2) && err.contains("there is no VM named 'c'"), "{err}");

    set(&host, &["pause", "a"]);
    let (done, err) = fails(&host, &["a"]);
    assert!(done.is_empty() && err.contains("is paused by the control API"), "{err}");
    assert!(err.contains("vcudactl vm resume a"), "{err}");
    set(&host, &["resume", "a"]);

    let (_, err) = fails(&host, &["a", "--libcuda", "/none/libcuda.so.1"]);
    assert!(err.contains("cannot open /none/libcuda.so.1"), "{err}");
    let (_, err) = fails(&host, &["a", "--libcuda", "/etc/hostname"]);
    assert!(err.contains("step 'connect'"), "{err}");

    // Connect a front end whose memory isn't sealed, so that it can be truncated. QEMU's memory is
    // like that with memory-backend-file. The device then accepts no other front end.
    let mut only = Guest::connect_unsealed(&host.socket(B));
    only.set_up().unwrap();
    let (done, err) = fails(&host, &["b"]);
    assert!(done.is_empty() && err.contains("only one front end can be connected"), "{err}");
    drop(only);

    let device = host.ask(&["vm", "show", "a"])["device_pid"].as_i64().unwrap();
    let signal = |pid: i64, signal: i32| {
        // SAFETY: kill takes no pointers.
        assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
    };
    signal(device, libc::SIGSTOP);
    let (done, err) = fails(&host, &["a", "--timeout", "1s"]);
    signal(device, libc::SIGCONT);
    assert!(done.is_empty() && err.contains("step 'connect': it wasn't done within 1 s"), "{err}");

    signal(host.pid().into(), libc::SIGSTOP);
    let (_, err) = fails(&host, &["a"]);
    signal(host.pid().into(), libc::SIGCONT);
    assert!(err.contains("is stopped (by SIGSTOP"), "{err}");
}

/// `vcudactl test` must drop root's privileges, because the VM may control the other end of the
/// socket.
#[test]
fn the_program_has_no_more_than_the_sockets_group() {
    if !Path::new("/proc/self")
        .metadata()
        .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
    {
        eprintln!("skipped: only root can give the socket a group");
        return;
    }
    let host = Host::start_with(&[(A, "socket_group = \"61999\""), (B, "socket_mode = \"0600\"")]);
    host.ask(&["test", "a"]);
    let (done, err) = fails(&host, &["b"]);
    assert!(done.is_empty() && err.contains("runs as nobody with the group of"), "{err}");
}
