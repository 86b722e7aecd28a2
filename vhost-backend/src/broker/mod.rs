//! vcudad, the broker: it starts and reaps device processes and workers, and keeps the ledger. It
//! touches no guest memory and links no CUDA.
//!
//! | module | what |
//! |---|---|
//! | `driver` | which driver library the workers load |
//! | `facts` | what a VM's guest may know of its GPUs |
//! | `socket` | the VMs' listening sockets |
//! | `spawn` | child processes |
//! | `cgroup` | the VMs' cgroups, where the host has them |
//! | `pool` | workers: warm, assigned, ending |
//! | `witness` | what NVML says of the GPUs, against the ledger |
//! | `service` | the event loop's one subscriber |

use std::path::PathBuf;

use event_manager::{EventManager, SubscriberOps};

use crate::config::{Config, ConfigError, check_vms, choose_uids};

mod cgroup;
mod driver;
mod facts;
mod pool;
mod service;
mod socket;
mod spawn;
pub mod witness;

pub use spawn::is_root;

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
    /// There is no driver library that works.
    #[error("{0}")]
    Driver(String),
    /// One of our own programs is missing.
    #[error("cannot find {0}, which belongs next to this program")]
    Program(PathBuf),
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
            Self::Os { .. } | Self::Loop(_) => crate::exit::FAILED,
            _ => crate::exit::BAD_INPUT,
        }
    }

    fn os(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Os { what, source }
    }
}

/// Serves the VMs of a configuration until a signal ends it.
pub fn run(config: Config) -> Result<(), BrokerError> {
    crate::ipc::process::raise_descriptor_limit();
    // First the signals, so that none leaves a socket behind.
    let signals = service::catch_signals().map_err(BrokerError::os("cannot catch signals"))?;
    let programs = spawn::Programs::find()?;
    let mut vms = check_vms(&config.vms)?;
    choose_uids(&mut vms, [])?;
    let sockets = vms.iter().map(socket::bind).collect::<Result<Vec<_>, _>>()?;
    let driver = driver::choose(&config, &programs)?;
    let service = service::Service::new(config, vms, programs, driver, sockets, signals)?;
    let mut manager = EventManager::new().map_err(BrokerError::Loop)?;
    let id = manager.add_subscriber(service);
    loop {
        manager.run().map_err(BrokerError::Loop)?;
        if manager.subscriber_mut(id).map_err(BrokerError::Loop)?.has_ended() {
            return Ok(());
        }
    }
}
