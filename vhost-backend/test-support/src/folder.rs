//! A directory for one test.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A new directory that every user can read. Dropping this value removes the directory, unless the
/// test has failed.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates the directory. `name` must be unique among the tests that a process runs.
    pub fn new(name: &str) -> Self {
        let name = format!("virtio-cuda-test-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A killed test run may have left a directory with this name.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
