//! The settings of VMs in the configuration file.

use std::path::PathBuf;

use control_api::{ApiError, Values, VmSpec};
use serde::de::{Deserialize, Deserializer};

/// The settings in `[defaults]` or `[[vm]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Settings(Values);

impl Settings {
    /// Takes the settings that are missing here from `those`.
    pub(super) fn or(self, those: Self) -> Self {
        Self(self.0.or(those.0))
    }

    /// Converts the keys to a VM's settings, without checking ranges.
    pub(super) fn into_spec(self, name: String, socket: PathBuf) -> Result<VmSpec, ApiError> {
        let mut all = self.0;
        if !all.0.contains_key("memory.max") {
            let says = "is missing: set it in [[vm]] or [defaults]";
            return Err(ApiError::invalid("memory.max", says));
        }
        all.0.insert("name", name.into());
        let mut spec = all.into_spec()?;
        // An empty path can't be made absolute. Keep it here: a later check rejects it.
        spec.socket = Some(std::path::absolute(&socket).unwrap_or(socket));
        Ok(spec)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Values::from_file(from).map(Self)
    }
}
