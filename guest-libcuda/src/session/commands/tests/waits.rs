//! Tests of waits with completion words. A thread takes the actions of the worker and of the GPU
//! that a test requests.

use super::*;
use crate::session::Work;
use protocol::calls::{
    CuEventSynchronize, VcudaCtxSynchronize, VcudaEventSynchronize, VcudaStreamSynchronize,
};
use protocol::ids::EventId;
use protocol::words::WaitValue;
use std::sync::mpsc::{Receiver, Sender, channel};

const STREAM: Work = Work::Stream(StreamId(7));
const EVENT: Work = Work::Event(EventId(8));

/// An action of the worker or the GPU.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// The worker arms the word of the latest wait, 20 ms after it has taken the call.
    Arm,
    /// The GPU reaches the oldest point for which a word is armed.
    Reach,
    /// The worker replies to the oldest wait with this result and posted error.
    Reply(u32, u32),
    /// The worker shows the error of a posted call in the ring's header.
    Show(u32),
}

/// The calls that the worker has seen, and its behavior for waits with words.
#[derive(Default)]
struct Worker {
    opcodes: Mutex<Vec<u32>>,
    knows_words: AtomicBool,
    arms: AtomicBool,
}

impl Worker {
    fn count(&self, opcode: u32) -> usize {
        self.opcodes.lock().iter().filter(|seen| **seen == opcode).count()
    }

    fn run(&self, region: &Mapping, link: &Link, acts: &Receiver<Act>) {
        // SAFETY: the region begins with the header page and the ring, and outlives the thread.
        let shared = unsafe { Shared::new(region.as_ptr(), RING as usize) }.unwrap();
        let arena = region.as_ptr().wrapping_add(RING_HEADER_BYTES + RING as usize);
        let reply = |at: usize, result: u32, posted: u32| {
            let words = arena.wrapping_add(at).cast::<u32>();
            // SAFETY: the session has checked that the reply's part lies in the arena.
            unsafe {
                words.add(1).write(result);
                words.add(2).write(0);
                words.add(3).write(posted);
                AtomicU32::from_ptr(words).store(1, Ordering::Release);
            }
            wake(&shared, link);
        };
        // SAFETY: the session passes only offsets of aligned words in the arena.
        let word = |at: u64| unsafe { AtomicU64::from_ptr(arena.wrapping_add(at as usize).cast()) };
        let (mut ring, mut args) = (HostRing::new(shared), Vec::new());
        let (mut replies, mut unreached) = (VecDeque::new(), VecDeque::new());
        let mut latest = None;
        while !link.stop.load(Ordering::Relaxed) {
            while let Some(cmd) = ring.pop(&mut args).unwrap() {
                // Record the opcode before replying, because the test may read the list as soon as
                // it has the reply.
                self.opcodes.lock().push(cmd.opcode);
                let with_word = match cmd.opcode {
                    VcudaStreamSynchronize::OPCODE => {
                        let call = VcudaStreamSynchronize::decode(&args).unwrap();
                        Some((call.word, WaitValue(call.value)))
                    }
                    VcudaEventSynchronize::OPCODE => {
                        let call = VcudaEventSynchronize::decode(&args).unwrap();
                        Some((call.word, WaitValue(call.value)))
                    }
                    VcudaCtxSynchronize::OPCODE => {
                        let call = VcudaCtxSynchronize::decode(&args).unwrap();
                        Some((call.word, WaitValue(call.value)))
                    }
                    _ => None,
                };
                match with_word {
                    Some(_) if !self.knows_words.load(Ordering::Relaxed) => {
                        reply(cmd.reply as usize, CuError::NOT_SUPPORTED.0, 0);
                    }
                    Some((at, value)) => {
                        assert!(at % 8 == 0 && at + 8 <= ARENA);
                        replies.push_back(cmd.reply as usize);
                        latest = Some((at, value));
                        if self.arms.load(Ordering::Relaxed) {
                            word(at).store(value.0, Ordering::Release);
                            unreached.push_back((at, value));
                        }
                    }
                    None if cmd.flags & CMD_WAITED != 0 => reply(cmd.reply as usize, 0, 0),
                    None => {}
                }
            }
            match acts.recv_timeout(Duration::from_micros(50)) {
                Ok(Act::Arm) => {
                    std::thread::sleep(Duration::from_millis(20));
                    let (at, value): (u64, WaitValue) = latest.expect("a wait");
                    word(at).store(value.0, Ordering::Release);
                    unreached.push_back((at, value));
                }
                Ok(Act::Reach) => {
                    let (at, value): (u64, WaitValue) = unreached.pop_front().expect("a word");
                    word(at).store(value.reached(), Ordering::Release);
                    // A real GPU doesn't wake threads. Wake the test's thread in case it sleeps
                    // because the machine is slow.
                    wake(&shared, link);
                }
                Ok(Act::Reply(result, posted)) => {
                    reply(replies.pop_front().expect("a wait"), result, posted);
                    shared.posted_error.store(0, Ordering::Release);
                }
                Ok(Act::Show(error)) => shared.posted_error.store(error, Ordering::Release),
                Err(_) => {}
            }
        }
    }
}

