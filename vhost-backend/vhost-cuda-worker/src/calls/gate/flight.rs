//! What is queued in the driver, by stream.
//!
//! A channel of the GPU takes about a thousand commands; the next one blocks whoever queues it
//! until the GPU has finished one. That must not be the ring reader: what the GPU waits for (a
//! host function's end) comes by it. So the reader counts what it has queued, and what would be
//! too much is held. While the VM shares the GPU it also keeps account of time: marks (events)
//! tell how long what lies between them took.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::ContextId;

use super::device::Sight;
use super::estimate::{Estimates, Kind};
use super::room::{LIMIT, MARK};
use super::stream::{Ending, Key, Orphan, Segment, Stream};
use crate::calls::cx::Cx;
use crate::calls::driver_handle::DriverHandle;
use crate::calls::id_map::IdMap;
use crate::calls::{Calls, lock};
use crate::driver::CuError;
use host_ipc::gate;

/// So much estimated work of a stream's, in ns, and it is marked while time is kept.
const MARK_NS: u64 = 100_000;
/// Bytes of pageable memory that count as one command: the driver's staging for them is bounded
/// as well.
const BYTES: usize = 4096;

/// A gated call that is about to be queued, while time is kept.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub kind: Kind,
    pub ns: u64,
    /// The estimate was measured.
    pub known: bool,
    pub now: u64,
}

/// What all streams hold.
#[derive(Default)]
pub(in crate::calls) struct Flight {
    streams: IdMap<Key, Stream>,
    pub(super) total: u32,
    orphans: Vec<Orphan>,
    ending: Vec<Ending>,
    pub(super) expected: Option<Expected>,
    /// The stream that the last call found empty.
    fresh: Option<Key>,
    /// Streams that want a mark.
    due: Vec<Key>,
    /// By device: a depth in time is kept there. Elsewhere the streams' pace is.
    timed: u32,
    /// Some stream has reached its limit.
    long: bool,
    pub(super) estimates: Estimates,
}

impl Flight {
    /// Counts what is about to be queued; whether it is time to look at the streams.
    pub(in crate::calls) fn add(
        &mut self,
        real: CUstream,
        ctx: ContextId,
        bytes: usize,
        gated: bool,
        device: impl FnOnce() -> usize,
    ) -> bool {
        let weight = bytes.div_ceil(BYTES).max(1) as u32;
        let key = (real as u64, ctx);
        let stream = self.streams.entry(key).or_insert_with(|| Stream::new(real, ctx, device()));
        let paced = self.timed >> stream.device & 1 == 0;
        if paced && stream.weight == 0 {
            stream.pace.restarts(gate::now());
        }
        stream.weight += weight;
        stream.since.weight += weight;
        self.total += weight;
        if gated {
            stream.since.calls += 1;
            stream.calls += 1;
        }
        let mut due = false;
        if let Some(Expected { kind, ns, known, now }) = self.expected.take() {
            let copies = u32::from(gated && kind.only_copies());
            stream.copies += copies;
            stream.since.copies += copies;
            stream.ns += ns;
            stream.since.ns += ns;
            if stream.begun == 0 {
                stream.begun = now;
                self.fresh = Some(key);
            }
            if !stream.since.kinds.iter().any(|(other, _)| *other == kind) {
                stream.since.kinds.push((kind, ns));
            }
            due = stream.since.ns >= MARK_NS || !known;
        }
        due |= paced && stream.since.weight >= stream.mark;
        if due {
            self.due.push(key);
        }
        if paced && stream.weight >= stream.limit {
            (stream.long, self.long) = (true, true);
            due = true;
        }
        due || stream.since.weight >= MARK || self.total >= LIMIT
    }

    /// The call is with the driver, which may have loaded its code first: not the GPU's time.
    pub(super) fn has_begun(&mut self, measures: Option<u64>) {
        self.expected = None;
        if let Some(key) = self.fresh.take()
            && let Some(stream) = self.streams.get_mut(&key)
        {
            (stream.begun, stream.measures) = (gate::now(), measures);
        }
    }

    /// Estimated time in ns that a stream has before it, or none if nothing gated is in flight.
    pub(super) fn ahead(&self, key: Key) -> Option<u64> {
        self.streams.get(&key).filter(|stream| stream.calls > 0).map(|stream| stream.ns)
    }

    /// Whether as much is queued in a stream as may be.
    pub(super) fn is_long(&self, key: Key) -> bool {
        self.streams.get(&key).is_some_and(|stream| stream.long)
    }

    /// A stream ends; it empties by itself.
    pub(in crate::calls) fn forget(&mut self, real: CUstream, ctx: ContextId) {
        let Some(stream) = self.streams.remove(&(real as u64, ctx)) else { return };
        self.total -= stream.weight;
        self.orphans.extend(Orphan::of(stream));
    }

