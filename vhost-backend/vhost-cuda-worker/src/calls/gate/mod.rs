//! The gate: what of a session's commands may go to the driver now, and what is held.
//!
//! | module | what |
//! |---|---|
//! | `order` | what must be issued before what |
//! | `end` | the worker's end of the gate page |
//! | `named` | the handles that a command names |
//! | `names` | what a command uses |
//! | `device` | one GPU's gate: the words of the page |
//! | `flight` | what is in the driver |
//! | `room` | how many commands may be in the driver |
//! | `look` | marks, and what has finished |
//! | `stream` | the same of one stream |
//! | `pace` | how much of it there may be while the VM is alone |
//! | `estimate` | how long calls take |
//! | `hold` | held commands, and issuing them |
//! | `pass` | the permission to make the GPU work |
//! | `beat` | the heartbeat |
//!
//! While the VM has the GPU to itself a command costs one look at the page. Otherwise gated calls
//! wait here, each with its stream, and what must come after them waits behind them; all else goes
//! on. docs/design/gate.md has the rules.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::ContextId;
use protocol::table::Order;

use super::{Calls, Command, ReplyTo, generated, lock};
use crate::driver::CuError;
use crate::executor::Pending;
use device::{Again, Device, Sight};
use hold::Held;
use host_ipc::eventfd::notify;
use host_ipc::gate::{self, Mode};
use names::Rule;
use order::{Book, Number, Thing};
use pass::Pass;

mod beat;
mod device;
mod end;
mod estimate;
pub(super) mod flight;
mod hold;
mod look;
mod named;
mod names;
mod order;
mod pace;
pub(crate) mod pass;
mod room;
pub(super) mod stream;

pub use end::GateEnd;
pub(super) use named::Names;

/// Bytes of held commands. Past it the reader takes nothing more from the ring.
const MAX_HELD: usize = 16 << 20;
/// How long the reader may sleep before it looks for room in the driver.
const LOOK: Duration = Duration::from_micros(50);

/// The gate of a session.
pub(super) struct Gate {
    end: GateEnd,
    devices: Vec<Device>,
    /// The context of the last gated call that was let through, and its GPU.
    last: (ContextId, usize),
    /// There is no room in the driver.
    full: bool,
    /// As much is queued in some stream as may be while no depth is kept; and how fast it goes is
    /// not known so far.
    long: bool,
    hurry: bool,
    book: Book,
    held: HashMap<Number, Held>,
    /// Bytes of what is held.
    bytes: usize,
    /// Held frees: what they free can't be had again yet.
    frees: usize,
    /// Streams and events whose end is held.
    ended: HashSet<Thing>,
    beat: Option<beat::Beat>,
    /// What every call is answered with, once the scheduler has ended the session.
    verdict: u32,
}

impl Gate {
    pub(super) fn new(end: GateEnd, devices: usize) -> Self {
        let beat = match end.bell {
            Some(_) => beat::Beat::start(end.page.clone())
                .inspect_err(|error| tracing::error!("no heartbeat: {error}"))
                .ok(),
            None => None,
        };
        let now = gate::now();
        let mut gate = Self {
            devices: (0..devices.min(gate::MAX_GPUS)).map(|_| Device::new(now)).collect(),
            end,
            last: (ContextId::NONE, 0),
            full: false,
            long: false,
            hurry: false,
            book: Book::default(),
            held: HashMap::new(),
            bytes: 0,
            frees: 0,
            ended: HashSet::new(),
            beat,
            verdict: 0,
        };
        gate.read(now);
        gate
    }

    /// Reads the scheduler's words; whether any has changed.
    fn read(&mut self, now: u64) -> bool {
        let pages = &self.end.page.gpus;
        self.devices.iter_mut().zip(pages).fold(false, |any, (device, page)| {
            let changed = device.read(page, now);
            any | changed
        })
    }

    /// Whether a gated call of a context can go without a closer look.
    #[inline]
    fn is_wide(&self, ctx: ContextId) -> bool {
        let (last, device) = self.last;
        let room = !self.full && !self.long;
        last == ctx && room && self.devices[device].is_wide(&self.end.page.gpus[device])
    }

    /// The GPUs on which time is kept now, as bits.
    fn timed_now(&self, now: u64) -> u32 {
        let timed = |(at, device): (usize, &Device)| u32::from(device.is_timed(now)) << at;
        self.devices.iter().enumerate().map(timed).sum()
    }

    /// The GPUs on which a depth is kept, as bits.
    fn timed_devices(&self) -> u32 {
        let timed = |(at, device): (usize, &Device)| u32::from(!device.is_sampled()) << at;
        self.devices.iter().enumerate().map(timed).sum()
    }

    pub(super) fn verdict(&self) -> u32 {
        self.verdict
    }

