//! Tests in which the gate holds commands while another VM uses the GPU.

use protocol::ids::{ContextId, EventId, ModuleId, StreamId};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::*;
use host_ipc::gate::{GatePage, Grant, Mode, NO_END, now};

const NOT_READY: u32 = CuError::NOT_READY.0;
/// Ids of streams. `BLOCKING` synchronizes with the legacy stream, and `FREE` doesn't.
pub(super) const FREE: u64 = 500;
pub(super) const BLOCKING: u64 = 501;
pub(super) const EVENT: u64 = 600;
/// CU_STREAM_MEM_OP_WRITE_VALUE_32.
const WRITE_32: u32 = 2;

fn set(page: &GatePage, mode: Mode, until: u64, depth: u64) {
    let Grant { epoch, .. } = page.gpus[0].grant();
    page.gpus[0].open(Grant { epoch: epoch + 1, mode }, until, depth);
}

impl Bench {
    fn record(&mut self, h_event: u64, h_stream: u64) {
        let (h_event, h_stream) = (EventId(h_event), StreamId(h_stream));
        self.post(&CuEventRecordWithFlags { h_event, h_stream, flags: 0 });
    }

    /// Makes a stream write the value 1 to memory.
    fn write(&mut self, address: u64, h_stream: u64) {
        let (operation, value, h_stream) = (WRITE_32, 1, StreamId(h_stream));
        self.post(&VcudaStreamMemoryOperation { operation, address, value, flags: 0, h_stream });
    }

    /// Changes the grant in the gate page, as the scheduler does.
    pub(super) fn grant(&mut self, mode: Mode, depth: u64) {
        set(&self.session.gate.page, mode, NO_END, depth);
        self.executor.poll();
    }

    pub(super) fn streams(&mut self) {
        for (ph_stream, flags) in [(FREE, 1), (BLOCKING, 0)] {
            self.post(&CuStreamCreateWithPriority {
                ph_stream: StreamId(ph_stream),
                flags,
                priority: 0,
            });
        }
        self.post(&CuEventCreate { ph_event: EventId(EVENT), flags: 2 });
    }

    fn query(&mut self, h_stream: u64) -> u32 {
        self.call(&CuStreamQuery { h_stream: StreamId(h_stream) }).0
    }

    fn event(&mut self, h_event: u64) -> u32 {
        self.call(&CuEventQuery { h_event: EventId(h_event) }).0
    }

    pub(super) fn gpu(&self) -> &host_ipc::gate::GpuGate {
        &self.session.gate.page.gpus[0]
    }

    pub(super) fn held(&self) -> u64 {
        self.gpu().held.load(Ordering::Relaxed)
    }

    pub(super) fn finished(&self) -> u64 {
        self.gpu().finished.load(Ordering::Relaxed)
    }

    pub(super) fn is_active(&self) -> bool {
        self.gpu().active.load(Ordering::Relaxed) == 1
    }

    /// Returns the number of times that the worker has rung the scheduler's bell since this
    /// function was last called.
    fn rings(&self) -> u64 {
        let mut count = 0u64;
        let bell = self.session.gate.bell.as_ref().unwrap();
        // SAFETY: `count` has room for the eight bytes of an eventfd's counter.
        unsafe { libc::read(bell.as_raw_fd(), (&raw mut count).cast(), 8) };
        count
    }

    /// Polls the executor until `so` returns true. `what` describes this condition in the failure
    /// message.
    pub(super) fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) {
        let start = std::time::Instant::now();
        while !so(self) {
            self.executor.poll();
            assert!(start.elapsed().as_secs() < 60, "never: {what}");
        }
    }

    /// Fills the `n` floats at `dst` with bytes of the value `byte`.
    pub(super) fn fill(&mut self, dst: u64, byte: u8, n: usize, h_stream: u64) {
        let (pitch, value, width) = (0, u32::from(byte), 4 * n);
        self.post(&VcudaMemset {
            dst,
            pitch,
            element_size: 1,
            value,
            width,
            height: 1,
            h_stream: StreamId(h_stream),
        });
    }
}

