//! The objects of one worker. All are counted. The broker learns about each of those that lead to
//! channels before the worker does.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use host_ipc::messages::class::{CHANNEL_GROUP, DEVICE, is_channel};
use host_ipc::messages::{DriverObject, FromSupervisor, SessionOfVm};
use host_ipc::seqpacket;

use super::bytes::u32_at;
use super::limit::Limit;
use super::totals::{Counted, Engines, Kind, Totals, wait};

/// Maximum number of a worker's objects that are reported to the broker. libcuda allocates 24 for a
/// context.
const MOST: usize = 1024;
/// The class of address spaces (FERMI_VASPACE_A).
const SPACE: u32 = 0x90f1;
/// The class as which an additional handle of an object is counted (NV01_MEMORY_LOCAL_USER).
/// Objects whose number matters more are known to the broker, and can't get additional handles.
pub const MEMORY: u32 = 0x40;
/// The engines that run kernels are those up to this one (NV2080_ENGINE_TYPE_GR7).
const LAST_COMPUTE: u32 = 8;
/// Offset of the engine in the parameters of a channel group.
const ENGINE: usize = 12;

/// The objects of one worker.
pub struct Objects {
    session: SessionOfVm,
    broker: Arc<OwnedFd>,
    /// By client and handle.
    all: BTreeMap<(u32, u32), Object>,
    /// The client, the parent, and the handle of each object.
    children: BTreeSet<(u32, u32, u32)>,
    /// The number of objects that the broker knows.
    known: usize,
    totals: Arc<Totals>,
    rate: Arc<Mutex<Limit>>,
}

/// An object of a worker.
struct Object {
    /// The handle of the object's parent, under which it was created.
    parent: u32,
    /// The engines for which channels under this object are created, if they are known.
    engines: Option<Engines>,
    is_known: bool,
    _counted: Counted,
}

/// An object that a worker may allocate, which is counted already.
pub struct Permit {
    engines: Option<Engines>,
    counted: Counted,
}

/// Returns an object's detail for the broker, or `None` if the object is of no interest.
pub fn detail(class: u32, parameters: &[u8]) -> Option<u32> {
    let number = |at: usize| if parameters.len() < at + 4 { 0 } else { u32_at(parameters, at) };
    match class {
        DEVICE => Some(number(0)),
        CHANNEL_GROUP => Some(number(ENGINE)),
        _ => is_channel(class).then_some(0),
    }
}

impl Objects {
    /// `broker` is the socket to the broker, which knows the objects in `before`.
    pub fn new(
        session: SessionOfVm,
        before: &[DriverObject],
        broker: Arc<OwnedFd>,
        totals: Arc<Totals>,
    ) -> Self {
        let rate = totals.rate(session.vm);
        let (all, children) = (BTreeMap::new(), BTreeSet::new());
        let mut objects = Self { session, broker, all, children, known: 0, totals, rate };
        // Add parents before their children, so that the engines are known.
        let rank = |object: &&DriverObject| match object.class {
            DEVICE => 0,
            CHANNEL_GROUP => 1,
            _ => 2,
        };
        let mut before: Vec<_> = before.iter().collect();
        before.sort_by_key(rank);
        for object in before {
            let DriverObject { client, parent, class, detail, .. } = *object;
            let (kind, engines) = objects.kind(client, parent, class, detail);
            let counted = objects.totals.add(session.vm, kind);
            objects.insert(object, true, Permit { engines, counted });
        }
        objects
    }

    /// Returns the kind of an object, and the engines for which channels are created under it.
    fn kind(&self, client: u32, parent: u32, class: u32, detail: u32) -> (Kind, Option<Engines>) {
        let engines = self.all.get(&(client, parent)).and_then(|parent| parent.engines);
        // A channel group from before the session may not have been reported, so that its GPU is
        // unknown.
        let of_parent = engines.unwrap_or(Engines { gpu: None, compute: false });
        match class {
            // A channel can also be created without a group of its own.
            DEVICE => (Kind::Other, Some(Engines { gpu: Some(detail), compute: true })),
            CHANNEL_GROUP => {
                let engines = Engines { compute: detail <= LAST_COMPUTE, ..of_parent };
                (Kind::Group(engines), Some(engines))
            }
            SPACE => (Kind::Space, None),
            _ if is_channel(class) => (Kind::Channel(of_parent), None),
            _ => (Kind::Other, None),
        }
    }

    /// Counts an object that the worker is about to allocate. `detail` is the one for the broker, if
    /// the broker must know the object. Returns `None` if the worker or its VM may not allocate
    /// another one. Waits if the VM has allocated too many in this second.
    pub fn permit(
        &mut self,
        client: u32,
        parent: u32,
        class: u32,
        detail: Option<u32>,
    ) -> Option<Permit> {
        if detail.is_some() {
            wait(&self.rate);
            if self.known >= MOST {
                return None;
            }
        }
        let (kind, engines) = self.kind(client, parent, class, detail.unwrap_or(0));
        let counted = self.totals.take(self.session.vm, kind)?;
        Some(Permit { engines, counted })
    }

    /// Returns true if this is the client, or an object that leads to channels. The broker knows
    /// those by one handle each, so they never get another one, and no other worker gets one.
    pub fn leads_to_channels(&self, client: u32, handle: u32) -> bool {
        handle == client || self.all.get(&(client, handle)).is_some_and(|object| object.is_known)
    }

    /// Records an object that the driver has allocated, and reports it if the broker must know it. It
    /// replaces one with the same handle, which the driver has freed with something that it depended
    /// on.
    pub fn add(&mut self, object: DriverObject, is_known: bool, permit: Permit) {
        self.insert(&object, is_known, permit);
        if is_known {
            self.report(&FromSupervisor::Object { session: self.session, object });
        }
    }

    fn insert(&mut self, object: &DriverObject, is_known: bool, permit: Permit) {
        let DriverObject { client, parent, handle, .. } = *object;
        let Permit { engines, counted } = permit;
        let object = Object { parent, engines, is_known, _counted: counted };
        if let Some(before) = self.all.insert((client, handle), object) {
            self.children.remove(&(client, before.parent, handle));
            self.known -= usize::from(before.is_known);
        }
        self.children.insert((client, parent, handle));
        self.known += usize::from(is_known);
    }

    /// Records that the driver has freed an object, and with it those that were created under it.
    /// It may be one that was never added, such as a client.
    pub fn remove(&mut self, client: u32, handle: u32) {
        let mut freed = vec![handle];
        if handle == client {
            let of_client = self.all.range((client, 0)..=(client, u32::MAX));
            freed.extend(of_client.map(|((_, handle), _)| *handle));
        }
        while let Some(handle) = freed.pop() {
            if let Some(object) = self.all.remove(&(client, handle)) {
                self.children.remove(&(client, object.parent, handle));
                if object.is_known {
                    self.known -= 1;
                    let session = self.session;
                    self.report(&FromSupervisor::Freed { session, client, handle });
                }
            }
            let under = (client, handle, 0)..=(client, handle, u32::MAX);
            freed.extend(self.children.range(under).map(|(_, _, child)| *child));
        }
    }

    fn report(&self, message: &FromSupervisor) {
        if let Err(error) = seqpacket::send(&*self.broker, message, &[]) {
            let number = self.session.number;
            tracing::error!(session = number, "cannot report an object of the driver: {error}");
        }
    }
}

#[cfg(test)]
pub mod tests;
