//! User-mode Linux: the kernel is a process, and the host's file system is its root.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::RunError;
use crate::process::CHANNEL_FD;

/// The guest's device node for the serial line to the host.
pub const CHANNEL: &str = "/dev/ttyS0";

/// The options of one guest under user-mode Linux.
#[derive(Clone, Debug)]
pub struct Uml {
    /// The kernel, which is an executable.
    pub kernel: PathBuf,
    /// Guest memory in bytes.
    pub memory: u64,
    /// Number of guest CPUs.
    pub cpus: u32,
    /// The device's socket and virtio id. The path must not contain blanks or colons.
    pub device: Option<(PathBuf, u32)>,
    /// The init program. The path must not contain blanks.
    pub init: PathBuf,
    /// The job file for init. The path must not contain blanks.
    pub job: PathBuf,
    /// A directory for the kernel's run-time files.
    pub run_dir: PathBuf,
    /// The directory for guest memory; see [`memory_folder`].
    pub memory_dir: PathBuf,
}

impl Uml {
    /// Returns the arguments, which are also the guest's kernel command line.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("mem={}M", self.memory >> 20),
            format!("ncpus={}", self.cpus),
            // Intercept system calls with seccomp if the kernel and the host support it, or else
            // with ptrace.
            "seccomp=auto".into(),
            "root=/dev/root".into(),
            "rootfstype=hostfs".into(),
            "rootflags=/".into(),
            "rw".into(),
            format!("uml_dir={}", self.run_dir.display()),
            "umid=vcuda-run".into(),
            // Kernel messages go to standard output. Other consoles are off, so that the kernel
            // doesn't open terminal windows.
            "con=null".into(),
            "con0=null,fd:1".into(),
            "ssl=null".into(),
            format!("ssl0=fd:{CHANNEL_FD}"),
            "panic=-1".into(),
        ];
        if let Some((socket, id)) = &self.device {
            arguments.push(format!("virtio_uml.device={}:{id}", socket.display()));
        }
        arguments.push(format!("init={}", self.init.display()));
        arguments.push("--".into());
        arguments.push("guest-init".into());
        arguments.push(self.job.display().to_string());
        arguments
    }

    /// Returns the command that starts the kernel.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.kernel);
        command.args(self.arguments()).env_clear().env("TMPDIR", &self.memory_dir);
        command
    }
}

/// Returns the directory for guest memory: /dev/shm if it has enough space and isn't mounted
/// noexec, otherwise the temporary directory.
pub fn memory_folder(bytes: u64) -> Result<PathBuf, RunError> {
    let shm = Path::new("/dev/shm");
    if free_space(shm).is_some_and(|(free, noexec)| free > bytes && !noexec) {
        return Ok(shm.into());
    }
    let other = std::env::temp_dir();
    match free_space(&other) {
        Some((free, false)) if free > bytes => Ok(other),
        _ => Err(RunError::Usage(format!(
            "--mem: neither /dev/shm nor {} has {} MiB free on a file system mounted without noexec",
            other.display(),
            bytes >> 20
        ))),
    }
}

/// Returns the number of free bytes, and whether the file system is mounted noexec.
fn free_space(folder: &Path) -> Option<(u64, bool)> {
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: all-zero bytes are a valid statvfs, and the path is zero-terminated.
    let stat = unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut stat) == 0).then_some(stat)?
    };
    Some((stat.f_bavail * stat.f_frsize, stat.f_flag & libc::ST_NOEXEC != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_arguments_attach_the_device_and_name_the_job() {
        let uml = Uml {
            kernel: "/k/linux".into(),
            memory: 1 << 30,
            cpus: 2,
            device: Some(("/t/device.sock".into(), 38)),
            init: "/t/init".into(),
            job: "/t/job.json".into(),
            run_dir: "/t".into(),
            memory_dir: "/dev/shm".into(),
        };
        let line = uml.arguments().join(" ");
        assert!(line.starts_with(
            "mem=1024M ncpus=2 seccomp=auto root=/dev/root rootfstype=hostfs rootflags=/ rw "
        ));
        assert!(line.contains(" con=null con0=null,fd:1 ssl=null ssl0=fd:3 "));
        assert!(line.contains(" virtio_uml.device=/t/device.sock:38 "));
        assert!(line.ends_with(" init=/t/init -- guest-init /t/job.json"));
    }
}
