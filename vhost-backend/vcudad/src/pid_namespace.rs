//! Starts processes in PID namespaces of their own, in which they can neither see nor signal any
//! other process.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Calls `start`, and makes the process that it starts the first one of a new PID namespace. The
/// kernel kills all processes of a namespace when its first one exits.
pub(crate) fn start_in_new<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let host = File::open("/proc/thread-self/ns/pid")?;
    // From here on, this thread's children are created in the new namespace. Other threads, and this
    // thread itself, aren't affected.
    // SAFETY: the flags don't include FILES, so the table of descriptors stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWPID)? };
    let started = start();
    // If this fails, this thread can't start any more processes, because the namespace ends with its
    // first process.
    move_into_link_name_space(host.as_fd(), Some(LinkNameSpaceType::ProcessID))?;
    started
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_see_no_others_and_later_ones_are_not_affected() {
        let sees = |command: &mut Command| {
            let output = command.output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let script = || {
            let mut command = Command::new("sh");
            command.arg("-c").arg("echo $$");
            command
        };
        let started = start_in_new(|| Ok(sees(&mut script())));
        match started {
            Ok(pid) => assert_eq!(pid, "1"),
            // Without root.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_ne!(sees(&mut script()), "1");
        std::thread::spawn(|| ()).join().unwrap();
    }
}
