//! Runs the broker.

use event_manager::{EventManager, SubscriberOps};

use super::driver;
use super::error::BrokerError;
use super::privileges;
use super::reread::{Reread, Rereader};
use super::service::{Prepared, Service};
use super::signals::Signals;
use super::socket::ControlFile;
use super::spawner::Spawner;
use super::state::StateDir;
use crate::config::Config;
use control_server::{ServerConfig, handle};
use host_ipc::process;
use host_ipc::spawner::Call;

/// Serves the configured VMs until the broker receives a signal that stops it. On SIGHUP, it calls
/// `reread` to read the configuration again, or stops if that is `None`.
pub fn run(config: Config, reread: Option<Reread>) -> Result<(), BrokerError> {
    // Block signals first, so that no signal can stop the process before it has removed its
    // sockets. Threads that start later inherit the signal mask.
    let signals = Signals::catch().map_err(BrokerError::os("cannot catch signals"))?;
    let prepared = prepare(&config)?;
    let spawner = prepared.spawner.clone();
    let (handle, inbox) =
        handle::channel().map_err(BrokerError::os("cannot create the control API's channel"))?;
    let (control, metrics_address) = (config.control_socket.clone(), config.metrics_address);
    let rereader = reread.map(Rereader::start).transpose();
    let rereader = rereader.map_err(BrokerError::os("cannot start a thread to read the file"))?;
    let service = Service::new(config, prepared, signals, inbox, rereader)?;
    let listener = control.map(|path| {
        spawner
            .bind(Call::BindControl)
            .map_err(|refusal| BrokerError::ControlSocket { path, reason: refusal.reason })
    });
    let socket = listener.transpose()?;
    let file = socket.is_some().then(|| ControlFile(spawner));
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
            return failure.map_or(Ok(()), Err);
        }
    }
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
    let driver = driver::choose(config, &spawner)?;
    let has_jail = driver::set_up_jail(config, &spawner, &driver)?;
    let seal = Call::Seal { library: driver.library.clone() };
    spawner.request(seal).map_err(BrokerError::Spawner)?;
    if let Some(user) = &user {
        privileges::switch(user)?;
        tracing::info!(uid = user.uid, "dropped root's privileges");
    }
    Ok(Prepared { spawner, ending, state, driver, has_jail })
}
