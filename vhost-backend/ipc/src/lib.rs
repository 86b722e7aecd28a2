//! Communication between the host's three programs: seqpacket sockets to the broker, a stream
//! between a device process and each of its workers, and a page of shared memory between the
//! broker's scheduler and each worker. Neither end trusts the other, so every message is bounded,
//! and decoded before it is used.
//!
//! | module | contents |
//! |---|---|
//! | `messages` | the messages between the broker, device processes and workers |
//! | `seqpacket`, `frames` | messages on seqpacket sockets, and on the stream to a worker |
//! | `apart` | closing descriptors on another thread |
//! | `doorbell`, `eventfd` | waking another process |
//! | `gate` | the page that the broker's scheduler and a worker share |
//! | `gpu` | facts about the host's GPUs, from the probe |
//! | `listener` | listening sockets |
//! | `process`, `program`, `exit` | a process's identity, paths of the programs, exit codes and logs |

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