#[test]
fn a_closed_gate_holds_only_commands_that_use_the_gpu() {
    alone("gate::a_closed_gate_holds_only_commands_that_use_the_gpu", |mut bench| {
        let f = bench.vector_add();
        bench.streams();
        let a = bench.alloc(1024);
        bench.fill(a, 1, 256, FREE);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.grant(Mode::Closed, 0);
        bench.until("nothing is in flight", |bench| !bench.is_active());
        bench.rings();
        bench.launch(f, a, a, a, 256, FREE);
        bench.fill(a, 2, 128, FREE);
        assert_eq!((bench.held(), bench.rings()), (2, 1), "the scheduler is notified once");
        assert_eq!(bench.query(FREE), NOT_READY);
        assert_eq!(bench.query(BLOCKING), 0);
        // Allocations and queries aren't held, because they don't use the GPU.
        let b = bench.alloc(1 << 20);
        bench.good(&CuMemGetInfoV2 {});
        bench.good(&CuMemAllocAsync { bytesize: 64, h_stream: StreamId(FREE) });
        assert_eq!(bench.posted_error(), 0);
        assert_eq!(bench.held(), 2);
        bench.grant(Mode::Window, 1_000_000);
        let out = bench.good(&VcudaCopyOut { src: a, len: 1024, h_stream: StreamId(FREE) }).data;
        assert_eq!(&out[..512], &[2; 512]);
        assert_eq!(
            &out[512..],
            f32::from_le_bytes([1; 4]).mul_add(2.0, 0.0).to_le_bytes().repeat(128)
        );
        bench.good(&CuMemFreeV2 { dptr: b });
        assert_eq!(bench.held(), 0);
    });
}

#[test]
fn a_gate_on_standby_lets_work_begin_and_notifies_the_scheduler() {
    alone("gate::a_gate_on_standby_lets_work_begin_and_notifies_the_scheduler", |mut bench| {
        let f = bench.vector_add();
        bench.streams();
        let a = bench.alloc(1024);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.grant(Mode::Standby, NO_END);
        bench.until("nothing is in flight", |bench| !bench.is_active());
        bench.rings();
        bench.launch(f, a, a, a, 256, FREE);
        assert_eq!(bench.held(), 0);
        bench.until("the launch has finished", |bench| !bench.is_active());
        assert_eq!(bench.rings(), 2, "when work begins, and when nothing is in flight any more");
        // The gate is closed, because another VM gets a window first.
        bench.grant(Mode::Closed, 0);
        bench.launch(f, a, a, a, 256, FREE);
        assert_eq!(bench.held(), 1);
        bench.grant(Mode::Standby, NO_END);
        assert_eq!(bench.held(), 0);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
    });
}

#[test]
fn a_closed_gate_holds_events_and_values_in_idle_streams() {
    // These calls are held because recording an event or writing a value takes the GPU away from
    // another VM for microseconds.
    alone("gate::a_closed_gate_holds_events_and_values_in_idle_streams", |mut bench| {
        bench.streams();
        let a = bench.alloc(1024);
        let before = bench.finished();
        bench.grant(Mode::Closed, 0);
        bench.record(EVENT, FREE);
        bench.write(a, BLOCKING);
        assert_eq!((bench.held(), bench.event(EVENT)), (2, NOT_READY));
        bench.grant(Mode::Window, 1_000_000);
        bench.good(&CuCtxSynchronize {});
        assert_eq!((bench.held(), bench.event(EVENT), bench.posted_error()), (0, 0, 0));
        bench.until("idle", |bench| !bench.is_active());
        assert_eq!(bench.finished() - before, 2, "the scheduler counts them as work");
    });
}

#[test]
fn events_behind_copies_pass_a_closed_gate_with_them() {
    alone("gate::events_behind_copies_pass_a_closed_gate_with_them", |mut bench| {
        let len = 1 << 20;
        bench.streams();
        bench.pinned(len);
        let a = bench.alloc(len);
        bench.grant(Mode::Closed, 0);
        bench.may_copy(1_000_000);
        bench.post(&VcudaCopy { dst: PINNED, src: a, len, h_stream: StreamId(FREE) });
        bench.record(EVENT, FREE);
        bench.post(&VcudaCopy { dst: PINNED, src: a, len, h_stream: StreamId(FREE) });
        bench.record(EVENT, FREE);
        assert_eq!(bench.held(), 0, "they use the copy engine");
        bench.until("copied", |bench| !bench.copying());
        assert_eq!((bench.event(EVENT), bench.is_active()), (0, false));
        // Once the stream's last call isn't a copy, recording an event in the stream uses the GPU
        // again.
        bench.fill(a, 5, len / 4, FREE);
        bench.record(EVENT, FREE);
        bench.record(EVENT, BLOCKING);
        assert_eq!(bench.held(), 3);
        bench.grant(Mode::Window, 1_000_000);
        bench.good(&CuEventSynchronize { h_event: EventId(EVENT) });
        bench.grant(Mode::Closed, 0);
        bench.record(EVENT, FREE);
        assert_eq!(bench.held(), 1);
    });
}

