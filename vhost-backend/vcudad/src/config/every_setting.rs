//! Tests every setting in the file, on the command line, and in the API. A new setting is covered
//! without a change here, unless it is a text or a list.

use clap::Parser;
use control_api::{Change, ChangedVm, Kind, NewVm, SETTINGS, Setting, Timespan, VmPatch, VmSpec};
use serde_json::{Value, json};

use super::host::Config;

#[derive(Parser)]
struct Add {
    #[command(flatten)]
    vm: NewVm,
}

#[derive(Parser)]
struct Set {
    #[command(flatten)]
    vm: ChangedVm,
}

/// Returns values that the setting allows, including both ends of a range, and values that it
/// refuses, including those just outside the range.
fn samples(setting: &Setting) -> (Vec<Value>, Vec<Value>) {
    let (good, bad): (Value, Value) = match setting.kind {
        Kind::Number(low, high) | Kind::Size(low, high) => {
            (json!([low, high]), json!([low as i64 - 1, high + 1, 1.5]))
        }
        Kind::DeviceMemory => {
            (json!([2 << 20, 1u64 << 50]), json!([0, (2 << 20) - 1, (1u64 << 50) + 1]))
        }
        Kind::Percent(low, high) => (
            json!([format!("{low}%"), format!("{high}%")]),
            json!([format!("{high}.01%"), "-1%", "1", 1]),
        ),
        Kind::Time(low, high) => {
            let near = |span: Timespan, more| Timespan::from_nanos(span.nanos() + more).to_string();
            let below = Timespan::from_nanos(low.nanos() - 1).to_string();
            (json!([near(low, 0), near(high, 0)]), json!([below, near(high, 1), "1", 1]))
        }
        Kind::Word(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            (json!(words), json!(["nothing", "", 1]))
        }
        Kind::Text(_) | Kind::List(_) => match setting.key {
            "name" => (json!(["b"]), json!(["", ".b", 1])),
            // A relative path isn't among the refused values: the API refuses it, but the file and
            // the command line allow it.
            "socket" => (json!(["/run/b"]), json!([format!("/{}", "x".repeat(107)), 1])),
            "socket_mode" => (json!(["0600"]), json!(["0888", 1])),
            "socket_group" => (json!(["0"]), json!([1])),
            "cpu.max" => (json!(["max", "1000 1000"]), json!(["5", 1])),
            "gpus" => (json!([["0", "any"]]), json!([[], ["x"], 1])),
            "env.allow" => (json!([["CUDA_LAUNCH_BLOCKING"]]), json!([["LD_PRELOAD"], 1])),
            key => panic!("{key}: add a sample"),
        },
    };
    let list = |values: Value| values.as_array().cloned().unwrap();
    (list(good), list(bad))
}

fn pointer(setting: &Setting) -> String {
    format!("/{}", setting.key.replace('.', "/"))
}

/// Returns the settings of a VM in JSON, with one setting changed.
fn with(mut all: Value, setting: &Setting, value: &Value) -> Value {
    match setting.key.split_once('.') {
        Some((table, key)) => all[table][key] = value.clone(),
        None => all[setting.key] = value.clone(),
    }
    all
}

fn base(setting: &Setting) -> Value {
    let sharing = if setting.key.starts_with("mps.") { "mps" } else { "exclusive" };
    json!({"name": "a", "socket": "/run/a", "memory": {"max": 1 << 30}, "sharing": sharing})
}

/// Parses and checks settings as the API does.
fn api(all: Value) -> Result<VmSpec, String> {
    let spec: VmSpec = serde_json::from_value(all).map_err(|error| error.to_string())?;
    spec.check().map_err(|error| error.to_string())?;
    Ok(spec)
}

/// Parses and checks settings as in a file.
fn file(setting: &Setting, value: &Value) -> Result<VmSpec, String> {
    let mut keys = vec![("name", json!("a")), ("socket", json!("/run/a"))];
    keys.extend([("memory.max", json!("1G"))]);
    if setting.key.starts_with("mps.") {
        keys.push(("sharing", json!("mps")));
    }
    keys.retain(|(key, _)| *key != setting.key);
    keys.push((setting.key, value.clone()));
    let lines: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let config = Config::parse(&format!("[[vm]]\n{}", lines.concat()));
    Ok(config.map_err(|error| error.to_string())?.vms.remove(0))
}

