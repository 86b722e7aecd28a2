//! A file system that contains only what a process needs.
//!
//! The process's root directory becomes a small tmpfs. Directories (read-only) and devices of the
//! host are mounted in it at their usual paths. The process can't reach any other file of the host,
//! because its root has been replaced, and the old root is unmounted.

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

/// Where the new root is mounted until it becomes the root. Every host has this directory. Other
/// processes don't see the mount, because the mount namespace is new.
const NEW: &str = "/tmp";
/// Where the host's root is mounted while the new root is built.
const OLD: &str = "/old";
/// The directory for the memory that a VM's processes share. It's a symbolic link to
/// [`SHARED_MOUNT`].
const SHM: &str = "/dev/shm";
/// Mount point of the memory that a VM's processes share.
const SHARED_MOUNT: &str = "/run/shared/vm";
/// The directory that contains the mount points [`SHARED_MOUNT`] and [`CODE_CACHE`]. The Landlock
/// rule is for this directory, because the spawner later mounts the VM's file systems over these
/// mounts: Landlock finds the rules of directories above a mount, but not the rules of a mount that
/// another one hides.
pub(crate) const SHARED: &str = "/run/shared";
/// The directory for temporary files.
pub(crate) const TEMPORARY: &str = "/tmp";
/// Devices of the host that any program may need.
pub(crate) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// The limits of the root's tmpfs, which contains temporary files. Its pages are also charged to
/// the VM's cgroup.
const LIMITS: &CStr = c"size=16m,nr_inodes=4096,mode=0755";

/// The contents of a jail's file system.
#[derive(Debug, Default)]
pub struct Root {
    /// Files and directories of the host that the process can read. Those that don't exist are left
    /// out.
    pub read_only: Vec<PathBuf>,
    /// Devices of the host, in addition to those that any program may need. Those that don't exist
    /// are left out.
    pub devices: Vec<PathBuf>,
    /// Whether to mount sysfs, the kernel's information about the host's devices, at /sys.
    pub sysfs: bool,
    /// A mount for /dev/shm that isn't in a mount namespace yet. If the process has no VM yet, the
    /// spawner later mounts the VM's shared memory over this mount.
    pub shared: Option<OwnedFd>,
    /// A mount for the VM's cache of compiled kernels, treated in the same way as `shared`.
    pub cache: Option<OwnedFd>,
}

/// Returns a function that converts an error of an operation on `path`. `what` names the operation.
fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JailError {
    JailError::at(what, path, None)
}

/// Returns a function that converts an error of an operation on a mount. The host may forbid such
/// operations.
fn failed_mount(what: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> JailError {
    JailError::at(what, path, Feature::Mounts)
}

impl Root {
    /// Makes this file system the root directory of this process, and its working directory. Must
    /// be called in a mount namespace that only this process uses. If it fails, the process must
    /// exit.
    pub fn enter(&self) -> Result<(), JailError> {
        let new = Path::new(NEW);
        // The process later switches to the VM's user, who must be able to enter the directories
        // created here.
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
            // Skip paths inside a directory that has already been mounted, because they are visible
            // there.
            if !done.iter().any(|other| path.starts_with(other)) {
                bind(real, path, without_devices)?;
                done.push(path);
            }
        }
        for (real, path) in &devices {
            // Read-only applies to the device node, such as its permissions, and not to the device
            // itself.
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

/// Mounts a detached mount of one of the VM's file systems at `at`.
fn put(mount: &OwnedFd, at: &Path) -> Result<(), JailError> {
    directory(at)?;
    move_mount(mount, c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(failed_mount("mount the VM's files at", at))
}

/// Returns a pair (real path, path) for each path that exists, and one for each real path itself,
/// in which both are the same. The real path has all symbolic links resolved. A directory comes
/// before its contents.
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

/// Mounts the host's file or directory `real` at `path`.
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

/// Changes the flags of a mount. The flags of the mounted file system, which the host also uses,
/// don't change.
fn protect(path: &Path, flags: MountFlags) -> Result<(), JailError> {
    mount_remount(path, flags | MountFlags::BIND, c"").map_err(failed_mount("protect", path))
}

/// Mounts a procfs. It shows only processes in this process's PID namespace and, because of the
/// mount option used here, only those of this process's user. It's read-only, because some of its
/// files can be written without privileges. Only the files about this process's threads can be
/// written: NVIDIA's driver library writes the names of its threads there, and fails to initialize
/// if it can't.
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

/// Mounts a new file system of the given type.
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
