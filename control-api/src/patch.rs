//! A change to a VM's settings, in the way of JSON merge patch (RFC 7396): what is not named stays,
//! `null` takes a setting away, where there can be none.

use serde::{Deserialize, Deserializer, Serialize};

use crate::spec::{Class, LimitSpec, VmSpec};
use crate::units::{Percent, Timespan};

/// What can be changed while a VM exists. All of it applies, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VmPatch {
    /// Device memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory: MemoryPatch,
    /// GPU time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compute: ComputePatch,
    /// How its waiting work is treated.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub class: Option<Class>,
    /// For new sessions under MPS.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mps: MpsPatch,
    /// Guest processes with the device open at once. Below the present number, no new ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sessions: LimitPatch,
}

/// Device memory, in bytes, on each of the VM's GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryPatch {
    /// What all its sessions may hold together; above 0. Below present use, nothing more is allocated.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1))]
    pub max: Option<u64>,
    /// What one session may hold; `null`: `max`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>, minimum = 1))]
    pub session_max: Option<Option<u64>>,
}

/// GPU time, on each of the VM's GPUs. Takes effect within 100 ms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ComputePatch {
    /// 1 to 10000.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1, maximum = 10_000))]
    pub weight: Option<u32>,
    /// 1% to 100%.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub max: Option<Percent>,
    /// 0% to 100%, at most `max`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub min: Option<Percent>,
    /// 1ms to 24h; `null`: never.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timespan>))]
    pub kernel_timeout: Option<Option<Timespan>>,
}

/// What each new worker gets under MPS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MpsPatch {
    /// Part of the GPU's multiprocessors: 1% to 100%; `null`: all.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Percent>))]
    pub active_thread_percentage: Option<Option<Percent>>,
    /// Device memory in bytes; `null`: no limit of MPS's.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>, minimum = 1))]
    pub pinned_memory_limit: Option<Option<u64>>,
}

/// A bound on a count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LimitPatch {
    /// So many at most: 1 to 4096.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1, maximum = 4096))]
    pub max: Option<u32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// `null` is no value here: the setting can't be taken away. A missing key does not come by.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// `null` is a value of its own here: a missing key does not come by.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}

impl VmPatch {
    /// Nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The settings with the change. Their ranges are not looked at: see [`VmSpec::check`].
    #[must_use]
    pub fn applied(&self, to: &VmSpec) -> VmSpec {
        let mut spec = to.clone();
        set(&mut spec.memory.max, &self.memory.max);
        set(&mut spec.memory.session_max, &self.memory.session_max);
        set(&mut spec.compute.weight, &self.compute.weight);
        set(&mut spec.compute.max, &self.compute.max);
        set(&mut spec.compute.min, &self.compute.min);
        set(&mut spec.compute.kernel_timeout, &self.compute.kernel_timeout);
        set(&mut spec.class, &self.class);
        set(&mut spec.mps.active_thread_percentage, &self.mps.active_thread_percentage);
        set(&mut spec.mps.pinned_memory_limit, &self.mps.pinned_memory_limit);
        if let Some(max) = self.sessions.max {
            spec.sessions = LimitSpec { max: Some(max) };
        }
        spec
    }
}

fn set<T: Clone>(field: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays_and_null_takes_away() {
        let mut spec = VmSpec::new("a", 1 << 30);
        spec.compute.kernel_timeout = Some(Timespan::from_nanos(5));
        spec.memory.session_max = Some(7);
        let text = r#"{"memory": {"session_max": null}, "compute": {"weight": 7}}"#;
        let patch: VmPatch = serde_json::from_str(text).unwrap();
        let changed = patch.applied(&spec);
        assert_eq!(changed.compute.weight, 7);
        assert_eq!(changed.compute.kernel_timeout, spec.compute.kernel_timeout);
        assert_eq!(changed.memory.session_max, None);
        assert_eq!(changed.memory.max, 1 << 30);
    }

    #[test]
    fn what_must_be_set_is_not_taken_away() {
        for text in [
            r#"{"memory": {"max": null}}"#,
            r#"{"compute": {"weight": null}}"#,
            r#"{"compute": {"max": null}}"#,
            r#"{"compute": {"min": null}}"#,
            r#"{"class": null}"#,
            r#"{"sessions": {"max": null}}"#,
            r#"{"compute": null}"#,
        ] {
            assert!(serde_json::from_str::<VmPatch>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_patch_is_written_as_it_was_read() {
        let text = r#"{"memory":{"session_max":null},"compute":{"max":"25%"},"class":"latency"}"#;
        let patch: VmPatch = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&patch).unwrap(), text);
        assert_eq!(serde_json::to_string(&VmPatch::default()).unwrap(), "{}");
        assert!(VmPatch::default().is_empty());
    }
}
