//! Streams events to readers, which may be slow or disconnected. A reader that falls behind misses
//! events and receives the number of missed events. If a reader stops reading, its connection times
//! out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::handle::{ControlHandle, now_ms};
use super::model::{ApiError, ErrorCode, Event, EventKind};

/// Maximum number of readers at once. It is below the connection limit, so readers can't use up all
/// connections.
const MAX_READERS: usize = 32;
/// Interval between keep-alives. A disconnected reader is detected only when a write fails, because
/// until then it looks the same as a reader that has shut down only its sending side.
const STILL_HERE: Duration = Duration::from_secs(2);

/// Limits the number of readers.
#[derive(Clone)]
pub(super) struct Readers(Arc<Semaphore>);

impl Default for Readers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_READERS)))
    }
}

#[derive(Clone, Copy)]
enum Form {
    Lines,
    ServerSent,
}

impl Form {
    fn wanted(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        match accept {
            Some(accept) if accept.contains("text/event-stream") => Self::ServerSent,
            _ => Self::Lines,
        }
    }

    fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Lines => "application/x-ndjson",
            Self::ServerSent => "text/event-stream",
        })
    }

    fn event(self, event: &Event) -> String {
        let json = serde_json::to_string(event).unwrap_or_default();
        match self {
            Self::Lines => format!("{json}\n"),
            Self::ServerSent => {
                format!("id: {}\nevent: {}\ndata: {json}\n\n", event.id, event.kind.name())
            }
        }
    }

    fn nothing(self) -> String {
        match self {
            Self::Lines => "\n".into(),
            Self::ServerSent => ":\n\n".into(),
        }
    }
}

struct Reader {
    /// Events from before the request that haven't been sent yet. They are sent before new events.
    past: VecDeque<Arc<Event>>,
    events: Receiver<Arc<Event>>,
    form: Form,
    _place: OwnedSemaphorePermit,
}

impl Reader {
    /// Waits for the next text to send. Returns `None` when there are no more events.
    async fn next(&mut self) -> Option<String> {
        if let Some(event) = self.past.pop_front() {
            return Some(self.form.event(&event));
        }
        match tokio::time::timeout(STILL_HERE, self.events.recv()).await {
            Ok(Ok(event)) => Some(self.form.event(&event)),
            Ok(Err(RecvError::Lagged(count))) => {
                let event = Event {
                    id: 0,
                    time_ms: now_ms(),
                    kind: EventKind::Missed,
                    vm: None,
                    session: None,
                    gpu: None,
                    uid: None,
                    reason: None,
                    message: format!("missed {count} events before the next one"),
                };
                Some(self.form.event(&event))
            }
            Ok(Err(RecvError::Closed)) => None,
            Err(_) => Some(self.form.nothing()),
        }
    }
}

impl Readers {
    /// Creates a response that streams events for as long as the client reads, preceded by past
    /// events since a time, if the client has requested them.
    pub(super) fn answer(
        &self,
        handle: &ControlHandle,
        since_ms: Option<u64>,
        headers: &HeaderMap,
    ) -> Result<Response, ApiError> {
        let place = self.0.clone().try_acquire_owned().map_err(|_| {
            let says = format!("{MAX_READERS} clients are already reading events; try again later");
            ApiError::new(ErrorCode::Unavailable, says)
        })?;
        let form = Form::wanted(headers);
        let (past, events) = match since_ms {
            Some(time) => handle.events_since(time),
            None => (VecDeque::new(), handle.events()),
        };
        let reader = Reader { past, events, form, _place: place };
        let events = stream::unfold(reader, |mut reader| async move {
            let text = reader.next().await?;
            Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), reader))
        });
        let headers = [
            (header::CONTENT_TYPE, form.content_type()),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        Ok((headers, Body::from_stream(events)).into_response())
    }
}
