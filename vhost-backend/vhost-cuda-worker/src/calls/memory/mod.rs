//! Device memory: the window, the account, and the memory that a session may name.
//!
//! | module | contents |
//! |---|---|
//! | `extents` | free stretches of a range |
//! | `spans` | ranges that a session may name |
//! | `plan` | what each address of the window holds |
//! | `session` | the device memory that a session may name |
//! | `allocate` | allocating and freeing |
//! | `waiting` | frees and allocations that wait |
//! | `synchronous` | allocation and freeing on the ring reader's thread |
//! | `asynchronous` | frees that wait for a stream, and stream-ordered allocation |
//!
//! Device memory comes from cuMemCreate and is mapped inside a window that has the same addresses
//! in the guest process. Bytes are reserved on the account before memory is created, and released
//! from it after the memory was released, so the VM's quota is never exceeded.

mod allocate;
mod asynchronous;
mod extents;
mod plan;
mod session;
mod spans;
mod synchronous;
mod waiting;

pub(super) use allocate::{allocate, cu_mem_get_info_v2, free_all_of, give_back};
pub(super) use asynchronous::{cu_mem_alloc_async, cu_mem_free_async};
pub(super) use plan::{Freeing, Mapping, WINDOW};
pub(super) use session::{Foreign, Memory};
pub(super) use synchronous::{cu_mem_alloc_v2, cu_mem_free_v2};
pub(super) use waiting::{AsyncFree, AsyncFrees, Retries, Retry};
