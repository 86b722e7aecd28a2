//! A file system that contains only what a process needs.
//!
//! The process's root directory becomes a small tmpfs. Directories and devices of the host are
//! mounted in it at their usual paths, directories read-only. The process can't reach anything else
//! that belongs to the host: its root has been replaced, and the old one unmounted.

use std::ffi::CStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use host_ipc::missing::Feature;
use host_ipc::spawner::CODE_CACHE;
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MoveMountFlags, UnmountFlags, mount, mount_bind_recursive, mount_remount,
    move_mount, unmount,
};
use rustix::process::pivot_root;

use super::JailError;

/// Where the new root is mounted first. Every host has this directory, and since the mount
/// namespace is new, nobody else sees the mount.
const NEW: &str = "/tmp";
/// Where the host's root is mounted while the new root is built.
const OLD: &str = "/old";
/// The directory for the memory that a VM's processes share. It's a link to [`SHARED_MOUNT`].
const SHM: &str = "/dev/shm";
/// Where that memory is mounted.
const SHARED_MOUNT: &str = "/run/shared/vm";
/// The directory of that mount and of the one at [`CODE_CACHE`]. Landlock looks for rules of the directories above a mount, but not
/// for those of mounts that are hidden below it.
pub(crate) const SHARED: &str = "/run/shared";
/// The directory for temporary files.
pub(crate) const TEMPORARY: &str = "/tmp";
/// Devices of the host that any program may need.
pub(crate) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// The limits of the tmpfs, for temporary files. They are also limited by the VM's cgroup.
const LIMITS: &CStr = c"size=16m,nr_inodes=4096,mode=0755";

/// The contents of the file system.
#[derive(Debug, Default)]
pub struct Root {
    /// Files and directories of the host that can be read. Those that don't exist are left out.
    pub read_only: Vec<PathBuf>,
    /// Devices of the host, in addition to those that any program may need. Those that don't exist
    /// are left out.
    pub devices: Vec<PathBuf>,
    /// Whether to include the kernel's information about the host's devices.
    pub sysfs: bool,
    /// A mount for /dev/shm that isn't in a mount namespace yet. If the process has no VM yet, its
    /// parent later mounts the VM's shared memory over it.
    pub shared: Option<OwnedFd>,
    /// Such a mount for the VM's cache of compiled kernels.
    pub cache: Option<OwnedFd>,
}

/// Converts an error of an operation on a path. `what` names the operation.
fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JailError {
    JailError::at(what, path, None)
}

