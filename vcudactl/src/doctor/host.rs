//! Access to the host's files and programs. In tests, all paths are below a temporary directory.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A host whose files are below `root`.
pub(super) struct Host {
    root: PathBuf,
    /// The directories in which programs are searched.
    path: Vec<PathBuf>,
}

impl Host {
    /// Returns the host on which this program runs.
    pub(super) fn this() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // Add /usr/sbin, which can contain control daemons and VMMs, because the PATH of users
        // other than root may lack it.
        let path = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]).collect();
        Self { root: "/".into(), path }
    }

    #[cfg(test)]
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), path: vec![root.join("bin")] }
    }

    /// Returns the path to access for an absolute path on the host. The two differ in tests.
    pub(super) fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.place(path).exists()
    }

    /// Returns whether the file's mode lets all users read and write it.
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

    /// Returns the IDs of the processes with this name. The kernel truncates names to 15 bytes.
    pub(super) fn processes(&self, name: &str) -> Vec<String> {
        let name = &name[..name.len().min(15)];
        let mut ids = self.list("/proc");
        ids.retain(|id| {
            id.bytes().all(|byte| byte.is_ascii_digit())
                && self.read(&format!("/proc/{id}/comm")).as_deref() == Some(name)
        });
        ids
    }

    /// Returns the path of the program with this name, if it exists.
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
