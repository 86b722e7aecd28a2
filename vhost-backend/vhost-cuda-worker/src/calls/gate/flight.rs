//! Tracks the commands that are queued in the driver, by stream.
//!
//! A channel of the GPU holds about a thousand commands. Queuing another one blocks the caller
//! until the GPU has finished one. The ring reader must never block in this way, because the GPU
//! may be waiting for something that arrives through the reader, such as the notification that a
//! host function has run. Therefore, the reader counts the commands that it has queued, and the
//! gate holds the commands for which there is no room.
//!
//! While the VM shares the GPU, the reader also measures times. It records events ("marks") in the
//! streams. The commands between two marks took the time between the GPU reaching one mark and the
//! other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cuda_api::sys::CUstream;

use protocol::ids::ContextId;

use super::device::{Observation, earlier};
use super::estimate::{Estimates, Kind};
use super::gpus::Gpus;
use super::marks::Marks;
use super::room::{LIMIT, MARK};
use super::stream::{Ending, Expected, Key, Orphan, Standing, Stream, StreamLook};
use crate::calls::lock::lock;
use crate::calls::tables::id_map::IdMap;
use host_ipc::gate;

/// A command counts once more for each of this many bytes of pageable memory that it copies,
/// because the driver also has limited staging memory.
const BYTES: usize = 4096;

/// A command that is about to be queued in the driver.
pub(in crate::calls) struct Queued {
    pub stream: CUstream,
    pub ctx: ContextId,
    /// The number of bytes of pageable memory that the driver copies for the command.
    pub bytes: usize,
    /// Whether the API table says that the command is gated, which means that it uses the GPU.
    pub gated: bool,
}

/// The commands queued in the driver. The functions that implement calls only add commands. The
/// gate does everything else.
#[derive(Default)]
pub(in crate::calls) struct InFlight {
    /// Only the ring reader's thread locks this mutex, so it may call the driver while it holds the
    /// lock.
    flight: Mutex<Flight>,
    /// Whether the streams must be marked or checked. The reader reads this flag after each
    /// command, without taking the lock.
    due: AtomicBool,
}

impl InFlight {
    /// Counts a command that is about to be queued. If its stream isn't known yet, calls `device`
    /// for the ordinal of the stream's GPU. Returns the command's sequence number in the session.
    pub(in crate::calls) fn add(&self, queued: Queued, device: impl FnOnce() -> usize) -> u64 {
        let mut flight = self.lock();
        if flight.add(queued, device) {
            self.due.store(true, Ordering::Relaxed);
        }
        flight.count
    }

    /// Returns whether the command with this number is the last one that was queued in a stream.
    /// Returns false if the stream has been destroyed, even if another stream now has the same
    /// handle.
    pub(in crate::calls) fn is_last(
        &self,
        (stream, ctx): (CUstream, ContextId),
        number: u64,
    ) -> bool {
        let flight = self.lock();
        flight.streams.get(&(stream as u64, ctx)).is_some_and(|stream| stream.last() == number)
    }

    /// Removes a stream that is about to be destroyed. Commands already queued in it still run to
    /// completion.
    pub(in crate::calls) fn forget(&self, stream: CUstream, ctx: ContextId) {
        let mut flight = self.lock();
        let Some(stream) = flight.streams.remove(&(stream as u64, ctx)) else { return };
        flight.total -= stream.weight();
        flight.orphans.extend(Orphan::of(stream));
    }

    /// Removes the streams of a context that is about to be destroyed. The context's work counts as
    /// running until the caller sets the returned flag, which it must do once the driver has
    /// destroyed the context.
    pub(in crate::calls) fn begin_end_of(&self, ctx: ContextId) -> Arc<AtomicBool> {
        let ended = Arc::new(AtomicBool::new(false));
        let (mut of, mut calls, mut begun) = (None, 0, 0);
        let mut add = |device, more, since| {
            of = Some(device);
            calls += more;
            begun = earlier(begun, since);
        };
        let mut flight = self.lock();
        let Flight { streams, orphans, ending, total, .. } = &mut *flight;
        for (_, stream) in streams.extract_if(|_, stream| stream.ctx() == ctx) {
            *total -= stream.weight();
            add(stream.device(), stream.calls(), stream.begun());
        }
        for orphan in orphans.extract_if(.., |orphan| orphan.ctx() == ctx) {
            add(orphan.device(), orphan.calls(), orphan.begun());
        }
        let of = of.filter(|_| calls > 0);
        ending.extend(of.map(|device| Ending::new(device, calls, begun, ended.clone())));
        ended
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Flight> {
        lock(&self.flight)
    }

    /// Returns whether [`InFlight::add`] has requested a check of the streams since this function
    /// was last called.
    #[inline]
    pub(super) fn take_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) && self.due.swap(false, Ordering::Relaxed)
    }
}

/// The result of checking all streams for finished commands.
pub(super) struct Look {
    /// The state of each GPU's gated calls, indexed by ordinal.
    pub seen: Vec<Observation>,
    /// Whether so many commands are queued in the driver that the gate must not let more through.
    pub full: bool,
}

