//! Tracks the streams that wait for a value in memory, or for an event of another process.
//!
//! A waiting stream doesn't use the GPU, and the wait may never end. The gate must know these
//! streams, as it must know those that wait for a host function. Therefore, the worker records one
//! event before each wait and one after it. While the GPU has reached the first event but not the
//! second, the stream is waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use cuda_api::sys::CUevent;

use protocol::ids::ContextId;

use crate::calls::gate::{Key, Marks, Standing};
use crate::calls::lock::lock;
use crate::calls::tables::driver_handle::DriverHandle;

/// The maximum number of waits that are queued or in progress at once.
const MAX_QUEUED: usize = 1 << 16;

/// A wait that is queued in a stream or in progress, with the events recorded before it (`before`)
/// and after it (`behind`).
pub(in crate::calls) struct ValueWait {
    pub before: DriverHandle<CUevent>,
    pub behind: DriverHandle<CUevent>,
}

impl ValueWait {
    fn give_back(self, ctx: ContextId, marks: &mut impl Marks) {
        marks.give_back(ctx, self.before);
        marks.give_back(ctx, self.behind);
    }
}

#[derive(Default)]
struct Queues {
    /// The waits in each stream, in the order in which they were queued.
    streams: HashMap<Key, VecDeque<ValueWait>>,
    /// The waits in destroyed streams, with their contexts. They aren't listed by stream, because
    /// the driver may have reused the streams' handles.
    destroyed: Vec<(ContextId, ValueWait)>,
    count: usize,
}

impl Queues {
    /// Removes the waits that have ended.
    fn prune(&mut self, marks: &mut impl Marks) {
        let Self { streams, destroyed, count } = self;
        streams.retain(|(_, ctx), waits| {
            while let Some(wait) = waits.pop_front_if(|wait| marks.is_reached(wait.behind)) {
                wait.give_back(*ctx, marks);
                *count -= 1;
            }
            !waits.is_empty()
        });
        let (ended, left): (Vec<_>, Vec<_>) =
            std::mem::take(destroyed).into_iter().partition(|(_, w)| marks.is_reached(w.behind));
        *destroyed = left;
        for (ctx, wait) in ended {
            wait.give_back(ctx, marks);
            *count -= 1;
        }
    }
}

/// All waits of the session that are queued or in progress. Only the ring reader's thread uses
/// them.
#[derive(Default)]
pub(in crate::calls) struct ValueWaits {
    queues: Mutex<Queues>,
}

impl ValueWaits {
    /// Returns whether one more wait may be queued.
    pub(in crate::calls) fn has_room(&self, marks: &mut impl Marks) -> bool {
        let mut queues = lock(&self.queues);
        if queues.count >= MAX_QUEUED {
            queues.prune(marks);
        }
        queues.count < MAX_QUEUED
    }

    /// Adds a wait that was queued in a stream, after all earlier waits in the stream.
    pub(in crate::calls) fn add(&self, stream: Key, wait: ValueWait) {
        let mut queues = lock(&self.queues);
        queues.streams.entry(stream).or_default().push_back(wait);
        queues.count += 1;
    }

    /// Adds the streams that are waiting for a value to `standing`.
    pub(in crate::calls) fn add_standing(&self, marks: &mut impl Marks, standing: &mut Standing) {
        let mut queues = lock(&self.queues);
        if queues.count == 0 {
            return;
        }
        queues.prune(marks);
        let is_waiting =
            |waits: &VecDeque<ValueWait>| waits.front().is_some_and(|w| marks.is_reached(w.before));
        let waiting = queues.streams.iter().filter(|(_, waits)| is_waiting(waits));
        standing.extend(waiting.map(|(key, _)| *key));
    }

    /// Records that a stream is being destroyed, so that its waits aren't taken for those of a
    /// later stream with the same handle.
    pub(in crate::calls) fn forget(&self, key: Key) {
        let mut queues = lock(&self.queues);
        if let Some(waits) = queues.streams.remove(&key) {
            queues.destroyed.extend(waits.into_iter().map(|wait| (key.1, wait)));
        }
    }

    /// Removes the waits in a context that is about to be destroyed. The driver destroys their
    /// events with the context.
    pub(in crate::calls) fn forget_context(&self, ended: ContextId) {
        let mut queues = lock(&self.queues);
        let Queues { streams, destroyed, count } = &mut *queues;
        streams.retain(|(_, ctx), _| *ctx != ended);
        destroyed.retain(|(ctx, _)| *ctx != ended);
        *count = streams.values().map(VecDeque::len).sum::<usize>() + destroyed.len();
    }
}
