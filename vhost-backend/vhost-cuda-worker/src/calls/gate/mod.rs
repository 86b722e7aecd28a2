//! The gate: what of a session's commands may go to the driver now, and what is held.
//!
//! | module | what |
//! |---|---|
//! | `order` | what must be issued before what |
//! | `end` | the worker's end of the gate page |
//! | `named` | the handles that a command names |
//! | `names` | what a command uses |
//! | `device` | one GPU's gate: the words of the page |
//! | `flight` | what is in the driver |
//! | `room` | how many commands may be in the driver |
//! | `look` | marks, and what has finished |
//! | `stream` | the same of one stream |
//! | `pace` | how much of it there may be while the VM is alone |
//! | `estimate` | how long calls take |
//! | `state` | the gate of a session |
//! | `admit` | executing a command, or holding it |
//! | `held` | a held command |
//! | `hold` | held commands, and issuing them |
//! | `pass` | the permission to make the GPU work |
//! | `beat` | the heartbeat |
//!
//! While the VM has the GPU to itself a command costs one look at the page. Otherwise gated calls
//! wait here, each with its stream, and what must come after them waits behind them; all else goes
//! on. docs/design/gate.md has the rules.

mod admit;
mod beat;
mod device;
mod end;
mod estimate;
pub(super) mod flight;
mod held;
mod hold;
mod look;
mod named;
mod names;
mod order;
mod pace;
pub(crate) mod pass;
mod room;
mod state;
pub(super) mod stream;

pub use end::GateEnd;
pub(super) use named::Names;
pub(super) use state::Gate;
