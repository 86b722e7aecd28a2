//! Values of some or all settings of a VM, by key.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{ApiError, ErrorCode};
use crate::setting::Change;
use crate::settings::SETTINGS;
use crate::spec::VmSpec;

/// Values by key, such as `compute.weight`, in the form that the API uses. Each has the type of its
/// setting, but may be out of range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(pub BTreeMap<&'static str, Value>);

impl Values {
    /// Returns the settings that `spec` contains. Leaves out a socket whose path isn't UTF-8,
    /// because it can't be sent through the API.
    pub fn of(spec: &VmSpec) -> Self {
        let socket = spec.socket.clone().filter(|path| path.to_str().is_some());
        let all = serde_json::to_value(VmSpec { socket, ..spec.clone() }).unwrap_or_default();
        let given = SETTINGS.iter().filter_map(|setting| {
            let value = all.pointer(&format!("/{}", setting.key.replace('.', "/")))?;
            Some((setting.key, value.clone()))
        });
        Self(given.collect())
    }

    /// Fills in missing values from `those`.
    #[must_use]
    pub fn or(mut self, those: Self) -> Self {
        for (key, value) in those.0 {
            self.0.entry(key).or_insert(value);
        }
        self
    }

    /// Returns the defaults that are the same for all VMs.
    pub fn defaults() -> Self {
        let values = SETTINGS.iter().filter_map(|one| Some((one.key, one.default_value()?)));
        Self(values.collect())
    }

    /// Returns the defaults of the settings that a change can set, but not reset.
    pub fn kept_defaults() -> Self {
        let mut values = Self::defaults();
        let kept = |key: &str| {
            SETTINGS.iter().any(|one| one.key == key && matches!(one.change, Change::Live(_)))
        };
        values.0.retain(|key, _| kept(key));
        values
    }

    /// Returns the values as an object of the API, with an object for each table.
    pub fn nested(&self) -> Value {
        let mut all = Map::new();
        for (key, value) in &self.0 {
            match key.split_once('.') {
                Some((table, key)) => {
                    let table = all.entry(table).or_insert_with(|| Map::new().into());
                    table[key] = value.clone();
                }
                None => drop(all.insert((*key).into(), value.clone())),
            }
        }
        all.into()
    }

    /// Converts the values to a VM's settings, without checking ranges.
    pub fn into_spec(self) -> Result<VmSpec, ApiError> {
        // Fails only if a required value is missing, because each has its setting's type.
        serde_json::from_value(self.nested())
            .map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))
    }
}

impl VmSpec {
    /// Fills in the defaults that are the same for all VMs.
    #[must_use]
    pub fn with_defaults(&self) -> Self {
        let all = Values::of(self).or(Values::defaults()).into_spec();
        // Parsing can't fail here, because the required settings are given.
        let all = all.unwrap_or_else(|_| self.clone());
        Self { socket: self.socket.clone(), ..all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Preset;

    /// `VmSpec` has its own defaults for some missing keys. They must be the same as those in
    /// [`SETTINGS`].
    #[test]
    fn defaults_are_those_of_the_table() {
        let spec = VmSpec::new("a", 1 << 30);
        let filled = spec.with_defaults();
        filled.check().unwrap();
        let (given, all) = (Values::of(&spec).0, Values::of(&filled).0);
        for setting in SETTINGS {
            let default = setting.default_value();
            assert_eq!(default.is_some(), matches!(setting.default, Preset::Value(_)));
            if let Some(default) = &default {
                assert_eq!(all.get(setting.key), Some(default), "{}", setting.key);
                assert!(given.get(setting.key).is_none_or(|value| value == default));
            }
        }
    }
}
