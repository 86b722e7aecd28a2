//! What one stream holds in the driver.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::ContextId;

use super::estimate::Kind;
use super::pace::Pace;
use crate::calls::driver_handle::DriverHandle;

/// A stream: the address of its handle and its context. The legacy stream is in each context.
pub(in crate::calls) type Key = (u64, ContextId);

/// Streams that stand at host functions of the guest's.
pub(in crate::calls) type Standing = HashSet<Key>;

/// What was queued between two marks.
#[derive(Default)]
pub(super) struct Segment {
    /// Commands, as the channel counts them.
    pub(super) weight: u32,
    /// Gated calls, and those of them that only copy engines are busy with.
    pub(super) calls: u32,
    pub(super) copies: u32,
    /// Estimated time in ns, and what of each kind of call was estimated.
    pub(super) ns: u64,
    pub(super) kinds: Vec<(Kind, u64)>,
}

/// What a stream holds.
pub(super) struct Stream {
    pub(super) real: DriverHandle<CUstream>,
    pub(super) ctx: ContextId,
    /// The GPU, by the worker's ordinal.
    pub(super) device: usize,
    /// Queued since the last mark.
    pub(super) since: Segment,
    pub(super) marks: VecDeque<(DriverHandle<CUevent>, Segment)>,
    /// Commands in all. While no depth is kept: how many may be queued, and between two marks.
    pub(super) weight: u32,
    pub(super) pace: Pace,
    pub(super) limit: u32,
    pub(super) mark: u32,
    /// It has reached that limit.
    pub(super) long: bool,
    /// Gated calls that have not finished, those that only copy, and the estimated time of all.
    pub(super) calls: u32,
    pub(super) copies: u32,
    pub(super) ns: u64,
    /// Since when the oldest of them has been at the head; 0 while that is not known.
    pub(super) begun: u64,
    /// The window in which that time is this VM's work alone.
    pub(super) measures: Option<u64>,
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
            mark: pace.mark(),
            long: false,
            calls: 0,
            copies: 0,
            ns: 0,
            begun: 0,
            measures: None,
        }
    }

    /// Whether nothing but copies is in flight.
    pub(super) fn only_copies(&self) -> bool {
        self.copies == self.calls
    }

    /// Takes note of what has ended, while no depth is kept.
    pub(super) fn keep_pace(&mut self, ended: u32, stands: bool, now: u64) {
        if stands {
            self.pace.restarts(now);
        } else {
            let first = self.marks.front().map_or(self.since.weight, |(_, first)| first.weight);
            self.pace.saw(ended, first, self.weight, now);
        }
        (self.limit, self.mark) = (self.pace.limit(), self.pace.mark());
        // Once it is long, there is to be some room before more goes.
        let room = if self.long { self.limit / 8 } else { 0 };
        self.long = self.weight >= self.limit - room;
    }
}

/// What a stream held when it ended: its marks, and the gated calls before each.
pub(super) struct Orphan {
    pub(super) ctx: ContextId,
    pub(super) device: usize,
    pub(super) marks: VecDeque<(DriverHandle<CUevent>, u32)>,
    /// Since when the first has been at the head; 0 while that is not known.
    pub(super) begun: u64,
}

impl Orphan {
    /// Of a stream that is listed no more; `None` if nothing is known to be in it.
    pub(super) fn of(stream: Stream) -> Option<Self> {
        let Stream { ctx, device, begun, marks, .. } = stream;
        let marks: VecDeque<_> =
            marks.into_iter().map(|(event, segment)| (event, segment.calls)).collect();
        (!marks.is_empty()).then_some(Self { ctx, device, marks, begun })
    }

    /// Gated calls that have not finished.
    pub(super) fn calls(&self) -> u32 {
        self.marks.iter().map(|(_, calls)| calls).sum()
    }
}

/// A context that ends, with what was in flight there. Its streams can't be asked any more: it runs
/// until the driver says that the context has ended.
pub(super) struct Ending {
    pub(super) device: usize,
    pub(super) calls: u32,
    pub(super) begun: u64,
    /// Set by whoever ends it.
    pub(super) ended: Arc<AtomicBool>,
}
