//! Runs NVIDIA's MPS for VMs with `sharing = "mps"`. There is one MPS control daemon, with its own
//! directories, per set of GPUs that such VMs use. It runs as long as there is such a VM.
//!
//! MPS weakens isolation. The workers of all these VMs are clients of one server process, which
//! runs as the broker's user and submits the clients' work to the GPU. A compromised worker can
//! send the server any input, and a GPU fault that one client causes can end the other clients. The
//! clients' GPU address spaces remain separate. So MPS is only for VMs that trust one another, as
//! docs/quotas.md explains.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use control_api::{ApiError, ErrorCode, MpsSpec, Percent, Sharing, VmSpec};

use super::gpus::Gpus;
use super::process::{is_root, spawn};
use memory_ledger::GpuId;

/// The control daemon's program, which is installed with NVIDIA's driver.
const DAEMON: &str = "nvidia-cuda-mps-control";
/// How long to wait until a new daemon accepts clients. A client that starts earlier would silently
/// run without MPS.
const READY: Duration = Duration::from_secs(5);
/// How long to wait for a daemon to exit after a signal.
const END: Duration = Duration::from_secs(3);
/// The MPS pipe directory for workers without MPS. With the default directory, they would all
/// connect to the host's own MPS daemon, if there is one, and share its server.
pub(crate) const NO_DAEMON: &str = "/nonexistent";

