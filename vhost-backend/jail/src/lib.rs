//! The jail of a VM's processes. A guest may take over its device process or one of its workers, so
//! these processes can reach only what they need.
//!
//! | module | contents |
//! |---|---|
//! | `namespaces` | leaving the host's namespaces |
//! | `root` | a file system that contains only what a process needs |
//! | `access` | a second restriction of the access to files |
//! | `privileges` | resource limits and capabilities |
//! | `filter` | the system calls that are permitted |
//!
//! A process enters its jail in this order: `namespaces::leave`, `root::enter`, `access::restrict`,
//! `privileges::limit` and, before it handles anything from a guest, its filter. Its parent creates
//! the process in a PID namespace of its own.

pub mod access;
#[cfg(test)]
mod child;
pub mod filter;
pub mod namespaces;
pub mod privileges;
pub mod root;
