//! Tests that the broker has no privileges after its start, and doesn't wait for processes to
//! start.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use common::{Broker, TWO, with_worker};
use host_ipc::process::is_root;
use host_test_support::{Folder, Guest, create, wait_for};

mod common;

/// From Linux's <fcntl.h>; the libc crate doesn't have it.
const F_SETSIG: libc::c_int = 10;

/// Returns the values of a field in the status of all of a process's threads.
fn of_threads(pid: u32, field: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    let value = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap().trim().to_owned()
    };
    statuses.map(value).collect()
}

#[test]
fn a_broker_started_by_root_has_no_privileges() {
    if !is_root() {
        return eprintln!("skipped: not root");
    }
    let folder = Folder::new("privileges");
    // The state directory of an earlier version of vcudad, which ran as root.
    let state = folder.join("state");
    std::fs::create_dir(&state).unwrap();
    let saved = r#"{"version": 2, "vms": [], "changed": {"a": {"compute": {"weight": 7}}}}"#;
    std::fs::write(state.join("state.json"), saved).unwrap();
    let broker = Broker::start(&folder, TWO);
    let pid = broker.child.id();
    let check = || {
        for (field, is_good) in [
            ("Uid", (|value| !value.split_whitespace().any(|id| id == "0")) as fn(&str) -> bool),
            ("Gid", |value| !value.split_whitespace().any(|id| id == "0")),
            ("CapEff", |value| value == "0000000000000000"),
            ("CapPrm", |value| value == "0000000000000000"),
            ("NoNewPrivs", |value| value == "1"),
        ] {
            for value in of_threads(pid, field) {
                assert!(is_good(&value), "{field}: {value}");
            }
        }
        // The broker's files in /proc belong to root, so other processes of the same user can't
        // inspect the broker.
        let files = std::fs::metadata(format!("/proc/{pid}/fd")).unwrap();
        assert_eq!(files.uid(), 0);
    };
    check();
    // SAFETY: kill takes no pointers, and the child hasn't been reaped.
    unsafe { libc::kill(pid as i32, libc::SIGUSR2) };
    wait_for("the next vcudad", || broker.log().contains("vcudad took over"));
    check();
    assert_eq!(broker.vms()[0].1, 7);
    assert_eq!(broker.ask("PATCH", "/v1/vms/a", r#"{"compute": {"weight": 9}}"#).0, 200);
    assert_eq!(broker.add("c", r#""memory": {"max": 2097152}"#).0, 201);
    let owner = state.metadata().unwrap().uid();
    assert_ne!(owner, 0);
    assert_eq!(state.join("state.json").metadata().unwrap().uid(), owner);
    broker.end();
    let broker = Broker::start(&folder, TWO);
    assert_eq!((broker.vms()[0].1, broker.vms().len()), (9, 3));
    broker.end();
}

#[test]
fn the_brokers_user_must_be_one_without_privileges() {
    if !is_root() {
        return eprintln!("skipped: not root");
    }
    let folder = Folder::new("users");
    for (user, says) in [
        ("root", "has root's privileges"),
        ("0", "has root's privileges"),
        ("no-such-user-here", "does not exist"),
        ("2113929216", "is that of a VM"),
    ] {
        let output = Broker::command(&folder, TWO).args(["--user", user]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(says) && output.status.code() == Some(2), "{user}: {text}");
    }
    let mut command = Broker::command(&folder, TWO);
    command.args(["--user", "4000001"]);
    let broker = Broker::started(&folder, command);
    for value in of_threads(broker.child.id(), "Uid") {
        assert!(value.split_whitespace().all(|id| id == "4000001"), "{value}");
    }
    broker.end();
}

/// A program whose start takes as long as this value exists. A lease on the program's file causes
/// that: the kernel lets nobody open the file until its holder has released the lease.
struct SlowStart(File);

impl SlowStart {
    fn new(program: &Path) -> Self {
        let file = File::open(program).unwrap();
        let fd = file.as_raw_fd();
        // SAFETY: these commands take only an integer. The kernel sends SIGURG to the holder of the
        // lease when another process opens the file, which has no effect.
        unsafe {
            assert_eq!(libc::fcntl(fd, F_SETSIG, libc::SIGURG), 0);
            let taken = libc::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK);
            assert_eq!(taken, 0, "{}", std::io::Error::last_os_error());
        }
        Self(file)
    }

    /// Waits until a process executes the program.
    fn wait(&self) {
        wait_for("the start of the program", || {
            // SAFETY: F_GETLEASE takes no third argument. Its result changes once a process waits
            // for the lease.
            unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE) != libc::F_WRLCK }
        });
    }
}

#[test]
fn a_slow_start_delays_only_its_session() {
    let folder = Folder::new("slow");
    let program = with_worker(&folder, "vhost-cuda-worker");
    let broker = Broker::started(&folder, Broker::command_of(&program, 0, &folder, TWO));
    let slow = SlowStart::new(&folder.join("vhost-cuda-worker"));
    let mut guest = Guest::connect(&folder.join("a"));
    guest.send(0, &create(1), 8);
    slow.wait();
    assert_eq!(broker.vms().len(), 2);
    assert_eq!(broker.ask("PATCH", "/v1/vms/b", r#"{"compute": {"weight": 9}}"#).0, 200);
    assert_eq!(broker.add("c", r#""memory": {"max": 2097152}"#).0, 201);
    let is_serving = || {
        let sessions = broker.ask("GET", "/v1/vms/a", "").1["stats"]["sessions_total"].as_u64();
        sessions == Some(1)
    };
    assert!(!is_serving());
    drop(slow);
    wait_for("the session", is_serving);
    drop(guest);
    broker.end();
}

/// A session that is ended while its worker starts takes its worker with it.
#[test]
fn a_slow_start_can_be_given_up() {
    let folder = Folder::new("given-up");
    let program = with_worker(&folder, "vhost-cuda-worker");
    let broker = Broker::started(&folder, Broker::command_of(&program, 0, &folder, TWO));
    let slow = SlowStart::new(&folder.join("vhost-cuda-worker"));
    let mut guest = Guest::connect(&folder.join("a"));
    guest.send(0, &create(1), 8);
    slow.wait();
    let sessions = || broker.ask("GET", "/v1/sessions", "").1.as_array().unwrap().len();
    assert_eq!(broker.ask("DELETE", "/v1/vms/a", "").0, 204);
    assert_eq!(sessions(), 0);
    drop(slow);
    broker.end();
}