#[test]
fn contexts_are_created_and_destroyed_in_the_vms_window() {
    alone("gate::contexts_are_created_and_destroyed_in_the_vms_window", |mut bench| {
        let ctx = ContextId(900);
        let words = |bench: &Bench| {
            let word = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::SeqCst);
            (word(&bench.gpu().contexts), word(&bench.gpu().contexts_begun))
        };
        for (begun, create) in [(1, true), (2, false)] {
            bench.grant(Mode::Closed, 0);
            match create {
                true => bench.begin(THREAD + 1, &VcudaCtxCreate { dev: 0, flags: 0, ctx }),
                false => bench.begin(THREAD + 1, &VcudaCtxDestroy { ctx }),
            }
            bench.until("it waits", |bench| bench.held() == 1);
            bench.grant(Mode::Standby, 1_000_000);
            assert_eq!((words(&bench), bench.held()), ((0, begun - 1), 1));
            assert!(bench.rings() > 0, "the VM needs a window");
            bench.grant(Mode::Window, 1_000_000);
            assert_eq!((bench.ended(THREAD + 1), bench.held()), (0, 0));
            assert_eq!(words(&bench), (0, begun));
            assert!(bench.rings() > 0, "the scheduler learns that it is over");
        }
    });
}

#[test]
fn a_worker_exits_in_the_vms_window_or_after_half_a_second() {
    alone("gate::a_worker_exits_in_the_vms_window_or_after_half_a_second", |mut bench| {
        // The worker exits while it has only its own primary context, which no call has retained.
        for opens in [true, false] {
            bench.grant(Mode::Closed, 0);
            let before = bench.gpu().contexts.load(Ordering::SeqCst);
            let (since, wait) = (Instant::now(), bench.executor.before_exit());
            let exits = std::thread::spawn(wait);
            bench.until("it waits", |bench| bench.held() == 1);
            assert!(!exits.is_finished());
            if opens {
                bench.grant(Mode::Window, 1_000_000);
            }
            bench.until("it exits", |_| exits.is_finished());
            assert!(opens || since.elapsed() >= Duration::from_millis(500));
            let after = bench.gpu().contexts.load(Ordering::SeqCst);
            assert_eq!(after, before + 1, "the scheduler knows that it destroys contexts");
        }
    });
}

#[test]
fn an_event_recorded_in_a_held_stream_makes_the_waiting_stream_wait() {
    alone("gate::an_event_recorded_in_a_held_stream_makes_the_waiting_stream_wait", |mut bench| {
        bench.streams();
        let other = EVENT + 1;
        bench.post(&CuEventCreate { ph_event: EventId(other), flags: 2 });
        let [a, b] = [(); 2].map(|()| bench.alloc(1024));
        bench.grant(Mode::Closed, 0);
        bench.fill(a, 7, 256, FREE);
        bench.post(&CuEventRecordWithFlags {
            h_event: EventId(EVENT),
            h_stream: StreamId(FREE),
            flags: 0,
        });
        bench.post(&CuStreamWaitEvent {
            h_stream: StreamId(BLOCKING),
            h_event: EventId(EVENT),
            flags: 0,
        });
        bench.post(&CuEventRecordWithFlags {
            h_event: EventId(other),
            h_stream: StreamId(BLOCKING),
            flags: 0,
        });
        assert_eq!((bench.event(EVENT), bench.event(other)), (NOT_READY, NOT_READY));
        let elapsed = CuEventElapsedTimeV2 { h_start: EventId(EVENT), h_end: EventId(other) };
        assert_eq!(bench.call(&elapsed).0, NOT_READY);
        // Record the event again after a stream was made to wait for its first record.
        bench.post(&VcudaCopy { dst: b, src: a, len: 1024, h_stream: StreamId(BLOCKING) });
        bench.post(&CuEventRecordWithFlags {
            h_event: EventId(EVENT),
            h_stream: StreamId(2),
            flags: 0,
        });
        bench.post(&CuEventDestroyV2 { h_event: EventId(EVENT) });
        assert_eq!(bench.event(EVENT), CuError::INVALID_HANDLE.0, "destroying the event is held");
        bench.grant(Mode::Unlimited, 0);
        let out =
            bench.good(&VcudaCopyOut { src: b, len: 1024, h_stream: StreamId(BLOCKING) }).data;
        assert_eq!(out, [7; 1024]);
        assert_eq!((bench.event(other), bench.event(EVENT)), (0, CuError::INVALID_HANDLE.0));
        bench.good(&CuCtxSynchronize {});
    });
}

