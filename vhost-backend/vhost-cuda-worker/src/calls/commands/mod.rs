//! Running one command: finding its implementation, what it may use, and its reply.
//!
//! | module | contents |
//! |---|---|
//! | `engine` | the executor: runs a command when the gate admits it |
//! | `dispatch`, `bodies` | find and run a call's implementation; the names of all implementations |
//! | `deferred`, `waits`, `events` | calls whose reply is sent later; waiting for the GPU |
//! | `stop` | stopping all calls while the session's memory leaves the GPUs |
//! | `words` | words that the GPU writes for a guest that waits |
//! | `shared`, `cx` | state that all threads share; the environment in which one call runs |
//! | `result` | results as numbers |

pub(crate) mod bodies;
pub(crate) mod budget;
pub(crate) mod cx;
pub(crate) mod deferred;
pub(crate) mod dispatch;
pub(crate) mod engine;
pub(crate) mod events;
pub(crate) mod result;
pub(crate) mod shared;
pub(crate) mod stop;
pub(crate) mod waits;
pub(crate) mod words;
