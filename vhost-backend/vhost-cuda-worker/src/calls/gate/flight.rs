//! What is queued in the driver, by stream.
//!
//! A channel of the GPU takes about a thousand commands; the next one blocks whoever queues it
//! until the GPU has finished one. That must not be the ring reader: what the GPU waits for (a
//! host function's end) comes by it. So the reader counts what it has queued, and what would be
//! too much is held. While the VM shares the GPU it also keeps account of time: marks (events)
//! tell how long what lies between them took.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_api::sys::CUstream;

use protocol::ids::ContextId;

use super::device::Observation;
use super::estimate::{Estimates, Kind};
use super::room::{LIMIT, MARK};
use super::stream::{Ending, Key, Orphan, Stream};
use crate::calls::id_map::IdMap;
use host_ipc::gate;

/// So much estimated work of a stream's, in ns, and it is marked while time is kept.
pub(super) const MARK_NS: u64 = 100_000;
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
    pub(super) streams: IdMap<Key, Stream>,
    pub(super) total: u32,
    pub(super) orphans: Vec<Orphan>,
    ending: Vec<Ending>,
    pub(super) expected: Option<Expected>,
    /// The stream that the last call found empty.
    fresh: Option<Key>,
    /// Streams that want a mark.
    pub(super) due: Vec<Key>,
    /// By device: a depth in time is kept there. Elsewhere the streams' pace is.
    pub(super) timed: u32,
    /// Some stream has reached its limit.
    pub(super) long: bool,
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
    pub(super) fn look_at_ending(&mut self, sights: &mut [Observation], timed: u32, now: u64) {
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

/// The earlier of two times; 0 is none.
pub(super) fn earlier(one: u64, other: u64) -> u64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

impl Observation {
    /// So many calls run that no stream is left to be asked of.
    pub(super) fn runs(&mut self, calls: u32, begun: &mut u64, timed: bool, now: u64) {
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
