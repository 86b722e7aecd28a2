//! A VM's settings, with the same keys as in the configuration file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

use crate::units::{Percent, Timespan};

/// A VM's settings. Absent keys take their default values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VmSpec {
    /// A unique name of 1 to 64 letters, digits, `-`, `_` and `.`, not beginning with `.`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"))]
    pub name: String,
    /// Path of the vhost-user socket: absolute, at most 107 bytes. Defaults to
    /// `/run/virtio-cuda/NAME.sock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub socket: Option<PathBuf>,
    /// Socket permissions, in octal. Defaults to `"0660"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_mode: Option<String>,
    /// Group of the socket: a name or a number on the host. Members of the group can connect to the
    /// socket. By default, only root can. It can't be a group with which a VM's processes run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_group: Option<String>,
    /// The VM's GPUs, 1 to 16. Defaults to one GPU, chosen by vcudad.
    #[serde(default = "any_gpu")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 16))]
    pub gpus: Vec<GpuRequest>,
    /// Device memory limits.
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
    #[serde(default, skip_serializing_if = "MpsSpec::is_empty")]
    pub mps: MpsSpec,
    /// Number of guest processes that may have the device open at once: 1 to 4096. Defaults to 32.
    #[serde(default, skip_serializing_if = "LimitSpec::is_empty")]
    pub sessions: LimitSpec,
    /// Number of front ends (VMMs) that may be connected at once: 1 to 1024. Defaults to 64.
    #[serde(default, skip_serializing_if = "LimitSpec::is_empty")]
    pub connections: LimitSpec,
    /// Guest memory that one session may attach, in bytes: 1 MiB to 64 TiB. Defaults to 1 TiB.
    #[serde(default, skip_serializing_if = "SizeLimitSpec::is_empty")]
    pub pinned: SizeLimitSpec,
    /// Maximum size of one command on the command queue, in bytes: 4 KiB to 1 GiB. Defaults to 64
    /// MiB.
    #[serde(default, skip_serializing_if = "SizeLimitSpec::is_empty")]
    pub plain: SizeLimitSpec,
    /// CPU time limit for the VM's processes.
    #[serde(default, skip_serializing_if = "CpuSpec::is_empty")]
    pub cpu: CpuSpec,
    /// Limit on processes and threads for the VM's processes.
    #[serde(default, skip_serializing_if = "PidsSpec::is_empty")]
    pub pids: PidsSpec,
    /// Environment variables that guest processes may pass to their workers.
    #[serde(default, skip_serializing_if = "EnvSpec::is_empty")]
    pub env: EnvSpec,
    /// Host user ID and group ID of the VM's processes: 1 to 4294967294, so never root. By default,
    /// vcudad chooses one. Through the API, it must be from 2113929216 to 2113994750.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 4_294_967_294i64))]
    pub uid: Option<u32>,
    /// Microseconds that a worker polls an empty ring before it sleeps: 0 to 1000000. Defaults to
    /// 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000))]
    pub spin_us: Option<u32>,
}

fn any_gpu() -> Vec<GpuRequest> {
    vec![GpuRequest::Any]
}

impl VmSpec {
    /// Creates default settings for a VM with this name and `memory_max` bytes of device memory.
    pub fn new(name: impl Into<String>, memory_max: u64) -> Self {
        Self {
            name: name.into(),
            socket: None,
            socket_mode: None,
            socket_group: None,
            gpus: any_gpu(),
            memory: MemorySpec { max: memory_max, session_max: None, host_max: None },
            compute: ComputeSpec::default(),
            class: Class::default(),
            sharing: Sharing::default(),
            mps: MpsSpec::default(),
            sessions: LimitSpec::default(),
            connections: LimitSpec::default(),
            pinned: SizeLimitSpec::default(),
            plain: SizeLimitSpec::default(),
            cpu: CpuSpec::default(),
            pids: PidsSpec::default(),
            env: EnvSpec::default(),
            uid: None,
            spin_us: None,
        }
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

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for GpuRequest {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some(
                "A GPU: `any`, an index on the host, or the UUID of a GPU or MIG slice.",
            ))
            .pattern(Some("^(any|[0-9]{1,9}|(GPU|MIG)-[A-Za-z0-9/_-]{1,92})$"))
            .examples(["any"])
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for GpuRequest {}

/// Device memory, in bytes, on each of the VM's GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// Limit for all sessions together: 2 MiB to 1024 TiB. The guest sees it as the device's total
    /// memory.
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 2_097_152, maximum = 1_125_899_906_842_624i64)
    )]
    pub max: u64,
    /// Limit for one session: 2 MiB to 1024 TiB. Defaults to `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 2_097_152, maximum = 1_125_899_906_842_624i64)
    )]
    pub session_max: Option<u64>,
    /// Host memory limit for the VM's processes (cgroup v2's `memory.max`): 1 MiB to 1024 TiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 1_048_576, maximum = 1_125_899_906_842_624i64)
    )]
    pub host_max: Option<u64>,
}

/// Limits on GPU time, on each of the VM's GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ComputeSpec {
    /// Share of GPU time, relative to the weights of the other VMs that have work: 1 to 10000.
    /// Defaults to 100.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000))]
    pub weight: u32,
    /// Cap on GPU time, even if the GPU is otherwise idle: 1% to 100%. Defaults to 100%.
    pub max: Percent,
    /// Guaranteed GPU time while the VM has work: 0% to 100%, at most `max`. Defaults to 0%. A VM
    /// is refused if the guarantees on a GPU would add up to too much.
    pub min: Percent,
    /// Maximum time that a kernel may run before its session is ended: 1ms to 24h. Unlimited by
    /// default.
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MpsSpec {
    /// Percentage of the GPU's multiprocessors: 1% to 100%.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_thread_percentage: Option<Percent>,
    /// Device memory limit that MPS enforces, in bytes: 2 MiB to 1024 TiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 2_097_152, maximum = 1_125_899_906_842_624i64)
    )]
    pub pinned_memory_limit: Option<u64>,
}

impl MpsSpec {
    /// Returns true if no setting is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $summary:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            #[doc = $summary]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub max: Option<$type>,
        }

        impl $name {
            /// Returns true if no setting is given.
            pub fn is_empty(&self) -> bool {
                self.max.is_none()
            }
        }
    )*};
}

limits! {
    /// A limit on a count.
    LimitSpec: u32, "The limit.";
    /// A limit on a size.
    SizeLimitSpec: u64, "The limit, in bytes.";
    /// A limit on CPU time.
    CpuSpec: String, "cgroup v2's `cpu.max`: `QUOTA PERIOD`, `QUOTA` or `max`, in microseconds; \
        QUOTA from 1000 to 17592186044415, or `max`, PERIOD from 1000 to 1000000.";
    /// A limit on processes and threads.
    PidsSpec: u64, "cgroup v2's `pids.max`: 1 to 4194304.";
}

/// Environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct EnvSpec {
    /// Names of the variables that a guest process may pass to its worker. Defaults to a set of
    /// harmless CUDA variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

impl EnvSpec {
    /// Returns true if no setting is given.
    pub fn is_empty(&self) -> bool {
        self.allow.is_none()
    }
}
