//! Lets calls wait for the GPU without blocking the ring reader.
//!
//! To wait for a stream, the worker records an event in it, and queries the event between commands
//! until the GPU has reached it. Commands that are queued in the stream later don't prolong the
//! wait.

use std::time::{Duration, Instant};

use std::sync::Arc;

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::{ContextId, EventId};

use crate::calls::commands::cx::Cx;
use crate::calls::commands::events::{EventPool, OBSERVER, query};
use crate::calls::commands::shared::Shared;
use crate::calls::lock::lock;
use crate::calls::memory::allocations::Freeing;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::ThreadStream;
use crate::driver::{CuError, CuResult};
use crate::executor::Pending;
use crate::reply::ReplyTo;

/// The maximum number of calls that wait at once. A guest thread waits for one call at a time, so
/// normally there are few.
const MAX_WAITS: usize = 4096;
/// If no wait has begun or ended for this long, the reader may sleep between polls. It polls
/// without sleeping before that, because waking it takes tens of microseconds. (With NVIDIA's
/// driver, a waiting thread spins during the whole wait.)
const PATIENCE: Duration = Duration::from_millis(2);
const SHORTEST_SLEEP: Duration = Duration::from_micros(20);
/// The longest sleep between polls in the first second in which no wait begins or ends. After that,
/// a sleep is a thousandth of the time that has passed, up to `LONGEST_LATE_SLEEP`, because polling
/// every 1 ms takes 2% of a processor.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
const LONGEST_LATE_SLEEP: Duration = Duration::from_millis(4);

/// The work that remains for a call after its wait.
pub(in crate::calls) enum Completion {
    /// Reply with the result of the wait.
    Answer(ReplyTo),
    /// Reply with this many bytes of outputs, which are already in the reply slot.
    InPlace(ReplyTo, usize),
    /// Free device memory. Then reply, if the guest is waiting for a reply.
    Free(Freeing, Option<ReplyTo>),
}

impl Completion {
    /// Replies with an error. Memory that was going to be freed stays allocated.
    fn fail(self, error: CuError) {
        match self {
            Self::Answer(reply) | Self::InPlace(reply, _) | Self::Free(_, Some(reply)) => {
                reply.finish(error.0, &[]);
            }
            Self::Free(_, None) => {}
        }
    }
}

/// The event or events for which a call waits.
enum Awaited {
    /// An event from the pool, recorded for this wait in one stream.
    Event(DriverHandle<CUevent>),
    /// Events from the pool, recorded for this wait in several streams.
    Events(Vec<DriverHandle<CUevent>>),
    /// An event that the guest created, by its id.
    Guest(EventId),
}

impl Awaited {
    /// Returns success if the GPU has reached all the events, or else CUDA_ERROR_NOT_READY. Returns
    /// events of a list to the pool as soon as the GPU has reached them.
    fn query(&mut self, cx: &Cx<'_>, events: &mut EventPool) -> CuResult {
        match self {
            Self::Event(event) => query(cx, *event),
            Self::Events(list) => {
                while let Some(event) = list.last() {
                    query(cx, *event)?;
                    list.pop().into_iter().for_each(|event| events.give_back(cx.ctx, event));
                }
                Ok(())
            }
            Self::Guest(id) => query_guest(cx, *id),
        }
    }

    /// Returns the events to the pool, except one that the guest created.
    fn give_back(self, ctx: ContextId, events: &mut EventPool) {
        match self {
            Self::Event(event) => events.give_back(ctx, event),
            Self::Events(list) => list.into_iter().for_each(|event| events.give_back(ctx, event)),
            Self::Guest(_) => {}
        }
    }
}

/// The streams of a context for which a call waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::calls) enum Which {
    All,
    /// The legacy stream, and those that synchronize with it.
    Blocking,
}

struct Waiting {
    ctx: ContextId,
    awaited: Awaited,
    completion: Completion,
    /// Whether the GPU writes a completion word when the wait ends.
    has_word: bool,
}

/// A wait that has ended, with the work that remains to do for the call.
pub(in crate::calls) struct Finished {
    pub ctx: ContextId,
    pub result: CuResult,
    pub completion: Completion,
}

/// All calls in the session that are waiting for the GPU.
#[derive(Default)]
pub(in crate::calls) struct Waits {
    list: Vec<Waiting>,
    /// The time since which no wait has begun or ended.
    quiet_since: Option<Instant>,
}

impl Waits {
    pub(in crate::calls) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of calls that are waiting.
    pub(in crate::calls) fn len(&self) -> usize {
        self.list.len()
    }