struct Bench {
    fixture: Fixture,
    worker: Arc<Worker>,
    acts: Sender<Act>,
}

impl Bench {
    fn new() -> Self {
        let (acts, do_next) = channel();
        let worker = Arc::new(Worker::default());
        worker.knows_words.store(true, Ordering::Relaxed);
        worker.arms.store(true, Ordering::Relaxed);
        let far = worker.clone();
        let run = move |region: &Mapping, link: &Link| far.run(region, link, &do_next);
        Self { fixture: Fixture::with(Duration::ZERO, |_| Ok(()), run), worker, acts }
    }

    /// Begins a wait in another thread, performs the actions once the worker has the call, and
    /// returns the result of the wait.
    fn wait(&self, work: Work, spins: bool, acts: &[Act]) -> CuResult {
        let calls = || self.worker.opcodes.lock().len();
        let before = calls();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| self.fixture.session.wait_for_work(work, spins));
            until("the worker has the call", || calls() > before);
            acts.iter().for_each(|act| self.acts.send(*act).unwrap());
            waiting.join().unwrap()
        })
    }
}

fn until(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed().as_secs() < 60, "never: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_word_ends_a_wait_before_the_reply() {
    let bench = Bench::new();
    // Make more waits than the arena has slots. Slots are freed only when the late replies are
    // received.
    for round in 0..5001 {
        let work = [STREAM, EVENT, Work::Context][round % 3];
        assert_eq!(bench.wait(work, true, &[Act::Reach]), Ok(()));
        bench.acts.send(Act::Reply(0, 0)).unwrap();
    }
    for opcode in
        [VcudaStreamSynchronize::OPCODE, VcudaEventSynchronize::OPCODE, VcudaCtxSynchronize::OPCODE]
    {
        assert_eq!(bench.worker.count(opcode), 1667);
    }
}

#[test]
fn a_reply_ends_a_wait_without_its_word() {
    let bench = Bench::new();
    for arms in [true, false] {
        bench.worker.arms.store(arms, Ordering::Relaxed);
        for spins in [true, false] {
            assert_eq!(bench.wait(STREAM, spins, &[Act::Reply(0, 0)]), Ok(()));
            assert_eq!(bench.wait(EVENT, spins, &[Act::Reply(400, 0)]), Err(CuError(400)));
        }
    }
    // The GPU now writes the words of waits that have ended already. This must not end a later
    // wait.
    bench.worker.arms.store(true, Ordering::Relaxed);
    let acts = [Act::Reach, Act::Reach, Act::Reach, Act::Reach, Act::Reply(700, 0)];
    assert_eq!(bench.wait(STREAM, true, &acts), Err(CuError(700)));
    assert_eq!(bench.fixture.session.wait_for_work(STREAM, true), Err(CuError(700)));
}

