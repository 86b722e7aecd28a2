//! Tests the ring's rules for sleeping and waking with loom. Run these tests with `RUSTFLAGS="--cfg
//! loom"`, as `make test` does. In every interleaving each pushed command is seen, and no side
//! sleeps forever.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::Notify;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::thread;
use virtio_cuda_protocol::host_func::Callee;
use virtio_cuda_protocol::plain::Plain;
use virtio_cuda_protocol::ring::{GuestRing, HostRing, Shared};
use virtio_cuda_protocol::uapi::Cmd;

fn shared() -> Shared {
    // Leaks a value, because the model needs `'static` references. Loom runs the model so few times
    // that this memory doesn't matter.
    fn leak<T>(value: T) -> &'static T {
        Box::leak(Box::new(value))
    }
    Shared {
        tail: leak(AtomicU64::new(0)),
        guest_sleeps: leak(AtomicU32::new(0)),
        head: leak(AtomicU64::new(0)),
        host_sleeps: leak(AtomicU32::new(0)),
        posted_error: leak(AtomicU32::new(0)),
        host_func: leak(AtomicU64::new(0)),
        host_funcs_begun: leak(AtomicU64::new(0)),
        turn_ns: leak(AtomicU64::new(0)),
        host_funcs_ended: leak(AtomicU64::new(0)),
        data: Box::leak((0..8).map(|_| AtomicU64::new(0)).collect()),
    }
}

fn command(opcode: u32) -> Vec<u8> {
    Cmd { len: 32, opcode, ..Cmd::zeroed() }.as_bytes().to_vec()
}

#[test]
fn a_worker_that_sleeps_sees_every_command() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = shared();
        let doorbell = Arc::new(Notify::new());
        let rung = doorbell.clone();
        let guest = thread::spawn(move || {
            let mut ring = GuestRing::new(shared);
            for opcode in 1..=2 {
                if ring.push(&[&command(opcode)]).expect("two commands fit") {
                    rung.notify();
                }
            }
        });
        let mut ring = HostRing::new(shared);
        let mut args = Vec::new();
        for expected in 1..=2 {
            loop {
                if let Some(cmd) = ring.pop(&mut args).expect("a sound ring") {
                    assert_eq!(cmd.opcode, expected);
                    break;
                }
                if ring.begin_sleep() {
                    doorbell.wait();
                    ring.end_sleep();
                }
            }
        }
        guest.join().unwrap();
    });
}

/// The worker first sleeps with `begin_full_sleep`, so that commands don't wake it, and takes the
/// commands later.
#[test]
fn a_sleeping_worker_sees_a_host_functions_end_and_then_the_commands() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let shared = shared();
        let doorbell = Arc::new(Notify::new());
        let mut ring = HostRing::new(shared);
        ring.host_funcs.begin(7);
        let rung = doorbell.clone();
        let runner = thread::spawn(move || {
            let mut callee = Callee::new(shared);
            assert_eq!(callee.next(), Some(7));
            if callee.end() {
                rung.notify();
            }
        });
        let rung = doorbell.clone();
        let launcher = thread::spawn(move || {
            if GuestRing::new(shared).push(&[&command(1)]).expect("it fits") {
                rung.notify();
            }
        });
        while !ring.host_funcs.take_end() {
            if ring.begin_full_sleep() {
                doorbell.wait();
                ring.end_sleep();
            }
        }
        let mut args = Vec::new();
        while ring.pop(&mut args).expect("a sound ring").is_none() {
            if ring.begin_sleep() {
                doorbell.wait();
                ring.end_sleep();
            }
        }
        runner.join().unwrap();
        launcher.join().unwrap();
    });
}

#[test]
fn a_guest_that_sleeps_sees_its_reply() {
    loom::model(|| {
        let shared = shared();
        let reply: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        let wake = Arc::new(Notify::new());
        let waker = wake.clone();
        let worker = thread::spawn(move || {
            reply.store(1, Ordering::Release);
            if shared.must_wake_guest() {
                waker.notify();
            }
        });
        while reply.load(Ordering::Acquire) == 0 {
            shared.announce_guest_sleep();
            if reply.load(Ordering::Acquire) == 0 {
                wake.wait();
            }
        }
        worker.join().unwrap();
    });
}
