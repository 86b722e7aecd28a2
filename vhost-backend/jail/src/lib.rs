//! The jail of a VM's processes. A guest may compromise its device process or one of its workers,
//! so the jail limits these processes to the resources that they need.
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
//! `privileges::limit` and, before it handles anything from a guest, its filter. The spawner
//! creates the process in a PID namespace other than the host's.

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

/// The reason why a process can't enter its jail. After this error, the process must exit.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}")]
pub struct JailError {
    what: String,
    /// The kernel feature that failed, if it is one that hosts may lack.
    feature: Option<Feature>,
    source: io::Error,
}

impl JailError {
    /// Returns true if the host lacks or forbids a feature that the jail needs.
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
