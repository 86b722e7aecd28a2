//! The VMs at the broker's start: checked, with their users and sockets.

use control_api::{ApiError, ErrorCode, VmOrigin, VmSpec};

use super::error::BrokerError;
use super::roster::Roster;
use super::socket::{self, VmSocket};
use crate::config::{ConfigError, Vm, VmSet, choose_uids, of_vm};

/// A VM that the broker should serve.
pub(crate) struct Candidate {
    pub(crate) vm: Vm,
    pub(crate) origin: VmOrigin,
    /// Its socket, or why it can't be served.
    pub(crate) socket: Result<VmSocket, ApiError>,
}

/// Checks the VMs of the roster, chooses their users and binds their sockets. A VM of the
/// configuration file that is wrong is an error. One that was added at run time is marked instead,
/// and the others are served: an operator can change or remove it.
pub(crate) fn candidates(
    all: Vec<(VmSpec, VmOrigin)>,
    roster: &Roster,
) -> Result<Vec<Candidate>, BrokerError> {
    let mut set = VmSet::default();
    let mut checked = Vec::new();
    for (spec, origin) in all {
        let (vm, failure) = match set.add(&spec) {
            Ok(vm) => (vm, None),
            // A VM with a wrong name could not be removed by its name.
            Err(error) if origin == VmOrigin::Api && error.field.as_deref() != Some("name") => {
                let message = format!("{} (from state.json in state_dir)", error.message);
                (Vm::unchecked(spec), Some(ApiError { message, ..error }))
            }
            Err(error) => {
                let error = of_vm(&spec.name, &error);
                let saved = roster.has_saved(&spec.name, origin);
                let from = if saved { " (from state.json in state_dir)" } else { "" };
                return Err(ConfigError::Value(format!("{error}{from}")).into());
            }
        };
        checked.push((vm, origin, failure));
    }
    let good = checked.iter_mut().filter(|(_, _, failure)| failure.is_none());
    choose_uids(good.map(|(vm, _, _)| vm), [])?;
    let mut candidates = Vec::new();
    for (vm, origin, failure) in checked {
        let socket = match failure {
            Some(error) => Err(error),
            None => match socket::bind(&vm) {
                Ok(socket) => Ok(socket),
                Err(error) if origin == VmOrigin::File => return Err(error),
                Err(error) => {
                    Err(ApiError::new(ErrorCode::Conflict, error.to_string()).of("socket"))
                }
            },
        };
        candidates.push(Candidate { vm, origin, socket });
    }
    Ok(candidates)
}