/// The reason why a VM can't use MPS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MpsError {
    /// softgpu doesn't support MPS.
    #[error("softgpu does not support MPS: set sharing to \"exclusive\"")]
    Softgpu,
    /// The daemon's program can't be started.
    #[error("cannot start {DAEMON}: {0}; it is part of NVIDIA's driver")]
    Start(io::Error),
    /// A directory for a daemon can't be created.
    #[error("cannot create {path}: {source}")]
    Folder {
        /// Path of the directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The daemon exited at startup, or wasn't ready in time.
    #[error("{DAEMON} {0}; see its log in {1}")]
    NotReady(&'static str, PathBuf),
}

/// The running daemons.
pub(crate) struct MpsDaemons {
    /// The directory that contains the daemons' directories.
    folder: PathBuf,
    daemon: PathBuf,
    running: BTreeMap<Vec<GpuId>, Daemon>,
    /// The number that names the next daemon's directory.
    next: u32,
}

struct Daemon {
    child: Child,
    folder: PathBuf,
}

/// Checks whether the VM's GPUs support the VM's sharing mode.
pub(crate) fn check_sharing(spec: &VmSpec, gpus: &[GpuId], all: &Gpus) -> Result<(), ApiError> {
    let is_software = |id: &GpuId| all.get(*id).is_some_and(|gpu| gpu.is_software());
    if spec.sharing == Sharing::Mps && gpus.iter().any(is_software) {
        let message = MpsError::Softgpu.to_string();
        return Err(ApiError::new(ErrorCode::Invalid, message).of("sharing"));
    }
    Ok(())
}

/// Returns the MPS limits for each of the VM's sessions. VMs that share a daemon also share
/// scheduling windows, so compute.max can limit only their fraction of the multiprocessors. If the
/// scheduler is off, compute.max has no effect.
fn limits(spec: &VmSpec, scheduler: bool) -> MpsSpec {
    let cap = Some(spec.compute.max).filter(|max| scheduler && *max < Percent::ALL);
    let asked = spec.mps.active_thread_percentage;
    MpsSpec { active_thread_percentage: asked.into_iter().chain(cap).min(), ..spec.mps.clone() }
}

impl MpsDaemons {
    /// Creates an empty set of daemons. Their directories will be in a directory that only the
    /// broker's user can access.
    pub(crate) fn of_this_process() -> Self {
        let run = if is_root() {
            PathBuf::from("/run/virtio-cuda")
        } else {
            std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
        };
        Self::new(run.join(format!("virtio-cuda-mps-{}", std::process::id())))
    }

    /// Creates an empty set of daemons. `folder` is created when the first daemon starts.
    fn new(folder: PathBuf) -> Self {
        Self { folder, daemon: DAEMON.into(), running: BTreeMap::new(), next: 0 }
    }

    /// Returns the environment variables that a worker needs for the VM's sharing mode. For MPS,
    /// they make the worker a client of the daemon and set its limits.
    pub(crate) fn session_env(
        &mut self,
        spec: &VmSpec,
        gpus: &[GpuId],
        all: &Gpus,
        scheduler: bool,
    ) -> Result<Vec<(String, String)>, MpsError> {
        match spec.sharing {
            Sharing::Exclusive => Ok(Vec::new()),
            Sharing::Mps => self.env(gpus, &all.visible(gpus), &limits(spec, scheduler)),
        }
    }

    /// Returns the environment variables that make a worker a client of the daemon for `gpus` and
    /// set the worker's limits. If this daemon isn't running, starts it and waits until it is
    /// ready, which takes about 10 ms and at most [`READY`]. `visible` is the CUDA_VISIBLE_DEVICES
    /// that selects these GPUs.
    fn env(
        &mut self,
        gpus: &[GpuId],
        visible: &str,
        spec: &MpsSpec,
    ) -> Result<Vec<(String, String)>, MpsError> {
        let pipe = self.start(gpus, visible)?;
        let mut env = vec![("CUDA_MPS_PIPE_DIRECTORY".to_owned(), pipe.display().to_string())];
        if let Some(part) = spec.active_thread_percentage {
            let percent = f64::from(part.basis_points()) / 100.0;
            env.push(("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE".into(), percent.to_string()));
        }
        if let Some(bytes) = spec.pinned_memory_limit {
            // MPS takes this limit in MiB. 0 would mean that there's no limit.
            let mib = (bytes >> 20).max(1);
            let limits: Vec<_> = (0..gpus.len()).map(|gpu| format!("{gpu}={mib}M")).collect();
            env.push(("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT".into(), limits.join(",")));
        }
        Ok(env)
    }

    /// Stops all daemons whose set of GPUs is not in `wanted`.
    pub(crate) fn retain(&mut self, wanted: &[Vec<GpuId>]) {
        let gone: Vec<_> =
            self.running.keys().filter(|set| !wanted.contains(set)).cloned().collect();
        for daemon in gone.iter().filter_map(|set| self.running.remove(set)) {
            // Stopping a daemon can take seconds, so do it on another thread to avoid blocking the
            // event loop.
            std::thread::spawn(move || drop(daemon));
        }
    }

    /// Starts the daemon for these GPUs, if it isn't running. Returns its pipe directory.
    fn start(&mut self, gpus: &[GpuId], visible: &str) -> Result<PathBuf, MpsError> {
        if let Some(daemon) = self.running.get_mut(gpus) {
            if matches!(daemon.child.try_wait(), Ok(None)) {
                return Ok(daemon.pipe());
            }
            tracing::error!(gpus = visible, "{DAEMON} exited; restarting it");
            self.running.remove(gpus);
        }
        let folder = self.folder.join(self.next.to_string());
        self.next += 1;
        let (pipe, log) = (folder.join("pipe"), folder.join("log"));
        // Only the broker's user may connect to the daemon. A worker connects before it switches to
        // its VM's user.
        let _ = std::fs::remove_dir_all(&folder);
        for path in [&pipe, &log] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|source| MpsError::Folder { path: path.clone(), source })?;
        }
        let mut command = Command::new(&self.daemon);
        command.arg("-f").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("CUDA_VISIBLE_DEVICES", visible);
        command.env("CUDA_MPS_PIPE_DIRECTORY", &pipe).env("CUDA_MPS_LOG_DIRECTORY", &log);
        // Put the daemon and its servers in a process group, so that one signal reaches them all.
        command.process_group(0);
        // SAFETY: between fork and exec, the closure only calls sigemptyset, sigprocmask and prctl,
        // which are async-signal-safe, and accesses only its own memory.
        unsafe {
            command.pre_exec(|| {
                // The child inherits the broker's signal mask, in which the signals that stop a
                // process are blocked. Unblock them.
                let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
                libc::sigemptyset(none.as_mut_ptr());
                libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
                match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            })
        };
        let mut daemon =
            Daemon { child: spawn(&mut command).map_err(MpsError::Start)?, folder: folder.clone() };
        daemon.wait_ready()?;
        tracing::info!(gpus = visible, folder = %folder.display(), "{DAEMON} started");
        self.running.insert(gpus.to_vec(), daemon);
        Ok(pipe)
    }
}

impl Daemon {
    fn pipe(&self) -> PathBuf {
        self.folder.join("pipe")
    }

