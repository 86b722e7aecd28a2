//! Contexts, their limits, and what they are charged.
//!
//! | module | contents |
//! |---|---|
//! | `charges` | memory that is charged in addition to allocations |
//! | `limit_calls` | keeps changes of a context's limits apart from calls that depend on them |
//! | `context`, `green` | contexts and green contexts |
//! | `leftovers` | the objects that a context still has when it ends |

pub(crate) mod charges;
pub(crate) mod context;
pub(crate) mod green;
pub(crate) mod leftovers;
pub(crate) mod limit_calls;
pub(crate) mod tpc;
