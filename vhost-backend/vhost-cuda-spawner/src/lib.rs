//! The spawner keeps the privileges of the broker, `vcudad`, which drops them after it has started
//! this process. It starts the VMs' processes, and creates their cgroups, sockets and shared
//! memory.
//!
//! Somebody who has taken over the broker can send any request. So each one is checked here: only
//! fixed programs are started, with users that belong to VMs; sockets can be only in the
//! directories that the configuration file permits; and the number of processes is limited. The
//! broker passes on what the configuration file permits before anybody else can talk to it, and
//! then seals it. A broker that connects later is started by root, too, and passes on its own
//! configuration file's permissions. The processes that run already aren't affected.
//!
//! | module | contents |
//! |---|---|
//! | `server` | receiving requests and reporting events |
//! | `link` | the connection to the broker |
//! | `api_socket` | the sockets of the control API |
//! | `stand_in` | answers to the control API's clients while there is no broker |
//! | `policy` | what is permitted |
//! | `programs` | the programs and their arguments |
//! | `processes`, `child` | the running processes |
//! | `kept` | copies of the broker's descriptors |
//! | `start` | starting a process |
//! | `pid_namespace`, `jail` | PID namespaces; the jail of workers |
//! | `vms`, `cgroup`, `socket`, `files` | what each VM has |
//! | `mounts`, `tmpfs` | mounts without a path on the host |
//! | `mps`, `mps_client` | MPS daemons; the workers that are their clients |
//!
//! This process has one thread, apart from those that close descriptors and mount file systems, and
//! never waits for another process or for the disk. If the broker has started it, it ends with the broker, and with it
//! everything that it has started or created. Otherwise, it listens on a socket, and processes
//! continue while there is no broker for a short time.

mod api_socket;
mod cgroup;
mod child;
mod files;
mod jail;
mod kept;
mod link;
mod mounts;
mod mps;
mod mps_client;
mod pid_namespace;
mod policy;
mod processes;
mod programs;
mod server;
mod socket;
mod stand_in;
mod start;
mod tmpfs;
mod vms;

pub use pid_namespace::{HOLD, hold};
pub use server::{listen, run};
pub use start::{START, start};
