//! File systems in memory. They have no path until they are mounted.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, fsconfig_create, fsconfig_reconfigure,
    fsconfig_set_string, fsmount, fsopen, fspick,
};

/// The limits of a file system.
pub(crate) struct Limits {
    /// Maximum size, in bytes. `None` means half of the host's memory.
    pub(crate) size: Option<u64>,
    /// Maximum number of files and directories. It also limits the time that the kernel takes to
    /// free the file system, because it frees each file separately.
    pub(crate) inodes: u32,
}

/// Creates a file system whose root directory belongs to the user and group `owner`. The kernel
/// frees it when no mount and no descriptor refers to it.
pub(crate) fn create(owner: Option<u32>, mode: &CStr, limits: &Limits) -> io::Result<OwnedFd> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set = |key: &CStr, value: u64| fsconfig_set_string(&context, key, value.to_string());
    fsconfig_set_string(&context, c"mode", mode)?;
    set(c"nr_inodes", limits.inodes.into())?;
    limits.size.map_or(Ok(()), |size| set(c"size", size))?;
    if let Some(owner) = owner {
        set(c"uid", owner.into())?;
        set(c"gid", owner.into())?;
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Changes the size limit of a file system. Fails if the file system contains more than that.
pub(crate) fn resize(mount: &OwnedFd, size: u64) -> io::Result<()> {
    let flags = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_EMPTY_PATH;
    let context = fspick(mount, c"", flags)?;
    fsconfig_set_string(&context, c"size", size.to_string())?;
    Ok(fsconfig_reconfigure(&context)?)
}
