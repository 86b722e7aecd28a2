//! vcudad, the broker: it starts and reaps device processes and workers, and keeps the ledger. It
//! touches no guest memory and links no CUDA.
//!
//! | module | what |
//! |---|---|
//! | `start` | from a configuration and a written state to a broker that can serve |
//! | `service` | the event loop's one subscriber |
//! | `devices`, `sessions`, `workers` | what it does about each of them |
//! | `commands`, `reports` | what operators ask for, and what they see |
//! | `vms`, `pool`, `gpus` | what there is: VMs, workers (warm, assigned, ending), GPUs |
//! | `placement` | which GPUs a VM gets, and whether they have room |
//! | `state` | VMs made and changed at run time, written down |
//! | `driver` | which driver library the workers load |
//! | `facts` | what a VM's guest may know of its GPUs |
//! | `mps` | NVIDIA's daemons for VMs that share in space |
//! | `compute`, `scheduling` | the scheduler's thread; what the service has to do with it |
//! | `together` | VMs under MPS that have their windows together |
//! | `promises` | what each VM of a GPU gets if all have work |
//! | `socket`, `spawn`, `cgroup` | listening sockets, child processes, cgroups |
//! | `rate`, `notify` | bounds on what others cause; what systemd is told |
//! | `witness`, `audit` | what NVML says of the GPUs; what is done about it |
//! | `faults` | what is done when a GPU fails |

use std::path::PathBuf;

use event_manager::{EventManager, SubscriberOps};

use crate::config::{Config, ConfigError};
use control_server::{ControlError, ServerConfig, handle};
use host_ipc::program::ProgramError;

mod audit;
mod cgroup;
mod commands;
mod compute;
pub mod config;
mod devices;
mod driver;
mod facts;
mod faults;
mod gpus;
mod mps;
mod notify;
mod placement;
mod pool;
mod promises;
mod rate;
mod reports;
mod scheduling;
mod service;
mod sessions;
mod socket;
mod spawn;
mod start;
mod state;
mod together;
mod vms;
pub mod witness;
mod workers;

pub use spawn::is_root;
pub use state::StateError;

/// Why the broker ends.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A socket can't be had.
    #[error("{path}: {reason}")]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The written state can't be had.
    #[error(transparent)]
    State(#[from] StateError),
    /// A VM of the file can't be placed.
    #[error("{0}")]
    Placement(String),
    /// The control API can't be served.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// There is no driver library that works.
    #[error("{0}")]
    Driver(String),
    /// One of our own programs is missing.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Os {
        /// What was to be done.
        what: &'static str,
        /// Why it could not be.
        source: std::io::Error,
    },
    /// The event loop failed.
    #[error("the event loop failed: {0}")]
    Loop(event_manager::Error),
}

impl BrokerError {
    /// The program's exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Os { .. } | Self::Loop(_) | Self::Program(ProgramError::This(_)) => {
                host_ipc::exit::FAILED
            }
            _ => host_ipc::exit::BAD_INPUT,
        }
    }

    fn os(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}

/// Serves the VMs of a configuration until a signal ends it.
pub fn run(config: Config) -> Result<(), BrokerError> {
    host_ipc::process::raise_descriptor_limit();
    // First the signals, so that none leaves a socket behind; and threads started later have them
    // blocked.
    let signals = service::catch_signals().map_err(BrokerError::os("cannot catch signals"))?;
    let programs = spawn::Programs::find()?;
    let (handle, inbox) = handle::channel().map_err(BrokerError::os("cannot make a channel"))?;
    let api = ServerConfig {
        socket: config.control_socket.clone(),
        group: config.control_group.clone(),
        metrics_address: config.metrics_address,
    };
    let service = service::Service::new(config, programs, signals, inbox)?;
    let api = control_server::start(&api, handle)?;
    let mut manager = EventManager::new().map_err(BrokerError::Loop)?;
    let id = manager.add_subscriber(service);
    loop {
        manager.run().map_err(BrokerError::Loop)?;
        if manager.subscriber_mut(id).map_err(BrokerError::Loop)?.has_ended() {
            // Nobody asks a broker that ends.
            drop(api);
            return Ok(());
        }
    }
}
