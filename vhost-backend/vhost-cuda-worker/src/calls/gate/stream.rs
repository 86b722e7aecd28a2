//! The part of the driver's queue that belongs to one stream.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::ContextId;

use super::device::{Device, Observation, earlier};
use super::estimate::{Estimates, Kind};
use super::marks::Marks;
use super::pace::Pace;
use super::room::MARK;
use crate::calls::driver_handle::DriverHandle;

/// While time is kept, a stream is marked when it has this much estimated work since the last mark,
/// in ns.
const MARK_NS: u64 = 100_000;

/// Identifies a stream: the address of its handle, and its context. (The handle of the legacy
/// stream is the same in every context.)
pub(in crate::calls) type Key = (u64, ContextId);

/// The streams that are waiting for a host function in the guest.
pub(in crate::calls) type Standing = HashSet<Key>;

/// A gated call that is about to be queued, while time is kept.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub kind: Kind,
    pub ns: u64,
    /// Whether the estimate is based on a measurement.
    pub known: bool,
    pub now: u64,
}

/// The commands between two marks.
#[derive(Default)]
struct Segment {
    /// The number of commands, as the channel counts them.
    weight: u32,
    /// The number of gated calls, and how many of them use only copy engines.
    calls: u32,
    copies: u32,
    /// The estimated time in ns, and the estimate for each kind of call.
    ns: u64,
    kinds: Vec<(Kind, u64)>,
}

/// The effects of adding a command to a stream.
pub(super) struct Added {
    /// Whether the stream needs a mark.
    pub wants_mark: bool,
    /// Whether the stream had no call whose time is kept.
    pub was_idle: bool,
    /// Whether the stream has reached its limit.
    pub is_long: bool,
    /// The commands since the last mark.
    pub since_mark: u32,
}

/// The state of the gate that a look at a stream depends on.
#[derive(Clone, Copy)]
pub(super) struct StreamLook<'a> {
    pub device: &'a Device,
    /// Whether time is kept on the stream's GPU now.
    pub timed: bool,
    /// Whether the stream's pace is kept there, instead of a depth in time.
    pub paced: bool,
    /// Whether the driver has no room, or some stream has reached its limit.
    pub crowded: bool,
    /// Whether the stream is waiting for a host function in the guest.
    pub stands: bool,
    pub now: u64,
}

/// The commands that one stream has queued in the driver.
pub(super) struct Stream {
    real: DriverHandle<CUstream>,
    ctx: ContextId,
    /// The worker's ordinal for the GPU.
    device: usize,
    /// The commands since the last mark.
    since: Segment,
    marks: VecDeque<(DriverHandle<CUevent>, Segment)>,
    /// The number of all commands. While no depth is kept, also the number that may be queued, and
    /// the number between two marks.
    weight: u32,
    pace: Pace,
    limit: u32,
    mark_after: u32,
    /// Whether the stream has reached that limit.
    long: bool,
    /// The number of gated calls that haven't finished, how many of them only copy, and the
    /// estimated time of all of them.
    calls: u32,
    copies: u32,
    ns: u64,
    /// The time since which the oldest gated call has been at the head of the stream; 0 if unknown.
    begun: u64,
    /// The window in which that time covers only this VM's work.
    measures: Option<u64>,
}

impl Stream {
    pub(super) fn new(real: CUstream, ctx: ContextId, device: usize) -> Self {
        let pace = Pace::default();
        Self {
            real: DriverHandle(real),
            ctx,
            device,
            since: Segment::default(),
            marks: VecDeque::new(),
            weight: 0,
            pace,
            limit: pace.limit(),
            mark_after: pace.mark(),
            long: false,
            calls: 0,
            copies: 0,
            ns: 0,
            begun: 0,
            measures: None,
        }
    }

    pub(super) fn ctx(&self) -> ContextId {
        self.ctx
    }

    /// Returns the worker's ordinal for the GPU.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// Returns the number of commands, as the channel counts them.
    pub(super) fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the number of gated calls that haven't finished.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// Returns the time since which the oldest gated call has been at the head of the stream; 0 if
    /// unknown.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Returns whether the stream has reached its limit.
    pub(super) fn is_long(&self) -> bool {
        self.long
    }

    /// Returns whether the stream has reached its limit at a pace that isn't known yet.
    pub(super) fn is_long_at_unknown_pace(&self) -> bool {
        self.long && !self.pace.is_known()
    }

    /// Returns whether the stream needs a mark for its number of commands alone.
    pub(super) fn needs_mark(&self) -> bool {
        self.since.weight >= MARK
    }

