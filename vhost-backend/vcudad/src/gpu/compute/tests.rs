//! Tests for the scheduler thread. The tests write to the gate pages in place of workers.

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::core::Core;
use super::evictor::{Eviction, Evictor};
use super::handle::ComputeHandle;
use super::message::ComputeEvent;
use super::registry::Registry;
use super::worker::{
    BEAT_DEAD, BEAT_DEAD_THROTTLED, BEAT_LOST, Evicts, Heartbeat, Worker, WorkerEnds, WorkerTraits,
};
use crate::gpu::mps_group::MpsGroups;
use crate::sessions::worker::SchedulerEnds;
use control_server::trace_point::Traces;
use evictions::Driver;
use gpu_scheduler::{GpuKey, SEC, Share, VmKey};
use host_ipc::doorbell::doorbell;
use host_ipc::eventfd::{eventfd, notify};
use host_ipc::gate::{self, GateMap, Mode};
use host_ipc::messages::WorkerId;
use memory_ledger::{GpuId, VmId};

mod evictions;

const GPU: GpuKey = GpuKey(0);

/// A simulated worker.
struct FakeWorker {
    page: GateMap,
    doorbell: OwnedFd,
    bell: OwnedFd,
}

impl FakeWorker {
    fn start(compute: &mut ComputeHandle, id: WorkerId, vm: VmKey) -> Self {
        Self::start_with(compute, id, vm, None)
    }

    fn start_with(
        compute: &mut ComputeHandle,
        id: WorkerId,
        vm: VmKey,
        evicts: Option<Evicts>,
    ) -> Self {
        let file = GateMap::create().unwrap();
        let ((button, doorbell), bell) = (doorbell().unwrap(), eventfd().unwrap());
        let ours = bell.try_clone().unwrap();
        let [page, its_page] = std::array::from_fn(|_| GateMap::map(&file).unwrap());
        let ends = SchedulerEnds { page, doorbell: button, bell };
        let traits = WorkerTraits { evicts, ..WorkerTraits::default() };
        compute.add_worker(id, vm, vec![GPU], ends, traits);
        Self { page: its_page, doorbell, bell: ours }
    }

    fn mode(&self) -> Mode {
        self.page.gpus[0].grant().mode
    }

    fn set(&self, word: impl Fn(&gate::GpuGate) -> &AtomicU64, value: u64) {
        word(&self.page.gpus[0]).store(value, Ordering::SeqCst);
    }

    fn ring(&self) {
        notify(&self.bell);
    }

    fn hold_silently(&self) {
        self.set(|gpu| &gpu.held, 1);
    }

    /// Does the same as `run`, but doesn't ring the bell.
    fn run_silently(&self) {
        let open = self.mode().is_open();
        self.set(|gpu| &gpu.active, open.into());
        gate::bump(&self.page.gpus[0].finished, 1);
        self.page.worker.beat.store(gate::now(), Ordering::Relaxed);
    }

    /// Holds back work at the gate and rings the bell.
    fn hold(&self) {
        self.set(|gpu| &gpu.held, 1);
        self.ring();
    }

    /// Acts as a worker that always has work. Returns whether its gate is open.
    fn run(&self) -> bool {
        let open = self.mode().is_open();
        if open {
            self.set(|gpu| &gpu.active, 1);
            gate::bump(&self.page.gpus[0].finished, 1);
        }
        if (!open || !self.mode().is_open())
            && self.page.gpus[0].active.swap(0, Ordering::SeqCst) == 1
        {
            self.ring();
        }
        self.page.worker.beat.store(gate::now(), Ordering::Relaxed);
        open
    }
}

fn until(condition: &str, mut is_met: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_met() {
        assert!(start.elapsed().as_secs() < 30, "timed out: {condition}");
        std::thread::yield_now();
    }
}

fn share(weight: u32) -> Vec<(GpuKey, Share)> {
    vec![(GPU, Share { weight, ..Share::default() })]
}

