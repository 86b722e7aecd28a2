//! The gate of a session, which decides when each of the session's commands may go to the driver.

use std::time::Duration;

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::ContextId;
use protocol::table::Order;

use super::admission::{Admission, Ticket};
use super::estimate::Kind;
use super::gpus::Gpus;
use super::held::{Held, HeldQueue, Needs};
use super::order::{Accesses, Number, Resource};
use super::turns::{Request, Turns, WaitingCall};
use super::used::{Rule, Used};
use crate::calls::commands::cx::Cx;
use crate::calls::commands::events::{EventPool, PoolMarks};
use crate::calls::contexts::limit_calls::LimitAccess;
use crate::calls::lock;
use crate::executor::{Command, Pending};
use crate::gate_end::GateEnd;
use crate::ledger::Asked;
use crate::reply::ReplyTo;
use host_ipc::gate::{self, Mode};

/// The maximum memory, in bytes, for commands that the gate holds. While it's exceeded, the reader
/// doesn't take commands from the ring.
const MAX_HELD: usize = 16 << 20;
/// The longest time that the reader may sleep before it polls again, while commands are waiting for
/// room in the driver.
const ROOM_CHECK: Duration = Duration::from_micros(50);

/// Decides when each command of a session may go to the driver, and holds the commands that may not
/// go yet.
pub(in crate::calls) struct Gate {
    gpus: Gpus,
    held: HeldQueue,
    /// The calls on mirrors that are waiting for a window.
    turns: Vec<WaitingCall>,
    /// Whether a call on a mirror has asked the gate to hold back all gated calls.
    quiet: bool,
    /// The context of the last gated call that was admitted, and the ordinal of its GPU. While a
    /// limit of a context is being changed, the context is `NONE`, so that each call takes the slow
    /// path, which checks limits.
    last: (ContextId, usize),
    /// Whether a limit of a context was being changed when the gate last checked.
    changing: bool,
    /// Whether so many commands are queued in the driver that no more may be added.
    full: bool,
    /// The total time, in ns, for which work has waited for the VM's turn, and, while work is
    /// waiting, the time since which it has waited or that was last added.
    turn_ns: u64,
    waits_since: Option<u64>,
    /// The CUresult that every call returns after the scheduler has ended the session, or 0 before
    /// that.
    verdict: u32,
}

impl Gate {
    pub(in crate::calls) fn new(end: GateEnd, devices: usize) -> Self {
        Self {
            gpus: Gpus::new(end, devices),
            held: HeldQueue::default(),
            turns: Vec::new(),
            quiet: false,
            last: (ContextId::NONE, 0),
            changing: false,
            full: false,
            turn_ns: 0,
            waits_since: None,
            verdict: 0,
        }
    }

    /// Decides whether a command that has just arrived may run now.
    #[inline]
    pub(in crate::calls) fn admit(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        command: &Command<'_>,
        reply: ReplyTo,
    ) -> Admission {
        self.gpus.count_call();
        if self.verdict != 0 {
            return Admission::Answer(self.verdict, reply);
        }
        let rule = Rule::of(command.opcode);
        if rule.order == Order::None && rule.limits.is_none() {
            return Admission::Run(Ticket::admitted(None), reply);
        }
        if self.held.is_empty() {
            let goes = match rule.gated {
                true => self.is_wide(cx, command, rule),
                // A command that destroys a stream takes the slow path, because a mark must be
                // recorded in the stream before it's destroyed.
                false if command.opcode == api::CuStreamDestroyV2::OPCODE => false,
                false if rule.limits == Some(LimitAccess::Change) => false,
                false if rule.limits.is_some() && self.changing => false,
                false => rule.order != Order::Stream || !self.full,
            };
            if goes {
                return Admission::Run(Ticket::admitted(None), reply);
            }
        }
        self.admit_slowly(cx, events, command, rule, reply)
    }

