//! A VM's device process. It is restarted when it exits, unless that happens too often.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use crate::config::Vm;
use crate::processes::launcher::Launcher;
use crate::processes::process::{ChildProcess, ChildRecord};
use crate::processes::spawner::Processes;
use crate::reporting::rate::TokenBucket;
use crate::vm::socket::VmSocket;
use host_ipc::messages::{BrokerToDevice, DeviceSetup, DeviceToBroker};
use host_ipc::spawner::{Kept, ProcessId};
use memory_ledger::GpuId;
use serde::{Deserialize, Serialize};

/// Maximum number of starts per minute. After that, the device process isn't restarted.
const MAX_RESTARTS: usize = 5;

/// The limit on a device process's messages: this many at once, and `MESSAGES_PER_SECOND` in the
/// long run. An honest device process sends at most 1000 queries a second, and little else. If a
/// guest has taken over its device process, this limit protects the other VMs.
const MESSAGES_AT_ONCE: u32 = 1024;
const MESSAGES_PER_SECOND: u32 = 2048;

/// The result of reading from a device process's socket.
pub(crate) enum DeviceEffect {
    /// There is nothing to read.
    None,
    /// The device process sent a message.
    Message(DeviceToBroker),
    /// The process has sent too many messages. The caller must stop watching this descriptor until
    /// [`Device::resume`] returns it.
    Paused(RawFd),
    /// The socket failed, so the process was killed. The caller must stop watching this descriptor.
    Closed(RawFd),
}

/// A VM's vhost-user socket, and the device process that serves it.
pub(crate) struct Device {
    /// `None` if the VM isn't being served.
    listener: Option<VmSocket>,
    process: Option<ChildProcess>,
    /// Times at which the process was started, within the last minute.
    starts: Vec<Instant>,
    /// Why the process isn't restarted, if it isn't.
    failure: Option<String>,
    restarts: u64,
    messages: TokenBucket,
    /// True if the process's socket isn't being read, because it has sent too many messages.
    is_paused: bool,
    /// The VM's spending page, if the previous broker had it kept.
    spending: Option<OwnedFd>,
}

/// The record of a device, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct DeviceRecord {
    has_listener: bool,
    process: Option<ChildRecord>,
    failure: Option<String>,
    restarts: u64,
}

impl Device {
    /// Returns the record from which a broker that replaces this one continues.
    pub(crate) fn record(&self) -> DeviceRecord {
        DeviceRecord {
            has_listener: self.listener.is_some(),
            process: self.process.as_ref().map(ChildProcess::record),
            failure: self.failure.clone(),
            restarts: self.restarts,
        }
    }

    /// Takes over the device of a VM from the broker that this one replaces.
    pub(crate) fn restore(
        record: DeviceRecord,
        launcher: &Launcher,
        processes: &mut Processes,
        vm: &str,
    ) -> io::Result<Self> {
        let socket = || VmSocket::restore(launcher.spawner(), vm);
        let (listener, failure) = match record.has_listener.then(socket).transpose() {
            Ok(listener) => (listener, record.failure),
            // The previous broker crashed after it had closed the socket.
            Err(error) => (None, Some(format!("its socket is closed: {error}"))),
        };
        let restore = |process| launcher.restore(process, processes, "device", Some(vm));
        let (process, kept) = record.process.map(restore).transpose()?.unzip();
        let spending = kept.flatten().and_then(|mut kept| kept.take(Kept::Device));
        let spending = spending.map(|[page, ..]: [OwnedFd; 3]| page);
        let restarts = record.restarts;
        Ok(Self { process, restarts, spending, ..Self::with(listener, failure) })
    }

    /// Returns the process's socket, if there is a process.
    pub(crate) fn socket_fd(&self) -> Option<RawFd> {
        self.process.as_ref().map(ChildProcess::socket_fd)
    }

    /// Creates a device whose process hasn't been started.
    pub(crate) fn new(listener: VmSocket) -> Self {
        Self::with(Some(listener), None)
    }

    /// Creates the device of a VM that can't be served. `reason` says why.
    pub(crate) fn failed(reason: String) -> Self {
        Self::with(None, Some(reason))
    }

    /// Returns a new device of the VM, which serves the VM again at this socket.
    pub(crate) fn again(&self, listener: VmSocket) -> Self {
        Self { restarts: self.restarts, ..Self::new(listener) }
    }

    fn with(listener: Option<VmSocket>, failure: Option<String>) -> Self {
        let messages = TokenBucket::new(MESSAGES_AT_ONCE, MESSAGES_PER_SECOND, Instant::now());
        let (starts, restarts, is_paused) = (Vec::new(), 0, false);
        Self {
            listener,
            process: None,
            starts,
            failure,
            restarts,
            messages,
            is_paused,
            spending: None,
        }
    }

    /// Has the spawner keep the VM's spending page with the process, for a broker that replaces
    /// this one.
    pub(crate) fn keep_spending(&self, page: BorrowedFd<'_>) -> io::Result<()> {
        // A set of descriptors of this kind always has three, so send the page three times.
        let process = self.process.as_ref();
        process.map_or(Ok(()), |process| process.keep(Kept::Device, &[page; 3]))
    }

