//! Memory pools.
//!
//! | module | contents |
//! |---|---|
//! | [`extents`] | free parts of an address range |
//! | [`store`] | the memory of one pool: what is in use, and what the pool keeps for later |
//! | [`pools`] | the pools of a process by handle, and the entry points |
//! | [`shared`] | the entry points for pools that processes share; [`sharing`] has their data |
//! | [`graphs`] | the pools from which graphs allocate memory |
//! | [`entries`] | the exports |
//!
//! softgpu has both the handles and the memory in one process. With guest-libcuda, the handles are
//! in the guest and the memory is in the worker.

pub mod entries;
pub mod extents;
pub mod graphs;
pub mod pools;
pub mod shared;
pub mod sharing;
pub mod store;

pub use pools::{Library, PoolInfo, PoolKind, Pools};
pub use sharing::{SharedPool, Sharing};
pub use store::{Amount, Store};
