//! The directories for memory that the processes of one VM share.
//!
//! Driver libraries share memory between processes through files in /dev/shm. In the jail of a
//! worker, that is a directory of its VM, so that workers of other VMs can't reach the files, and
//! none of them outlive the VM.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use host_ipc::spawner::directory_of;

/// A tmpfs. What is in the directories is charged to the cgroup of the process that wrote it.
const PARENT: &str = "/dev/shm";
const PREFIX: &str = "virtio-cuda-";
/// A file in each spawner's directory that is locked as long as the spawner runs.
const LOCK: &str = "lock";

/// The directory that contains the VMs' directories. Dropping it removes it.
pub(crate) struct SharedMemory {
    path: PathBuf,
    lock: File,
}

/// A VM's directory. Dropping it removes it.
pub(crate) struct VmSharedMemory(PathBuf);

impl SharedMemory {
    /// Creates the directory, and removes those of spawners that were killed. `id` is the number in
    /// its name.
    pub(crate) fn create(id: u32) -> io::Result<Self> {
        remove_stale(Path::new(PARENT));
        let path = Path::new(PARENT).join(format!("{PREFIX}{id}"));
        // Another spawner that starts now removes directories that aren't locked, so this one gets its
        // name once it is.
        let new = Path::new(PARENT).join(format!("new-{PREFIX}{id}"));
        DirBuilder::new().mode(0o700).create(&new)?;
        let mut made = Self { lock: File::create(new.join(LOCK))?, path: new };
        made.lock.try_lock()?;
        // Processes can enter a directory whose name they know.
        std::fs::set_permissions(&made.path, std::fs::Permissions::from_mode(0o711))?;
        std::fs::rename(&made.path, &path)?;
        made.path = path;
        Ok(made)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the directory of a VM whose processes run as this user.
    pub(crate) fn add(&self, vm: &str, uid: Option<u32>) -> io::Result<VmSharedMemory> {
        let path = self.path.join(directory_of(vm));
        DirBuilder::new().mode(0o700).create(&path)?;
        let made = VmSharedMemory(path);
        chown(&made.0, uid, uid)?;
        Ok(made)
    }
}

impl VmSharedMemory {
    /// Removes all files that the VM's processes have left.
    pub(crate) fn clear(&self) {
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = if is_dir { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

/// Removes the directories of spawners that no longer run.
fn remove_stale(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Anyone can create files in the parent directory, but ours belong to root.
        let is_roots = entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == 0);
        if !(is_ours && is_roots) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl Drop for VmSharedMemory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_end_with_their_vm_and_directories_with_their_spawner() {
        let shared = SharedMemory::create(std::process::id()).unwrap();
        let (path, vm) = (shared.path().to_owned(), shared.add("a", None).unwrap());
        std::fs::create_dir_all(path.join("vm-a/folder/deeper")).unwrap();
        std::fs::write(path.join("vm-a/file"), "left").unwrap();
        vm.clear();
        assert_eq!(path.join("vm-a").read_dir().unwrap().count(), 0);
        std::fs::write(path.join("vm-a/file"), "left").unwrap();
        drop(vm);
        assert!(!path.join("vm-a").exists());
        // Another spawner that starts doesn't touch the directory of one that runs.
        remove_stale(Path::new(PARENT));
        assert!(path.exists());
        drop(shared);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_spawner_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join("virtio-cuda-1");
        std::fs::create_dir_all(left.join("vm-a")).unwrap();
        std::fs::write(left.join(LOCK), "").unwrap();
        let other = parent.path().join("other");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join(LOCK), "").unwrap();
        remove_stale(parent.path());
        // SAFETY: geteuid takes no arguments.
        let is_root = unsafe { libc::geteuid() } == 0;
        assert_eq!((left.exists(), other.exists()), (!is_root, true));
    }
}
