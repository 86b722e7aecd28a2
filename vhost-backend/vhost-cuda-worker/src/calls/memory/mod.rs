//! Device memory: the window, the account, and what a session may name.
//!
//! | module | what |
//! |---|---|
//! | `extents` | free stretches of a range |
//! | `spans` | ranges that a session may name |
//! | `plan` | which addresses of the window hold what |
//! | `session` | what a session may name |
//! | `allocate` | allocating and freeing |
//! | `waiting` | frees and allocations that wait |
//! | `synchronous` | allocation and freeing as the ring reader does it |
//! | `asynchronous` | frees that wait for a stream, and stream-ordered allocation |
//!
//! Device memory comes from cuMemCreate and is mapped inside a window that stands at the same
//! addresses in the guest process. The account is asked before anything is created, and told
//! after it was given back, so the VM's quota is never exceeded.

mod allocate;
mod asynchronous;
mod extents;
mod plan;
mod session;
mod spans;
mod synchronous;
mod waiting;

pub(super) use plan::{Freeing, WINDOW};
pub(super) use session::{Foreign, Memory};
pub(super) use waiting::{AsyncFrees, Retries};
