//! Files in memory that the processes of one VM share.
//!
//! Driver libraries share memory between processes through files in /dev/shm, and keep compiled
//! kernels in a cache. In a worker's jail, /dev/shm and the cache are two file systems of the
//! worker's VM, so workers of other VMs can't reach the files, and the files are removed with the
//! VM. Workers are untrusted and write these files, so this process never reads or walks them. It
//! makes the kernel free the whole file system. The file system's limits bound how long that takes.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use crate::mounts::{Mount, Mounts};
use crate::tmpfs::{self, Limits};

/// The number of files and directories that a VM can share. NVIDIA's driver library has a few for
/// each process.
const INODES: u32 = 1 << 16;
/// The limits of the file system for a VM's cache of compiled kernels.
const CACHE: Limits = Limits { size: Some(128 << 20), inodes: 1 << 14 };
/// The size above which driver libraries remove old entries from the cache.
pub(crate) const CACHE_MAXSIZE: u32 = 96 << 20;
/// The limits of each file system that a worker uses until it has a VM.
const WITHOUT_VM: Limits = Limits { size: Some(1 << 24), inodes: 1024 };

/// A value for each of the two file systems of a worker.
pub(crate) struct Each<T> {
    /// The value for the file system at /dev/shm.
    pub(crate) shared: T,
    /// The value for the file system of the cache of compiled kernels.
    pub(crate) cache: T,
}

/// A VM's file systems.
pub(crate) struct VmFiles(Each<FileSystem>);

/// One of a VM's file systems. It's created when a process needs it.
struct FileSystem {
    mounts: Mounts,
    /// The user of the VM's processes.
    uid: Option<u32>,
    limits: Limits,
    mount: Option<Mount>,
}

/// The mounts in the jail of a worker that has no VM yet. When the worker gets a VM, the VM's file
/// systems are mounted over these mounts. The mounts are in no mount namespace until the worker
/// adds them to its namespace.
pub(crate) struct Places(Each<OwnedFd>);

impl<T> Each<T> {
    fn try_map<'a, U>(
        &'a mut self,
        call: impl Fn(&'a mut T) -> io::Result<U>,
    ) -> io::Result<Each<U>> {
        Ok(Each { shared: call(&mut self.shared)?, cache: call(&mut self.cache)? })
    }
}

impl FileSystem {
    fn mount(&mut self) -> io::Result<&Mount> {
        Ok(match &mut self.mount {
            Some(mount) => mount,
            none => {
                let created = tmpfs::create(self.uid, c"0700", &self.limits)?;
                none.insert(self.mounts.add(created)?)
            }
        })
    }
}

impl VmFiles {
    /// Creates no file system yet. `memory`, the memory limit of the VM's cgroup in bytes, also
    /// limits the size of /dev/shm, because the kernel charges files in memory to the cgroup of the
    /// process that writes them.
    pub(crate) fn new(mounts: &Mounts, uid: Option<u32>, memory: Option<u64>) -> Self {
        let new = |limits| FileSystem { mounts: mounts.clone(), uid, limits, mount: None };
        let shared = Limits { size: memory, inodes: INODES };
        Self(Each { shared: new(shared), cache: new(CACHE) })
    }

    /// Returns mounts of the VM's file systems for a worker that is about to be started.
    pub(crate) fn for_process(&mut self) -> io::Result<Each<OwnedFd>> {
        self.0.try_map(|files| files.mount()?.duplicate())
    }

    /// Mounts the VM's file systems in the jail of a running worker that had no VM, over the mounts
    /// at `places`.
    pub(crate) fn give(&mut self, pid: u32, places: Places) -> io::Result<()> {
        let namespace = File::open(format!("/proc/{pid}/ns/mnt"))?;
        let Places(Each { shared, cache }) = places;
        self.0.shared.mount()?.add_over(shared, namespace.try_clone()?)?;
        self.0.cache.mount()?.add_over(cache, namespace)
    }

    /// Changes the size limit of /dev/shm to the new memory limit of the VM's cgroup.
    pub(crate) fn resize(&mut self, memory: u64) -> io::Result<()> {
        let shared = &mut self.0.shared;
        shared.limits.size = Some(memory);
        shared.mount.as_ref().map_or(Ok(()), |mount| mount.resize(memory))
    }

    /// Drops everything that the VM's processes have left in /dev/shm.
    pub(crate) fn clear_shared(&mut self) {
        self.0.shared.mount = None;
    }
}

