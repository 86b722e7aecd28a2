//! A VM's settings, with the same keys as in the configuration file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

use crate::units::{Percent, Timespan};

/// A VM's settings. Absent keys take their default values. [`SETTINGS`](crate::SETTINGS) describes
/// them. The default isn't valid, because every VM must have a name, GPUs, and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VmSpec {
    /// Unique name.
    pub name: String,
    /// Path of the vhost-user socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Permissions of the socket, in octal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_mode: Option<String>,
    /// Group of the socket, by name or number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_group: Option<String>,
    /// The VM's GPUs.
    #[serde(default = "any_gpu")]
    pub gpus: Vec<GpuRequest>,
    /// Limits on memory.
    pub memory: MemorySpec,
    /// Limits on GPU time.
    #[serde(default)]
    pub compute: ComputeSpec,
    /// Scheduling class of the VM's work.
    #[serde(default)]
    pub class: Class,
    /// How the VM shares its GPUs with other VMs.
    #[serde(default)]
    pub sharing: Sharing,
    /// MPS limits. Allowed only with `sharing = "mps"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mps: MpsSpec,
    /// Limit on guest processes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sessions: LimitSpec<u32>,
    /// Limit on front ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections: LimitSpec<u32>,
    /// Limit on the guest memory that one session may attach, in bytes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pinned: LimitSpec<u64>,
    /// Limit on the size of one command on the command queue, in bytes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub plain: LimitSpec<u64>,
    /// Limit on the CPU time of the VM's processes, as in cgroup v2's `cpu.max`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cpu: LimitSpec<String>,
    /// Limit on processes and threads of the VM's processes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pids: LimitSpec<u64>,
    /// Environment variables.
    #[serde(default, skip_serializing_if = "is_default")]
    pub env: EnvSpec,
    /// Host user ID and group ID of the VM's processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Microseconds that a worker polls an empty ring before it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin_us: Option<u32>,
}

fn any_gpu() -> Vec<GpuRequest> {
    vec![GpuRequest::Any]
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl VmSpec {
    /// Creates default settings for a VM with this name and `memory_max` bytes of device memory.
    pub fn new(name: impl Into<String>, memory_max: u64) -> Self {
        let memory = MemorySpec { max: memory_max, ..MemorySpec::default() };
        Self { name: name.into(), gpus: any_gpu(), memory, ..Self::default() }
    }
}

/// A requested GPU: `"any"`, an index on the host (`"0"`), or a UUID (`"GPU-…"`, `"MIG-…"`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GpuRequest {
    /// The GPU that fits best.
    Any,
    /// The GPU with this index in `vcudactl gpu ls`.
    Index(u32),
    /// The GPU or MIG slice with this UUID.
    Uuid(String),
}

impl fmt::Display for GpuRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Index(index) => index.fmt(f),
            Self::Uuid(uuid) => f.write_str(uuid),
        }
    }
}

impl FromStr for GpuRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uuid = |text: &str| {
            (text.starts_with("GPU-") || text.starts_with("MIG-"))
                && text.len() <= 96
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-/_".contains(&byte))
        };
        match text {
            "any" => Ok(Self::Any),
            text if uuid(text) => Ok(Self::Uuid(text.to_owned())),
            text if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().map(Self::Index).map_err(|_| bad_gpu(text))
            }
            text => Err(bad_gpu(text)),
        }
    }
}

fn bad_gpu(text: &str) -> String {
    let text = text.escape_debug();
    format!("'{text}' is not a GPU: write any, an index such as 0, or a UUID (GPU-… or MIG-…)")
}

impl Serialize for GpuRequest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GpuRequest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = GpuRequest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"any\", a GPU index or a GPU UUID")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<GpuRequest, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: Error>(self, index: u64) -> Result<GpuRequest, E> {
                let index =
                    u32::try_from(index).map_err(|_| E::custom(bad_gpu(&index.to_string())))?;
                Ok(GpuRequest::Index(index))
            }

            fn visit_i64<E: Error>(self, index: i64) -> Result<GpuRequest, E> {
                let index =
                    u32::try_from(index).map_err(|_| E::custom(bad_gpu(&index.to_string())))?;
                Ok(GpuRequest::Index(index))
            }
        }
        from.deserialize_any(Visitor)
    }
}

/// Limits on memory, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// Limit on the device memory of all sessions together, on each of the VM's GPUs.
    pub max: u64,
    /// Limit on the device memory of one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_max: Option<u64>,
    /// Limit on the host memory of the VM's processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_max: Option<u64>,
}

/// Limits on GPU time, on each of the VM's GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ComputeSpec {
    /// Share of GPU time, relative to the weights of the other VMs that have work.
    pub weight: u32,
    /// Cap on GPU time, even if the GPU is otherwise idle.
    pub max: Percent,
    /// Guaranteed GPU time while the VM has work.
    pub min: Percent,
    /// Maximum time that a kernel may run before its session is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_timeout: Option<Timespan>,
}

impl Default for ComputeSpec {
    fn default() -> Self {
        Self { weight: 100, max: Percent::ALL, min: Percent::NONE, kernel_timeout: None }
    }
}

/// The scheduling class of a VM's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The work waits for the VM's turn.
    #[default]
    Batch,
    /// The work goes ahead of batch VMs, within the VM's share.
    Latency,
}

/// How a VM shares its GPUs with other VMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// One VM uses the GPU at a time.
    #[default]
    Exclusive,
    /// Several VMs use the GPU at once, under MPS. Only for VMs that trust one another.
    Mps,
}

/// MPS limits per session. Changes apply to new sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MpsSpec {
    /// Share of the GPU's multiprocessors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_thread_percentage: Option<Percent>,
    /// Device memory limit that MPS enforces, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_memory_limit: Option<u64>,
}

impl MpsSpec {
    /// Returns true if no setting is given.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// A table that contains only a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSpec<T> {
    /// The limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<T>,
}

/// Environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvSpec {
    /// Names of the variables that a guest process may pass to its worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}
