//! Takes workers' kernels off GPUs, and lets them continue.
//!
//! Each of the driver's operations takes about half a millisecond, and may take longer while other
//! processes create contexts. So there is a thread for each GPU, which carries out orders one after
//! another, and the scheduler's thread never waits for it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use super::message::ComputeEvent;
use super::promptness::run_promptly;
use super::shared::EventSender;
use super::worker::WorkerObjects;
use control_api::TraceChange;
use control_server::trace_point::TracePoint;
use gpu_scheduler::{GpuKey, MS, Nanos, SEC, VmKey};
use host_ipc::gate::{self, GateMap, GpuGate};
use host_ipc::messages::WorkerId;
use rm_control::{Channel, Client, RmError};

/// An order that takes longer than this has failed.
const DEADLINE: Nanos = SEC;
/// How long softgpu's kernels may take to stop. On an emulated machine, their threads may not run
/// for seconds. After [`DEADLINE`], the order counts as late until they stop.
const OBEYS_WITHIN: Nanos = 10 * SEC;
/// How long the message that a worker has freed a channel may take to arrive.
const FREED_WITHIN: Nanos = 20 * MS;
/// How often the thread checks whether a message about a freed channel has arrived, or softgpu's
/// kernels have stopped.
const POLL: Duration = Duration::from_micros(50);

/// The driver's operations. It's a trait so that tests need no GPU.
pub(crate) trait Channels: Send + Sync {
    /// Takes the channels' kernels off a GPU. `gpu` is the driver's number of the GPU.
    fn disable(&self, gpu: u32, channels: &[Channel]) -> Result<(), RmError>;
    /// Lets the channels' kernels continue. Has no effect on channels that aren't disabled.
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

/// The means to evict kernels.
pub(crate) struct Eviction {
    /// The driver's operations. `None` for softgpu.
    pub(crate) channels: Option<Arc<dyn Channels>>,
    /// The driver's number of each GPU on which kernels can be evicted.
    pub(crate) gpus: BTreeMap<GpuKey, u32>,
}

impl Eviction {
    /// Lets a worker's kernels continue on all GPUs. Another broker may have taken them off the
    /// GPUs.
    pub(crate) fn enable(&self, objects: &WorkerObjects) -> Result<(), RmError> {
        let Some(driver) = &self.channels else { return Ok(()) };
        for gpu in self.gpus.values() {
            let channels = lock(objects).compute_channels(*gpu);
            if !channels.is_empty() {
                driver.enable(*gpu, &channels)?;
            }
        }
        Ok(())
    }
}

/// A worker's kernels on a GPU.
pub(super) enum Kernels {
    /// Kernels in channels. The channels are among these driver objects of the worker.
    Channels(WorkerObjects),
    /// softgpu's kernels, which obey orders in the gate page, in the entry for this device ordinal.
    Gate(Arc<GateMap>, usize),
}

/// Kernels that are off a GPU.
enum Off {
    /// The worker's driver objects, and the channels that were disabled. If the worker has freed
    /// one of these channels since, the objects no longer contain it.
    Channels(WorkerObjects, Vec<Channel>),
    Gate(Arc<GateMap>, usize),
}

enum Order {
    Evict(VmKey, Vec<(WorkerId, Kernels)>),
    Restore(VmKey),
    RestoreAll,
    /// The worker has exited, and with it its channels.
    Forget(WorkerId),
}

impl Order {
    fn name(&self) -> &'static str {
        match self {
            Self::Evict(..) => "Evict",
            Self::Restore(..) => "Restore",
            Self::RestoreAll => "RestoreAll",
            Self::Forget(_) => "Forget",
        }
    }

    /// Returns the VM that the order concerns, and the change that a trace shows once the order has
    /// been carried out.
    fn change(&self) -> Option<(VmKey, TraceChange)> {
        match self {
            Self::Evict(vm, _) => Some((*vm, TraceChange::Evicted)),
            Self::Restore(vm) => Some((*vm, TraceChange::Returned)),
            Self::RestoreAll | Self::Forget(_) => None,
        }
    }
}

