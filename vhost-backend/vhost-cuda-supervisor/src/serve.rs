//! Supervises workers, each on a thread of its own, so that none waits for another's operation.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use host_ipc::messages::ToSupervisor;
use host_ipc::{process, seqpacket};
use host_jail::filter::Filter;
use host_jail::root::Root;
use host_jail::{namespaces, privileges};

use super::SupervisorError;
use super::caller::Thread;
use super::listener::{Call, Listener, Next};
use super::perform::{Outcome, ioctl, is_control, perform};
use super::refusals::Refusals;

/// The stack of each thread. The lists and parameters of an operation are on the heap.
const STACK: usize = 256 << 10;

/// A worker that makes more calls than this in an interval waits for the next one. Creating a context
/// takes about 200 calls in a tenth of a second.
const CALLS: u32 = 8192;
const INTERVAL: Duration = Duration::from_secs(1);

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
    while let Some((message, fds)) =
        seqpacket::receive(&*broker).map_err(SupervisorError::Broker)?
    {
        let ToSupervisor::Worker { label, session } = message else {
            return Err(SupervisorError::Message);
        };
        let [socket, process] =
            <[OwnedFd; 2]>::try_from(fds).map_err(|_| SupervisorError::Message)?;
        let name = label.clone();
        let refusals = Refusals::new(label.clone(), session, broker.clone());
        let supervise = move || match supervise(refusals, &socket, &process) {
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
fn supervise(mut refusals: Refusals, socket: &OwnedFd, process: &OwnedFd) -> io::Result<()> {
    let Some((ToSupervisor::Listener, fds)) = seqpacket::receive(socket)? else {
        // The worker has exited before it installed its filter.
        return Ok(());
    };
    let Ok([listener]) = <[OwnedFd; 1]>::try_from(fds) else {
        return Err(io::Error::other("the worker didn't send its listener"));
    };
    let listener = Listener::new(listener);
    let (mut start, mut calls) = (Instant::now(), 0);
    loop {
        let call = match listener.next(refusals.due())? {
            Next::Call(call) => call,
            Next::Timeout => {
                refusals.report_if_due();
                continue;
            }
            Next::Exited => return Ok(()),
        };
        calls += 1;
        if calls > CALLS {
            std::thread::sleep(INTERVAL.saturating_sub(start.elapsed()));
            (start, calls) = (Instant::now(), 1);
        } else if start.elapsed() >= INTERVAL {
            (start, calls) = (Instant::now(), 1);
        }
        let result = if is_control(call.number, &call.arguments) {
            handle(&listener, process, &call).map(|outcome| {
                if let Outcome::Refused(command) = outcome {
                    refusals.add_operation(command);
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

fn handle(listener: &Listener, process: &OwnedFd, call: &Call) -> io::Result<Outcome> {
    let [fd, request, argument, ..] = call.arguments;
    let waits = || listener.is_waiting(call);
    let thread = Thread::new(process, call.thread, &waits);
    perform(&thread, fd as libc::c_int, request as u32, argument, |device, copy| {
        // SAFETY: `perform` passes copies, in which it has replaced all pointers.
        unsafe { ioctl(device, copy) }
    })
}