/// Converts an error of an operation on a mount, which hosts may forbid.
fn failed_mount(what: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> JailError {
    JailError::at(what, path, Feature::Mounts)
}

impl Root {
    /// Makes this the root directory of this process, and its working directory. Must be called in
    /// a mount namespace that only this process uses. If it fails, the process must exit.
    pub fn enter(&self) -> Result<(), JailError> {
        let new = Path::new(NEW);
        // Another user must be able to enter the directories that are created here.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        // Symbolic links must be resolved before the root changes.
        let read_only = resolve(&self.read_only);
        let devices: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        let devices = resolve(&[devices, self.devices.clone()].concat());
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("tmpfs", new, "tmpfs", flags, LIMITS)
            .map_err(failed_mount("mount a tmpfs at", new))?;
        let old = new.join(OLD.trim_start_matches('/'));
        std::fs::create_dir(&old).map_err(failed("create", &old))?;
        pivot_root(new, &old).map_err(failed_mount("change the root to", new))?;
        std::env::set_current_dir("/").map_err(failed("change to", Path::new("/")))?;
        let mut done: Vec<&Path> = Vec::new();
        let without_devices = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::RDONLY;
        for (real, path) in &read_only {
            // The contents of a mounted directory are already visible.
            if !done.iter().any(|other| path.starts_with(other)) {
                bind(real, path, without_devices)?;
                done.push(path);
            }
        }
        for (real, path) in &devices {
            // Read-only applies to the file that represents the device, such as its permissions,
            // and not to the device.
            bind(real, path, MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::RDONLY)?;
        }
        if let Some(shared) = &self.shared {
            put(shared, Path::new(SHARED_MOUNT))?;
            symlink(SHARED_MOUNT, SHM).map_err(failed("create", Path::new(SHM)))?;
        }
        if let Some(cache) = &self.cache {
            put(cache, Path::new(CODE_CACHE))?;
        }
        mount_processes(flags)?;
        if self.sysfs {
            mount_new("sysfs", "/sys", flags | MountFlags::RDONLY, None)?;
        }
        let temporary = Path::new(TEMPORARY);
        directory(temporary)?;
        std::fs::set_permissions(temporary, std::fs::Permissions::from_mode(0o1777))
            .map_err(failed("set the mode of", temporary))?;
        unmount(OLD, UnmountFlags::DETACH).map_err(failed_mount("unmount", Path::new(OLD)))?;
        std::fs::remove_dir(OLD).map_err(failed("remove", Path::new(OLD)))
    }
}

/// Mounts a file system of the VM.
fn put(mount: &OwnedFd, at: &Path) -> Result<(), JailError> {
    directory(at)?;
    move_mount(mount, c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(failed_mount("mount the VM's files at", at))
}

/// Returns the paths that exist, each after what it leads to, in an order in which a directory
/// comes before its contents.
fn resolve(paths: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    let mut all: Vec<(PathBuf, PathBuf)> = Vec::new();
    for path in paths {
        let Ok(real) = path.canonicalize() else { continue };
        all.push((real.clone(), path.clone()));
        all.push((real.clone(), real));
    }
    all.sort_by(|(_, one), (_, other)| one.cmp(other));
    all.dedup();
    all
}

/// Mounts a file or a directory of the host.
fn bind(real: &Path, path: &Path, flags: MountFlags) -> Result<(), JailError> {
    if path == Path::new("/") {
        // The path is /, for example if the driver library is in the host's root directory.
        return Err(failed("give a jail", path)(io::ErrorKind::InvalidInput.into()));
    }
    let source = Path::new(OLD).join(real.strip_prefix("/").unwrap_or(real));
    match source.is_dir() {
        true => directory(path)?,
        false => {
            path.parent().map_or(Ok(()), directory)?;
            File::create(path).map_err(failed("create", path))?;
        }
    }
    mount_bind_recursive(&source, path).map_err(failed_mount("mount", path))?;
    protect(path, flags)
}

/// Changes the flags of a mount, but not those of its file system.
fn protect(path: &Path, flags: MountFlags) -> Result<(), JailError> {
    mount_remount(path, flags | MountFlags::BIND, c"").map_err(failed_mount("protect", path))
}

/// Mounts a procfs, which shows only the processes in this process's PID namespace and, with the
/// option used here, only those of this process's user. It's read-only, because some files can be
/// written without privileges. Only the files about this process's threads can be written: NVIDIA's
/// driver library writes the names of its threads there, and doesn't start if it can't.
fn mount_processes(flags: MountFlags) -> Result<(), JailError> {
    mount_new("proc", "/proc", flags, Some(c"hidepid=2"))?;
    let threads = threads();
    mount_bind_recursive(&threads, &threads).map_err(failed_mount("mount", &threads))?;
    protect(Path::new("/proc"), flags | MountFlags::RDONLY)
}

/// Returns the directory that describes this process's threads.
pub(crate) fn threads() -> PathBuf {
    PathBuf::from(format!("/proc/{}/task", std::process::id()))
}

fn directory(path: &Path) -> Result<(), JailError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o755).create(path).map_err(failed("create", path))
}

/// Mounts a new file system of this kind.
fn mount_new(
    kind: &str,
    path: &str,
    flags: MountFlags,
    options: Option<&CStr>,
) -> Result<(), JailError> {
    let path = Path::new(path);
    directory(path)?;
    mount(kind, path, kind, flags, options).map_err(failed_mount("mount", path))
}
