//! The channel between the control API's thread and the broker's event loop: requests one way,
//! answers and events the other. Neither side ever waits for the other to take something.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{broadcast, oneshot};

use super::model::{
    ApiError, ErrorCode, Event, EventKind, GpuInfo, SessionInfo, Stats, VmInfo, VmPatch, VmSpec,
};
use host_ipc::eventfd::{drain, eventfd, notify};

/// Requests that may wait for the event loop.
const QUEUE: usize = 64;
/// Events that a slow reader may be behind before it misses some.
const EVENTS: usize = 1024;
/// The event loop never blocks, so an answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the API asks of the broker.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Adds a VM. `Response::Vm`.
    AddVm(Box<VmSpec>),
    /// All VMs, by name. `Response::Vms`.
    ListVms,
    /// One VM. `Response::Vm`.
    ShowVm(String),
    /// Changes a VM: all of the change, or nothing. `Response::Vm`.
    SetVm(String, VmPatch),
    /// Ends a VM's sessions and its device, and forgets it. `Response::Done`.
    RemoveVm(String),
    /// The sessions of one VM, or of all. `Response::Sessions`.
    ListSessions(Option<String>),
    /// Ends a session. `Response::Done`.
    KillSession {
        /// Its VM.
        vm: String,
        /// Its number.
        session: u32,
    },
    /// All GPUs, by index. `Response::Gpus`.
    ListGpus,
    /// Everything that is counted. `Response::Stats`.
    Stats,
}

/// What the broker answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// One VM.
    Vm(Box<VmInfo>),
    /// VMs.
    Vms(Vec<VmInfo>),
    /// Sessions.
    Sessions(Vec<SessionInfo>),
    /// GPUs.
    Gpus(Vec<GpuInfo>),
    /// Everything that is counted.
    Stats(Box<Stats>),
    /// It is done, and there is nothing to say.
    Done,
}

/// The answer to a request.
pub type Reply = Result<Response, ApiError>;

/// Makes the channel: the API's end and the event loop's.
pub fn channel() -> io::Result<(ControlHandle, ControlInbox)> {
    let (sender, receiver) = sync_channel(QUEUE);
    let wake = Arc::new(eventfd()?);
    let events =
        Events { sender: broadcast::Sender::new(EVENTS), next: Arc::new(AtomicU64::new(1)) };
    let handle = ControlHandle { sender, wake: wake.clone(), events: events.clone() };
    Ok((handle, ControlInbox { receiver, wake, events }))
}

/// The API's end.
#[derive(Clone, Debug)]
pub struct ControlHandle {
    sender: SyncSender<Asked>,
    wake: Arc<OwnedFd>,
    events: Events,
}

impl ControlHandle {
    /// Asks the broker and awaits its answer.
    pub async fn ask(&self, request: Request) -> Reply {
        let gone = || ApiError::new(ErrorCode::Unavailable, "vcudad is shutting down; try again");
        let (answer, answered) = oneshot::channel();
        self.sender.try_send(Asked { request, answer }).map_err(|error| match error {
            TrySendError::Full(_) => {
                ApiError::new(ErrorCode::Unavailable, "too many requests at once; try again")
            }
            TrySendError::Disconnected(_) => gone(),
        })?;
        notify(&*self.wake);
        match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => Err(gone()),
            Err(_) => Err(ApiError::new(
                ErrorCode::Unavailable,
                "vcudad's event loop does not answer; check vcudad's log",
            )),
        }
    }

    /// The events from now on. Who reads too slowly misses some, and learns how many.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.sender.subscribe()
    }
}

#[derive(Debug)]
struct Asked {
    request: Request,
    answer: oneshot::Sender<Reply>,
}

/// Where an answer goes. The asker may be gone, which is nobody's trouble.
#[derive(Debug)]
pub struct Answer(oneshot::Sender<Reply>);

impl Answer {
    /// Gives the answer.
    pub fn give(self, reply: Reply) {
        let _ = self.0.send(reply);
    }
}

/// The event loop's end. Readable when there may be requests.
#[derive(Debug)]
pub struct ControlInbox {
    receiver: Receiver<Asked>,
    wake: Arc<OwnedFd>,
    events: Events,
}

impl ControlInbox {
    /// Takes back that there are requests. Before [`Self::next`], so that none is overlooked.
    pub fn acknowledge(&self) {
        drain(&self.wake);
    }

    /// The next request, if there is one, and where its answer goes.
    pub fn next(&self) -> Option<(Request, Answer)> {
        let Asked { request, answer } = self.receiver.try_recv().ok()?;
        Some((request, Answer(answer)))
    }

    /// Where events are published. Can be given to other threads.
    pub fn events(&self) -> &Events {
        &self.events
    }
}

impl AsRawFd for ControlInbox {
    fn as_raw_fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }
}

/// Publishes events to whoever reads them. Never waits; with no readers they are dropped.
#[derive(Clone, Debug)]
pub struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    next: Arc<AtomicU64>,
}

/// What an event is about, besides its kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The VM.
    pub vm: Option<&'a str>,
    /// Its session.
    pub session: Option<u32>,
    /// The GPU.
    pub gpu: Option<u32>,
}

impl Events {
    /// Publishes an event, with the time that it is now.
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

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_answered_and_events_heard() {
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
    async fn without_an_event_loop_a_request_is_refused() {
        let (handle, inbox) = channel().unwrap();
        drop(inbox);
        let error = handle.ask(Request::Stats).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
    }
}
