//! vcudad, the broker. It starts and reaps device processes and workers, and keeps the ledger. It
//! doesn't access guest memory, and isn't linked against CUDA.
//!
//! | module | contents |
//! |---|---|
//! | `run` | the broker from its start to its end |
//! | `service` | the coordinator: it composes the parts and dispatches events to them |
//! | `watches`, `timer` | the event loop's descriptors |
//! | `vm` | VMs and their device processes |
//! | `settings` | the configured VMs, and changes of the configuration while vcudad runs |
//! | `sessions` | sessions, from the request for one to the end of its worker |
//! | `gpu` | GPUs, the scheduler, and the comparison with what NVML reports |
//! | `processes` | child processes, and the process that keeps root's privileges |
//! | `continuity` | sessions and VMs that outlive this process |
//! | `reporting` | reports and events for operators and guests |
//! | `usage` | GPU time and memory that VMs have used, across restarts |

pub mod config;
mod continuity;
mod error;
mod gpu;
mod processes;
mod reporting;
mod run;
mod service;
mod sessions;
mod settings;
mod timer;
mod usage;
mod vm;
mod watches;

pub use continuity::handover;
pub use error::BrokerError;
pub use run::{Origin, run, run_one};
pub use settings::check::check;
pub use settings::reread::Reader;
pub use settings::state::StateError;
