//! Supervises workers, each on a separate thread, so that no worker waits for another worker's
//! operation.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::Builder;

use host_ipc::messages::ToSupervisor;
use host_ipc::{process, seqpacket};
use host_jail::filter::Filter;
use host_jail::root::Root;
use host_jail::{namespaces, privileges};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::SupervisorError;
use super::caller::Thread;
use super::limit::Limit;
use super::listener::{Call, Listener, Next};
use super::objects::Objects;
use super::perform::{Operation, Outcome, ioctl, perform};
use super::refusals::Refusals;
use super::totals::Totals;

/// Stack size of each thread, in bytes. It can be small, because the lists and parameters of an
/// operation are on the heap.
const STACK: usize = 256 << 10;

/// Maximum number of calls per second that the supervisor handles for a worker. Further calls wait.
/// Creating a context takes about 280 calls in a tenth of a second. A program that does nothing but
/// allocate and free device memory makes two calls in the 0.09 ms that the driver takes for both,
/// which is 22,000 in a second.
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
    // Set this again, because changing the user has cleared it.
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
        let serve = move || {
            if let Err(error) = serve(refusals, objects, socket, &process) {
                tracing::error!(session = label, "cannot supervise a worker: {error}");
            }
        };
        // If the thread can't be started, the socket is closed here, which makes the worker exit.
        if let Err(error) = Builder::new().stack_size(STACK).spawn(serve) {
            tracing::error!(session = name, "cannot start a thread: {error}");
        }
    }
    Ok(())
}

/// Supervises one worker, and counts its objects until its process has exited. Supervision ends
/// before that, but the driver frees the objects only when the kernel closes the process's
/// descriptors. Until then, the objects must count, so that other workers can't exceed the limits.
fn serve(
    refusals: Refusals,
    mut objects: Objects,
    socket: OwnedFd,
    process: &OwnedFd,
) -> io::Result<()> {
    let supervised = supervise(refusals, &mut objects, &socket, process);
    // If supervision failed, closing the socket makes the worker exit.
    drop(socket);
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(process, PollFlags::IN)], None) {}
    drop(objects);
    supervised
}

/// Performs the operations of one worker until it exits, and refuses its other calls.
fn supervise(
    mut refusals: Refusals,
    objects: &mut Objects,
    socket: &OwnedFd,
    process: &OwnedFd,
) -> io::Result<()> {
    let Some((ToSupervisor::Listener, fds)) = seqpacket::receive(socket)? else {
        // The worker exited before it had installed its filter.
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
            handle(&listener, process, objects, operation, &call).map(|outcome| {
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
        // SAFETY: `perform` passes a copy of the argument, in which it has replaced all pointers
        // with pointers to its own buffers of the required size.
        unsafe { ioctl(operation, device, copy) }
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::FromRawFd;
    use std::process::{Child, Command};
    use std::sync::mpsc;
    use std::time::Duration;

    use host_ipc::messages::DriverObject;

    use super::super::objects::tests::{SESSION, allocate, of_vm};
    use super::super::totals::tests::are_empty;
    use super::*;

    /// Returns a process that exits only when it's killed, and its pidfd.
    fn process() -> (Child, OwnedFd) {
        let child = Command::new("sleep").arg("1000").spawn().unwrap();
        // SAFETY: the call takes no pointers, and the descriptor is new.
        let fd = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, child.id(), 0);
            assert!(fd >= 0);
            OwnedFd::from_raw_fd(fd as i32)
        };
        (child, fd)
    }

    #[test]
    fn objects_count_until_the_process_of_their_worker_has_exited() {
        let totals = Arc::new(Totals::default());
        let (mut objects, broker) = of_vm(&totals);
        let object = DriverObject { client: 1, parent: 1, handle: 2, class: 0x40, detail: 0 };
        assert!(allocate(&mut objects, object));
        let refusals = Refusals::new("vm/7".into(), SESSION, Arc::new(broker));
        // Close the worker's end of the socket, as if the worker had exited before it installed a
        // filter.
        let (socket, _) = seqpacket::pair().unwrap();
        let (mut child, process) = process();
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || {
            let served = serve(refusals, objects, socket, &process);
            ended.send(served.is_ok()).unwrap();
        });
        let early = end.recv_timeout(Duration::from_secs(1));
        let counted = !are_empty(&totals);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(early.is_err() && counted);
        assert_eq!(end.recv_timeout(Duration::from_secs(60)), Ok(true));
        assert!(are_empty(&totals));
    }
}
