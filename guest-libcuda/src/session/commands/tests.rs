//! Tests of a session against a minimal worker in a thread.

mod waits;

use super::*;
use crate::objects::Context;
use crate::transport::{Mapping, Started};
use parking_lot::Condvar;
use protocol::calls::{
    CuMemAllocV2, CuMemAllocV2Answer, CuMemFreeV2, CuStreamSynchronize, VcudaCopy, VcudaCopyIn,
    VcudaCopyOut, VcudaCopyOutAnswer, VcudaNop, VcudaPing,
};
use protocol::host_func::Caller;
use protocol::ids::{ContextId, LibraryId};
use protocol::ring::{HostRing, Shared};
use protocol::uapi::{Config as DeviceConfig, RING_HEADER_BYTES};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;
use std::time::Instant;

const RING: u32 = 64 << 10;
const ARENA: u64 = 8 << 20;

/// The state that the test and its worker share, in addition to the region with ring and arena.
#[derive(Default)]
struct Link {
    wakes: Mutex<u32>,
    woken: Condvar,
    doorbells: Mutex<u32>,
    rung: Condvar,
    stop: AtomicBool,
    ended: AtomicBool,
    starts: AtomicU32,
    refuses: AtomicBool,
}

struct FakeTransport {
    memory: File,
    link: Arc<Link>,
}

impl Transport for FakeTransport {
    fn config(&self) -> DeviceConfig {
        DeviceConfig::zeroed()
    }
    fn start(&self, _: &[u8], ring: u32, arena: u64) -> Result<Started, TransportError> {
        let len = RING_HEADER_BYTES + ring as usize + arena as usize;
        self.link.starts.fetch_add(1, Ordering::Relaxed);
        if self.link.refuses.load(Ordering::Relaxed) {
            return Err(TransportError::Unsupported { what: "sessions in this test" });
        }
        let region = Mapping::shared(self.memory.as_raw_fd(), 0, len)?;
        Ok(Started { region, session: 1 })
    }
    fn alloc_pinned(&self, _: usize, _: usize) -> Result<u32, TransportError> {
        Err(TransportError::Unsupported { what: "pinned memory" })
    }
    fn pin_user(&self, _: usize, _: usize) -> Result<u32, TransportError> {
        Err(TransportError::Unsupported { what: "pinned memory" })
    }
    fn release(&self, _: u32, _: usize, _: usize) -> Result<(), TransportError> {
        Err(TransportError::Unsupported { what: "pinned memory" })
    }
    fn kick(&self) -> Result<(), TransportError> {
        *self.link.doorbells.lock() += 1;
        self.link.rung.notify_all();
        Ok(())
    }
    fn wait(&self, seen: u32, timeout: Option<Duration>) -> Result<u32, TransportError> {
        let deadline = Instant::now() + timeout.unwrap_or(Duration::from_secs(60));
        let mut wakes = self.link.wakes.lock();
        while *wakes == seen {
            if self.link.ended.load(Ordering::Relaxed) {
                return Err(TransportError::Ended { why: "the test ended it" });
            }
            if self.link.woken.wait_until(&mut wakes, deadline).timed_out() {
                break;
            }
        }
        Ok(*wakes)
    }
    fn submit(&self, _: &[u8], _: &mut [u8]) -> Result<usize, TransportError> {
        Err(TransportError::Unsupported { what: "descriptor chains" })
    }
    fn query(&self, _: &mut [u8]) -> Result<usize, TransportError> {
        Err(TransportError::Unsupported { what: "GPU queries" })
    }

    fn max_reply(&self) -> usize {
        0
    }
    fn descriptors(&self) -> Vec<i32> {
        match self.link.refuses.load(Ordering::Relaxed) {
            true => vec![self.memory.as_raw_fd()],
            false => Vec::new(),
        }
    }
}

/// A function that handles a command in place of the worker, given the command's opcode and
/// arguments. Returns the result, the reply's bytes, and the error of a posted call.
type Serve = Box<dyn FnMut(u32, &[u8]) -> (u32, Vec<u8>, u32) + Send>;

struct Fixture {
    session: Arc<Session>,
    link: Arc<Link>,
    worker: Option<std::thread::JoinHandle<()>>,
}

impl Fixture {
    fn new(spin: Duration, serve: Serve) -> Self {
        Self::greeting(spin, serve, |_| Ok(()))
    }

    fn greeting(spin: Duration, mut serve: Serve, greet: fn(&Session) -> CuResult) -> Self {
        Self::with(spin, greet, move |region, link| work(region, link, &mut serve, spin))
    }