    /// Returns whether a gated call can run without further checks.
    #[inline]
    fn is_wide(&self, cx: &Cx<'_>, command: &Command<'_>, rule: Rule) -> bool {
        let (last, device) = self.last;
        last == command.ctx
            && !self.full
            && !self.quiet
            && self.gpus.is_wide(device)
            && (self.gpus.len() == 1 || self.runs_on(cx, command, rule, device))
    }

    /// Returns whether a gated call would run on `device`. It's possible that it wouldn't, because
    /// the call's stream may belong to a context on another GPU, and the guest may have reused a
    /// context's id for a context on another GPU.
    fn runs_on(&self, cx: &Cx<'_>, command: &Command<'_>, rule: Rule, device: usize) -> bool {
        let used = Used::of(cx.shared, command, rule);
        used.is_some_and(|used| self.device_of(cx, used.ctx) == Some(device))
    }

    #[cold]
    #[inline(never)]
    fn admit_slowly(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        command: &Command<'_>,
        rule: Rule,
        reply: ReplyTo,
    ) -> Admission {
        const NO_CONTEXT: u32 = crate::driver::CuError::INVALID_CONTEXT.0;
        // Fail here if the context doesn't exist, rather than in the function that implements the
        // call. Before that function checks for the context, a mirror could create it, and the
        // function would then submit GPU work that the gate hasn't counted.
        if rule.gated && self.device_of(cx, command.ctx).is_none() {
            return Admission::Answer(NO_CONTEXT, reply);
        }
        let immediate = rule.order == Order::Pool && !self.held.holds_frees();
        let used = if immediate { None } else { Used::of(cx.shared, command, rule) };
        let Some(used) = used else {
            // There is nothing to order if the arguments are malformed or the stream doesn't exist,
            // because the call will fail. A call that depends on limits and runs on a mirror must
            // fail here, because nothing would keep it from running during a change of the limits.
            return match rule.limits {
                Some(_) if !rule.gated => {
                    Admission::Answer(crate::driver::CuError::INVALID_VALUE.0, reply)
                }
                _ => Admission::Run(Ticket::refused_by_body(), reply),
            };
        };
        let Used { uses, ends, .. } = used;
        if self.held.uses_ended(&uses) {
            return Admission::Answer(crate::driver::CuError::INVALID_HANDLE.0, reply);
        }
        if rule.order == Order::Query {
            return if self.held.delays_query(&uses) {
                Admission::Answer(crate::driver::CuError::NOT_READY.0, reply)
            } else {
                Admission::Run(Ticket::admitted(None), reply)
            };
        }
        let Some(needs) = self.needs_of(cx, command, rule, &used) else {
            return Admission::Answer(NO_CONTEXT, reply);
        };
        if self.held.lets_through(&uses) && self.may_go(cx, needs) {
            return Admission::Run(self.issue(cx, events, needs, ends), reply);
        }
        self.hold(Held::new(command, reply, uses, ends, needs));
        Admission::Held
    }

    /// Returns the conditions under which a command may go to the driver, or `None` if its context
    /// doesn't exist.
    fn needs_of(
        &self,
        cx: &Cx<'_>,
        command: &Command<'_>,
        rule: Rule,
        used: &Used,
    ) -> Option<Needs> {
        let ctx = used.ctx;
        Some(match (rule.gated, rule.order) {
            (true, _) => {
                let device = self.device_of(cx, ctx)?;
                let kind = Kind::of(command, |address| cx.shared.memory.is_host(address));
                let stream = used.stream.unwrap_or_default();
                let uses_limits = rule.limits.is_some();
                Needs::Gate { device, kind, ctx, stream, uses_limits }
            }
            (false, Order::Stream) => Needs::Room,
            (false, _) => {
                rule.limits.map_or(Needs::Nothing, |access| Needs::Limits { ctx, access })
            }
        })
    }

    /// Returns the ordinal of a context's GPU.
    fn device_of(&self, cx: &Cx<'_>, ctx: ContextId) -> Option<usize> {
        let device = lock(&cx.shared.tables).device_of(ctx)?;
        (device < self.gpus.len()).then_some(device)
    }

