//! PID namespaces, whose processes can neither see nor signal processes outside.
//!
//! Each device process has its own namespace. All workers share one, because driver libraries
//! identify processes that share events by their process IDs, and the first process of every
//! namespace has the ID 1. Workers of different VMs run as different users, and their procfs hides
//! the processes of other users.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitCode, Stdio};

use host_ipc::process;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::start::THIS_PROGRAM;

/// The command-line argument that makes this program the first process of a PID namespace, to keep
/// the namespace alive.
pub const HOLD: &str = "--hold-pid-namespace";

/// The name of the process that keeps a namespace alive.
const NAME: &CStr = c"vcudad-pid-ns";

/// Calls `start`, and makes the process that it starts the first one of a new PID namespace. The
/// kernel kills all processes of a namespace when its first one exits.
pub(crate) fn start_in_new<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    and_return(|| {
        // SAFETY: the flags don't include FILES, so all threads still share the table of
        // descriptors.
        unsafe { unshare_unsafe(UnshareFlags::NEWPID)? };
        start()
    })
}

/// Calls `change`, which selects the PID namespace for this thread's next children and starts a
/// child. Then selects the host's namespace for later children again. No existing process changes
/// its namespace.
fn and_return<T>(change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let host = File::open("/proc/thread-self/ns/pid")?;
    let started = change();
    // If this fails, this thread's next children are created in the other namespace instead of the
    // host's, which gives them fewer rights, not more.
    enter(&host)?;
    started
}

fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::ProcessID))?)
}

/// A namespace for several processes. When this is dropped, the kernel kills all of them.
pub(crate) struct PidNamespace(Held);

struct Held {
    /// The namespace's first process, which does nothing.
    holder: Child,
    namespace: File,
}

impl PidNamespace {
    pub(crate) fn create() -> io::Result<Self> {
        Ok(Self(Held::create()?))
    }

    /// Calls `start`. The process that `start` starts is created in the namespace.
    pub(crate) fn start<T>(&mut self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.0.holder.try_wait()?.is_some() {
            // The namespace's first process has been killed, so the kernel has killed all others in
            // it. Create another namespace.
            self.0 = Held::create()?;
        }
        and_return(|| {
            enter(&self.0.namespace)?;
            start()
        })
    }
}

impl Held {
    fn create() -> io::Result<Self> {
        let mut command = Command::new(THIS_PROGRAM);
        command.arg(HOLD).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut holder = start_in_new(|| command.spawn())?;
        match File::open(format!("/proc/{}/ns/pid", holder.id())) {
            Ok(namespace) => Ok(Self { holder, namespace }),
            Err(error) => {
                let _ = holder.kill();
                let _ = holder.wait();
                Err(error)
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Keeps a PID namespace alive, as its first process, until the spawner kills this process or
/// exits.
pub fn hold() -> ExitCode {
    process::unblock_signals();
    // Name the process, because tools such as ps would show "exe", the last part of the path
    // /proc/self/exe.
    let _ = rustix::thread::set_name(NAME);
    if process::die_with_parent(process::parent()).is_err() {
        return ExitCode::FAILURE;
    }
    loop {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
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
            // Without root, creating a namespace fails.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_ne!(sees(&mut script()), "1");
        std::thread::spawn(|| ()).join().unwrap();
    }
}