    /// Starts a session whose commands `serve` handles in place of a worker.
    fn with(
        spin: Duration,
        greet: fn(&Session) -> CuResult,
        work: impl FnOnce(&Mapping, &Link) + Send + 'static,
    ) -> Self {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC) };
        // SAFETY: the descriptor is new and not owned elsewhere.
        let memory = unsafe { File::from_raw_fd(fd) };
        let len = RING_HEADER_BYTES + RING as usize + ARENA as usize;
        memory.set_len(len as u64).unwrap();
        let link = Arc::new(Link::default());
        let theirs = Mapping::shared(fd, 0, len).unwrap();
        let transport = Box::new(FakeTransport { memory, link: link.clone() });
        let config = Config { spin, ring_bytes: RING, arena_bytes: ARENA, ..Config::from_env() };
        let session = Arc::new(Session::on(transport, config, greet));
        let far = link.clone();
        let worker = std::thread::spawn(move || work(&theirs, &far));
        Self { session, link, worker: Some(worker) }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.link.stop.store(true, Ordering::Relaxed);
        self.link.rung.notify_all();
        self.worker.take().unwrap().join().unwrap();
    }
}

fn wake(shared: &Shared, link: &Link) {
    if shared.must_wake_guest() {
        *link.wakes.lock() += 1;
        link.woken.notify_all();
    }
}

fn work(region: &Mapping, link: &Link, serve: &mut Serve, spin: Duration) {
    // SAFETY: the region begins with the header page and the ring, and outlives the thread.
    let shared = unsafe { Shared::new(region.as_ptr(), RING as usize) }.unwrap();
    let arena = region.as_ptr().wrapping_add(RING_HEADER_BYTES + RING as usize);
    let mut ring = HostRing::new(shared);
    let (mut args, mut posted_error) = (Vec::new(), 0);
    let mut idle = Instant::now();
    while !link.stop.load(Ordering::Relaxed) {
        match ring.pop(&mut args).unwrap() {
            Some(cmd) => {
                let (result, answer, error) = serve(cmd.opcode, &args);
                posted_error = if posted_error == 0 { error } else { posted_error };
                if cmd.flags & CMD_WAITED != 0 {
                    assert!(cmd.reply_len as usize >= 16 + answer.len());
                    let at = arena.wrapping_add(cmd.reply as usize);
                    // SAFETY: the session has checked that the reply's part lies in the arena.
                    unsafe {
                        std::ptr::copy_nonoverlapping(answer.as_ptr(), at.add(16), answer.len());
                        at.cast::<u32>().add(1).write(result);
                        at.cast::<u32>().add(2).write(answer.len() as u32);
                        at.cast::<u32>().add(3).write(std::mem::take(&mut posted_error));
                        AtomicU32::from_ptr(at.cast()).store(1, Ordering::Release);
                    }
                }
                wake(&shared, link);
                idle = Instant::now();
            }
            None if idle.elapsed() < spin => std::hint::spin_loop(),
            None => {
                let mut doorbells = link.doorbells.lock();
                if *doorbells == 0 && ring.begin_sleep() {
                    link.rung.wait_for(&mut doorbells, Duration::from_millis(20));
                    ring.end_sleep();
                }
                *doorbells = 0;
                idle = Instant::now();
            }
        }
    }
}

fn allocator() -> Serve {
    let mut next = 0x1000;
    Box::new(move |opcode, args| {
        if opcode != CuMemAllocV2::OPCODE {
            return (0, Vec::new(), 0);
        }
        let call = CuMemAllocV2::decode(args).unwrap();
        if call.bytesize == 13 {
            return (2, Vec::new(), 0);
        }
        next += 0x1000;
        let mut writer = Writer::new();
        CuMemAllocV2Answer { dptr: next }.encode(&mut writer);
        (0, writer.as_bytes().to_vec(), 0)
    })
}

#[test]
fn calls_are_answered_whether_both_sides_spin_or_sleep() {
    for spin in [Duration::ZERO, Duration::from_micros(200)] {
        let fixture = Fixture::new(spin, allocator());
        for i in 1..200u64 {
            let answer = fixture.session.call(&CuMemAllocV2 { bytesize: 64 }).unwrap();
            assert_eq!(answer.dptr, 0x1000 + i * 0x1000);
        }
        let refused = fixture.session.call(&CuMemAllocV2 { bytesize: 13 });
        assert_eq!(refused, Err(CuError::OUT_OF_MEMORY));
    }
}