    /// Holds a command that can't run before the broker has answered a question. The command has
    /// just arrived, so it's added after all other held commands.
    #[cold]
    pub(in crate::calls) fn hold_undecided(
        &mut self,
        cx: &Cx<'_>,
        command: &Command<'_>,
        (asked, reply): (Asked, ReplyTo),
    ) {
        let rule = Rule::of(command.opcode);
        // As in `admit_slowly`, an allocation from a pool has no place in the order unless the gate
        // holds a command that frees memory.
        let immediate = rule.order == Order::Pool && !self.held.holds_frees();
        let used = if immediate { None } else { Used::of(cx.shared, command, rule) };
        let (uses, ends) =
            used.as_ref().map_or((Accesses::new(), None), |used| (used.uses, used.ends));
        let needs = match &used {
            Some(used) => self.needs_of(cx, command, rule, used).unwrap_or(Needs::Nothing),
            None => Needs::Nothing,
        };
        self.hold(Held::new(command, reply, uses, ends, needs).waiting_for(asked));
    }

    fn hold(&mut self, held: Held) {
        if let Needs::Gate { device, .. } = held.needs() {
            self.gpus.hold(device);
        }
        self.held.add(held);
        self.gpus.notify_scheduler(gate::now());
    }

    /// Puts a command that [`Gate::next`] has returned back at its place in the order, because it
    /// can't run before the broker has answered a question.
    #[cold]
    pub(in crate::calls) fn hold_again(&mut self, cursor: &Cursor, held: Held) {
        if let Needs::Gate { device, .. } = held.needs() {
            self.gpus.hold(device);
        }
        self.held.put_back(cursor.0, held);
    }

    /// Records that a command that [`Gate::next`] has returned has run.
    pub(in crate::calls) fn ran_held(&mut self, cursor: &Cursor, uses: &Accesses) {
        self.held.ran(cursor.0, uses);
    }

    /// Returns the next held command after the position of `cursor` that may go to the driver now,
    /// and moves the cursor to it. The caller must run the command, pass the ticket to
    /// [`Gate::ran`], and then call [`Gate::ran_held`] or [`Gate::hold_again`].
    pub(in crate::calls) fn next(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        cursor: &mut Cursor,
    ) -> Option<(Held, Ticket)> {
        if self.held.is_empty() {
            return None;
        }
        while let Some(number) = self.held.next_ready(cursor.0) {
            cursor.0 = number;
            let Some(held) = self.held.get(number) else { continue };
            let cx = Cx { thread: held.thread(), ctx: held.ctx(), ..*cx };
            let needs = held.needs();
            if held.is_undecided() || !self.may_go(&cx, needs) {
                continue;
            }
            let Some(held) = self.held.take(number) else { continue };
            if let Needs::Gate { device, .. } = needs {
                let (gpu, page) = self.gpus.with_page(device);
                gpu.release(page);
            }
            let ticket = self.issue(&cx, events, needs, held.ends());
            return Some((held, ticket));
        }
        None
    }

    /// Returns whether a command may go to the driver now, apart from its order relative to held
    /// commands. If it's a gated call that may go, the call's GPU counts as active from now on.
    fn may_go(&mut self, cx: &Cx<'_>, needs: Needs) -> bool {
        let limit_calls = &cx.shared.limit_calls;
        self.changing = self.changing && limit_calls.are_changing();
        let (device, kind, ctx, stream, uses_limits) = match needs {
            Needs::Nothing => return true,
            Needs::Room => return !self.full,
            Needs::Limits { ctx, access } => return limit_calls.lets_begin(ctx, access),
            Needs::Gate { device, kind, ctx, stream, uses_limits } => {
                (device, kind, ctx, stream, uses_limits)
            }
        };
        self.quiet &= cx.shared.turns.is_quiet();
        if self.full || self.quiet {
            return false;
        }
        if uses_limits && self.changing && !limit_calls.lets_begin(ctx, LimitAccess::Use) {
            return false;
        }
        let now = gate::now();
        let (gpu, page) = self.gpus.with_page(device);
        gpu.read(page, now);
        let mode = gpu.mode();
        let closed = !mode.is_open() && mode != Mode::Standby;
        if closed && !kind.only_copies() && kind != Kind::Signal {
            return false;
        }
        if mode != Mode::Unlimited {
            let key = lock(&cx.shared.tables).stream_key(cx.thread, ctx, stream);
            let flight = cx.shared.flight.lock();
            let lasts = flight.estimate(kind);
            let ahead = key.and_then(|key| flight.ahead(key));
            let copies = flight.uses_only_copy_engine(key, kind);
            drop(flight);
            if copies && !mode.is_open() && gpu.lets_copy(page, ahead, lasts) {
                return true;
            }
            if !gpu.lets_begin(page, ahead, lasts, now) {
                return false;
            }
        }
        self.gpus.enter(device)
    }