    /// Takes the VM's spending page, which the previous broker had the spawner keep.
    pub(crate) fn take_spending(&mut self) -> Option<OwnedFd> {
        self.spending.take()
    }

    /// Returns the process ID of the process, if it has started.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.as_ref().and_then(ChildProcess::pid)
    }

    /// Returns true if there is a process, even if it has only been requested.
    pub(crate) fn has_process(&self) -> bool {
        self.process.is_some()
    }

    /// Returns true if this is the device's process.
    pub(crate) fn is(&self, process: ProcessId) -> bool {
        self.process.as_ref().is_some_and(|one| one.id() == process)
    }

    /// Returns why the VM isn't being served, or `None` if it is.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns how often the process was restarted.
    pub(crate) fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Starts the process, unless the VM isn't being served. Returns its socket, which the caller
    /// must watch. An error is a message for operators.
    pub(crate) fn start(&mut self, launcher: &Launcher, vm: &Vm) -> Result<Option<RawFd>, String> {
        let Some(socket) = &self.listener else { return Ok(None) };
        self.starts.retain(|start| start.elapsed() < Duration::from_secs(60));
        let often = self.starts.len();
        if often >= MAX_RESTARTS {
            return Err(format!(
                "the device process ended {often} times within a minute; see the log, and restart it \
                 with vcudactl vm restart"
            ));
        }
        self.starts.push(Instant::now());
        let failed = |error| format!("cannot start the device process: {error}");
        let listener = socket.listener().map_err(failed)?;
        let process = launcher.start_device(&vm.name).map_err(failed)?;
        let setup = DeviceSetup { name: vm.name.clone(), limits: vm.limits };
        let setup = BrokerToDevice::Setup(setup);
        if let Err(error) = process.send(&setup, &[listener.as_fd()]) {
            tracing::error!(vm = vm.name, "cannot send the setup to the device process: {error}");
        } else if let Err(error) = process.send(&BrokerToDevice::CountFrontEnds, &[]) {
            tracing::error!(vm = vm.name, "cannot send to the device process: {error}");
        }
        let socket = process.socket_fd();
        self.process = Some(process);
        Ok(Some(socket))
    }

    /// Records that the process has started.
    pub(crate) fn set_started(&mut self, pid: u32, pidfd: OwnedFd, vm: &Vm, gpus: &[GpuId]) {
        let Some(process) = &mut self.process else { return };
        process.set_started(pid, pidfd);
        tracing::info!(
            vm = vm.name,
            pid,
            gpus = ?gpus.iter().map(|gpu| gpu.0).collect::<Vec<_>>(),
            memory_max = vm.spec.memory.max,
            socket = %vm.socket.display(),
            "device process started"
        );
    }

    /// Counts a restart of the process.
    pub(crate) fn count_restart(&mut self) {
        self.restarts += 1;
    }

    /// Stops serving the VM until an operator restarts it. This closes the vhost-user socket, so
    /// that front ends get an error instead of waiting forever.
    pub(crate) fn set_failure(&mut self, reason: String) {
        self.listener = None;
        self.failure = Some(reason);
    }

    /// Closes the vhost-user socket and kills the process. The end of the process is reported
    /// later.
    pub(crate) fn close(&mut self) {
        self.listener = None;
        self.kill();
    }

    /// Kills the process. Its end is reported later.
    pub(crate) fn kill(&self) {
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// Takes the process after it has ended. The caller must stop watching the process's socket
    /// before it drops the process.
    pub(crate) fn take_ended(&mut self) -> Option<ChildProcess> {
        self.is_paused = false;
        self.process.take()
    }

    /// Sends a message to the process, if there is one. If sending fails, kills the process.
    pub(crate) fn send(&self, vm: &str, message: &BrokerToDevice, fds: &[BorrowedFd]) {
        let Some(process) = &self.process else { return };
        if let Err(error) = process.send(message, fds) {
            tracing::error!(vm, "cannot send to the device process, so killing it: {error}");
            process.kill();
        }
    }

    /// Returns true if the process's socket isn't being read.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// If the process may send messages again, returns its socket, which the caller must watch.
    pub(crate) fn resume(&mut self) -> Option<RawFd> {
        if !self.is_paused || !self.messages.has(1, Instant::now()) {
            return None;
        }
        self.is_paused = false;
        self.process.as_ref().map(ChildProcess::socket_fd)
    }

    /// Reads one message from the process.
    pub(crate) fn receive(&mut self) -> DeviceEffect {
        let Some(process) = &self.process else { return DeviceEffect::None };
        if !self.messages.take(Instant::now()) {
            self.is_paused = true;
            return DeviceEffect::Paused(process.socket_fd());
        }
        match process.receive() {
            Ok(Some(message)) => DeviceEffect::Message(message),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => DeviceEffect::None,
            Ok(None) | Err(_) => {
                process.kill();
                DeviceEffect::Closed(process.socket_fd())
            }
        }
    }
}
