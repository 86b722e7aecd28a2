//! Tests of the scheduler thread with kernels that can be evicted.

use std::sync::atomic::AtomicBool;

use super::super::evictor::Channels;
use super::super::worker::WorkerObjects;
use super::*;
use gpu_scheduler::Class;
use host_ipc::messages::DriverObject;
use rm_control::{Channel, RmError};

/// A fake driver that records the operations that it's asked to perform.
#[derive(Default)]
pub(super) struct Driver {
    off: AtomicBool,
    evictions: AtomicU64,
}

impl Channels for Driver {
    fn disable(&self, gpu: u32, channels: &[Channel]) -> Result<(), RmError> {
        assert_eq!((gpu, channels), (5, &[Channel { client: 1, handle: 4 }][..]));
        assert!(!self.off.swap(true, Ordering::SeqCst), "the channel was disabled twice");
        self.evictions.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn enable(&self, _: u32, _: &[Channel]) -> Result<(), RmError> {
        assert!(self.off.swap(false, Ordering::SeqCst), "the channel wasn't disabled");
        Ok(())
    }
}

/// Starts a scheduler with one GPU, on which a worker of VM 1 runs a kernel that never ends and can
/// be evicted.
fn with_endless_kernel(driver: &Arc<Driver>) -> (ComputeHandle, FakeWorker) {
    let eviction = Eviction { channels: Some(driver.clone()), gpus: [(GPU, 5)].into() };
    let mut compute = ComputeHandle::start(Some(&eviction), Traces::default()).unwrap();
    compute.set_vm(VmKey(1), share(100));
    let object =
        |parent, handle, class, detail| DriverObject { client: 1, parent, handle, class, detail };
    let objects = WorkerObjects::default();
    for object in [object(1, 2, 0x80, 5), object(2, 3, 0xa06c, 1), object(3, 4, 0xc86f, 0)] {
        objects.lock().unwrap().add(object).unwrap();
    }
    let endless =
        FakeWorker::start_with(&mut compute, 1, VmKey(1), Some(Evicts::Channels(objects)));
    endless.hold();
    until("the first VM has the GPU", || endless.mode().is_open());
    endless.set(|gpu| &gpu.active, 1);
    endless.set(|gpu| &gpu.held, 0);
    (compute, endless)
}

#[test]
fn an_endless_kernel_is_evicted_and_returns() {
    let driver = Arc::new(Driver::default());
    let (mut compute, endless) = with_endless_kernel(&driver);
    let other = VmKey(2);
    compute.set_vm(other, share(100));
    let two = FakeWorker::start(&mut compute, 2, other);
    two.hold();
    let beat = || endless.page.worker.beat.store(gate::now(), Ordering::Relaxed);
    for round in 1..=3 {
        until("the second VM has the GPU while the kernel is off it", || {
            beat();
            two.run() && driver.off.load(Ordering::SeqCst)
        });
        assert!(!endless.mode().is_open());
        until("the kernel is back in a window of its own", || {
            beat();
            two.run();
            endless.mode().is_open() && !driver.off.load(Ordering::SeqCst)
        });
        assert!(driver.evictions.load(Ordering::SeqCst) >= round);
    }
    let stats = compute.stats_of(VmKey(1), GPU).unwrap();
    assert!(stats.evictions >= 3);
}

/// Returns whether an event since the last call permits the start of a worker.
fn may_start(compute: &mut ComputeHandle) -> bool {
    compute.events().contains(&ComputeEvent::MayStart)
}

#[test]
fn a_worker_is_started_in_its_vms_window_and_batch_vms_wait_for_it() {
    let driver = Arc::new(Driver::default());
    let (mut compute, endless) = with_endless_kernel(&driver);
    let [latency, starter] = [VmKey(2), VmKey(3)];
    compute.set_vm(latency, vec![(GPU, Share { class: Class::Latency, ..Share::default() })]);
    compute.set_vm(starter, share(100));
    let beat = || endless.page.worker.beat.store(gate::now(), Ordering::Relaxed);
    let awake = FakeWorker::start(&mut compute, 2, latency);
    awake.hold();
    until("the latency VM has the GPU", || {
        beat();
        awake.run()
    });
    awake.set(|gpu| &gpu.held, 0);
    until("the batch VM has the GPU", || {
        beat();
        awake.run();
        endless.mode().is_open()
    });
    compute.begin_start(starter, GPU);
    until("the worker may start", || {
        beat();
        may_start(&mut compute)
    });
    until("the batch VM's kernel is off the GPU", || driver.off.load(Ordering::SeqCst));
    // Check for longer than a window: the kernel stays off the GPU until the start has ended.
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(100) {
        beat();
        assert!(!endless.mode().is_open());
        std::thread::sleep(Duration::from_millis(1));
    }
    compute.end_start();
    until("the batch VM has the GPU again", || {
        beat();
        endless.mode().is_open()
    });
    assert!(compute.stats_of(starter, GPU).unwrap().charged_ns >= 50_000_000);
}

#[test]
fn a_worker_is_started_at_once_if_no_latency_vm_is_awake_or_its_vm_is_removed() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let [busy, starter] = [VmKey(1), VmKey(2)];
    compute.begin_start(starter, GPU);
    until("the VM isn't known", || may_start(&mut compute));
    compute.set_vm(busy, share(100));
    compute.set_vm(starter, share(100));
    let one = FakeWorker::start(&mut compute, 1, busy);
    one.hold();
    until("another VM has the GPU", || one.run());
    compute.begin_start(starter, GPU);
    until("no latency VM is awake", || may_start(&mut compute));
    assert!(one.mode().is_open());
    compute.end_start();

