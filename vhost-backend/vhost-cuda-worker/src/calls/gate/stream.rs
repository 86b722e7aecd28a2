//! Tracks the commands that are queued in the driver in one stream.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::ContextId;

use super::device::{Device, Observation, earlier};
use super::estimate::{Estimates, Kind};
use super::marks::Marks;
use super::room::MARK;
use crate::calls::tables::driver_handle::DriverHandle;
use host_ipc::gate::Mode;

/// The estimated work in a stream, in ns, after which a mark is recorded in it while call times are
/// being measured. A mark is an event that shows when the commands before it have finished.
const MARK_NS: u64 = 100_000;

/// Identifies a stream by the address of its handle and by its context. The context is necessary
/// because the legacy stream has the same handle in every context.
pub(in crate::calls) type Key = (u64, ContextId);

/// The streams that are waiting for a host function in the guest, or for a value in memory.
pub(in crate::calls) type Standing = HashSet<Key>;

/// A gated call that is about to be queued while call times are being measured.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub kind: Kind,
    pub ns: u64,
    /// Whether `ns`, the estimated time, is based on a measurement or on a known transfer rate.
    pub known: bool,
    pub now: u64,
}

/// The commands in a stream between two marks.
#[derive(Default)]
struct Segment {
    /// The number of commands. A command that copies much pageable memory counts as several.
    weight: u32,
    /// The number of gated calls. `copies` is the number of those that use only a copy engine.
    calls: u32,
    copies: u32,
    /// The estimated time of the gated calls in ns (`ns`), and the estimate for each kind of call
    /// among them (`kinds`).
    ns: u64,
    kinds: Vec<(Kind, u64)>,
}

/// The results of adding a command to a stream.
pub(super) struct Added {
    /// Whether a mark must be recorded in the stream.
    pub wants_mark: bool,
    /// Whether the command is a measured call, and no earlier measured call in the stream is
    /// unfinished.
    pub was_idle: bool,
}

/// The state of the gate when a stream is checked for finished commands.
#[derive(Clone, Copy)]
pub(super) struct StreamLook<'a> {
    pub device: &'a Device,
    /// Whether call times are being measured on the stream's GPU.
    pub timed: bool,
    /// Whether commands may be waiting for room in the driver's queues.
    pub crowded: bool,
    /// Whether the stream is waiting for a host function in the guest, or for a value in memory.
    pub stands: bool,
    pub now: u64,
}

/// The commands that are queued in the driver in one stream.
pub(super) struct Stream {
    real: DriverHandle<CUstream>,
    ctx: ContextId,
    /// The worker's ordinal for the stream's GPU.
    device: usize,
    /// The sequence number of the command that was queued last.
    last: u64,
    /// The commands since the last mark.
    since: Segment,
    marks: VecDeque<(DriverHandle<CUevent>, Segment)>,
    /// The number of gated calls that haven't finished (`calls`), the number of those that use only
    /// a copy engine (`copies`), and the estimated time of all unfinished calls in ns (`ns`).
    calls: u32,
    copies: u32,
    ns: u64,
    /// Whether the last gated call used only a copy engine. If so, a signal directly after it uses
    /// the same engine.
    follows_copy: bool,
    /// The time since which the oldest unfinished gated call has been at the head of the stream, or
    /// 0 if it's unknown.
    begun: u64,
    /// The encoded grant in which the time since `begun` includes only this VM's work, if there is
    /// one.
    measures: Option<u64>,
}

impl Stream {
    pub(super) fn new(real: CUstream, ctx: ContextId, device: usize) -> Self {
        Self {
            real: DriverHandle(real),
            ctx,
            device,
            last: 0,
            since: Segment::default(),
            marks: VecDeque::new(),
            calls: 0,
            copies: 0,
            ns: 0,
            follows_copy: false,
            begun: 0,
            measures: None,
        }
    }

    pub(super) fn ctx(&self) -> ContextId {
        self.ctx
    }

    /// Returns the worker's ordinal for the stream's GPU.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// Returns the number of the command that was queued last.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of commands in the stream. A command that copies much pageable memory
    /// counts as several.
    pub(super) fn weight(&self) -> u32 {
        let marked = self.marks.iter().map(|(_, segment)| segment.weight);
        marked.sum::<u32>() + self.since.weight
    }

