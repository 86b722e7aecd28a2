//! Sessions and VMs that outlive this process.
//!
//! | module | contents |
//! |---|---|
//! | `handover`, `kept_fd` | another vcudad that takes this one's place; the descriptors that it inherits |
//! | `journal`, `record` | the record with which another vcudad continues after a crash; the changes in it |
//! | `crash` | sessions whose state a crash has lost |

pub(crate) mod crash;
pub mod handover;
pub(crate) mod journal;
pub(crate) mod kept_fd;
pub(crate) mod record;