#[test]
fn copies_beside_another_vms_window_are_charged_and_stop_beyond_the_share() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(10));
    let one = FakeWorker::start(&mut compute, 1, a);
    let two = FakeWorker::start(&mut compute, 2, b);
    let copies = || two.page.gpus[0].copies.load(Ordering::SeqCst);
    until("the second VM may copy", || copies() > 0);
    one.hold();
    until("the first VM has the GPU", || one.run());
    let start = Instant::now();
    two.set(|gpu| &gpu.copying, 1);
    two.ring();
    until("the second VM is beyond its share", || {
        one.run();
        two.set(|gpu| &gpu.copied_ns, start.elapsed().as_nanos() as u64);
        two.page.worker.beat.store(gate::now(), Ordering::Relaxed);
        copies() == 0
    });
    assert_eq!(two.mode(), Mode::Closed, "the second VM holds no work");
    two.set(|gpu| &gpu.copying, 0);
    two.hold();
    until("the first VM has caught up", || {
        one.run();
        two.run();
        copies() > 0
    });
    let stats = compute.stats_of(b, GPU).unwrap();
    assert!(stats.copied_ns >= 20_000_000 && stats.charged_ns == stats.copied_ns, "{stats:?}");
}

#[test]
fn a_vm_alone_is_unlimited_and_two_take_turns() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (one, two) = (FakeWorker::start(&mut compute, 1, a), FakeWorker::start(&mut compute, 2, b));
    assert_eq!((one.mode(), two.mode()), (Mode::Closed, Mode::Closed));
    one.hold();
    until("the VM is unlimited", || one.run() && one.mode() == Mode::Unlimited);
    two.hold();
    let mut turns = 0;
    let mut had = false;
    until("ten turns", || {
        let (first, second) = (one.run(), two.run());
        if second != had {
            turns += 1;
            had = second;
        }
        let _ = first;
        turns >= 10
    });
    for vm in [a, b] {
        let stats = compute.stats_of(vm, GPU).unwrap();
        assert!(stats.windows > 0, "{stats:?}");
    }
    // After VM 2 is removed, VM 1 is alone again.
    compute.remove_worker(2);
    compute.remove_vm(b);
    until("the VM is unlimited again", || one.run() && one.mode() == Mode::Unlimited);
}

#[test]
fn vms_under_mps_share_windows_and_an_exclusive_vm_has_its_own() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let (mut together, exclusive) = (MpsGroups::default(), VmKey(3));
    let keys = [VmId(1), VmId(2)].map(|vm| {
        let group = together.set(vm, &[GpuId(0)], Share::default());
        compute.set_vm(group.key, vec![(GPU, group.share.unwrap())]);
        group.key
    });
    compute.set_vm(exclusive, share(100));
    let one = FakeWorker::start(&mut compute, 1, keys[0]);
    let two = FakeWorker::start(&mut compute, 2, keys[1]);
    let apart = FakeWorker::start(&mut compute, 3, exclusive);
    for worker in [&one, &two, &apart] {
        worker.hold();
    }
    // If the group's two VMs had separate windows, their gates would never be open at the same
    // time.
    let (mut both, mut alone, mut last) = (0, 0, None);
    until("ten windows of the group and ten of the exclusive VM", || {
        let open = (one.run(), two.run(), apart.run());
        if last.replace(open) != Some(open) {
            both += u32::from(open == (true, true, false));
            alone += u32::from(open == (false, false, true));
        }
        both >= 10 && alone >= 10
    });
    let stats = compute.stats_of(keys[0], GPU).unwrap();
    assert!(stats.windows > 0, "{stats:?}");
}

#[test]
fn a_worker_without_heartbeat_loses_its_window_and_is_reported() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (one, two) = (FakeWorker::start(&mut compute, 7, a), FakeWorker::start(&mut compute, 8, b));
    one.hold();
    until("the first worker runs", || one.run());
    // The first worker sends no heartbeats after this, and still has work in flight.
    one.set(|gpu| &gpu.active, 1);
    two.hold();
    until("the window passes to the other VM", || two.run());
    let mut events = Vec::new();
    until("the loss is reported", || {
        two.run();
        events.extend(compute.events());
        !events.is_empty()
    });
    assert_eq!(events, [ComputeEvent::HeartbeatLost(7)]);
}

#[test]
fn a_heartbeat_that_stops_between_two_calls_is_reported_too() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    compute.set_vm(VmKey(1), share(100));
    let one = FakeWorker::start(&mut compute, 7, VmKey(1));
    one.page.worker.beating.store(1, Ordering::SeqCst);
    one.hold();
    until("the first worker runs", || one.run());
    // All of the worker's work has finished, and it submits nothing more.
    one.set(|gpu| &gpu.active, 0);
    one.set(|gpu| &gpu.held, 0);
    one.ring();
    let mut events = Vec::new();
    until("the loss is reported", || {
        events.extend(compute.events());
        !events.is_empty()
    });
    assert_eq!(events, [ComputeEvent::HeartbeatLost(7)]);
}

