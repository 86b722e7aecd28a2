//! The `test` command: runs a small CUDA program on a VM's GPUs, through the VM's socket, as a program
//! in the VM would.
//!
//! | module | contents |
//! |---|---|
//! | `program` | the CUDA program, which runs in a process of its own |
//! | `child` | running that process, and what it reports |
//! | `explain` | why a step failed |

mod child;
mod explain;
mod program;

pub(crate) use child::{Failure, Step, run};
pub(crate) use explain::{cannot_run, explain};
pub(crate) use program::main;
