//! The virtqueues of one front end: takes chains, and writes responses and events. Nothing is
//! written to a stopped or disabled queue. Its responses are held until the queue continues. If the
//! queue was reset in the meantime, its chains are dropped. If the driver violates a queue's rules,
//! the queue is ignored until it's stopped or reset.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use protocol::plain::Plain;
use protocol::uapi::{self, Event};
use vhost_user_backend::{VringState, VringT};
use virtio_queue::{DescriptorChain, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap};

use super::chain::Chain;
use super::machine::ChainId;
use super::vring::Vring;
use host_ipc::process::set_nonblocking;

const EVENTS: usize = uapi::QUEUE_EVENT as usize;

/// Maximum number of too-short event buffers that one `deliver` call skips.
const MAX_SHORT: u32 = 1024;

type Ring = VringState<GuestMemoryAtomic<GuestMemoryMmap>>;
type Memory = <GuestMemoryAtomic<GuestMemoryMmap> as GuestAddressSpace>::T;

/// A chain taken from a queue, with its request.
pub(super) struct Taken {
    pub(super) id: ChainId,
    /// `None` if the chain is malformed or too long.
    pub(super) request: Option<Vec<u8>>,
    /// Number of bytes available for a response.
    pub(super) room: usize,
}

#[derive(Default)]
struct Queue {
    /// The expected avail index of the next chain. If the ring continues at another index, it was
    /// reset.
    next: u16,
    /// Responses held back while the queue is stopped.
    held: Vec<(ChainId, u32, Vec<u8>)>,
    /// Heads of the chains that the device has taken but not yet returned.
    out: HashSet<u16>,
    /// True if the driver violated the queue's rules, so that no more chains are taken from it.
    broken: bool,
}

/// Events waiting for delivery to one session.
#[derive(Default)]
struct Waiting {
    wake: bool,
    ended: Option<u32>,
    /// Avail index of the event queue when the last WAKE was delivered. The next WAKE waits until
    /// the driver has made another buffer available.
    mark: Option<u16>,
}

/// The virtqueues of one front end.
pub(super) struct Queues {
    /// The VM's name, for logs.
    name: String,
    /// The guest memory that the device has accepted. The queues never access guest memory through
    /// vhost-user-backend, because that library uses a new memory table before the device can
    /// refuse it, and a front end could truncate the files in a refused table.
    memory: GuestMemoryAtomic<GuestMemoryMmap>,
    vrings: Vec<Vring>,
    queues: [Queue; uapi::NUM_QUEUES],
    /// Chains that the device has taken but not yet returned to the driver.
    chains: HashMap<ChainId, Chain>,
    last: ChainId,
    events: BTreeMap<u32, Waiting>,
}

