//! Tests for the broker's log: the output of child processes, and a log that isn't read.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use common::{Broker, TWO, with_worker};
use host_test_support::{Folder, Guest, create, wait_for};

mod common;

fn is_nonblocking(fd: &impl AsRawFd) -> bool {
    // SAFETY: F_GETFL takes no third argument.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) };
    assert!(flags >= 0);
    flags & libc::O_NONBLOCK != 0
}

#[test]
fn a_worker_that_attacks_the_log_harms_nobody() {
    let folder = Folder::new("noisy");
    let program = with_worker(&folder, "noisy-worker");
    let command = Broker::command_of(&program, 1, &folder, TWO);
    let log = File::create(folder.join("log")).unwrap();
    let broker = Broker::started_with(&folder, command, log.try_clone().unwrap());
    let mut guest = Guest::connect(&folder.join("a"));
    guest.send(0, &create(1), 8);
    wait_for("the flood", || folder.join("sent").exists());
    assert!(!is_nonblocking(&log), "the worker has changed the broker's standard error");
    assert_eq!(broker.vms().len(), 2);
    // The VM has used up its budget of lines by now. The last lines of a crashed worker are still
    // logged.
    guest.send(0, &create(2), 8);
    wait_for("the panic in the log", || broker.log().contains("the last words"));
    let text = broker.log();
    assert!(text.len() < 1 << 20, "{} bytes", text.len());
    let mut forged = 0;
    for line in text.lines().filter(|line| line.contains("forged") || line.contains("last words")) {
        let mark = r#" vcudad::child: vm="a" program="worker" pid="#;
        let (before, _) = line.split_once(mark).unwrap_or_else(|| panic!("{line}"));
        assert!(!before.contains("forged"), "{line}");
        forged += usize::from(line.contains("forged"));
    }
    assert_eq!(forged, 2, "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    broker.end();
}

#[test]
fn a_broker_serves_although_nobody_reads_its_log() {
    let folder = Folder::new("unread");
    let mut fds = [-1; 2];
    // SAFETY: `fds` has room for the two descriptors.
    assert_eq!(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: pipe2 has just opened both descriptors, and nothing else owns them.
    let [reader, writer] = fds.map(|fd| File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
    // SAFETY: F_GETPIPE_SZ takes no third argument.
    let size = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
    (&writer).write_all(&vec![b'x'; size as usize]).unwrap();
    let command = Broker::command(&folder, TWO);
    let broker = Broker::started_with(&folder, command, writer);
    assert_eq!(broker.ask("PATCH", "/v1/vms/a", r#"{"compute": {"weight": 9}}"#).0, 200);
    assert_eq!(broker.vms().len(), 2);
    broker.end();
    drop(reader);
}

#[test]
fn the_log_is_json_and_its_level_applies_to_child_processes() {
    let folder = Folder::new("json");
    let mut command = Broker::command(&folder, TWO);
    command.args(["--log-format", "json", "--log-level", "debug"]).env("RUST_LOG", "off");
    let log = File::create(folder.join("log")).unwrap();
    let broker = Broker::started_with(&folder, command, log);
    let mut guest = Guest::connect(&folder.join("a"));
    guest.send(0, &create(1), 8);
    let child = r#""target":"vcudad::child""#;
    wait_for("a line of a child process", || broker.log().contains(child));
    broker.end();
    let text = std::fs::read_to_string(folder.join("log")).unwrap();
    for line in text.lines() {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in ["timestamp", "level", "message", "target"] {
            assert!(value[key].is_string(), "{key}: {line}");
        }
    }
}

#[test]
fn lines_for_the_journal_have_priorities() {
    let folder = Folder::new("journal");
    let log = File::create(folder.join("log")).unwrap();
    let meta = log.metadata().unwrap();
    let mut command = Broker::command(&folder, TWO);
    command.env("JOURNAL_STREAM", format!("{}:{}", meta.dev(), meta.ino()));
    let broker = Broker::started_with(&folder, command, log);
    broker.end();
    let text = std::fs::read_to_string(folder.join("log")).unwrap();
    assert!(text.lines().any(|line| line.starts_with("<6>")), "{text}");
    for line in text.lines() {
        assert!(["<3>", "<4>", "<6>"].iter().any(|mark| line.starts_with(mark)), "{line}");
    }
}
