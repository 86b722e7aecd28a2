//! The configuration file.

use std::path::{Path, PathBuf};

use control_api::{ApiError, Size, expected, is_list, with_suggestion};
use serde::Deserialize;
use toml::{Table, Value};

use super::error::ConfigError;
use super::host::{Config, default_socket_folders};
use super::library::DriverLibrary;
use super::lines::Lines;
use super::policy::{EvictionMode, JailMode, OnExcess, Policy};
use super::ratio::Ratio;
use super::settings::Settings;
use super::vm::default_socket;
use super::vm_set::VmSet;
use host_ipc::spawner::MAX_VMS;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    driver_library: Option<String>,
    #[serde(default)]
    allow_pageable_memory_access: bool,
    #[serde(default)]
    jail: JailMode,
    warm_workers: Option<u32>,
    state_dir: Option<PathBuf>,
    control_socket: Option<PathBuf>,
    control_group: Option<String>,
    read_socket: Option<PathBuf>,
    read_group: Option<String>,
    user: Option<String>,
    socket_folders: Option<Vec<PathBuf>>,
    metrics_address: Option<String>,
    #[serde(default)]
    memory: MemoryKeys,
    #[serde(default)]
    compute: ComputeKeys,
    scheduler: Option<Switch>,
    eviction: Option<EvictionMode>,
    #[serde(default)]
    defaults: Settings,
    #[serde(default)]
    vm: Vec<Entry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryKeys {
    overcommit: Option<Ratio>,
    slack: Option<Size>,
    on_excess: Option<OnExcess>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputeKeys {
    overcommit: Option<Ratio>,
    on_excess: Option<OnExcess>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Deserialize)]
struct Entry {
    name: String,
    socket: Option<PathBuf>,
    #[serde(flatten)]
    settings: Table,
}

impl Config {
    /// Reads and checks a configuration file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source: source.into() })?;
        let mut config = Self::parse(&text).map_err(|error| match error {
            ConfigError::Value(reason) => ConfigError::Parse { path: path.to_owned(), reason },
            other => other,
        })?;
        config.path = Some(path.to_owned());
        Ok(config)
    }

    /// Adds the file and the line to an error that was found after the file had been parsed.
    pub fn locate(&self, error: ConfigError) -> ConfigError {
        let lines = Lines::of(&self.text);
        let line = match &error {
            ConfigError::Vm { name, error } => {
                let index = self.vms.iter().position(|spec| spec.name == *name);
                index.and_then(|at| lines.of_vm(at, error.field.as_deref().unwrap_or_default()))
            }
            ConfigError::Value(text) => lines.of_key(first_word(text)),
            ConfigError::Read { .. } | ConfigError::Parse { .. } => return error,
        };
        let reason = at(line, &error.to_string());
        match &self.path {
            Some(path) => ConfigError::Parse { path: path.clone(), reason },
            None => ConfigError::Value(reason),
        }
    }

    /// Parses and checks the text of a configuration file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        // Ignore text that can't be parsed: the parser below reports the error.
        let mut top: Table = toml::from_str(text).unwrap_or_default();
        // Don't check the VMs here. Each VM is parsed separately below, so that an error can
        // include its name.
        top.remove("vm");
        // Don't check `socket_folders`, which may be a list although it isn't a setting of VMs.
        top.remove("socket_folders");
        no_lists("", &Value::Table(top))?;
        let file: File = toml::Deserializer::parse(text)
            .map_err(|error| one_line(text, ".", &error))
            .and_then(|from| {
                serde_path_to_error::deserialize(from)
                    .map_err(|error| one_line(text, &error.path().to_string(), error.inner()))
            })?;
        let driver_library = file.driver_library.as_deref().unwrap_or("auto");
        let lines = Lines::of(text);
        if file.vm.len() > MAX_VMS {
            let count = file.vm.len();
            let message = format!("vm: there are {count} VMs, but vcudad serves at most {MAX_VMS}");
            return Err(ConfigError::Value(message));
        }
        let (mut vms, mut set) = (Vec::new(), VmSet::default());
        for (index, Entry { name, socket, settings }) in file.vm.into_iter().enumerate() {
            let of_vm_at = |field: &str, message: String| {
                let message = format!("vm '{name}': {message}");
                ConfigError::Value(at(lines.of_vm(index, field), &message))
            };
            let settings = Value::Table(settings);
            let settings: Settings =
                serde_path_to_error::deserialize(settings).map_err(|error| {
                    let field = error.path().to_string();
                    let message = said(&field, error.inner(), expected(&field));
                    // If a key is unknown, Serde's message lists the settings. Add `name` and
                    // `socket`, which aren't among the settings because `[defaults]` can't contain
                    // them.
                    let is_own = !field.contains('.');
                    let own = "expected one of `name`, `socket`, ";
                    let message = match is_own {
                        true => message.replacen("expected one of ", own, 1),
                        false => message,
                    };
                    of_vm_at(&field, with_field_suggestion(&message))
                })?;
            let invalid = |error: ApiError| {
                of_vm_at(error.field.as_deref().unwrap_or_default(), error.to_string())
            };
            let socket = socket.unwrap_or_else(|| default_socket(&name));
            let spec = settings.or(file.defaults.clone()).into_spec(name.clone(), socket);
            let spec = spec.map_err(invalid)?;
            set.add(&spec).map_err(invalid)?;
            vms.push(spec);
        }
        let metrics_address =
            file.metrics_address.map(|text| text.parse()).transpose().map_err(|_| {
                ConfigError::Value(
                    "metrics_address must be an IP address and a port, such as 127.0.0.1:9400"
                        .into(),
                )
            })?;
        let driver_library: DriverLibrary = driver_library.parse().map_err(ConfigError::Value)?;
        let default = Policy::default();
        Self {
            driver_library,
            allow_pageable_memory_access: file.allow_pageable_memory_access,
            jail: file.jail,
            warm_workers: file.warm_workers.unwrap_or(1),
            state_dir: file.state_dir,
            control_socket: file.control_socket,
            control_group: file.control_group,
            read_socket: file.read_socket,
            read_group: file.read_group,
            user: file.user,
            socket_folders: file.socket_folders.unwrap_or_else(default_socket_folders),
            metrics_address,
            policy: Policy {
                memory_overcommit: file.memory.overcommit.unwrap_or(default.memory_overcommit),
                memory_slack: file.memory.slack.map_or(default.memory_slack, |size| size.0),
                on_memory_excess: file.memory.on_excess.unwrap_or(default.on_memory_excess),
                on_time_excess: file.compute.on_excess.unwrap_or(default.on_time_excess),
                compute_overcommit: file.compute.overcommit.unwrap_or(default.compute_overcommit),
                scheduler: file.scheduler != Some(Switch::Off),
                eviction: file.eviction.unwrap_or(default.eviction),
            },
            vms,
            memory_max_is_default: false,
            text: text.to_owned(),
            path: None,
        }
        .checked()
        .map_err(|error| {
            let text = error.to_string();
            ConfigError::Value(at(lines.of_key(first_word(&text)), &text))
        })
    }
}

