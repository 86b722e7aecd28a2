//! The temporary directory of a run. If vcuda-run is killed, so that it can't remove the directory,
//! the next run does.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::RunError;

const PREFIX: &str = "vcuda-run.";
/// The lock file. A run keeps it locked. If the run is killed, the kernel releases the lock.
const LOCK: &str = "lock";

/// A run's directory inside the host's temporary directory.
#[derive(Debug)]
pub struct RunFolder {
    folder: TempDir,
    _lock: File,
}

impl RunFolder {
    /// Creates the directory, and removes the directories of killed runs. The path is valid in a
    /// VMM's arguments, and is outside /dev, /proc, and /sys, where a guest on hostfs mounts its
    /// own file systems.
    pub fn new() -> Result<RunFolder, RunError> {
        let own = ["/dev", "/proc", "/sys"];
        let mut base = std::env::temp_dir();
        let hidden = own.iter().any(|root| base.starts_with(root));
        if hidden || base.to_string_lossy().contains([' ', ':', ',']) {
            base = "/tmp".into();
        }
        RunFolder::new_in(&base)
    }

    fn new_in(base: &Path) -> Result<RunFolder, RunError> {
        for stale in stale(base) {
            // This fails if another user owns the directory, or if another run is removing it.
            let _ = fs::remove_dir_all(stale);
        }
        let what = format!("cannot create a directory in {}", base.display());
        let make = || {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(base)?;
            let lock = File::create(folder.path().join(LOCK))?;
            lock.lock()?;
            Ok(RunFolder { folder, _lock: lock })
        };
        make().map_err(RunError::host(what))
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the directory.
    pub fn close(self) -> std::io::Result<()> {
        self.folder.close()
    }
}

/// Returns the directories whose lock is free, which means that their run has ended.
fn stale(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).map(|entries| entries.flatten().collect()).unwrap_or(vec![]);
    entries
        .into_iter()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .filter(|path| File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_directories_of_killed_runs_are_removed_and_no_others() {
        let base = tempfile::tempdir().unwrap();
        let first = RunFolder::new_in(base.path()).unwrap();
        let killed = base.path().join("vcuda-run.killed");
        fs::create_dir(&killed).unwrap();
        File::create(killed.join(LOCK)).unwrap();
        let others = base.path().join("vcuda-run.young");
        fs::create_dir(&others).unwrap();
        let second = RunFolder::new_in(base.path()).unwrap();
        assert!(first.path().exists() && second.path().exists() && others.exists());
        assert!(!killed.exists());
        first.close().unwrap();
        second.close().unwrap();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }
}