impl Queues {
    /// Returns the queues of a front end that has no memory yet.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            memory: GuestMemoryAtomic::new(GuestMemoryMmap::new()),
            vrings: Vec::new(),
            queues: Default::default(),
            chains: HashMap::new(),
            last: 0,
            events: BTreeMap::new(),
        }
    }

    /// Switches to a memory table that the device has accepted.
    pub(super) fn set_memory(&mut self, memory: &GuestMemoryMmap) {
        self.memory = GuestMemoryAtomic::new(memory.clone());
    }

    /// Stores the rings, which the library first passes with the first kick. From then on, the
    /// rings notify `changed` whenever one of them may have been started or stopped.
    pub(super) fn set_vrings(&mut self, vrings: &[Vring], changed: &Arc<OwnedFd>) {
        if self.vrings.is_empty() {
            self.vrings = vrings.to_vec();
            self.vrings.iter().for_each(|vring| vring.report_to(changed));
        }
    }

    /// Returns true if the front end has stopped all of the queues.
    pub(super) fn are_stopped(&self) -> bool {
        !self.vrings.is_empty() && !self.vrings.iter().any(Vring::runs)
    }

    /// Checks whether a queue was reset. If so, drops its chains and returns `true`.
    pub(super) fn look(&mut self, queue: usize) -> bool {
        let Some(vring) = self.vrings.get(queue) else { return false };
        let ring = vring.get_ref();
        if !ring.get_queue().ready() || !ring.is_enabled() {
            return false;
        }
        if let Some(call) = ring.get_call() {
            // User-mode Linux passes a pipe. The pipe is made non-blocking, so that a full pipe
            // doesn't block this thread. A write to a full pipe may fail without harm, because a
            // notification is already pending.
            // SAFETY: `call` owns the descriptor, and outlives this use.
            let call = unsafe { BorrowedFd::borrow_raw(call.as_raw_fd()) };
            let _ = set_nonblocking(&call);
        }
        let next = ring.get_queue().next_avail();
        drop(ring);
        if next == self.queues[queue].next {
            return false;
        }
        self.queues[queue] = Queue { next, ..Queue::default() };
        self.chains.retain(|_, chain| chain.queue != queue);
        if queue == EVENTS {
            self.events.values_mut().for_each(|waiting| waiting.mark = None);
        }
        true
    }

    /// Handles a queue's stop: forgets that the driver violated the queue's rules, so that the
    /// queue can be used again.
    pub(super) fn stopped(&mut self, queue: usize) {
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.broken = false;
        }
    }

    /// Writes the responses that were held back while the queue was stopped.
    pub(super) fn release(&mut self, queue: usize) {
        for (id, status, body) in std::mem::take(&mut self.queues[queue].held) {
            self.answer(id, status, body);
        }
    }

    /// Takes the next chain, if there is one.
    pub(super) fn take(&mut self, queue: usize, max: usize) -> Option<Taken> {
        let vring = self.vrings.get(queue)?;
        let mut ring = vring.get_mut();
        if !ring.get_queue().ready() || !ring.is_enabled() {
            return None;
        }
        let this = &mut self.queues[queue];
        let chain = this.pop(queue, &mut ring, &self.memory, &self.name)?;
        // Refuse a head that is already in use. If reuse were possible, the driver could have any
        // number of requests in progress with one descriptor.
        if !this.out.insert(chain.head_index()) {
            this.give_up(
                queue,
                &self.name,
                "made a chain available again before the device returned it",
            );
            return None;
        }
        let size = ring.get_queue().size();
        drop(ring);
        let (chain, request) = Chain::read(queue, chain, size, max);
        self.last += 1;
        let taken = Taken { id: self.last, request, room: chain.room() };
        self.chains.insert(self.last, chain);
        Some(taken)
    }

    /// Disables kicks while a queue is being emptied.
    pub(super) fn quiet(&mut self, queue: usize) {
        if let Some(vring) = self.vrings.get(queue) {
            let memory = self.memory.memory();
            let _ = vring.get_mut().get_queue_mut().disable_notification(&*memory);
        }
    }

    /// Enables kicks again. Returns `true` if a chain has arrived in the meantime.
    pub(super) fn listen(&mut self, queue: usize) -> bool {
        let Some(vring) = self.vrings.get(queue) else { return false };
        let memory = self.memory.memory();
        let mut ring = vring.get_mut();
        let runs = ring.get_queue().ready() && ring.is_enabled() && !self.queues[queue].broken;
        runs && ring.get_queue_mut().enable_notification(&*memory).unwrap_or(false)
    }

    /// Writes the response to a chain. If the chain's queue is stopped, keeps the response until
    /// the queue continues.
    pub(super) fn answer(&mut self, id: ChainId, status: u32, body: Vec<u8>) {
        let Some(chain) = self.chains.get(&id) else { return };
        let Some(vring) = self.vrings.get(chain.queue) else { return };
        let memory = self.memory.memory();
        let mut ring = vring.get_mut();
        // This function holds the ring's lock, so the queue can't be stopped between these checks
        // and the write. If the queue continues at another index, it was reset, and the next call
        // of `look` drops its chains.
        let queue = chain.queue;
        let goes_on = ring.get_queue().next_avail() == self.queues[queue].next;
        if !ring.get_queue().ready() || !ring.is_enabled() || !goes_on {
            drop(ring);
            self.queues[queue].held.push((id, status, body));
            return;
        }
        let written = chain.write(&memory, status, &body);
        let used = ring.get_queue_mut().add_used(&*memory, chain.head, written);
        let notify =
            used.is_ok() && ring.get_queue_mut().needs_notification(&*memory).unwrap_or(true);
        if let Err(error) = used {
            tracing::warn!("cannot return a response to the guest: {error}");
        }
        if notify {
            let _ = ring.signal_used_queue();
        }
        drop(ring);
        if let Some(chain) = self.chains.remove(&id) {
            self.queues[queue].out.remove(&chain.head);
        }
    }

    // ---- Events ----

    /// Wakes a session's guest process.
    pub(super) fn wake(&mut self, session: u32) {
        self.events.entry(session).or_default().wake = true;
        self.deliver();
    }

    /// Notifies the guest that a session has ended.
    pub(super) fn ended(&mut self, session: u32, value: u32) {
        let waiting = self.events.entry(session).or_default();
        waiting.wake = false;
        waiting.ended = Some(value);
        self.deliver();
    }

    /// Handles the start of a session. Drops events for an earlier session with the same ID, and
    /// for sessions that are no longer `known`.
    pub(super) fn begin(&mut self, session: u32, known: impl Fn(u32) -> bool) {
        self.events.retain(|id, _| *id != session && known(*id));
    }

    /// Drops all events. Called after a reset, when all sessions of the old driver end.
    pub(super) fn forget_all(&mut self) {
        self.events.clear();
        self.queues.iter_mut().for_each(|queue| queue.broken = false);
    }

    /// Writes events to the buffers that the driver has made available.
    pub(super) fn deliver(&mut self) {
        let Some(vring) = self.vrings.get(EVENTS).cloned() else { return };
        let memory = self.memory.memory();
        let mut ring = vring.get_mut();
        if !ring.get_queue().ready() || !ring.is_enabled() {
            return;
        }
        if ring.get_queue().next_avail() != self.queues[EVENTS].next {
            // The queue was reset. Only the index must be updated, because the device never keeps
            // an event buffer between calls.
            self.queues[EVENTS].next = ring.get_queue().next_avail();
            self.events.values_mut().for_each(|waiting| waiting.mark = None);
        }
        let mut used = false;
        // Number of buffers skipped because they were too short.
        let mut short = 0;
        // The loop is bounded, so that a driver that keeps moving the index can't occupy this
        // thread.
        for _ in 0..4 {
            let order = Ordering::Acquire;
            let Ok(avail) = ring.get_queue().avail_idx(&*memory, order) else { break };
            for (session, waiting) in &mut self.events {
                while short < MAX_SHORT
                    && let Some((kind, value)) = waiting.due(avail.0)
                {
                    let queue = &mut self.queues[EVENTS];
                    let Some(chain) = queue.pop(EVENTS, &mut ring, &self.memory, &self.name) else {
                        break;
                    };
                    let (chain, _) = Chain::read(EVENTS, chain, ring.get_queue().size(), 0);
                    let event = Event { kind, session: *session, value, reserved: 0 };
                    // If a buffer is too short for an event, return it to the driver unused. The
                    // next buffer may be long enough.
                    let fits = chain.room() >= size_of::<Event>();
                    let written =
                        if fits { chain.write_bytes(&memory, event.as_bytes()) } else { 0 };
                    let queue = ring.get_queue_mut();
                    used |= queue.add_used(&*memory, chain.head, written).is_ok();
                    if fits {
                        waiting.gone(kind, avail.0);
                    } else {
                        short += 1;
                    }
                }
            }
            let waits = self.events.values().any(|waiting| waiting.wake || waiting.ended.is_some());
            if !waits || self.queues[EVENTS].broken {
                break;
            }
            // The remaining events wait until the driver makes another buffer available, so request
            // a kick for it.
            want_kick_after(&mut ring, &memory, avail.0);
            let now = ring.get_queue().avail_idx(&*memory, Ordering::SeqCst);
            if now.is_ok_and(|now| now == avail) {
                break;
            }
        }
        if used && ring.get_queue_mut().needs_notification(&*memory).unwrap_or(true) {
            let _ = ring.signal_used_queue();
        }
    }
}

