//! The host's side, for three programs (`src/bin/`).
//!
//! * [`broker`], in `vcudad`: starts and reaps processes, keeps each VM's account, the [`ledger`].
//! * [`device`], in `vhost-device-cuda`: the vhost-user device of one VM. Requests of the guest are
//!   parsed in `device/request.rs` and acted on in `device/machine.rs`, which does no I/O.
//! * [`worker`], in `vhost-cuda-worker`: one session. `worker/reader.rs` takes commands from the
//!   ring, `worker/calls/` carries them out with the driver library.
//! * [`scheduler`] decides who has a GPU and for how long; it does no I/O (`docs/design/scheduler.md`).
//! * [`gate`] is the page on which the broker's scheduler and a worker meet.
//! * [`control`], in `vcudad`: the API for operators.
//! * [`ipc`] is what they tell one another, [`config`] what the operator tells them, [`gpu`] what
//!   the probe finds, [`exit`] how they end.

pub mod broker;
pub mod config;
pub mod control;
pub mod device;
pub mod exit;
pub mod gate;
pub mod gpu;
pub mod ipc;
pub mod ledger;
pub mod scheduler;
pub mod worker;
