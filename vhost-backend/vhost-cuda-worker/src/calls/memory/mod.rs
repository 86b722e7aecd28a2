//! Device memory, copies, and registered host memory.
//!
//! | module | contents |
//! |---|---|
//! | `allocations` | device memory |
//! | `arena`, `copy`, `extent` | the arena; copies and memsets; the bytes that they access |
//! | `host`, `registered` | host memory that is registered with the GPU |

pub(crate) mod allocations;
pub(crate) mod arena;
pub(crate) mod copy;
pub(crate) mod extent;
pub(crate) mod host;
pub(crate) mod registered;