    /// Prepares the gate for a command that is about to go to the driver, and returns the ticket.
    fn issue(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        needs: Needs,
        ends: Option<Resource>,
    ) -> Ticket {
        let key = |ctx, stream| lock(&cx.shared.tables).stream_key(cx.thread, ctx, stream);
        let mut marks = PoolMarks { cx, pool: events };
        let Needs::Gate { device, kind, ctx, stream, .. } = needs else {
            if let Needs::Limits { access: LimitAccess::Change, .. } = needs {
                // Record now that a limit is changing, because the change begins as soon as the
                // command is dispatched.
                (self.changing, self.last) = (true, (ContextId::NONE, 0));
            }
            if let Some(Resource::Stream(id)) = ends
                && let Some(key) = key(cx.ctx, id)
            {
                cx.shared.flight.lock().mark_end(key, &mut marks);
            }
            return Ticket::admitted(None);
        };
        let now = gate::now();
        if self.gpus.device(device).mode() != Mode::Unlimited {
            let before_copy = if kind.only_copies() { key(ctx, stream) } else { None };
            let mut flight = cx.shared.flight.lock();
            if let Some(key) = before_copy {
                flight.mark_before_copy(key, kind, &mut marks);
            }
            flight.expect(kind, now);
        }
        self.gpus.began(device, now);
        if !self.changing {
            self.last = (ctx, device);
        }
        Ticket::admitted(Some(device))
    }

    /// Must be called after a command has run. Records when the command's work began, and records
    /// marks in streams that need one.
    #[inline]
    pub(in crate::calls) fn ran(&mut self, cx: &Cx<'_>, events: &mut EventPool, ticket: Ticket) {
        if let Some(device) = ticket.begins() {
            let measures = self.gpus.device(device).measures();
            cx.shared.flight.lock().has_begun(measures);
        }
        if cx.shared.flight.take_due() {
            self.mark_due(cx, events);
        }
    }

    /// Records marks in the streams that need one. If many commands are queued, checks all streams
    /// for finished ones.
    fn mark_due(&mut self, cx: &Cx<'_>, events: &mut EventPool) {
        let mut marks = PoolMarks { cx, pool: events };
        let crowded = cx.shared.flight.lock().mark_due(&mut marks);
        if crowded {
            self.look(cx, events);
        }
    }

    /// Reads the scheduler's grants and verdict. If the scheduler has now ended the session, fails
    /// all held commands. Returns whether the streams must be checked for finished commands now.
    pub(in crate::calls) fn read(&mut self, now: u64) -> bool {
        let changed = self.gpus.read(now);
        let verdict = self.gpus.verdict();
        if verdict != 0 && self.verdict == 0 {
            self.verdict = verdict;
            self.held.fail_all(verdict);
            self.turns.clear();
            self.gpus.release_all();
        }
        changed || self.full || self.gpus.wants_look(now)
    }

