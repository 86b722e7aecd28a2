//! The scheduler's thread: it reads the workers' gate pages, asks [`gpu_scheduler`] who has the
//! GPU, and writes the answer into the pages.
//!
//! | module | what |
//! |---|---|
//! | `registry` | the VMs and workers that exist, kept outside the thread |
//! | `worker` | one worker's page, bell and heartbeat |
//! | `core` | reports in, actions out |
//! | `thread` | the loop: bells, deadlines, spinning |
//!
//! One thread serves all GPUs. If it panics, all gates are closed and it is started anew with the
//! VMs and workers that exist. docs/design/gate.md says how the pages are used.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};

use gpu_scheduler::{GpuKey, Share, VmKey, VmStats};
use host_ipc::eventfd::{drain, eventfd, notify};
use host_ipc::gate::GateMap;
use host_ipc::messages::WorkerId;
use registry::Registry;
use worker::Parts;

mod core;
mod registry;
#[cfg(test)]
mod tests;
mod thread;
mod worker;

/// How long the service waits for statistics, and how long they are good.
const STATS: Duration = Duration::from_millis(200);
const FRESH: Duration = Duration::from_millis(20);

/// What the scheduler's thread is told.
enum Command {
    SetVm(VmKey, Vec<(GpuKey, Share)>),
    RemoveVm(VmKey),
    AddWorker(WorkerId, Parts),
    RemoveWorker(WorkerId),
    Stats(mpsc::Sender<Vec<GpuStats>>),
    /// The thread's code is wrong.
    #[cfg(test)]
    Panic,
    /// The thread stands still until the other end is dropped.
    #[cfg(test)]
    Stall(mpsc::Receiver<()>),
}

/// What the scheduler's thread tells the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComputeEvent {
    /// A kernel of this worker's ran past the VM's kernel_timeout. Its session is told after this,
    /// so that whoever sees the session end has heard of it.
    KernelTimeout(WorkerId, GpuKey),
    /// That session has had time to tell its guest: its worker is to be ended.
    LastWordsOver(WorkerId),
    /// This worker's heartbeat has stopped while it had work on a GPU: it is to be ended. Its window
    /// has been passed on.
    HeartbeatLost(WorkerId),
    /// The thread failed and was started anew.
    Restarted,
}

impl Drop for ComputeHandle {
    fn drop(&mut self) {
        // The thread ends when there is nobody to tell it anything.
        self.commands = None;
        notify(&self.shared.called);
    }
}

/// How a VM stands on one GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuStats {
    pub vm: VmKey,
    pub gpu: GpuKey,
    pub stats: VmStats,
}

/// The service's end.
pub(crate) struct ComputeHandle {
    shared: Arc<Shared>,
    commands: Option<mpsc::Sender<Command>>,
    events: mpsc::Receiver<ComputeEvent>,
    /// The last answer about all VMs, and when it came.
    stats: RefCell<(Option<Instant>, Vec<GpuStats>)>,
    /// Rounds that the thread had made when [`Self::is_alive`] was last asked.
    rounds_seen: Cell<u64>,
}

/// What the thread and the service share.
struct Shared {
    registry: Mutex<Registry>,
    /// Wakes the thread.
    called: OwnedFd,
    /// Wakes the service.
    told: OwnedFd,
    restarts: AtomicU64,
    /// Rounds of the thread's loop, all starts together.
    rounds: AtomicU64,
}

/// The thread's end of what it tells the service.
#[derive(Clone)]
struct Teller {
    shared: Arc<Shared>,
    events: mpsc::Sender<ComputeEvent>,
}

impl Teller {
    fn tell(&self, event: ComputeEvent) {
        // Nobody hears it if the service is gone; the thread ends then.
        let _ = self.events.send(event);
        notify(&self.shared.told);
    }
}

impl Shared {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(|error| error.into_inner())
    }
}