    /// As [`Device::enter`].
    fn enter(&mut self, device: usize) -> bool {
        let was = self.devices[device].active;
        match self.devices[device].enter(&self.end.page.gpus[device]) {
            Ok(()) => {
                if !was {
                    self.show_life();
                }
                true
            }
            Err(ring) => {
                self.ring(ring);
                false
            }
        }
    }

    fn show_life(&self) {
        if let Some(beat) = &self.beat {
            beat.wake();
        }
    }

    fn ring(&self, ring: bool) {
        if ring && let Some(bell) = &self.end.bell {
            notify(&**bell);
        }
    }

    /// Takes note of what a look at all streams has seen.
    fn saw(&mut self, sights: &[Sight], now: u64) {
        let mut ring = false;
        for ((device, page), sight) in self.devices.iter_mut().zip(&self.end.page.gpus).zip(sights)
        {
            ring |= device.saw(page, sight, now);
        }
        self.ring(ring);
    }

    /// Tells the scheduler what it waits for.
    fn tell(&mut self, now: u64) {
        let mut ring = false;
        for (device, page) in self.devices.iter_mut().zip(&self.end.page.gpus) {
            ring |= device.ring(page, now);
        }
        self.ring(ring);
    }
}

impl Calls {
    /// Executes a command, or holds it.
    pub(super) fn admit(&mut self, command: &Command<'_>, reply: ReplyTo) {
        gate::bump(&self.gate.end.page.worker.calls, 1);
        if self.gate.verdict != 0 {
            return reply.finish(self.gate.verdict, &[]);
        }
        let rule = Rule::of(command.opcode);
        if rule.order == Order::None {
            return generated::dispatch(self, command, &Pass::admitted(), reply);
        }
        if self.gate.held.is_empty() {
            let goes = match rule.gated {
                true => self.gate.is_wide(command.ctx),
                // What a stream holds when it ends is marked first.
                false if command.opcode == api::CuStreamDestroyV2::OPCODE => false,
                false => rule.order != Order::Stream || !self.gate.full,
            };
            if goes {
                if rule.gated {
                    let (_, device) = self.gate.last;
                    self.gate.devices[device].passed(&self.gate.end.page.gpus[device]);
                }
                generated::dispatch(self, command, &Pass::admitted(), reply);
                if self.shared.flight_due.take() {
                    self.mark_flight();
                }
                return;
            }
        }
        self.admit_slowly(command, rule, reply);
    }

    /// Looks at the gates: what has changed there, what has finished, what may go now.
    pub(super) fn poll_gate(&mut self) -> Pending {
        let now = gate::now();
        let changed = self.gate.read(now);
        let verdict = self.gate.end.page.worker.verdict.load(Ordering::Relaxed) as u32;
        if verdict != 0 && self.gate.verdict == 0 {
            self.condemn(verdict);
        }
        let wants = |device: &Device| device.wants_look(now);
        if changed || self.gate.full || self.gate.hurry || self.gate.devices.iter().any(wants) {
            self.look_at_flight();
        }
        if !self.gate.held.is_empty() {
            self.issue_ready(now);
        }
        self.gate.tell(now);
        let crowded = self.gate.full || self.gate.hurry;
        let again = self.gate.devices.iter().map(|device| device.again(now));
        let soonest = again.fold(Pending::Nothing, |soonest, again| match (soonest, again) {
            (Pending::Soon, _) | (_, Again::Now) => Pending::Soon,
            (pending, Again::Whenever) => pending,
            (Pending::Within(a), Again::In(b)) => Pending::Within(a.min(Duration::from_nanos(b))),
            (Pending::Nothing, Again::In(b)) => Pending::Within(Duration::from_nanos(b)),
        });
        match soonest {
            Pending::Nothing if crowded => Pending::Within(LOOK),
            Pending::Within(sleep) if crowded => Pending::Within(sleep.min(LOOK)),
            soonest => soonest,
        }
    }

    /// Whether so much is held that the reader is to take no more commands.
    pub(super) fn holds_too_much(&self) -> bool {
        self.gate.bytes > MAX_HELD
    }

    /// The scheduler has ended the session: all that is held or waited for fails, and so does
    /// every call from now on.
    fn condemn(&mut self, verdict: u32) {
        self.gate.verdict = verdict;
        for (_, held) in self.gate.held.drain() {
            held.reply.finish(verdict, &[]);
        }
        self.gate.book = Book::default();
        self.gate.bytes = 0;
        self.fail_waits(CuError(verdict));
        for (device, page) in self.gate.devices.iter_mut().zip(&self.gate.end.page.gpus) {
            device.drop_held(page);
        }
    }

    /// The GPU that a context is on.
    fn device_of(&self, ctx: ContextId) -> Option<usize> {
        let device = lock(&self.shared.tables).contexts.get(ctx).ok()?.device;
        usize::try_from(device).ok().filter(|device| *device < self.gate.devices.len())
    }

    /// Whether the mode keeps time.
    fn is_timed(&self, device: usize) -> bool {
        self.gate.devices[device].mode != Mode::Unlimited
    }
}
