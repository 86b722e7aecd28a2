//! Checks a configuration without serving it, for `vcudad --check`.

use std::fmt::Write;
use std::time::Duration;

use super::device::Device;
use super::driver;
use super::error::BrokerError;
use super::mps::check_sharing;
use super::placement::Capacity;
use super::privileges;
use super::spawner::Spawner;
use super::vms::{VmState, Vms, place_vm};
use crate::config::{Config, check_vms, of_vm};
use control_api::{ApiError, VmOrigin};
use host_ipc::spawner::SOCKETS;

/// Checks a configuration as far as that's possible while another broker may be running: users and
/// groups, the driver library and its GPUs, directories of sockets, and whether the GPUs have room
/// for the VMs. Returns a description of the result.
pub fn check(config: Config) -> Result<String, BrokerError> {
    let mut text = format!("{} VMs", config.vms.len());
    if let Some(user) = privileges::choose_user(&config)? {
        let _ = write!(text, ", user {}", user.uid);
    }
    privileges::control_group(&config)?;
    let spawner = Spawner::start()?;
    let _ending = spawner.ending();
    let mut probed = driver::choose(&config, &spawner, Duration::ZERO)?;
    let requests = config.vms.iter().flat_map(|spec| &spec.gpus);
    let gpus = driver::add_slices(&config, &spawner, &mut probed, requests);
    let mut placed = Vms::default();
    for mut vm in check_vms(&config.vms)? {
        let fail = |error: ApiError| BrokerError::from(of_vm(&vm.spec.name, &error));
        let folder = vm.socket.parent().filter(|folder| *folder != std::path::Path::new(SOCKETS));
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let message = format!("the directory {} does not exist", folder.display());
            return Err(fail(ApiError::invalid("socket", message)));
        }
        // A worker that is kept ready has one context.
        let reserve = |gpu| gpus.context_bytes(gpu) * u64::from(config.warm_workers.max(1));
        let capacities: Vec<Capacity> = placed.capacities(&gpus, &config.policy, reserve, None);
        let set = place_vm(&capacities, &mut vm, false)
            .map_err(|error| BrokerError::from(of_vm(&vm.name, &error.into())))?;
        check_sharing(&vm.spec, &set, &gpus)
            .map_err(|error| BrokerError::from(of_vm(&vm.name, &error)))?;
        let device = Device::failed(String::new());
        placed.add(VmState::new(vm, VmOrigin::File, set, device, None));
    }
    let count = gpus.iter().count();
    let _ = write!(text, ", {count} GPUs of {}", probed.library.display());
    Ok(text)
}
