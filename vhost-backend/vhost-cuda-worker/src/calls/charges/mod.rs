//! What a session is charged for beside the memory that it allocates: contexts, code and
//! variables, stacks and local memory, the heap of kernels' malloc, streams,
//! graphs.
//!
//! | module | what |
//! |---|---|
//! | `session` | what a session is charged for, by context |
//! | `reserve` | reserving and giving back |
//! | `account` | what a context holds, and what that takes |
//! | `footprint`, `cubin`, `ptx` | what a load takes, from the image |
//! | `load`, `taken` | a module or library that is loaded, and what it takes |
//! | `loads` | charges of modules, libraries and their kernels |
//! | `limits` | charges of the limits of a context |
//! | `settle` | the proof that a call has settled its charge |
//!
//! All of it is reserved before the driver is asked to take it, and given back after the driver
//! has let go of it, so the VM's quota is not exceeded. docs/memory.md says how each is bounded.

mod account;
mod cubin;
mod footprint;
mod limits;
mod load;
mod loads;
mod ptx;
mod reserve;
mod session;
mod settle;
mod taken;

pub(super) use load::{Code, Load, UNKNOWN_NEED};
pub(super) use session::Charges;
pub(super) use settle::{ChargedReply, Reservation, Settled, kind};
