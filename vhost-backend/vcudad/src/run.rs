//! Runs the broker.

use std::os::unix::net::UnixListener;

use event_manager::{EventManager, SubscriberOps};

use super::driver;
use super::error::BrokerError;
use super::handover::{Inherited, Replacement, Successor};
use super::kept_fd::KeptFd;
use super::privileges;
use super::reread::Reread;
use super::service::{Inputs, Prepared, Service};
use super::signals::Signals;
use super::socket::ControlFile;
use super::spawner::Spawner;
use super::state::StateDir;
use crate::config::Config;
use control_server::{ServerConfig, handle};
use host_ipc::process;
use host_ipc::spawner::Call;

/// Serves the configured VMs until the broker receives a signal that stops it. On SIGHUP, it calls
/// `reread` to read the configuration again, or stops if that is `None`. On SIGUSR2, it returns the
/// program that takes over. `inherited` is what the previous program has handed over, if there was
/// one.
pub fn run(
    config: Config,
    reread: Option<Reread>,
    inherited: Option<Inherited>,
) -> Result<Option<Replacement>, BrokerError> {
    // Block signals first, so that no signal can stop the process before it has removed its
    // sockets. Threads that start later inherit the signal mask.
    let signals = Signals::catch().map_err(BrokerError::os("cannot catch signals"))?;
    let metrics_address = config.metrics_address;
    let (handle, inbox) =
        handle::channel().map_err(BrokerError::os("cannot create the control API's channel"))?;
    let successor = reread.as_ref().map(|_| {
        Successor::find(inherited.as_ref().map(|Inherited(handover)| handover.program.clone()))
    });
    let successor = successor.transpose();
    let successor = successor.map_err(BrokerError::os("cannot find the path of this program"))?;
    let inputs = Inputs { signals, inbox, reread, successor };
    let (service, socket) = match inherited {
        None => start(config, inputs)?,
        Some(Inherited(handover)) => {
            // The previous program has done this, but it doesn't outlast the execution of another.
            process::set_dumpable(false).map_err(BrokerError::Handover)?;
            let socket = handover.state.control.map(KeptFd::take).transpose();
            let socket = socket.map_err(BrokerError::Handover)?.map(UnixListener::from);
            (Service::take_over(config, handover.state, inputs)?, socket)
        }
    };
    let copy = socket.as_ref().map(UnixListener::try_clone).transpose();
    let copy = copy.map_err(BrokerError::os("cannot duplicate the control API's socket"))?;
    let file = socket.is_some().then(|| ControlFile(service.spawner().clone()));
    let api = control_server::start(ServerConfig { socket, metrics_address }, handle)?;
    let mut manager = EventManager::new().map_err(BrokerError::Loop)?;
    let id = manager.add_subscriber(service);
    loop {
        manager.run().map_err(BrokerError::Loop)?;
        let service = manager.subscriber_mut(id).map_err(BrokerError::Loop)?;
        if service.has_ended() {
            let failure = service.take_failure();
            // Stop the control API before the broker's state is dropped.
            drop(api);
            drop(file);
            return failure.map_or(Ok(None), Err);
        }
        if service.must_hand_over() {
            let service = manager.remove_subscriber(id).map_err(BrokerError::Loop)?;
            drop(api);
            // The next program serves the same socket.
            std::mem::forget(file);
            let control = copy.as_ref().map(KeptFd::keep).transpose();
            let replacement = service.hand_over(control.map_err(BrokerError::Handover)?)?;
            std::mem::forget(copy);
            return Ok(replacement);
        }
    }
}

/// Starts a broker with nothing to take over. Returns the control API's socket, too.
fn start(config: Config, inputs: Inputs) -> Result<(Service, Option<UnixListener>), BrokerError> {
    let prepared = prepare(&config)?;
    let control = config.control_socket.clone();
    let service = Service::new(config, prepared, inputs)?;
    let bind = |path| {
        let bound = service.spawner().bind(Call::BindControl);
        bound.map_err(|refusal| BrokerError::ControlSocket { path, reason: refusal.reason })
    };
    let socket = control.map(bind).transpose()?;
    Ok((service, socket))
}

/// Does what needs root's privileges, if the broker has them, and drops them. Until then, it
/// handles nothing but the configuration file and what the driver library reports.
fn prepare(config: &Config) -> Result<Prepared, BrokerError> {
    let user = privileges::choose_user(config)?;
    let (spawner, ending) = Spawner::start()?;
    process::go_before_vms();
    privileges::permit(config, &spawner)?;
    let state = config.state_dir.as_deref();
    let state = state.map(|dir| StateDir::open(dir, user.as_ref())).transpose()?;
    let driver = driver::choose(config, &spawner, driver::DRIVER_WAIT)?;
    let has_jail = driver::set_up_jail(config, &spawner, &driver)?;
    let seal = Call::Seal { library: driver.library.clone() };
    spawner.request(seal).map_err(BrokerError::Spawner)?;
    if let Some(user) = &user {
        privileges::switch(user)?;
        tracing::info!(uid = user.uid, "dropped root's privileges");
    }
    Ok(Prepared { spawner, ending, state, driver, has_jail })
}
