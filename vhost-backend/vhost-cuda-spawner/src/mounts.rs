//! Mounts that no path on the host leads to.
//!
//! The kernel duplicates a mount only in the mount namespace that contains it (before Linux 6.15),
//! and adds one to another namespace only for a thread that is in there. So a thread has a mount
//! namespace that contains nothing but these mounts, and enters others to add to them. The rest of
//! this process stays in the host's. When this process ends, even if it's killed, the kernel removes
//! the namespace with all its mounts.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use host_ipc::apart::Apart;
use host_ipc::missing::Feature;
use rustix::fs::CWD;
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::tmpfs::{self, Limits};

/// The thread's mount namespace, while it is in it.
const OWN: &str = "/proc/thread-self/ns/mnt";
/// Where the thread first mounts the file system that becomes its root. Every host has this
/// directory, and nobody else sees the mount.
const NEW: &str = "/tmp";
/// The limits of that file system, which contains a directory for each mount.
const ROOT: Limits = Limits { size: Some(1 << 20), inodes: 16 * 1024 };

/// Work for the thread.
type Job = Box<dyn FnOnce(&mut Place) + Send>;

/// The mount namespace. Dropping the last copy ends it.
#[derive(Clone)]
pub(crate) struct Mounts(Sender<Job>);

/// The thread's place.
struct Place {
    /// Its mount namespace.
    own: File,
    /// Whether it's in another one.
    is_away: bool,
    /// The number that names the next mount's directory.
    next: u64,
    /// A thread that closes descriptors. A thread that this one starts would share its root directory,
    /// and then it couldn't enter another namespace.
    closer: Sender<Apart>,
}

/// A mount in the namespace. Dropping it removes it. Its file system ends once no process uses it.
pub(crate) struct Mount {
    /// Refers to the mount. Only the drop takes it.
    fd: Option<OwnedFd>,
    path: PathBuf,
    mounts: Mounts,
}

impl Mounts {
    /// Creates the namespace. If that fails, also returns which feature of the host was used.
    pub(crate) fn create() -> Result<Self, (Feature, io::Error)> {
        let mounts = |error| (Feature::Mounts, error);
        let (jobs, inbox) = channel::<Job>();
        let (result, started) = channel();
        let (closer, unused) = channel();
        std::thread::Builder::new()
            .name("unused-mounts".into())
            .spawn(move || unused.into_iter().for_each(drop))
            .map_err(mounts)?;
        let thread = std::thread::Builder::new().name("mounts".into()).spawn(move || {
            let mut place = match Place::enter(closer) {
                Ok(place) => place,
                Err(error) => return drop(result.send(Err(error))),
            };
            let _ = result.send(Ok(()));
            // If the thread can't return, it must do nothing in another process's namespace.
            while !place.is_away
                && let Ok(job) = inbox.recv()
            {
                job(&mut place);
            }
        });
        thread.map_err(mounts)?;
        started.recv().map_err(|_| mounts(ended()))??;
        Ok(Self(jobs))
    }

    /// Has the thread do something, and waits for the result. All of it takes a short time, whatever
    /// is in the file systems.
    fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Place) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let (done, result) = channel();
        let job: Job = Box::new(move |place| drop(done.send(work(place))));
        self.0.send(job).map_err(|_| ended())?;
        result.recv().map_err(|_| ended())?
    }

    /// Adds the mount of a new file system.
    pub(crate) fn add(&self, fd: OwnedFd) -> io::Result<Mount> {
        let copy = fd.try_clone()?;
        let path = self.call(move |place| place.add(&copy))?;
        Ok(Mount { fd: Some(fd), path, mounts: self.clone() })
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread for mounts has ended")
}

impl Mount {
    fn fd(&self) -> io::Result<OwnedFd> {
        self.fd.as_ref().ok_or_else(ended)?.try_clone()
    }

    /// Returns another mount of the file system, which isn't in a namespace yet.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        let fd = self.fd()?;
        self.mounts.call(move |_| duplicate(&fd))
    }

    /// Mounts the file system over `over`, a mount in the mount namespace `theirs`. Fails if it isn't
    /// in that one.
    pub(crate) fn add_over(&self, over: OwnedFd, theirs: File) -> io::Result<()> {
        let fd = self.fd()?;
        self.mounts.call(move |place| {
            let mount = duplicate(&fd)?;
            place.visit(&theirs, || move_to(&mount, &over, ""))
        })
    }

    /// Changes the size limit of the file system.
    pub(crate) fn resize(&self, size: u64) -> io::Result<()> {
        tmpfs::resize(&self.fd()?, size)
    }
}

impl Drop for Mount {
    /// Removes the mount without waiting for that. Whoever closes the last descriptor has the kernel
    /// free all files, which can take long, so another thread closes this one.
    fn drop(&mut self) {
        let (fd, path) = (self.fd.take().map(Apart::from), std::mem::take(&mut self.path));
        // If the thread has ended, so has the mount.
        let _ = self.mounts.0.send(Box::new(move |place| {
            if let Err(error) = unmount(&path, UnmountFlags::DETACH) {
                tracing::error!("cannot unmount a VM's shared memory: {error}");
            }
            let _ = std::fs::remove_dir(path);
            fd.and_then(|fd| place.closer.send(fd).ok());
        }));
    }
}

impl Place {
    /// Moves this thread to a mount namespace with nothing in it.
    fn enter(closer: Sender<Apart>) -> Result<Self, (Feature, io::Error)> {
        let namespaces = |error: io::Error| (Feature::Namespaces, error);
        // SAFETY: the flags don't include FILES, so the table of descriptors stays shared. The root
        // and the working directory are this thread's own from now on.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(|error| namespaces(error.into()))?;
        let own = Self::move_to_new_root().map_err(|error| (Feature::Mounts, error))?;
        let mut place = Self { own, is_away: false, next: 0, closer };
        // Check now whether this thread may enter a namespace, not only when a worker waits.
        let own = place.own.try_clone().map_err(namespaces)?;
        place.visit(&own, || Ok(())).map_err(namespaces)?;
        Ok(place)
    }

    /// Makes a new file system the root directory of this thread, and the only mount in its namespace,
    /// which is returned.
    fn move_to_new_root() -> io::Result<File> {
        let own = File::open(OWN)?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        move_to(&tmpfs::create(None, c"0700", &ROOT)?, CWD, NEW)?;
        chdir(NEW)?;
        // This mounts the old root over the new one.
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        Ok(own)
    }

    /// Calls a function in another mount namespace.
    fn visit<T>(&mut self, theirs: &File, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let move_into =
            |namespace| move_into_link_name_space(namespace, Some(LinkNameSpaceType::Mount));
        move_into(theirs.as_fd())?;
        self.is_away = true;
        let done = work();
        move_into(self.own.as_fd())?;
        self.is_away = false;
        done
    }

    fn add(&mut self, fd: &OwnedFd) -> io::Result<PathBuf> {
        let path = PathBuf::from(format!("/{}", self.next));
        self.next += 1;
        DirBuilder::new().mode(0o700).create(&path)?;
        move_to(fd, CWD, &path).inspect_err(|_| drop(std::fs::remove_dir(&path)))?;
        Ok(path)
    }
}

fn duplicate(fd: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(fd, c"", flags)?)
}

/// Mounts a mount that isn't in a namespace yet at a path, or, if that is empty, over a mount.
fn move_to(mount: &OwnedFd, over: impl AsFd, path: impl AsRef<Path>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(mount, c"", over, path.as_ref(), flags)?)
}