/// The commands queued in the driver, by stream.
#[derive(Default)]
pub(super) struct Flight {
    streams: IdMap<Key, Stream>,
    /// The number of commands queued in all streams. A command that copies much pageable memory
    /// counts as several.
    total: u32,
    /// The number of commands that the session has queued so far, which is the number of the latest
    /// one.
    count: u64,
    orphans: Vec<Orphan>,
    ending: Vec<Ending>,
    /// The gated call that is about to be queued, with its estimated time. `None` if call times
    /// aren't being measured.
    expected: Option<Expected>,
    /// The stream in which the last call was queued, if no earlier call in that stream is
    /// unfinished and measured.
    fresh: Option<Key>,
    /// The streams in which a mark must be recorded.
    due: Vec<Key>,
    estimates: Estimates,
}

impl Flight {
    /// Counts a command. Returns whether the streams must be marked or checked after the command.
    fn add(&mut self, queued: Queued, device: impl FnOnce() -> usize) -> bool {
        let Queued { stream: real, ctx, bytes, gated } = queued;
        let weight = bytes.div_ceil(BYTES).max(1) as u32;
        let key = (real as u64, ctx);
        let stream = self.streams.entry(key).or_insert_with(|| Stream::new(real, ctx, device()));
        self.count += 1;
        let added = stream.add(self.count, weight, gated, self.expected.take());
        self.total += weight;
        if added.was_idle {
            self.fresh = Some(key);
        }
        if added.wants_mark {
            self.due.push(key);
        }
        added.wants_mark || stream.needs_mark() || self.total >= LIMIT
    }

    /// Returns whether no commands were in flight at the last check of the streams.
    pub(super) fn is_empty(&self) -> bool {
        self.total == 0 && self.orphans.is_empty() && self.ending.is_empty()
    }

    /// Stores the kind of the gated call that is about to be queued, so that [`Flight::add`] can
    /// count its estimated time.
    pub(super) fn expect(&mut self, kind: Kind, now: u64) {
        let (ns, known) = self.estimates.of(kind);
        self.expected = Some(Expected { kind, ns, known, now });
    }

    /// Records that the driver has queued the call given to [`Flight::expect`], or that the call
    /// was refused. The measurement of the call's time starts now, because the driver may have
    /// spent time on loading code before it queued the call.
    pub(super) fn has_begun(&mut self, measures: Option<u64>) {
        self.expected = None;
        if let Some(key) = self.fresh.take()
            && let Some(stream) = self.streams.get_mut(&key)
        {
            stream.begin(measures, gate::now());
        }
    }

    /// Returns the estimated time of one call of this kind, in ns.
    pub(super) fn estimate(&self, kind: Kind) -> u64 {
        self.estimates.of(kind).0
    }

    /// Returns the estimated time of the calls in flight in a stream, in ns. Returns `None` if no
    /// gated call is in flight there.
    pub(super) fn ahead(&self, key: Key) -> Option<u64> {
        self.streams.get(&key).and_then(Stream::estimated_ns)
    }

    /// Returns whether a call of this kind uses only a copy engine if it's the next one in a
    /// stream.
    pub(super) fn uses_only_copy_engine(&self, key: Option<Key>, kind: Kind) -> bool {
        let stream = key.and_then(|key| self.streams.get(&key));
        stream.map_or(kind.only_copies(), |stream| stream.uses_only_copy_engine(kind))
    }

    /// Records marks in the streams that need one. Returns whether all streams must now be checked
    /// for finished commands.
    pub(super) fn mark_due(&mut self, marks: &mut impl Marks) -> bool {
        for key in std::mem::take(&mut self.due) {
            if let Some(stream) = self.streams.get_mut(&key) {
                stream.mark(marks);
            }
        }
        self.total >= LIMIT || self.streams.values().any(Stream::needs_mark)
    }

    /// Records a mark after all gated commands in a stream that is about to be destroyed. The mark
    /// shows when those commands have finished, because the stream can't be queried once it's
    /// destroyed.
    pub(super) fn mark_end(&mut self, key: Key, marks: &mut impl Marks) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.mark_end(marks);
        }
    }

    /// Records a mark before a copy that takes long; see [`Stream::mark_before_copy`].
    pub(super) fn mark_before_copy(&mut self, key: Key, kind: Kind, marks: &mut impl Marks) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.mark_before_copy(self.estimates.of(kind).0, marks);
        }
    }

    /// Checks all streams: records marks in streams with many unmarked commands, and removes the
    /// commands that have finished. `full` is [`Look::full`] from the previous call, and `standing`
    /// contains the streams that are waiting for a host function or for a value in memory.
    pub(super) fn look(
        &mut self,
        gpus: &Gpus,
        full: bool,
        standing: &Standing,
        marks: &mut impl Marks,
        now: u64,
    ) -> Look {
        let mut seen = vec![Observation::default(); gpus.len()];
        // While the gate holds commands because the driver is full, query every stream, because
        // there may be many streams with a few finished commands each.
        let crowded = full || self.total >= LIMIT;
        let is_timed = |device| gpus.device(device).is_timed(now);
        self.ending.retain_mut(|ending| {
            let device = ending.device();
            ending.look(is_timed(device), &mut seen[device], now)
        });
        self.orphans.retain_mut(|orphan| {
            let device = orphan.device();
            orphan.look(is_timed(device), &mut seen[device], marks, now)
        });
        for (key, stream) in self.streams.iter_mut() {
            let device = stream.device();
            let look = StreamLook {
                device: gpus.device(device),
                timed: is_timed(device),
                crowded,
                stands: standing.contains(key),
                now,
            };
            self.total -= stream.look(look, &mut self.estimates, &mut seen[device], marks);
        }
        let full = self.total >= if full { LIMIT - MARK } else { LIMIT };
        Look { seen, full }
    }
}
