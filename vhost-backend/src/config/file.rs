//! The configuration file.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::vm::Settings;
use super::{Config, ConfigError, DriverLibrary, OnExcess, Policy, Ratio, Size, of_vm};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    driver_library: Option<String>,
    #[serde(default)]
    allow_pageable_memory_access: bool,
    warm_workers: Option<u32>,
    state_dir: Option<PathBuf>,
    control_socket: Option<PathBuf>,
    control_group: Option<String>,
    metrics_address: Option<String>,
    #[serde(default)]
    memory: MemoryKeys,
    #[serde(default)]
    compute: ComputeKeys,
    scheduler: Option<Switch>,
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
    socket: PathBuf,
    #[serde(flatten)]
    settings: toml::Table,
}

impl Config {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|error| match error {
            ConfigError::Value(reason) => ConfigError::Parse { path: path.to_owned(), reason },
            other => other,
        })
    }

    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let file: File = toml::from_str(text).map_err(|error| one_line(text, &error))?;
        let driver_library = file.driver_library.as_deref().unwrap_or("auto");
        let mut vms = Vec::new();
        for Entry { name, socket, settings } in file.vm {
            let settings: Settings = settings.try_into().map_err(|error: toml::de::Error| {
                let reason = error.to_string().trim().replace('\n', " ");
                ConfigError::Value(format!("vm '{name}': {reason}"))
            })?;
            let spec = settings.or(file.defaults.clone()).into_spec(name.clone(), socket);
            vms.push(spec.map_err(|error| of_vm(&name, &error))?);
        }
        let metrics_address =
            file.metrics_address.map(|text| text.parse()).transpose().map_err(|_| {
                ConfigError::Value("metrics_address is not like 127.0.0.1:9400".into())
            })?;
        let driver_library: DriverLibrary = driver_library.parse().map_err(ConfigError::Value)?;
        let default = Policy::default();
        Self {
            driver_library,
            allow_pageable_memory_access: file.allow_pageable_memory_access,
            warm_workers: file.warm_workers.unwrap_or(1),
            state_dir: file.state_dir,
            control_socket: file.control_socket,
            control_group: file.control_group,
            metrics_address,
            policy: Policy {
                memory_overcommit: file.memory.overcommit.unwrap_or(default.memory_overcommit),
                memory_slack: file.memory.slack.map_or(default.memory_slack, |size| size.0),
                on_excess: file.memory.on_excess.unwrap_or(default.on_excess),
                compute_overcommit: file.compute.overcommit.unwrap_or(default.compute_overcommit),
                scheduler: file.scheduler != Some(Switch::Off),
            },
            vms,
            memory_max_is_default: false,
        }
        .checked()
    }
}

/// A parse error with its line, on one line.
fn one_line(text: &str, error: &toml::de::Error) -> ConfigError {
    let reason = error.message().trim().replace('\n', ", ");
    let line = error.span().map(|span| {
        text.as_bytes()[..span.start.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
    });
    ConfigError::Value(match line {
        Some(line) => format!("line {line}: {reason}"),
        None => reason,
    })
}
