//! The event loop's subscriber: what the broker has, and who is to be called when something
//! happens. One thread, and nothing here waits for anybody: sockets are non-blocking, and who does
//! not read is ended.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use control_api::EventKind;
use event_manager::{EventOps, EventSet, Events, MutEventSubscriber};

use super::audit::Audit;
use super::cgroup::Cgroups;
use super::compute::ComputeHandle;
use super::gpus::Gpus;
use super::mps::Mps;
use super::notify::Notify;
use super::pool::{Session, Workers};
use super::spawn::Programs;
use super::state::{State, StateDir};
use super::together::Together;
use super::vms::Vms;
use crate::config::Policy;
use control_server::handle::{About, ControlInbox};
use host_ipc::eventfd::drain;
use host_ipc::gpu::Probed;
use host_ipc::messages::WorkerId;
use memory_ledger::{GpuId, Ledger, VmId};

/// How often the broker looks around, when nothing happens.
pub(super) const SECOND: Duration = Duration::from_secs(1);
/// How soon it looks again at sessions that wait for their turn.
const SOON: Duration = Duration::from_millis(25);

/// Who a descriptor belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Signals,
    Timer,
    Control,
    Witness,
    Scheduler,
    DeviceSocket(VmId),
    DevicePid(VmId),
    WorkerSocket(WorkerId),
    WorkerPid(WorkerId),
}

/// The broker's state.
pub(super) struct Service {
    pub(super) vms: Vms,
    pub(super) gpus: Gpus,
    pub(super) policy: Policy,
    /// Workers kept ready, for each set of GPUs.
    pub(super) warm_workers: usize,
    pub(super) programs: Programs,
    /// The driver library and the GPUs that it finds.
    pub(super) driver: Probed,
    /// Processes get users of their own.
    pub(super) change_users: bool,
    pub(super) signals: OwnedFd,
    pub(super) timer: OwnedFd,
    pub(super) sources: HashMap<RawFd, Source>,
    pub(super) workers: Workers,
    /// After the workers, which are its clients.
    pub(super) mps: Mps,
    /// Sessions for which there is no room until a worker that was ended has been reaped, or whose
    /// VM starts too many.
    pub(super) waiting: VecDeque<Session>,
    pub(super) ledger: Ledger,
    /// Who has the GPUs when.
    pub(super) compute: ComputeHandle,
    /// The VMs that are one to the scheduler.
    pub(super) together: Together,
    /// Warm workers that failed, in a row.
    pub(super) failures: u32,
    /// Workers that were ended for what they did.
    pub(super) killed: u64,
    pub(super) inbox: ControlInbox,
    /// Where VMs made and changed at run time are written down.
    pub(super) state_dir: Option<StateDir>,
    /// What is written there.
    pub(super) state: State,
    /// NVML's word against the ledger's, where there is NVML.
    pub(super) audit: Option<Audit>,
    pub(super) notify: Notify,
    pub(super) notified: Instant,
    /// Milliseconds since 1970.
    pub(super) started_ms: u64,
    pub(super) ended: bool,
    /// Dropped last: the VMs' cgroups lie in it.
    pub(super) cgroups: Option<Cgroups>,
}

/// Blocks the signals that end the broker, and makes them readable.
pub(super) fn catch_signals() -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is initialised by sigemptyset before it is used; the calls get valid pointers.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// A timer that does not run yet.
pub(super) fn timer() -> io::Result<OwnedFd> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: integers only; the descriptor is new and nobody else's.
    unsafe {
        let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, flags);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

