//! Sessions and VMs that outlive this process.
//!
//! | module | contents |
//! |---|---|
//! | `handover`, `kept_fd` | another vcudad that takes this one's place; the descriptors that it inherits |

pub(crate) mod crash;
pub mod handover;
pub(crate) mod journal;
pub(crate) mod kept_fd;
pub(crate) mod record;
