//! Mounts that aren't reachable by any path on the host.
//!
//! The kernel duplicates a mount only in the mount namespace that contains it (before Linux 6.15),
//! and adds a mount to another namespace only for a thread that is in that namespace. So a thread
//! of this process has a mount namespace that contains only these mounts, and temporarily enters
//! other namespaces to add mounts there. This process's other threads stay in the host's mount
//! namespace. When this process ends, even if it's killed, the kernel removes the namespace with
//! all its mounts.
//!
//! The thread also has its own table of descriptors. If it shared the table of the process's other
//! threads, then after a SIGKILL the VMs' sockets could stay open until this thread has exited. The
//! device processes would already have exited by then, because they exit with the thread that
//! started them.

use std::collections::HashMap;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use host_ipc::apart::Apart;
use host_ipc::missing::Feature;
use host_ipc::seqpacket;
use rustix::fs::CWD;
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use serde::{Deserialize, Serialize};

use crate::tmpfs::{self, Limits};

/// The mount namespace that this thread is in when the path is opened.
const OWN: &str = "/proc/thread-self/ns/mnt";
/// Where the thread mounts the file system that then becomes its root. Every host has this
/// directory, and other threads and processes don't see the mount.
const NEW: &str = "/tmp";
/// The limits of the thread's root file system, which contains a directory for each mount.
const ROOT: Limits = Limits { size: Some(1 << 20), inodes: 16 * 1024 };
/// The number of the socket in the thread's table of descriptors, after the standard streams.
const SOCKET: RawFd = 3;

/// A request to the thread. The first field of each variant is the number of a mount.
#[derive(Serialize, Deserialize)]
enum Request {
    /// Add the mount of a new file system. The request carries the mount's descriptor.
    Add(u64),
    /// Return another mount of the file system, which isn't in a mount namespace yet.
    Duplicate(u64),
    /// Mount the file system over a mount in another mount namespace. The request carries the
    /// descriptors of that mount and of the namespace.
    AddOver(u64),
    /// Change the size limit of the file system.
    Resize(u64, u64),
    /// Remove the mount. The thread doesn't answer this request.
    Remove(u64),
}

/// The error number if the request failed.
type Answer = Option<i32>;

/// A handle of the mount namespace. When the last copy is dropped, the thread exits, and the kernel
/// removes the namespace.
#[derive(Clone)]
pub(crate) struct Mounts(Arc<Mutex<Client>>);

/// The end of the socket that the rest of this process uses to send requests to the thread.
struct Client {
    socket: OwnedFd,
    /// The number that the next mount will get.
    next: u64,
}

/// The state of the thread that has the mount namespace.
struct Place {
    /// The thread's own mount namespace.
    own: File,
    /// Whether the thread is in another mount namespace.
    is_away: bool,
    mounts: HashMap<u64, OwnedFd>,
    closer: Sender<Apart>,
}

/// A mount in the thread's namespace. Dropping it removes the mount. The kernel frees the file
/// system once no process uses it.
pub(crate) struct Mount {
    number: u64,
    mounts: Mounts,
}

impl Mounts {
    /// Creates the namespace. On an error, also returns the feature of the host that failed.
    pub(crate) fn create() -> Result<Self, (Feature, io::Error)> {
        let mounts = |error| (Feature::Mounts, error);
        let (socket, theirs) = seqpacket::pair().map_err(mounts)?;
        let (result, started) = channel();
        let number = theirs.as_raw_fd();
        let thread = std::thread::Builder::new().name("mounts".into()).spawn(move || {
            let entered = separate_descriptors(number).map_err(|error| (Feature::Mounts, error));
            let entered = entered.and_then(|socket| Ok((Place::enter()?, socket)));
            match entered {
                Ok((place, socket)) => {
                    let _ = result.send(Ok(()));
                    place.serve(&socket);
                }
                Err(error) => drop(result.send(Err(error))),
            }
        });
        thread.map_err(mounts)?;
        let started = started.recv().map_err(|_| mounts(ended()));
        // The thread has its own copy of this end by now.
        drop(theirs);
        started??;
        Ok(Self(Arc::new(Mutex::new(Client { socket, next: 0 }))))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Client) -> io::Result<T>) -> io::Result<T> {
        let mut client = self.0.lock().map_err(|_| ended())?;
        work(&mut client)
    }

    /// Sends a request to the thread, and waits for the result. Each request takes a short time,
    /// regardless of the contents of the file systems.
    fn call(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> io::Result<Vec<OwnedFd>> {
        self.with(|client| client.call(request, fds))
    }

    /// Adds the mount of a new file system.
    pub(crate) fn add(&self, fd: OwnedFd) -> io::Result<Mount> {
        let number = self.with(|client| {
            let number = client.next;
            client.next += 1;
            client.call(&Request::Add(number), &[fd.as_fd()])?;
            Ok(number)
        })?;
        Ok(Mount { number, mounts: self.clone() })
    }
}

