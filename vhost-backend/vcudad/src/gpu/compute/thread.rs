//! The event loop of the scheduler thread. It sleeps until a bell rings, a command arrives, or a
//! deadline passes. While a GPU drains, it polls the gate pages for a short time.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::core::Core;
use super::evictor::Evictor;
use super::message::{Command, ComputeEvent};
use super::promptness::{may_use_real_time, run_promptly};
use super::shared::EventSender;
use gpu_scheduler::{Nanos, US};
use host_ipc::doorbell;
use host_ipc::eventfd::drain;
use host_ipc::gate;
use host_ipc::messages::WorkerId;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long the thread polls the gate pages while a GPU drains. Polling detects the end of the
/// drain sooner than waiting for a bell.
const SPIN: Nanos = 200 * US;
/// [`SPIN`] for a host with few CPUs, where polling can keep a worker from running.
const SHORT_SPIN: Nanos = 20 * US;
const FEW_PROCESSORS: usize = 4;
/// The pause before the thread is restarted after a failure.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum number of rung bells that one wait returns.
const BELLS: usize = 64;
/// The epoll data for the eventfd that announces commands. A worker's bell has the worker's ID.
const COMMANDS: u64 = u64::MAX;

/// Runs the scheduler until the service closes the command channel. Restarts it after a panic or an
/// error.
pub(super) fn supervise(
    commands: &mpsc::Receiver<Command>,
    events: &EventSender,
    evictor: &Arc<Evictor>,
) {
    let shared = &events.shared;
    if let Err(error) = run_promptly() {
        // If the process's limit permits real-time priorities, the cause is something else, such as
        // a cgroup or a container. In that case, don't suggest raising the limit.
        let remedy = match may_use_real_time() {
            true => "",
            false => "; set LimitRTPRIO=1 in vcudad's unit",
        };
        tracing::info!(
            "the scheduler has no real-time priority ({error}), so programs that keep all CPUs busy \
             can delay the requests of latency VMs{remedy}"
        );
    }
    loop {
        let run = catch_unwind(AssertUnwindSafe(|| run(commands, events, evictor)));
        match run {
            Ok(Ok(())) => return evictor.restore_all(),
            Ok(Err(error)) => tracing::error!("the scheduler failed: {error}"),
            Err(_) => tracing::error!("the scheduler panicked"),
        }
        // Put all kernels back, because the new scheduler doesn't know which kernels are off their
        // GPU. Close all gates, because no worker may start kernels while there is no scheduler.
        evictor.restore_all();
        for worker in shared.registry().workers.values() {
            worker.page.close_all();
            doorbell::ring(&*worker.doorbell);
        }
        // Send the event before incrementing the count of restarts, so that a thread that sees the
        // new count also finds the event.
        events.send(ComputeEvent::Restarted);
        shared.restarts.fetch_add(1, Ordering::Release);
        std::thread::sleep(PAUSE);
    }
}

/// The workers' bells and the command eventfd, watched by an epoll instance.
struct Bells {
    epoll: OwnedFd,
    watched_bells: HashMap<WorkerId, Arc<OwnedFd>>,
}

impl Bells {
    fn new(commands: &OwnedFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, commands, EventData::new_u64(COMMANDS), EventFlags::IN)?;
        Ok(Self { epoll, watched_bells: HashMap::new() })
    }

    /// Watches a worker's bell, edge-triggered. The bell is never read, because a worker could make
    /// the read block.
    fn watch(&mut self, worker: WorkerId, bell: &Arc<OwnedFd>) {
        let events = EventFlags::IN | EventFlags::ET;
        if epoll::add(&self.epoll, bell, EventData::new_u64(worker), events).is_ok() {
            self.watched_bells.insert(worker, bell.clone());
        }
    }

    fn unwatch(&mut self, worker: WorkerId) {
        if let Some(bell) = self.watched_bells.remove(&worker) {
            let _ = epoll::delete(&self.epoll, &bell);
        }
    }

    /// Waits for bells or commands. Returns the epoll data of the descriptors that became ready.
    fn wait(&self, timeout: Option<Nanos>) -> Vec<u64> {
        let timespec = |ns: Nanos| Timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as i64,
        };
        let mut ready = [const { MaybeUninit::uninit() }; BELLS];
        // Wait with `poll`, because `epoll_wait` can only wait for whole milliseconds on older
        // kernels. An error counts as no events.
        let timeout = timeout.map(timespec);
        let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], timeout.as_ref());
        let ready = epoll::wait(&self.epoll, &mut ready, Some(&timespec(0)));
        ready.map_or(Vec::new(), |(ready, _)| ready.iter().map(|event| event.data.u64()).collect())
    }
}

