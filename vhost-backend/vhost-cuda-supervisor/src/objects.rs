//! The driver objects of one worker. All of them are counted. Channels, and the objects under which
//! channels are created, are also reported to the broker. The report is sent before the worker
//! learns that the object exists.

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
/// The class NV01_MEMORY_LOCAL_USER. Additional handles of objects are counted as objects of this
/// class, whatever the class of the object. Channels, and the objects under which they are created,
/// can't get additional handles.
pub const MEMORY: u32 = 0x40;
/// The highest engine number of an engine that runs kernels (NV2080_ENGINE_TYPE_GR7).
const LAST_COMPUTE: u32 = 8;
/// Offset of the engine in the parameters of a channel group.
const ENGINE: usize = 12;

/// The objects of one worker.
pub struct Objects {
    session: SessionOfVm,
    broker: Arc<OwnedFd>,
    /// All objects, by client and handle.
    all: BTreeMap<(u32, u32), Object>,
    /// The client, the parent, and the handle of each object.
    children: BTreeSet<(u32, u32, u32)>,
    /// The number of objects that have been reported to the broker and not freed.
    known: usize,
    totals: Arc<Totals>,
    rate: Arc<Mutex<Limit>>,
}

/// An object of a worker.
struct Object {
    /// The handle of the object's parent, under which it was created.
    parent: u32,
    /// The engines of the channels that are created under this object, if they are known.
    engines: Option<Engines>,
    is_known: bool,
    _counted: Counted,
}

/// Permission for a worker to allocate an object, which is already counted.
pub struct Permit {
    engines: Option<Engines>,
    counted: Counted,
}

/// Returns an object's detail for the broker, or `None` if the object isn't reported to the broker.
pub fn detail(class: u32, parameters: &[u8]) -> Option<u32> {
    let number = |at: usize| if parameters.len() < at + 4 { 0 } else { u32_at(parameters, at) };
    match class {
        DEVICE => Some(number(0)),
        CHANNEL_GROUP => Some(number(ENGINE)),
        _ => is_channel(class).then_some(0),
    }
}

impl Objects {
    /// `broker` is the socket to the broker. `before` contains the objects from before the session,
    /// which the broker already knows.
    pub fn new(
        session: SessionOfVm,
        before: &[DriverObject],
        broker: Arc<OwnedFd>,
        totals: Arc<Totals>,
    ) -> Self {
        let rate = totals.rate(session.vm);
        let (all, children) = (BTreeMap::new(), BTreeSet::new());
        let mut objects = Self { session, broker, all, children, known: 0, totals, rate };
        // Add parents before their children, because `kind` takes a channel's engines from its
        // parent.
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

    /// Returns the kind of an object, and the engines of channels that are created under it.
    fn kind(&self, client: u32, parent: u32, class: u32, detail: u32) -> (Kind, Option<Engines>) {
        let engines = self.all.get(&(client, parent)).and_then(|parent| parent.engines);
        // The worker may not have reported the parent if it created it before the session. In that
        // case, the GPU is unknown.
        let of_parent = engines.unwrap_or(Engines { gpu: None, compute: false });
        match class {
            // A channel can also be created directly under a device, without a group.
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

    /// Counts an object that the worker is about to allocate. `detail` is the object's detail for
    /// the broker, or `None` if the object isn't reported. Returns `None` if the worker or its VM
    /// may not allocate another object of this kind. Waits if the VM has allocated too many objects
    /// in the current second.
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

    /// Returns true if the handle is the client's own, or that of a channel or an object under
    /// which channels are created. The broker knows each of these objects by one handle, so they
    /// can't get additional handles, in this worker or in another one.
    pub fn leads_to_channels(&self, client: u32, handle: u32) -> bool {
        handle == client || self.all.get(&(client, handle)).is_some_and(|object| object.is_known)
    }

    /// Records an object that the driver has allocated, and reports it if the broker must know it.
    /// It replaces an earlier object with the same handle: the driver has freed that one together
    /// with an object on which it depended.
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

    /// Records that the driver has freed an object, and all objects that were created under it. The
    /// object itself may never have been added, such as a client.
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
