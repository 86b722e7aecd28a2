//! The gate decides which of a session's commands may go to the driver now, and which must wait.
//!
//! | module | contents |
//! |---|---|
//! | `session` | the gate itself, one per session |
//! | `admission` | the gate's decision about each command |
//! | `pass` | permission to submit GPU work |
//! | `gpus`, `device` | the gates of all GPUs; the gate of one GPU |
//! | `beat` | the heartbeat |
//! | `held`, `order` | the commands that are waiting; their order |
//! | `used`, `named` | the resources that a command uses; the handles in a command's arguments |
//! | `turns` | calls on mirrors that wait for a window |
//! | `flight`, `stream` | the commands queued in the driver; those in one stream |
//! | `marks` | the gate's interface to streams and events in the driver |
//! | `room`, `estimate` | how many commands may be queued; how long calls take |
//!
//! While the VM has the GPU to itself, checking a command costs one read of the memory that the
//! worker shares with the scheduler. While other VMs want the GPU, the gate holds calls that use
//! the GPU, in the order of their streams, and also commands that must come after a held call. All
//! other commands run. docs/design/gate.md has the rules.

mod admission;
mod beat;
mod device;
mod estimate;
mod flight;
mod gpus;
mod held;
mod marks;
mod named;
mod order;
pub(crate) mod pass;
mod room;
mod session;
mod stream;
mod turns;
mod used;

pub(super) use admission::{Admission, Ticket};
pub(super) use flight::{InFlight, Queued};
pub(super) use marks::Marks;
pub(super) use named::Names;
pub(super) use session::{Cursor, Gate};
pub(super) use stream::{Key, Standing};
pub(super) use turns::Turns;
pub(super) use used::limit_access;
