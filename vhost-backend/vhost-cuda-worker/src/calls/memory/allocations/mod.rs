//! The device memory of a session: allocations, and the addresses that calls may use.
//!
//! | module | contents |
//! |---|---|
//! | `spans` | a set of address ranges |
//! | `plan` | the allocations in the window for device memory |
//! | `space` | the addresses and the physical memory that the guest manages itself |
//! | `pools` | memory pools |
//! | `gpu_free` | the GPU's free memory |
//! | `peers` | which GPUs can access one another's memory |
//! | `access` | giving GPUs access to memory |
//! | `physical` | how the driver is asked for physical memory |
//! | `session` | checking that calls use only the session's memory |
//! | `allocate` | allocating and freeing through the driver |
//! | `kept` | the mappings of freed memory that the worker keeps for later allocations |
//! | `keep` | keeping mappings of freed memory, and freeing them when the broker recalls them |
//! | `virtual_memory` | calls for addresses and physical memory that the guest manages |
//! | `charged` | how memory is charged: to this session alone, or to all sessions that share it |
//! | `sharing` | calls that export memory to other sessions of the VM, and import memory from them |
//! | `moving` | taking the session's memory off the GPUs, and putting it back |
//! | `staging` | host memory for contents that are away from the GPUs |
//! | `unmapping` | which mappings are now being unmapped |
//! | `waiting` | stream-ordered frees; calls that wait for memory to be freed |
//! | `synchronous` | allocating, freeing, and querying free memory on the ring reader's thread |
//! | `asynchronous` | stream-ordered allocation and freeing |
//! | `pool_calls` | calls that create, destroy, and query memory pools |
//!
//! Device memory comes from cuMemCreate. It is mapped in a window, an address range that is the
//! same in the guest process. Bytes are reserved in the VM's account before the memory is created,
//! and released after the memory was freed, so the VM's quota is never exceeded.

mod access;
mod allocate;
mod asynchronous;
mod charged;
mod gpu_free;
mod keep;
mod kept;
mod moving;
mod peers;
mod physical;
mod plan;
mod pool_calls;
mod pools;
mod session;
mod sharing;
mod space;
mod spans;
mod staging;
mod synchronous;
mod unmapping;
mod virtual_memory;
mod waiting;

pub(in crate::calls) use access::add_accessor;
pub(in crate::calls) use allocate::{allocate, free_all_of, give_back, report_free_memory};
pub(in crate::calls) use asynchronous::{
    cu_mem_alloc_async, cu_mem_alloc_from_pool_async, cu_mem_free_async,
};
pub(in crate::calls) use keep::keep;
pub(in crate::calls) use moving::start_moving;
pub(in crate::calls) use plan::{Freeing, Mapping, WINDOW};
pub(in crate::calls) use pool_calls::*;
pub(in crate::calls) use session::{Foreign, Memory};
pub(in crate::calls) use sharing::*;
pub(in crate::calls) use synchronous::{
    cu_mem_alloc_v2, cu_mem_free_v2, cu_mem_get_info_v2, vcuda_mem_create,
};
pub(in crate::calls) use unmapping::Unmapping;
pub(in crate::calls) use virtual_memory::{
    create, cu_mem_address_free, cu_mem_release, cu_mem_unmap, vcuda_mem_address_reserve,
    vcuda_mem_get_access, vcuda_mem_grant_access, vcuda_mem_granularity, vcuda_mem_map,
    vcuda_mem_properties, vcuda_mem_restrict_access, vcuda_mem_retain_handle,
};
pub(in crate::calls) use waiting::{AsyncFree, AsyncFrees, Request, Retry, Waiter, Waiters};
