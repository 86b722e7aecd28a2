//! Tests that the broker serves while it waits for the disk.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{Broker, Reply, TWO};
use host_test_support::{Folder, Guest, wait_for};

mod common;

/// From Linux's <fcntl.h>; the libc crate doesn't have it.
const F_SETSIG: libc::c_int = 10;
/// The status in a response from the device that reports success.
const OK: u32 = 0;

/// A disk on which the broker's next write blocks. A lease on the file causes that: the kernel lets
/// nobody open the file for writing until its holder has released the lease.
struct BusyDisk {
    lease: File,
    state: PathBuf,
}

impl BusyDisk {
    fn new(folder: &Path) -> Self {
        let state = folder.join("state");
        let next = state.join("state.json.next");
        File::create(&next).unwrap();
        // The broker may run as another user, which must be able to write the file.
        std::fs::set_permissions(&next, std::fs::Permissions::from_mode(0o666)).unwrap();
        let lease = File::open(next).unwrap();
        let fd = lease.as_raw_fd();
        // SAFETY: these commands take only an integer. The kernel sends SIGURG to the holder of the
        // lease when another process opens the file, which has no effect.
        unsafe {
            assert_eq!(libc::fcntl(fd, F_SETSIG, libc::SIGURG), 0);
            let taken = libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK);
            assert_eq!(taken, 0, "{}", std::io::Error::last_os_error());
        }
        Self { lease, state }
    }

    /// Waits until the broker is opening the file.
    fn wait(&self) {
        wait_for("the broker's write", || {
            // SAFETY: F_GETLEASE takes no third argument. It returns F_UNLCK once another process
            // waits for the lease.
            unsafe { libc::fcntl(self.lease.as_raw_fd(), libc::F_GETLEASE) == libc::F_UNLCK }
        });
    }

    /// Lets the write succeed.
    fn release(self) {}

    /// Lets the write fail, because the new file can't replace a directory.
    fn fail(self) {
        let file = self.state.join("state.json");
        let _ = std::fs::remove_file(&file);
        std::fs::create_dir(file).unwrap();
    }
}

