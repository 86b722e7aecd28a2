//! Takes workers' kernels off GPUs, and lets them continue.
//!
//! Each of the driver's operations takes about half a millisecond, and may take longer while other
//! processes create contexts. So there is a thread for each GPU, which carries out orders one after
//! another, and the scheduler's thread never waits for it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, mpsc};

use super::message::ComputeEvent;
use super::priority::prefer_this_thread;
use super::shared::EventSender;
use super::worker::WorkerObjects;
use gpu_scheduler::{GpuKey, Nanos, SEC};
use host_ipc::gate;
use host_ipc::messages::WorkerId;
use rm_control::{Channel, Client, RmError};

/// An order that takes longer than this has failed.
pub(super) const DEADLINE: Nanos = SEC;

/// The driver's operations. It's a trait so that tests need no GPU.
pub(crate) trait Channels: Send + Sync {
    /// Takes the channels' kernels off a GPU, which is given by the driver's number.
    fn disable(&self, gpu: u32, channels: &[Channel]) -> Result<(), RmError>;
    /// Lets them continue. No effect on channels that aren't disabled.
    fn enable(&self, gpu: u32, channels: &[Channel]) -> Result<(), RmError>;
}

impl Channels for Client {
    fn disable(&self, gpu: u32, channels: &[Channel]) -> Result<(), RmError> {
        Client::disable(self, gpu, channels)
    }

    fn enable(&self, gpu: u32, channels: &[Channel]) -> Result<(), RmError> {
        Client::enable(self, gpu, channels)
    }
}

/// What evictions need.
pub(crate) struct Eviction {
    pub(crate) channels: Arc<dyn Channels>,
    /// The driver's number of each GPU on which kernels can be evicted.
    pub(crate) gpus: BTreeMap<GpuKey, u32>,
}

enum Order {
    Evict(Vec<(WorkerId, WorkerObjects)>),
    Restore(Vec<WorkerId>),
    RestoreAll,
    /// The worker has exited, and with it its channels.
    Forget(WorkerId),
}

/// The threads, one for each GPU on which kernels can be evicted.
#[derive(Default)]
pub(super) struct Evictor(BTreeMap<GpuKey, Lane>);

struct Lane {
    orders: mpsc::Sender<Order>,
    /// When the current order began, or 0 if there is none.
    busy_since: Arc<AtomicU64>,
}

impl Evictor {
    /// Starts the threads. Workers whose eviction fails are reported with `events`.
    pub(super) fn start(eviction: &Eviction, events: &EventSender) -> io::Result<Self> {
        let mut lanes = BTreeMap::new();
        for (gpu, number) in &eviction.gpus {
            let (orders, incoming) = mpsc::channel();
            let busy_since = Arc::new(AtomicU64::new(0));
            let mut thread = Thread {
                number: *number,
                channels: eviction.channels.clone(),
                events: events.clone(),
                off: HashMap::new(),
            };
            let since = busy_since.clone();
            std::thread::Builder::new().name(format!("evictor {number}")).spawn(move || {
                prefer_this_thread();
                for order in incoming {
                    since.store(gate::now(), Ordering::Relaxed);
                    thread.carry_out(order);
                    since.store(0, Ordering::Relaxed);
                }
            })?;
            lanes.insert(*gpu, Lane { orders, busy_since });
        }
        Ok(Self(lanes))
    }

    /// Returns true if kernels can be evicted from this GPU. If an order takes too long, they can't.
    pub(super) fn works(&self, gpu: GpuKey, now: Nanos) -> bool {
        self.0.contains_key(&gpu) && !self.is_late(gpu, now)
    }

    /// Returns true if the current order on this GPU takes too long.
    pub(super) fn is_late(&self, gpu: GpuKey, now: Nanos) -> bool {
        let since = self.0.get(&gpu).map_or(0, |lane| lane.busy_since.load(Ordering::Relaxed));
        since != 0 && now.saturating_sub(since) > DEADLINE
    }

    /// Takes workers' kernels off a GPU. None of the workers may be off it already.
    pub(super) fn evict(&self, gpu: GpuKey, workers: Vec<(WorkerId, WorkerObjects)>) {
        self.order(gpu, Order::Evict(workers));
    }

    /// Lets the kernels of workers continue.
    pub(super) fn restore(&self, gpu: GpuKey, workers: Vec<WorkerId>) {
        self.order(gpu, Order::Restore(workers));
    }

    /// Lets all kernels continue.
    pub(super) fn restore_all(&self) {
        self.0.keys().for_each(|gpu| self.order(*gpu, Order::RestoreAll));
    }

    /// Forgets a worker that has exited.
    pub(super) fn forget(&self, worker: WorkerId) {
        self.0.keys().for_each(|gpu| self.order(*gpu, Order::Forget(worker)));
    }

    fn order(&self, gpu: GpuKey, order: Order) {
        if let Some(lane) = self.0.get(&gpu) {
            // The thread ends only with this object.
            let _ = lane.orders.send(order);
        }
    }
}

/// What the thread of a GPU knows.
struct Thread {
    number: u32,
    channels: Arc<dyn Channels>,
    events: EventSender,
    /// The channels that are disabled, by worker. They are recorded before they are disabled, because
    /// the driver counts disables: each needs an enable.
    off: HashMap<WorkerId, Vec<Channel>>,
}