    /// A context is about to end, and what is in flight there with it, in its time. Whoever has ended
    /// it says so by what this returns.
    pub(in crate::calls) fn begin_end_of(&mut self, ctx: ContextId) -> Arc<AtomicBool> {
        let ended = Arc::new(AtomicBool::new(false));
        let (mut of, mut calls, mut begun) = (None, 0, 0);
        let mut add = |device, more, since| {
            of = Some(device);
            calls += more;
            begun = earlier(begun, since);
        };
        let Self { streams, orphans, total, .. } = self;
        streams.retain(|_, stream| {
            let goes = stream.ctx == ctx;
            if goes {
                *total -= stream.weight;
                add(stream.device, stream.calls, stream.begun);
            }
            !goes
        });
        orphans.retain(|orphan| {
            let goes = orphan.ctx == ctx;
            if goes {
                add(orphan.device, orphan.calls(), orphan.begun);
            }
            !goes
        });
        let of = of.filter(|_| calls > 0);
        let ending = of.map(|device| Ending { device, calls, begun, ended: ended.clone() });
        self.ending.extend(ending);
        ended
    }

    /// Looks at what contexts held that end.
    fn look_at_ending(&mut self, sights: &mut [Sight], timed: u32, now: u64) {
        self.ending.retain_mut(|ending| {
            let sight = &mut sights[ending.device];
            if ending.ended.load(Ordering::Acquire) {
                sight.finished += u64::from(ending.calls);
                return false;
            }
            sight.runs(ending.calls, &mut ending.begun, timed >> ending.device & 1 != 0, now);
            true
        });
    }
}

/// Set when `Flight::add` says so.
#[derive(Default)]
pub(in crate::calls) struct FlightDue(AtomicBool);

impl FlightDue {
    pub(in crate::calls) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}

impl Calls {
    /// After a call that `Flight::add` wanted to be looked at: marks where one is due, and looks
    /// at all streams if there is much in them.
    pub(super) fn mark_flight(&mut self) {
        let shared = self.shared.clone();
        let mut flight = std::mem::take(&mut lock(&shared.tables).flight);
        for key in std::mem::take(&mut flight.due) {
            if let Some(stream) = flight.streams.get_mut(&key) {
                self.mark(stream);
            }
        }
        let crowded = flight.long
            || flight.total >= LIMIT
            || flight.streams.values().any(|s| s.since.weight >= MARK);
        lock(&shared.tables).flight = flight;
        if crowded {
            self.look_at_flight();
        }
    }

    /// Marks the end of what a stream holds, so that its end will be known after the stream's own.
    pub(super) fn mark_end(&mut self, key: Key) {
        self.mark_if(key, |stream, _| stream.since.calls > 0);
    }

    /// Marks what a stream holds before a long copy, if that is more than copies: a handover need
    /// not wait for the copy.
    pub(super) fn mark_before_copy(&mut self, key: Key, kind: Kind) {
        self.mark_if(key, |stream, estimates| {
            stream.since.calls > stream.since.copies && estimates.of(kind).0 >= MARK_NS
        });
    }

    fn mark_if(&mut self, key: Key, wanted: impl FnOnce(&Stream, &Estimates) -> bool) {
        let shared = self.shared.clone();
        let mut flight = std::mem::take(&mut lock(&shared.tables).flight);
        if let Some(stream) = flight.streams.get_mut(&key)
            && wanted(stream, &flight.estimates)
        {
            self.mark(stream);
        }
        lock(&shared.tables).flight = flight;
    }

    fn mark(&mut self, stream: &mut Stream) {
        let shared = self.shared.clone();
        let cx = Cx { shared: &shared, thread: 0, ctx: stream.ctx };
        if let Ok(event) = self.record(&cx, stream.real.0, stream.ctx) {
            stream.marks.push_back((event, std::mem::take(&mut stream.since)));
        }
    }