#[test]
fn each_thread_gets_the_answers_to_its_own_calls() {
    let fixture = Fixture::new(Duration::from_micros(20), allocator());
    let mut seen: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let ask = || fixture.session.call(&CuMemAllocV2 { bytesize: 1 }).unwrap().dptr;
                    (0..500).map(|_| ask()).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 2000);
}

#[test]
fn posting_more_than_the_ring_holds_waits_for_room() {
    let got = Arc::new(Mutex::new(Vec::new()));
    let sink = got.clone();
    let fixture = Fixture::new(
        Duration::ZERO,
        Box::new(move |opcode, args| {
            if opcode == VcudaCopyIn::OPCODE {
                sink.lock().push(VcudaCopyIn::decode(args).unwrap().data[0]);
            }
            (0, Vec::new(), 0)
        }),
    );
    for i in 0..200u8 {
        let call = VcudaCopyIn { dst: 0, data: &vec![i; 16 << 10], h_stream: StreamId::DEFAULT };
        fixture.session.post(&call).unwrap();
    }
    fixture.session.call(&VcudaPing {}).unwrap();
    assert_eq!(*got.lock(), (0..200).collect::<Vec<u8>>());
}

/// Returns a list, and a worker that adds the number in each call to the list.
fn recorder() -> (Arc<Mutex<Vec<u64>>>, Serve) {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let sink = taken.clone();
    let serve = Box::new(move |opcode, args: &[u8]| {
        if opcode == VcudaCopyIn::OPCODE {
            sink.lock().push(VcudaCopyIn::decode(args).unwrap().dst);
        }
        (0, Vec::new(), 0)
    });
    (taken, serve)
}

fn upload(dst: u64, data: &[u8]) -> VcudaCopyIn<'_> {
    VcudaCopyIn { dst, data, h_stream: StreamId::DEFAULT }
}

#[test]
fn calls_ahead_of_others_stay_in_order_and_are_not_left_behind() {
    let (taken, serve) = recorder();
    let fixture = Fixture::new(Duration::ZERO, serve);
    let session = &fixture.session;
    session.call(&VcudaPing {}).unwrap();
    session.post_ahead(&upload(1, &[])).unwrap();
    session.post_ahead(&upload(2, &[])).unwrap();
    assert!(taken.lock().is_empty(), "nothing depends on them yet");
    session.post(&upload(3, &[])).unwrap();
    session.post_ahead(&upload(4, &[])).unwrap();
    session.call(&VcudaPing {}).unwrap();
    assert_eq!(*taken.lock(), [1, 2, 3, 4]);
    // With many such calls, the worker sees them even though no other command follows.
    (5..105).for_each(|dst| session.post_ahead(&upload(dst, &[])).unwrap());
    let start = Instant::now();
    while taken.lock().len() < 90 {
        assert!(start.elapsed().as_secs() < 60, "the worker doesn't see the calls");
        std::thread::yield_now();
    }
    session.call(&VcudaPing {}).unwrap();
    assert_eq!(*taken.lock(), (1..105).collect::<Vec<_>>());
}

#[test]
fn calls_ahead_of_a_command_that_needs_all_of_the_ring_make_room() {
    let (taken, serve) = recorder();
    let fixture = Fixture::new(Duration::ZERO, serve);
    let session = &fixture.session;
    let empty = size_of::<Cmd>() + encoded_len(&upload(2, &[]));
    let large = vec![0; fixture.session.live().unwrap().max_command - empty];
    for round in 0..10 {
        session.post_ahead(&upload(2 * round, &[])).unwrap();
        session.post(&upload(2 * round + 1, &large)).unwrap();
    }
    session.call(&VcudaPing {}).unwrap();
    assert_eq!(*taken.lock(), (0..20).collect::<Vec<_>>());
}

fn encoded_len<'a, C: Call<'a>>(call: &C) -> usize {
    let mut writer = Writer::new();
    call.encode(&mut writer);
    writer.as_bytes().len()
}

#[test]
fn uploads_and_calls_that_wait_for_the_gpu_leave_nothing_to_wait_for() {
    let fixture = Fixture::new(Duration::ZERO, Box::new(|_, _| (0, Vec::new(), 0)));
    let session = &fixture.session;
    let h_stream = StreamId::DEFAULT;
    session.post(&VcudaCopyIn { dst: 0, data: &[1], h_stream }).unwrap();
    session.synchronize(&CuStreamSynchronize { h_stream }).unwrap();
    assert_eq!(session.sent(), 0);
    session.post(&VcudaCopy { dst: 0, src: 0, len: 1, h_stream }).unwrap();
    assert_eq!(session.sent(), 1);
    session.call(&VcudaPing {}).unwrap();
    assert_eq!(session.sent(), 2);
}