/// Returns the key at the beginning of a message.
fn first_word(message: &str) -> &str {
    message.split([':', ' ']).next().unwrap_or_default()
}

/// Describes an error in a key's value. `takes` lists the values that the API allows. Unlike the
/// API, the file also allows sizes as text.
fn said(field: &str, error: &toml::de::Error, takes: Option<String>) -> String {
    let mut message = error.message().trim().replace('\n', ", ");
    // If the key is unknown, the message already lists the known keys.
    let is_complete = message.starts_with("unknown") || message.starts_with("is a list");
    let takes = takes.filter(|_| !is_complete);
    if field != "." {
        message = format!("{field}: {message}");
    }
    if let Some(takes) = takes {
        let takes = takes.replace("a whole number of bytes", "a size");
        message = format!("{message}; it must be {takes}");
    }
    message
}

/// Adds a suggestion to a message about an unknown key. Such a message may begin with the key.
fn with_field_suggestion(message: &str) -> String {
    let at = message.find("unknown ").unwrap_or(0);
    format!("{}{}", &message[..at], with_suggestion(&message[at..]))
}

/// Describes the allowed values of a top-level key or of a key in `[defaults]`.
fn expected_at_top(field: &str) -> Option<String> {
    let words = match field {
        "user" => "the name or the number of a user, as a string",
        "driver_library" => "\"auto\", \"softgpu\", or the path of a libcuda.so.1",
        "allow_pageable_memory_access" => "true or false",
        "warm_workers" => "a whole number from 0 to 256",
        "memory.slack" => "a size, such as \"256M\"",
        "memory.on_excess" | "compute.on_excess" => "\"log\" or \"end\"",
        "scheduler" => "\"on\" or \"off\"",
        "eviction" => "\"auto\" or \"off\"",
        field => return expected(field.strip_prefix("defaults.")?),
    };
    Some(words.to_owned())
}

/// Describes a parse error on one line, with its line number.
fn one_line(text: &str, field: &str, error: &toml::de::Error) -> ConfigError {
    let reason = if field == "vm" && error.message().starts_with("invalid type: map") {
        "`[vm]` must be written `[[vm]]`".into()
    } else {
        with_field_suggestion(&said(field, error, expected_at_top(field)))
    };
    let line = error.span().map(|span| Lines::of(text).of_byte(span.start));
    ConfigError::Value(at(line, &reason))
}

/// Adds the line number to the description of an error, if the number is known.
fn at(line: Option<usize>, reason: &str) -> String {
    line.map_or_else(|| reason.to_owned(), |line| format!("line {line}: {reason}"))
}

/// Rejects lists in place of tables. Serde would accept a list and assign its values to the fields
/// in declaration order, which isn't a documented format.
fn no_lists(field: &str, value: &Value) -> Result<(), ConfigError> {
    match value {
        Value::Array(_) if !is_list(field.strip_prefix("defaults.").unwrap_or(field)) => {
            Err(ConfigError::Value(format!("{field}: is a list, but must be a table")))
        }
        Value::Table(keys) => keys.iter().try_for_each(|(key, value)| {
            let dot = if field.is_empty() { "" } else { "." };
            no_lists(&format!("{field}{dot}{key}"), value)
        }),
        _ => Ok(()),
    }
}