fn patch(broker: &Broker, vm: &str, weight: u64) -> Reply {
    let body = format!(r#"{{"compute": {{"weight": {weight}}}}}"#);
    broker.send("PATCH", &format!("/v1/vms/{vm}"), &body)
}

/// Waits for a reply with this status, and a message that contains this text.
fn expect(reply: Reply, status: u16, says: &str) {
    let (found, body) = reply.wait();
    let message = body["message"].as_str().unwrap_or_default();
    assert!(found == status && message.contains(says), "{found} {body}");
}

/// Returns the VMs' names and weights.
fn weights(broker: &Broker) -> Vec<(String, u64)> {
    broker.vms().into_iter().map(|(name, weight, _)| (name, weight)).collect()
}

fn expected(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter().map(|(name, weight)| ((*name).into(), *weight)).collect()
}

fn device_pid(broker: &Broker, vm: &str) -> Option<u64> {
    broker.ask("GET", &format!("/v1/vms/{vm}"), "").1["device_pid"].as_u64()
}

/// Starts a broker that is saving a new weight of VM a, with a client that waits for the reply.
fn saving(folder: &Path) -> (Broker, BusyDisk, Reply) {
    let broker = Broker::start(folder, TWO);
    let disk = BusyDisk::new(folder);
    let reply = patch(&broker, "a", 9);
    disk.wait();
    (broker, disk, reply)
}

#[test]
fn a_busy_disk_delays_only_changes() {
    let folder = Folder::new("busy");
    let (broker, disk, first) = saving(&folder);
    let second = patch(&broker, "b", 3);
    let mut guest = Guest::connect(&folder.join("b"));
    assert_eq!(guest.create(1), OK);
    assert_eq!(broker.ask("GET", "/v1/sessions", "").1.as_array().unwrap().len(), 1);
    assert_eq!(guest.destroy(1), OK);
    let pid = device_pid(&broker, "a").unwrap();
    // SAFETY: kill takes only integers. The broker hasn't reaped the process, so its process ID
    // can't have been reused.
    unsafe { libc::kill(pid as i32, libc::SIGKILL) };
    wait_for("another device process", || device_pid(&broker, "a").is_some_and(|p| p != pid));
    assert_eq!(weights(&broker), expected(&[("a", 100), ("b", 100)]));
    disk.release();
    expect(first, 200, "");
    expect(second, 200, "");
    let after = expected(&[("a", 9), ("b", 3)]);
    assert_eq!(weights(&broker), after);
    broker.end();
    let broker = Broker::start(&folder, TWO);
    assert_eq!(weights(&broker), after);
}

#[test]
fn a_vm_that_cannot_be_saved_leaves_nothing_behind() {
    let folder = Folder::new("unsaved");
    let broker = Broker::start(&folder, TWO);
    let disk = BusyDisk::new(&folder);
    let memory = r#""memory": {"max": 2097152}"#;
    let added = broker.send_add("c", memory);
    disk.wait();
    assert_eq!(broker.ask("GET", "/v1/vms/c", "").0, 404);
    disk.fail();
    expect(added, 507, "cannot save the change, so nothing was changed: cannot replace");
    assert!(!folder.join("c").exists());
    assert_eq!(weights(&broker), expected(&[("a", 100), ("b", 100)]));
    std::fs::remove_dir(folder.join("state/state.json")).unwrap();
    assert_eq!(broker.add("c", memory).0, 201);
    broker.end();
}

/// The change that is being saved is applied even if its client has given up. Waiting changes are
/// dropped if their clients have given up.
#[test]
fn a_change_that_takes_too_long_may_still_be_applied() {
    let folder = Folder::new("late");
    let (broker, disk, first) = saving(&folder);
    let second = patch(&broker, "b", 3);
    for reply in [first, second] {
        expect(reply, 503, "the change may still be applied: check with GET");
    }
    disk.release();
    wait_for("the change", || weights(&broker)[0].1 == 9);
    assert_eq!(broker.add("c", r#""memory": {"max": 2097152}"#).0, 201);
    assert_eq!(weights(&broker), expected(&[("a", 9), ("b", 100), ("c", 100)]));
    broker.end();
}

#[test]
fn the_number_of_waiting_changes_is_limited() {
    let folder = Folder::new("many");
    let (broker, disk, first) = saving(&folder);
    let mut others = Vec::new();
    for count in [30, 35] {
        others.extend((0..count).map(|_| patch(&broker, "a", 9)));
        // By the time of this reply, the broker has received these requests. Sending more requests
        // at once could fill the channel to the event loop.
        assert_eq!(weights(&broker), expected(&[("a", 100), ("b", 100)]));
    }
    disk.release();
    expect(first, 200, "");
    let others = others.into_iter().map(|reply| reply.wait().1);
    let refused = others.filter(|body| body["message"] == "too many requests at once; try again");
    assert_eq!(refused.count(), 1);
    broker.end();
}

#[test]
fn a_broker_that_exits_finishes_its_write() {
    let folder = Folder::new("exits");
    let (broker, disk, first) = saving(&folder);
    let second = patch(&broker, "b", 3);
    let third = broker.send("DELETE", "/v1/vms/b", "");
    // By the time of this reply, the broker has received all requests.
    assert_eq!(broker.vms().len(), 2);
    // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
    unsafe { libc::kill(broker.child.id() as i32, libc::SIGTERM) };
    expect(first, 503, "vcudad is shutting down; the change may still be saved");
    expect(second, 503, "vcudad is shutting down; try again");
    expect(third, 503, "vcudad is shutting down; try again");
    wait_for("the end of the API", || !folder.join("control").exists());
    // The directory is locked until the write has ended.
    let output = Broker::command(&folder, TWO).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("in use by another vcudad"), "{text}");
    let saved = || std::fs::read_to_string(folder.join("state/state.json")).unwrap();
    assert!(!saved().contains("weight"), "{}", saved());
    disk.release();
    broker.end();
    let broker = Broker::start(&folder, TWO);
    assert_eq!(weights(&broker), expected(&[("a", 9), ("b", 100)]));
}
