//! Moves the worker into its jail, and makes the kernel kill the worker before other processes if
//! the host runs out of memory.

use std::fs::OpenOptions;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use host_ipc::process;
use host_jail::root::Root;
use host_jail::{access, namespaces, privileges};

/// Files that a driver library reads, and directories from which it may later load other libraries,
/// such as the PTX compiler. softgpu also reads the machine ID, from which it derives its GPUs'
/// UUIDs.
const READ_BY_DRIVERS: [&str; 8] = [
    "/etc/ld.so.cache",
    "/etc/machine-id",
    "/etc/nvidia",
    "/lib",
    "/lib64",
    "/nix/store",
    "/usr/lib",
    "/usr/lib64",
];

/// The jail of a worker, and the user that it gets before it loads the driver library.
#[derive(clap::Args, Clone, Debug)]
pub struct Jail {
    /// Enter a jail with nothing in it but the driver library and the devices given
    #[arg(long)]
    jail: bool,
    /// A device that the driver needs (repeatable)
    #[arg(long = "device", value_name = "PATH", requires = "jail")]
    devices: Vec<PathBuf>,
    /// Descriptor of a mount for /dev/shm, which isn't in a mount namespace yet
    #[arg(long, value_name = "N", requires = "jail")]
    shared_fd: Option<RawFd>,
    /// Descriptor of such a mount for the driver library's cache of compiled kernels
    #[arg(long, value_name = "N", requires = "jail")]
    cache_fd: Option<RawFd>,
    /// User of the VM whose session this worker gets
    #[arg(long)]
    uid: Option<u32>,
    /// Users one of whom this worker must become when it gets a session, as ranges of IDs [default:
    /// as the broker says]
    #[arg(long, value_name = "LOW-HIGH", value_delimiter = ',', conflicts_with = "uid")]
    users: Vec<Users>,
}

/// A range of user IDs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Users(RangeInclusive<u32>);

impl FromStr for Users {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('-')
            .and_then(|(low, high)| Some(Self(low.parse().ok()?..=high.parse().ok()?)));
        parsed.ok_or_else(|| "must be two numbers with '-' between them".into())
    }
}

impl Jail {
    /// Enters the jail. If the VM is already known, also switches to its user. If not, gives up all
    /// privileges except that of switching to the user later. Without a jail, leaves those of the
    /// host's namespaces that the host lets a process leave.
    pub(super) fn enter(&self, library: &Path) -> io::Result<()> {
        open_softgpu_memory()?;
        if self.jail {
            namespaces::leave().map_err(io::Error::other)?;
            let root = self.root(library)?;
            root.enter().map_err(io::Error::other)?;
            access::restrict(&root).map_err(io::Error::other)?;
        } else {
            namespaces::leave_if_allowed();
        }
        privileges::limit()?;
        if self.uid.is_some() {
            process::become_user(self.uid)?;
            // Let the driver library read files in /proc that would otherwise belong to root, while
            // it's being loaded. They belong to root again before this process serves a session.
            return process::set_dumpable(true);
        }
        let switches = self.jail || !self.users.is_empty();
        if switches { privileges::keep_only_switching_users() } else { Ok(()) }
    }

    /// Returns true if the worker enters a jail.
    pub(super) fn is_jail(&self) -> bool {
        self.jail
    }

    /// Returns true if this process switches to its VM's user when it enters the jail.
    pub(super) fn has_user(&self) -> bool {
        self.uid.is_some()
    }

    /// Switches to the user of a VM, unless this process already has that user.
    pub(super) fn join_later(&self, uid: Option<u32>) -> io::Result<()> {
        let is_permitted = |uid: u32| self.users.iter().any(|users| users.0.contains(&uid));
        match self.uid {
            None if !self.users.is_empty() && !uid.is_some_and(is_permitted) => {
                Err(io::Error::other(format!("a worker can't become the user {uid:?}")))
            }
            None => process::become_user(uid),
            given if given == uid => Ok(()),
            _ => Err(io::Error::other("the session is another VM's")),
        }
    }

    /// Returns the files that are visible in the jail. Must be called only once, because the result
    /// owns the descriptors of the mounts.
    fn root(&self, library: &Path) -> io::Result<Root> {
        let mut read_only: Vec<PathBuf> = READ_BY_DRIVERS.iter().map(PathBuf::from).collect();
        // A driver library loads other libraries from its own directory.
        read_only.extend(library.parent().map(Path::to_owned));
        read_only.extend(
            library.canonicalize().iter().filter_map(|real| real.parent()).map(PathBuf::from),
        );
        let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        read_only.extend(std::env::split_paths(&path));
        read_only.retain(|path| path.is_absolute());
        let shared = self.shared_fd.map(process::inherited).transpose()?;
        let cache = self.cache_fd.map(process::inherited).transpose()?;
        Ok(Root { read_only, devices: self.devices.clone(), sysfs: true, shared, cache })
    }
}

/// The file in which softgpu's processes count their device memory. Only tests use it.
const SOFTGPU_MEMORY_FILE: &str = "SOFTGPU_MEMORY_FILE";

/// Opens the file that `SOFTGPU_MEMORY_FILE` names, if it's set, and passes softgpu the descriptor
/// instead of the path, because the worker can't open files of the host later. Must be called while
/// the process has a single thread.
fn open_softgpu_memory() -> io::Result<()> {
    let Some(path) = std::env::var_os(SOFTGPU_MEMORY_FILE).map(PathBuf::from) else {
        return Ok(());
    };
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(|error| {
        io::Error::new(error.kind(), format!("cannot open {}: {error}", path.display()))
    })?;
    // SAFETY: no other thread exists that could read the environment now.
    unsafe { std::env::set_var(SOFTGPU_MEMORY_FILE, format!("fd:{}", file.into_raw_fd())) };
    Ok(())
}

/// The highest value of `/proc/PID/oom_score_adj`. The kernel kills processes with a higher value
/// first.
const OOM_SCORE_MAX: &str = "1000";

/// Makes the kernel kill this worker before other processes if the host runs out of memory, because
/// a guest decides how much memory its worker uses. A compromised worker can't undo this: if the
/// worker has CAP_SYS_RESOURCE now, the kernel lets only processes with that capability lower the
/// value again.
pub(super) fn be_killed_first_without_memory() {
    if let Err(error) = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE_MAX) {
        tracing::warn!("the kernel may kill other processes before this worker: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_becomes_only_a_user_of_a_vm() {
        let users = ["100-199", "500-500"].map(|text| text.parse().unwrap()).to_vec();
        let (jail, uid, devices) = (false, None, Vec::new());
        let jail = Jail { jail, devices, shared_fd: None, cache_fd: None, uid, users };
        for uid in [None, Some(0), Some(99), Some(200), Some(u32::MAX)] {
            let error = jail.join_later(uid).unwrap_err().to_string();
            assert!(error.contains("can't become the user"), "{error}");
        }
        for text in ["", "5", "5-", "-5", "a-b", "1-2-3"] {
            assert!(text.parse::<Users>().is_err(), "{text}");
        }
    }
}
