//! MPS for the VMs that ask for it (`sharing = "mps"`): one of NVIDIA's control daemons for each
//! set of GPUs, with its own folders, while a VM on these GPUs uses MPS.
//!
//! MPS weakens isolation: the workers of all those VMs are clients of one server process, which
//! runs as the broker's user and does their work on the GPU. A compromised worker can send it any
//! input, and a fault that one client causes on the GPU can end the others. Address spaces stay
//! separate. So MPS is only for VMs that trust one another, as docs/quotas.md explains.

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
use super::process::is_root;
use memory_ledger::GpuId;

/// NVIDIA's daemon, which comes with the driver.
const DAEMON: &str = "nvidia-cuda-mps-control";
/// How long a daemon may take until clients can connect. A client that connects earlier would
/// silently run without MPS.
const READY: Duration = Duration::from_secs(5);
/// How long a daemon may take to exit after a signal.
const END: Duration = Duration::from_secs(3);
/// The pipe directory of workers without MPS. In the default directory, the host may run an MPS
/// daemon of its own, and all VMs would share its server.
pub(crate) const NO_DAEMON: &str = "/nonexistent";

/// An error that keeps a VM from using MPS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MpsError {
    /// softgpu has no MPS.
    #[error("softgpu does not support MPS: set sharing to \"exclusive\"")]
    Softgpu,
    /// The daemon can't be started.
    #[error("cannot start {DAEMON}: {0}; it is part of NVIDIA's driver")]
    Start(io::Error),
    /// A daemon's folder can't be created.
    #[error("cannot create {path}: {source}")]
    Folder {
        /// The folder that can't be created.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The daemon exited, or wasn't ready in time.
    #[error("{DAEMON} {0}; see its log in {1}")]
    NotReady(&'static str, PathBuf),
}

/// The running daemons.
pub(crate) struct MpsDaemons {
    /// The folder that contains the daemons' folders.
    folder: PathBuf,
    daemon: PathBuf,
    running: BTreeMap<Vec<GpuId>, Daemon>,
    /// The name of the next daemon's folder.
    next: u32,
}

struct Daemon {
    child: Child,
    folder: PathBuf,
}

/// Checks whether a VM's GPUs support the sharing mode that it requests.
pub(crate) fn check_sharing(spec: &VmSpec, gpus: &[GpuId], all: &Gpus) -> Result<(), ApiError> {
    let is_software = |id: &GpuId| all.get(*id).is_some_and(|gpu| gpu.is_software());
    if spec.sharing == Sharing::Mps && gpus.iter().any(is_software) {
        let message = MpsError::Softgpu.to_string();
        return Err(ApiError::new(ErrorCode::Invalid, message).of("sharing"));
    }
    Ok(())
}

/// The MPS limits of each session. The VMs of a group share their windows, so compute.max can only
/// limit the part of the multiprocessors. Without a scheduler, compute.max has no effect.
fn limits(spec: &VmSpec, scheduler: bool) -> MpsSpec {
    let cap = Some(spec.compute.max).filter(|max| scheduler && *max < Percent::ALL);
    let asked = spec.mps.active_thread_percentage;
    MpsSpec { active_thread_percentage: asked.into_iter().chain(cap).min(), ..spec.mps.clone() }
}

impl MpsDaemons {
    /// The broker's daemons, in a folder that only its user can read.
    pub(crate) fn of_this_process() -> Self {
        let run = if is_root() {
            PathBuf::from("/run/virtio-cuda")
        } else {
            std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
        };
        Self::new(run.join(format!("virtio-cuda-mps-{}", std::process::id())))
    }

    /// No daemons yet. `folder` is created when the first daemon starts.
    fn new(folder: PathBuf) -> Self {
        Self { folder, daemon: DAEMON.into(), running: BTreeMap::new(), next: 0 }
    }

    /// The environment that a VM's sharing mode adds to its workers. For MPS, it makes them clients
    /// of the daemon and sets their limits.
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

    /// The environment that makes a worker a client of the daemon for `gpus` and sets its limits.
    /// If the daemon isn't running, this starts it and waits until it is ready: about 10 ms, at
    /// most [`READY`]. `visible` is CUDA_VISIBLE_DEVICES for these GPUs.
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
            // MPS counts in MiB. A limit of 0 would mean unlimited.
            let mib = (bytes >> 20).max(1);
            let limits: Vec<_> = (0..gpus.len()).map(|gpu| format!("{gpu}={mib}M")).collect();
            env.push(("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT".into(), limits.join(",")));
        }
        Ok(env)
    }

    /// Ends the daemons of all sets of GPUs that are not in `wanted`.
    pub(crate) fn retain(&mut self, wanted: &[Vec<GpuId>]) {
        let gone: Vec<_> =
            self.running.keys().filter(|set| !wanted.contains(set)).cloned().collect();
        for daemon in gone.iter().filter_map(|set| self.running.remove(set)) {
            // Ending a daemon can take seconds, so do it on a thread instead of the event loop.
            std::thread::spawn(move || drop(daemon));
        }
    }

    /// Starts the daemon of these GPUs if it isn't running. Returns its pipe directory.
    fn start(&mut self, gpus: &[GpuId], visible: &str) -> Result<PathBuf, MpsError> {
        if let Some(daemon) = self.running.get_mut(gpus) {
            if matches!(daemon.child.try_wait(), Ok(None)) {
                return Ok(daemon.pipe());
            }
            tracing::error!(gpus = visible, "{DAEMON} ended; restarting it");
            self.running.remove(gpus);
        }
        let folder = self.folder.join(self.next.to_string());
        self.next += 1;
        let (pipe, log) = (folder.join("pipe"), folder.join("log"));
        // Only the broker's user may connect. A worker connects before it changes to its VM's user.
        let _ = std::fs::remove_dir_all(&folder);
        for path in [&pipe, &log] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|source| MpsError::Folder { path: path.clone(), source })?;
        }
        let mut command = Command::new(&self.daemon);
        command.arg("-f").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("CUDA_VISIBLE_DEVICES", visible);
        command.env("CUDA_MPS_PIPE_DIRECTORY", &pipe).env("CUDA_MPS_LOG_DIRECTORY", &log);
        // Put the daemon and its servers into a process group, so that one signal ends them all.
        command.process_group(0);
        // SAFETY: the closure only calls sigemptyset, sigprocmask and prctl, which are safe between
        // fork and exec, on memory of its own.
        unsafe {
            command.pre_exec(|| {
                // The child inherits the broker's signal mask, which blocks the signals that end
                // it.
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
            Daemon { child: command.spawn().map_err(MpsError::Start)?, folder: folder.clone() };
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
                // The log is kept, since it contains the reason.
                return Err(MpsError::NotReady("exited at startup", log));
            }
            if Instant::now() > end {
                return Err(MpsError::NotReady("did not start in time", log));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Sends the process group a signal and waits for the daemon's end. Returns whether it ended.
    fn end(&mut self, signal: libc::c_int) -> bool {
        // SAFETY: killpg takes integers. The daemon isn't reaped yet, so the group is still its
        // own.
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
        // Remove the pipes, but keep the log.
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

    /// Daemons whose program is a shell script.
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

        // A second session on the same GPUs uses the same daemon. Other GPUs have another daemon.
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
        // The smaller limit applies.
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
