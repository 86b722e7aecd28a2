//! The way to the broker: one for the whole device process, shared by its connections.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::machine::Request;
use crate::ipc::messages::{BrokerToDevice, DeviceToBroker};
use crate::ipc::seqpacket;
use crate::worker::waker::{eventfd, notify};

/// The broker's end, and who waits for which answer.
pub(super) struct Link {
    broker: OwnedFd,
    last: AtomicU64,
    routes: Mutex<HashMap<Request, Arc<Mailbox>>>,
}

/// What the broker said to one connection, and a descriptor that is readable when it has.
pub(super) struct Mailbox {
    pub(super) event: OwnedFd,
    letters: Mutex<VecDeque<(BrokerToDevice, Vec<OwnedFd>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { event: eventfd()?, letters: Mutex::default() }))
    }

    pub(super) fn take(&self) -> VecDeque<(BrokerToDevice, Vec<OwnedFd>)> {
        super::drain(&self.event);
        std::mem::take(&mut *lock(&self.letters))
    }
}

impl Link {
    /// Starts the thread that reads what the broker says. When the broker ends, so does this
    /// process.
    pub(super) fn start(broker: OwnedFd) -> io::Result<Arc<Self>> {
        let routes = Mutex::default();
        let link = Arc::new(Self { broker, last: AtomicU64::new(0), routes });
        let reader = link.clone();
        std::thread::Builder::new().name("broker".into()).spawn(move || {
            loop {
                match seqpacket::receive(&reader.broker) {
                    Ok(Some((message, fds))) => reader.deliver(message, fds),
                    Ok(None) => super::end("the broker is gone"),
                    Err(error) => super::end(&format!("the broker cannot be heard: {error}")),
                }
            }
        })?;
        Ok(link)
    }

    fn deliver(&self, message: BrokerToDevice, fds: Vec<OwnedFd>) {
        let mut routes = lock(&self.routes);
        let mailbox = match &message {
            BrokerToDevice::Setup(_) => None,
            BrokerToDevice::Started { request, .. } => routes.get(request).cloned(),
            BrokerToDevice::Ended { request, .. } => routes.remove(request),
        };
        drop(routes);
        if let Some(mailbox) = mailbox {
            lock(&mailbox.letters).push_back((message, fds));
            notify(&mailbox.event);
        }
    }

    /// A number for a worker that no other connection has.
    pub(super) fn number(&self) -> Request {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Tells the broker; for a `Start`, `mailbox` gets what it answers.
    pub(super) fn tell(&self, message: &DeviceToBroker, mailbox: &Arc<Mailbox>) {
        if let DeviceToBroker::Start { request, .. } = message {
            lock(&self.routes).insert(*request, mailbox.clone());
        }
        if let Err(error) = seqpacket::send(&self.broker, message, &[]) {
            super::end(&format!("the broker cannot be reached: {error}"));
        }
    }
}