/// Returns the command-line option that gives a setting this value.
fn option(setting: &Setting, value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let value = match value {
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(","),
        value => text(value),
    };
    format!("--{}={value}", setting.option())
}

/// Parses and checks settings as on the command line.
fn command(setting: &Setting, value: &Value) -> Result<VmSpec, String> {
    let mut words = vec!["add".to_owned(), option(setting, value), "--socket-path=/run/a".into()];
    words.extend(["--memory-max=1G".into(), "--sharing=mps".into()]);
    let name = |word: &str| word.split('=').next().unwrap().to_owned();
    let (own, is_mps) = (name(&words[1]), setting.key.starts_with("mps."));
    let mut place = 0;
    words.retain(|word| {
        place += 1;
        place <= 2 || (name(word) != own && (is_mps || !word.starts_with("--sharing")))
    });
    let add = Add::try_parse_from(&words).map_err(|error| error.to_string())?;
    let spec = add.vm.spec("a", 0).map_err(|error| error.to_string())?;
    spec.check().map_err(|error| error.to_string())?;
    Ok(spec)
}

#[test]
fn a_value_means_the_same_in_the_file_on_the_command_line_and_in_the_api() {
    for setting in SETTINGS {
        for value in samples(setting).0 {
            let spec = api(with(base(setting), setting, &value)).unwrap();
            let kept = serde_json::to_value(&spec).unwrap();
            assert_eq!(kept.pointer(&pointer(setting)), Some(&value), "{}", setting.key);
            assert_eq!(file(setting, &value).as_ref(), Ok(&spec), "{}: {value}", setting.key);
            if setting.key != "name" {
                assert_eq!(command(setting, &value), Ok(spec), "{}: {value}", setting.key);
            }
        }
    }
}

#[test]
fn every_error_names_the_setting() {
    for setting in SETTINGS {
        for value in samples(setting).1 {
            let place = format!("{}: {value}", setting.key);
            assert!(api(with(base(setting), setting, &value)).is_err(), "{place}");
            let error = file(setting, &value).unwrap_err();
            // If the name or the socket is wrong, the file's error can name only the line of the
            // VM's section.
            if setting.key != "name" && setting.key != "socket" {
                assert!(
                    error.starts_with("line ") && error.contains(setting.key),
                    "{place}: {error}"
                );
            }
            // On the command line, everything is text, and an empty list can't be written.
            let is_text =
                matches!(setting.kind, Kind::Text(_) | Kind::List(_)) || value == json!([]);
            if setting.key == "name" || is_text && !value.is_string() {
                continue;
            }
            let error = command(setting, &value).unwrap_err();
            let (option, key) = (format!("--{}", setting.option()), setting.key);
            assert!(error.contains(&option) || error.contains(key), "{place}: {error}");
        }
    }
}

#[test]
fn a_change_has_exactly_the_live_settings() {
    for setting in SETTINGS {
        let before = api(base(setting)).unwrap();
        for value in samples(setting).0 {
            let text = with(json!({}), setting, &value);
            let patch: Result<VmPatch, _> = serde_json::from_value(text);
            let words = ["set".to_owned(), option(setting, &value)];
            let set = Set::try_parse_from(words).map(|set| set.vm.0);
            if !setting.is_live() {
                assert!(patch.is_err() && set.is_err(), "{}", setting.key);
                continue;
            }
            let patch = patch.unwrap();
            assert_eq!(set.unwrap(), patch, "{}", setting.key);
            let after = serde_json::to_value(patch.applied(&before).unwrap()).unwrap();
            assert_eq!(after.pointer(&pointer(setting)), Some(&value), "{}", setting.key);
        }
        let reset: Result<VmPatch, _> =
            serde_json::from_value(with(json!({}), setting, &Value::Null));
        let can_be_reset = matches!(setting.change, Change::LiveOrNone(_));
        assert_eq!(reset.is_ok(), can_be_reset, "{}", setting.key);
    }
}
