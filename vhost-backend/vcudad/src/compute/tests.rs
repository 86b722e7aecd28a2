//! The thread with pages that the tests write as workers would.

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::super::mps_group::MpsGroups;
use super::core::Core;
use super::handle::ComputeHandle;
use super::message::ComputeEvent;
use super::registry::Registry;
use super::worker::{Worker, WorkerEnds};
use gpu_scheduler::{GpuKey, SEC, Share, VmKey};
use host_ipc::doorbell::doorbell;
use host_ipc::eventfd::{eventfd, notify};
use host_ipc::gate::{self, GateMap, GatePage, Mode};
use host_ipc::messages::WorkerId;
use memory_ledger::{GpuId, VmId};

const GPU: GpuKey = GpuKey(0);

/// A worker that a test plays.
struct Player {
    page: GateMap,
    doorbell: OwnedFd,
    bell: OwnedFd,
}

impl Player {
    fn join(compute: &mut ComputeHandle, id: WorkerId, vm: VmKey) -> Self {
        let file = GatePage::create().unwrap();
        let ((button, doorbell), bell) = (doorbell().unwrap(), eventfd().unwrap());
        let ours = bell.try_clone().unwrap();
        let page = GateMap::map(&file).unwrap();
        compute.add_worker(id, vm, vec![GPU], GateMap::map(&file).unwrap(), button, bell);
        Self { page, doorbell, bell: ours }
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

    /// As `play`, without the bell.
    fn play_silently(&self) {
        let open = self.mode().is_open();
        self.set(|gpu| &gpu.active, open.into());
        gate::bump(&self.page.gpus[0].finished, 1);
        self.page.worker.beat.store(gate::now(), Ordering::Relaxed);
    }

    /// Wants the GPU.
    fn hold(&self) {
        self.set(|gpu| &gpu.held, 1);
        self.ring();
    }

    /// Does what a worker does that always has work; whether it ran just now.
    fn play(&self) -> bool {
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

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed().as_secs() < 30, "never: {what}");
        std::thread::yield_now();
    }
}

fn share(weight: u32) -> Vec<(GpuKey, Share)> {
    vec![(GPU, Share { weight, ..Share::default() })]
}

#[test]
fn who_copies_beside_another_is_charged_and_waits_once_it_is_ahead() {
    let mut compute = ComputeHandle::start().unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(10));
    let one = Player::join(&mut compute, 1, a);
    let two = Player::join(&mut compute, 2, b);
    let copies = || two.page.gpus[0].copies.load(Ordering::SeqCst);
    until("it may copy", || copies() > 0);
    one.hold();
    until("the other has the GPU", || one.play());
    let start = Instant::now();
    two.set(|gpu| &gpu.copying, 1);
    two.ring();
    until("it is ahead", || {
        one.play();
        two.set(|gpu| &gpu.copied_ns, start.elapsed().as_nanos() as u64);
        two.page.worker.beat.store(gate::now(), Ordering::Relaxed);
        copies() == 0
    });
    assert_eq!(two.mode(), Mode::Closed, "it has asked for no window");
    two.set(|gpu| &gpu.copying, 0);
    two.hold();
    until("the other has caught up", || {
        one.play();
        two.play();
        copies() > 0
    });
    let stats = compute.stats_of(b, GPU).unwrap();
    assert!(stats.copied_ns >= 20_000_000 && stats.charged_ns == stats.copied_ns, "{stats:?}");
}

