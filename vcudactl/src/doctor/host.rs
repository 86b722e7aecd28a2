//! The host's files and programs. In tests, they are below a directory of the test.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A host whose files are below `root`.
pub(super) struct Host {
    root: PathBuf,
    /// The directories in which to look for programs.
    path: Vec<PathBuf>,
}

impl Host {
    /// The host on which this program runs.
    pub(super) fn this() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // The PATH of a user who isn't root may lack /usr/sbin, which can contain control daemons
        // and VMMs.
        let path = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]).collect();
        Self { root: "/".into(), path }
    }

    #[cfg(test)]
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), path: vec![root.join("bin")] }
    }

    /// Returns the place of a file that has this absolute path on the host.
    pub(super) fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.place(path).exists()
    }

    /// Returns true if every user may read and write this file.
    pub(super) fn is_open_to_all(&self, path: &str) -> bool {
        const ALL: u32 = 0o006;
        let mode = self.place(path).metadata().map(|file| file.permissions().mode());
        mode.is_ok_and(|mode| mode & ALL == ALL)
    }

    /// Reads a file, without white space at its ends. Returns `None` if that fails.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.place(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Returns the sorted names of the files in a directory, or an empty list if there is no such
    /// directory.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.place(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Returns the IDs of the processes with this name. The kernel cuts names to 15 bytes.
    pub(super) fn processes(&self, name: &str) -> Vec<String> {
        let name = &name[..name.len().min(15)];
        let mut ids = self.list("/proc");
        ids.retain(|id| {
            id.bytes().all(|byte| byte.is_ascii_digit())
                && self.read(&format!("/proc/{id}/comm")).as_deref() == Some(name)
        });
        ids
    }

    /// Returns the path of a program.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// Runs a program with `--version`, and returns the first line of its output.
    pub(super) fn version_of(&self, program: &Path) -> Option<String> {
        let output = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().next().map(|line| line.trim().to_owned())
    }
}
