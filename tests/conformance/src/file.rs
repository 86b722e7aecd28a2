//! Temporary files for calls that read or write files.

use crate::cuda::{Failure, Outcome};
use std::ffi::CString;
use std::path::PathBuf;

/// The path of a temporary file. Dropping this value removes the file.
pub struct File(PathBuf);

impl File {
    /// Returns a path at which no file exists yet. Different processes get different paths.
    pub fn absent(name: &str) -> Self {
        let name = format!("cuda-conformance-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Creates a temporary file with these contents.
    pub fn new(name: &str, contents: &[u8]) -> Outcome<Self> {
        let file = Self::absent(name);
        std::fs::write(&file.0, contents).map_err(Failure::new)?;
        Ok(file)
    }

    /// Returns the path in the form that CUDA expects.
    pub fn name(&self) -> CString {
        CString::new(self.0.to_string_lossy().as_bytes()).unwrap_or_default()
    }

    /// Returns the contents of the file, or an empty string if it doesn't exist.
    pub fn read(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.remove();
    }
}