#[test]
fn held_commands_keep_the_order_of_the_legacy_stream() {
    let test = "gate::held_commands_keep_the_order_of_the_legacy_stream";
    alone(test, |mut bench| {
        bench.streams();
        let [a, b] = [(); 2].map(|()| bench.alloc(1024));
        bench.grant(Mode::Closed, 0);
        bench.fill(a, 1, 256, 0);
        bench.fill(b, 9, 256, FREE);
        // Nothing else is held in the stream in which this event is recorded. But the gate holds
        // the record after the commands in the legacy stream.
        bench.post(&CuEventRecordWithFlags {
            h_event: EventId(EVENT),
            h_stream: StreamId(BLOCKING),
            flags: 0,
        });
        assert_eq!(bench.event(EVENT), NOT_READY);
        bench.post(&VcudaCopy { dst: b, src: a, len: 512, h_stream: StreamId(BLOCKING) });
        bench.fill(a, 3, 256, 0);
        bench.post(&CuStreamDestroyV2 { h_stream: StreamId(BLOCKING) });
        assert_eq!(bench.query(BLOCKING), CuError::INVALID_HANDLE.0);
        bench.grant(Mode::Shared, 1_000_000);
        bench.good(&CuCtxSynchronize {});
        let out = bench.good(&VcudaCopyOut { src: b, len: 512, h_stream: StreamId(0) }).data;
        assert_eq!(out, [1; 512]);
        assert_eq!(
            bench.good(&VcudaCopyOut { src: a, len: 16, h_stream: StreamId(0) }).data,
            [3; 16]
        );
    });
}

fn encoded<'a, C: Call<'a>>(call: &C) -> (u32, Vec<u8>) {
    let mut writer = Writer::new();
    call.encode(&mut writer);
    (C::OPCODE, writer.as_bytes().to_vec())
}

