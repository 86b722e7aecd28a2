//! The commands, with their requests and output.
//!
//! | module | contents |
//! |---|---|
//! | `run` | selects the command |
//! | `vm`, `gpu`, `session`, `event`, `stats`, `usage`, `trace`, `share_test`, `bench`, `doctor` | the commands, by subject |
//! | `completions`, `man` | completion scripts and manual pages |
//! | `path` | request paths for VMs |
//! | `output` | output as JSON or text |

mod bench;
mod completions;
mod doctor;
mod event;
mod gpu;
mod man;
mod output;
mod path;
mod run;
mod session;
mod share_test;
mod stats;
mod trace;
mod usage;
mod vm;

pub(crate) use run::run;
