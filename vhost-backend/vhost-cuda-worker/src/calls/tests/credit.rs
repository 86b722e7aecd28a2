//! Tests of calls that are made while the broker doesn't answer.

use super::charges::{for_all_threads, with_local};
use super::gate::{BLOCKING, FREE};
use super::*;
use crate::ledger::{NotReserved, take_question};

pub(super) const OTHER: u32 = THREAD + 1;

impl Bench {
    fn credit(&self) -> &Credit {
        &self.session.gate.page.gpus[0].credit
    }

    /// Makes the worker use credit, and waits until it has some. Returns an allocation of 2 MiB
    /// that was made for this purpose.
    fn get_credit(&mut self) -> u64 {
        self.credit().offer(true);
        let first = self.alloc(2 << 20);
        assert_eq!((self.credit().bytes(), self.used()), (CREDIT, CREDIT + 2 * MIB));
        first
    }

    /// Calls `calls` while the broker's thread can't answer requests.
    fn without_broker<T>(&mut self, calls: impl FnOnce(&mut Self) -> T) -> T {
        let account = self.account.clone();
        let stopped = account.lock().unwrap();
        self.is_broker_slow = true;
        let result = calls(self);
        drop(stopped);
        self.is_broker_slow = false;
        result
    }

    /// Waits until the broker has handled all earlier requests.
    fn settle(&mut self) {
        self.session.ledger.usage(-1);
        self.executor.poll();
    }

    fn is_waiting(&mut self, thread: u32) -> bool {
        self.executor.poll();
        self.thread = thread;
        let waits = self.state().load(Ordering::Acquire) == 0;
        self.thread = THREAD;
        waits
    }
}

#[test]
fn allocations_within_the_credit_need_no_broker() {
    alone("allocations_within_the_credit_need_no_broker", |mut bench| {
        let first = bench.get_credit();
        let kept = bench.without_broker(|bench| {
            for _ in 0..100 {
                let (a, b) = (bench.alloc(4 << 20), bench.alloc(3 << 20));
                assert_eq!(bench.credit().bytes(), 0);
                bench.good(&CuMemFreeV2 { dptr: a });
                bench.good(&CuMemFreeV2 { dptr: b });
                assert_eq!(bench.credit().bytes(), CREDIT);
            }
            // Freeing memory that wasn't taken from the credit doesn't need the broker, either.
            bench.good(&CuMemFreeV2 { dptr: first });
            assert_eq!(bench.credit().bytes(), CREDIT + 2 * MIB);
            bench.alloc(6 << 20)
        });
        bench.settle();
        // The broker has adjusted the credit to its full amount.
        assert_eq!((bench.credit().bytes(), bench.used()), (CREDIT, CREDIT + 6 * MIB));
        bench.good(&CuMemFreeV2 { dptr: kept });
        bench.settle();
        assert_eq!((bench.credit().bytes(), bench.used()), (CREDIT, CREDIT));
    });
}

/// Otherwise, another session would see the memory twice until the grant is released.
#[test]
fn what_the_broker_has_granted_is_used_before_the_credit() {
    alone("what_the_broker_has_granted_is_used_before_the_credit", |mut bench| {
        bench.get_credit();
        let bytes = 6 * MIB;
        let asked = bench.without_broker(|bench| {
            bench.alloc(bytes as usize);
            let ledger = &bench.session.ledger;
            let reserved = ledger.reserve(0, bytes, Charge::Memory);
            assert_eq!(reserved, Err(NotReserved::Undecided));
            ledger.ask_later(take_question().unwrap(), &bench.session.waker)
        });
        bench.settle();
        let decision = asked.decision();
        assert!(decision.is_some());
        assert_eq!(bench.credit().bytes(), CREDIT, "it would suffice");
        bench.without_broker(|bench| {
            bench.session.ledger.with_decision(decision, || {
                bench.session.ledger.reserve(0, bytes, Charge::Memory).unwrap();
                assert_eq!(bench.credit().bytes(), CREDIT);
            });
        });
    });
}