/// The threads, one for each GPU on which kernels can be evicted.
#[derive(Default)]
pub(super) struct Evictor(BTreeMap<GpuKey, Lane>);

struct Lane {
    /// The driver's number of the GPU.
    number: u32,
    orders: mpsc::Sender<Order>,
    /// The workers that have exited and that the thread has yet to forget.
    exited: Arc<Mutex<HashSet<WorkerId>>>,
    thread: JoinHandle<()>,
    /// When the current order began, or 0 if there is none.
    busy_since: Arc<AtomicU64>,
}

impl Evictor {
    /// Starts the threads. They report workers whose eviction fails through `events`.
    pub(super) fn start(eviction: &Eviction, events: &EventSender) -> io::Result<Self> {
        let mut lanes = BTreeMap::new();
        for (gpu, number) in &eviction.gpus {
            let (orders, incoming) = mpsc::channel::<Order>();
            let busy_since = Arc::new(AtomicU64::new(0));
            let mut thread = Thread {
                number: *number,
                channels: eviction.channels.clone(),
                events: events.clone(),
                exited: Arc::default(),
                off: HashMap::new(),
            };
            let exited = thread.exited.clone();
            let (since, key) = (busy_since.clone(), gpu.0);
            let name = format!("evictor {number}");
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                // Ignore a failure here, because the scheduler's thread makes the same call and
                // reports it.
                let _ = run_promptly();
                for order in incoming {
                    let (name, change, began) = (order.name(), order.change(), gate::now());
                    let workers =
                        tracing::enabled!(tracing::Level::TRACE).then(|| thread.workers_of(&order));
                    since.store(began, Ordering::Relaxed);
                    if catch_unwind(AssertUnwindSafe(|| thread.carry_out(order))).is_err() {
                        // The panic has been logged. Put all evicted kernels back, so that none
                        // stays off the GPU.
                        thread.carry_out(Order::RestoreAll);
                    }
                    since.store(0, Ordering::Relaxed);
                    let now = gate::now();
                    if let Some((VmKey(vm), change)) = change {
                        let traces = &thread.events.shared.traces;
                        traces.publish(TracePoint { time_ns: now, vm, gpu: key, change });
                    }
                    let us = now.saturating_sub(began) / 1000;
                    // tests/gpu/evictions.sh reads these lines.
                    if let Some(workers) = workers {
                        tracing::trace!(now, gpu = key, order = %name, us, ?workers);
                    }
                }
            })?;
            lanes.insert(*gpu, Lane { number: *number, orders, exited, thread, busy_since });
        }
        Ok(Self(lanes))
    }

    /// Returns true if kernels can be evicted from this GPU. While an order takes too long, they
    /// can't.
    pub(super) fn works(&self, gpu: GpuKey, now: Nanos) -> bool {
        self.0.contains_key(&gpu) && !self.is_late(gpu, now)
    }

    /// Returns the driver's number of a GPU from which kernels can be evicted.
    pub(super) fn number(&self, gpu: GpuKey) -> Option<u32> {
        self.0.get(&gpu).map(|lane| lane.number)
    }

    /// Returns true if the current order on this GPU takes too long.
    pub(super) fn is_late(&self, gpu: GpuKey, now: Nanos) -> bool {
        let since = self.0.get(&gpu).map_or(0, |lane| lane.busy_since.load(Ordering::Relaxed));
        since != 0 && now.saturating_sub(since) > DEADLINE
    }

    /// Takes kernels of a VM's workers off a GPU. None of these workers may already be off this
    /// GPU.
    pub(super) fn evict(&self, vm: VmKey, gpu: GpuKey, workers: Vec<(WorkerId, Kernels)>) {
        self.order(gpu, Order::Evict(vm, workers));
    }

    /// Lets the kernels of a VM's workers continue.
    pub(super) fn restore(&self, vm: VmKey, gpu: GpuKey) {
        self.order(gpu, Order::Restore(vm));
    }

    /// Lets all kernels continue.
    pub(super) fn restore_all(&self) {
        self.0.keys().for_each(|gpu| self.order(*gpu, Order::RestoreAll));
    }

    /// Forgets a worker that has exited.
    pub(super) fn forget(&self, worker: WorkerId) {
        for (gpu, lane) in &self.0 {
            lock(&lane.exited).insert(worker);
            self.order(*gpu, Order::Forget(worker));
        }
    }

    fn order(&self, gpu: GpuKey, order: Order) {
        if let Some(lane) = self.0.get(&gpu) {
            // Sending can't fail: the thread runs until this object is dropped.
            let _ = lane.orders.send(order);
        }
    }
}