#[test]
fn frees_and_unloads_wait_for_held_commands() {
    alone("gate::frees_and_unloads_wait_for_held_commands", |mut bench| {
        let f = bench.vector_add();
        bench.streams();
        let a = bench.alloc(4096);
        bench.good(&CuCtxSynchronize {});
        let free = encoded(&CuMemFreeV2 { dptr: a });
        let unload = encoded(&CuModuleUnload { hmod: ModuleId(1001) });
        let release = encoded(&VcudaPrimaryCtxRelease { dev: 0, ctx: ContextId(77) });
        for ends in [vec![free, unload], vec![release]] {
            bench.grant(Mode::Closed, 0);
            match ends.len() {
                2 => bench.launch(f, a, a, a, 256, FREE),
                _ => {
                    let b = bench.alloc(4096);
                    bench.fill(b, 1, 256, FREE);
                }
            }
            let used = bench.used();
            for (opcode, args) in &ends {
                // Send the call as posted, so that nothing waits for its reply.
                bench.send(*opcode, args, 0);
            }
            for _ in 0..20 {
                bench.executor.poll();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert_eq!((bench.held(), bench.used()), (1, used), "nothing has been freed yet");
            bench.grant(Mode::Window, 1_000_000);
            bench.until("the memory is free", |bench| bench.used() == 0);
            if ends.len() == 1 {
                bench.ctx = ContextId(0);
            }
            assert_eq!(bench.posted_error(), 0);
        }
    });
}

#[test]
fn a_window_takes_at_most_its_depth_but_always_one_call() {
    alone("gate::a_window_takes_at_most_its_depth_but_always_one_call", |mut bench| {
        let f = bench.vector_add();
        bench.streams();
        let a = bench.alloc(4096);
        bench.grant(Mode::Window, 0);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        for _ in 0..10 {
            bench.launch(f, a, a, a, 256, FREE);
        }
        assert_eq!(bench.held(), 9, "a depth of 0 takes one call");
        bench.launch(f, a, a, a, 256, BLOCKING);
        assert_eq!(bench.held(), 9, "one call of each stream");
        bench.run_host_func(42);
        bench.good(&CuCtxSynchronize {});
        assert_eq!(bench.held(), 0);
        // After the window's end (`until`), only one call may begin in the next window.
        bench.until("idle", |bench| !bench.is_active());
        set(&bench.session.gate.page, Mode::Window, now(), 1_000_000_000);
        bench.executor.poll();
        for _ in 0..5 {
            bench.launch(f, a, a, a, 256, FREE);
        }
        assert_eq!(bench.held(), 4);
        bench.grant(Mode::Unlimited, 0);
        bench.good(&CuCtxSynchronize {});
        bench.until("idle", |bench| !bench.is_active());
        assert_eq!(bench.finished(), 16);
    });
}

#[test]
fn the_scheduler_is_notified_of_a_drained_gate_and_of_stalled_streams() {
    let test = "gate::the_scheduler_is_notified_of_a_drained_gate_and_of_stalled_streams";
    alone(test, |mut bench| {
        bench.streams();
        let a = bench.alloc(4096);
        bench.grant(Mode::Window, 1_000_000);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        bench.fill(a, 1, 1024, FREE);
        assert_eq!(bench.host_func(), 42);
        bench.until("stalled", |bench| bench.gpu().stalled.load(Ordering::Relaxed) == 1);
        assert!(bench.is_active() && bench.rings() > 0);
        bench.grant(Mode::Closed, 0);
        for _ in 0..100 {
            bench.executor.poll();
        }
        assert!(bench.is_active(), "calls that were started are still in flight");
        bench.executor.host_func_ended();
        bench.until("drained", |bench| !bench.is_active());
        assert!(bench.rings() > 0);
        let gpu = bench.gpu();
        assert_eq!(gpu.stalled.load(Ordering::Relaxed), 0);
        assert_eq!(bench.finished(), 1);
        assert_eq!(gpu.oldest.load(Ordering::Relaxed), 0);
    });
}

/// The address of the tests' pinned memory in the guest.
pub(super) const PINNED: u64 = 0x3000_0020_0000;

impl Bench {
    pub(super) fn pinned(&mut self, len: usize) {
        self.attach_pinned(2, PINNED, len as u64);
        self.good(&VcudaHostRegister { vaddr: PINNED, len, flags: 0 });
    }

    /// Sets the limit, in ns, for the copies that may be in flight while the gate is closed.
    pub(super) fn may_copy(&mut self, depth: u64) {
        self.gpu().copies.store(depth, Ordering::SeqCst);
        self.executor.poll();
    }

    pub(super) fn copying(&self) -> bool {
        self.gpu().copying.load(Ordering::Relaxed) == 1
    }
}

#[test]
fn no_call_begins_while_host_memory_is_being_unregistered() {
    alone("gate::no_call_begins_while_host_memory_is_being_unregistered", |mut bench| {
        const OTHER_THREAD: u32 = THREAD + 1;
        bench.streams();
        bench.pinned(1 << 20);
        let memory = bench.alloc(4096);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        assert_eq!(bench.host_func(), 42);
        // Unregistering the memory must wait for the host function. It mustn't block other calls.
        bench.begin(OTHER_THREAD, &VcudaHostUnregister { vaddr: PINNED });
        let start = std::time::Instant::now();
        while bench.held() == 0 {
            assert!(start.elapsed().as_secs() < 60, "no call is held back");
            bench.fill(memory, 7, 1, BLOCKING);
            bench.executor.poll();
        }
        assert_eq!(bench.query(BLOCKING), NOT_READY);
        assert_eq!(bench.held(), 1);
        bench.executor.host_func_ended();
        assert_eq!(bench.ended(OTHER_THREAD), 0);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(BLOCKING) });
        assert_eq!((bench.held(), bench.posted_error()), (0, 0));
    });
}

