//! The service's handle to the scheduler thread.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::evictor::{Eviction, Evictor};
use super::message::{Command, ComputeEvent, Stats};
use super::shared::{EventSender, Shared};
use super::thread;
use super::worker::{WorkerEnds, WorkerTraits};
use crate::sessions::worker::SchedulerEnds;
use control_server::trace_point::Traces;
use gpu_scheduler::{GpuKey, Share, VmKey, VmStats};
use host_ipc::eventfd::{drain, notify};
use host_ipc::messages::WorkerId;

/// How long the service waits for the thread to reply with statistics.
const STATS_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the threads may take to stop.
const STOP_TIME: Duration = Duration::from_secs(2);
/// How long received statistics are reused before the thread is asked again.
const STATS_FRESH: Duration = Duration::from_millis(20);

/// Starts the scheduler thread, sends it commands, and receives its events.
pub(crate) struct ComputeHandle {
    pub(super) shared: Arc<Shared>,
    /// `None` if the scheduler is off, so there is no thread.
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<()>>,
    events: mpsc::Receiver<ComputeEvent>,
    /// The latest statistics, and the time at which they were received.
    stats: RefCell<(Option<Instant>, Stats)>,
    /// The thread's number of rounds at the last call of [`Self::is_alive`].
    rounds_seen: Cell<u64>,
}

impl ComputeHandle {
    /// Starts the scheduler thread, and the threads that evict kernels if evictions work.
    pub(crate) fn start(eviction: Option<&Eviction>, traces: Traces) -> io::Result<Self> {
        let (mut handle, sender) = Self::new(traces)?;
        let evictor = match eviction {
            Some(eviction) => Evictor::start(eviction, &sender)?,
            None => Evictor::default(),
        };
        let evictor = Arc::new(evictor);
        let (commands, incoming) = mpsc::channel();
        let thread = std::thread::Builder::new().name("scheduler".into());
        let thread = thread.spawn(move || {
            thread::supervise(&incoming, &sender, &evictor);
            // Dropping the evictor ends the threads that evict kernels.
            drop(evictor);
        });
        (handle.commands, handle.thread) = (Some(commands), Some(thread?));
        Ok(handle)
    }

    /// Creates a handle without a thread. All gates stay open, and the driver time-slices the GPU.
    pub(crate) fn off() -> io::Result<Self> {
        Self::new(Traces::default()).map(|(handle, _)| handle)
    }

    pub(super) fn new(traces: Traces) -> io::Result<(Self, EventSender)> {
        let shared = Arc::new(Shared::new(traces)?);
        let (events_in, events) = mpsc::channel();
        let sender = EventSender { shared: shared.clone(), events: events_in };
        let handle = Self {
            shared,
            commands: None,
            thread: None,
            events,
            stats: RefCell::default(),
            rounds_seen: Cell::default(),
        };
        Ok((handle, sender))
    }

    /// Lets all evicted kernels continue, and stops the threads. The gates stay as they are. Fails
    /// if the threads take too long to stop.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        self.commands = None;
        notify(&self.shared.commands_fd);
        let began = Instant::now();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if began.elapsed() > STOP_TIME {
                return Err(io::Error::other("the scheduler's threads don't stop"));
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    }

    /// Returns an eventfd that is readable while events are queued.
    pub(crate) fn events_fd(&self) -> RawFd {
        self.shared.events_fd.as_raw_fd()
    }

    /// Takes the events that were queued since the last call.
    pub(crate) fn events(&mut self) -> Vec<ComputeEvent> {
        drain(&self.shared.events_fd);
        self.events.try_iter().collect()
    }

    fn send(&self, command: Command) {
        if let Some(commands) = &self.commands
            && commands.send(command).is_ok()
        {
            notify(&self.shared.commands_fd);
        }
    }

    /// Adds a VM with its share of each of its GPUs, or changes the shares of an existing VM.
    /// Changed shares apply starting with the next window.
    pub(crate) fn set_vm(&mut self, vm: VmKey, gpus: Vec<(GpuKey, Share)>) {
        self.shared.registry().vms.insert(vm, gpus.iter().copied().collect());
        self.send(Command::SetVm(vm, gpus));
    }

    /// Removes a VM. Its workers must be removed separately.
    pub(crate) fn remove_vm(&mut self, vm: VmKey) {
        let mut registry = self.shared.registry();
        registry.vms.remove(&vm);
        registry.paused.remove(&vm);
        drop(registry);
        self.send(Command::RemoveVm(vm));
    }

    /// Pauses a VM, which takes it off its GPUs, or lets it continue.
    pub(crate) fn set_paused(&mut self, vm: VmKey, paused: bool) {
        let mut registry = self.shared.registry();
        match paused {
            true => registry.paused.insert(vm),
            false => registry.paused.remove(&vm),
        };
        drop(registry);
        self.send(Command::PauseVm(vm, paused));
    }

