//! The session: this process's connection to its worker. Commands are sent through the ring, and
//! replies are returned in the arena.
//!
//! [`Session`] sends commands in these ways:
//!
//! | method | waits | use it for |
//! |---|---|---|
//! | [`post`](Session::post) | no | calls whose only result is a status, which a later reply reports |
//! | [`call`](Session::call) | yes | calls with a short reply |
//! | [`call_with_room`](Session::call_with_room) | yes | calls with a longer reply |
//! | [`call_always`](Session::call_always) | yes | calls that work even after a context has failed |
//! | [`synchronize`](Session::synchronize) | yes | calls at which CUDA reports earlier asynchronous errors |
//! | [`wait_for_work`](Session::wait_for_work) | yes | waiting for the GPU |
//! | [`begin`](Session::begin), then [`finish`](Session::finish) | in `finish` | several calls in flight, and replies that are needed even on failure |

pub mod arena;
mod clock;
mod commands;
mod config;
mod errors;
mod late;
mod live;
mod mirrors;
mod reply;
mod uploads;
mod words;

pub use commands::{Session, Work};
pub use reply::{Bytes, Pending};
