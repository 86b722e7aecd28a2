//! The saved state: VMs added at run time, and changes to VMs in the configuration file.
//!
//! The state is one JSON file, which is replaced as a whole: a new file is written, synced, and
//! renamed, and then the directory is synced. A change that can't be saved is refused. The broker
//! locks the directory, so that no other broker uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use control_api::{VmPatch, VmSpec};
use host_ipc::user::User;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chownat, fchown, openat, renameat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The file format version that this program writes. It can't read newer versions.
const VERSION: u32 = 5;
const FILE: &str = "state.json";
const NEXT: &str = "state.json.next";
/// The file with the VMs' usage, whose contents `usage::file` defines.
pub(crate) const USAGE: &str = "usage.json";
const USAGE_NEXT: &str = "usage.json.next";
const LOCK: &str = "lock";

/// The contents of the state file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedState {
    version: u32,
    /// VMs added at run time, with all later changes applied.
    #[serde(default)]
    pub(crate) vms: Vec<VmSpec>,
    /// Changes to VMs in the configuration file, by VM name. They take precedence over that file.
    #[serde(default)]
    pub(crate) changed: BTreeMap<String, VmPatch>,
    /// When the settings in `changed` were changed, in milliseconds since 1970, by VM name and key.
    #[serde(default)]
    pub(crate) since: BTreeMap<String, BTreeMap<String, u64>>,
    /// Names of VMs in the configuration file that were removed. A name is kept until the
    /// configuration file no longer contains it.
    #[serde(default)]
    pub(crate) removed: BTreeSet<String>,
    /// Names of VMs that operators have paused.
    #[serde(default)]
    pub(crate) paused: BTreeSet<String>,
    /// The last VMs added at run time that were removed, so that they can be restored. The latest
    /// is last.
    #[serde(default)]
    pub(crate) former: Vec<VmSpec>,
    /// UUIDs of the GPUs of VMs that request any GPU, by VM name. After a restart, they get the
    /// same GPUs again.
    #[serde(default)]
    pub(crate) placed: BTreeMap<String, Vec<String>>,
}

/// The reason why the state can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another broker uses the state directory.
    #[error("state_dir {0} is in use by another vcudad: stop it, or choose another folder")]
    InUse(PathBuf),
    /// The state directory belongs to a user who is neither root nor the broker's.
    #[error(
        "state_dir {path} belongs to user {now}, but vcudad runs as user {user}: give it to that user \
         with chown -R, or choose another folder"
    )]
    Foreign {
        /// Path of the directory.
        path: PathBuf,
        /// Its owner.
        now: u32,
        /// The broker's user.
        user: u32,
    },
    /// The state file was written by a newer program.
    #[error(
        "{path} has version {version}, but this vcudad supports up to {VERSION}: install a newer \
         vcudad, or move the file away"
    )]
    Newer {
        /// Path of the state file.
        path: PathBuf,
        /// Version of the state file.
        version: u32,
    },
    /// The state file can't be parsed.
    #[error("{path} is damaged ({reason}): repair it, or move it away and lose its settings")]
    Damaged {
        /// Path of the state file.
        path: PathBuf,
        /// The parser's error message.
        reason: String,
    },
    /// A file operation failed.
    #[error("cannot {what} {path}: {source}")]
    Os {
        /// The operation that failed, as a verb.
        what: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// The directory that contains the state file, locked. It was opened when the broker had root's
/// privileges, because its user may not be able to reach it by its path.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    folder: File,
    _lock: File,
}

