//! A VM's settings. The keys are those of the configuration file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

use crate::units::{Percent, Timespan};

/// A VM's settings. What is not given has its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VmSpec {
    /// 1 to 64 letters, digits, `-`, `_` and `.`, the first no `.`; each VM its own.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"))]
    pub name: String,
    /// Its vhost-user socket: an absolute path of at most 107 bytes. If not given,
    /// `/run/virtio-cuda/NAME.sock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub socket: Option<PathBuf>,
    /// Permissions of the socket, in octal; `"0660"` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_mode: Option<String>,
    /// The GPUs that it gets, 1 to 16; one of any kind if not given.
    #[serde(default = "any_gpu")]
    pub gpus: Vec<GpuRequest>,
    /// Device memory.
    pub memory: MemorySpec,
    /// GPU time.
    #[serde(default)]
    pub compute: ComputeSpec,
    /// How its waiting work is treated.
    #[serde(default)]
    pub class: Class,
    /// How it shares a GPU with others.
    #[serde(default)]
    pub sharing: Sharing,
    /// Only with `sharing = "mps"`.
    #[serde(default, skip_serializing_if = "MpsSpec::is_empty")]
    pub mps: MpsSpec,
    /// Guest processes with the device open at once: 1 to 4096; 32 if not given.
    #[serde(default, skip_serializing_if = "LimitSpec::is_empty")]
    pub sessions: LimitSpec,
    /// Front ends connected at once: 1 to 1024; 64 if not given.
    #[serde(default, skip_serializing_if = "LimitSpec::is_empty")]
    pub connections: LimitSpec,
    /// Guest memory that one session may attach, in bytes: 1 MiB to 64 TiB; 1 TiB if not given.
    #[serde(default, skip_serializing_if = "SizeLimitSpec::is_empty")]
    pub pinned: SizeLimitSpec,
    /// Bytes of one command on the command queue: 4 KiB to 1 GiB; 64 MiB if not given.
    #[serde(default, skip_serializing_if = "SizeLimitSpec::is_empty")]
    pub plain: SizeLimitSpec,
    /// CPU time of its workers.
    #[serde(default, skip_serializing_if = "CpuSpec::is_empty")]
    pub cpu: CpuSpec,
    /// Processes and threads of its workers.
    #[serde(default, skip_serializing_if = "PidsSpec::is_empty")]
    pub pids: PidsSpec,
    /// Environment variables of its sessions.
    #[serde(default, skip_serializing_if = "EnvSpec::is_empty")]
    pub env: EnvSpec,
    /// The user of its processes on the host, not root: 1 to 4294967294; one is chosen if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 4_294_967_294i64))]
    pub uid: Option<u32>,
    /// The group of its processes on the host, not root's: 1 to 4294967294; the user's number if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 4_294_967_294i64))]
    pub gid: Option<u32>,
    /// How long a worker polls its ring before it sleeps, in microseconds: 0 to 1000000; 50 if
    /// not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin_us: Option<u32>,
}

fn any_gpu() -> Vec<GpuRequest> {
    vec![GpuRequest::Any]
}

impl VmSpec {
    /// A VM of this name with so many bytes of device memory, and the defaults.
    pub fn new(name: impl Into<String>, memory_max: u64) -> Self {
        Self {
            name: name.into(),
            socket: None,
            socket_mode: None,
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
            gid: None,
            spin_us: None,
        }
    }
}

/// Which GPU: `"any"`, its index on the host (`"0"`), or its UUID (`"GPU-…"`, `"MIG-…"`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GpuRequest {
    /// The one that fits best.
    Any,
    /// By index, as `vcudactl gpu ls` counts them.
    Index(u32),
    /// By UUID: a GPU's or a MIG slice's.
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
    format!("'{text}' is no GPU: write any, an index such as 0, or a UUID such as GPU-… or MIG-…")
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
                f.write_str("\"any\", a GPU's index or its UUID")
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
                "A GPU: `any`, its index on the host, or its UUID (also a MIG slice's).",
            ))
            .pattern(Some("^(any|[0-9]+|(GPU|MIG)-[A-Za-z0-9/_-]+)$"))
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
    /// What all its sessions may hold together; above 0. The guest sees it as the device's memory.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub max: u64,
    /// What one session may hold; above 0. `max` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub session_max: Option<u64>,
    /// Host memory of its workers: cgroup v2's `memory.max`; 1 MiB to 1024 TiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_max: Option<u64>,
}

/// GPU time, on each of the VM's GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ComputeSpec {
    /// Its share, in proportion to the weights of the others that have work: 1 to 10000; 100 if
    /// not given.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000))]
    pub weight: u32,
    /// No more than this, also if the GPU is idle otherwise: 1% to 100%; 100% if not given.
    pub max: Percent,
    /// No less than this while it has work: 0% to 100%, at most `max`; 0% if not given. What is
    /// promised to all VMs of a GPU is checked when a VM is added.
    pub min: Percent,
    /// A kernel that runs longer ends its session: 1ms to 24h; never if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_timeout: Option<Timespan>,
}

impl Default for ComputeSpec {
    fn default() -> Self {
        Self { weight: 100, max: Percent::ALL, min: Percent::NONE, kernel_timeout: None }
    }
}

/// How waiting work is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// It waits for its turn.
    #[default]
    Batch,
    /// It takes the GPU at the next boundary, within its quota.
    Latency,
}

/// How a GPU is shared with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// In time: one VM's work has the GPU at a time.
    #[default]
    Exclusive,
    /// In space too, under MPS: only for VMs that trust one another.
    Mps,
}

/// What each worker gets under MPS. Applies to new sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MpsSpec {
    /// Part of the GPU's multiprocessors: 1% to 100%.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_thread_percentage: Option<Percent>,
    /// Device memory, in bytes, as MPS enforces it; above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_memory_limit: Option<u64>,
}

impl MpsSpec {
    /// Nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $says:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            #[doc = $says]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub max: Option<$type>,
        }

        impl $name {
            /// Nothing is set.
            pub fn is_empty(&self) -> bool {
                self.max.is_none()
            }
        }
    )*};
}

limits! {
    /// A bound on a count.
    LimitSpec: u32, "So many at most.";
    /// A bound on a size.
    SizeLimitSpec: u64, "So many bytes at most.";
    /// A bound on CPU time.
    CpuSpec: String, "cgroup v2's `cpu.max`: `QUOTA PERIOD`, `QUOTA` or `max`, in microseconds; \
        QUOTA from 1000 to 17592186044415, or `max`, PERIOD from 1000 to 1000000.";
    /// A bound on processes and threads.
    PidsSpec: u64, "cgroup v2's `pids.max`: 1 to 4194304.";
}

/// Environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct EnvSpec {
    /// Names that a session may bring to its worker; CUDA's harmless ones if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

impl EnvSpec {
    /// Nothing is set.
    pub fn is_empty(&self) -> bool {
        self.allow.is_none()
    }
}