    /// Begins a wait for the commands now queued in a stream. `has_word` says whether the GPU
    /// writes a completion word after them. If the wait can't begin, returns the error and the
    /// completion.
    pub(in crate::calls) fn add_stream(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        (stream, ctx): (CUstream, ContextId),
        has_word: bool,
        completion: Completion,
    ) -> Option<(CuResult, Completion)> {
        match events.record(cx, stream, ctx) {
            Ok(event) => {
                let awaited = Awaited::Event(event);
                self.add(Waiting { ctx, awaited, completion, has_word }, events);
                None
            }
            Err(error) => Some((Err(error), completion)),
        }
    }

    /// Begins a wait for the commands now queued in the streams of the current context that `which`
    /// selects. If exactly one of these streams has unfinished commands, calls `arm`, which returns
    /// whether the GPU writes a completion word in that stream. If none of them has unfinished
    /// commands, or if the wait can't begin, returns the result and the completion.
    pub(in crate::calls) fn add_streams(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        which: Which,
        completion: Completion,
        arm: impl FnOnce(CUstream) -> bool,
    ) -> Option<(CuResult, Completion)> {
        let mut has_word = false;
        match record_all(cx, events, which, |stream| has_word = arm(stream)) {
            Ok(list) if list.is_empty() => Some((Ok(()), completion)),
            Ok(list) => {
                let awaited = Awaited::Events(list);
                self.add(Waiting { ctx: cx.ctx, awaited, completion, has_word }, events);
                None
            }
            Err(error) => Some((Err(error), completion)),
        }
    }

    /// Begins a wait for one of the guest's events. `has_word` says whether the GPU writes a
    /// completion word after it. If the GPU has already reached the event, or if the wait can't
    /// begin, returns the result and the completion.
    pub(in crate::calls) fn add_event(
        &mut self,
        cx: &Cx<'_>,
        events: &mut EventPool,
        id: EventId,
        has_word: bool,
        completion: Completion,
    ) -> Option<(CuResult, Completion)> {
        match query_guest(cx, id) {
            Err(CuError::NOT_READY) => {
                let awaited = Awaited::Guest(id);
                self.add(Waiting { ctx: cx.ctx, awaited, completion, has_word }, events);
                None
            }
            done => Some((done, completion)),
        }
    }

    fn add(&mut self, waiting: Waiting, events: &mut EventPool) {
        let answers = matches!(waiting.completion, Completion::Answer(_) | Completion::InPlace(..));
        if self.list.len() >= MAX_WAITS && answers {
            waiting.awaited.give_back(waiting.ctx, events);
            waiting.completion.fail(CuError::OUT_OF_MEMORY);
            return;
        }
        self.list.push(waiting);
        self.quiet_since = None;
    }

    /// Removes and returns the first wait from position `index` that has ended. Advances `index`
    /// past waits that haven't ended.
    pub(in crate::calls) fn next_finished(
        &mut self,
        shared: &Arc<Shared>,
        events: &mut EventPool,
        index: &mut usize,
    ) -> Option<Finished> {
        while let Some(waiting) = self.list.get_mut(*index) {
            let ctx = waiting.ctx;
            let result = waiting.awaited.query(&Cx { shared, thread: 0, ctx }, events);
            if result == Err(CuError::NOT_READY) {
                *index += 1;
                continue;
            }
            let Waiting { awaited, completion, .. } = self.list.swap_remove(*index);
            awaited.give_back(ctx, events);
            return Some(Finished { ctx, result, completion });
        }
        None
    }

    /// Returns when to poll the waits again. `any_ended` says whether any wait had ended at the
    /// last poll.
    pub(in crate::calls) fn next_poll(&mut self, any_ended: bool) -> Pending {
        let now = Instant::now();
        if any_ended {
            self.quiet_since = Some(now);
            return Pending::Soon;
        }
        let quiet = now.duration_since(*self.quiet_since.get_or_insert(now));
        if quiet < PATIENCE {
            let all_have_words = self.list.iter().all(|waiting| waiting.has_word);
            if all_have_words { Pending::Shortly } else { Pending::Soon }
        } else {
            let longest = (quiet / 1000).clamp(LONGEST_SLEEP, LONGEST_LATE_SLEEP);
            Pending::Within((quiet / 64).clamp(SHORTEST_SLEEP, longest))
        }
    }

    /// Replies to all waiting calls with `error`.
    pub(in crate::calls) fn fail_all(&mut self, error: CuError) {
        for waiting in std::mem::take(&mut self.list) {
            waiting.completion.fail(error);
        }
    }

