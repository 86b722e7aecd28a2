//! The gate: which of a session's commands may go to the driver now, and which are held.
//!
//! | module | contents |
//! |---|---|
//! | `session` | the gate of a session |
//! | `admission` | the gate's decisions about a command |
//! | `pass` | permission to submit GPU work |
//! | `gpus`, `device` | the gates of all GPUs; one of them |
//! | `end`, `beat` | access to the gate page; the heartbeat |
//! | `held`, `order` | the held commands; their order |
//! | `used`, `named` | the resources that a command uses; the handles that its arguments contain |
//! | `flight`, `stream` | the commands in the driver; those of one stream |
//! | `marks` | the gate's view of the driver's streams and events |
//! | `room`, `pace`, `estimate` | how many commands may be queued; how fast a stream is; how long calls take |
//!
//! While the VM has the GPU to itself, checking a command costs one read of the gate page.
//! Otherwise gated calls wait here, each with its stream, and commands that must come after them
//! wait behind them; everything else continues. docs/design/gate.md has the rules.

mod admission;
mod beat;
mod device;
mod end;
mod estimate;
mod flight;
mod gpus;
mod held;
mod marks;
mod named;
mod order;
mod pace;
pub(crate) mod pass;
mod room;
mod session;
mod stream;
mod used;

pub(super) use admission::{Admission, Ticket};
pub use end::GateEnd;
pub(super) use flight::{InFlight, Queued};
pub(super) use marks::Marks;
pub(super) use named::Names;
pub(super) use session::{Cursor, Gate};
pub(super) use stream::{Key, Standing};
