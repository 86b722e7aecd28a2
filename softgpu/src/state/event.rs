//! Events and their records.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::context::Context;
use super::errors::Errors;
use super::handles::{Kind, Table};
use super::queue::Mark;
use super::shared_event::SharedEvent;
use super::stream::Stream;
use cuda_api::error::{CuError, CuResult};

/// All events, by handle.
pub(crate) static EVENTS: Table<Event> = Table::new(Kind::Event);

/// One record of an event. The stream may not have reached it yet.
pub(crate) struct Recording {
    /// The time at which the stream reached the event's position, or 0 before that.
    nanoseconds: AtomicU64,
    /// For an interprocess event, its shared state and the number of this record in it.
    shared: Option<(Arc<SharedEvent>, u64)>,
}

impl Recording {
    /// Reports that the stream has reached the event's position.
    pub(crate) fn reach(&self) {
        self.nanoseconds.store(now(), Ordering::Release);
        if let Some((event, record)) = &self.shared {
            event.reach(*record);
        }
    }
}

/// The latest record of an event, with its position in a stream.
#[derive(Clone)]
struct Record {
    mark: Mark,
    recording: Arc<Recording>,
}

/// The work that an event marks, for which a wait on the event must wait.
pub(crate) enum Awaited {
    /// A position in a stream of this process.
    Mark(Mark),
    /// A record of an interprocess event, which another process may have made.
    Shared(Arc<SharedEvent>, u64),
}

impl Awaited {
    pub(crate) fn wait(&self) {
        match self {
            Self::Mark(mark) => mark.wait(),
            Self::Shared(event, record) => event.wait(*record),
        }
    }
}

/// A CUDA event and its latest record.
pub(crate) struct Event {
    pub(crate) context: Arc<Context>,
    pub(crate) timing: bool,
    /// The state that processes share, if this is an interprocess event.
    pub(crate) shared: Option<Arc<SharedEvent>>,
    record: Mutex<Option<Record>>,
}

/// Returns the current time in nanoseconds, for event timestamps. It is never 0.
pub(crate) fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

impl Event {
    pub(crate) fn new(context: Arc<Context>, timing: bool) -> Self {
        Self { context, timing, shared: None, record: Mutex::new(None) }
    }

    /// Creates an interprocess event from its shared state.
    pub(crate) fn interprocess(context: Arc<Context>, shared: SharedEvent) -> Self {
        let shared = Some(Arc::new(shared));
        Self { context, timing: false, shared, record: Mutex::new(None) }
    }

    /// Starts a record of the event. The caller must queue a call of [`Recording::reach`] in a
    /// stream, and pass the record to [`Event::set`].
    pub(crate) fn begin(&self) -> Arc<Recording> {
        let shared = self.shared.clone().map(|event| {
            let record = event.record();
            (event, record)
        });
        Arc::new(Recording { nanoseconds: AtomicU64::new(0), shared })
    }

    fn current(&self) -> Option<Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn record(&self, stream: &Stream) {
        let recording = self.begin();
        let mark = if stream.idle() {
            recording.reach();
            stream.queue.mark()
        } else {
            let reached = recording.clone();
            stream.submit(move |_| reached.reach())
        };
        self.set(mark, recording);
    }

    /// Records the event after all work that a context has now.
    pub(crate) fn record_context(&self, context: &Context) {
        let recording = self.begin();
        let reached = recording.clone();
        let mark = context.after_all(Box::new(move |_: &Errors| reached.reach()));
        self.set(mark, recording);
    }

    /// Sets the event's latest record, which is at a position in a stream. `recording` completes
    /// when the stream reaches that position.
    pub(crate) fn set(&self, mark: Mark, recording: Arc<Recording>) {
        let record = Record { mark, recording };
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }

    /// Returns the work that the event marks. Returns `None` if the event was never recorded, or if
    /// that work has finished.
    pub(crate) fn pending(&self) -> Option<Awaited> {
        if let Some(shared) = &self.shared {
            let record = shared.latest();
            let pending = !shared.is_reached(record);
            return pending.then(|| Awaited::Shared(shared.clone(), record));
        }
        self.current().map(|r| r.mark).filter(|mark| !mark.reached()).map(Awaited::Mark)
    }

    pub(crate) fn wait(&self) {
        if let Some(awaited) = self.pending() {
            awaited.wait();
        }
    }

    /// Returns the time from `start` to this event in milliseconds.
    pub(crate) fn since(&self, start: &Event) -> CuResult<f32> {
        if !self.timing || !start.timing {
            return Err(CuError::INVALID_HANDLE);
        }
        let (Some(a), Some(b)) = (start.current(), self.current()) else {
            return Err(CuError::INVALID_HANDLE);
        };
        if !a.mark.reached() || !b.mark.reached() {
            return Err(CuError::NOT_READY);
        }
        let time = |record: &Record| record.recording.nanoseconds.load(Ordering::Acquire);
        let (a, b) = (time(&a), time(&b));
        Ok((b as f64 - a as f64) as f32 / 1e6)
    }
}
