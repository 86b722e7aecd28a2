//! The `bench` command: measures how long CUDA's calls take natively and through a device, and compares
//! both with bars.
//!
//! | module | contents |
//! |---|---|
//! | `table` | the measurements, with their rows and bars |
//! | `bar` | the results that rows must reach |
//! | `measures` | the measurements |
//! | `gpu` | shared resources: a context, a stream, kernels |
//! | `sample` | timing and statistics |
//! | `program` | the measuring program, which runs in a process of its own |
//! | `outcome` | the plan for that process, and its reports |
//! | `paths` | starting that process natively or through a device |
//! | `run` | running it repeatedly, and collecting the values |
//! | `report` | the comparison, as JSON and as a table |

mod bar;
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
