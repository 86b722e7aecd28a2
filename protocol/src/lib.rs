//! The interface between guest and host: uAPI, ring, API table and codecs.
//!
//! `docs/device.md` is the specification. This crate depends on no other crate of the workspace.
//! The guest's library and the host's programs both use it, which keeps them consistent.

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
pub mod words;

/// The environment variable in which a guest library sends its program's name. The host shows the
/// name to operators, and doesn't pass the variable to the worker.
pub const PROGRAM_VARIABLE: &str = "VIRTIO_CUDA_PROGRAM";

/// The environment variable in which a guest driver sends the ID of the session's user. It comes
/// before all other variables. It is missing if the user is privileged. The host doesn't pass it to
/// the worker.
pub const USER_VARIABLE: &str = "VIRTIO_CUDA_USER";

#[path = "generated/calls.rs"]
pub mod calls;
#[path = "generated/ids.rs"]
mod id_types;
#[path = "generated/structs.rs"]
pub mod structs;