    /// Returns the number of gated calls that haven't finished.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// Returns the time since which the oldest unfinished gated call has been at the head of the
    /// stream, or 0 if it's unknown.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Returns whether a new mark is necessary, because many commands were queued since the last
    /// one.
    pub(super) fn needs_mark(&self) -> bool {
        self.since.weight >= MARK
    }

    /// Returns the estimated total time of the gated calls that haven't finished, in ns. Returns
    /// `None` if there are none.
    pub(super) fn estimated_ns(&self) -> Option<u64> {
        (self.calls > 0).then_some(self.ns)
    }

    /// Returns whether a call of this kind uses only a copy engine if it's the next one in the
    /// stream.
    pub(super) fn uses_only_copy_engine(&self, kind: Kind) -> bool {
        kind.only_copies() || (kind == Kind::Signal && self.follows_copy)
    }

    /// Counts the command `number`, which is about to be queued.
    pub(super) fn add(
        &mut self,
        number: u64,
        weight: u32,
        gated: bool,
        expected: Option<Expected>,
    ) -> Added {
        self.last = number;
        self.since.weight += weight;
        if gated {
            self.since.calls += 1;
            self.calls += 1;
        }
        let (mut wants_mark, mut was_idle) = (false, false);
        let engine = |kind| gated && self.uses_only_copy_engine(kind);
        let copies = expected.as_ref().is_some_and(|expected| engine(expected.kind));
        if gated {
            self.follows_copy = copies;
        }
        if let Some(Expected { kind, ns, known, now }) = expected {
            let copies = u32::from(copies);
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
        Added { wants_mark, was_idle }
    }

    /// Records that the driver has queued a gated call in the stream while no other gated call was
    /// in flight there. `measures` is from [`Device::measures`].
    pub(super) fn begin(&mut self, measures: Option<u64>, now: u64) {
        (self.begun, self.measures) = (now, measures);
    }

    /// Records a mark after the commands queued so far.
    pub(super) fn mark(&mut self, marks: &mut impl Marks) {
        if let Some(event) = marks.record(self.real.0, self.ctx) {
            self.marks.push_back((event, std::mem::take(&mut self.since)));
        }
    }

    /// Records a mark after the commands queued so far. Some time has passed since the last command
    /// was queued.
    fn mark_late(&mut self, marks: &mut impl Marks) {
        if let Some(event) = marks.record_late(self.real.0, self.ctx) {
            self.marks.push_back((event, std::mem::take(&mut self.since)));
        }
    }

    /// Records a mark after the commands queued so far, if any command since the last mark is
    /// gated.
    pub(super) fn mark_end(&mut self, marks: &mut impl Marks) {
        if self.since.calls > 0 {
            self.mark(marks);
        }
    }

    /// Records a mark before a copy that takes long, unless only copies were queued since the last
    /// mark. The mark shows when the kernels before the copy have finished, so that another VM can
    /// get the GPU without waiting for the copy.
    pub(super) fn mark_before_copy(&mut self, copy_ns: u64, marks: &mut impl Marks) {
        if self.since.calls > self.since.copies && copy_ns >= MARK_NS {
            self.mark(marks);
        }
    }

    /// Removes the commands that have finished, and adds the stream's state to `seen`. Returns the
    /// number of commands that have finished.
    pub(super) fn look(
        &mut self,
        look: StreamLook<'_>,
        estimates: &mut Estimates,
        seen: &mut Observation,
        marks: &mut impl Marks,
    ) -> u32 {
        let StreamLook { device, timed, crowded, stands, now } = look;
        let measures = device.measures();
        if self.needs_mark() {
            self.mark_late(marks);
        }
        let closed = !device.mode().is_open();
        let beside = closed && self.only_copies();
        let mut ended = 0;
        let mut retire = |stream: &mut Self, segment: Segment| {
            ended += segment.weight;
            seen.finished += if beside { 0 } else { u64::from(segment.calls) };
            stream.retire(segment, look, measures, estimates);
        };
        while let Some((event, segment)) =
            self.marks.pop_front_if(|(event, _)| marks.is_reached(*event))
        {
            marks.give_back(self.ctx, event);
            retire(self, segment);
        }
        // If the stream has no marks, only a query shows whether it's empty. Query it only while
        // the driver is full or times are measured.
        if (crowded || timed) && self.marks.is_empty() && self.since.weight > 0 {
            if marks.is_empty(self.real.0, self.ctx) {
                let segment = std::mem::take(&mut self.since);
                retire(self, segment);
            } else if timed && device.mode() == Mode::Unlimited {
                // Record a mark, so that the worker can see progress even if the stream never
                // becomes empty.
                self.mark_late(marks);
            }
        }
        if self.calls == 0 {
            return ended;
        }
        // Check again whether only copies are left, because a kernel before them may have finished.
        let beside = closed && self.only_copies();
        if !beside {
            seen.flying += u64::from(self.calls);
        }
        if stands {
            // While the stream waits for a host function or for a value, the GPU isn't executing
            // its work, so its time begins later.
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
        if timed {
            seen.ends = seen.ends.max(self.begun.saturating_add(self.ns));
        }
        ended
    }

    /// Subtracts the commands of a segment that has finished, and updates the estimates with the
    /// time that they took.
    fn retire(
        &mut self,
        segment: Segment,
        look: StreamLook<'_>,
        measures: Option<u64>,
        estimates: &mut Estimates,
    ) {
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

    /// Returns whether all gated calls in flight use only a copy engine.
    fn only_copies(&self) -> bool {
        self.copies == self.calls
    }
}

/// The work that was in flight in a stream when the stream was destroyed: its marks, and the
/// commands before each mark.
pub(super) struct Orphan {
    ctx: ContextId,
    device: usize,
    marks: VecDeque<(DriverHandle<CUevent>, Segment)>,
    /// The time since which the first unfinished call has been at the head of the stream, or 0 if
    /// it's unknown.
    begun: u64,
}

impl Orphan {
    /// Returns the work in flight in a stream that is about to be destroyed, or `None` if the GPU
    /// has reached all marks in the stream.
    pub(super) fn of(stream: Stream) -> Option<Self> {
        let Stream { ctx, device, begun, marks, .. } = stream;
        (!marks.is_empty()).then_some(Self { ctx, device, marks, begun })
    }

    pub(super) fn ctx(&self) -> ContextId {
        self.ctx
    }

    /// Returns the worker's ordinal for the stream's GPU.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// Returns the time since which the first unfinished call has been at the head of the stream,
    /// or 0 if it's unknown.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Returns the number of gated calls that haven't finished.
    pub(super) fn calls(&self) -> u32 {
        self.marks.iter().map(|(_, segment)| segment.calls).sum()
    }

    /// Removes the calls that have finished, and adds the unfinished ones to the GPU's state in
    /// `seen`. `timed` says whether call times are being measured. Returns whether any calls are
    /// unfinished.
    pub(super) fn look(
        &mut self,
        timed: bool,
        seen: &mut Observation,
        marks: &mut impl Marks,
        now: u64,
    ) -> bool {
        while let Some((event, segment)) =
            self.marks.pop_front_if(|(event, _)| marks.is_reached(*event))
        {
            seen.finished += u64::from(segment.calls);
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

/// The work in a context that is being destroyed. Its streams can't be queried any more, so the
/// work counts as running until the driver has destroyed the context.
pub(super) struct Ending {
    device: usize,
    calls: u32,
    begun: u64,
    /// A flag that is set to true once the driver has destroyed the context.
    ended: Arc<AtomicBool>,
}

impl Ending {
    /// Creates an entry for `calls` calls that count as running until `ended` is set. `begun` is
    /// the time since which the first of them has been running, or 0 if it's unknown.
    pub(super) fn new(device: usize, calls: u32, begun: u64, ended: Arc<AtomicBool>) -> Self {
        Self { device, calls, begun, ended }
    }

    /// Returns the worker's ordinal for the context's GPU.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// Adds the work to the GPU's state in `seen`. `timed` says whether call times are being
    /// measured. Returns whether the work still counts as running.
    pub(super) fn look(&mut self, timed: bool, seen: &mut Observation, now: u64) -> bool {
        if self.ended.load(Ordering::Acquire) {
            seen.finished += u64::from(self.calls);
            return false;
        }
        seen.add_running(self.calls, &mut self.begun, timed, now);
        true
    }
}
