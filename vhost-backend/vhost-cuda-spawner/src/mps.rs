//! MPS daemons. There is one MPS control daemon, with its own directories, per set of GPUs that VMs
//! with `sharing = "mps"` use.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use host_ipc::process::is_root;
use rustix::process::Signal;

use crate::child::Child;
use crate::mps_client::DAEMON;
use crate::socket::create_directory;
use crate::start::{Preparation, THIS_PROGRAM};

/// How long a daemon may take to exit before it's killed.
const END: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(5);
/// Maximum number of daemons.
const MAX: usize = 64;

/// The MPS control daemons that the spawner runs.
pub(crate) struct Mps {
    /// The directory that contains the daemons' directories.
    folder: PathBuf,
    daemon: PathBuf,
    /// The program that executes the daemon after its setup (see `start`). In production, this is
    /// the spawner itself. Tests use another program.
    starter: PathBuf,
    /// The running daemons, by the CUDA_VISIBLE_DEVICES that selects their GPUs.
    running: BTreeMap<String, Daemon>,
    /// The daemons that were asked to exit and haven't been reaped.
    ending: Vec<Daemon>,
    /// The number that names the next daemon's directory.
    next: u32,
}

struct Daemon {
    child: Child,
    folder: PathBuf,
    /// Time at which the daemon is killed, if it was asked to exit.
    deadline: Option<Instant>,
}

impl Mps {
    /// Creates an empty set of daemons. Their directories will be in a directory that only this
    /// process's user can access.
    pub(crate) fn new() -> Self {
        let run = if is_root() {
            PathBuf::from("/run/virtio-cuda")
        } else {
            std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
        };
        let folder = run.join(format!("virtio-cuda-mps-{}", std::process::id()));
        Self::of(folder, DAEMON.into(), THIS_PROGRAM.into())
    }

    fn of(folder: PathBuf, daemon: PathBuf, starter: PathBuf) -> Self {
        Self { folder, daemon, starter, running: BTreeMap::new(), ending: Vec::new(), next: 0 }
    }

    /// Returns the pipe directory of the daemon for the GPUs in `visible`. Starts the daemon if it
    /// isn't running.
    pub(crate) fn pipe(&mut self, visible: &str) -> Result<PathBuf, String> {
        if let Some(daemon) = self.running.get(visible) {
            if daemon.child.reap().is_none() {
                return Ok(daemon.pipe());
            }
            tracing::error!(gpus = visible, "{DAEMON} exited; restarting it");
            self.running.remove(visible);
        }
        if self.running.len() + self.ending.len() >= MAX {
            return Err(format!("there are {MAX} MPS daemons"));
        }
        let daemon = self.start(visible)?;
        let pipe = daemon.pipe();
        self.running.insert(visible.to_owned(), daemon);
        Ok(pipe)
    }

    fn start(&mut self, visible: &str) -> Result<Daemon, String> {
        let folder = self.folder.join(self.next.to_string());
        self.next += 1;
        let (pipe, log) = (folder.join("pipe"), folder.join("log"));
        // Only this process's user may connect to the daemon. This is enough, because a worker
        // connects before it switches to its VM's user.
        create_private(&self.folder)
            .map_err(|error| format!("cannot create {}: {error}", self.folder.display()))?;
        let _ = std::fs::remove_dir_all(&folder);
        for path in [&pipe, &log] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        }
        let mut daemon = Command::new(&self.daemon);
        daemon.arg("-f").envs(std::env::vars_os()).env("CUDA_VISIBLE_DEVICES", visible);
        daemon.env("CUDA_MPS_PIPE_DIRECTORY", &pipe).env("CUDA_MPS_LOG_DIRECTORY", &log);
        let preparation = Preparation { terminate_with_parent: true, ..Preparation::default() };
        let mut command = preparation.before(&daemon, &self.starter);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Put the daemon and its servers in a process group, so that one signal reaches them all.
        command.process_group(0);
        let child = Child::start(&mut command)
            .map_err(|error| format!("cannot start {DAEMON}: {error}"))?;
        tracing::info!(gpus = visible, folder = %folder.display(), "starting {DAEMON}");
        Ok(Daemon { child, folder, deadline: None })
    }

    /// Asks all daemons to exit except those whose GPUs are in `visible`.
    pub(crate) fn retain(&mut self, visible: &[String]) {
        let gone = self.running.extract_if(.., |gpus, _| !visible.contains(gpus));
        self.ending.extend(gone.map(|(_, daemon)| daemon.end()));
    }

    /// Reaps the daemons that were asked to exit, and kills those that take too long.
    pub(crate) fn check_ending(&mut self) {
        let now = Instant::now();
        self.ending.retain(|daemon| {
            if daemon.child.reap().is_some() {
                // Remove only the pipe directory. The log stays for the operator.
                let _ = std::fs::remove_dir_all(daemon.pipe());
                return false;
            }
            if daemon.deadline.is_some_and(|deadline| deadline <= now) {
                daemon.child.signal_group(Signal::KILL);
            }
            true
        });
    }

    /// Returns the descriptors of daemons that were asked to exit.
    pub(crate) fn ending(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ending.iter().map(|daemon| daemon.child.as_fd())
    }
}

