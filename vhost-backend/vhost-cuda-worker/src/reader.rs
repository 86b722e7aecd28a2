//! The ring reader: the thread that reads commands from the ring. It must never block while
//! executing one.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use protocol::ids::ContextId;
use protocol::ring::HostRing;
use protocol::uapi;

use super::control::{Device, Task};
use super::error::WorkerError;
use super::executor::{Command, Executor, Pending, Session};
use super::region::RegionKind;
use super::reply::{PostedError, ReplyTo, RingRegion};
use super::spin::Spin;

/// The maximum number of commands that the reader executes before it checks for messages, host
/// functions, and finished work again.
const BATCH: usize = 64;

/// The time between polls of the driver while all calls that wait have completion words, with which
/// the guest sees the end of their work without the worker.
const PAUSE: Duration = Duration::from_micros(5);

/// The state of the ring reader.
pub(super) struct Reader {
    session: Session,
    executor: Box<dyn Executor>,
    device: Device,
    mailbox: mpsc::Receiver<Task>,
    wake: Arc<OwnedFd>,
    /// The consumer's side of the ring, and the region that contains the ring and keeps its pages
    /// mapped.
    ring: Option<(HostRing, Arc<RingRegion>)>,
    had_ring: bool,
    posted: Arc<PostedError>,
    spin: Spin,
    args: Vec<u8>,
    /// Whether the error with which the scheduler has ended the session has been written to the
    /// ring's header, where the guest can see it.
    condemned: bool,
    /// The tasks that arrived while the executor was stopped.
    postponed: VecDeque<Task>,
    /// Whether the executor was informed of commands or tasks that arrived while it was stopped.
    has_asked: bool,
}

impl Reader {
    pub(super) fn new(
        session: Session,
        executor: Box<dyn Executor>,
        device: Device,
        mailbox: mpsc::Receiver<Task>,
        wake: Arc<OwnedFd>,
        spin: Spin,
    ) -> Self {
        Self {
            session,
            executor,
            device,
            mailbox,
            wake,
            ring: None,
            had_ring: false,
            posted: Arc::default(),
            spin,
            args: Vec::new(),
            condemned: false,
            postponed: VecDeque::new(),
            has_asked: false,
        }
    }

    /// Serves the session until the process is killed or the guest violates the protocol.
    pub(super) fn run(mut self) -> Result<(), WorkerError> {
        let mut idle_since: Option<Instant> = None;
        loop {
            if self.executor.is_stopped() {
                self.sleep_while_stopped();
                continue;
            }
            let mut worked = self.resume();
            if self.session.waker.take_attention() {
                worked = true;
                while let Ok(task) = self.mailbox.try_recv() {
                    self.act(task);
                }
            }
            worked |= self.turn_host_funcs();
            worked |= self.take_commands();
            // Update this time before the executor sends replies below, because the guest may read
            // it as soon as it gets a reply.
            if let Some(ns) = self.executor.turn_ns()
                && let Some((_, ring)) = &self.ring
            {
                ring.shared().turn_ns.store(ns, Ordering::Relaxed);
            }
            let pending = self.executor.poll();
            if !self.condemned && self.executor.verdict() != 0 {
                self.condemned = true;
                // Write the error to the ring's header for a guest that isn't waiting for a reply.
                self.posted.end_with(self.executor.verdict());
            }
            if worked {
                if idle_since.take().is_some() {
                    self.spin.work_came();
                }
                continue;
            }
            let timeout = match pending {
                Pending::Nothing => None,
                Pending::Within(timeout) => Some(timeout),
                Pending::Soon | Pending::Shortly => {
                    if pending == Pending::Shortly {
                        self.watch_ring();
                    }
                    // The guest may send its next command as soon as the outstanding work has
                    // finished. So don't count the time of that work as idle time, after which the
                    // reader sleeps.
                    idle_since = None;
                    // Let other threads run on this processor, because the outstanding work may
                    // need one of them.
                    std::thread::yield_now();
                    continue;
                }
            };
            let now = Instant::now();
            let idle = now.duration_since(*idle_since.get_or_insert(now));
            if idle < self.spin.duration() {
                std::hint::spin_loop();
                continue;
            }
            if self.sleep(timeout) {
                let has_work = self.ring.as_ref().is_some_and(|(ring, _)| ring.has_work());
                self.spin.slept(now.elapsed() + idle, has_work);
                idle_since = None;
            }
        }
    }

    /// Sleeps while the executor is stopped. Informs the executor when a command or a task arrives.
    fn sleep_while_stopped(&mut self) {
        if self.session.waker.take_attention() {
            self.postponed.extend(self.mailbox.try_iter());
        }
        let has_commands = self.ring.as_ref().is_some_and(|(ring, _)| ring.has_work());
        if (has_commands || !self.postponed.is_empty()) && !self.has_asked {
            self.has_asked = true;
            self.executor.set_needs_memory(true);
        }
        self.sleep_until(None, has_commands);
    }

    /// Carries out the tasks that arrived while the executor was stopped. Returns whether there were
    /// any.
    fn resume(&mut self) -> bool {
        if std::mem::take(&mut self.has_asked) {
            self.executor.set_needs_memory(false);
        }
        let mut worked = false;
        while let Some(task) = self.postponed.pop_front() {
            self.act(task);
            worked = true;
        }
        worked
    }

    /// Polls the ring until a command arrives, for at most [`PAUSE`]. In this time, the reader
    /// doesn't query the driver. A query takes about as long as passing a launch to the driver, so
    /// it would delay a command that arrives during the query.
    fn watch_ring(&self) {
        let Some((ring, _)) = &self.ring else { return };
        let began = Instant::now();
        while !ring.has_work() && began.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
    }