#[test]
fn the_guest_learns_how_long_work_has_waited_for_a_turn() {
    alone("gate::the_guest_learns_how_long_work_has_waited_for_a_turn", |mut bench| {
        bench.streams();
        let memory = bench.alloc(1024);
        let turn_ns = |bench: &mut Bench| {
            bench.executor.poll();
            bench.executor.turn_ns()
        };
        bench.fill(memory, 1, 256, 0);
        bench.good(&CuCtxSynchronize {});
        assert_eq!(turn_ns(&mut bench), None);
        // No time counts as waiting for a turn while the session has no work.
        bench.grant(Mode::Closed, 0);
        assert_eq!(turn_ns(&mut bench), None);
        bench.fill(memory, 2, 256, 0);
        let first = turn_ns(&mut bench).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = turn_ns(&mut bench).unwrap();
        assert!(second - first >= 2_000_000, "{first} {second}");
        // The waiting time counts until the gate opens, and it's known before the call gets its
        // reply.
        set(&bench.session.gate.page, Mode::Window, NO_END, 1_000_000);
        assert!(bench.executor.turn_ns().unwrap() >= second);
        bench.good(&CuCtxSynchronize {});
        assert_eq!(turn_ns(&mut bench), None);
    });
}

#[test]
fn allowed_copies_pass_a_closed_gate_and_kernels_do_not() {
    alone("gate::allowed_copies_pass_a_closed_gate_and_kernels_do_not", |mut bench| {
        let len = 1 << 20;
        bench.streams();
        bench.pinned(len);
        let (a, b) = (bench.alloc(len), bench.alloc(len));
        bench.fill(a, 5, len / 4, FREE);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.grant(Mode::Closed, 0);
        bench.until("nothing is in flight", |bench| !bench.is_active());
        bench.rings();
        bench.post(&VcudaCopy { dst: PINNED, src: a, len, h_stream: StreamId(FREE) });
        assert_eq!((bench.held(), bench.rings()), (1, 1), "copies are not allowed");
        bench.may_copy(1_000_000);
        assert_eq!(bench.rings(), 1, "the scheduler is notified");
        bench.until("copied", |bench| !bench.copying());
        // SAFETY: the region is mapped at this address, and the copy to it has ended.
        assert_eq!(unsafe { *(PINNED as *const u32) }, 0x0505_0505);
        assert!(bench.gpu().copied_ns.load(Ordering::Relaxed) > 0);
        assert_eq!((bench.held(), bench.query(FREE)), (0, 0));
        // The closed gate lets long copies to the device through. It holds short ones, copies
        // within the device, and copies that follow a held call in the same stream.
        bench.post(&VcudaCopy { dst: b, src: PINNED, len, h_stream: StreamId(FREE) });
        assert_eq!(bench.held(), 0);
        bench.post(&VcudaCopy { dst: b, src: PINNED, len: 4096, h_stream: StreamId(BLOCKING) });
        bench.post(&VcudaCopy { dst: a, src: b, len, h_stream: StreamId(FREE) });
        bench.post(&VcudaCopy { dst: PINNED, src: a, len, h_stream: StreamId(FREE) });
        assert_eq!(bench.held(), 3);
        bench.until("copied", |bench| !bench.copying());
        assert!(!bench.is_active());
        bench.grant(Mode::Window, 1_000_000);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.good(&CuStreamSynchronize { h_stream: StreamId(BLOCKING) });
        assert_eq!(bench.held(), 0);
    });
}

#[test]
fn a_closed_gate_has_drained_when_only_copies_are_in_flight() {
    alone("gate::a_closed_gate_has_drained_when_only_copies_are_in_flight", |mut bench| {
        let len = 64 << 20;
        bench.streams();
        bench.pinned(len);
        let a = bench.alloc(len);
        bench.grant(Mode::Window, 1_000_000);
        // Queue the copy after a host function, because softgpu would otherwise perform it
        // immediately.
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        bench.post(&VcudaCopy { dst: PINNED, src: a, len, h_stream: StreamId(FREE) });
        bench.run_host_func(42);
        assert!(bench.is_active(), "in its own window a copy counts as other work");
        bench.rings();
        bench.grant(Mode::Closed, 0);
        assert_eq!((bench.is_active(), bench.copying(), bench.rings() > 0), (false, true, true));
        assert_eq!(bench.query(FREE), NOT_READY);
        bench.grant(Mode::Window, 1_000_000);
        assert!(bench.is_active() && !bench.copying(), "the same holds in the next window");
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.until("drained", |bench| !bench.is_active());
    });
}

