//! Differences between two sets of a VM's settings, by key.

use std::collections::BTreeMap;

use control_api::{Setting, Values, VmPatch, VmSpec, setting};
use serde_json::Value;

/// Returns the settings by key. Settings that aren't given are left out. But those that a change
/// can't reset are included with their defaults.
fn by_key(spec: &VmSpec) -> BTreeMap<&'static str, Value> {
    Values::of(spec).or(Values::kept_defaults()).0
}

/// Returns the settings whose values differ, with the value in `to`, which is null if it isn't
/// given.
pub(crate) fn differences(from: &VmSpec, to: &VmSpec) -> BTreeMap<&'static str, Value> {
    let (before, mut after) = (by_key(from), by_key(to));
    for key in before.keys() {
        after.entry(key).or_insert(Value::Null);
    }
    after.retain(|key, value| before.get(key).unwrap_or(&Value::Null) != value);
    after
}

/// Compares the settings `from` and `to`. Returns the change from one to the other, limited to the
/// settings that can change while the VM is running, and the keys of the other settings that
/// differ.
pub(crate) fn change(from: &VmSpec, to: &VmSpec) -> (VmPatch, Vec<&'static str>) {
    let differences = differences(from, to);
    let is_fixed = |key: &&str| !setting(key).is_some_and(Setting::is_live);
    let fixed = differences.keys().copied().filter(is_fixed).collect();
    (VmPatch::new(Values(differences)), fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use control_api::{Class, GpuRequest, Kind, LimitSpec, SETTINGS, Timespan};

    #[test]
    fn a_change_has_all_live_settings_and_names_the_others() {
        let from = VmSpec::new("a", 1 << 30);
        assert_eq!(change(&from, &from), (VmPatch::default(), Vec::new()));
        let mut to = from.clone();
        to.memory.session_max = Some(1 << 20);
        to.compute.weight = 7;
        to.compute.kernel_timeout = Some(Timespan::from_nanos(1_000_000));
        to.class = Class::Latency;
        to.sessions = LimitSpec { max: Some(5) };
        let (patch, fixed) = change(&from, &to);
        assert_eq!((patch.applied(&from).unwrap(), fixed), (to.clone(), Vec::new()));
        // Settings that aren't in the target get their defaults.
        let (patch, _) = change(&to, &from);
        let mut back = patch.applied(&to).unwrap();
        assert_eq!(back.sessions.max, Some(32));
        back.sessions = LimitSpec::default();
        assert_eq!(back, from);

        to.gpus = vec![GpuRequest::Index(0)];
        (to.uid, to.memory.host_max) = (Some(7), Some(1 << 30));
        assert_eq!(change(&from, &to).1, ["gpus", "memory.host_max", "uid"]);
    }

    /// A change has every setting that can be changed, and no other.
    #[test]
    fn a_change_has_the_live_settings() {
        let values = SETTINGS.iter().filter(|setting| setting.is_live()).map(|setting| {
            let value = match (setting.kind, setting.range()) {
                (Kind::Percent(..), _) => "50%".into(),
                (Kind::Time(low, _), _) => low.to_string().into(),
                (Kind::Word(words), _) => words[words.len() - 1].0.into(),
                (_, Some((_, high))) => high.into(),
                (kind, None) => panic!("{}: add a value for {kind:?}", setting.key),
            };
            (setting.key, value)
        });
        let patch = VmPatch::new(Values(values.collect()));
        let from = VmSpec::new("a", 2);
        let to = patch.applied(&from).unwrap();
        assert_eq!(change(&from, &to), (patch, Vec::new()));
    }
}
