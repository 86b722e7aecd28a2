//! How much is queued in the driver, and what must wait before it is queued too.
//!
//! A channel of the GPU takes about a thousand commands; the next one blocks whoever queues it
//! until the GPU has finished one. That must not be the ring reader: what the GPU waits for (a
//! host function's end) may stand in the ring behind it. So the reader counts what it has queued,
//! and keeps back in order what would be too much, until the GPU has made progress.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cudarc::driver::sys::{CUevent, CUstream};
use protocol::calls as api;
use protocol::codec::Call;

use super::cx::Cx;
use super::handles::{IdMap, Real};
use super::{Calls, Command, ReplyTo, generated, lock};
use crate::worker::driver::CuError;
use crate::worker::executor::Pending;

/// Commands queued at once. Several streams may share a channel, so all count together.
const LIMIT: u32 = 832;
/// So many of a stream's, and progress there is asked for.
const MARK: u32 = LIMIT / 4;
/// Bytes of pageable memory that count as one command: the driver's staging for them is bounded
/// as well.
const BYTES: usize = 4096;
/// Commands kept back, in bytes. Past it the reader does wait, and takes none from the ring.
const MAX_HELD: usize = 16 << 20;
/// How long the reader may sleep before it looks for progress.
const LOOK: Duration = Duration::from_micros(50);

/// What a stream holds.
struct Stream {
    real: Real<CUstream>,
    ctx: u64,
    /// Queued since the last mark.
    since: u32,
    /// Events, and what was queued before each.
    marks: VecDeque<(Real<CUevent>, u32)>,
}

/// What all streams hold.
#[derive(Default)]
pub(super) struct Flight {
    /// By the address of the handle, mixed with the context: the legacy stream is in each.
    streams: IdMap<(u64, u64), Stream>,
    total: u32,
    /// Marks of streams that have ended, with their contexts.
    orphans: Vec<(Real<CUevent>, u64)>,
}

impl Flight {
    /// Counts what is about to be queued; whether it is time to look at the streams.
    pub(super) fn add(&mut self, real: CUstream, ctx: u64, bytes: usize) -> bool {
        let weight = bytes.div_ceil(BYTES).max(1) as u32;
        let stream = self.streams.entry((real as u64, ctx)).or_insert_with(|| Stream {
            real: Real(real),
            ctx,
            since: 0,
            marks: VecDeque::new(),
        });
        stream.since += weight;
        self.total += weight;
        stream.since >= MARK || self.total >= LIMIT
    }

    /// A stream ends; it empties by itself.
    pub(super) fn forget(&mut self, real: CUstream, ctx: u64) {
        let Some(stream) = self.streams.remove(&(real as u64, ctx)) else { return };
        self.total -= stream.marks.iter().map(|(_, weight)| weight).sum::<u32>() + stream.since;
        self.orphans.extend(stream.marks.into_iter().map(|(event, _)| (event, ctx)));
    }

    fn forget_context(&mut self, ctx: u64) {
        let gone: Vec<CUstream> =
            self.streams.values().filter(|s| s.ctx == ctx).map(|s| s.real.0).collect();
        for stream in gone {
            self.forget(stream, ctx);
        }
        self.orphans.retain(|(_, of)| *of != ctx);
    }
}

/// A command that is kept back.
struct Held {
    opcode: u32,
    thread: u32,
    ctx: u64,
    args: Vec<u8>,
    reply: ReplyTo,
}

/// Commands that are kept back, in order.
#[derive(Default)]
pub(super) struct Backlog {
    full: bool,
    held: VecDeque<Held>,
    bytes: usize,
}

/// Set when `Flight::add` says so.
#[derive(Default)]
pub(super) struct FlightDue(AtomicBool);

impl FlightDue {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}

impl Calls {
    /// Executes a command, or keeps it back.
    pub(super) fn admit(&mut self, command: &Command<'_>, reply: ReplyTo) {
        // What ends a host function makes room, and must not stand behind what waits for room.
        let ends_host_function = matches!(
            command.opcode,
            api::VcudaHostFuncNext::OPCODE | api::VcudaHostFuncDone::OPCODE
        );
        if self.backlog.full && !ends_host_function {
            let Command { opcode, thread, ctx, args } = *command;
            self.backlog.bytes += args.len() + size_of::<Held>();
            let args = args.to_vec();
            self.backlog.held.push_back(Held { opcode, thread, ctx, args, reply });
            while self.backlog.bytes > MAX_HELD {
                std::thread::sleep(LOOK);
                self.poll_flight();
                self.answer_host_funcs();
            }
            return;
        }
        generated::dispatch(self, command, reply);
        if self.shared.flight_due.take() {
            self.look_at_flight();
        }
    }

    /// Executes what was kept back, as far as there is room now.
    pub(super) fn poll_flight(&mut self) -> Pending {
        if !self.backlog.full {
            return Pending::Nothing;
        }
        self.look_at_flight();
        while !self.backlog.full
            && let Some(held) = self.backlog.held.pop_front()
        {
            self.backlog.bytes -= held.args.len() + size_of::<Held>();
            let Held { opcode, thread, ctx, ref args, .. } = held;
            generated::dispatch(self, &Command { opcode, thread, ctx, args }, held.reply);
            if self.shared.flight_due.take() {
                self.look_at_flight();
            }
        }
        if self.backlog.full { Pending::Within(LOOK) } else { Pending::Nothing }
    }

    /// Marks streams that hold much, and takes off what they have finished.
    fn look_at_flight(&mut self) {
        let shared = self.shared.clone();
        let mut flight = std::mem::take(&mut lock(&shared.tables).flight);
        for (event, ctx) in flight.orphans.drain(..) {
            self.give_event(ctx, event);
        }
        // As long as anything is kept back, or what many streams hold between them stays counted.
        let crowded = self.backlog.full || flight.total >= LIMIT;
        for stream in flight.streams.values_mut() {
            let cx = Cx { shared: &shared, thread: 0, ctx: stream.ctx };
            if stream.since >= MARK
                && let Ok(event) = self.record(&cx, stream.real.0, stream.ctx)
            {
                stream.marks.push_back((event, std::mem::take(&mut stream.since)));
            }
            while let Some((event, weight)) = stream.marks.front().copied() {
                // SAFETY: an event of the pool, whose context has not ended.
                if unsafe { cx.driver().cuEventQuery(event.0) } == Err(CuError::NOT_READY) {
                    break;
                }
                stream.marks.pop_front();
                self.give_event(stream.ctx, event);
                flight.total -= weight;
            }
            // A stream that holds few is asked only when room is wanted.
            if crowded && stream.marks.is_empty() && stream.since > 0 {
                // SAFETY: a live stream: it leaves this list before it is destroyed.
                if unsafe { cx.driver().cuStreamQuery(stream.real.0) } != Err(CuError::NOT_READY) {
                    flight.total -= std::mem::take(&mut stream.since);
                }
            }
        }
        self.backlog.full = flight.total >= if self.backlog.full { LIMIT - MARK } else { LIMIT };
        lock(&shared.tables).flight = flight;
    }

    /// A context is about to end.
    pub(super) fn forget_flight_of(&mut self, ctx: u64) {
        lock(&self.shared.tables).flight.forget_context(ctx);
    }
}