impl ComputeHandle {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (mut handle, teller) = Self::new()?;
        let (commands, incoming) = mpsc::channel();
        std::thread::Builder::new()
            .name("scheduler".into())
            .spawn(move || thread::supervise(&incoming, &teller))?;
        handle.commands = Some(commands);
        Ok(handle)
    }

    /// No thread: all gates are open without a bound, and the driver shares the GPU's time.
    pub(crate) fn off() -> io::Result<Self> {
        Self::new().map(|(handle, _)| handle)
    }

    fn new() -> io::Result<(Self, Teller)> {
        let shared = Arc::new(Shared {
            registry: Mutex::default(),
            called: eventfd()?,
            told: eventfd()?,
            restarts: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
        });
        let (sender, events) = mpsc::channel();
        let teller = Teller { shared: shared.clone(), events: sender };
        let handle = Self {
            shared,
            commands: None,
            events,
            stats: RefCell::default(),
            rounds_seen: Cell::default(),
        };
        Ok((handle, teller))
    }

    /// Readable when there are events.
    pub(crate) fn events_fd(&self) -> RawFd {
        self.shared.told.as_raw_fd()
    }

    /// The events since the last time.
    pub(crate) fn events(&mut self) -> Vec<ComputeEvent> {
        drain(&self.shared.told);
        self.events.try_iter().collect()
    }

    fn tell(&self, command: Command) {
        if let Some(commands) = &self.commands
            && commands.send(command).is_ok()
        {
            notify(&self.shared.called);
        }
    }

    /// A VM, with what it was promised of each of its GPUs; or what it is promised from the next
    /// window on.
    pub(crate) fn set_vm(&mut self, vm: VmKey, gpus: Vec<(GpuKey, Share)>) {
        self.shared.registry().vms.insert(vm, gpus.iter().copied().collect());
        self.tell(Command::SetVm(vm, gpus));
    }

    /// Forgets a VM. Its workers are removed one by one.
    pub(crate) fn remove_vm(&mut self, vm: VmKey) {
        self.shared.registry().vms.remove(&vm);
        self.tell(Command::RemoveVm(vm));
    }

    /// A worker that has been given to a VM; `gpus` by its device ordinals.
    pub(crate) fn add_worker(
        &mut self,
        id: WorkerId,
        vm: VmKey,
        gpus: Vec<GpuKey>,
        page: GateMap,
        doorbell: OwnedFd,
        bell: OwnedFd,
    ) {
        let parts = Parts {
            vm,
            gpus: gpus.into(),
            page: Arc::new(page),
            doorbell: Arc::new(doorbell),
            bell: Arc::new(bell),
        };
        if self.commands.is_none() {
            parts.page.open_all();
        }
        self.shared.registry().workers.insert(id, parts.clone());
        self.tell(Command::AddWorker(id, parts));
    }

    /// A worker has ended.
    pub(crate) fn remove_worker(&mut self, id: WorkerId) {
        self.shared.registry().workers.remove(&id);
        self.tell(Command::RemoveWorker(id));
    }

    /// How a VM stands on a GPU; `None` if nothing is scheduled.
    pub(crate) fn stats_of(&self, vm: VmKey, gpu: GpuKey) -> Option<VmStats> {
        let (at, all) = &mut *self.stats.borrow_mut();
        if at.is_none_or(|at| at.elapsed() > FRESH) {
            let (answer, stats) = mpsc::channel();
            self.tell(Command::Stats(answer));
            if let Ok(stats) = stats.recv_timeout(STATS) {
                *all = stats;
            }
            *at = Some(Instant::now());
        }
        all.iter().find(|stats| (stats.vm, stats.gpu) == (vm, gpu)).map(|stats| stats.stats)
    }

    /// Times that the thread had to be started anew.
    pub(crate) fn restarts(&self) -> u64 {
        self.shared.restarts.load(Ordering::Relaxed)
    }

    /// Whether the thread has made a round since this was last asked; true if there is no thread.
    /// It is woken, so that one that has nothing to do makes a round before the next time.
    pub(crate) fn is_alive(&self) -> bool {
        if self.commands.is_none() {
            return true;
        }
        let rounds = self.shared.rounds.load(Ordering::Relaxed);
        notify(&self.shared.called);
        self.rounds_seen.replace(rounds) != rounds
    }

    /// The thread stands still as long as the sender lives.
    #[cfg(test)]
    fn inject_stall(&mut self) -> mpsc::Sender<()> {
        let (held, stall) = mpsc::channel();
        self.tell(Command::Stall(stall));
        held
    }

    /// The thread fails.
    #[cfg(test)]
    fn inject_panic(&mut self) {
        self.tell(Command::Panic);
    }
}