    /// Receives the requests of calls on mirrors, and gives a turn to each waiting call that may
    /// use the GPU now.
    pub(in crate::calls) fn give_turns(&mut self, turns: &Turns, now: u64) {
        for request in turns.take_new() {
            match request {
                Request::Turn(turn) if self.verdict == 0 => {
                    self.gpus.hold(turn.device);
                    self.turns.push(turn);
                }
                // The session has ended. Dropping the request lets the call continue at once.
                Request::Turn(_) => {}
                Request::Quiet(go) => {
                    self.quiet = true;
                    // The call on the mirror waits until it receives this message.
                    let _ = go.send(());
                }
            }
        }
        self.quiet &= turns.is_quiet();
        if self.quiet {
            return;
        }
        let gpus = &mut self.gpus;
        let may_go = |turn: &mut WaitingCall| {
            let (gpu, page) = gpus.with_page(turn.device);
            gpu.read(page, now);
            // Don't give turns in Standby mode, because these calls need a window.
            let goes = gpu.mode().is_open()
                && gpu.lets_begin(page, None, turn.ns, now)
                && match turn.is_context {
                    true => gpus.enter_for_context(turn.device),
                    false => gpus.enter(turn.device),
                };
            if goes {
                let (gpu, page) = gpus.with_page(turn.device);
                gpu.release(page);
                gpu.gave_turn(page, turn.ns, now);
            }
            goes
        };
        self.turns.extract_if(.., may_go).for_each(WaitingCall::give);
    }

    /// Checks all streams: records marks in those with many commands, and removes the commands that
    /// have finished.
    pub(in crate::calls) fn look(&mut self, cx: &Cx<'_>, events: &mut EventPool) {
        let mut flight = cx.shared.flight.lock();
        let now = gate::now();
        let mut marks = PoolMarks { cx, pool: events };
        let mut standing = cx.shared.host_funcs.standing();
        cx.shared.value_waits.add_standing(&mut marks, &mut standing);
        let look = flight.look(&self.gpus, self.full, &standing, &mut marks, now);
        drop(flight);
        self.full = look.full;
        self.gpus.record_observations(&look.seen, now);
    }

    /// Checks all streams, and returns whether no command is in flight.
    pub(in crate::calls) fn is_idle(&mut self, cx: &Cx<'_>, events: &mut EventPool) -> bool {
        // Pretend that the driver is full, so that streams with few commands are queried, too.
        self.full = true;
        self.look(cx, events);
        cx.shared.flight.lock().is_empty()
    }

    /// Returns whether any held command waits for something other than a turn on a GPU: for the
    /// broker, or for earlier commands while a gate is open.
    pub(in crate::calls) fn has_next(&self) -> bool {
        !self.held.is_empty() && (self.gpus.any_open() || self.held.has_undecided())
    }

    /// Returns the number of calls on mirrors that are waiting for a window.
    pub(in crate::calls) fn waiting_turns(&self) -> usize {
        self.turns.len()
    }

    /// If work was waiting for the VM's turn when the gate was last polled, returns the total time for
    /// which it has waited, in ns.
    pub(in crate::calls) fn turn_ns(&mut self) -> Option<u64> {
        let since = self.waits_since?;
        let now = gate::now();
        self.waits_since = Some(now);
        self.turn_ns += now.saturating_sub(since);
        Some(self.turn_ns)
    }

    /// Wakes the scheduler if it must learn that calls are held or that the window is idle. Returns
    /// when the gate must be polled again.
    pub(in crate::calls) fn notify_scheduler(&mut self, now: u64) -> Pending {
        self.waits_since = match self.gpus.any_waits() {
            true => self.waits_since.or(Some(now)),
            false => None,
        };
        self.gpus.notify_scheduler(now);
        let next = self.gpus.next_look(now);
        if self.full { next.min(Pending::Within(ROOM_CHECK)) } else { next }
    }

    /// Returns whether the reader must stop taking commands, because the held commands take too
    /// much memory, or because later commands may depend on one that waits for the broker.
    pub(in crate::calls) fn holds_too_much(&self) -> bool {
        self.held.bytes() > MAX_HELD || self.held.stops_reader()
    }

    /// Returns the CUresult that every call returns after the scheduler has ended the session, or 0
    /// before that.
    pub(in crate::calls) fn verdict(&self) -> u32 {
        self.verdict
    }
}

/// A position in the queue of held commands, for [`Gate::next`].
#[derive(Default)]
pub(in crate::calls) struct Cursor(Number);
