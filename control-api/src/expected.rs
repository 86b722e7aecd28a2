//! Describes each setting's allowed values, for errors about values of the wrong type. Such a value
//! fails to parse, so [`VmSpec::check`](crate::spec::VmSpec::check) never runs on it.

use std::str::FromStr;

/// Returns a description of a setting's allowed values.
pub fn expected(field: &str) -> Option<&'static str> {
    Some(match field {
        "name" => {
            "a string of 1 to 64 letters, digits, '-', '_' and '.', and must not begin with '.'"
        }
        "socket" => "the absolute path of a socket, of at most 107 bytes",
        "socket_mode" => "a string from \"0\" to \"0777\" in octal, such as \"0660\"",
        "gpus" => "a list of 1 to 16 of \"any\", an index such as \"0\", or a UUID",
        "memory" => "an object with max, a whole number of bytes from 2097152 to 1125899906842624",
        "memory.max" | "memory.session_max" | "mps.pinned_memory_limit" => {
            "a whole number of bytes from 2097152 to 1125899906842624"
        }
        "memory.host_max" => "a whole number of bytes from 1048576 to 1125899906842624",
        "compute.weight" => "a whole number from 1 to 10000",
        "compute.max" | "mps.active_thread_percentage" => "a string from \"1%\" to \"100%\"",
        "compute.min" => "a string from \"0%\" to \"100%\"",
        "compute.kernel_timeout" => "a string from \"1ms\" to \"24h\"",
        "class" => "\"batch\" or \"latency\"",
        "sharing" => "\"exclusive\" or \"mps\"",
        "sessions.max" => "a whole number from 1 to 4096",
        "connections.max" => "a whole number from 1 to 1024",
        "pinned.max" => "a whole number of bytes from 1048576 to 70368744177664",
        "plain.max" => "a whole number of bytes from 4096 to 1073741824",
        "cpu.max" => {
            "\"QUOTA PERIOD\", \"QUOTA\" or \"max\", in microseconds: QUOTA from 1000 to \
             17592186044415, or max, and PERIOD from 1000 to 1000000"
        }
        "pids.max" => "a whole number from 1 to 4194304",
        "env.allow" => "a list of names of CUDA environment variables",
        "socket_group" => "the name or the number of a group",
        "uid" => "a whole number from 1 to 4294967294",
        "spin_us" => "a whole number from 0 to 1000000",
        _ => return None,
    })
}

/// Returns true if the setting's value is a list.
pub fn is_list(field: &str) -> bool {
    ["gpus", "env.allow"].contains(&field)
}

/// Returns a command-line parser for a numeric setting. The parser doesn't check the range.
pub fn number<T: FromStr>(field: &'static str) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let must = expected(field).unwrap_or("a whole number");
        text.parse().map_err(|_| format!("it must be {must}"))
    }
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

    #[test]
    fn numbers_say_their_range() {
        assert_eq!(number::<u32>("compute.weight")("7"), Ok(7));
        let error = number::<u32>("compute.weight")("-1").unwrap_err();
        assert_eq!(error, "it must be a whole number from 1 to 10000");
    }
}
