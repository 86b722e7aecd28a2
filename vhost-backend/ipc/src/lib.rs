//! Communication between the host programs: seqpacket sockets to the broker, a stream between a
//! device process and each of its workers, and a page of shared memory between the broker's
//! scheduler and each worker. A process doesn't trust its peer, so message sizes are limited, and
//! every message is decoded before use.
//!
//! | module | contents |
//! |---|---|
//! | `messages` | messages between the broker, device processes and workers |
//! | `spawner` | messages between the broker and the spawner |
//! | `seqpacket`, `frames` | sending and receiving messages on seqpacket sockets, and on the stream to a worker |
//! | `apart` | closing descriptors on another thread |
//! | `doorbell`, `eventfd`, `futex` | ways to wake another process |
//! | `gate` | the page shared by the broker's scheduler and a worker |
//! | `residency` | the words that say where the memory of a session is |
//! | `spending` | the page on which the workers of a VM show what they spend of their credit |
//! | `shared_map` | files that processes share as memory |
//! | `gpu` | facts about the host's GPUs, from the probe |
//! | `group`, `user` | looking up groups and users of the host; switching to a user |
//! | `listener` | listening sockets |
//! | `missing` | features that a host may lack |
//! | `process`, `program`, `exit` | process identity and limits, program paths, exit codes |
//! | `signals`, `systemd` | receiving signals; notifying systemd |
//! | `printable` | escaping text from other processes |
//! | `logging`, `log_line` | the log's filter; the format of its lines |
//! | `log_limit`, `log_queue` | a limit on similar log lines; the thread that writes the broker's log |

pub mod apart;
pub mod doorbell;
pub mod eventfd;
pub mod exit;
pub mod frames;
mod futex;
pub mod gate;
pub mod gpu;
pub mod group;
pub mod listener;
mod log_limit;
mod log_line;
mod log_queue;
pub mod logging;
pub mod messages;
pub mod missing;
pub mod printable;
pub mod process;
pub mod program;
pub mod residency;
pub mod seqpacket;
pub mod shared_map;
pub mod signals;
pub mod spawner;
pub mod spending;
pub mod systemd;
pub mod user;
