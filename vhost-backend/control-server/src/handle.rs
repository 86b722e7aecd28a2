//! The channel between the control API's thread and the broker's event loop. It carries requests to
//! the event loop, and replies and events back. Sending never blocks on either side.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{Semaphore, broadcast, oneshot, watch};

use super::model::{
    ApiError, ConfigCheck, EndReason, ErrorCode, Event, EventKind, GpuInfo, SessionInfo, Stats,
    UsageReport, VmInfo, VmPatch, VmSpec,
};
use super::trace_point::{TraceNames, TracePoint, Traces};
use host_ipc::eventfd::{drain, eventfd, notify};

/// Maximum number of requests waiting for the event loop.
const QUEUE: usize = 64;
/// Maximum number of waiting requests from all clients of the read socket together, and separately
/// from all clients that read metrics. It is lower than [`QUEUE`], so that these clients leave room
/// for requests from the control socket.
const READER_QUEUE: usize = 16;
/// Number of events by which a reader can lag behind before it misses events, and number of past
/// events that a new reader can get.
const EVENTS: usize = 1024;
/// Maximum wait for a reply. The event loop never blocks, so only the reply to a change can take
/// that long, because the broker sends it when the change is on disk or the processes of a removed
/// VM have ended.
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
    /// Pauses a VM if the flag is true, and resumes the VM if the flag is false. The reply is
    /// `Response::Vm`.
    SetPaused(String, bool),
    /// Takes a VM's memory off its GPUs if the flag is true, and puts it back if the flag is false.
    /// The reply, `Response::Vm`, doesn't wait for the end of that.
    SwapVm(String, bool),
    /// Adds a VM again that was removed. The reply is `Response::Vm`.
    RestoreVm(String),
    /// Removes a VM with its sessions and device process. The reply is `Response::Done`.
    RemoveVm {
        /// The VM's name.
        name: String,
        /// Refuse to remove a VM that has sessions.
        if_idle: bool,
    },
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
    /// Collects all statistics, and replies once the counters in them have been saved. The reply is
    /// `Response::Stats`.
    Metrics,
    /// Returns the VMs' usage per month, starting with the month that contains the time `since_ms`.
    /// The reply is `Response::Usage`.
    Usage {
        /// The time, in milliseconds since 1970.
        since_ms: u64,
    },
    /// Checks whether a configuration file with this text could be applied. The reply is
    /// `Response::Checked`.
    CheckConfig(String),
    /// Makes the scheduler publish the current state of all VMs as trace points. The reply is
    /// `Response::TraceNames`.
    Trace,
}