impl Queue {
    /// Takes the next chain from a running ring. If the avail index is impossible or the next entry
    /// isn't a chain, the queue is marked as broken. Without the mark, the caller would take the
    /// same entry again in an endless loop.
    fn pop(
        &mut self,
        number: usize,
        ring: &mut Ring,
        memory: &GuestMemoryAtomic<GuestMemoryMmap>,
        name: &str,
    ) -> Option<DescriptorChain<Memory>> {
        if self.broken {
            return None;
        }
        let memory = memory.memory();
        let queue = ring.get_queue_mut();
        // If the index itself isn't in guest memory, treat the queue as empty.
        let avail = queue.avail_idx(&*memory, Ordering::Acquire).ok()?.0;
        let announced = avail.wrapping_sub(queue.next_avail());
        if announced == 0 {
            return None;
        }
        let size = queue.size();
        let chain = if announced > size { None } else { queue.pop_descriptor_chain(memory) };
        self.next = queue.next_avail();
        match &chain {
            Some(chain) if chain.head_index() >= size => {
                self.give_up(number, name, "made a chain available whose index exceeds the queue");
                return None;
            }
            None => self.give_up(number, name, "made more chains available than the queue holds"),
            Some(_) => {}
        }
        chain
    }

    fn give_up(&mut self, number: usize, name: &str, why: &str) {
        self.broken = true;
        tracing::warn!(
            vm = name,
            queue = number,
            "the guest's driver {why}; ignoring the queue until it is reset"
        );
    }
}