impl Service {
    /// Whether a signal asked for the end.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn watch(&mut self, ops: &mut EventOps, fd: RawFd, source: Source) {
        match ops.add(Events::new_raw(fd, EventSet::IN)) {
            Ok(()) => drop(self.sources.insert(fd, source)),
            Err(error) => tracing::error!("cannot watch {source:?}: {error}"),
        }
    }

    pub(super) fn unwatch(&mut self, ops: &mut EventOps, fd: RawFd) {
        if self.sources.remove(&fd).is_some()
            && let Err(error) = ops.remove(Events::empty_raw(fd))
        {
            tracing::error!("cannot stop watching: {error}");
        }
    }

    /// Tells who listens to events.
    pub(super) fn publish(
        &self,
        kind: EventKind,
        vm: Option<VmId>,
        session: Option<u32>,
        says: impl Into<String>,
    ) {
        self.publish_gpu(kind, vm, session, None, says);
    }

    pub(super) fn publish_gpu(
        &self,
        kind: EventKind,
        vm: Option<VmId>,
        session: Option<u32>,
        gpu: Option<GpuId>,
        says: impl Into<String>,
    ) {
        let vm = vm.map(|vm| self.vms.name(vm));
        let about = About { vm, session, gpu: gpu.map(|gpu| gpu.0) };
        self.inbox.events().publish(kind, about, says);
    }

    /// Sets when the broker looks around next. Not at each event, or it would never come to it.
    pub(super) fn arm_timer(&self) {
        let mut after = if self.waiting.is_empty() { SECOND } else { SOON };
        if let Some(interval) = self.notify.interval() {
            after = after.min(interval);
        }
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec {
            tv_sec: after.as_secs() as libc::time_t,
            tv_nsec: after.subsec_nanos().into(),
        };
        let times = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: the pointer is that of a local; null: what it was set to is not wanted.
        unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), 0, &times, std::ptr::null_mut());
        }
    }

    fn tick(&mut self, ops: &mut EventOps) {
        drain(&self.timer);
        if self.notify.interval().is_some_and(|interval| self.notified.elapsed() >= interval / 2) {
            self.notified = Instant::now();
            if self.compute.is_alive() {
                self.notify.alive();
            } else {
                tracing::error!("the scheduler's thread stands still; systemd is not told of life");
            }
        }
        if !self.waiting.is_empty() && !self.ended {
            self.start_waiting(ops);
        }
        self.arm_timer();
    }

    fn asked(&mut self, ops: &mut EventOps) {
        self.inbox.acknowledge();
        while let Some((request, answer)) = self.inbox.next() {
            self.handle(ops, request, answer);
        }
    }

    fn signalled(&mut self) {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` has room for what a signalfd gives.
        let read = unsafe { libc::read(self.signals.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if read == size as isize {
            tracing::info!("ending");
            self.notify.stopping();
            self.ended = true;
        }
    }

    /// Ends everything. What is under way is lost, as when a host is switched off.
    fn shut_down(&mut self) {
        for (_, state) in self.vms.iter_mut() {
            if let Some(mut device) = state.device.take() {
                device.end();
            }
        }
        let mut workers: Vec<_> = self.workers.drain().collect();
        workers.iter_mut().for_each(|(_, worker)| worker.running.kill());
        workers.iter_mut().for_each(|(_, worker)| worker.running.end());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl MutEventSubscriber for Service {
    fn process(&mut self, events: Events, ops: &mut EventOps) {
        match self.sources.get(&events.fd()) {
            Some(Source::Signals) => self.signalled(),
            Some(Source::Timer) => self.tick(ops),
            Some(Source::Control) => self.asked(ops),
            Some(Source::Witness) => self.witness_spoke(),
            Some(Source::Scheduler) => self.scheduler_spoke(),
            Some(Source::DeviceSocket(vm)) => self.device_spoke(ops, *vm),
            Some(Source::DevicePid(vm)) => self.device_ended(ops, *vm),
            Some(Source::WorkerSocket(worker)) => self.worker_spoke(ops, *worker),
            Some(Source::WorkerPid(worker)) => self.worker_ended(ops, *worker),
            None => {}
        }
    }

    fn init(&mut self, ops: &mut EventOps) {
        let (signals, timer) = (self.signals.as_raw_fd(), self.timer.as_raw_fd());
        self.watch(ops, signals, Source::Signals);
        self.watch(ops, timer, Source::Timer);
        self.watch(ops, self.inbox.as_raw_fd(), Source::Control);
        self.watch_audit(ops);
        self.watch(ops, self.compute.events_fd(), Source::Scheduler);
        for vm in self.vms.ids() {
            self.start_device(ops, vm);
        }
        self.refill(ops);
        self.notify.ready();
        self.arm_timer();
    }
}