    compute.set_vm(busy, vec![(GPU, Share { class: Class::Latency, ..Share::default() })]);
    compute.set_paused(starter, true);
    compute.begin_start(starter, GPU);
    compute.stats_of(starter, GPU);
    assert!(!may_start(&mut compute), "a paused VM has no window");
    compute.remove_vm(starter);
    until("the VM is removed", || may_start(&mut compute));
}

#[test]
fn a_paused_vm_is_off_the_gpu_even_after_a_restart_of_the_scheduler() {
    let driver = Arc::new(Driver::default());
    let (mut compute, endless) = with_endless_kernel(&driver);
    let is_off = || driver.off.load(Ordering::SeqCst) && !endless.mode().is_open();
    let beat = || endless.page.worker.beat.store(gate::now(), Ordering::Relaxed);
    compute.set_paused(VmKey(1), true);
    until("the kernel is off the GPU", || {
        beat();
        is_off()
    });
    assert_eq!(endless.page.gpus[0].copies.load(Ordering::SeqCst), 0);
    // A session that starts during the pause waits, too.
    let new = FakeWorker::start(&mut compute, 3, VmKey(1));
    new.hold();
    compute.set_vm(VmKey(2), share(100));
    let two = FakeWorker::start(&mut compute, 2, VmKey(2));
    two.hold();
    until("the second VM is alone", || {
        beat();
        two.run() && two.mode() == Mode::Unlimited
    });
    assert!(is_off());
    compute.inject_panic();
    until("the second VM has the GPU again", || {
        beat();
        compute.restarts() == 1 && two.run()
    });
    until("the kernel is off the GPU again", || {
        beat();
        is_off() && driver.evictions.load(Ordering::SeqCst) == 2
    });
    assert_eq!(new.mode(), Mode::Closed);
    compute.set_paused(VmKey(1), false);
    for worker in [&endless, &new] {
        until("the VM is back", || {
            beat();
            two.run();
            !driver.off.load(Ordering::SeqCst) && worker.mode().is_open()
        });
    }
}