#[test]
fn an_allocation_that_the_broker_must_decide_about_delays_no_other_call() {
    let test = "an_allocation_that_the_broker_must_decide_about_delays_no_other_call";
    alone(test, |mut bench| {
        bench.streams();
        let a = bench.get_credit();
        bench.without_broker(|bench| {
            bench.begin(OTHER, &CuMemAllocV2 { bytesize: 32 << 20 });
            let size = 40 << 20;
            let create = VcudaMemCreate { device: 0, size, handle_types: 0, compression: 0 };
            bench.begin(OTHER + 1, &create);
            bench.fill(a, 7, 64, FREE);
            bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
            let b = bench.alloc(2 << 20);
            bench.good(&CuMemFreeV2 { dptr: b });
            bench.good(&CuCtxSynchronize {});
            assert!(bench.is_waiting(OTHER) && bench.is_waiting(OTHER + 1));
        });
        // Once the credit has been withdrawn, the quota has room for the first allocation, but not
        // for the second.
        assert_eq!((bench.ended(OTHER), bench.ended(OTHER + 1)), (0, 2));
        bench.settle();
        assert_eq!(bench.used() - bench.credit().bytes(), 34 * MIB);
    });
}

#[test]
fn a_launch_that_the_broker_must_decide_about_holds_its_stream_alone() {
    let test = "a_launch_that_the_broker_must_decide_about_holds_its_stream_alone";
    alone(test, |mut bench| {
        bench.set_quota(1 << 40);
        bench.streams();
        assert_eq!(bench.load(20, &with_local(16384)), 0);
        let f = bench.empty(20, 30);
        let a = bench.get_credit();
        bench.without_broker(|bench| {
            bench.post_launch(f, FREE);
            bench.fill(a, 1, 64, FREE);
            bench.begin(OTHER, &CuStreamSynchronize { h_stream: StreamId(FREE) });
            bench.fill(a + 256, 2, 64, BLOCKING);
            bench.good(&CuStreamSynchronize { h_stream: StreamId(BLOCKING) });
            assert_eq!(bench.call(&CuStreamQuery { h_stream: StreamId(FREE) }).0, 600);
            assert!(bench.is_waiting(OTHER));
        });
        assert_eq!((bench.ended(OTHER), bench.posted_error()), (0, 0));
        assert_eq!(bench.charged("local"), for_all_threads(16384));
        let launches = &bench.session.gate.page.worker.launches;
        assert_eq!(launches.load(Ordering::Relaxed), 1, "counted once");
        // A launch fails if the broker refuses its memory. Commands after it in the same stream
        // continue.
        bench.set_quota(bench.used());
        assert_eq!(bench.load(21, &with_local(32768)), 0);
        let large = bench.empty(21, 31);
        bench.without_broker(|bench| {
            bench.post_launch(large, FREE);
            bench.fill(a, 3, 64, FREE);
        });
        let (result, posted, ()) = bench.full(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        assert_eq!((result, posted), (0, 2));
        assert_eq!(bench.charged("local"), for_all_threads(16384));
    });
}

#[test]
fn a_stream_that_the_broker_must_decide_about_exists_before_later_calls() {
    let test = "a_stream_that_the_broker_must_decide_about_exists_before_later_calls";
    alone(test, |mut bench| {
        let a = bench.alloc(4096);
        let create =
            |id| CuStreamCreateWithPriority { ph_stream: StreamId(id), flags: 1, priority: 0 };
        let stopped = bench.without_broker(|bench| {
            (500..520).find(|id| {
                bench.post(&create(*id));
                bench.executor.is_full()
            })
        });
        let last = stopped.expect("some of the streams are charged");
        bench.until("the reader continues", |bench| !bench.executor.is_full());
        bench.fill(a, 5, 64, last);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(last) });
        assert_eq!((bench.posted_error(), bench.charged("stream")), (0, 2 * MIB));
    });
}

#[test]
fn streams_are_charged_from_the_credit() {
    alone("streams_are_charged_from_the_credit", |mut bench| {
        bench.get_credit();
        bench.without_broker(|bench| {
            for id in 500..512 {
                let ph_stream = StreamId(id);
                bench.post(&CuStreamCreateWithPriority { ph_stream, flags: 1, priority: 0 });
                assert!(!bench.executor.is_full());
            }
        });
        bench.settle();
        bench.settle();
        // The charge is for the eight streams beyond the four for which a context has room.
        assert_eq!((bench.posted_error(), bench.charged("stream")), (0, 6 * MIB));
        assert_eq!((bench.credit().bytes(), bench.used()), (CREDIT, CREDIT + 8 * MIB));
        assert_eq!(bench.charged("memory"), CREDIT + 2 * MIB);
    });
}

