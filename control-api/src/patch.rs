//! A change to a VM's settings, as a JSON merge patch (RFC 7396): an absent key leaves its setting
//! unchanged, and `null` resets an optional setting.

use serde::{Deserialize, Deserializer, Serialize};

use crate::spec::{Class, LimitSpec, VmSpec};
use crate::units::{Percent, Timespan};

/// A change to an existing VM's settings. If one setting is refused, none is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VmPatch {
    /// Device memory limits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory: MemoryPatch,
    /// Limits on GPU time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compute: ComputePatch,
    /// Scheduling class of the VM's work.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub class: Option<Class>,
    /// MPS limits for new sessions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mps: MpsPatch,
    /// Number of guest processes that may have the device open at once. If this is lowered below
    /// the current number, existing sessions continue, but new ones are refused.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sessions: LimitPatch,
}

/// Device memory, in bytes, on each of the VM's GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryPatch {
    /// Limit for all sessions together: 2 MiB to 1024 TiB. A VM above its limit keeps its memory, but can't
    /// allocate more.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(nullable = false, minimum = 2_097_152, maximum = 1_125_899_906_842_624i64)
    )]
    pub max: Option<u64>,
    /// Limit for one session. `null` means the same as `max`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>, minimum = 2_097_152, maximum = 1_125_899_906_842_624i64))]
    pub session_max: Option<Option<u64>>,
}

/// Limits on GPU time, on each of the VM's GPUs. Changes take effect within 100 ms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ComputePatch {
    /// Share of GPU time, relative to the other VMs' weights: 1 to 10000.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1, maximum = 10_000))]
    pub weight: Option<u32>,
    /// Cap on GPU time: 1% to 100%.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub max: Option<Percent>,
    /// Guaranteed GPU time: 0% to 100%, at most `max`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub min: Option<Percent>,
    /// Maximum time that a kernel may run: 1ms to 24h. `null` means unlimited.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timespan>))]
    pub kernel_timeout: Option<Option<Timespan>>,
}

/// MPS limits per new session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MpsPatch {
    /// Percentage of the GPU's multiprocessors: 1% to 100%. `null` means all.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Percent>))]
    pub active_thread_percentage: Option<Option<Percent>>,
    /// Device memory in bytes. `null` means no MPS limit.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>, minimum = 2_097_152, maximum = 1_125_899_906_842_624i64))]
    pub pinned_memory_limit: Option<Option<u64>>,
}

/// A limit on a count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LimitPatch {
    /// The limit: 1 to 4096.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1, maximum = 4096))]
    pub max: Option<u32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Deserializes a setting that can't be reset, so `null` is an error. Serde doesn't call this for
/// absent keys.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Deserializes a setting that `null` resets. Serde doesn't call this for absent keys.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}

impl VmPatch {
    /// Returns true if the patch changes no setting.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the settings with the change applied. Doesn't check ranges; see [`VmSpec::check`].
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
    fn an_absent_key_changes_nothing_and_null_resets() {
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
    fn a_required_setting_cannot_be_reset() {
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
    fn a_patch_round_trips() {
        let text = r#"{"memory":{"session_max":null},"compute":{"max":"25%"},"class":"latency"}"#;
        let patch: VmPatch = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&patch).unwrap(), text);
        assert_eq!(serde_json::to_string(&VmPatch::default()).unwrap(), "{}");
        assert!(VmPatch::default().is_empty());
    }
}