impl Waiting {
    /// Returns the kind and value of the session's next event that may be delivered while the
    /// driver's avail index is `avail`.
    fn due(&self, avail: u16) -> Option<(u32, u32)> {
        if self.wake && self.mark != Some(avail) {
            return Some((uapi::EVENT_WAKE, 0));
        }
        self.ended.map(|value| (uapi::EVENT_ENDED, value))
    }

    fn gone(&mut self, kind: u32, avail: u16) {
        if kind == uapi::EVENT_WAKE {
            self.wake = false;
            self.mark = Some(avail);
        } else {
            self.ended = None;
        }
    }
}

/// Requests a kick when the avail index passes `avail`. With EVENT_IDX, the library would request a
/// kick for the next buffer that it will take. That buffer may already be available, so the driver
/// would never send the kick.
fn want_kick_after(ring: &mut Ring, memory: &GuestMemoryMmap, avail: u16) {
    let _ = ring.get_queue_mut().enable_notification(memory);
    let queue = ring.get_queue();
    if queue.event_idx_enabled() {
        const HEADER: u64 = 4;
        const ELEMENT: u64 = 8;
        let place = queue.used_ring() + HEADER + ELEMENT * u64::from(queue.size());
        let _ = memory.store(avail.to_le(), GuestAddress(place), Ordering::Release);
    }
    fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn events_of_ended_sessions_do_not_pile_up() {
        let mut queues = Queues::new("a");
        for session in 1..1000 {
            queues.begin(session, |known| known == session);
            queues.wake(session);
            queues.ended(session, uapi::ENDED_WORKER);
        }
        assert_eq!(queues.events.len(), 1);
    }

    const SIZE: u16 = 8;
    const TABLE: u64 = 0x1000;
    const AVAIL: u64 = 0x2000;
    const USED: u64 = 0x3000;
    /// Length of the longest request, in bytes.
    const MAX: usize = 256;

    /// Returns queues whose control queue is running, with its rings in `memory` and its index at
    /// `start`.
    fn running(memory: &GuestMemoryMmap, start: u16) -> Queues {
        let vrings: Vec<Vring> = (0..uapi::NUM_QUEUES)
            .map(|_| {
                let memory = GuestMemoryAtomic::new(memory.clone());
                let vring = Vring::new(memory, SIZE).unwrap();
                vring.set_queue_info(TABLE, AVAIL, USED).unwrap();
                vring.set_queue_next_avail(start);
                vring.set_queue_ready(true);
                vring.set_enabled(true);
                vring
            })
            .collect();
        let mut queues = Queues::new("a");
        queues.set_memory(memory);
        queues.set_vrings(&vrings, &Arc::new(host_ipc::eventfd::eventfd().unwrap()));
        queues.look(0);
        queues
    }

    proptest! {
        /// Whatever a driver writes to a queue, the device takes at most as many chains as the
        /// queue has, copies no request longer than the limit, and returns each chain once.
        #[test]
        fn any_queue_is_survived(
            start in prop_oneof![Just(0u16), Just(u16::MAX - 2), any::<u16>()],
            table in prop::collection::vec(
                // Address, length, flags, and next descriptor.
                (prop_oneof![0..0x8000u64, any::<u64>()], 0..300u32, 0..8u16, 0..10u16),
                SIZE as usize,
            ),
            steps in prop::collection::vec(
                // By how much the avail index increases, the heads in the avail ring, and the
                // number of chains to answer.
                (0..=SIZE + 2, prop::collection::vec(0..SIZE + 2, SIZE as usize), 0..6usize),
                1..6,
            ),
        ) {
            let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 0x8000)]).unwrap();
            for (index, (address, len, flags, next)) in table.into_iter().enumerate() {
                let place = TABLE + 16 * index as u64;
                let rest = u64::from(len) | u64::from(flags) << 32 | u64::from(next) << 48;
                memory.write_obj([address.to_le(), rest.to_le()], GuestAddress(place)).unwrap();
            }
            memory.write_obj(start.to_le(), GuestAddress(AVAIL + 2)).unwrap();
            memory.write_obj(start.to_le(), GuestAddress(USED + 2)).unwrap();
            let mut queues = running(&memory, start);
            let (mut avail, mut answered, mut open) = (start, 0u16, Vec::new());
            for (more, heads, answers) in steps {
                for (entry, head) in heads.into_iter().enumerate() {
                    let place = AVAIL + 4 + 2 * entry as u64;
                    // A response may have overwritten the ring, so write all of it again.
                    memory.write_obj(head.to_le(), GuestAddress(place)).unwrap();
                }
                avail = avail.wrapping_add(more);
                memory.write_obj(avail.to_le(), GuestAddress(AVAIL + 2)).unwrap();
                while let Some(taken) = queues.take(0, MAX) {
                    prop_assert!(taken.request.is_none_or(|request| request.len() <= MAX));
                    prop_assert!(!open.contains(&taken.id));
                    open.push(taken.id);
                    prop_assert!(open.len() <= SIZE.into(), "more chains than descriptors");
                }
                for id in open.drain(..answers.min(open.len())) {
                    queues.answer(id, uapi::ERR_INVALID, Vec::new());
                    // The second answer to a chain is ignored.
                    queues.answer(id, uapi::OK, Vec::new());
                    answered = answered.wrapping_add(1);
                }
                prop_assert_eq!(queues.chains.len(), open.len());
                prop_assert_eq!(queues.queues[0].out.len(), open.len());
            }
            let next_used = queues.vrings[0].get_ref().get_queue().next_used();
            prop_assert_eq!(next_used, answered);
        }
    }
}
