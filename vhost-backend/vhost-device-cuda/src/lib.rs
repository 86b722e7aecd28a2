//! The device process, one per VM. It speaks vhost-user to the front ends that connect to the VM's
//! socket, tracks their sessions, and forwards commands to the workers. It doesn't link CUDA or
//! interpret CUDA arguments.
//!
//! | module | contents |
//! |---|---|
//! | `request` | parses and validates requests |
//! | `machine` | the session state machine; no I/O |
//! | `chain` | reads and writes descriptor chains |
//! | `memory` | maps guest memory to the files and offsets that workers use |
//! | `link` | the connection to the broker |
//! | `facts` | limits the rate of GPU queries and encodes their results |
//! | `exports` | memory and events that the VM's sessions share |
//! | `worker` | the connection to a worker |
//! | `queues` | the virtqueues: takes chains, and writes responses and events |
//! | `vring` | a virtqueue of the library, which reports when it's started or stopped |
//! | `backend` | implements vhost-user-backend's trait |
//! | `connection` | accepts front ends and serves each one |
//! | `place` | limits the number of connected front ends |
//! | `error` | errors that end the process |

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use host_ipc::messages::{BrokerToDevice, DeviceSetup};
use host_ipc::{process, seqpacket};
use host_jail::filter::Filter;
use host_jail::root::Root;
use host_jail::{access, namespaces, privileges};

mod backend;
mod chain;
mod connection;
mod error;
mod exports;
mod facts;
mod link;
pub mod machine;
mod memory;
mod place;
mod queues;
pub mod request;
mod vring;
mod worker;

pub use connection::DESCRIPTORS;
pub use error::DeviceError;
use error::os;

/// Serves the VM that the broker describes in its setup message. First switches to the user `uid`,
/// if it's given, and enters a jail, if `jail` is true. Returns only on error.
pub fn run(broker: OwnedFd, jail: bool, uid: Option<u32>) -> Result<(), DeviceError> {
    process::unblock_signals();
    let parent = process::parent();
    process::die_with_parent(parent)
        .map_err(os("cannot tie this process's lifetime to the broker's"))?;
    let (setup, listener) = receive_setup(&broker)?;
    if jail {
        let enter = || {
            namespaces::leave().map_err(io::Error::other)?;
            let root = Root::default();
            root.enter().map_err(io::Error::other)?;
            access::restrict(&root).map_err(io::Error::other)
        };
        if !enter().map_err(os("cannot enter the jail"))? {
            tracing::info!(
                vm = setup.name,
                "this kernel lacks a part of Landlock; the VM's processes run without it"
            );
        }
    }
    privileges::limit().map_err(os("cannot set resource limits"))?;
    process::become_user(uid).map_err(os("cannot switch to the VM's user"))?;
    process::die_with_parent(parent)
        .map_err(os("cannot tie this process's lifetime to the broker's"))?;
    Filter::of_device().install().map_err(os("cannot install the system call filter"))?;
    serve(broker, &setup, listener)
}

/// Does the same as [`run`], but without changing this process's user or entering a jail, so that a
/// test can run the device in its own process.
pub fn run_in_a_test(broker: OwnedFd) -> Result<(), DeviceError> {
    let (setup, listener) = receive_setup(&broker)?;
    serve(broker, &setup, listener)
}

fn receive_setup(broker: &OwnedFd) -> Result<(DeviceSetup, OwnedFd), DeviceError> {
    let message = seqpacket::receive(broker).map_err(os("cannot receive from the broker"))?;
    let Some((BrokerToDevice::Setup(setup), fds)) = message else {
        return Err(DeviceError::NoSetup);
    };
    Ok((setup, fds.into_iter().next().ok_or(DeviceError::NoSetup)?))
}

fn serve(broker: OwnedFd, setup: &DeviceSetup, listener: OwnedFd) -> Result<(), DeviceError> {
    let link = link::Link::start(broker, setup.limits.max_sessions)
        .map_err(os("cannot start a thread"))?;
    connection::accept(UnixListener::from(listener), setup, &link)
}
