//! CUDA programs that vcudactl runs: `test` and `bench`.
//!
//! | module | contents |
//! |---|---|
//! | `functions` | loading functions of a libcuda |
//! | `library` | finding the guest's libcuda |
//! | `process` | the process of a program |

mod functions;
mod library;
mod process;

pub(crate) use functions::{Failed, Handle, Pointer, error_name, functions};
pub(crate) use library::find;
pub(crate) use process::{Line, Program, STDIN_LIBRARY, is_root, through_device};