#[test]
fn one_of_several_vms_with_the_same_key_is_paused() {
    let mut compute = ComputeHandle::start(None, Traces::default()).unwrap();
    let vm = VmKey(1);
    compute.set_vm(vm, share(100));
    let (one, two) =
        (FakeWorker::start(&mut compute, 1, vm), FakeWorker::start(&mut compute, 2, vm));
    one.hold();
    two.hold();
    until("both have the GPU", || one.run() && two.run());
    compute.set_worker_paused(1, true);
    until("the first worker's gate is closed", || !one.run());
    assert_eq!(one.page.gpus[0].copies.load(Ordering::SeqCst), 0);
    compute.set_vm(VmKey(2), share(100));
    let other = FakeWorker::start(&mut compute, 3, VmKey(2));
    other.hold();
    for _ in 0..3 {
        until("the second worker has the GPU", || {
            assert!(!one.run(), "the first worker has work, but is paused");
            other.run();
            two.run()
        });
        until("the other VM has the GPU", || {
            two.run();
            other.run()
        });
    }
    compute.set_worker_paused(1, false);
    until("the first worker continues", || {
        two.run();
        other.run();
        one.run()
    });
}

#[test]
fn a_restarted_scheduler_lets_evicted_kernels_continue() {
    let driver = Arc::new(Driver::default());
    let (mut compute, endless) = with_endless_kernel(&driver);
    compute.set_vm(VmKey(2), share(100));
    let two = FakeWorker::start(&mut compute, 2, VmKey(2));
    two.hold();
    until("the kernel is off the GPU", || {
        endless.page.worker.beat.store(gate::now(), Ordering::Relaxed);
        two.run();
        driver.off.load(Ordering::SeqCst)
    });
    compute.inject_panic();
    until("the kernel is back", || !driver.off.load(Ordering::SeqCst));
}

#[test]
fn sessions_of_a_batch_vm_get_short_time_slices_beside_an_awake_latency_vm() {
    let driver = Arc::new(Driver::default());
    let (mut compute, endless) = with_endless_kernel(&driver);
    let latency = VmKey(2);
    compute.set_vm(latency, vec![(GPU, Share { class: Class::Latency, ..Share::default() })]);
    let two = FakeWorker::start(&mut compute, 2, latency);
    // Bit 5 in the word is for this GPU, whose number is 5. No GPU has bit 31, so the call
    // returns the word at once instead of waiting for a change.
    let short = |worker: &FakeWorker| worker.page.worker.changed_short_slices(1 << 31);
    let beat = || {
        for worker in [&endless, &two] {
            worker.page.worker.beat.store(gate::now(), Ordering::Relaxed);
        }
    };
    assert_eq!([short(&endless), short(&two)], [0, 0]);
    two.hold();
    until("the latency VM has the GPU", || {
        beat();
        two.run()
    });
    two.set(|gpu| &gpu.held, 0);
    two.set(|gpu| &gpu.active, 0);
    two.ring();
    until("the batch VM has the GPU", || {
        beat();
        endless.mode().is_open()
    });
    assert_eq!([short(&endless), short(&two)], [1 << 5, 0]);
    let another = FakeWorker::start(&mut compute, 3, VmKey(1));
    until("a new session has them, too", || {
        beat();
        short(&another) == 1 << 5
    });
    until("the latency VM sleeps", || {
        beat();
        [short(&endless), short(&another)] == [0, 0]
    });
}

/// The new scheduler must evict a kernel that started before its restart, because the kernel never
/// ends by itself.
#[test]
fn a_kernel_from_before_a_restart_of_the_scheduler_is_evicted_again() {
    let driver = Arc::new(Driver::default());
    let (mut compute, endless) = with_endless_kernel(&driver);
    compute.set_vm(VmKey(2), share(100));
    let two = FakeWorker::start(&mut compute, 2, VmKey(2));
    compute.inject_panic();
    until("the thread restarts", || compute.restarts() == 1);
    for _ in 0..2 {
        two.hold();
        until("the kernel is off the GPU", || {
            endless.page.worker.beat.store(gate::now(), Ordering::Relaxed);
            two.run();
            driver.off.load(Ordering::SeqCst)
        });
        until("the kernel is back", || {
            endless.page.worker.beat.store(gate::now(), Ordering::Relaxed);
            two.run();
            !driver.off.load(Ordering::SeqCst)
        });
    }
}
