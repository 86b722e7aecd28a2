//! Takes a process's kernels off a GPU while they are running, and puts them back later, with
//! ioctls of the resource manager (RM) in NVIDIA's kernel driver.
//!
//! | module | contents |
//! |---|---|
//! | `objects` | the driver objects of a process, and the compute channels among them; no I/O |
//! | `wire` | the ioctls' arguments as bytes; no I/O |
//! | `client` | an RM client, which disables and enables channels |
//! | `recorder` | records the driver objects that this process creates, and limits its time slices |
//! | `timeslices` | the time slices of this process's kernels |
//! | `self_test` | finds out whether evicting kernels works with the host's driver |
//!
//! Any RM client can disable the channels of any process if it knows their handles. So one client
//! of the broker's is enough for all workers, and it needs no descriptor of theirs.

pub mod client;
pub mod objects;
pub mod recorder;
pub mod self_test;
mod timeslices;
pub mod wire;

pub use client::{Client, Gpu, RmError};
pub use objects::{Channel, Objects, TooManyObjects};
