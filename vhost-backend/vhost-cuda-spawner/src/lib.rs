//! The spawner keeps the privileges of the broker, `vcudad`, which drops them after it has started
//! this process. The spawner starts the VMs' processes, and creates their cgroups, sockets and
//! shared memory.
//!
//! A compromised broker can send any request, so the spawner checks each one: it starts only fixed
//! programs, as users that belong to VMs; it creates sockets only in the directories that the
//! configuration file permits; and it limits the number of processes. The broker sends the
//! permissions from the configuration file before it handles any other input, and then seals them.
//! Only root can start a broker that connects later. Such a broker sends the permissions from its
//! own configuration file, which don't affect processes that are already running.
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
//! | `start` | starting a process without being delayed by it |
//! | `pid_namespace`, `jail` | PID namespaces; the jail of workers |
//! | `vms`, `cgroup`, `socket`, `files` | each VM's cgroup, socket, and files |
//! | `mounts`, `tmpfs` | mounts without a path on the host |
//! | `mps`, `mps_client` | MPS daemons; the workers that are their clients |
//!
//! This process has one thread, apart from those that close descriptors and mount file systems, and
//! never waits for another process or for the disk. If the broker has started this process, it
//! exits with the broker, after it has ended all processes and removed everything that it has
//! created. If the broker hasn't started it, it listens on a socket, and the processes continue to
//! run if there is no broker for a short time.

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