#[test]
fn a_worker_with_work_in_flight_updates_its_heartbeat() {
    alone("gate::a_worker_with_work_in_flight_updates_its_heartbeat", |mut bench| {
        bench.streams();
        let a = bench.alloc(4096);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        bench.fill(a, 1, 1024, FREE);
        assert!(bench.is_active());
        let beat = |bench: &Bench| bench.session.gate.page.worker.beat.load(Ordering::Relaxed);
        for _ in 0..3 {
            let before = beat(&bench);
            bench.until("a beat", |bench| beat(bench) > before);
        }
        bench.run_host_func(42);
        bench.until("idle", |bench| !bench.is_active());
    });
}

#[test]
fn every_call_of_an_ended_session_gets_the_verdict() {
    alone("gate::every_call_of_an_ended_session_gets_the_verdict", |mut bench| {
        bench.streams();
        let a = bench.alloc(4096);
        bench.grant(Mode::Closed, 0);
        bench.fill(a, 1, 1024, FREE);
        bench.session.gate.page.worker.verdict.store(702, Ordering::Relaxed);
        bench.executor.poll();
        assert_eq!(bench.held(), 0);
        assert_eq!(bench.call(&CuStreamSynchronize { h_stream: StreamId(FREE) }).0, 702);
        assert_eq!(bench.call(&CuMemAllocV2 { bytesize: 64 }).0, 702);
    });
}

#[test]
fn queries_and_allocations_pass_commands_held_for_room() {
    alone("gate::queries_and_allocations_pass_commands_held_for_room", |mut bench| {
        let f = bench.vector_add();
        bench.streams();
        let a = bench.alloc(4096);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 42 });
        for _ in 0..2000 {
            bench.launch(f, a, a, a, 1, FREE);
        }
        assert!(bench.held() > 1000);
        bench.alloc(1 << 20);
        assert_eq!(bench.query(FREE), NOT_READY);
        assert_eq!(bench.query(BLOCKING), 0);
        bench.run_host_func(42);
        bench.good(&CuCtxSynchronize {});
        bench.until("idle", |bench| !bench.is_active());
        assert_eq!(bench.finished(), 2000);
    });
}

#[test]
fn host_functions_run_while_the_reader_is_full() {
    alone("gate::host_functions_run_while_the_reader_is_full", |mut bench| {
        bench.streams();
        let a = bench.alloc(16 << 10);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 1 });
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 2 });
        for value in 0..2048u32 {
            bench.post(&VcudaCopyIn {
                dst: a,
                data: &[value as u8; 16 << 10],
                h_stream: StreamId(FREE),
            });
        }
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 3 });
        assert!(bench.executor.is_full());
        bench.run_host_func(1);
        assert!(bench.executor.is_full(), "all are queued behind the second host function");
        bench.run_host_func(2);
        bench.run_host_func(3);
        assert!(!bench.executor.is_full());
        let out = bench.good(&VcudaCopyOut { src: a, len: 16, h_stream: StreamId(FREE) }).data;
        assert_eq!((out, bench.held()), (vec![255; 16], 0));
    });
}

