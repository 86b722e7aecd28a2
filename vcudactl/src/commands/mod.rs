//! The commands, with their requests and output.
//!
//! | module | contents |
//! |---|---|
//! | `run` | selects the command |
//! | `vm`, `gpu`, `session`, `event`, `stats`, `trace`, `doctor` | the commands, by subject |
//! | `path` | request paths for VMs |
//! | `output` | output as JSON or text |

mod doctor;
mod event;
mod gpu;
mod output;
mod path;
mod run;
mod session;
mod stats;
mod trace;
mod vm;

pub(crate) use run::run;
