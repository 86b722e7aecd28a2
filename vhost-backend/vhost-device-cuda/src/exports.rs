//! The device memory and events that the VM's workers have exported to one another.
//!
//! A worker exports memory or an event under a random name, a [`Token`], and the guest passes the
//! token from one of its processes to another. Each VM has its own table, so a token from another
//! VM isn't found. The table contains no descriptors, because a descriptor would keep memory
//! allocated after it is no longer charged. Instead, when a worker needs a descriptor, this process
//! requests it from the exporting worker, and passes it on. It never blocks until that worker
//! replies.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};

use super::machine::RequestId;
use host_ipc::apart::Apart;
use host_ipc::eventfd::{drain, eventfd, notify};
use host_ipc::messages::{DeviceToWorker, Exported, MAX_EXPORTS, MAX_EXPORTS_OF_ONE, Token};

/// Maximum number of requests for descriptors that workers haven't answered yet.
const MAX_FETCHES: usize = 1024;

/// A message for a worker, with a descriptor from another worker, if it carries one.
pub(super) struct Parcel {
    pub(super) worker: RequestId,
    pub(super) message: DeviceToWorker,
    pub(super) file: Option<Arc<Apart>>,
}

/// Messages for the workers of one front end, and a descriptor that is readable while there are
/// any. The messages can come from sessions of another front end of the VM.
pub(super) struct Counter {
    pub(super) event: OwnedFd,
    parcels: Mutex<Vec<Parcel>>,
}

impl Counter {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { event: eventfd()?, parcels: Mutex::default() }))
    }

    pub(super) fn take(&self) -> Vec<Parcel> {
        drain(&self.event);
        std::mem::take(&mut *lock(&self.parcels))
    }

    fn put(&self, worker: RequestId, message: DeviceToWorker, file: Option<Arc<Apart>>) {
        lock(&self.parcels).push(Parcel { worker, message, file });
        notify(&self.event);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

/// A worker, and the [`Counter`] of its front end.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) worker: RequestId,
    /// The guest's user. The exports of all workers of the same user count together.
    pub(super) user: Option<u32>,
    pub(super) counter: Arc<Counter>,
}

impl Client {
    /// Returns true if the exports of both workers count together toward the limit.
    fn counts_with(&self, other: &Self) -> bool {
        self.worker == other.worker || (self.user.is_some() && self.user == other.user)
    }

    fn put(&self, message: DeviceToWorker, file: Option<Arc<Apart>>) {
        self.counter.put(self.worker, message, file);
    }
}

struct Entry {
    owner: Client,
    thing: Exported,
}

/// A request for a descriptor, which the exporting worker hasn't answered yet.
struct Fetch {
    owner: RequestId,
    importer: Client,
    /// The importer's number for its request.
    request: u64,
}

#[derive(Default)]
struct Table {
    entries: HashMap<Token, Entry>,
    fetches: HashMap<u64, Fetch>,
    last_fetch: u64,
    /// The workers that have reached the limit on exports. This is logged once for each of them.
    refused: HashSet<RequestId>,
}

impl Table {
    /// Returns the reason why a worker may not export another allocation or event.
    fn refusal(&self, owner: &Client) -> Option<String> {
        let used = self.entries.len();
        if used >= MAX_EXPORTS {
            return Some(format!("refused an export: the VM has {used}, the maximum"));
        }
        let of_one =
            || self.entries.values().filter(|entry| entry.owner.counts_with(owner)).count();
        if used < MAX_EXPORTS_OF_ONE || of_one() < MAX_EXPORTS_OF_ONE {
            return None;
        }
        let who = owner.user.map_or("a session".into(), |user| format!("the guest's user {user}"));
        Some(format!("refused an export: {who} has {MAX_EXPORTS_OF_ONE}, the maximum for one"))
    }
}

/// The memory and events that the VM's workers have exported, by token. All front ends share this
/// table.
#[derive(Default)]
pub(super) struct Exports {
    table: Mutex<Table>,
}

impl Exports {
    /// Adds an export. Fails if there are too many exports or the token is in use. The error
    /// contains a reason for the log if a limit has been reached and this worker's limit hasn't
    /// been logged yet.
    pub(super) fn add(
        &self,
        owner: Client,
        token: Token,
        thing: Exported,
    ) -> Result<(), Option<String>> {
        let mut table = lock(&self.table);
        if let Some(why) = table.refusal(&owner) {
            return Err(table.refused.insert(owner.worker).then_some(why));
        }
        if table.entries.contains_key(&token) {
            return Err(None);
        }
        table.entries.insert(token, Entry { owner, thing });
        Ok(())
    }