/// While memory is being exported, the broker must turn its charge into a share. No other call
/// waits for that. Memory that is freed during the export is released according to the charge that
/// it then has.
#[test]
fn an_export_that_the_broker_must_decide_about_delays_no_other_call() {
    let test = "an_export_that_the_broker_must_decide_about_delays_no_other_call";
    alone(test, |mut bench| {
        bench.streams();
        let kept = bench.get_credit();
        // `piece` and `neighbor` are parts of the same block. `large` has a mapping of its own.
        let (piece, neighbor) = (bench.alloc(512), bench.alloc(512));
        let large = bench.alloc(4 << 20);
        bench.settle();
        let used = bench.used() - bench.credit().bytes();
        for ptr in [piece, large] {
            bench.without_broker(|bench| {
                let requests = REQUESTS.load(Ordering::SeqCst);
                bench.begin(OTHER, &VcudaIpcGetMemHandle { ptr });
                bench.until("the export asks", |_| REQUESTS.load(Ordering::SeqCst) > requests);
                bench.fill(kept, 7, 64, FREE);
                bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
                let other = bench.alloc(2 << 20);
                bench.good(&CuMemFreeV2 { dptr: other });
                // Only this free waits for the export, because it frees the exported memory.
                bench.begin(OTHER + 1, &CuMemFreeV2 { dptr: ptr });
                bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
                assert!(bench.is_waiting(OTHER));
            });
            // The export fails, because the guest has freed the allocation before the export was
            // complete.
            assert_eq!((bench.ended(OTHER), bench.ended(OTHER + 1)), (1, 0));
            bench.settle();
            assert_eq!(bench.call(&VcudaIpcGetMemHandle { ptr }).0, 1);
        }
        assert_eq!(bench.used() - bench.credit().bytes(), used - 4 * MIB);
        // The block with `neighbor` stays shared, although the export of `piece` has failed.
        assert_eq!(bench.account.lock().unwrap().shares.len(), 2);
        let handle = bench.good(&VcudaIpcGetMemHandle { ptr: neighbor });
        assert_eq!(bench.account.lock().unwrap().shares.len(), 2, "it was shared before");
        assert_eq!(handle.size, 512);
        bench.good(&CuMemFreeV2 { dptr: neighbor });
        bench.settle();
        assert_eq!(bench.used() - bench.credit().bytes(), used - 6 * MIB);
        let shares = bench.account.lock().unwrap().shares.clone();
        assert!(shares.values().all(|(_, holders)| *holders == 0), "{shares:?}");
        // Another thread handles the ends of exports.
        bench.until("the exports end", |bench| bench.exports.lock().unwrap().things.is_empty());
    });
}

/// While the broker is busy, a request to check the credit waits for each device, but never two for
/// the same device.
#[test]
fn each_device_has_its_own_request_to_check_the_credit() {
    let (ours, broker) = seqpacket::pair().unwrap();
    let page = Arc::new(GateMap::private().unwrap());
    let ledger = ledger_client(ours, &page);
    crate::ledger::be_reader();
    // Keep the ledger's thread waiting for the answer to this request, so that later requests queue
    // up.
    ledger.release(0, 2 * MIB, Charge::Context);
    for device in [0, 1, 0, 1] {
        let credit = &page.gpus[device].credit;
        credit.offer(true);
        credit.add(CREDIT);
        ledger.release(device as i32, 2 * MIB, Charge::Memory);
    }
    let receive = || {
        let request = seqpacket::receive::<ToBroker>(&broker).unwrap().unwrap().0;
        seqpacket::send(&broker, &ToWorker::Granted, &[]).unwrap();
        match request {
            ToBroker::Release { device, bytes, .. } => (device, bytes),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([receive(), receive(), receive()], [(0, 2 * MIB), (0, 0), (1, 0)]);
}
