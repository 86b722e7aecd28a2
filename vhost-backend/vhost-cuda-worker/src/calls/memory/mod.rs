//! Device memory, copies, and registered host memory.
//!
//! | module | contents |
//! |---|---|
//! | `allocations`, `arena`, `copy`, `registered`, `host` | device memory, copies, registered host memory |

pub(crate) mod allocations;
pub(crate) mod arena;
pub(crate) mod copy;
pub(crate) mod extent;
pub(crate) mod host;
pub(crate) mod registered;