impl Places {
    /// Creates mounts for a worker that has no VM yet, and returns a second descriptor of each,
    /// which the worker inherits.
    pub(crate) fn create() -> io::Result<(Self, Each<OwnedFd>)> {
        let create = || tmpfs::create(None, c"0755", &WITHOUT_VM);
        let mut mounts = Each { shared: create()?, cache: create()? };
        Ok((Self(mounts.try_map(|mount| mount.try_clone())?), mounts))
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

    /// The user ID of the test's VM. It appears in the mount options of the VM's file systems, so
    /// [`visible`] can find them.
    const UID: u32 = 0x7e00_abcd;
    const MIB: u64 = 1 << 20;

    /// Returns a VM's files. Returns `None` without root, because other users can't mount file
    /// systems.
    fn files(memory: u64) -> Option<VmFiles> {
        if !is_root() {
            eprintln!("skipped: not root");
            return None;
        }
        Some(VmFiles::new(&Mounts::create().unwrap(), Some(UID), Some(memory)))
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
        let Some(mut files) = files(MIB) else { return };
        let mount = files.for_process().unwrap().shared;
        let root = within(&mount, ".").metadata().unwrap();
        assert_eq!((root.uid(), root.gid(), root.mode() & 0o7777), (UID, UID, 0o700));
        let flags = rustix::fs::fstatvfs(&mount).unwrap().f_flag;
        use rustix::fs::StatVfsMountFlags as Flags;
        assert!(flags.contains(Flags::NOSUID | Flags::NODEV | Flags::NOEXEC), "{flags:?}");
        let write = |size: u64| std::fs::write(within(&mount, "file"), vec![1; size as usize]);
        write(MIB).unwrap();
        assert_eq!(write(2 * MIB).unwrap_err().kind(), ErrorKind::StorageFull);
        files.resize(2 * MIB).unwrap();
        write(2 * MIB).unwrap();
        // Reducing the limit fails, because the file is larger than 1 MiB.
        assert!(files.resize(MIB).is_err());
        let created = (0..100_000).map(|file| File::create(within(&mount, &file.to_string())));
        let error = created.filter_map(Result::err).next().unwrap();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(count(&mount) < INODES as usize);
    }

    #[test]
    fn files_are_dropped_however_deep_they_are_and_only_once_nobody_uses_them() {
        let Some(mut files) = files(64 * MIB) else { return };
        let mount = files.for_process().unwrap().shared;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = mount.try_clone().unwrap();
        for _ in 0..60_000 {
            mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = openat(&at, "d", flags, Mode::empty()).unwrap();
        }
        files.clear_shared();
        let next = files.for_process().unwrap().shared;
        assert_eq!((count(&next), count(&mount)), (0, 1));
        std::fs::write(within(&next, "file"), "shared").unwrap();
        assert_eq!(count(&files.for_process().unwrap().shared), 1, "all processes share it");
    }

    /// Returns the number of mounts of the VM's file systems in this thread's mount namespace.
    fn visible() -> usize {
        let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        mounts.lines().filter(|line| line.contains(&format!("uid={UID}"))).count()
    }

    #[test]
    fn no_path_on_the_host_leads_there() {
        let Some(mut files) = files(MIB) else { return };
        let _mounts = files.for_process().unwrap();
        assert_eq!(visible(), 0);
    }

    /// Starts a thread with its own mount namespace, which mounts `mounts` there, and calls `call`
    /// with the thread's ID. Returns the names of the files in these mounts after the call, and the
    /// number of the VM's mounts in that namespace.
    fn in_another_namespace(mounts: Each<OwnedFd>, call: impl FnOnce(u32)) -> (Vec<String>, usize) {
        let ((there, is_there), (done, is_done)) = (channel(), channel());
        let worker = std::thread::spawn(move || {
            // SAFETY: the flags don't include FILES, so the threads still share the table of
            // descriptors.
            unsafe { unshare_unsafe(UnshareFlags::NEWNS).unwrap() };
            let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            mount_change("/", private).unwrap();
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            let paths = ["/tmp", "/var"];
            for (mount, path) in [mounts.shared, mounts.cache].iter().zip(paths) {
                move_mount(mount.as_fd(), "", CWD, path, flags).unwrap();
            }
            there.send(gettid()).unwrap();
            is_done.recv().unwrap();
            let entries = paths.iter().flat_map(|path| PathBuf::from(path).read_dir().unwrap());
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            (names.collect(), visible())
        });
        let pid = is_there.recv().unwrap().as_raw_nonzero().get().unsigned_abs();
        call(pid);
        done.send(()).unwrap();
        worker.join().unwrap()
    }

    #[test]
    fn a_running_worker_gets_its_vms_files_only_in_its_own_places() {
        let Some(mut files) = files(MIB) else { return };
        let mounts = files.for_process().unwrap();
        std::fs::write(within(&mounts.shared, "shared"), "shared").unwrap();
        std::fs::write(within(&mounts.cache, "cached"), "cached").unwrap();
        let (places, theirs) = Places::create().unwrap();
        let found = in_another_namespace(theirs, |pid| files.give(pid, places).unwrap());
        assert_eq!(found, (vec!["shared".to_owned(), "cached".to_owned()], 2));
        // A worker that hasn't entered its jail yet is in the host's mount namespace, which this
        // process simulates. The mounts in `places` aren't in that namespace, so the VM's files
        // must not appear on the host. `give` fails before Linux 6.15, and succeeds from 6.15 on.
        let (places, _theirs) = Places::create().unwrap();
        let _ = files.give(std::process::id(), places);
        assert_eq!(visible(), 0);
        // Giving the process places that belong to another worker must fail.
        let (places, theirs) = Places::create().unwrap();
        let found = in_another_namespace(theirs, |_| {
            assert!(files.give(std::process::id(), places).is_err());
        });
        assert_eq!(found, (Vec::new(), 0));
        // After the error, the thread for mounts has returned to its own namespace, so it still
        // works.
        assert_eq!(count(&files.for_process().unwrap().shared), 1);
    }

    #[test]
    fn the_cache_is_limited_and_outlives_sessions_but_not_the_vm() {
        let Some(mut files) = files(MIB) else { return };
        let cache = files.for_process().unwrap().cache;
        let root = within(&cache, ".").metadata().unwrap();
        assert_eq!((root.uid(), root.gid(), root.mode() & 0o7777), (UID, UID, 0o700));
        let write = |size: u32| std::fs::write(within(&cache, "index"), vec![1; size as usize]);
        write(CACHE_MAXSIZE).unwrap();
        files.clear_shared();
        files.resize(2 * MIB).unwrap();
        assert_eq!(count(&files.for_process().unwrap().cache), 1);
        assert_eq!(write(2 * CACHE_MAXSIZE).unwrap_err().kind(), ErrorKind::StorageFull);
        drop(files);
        let Some(mut other) = self::files(MIB) else { return };
        assert_eq!(count(&other.for_process().unwrap().cache), 0);
    }
}