    /// Returns the estimated time in ns of the calls in flight, or `None` if no gated call is in
    /// flight.
    pub(super) fn estimated_ns(&self) -> Option<u64> {
        (self.calls > 0).then_some(self.ns)
    }

    /// Counts a command that is about to be queued.
    pub(super) fn add(
        &mut self,
        weight: u32,
        gated: bool,
        paced: bool,
        expected: Option<Expected>,
    ) -> Added {
        if paced && self.weight == 0 {
            self.pace.restart(host_ipc::gate::now());
        }
        self.weight += weight;
        self.since.weight += weight;
        if gated {
            self.since.calls += 1;
            self.calls += 1;
        }
        let (mut wants_mark, mut was_idle) = (false, false);
        if let Some(Expected { kind, ns, known, now }) = expected {
            let copies = u32::from(gated && kind.only_copies());
            self.copies += copies;
            self.since.copies += copies;
            self.ns += ns;
            self.since.ns += ns;
            if self.begun == 0 {
                self.begun = now;
                was_idle = true;
            }
            if !self.since.kinds.iter().any(|(other, _)| *other == kind) {
                self.since.kinds.push((kind, ns));
            }
            wants_mark = self.since.ns >= MARK_NS || !known;
        }
        wants_mark |= paced && self.since.weight >= self.mark_after;
        let is_long = paced && self.weight >= self.limit;
        self.long |= is_long;
        Added { wants_mark, was_idle, is_long, since_mark: self.since.weight }
    }

    /// Records that the driver has queued the stream's first call.
    pub(super) fn begin(&mut self, measures: Option<u64>, now: u64) {
        (self.begun, self.measures) = (now, measures);
    }

    /// Marks the end of the commands so far.
    pub(super) fn mark(&mut self, marks: &mut impl Marks) {
        if let Some(event) = marks.record(self.real.0, self.ctx) {
            self.marks.push_back((event, std::mem::take(&mut self.since)));
        }
    }

    /// Marks the end of the commands so far if any of them is gated.
    pub(super) fn mark_end(&mut self, marks: &mut impl Marks) {
        if self.since.calls > 0 {
            self.mark(marks);
        }
    }

    /// Marks the commands before a copy if the copy takes long and they aren't all copies, so that
    /// a handover doesn't wait for the copy.
    pub(super) fn mark_before_copy(&mut self, copy_ns: u64, marks: &mut impl Marks) {
        if self.since.calls > self.since.copies && copy_ns >= MARK_NS {
            self.mark(marks);
        }
    }

    /// Removes the commands that have finished, and adds the stream's state to its GPU's
    /// observation. Returns the number of commands that have finished.
    pub(super) fn look(
        &mut self,
        look: StreamLook<'_>,
        estimates: &mut Estimates,
        seen: &mut Observation,
        marks: &mut impl Marks,
    ) -> u32 {
        let StreamLook { device, timed, paced, crowded, stands, now } = look;
        let measures = device.measures();
        if self.needs_mark() {
            self.mark(marks);
        }
        let closed = !device.mode().is_open();
        let beside = closed && self.only_copies();
        let mut ended = 0;
        let mut retire = |stream: &mut Self, segment: Segment| {
            ended += segment.weight;
            seen.finished += if beside { 0 } else { u64::from(segment.calls) };
            stream.retire(segment, look, measures, estimates);
        };
        while let Some((event, _)) = self.marks.front()
            && marks.is_reached(*event)
        {
            if let Some((event, segment)) = self.marks.pop_front() {
                marks.give_back(self.ctx, event);
                retire(self, segment);
            }
        }
        // A stream with few commands is queried only when its state matters.
        if (crowded || timed) && self.marks.is_empty() && self.since.weight > 0 {
            if marks.is_empty(self.real) {
                let segment = std::mem::take(&mut self.since);
                retire(self, segment);
            } else if timed && device.is_sampled() {
                // Mark the stream, so that progress is seen even if the stream never becomes empty.
                self.mark(marks);
            }
        }
        if paced {
            self.keep_pace(ended, stands, now);
        }
        if self.calls == 0 {
            return ended;
        }
        // Copies behind a kernel become the only work once the kernel has finished.
        let beside = closed && self.only_copies();
        if !beside {
            seen.flying += u64::from(self.calls);
        }
        if stands {
            // The GPU isn't executing this stream.
            (self.begun, self.measures) = (if timed { now } else { 0 }, measures);
            return ended;
        }
        if timed && self.begun == 0 {
            self.begun = now;
        }
        if beside {
            seen.copying = true;
            return ended;
        }
        seen.running = true;
        seen.oldest = earlier(seen.oldest, if timed { self.begun } else { 0 });
        ended
    }