#[test]
fn an_error_of_a_posted_call_is_reported_once_at_the_next_synchronization() {
    let fixture = Fixture::new(
        Duration::ZERO,
        Box::new(|opcode, _| (0, Vec::new(), if opcode == CuMemFreeV2::OPCODE { 1 } else { 0 })),
    );
    let session = &fixture.session;
    session.post(&CuMemFreeV2 { dptr: 1 }).unwrap();
    assert_eq!(session.call(&VcudaPing {}), Ok(()));
    let synchronize = CuStreamSynchronize { h_stream: StreamId::DEFAULT };
    assert_eq!(session.synchronize(&synchronize), Err(CuError::INVALID_VALUE));
    assert_eq!(session.synchronize(&synchronize), Ok(()));
}

#[test]
fn after_a_sticky_error_nothing_is_posted_until_the_context_is_gone() {
    let fixture = Fixture::new(
        Duration::ZERO,
        Box::new(|opcode, _| (if opcode == VcudaPing::OPCODE { 700 } else { 0 }, Vec::new(), 0)),
    );
    let session = &fixture.session;
    session.post(&VcudaNop {}).unwrap();
    assert_eq!(session.call(&VcudaPing {}), Err(CuError(700)));
    assert_eq!(session.post(&VcudaNop {}), Err(CuError(700)));
    session.forget_errors();
    assert_eq!(session.post(&VcudaNop {}), Ok(()));
}

#[test]
fn every_call_fails_after_the_session_has_ended() {
    let fixture = Fixture::new(Duration::ZERO, allocator());
    let session = &fixture.session;
    session.call(&VcudaPing {}).unwrap();
    fixture.link.stop.store(true, Ordering::Relaxed);
    fixture.link.ended.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(session.call(&VcudaPing {}), Err(CuError::DEVICE_UNAVAILABLE));
    assert_eq!(session.post(&VcudaNop {}), Err(CuError::DEVICE_UNAVAILABLE));
    assert_eq!(session.call(&VcudaPing {}), Err(CuError::DEVICE_UNAVAILABLE));
}

#[test]
fn the_first_command_starts_the_session_once() {
    let fixture = Fixture::greeting(Duration::ZERO, Box::new(|_, _| (0, vec![], 0)), |session| {
        session.call(&VcudaPing {}).map(drop)
    });
    let (session, starts) = (&fixture.session, &fixture.link.starts);
    // These calls need no worker, so they don't start the session.
    session.post_or_drop(&VcudaNop {});
    assert!(session.query().is_none());
    let _: u64 = session.mint();
    assert_eq!(starts.load(Ordering::Relaxed), 0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| session.call(&VcudaPing {}).unwrap());
        }
    });
    assert_eq!(starts.load(Ordering::Relaxed), 1);
}

/// After the device has been closed, the program may get the same descriptor for another file.
#[test]
fn children_do_not_close_the_descriptors_of_a_session_that_did_not_start() {
    let fixture = Fixture::new(Duration::ZERO, Box::new(|_, _| (0, vec![], 0)));
    fixture.link.refuses.store(true, Ordering::Relaxed);
    let device = fixture.session.device.lock().take().unwrap();
    let config = &fixture.session.config;
    let session = Session::on(device, config.clone(), |_| Ok(()));
    // Drop a session that has never started, as if the program saw no device.
    let device = session.device.lock().take().unwrap();
    drop(session);
    assert!(fork::closes_nothing());
    let session = Session::on(device, config.clone(), |_| Ok(()));
    assert_eq!(session.call(&VcudaPing {}), Err(CuError::DEVICE_UNAVAILABLE));
    assert!(fork::closes_nothing());
}

#[test]
fn a_session_whose_first_commands_fail_ends() {
    let refuse = Box::new(|_, _: &[u8]| (CuError::NOT_SUPPORTED.0, vec![], 0));
    let fixture =
        Fixture::greeting(Duration::ZERO, refuse, |session| session.call(&VcudaPing {}).map(drop));
    assert_eq!(fixture.session.call(&VcudaPing {}), Err(CuError::NOT_SUPPORTED));
    assert_eq!(fixture.session.post(&VcudaNop {}), Err(CuError::DEVICE_UNAVAILABLE));
}

