//! The channel between the control API's thread and the broker's event loop. It carries requests to
//! the event loop, and replies and events back. Sending never blocks on either side.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{broadcast, oneshot, watch};

use super::model::{
    ApiError, ErrorCode, Event, EventKind, GpuInfo, SessionInfo, Stats, VmInfo, VmPatch, VmSpec,
};
use super::trace_point::{TraceNames, TracePoint, Traces};
use host_ipc::eventfd::{drain, eventfd, notify};

/// Maximum number of requests waiting for the event loop.
const QUEUE: usize = 64;
/// Number of events by which a reader can lag behind before it misses some.
const EVENTS: usize = 1024;
/// Maximum wait for a reply. The event loop never blocks, so only the reply to a change can take
/// longer: it waits for the disk, or for the end of the processes of a removed VM.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request to the broker.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Adds a VM. The reply is `Response::Vm`.
    AddVm(Box<VmSpec>),
    /// Lists all VMs, sorted by name. The reply is `Response::Vms`.
    ListVms,
    /// Shows one VM. The reply is `Response::Vm`.
    ShowVm(String),
    /// Changes a VM. Applies either the whole patch or nothing. The reply is `Response::Vm`.
    SetVm(String, VmPatch),
    /// Resets a VM's settings to those in the configuration file. The reply is `Response::Vm`.
    ResetVm(String),
    /// Serves a VM again that has failed. The reply is `Response::Vm`.
    RestartVm(String),
    /// Pauses a VM, or resumes it if false. The reply is `Response::Vm`.
    SetPaused(String, bool),
    /// Removes a VM with its sessions and device process. The reply is `Response::Done`.
    RemoveVm(String),
    /// Lists the sessions of one VM or all VMs. The reply is `Response::Sessions`.
    ListSessions(Option<String>),
    /// Ends a session. The reply is `Response::Done`.
    KillSession {
        /// Name of the VM.
        vm: String,
        /// Session number.
        session: u32,
    },
    /// Lists all GPUs, sorted by index. The reply is `Response::Gpus`.
    ListGpus,
    /// Collects all statistics. The reply is `Response::Stats`.
    Stats,
    /// Makes the scheduler publish the current state of all VMs as trace points. The reply is
    /// `Response::TraceNames`.
    Trace,
}

impl Request {
    fn is_change(&self) -> bool {
        matches!(
            self,
            Self::AddVm(_)
                | Self::SetVm(..)
                | Self::ResetVm(_)
                | Self::RestartVm(_)
                | Self::SetPaused(..)
                | Self::RemoveVm(_)
                | Self::KillSession { .. }
        )
    }
}

/// The result of a successful request.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// One VM.
    Vm(Box<VmInfo>),
    /// A list of VMs.
    Vms(Vec<VmInfo>),
    /// A list of sessions.
    Sessions(Vec<SessionInfo>),
    /// A list of GPUs.
    Gpus(Vec<GpuInfo>),
    /// All statistics.
    Stats(Box<Stats>),
    /// The names for trace points.
    TraceNames(TraceNames),
    /// The request succeeded and has no result.
    Done,
}

/// The broker's reply to a request.
pub type Reply = Result<Response, ApiError>;

/// Creates the channel. Returns the API's end and the event loop's end.
pub fn channel() -> io::Result<(ControlHandle, ControlInbox)> {
    let (sender, receiver) = sync_channel(QUEUE);
    let wake = Arc::new(eventfd()?);
    let events =
        Events { sender: broadcast::Sender::new(EVENTS), next: Arc::new(AtomicU64::new(1)) };
    let asking = Arc::new(watch::Sender::new(()));
    let traces = Traces::default();
    let handle = ControlHandle {
        sender,
        wake: wake.clone(),
        events: events.clone(),
        traces: traces.clone(),
        asking,
    };
    Ok((handle, ControlInbox { receiver, wake, events, traces }))
}

/// The API's end of the channel.
#[derive(Clone, Debug)]
pub struct ControlHandle {
    sender: SyncSender<Asked>,
    wake: Arc<OwnedFd>,
    events: Events,
    traces: Traces,
    /// Each request that waits for its reply has a receiver of this channel. Nothing is sent.
    asking: Arc<watch::Sender<()>>,
}

impl ControlHandle {
    /// Sends a request to the broker and waits for the reply.
    pub async fn ask(&self, request: Request) -> Reply {
        let _asking = self.asking.subscribe();
        let is_change = request.is_change();
        let (answer, answered) = oneshot::channel();
        self.sender.try_send(Asked { request, answer }).map_err(|error| match error {
            TrySendError::Full(_) => ApiError::too_many_requests(),
            TrySendError::Disconnected(_) => ApiError::shutting_down(),
        })?;
        notify(&*self.wake);
        match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => Err(ApiError::shutting_down()),
            Err(_) => Err(timed_out(is_change)),
        }
    }

    /// Waits until no request waits for its reply.
    pub(super) async fn wait_for_idle(&self) {
        self.asking.closed().await;
    }

    /// Subscribes to events. A receiver that is too slow misses events and gets the number of
    /// missed events.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.sender.subscribe()
    }

    /// Subscribes to trace points.
    pub(super) fn traces(&self) -> broadcast::Receiver<TracePoint> {
        self.traces.subscribe()
    }
}