    /// Returns the export with this token.
    pub(super) fn find(&self, token: &Token) -> Option<Exported> {
        lock(&self.table).entries.get(token).map(|entry| entry.thing)
    }

    /// Removes an export, if `owner` has created it.
    pub(super) fn withdraw(&self, owner: RequestId, token: &Token) {
        let mut table = lock(&self.table);
        if table.entries.get(token).is_some_and(|entry| entry.owner.worker == owner) {
            table.entries.remove(token);
        }
    }

    /// Requests a descriptor from the worker that has exported memory. `importer` gets a `Fetched`
    /// message, whether or not the descriptor is found.
    pub(super) fn fetch(&self, importer: Client, request: u64, token: Token) {
        let mut table = lock(&self.table);
        let owner = table.entries.get(&token).map(|entry| entry.owner.clone());
        let Some(owner) = owner.filter(|_| table.fetches.len() < MAX_FETCHES) else {
            return importer.put(DeviceToWorker::Fetched { request, found: false }, None);
        };
        table.last_fetch += 1;
        let number = table.last_fetch;
        table.fetches.insert(number, Fetch { owner: owner.worker, importer, request });
        owner.put(DeviceToWorker::Fetch { request: number, token }, None);
    }

    /// Passes a descriptor from the worker that has exported memory to the worker that requested
    /// it. Fails if no such request to `owner` is pending.
    pub(super) fn fetched(
        &self,
        owner: RequestId,
        number: u64,
        file: Option<OwnedFd>,
    ) -> Result<(), &'static str> {
        let file = file.map(|file| Arc::new(Apart::from(file)));
        let mut table = lock(&self.table);
        if table.fetches.get(&number).is_none_or(|fetch| fetch.owner != owner) {
            return Err("it sent a descriptor that was not requested");
        }
        if let Some(Fetch { importer, request, .. }) = table.fetches.remove(&number) {
            importer.put(DeviceToWorker::Fetched { request, found: file.is_some() }, file);
        }
        Ok(())
    }

    /// Removes everything that a worker has exported, and answers the pending requests to it,
    /// because it can no longer answer them itself.
    pub(super) fn forget(&self, worker: RequestId) {
        let mut table = lock(&self.table);
        table.entries.retain(|_, entry| entry.owner.worker != worker);
        table.refused.remove(&worker);
        // Requests by this worker stay until the exporting workers have answered them.
        table.fetches.retain(|_, fetch| {
            let unanswered = fetch.owner == worker;
            if unanswered {
                let message = DeviceToWorker::Fetched { request: fetch.request, found: false };
                fetch.importer.put(message, None);
            }
            !unanswered
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Exported =
        Exported::Memory { share: 1, device: 0, bytes: 1, handle_types: 0, compression: 0 };
    const EVENT: Exported = Exported::Event { handle: [1; 8] };

    fn client(worker: RequestId) -> Client {
        Client { worker, user: None, counter: Counter::new().unwrap() }
    }

    /// Exports as many events as possible. Returns their number, and the reason, for the log, why
    /// the next export was refused.
    fn fill(exports: &Exports, owner: &Client) -> (usize, Option<String>) {
        let token = |index| [owner.worker, index, 0, 0];
        let add = |index| exports.add(owner.clone(), token(index), EVENT);
        let first = (0..).find_map(|index| Some(index).zip(add(index).err()));
        first.map(|(index, why)| (index as usize, why)).unwrap()
    }

    fn messages(client: &Client) -> Vec<(DeviceToWorker, bool)> {
        let parcels = client.counter.take().into_iter();
        parcels.map(|parcel| (parcel.message, parcel.file.is_some())).collect()
    }

    fn file() -> Option<OwnedFd> {
        Some(std::fs::File::open("/dev/null").unwrap().into())
    }

    #[test]
    fn a_thing_can_be_found_until_its_owner_withdraws_it_or_ends() {
        let (exports, one, two) = (Exports::default(), client(1), client(2));
        assert_eq!(exports.add(one.clone(), [1; 4], MEMORY), Ok(()));
        assert_eq!(exports.add(one.clone(), [2; 4], EVENT), Ok(()));
        assert_eq!(exports.add(two, [2; 4], EVENT), Err(None), "the token is in use");
        assert_eq!(exports.find(&[1; 4]), Some(MEMORY));
        assert_eq!(exports.find(&[3; 4]), None);
        exports.withdraw(2, &[1; 4]);
        assert_eq!(exports.find(&[1; 4]), Some(MEMORY), "another worker's thing");
        exports.withdraw(1, &[1; 4]);
        assert_eq!(exports.find(&[1; 4]), None);
        exports.forget(2);
        assert_eq!(exports.find(&[2; 4]), Some(EVENT));
        exports.forget(1);
        assert_eq!(exports.find(&[2; 4]), None);
    }

    #[test]
    fn no_session_can_export_everything_and_neither_can_all_together() {
        let (exports, one, two) = (Exports::default(), client(1), client(2));
        let (number, why) = fill(&exports, &one);
        assert_eq!(number, MAX_EXPORTS_OF_ONE);
        let why = why.unwrap();
        assert_eq!(why, "refused an export: a session has 6144, the maximum for one");
        assert_eq!(exports.add(one.clone(), [u64::MAX; 4], EVENT), Err(None), "logged twice");
        let (number, why) = fill(&exports, &two);
        assert_eq!(number, MAX_EXPORTS - MAX_EXPORTS_OF_ONE);
        assert_eq!(why.unwrap(), "refused an export: the VM has 8192, the maximum");
        exports.withdraw(1, &[1, 0, 0, 0]);
        assert_eq!(exports.add(one, [u64::MAX; 4], EVENT), Ok(()));
    }

    #[test]
    fn sessions_of_a_user_count_together() {
        let exports = Exports::default();
        let of_user = |worker, user| Client { user: Some(user), ..client(worker) };
        let (one, two, other) = (of_user(1, 7), of_user(2, 7), of_user(3, 8));
        for index in 0..1000 {
            assert!(exports.add(one.clone(), [9, index, 0, 0], EVENT).is_ok());
        }
        let (number, why) = fill(&exports, &two);
        assert_eq!(number, MAX_EXPORTS_OF_ONE - 1000);
        assert!(why.unwrap().contains("the guest's user 7 has 6144"));
        assert_eq!(fill(&exports, &one).0, 0);
        exports.forget(1);
        assert_eq!(fill(&exports, &other).0, MAX_EXPORTS - MAX_EXPORTS_OF_ONE + 1000);
    }

    #[test]
    fn a_descriptor_goes_from_the_owner_to_the_importer_that_asked() {
        let (exports, owner, importer) = (Exports::default(), client(1), client(2));
        assert_eq!(exports.add(owner.clone(), [1; 4], MEMORY), Ok(()));
        exports.fetch(importer.clone(), 7, [1; 4]);
        let [(DeviceToWorker::Fetch { request, token }, false)] = messages(&owner)[..] else {
            panic!("the owner was not asked");
        };
        assert_eq!(token, [1; 4]);
        assert!(exports.fetched(2, request, file()).is_err(), "from another worker");
        assert!(exports.fetched(1, request + 1, file()).is_err(), "for another request");
        assert_eq!(messages(&importer), []);
        assert!(exports.fetched(1, request, file()).is_ok());
        let found = DeviceToWorker::Fetched { request: 7, found: true };
        assert_eq!(messages(&importer), [(found, true)]);
        assert!(exports.fetched(1, request, file()).is_err(), "answered twice");
    }

    #[test]
    fn every_request_for_a_descriptor_is_answered() {
        let (exports, owner, importer) = (Exports::default(), client(1), client(2));
        let missing = |request| (DeviceToWorker::Fetched { request, found: false }, false);
        exports.fetch(importer.clone(), 1, [1; 4]);
        assert_eq!(messages(&importer), [missing(1)], "an unknown token");
        assert_eq!(exports.add(owner.clone(), [1; 4], MEMORY), Ok(()));
        for request in 0..MAX_FETCHES as u64 {
            exports.fetch(importer.clone(), request, [1; 4]);
        }
        assert_eq!(messages(&importer), []);
        exports.fetch(importer.clone(), 5000, [1; 4]);
        assert_eq!(messages(&importer), [missing(5000)], "too many requests");
        assert_eq!(messages(&owner).len(), MAX_FETCHES);
        exports.forget(1);
        assert_eq!(messages(&importer).len(), MAX_FETCHES, "the owner has ended");
    }
}