impl Client {
    fn send(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        seqpacket::send(&self.socket, request, fds)
    }

    fn call(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> io::Result<Vec<OwnedFd>> {
        self.send(request, fds)?;
        let (error, fds) = seqpacket::receive::<Answer>(&self.socket)?.ok_or_else(ended)?;
        error.map_or(Ok(fds), |error| Err(io::Error::from_raw_os_error(error)))
    }
}

/// Gives this thread its own table of descriptors, which contains only the standard streams and the
/// given socket. Returns the socket's new descriptor.
fn separate_descriptors(socket: RawFd) -> io::Result<OwnedFd> {
    let check = |result| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: the thread has just been started, so no code on it owns a descriptor of the old
    // table. From here on, the thread uses only descriptors that it opens in the new table, and the
    // copy of the socket.
    unsafe { unshare_unsafe(UnshareFlags::FILES)? };
    if socket != SOCKET {
        // SAFETY: the call may close a descriptor in this thread's table. Its owner is on another
        // thread, in whose table the descriptor stays open.
        check(unsafe { libc::dup3(socket, SOCKET, libc::O_CLOEXEC) })?;
    }
    // SAFETY: the owners of these descriptors are on other threads, in whose table the descriptors
    // stay open.
    check(unsafe { libc::close_range(SOCKET as u32 + 1, u32::MAX, 0) })?;
    // SAFETY: the descriptor is open in this thread's table, and no other value on this thread owns
    // it.
    Ok(unsafe { OwnedFd::from_raw_fd(SOCKET) })
}

fn ended() -> io::Error {
    io::Error::other("the thread for mounts has ended")
}

impl Mount {
    /// Returns another mount of the file system, which isn't in a mount namespace yet.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        let fds = self.mounts.call(&Request::Duplicate(self.number), &[])?;
        fds.into_iter().next().ok_or_else(ended)
    }

    /// Mounts the file system over `over`, a mount in the mount namespace `theirs`. Fails if `over`
    /// isn't in that namespace.
    pub(crate) fn add_over(&self, over: OwnedFd, theirs: File) -> io::Result<()> {
        let fds = [over.as_fd(), theirs.as_fd()];
        self.mounts.call(&Request::AddOver(self.number), &fds).map(drop)
    }

    /// Changes the size limit of the file system.
    pub(crate) fn resize(&self, size: u64) -> io::Result<()> {
        self.mounts.call(&Request::Resize(self.number, size), &[]).map(drop)
    }
}

impl Drop for Mount {
    /// Removes the mount without waiting for the thread.
    fn drop(&mut self) {
        // Ignore errors: the request fails only if the thread has exited, and the kernel has then
        // removed the mount.
        let _ = self.mounts.with(|client| client.send(&Request::Remove(self.number), &[]));
    }
}

impl Place {
    /// Moves this thread to a mount namespace that contains only an empty root file system.
    fn enter() -> Result<Self, (Feature, io::Error)> {
        let namespaces = |error: io::Error| (Feature::Namespaces, error);
        let (closer, unused) = channel::<Apart>();
        // The thread that closes unused mounts must not share its root directory with this thread,
        // because the kernel doesn't let a thread that shares its root directory enter another
        // mount namespace. So start it before this thread unshares its root directory.
        std::thread::Builder::new()
            .name("unused-mounts".into())
            .spawn(move || unused.into_iter().for_each(drop))
            .map_err(|error| (Feature::Mounts, error))?;
        // SAFETY: the flags don't include FILES, so the table of descriptors stays the same. NEWNS
        // also unshares this thread's root and working directories, on which no other thread's code
        // relies.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(|error| namespaces(error.into()))?;
        let own = Self::move_to_new_root().map_err(|error| (Feature::Mounts, error))?;
        let mut place = Self { own, is_away: false, mounts: HashMap::new(), closer };
        // Test now whether this thread may enter a mount namespace. Without this test, an error
        // would first appear when a worker waits for its mounts.
        let own = place.own.try_clone().map_err(namespaces)?;
        place.visit(own.as_fd(), || Ok(())).map_err(namespaces)?;
        Ok(place)
    }

