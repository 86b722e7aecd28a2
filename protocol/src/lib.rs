//! The boundary between guest and host: uAPI, ring, API table, codecs.
//!
//! `docs/device.md` is the specification. This crate knows nobody: the guest's library and the
//! host's programs both build on it, and agree because of it.

pub mod codec;
pub mod facts;
pub mod graph;
pub mod host_func;
pub mod ids;
pub mod limits;
pub mod options;
pub mod plain;
pub mod ring;
mod shared;
pub mod table;
pub mod uapi;
pub mod windows;

#[path = "generated/calls.rs"]
pub mod calls;
#[path = "generated/ids.rs"]
mod id_types;
#[path = "generated/structs.rs"]
pub mod structs;