#[test]
fn a_worker_whose_cpu_time_is_limited_may_be_silent_for_longer() {
    for (is_throttled, dead_after) in [(false, BEAT_DEAD), (true, BEAT_DEAD_THROTTLED)] {
        let page = Arc::new(GateMap::map(GateMap::create().unwrap()).unwrap());
        page.worker.beating.store(1, Ordering::SeqCst);
        let bell = || Arc::new(eventfd().unwrap());
        let (doorbell, bell) = (bell(), bell());
        let (vm, gpus) = (VmKey(1), [GPU].into());
        let mut worker = Worker::new(
            WorkerEnds {
                vm,
                gpus,
                page,
                doorbell,
                bell,
                is_throttled,
                evicts: None,
                is_paused: false,
            },
            0,
        );
        // With or without a cpu.max, the worker's window passes to another VM after [`BEAT_LOST`].
        assert_eq!(worker.check_heartbeat(false, BEAT_LOST + 1), Heartbeat::Lost);
        assert_eq!(worker.check_heartbeat(false, dead_after), Heartbeat::Unchanged);
        assert_eq!(worker.check_heartbeat(false, dead_after + 1), Heartbeat::Dead);
    }
}

#[test]
fn counters_of_a_worker_without_heartbeat_are_kept() {
    let (_handle, events) = ComputeHandle::new(Traces::default()).unwrap();
    let mut core = Core::new(&Registry::default(), events, Arc::new(Evictor::default()), 0);
    let vm = VmKey(1);
    core.set_vm(vm, &share(100), 0);
    let page = Arc::new(GateMap::map(GateMap::create().unwrap()).unwrap());
    let bell = || Arc::new(eventfd().unwrap());
    let ends = WorkerEnds {
        vm,
        gpus: [GPU].into(),
        page: page.clone(),
        doorbell: bell(),
        bell: bell(),
        is_throttled: false,
        evicts: None,
        is_paused: false,
    };
    core.add_worker(7, ends, 0);
    let gate = &page.gpus[0];
    gate.held.store(1, Ordering::SeqCst);
    let counters = [&gate.finished, &gate.busy_ns, &gate.begun_ns, &gate.copied_ns];
    for (counter, value) in counters.into_iter().zip(1..) {
        counter.store(value, Ordering::SeqCst);
    }
    let counted = |core: &Core, now| {
        let report = core.combined_report(vm, GPU, now).unwrap();
        [report.finished, report.busy_ns, report.begun_ns, report.copied_ns]
    };
    for now in (0..SEC).step_by(10_000_000) {
        core.tick(now);
        assert_eq!(counted(&core, now), [1, 2, 3, 4]);
    }
    assert!(core.workers[&7].lost);
    core.remove_worker(7, SEC);
    assert_eq!(counted(&core, SEC), [1, 2, 3, 4]);
}

#[test]
fn a_worker_has_used_the_time_that_it_counts_but_no_more_than_has_passed() {
    let (mut handle, _events) = ComputeHandle::new(Traces::default()).unwrap();
    let worker = FakeWorker::start(&mut handle, 7, VmKey(1));
    let registry = handle.shared.registry();
    let mut used = Worker::new(registry.workers[&7].clone(), 0);
    // Shares are rounded, so they may differ by one unit.
    let is_about = |used: &Worker, now, share: u32| {
        let shares: Vec<_> = used.shares(now).collect();
        assert!(shares.len() == 1 && shares[0].1.abs_diff(share) <= 1, "{shares:?}, not {share}");
    };
    let gate = &worker.page.gpus[0];
    for step in 1..=100 {
        gate::bump(&gate.busy_ns, 2_000_000);
        gate::bump(&gate.copied_ns, 1_000_000);
        used.sample(step * SEC / 100);
    }
    is_about(&used, SEC, 3000);
    is_about(&used, 3 * SEC, 0);
    // A value that is too large counts as the time since the last change.
    gate.busy_ns.store(u64::MAX / 2, Ordering::Relaxed);
    used.sample(SEC + SEC / 2);
    is_about(&used, 2 * SEC, 5000);
}

