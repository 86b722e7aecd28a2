//! Simulates a compromised worker, and checks that it can access only what the jail permits.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Command;

use host_test_support::{Device, Guest, softgpu, wait_for};
use protocol::uapi;

const WORKER: &str = "vhost-cuda-worker";

/// Builds a driver library that attacks the host from `source`, in a directory that also contains
/// softgpu's library.
fn build(source: &str, directory: &Path) -> std::path::PathBuf {
    // The library is linked with libcuda.so.1, so softgpu's library must have that name.
    let softgpu_here = directory.join("libcuda.so.1");
    if std::fs::hard_link(softgpu(), &softgpu_here).is_err() {
        std::fs::copy(softgpu(), &softgpu_here).unwrap();
    }
    let library = directory.join("libredteam.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/redteam").join(source);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-Wl,--no-as-needed,-rpath,$ORIGIN", "-o"])
        .args([&library, &source, &softgpu_here])
        .status();
    assert!(built.unwrap().success());
    library
}

/// Needs root, because without root there is no jail.
#[test]
fn a_worker_that_was_taken_over_reaches_nothing_of_the_host() {
    // SAFETY: `geteuid` takes no arguments and can't fail.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let library = tempfile::tempdir().unwrap();
    let path = build("redteam.c", library.path());
    let secrets = tempfile::tempdir().unwrap();
    std::fs::write(secrets.path().join("secret"), "secret").unwrap();
    let abstract_name = SocketAddr::from_abstract_name(secrets.path().to_str().unwrap()).unwrap();
    let _abstract_socket = UnixListener::bind_addr(&abstract_name).unwrap();
    let known = format!("{}:{}", std::process::id(), secrets.path().display());
    let env = [("SOFTGPU_REDTEAM", known.as_str())];
    // Set the same umask as vcudad's systemd unit.
    // SAFETY: the call takes no pointers.
    unsafe { libc::umask(0o077) };
    // A warm worker loads the library before it knows its VM's user, so the library still runs as
    // root while it loads. That is acceptable, because the worker hasn't received anything from a
    // guest yet.
    for (warm, exception) in [("0", ""), ("1", "be root while the driver library loads")] {
        let device =
            Device::start_with(&path, &["--jail", "required", "--warm-workers", warm], &env);
        let _ = std::fs::remove_file(secrets.path().join("socket"));
        symlink(&device.socket, secrets.path().join("socket")).unwrap();
        let mut guest = Guest::connect(&device.socket);
        assert_eq!(guest.create(1), uapi::OK);
        let report = report_of(&device);
        eprintln!("{report}");
        assert!(report.lines().count() > 50, "{report}");
        for line in report.lines() {
            let (attempt, result) = line.split_once(": ").unwrap();
            if attempt == "be killed later, through a thread" && !can_protect_the_oom_score() {
                continue;
            }
            let allowed = attempt.starts_with("(allowed)") || attempt == exception;
            assert_eq!(result == "done", allowed, "{line}");
        }

        // Only the first 16 refused calls are logged.
        let refused = device.log().lines().filter(|line| line.contains("refused the")).count();
        assert_eq!(refused, 16, "{}", device.log());
    }
}

/// Needs root, because without root there is no jail.
#[test]
fn files_of_a_worker_end_with_its_session_but_its_vm_keeps_the_cache() {
    // SAFETY: `geteuid` takes no arguments and can't fail.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let library = tempfile::tempdir().unwrap();
    let path = build("fill.c", library.path());
    for warm in ["0", "1"] {
        let mut device =
            Device::start_with(&path, &["--jail", "required", "--warm-workers", warm], &[]);
        let mut guest = Guest::connect(&device.socket);
        // The second session finds an empty shared memory with the same limits, because the first
        // session's files were removed. In the cache, it finds the entry that the first session
        // added.
        for session in [1, 2] {
            assert_eq!(guest.create(session), uapi::OK, "{}", device.log());
            let report = report_of(&device);
            let limited = format!("cached={} before=0 depth=60000 files=", session - 1);
            assert!(report.starts_with(&limited) && report.ends_with("ENOSPC"), "{report}");
            let of = |pid: &u32| Path::new(&format!("/proc/{pid}/root/tmp/report")).exists();
            assert_eq!(guest.destroy(session), uapi::OK);
            wait_for("the worker's end", || !device.processes(WORKER).iter().any(of));
        }
        // The host must not have walked the nested directories, which would take a stack as deep as
        // they are.
        drop(guest);
        assert!(device.end().success(), "{}", device.log());
    }
}

/// Returns true if this process may keep its children from lowering the values in their
/// `oom_score_adj`, which isn't allowed in some containers, even to root.
fn can_protect_the_oom_score() -> bool {
    const SYS_RESOURCE: u32 = 24;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(effective.trim(), 16).unwrap() >> SYS_RESOURCE & 1 == 1
}

/// Waits until the worker that serves the session has written its report.
fn report_of(device: &Device) -> String {
    let mut report = None;
    wait_for("the report", || {
        let workers = device.processes(WORKER);
        let paths = workers.iter().map(|pid| format!("/proc/{pid}/root/tmp/report"));
        report = paths.filter_map(|path| std::fs::read_to_string(path).ok()).next();
        report.is_some()
    });
    report.unwrap()
}