fn timed_out(is_change: bool) -> ApiError {
    let message = match is_change {
        true => "vcudad did not respond in time; the change may still be applied: check with GET",
        false => "vcudad's event loop does not respond; check vcudad's log",
    };
    ApiError::new(ErrorCode::Unavailable, message)
}

#[derive(Debug)]
struct Asked {
    request: Request,
    answer: oneshot::Sender<Reply>,
}

/// Sends the reply to a request. If the requester has disconnected, the reply is dropped.
#[derive(Debug)]
pub struct Answer(oneshot::Sender<Reply>);

impl Answer {
    /// Creates the reply to a request that nobody waits for.
    pub fn nobody() -> Self {
        Self(oneshot::channel().0)
    }

    /// Sends the reply.
    pub fn give(self, reply: Reply) {
        let _ = self.0.send(reply);
    }

    /// Returns true if nobody waits for the reply any longer.
    pub fn is_abandoned(&self) -> bool {
        self.0.is_closed()
    }
}

/// The event loop's end of the channel. Its descriptor is readable when there may be requests.
#[derive(Debug)]
pub struct ControlInbox {
    receiver: Receiver<Asked>,
    wake: Arc<OwnedFd>,
    events: Events,
    traces: Traces,
}

impl ControlInbox {
    /// Makes the descriptor unreadable again. Call this before [`Self::next`], so that no request
    /// is missed.
    pub fn acknowledge(&self) {
        drain(&self.wake);
    }

    /// Takes the next request, if any, with the means to reply to it.
    pub fn next(&self) -> Option<(Request, Answer)> {
        let Asked { request, answer } = self.receiver.try_recv().ok()?;
        Some((request, Answer(answer)))
    }

    /// Returns the event publisher, which can be cloned for other threads.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the publisher of trace points, which can be cloned for other threads.
    pub fn traces(&self) -> &Traces {
        &self.traces
    }
}

impl AsRawFd for ControlInbox {
    fn as_raw_fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }
}

/// Publishes events to all subscribers. Never blocks. If there are no subscribers, events are
/// dropped.
#[derive(Clone, Debug)]
pub struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    next: Arc<AtomicU64>,
}

/// The VM, session and GPU that an event concerns.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// Name of the VM.
    pub vm: Option<&'a str>,
    /// Number of the VM's session.
    pub session: Option<u32>,
    /// Index of the GPU.
    pub gpu: Option<u32>,
}

impl Events {
    /// Publishes an event with the current time.
    pub fn publish(&self, kind: EventKind, about: About<'_>, message: impl Into<String>) {
        let event = Event {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            time_ms: now_ms(),
            kind,
            vm: about.vm.map(str::to_owned),
            session: about.session,
            gpu: about.gpu,
            message: message.into(),
        };
        let _ = self.sender.send(Arc::new(event));
    }
}

/// Returns the current time in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_answered_and_events_received() {
        let (handle, inbox) = channel().unwrap();
        let mut events = handle.events();
        let service = std::thread::spawn(move || {
            loop {
                inbox.acknowledge();
                if let Some((request, answer)) = inbox.next() {
                    assert_eq!(request, Request::ListVms);
                    let about = About { vm: Some("a"), ..About::default() };
                    inbox.events().publish(EventKind::VmAdded, about, "added");
                    answer.give(Ok(Response::Done));
                    return;
                }
                std::thread::yield_now();
            }
        });
        assert_eq!(handle.ask(Request::ListVms).await, Ok(Response::Done));
        let event = events.recv().await.unwrap();
        assert_eq!((event.id, event.vm.as_deref()), (1, Some("a")));
        service.join().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_times_out_may_still_be_applied() {
        let (handle, inbox) = channel().unwrap();
        let error = handle.ask(Request::ListVms).await.unwrap_err();
        assert!(error.message.contains("does not respond"), "{error}");
        let error = handle.ask(Request::RemoveVm("a".into())).await.unwrap_err();
        assert!(error.message.contains("the change may still be applied"), "{error}");
        while let Some((_, answer)) = inbox.next() {
            assert!(answer.is_abandoned());
        }
        handle.wait_for_idle().await;
    }

    #[tokio::test]
    async fn without_an_event_loop_a_request_is_refused() {
        let (handle, inbox) = channel().unwrap();
        drop(inbox);
        let error = handle.ask(Request::Stats).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
    }
}
