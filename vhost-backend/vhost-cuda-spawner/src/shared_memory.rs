//! The memory that the processes of one VM share.
//!
//! Driver libraries share memory between processes through files in /dev/shm. In the jail of a
//! worker, that is a file system of its VM, so that workers of other VMs can't reach the files, and
//! none of them outlive the VM. A worker decides what is in there, so this process never looks: it
//! has the kernel drop the whole file system, whose limits bound how long that takes.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use crate::mounts::{Mount, Mounts};
use crate::tmpfs::{self, Limits};

/// The number of files and directories of a VM. NVIDIA's driver library has a few for each process.
const INODES: u32 = 1 << 16;
/// The limits of the file system that a worker has in /dev/shm before it has a VM.
const WITHOUT_VM: Limits = Limits { size: Some(1 << 24), inodes: 1024 };

/// A VM's file system. It's created when a process needs it.
pub(crate) struct VmSharedMemory {
    mounts: Mounts,
    /// The user of the VM's processes.
    uid: Option<u32>,
    /// The limit in bytes, that of the memory of the VM's cgroup. The kernel charges files there to
    /// the cgroup of the process that writes them.
    size: Option<u64>,
    mount: Option<Mount>,
}

/// What is mounted at /dev/shm in the jail of a worker that has no VM yet. It's a mount in the
/// worker's mount namespace, once the worker has put it there.
pub(crate) struct Place(OwnedFd);

impl VmSharedMemory {
    pub(crate) fn new(mounts: Mounts, uid: Option<u32>, size: Option<u64>) -> Self {
        Self { mounts, uid, size, mount: None }
    }

    fn mount(&mut self) -> io::Result<&Mount> {
        Ok(match &mut self.mount {
            Some(mount) => mount,
            none => {
                let limits = Limits { size: self.size, inodes: INODES };
                none.insert(self.mounts.add(tmpfs::create(self.uid, c"0700", &limits)?)?)
            }
        })
    }

    /// Returns a mount for a process that is about to be started.
    pub(crate) fn for_process(&mut self) -> io::Result<OwnedFd> {
        self.mount()?.duplicate()
    }

    /// Gives it to a running process that has no VM yet.
    pub(crate) fn give(&mut self, pid: u32, place: Place) -> io::Result<()> {
        let namespace = File::open(format!("/proc/{pid}/ns/mnt"))?;
        self.mount()?.add_over(place.0, namespace)
    }

    /// Changes the limit.
    pub(crate) fn resize(&mut self, size: u64) -> io::Result<()> {
        self.size = Some(size);
        self.mount.as_ref().map_or(Ok(()), |mount| mount.resize(size))
    }

    /// Drops everything that the VM's processes have left.
    pub(crate) fn clear(&mut self) {
        self.mount = None;
    }
}

impl Place {
    /// Creates what is mounted, and returns it a second time, for the worker.
    pub(crate) fn create() -> io::Result<(Self, OwnedFd)> {
        let mount = tmpfs::create(None, c"0755", &WITHOUT_VM)?;
        Ok((Self(mount.try_clone()?), mount))
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::fd::{AsFd, AsRawFd, RawFd};
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;
    use std::sync::mpsc::channel;

    use host_ipc::process::is_root;
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    use rustix::mount::{MountPropagationFlags, MoveMountFlags, mount_change, move_mount};
    use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};

    use super::*;

    /// The user of the VM, which is among the options of its mount.
    const UID: u32 = 0x7e00_abcd;
    const MIB: u64 = 1 << 20;

    /// Returns a VM's shared memory, unless this isn't root, which can't mount anything.
    fn memory(size: u64) -> Option<VmSharedMemory> {
        if !is_root() {
            eprintln!("skipped: not root");
            return None;
        }
        Some(VmSharedMemory::new(Mounts::create().unwrap(), Some(UID), Some(size)))
    }

    /// Returns the path of a file in a mount.
    fn within(mount: &impl AsRawFd, name: &str) -> PathBuf {
        let fd: RawFd = mount.as_raw_fd();
        PathBuf::from(format!("/proc/self/fd/{fd}/{name}"))
    }

    fn count(mount: &OwnedFd) -> usize {
        within(mount, ".").read_dir().unwrap().count()
    }

