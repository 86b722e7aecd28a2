//! Describes each setting's allowed values, for errors about values of the wrong type. A value of
//! the wrong type can't be parsed, so [`VmSpec::check`](crate::spec::VmSpec::check) can't check it.

use crate::setting::{Kind, Setting};
use crate::settings::setting;

/// Returns a description of a setting's allowed values.
pub fn expected(field: &str) -> Option<String> {
    match field {
        "memory" => {
            setting("memory.max").map(|max| format!("an object with max, {}", max.expected()))
        }
        _ => setting(field).map(Setting::expected),
    }
}

/// Returns true if the setting's value is a list.
pub fn is_list(field: &str) -> bool {
    setting(field).is_some_and(|setting| matches!(setting.kind, Kind::List(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::VmSpec;

    /// An error about a value of the wrong type must give the same allowed range as an error about
    /// a value out of range.
    #[test]
    fn the_words_agree_with_the_checks() {
        for (field, value) in [
            ("memory.max", "0"),
            ("memory.session_max", "0"),
            ("memory.host_max", "5"),
            ("compute.weight", "0"),
            ("compute.max", "\"0%\""),
            ("compute.min", "\"101%\""),
            ("compute.kernel_timeout", "\"1us\""),
            ("mps.active_thread_percentage", "\"0%\""),
            ("mps.pinned_memory_limit", "0"),
            ("sessions.max", "0"),
            ("connections.max", "0"),
            ("pinned.max", "0"),
            ("plain.max", "0"),
            ("cpu.max", "\"5\""),
            ("pids.max", "0"),
            ("uid", "4294967295"),
            ("spin_us", "1000001"),
            ("socket_mode", "\"1000\""),
            ("name", "\"\""),
        ] {
            let mut all = serde_json::json!({
                "name": "a", "sharing": "mps", "memory": {"max": 2097152}
            });
            let (table, key) = field.split_once('.').unwrap_or(("", field));
            let place = if table.is_empty() { &mut all } else { &mut all[table] };
            place[key] = serde_json::from_str(value).unwrap();
            let spec: VmSpec = serde_json::from_value(all).unwrap();
            let error = spec.check().unwrap_err();
            assert_eq!(error.field.as_deref(), Some(field));
            let must = expected(field).unwrap().replace('"', "");
            let said = error.message.replace('"', "");
            let range = said.rsplit_once("it must be ").map_or("1 to 64 letters", |parts| parts.1);
            assert!(must.contains(range), "{field}: {said} / {must}");
        }
    }
}
