//! The device memory of a session: allocations, and the addresses that calls may use.
//!
//! | module | contents |
//! |---|---|
//! | `extents` | free parts of an address range |
//! | `spans` | a set of address ranges |
//! | `plan` | the allocations in the window for device memory |
//! | `session` | checking that calls use only the session's memory |
//! | `allocate` | allocating and freeing through the driver |
//! | `waiting` | frees and allocations that are waiting |
//! | `synchronous` | allocation and freeing on the ring reader's thread |
//! | `asynchronous` | stream-ordered allocation and freeing |
//!
//! Device memory comes from cuMemCreate. It is mapped in a window, an address range that is the
//! same in the guest process. Bytes are reserved in the VM's account before the memory is created,
//! and released after the memory was freed, so the VM's quota is never exceeded.

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