/// Creates a directory that only this process's user can access, or checks that it is one. This is
/// safe even if other users can create files in the parent directory, such as /tmp.
fn create_private(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), create_directory)?;
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => return created,
    }
    let found = path.symlink_metadata()?;
    let own = rustix::process::geteuid().as_raw();
    match found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0 {
        true => Ok(()),
        false => Err(io::Error::other("it exists, and others can access it: remove it")),
    }
}

impl Daemon {
    fn pipe(&self) -> PathBuf {
        self.folder.join("pipe")
    }

    fn end(mut self) -> Self {
        self.child.signal_group(Signal::TERM);
        self.deadline = Some(Instant::now() + END);
        self
    }
}

impl Drop for Mps {
    fn drop(&mut self) {
        self.retain(&[]);
        while !self.ending.is_empty() {
            self.check_ending();
            std::thread::sleep(STEP);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mps_client::wait_ready;

    /// Creates a set of daemons whose program is a shell script.
    fn mps(folder: &Path, script: &str) -> Mps {
        use std::os::unix::fs::PermissionsExt;
        let add = |name: &str, script: &str| {
            let program = folder.join(name);
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            program
        };
        let daemon = add("daemon", script);
        let starter = add("starter", "while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"");
        Mps::of(folder.join("mps"), daemon, starter)
    }

    const SERVES: &str = "echo \"$CUDA_VISIBLE_DEVICES\" >\"$CUDA_MPS_LOG_DIRECTORY/visible\"
        : >\"$CUDA_MPS_PIPE_DIRECTORY/control\"
        while :; do sleep 0.01; done";

    #[test]
    fn a_daemon_serves_its_gpus_until_no_vm_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut mps = mps(folder.path(), SERVES);
        let pipe = mps.pipe("GPU-a,GPU-b").unwrap();
        assert_eq!(pipe, folder.path().join("mps/0/pipe"));
        wait_ready(&pipe).unwrap();
        let visible = std::fs::read_to_string(folder.path().join("mps/0/log/visible")).unwrap();
        assert_eq!(visible, "GPU-a,GPU-b\n");

        // Another session on the same GPUs uses the same daemon. A session on other GPUs uses
        // another daemon.
        assert_eq!(mps.pipe("GPU-a,GPU-b").unwrap(), pipe);
        assert_ne!(mps.pipe("GPU-b").unwrap(), pipe);

        mps.retain(&["GPU-b".into()]);
        assert_eq!(mps.running.len(), 1);
        let end = Instant::now() + Duration::from_secs(20);
        while pipe.exists() {
            assert!(Instant::now() < end, "the daemon's pipes were not removed");
            mps.check_ending();
            std::thread::sleep(STEP);
        }
        drop(mps);
        assert!(!folder.path().join("mps").exists());
    }

    #[test]
    fn a_directory_that_somebody_else_has_created_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let folder = tempfile::tempdir().unwrap();
        let mut mps = mps(folder.path(), SERVES);
        let (planted, private) = (folder.path().join("mps"), folder.path().join("private"));
        create_private(&private).unwrap();
        create_private(&private).unwrap();
        let is_refused = |mps: &mut Mps| mps.pipe("GPU-a").unwrap_err().contains("remove it");
        symlink(&private, &planted).unwrap();
        assert!(is_refused(&mut mps));
        std::fs::remove_file(&planted).unwrap();
        std::fs::create_dir(&planted).unwrap();
        std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o770)).unwrap();
        assert!(is_refused(&mut mps));
        std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o700)).unwrap();
        if is_root() {
            chown(&planted, Some(65534), None).unwrap();
            assert!(is_refused(&mut mps));
            chown(&planted, Some(0), None).unwrap();
        }
        mps.pipe("GPU-a").unwrap();
    }

    #[test]
    fn a_daemon_that_exited_is_restarted() {
        let folder = tempfile::tempdir().unwrap();
        let mut mps = mps(folder.path(), SERVES);
        let first = mps.pipe("GPU-a").unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while mps.pipe("GPU-a").unwrap() == first {
            mps.running["GPU-a"].child.signal_group(Signal::KILL);
            assert!(Instant::now() < end, "the daemon was not restarted");
            std::thread::sleep(STEP);
        }
    }

    #[test]
    fn a_daemon_that_cannot_run_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = mps(folder.path(), "exit 1").pipe("").unwrap();
        let error = wait_ready(&pipe).unwrap_err();
        assert!(error.contains("nvidia-cuda-mps-control did not start in time"), "{error}");
    }
}