    /// Pauses a worker whose VM shares its key with other VMs, or lets it continue. A paused worker
    /// starts no more work, but finishes the work that it has started.
    pub(crate) fn set_worker_paused(&mut self, id: WorkerId, paused: bool) {
        if let Some(ends) = self.shared.registry().workers.get_mut(&id) {
            ends.is_paused = paused;
        }
        self.send(Command::PauseWorker(id, paused));
    }

    /// Adds a worker that was assigned to a VM. `gpus` is in the order of the worker's device
    /// ordinals.
    pub(crate) fn add_worker(
        &mut self,
        id: WorkerId,
        vm: VmKey,
        gpus: Vec<GpuKey>,
        ends: SchedulerEnds,
        traits: WorkerTraits,
    ) {
        let SchedulerEnds { page, doorbell, bell } = ends;
        let WorkerTraits { is_throttled, evicts, is_paused } = traits;
        let ends = WorkerEnds {
            vm,
            gpus: gpus.into(),
            page: Arc::new(page),
            doorbell: Arc::new(doorbell),
            bell: Arc::new(bell),
            is_throttled,
            evicts,
            is_paused,
        };
        if self.commands.is_none() {
            ends.page.open_all();
        }
        self.shared.registry().workers.insert(id, ends.clone());
        self.send(Command::AddWorker(id, ends));
    }

    /// Removes a worker that has exited.
    pub(crate) fn remove_worker(&mut self, id: WorkerId) {
        self.shared.registry().workers.remove(&id);
        self.send(Command::RemoveWorker(id));
    }

    /// Requests the start of a worker to replace one that a session of `vm` has taken.
    /// [`ComputeEvent::MayStart`] says when the worker may be started. When it is ready or has
    /// ended, call [`Self::end_start`] before requesting another start.
    pub(crate) fn begin_start(&self, vm: VmKey, gpu: GpuKey) {
        self.send(Command::BeginStart(vm, gpu));
    }

    /// Reports that the worker whose start was requested is ready or has ended.
    pub(crate) fn end_start(&self) {
        self.send(Command::EndStart);
    }

    /// Returns a VM's statistics on a GPU, or `None` if the scheduler is off.
    pub(crate) fn stats_of(&self, vm: VmKey, gpu: GpuKey) -> Option<VmStats> {
        self.with_stats(|stats| {
            let all = &stats.vms;
            let found = all.binary_search_by_key(&(vm, gpu), |stats| (stats.vm, stats.gpu));
            found.ok().map(|place| all[place].stats)
        })
    }

    /// Returns the fraction of the last second for which a worker had work on a GPU, in basis
    /// points, as counted by the worker. The worker counts its kernels as work even while they're
    /// evicted.
    pub(crate) fn worker_share(&self, worker: WorkerId, gpu: GpuKey) -> u32 {
        self.with_stats(|stats| stats.workers.get(&(worker, gpu)).copied().unwrap_or(0))
    }

    fn with_stats<T>(&self, use_it: impl FnOnce(&Stats) -> T) -> T {
        let (at, all) = &mut *self.stats.borrow_mut();
        if at.is_none_or(|at| at.elapsed() > STATS_FRESH) {
            let (answer, stats) = mpsc::channel();
            self.send(Command::Stats(answer));
            if let Ok(stats) = stats.recv_timeout(STATS_TIMEOUT) {
                *all = stats;
            }
            *at = Some(Instant::now());
        }
        use_it(all)
    }

    /// Publishes the current state of all VMs as trace points.
    pub(crate) fn trace_all(&self) {
        self.send(Command::Trace);
    }

    /// Returns how often the thread was restarted.
    pub(crate) fn restarts(&self) -> u64 {
        self.shared.restarts.load(Ordering::Relaxed)
    }

    /// Returns true if the thread has run its loop since the last call, or if there is no thread.
    /// Also wakes the thread, so that an idle thread runs its loop before the next call.
    pub(crate) fn is_alive(&self) -> bool {
        if self.commands.is_none() {
            return true;
        }
        let rounds = self.shared.rounds.load(Ordering::Relaxed);
        notify(&self.shared.commands_fd);
        self.rounds_seen.replace(rounds) != rounds
    }

    /// Stalls the thread until the returned sender is dropped.
    #[cfg(test)]
    pub(super) fn inject_stall(&mut self) -> mpsc::Sender<()> {
        let (held, stall) = mpsc::channel();
        self.send(Command::Stall(stall));
        held
    }

    /// Makes the scheduler thread panic.
    #[cfg(test)]
    pub(super) fn inject_panic(&mut self) {
        self.send(Command::Panic);
    }
}

impl Drop for ComputeHandle {
    fn drop(&mut self) {
        // The thread exits once its command channel is closed.
        self.commands = None;
        notify(&self.shared.commands_fd);
    }
}