    fn wait_ready(&mut self) -> Result<(), MpsError> {
        let (control, log) = (self.pipe().join("control"), self.folder.join("log"));
        let end = Instant::now() + READY;
        while !control.exists() {
            if !matches!(self.child.try_wait(), Ok(None)) {
                // Keep the daemon's log, because it contains the reason.
                return Err(MpsError::NotReady("exited at startup", log));
            }
            if Instant::now() > end {
                return Err(MpsError::NotReady("did not start in time", log));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Sends a signal to the process group and waits for the daemon to exit. Returns true if it has
    /// exited.
    fn end(&mut self, signal: libc::c_int) -> bool {
        // SAFETY: killpg takes only integers. The daemon hasn't been reaped, so its process group
        // ID can't have been reused.
        unsafe { libc::killpg(self.child.id() as libc::pid_t, signal) };
        let end = Instant::now() + END;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let ended = !matches!(self.child.try_wait(), Ok(None)) || self.end(libc::SIGTERM);
        if !ended {
            self.end(libc::SIGKILL);
        }
        // Remove the pipe directory, but keep the log.
        let _ = std::fs::remove_dir_all(self.pipe());
    }
}

impl Drop for MpsDaemons {
    fn drop(&mut self) {
        self.running.clear();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;
    use vmm_sys_util::tempdir::TempDir;

    /// Creates a set of daemons whose program is a shell script.
    fn mps(folder: &Path, script: &str) -> MpsDaemons {
        let daemon = folder.join("daemon");
        std::fs::write(&daemon, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&daemon, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut mps = MpsDaemons::new(folder.join("mps"));
        mps.daemon = daemon;
        mps
    }

    const SERVES: &str = "echo \"$CUDA_VISIBLE_DEVICES\" >\"$CUDA_MPS_LOG_DIRECTORY/visible\"
        : >\"$CUDA_MPS_PIPE_DIRECTORY/control\"
        while :; do sleep 0.01; done";

    #[test]
    fn a_daemon_serves_its_gpus_until_no_vm_uses_it() {
        let folder = TempDir::new().unwrap();
        let mut mps = mps(folder.as_path(), SERVES);
        let both = [GpuId(0), GpuId(1)];
        let spec = MpsSpec {
            active_thread_percentage: Some(Percent::from_basis_points(1250)),
            pinned_memory_limit: Some(3 << 30),
        };
        let env = mps.env(&both, "GPU-a,GPU-b", &spec).unwrap();
        let pipe = folder.as_path().join("mps/0/pipe");
        let is = |name: &str, value: &str| env.contains(&(name.to_owned(), value.to_owned()));
        assert!(is("CUDA_MPS_PIPE_DIRECTORY", pipe.to_str().unwrap()), "{env:?}");
        assert!(is("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "12.5"), "{env:?}");
        assert!(is("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=3072M,1=3072M"), "{env:?}");
        let visible = std::fs::read_to_string(folder.as_path().join("mps/0/log/visible")).unwrap();
        assert_eq!(visible, "GPU-a,GPU-b\n");

        // Another session on the same GPUs uses the same daemon. A session on other GPUs uses
        // another one.
        assert_eq!(mps.env(&both, "GPU-a,GPU-b", &spec).unwrap()[0], env[0]);
        let other = mps.env(&[GpuId(1)], "GPU-b", &MpsSpec::default()).unwrap();
        assert_eq!(other.len(), 1);
        assert_ne!(other[0], env[0]);

        mps.retain(&[vec![GpuId(1)]]);
        assert_eq!(mps.running.len(), 1);
        let end = Instant::now() + Duration::from_secs(20);
        while pipe.exists() {
            assert!(Instant::now() < end, "the daemon's pipes were not removed");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(mps);
        assert!(!folder.as_path().join("mps").exists());
    }

    #[test]
    fn compute_max_limits_the_thread_percentage() {
        let percent = |percent: u32| Some(Percent::from_basis_points(100 * percent));
        let mut spec = VmSpec::new("a", 1);
        spec.sharing = Sharing::Mps;
        let of = |spec: &VmSpec, on| limits(spec, on).active_thread_percentage;
        assert_eq!(of(&spec, true), None);
        spec.compute.max = Percent::from_basis_points(2500);
        assert_eq!((of(&spec, true), of(&spec, false)), (percent(25), None));
        // The lower of the two limits applies.
        spec.mps.active_thread_percentage = percent(10);
        assert_eq!((of(&spec, true), of(&spec, false)), (percent(10), percent(10)));
        spec.mps.active_thread_percentage = percent(50);
        assert_eq!((of(&spec, true), of(&spec, false)), (percent(25), percent(50)));
    }

    #[test]
    fn a_daemon_that_exited_is_restarted() {
        let folder = TempDir::new().unwrap();
        let mut mps = mps(folder.as_path(), SERVES);
        let first = mps.env(&[GpuId(0)], "GPU-a", &MpsSpec::default()).unwrap();
        let daemon = mps.running.get_mut(&vec![GpuId(0)]).unwrap();
        assert!(daemon.end(libc::SIGKILL));
        assert_ne!(mps.env(&[GpuId(0)], "GPU-a", &MpsSpec::default()).unwrap(), first);
    }

    #[test]
    fn a_daemon_that_cannot_run_is_an_error_that_names_it() {
        let folder = TempDir::new().unwrap();
        let error = mps(folder.as_path(), "exit 1").env(&[], "", &MpsSpec::default()).unwrap_err();
        assert!(error.to_string().contains("nvidia-cuda-mps-control exited at startup"), "{error}");
        let mut missing = MpsDaemons::new(folder.as_path().join("none"));
        missing.daemon = "/nonexistent/x".into();
        let error = missing.env(&[], "", &MpsSpec::default()).unwrap_err();
        assert!(error.to_string().contains("cannot start nvidia-cuda-mps-control"), "{error}");
        assert!(missing.running.is_empty());
    }
}