    /// Removes commands that have finished.
    fn retire(
        &mut self,
        segment: Segment,
        look: StreamLook<'_>,
        measures: Option<u64>,
        estimates: &mut Estimates,
    ) {
        self.weight -= segment.weight;
        self.calls -= segment.calls;
        self.copies -= segment.copies;
        self.ns -= segment.ns;
        if segment.ns > 0 && self.begun > 0 {
            let alone = measures.is_some() && measures == self.measures;
            let took = look.now.saturating_sub(self.begun);
            estimates.learn(&segment.kinds, segment.ns, took, alone);
        }
        self.measures = measures;
        self.begun = if self.calls > 0 && look.timed { look.now } else { 0 };
    }

    /// Returns whether only copies are in flight.
    fn only_copies(&self) -> bool {
        self.copies == self.calls
    }

    /// Records how many commands have finished, while no depth is kept.
    fn keep_pace(&mut self, ended: u32, stands: bool, now: u64) {
        if stands {
            self.pace.restart(now);
        } else {
            let first = self.marks.front().map_or(self.since.weight, |(_, first)| first.weight);
            self.pace.observe(ended, first, self.weight, now);
        }
        (self.limit, self.mark_after) = (self.pace.limit(), self.pace.mark());
        // A stream that has reached its limit may queue again only once there is some room.
        let room = if self.long { self.limit / 8 } else { 0 };
        self.long = self.weight >= self.limit - room;
    }
}

/// The work that was in flight when a stream was destroyed: its marks, and the number of gated
/// calls before each.
pub(super) struct Orphan {
    ctx: ContextId,
    device: usize,
    marks: VecDeque<(DriverHandle<CUevent>, u32)>,
    /// The time since which the first call has been at the head of the stream; 0 if unknown.
    begun: u64,
}

impl Orphan {
    /// Returns the work in a stream that is no longer listed, or `None` if no marked work is in
    /// flight.
    pub(super) fn of(stream: Stream) -> Option<Self> {
        let Stream { ctx, device, begun, marks, .. } = stream;
        let marks: VecDeque<_> =
            marks.into_iter().map(|(event, segment)| (event, segment.calls)).collect();
        (!marks.is_empty()).then_some(Self { ctx, device, marks, begun })
    }

    pub(super) fn ctx(&self) -> ContextId {
        self.ctx
    }

    /// Returns the worker's ordinal for the GPU.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// Returns the time since which the first call has been at the head of the stream; 0 if
    /// unknown.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Returns the number of gated calls that haven't finished.
    pub(super) fn calls(&self) -> u32 {
        self.marks.iter().map(|(_, calls)| calls).sum()
    }

    /// Removes the calls that have finished, and adds the others to the GPU's observation. Returns
    /// whether any are left.
    pub(super) fn look(
        &mut self,
        timed: bool,
        seen: &mut Observation,
        marks: &mut impl Marks,
        now: u64,
    ) -> bool {
        while let Some(&(event, calls)) = self.marks.front()
            && marks.is_reached(event)
        {
            self.marks.pop_front();
            seen.finished += u64::from(calls);
            marks.give_back(self.ctx, event);
            self.begun = 0;
        }
        if self.marks.is_empty() {
            return false;
        }
        seen.add_running(self.calls(), &mut self.begun, timed, now);
        true
    }
}

/// The work in a context that is being destroyed. Its streams can't be queried any more: the work
/// counts as running until the driver has destroyed the context.
pub(super) struct Ending {
    device: usize,
    calls: u32,
    begun: u64,
    /// Set once the context is destroyed.
    ended: Arc<AtomicBool>,
}

impl Ending {
    /// Creates an entry for work that counts as running until `ended` is set.
    pub(super) fn new(device: usize, calls: u32, begun: u64, ended: Arc<AtomicBool>) -> Self {
        Self { device, calls, begun, ended }
    }

    /// Returns the worker's ordinal for the GPU.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// Adds the work to the GPU's observation. Returns whether it is still running.
    pub(super) fn look(&mut self, timed: bool, seen: &mut Observation, now: u64) -> bool {
        if self.ended.load(Ordering::Acquire) {
            seen.finished += u64::from(self.calls);
            return false;
        }
        seen.add_running(self.calls, &mut self.begun, timed, now);
        true
    }
}