    #[test]
    fn a_vm_has_as_many_bytes_and_files_as_its_limits_say() {
        let Some(mut memory) = memory(MIB) else { return };
        let mount = memory.for_process().unwrap();
        let root = within(&mount, ".").metadata().unwrap();
        assert_eq!((root.uid(), root.gid(), root.mode() & 0o7777), (UID, UID, 0o700));
        let flags = rustix::fs::fstatvfs(&mount).unwrap().f_flag;
        use rustix::fs::StatVfsMountFlags as Flags;
        assert!(flags.contains(Flags::NOSUID | Flags::NODEV | Flags::NOEXEC), "{flags:?}");
        let write = |size: u64| std::fs::write(within(&mount, "file"), vec![1; size as usize]);
        write(MIB).unwrap();
        assert_eq!(write(2 * MIB).unwrap_err().kind(), ErrorKind::StorageFull);
        memory.resize(2 * MIB).unwrap();
        write(2 * MIB).unwrap();
        // There is more in it.
        assert!(memory.resize(MIB).is_err());
        let files = (0..100_000).map(|file| File::create(within(&mount, &file.to_string())));
        let error = files.filter_map(Result::err).next().unwrap();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(count(&mount) < INODES as usize);
    }

    #[test]
    fn files_are_dropped_however_deep_they_are_and_only_once_nobody_uses_them() {
        let Some(mut memory) = memory(64 * MIB) else { return };
        let mount = memory.for_process().unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = mount.try_clone().unwrap();
        for _ in 0..60_000 {
            mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = openat(&at, "d", flags, Mode::empty()).unwrap();
        }
        memory.clear();
        let next = memory.for_process().unwrap();
        assert_eq!((count(&next), count(&mount)), (0, 1));
        std::fs::write(within(&next, "file"), "shared").unwrap();
        assert_eq!(count(&memory.for_process().unwrap()), 1, "all processes share it");
    }

    /// Returns the number of mounts of VMs that this thread sees.
    fn visible() -> usize {
        let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        mounts.lines().filter(|line| line.contains(&format!("uid={UID}"))).count()
    }

    #[test]
    fn no_path_on_the_host_leads_there() {
        let Some(mut memory) = memory(MIB) else { return };
        let _mount = memory.for_process().unwrap();
        assert_eq!(visible(), 0);
    }

    /// Calls a function with the thread ID of a thread that has put a mount in its own mount
    /// namespace, and returns what is in there afterwards, and
    /// the number of mounts of VMs in the namespace.
    fn in_another_namespace(mount: OwnedFd, call: impl FnOnce(u32)) -> (Vec<String>, usize) {
        let ((there, is_there), (done, is_done)) = (channel(), channel());
        let worker = std::thread::spawn(move || {
            // SAFETY: the flags don't include FILES.
            unsafe { unshare_unsafe(UnshareFlags::NEWNS).unwrap() };
            let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            mount_change("/", private).unwrap();
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            move_mount(mount.as_fd(), "", CWD, "/tmp", flags).unwrap();
            there.send(gettid()).unwrap();
            is_done.recv().unwrap();
            let entries = PathBuf::from("/tmp").read_dir().unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            (names.collect(), visible())
        });
        let pid = is_there.recv().unwrap().as_raw_nonzero().get().unsigned_abs();
        call(pid);
        done.send(()).unwrap();
        worker.join().unwrap()
    }

    #[test]
    fn a_running_worker_gets_its_vms_memory_only_in_its_own_place() {
        let Some(mut memory) = memory(MIB) else { return };
        let mount = memory.for_process().unwrap();
        std::fs::write(within(&mount, "file"), "shared").unwrap();
        let (place, theirs) = Place::create().unwrap();
        let found = in_another_namespace(theirs, |pid| memory.give(pid, place).unwrap());
        assert_eq!(found, (vec!["file".to_owned()], 1));
        // A worker that hasn't entered its jail yet, whose /dev/shm is the host's. Since Linux 6.15,
        // its place gets the memory anyway, but the host doesn't.
        let (place, _theirs) = Place::create().unwrap();
        let _ = memory.give(std::process::id(), place);
        assert_eq!(visible(), 0);
        // Another worker's place.
        let (place, theirs) = Place::create().unwrap();
        let found = in_another_namespace(theirs, |_| {
            assert!(memory.give(std::process::id(), place).is_err());
        });
        assert_eq!(found, (Vec::new(), 0));
        // After an error, the thread for mounts is in its own namespace.
        assert_eq!(count(&memory.for_process().unwrap()), 1);
    }
}