#[test]
fn a_kernel_timeout_ends_only_the_session_of_that_kernel() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let vm = VmKey(1);
    let timeout = Share { kernel_timeout: Some(500_000_000), ..Share::default() };
    compute.set_vm(vm, vec![(GPU, timeout)]);
    let (long, short) =
        (FakeWorker::start(&mut compute, 1, vm), FakeWorker::start(&mut compute, 2, vm));
    long.hold();
    short.hold();
    until("the gate is open", || long.run() && short.run());
    assert_ne!(long.mode(), Mode::Unlimited, "work is measured");
    long.set(|gpu| &gpu.oldest, gate::now());
    let verdict = |worker: &FakeWorker| worker.page.worker.verdict.load(Ordering::SeqCst);
    until("the session gets the error", || {
        long.run();
        short.set(|gpu| &gpu.oldest, gate::now());
        short.run();
        verdict(&long) != 0
    });
    // The event is sent before the guest gets the error.
    assert_eq!(compute.events(), [ComputeEvent::KernelTimeout(1, GPU)]);
    assert_eq!((verdict(&long), verdict(&short)), (702, 0));
    let mut events = Vec::new();
    until("the event that asks to kill the worker", || {
        short.set(|gpu| &gpu.oldest, gate::now());
        short.run();
        long.run();
        events.extend(compute.events());
        !events.is_empty()
    });
    assert_eq!(events, [ComputeEvent::TimeoutReported(1)]);
}

#[test]
fn a_new_kernel_timeout_applies_at_once_to_a_vm_that_is_alone() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let vm = VmKey(1);
    compute.set_vm(vm, share(100));
    let worker = FakeWorker::start(&mut compute, 1, vm);
    worker.hold();
    until("the VM is unlimited", || worker.run() && worker.mode() == Mode::Unlimited);
    let timed = Share { kernel_timeout: Some(500_000_000), ..Share::default() };
    compute.set_vm(vm, vec![(GPU, timed)]);
    until("work is measured", || worker.run() && worker.mode() == Mode::Shared);
    worker.set(|gpu| &gpu.oldest, gate::now());
    until("the session gets the error", || {
        worker.run();
        worker.page.worker.verdict.load(Ordering::SeqCst) == 702
    });
    compute.set_vm(vm, share(100));
    until("the VM is unlimited again", || worker.run() && worker.mode() == Mode::Unlimited);
}

#[test]
fn a_panic_closes_all_gates_and_restarts_the_thread() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let vm = VmKey(1);
    compute.set_vm(vm, share(100));
    let worker = FakeWorker::start(&mut compute, 1, vm);
    worker.hold();
    until("the gate is open", || worker.run());
    let epoch = worker.page.gpus[0].grant().epoch;
    compute.inject_panic();
    until("the thread restarts", || compute.restarts() == 1);
    assert!(compute.events().contains(&ComputeEvent::Restarted));
    until("the gate is open again", || worker.run() && worker.page.gpus[0].grant().epoch > epoch);
}

/// Returns a thread's scheduling policy, as in proc(5).
fn policy_of(task: &std::path::Path) -> Option<i32> {
    let stat = std::fs::read_to_string(task.join("stat")).ok()?;
    let after_name = stat.rsplit(") ").next()?;
    after_name.split(' ').nth(41 - 3)?.parse().ok()
}

#[test]
fn the_threads_that_end_turns_have_real_time_priority_if_that_is_allowed() {
    let allowed = std::thread::spawn(|| super::promptness::run_promptly().is_ok());
    let policy = if allowed.join().unwrap() { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
    let eviction =
        Eviction { channels: Some(Arc::new(Driver::default())), gpus: [(GPU, 777)].into() };
    let _compute = ComputeHandle::start(Some(&eviction), Traces::default()).unwrap();
    // Check only the thread with this unique name. Other tests have threads named "scheduler", too.
    until("the thread that evicts kernels has this policy", || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks.filter_map(|task| Some(task.ok()?.path())).any(|task| {
            let name = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
            name.trim() == "evictor 777"
                && policy_of(&task)
                    .is_some_and(|found| found & !libc::SCHED_RESET_ON_FORK == policy)
        })
    });
}