impl Request {
    /// Returns true if the request may change the broker's state.
    pub fn is_change(&self) -> bool {
        matches!(
            self,
            Self::AddVm(_)
                | Self::SetVm(..)
                | Self::ResetVm(_)
                | Self::RestartVm(_)
                | Self::SetPaused(..)
                | Self::SwapVm(..)
                | Self::RestoreVm(_)
                | Self::RemoveVm { .. }
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
    /// The usage of VMs.
    Usage(Box<UsageReport>),
    /// The result of a check of a configuration file.
    Checked(ConfigCheck),
    /// The names for trace points.
    TraceNames(TraceNames),
    /// The request succeeded, and its reply contains no data.
    Done,
}

impl Response {
    /// Logs that the reply has the wrong type for its request, and returns the error for the
    /// client.
    pub(super) fn unexpected(&self) -> ApiError {
        tracing::error!("unexpected reply from the broker: {self:?}");
        let says = "unexpected reply from vcudad's event loop; please report this bug";
        ApiError::new(ErrorCode::Internal, says)
    }
}

/// The broker's reply to a request.
pub type Reply = Result<Response, ApiError>;

/// Creates the channel. Returns the API's end and the event loop's end.
pub fn channel() -> io::Result<(ControlHandle, ControlInbox)> {
    let (sender, receiver) = sync_channel(QUEUE);
    let wake = Arc::new(eventfd()?);
    let events = Events { sender: broadcast::Sender::new(EVENTS), past: Arc::default() };
    let asking = Arc::new(watch::Sender::new(()));
    let traces = Traces::default();
    let handle = ControlHandle {
        sender,
        places: None,
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
    /// Limits the number of waiting requests, if this handle is for readers. `None` for the control
    /// socket.
    places: Option<Arc<Semaphore>>,
    wake: Arc<OwnedFd>,
    events: Events,
    traces: Traces,
    /// Each request that waits for its reply holds a receiver of this channel, so that
    /// [`Self::wait_for_idle`] can wait until there are no receivers. No values are sent on this
    /// channel.
    asking: Arc<watch::Sender<()>>,
}

impl ControlHandle {
    /// Returns a handle for clients that only read. It limits their waiting requests to
    /// [`READER_QUEUE`], so that they can't use up all of [`QUEUE`].
    pub(super) fn of_readers(&self) -> Self {
        Self { places: Some(Arc::new(Semaphore::new(READER_QUEUE))), ..self.clone() }
    }

    /// Sends a request to the broker, without a user ID, and waits for the reply.
    pub async fn ask(&self, request: Request) -> Reply {
        self.ask_for(None, request).await
    }

    /// Sends a request of the user with this ID to the broker, and waits for the reply.
    pub async fn ask_for(&self, uid: Option<u32>, request: Request) -> Reply {
        let place = self.places.as_ref().map(|places| places.try_acquire()).transpose();
        let _place = place.map_err(|_| ApiError::too_many_requests())?;
        let _asking = self.asking.subscribe();
        let is_change = request.is_change();
        let (answer, answered) = oneshot::channel();
        self.sender.try_send(Asked { request, uid, answer }).map_err(|error| match error {
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

    /// Subscribes to events. Also returns the past events, out of the last [`EVENTS`], that aren't
    /// older than the given time. Together, the past events and the subscription contain each event
    /// exactly once.
    pub(super) fn events_since(
        &self,
        time_ms: u64,
    ) -> (VecDeque<Arc<Event>>, broadcast::Receiver<Arc<Event>>) {
        let past = self.events.past.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = past.last.iter().filter(|event| event.time_ms >= time_ms);
        (wanted.cloned().collect(), self.events.sender.subscribe())
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
    uid: Option<u32>,
    answer: oneshot::Sender<Reply>,
}

/// Sends the reply to a request. If the requester has disconnected, the reply is dropped.
#[derive(Debug)]
pub struct Answer {
    sender: oneshot::Sender<Reply>,
    uid: Option<u32>,
}

impl Answer {
    /// Creates an `Answer` that drops the reply, for a request that the broker makes itself.
    pub fn nobody() -> Self {
        Self { sender: oneshot::channel().0, uid: None }
    }

    /// Returns the ID of the user who has sent the request, if that's known.
    pub fn uid(&self) -> Option<u32> {
        self.uid
    }

    /// Sends the reply.
    pub fn give(self, reply: Reply) {
        let _ = self.sender.send(reply);
    }

    /// Returns true if the requester has disconnected or stopped waiting.
    pub fn is_abandoned(&self) -> bool {
        self.sender.is_closed()
    }
}

/// The event loop's end of the channel. Its descriptor is readable when requests may be waiting.
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

    /// Takes the next request, if any, together with the [`Answer`] that sends its reply.
    pub fn next(&self) -> Option<(Request, Answer)> {
        let Asked { request, uid, answer } = self.receiver.try_recv().ok()?;
        Some((request, Answer { sender: answer, uid }))
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

/// Publishes events to all subscribers, and keeps the last `EVENTS` of them. Publishing blocks at
/// most while the API's thread copies the list of past events.
#[derive(Clone, Debug)]
pub struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    /// The past events. The lock is held while an event is sent, so that a new subscriber gets each
    /// event once.
    past: Arc<Mutex<Past>>,
}

#[derive(Debug, Default)]
struct Past {
    /// Number of events that were published.
    count: u64,
    /// The last [`EVENTS`] events, from oldest to newest.
    last: VecDeque<Arc<Event>>,
}

/// The VM, session and GPU that an event concerns, and the user who caused it.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// Name of the VM.
    pub vm: Option<&'a str>,
    /// Number of the VM's session.
    pub session: Option<u32>,
    /// Index of the GPU.
    pub gpu: Option<u32>,
    /// ID of the user who requested the change.
    pub uid: Option<u32>,
    /// Why the session ended.
    pub reason: Option<EndReason>,
}

impl Events {
    /// Publishes an event with the current time.
    pub fn publish(&self, kind: EventKind, about: About<'_>, message: impl Into<String>) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.count += 1;
        let event = Arc::new(Event {
            id: past.count,
            time_ms: now_ms(),
            kind,
            vm: about.vm.map(str::to_owned),
            session: about.session,
            gpu: about.gpu,
            uid: about.uid,
            reason: about.reason,
            message: message.into(),
        });
        if past.last.len() == EVENTS {
            past.last.pop_front();
        }
        past.last.push_back(event.clone());
        let _ = self.sender.send(event);
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

    #[tokio::test]
    async fn past_events_are_kept_and_none_is_received_twice() {
        let (handle, inbox) = channel().unwrap();
        let publish = || inbox.events().publish(EventKind::VmAdded, About::default(), "added");
        (0..EVENTS + 5).for_each(|_| publish());
        let (past, mut events) = handle.events_since(0);
        publish();
        assert_eq!((past.len(), past[0].id, past[EVENTS - 1].id), (EVENTS, 6, EVENTS as u64 + 5));
        assert_eq!(events.recv().await.unwrap().id, EVENTS as u64 + 6);
        assert!(events.try_recv().is_err());
        assert!(handle.events_since(u64::MAX).0.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_times_out_may_still_be_applied() {
        let (handle, inbox) = channel().unwrap();
        let error = handle.ask(Request::ListVms).await.unwrap_err();
        assert!(error.message.contains("does not respond"), "{error}");
        let error =
            handle.ask(Request::RemoveVm { name: "a".into(), if_idle: false }).await.unwrap_err();
        assert!(error.message.contains("the change may still be applied"), "{error}");
        while let Some((_, answer)) = inbox.next() {
            assert!(answer.is_abandoned());
        }
        handle.wait_for_idle().await;
    }

    #[tokio::test]
    async fn readers_leave_room_for_others() {
        let (handle, inbox) = channel().unwrap();
        let readers = handle.of_readers();
        let ask = |handle: &ControlHandle| {
            let handle = handle.clone();
            tokio::spawn(async move { handle.ask(Request::ListVms).await })
        };
        let waiting: Vec<_> = (0..READER_QUEUE).map(|_| ask(&readers)).collect();
        tokio::task::yield_now().await;
        let refused = ask(&readers).await.unwrap();
        assert_eq!(refused, Err(ApiError::too_many_requests()));
        let other = ask(&handle);
        tokio::task::yield_now().await;
        while let Some((_, answer)) = inbox.next() {
            answer.give(Ok(Response::Done));
        }
        for task in waiting.into_iter().chain([other]) {
            assert_eq!(task.await.unwrap(), Ok(Response::Done));
        }
    }

    #[tokio::test]
    async fn without_an_event_loop_a_request_is_refused() {
        let (handle, inbox) = channel().unwrap();
        drop(inbox);
        let error = handle.ask(Request::Stats).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
    }
}
