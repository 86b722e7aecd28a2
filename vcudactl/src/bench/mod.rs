//! The `bench` command: measures how long CUDA's calls take natively and through a device, and compares
//! both with bars.
//!
//! | module | contents |
//! |---|---|
//! | `table` | the measurements, with their rows and bars |
//! | `bar` | what a row must reach |
//! | `measures` | the measurements |
//! | `gpu` | what the measurements share: a context, a stream, kernels |
//! | `cuda` | the functions of libcuda |
//! | `sample` | timing and statistics |
//! | `program` | the measuring program, which runs in a process of its own |
//! | `outcome` | what that process should measure, and what it reports |
//! | `paths` | how to start it: natively, or through a device |
//! | `run` | runs it repeatedly and collects the values |
//! | `report` | the comparison, as JSON and as a table |

mod bar;
mod cuda;
mod gpu;
mod measures;
mod outcome;
mod paths;
mod program;
mod report;
mod run;
mod sample;
mod table;

pub(crate) use outcome::Plan;
pub(crate) use paths::Paths;
pub(crate) use program::main;
pub(crate) use report::Report;
pub(crate) use run::run;
pub(crate) use table::select;
