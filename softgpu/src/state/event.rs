//! Events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::context::Context;
use super::errors::Errors;
use super::handles::{Kind, Table};
use super::queue::Mark;
use super::stream::Stream;
use cuda_api::error::{CuError, CuResult};

/// All events, by handle.
pub(crate) static EVENTS: Table<Event> = Table::new(Kind::Event);

/// The latest record of an event: the event's position in a stream, and the time at which the
/// stream reached that position.
#[derive(Clone)]
struct Record {
    mark: Mark,
    nanoseconds: Arc<AtomicU64>,
}

/// A CUDA event and its latest record.
pub(crate) struct Event {
    pub(crate) context: Arc<Context>,
    pub(crate) timing: bool,
    record: Mutex<Option<Record>>,
}

/// Returns the current time in nanoseconds, for event timestamps. It is never 0.
pub(crate) fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

impl Event {
    pub(crate) fn new(context: Arc<Context>, timing: bool) -> Self {
        Self { context, timing, record: Mutex::new(None) }
    }

    fn current(&self) -> Option<Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn record(&self, stream: &Stream) {
        let nanoseconds = Arc::new(AtomicU64::new(0));
        let mark = if stream.idle() {
            nanoseconds.store(now(), Ordering::Release);
            stream.queue.mark()
        } else {
            let cell = nanoseconds.clone();
            stream.submit(move |_| cell.store(now(), Ordering::Release))
        };
        self.set(mark, nanoseconds);
    }

    /// Records the event after all work that its context has.
    pub(crate) fn record_context(&self) {
        let nanoseconds = Arc::new(AtomicU64::new(0));
        let cell = nanoseconds.clone();
        let stamp = move |_: &Errors| cell.store(now(), Ordering::Release);
        let mark = self.context.after_all(Box::new(stamp));
        self.set(mark, nanoseconds);
    }

    /// Sets the event's position in a stream. When the stream reaches this position, it stores the
    /// time in `nanoseconds`.
    pub(crate) fn set(&self, mark: Mark, nanoseconds: Arc<AtomicU64>) {
        let record = Record { mark, nanoseconds };
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }

    /// Returns the event's position in its stream, or `None` if the event was never recorded or the
    /// stream has already reached the position.
    pub(crate) fn pending(&self) -> Option<Mark> {
        self.current().map(|r| r.mark).filter(|mark| !mark.reached())
    }

    pub(crate) fn wait(&self) {
        if let Some(mark) = self.pending() {
            mark.wait();
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
        let (a, b) = (a.nanoseconds.load(Ordering::Acquire), b.nanoseconds.load(Ordering::Acquire));
        Ok((b as f64 - a as f64) as f32 / 1e6)
    }
}
