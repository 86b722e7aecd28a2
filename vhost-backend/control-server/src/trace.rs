//! Streams trace records: which VM was on which GPU, and when.
//!
//! A reader that is too slow misses records, and gets the number of missed records.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use host_ipc::gate;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::time::Instant;

use super::handle::{ControlHandle, Reply, Request, Response as Answered};
use super::model::{ApiError, ErrorCode, TraceChange, TraceRecord};
use super::trace_point::{TraceNames, TracePoint};

/// Maximum number of traces at once.
const MAX_TRACERS: usize = 4;
/// Interval at which the tracer requests the VMs' memory use.
const MEMORY_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of records in one part of the response.
const BATCH: usize = 256;

/// Limits the number of traces.
#[derive(Clone)]
pub(super) struct Tracers(Arc<Semaphore>);

impl Default for Tracers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_TRACERS)))
    }
}

impl Tracers {
    /// Creates a response that streams records for as long as the client reads.
    pub(super) async fn answer(&self, handle: &ControlHandle) -> Result<Response, ApiError> {
        let place = self.0.clone().try_acquire_owned().map_err(|_| {
            let says = format!("there are {MAX_TRACERS} traces already; try again later");
            ApiError::new(ErrorCode::Unavailable, says)
        })?;
        // Subscribe first, so that no point is missed between the request for the current state and
        // the subscription.
        let points = handle.traces();
        let tracer = Tracer {
            names: names(handle.ask(Request::Trace).await)?,
            handle: handle.clone(),
            points,
            memory_at: Instant::now(),
            memory: HashMap::new(),
            missed: 0,
            _place: place,
        };
        let parts = stream::unfold(tracer, |mut tracer| async move {
            let text = tracer.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), tracer))
        });
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        Ok((headers, Body::from_stream(parts)).into_response())
    }
}

fn names(reply: Reply) -> Result<TraceNames, ApiError> {
    match reply? {
        Answered::TraceNames(names) => Ok(names),
        other => Err(other.unexpected()),
    }
}

struct Tracer {
    handle: ControlHandle,
    names: TraceNames,
    points: broadcast::Receiver<TracePoint>,
    /// Time at which the tracer next requests the VMs' memory use.
    memory_at: Instant,
    /// The memory use in the last record, by VM and GPU.
    memory: HashMap<(String, u32), u64>,
    /// Points that were missed since the last record.
    missed: u64,
    _place: OwnedSemaphorePermit,
}

impl Tracer {
    /// Waits for the next records. Returns `None` when there are no more.
    async fn next(&mut self) -> Option<String> {
        let mut text = String::new();
        match tokio::time::timeout_at(self.memory_at, self.points.recv()).await {
            Ok(Ok(point)) => self.add(point, &mut text).await,
            Ok(Err(RecvError::Lagged(count))) => self.missed += count,
            Ok(Err(RecvError::Closed)) => return None,
            Err(_) => {}
        }
        if self.memory_at <= Instant::now() {
            self.add_memory(&mut text).await;
            self.memory_at = Instant::now() + MEMORY_INTERVAL;
        }
        for _ in 0..BATCH {
            match self.points.try_recv() {
                Ok(point) => self.add(point, &mut text).await,
                Err(TryRecvError::Lagged(count)) => self.missed += count,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        if text.is_empty() {
            // Send an empty line as a keep-alive, because a disconnected reader is detected only
            // when a write fails.
            text.push('\n');
        }
        Some(text)
    }

    async fn add(&mut self, point: TracePoint, text: &mut String) {
        let TracePoint { time_ns, vm, gpu, change } = point;
        if !self.names.contains_key(&vm) {
            // The VM is new, so request the names again. That also publishes all states again,
            // which is harmless.
            if let Ok(names) = names(self.handle.ask(Request::Trace).await) {
                self.names = names;
            }
        }
        // If the VM has been removed since the point was published, its name is unknown, so skip
        // the point.
        let Some(vm) = self.names.get(&vm).cloned() else { return };
        self.write(TraceRecord { time_ns, vm, gpu, missed: 0, change }, text);
    }

    async fn add_memory(&mut self, text: &mut String) {
        let Ok(Answered::Stats(stats)) = self.handle.ask(Request::Stats).await else { return };
        let time_ns = gate::now();
        for vm in &stats.vms {
            for gpu in &vm.gpus {
                let used = gpu.memory_used;
                if self.memory.insert((vm.name.clone(), gpu.gpu), used) == Some(used) {
                    continue;
                }
                let (vm, gpu, change) = (vm.name.clone(), gpu.gpu, TraceChange::Memory { used });
                self.write(TraceRecord { time_ns, vm, gpu, missed: 0, change }, text);
            }
        }
        self.memory.retain(|(name, _), _| stats.vms.iter().any(|vm| vm.name == *name));
    }

    fn write(&mut self, mut record: TraceRecord, text: &mut String) {
        record.missed = std::mem::take(&mut self.missed);
        text.push_str(&serde_json::to_string(&record).unwrap_or_default());
        text.push('\n');
    }
}