#[test]
fn a_host_function_runs_while_another_thread_waits_for_room_in_the_ring() {
    let (go_on, until) = std::sync::mpsc::channel::<()>();
    // This worker doesn't finish the first command until the test lets it.
    let stuck = Box::new(move |_, _: &[u8]| {
        let _ = until.recv();
        (0, Vec::new(), 0)
    });
    let fixture = Fixture::new(Duration::ZERO, stuck);
    let session = &fixture.session;
    let limit = Duration::from_secs(20);
    std::thread::scope(|scope| {
        let poster = scope.spawn(|| {
            (0..20).for_each(|_| {
                let call = VcudaCopyIn { dst: 0, data: &[1; 8 << 10], h_stream: StreamId::DEFAULT };
                session.post(&call).unwrap();
            });
        });
        let full = || session.live().unwrap().shared.guest_sleeps.load(Ordering::Relaxed) != 0;
        let start = Instant::now();
        while !full() {
            assert!(start.elapsed() < limit, "the ring never filled up");
            std::thread::yield_now();
        }
        let (run, runs) = std::sync::mpsc::channel();
        scope.spawn(move || session.serve_host_funcs(|token| run.send(token).unwrap()));
        let mut worker = Caller::new(session.live().unwrap().shared);
        for token in [42, 42, 43] {
            worker.begin(token);
            wake(&session.live().unwrap().shared, &fixture.link);
            assert_eq!(runs.recv_timeout(limit), Ok(token));
            let start = Instant::now();
            while !worker.take_end() {
                assert!(start.elapsed() < limit, "host function {token} did not end");
                std::thread::yield_now();
            }
        }
        assert!(!poster.is_finished());
        drop(go_on);
        poster.join().unwrap();
        // End the session, so that the thread that runs host functions exits.
        fixture.link.ended.store(true, Ordering::Relaxed);
        fixture.link.woken.notify_all();
    });
}

#[test]
fn managed_variables_are_copied_before_and_after_work_of_the_gpu() {
    // `gpu` is the GPU's copy of a variable, and `own` is the program's. Both have the address of
    // `own`.
    let mut own = Box::new([0u8; 8]);
    let base = own.as_mut_ptr() as u64;
    let gpu = Arc::new(Mutex::new(*b"abcdefgh"));
    let far = gpu.clone();
    let serve = Box::new(move |opcode, args: &[u8]| {
        let mut gpu = far.lock();
        match opcode {
            VcudaCopyIn::OPCODE => {
                let call = VcudaCopyIn::decode(args).unwrap();
                let at = (call.dst - base) as usize;
                gpu[at..at + call.data.len()].copy_from_slice(call.data);
            }
            VcudaCopyOut::OPCODE => {
                let call = VcudaCopyOut::decode(args).unwrap();
                let at = (call.src - base) as usize;
                let mut writer = Writer::new();
                VcudaCopyOutAnswer { data: gpu[at..at + call.len].to_vec() }.encode(&mut writer);
                return (0, writer.as_bytes().to_vec(), 0);
            }
            // The GPU's work writes one byte of the variable.
            VcudaCopy::OPCODE => gpu[7] = b'!',
            _ => {}
        }
        (0, Vec::new(), 0)
    });
    let fixture = Fixture::new(Duration::ZERO, serve);
    let session = &fixture.session;
    let context = Context::new(ContextId(5), 0, false, 0);
    thread::within(context, || {
        // SAFETY: the copy stays allocated until the end of the test.
        unsafe { session.mirrors.add(&**session, (base, 8), (LibraryId(9), "variable")) }.unwrap();
        // SAFETY: the copy stays allocated until the end of the test, and the session only accesses
        // it during calls.
        let own = || unsafe { std::slice::from_raw_parts_mut(base as *mut u8, 8) };
        assert_eq!(own(), b"abcdefgh");
        own()[1] = b'X';
        // A call that doesn't use the GPU copies nothing.
        session.call(&VcudaPing {}).unwrap();
        assert_eq!(*gpu.lock(), *b"abcdefgh");
        session.post(&VcudaCopy { dst: 1, src: 2, len: 3, h_stream: StreamId::DEFAULT }).unwrap();
        session.call(&VcudaPing {}).unwrap();
        assert_eq!(own(), b"aXcdefgh");
        assert_eq!(*gpu.lock(), *b"aXcdefg!");
        // The program changes one byte after the GPU has changed another. Both changes must be
        // kept.
        own()[0] = b'Y';
        session.synchronize(&CuStreamSynchronize { h_stream: StreamId::DEFAULT }).unwrap();
        assert_eq!(own(), b"YXcdefg!");
        session.mirrors.forget_library(LibraryId(9));
        assert!(!session.mirrors.any());
    });
}