    /// Sleeps as the ring's protocol requires. Returns `false` without sleeping if a command has
    /// just arrived.
    fn sleep(&mut self, timeout: Option<Duration>) -> bool {
        // While the executor is full, the reader takes no commands from the ring, so the guest
        // needn't wake it for new commands.
        self.sleep_until(timeout, self.executor.is_full())
    }

    /// Sleeps as [`Self::sleep`] does. `ignores_commands` says whether the guest needn't wake this
    /// thread for new commands.
    fn sleep_until(&mut self, timeout: Option<Duration>, ignores_commands: bool) -> bool {
        if let Some((ring, _)) = &self.ring {
            let sleeps = match ignores_commands {
                true => ring.begin_full_sleep(),
                false => ring.begin_sleep(),
            };
            if !sleeps {
                return false;
            }
        }
        self.session.waker.sleep(timeout);
        if let Some((ring, _)) = &self.ring {
            ring.end_sleep();
        }
        true
    }

    /// Notifies the executor if the guest has finished a host function, and gives the guest the
    /// next host function to run, if there is one. Returns whether it has done any of that.
    fn turn_host_funcs(&mut self) -> bool {
        let Some((ring, region)) = &mut self.ring else { return false };
        let ended = ring.host_funcs.take_end();
        if ended {
            self.executor.host_func_ended();
        }
        if ring.host_funcs.is_running() {
            return false;
        }
        let Some(token) = self.executor.next_host_func() else { return ended };
        ring.host_funcs.begin(token);
        region.wake_guest();
        true
    }

    /// Executes commands from the ring, at most [`BATCH`] of them. Returns whether there were any.
    fn take_commands(&mut self) -> bool {
        let Some((ring, region)) = &mut self.ring else { return false };
        let mut count = 0;
        while count < BATCH && !self.executor.is_full() {
            let cmd = match ring.pop(&mut self.args) {
                Ok(Some(cmd)) => cmd,
                Ok(None) => break,
                Err(error) => break_off(&self.device, error.to_string()),
            };
            count += 1;
            let Some(reply) = ReplyTo::ring(region, &cmd, &self.posted) else {
                let reason = format!(
                    "a reply of {} bytes at {} is outside the arena",
                    cmd.reply_len, cmd.reply
                );
                break_off(&self.device, reason)
            };
            let command = Command {
                opcode: cmd.opcode,
                thread: cmd.thread,
                ctx: ContextId(cmd.ctx),
                args: &self.args,
            };
            self.executor.execute(&command, reply);
        }
        self.session.gate.page.worker.ring_depth.store(ring.depth(), Ordering::Relaxed);
        if count > 0 {
            // The ring has room again, so wake a guest thread that waits for room.
            region.wake_guest();
        }
        count > 0
    }

    fn act(&mut self, task: Task) {
        match task {
            Task::Attach { request, region, kind, vaddr, ring_bytes, pieces } => {
                let status = match RegionKind::from_wire(kind) {
                    Some(kind) => self.attach(region, kind, vaddr, ring_bytes as usize, &pieces),
                    None => uapi::ERR_INVALID,
                };
                self.device.done(request, status);
            }
            Task::Detach { request, region } => self.detach(request, region),
            Task::Submit { request, room, cmd, args } => {
                let out = Arc::new(self.device.clone());
                let reply = ReplyTo::plain(out, request, room, &self.posted);
                let command = Command {
                    opcode: cmd.opcode,
                    thread: cmd.thread,
                    ctx: ContextId(cmd.ctx),
                    args: &args,
                };
                self.executor.execute(&command, reply);
            }
        }
    }

    fn attach(
        &mut self,
        id: u32,
        kind: RegionKind,
        vaddr: u64,
        ring_bytes: usize,
        pieces: &[(Arc<OwnedFd>, u64, u64)],
    ) -> u32 {
        if kind == RegionKind::Ring && self.had_ring {
            return uapi::ERR_EXISTS;
        }
        let region = match Task::map(&self.session.regions, id, kind, vaddr, pieces) {
            Ok(region) => region,
            Err(error) => {
                tracing::warn!(session = self.session.label, region = id, "{error}");
                return uapi::ERR_MEMORY;
            }
        };
        if kind == RegionKind::Ring {
            match RingRegion::new(region.clone(), ring_bytes, self.wake.clone()) {
                Ok(ring) => {
                    let ring = Arc::new(ring);
                    self.posted.show_in(&ring);
                    self.ring = Some((HostRing::new(ring.shared()), ring));
                    self.had_ring = true;
                }
                Err(error) => {
                    tracing::warn!(session = self.session.label, region = id, "{error}");
                    self.session.regions.detach(id, || {});
                    return uapi::ERR_INVALID;
                }
            }
        }
        self.executor.region_attached(&region, uapi::RING_HEADER_BYTES + ring_bytes);
        uapi::OK
    }

    fn detach(&mut self, request: u64, id: u32) {
        let device = self.device.clone();
        let told = move || device.done(request, uapi::OK);
        let Some(region) = self.session.regions.detach(id, told) else {
            self.device.done(request, uapi::ERR_INVALID);
            return;
        };
        if region.kind() == RegionKind::Ring {
            self.ring = None;
        }
        self.executor.region_detaching(region);
    }
}

/// Reports to the device process that the guest process has violated the protocol, and exits.
fn break_off(device: &Device, reason: String) -> ! {
    device.broken(reason.clone());
    super::end::end(&format!("the guest process violated the protocol: {reason}"))
}