impl Thread {
    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Evict(workers) => self.evict(workers),
            Order::Restore(workers) => self.restore(workers),
            Order::RestoreAll => self.restore(self.off.keys().copied().collect()),
            Order::Forget(worker) => drop(self.off.remove(&worker)),
        }
    }

    fn evict(&mut self, workers: Vec<(WorkerId, WorkerObjects)>) {
        let mut lists = Vec::new();
        for (worker, objects) in workers {
            let objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
            let channels = objects.compute_channels(self.number);
            drop(objects);
            if !channels.is_empty() {
                self.off.insert(worker, channels.clone());
                lists.push((worker, channels));
            }
        }
        let all: Vec<_> = lists.iter().flat_map(|(_, channels)| channels).copied().collect();
        let Err(error) = self.channels.disable(self.number, &all) else { return };
        tracing::debug!("cannot evict several workers at once: {error}");
        // Some of the channels may be disabled now. Enable all of them, which has no effect on the
        // others, and begin again with one worker at a time. One of them may have exited.
        for (worker, channels) in lists {
            let _ = self.channels.enable(self.number, &channels);
            if let Err(error) = self.channels.disable(self.number, &channels) {
                self.fail(worker, &error);
            }
        }
    }

    fn restore(&mut self, workers: Vec<WorkerId>) {
        let lists: Vec<_> = workers
            .into_iter()
            .filter_map(|worker| Some((worker, self.off.remove(&worker)?)))
            .collect();
        let all: Vec<_> = lists.iter().flat_map(|(_, channels)| channels).copied().collect();
        if self.channels.enable(self.number, &all).is_ok() {
            return;
        }
        for (worker, channels) in lists {
            if let Err(error) = self.channels.enable(self.number, &channels) {
                self.fail(worker, &error);
            }
        }
    }

    /// Reports a worker whose channels may be disabled or enabled. If it still exists, it must end.
    fn fail(&mut self, worker: WorkerId, error: &RmError) {
        self.off.remove(&worker);
        tracing::debug!(worker, "cannot evict or restore: {error}");
        self.events.send(ComputeEvent::EvictionFailed(worker));
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::Shared;
    use super::*;
    use host_ipc::messages::DriverObject;
    use rm_control::Objects;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    const GPU: u32 = 3;

    /// A driver in which some channels no longer exist. Like the driver, it disables the channels
    /// before a missing one, and counts.
    #[derive(Default)]
    struct FakeDriver {
        gone: BTreeSet<u32>,
        disabled: Mutex<BTreeMap<u32, u32>>,
    }

    impl FakeDriver {
        fn each(&self, channels: &[Channel], change: impl Fn(&mut u32)) -> Result<(), RmError> {
            for channel in channels {
                if self.gone.contains(&channel.client) {
                    return Err(RmError::Status { operation: "test", status: 0x57 });
                }
                change(self.disabled.lock().unwrap().entry(channel.client).or_default());
            }
            Ok(())
        }

        fn disabled(&self, client: u32) -> u32 {
            self.disabled.lock().unwrap().get(&client).copied().unwrap_or(0)
        }
    }

    impl Channels for FakeDriver {
        fn disable(&self, gpu: u32, channels: &[Channel]) -> Result<(), RmError> {
            assert_eq!(gpu, GPU);
            self.each(channels, |count| *count += 1)
        }

        fn enable(&self, _: u32, channels: &[Channel]) -> Result<(), RmError> {
            self.each(channels, |count| *count = count.saturating_sub(1))
        }
    }

    /// A worker with one channel, whose client has the worker's number.
    fn worker(id: WorkerId) -> (WorkerId, WorkerObjects) {
        let client = id as u32;
        let mut objects = Objects::new();
        for (handle, parent, class, detail) in
            [(1, client, 0x80, GPU), (2, 1, 0xa06c, 1), (3, 2, 0xc86f, 0)]
        {
            objects.add(DriverObject { client, parent, handle, class, detail }).unwrap();
        }
        (id, Arc::new(Mutex::new(objects)))
    }

    fn thread(driver: &Arc<FakeDriver>) -> (Thread, mpsc::Receiver<ComputeEvent>) {
        let (events, incoming) = mpsc::channel();
        let events = EventSender { shared: Arc::new(Shared::new().unwrap()), events };
        let channels: Arc<dyn Channels> = driver.clone();
        (Thread { number: GPU, channels, events, off: HashMap::new() }, incoming)
    }

    #[test]
    fn each_disable_gets_one_enable() {
        let driver = Arc::new(FakeDriver::default());
        let (mut thread, events) = thread(&driver);
        thread.evict(vec![worker(11), worker(12)]);
        assert_eq!([11, 12].map(|client| driver.disabled(client)), [1, 1]);
        thread.restore(vec![11]);
        assert_eq!([11, 12].map(|client| driver.disabled(client)), [0, 1]);
        thread.carry_out(Order::RestoreAll);
        assert_eq!(driver.disabled(12), 0);
        assert_eq!(events.try_iter().next(), None);
    }

    #[test]
    fn a_worker_that_has_exited_does_not_keep_others_from_being_evicted_and_restored() {
        let driver = FakeDriver { gone: [12].into(), ..FakeDriver::default() };
        let driver = Arc::new(driver);
        let (mut thread, events) = thread(&driver);
        thread.evict(vec![worker(11), worker(12), worker(13)]);
        assert_eq!([11, 13].map(|client| driver.disabled(client)), [1, 1]);
        assert_eq!(events.try_iter().collect::<Vec<_>>(), [ComputeEvent::EvictionFailed(12)]);
        thread.restore(vec![11, 12, 13]);
        assert_eq!([11, 13].map(|client| driver.disabled(client)), [0, 0]);
    }

    #[test]
    fn a_worker_without_channels_is_left_alone() {
        let driver = Arc::new(FakeDriver::default());
        let (mut thread, events) = thread(&driver);
        thread.evict(vec![(11, WorkerObjects::default())]);
        thread.restore(vec![11]);
        assert_eq!(events.try_iter().next(), None);
    }
}
