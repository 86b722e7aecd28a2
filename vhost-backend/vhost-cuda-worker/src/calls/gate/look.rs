//! Looking at what the driver holds: marks, and what has finished.

use cuda_api::sys::CUevent;

use super::device::Observation;
use super::estimate::{Estimates, Kind};
use super::flight::{Flight, MARK_NS, earlier};
use super::room::{LIMIT, MARK};
use super::stream::{Key, Segment, Stream};
use crate::calls::cx::Cx;
use crate::calls::driver_handle::DriverHandle;
use crate::calls::{Calls, lock};
use crate::driver::CuError;
use host_ipc::gate;

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
        let mut sights: Vec<Observation> =
            self.gate.devices.iter().map(|_| Observation::default()).collect();
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

/// Whether a mark was reached, or its context failed.
fn reached(cx: &Cx<'_>, event: DriverHandle<CUevent>) -> bool {
    // SAFETY: an event of the pool, whose context has not ended.
    (unsafe { cx.driver().cuEventQuery(event.0) }) != Err(CuError::NOT_READY)
}
