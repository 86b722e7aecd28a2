//! The saved state: VMs added at run time, and changes to VMs in the configuration file.
//!
//! The state is one JSON file, which is replaced as a whole: a new file is written, synced, and
//! renamed, and then the directory is synced. A change that can't be saved is refused. The broker
//! locks the directory, so that no other broker uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use control_api::{VmPatch, VmSpec};
use serde::{Deserialize, Serialize};

/// The file format version that this program writes. It can't read newer versions.
const VERSION: u32 = 2;
const FILE: &str = "state.json";
const NEXT: &str = "state.json.next";
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
    /// Names of VMs in the configuration file that were removed. A name is kept until the
    /// configuration file no longer contains it.
    #[serde(default)]
    pub(crate) removed: BTreeSet<String>,
}

/// The reason why the state can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another broker uses the state directory.
    #[error("state_dir {0} is in use by another vcudad: stop it, or choose another folder")]
    InUse(PathBuf),
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

/// The directory that contains the state file, locked.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    _lock: File,
}

fn os(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError {
    move |source| StateError::Os { what, path: path.to_owned(), source }
}

impl StateDir {
    /// Creates the directory if it is missing, and locks it until this value is dropped.
    pub(crate) fn open(path: &Path) -> Result<Self, StateError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).map_err(os("create", path))?;
        let file = path.join(LOCK);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(&file).map_err(os("open", &file))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(StateError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(os("lock", &file)(error)),
        }
    }

    /// Reads the saved state. Returns an empty state if none was saved.
    pub(crate) fn read(&self) -> Result<SavedState, StateError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let path = self.path.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
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

    /// Writes the whole state. If that fails, the previous state is kept.
    pub(crate) fn write(&self, state: &SavedState) -> Result<(), StateError> {
        let (path, next) = (self.path.join(FILE), self.path.join(NEXT));
        let state = SavedState { version: VERSION, ..state.clone() };
        let write = || {
            let mut text = serde_json::to_vec_pretty(&state).map_err(io::Error::other)?;
            text.push(b'\n');
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&next)?;
            file.write_all(&text)?;
            file.sync_all()
        };
        write().map_err(os("write", &next))?;
        std::fs::rename(&next, &path).map_err(os("replace", &path))?;
        let folder = File::open(&self.path).and_then(|folder| folder.sync_all());
        folder.map_err(os("sync", &self.path))
    }
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

    fn folder(name: &str) -> PathBuf {
        let id = std::process::id();
        let path = std::env::temp_dir().join(format!("virtio-cuda-state-{name}-{id}"));
        let _ = std::fs::remove_dir_all(&path);
        path
    }

    fn with(name: &str) -> SavedState {
        SavedState { vms: vec![VmSpec::new(name, 1 << 30)], ..SavedState::default() }
    }

    #[test]
    fn the_next_broker_reads_the_saved_state() {
        let path = folder("next").join("deep");
        let first = StateDir::open(&path).unwrap();
        assert_eq!(first.read().unwrap(), SavedState::default());
        let mut state = with("a");
        state.removed.insert("b".into());
        state.changed.insert("c".into(), VmPatch::default());
        first.write(&state).unwrap();
        let error = StateDir::open(&path).unwrap_err();
        assert!(matches!(error, StateError::InUse(_)), "{error}");
        drop(first);
        let second = StateDir::open(&path).unwrap();
        let read = second.read().unwrap();
        assert_eq!(read, SavedState { version: VERSION, ..state });
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_full_disk_leaves_the_old_state_unchanged() {
        let path = folder("full");
        let dir = StateDir::open(&path).unwrap();
        dir.write(&with("a")).unwrap();
        // Writing to /dev/full fails with ENOSPC.
        std::os::unix::fs::symlink("/dev/full", path.join(NEXT)).unwrap();
        let error = dir.write(&with("b")).unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains("No space left"), "{error}");
        assert_eq!(dir.read().unwrap().vms, with("a").vms);
        std::fs::remove_dir_all(path).unwrap();
    }

    /// Version 1 had a group ID for each VM, which could be that of another VM's socket.
    #[test]
    fn a_file_of_version_1_is_read_without_group_ids() {
        let path = folder("version-1");
        let dir = StateDir::open(&path).unwrap();
        let text = r#"{"version": 1, "vms": [
            {"name": "a", "memory": {"max": 1073741824}, "uid": 61001, "gid": 61002}]}"#;
        std::fs::write(path.join(FILE), text).unwrap();
        let vm = VmSpec { uid: Some(61001), ..VmSpec::new("a", 1 << 30) };
        assert_eq!(dir.read().unwrap().vms, [vm]);
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_damaged_or_newer_file_is_refused_and_not_modified() {
        let path = folder("damaged");
        let dir = StateDir::open(&path).unwrap();
        for (text, says) in [
            ("", "damaged"),
            ("{\"version\": 1, \"vms\": [", "damaged"),
            ("{\"version\": 1, \"colour\": 2}", "colour"),
            ("{\"version\": 3, \"something\": {}}", "has version 3"),
        ] {
            std::fs::write(path.join(FILE), text).unwrap();
            let error = dir.read().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert_eq!(std::fs::read_to_string(path.join(FILE)).unwrap(), text);
        }
        std::fs::remove_dir_all(path).unwrap();
    }
}