#[test]
fn a_word_does_not_overtake_an_error() {
    let bench = Bench::new();
    // If a posted call has failed, the GPU's write doesn't end the wait, because the reply takes
    // the call's error.
    let failed = [Act::Show(2), Act::Reach, Act::Reply(0, 2)];
    assert_eq!(bench.wait(STREAM, true, &failed), Err(CuError(2)));
    // The late reply to an earlier wait has taken the error of a posted call. The next wait must
    // report it.
    assert_eq!(bench.wait(STREAM, true, &[Act::Reach]), Ok(()));
    assert_eq!(bench.wait(EVENT, true, &[Act::Reply(0, 3), Act::Reach]), Err(CuError(3)));
    bench.acts.send(Act::Reply(0, 0)).unwrap();
    // The late reply to an earlier wait contains an error. A later call that isn't a wait must
    // report the error.
    assert_eq!(bench.wait(STREAM, true, &[Act::Reach]), Ok(()));
    bench.acts.send(Act::Reply(719, 0)).unwrap();
    let session = &bench.fixture.session;
    until("a call reports the error", || {
        let _ = session.call(&VcudaPing {});
        session.check_sticky() == Err(CuError(719))
    });
    assert_eq!(bench.fixture.session.check_sticky(), Err(CuError(719)));
}

#[test]
fn few_replies_are_late_at_once() {
    let bench = Bench::new();
    for _ in 0..64 {
        assert_eq!(bench.wait(STREAM, true, &[Act::Reach]), Ok(()));
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| bench.fixture.session.wait_for_work(STREAM, true));
        until("the worker has the call", || bench.worker.opcodes.lock().len() == 65);
        bench.acts.send(Act::Reach).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished(), "65 replies are late");
        (0..65).for_each(|_| bench.acts.send(Act::Reply(0, 0)).unwrap());
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
}

#[test]
fn an_older_host_is_asked_once() {
    let bench = Bench::new();
    bench.worker.knows_words.store(false, Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(bench.wait(STREAM, true, &[]), Ok(()));
        assert_eq!(bench.wait(EVENT, true, &[]), Ok(()));
    }
    assert_eq!(bench.worker.count(VcudaStreamSynchronize::OPCODE), 1);
    assert_eq!(bench.worker.count(VcudaEventSynchronize::OPCODE), 0);
    assert_eq!(bench.worker.count(CuStreamSynchronize::OPCODE), 3);
    assert_eq!(bench.worker.count(CuEventSynchronize::OPCODE), 3);
}

#[test]
fn a_thread_that_spins_on_a_word_notices_the_end_of_the_session() {
    let bench = Bench::new();
    let session = &bench.fixture.session;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| session.wait_for_work(STREAM, true));
        until("the worker has the call", || !bench.worker.opcodes.lock().is_empty());
        bench.fixture.link.ended.store(true, Ordering::Relaxed);
        assert_eq!(waiting.join().unwrap(), Err(CuError::DEVICE_UNAVAILABLE));
    });
}

/// The program's copies of managed variables must be current when a wait ends.
#[test]
fn managed_variables_are_copied_before_a_wait_ends() {
    let bench = Bench::new();
    let session = &bench.fixture.session;
    let mut variable = [0u8; 0];
    let (base, of) = (variable.as_mut_ptr() as u64, (LibraryId(9), "variable"));
    // SAFETY: the variable has no bytes, so nothing is accessed.
    unsafe { session.mirrors.add(&**session, (base, 0), of) }.unwrap();
    assert_eq!(session.wait_for_work(STREAM, true), Ok(()));
    assert_eq!(bench.worker.count(VcudaStreamSynchronize::OPCODE), 0);
    assert_eq!(bench.worker.count(CuStreamSynchronize::OPCODE), 1);
}

/// The worker arms a word late if it holds the work until the VM's next window, or must first
/// register the arena's memory with the GPU.
#[test]
fn a_word_that_is_armed_late_ends_a_wait() {
    let bench = Bench::new();
    bench.worker.arms.store(false, Ordering::Relaxed);
    let acts = [Act::Arm, Act::Reach];
    assert_eq!(bench.wait(STREAM, true, &acts), Ok(()));
    assert_eq!(bench.wait(EVENT, true, &acts), Ok(()));
}
