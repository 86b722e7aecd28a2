//! Leaves the host's namespaces.

use std::path::Path;

use host_ipc::missing::Feature;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::JailError;

const ALL: [(UnshareFlags, &str); 4] = [
    (UnshareFlags::NEWNET, "network"),
    (UnshareFlags::NEWIPC, "IPC"),
    (UnshareFlags::NEWUTS, "host name"),
    (UnshareFlags::NEWNS, "mount"),
];

/// Moves this process into network, IPC, host name, and mount namespaces of its own. Mounts made
/// afterwards aren't visible on the host. Must be called while the process has a single thread.
pub fn leave() -> Result<(), JailError> {
    ALL.into_iter().try_for_each(|(flag, name)| leave_one(flag, name))
}

/// Does the same as [`leave`], but if the host doesn't allow a namespace (because the broker is
/// unprivileged, or runs in a container), logs a warning and continues. The process's separate user
/// and no_new_privs still protect the host.
pub fn leave_if_allowed() {
    for (flag, name) in ALL {
        if let Err(error) = leave_one(flag, name) {
            tracing::warn!("{error}");
        }
    }
}

fn leave_one(flag: UnshareFlags, name: &str) -> Result<(), JailError> {
    // SAFETY: unsharing is unsound only for the table of descriptors, which other threads' code
    // relies on. The flags don't include FILES, so the table stays shared.
    unsafe { unshare_unsafe(flag) }.map_err(|error| JailError {
        what: format!("create a {name} namespace"),
        feature: Some(Feature::Namespaces),
        source: error.into(),
    })?;
    if flag == UnshareFlags::NEWNS {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        let hide = "hide from the host the mounts below";
        mount_change("/", private).map_err(JailError::at(hide, Path::new("/"), Feature::Mounts))?;
    }
    Ok(())
}
