//! vcudactl, the command-line client for vcudad's control API.
//!
//! | module | contents |
//! |---|---|
//! | `program` | parses the command line, runs the command, reports errors |
//! | `cli` | command-line arguments |
//! | `client` | HTTP over the Unix socket |
//! | `bench` | the measurements of `bench` |
//! | `commands` | the commands, with their requests and output |
//! | `cuda` | processes that use CUDA |
//! | `doctor` | checks of the host |
//! | `config_file` | whether vcudad uses its configuration file |
//! | `month` | times, days, and months of `usage --since` |
//! | `since` | times and durations of `events --since` |
//! | `share_test` | the CUDA program of `test` |
//! | `stopped` | whether vcudad is stopped |
//! | `table` | text tables and number formats |
//! | `top` | the live table |
//! | `trace` | converts trace records |
//! | `wait` | why a VM waits for a GPU |
//! | `error`, `exit` | errors and exit codes |
//!
//! The server and this client share only the API types.

mod bench;
mod cli;
mod client;
mod color;
mod commands;
mod config_file;
mod cuda;
mod doctor;
mod error;
mod exit;
mod month;
mod program;
mod share_test;
mod since;
mod stopped;
mod table;
mod top;
mod trace;
mod wait;

pub use program::main;
