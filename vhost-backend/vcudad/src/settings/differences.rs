//! Differences between two sets of a VM's settings, by key.

use std::collections::BTreeMap;

use control_api::{Setting, VmPatch, VmSpec, format_size, setting};
use serde_json::{Map, Value};

/// Returns the settings by key, such as `compute.weight`. Settings that aren't given are left out,
/// apart from `sessions.max`, which a patch can't remove.
fn by_key(spec: &VmSpec) -> BTreeMap<String, Value> {
    fn add(all: &mut BTreeMap<String, Value>, prefix: &str, value: Value) {
        match value {
            Value::Object(keys) => {
                for (key, value) in keys {
                    let dot = if prefix.is_empty() { "" } else { "." };
                    add(all, &format!("{prefix}{dot}{key}"), value);
                }
            }
            value => drop(all.insert(prefix.to_owned(), value)),
        }
    }
    let mut all = BTreeMap::new();
    add(&mut all, "", serde_json::to_value(spec).unwrap_or_default());
    all.entry("sessions.max".into()).or_insert_with(|| 32.into());
    all
}

/// Returns the keys that a change contains.
pub(crate) fn keys(patch: &VmPatch) -> Vec<String> {
    let tables = serde_json::to_value(patch).unwrap_or_default();
    let tables = tables.as_object().cloned().unwrap_or_default();
    let of_table = |(table, value): (String, Value)| match value {
        Value::Object(keys) => keys.keys().map(|key| format!("{table}.{key}")).collect(),
        _ => vec![table],
    };
    tables.into_iter().flat_map(of_table).collect()
}

/// Formats a setting's value as in the configuration file.
pub(crate) fn text(key: &str, value: &Value) -> Option<String> {
    let is_size = setting(key).is_some_and(Setting::is_size);
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if is_size => number.as_u64().map(format_size),
        other => Some(other.to_string()),
    }
}

/// Returns the keys whose values differ, with the value in `to`, which is null if it isn't given.
pub(crate) fn differences(from: &VmSpec, to: &VmSpec) -> BTreeMap<String, Value> {
    let (before, mut after) = (by_key(from), by_key(to));
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let gone: Vec<String> = gone.cloned().collect();
    after.extend(gone.into_iter().map(|key| (key, Value::Null)));
    after.retain(|key, value| before.get(key).unwrap_or(&Value::Null) != value);
    after
}

/// Returns the change that leads from some settings to others, as far as they can be changed while
/// the VM is running, and the keys of the other differences.
pub(crate) fn change(from: &VmSpec, to: &VmSpec) -> (VmPatch, Vec<String>) {
    let (live, fixed): (Vec<_>, Vec<_>) = differences(from, to)
        .into_iter()
        .partition(|(key, _)| setting(key).is_some_and(Setting::is_live));
    let mut patch = Map::new();
    for (key, value) in live {
        match key.split_once('.') {
            Some((table, key)) => {
                let table = patch.entry(table).or_insert_with(|| Map::new().into());
                table[key] = value;
            }
            None => drop(patch.insert(key, value)),
        }
    }
    let patch = serde_json::from_value(patch.into()).unwrap_or_default();
    (patch, fixed.into_iter().map(|(key, _)| key).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use control_api::{Class, GpuRequest, LimitSpec, SETTINGS, Timespan};

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
        assert_eq!((patch.applied(&from), fixed), (to.clone(), Vec::<String>::new()));
        // Settings that the other side doesn't have get their defaults.
        let (patch, _) = change(&to, &from);
        assert_eq!(patch.sessions.max, Some(32));
        let mut back = patch.applied(&to);
        back.sessions = LimitSpec::default();
        assert_eq!(back, from);

        to.gpus = vec![GpuRequest::Index(0)];
        (to.uid, to.memory.host_max) = (Some(7), Some(1 << 30));
        assert_eq!(change(&from, &to).1, ["gpus", "memory.host_max", "uid"]);
    }

    /// A patch has every setting that can be changed, and no other.
    #[test]
    fn a_patch_has_the_live_settings() {
        let text = r#"{"memory": {"max": 1, "session_max": 1}, "compute": {"weight": 1, "max": "1%",
            "min": "1%", "kernel_timeout": "1ms"}, "class": "latency", "sessions": {"max": 1},
            "mps": {"active_thread_percentage": "1%", "pinned_memory_limit": 1}}"#;
        let patch: VmPatch = serde_json::from_str(text).unwrap();
        let from = VmSpec::new("a", 2);
        let to = patch.applied(&from);
        assert_eq!(
            differences(&from, &to).len(),
            SETTINGS.iter().filter(|setting| setting.is_live()).count()
        );
        assert_eq!(change(&from, &to), (patch, Vec::new()));
    }
}