    /// Marks streams that hold much, takes off what they have finished, and tells each GPU's gate
    /// what was seen.
    pub(super) fn look_at_flight(&mut self) {
        let shared = self.shared.clone();
        let mut flight = std::mem::take(&mut lock(&shared.tables).flight);
        let now = gate::now();
        let mut sights: Vec<Sight> = self.gate.devices.iter().map(|_| Sight::default()).collect();
        let standing = shared.host_funcs.standing();
        // As long as anything is held for room, or what many streams hold between them stays
        // counted.
        let crowded = self.gate.full || flight.long || flight.total >= LIMIT;
        let timed_now = self.gate.timed_now(now);
        flight.look_at_ending(&mut sights, timed_now, now);
        for mut orphan in std::mem::take(&mut flight.orphans) {
            let cx = Cx { shared: &shared, thread: 0, ctx: orphan.ctx };
            let sight = &mut sights[orphan.device];
            while let Some(&(event, calls)) = orphan.marks.front()
                && reached(&cx, event)
            {
                orphan.marks.pop_front();
                sight.finished += u64::from(calls);
                self.give_event(orphan.ctx, event);
                orphan.begun = 0;
            }
            if !orphan.marks.is_empty() {
                let timed = timed_now >> orphan.device & 1 != 0;
                sight.runs(orphan.calls(), &mut orphan.begun, timed, now);
                flight.orphans.push(orphan);
            }
        }
        let (mut long, mut hurry) = (false, false);
        let timed_devices = self.gate.timed_devices();
        let Flight { streams, total, estimates, .. } = &mut flight;
        for (key, stream) in streams.iter_mut() {
            let timed = timed_now >> stream.device & 1 != 0;
            let measures = self.gate.devices[stream.device].measures();
            if stream.since.weight >= MARK {
                self.mark(stream);
            }
            let cx = Cx { shared: &shared, thread: 0, ctx: stream.ctx };
            let sight = &mut sights[stream.device];
            let closed = !self.gate.devices[stream.device].mode.is_open();
            let beside = closed && stream.only_copies();
            let mut ended = 0;
            let mut retire = |stream: &mut Stream, segment: Segment| {
                *total -= segment.weight;
                stream.weight -= segment.weight;
                ended += segment.weight;
                sight.finished += if beside { 0 } else { u64::from(segment.calls) };
                stream.calls -= segment.calls;
                stream.copies -= segment.copies;
                stream.ns -= segment.ns;
                if segment.ns > 0 && stream.begun > 0 {
                    let alone = measures.is_some() && measures == stream.measures;
                    let took = now.saturating_sub(stream.begun);
                    estimates.learn(&segment.kinds, segment.ns, took, alone);
                }
                stream.measures = measures;
                stream.begun = if stream.calls > 0 && timed { now } else { 0 };
            };
            while let Some((event, _)) = stream.marks.front()
                && reached(&cx, *event)
            {
                if let Some((event, segment)) = stream.marks.pop_front() {
                    self.give_event(stream.ctx, event);
                    retire(stream, segment);
                }
            }
            // A stream that holds few is asked only when that matters.
            if (crowded || timed) && stream.marks.is_empty() && stream.since.weight > 0 {
                // SAFETY: a live stream: it leaves this list before it is destroyed.
                if unsafe { cx.driver().cuStreamQuery(stream.real.0) } != Err(CuError::NOT_READY) {
                    let segment = std::mem::take(&mut stream.since);
                    retire(stream, segment);
                } else if timed && self.gate.devices[stream.device].is_sampled() {
                    // Of what is queued without end, some progress is to be seen.
                    self.mark(stream);
                }
            }
            let stands = standing.contains(key);
            if timed_devices >> stream.device & 1 == 0 {
                stream.keep_pace(ended, stands, now);
                long |= stream.long;
                hurry |= stream.long && !stream.pace.is_known();
            }
            if stream.calls == 0 {
                continue;
            }
            // What was behind a kernel may be all that is left.
            let beside = closed && stream.only_copies();
            if !beside {
                sight.flying += u64::from(stream.calls);
            }
            if stands {
                // Not the GPU's time.
                (stream.begun, stream.measures) = (if timed { now } else { 0 }, measures);
                continue;
            }
            if timed && stream.begun == 0 {
                stream.begun = now;
            }
            if beside {
                sight.copying = true;
                continue;
            }
            sight.running = true;
            sight.oldest = earlier(sight.oldest, if timed { stream.begun } else { 0 });
        }
        self.gate.full = flight.total >= if self.gate.full { LIMIT - MARK } else { LIMIT };
        (flight.timed, flight.long) = (timed_devices, long);
        (self.gate.long, self.gate.hurry) = (long, hurry);
        lock(&shared.tables).flight = flight;
        self.gate.saw(&sights, now);
    }
}

/// The earlier of two times; 0 is none.
fn earlier(one: u64, other: u64) -> u64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

impl Sight {
    /// So many calls run that no stream is left to be asked of.
    fn runs(&mut self, calls: u32, begun: &mut u64, timed: bool, now: u64) {
        self.flying += u64::from(calls);
        self.running |= calls > 0;
        *begun = if !timed {
            0
        } else if *begun == 0 {
            now
        } else {
            *begun
        };
        if calls > 0 {
            self.oldest = earlier(self.oldest, *begun);
        }
    }
}

/// Whether a mark was reached, or its context failed.
fn reached(cx: &Cx<'_>, event: DriverHandle<CUevent>) -> bool {
    // SAFETY: an event of the pool, whose context has not ended.
    (unsafe { cx.driver().cuEventQuery(event.0) }) != Err(CuError::NOT_READY)
}
