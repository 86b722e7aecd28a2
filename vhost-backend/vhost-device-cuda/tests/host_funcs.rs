//! Tests host functions while the worker's queue and the ring are full of other commands.

use std::sync::atomic::Ordering;

use host_test_support::{Device, FREE, Guest, SessionRing, wait_for};
use protocol::calls::{
    CuMemAllocV2, CuStreamCreateWithPriority, CuStreamSynchronize, VcudaCopyIn, VcudaHostFunc,
    VcudaPrimaryCtxRetain,
};
use protocol::host_func::Callee;
use protocol::ids::{ContextId, StreamId};
use protocol::uapi;

const CTX: u64 = 77;
const STREAM: StreamId = StreamId(500);
const SESSION: u32 = 1;

/// A session with a stream that runs host functions.
struct Bench {
    _device: Device,
    guest: Guest,
    ring: SessionRing,
    callee: Callee,
    /// Address of 16 KiB of device memory.
    data: u64,
}

impl Bench {
    fn new() -> Self {
        let device = Device::start(&[]);
        let mut guest = Guest::connect(&device.socket);
        assert_eq!(guest.create(SESSION), uapi::OK);
        let mut ring = guest.attach_ring(SESSION, FREE);
        ring.send(&mut guest, 0, &VcudaPrimaryCtxRetain { dev: 0, ctx: ContextId(CTX) });
        let data = ring.send(&mut guest, CTX, &CuMemAllocV2 { bytesize: 16 << 10 });
        let stream = CuStreamCreateWithPriority { ph_stream: STREAM, flags: 1, priority: 0 };
        ring.send(&mut guest, CTX, &stream);
        let callee = Callee::new(*ring.ring.shared());
        Self { _device: device, guest, ring, callee, data }
    }

    fn launch(&mut self, token: u64) {
        let launch = VcudaHostFunc { h_stream: STREAM, token };
        self.ring.send(&mut self.guest, CTX, &launch);
    }

    /// Fills the stream until the worker takes no more commands from the ring, and then fills the
    /// ring.
    fn flood(&mut self) {
        let Self { guest, ring, data, .. } = self;
        let copy = VcudaCopyIn { dst: *data, data: &[1; 16 << 10], h_stream: STREAM };
        wait_for("a full worker", || {
            while let Ok(doorbell) = ring.push_call(CTX, &copy) {
                if doorbell {
                    assert_eq!(guest.doorbell(SESSION), uapi::OK);
                }
            }
            ring.ring.shared().host_sleeps.load(Ordering::Relaxed) == uapi::SLEEPS_FULL
        });
    }

    fn reach(&mut self, token: u64) {
        wait_for("the host function", || self.callee.next() == Some(token));
    }

    fn end(&mut self) {
        if self.callee.end() {
            assert_eq!(self.guest.doorbell(SESSION), uapi::OK);
        }
    }
}

#[test]
fn host_functions_run_while_the_worker_and_the_ring_are_full() {
    let mut bench = Bench::new();
    bench.launch(7);
    for token in 7..10 {
        bench.flood();
        bench.reach(token);
        bench.end();
        bench.launch(token + 1);
    }
    bench.reach(10);
    bench.end();
    let synchronize = CuStreamSynchronize { h_stream: STREAM };
    bench.ring.send(&mut bench.guest, CTX, &synchronize);
}

#[test]
fn false_counts_from_the_guest_do_not_confuse_the_worker() {
    let mut bench = Bench::new();
    bench.launch(7);
    bench.reach(7);
    let shared = *bench.ring.ring.shared();
    for count in [2, u64::MAX, 1 << 63] {
        shared.host_funcs_ended.store(count, Ordering::Release);
        shared.host_funcs_begun.store(count, Ordering::Release);
        shared.host_sleeps.store(count as u32, Ordering::Release);
        bench.guest.doorbell(SESSION);
    }
    // The session must continue, because the worker keeps its own counts of host functions, and
    // never reads them back from the shared header, which the test has overwritten.
    let bytesize = 64;
    bench.ring.send(&mut bench.guest, CTX, &CuMemAllocV2 { bytesize });
    bench.end();
    let synchronize = CuStreamSynchronize { h_stream: STREAM };
    bench.ring.send(&mut bench.guest, CTX, &synchronize);
}

#[test]
fn a_session_can_end_while_a_host_function_runs_and_the_ring_is_full() {
    let mut bench = Bench::new();
    bench.launch(7);
    bench.flood();
    bench.reach(7);
    assert_eq!(bench.guest.destroy(SESSION), uapi::OK);
    assert_eq!(bench.guest.create(SESSION + 1), uapi::OK);
}
