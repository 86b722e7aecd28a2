//! Runs the broker.

use event_manager::{EventManager, SubscriberOps};

use super::error::BrokerError;
use super::launcher::Programs;
use super::process;
use super::service::Service;
use super::signals::Signals;
use crate::config::Config;
use control_server::{ServerConfig, handle};

/// Serves the configured VMs until the broker receives a signal that stops it.
pub fn run(config: Config) -> Result<(), BrokerError> {
    process::go_before_vms();
    // Block signals first, so that no signal can stop the process before it has removed its
    // sockets. Threads that start later inherit the signal mask.
    let signals = Signals::catch().map_err(BrokerError::os("cannot catch signals"))?;
    let programs = Programs::find()?;
    let (handle, inbox) =
        handle::channel().map_err(BrokerError::os("cannot create the control API's channel"))?;
    let api = ServerConfig {
        socket: config.control_socket.clone(),
        group: config.control_group.clone(),
        metrics_address: config.metrics_address,
    };
    let service = Service::new(config, programs, signals, inbox)?;
    let api = control_server::start(&api, handle)?;
    let mut manager = EventManager::new().map_err(BrokerError::Loop)?;
    let id = manager.add_subscriber(service);
    loop {
        manager.run().map_err(BrokerError::Loop)?;
        if manager.subscriber_mut(id).map_err(BrokerError::Loop)?.has_ended() {
            // Stop the control API before the broker's state is dropped.
            drop(api);
            return Ok(());
        }
    }
}
