//! Child processes that don't outlive vcuda-run, and signals that make it exit cleanly.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// The VMM's file descriptor for the serial line between the guest and vcuda-run.
pub const CHANNEL_FD: i32 = 3;

static SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn note_signal(signal: libc::c_int) {
    SIGNAL.store(signal, Ordering::SeqCst);
}

/// Makes SIGINT, SIGTERM, and SIGHUP set a flag instead of killing the process, so that it can
/// clean up.
pub fn catch_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic. An all-zero sigaction is valid and means no
        // flags and an empty mask.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Returns the last signal received, if any.
pub fn signalled() -> Option<i32> {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal),
    }
}

/// A child process. It is killed when this value is dropped, or when the thread that started it
/// exits.
#[derive(Debug)]
pub struct Owned {
    child: Child,
    /// How long to wait between SIGTERM and SIGKILL when ending the process. With `None`, only
    /// SIGKILL is sent.
    gentle: Option<Duration>,
}

impl Owned {
    /// Starts `command`, with `channel` as its descriptor [`CHANNEL_FD`]. To end the process, this
    /// type sends SIGKILL. If `gentle` is given, it first sends SIGTERM, and sends SIGKILL if the
    /// process is still running after that time.
    pub fn spawn(
        command: &mut Command,
        channel: Option<OwnedFd>,
        gentle: Option<Duration>,
    ) -> io::Result<Owned> {
        let parent = std::process::id();
        let fd = channel.as_ref().map(AsRawFd::as_raw_fd);
        let death = if gentle.is_some() { libc::SIGTERM } else { libc::SIGKILL };
        // SAFETY: between fork and exec, the closure makes only async-signal-safe system calls.
        unsafe {
            command.pre_exec(move || {
                if libc::prctl(libc::PR_SET_PDEATHSIG, death) != 0 {
                    return Err(io::Error::last_os_error());
                }
                // If the parent exited before prctl took effect, this process won't get a signal,
                // so exit now.
                if libc::getppid() as u32 != parent {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                match fd {
                    Some(CHANNEL_FD) if libc::fcntl(CHANNEL_FD, libc::F_SETFD, 0) < 0 => {
                        Err(io::Error::last_os_error())
                    }
                    Some(fd) if fd != CHANNEL_FD && libc::dup2(fd, CHANNEL_FD) < 0 => {
                        Err(io::Error::last_os_error())
                    }
                    _ => Ok(()),
                }
            });
        }
        // Use a separate process group, so that Ctrl-C in a terminal sends a signal only to
        // vcuda-run, which then ends the child.
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Owned { child, gentle })
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the exit status if the process has exited.
    pub fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for at most `limit` until the process exits.
    pub fn wait(&mut self, limit: Duration) -> Option<std::process::ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let (Some(limit), None) = (self.gentle, self.ended()) {
            // SAFETY: kill takes no pointers. The child hasn't been reaped, so its pid is valid.
            unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
            self.wait(limit);
        }
        if self.ended().is_none() {
            // SAFETY: kill takes no pointers. The group leader hasn't been reaped, so the group id
            // is valid.
            unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
            let _ = self.child.wait();
        }
    }
}

/// Formats a command as a shell would accept it.
pub fn shell_line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| shell_word(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Quotes a word if a shell would interpret it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn test_shell_words() {
        assert_eq!(shell_word("size=8G,shared=on"), "size=8G,shared=on");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn test_dropping_an_owned_process_ends_it() {
        for gentle in [None, Some(Duration::from_secs(5))] {
            let mut command = Command::new("sleep");
            command.arg("600").stdin(Stdio::null());
            let owned = Owned::spawn(&mut command, None, gentle).unwrap();
            let pid = owned.id();
            drop(owned);
            assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
        }
    }
}
