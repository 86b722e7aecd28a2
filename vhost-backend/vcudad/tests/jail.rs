//! Tests that workers run without a jail only if they can't have one.

use std::os::unix::process::CommandExt;
use std::process::Command;

use common::{Broker, TWO, build_driver_library};
use host_test_support::Folder;

mod common;

/// Makes a program start without the capability to enter other mount namespaces.
fn without_changing_roots(command: &mut Command) {
    const SYS_CHROOT: libc::c_ulong = 18;
    let drop = || {
        // SAFETY: this prctl takes only integers.
        match unsafe { libc::prctl(libc::PR_CAPBSET_DROP, SYS_CHROOT, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec, `drop` makes only one system call, and doesn't allocate
    // memory.
    unsafe { command.pre_exec(drop) };
}

/// Skipped if not run as root, because there is no jail without root.
#[test]
fn workers_do_without_a_jail_only_if_they_cannot_have_it() {
    if !host_ipc::process::is_root() {
        return eprintln!("skipped: not root");
    }
    let folder = Folder::new("jail");
    let libraries = folder.join("libraries");
    std::fs::create_dir(&libraries).unwrap();
    let library = build_driver_library("jail", &libraries);
    let command = |mode: &str, in_jail: Option<&str>| {
        let mut command = Broker::command(&folder, &format!("jail = \"{mode}\"\n{TWO}"));
        command.env("VIRTIO_CUDA_SOFTGPU", &library);
        command.envs(in_jail.map(|how| ("SOFTGPU_IN_JAIL", how)));
        command
    };
    let refuses = |mut command: Command| {
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        text
    };
    // Returns why workers have no jail.
    let serves = |command: Command| {
        let broker = Broker::started(&folder, command);
        let (_, gpus) = broker.ask("GET", "/v1/gpus", "");
        let reason = gpus[0]["jail_unavailable"].as_str().map(str::to_owned);
        assert_eq!(gpus[0]["jail"].as_bool(), Some(reason.is_none()), "{gpus}");
        broker.end();
        reason
    };
    assert_eq!(serves(command("auto", None)), None);
    assert_eq!(serves(command("required", None)), None);
    assert_eq!(serves(command("off", None)).as_deref(), Some("jail = \"off\""));
    for (how, says) in [("refuse", "cuInit"), ("crash", "signal")] {
        let reason = serves(command("auto", Some(how))).unwrap();
        assert!(reason.contains(says), "{how}: {reason}");
        assert!(refuses(command("required", Some(how))).contains("can't have a jail"));
    }
    // In these cases, the driver hasn't failed: the probe was killed by something else.
    for mode in ["auto", "required"] {
        let text = refuses(command(mode, Some("kill")));
        let says = "cannot set up the jail of workers: its probe was killed. Remove";
        assert!(text.contains(says), "{text}");
    }
    let without = |mode| {
        let mut command = command(mode, None);
        without_changing_roots(&mut command);
        command
    };
    let reason = serves(without("auto")).unwrap();
    let says = "cannot create a mount namespace for shared memory: Operation not permitted";
    assert!(reason.contains(says), "{reason}");
    assert!(refuses(without("required")).contains(says));
}
