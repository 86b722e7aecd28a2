//! vcudad, the broker: it starts and reaps device processes and workers, and keeps the ledger. It
//! touches no guest memory and links no CUDA.
//!
//! | module | what |
//! |---|---|
//! | `run`, `start` | from a configuration and saved changes to a running broker |
//! | `service` | the event loop's one subscriber |
//! | `session` | sessions and their start queue |
//! | `devices`, `sessions`, `workers` | what it does about each of them |
//! | `commands`, `reports` | what operators ask for, and what they see |
//! | `vms`, `pool`, `gpus` | what there is: VMs, workers (warm, assigned, ending), GPUs |
//! | `placement` | which GPUs a VM gets, and whether they have room |
//! | `roster`, `state` | the configured VMs, with run-time changes; the file that saves the changes |
//! | `driver` | which driver library the workers load |
//! | `facts` | what a VM's guest may know of its GPUs |
//! | `mps` | NVIDIA's daemons for VMs that share in space |
//! | `compute`, `scheduling` | the scheduler's thread; what the service has to do with it |
//! | `together` | VMs under MPS that have their windows together |
//! | `promises` | what each VM of a GPU gets if all have work |
//! | `socket`, `spawn`, `cgroup` | listening sockets, child processes, cgroups |
//! | `rate` | rate limits |
//! | `signals`, `timer`, `watches`, `systemd` | the event loop's descriptors; notifications to systemd |
//! | `witness`, `audit` | what NVML says of the GPUs; what is done about it |
//! | `faults` | what is done when a GPU fails |

mod audit;
mod cgroup;
mod commands;
mod compute;
pub mod config;
mod devices;
mod driver;
mod error;
mod facts;
mod faults;
mod gpus;
mod mps;
mod placement;
mod pool;
mod promises;
mod rate;
mod reports;
mod roster;
mod run;
mod scheduling;
mod service;
mod session;
mod sessions;
mod signals;
mod socket;
mod spawn;
mod start;
mod state;
mod systemd;
mod timer;
mod together;
mod vms;
mod watches;
pub mod witness;
mod workers;

pub use error::BrokerError;
pub use run::run;
pub use spawn::is_root;
pub use state::StateError;