    /// Handles requests until the other end of the socket is closed.
    fn serve(mut self, socket: &OwnedFd) {
        // Stop if the thread couldn't return to its own namespace, because it must not perform
        // requests in another process's namespace.
        while !self.is_away
            && let Ok(Some((request, fds))) = seqpacket::receive::<Request>(socket)
        {
            let done = match request {
                Request::Remove(number) => {
                    self.remove(number);
                    continue;
                }
                Request::Add(number) => self.add(number, fds).map(|()| None),
                Request::Duplicate(number) => self.mount(number).and_then(duplicate).map(Some),
                Request::AddOver(number) => self.add_over(number, fds).map(|()| None),
                Request::Resize(number, size) => {
                    self.mount(number).and_then(|mount| tmpfs::resize(mount, size)).map(|()| None)
                }
            };
            let error = done.as_ref().err().map(|error| error.raw_os_error().unwrap_or(libc::EIO));
            let fd = done.ok().flatten();
            let fd = fd.as_ref().map(OwnedFd::as_fd);
            if seqpacket::send(socket, &error, fd.as_slice()).is_err() {
                return;
            }
        }
    }

    /// Makes a new file system the root directory of this thread, and the only mount in its
    /// namespace. Returns the namespace.
    fn move_to_new_root() -> io::Result<File> {
        let own = File::open(OWN)?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        move_to(&tmpfs::create(None, c"0700", &ROOT)?, CWD, NEW)?;
        chdir(NEW)?;
        // pivot_root with the same directory twice mounts the old root over the new one (see
        // pivot_root(2)). The next call unmounts the old root.
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        Ok(own)
    }

    /// Calls a function in another mount namespace.
    fn visit<T>(
        &mut self,
        theirs: BorrowedFd<'_>,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let move_into =
            |namespace| move_into_link_name_space(namespace, Some(LinkNameSpaceType::Mount));
        move_into(theirs)?;
        self.is_away = true;
        let done = work();
        move_into(self.own.as_fd())?;
        self.is_away = false;
        done
    }

    fn mount(&self, number: u64) -> io::Result<&OwnedFd> {
        self.mounts.get(&number).ok_or(io::ErrorKind::NotFound.into())
    }

    fn add(&mut self, number: u64, fds: Vec<OwnedFd>) -> io::Result<()> {
        let [fd] = expect(fds)?;
        let path = path(number);
        DirBuilder::new().mode(0o700).create(&path)?;
        move_to(&fd, CWD, &path).inspect_err(|_| drop(std::fs::remove_dir(&path)))?;
        self.mounts.insert(number, fd);
        Ok(())
    }

    fn add_over(&mut self, number: u64, fds: Vec<OwnedFd>) -> io::Result<()> {
        let [over, theirs] = expect(fds)?;
        let mount = duplicate(self.mount(number)?)?;
        self.visit(theirs.as_fd(), || move_to(&mount, &over, ""))
    }

    /// Removes a mount. The kernel frees the file system in the thread that closes its last
    /// descriptor, which can take long. So another thread closes the descriptor.
    fn remove(&mut self, number: u64) {
        let path = path(number);
        if let Err(error) = unmount(&path, UnmountFlags::DETACH) {
            tracing::error!("cannot unmount a VM's shared memory: {error}");
        }
        let _ = std::fs::remove_dir(path);
        self.mounts.remove(&number).and_then(|fd| self.closer.send(fd.into()).ok());
    }
}

fn path(number: u64) -> PathBuf {
    PathBuf::from(format!("/{number}"))
}

fn expect<const N: usize>(fds: Vec<OwnedFd>) -> io::Result<[OwnedFd; N]> {
    fds.try_into().map_err(|_| io::ErrorKind::InvalidInput.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The module's documentation explains why these threads must not have copies of the process's
    /// descriptors.
    #[test]
    fn the_threads_have_no_descriptor_of_this_process() {
        if !host_ipc::process::is_root() {
            eprintln!("skipped: not root");
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let mounts = Mounts::create().unwrap();
        let limits = Limits { size: Some(1 << 20), inodes: 1 };
        let mount = mounts.add(tmpfs::create(None, c"0700", &limits).unwrap()).unwrap();
        let _later = file.reopen().unwrap();
        mount.duplicate().unwrap();
        let mut checked = 0;
        for task in Path::new("/proc/self/task").read_dir().unwrap().map(Result::unwrap) {
            let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if !["mounts", "unused-mounts"].contains(&name.trim()) {
                continue;
            }
            // A thread of a test that runs at the same time may have exited.
            let Ok(fds) = task.path().join("fd").read_dir() else { continue };
            let is_file = |fd: PathBuf| fd.read_link().is_ok_and(|to| to == file.path());
            assert!(!fds.map_while(Result::ok).any(|fd| is_file(fd.path())), "{name}");
            checked += 1;
        }
        // There may be more than two, because tests that run at the same time also start such
        // threads.
        assert!(checked >= 2);
    }
}