    /// Ends all waits in a context that is about to be destroyed. Returns the memory that the calls
    /// were about to free, each with its reply. The caller must free the memory once the context
    /// has been destroyed.
    pub(in crate::calls) fn end_of(&mut self, ctx: ContextId) -> Vec<(Freeing, Option<ReplyTo>)> {
        let mut freeing = Vec::new();
        let mut index = 0;
        while index < self.list.len() {
            if self.list[index].ctx != ctx {
                index += 1;
                continue;
            }
            match self.list.swap_remove(index).completion {
                Completion::Free(memory, reply) => freeing.push((memory, reply)),
                completion => completion.fail(CuError::CONTEXT_IS_DESTROYED),
            }
        }
        freeing
    }
}

/// Records an event in each stream of the current context that must be waited for, after all
/// commands that are queued there. If there is exactly one such stream, calls `arm` before
/// recording the event.
fn record_all(
    cx: &Cx<'_>,
    events: &mut EventPool,
    which: Which,
    arm: impl FnOnce(CUstream),
) -> CuResult<Vec<DriverHandle<CUevent>>> {
    cx.enter()?;
    let mut list = Vec::new();
    let recorded = busy_streams(cx, which).and_then(|streams| {
        if let [stream] = &*streams {
            arm(stream.0);
        }
        streams.into_iter().try_for_each(|stream| {
            list.push(events.record(cx, stream.0, cx.ctx)?);
            Ok(())
        })
    });
    if let Err(error) = recorded {
        list.into_iter().for_each(|event| events.give_back(cx.ctx, event));
        return Err(error);
    }
    Ok(list)
}

/// Returns whether none of the streams that synchronize with the legacy stream of the current
/// context has unfinished commands of the guest.
pub(in crate::calls) fn only_legacy_is_busy(cx: &Cx<'_>) -> bool {
    let key = ThreadStream { thread: OBSERVER, ctx: cx.ctx };
    let observer = lock(&cx.shared.tables).thread_streams.of.get(&key).map(|of| of.real.0);
    let busy = cx.enter().and_then(|_| busy_streams(cx, Which::Blocking));
    busy.is_ok_and(|all| all.iter().all(|one| one.0.is_null() || Some(one.0) == observer))
}

/// Returns the streams of the current context in which the worker must record events in order to
/// wait for the streams that `which` selects.
///
/// A single event in the legacy stream would cover all streams that synchronize with it. But their
/// later commands would then wait for the event, and so for the earlier commands of all these
/// streams, such as another thread's host function. Therefore, the legacy stream is used only if no
/// stream that synchronizes with it is busy. An event in one of those streams also follows the
/// legacy stream's commands.
fn busy_streams(cx: &Cx<'_>, which: Which) -> CuResult<Vec<DriverHandle<CUstream>>> {
    // SAFETY: the streams are live, because only this thread removes streams from the tables.
    let busy = |stream| match unsafe { cx.driver().cuStreamQuery(stream) } {
        Ok(()) => Ok(false),
        Err(CuError::NOT_READY) => Ok(true),
        Err(error) => Err(error),
    };
    let tables = &mut *lock(&cx.shared.tables);
    let context = tables.contexts.get_mut(cx.ctx).map_err(|_| CuError::INVALID_CONTEXT)?;
    let (mut streams, mut others) = (Vec::new(), Vec::new());
    // Query the legacy stream even if no event will be recorded in it, because the query reports
    // whether a kernel has failed in the context. If the legacy stream is empty, so is every stream
    // that synchronizes with it.
    let legacy = busy(std::ptr::null_mut())?;
    context.legacy_used &= legacy;
    if legacy {
        for stream in tables.thread_streams.in_context(cx.ctx) {
            if busy(stream.real.0)? {
                streams.push(stream.real);
            }
        }
    }
    for stream in tables.streams.values_mut() {
        let counts = if stream.blocking { legacy } else { which == Which::All };
        if stream.ctx == cx.ctx && stream.used && counts {
            stream.used = busy(stream.real.0)?;
            if stream.used {
                let list = if stream.blocking { &mut streams } else { &mut others };
                list.push(stream.real);
            }
        }
    }
    if streams.is_empty() && context.legacy_used {
        streams.push(DriverHandle(std::ptr::null_mut()));
    }
    streams.append(&mut others);
    Ok(streams)
}

/// Returns success if the GPU has reached one of the guest's events, or else CUDA_ERROR_NOT_READY.
/// Returns CUDA_ERROR_INVALID_HANDLE if the guest has destroyed the event during the wait.
pub(in crate::calls) fn query_guest(cx: &Cx<'_>, id: EventId) -> CuResult {
    let event = cx.event(id)?;
    // SAFETY: the event is live, because only this thread removes events from the tables.
    unsafe { cx.driver().cuEventQuery(event) }
}