impl Drop for Evictor {
    /// Waits until all orders have been carried out.
    fn drop(&mut self) {
        for Lane { orders, thread, .. } in std::mem::take(&mut self.0).into_values() {
            drop(orders);
            // The thread catches and logs its panics, so ignore the result.
            let _ = thread.join();
        }
    }
}

/// The state of a GPU's thread.
struct Thread {
    number: u32,
    channels: Option<Arc<dyn Channels>>,
    events: EventSender,
    exited: Arc<Mutex<HashSet<WorkerId>>>,
    /// For each worker whose kernels are off the GPU: its VM, and the kernels. Channels are
    /// recorded before they are disabled, because the driver counts disables and each of them needs
    /// an enable.
    off: HashMap<WorkerId, (VmKey, Off)>,
}

impl Thread {
    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Evict(vm, workers) => self.evict(vm, workers),
            Order::Restore(_) | Order::RestoreAll => self.restore(self.workers_of(&order)),
            Order::Forget(worker) => {
                self.off.remove(&worker);
                lock(&self.exited).remove(&worker);
            }
        }
    }

    /// Returns the workers that an order affects.
    fn workers_of(&self, order: &Order) -> Vec<WorkerId> {
        match order {
            Order::Evict(_, workers) => workers.iter().map(|(id, _)| *id).collect(),
            Order::Restore(vm) => {
                self.off.iter().filter(|(_, (of, _))| of == vm).map(|(id, _)| *id).collect()
            }
            Order::RestoreAll => self.off.keys().copied().collect(),
            Order::Forget(worker) => vec![*worker],
        }
    }

    fn evict(&mut self, vm: VmKey, workers: Vec<(WorkerId, Kernels)>) {
        let (mut lists, mut gates) = (Vec::new(), Vec::new());
        for (worker, kernels) in workers {
            match kernels {
                Kernels::Channels(objects) => {
                    let channels = self.channels_of(&objects);
                    if !channels.is_empty() {
                        let off = Off::Channels(objects.clone(), channels.clone());
                        self.off.insert(worker, (vm, off));
                        lists.push((worker, objects, channels));
                    }
                }
                Kernels::Gate(page, ordinal) => {
                    page.gpus[ordinal].off.store(1, Ordering::SeqCst);
                    self.off.insert(worker, (vm, Off::Gate(page.clone(), ordinal)));
                    gates.push((worker, page, ordinal));
                }
            }
        }
        for (worker, page, ordinal) in gates {
            if !self.stops(worker, &page.gpus[ordinal]) {
                self.fail(worker, &"softgpu doesn't obey");
            }
        }
        let Some(driver) = self.channels.clone().filter(|_| !lists.is_empty()) else { return };
        let all: Vec<_> = lists.iter().flat_map(|(.., channels)| channels).copied().collect();
        let Err(error) = driver.disable(self.number, &all) else { return };
        tracing::debug!("cannot evict all workers at once: {error}");
        // The call may have failed because a worker has exited or freed a channel. Some of the
        // channels may be disabled now. So enable each channel, which has no effect if it isn't
        // disabled, and disable it again.
        for (worker, objects, channels) in lists {
            let change = |channel: &[Channel]| {
                let _ = driver.enable(self.number, channel);
                driver.disable(self.number, channel)
            };
            if let Err(error) = self.change_each(&objects, &channels, change) {
                self.fail(worker, &error);
            }
        }
    }

    /// Waits until softgpu's kernels in a worker have obeyed, or the worker has exited. Returns
    /// false if that takes too long.
    fn stops(&self, worker: WorkerId, gate: &GpuGate) -> bool {
        let since = gate::now();
        while gate.running.load(Ordering::SeqCst) != 0 && !lock(&self.exited).contains(&worker) {
            if gate::now().saturating_sub(since) > OBEYS_WITHIN {
                return false;
            }
            std::thread::sleep(POLL);
        }
        true
    }

    /// Returns the channels that run a worker's kernels.
    fn channels_of(&self, objects: &WorkerObjects) -> Vec<Channel> {
        let objects = lock(objects);
        objects.compute_channels(self.number)
    }

    /// Changes one channel after the other. Changing a channel that the worker has freed fails.
    /// Such a failure isn't an error. But the supervisor's message that the channel was freed may
    /// arrive a little later, so this waits for that message before it returns an error.
    fn change_each(
        &self,
        objects: &WorkerObjects,
        channels: &[Channel],
        change: impl Fn(&[Channel]) -> Result<(), RmError>,
    ) -> Result<(), RmError> {
        for channel in channels {
            let Err(error) = change(std::slice::from_ref(channel)) else { continue };
            let since = gate::now();
            while self.channels_of(objects).contains(channel) {
                if gate::now().saturating_sub(since) > FREED_WITHIN {
                    return Err(error);
                }
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }

    fn restore(&mut self, workers: Vec<WorkerId>) {
        let mut lists = Vec::new();
        for worker in workers {
            match self.off.remove(&worker) {
                Some((_, Off::Channels(objects, channels))) => {
                    lists.push((worker, objects, channels));
                }
                Some((_, Off::Gate(page, at))) => page.gpus[at].off.store(0, Ordering::SeqCst),
                None => {}
            }
        }
        let Some(driver) = self.channels.clone().filter(|_| !lists.is_empty()) else { return };
        let all: Vec<_> = lists.iter().flat_map(|(.., channels)| channels).copied().collect();
        if driver.enable(self.number, &all).is_ok() {
            return;
        }
        // The call may have enabled some of the channels. Enabling them again has no effect.
        for (worker, objects, channels) in lists {
            let enable = |channel: &[Channel]| driver.enable(self.number, channel);
            if let Err(error) = self.change_each(&objects, &channels, enable) {
                self.fail(worker, &error);
            }
        }
    }

    /// Reports a worker for which it's unknown whether its kernels are on the GPU. If the worker
    /// still exists, it must end.
    fn fail(&mut self, worker: WorkerId, error: &dyn std::fmt::Display) {
        self.off.remove(&worker);
        tracing::debug!(worker, "cannot evict or restore: {error}");
        self.events.send(ComputeEvent::EvictionFailed(worker));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::shared::Shared;
    use super::*;
    use control_server::trace_point::Traces;
    use host_ipc::messages::DriverObject;
    use rm_control::Objects;
    use std::collections::BTreeSet;

    const GPU: u32 = 3;
    const VM: VmKey = VmKey(1);

    /// A driver in which some channels no longer exist. Like the real driver, it changes the
    /// channels in the list before a missing one, and counts how often each was disabled.
    #[derive(Default)]
    struct FakeDriver {
        gone: Mutex<BTreeSet<u32>>,
        disabled: Mutex<BTreeMap<u32, u32>>,
    }

    impl FakeDriver {
        fn each(&self, channels: &[Channel], change: impl Fn(&mut u32)) -> Result<(), RmError> {
            for channel in channels {
                if self.gone.lock().unwrap().contains(&channel.client) {
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

    /// Returns a worker with one channel, whose client has the worker's number.
    fn worker(id: WorkerId) -> (WorkerId, Kernels) {
        let client = id as u32;
        let mut objects = Objects::new();
        for (handle, parent, class, detail) in
            [(1, client, 0x80, GPU), (2, 1, 0xa06c, 1), (3, 2, 0xc86f, 0)]
        {
            objects.add(DriverObject { client, parent, handle, class, detail }).unwrap();
        }
        (id, Kernels::Channels(Arc::new(Mutex::new(objects))))
    }

    fn thread(driver: &Arc<FakeDriver>) -> (Thread, mpsc::Receiver<ComputeEvent>) {
        let (events, incoming) = mpsc::channel();
        let events =
            EventSender { shared: Arc::new(Shared::new(Traces::default()).unwrap()), events };
        let channels: Option<Arc<dyn Channels>> = Some(driver.clone());
        let (exited, off) = (Arc::default(), HashMap::new());
        (Thread { number: GPU, channels, events, exited, off }, incoming)
    }

    #[test]
    fn each_disable_gets_one_enable() {
        let driver = Arc::new(FakeDriver::default());
        let (mut thread, events) = thread(&driver);
        thread.evict(VM, vec![worker(11)]);
        thread.evict(VmKey(2), vec![worker(12)]);
        assert_eq!([11, 12].map(|client| driver.disabled(client)), [1, 1]);
        thread.carry_out(Order::Restore(VM));
        assert_eq!([11, 12].map(|client| driver.disabled(client)), [0, 1]);
        thread.carry_out(Order::RestoreAll);
        assert_eq!(driver.disabled(12), 0);
        assert_eq!(events.try_iter().next(), None);
    }

    #[test]
    fn a_worker_that_has_exited_does_not_keep_others_from_being_evicted_and_restored() {
        let driver = FakeDriver { gone: Mutex::new([12].into()), ..FakeDriver::default() };
        let driver = Arc::new(driver);
        let (mut thread, events) = thread(&driver);
        thread.evict(VM, vec![worker(11), worker(12), worker(13)]);
        assert_eq!([11, 13].map(|client| driver.disabled(client)), [1, 1]);
        assert_eq!(events.try_iter().collect::<Vec<_>>(), [ComputeEvent::EvictionFailed(12)]);
        thread.restore(vec![11, 12, 13]);
        assert_eq!([11, 13].map(|client| driver.disabled(client)), [0, 0]);
    }

    #[test]
    fn a_worker_of_softgpu_that_has_exited_does_not_delay_evictions() {
        let (mut thread, events) = thread(&Arc::new(FakeDriver::default()));
        let page = Arc::new(GateMap::private().unwrap());
        page.gpus[0].running.store(1, Ordering::SeqCst);
        lock(&thread.exited).insert(11);
        thread.evict(VM, vec![(11, Kernels::Gate(page, 0))]);
        assert_eq!(events.try_iter().next(), None);
        thread.carry_out(Order::Forget(11));
        assert!(thread.off.is_empty() && lock(&thread.exited).is_empty());
    }

    #[test]
    fn a_channel_that_a_worker_has_freed_does_not_end_its_session() {
        let driver = Arc::new(FakeDriver::default());
        let (mut thread, events) = thread(&driver);
        let (_, Kernels::Channels(objects)) = worker(11) else { unreachable!() };
        for (handle, parent, class) in [(1, 12, 0x80), (2, 1, 0xa06c), (3, 2, 0xc86f)] {
            let detail = if class == 0x80 { GPU } else { 1 };
            let object = DriverObject { client: 12, parent, handle, class, detail };
            objects.lock().unwrap().add(object).unwrap();
        }
        thread.evict(VM, vec![(11, Kernels::Channels(objects.clone()))]);
        assert_eq!([11, 12].map(|client| driver.disabled(client)), [1, 1]);
        driver.gone.lock().unwrap().insert(12);
        objects.lock().unwrap().free(12, 3);
        thread.restore(vec![11]);
        assert_eq!(driver.disabled(11), 0);
        assert_eq!(events.try_iter().next(), None);
    }

    #[test]
    fn a_worker_without_channels_is_left_alone() {
        let driver = Arc::new(FakeDriver::default());
        let (mut thread, events) = thread(&driver);
        thread.evict(VM, vec![(11, Kernels::Channels(WorkerObjects::default()))]);
        thread.restore(vec![11]);
        assert_eq!(events.try_iter().next(), None);
    }
}
