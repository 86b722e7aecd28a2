//! How the three programs talk: seqpacket sockets to the broker, a stream between a device process
//! and each of its workers. Nobody here trusts the other end: every message is bounded and decoded
//! before it is looked at.

pub mod apart;
pub mod doorbell;
pub mod eventfd;
pub mod frames;
pub mod listener;
pub mod messages;
pub mod process;
pub mod seqpacket;
