//! The configuration with which a broker starts: the one in the file. If the file has an error and
//! there are VMs to continue with, it's the last one that was applied.

use control_api::ErrorCode;

use crate::config::{Config, ConfigError};
use crate::settings::roster::Roster;
use crate::settings::validate::{Ground, check_all};

/// The configuration with which a broker starts.
pub(crate) struct Chosen {
    pub(crate) config: Config,
    /// Why the configuration in the file isn't used, if it isn't.
    refused: Option<ConfigError>,
}

impl Chosen {
    /// Chooses the configuration in the file. If the file has an error, chooses the configuration
    /// with which the last broker was started, if there is one.
    pub(crate) fn of(
        file: Result<Config, ConfigError>,
        last: impl FnOnce() -> Option<Config>,
    ) -> Result<Self, ConfigError> {
        match file {
            Ok(config) => Ok(Self { config, refused: None }),
            Err(error) => match last() {
                Some(config) => Ok(Self { config, refused: Some(error) }),
                None => Err(error),
            },
        }
    }

    /// Returns the file's error if the configuration in the file isn't used.
    pub(crate) fn check_file(&self) -> Result<(), ConfigError> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// If the file has changed since an earlier broker applied the configuration `applied`, checks
    /// the VMs in the file. Returns the configuration to use, and the reason if it isn't the one in
    /// the file. If `applied` isn't known, doesn't check the VMs, because there is no other
    /// configuration to continue with.
    pub(crate) fn checked(
        self,
        applied: Option<&Config>,
        roster: &Roster,
        ground: Ground<'_>,
    ) -> (Config, Option<String>) {
        let Self { mut config, refused } = self;
        let mut refused = refused.map(|error| error.to_string());
        if let Some(applied) = applied.filter(|applied| applied.text != config.text) {
            refused = refused.or_else(|| {
                let error = check_vms(&config, roster, ground).err()?;
                Some(config.locate(error).to_string())
            });
            if refused.is_some() {
                config = instead_of(config, applied);
            }
        }
        if let Some(reason) = &refused {
            tracing::error!(
                "continuing with the settings that were applied last, because the configuration \
                 file has an error; correct it and run systemctl reload vcudad: {reason}"
            );
        }
        (config, refused)
    }
}

fn check_vms(config: &Config, roster: &Roster, ground: Ground<'_>) -> Result<(), ConfigError> {
    let (all, _) = roster.with_file(&config.vms)?;
    let candidates = check_all(config, all, roster, ground)?;
    candidates.iter().try_for_each(|one| one.check_kept(&[ErrorCode::Conflict, ErrorCode::NoRoom]))
}

/// Returns the configuration that was applied last, except for the settings that the broker has
/// already used from `config`.
fn instead_of(config: Config, applied: &Config) -> Config {
    let Config { user, state_dir, control_socket, control_group, .. } = config;
    let Config { read_socket, read_group, socket_folders, .. } = config;
    let applied = Config { read_socket, read_group, socket_folders, ..applied.clone() };
    Config { user, state_dir, control_socket, control_group, ..applied }
}
