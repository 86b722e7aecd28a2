//! The device process: one a VM. It speaks vhost-user to the front ends that connect to the VM's
//! socket, keeps their sessions, and passes on what is the workers' to do. It links no CUDA and
//! reads no CUDA argument.
//!
//! | module | what |
//! |---|---|
//! | `request` | requests, from bytes to checked values |
//! | `machine` | sessions: what each request and event leads to; no I/O |
//! | `chain` | descriptor chains |
//! | `memory` | guest memory as workers are told of it |
//! | `link` | the way to the broker |
//! | `facts` | what the guest may know of its GPUs: bounded questions, and the answer's bytes |
//! | `worker` | the way to a worker |
//! | `queues` | the virtqueues: chains in, answers and events out |
//! | `backend` | what vhost-user-backend calls |
//! | `connection` | one front end, from accept to its end |
//! | `place` | the front ends that are connected, and how many may be |
//! | `error` | the ends of the process |

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use host_ipc::messages::BrokerToDevice;
use host_ipc::{process, seqpacket};

mod backend;
mod chain;
mod connection;
mod error;
mod facts;
mod link;
pub mod machine;
mod memory;
mod place;
mod queues;
pub mod request;
mod worker;

pub use error::DeviceError;
use error::os;

/// Serves a VM, as the broker says. Returns only with an error.
pub fn run(broker: OwnedFd) -> Result<(), DeviceError> {
    process::unblock_signals();
    let parent = process::parent();
    process::die_with_parent(parent)
        .map_err(os("cannot tie this process's lifetime to the broker's"))?;
    let message = seqpacket::receive(&broker).map_err(os("cannot receive from the broker"))?;
    let Some((BrokerToDevice::Setup(setup), fds)) = message else {
        return Err(DeviceError::NoSetup);
    };
    let listener = fds.into_iter().next().ok_or(DeviceError::NoSetup)?;
    process::become_user(setup.uid, setup.gid).map_err(os("cannot switch to the VM's user"))?;
    process::die_with_parent(parent)
        .map_err(os("cannot tie this process's lifetime to the broker's"))?;
    let link = link::Link::start(broker, setup.limits.max_sessions)
        .map_err(os("cannot start a thread"))?;
    connection::accept(UnixListener::from(listener), &setup, &link)
}