fn os(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError {
    move |source| StateError::Os { what, path: path.to_owned(), source }
}

impl StateDir {
    /// Creates the directory if it is missing, and locks it until this value is dropped. If `owner`
    /// is given, the directory and its files will belong to this user.
    pub(crate) fn open(path: &Path, owner: Option<&User>) -> Result<Self, StateError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).map_err(os("create", path))?;
        let folder = File::open(path).map_err(os("open", path))?;
        let file = path.join(LOCK);
        let lock = open_lock(&folder, owner).map_err(os("open", &file))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StateError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(os("lock", &file)(error)),
        }
        if let Some(owner) = owner {
            give(path, &folder, owner)?;
        }
        Ok(Self { path: path.to_owned(), folder, _lock: lock })
    }

    /// Returns true if a broker uses this directory.
    pub(crate) fn is_locked(path: &Path) -> bool {
        let lock = File::open(path.join(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Reads the saved state of a directory that another broker may be using. Returns an empty
    /// state if none was saved.
    pub(crate) fn peek(path: &Path) -> Result<SavedState, StateError> {
        match File::open(path) {
            Ok(folder) => read(path, &folder),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(SavedState::default()),
            Err(error) => Err(os("open", path)(error)),
        }
    }

    /// Reads the saved state. Returns an empty state if none was saved.
    pub(crate) fn read(&self) -> Result<SavedState, StateError> {
        read(&self.path, &self.folder)
    }

    /// Writes the whole state. If that fails, the previous state is kept.
    pub(crate) fn write(&self, state: &SavedState) -> Result<(), StateError> {
        let state = SavedState { version: VERSION, ..state.clone() };
        let mut text = serde_json::to_vec_pretty(&state)
            .map_err(|error| os("write", &self.path.join(NEXT))(error.into()))?;
        text.push(b'\n');
        self.replace(FILE, NEXT, &text)
    }

    /// Replaces a file as a whole. If that fails, the previous file is kept.
    fn replace(&self, name: &str, next: &str, text: &[u8]) -> Result<(), StateError> {
        let write = || {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
            let mut file = open_in(&self.folder, next, flags)?;
            file.write_all(text)?;
            file.sync_all()
        };
        write().map_err(os("write", &self.path.join(next)))?;
        renameat(&self.folder, next, &self.folder, name)
            .map_err(|error| os("replace", &self.path.join(name))(error.into()))?;
        self.folder.sync_all().map_err(os("sync", &self.path))
    }
}

/// The file with the VMs' usage.
impl StateDir {
    pub(crate) fn usage_path(&self) -> PathBuf {
        self.path.join(USAGE)
    }

    /// Reads the file with the VMs' usage, if there is one.
    pub(crate) fn read_usage(&self) -> io::Result<Option<Vec<u8>>> {
        let mut text = Vec::new();
        match open_in(&self.folder, USAGE, OFlags::RDONLY) {
            Ok(mut file) => file.read_to_end(&mut text).map(|_| Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Renames the file with the VMs' usage.
    pub(crate) fn set_usage_aside(&self, name: &str) -> io::Result<()> {
        renameat(&self.folder, USAGE, &self.folder, name)?;
        self.folder.sync_all()
    }

    /// Replaces the file with the VMs' usage. If that fails, the previous file is kept.
    pub(crate) fn write_usage(&self, text: &[u8]) -> Result<(), StateError> {
        self.replace(USAGE, USAGE_NEXT, text)
    }
}

/// Reads the saved state from the directory at this path.
fn read(path: &Path, folder: &File) -> Result<SavedState, StateError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let path = path.join(FILE);
    let mut text = Vec::new();
    let file = open_in(folder, FILE, OFlags::RDONLY);
    match file.and_then(|mut file| file.read_to_end(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(SavedState::default()),
        Err(error) => return Err(os("read", &path)(error)),
    };
    let damaged = |error: serde_json::Error| StateError::Damaged {
        path: path.clone(),
        reason: error.to_string(),
    };
    // Check the version first, because a newer format may have fields that this program doesn't
    // know.
    let Version { version } = serde_json::from_slice(&text).map_err(damaged)?;
    if version > VERSION {
        return Err(StateError::Newer { path, version });
    }
    let mut state: serde_json::Value = serde_json::from_slice(&text).map_err(damaged)?;
    if version < 2 {
        drop_groups(&mut state);
    }
    serde_json::from_value(state).map_err(damaged)
}

/// Opens a file of a directory.
fn open_in(folder: &File, name: &str, flags: OFlags) -> io::Result<File> {
    Ok(openat(folder, name, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?.into())
}

/// Opens the file that locks a directory, and creates it if it is missing. A new file belongs to
/// `owner`, who must be able to open it without root's privileges when the broker replaces itself.
fn open_lock(folder: &File, owner: Option<&User>) -> io::Result<File> {
    match open_in(folder, LOCK, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            open_in(folder, LOCK, OFlags::WRONLY)
        }
        Ok(lock) => {
            if let Some(owner) = owner {
                fchown(&lock, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
            }
            Ok(lock)
        }
        Err(error) => Err(error),
    }
}

/// Gives a directory that belongs to root, and the files in it, to `owner`. If the directory
/// already belongs to `owner`, does nothing: its files were created after that, so they belong to
/// `owner`, too.
fn give(path: &Path, folder: &File, owner: &User) -> Result<(), StateError> {
    let now = folder.metadata().map_err(os("read the owner of", path))?.uid();
    if now == owner.uid {
        return Ok(());
    }
    // Refuse a directory that belongs to neither root nor `owner`.
    if now != 0 {
        return Err(StateError::Foreign { path: path.to_owned(), now, user: owner.uid });
    }
    let (uid, gid) = (Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)));
    for name in [LOCK, FILE, NEXT, USAGE, USAGE_NEXT] {
        match chownat(folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(os("change the owner of", &path.join(name))(error.into())),
        }
    }
    fchown(folder, uid, gid).map_err(|error| os("change the owner of", path)(error.into()))
}

/// Removes the `gid` that each VM had in version 1. Processes of a VM now run with the group of
/// their user, and a group with which any processes run can't be given to a socket.
fn drop_groups(state: &mut serde_json::Value) {
    let vms = state.get_mut("vms").and_then(serde_json::Value::as_array_mut);
    for vm in vms.into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
        vm.remove("gid");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_test_support::Folder;

    fn with(name: &str) -> SavedState {
        SavedState { vms: vec![VmSpec::new(name, 1 << 30)], ..SavedState::default() }
    }

    #[test]
    fn the_next_broker_reads_the_saved_state() {
        let folder = Folder::new("state-next");
        let path = folder.join("deep");
        let first = StateDir::open(&path, None).unwrap();
        assert_eq!(first.read().unwrap(), SavedState::default());
        let mut state = with("a");
        state.removed.insert("b".into());
        state.paused.insert("a".into());
        state.changed.insert("c".into(), VmPatch::default());
        first.write(&state).unwrap();
        let error = StateDir::open(&path, None).unwrap_err();
        assert!(matches!(error, StateError::InUse(_)), "{error}");
        assert_eq!(StateDir::peek(&path).unwrap().vms, state.vms);
        assert!(StateDir::is_locked(&path));
        drop(first);
        assert!(!StateDir::is_locked(&path));
        let second = StateDir::open(&path, None).unwrap();
        let read = second.read().unwrap();
        assert_eq!(read, SavedState { version: VERSION, ..state });
    }

    /// Earlier versions ran as root, so their directory belongs to root.
    #[test]
    fn roots_directory_is_given_to_the_brokers_user() {
        let path = Folder::new("state-given");
        let dir = StateDir::open(&path, None).unwrap();
        dir.write(&with("a")).unwrap();
        if dir.folder.metadata().unwrap().uid() != 0 {
            return eprintln!("skipped: not root");
        }
        drop(dir);
        let (owner, other) = (User::numbered(4_000_001), User::numbered(4_000_002));
        drop(StateDir::open(&path, Some(&owner)).unwrap());
        for name in ["", LOCK, FILE] {
            let of = path.join(name).metadata().unwrap();
            assert_eq!((of.uid(), of.gid()), (owner.uid, owner.gid), "{name}");
        }
        // If the directory already belongs to the user, its files keep their owners, because the
        // user could have replaced a file by a link to one of root's files.
        let file = path.join(NEXT);
        std::fs::write(&file, "").unwrap();
        assert_eq!(StateDir::open(&path, Some(&owner)).unwrap().read().unwrap().vms, with("a").vms);
        assert_eq!(file.metadata().unwrap().uid(), 0);
        let error = StateDir::open(&path, Some(&other)).unwrap_err();
        assert!(matches!(error, StateError::Foreign { now: 4_000_001, .. }), "{error}");
        // If the lock is missing, root creates it for the user, who must be able to open it when
        // the broker replaces itself.
        std::fs::remove_file(path.join(LOCK)).unwrap();
        drop(StateDir::open(&path, Some(&owner)).unwrap());
        let of = path.join(LOCK).metadata().unwrap();
        assert_eq!((of.uid(), of.gid()), (owner.uid, owner.gid));
    }

    #[test]
    fn a_full_disk_leaves_the_old_state_unchanged() {
        let path = Folder::new("state-full");
        let dir = StateDir::open(&path, None).unwrap();
        dir.write(&with("a")).unwrap();
        // Writing to /dev/full fails with ENOSPC.
        std::os::unix::fs::symlink("/dev/full", path.join(NEXT)).unwrap();
        let error = dir.write(&with("b")).unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains("No space left"), "{error}");
        assert_eq!(dir.read().unwrap().vms, with("a").vms);
    }

    /// Version 1 had a group ID for each VM, which could be that of another VM's socket.
    #[test]
    fn a_file_of_version_1_is_read_without_group_ids() {
        let path = Folder::new("state-version-1");
        let dir = StateDir::open(&path, None).unwrap();
        let text = r#"{"version": 1, "vms": [
            {"name": "a", "memory": {"max": 1073741824}, "uid": 61001, "gid": 61002}]}"#;
        std::fs::write(path.join(FILE), text).unwrap();
        let vm = VmSpec { uid: Some(61001), ..VmSpec::new("a", 1 << 30) };
        assert_eq!(dir.read().unwrap().vms, [vm]);
    }

    #[test]
    fn a_damaged_or_newer_file_is_refused_and_not_modified() {
        let path = Folder::new("state-damaged");
        let dir = StateDir::open(&path, None).unwrap();
        for (text, says) in [
            ("", "damaged"),
            ("{\"version\": 1, \"vms\": [", "damaged"),
            ("{\"version\": 1, \"colour\": 2}", "colour"),
            ("{\"version\": 6, \"something\": {}}", "has version 6"),
        ] {
            std::fs::write(path.join(FILE), text).unwrap();
            let error = dir.read().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert_eq!(std::fs::read_to_string(path.join(FILE)).unwrap(), text);
        }
    }
}