#[test]
fn an_idle_thread_is_alive_and_a_stuck_one_is_not() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    until("the thread is alive", || compute.is_alive());
    until("the idle thread is alive", || compute.is_alive());
    let held = compute.inject_stall();
    until("the thread is stuck", || {
        std::thread::sleep(Duration::from_millis(20));
        !compute.is_alive()
    });
    assert!(!compute.is_alive(), "a second query does not make a stuck thread alive");
    drop(held);
    until("the thread is alive again", || compute.is_alive());
    assert!(
        ComputeHandle::off().unwrap().is_alive(),
        "without a scheduler there is no thread to be stuck"
    );
}

#[test]
fn a_bell_that_always_rings_does_not_starve_other_workers() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (loud, quiet) =
        (FakeWorker::start(&mut compute, 1, a), FakeWorker::start(&mut compute, 2, b));
    loud.hold();
    quiet.hold();
    let mut turns = 0;
    until("turns of the other worker", || {
        loud.run();
        loud.ring();
        turns += u32::from(quiet.run());
        turns > 100
    });
}

/// Clears O_NONBLOCK of a descriptor, as a hostile worker could, and returns the worker's duplicate
/// of the descriptor. Clearing the flag affects all duplicates.
fn blocking(fd: &OwnedFd) -> std::fs::File {
    // SAFETY: F_SETFL takes only an integer, and the descriptor is open.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, 0) }, 0);
    fd.try_clone().unwrap().into()
}

#[test]
fn a_hostile_worker_cannot_block_the_thread_through_its_descriptors() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (bad, good) =
        (FakeWorker::start(&mut compute, 1, a), FakeWorker::start(&mut compute, 2, b));
    // If the doorbell were an eventfd, this write would make the broker's next ring block.
    let _ = blocking(&bad.doorbell).write(&(u64::MAX - 1).to_ne_bytes());
    bad.hold_silently();
    good.hold();
    let mut turns = 0;
    until("turns of the other worker", || {
        bad.hold_silently();
        bad.run_silently();
        turns += u32::from(good.run());
        turns > 1000
    });
    until("the thread is alive", || compute.is_alive());
}

#[test]
fn a_bell_that_its_worker_has_reset_does_not_block_the_thread() {
    let vm = VmKey(1);
    let page = Arc::new(GateMap::map(GateMap::create().unwrap()).unwrap());
    let (button, _chime) = doorbell().unwrap();
    let bell = eventfd().unwrap();
    // In this scenario, the bell woke the thread, but the worker has reset the bell's counter to
    // zero.
    let _its_end = blocking(&bell);
    let (doorbell, bell) = (Arc::new(button), Arc::new(bell));
    let ends = WorkerEnds {
        vm,
        gpus: [GPU].into(),
        page,
        doorbell,
        bell,
        is_throttled: false,
        evicts: None,
        is_paused: false,
    };
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || done.send(Worker::new(ends, 0).count_ring(0)));
    assert_eq!(result.recv_timeout(Duration::from_secs(20)), Ok(true));
}

#[test]
fn a_worker_that_closes_its_descriptors_causes_no_busy_loop() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let vm = VmKey(1);
    compute.set_vm(vm, share(100));
    let worker = FakeWorker::start(&mut compute, 1, vm);
    worker.hold();
    until("the gate is open", || worker.run());
    let FakeWorker { page, doorbell, bell } = worker;
    page.gpus[0].held.store(0, Ordering::SeqCst);
    page.gpus[0].active.store(0, Ordering::SeqCst);
    notify(&bell);
    drop((doorbell, bell));
    std::thread::sleep(Duration::from_millis(100));
    let before = compute.shared.rounds.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(300));
    let rounds = compute.shared.rounds.load(Ordering::Relaxed) - before;
    assert!(rounds < 1000, "{rounds} rounds without work");
    // Ringing the doorbell of a worker that has closed its ends has no effect.
    page.gpus[0].held.store(1, Ordering::SeqCst);
    compute.set_vm(vm, share(50));
    until("the thread is alive", || compute.is_alive());
}

#[test]
fn without_a_scheduler_all_gates_are_open() {
    let mut compute = ComputeHandle::off().unwrap();
    compute.set_vm(VmKey(1), share(100));
    let worker = FakeWorker::start(&mut compute, 1, VmKey(1));
    assert_eq!(worker.mode(), Mode::Unlimited);
    assert_eq!(compute.stats_of(VmKey(1), GPU), None);
}
