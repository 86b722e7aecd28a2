//! What the guest is to do: written by the host, read by the guest's first process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The guest's device node.
pub const DEVICE_NODE: &str = "/dev/virtio-cuda0";

/// One command and what must be in place for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Its environment, whole.
    pub env: Vec<(String, String)>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Kernel modules to load before, in this order.
    pub modules: Vec<PathBuf>,
    /// The device node to wait for, if there is a device.
    pub device: Option<PathBuf>,
    /// The serial line to the host.
    pub channel: PathBuf,
    /// Files to send to the host after the command.
    pub fetch: Vec<PathBuf>,
}