fn run(
    commands: &mpsc::Receiver<Command>,
    events: &EventSender,
    evictor: &Arc<Evictor>,
) -> io::Result<()> {
    let shared = &events.shared;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = if processors > FEW_PROCESSORS { SPIN } else { SHORT_SPIN };
    let mut bells = Bells::new(&shared.commands_fd)?;
    let mut core = {
        let registry = shared.registry();
        // The registry already reflects all commands sent so far, so discard them.
        for command in commands.try_iter() {
            if let Command::BeginStart(..) = command {
                events.send(ComputeEvent::MayStart);
            }
        }
        Core::new(&registry, events.clone(), evictor.clone(), gate::now())
    };
    for (id, worker) in &core.workers {
        bells.watch(*id, &worker.ends.bell);
    }
    core.settle(gate::now());
    let mut spins_until = 0;
    let mut drains = false;
    loop {
        shared.rounds.fetch_add(1, Ordering::Relaxed);
        let now = gate::now();
        let wake_at = core.wake_at();
        let timeout = match wake_at {
            _ if drains && now < spins_until => Some(0),
            at => at.map(|at| at.saturating_sub(now)),
        };
        let rung = bells.wait(timeout);
        let now = gate::now();
        for name in rung {
            if name != COMMANDS {
                let keep = core.workers.get_mut(&name).is_none_or(|worker| worker.count_ring(now));
                if !keep {
                    bells.unwatch(name);
                }
                core.handle_ring(name, now);
                continue;
            }
            drain(&shared.commands_fd);
            loop {
                match commands.try_recv() {
                    Ok(command) => handle_command(&mut core, &mut bells, command),
                    Err(mpsc::TryRecvError::Empty) => break,
                    Err(mpsc::TryRecvError::Disconnected) => return Ok(()),
                }
            }
        }
        core.tick(now);
        for (id, worker) in &mut core.workers {
            if worker.muted.is_some_and(|until| until <= now) {
                worker.muted = None;
                bells.watch(*id, &worker.ends.bell);
            }
        }
        let drained_before = drains;
        drains = core.poll_drains(now);
        if drains && !drained_before {
            spins_until = now + most;
        }
    }
}

fn handle_command(core: &mut Core, bells: &mut Bells, command: Command) {
    let now = gate::now();
    match command {
        Command::SetVm(vm, gpus) => core.set_vm(vm, &gpus, now),
        Command::RemoveVm(vm) => core.remove_vm(vm, now),
        Command::PauseVm(vm, paused) => core.set_paused(vm, paused, now),
        Command::AddWorker(id, ends) => {
            if core.workers.contains_key(&id) {
                return;
            }
            core.add_worker(id, ends, now);
            if let Some(worker) = core.workers.get(&id) {
                bells.watch(id, &worker.ends.bell);
            }
        }
        Command::RemoveWorker(id) => {
            bells.unwatch(id);
            core.remove_worker(id, now);
        }
        Command::PauseWorker(id, paused) => core.set_worker_paused(id, paused, now),
        Command::BeginStart(vm, gpu) => core.begin_start(vm, gpu, now),
        Command::EndStart => core.end_start(now),
        Command::Trace => core.trace_all(now),
        Command::Stats(answer) => drop(answer.send(core.stats(now))),
        #[cfg(test)]
        Command::Panic => panic!("requested by a test"),
        #[cfg(test)]
        Command::Stall(stall) => drop(stall.recv()),
    }
}
