//! Admitting commands.

use std::sync::atomic::Ordering;
use std::time::Duration;

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::ContextId;
use protocol::table::Order;

use super::device::{Again, Device};
use super::names::Rule;
use super::order::Book;
use super::pass::Pass;
use crate::calls::{Calls, Command, ReplyTo, generated, lock};
use crate::driver::CuError;
use crate::executor::Pending;
use host_ipc::gate::{self, Mode};

/// Bytes of held commands. Past it the reader takes nothing more from the ring.
const MAX_HELD: usize = 16 << 20;
/// How long the reader may sleep before it looks for room in the driver.
const LOOK: Duration = Duration::from_micros(50);

impl Calls {
    /// Executes a command, or holds it.
    pub(in crate::calls) fn admit(&mut self, command: &Command<'_>, reply: ReplyTo) {
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
    pub(in crate::calls) fn poll_gate(&mut self) -> Pending {
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
    pub(in crate::calls) fn holds_too_much(&self) -> bool {
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
    pub(super) fn device_of(&self, ctx: ContextId) -> Option<usize> {
        let device = lock(&self.shared.tables).contexts.get(ctx).ok()?.device;
        usize::try_from(device).ok().filter(|device| *device < self.gate.devices.len())
    }

    /// Whether the mode keeps time.
    pub(super) fn is_timed(&self, device: usize) -> bool {
        self.gate.devices[device].mode != Mode::Unlimited
    }
}
