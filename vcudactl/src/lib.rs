//! The operator's command line, a client of vcudad's control API.
//!
//! | module | contents |
//! |---|---|
//! | `program` | parses the command line, runs the command, reports errors |
//! | `cli` | the command line's arguments |
//! | `client` | HTTP over the Unix socket |
//! | `commands` | the commands: their requests and their output |
//! | `table` | text tables and number formats |
//! | `top` | the live table |
//! | `error`, `exit` | errors and exit codes |
//!
//! It shares only the API's types with the server.

mod cli;
mod client;
mod commands;
mod error;
mod exit;
mod program;
mod table;
mod top;

pub use program::main;
