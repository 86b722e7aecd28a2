//! The job file, which the host writes and the guest side of vcuda-run reads.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The guest's device node.
pub const DEVICE_NODE: &str = "/dev/virtio-cuda0";

/// A command to run in the guest, and what it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The command's complete environment.
    pub env: Vec<(String, String)>,
    /// The command's working directory.
    pub cwd: PathBuf,
    /// Kernel modules to load first, in this order.
    pub modules: Vec<PathBuf>,
    /// The device node to wait for, if there is a device.
    pub device: Option<PathBuf>,
    /// The serial line to the host.
    pub channel: PathBuf,
    /// Files to send to the host after the command has exited.
    pub fetch: Vec<PathBuf>,
}
