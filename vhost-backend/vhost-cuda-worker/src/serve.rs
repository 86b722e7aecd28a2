//! Runs a worker: prepares the driver library, waits for a session, and serves it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host_ipc::messages::{Assignment, ToBroker, ToSupervisor, ToWorker};
use host_ipc::spending::Spending;
use host_ipc::{process, seqpacket};

use super::driver::recorder;
use super::error::WorkerError;
use super::executor::Prepare;
use super::gate_end::GateEnd;
use super::isolate::{self, Jail};
use super::{
    calls, control, executor, ledger, mirror, reader, region, spin, timeslices, truncated, waker,
};
use host_jail::filter::{Filter, Unlisted};

/// Prepares the driver library, waits to be assigned to a session, and serves it. Returns only on
/// an error, or if the broker no longer needs this worker.
pub fn run(
    broker: OwnedFd,
    library: &Path,
    prepare: Prepare,
    jail: &Jail,
) -> Result<(), WorkerError> {
    process::unblock_signals();
    let parent = process::parent();
    process::die_with_parent(parent).map_err(WorkerError::Start)?;
    isolate::be_killed_first_without_memory();
    if let Err(error) = jail.enter(library) {
        return Err(fail(&broker, format!("cannot enter the jail: {error}")));
    }
    if jail.has_user() {
        // Set this again, because changing the user has cleared the setting.
        process::die_with_parent(parent).map_err(WorkerError::Start)?;
    }
    truncated::install().map_err(WorkerError::Start)?;
    region::reserve_pinned_window().map_err(|error| WorkerError::Window(error.to_string()))?;
    recorder::start();
    let engine = match calls::open(library, prepare) {
        Ok(engine) => engine,
        Err(error) => return Err(fail(&broker, error.to_string())),
    };
    let objects = match recorder::prepared() {
        Ok(objects) => objects.relevant(),
        Err(error) => return Err(fail(&broker, error.to_string())),
    };
    // A worker in a jail has a supervisor, which decides about system calls that the filter doesn't
    // list.
    let unlisted = if jail.is_jail() { Unlisted::AskSupervisor } else { Unlisted::Refuse };
    let filter = Filter::of_worker(unlisted);
    seqpacket::send(&broker, &ToBroker::Ready { objects }, &[]).map_err(WorkerError::Broker)?;
    let Some((message, fds)) = seqpacket::receive(&broker).map_err(WorkerError::Broker)? else {
        // The broker has closed the socket, because it no longer needs this worker, which has no
        // session.
        return Ok(());
    };
    let ToWorker::Assign(assignment) = message else { return Err(WorkerError::NoAssignment) };
    let mut fds = fds.into_iter();
    let [Some(stream), Some(doorbell), Some(wake), Some(page), Some(bell)] =
        std::array::from_fn(|_| fds.next())
    else {
        return Err(WorkerError::NoAssignment);
    };
    let supervisor = if jail.is_jail() { fds.next() } else { None };
    // The page of the VM's spending is missing if the broker is of the previous version.
    let spending = fds.next();
    let Assignment { label, pid, uid, env, spin_us, context_bytes, context_charged } = assignment;
    if let Err(error) = jail.join_later(uid) {
        return Err(fail(&broker, format!("cannot switch to the VM's user: {error}")));
    }
    process::set_dumpable(false).map_err(WorkerError::Start)?;
    process::die_with_parent(parent).map_err(WorkerError::Start)?;
    // Install the filter only now that the driver library has been loaded, because loading it may
    // start programs (nvidia-modprobe).
    if let Err(error) = install_filter(&filter, supervisor) {
        return Err(fail(&broker, format!("cannot install the system call filter: {error}")));
    }
    tracing::info!(session = label, guest_pid = pid, "serving");

    let gate = GateEnd::new(&page, bell).map_err(WorkerError::Start)?;
    engine.obey_evictions(&gate.page);
    timeslices::start(gate.page.clone()).map_err(WorkerError::Start)?;
    let socket = broker.try_clone().map_err(WorkerError::Start)?;
    let spending = spending.map(|file| Spending::map(file, &gate.page)).transpose();
    let spending = spending.map_err(WorkerError::Start)?.flatten();
    let ledger = ledger::LedgerClient::new(socket, gate.page.clone(), spending)
        .map_err(WorkerError::Start)?;
    let device = control::Device::new(&stream).map_err(WorkerError::Start)?;
    let exchange = device.exchange();
    let spin = spin::Spin::new(Duration::from_micros(spin_us.into()));
    let session = executor::Session {
        label,
        pid,
        env,
        ledger,
        exchange: exchange.clone(),
        context_bytes: context_bytes.into(),
        context_charged,
        regions: region::Regions::default(),
        mirrors: mirror::Mirrors::new(spin),
        waker: waker::Waker::new(doorbell).map_err(WorkerError::Start)?,
        gate,
    };
    let executor = match engine.begin(session.clone()) {
        Ok(executor) => executor,
        Err(error) => return Err(fail(&broker, error.to_string())),
    };
    seqpacket::send(&broker, &ToBroker::Began, &[]).map_err(WorkerError::Broker)?;
    let waker = session.waker.clone();
    let mailbox = control::start(stream, exchange, waker, executor.before_exit());
    let mailbox = mailbox.map_err(WorkerError::Start)?;
    reader::Reader::new(session, executor, device, mailbox, Arc::new(wake), spin).run()
}

/// Installs the system call filter. If there is a supervisor, operations on objects of NVIDIA's
/// kernel driver, and system calls that the filter doesn't list, wait for the supervisor's decision
/// from now on.
fn install_filter(filter: &Filter, supervisor: Option<OwnedFd>) -> io::Result<()> {
    let Some(supervisor) = supervisor else { return filter.install() };
    let listener = filter.install_with_listener()?;
    seqpacket::send(&supervisor, &ToSupervisor::Listener, &[listener.as_fd()])
}

/// Reports to the broker why this worker can't serve a session, and returns an error with the same
/// reason.
fn fail(broker: &OwnedFd, reason: String) -> WorkerError {
    let _ = seqpacket::send(broker, &ToBroker::Failed { reason: reason.clone() }, &[]);
    WorkerError::Useless(reason)
}
