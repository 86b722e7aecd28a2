//! Supervises workers, each on a thread of its own, so that none waits for another's operation.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::Builder;

use host_ipc::messages::ToSupervisor;
use host_ipc::{process, seqpacket};
use host_jail::filter::Filter;
use host_jail::root::Root;
use host_jail::{namespaces, privileges};

use super::SupervisorError;
use super::caller::Thread;
use super::limit::Limit;
use super::listener::{Call, Listener, Next};
use super::objects::Objects;
use super::perform::{Operation, Outcome, ioctl, perform};
use super::refusals::Refusals;
use super::totals::Totals;

/// The stack of each thread. The lists and parameters of an operation are on the heap.
const STACK: usize = 256 << 10;

/// A worker that makes more calls than this in a second waits. Creating a context takes about 280
/// calls in a tenth of a second. A program that does nothing but allocate and free device memory
/// makes two calls in the 0.09 ms that the driver takes for both, which is 22,000 in a second.
const CALLS: u32 = 65_536;

/// Supervises workers until the broker closes its socket.
pub fn run(broker: OwnedFd) -> Result<(), SupervisorError> {
    process::unblock_signals();
    let parent = process::parent();
    process::die_with_parent(parent).map_err(SupervisorError::Start)?;
    namespaces::leave().map_err(|reason| SupervisorError::Start(io::Error::other(reason)))?;
    Root::default().enter().map_err(|error| SupervisorError::Start(io::Error::other(error)))?;
    privileges::limit().map_err(SupervisorError::Start)?;
    privileges::keep_only_inspecting().map_err(SupervisorError::Start)?;
    // Changing the user has cleared this setting.
    process::die_with_parent(parent).map_err(SupervisorError::Start)?;
    Filter::of_supervisor().install().map_err(SupervisorError::Filter)?;
    let broker = Arc::new(broker);
    let totals = Arc::new(Totals::default());
    while let Some((message, fds)) =
        seqpacket::receive(&*broker).map_err(SupervisorError::Broker)?
    {
        let ToSupervisor::Worker { label, session, objects } = message else {
            return Err(SupervisorError::Message);
        };
        let [socket, process] =
            <[OwnedFd; 2]>::try_from(fds).map_err(|_| SupervisorError::Message)?;
        let name = label.clone();
        let refusals = Refusals::new(label.clone(), session, broker.clone());
        let objects = Objects::new(session, &objects, broker.clone(), totals.clone());
        let supervise = move || match supervise(refusals, objects, &socket, &process) {
            Ok(()) => {}
            Err(error) => tracing::error!(session = label, "cannot supervise a worker: {error}"),
        };
        // If there is no thread, the socket is closed here, and the worker ends.
        if let Err(error) = Builder::new().stack_size(STACK).spawn(supervise) {
            tracing::error!(session = name, "cannot start a thread: {error}");
        }
    }
    Ok(())
}

/// Performs the operations of one worker until it exits, and refuses its other calls.
fn supervise(
    mut refusals: Refusals,
    mut objects: Objects,
    socket: &OwnedFd,
    process: &OwnedFd,
) -> io::Result<()> {
    let Some((ToSupervisor::Listener, fds)) = seqpacket::receive(socket)? else {
        // The worker has exited before it installed its filter.
        return Ok(());
    };
    let Ok([listener]) = <[OwnedFd; 1]>::try_from(fds) else {
        return Err(io::Error::other("the worker didn't send its listener"));
    };
    let listener = Listener::new(listener);
    let mut limit = Limit::new(CALLS);
    loop {
        let call = match listener.next(refusals.due())? {
            Next::Call(call) => call,
            Next::Timeout => {
                refusals.report_if_due();
                continue;
            }
            Next::Exited => return Ok(()),
        };
        limit.wait();
        let result = if let Some(operation) = Operation::of(call.number, &call.arguments) {
            handle(&listener, process, &mut objects, operation, &call).map(|outcome| {
                if let Outcome::Refused(refused) = outcome {
                    refusals.add_operation(refused);
                }
            })
        } else {
            refusals.add_call(call.number, &call.arguments);
            Err(io::Error::from_raw_os_error(libc::EPERM))
        };
        listener.answer(&call, result)?;
        refusals.report_if_due();
    }
}

fn handle(
    listener: &Listener,
    process: &OwnedFd,
    objects: &mut Objects,
    operation: Operation,
    call: &Call,
) -> io::Result<Outcome> {
    let [fd, request, argument, ..] = call.arguments;
    let waits = || listener.is_waiting(call);
    let thread = Thread::new(process, call.thread, &waits);
    perform(&thread, objects, operation, [fd, request, argument], |device, copy| {
        // SAFETY: `perform` passes copies, in which it has replaced all pointers.
        unsafe { ioctl(operation, device, copy) }
    })
}