#[test]
fn who_is_alone_has_no_bound_and_two_take_turns() {
    let mut compute = ComputeHandle::start().unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (one, two) = (Player::join(&mut compute, 1, a), Player::join(&mut compute, 2, b));
    assert_eq!((one.mode(), two.mode()), (Mode::Closed, Mode::Closed));
    one.hold();
    until("alone", || one.play() && one.mode() == Mode::Unlimited);
    two.hold();
    let mut turns = 0;
    let mut had = false;
    until("ten turns", || {
        let (first, second) = (one.play(), two.play());
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
    // Who goes leaves all of it to the other.
    compute.remove_worker(2);
    compute.remove_vm(b);
    until("alone again", || one.play() && one.mode() == Mode::Unlimited);
}

#[test]
fn vms_under_mps_have_their_windows_together_and_an_exclusive_one_apart() {
    let mut compute = ComputeHandle::start().unwrap();
    let (mut together, exclusive) = (MpsGroups::default(), VmKey(3));
    let keys = [VmId(1), VmId(2)].map(|vm| {
        let party = together.set(vm, &[GpuId(0)], Share::default());
        compute.set_vm(party.key, vec![(GPU, party.share.unwrap())]);
        party.key
    });
    compute.set_vm(exclusive, share(100));
    let one = Player::join(&mut compute, 1, keys[0]);
    let two = Player::join(&mut compute, 2, keys[1]);
    let apart = Player::join(&mut compute, 3, exclusive);
    for player in [&one, &two, &apart] {
        player.hold();
    }
    // Two parties that drained before the other's turn would never be seen open at once.
    let (mut both, mut alone, mut last) = (0, 0, None);
    until("ten turns of both, and ten of the third", || {
        let open = (one.play(), two.play(), apart.play());
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
fn a_worker_whose_heart_stops_loses_its_window_and_is_reported() {
    let mut compute = ComputeHandle::start().unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (one, two) = (Player::join(&mut compute, 7, a), Player::join(&mut compute, 8, b));
    one.hold();
    until("it runs", || one.play());
    // From now on nothing is heard of it, with work in flight.
    one.set(|gpu| &gpu.active, 1);
    two.hold();
    until("the window is passed on", || two.play());
    let mut events = Vec::new();
    until("it is reported", || {
        two.play();
        events.extend(compute.events());
        !events.is_empty()
    });
    assert_eq!(events, [ComputeEvent::HeartbeatLost(7)]);
}

#[test]
fn a_worker_whose_heart_stops_between_two_calls_is_reported_too() {
    let mut compute = ComputeHandle::start().unwrap();
    compute.set_vm(VmKey(1), share(100));
    let one = Player::join(&mut compute, 7, VmKey(1));
    one.page.worker.beating.store(1, Ordering::SeqCst);
    one.hold();
    until("it runs", || one.play());
    // All of it has ended, and no more comes.
    one.set(|gpu| &gpu.active, 0);
    one.set(|gpu| &gpu.held, 0);
    one.ring();
    let mut events = Vec::new();
    until("it is reported", || {
        events.extend(compute.events());
        !events.is_empty()
    });
    assert_eq!(events, [ComputeEvent::HeartbeatLost(7)]);
}

#[test]
fn what_a_worker_had_counted_stays_counted_when_its_heart_stops() {
    let (_handle, events) = ComputeHandle::new().unwrap();
    let mut core = Core::new(&Registry::default(), events, 0);
    let vm = VmKey(1);
    core.set_vm(vm, &share(100), 0);
    let page = Arc::new(GateMap::map(GatePage::create().unwrap()).unwrap());
    let bell = || Arc::new(eventfd().unwrap());
    let parts =
        WorkerEnds { vm, gpus: [GPU].into(), page: page.clone(), doorbell: bell(), bell: bell() };
    core.add_worker(7, parts, 0);
    let gate = &page.gpus[0];
    gate.held.store(1, Ordering::SeqCst);
    let counters = [&gate.finished, &gate.busy_ns, &gate.begun_ns, &gate.copied_ns];
    for (counter, value) in counters.into_iter().zip(1..) {
        counter.store(value, Ordering::SeqCst);
    }
    let counted = |core: &Core, now| {
        let report = core.join(vm, GPU, now).unwrap();
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
fn a_kernel_that_runs_too_long_ends_its_session_alone() {
    let mut compute = ComputeHandle::start().unwrap();
    let vm = VmKey(1);
    let timeout = Share { kernel_timeout: Some(500_000_000), ..Share::default() };
    compute.set_vm(vm, vec![(GPU, timeout)]);
    let (long, short) = (Player::join(&mut compute, 1, vm), Player::join(&mut compute, 2, vm));
    long.hold();
    short.hold();
    until("open", || long.play() && short.play());
    assert_ne!(long.mode(), Mode::Unlimited, "time is kept");
    long.set(|gpu| &gpu.oldest, gate::now());
    let verdict = |player: &Player| player.page.worker.verdict.load(Ordering::SeqCst);
    until("its session is told", || {
        long.play();
        short.set(|gpu| &gpu.oldest, gate::now());
        short.play();
        verdict(&long) != 0
    });
    // The guest may be gone a moment later: by then it has been counted.
    assert_eq!(compute.events(), [ComputeEvent::KernelTimeout(1, GPU)]);
    assert_eq!((verdict(&long), verdict(&short)), (702, 0));
    let mut events = Vec::new();
    until("its worker is to be ended", || {
        short.set(|gpu| &gpu.oldest, gate::now());
        short.play();
        long.play();
        events.extend(compute.events());
        !events.is_empty()
    });
    assert_eq!(events, [ComputeEvent::TimeoutReported(1)]);
}

#[test]
fn a_kernel_timeout_holds_from_when_it_is_set_though_the_vm_is_alone() {
    let mut compute = ComputeHandle::start().unwrap();
    let vm = VmKey(1);
    compute.set_vm(vm, share(100));
    let player = Player::join(&mut compute, 1, vm);
    player.hold();
    until("it is alone", || player.play() && player.mode() == Mode::Unlimited);
    let timed = Share { kernel_timeout: Some(500_000_000), ..Share::default() };
    compute.set_vm(vm, vec![(GPU, timed)]);
    until("its time is kept", || player.play() && player.mode() == Mode::Shared);
    player.set(|gpu| &gpu.oldest, gate::now());
    until("its session is told", || {
        player.play();
        player.page.worker.verdict.load(Ordering::SeqCst) == 702
    });
    compute.set_vm(vm, share(100));
    until("it is free again", || player.play() && player.mode() == Mode::Unlimited);
}

#[test]
fn a_thread_that_fails_closes_all_gates_and_is_started_anew() {
    let mut compute = ComputeHandle::start().unwrap();
    let vm = VmKey(1);
    compute.set_vm(vm, share(100));
    let player = Player::join(&mut compute, 1, vm);
    player.hold();
    until("open", || player.play());
    let epoch = player.page.gpus[0].grant().epoch;
    compute.inject_panic();
    until("started anew", || compute.restarts() == 1);
    assert!(compute.events().contains(&ComputeEvent::Restarted));
    until("open again", || player.play() && player.page.gpus[0].grant().epoch > epoch);
}

#[test]
fn a_thread_with_nothing_to_do_is_alive_and_one_that_stands_still_is_not() {
    let mut compute = ComputeHandle::start().unwrap();
    until("it lives", || compute.is_alive());
    until("it lives, though nothing happens", || compute.is_alive());
    let held = compute.inject_stall();
    until("it stands still", || {
        std::thread::sleep(Duration::from_millis(20));
        !compute.is_alive()
    });
    assert!(!compute.is_alive(), "it does not come back by being asked");
    drop(held);
    until("it lives again", || compute.is_alive());
    assert!(ComputeHandle::off().unwrap().is_alive(), "nothing to watch");
}

#[test]
fn a_bell_that_never_stops_does_not_stop_the_others() {
    let mut compute = ComputeHandle::start().unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (loud, quiet) = (Player::join(&mut compute, 1, a), Player::join(&mut compute, 2, b));
    loud.hold();
    quiet.hold();
    let mut turns = 0;
    until("the other's turns", || {
        loud.play();
        loud.ring();
        turns += u32::from(quiet.play());
        turns > 100
    });
}

/// Another end of what a worker holds, without O_NONBLOCK.
fn blocking(fd: &OwnedFd) -> std::fs::File {
    // SAFETY: integers only.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, 0) }, 0);
    fd.try_clone().unwrap().into()
}

#[test]
fn a_worker_that_was_taken_over_cannot_stop_the_thread_by_what_it_holds() {
    let mut compute = ComputeHandle::start().unwrap();
    let [a, b] = [VmKey(1), VmKey(2)];
    compute.set_vm(a, share(100));
    compute.set_vm(b, share(100));
    let (bad, good) = (Player::join(&mut compute, 1, a), Player::join(&mut compute, 2, b));
    // A doorbell that takes no more, were it an eventfd.
    let _ = blocking(&bad.doorbell).write(&(u64::MAX - 1).to_ne_bytes());
    bad.hold_silently();
    good.hold();
    let mut turns = 0;
    until("the other's turns", || {
        bad.hold_silently();
        bad.play_silently();
        turns += u32::from(good.play());
        turns > 1000
    });
    until("the thread lives", || compute.is_alive());
}

#[test]
fn a_bell_that_its_worker_has_emptied_makes_nobody_wait() {
    let vm = VmKey(1);
    let page = Arc::new(GateMap::map(GatePage::create().unwrap()).unwrap());
    let (button, _chime) = doorbell().unwrap();
    let bell = eventfd().unwrap();
    // It was rung, the thread was told so, and by now there is nothing in it to read.
    let _its_end = blocking(&bell);
    let (doorbell, bell) = (Arc::new(button), Arc::new(bell));
    let parts = WorkerEnds { vm, gpus: [GPU].into(), page, doorbell, bell };
    let (done, told) = mpsc::channel();
    std::thread::spawn(move || done.send(Worker::new(parts, 0).rang(0)));
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(true));
}

#[test]
fn a_worker_that_closes_its_ends_keeps_nobody_busy() {
    let mut compute = ComputeHandle::start().unwrap();
    let vm = VmKey(1);
    compute.set_vm(vm, share(100));
    let player = Player::join(&mut compute, 1, vm);
    player.hold();
    until("open", || player.play());
    let Player { page, doorbell, bell } = player;
    page.gpus[0].held.store(0, Ordering::SeqCst);
    page.gpus[0].active.store(0, Ordering::SeqCst);
    notify(&bell);
    drop((doorbell, bell));
    std::thread::sleep(Duration::from_millis(100));
    let before = compute.shared.rounds.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(300));
    let rounds = compute.shared.rounds.load(Ordering::Relaxed) - before;
    assert!(rounds < 1000, "{rounds} rounds for nothing");
    // Rings at it do no harm either.
    page.gpus[0].held.store(1, Ordering::SeqCst);
    compute.set_vm(vm, share(50));
    until("the thread lives", || compute.is_alive());
}

#[test]
fn without_a_scheduler_all_gates_are_open() {
    let mut compute = ComputeHandle::off().unwrap();
    compute.set_vm(VmKey(1), share(100));
    let player = Player::join(&mut compute, 1, VmKey(1));
    assert_eq!(player.mode(), Mode::Unlimited);
    assert_eq!(compute.stats_of(VmKey(1), GPU), None);
}
