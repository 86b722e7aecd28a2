//! The jail of a VM's processes. A guest may take over its device process or one of its workers, so
//! these processes can reach only what they need.
//!
//! | module | contents |
//! |---|---|
//! | `namespaces` | leaving the host's namespaces |
//! | `root` | a file system that contains only what a process needs |
//! | `access` | a second restriction of the access to files |
//! | `privileges` | resource limits and capabilities |
//! | `filter` | the system calls that are permitted |
//!
//! A process enters its jail in this order: `namespaces::leave`, `root::enter`, `access::restrict`,
//! `privileges::limit` and, before it handles anything from a guest, its filter. Its parent creates
//! the process in a PID namespace of its own.

use std::io;
use std::path::Path;

use host_ipc::missing::Feature;

pub mod access;
#[cfg(test)]
mod child;
pub mod filter;
pub mod namespaces;
pub mod privileges;
pub mod root;

/// Why a process can't enter its jail. Then, it must exit.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}")]
pub struct JailError {
    what: String,
    /// The feature that was used, if hosts may lack it.
    feature: Option<Feature>,
    source: io::Error,
}

impl JailError {
    /// Returns true if the host lacks or forbids something that the jail needs.
    pub fn is_missing(&self) -> bool {
        self.feature.is_some_and(|feature| feature.is_missing(&self.source))
    }

    /// Returns a function that converts an error to a [`JailError`]. `what` names the operation
    /// that failed on `path`.
    fn at<E: Into<io::Error>>(
        what: &'static str,
        path: &Path,
        feature: impl Into<Option<Feature>>,
    ) -> impl FnOnce(E) -> Self {
        let (what, feature) = (format!("{what} {}", path.display()), feature.into());
        move |error| Self { what, feature, source: error.into() }
    }
}