/// A generator of pseudorandom numbers. The same seed results in the same random program.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Runs a random program that uses several streams and events, and returns the final contents of
/// the buffers. The contents don't depend on timing, because accesses to the same buffer are
/// ordered by events or by the legacy stream.
fn random_program(bench: &mut Bench, f: u64, buffers: &[u64; 4], seed: u64) -> Vec<Vec<u8>> {
    const N: usize = 64;
    let streams = [0, 2, FREE, BLOCKING];
    let mut random = Random(seed);
    let mut read = Vec::new();
    for (i, buffer) in buffers.iter().enumerate() {
        bench.post(&VcudaCopyIn { dst: *buffer, data: &[i as u8; 4 * N], h_stream: StreamId(0) });
    }
    bench.good(&CuCtxSynchronize {});
    for _ in 0..120 {
        let (i, j) = (random.below(4) as usize, random.below(4) as usize);
        let (from, to) = (streams[i], streams[j]);
        match random.below(10) {
            0 => bench.fill(buffers[i], random.below(60) as u8, N, from),
            1 => {
                let data: Vec<u8> = (0..4 * N).map(|_| random.below(60) as u8).collect();
                bench.post(&VcudaCopyIn { dst: buffers[i], data: &data, h_stream: StreamId(from) });
            }
            2 => {
                bench.launch(f, buffers[i], buffers[i], buffers[i], N as u32, from);
            }
            // This launch is ordered with the streams that use the two buffers, because it's in the
            // legacy stream. In the next case, events order two streams.
            3 => bench.launch(f, buffers[0], buffers[3], buffers[0], N as u32, 0),
            4..=7 => {
                let event = EVENT + random.below(3);
                bench.post(&CuEventRecordWithFlags {
                    h_event: EventId(event),
                    h_stream: StreamId(from),
                    flags: 0,
                });
                bench.post(&CuStreamWaitEvent {
                    h_stream: StreamId(to),
                    h_event: EventId(event),
                    flags: 0,
                });
                let (a, b) = (buffers[i], buffers[j]);
                bench.launch(f, a, b, b, N as u32, to);
                let back = EVENT + random.below(3);
                bench.post(&CuEventRecordWithFlags {
                    h_event: EventId(back),
                    h_stream: StreamId(to),
                    flags: 0,
                });
                bench.post(&CuStreamWaitEvent {
                    h_stream: StreamId(from),
                    h_event: EventId(back),
                    flags: 0,
                });
            }
            8 => match random.below(3) {
                0 => drop(bench.query(from)),
                1 => bench.good(&CuStreamSynchronize { h_stream: StreamId(from) }),
                _ => bench.good(&CuEventSynchronize { h_event: EventId(EVENT + random.below(3)) }),
            },
            _ => {
                let out = VcudaCopyOut { src: buffers[i], len: 4 * N, h_stream: StreamId(from) };
                read.push(bench.good(&out).data);
            }
        }
    }
    bench.good(&CuCtxSynchronize {});
    for buffer in buffers {
        read.push(
            bench.good(&VcudaCopyOut { src: *buffer, len: 4 * N, h_stream: StreamId(0) }).data,
        );
    }
    read
}

#[test]
fn programs_compute_the_same_with_a_randomly_closing_gate() {
    let test = "gate::programs_compute_the_same_with_a_randomly_closing_gate";
    alone(test, |mut bench| {
        let f = bench.vector_add();
        bench.streams();
        for ph_event in EVENT + 1..EVENT + 3 {
            bench.post(&CuEventCreate { ph_event: EventId(ph_event), flags: 2 });
        }
        let buffers = [(); 4].map(|()| bench.alloc(256));
        for seed in 1..=40u64 {
            bench.scheduler = None;
            bench.grant(Mode::Unlimited, 0);
            let expected = random_program(&mut bench, f, &buffers, seed);
            let mut random = Random(seed << 32 | 1);
            let mut polls = 0;
            set(&bench.session.gate.page, Mode::Closed, NO_END, 0);
            bench.scheduler = Some(Box::new(move |page| {
                polls += 1;
                if polls % (1 + random.below(12)) == 0 {
                    let modes =
                        [Mode::Closed, Mode::Prepare, Mode::Window, Mode::Shared, Mode::Unlimited];
                    let depth = [0, 1_000, 100_000, 10_000_000][random.below(4) as usize];
                    let copies = [0, 1_000_000][random.below(2) as usize];
                    page.gpus[0].copies.store(copies, Ordering::SeqCst);
                    let until = now() + random.below(300_000);
                    set(page, modes[random.below(5) as usize], until, depth);
                }
            }));
            assert!(random_program(&mut bench, f, &buffers, seed) == expected, "seed {seed}");
            assert_eq!(bench.posted_error(), 0, "seed {seed}");
            assert_eq!(bench.held(), 0, "seed {seed}");
        }
    });
}
