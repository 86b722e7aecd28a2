//! How the host's three programs talk: seqpacket sockets to the broker, a stream between a device
//! process and each of its workers, and a page of shared memory between the broker's scheduler and
//! each worker. Neither end trusts the other: every message is bounded and decoded before it is used.
//!
//! | module | contents |
//! |---|---|
//! | `messages` | the messages between the broker, device processes and workers |
//! | `seqpacket`, `frames` | messages on seqpacket sockets, and on the stream to a worker |
//! | `apart` | a thread that receives for an event loop |
//! | `doorbell`, `eventfd` | waking another process |
//! | `gate` | the page on which the broker's scheduler and a worker meet |
//! | `gpu` | the GPUs as the probe finds them |
//! | `listener` | listening sockets |
//! | `process`, `program`, `exit` | process identity, where the programs are, how they end |

pub mod apart;
pub mod doorbell;
pub mod eventfd;
pub mod exit;
pub mod frames;
pub mod gate;
pub mod gpu;
pub mod listener;
pub mod messages;
pub mod process;
pub mod program;
pub mod seqpacket;
