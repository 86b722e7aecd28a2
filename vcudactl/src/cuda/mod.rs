//! CUDA programs that vcudactl runs: `test` and `bench`.
//!
//! | module | contents |
//! |---|---|
//! | `functions` | loading functions of a libcuda |
//! | `calls` | the functions |
//! | `library` | finding the guest's libcuda |
//! | `process` | the process of a program |

mod calls;
mod functions;
mod library;
mod process;

pub(crate) use calls::{AccessDesc, AllocationProp, Cuda, KernelNode};
pub(crate) use functions::{Failed, Handle, Pointer};
pub(crate) use library::find;
pub(crate) use process::{
    Line, Program, STDIN_LIBRARY, die_with_this_thread, is_root, through_device,
};
