//! Tests of completion words. In these tests, a host function keeps a stream busy until the test
//! lets it end.

use super::gate::{BLOCKING, EVENT, FREE};
use super::graphs::chain;
use super::*;
use crate::driver::stubs;
use crate::executor::Pending;
use host_ipc::gate::Mode;
use protocol::graph::Step;
use protocol::ids::GraphExecId;
use protocol::structs::EventRecordStep;
use protocol::words::{Progress, WaitValue};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// `WORD` is the offset of a completion word in the arena. `VALUE` identifies the wait for which
/// it's used.
const WORD: u64 = 4096;
const VALUE: WaitValue = WaitValue(10);
/// The guest threads that wait.
const WAITER: u32 = THREAD + 1;
const SECOND: u32 = THREAD + 2;

impl Bench {
    fn word(&self, offset: u64) -> &AtomicU64 {
        // SAFETY: the word is in the arena, which stays mapped while `ring` exists.
        unsafe { AtomicU64::from_ptr(self.arena.wrapping_add(offset as usize).cast()) }
    }

    fn progress(&self) -> Progress {
        VALUE.progress(self.word(WORD).load(Ordering::Acquire))
    }

    fn wait_stream(&mut self, thread: u32, stream: u64, word: u64) {
        let (h_stream, value) = (StreamId(stream), VALUE.0);
        self.begin(thread, &VcudaStreamSynchronize { h_stream, word, value });
    }

    fn wait_event(&mut self, thread: u32) {
        let (h_event, value) = (EventId(EVENT), VALUE.0);
        self.begin(thread, &VcudaEventSynchronize { h_event, word: WORD, value });
    }

    fn wait_context(&mut self, thread: u32) {
        self.begin(thread, &VcudaCtxSynchronize { word: WORD, value: VALUE.0 });
    }

    fn record_event(&mut self, stream: u64) {
        let (h_event, h_stream) = (EventId(EVENT), StreamId(stream));
        self.post(&CuEventRecordWithFlags { h_event, h_stream, flags: 0 });
    }

    /// Keeps a stream busy with a host function until `go_on` is called.
    fn stop(&mut self, stream: u64) {
        self.post(&VcudaHostFunc { h_stream: StreamId(stream), token: 42 });
        assert_eq!(self.host_func(), 42);
    }

    fn go_on(&mut self) {
        self.executor.host_func_ended();
    }

    fn is_answered(&mut self, thread: u32) -> bool {
        for _ in 0..20 {
            self.executor.poll();
        }
        self.thread = thread;
        let state = self.state().load(Ordering::Acquire);
        self.thread = THREAD;
        state != 0
    }

    /// Lets a busy stream continue, for which a guest thread waits with a word. Fails unless the
    /// GPU then writes the word without the worker's help, and the worker replies, too.
    fn assert_word_comes(&mut self, thread: u32, case: &str) {
        assert!(!self.is_answered(thread), "{case}");
        assert_eq!(self.progress(), Progress::Armed, "{case}");
        assert_ne!(self.executor.poll(), Pending::Soon, "{case}: the guest needs no reply soon");
        self.go_on();
        let start = std::time::Instant::now();
        while self.progress() != Progress::Reached {
            assert!(start.elapsed().as_secs() < 60, "{case}: the word doesn't come");
            std::thread::yield_now();
        }
        assert_eq!(self.ended(thread), 0, "{case}");
        self.word(WORD).store(0, Ordering::Relaxed);
    }

    /// Lets a busy stream continue, for which a guest thread waits. Fails if the worker has used a
    /// word for the wait.
    fn assert_reply_alone_comes(&mut self, thread: u32, case: &str) {
        assert!(!self.is_answered(thread), "{case}");
        assert_eq!(self.word(WORD).load(Ordering::Acquire), 0, "{case}");
        assert_ne!(self.executor.poll(), Pending::Shortly, "{case}: the guest needs the reply");
        self.go_on();
        assert_eq!(self.ended(thread), 0, "{case}");
        assert_eq!(self.word(WORD).load(Ordering::Acquire), 0, "{case}");
    }
}

#[test]
fn the_gpu_writes_the_word_of_a_wait() {
    alone("words::the_gpu_writes_the_word_of_a_wait", |mut bench| {
        bench.streams();
        for stream in [0, 1, FREE, BLOCKING] {
            bench.stop(stream);
            bench.wait_stream(WAITER, stream, WORD);
            bench.assert_word_comes(WAITER, &format!("stream {stream}"));
            bench.stop(stream);
            bench.record_event(stream);
            bench.wait_event(WAITER);
            bench.assert_word_comes(WAITER, &format!("event in stream {stream}"));
            bench.stop(stream);
            bench.wait_context(WAITER);
            bench.assert_word_comes(WAITER, &format!("context with work in stream {stream}"));
        }
        // Each guest thread has a per-thread default stream of its own.
        bench.begin(WAITER, &VcudaHostFunc { h_stream: StreamId::PER_THREAD, token: 7 });
        assert_eq!(bench.ended(WAITER), 0);
        assert_eq!(bench.host_func(), 7);
        bench.wait_stream(WAITER, 2, WORD);
        bench.assert_word_comes(WAITER, "per-thread default stream");
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn finished_work_needs_no_word() {
    alone("words::finished_work_needs_no_word", |mut bench| {
        bench.streams();
        bench.record_event(FREE);
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.wait_stream(WAITER, FREE, WORD);
        assert_eq!(bench.ended(WAITER), 0);
        bench.wait_event(WAITER);
        assert_eq!(bench.ended(WAITER), 0);
        assert_eq!(bench.word(WORD).load(Ordering::Relaxed), 0);
    });
}

#[test]
fn one_word_does_not_stand_for_several_streams() {
    alone("words::one_word_does_not_stand_for_several_streams", |mut bench| {
        bench.streams();
        bench.stop(BLOCKING);
        bench.post(&VcudaHostFunc { h_stream: StreamId(FREE), token: 43 });
        bench.wait_context(WAITER);
        assert!(!bench.is_answered(WAITER));
        bench.go_on();
        bench.run_host_func(43);
        assert_eq!(bench.ended(WAITER), 0);
        assert_eq!(bench.word(WORD).load(Ordering::Relaxed), 0);
        bench.wait_context(WAITER);
        assert_eq!(bench.ended(WAITER), 0, "nothing is unfinished");
        assert_eq!(bench.word(WORD).load(Ordering::Relaxed), 0);
    });
}

/// The GPU writes an event's word only directly after the record of the event.
#[test]
fn a_wait_for_an_event_uses_no_word_in_other_streams_or_behind_later_work() {
    let test = "words::a_wait_for_an_event_uses_no_word_in_other_streams_or_behind_later_work";
    alone(test, |mut bench| {
        bench.streams();
        let a = bench.alloc(1024);
        bench.stop(FREE);
        bench.record_event(FREE);
        bench.fill(a, 1, 256, FREE);
        bench.wait_event(WAITER);
        bench.assert_reply_alone_comes(WAITER, "later work in the stream");

        bench.record_event(FREE);
        bench.stop(BLOCKING);
        bench.good(&VcudaCtxRecordEvent { event: EventId(EVENT) });
        bench.wait_event(WAITER);
        bench.assert_reply_alone_comes(WAITER, "recorded in a context");

        bench.stop(FREE);
        bench.record_event(FREE);
        bench.post(&CuStreamDestroyV2 { h_stream: StreamId(FREE) });
        bench.wait_event(WAITER);
        bench.assert_reply_alone_comes(WAITER, "its stream is destroyed");

        bench.stop(BLOCKING);
        bench.record_event(BLOCKING);
        bench.wait_event(WAITER);
        bench.assert_word_comes(WAITER, "recorded again");
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn an_event_that_graphs_record_has_no_word() {
    alone("words::an_event_that_graphs_record_has_no_word", |mut bench| {
        bench.streams();
        let step = Step::EventRecord(EventRecordStep { event: EventId(EVENT) });
        let graph = chain(&[step]);
        let exec = GraphExecId(300);
        bench.good(&VcudaGraphInstantiate {
            exec,
            blob: BlobId(0),
            graph: graph.as_bytes(),
            flags: 0,
        });
        bench.stop(FREE);
        bench.record_event(FREE);
        bench.wait_event(WAITER);
        bench.assert_reply_alone_comes(WAITER, "a graph can record the event elsewhere");
    });
}

#[test]
fn a_wait_does_without_a_word_that_the_gpu_can_not_or_must_not_write() {
    let test = "words::a_wait_does_without_a_word_that_the_gpu_can_not_or_must_not_write";
    alone(test, |mut bench| {
        bench.streams();
        let arena = (REGION_BYTES - ARENA) as u64;
        for word in [arena, arena - 4, arena - 7, WORD + 4, WORD + 1, u64::MAX, u64::MAX - 7] {
            bench.stop(FREE);
            bench.wait_stream(WAITER, FREE, word);
            bench.assert_reply_alone_comes(WAITER, &format!("word {word:#x}"));
        }
        bench.stop(FREE);
        bench.wait_stream(WAITER, 12345, WORD);
        assert_eq!(bench.ended(WAITER), CuError::INVALID_HANDLE.0);
        bench.wait_stream(WAITER, FREE, arena - 8);
        assert!(!bench.is_answered(WAITER));
        assert_eq!(bench.word(arena - 8).load(Ordering::Relaxed), VALUE.0, "the last word");
        bench.go_on();
        assert_eq!(bench.ended(WAITER), 0);

        // While kernels print, the guest needs the reply, because the reply reports their output.
        bench.set_quota(1 << 30);
        let image = SAY;
        let (module, blob, options) = (ModuleId(2001), BlobId(0), Default::default());
        bench.good(&VcudaModuleLoad { module, blob, image, options, log_max: 0 });
        bench.stop(FREE);
        bench.wait_stream(WAITER, FREE, WORD);
        bench.assert_reply_alone_comes(WAITER, "kernels print");
    });
}

#[test]
fn a_closed_gate_lets_no_word_through() {
    alone("words::a_closed_gate_lets_no_word_through", |mut bench| {
        bench.streams();
        let a = bench.alloc(1024);
        for mode in [Mode::Closed, Mode::Prepare, Mode::Standby] {
            bench.grant(Mode::Window, 1_000_000_000);
            bench.stop(FREE);
            bench.grant(mode, 0);
            bench.wait_stream(WAITER, FREE, WORD);
            bench.assert_reply_alone_comes(WAITER, &format!("{mode:?}"));
        }
        // A wait for held work begins only when the work goes to the driver. It gets its word then.
        bench.grant(Mode::Closed, 0);
        bench.until("nothing is in flight", |bench| !bench.is_active());
        bench.fill(a, 1, 256, FREE);
        bench.wait_stream(WAITER, FREE, WORD);
        assert_eq!(bench.held(), 1);
        assert!(!bench.is_answered(WAITER));
        assert_eq!(bench.word(WORD).load(Ordering::Relaxed), 0);
        bench.grant(Mode::Window, 1_000_000_000);
        assert_eq!(bench.ended(WAITER), 0);
        assert_eq!(bench.posted_error(), 0);
    });
}

#[test]
fn a_failed_context_writes_no_word() {
    alone("words::a_failed_context_writes_no_word", |mut bench| {
        bench.streams();
        let f = bench.vector_add();
        bench.stop(FREE);
        bench.launch(f, 8, 8, 8, 1, FREE);
        bench.wait_stream(WAITER, FREE, WORD);
        assert!(!bench.is_answered(WAITER));
        assert_eq!(bench.progress(), Progress::Armed);
        bench.go_on();
        assert_eq!(bench.ended(WAITER), CuError::ILLEGAL_ADDRESS.0);
        assert_eq!(bench.progress(), Progress::Armed);
        bench.wait_stream(WAITER, FREE, WORD);
        assert_eq!(bench.ended(WAITER), CuError::ILLEGAL_ADDRESS.0);
    });
}

/// Whatever the guest writes to its words, the worker's reply, the accounting of memory, and the
/// reuse of memory depend only on what the worker itself observes on the GPU.
#[test]
fn forged_words_gain_nothing() {
    alone("words::forged_words_gain_nothing", |mut bench| {
        bench.streams();
        let a = bench.alloc(2 * MIB as usize);
        let before = bench.used();
        for forged in [VALUE.reached(), VALUE.0, u64::MAX, 0] {
            bench.stop(FREE);
            bench.record_event(FREE);
            bench.wait_stream(WAITER, FREE, WORD);
            bench.wait_event(SECOND);
            bench.word(WORD).store(forged, Ordering::Relaxed);
            assert!(!bench.is_answered(WAITER) && !bench.is_answered(SECOND));
            bench.go_on();
            assert_eq!((bench.ended(WAITER), bench.ended(SECOND)), (0, 0));
        }
        bench.stop(FREE);
        bench.fill(a, 1, 256, FREE);
        bench.wait_stream(WAITER, FREE, WORD);
        bench.word(WORD).store(VALUE.reached(), Ordering::Relaxed);
        bench.begin(SECOND, &CuMemFreeV2 { dptr: a });
        assert!(!bench.is_answered(SECOND), "the memory is still in use");
        assert_eq!(bench.used(), before);
        let other = bench.alloc(2 * MIB as usize);
        assert_ne!(other, a);
        assert_eq!(bench.used(), before + 2 * MIB);
        bench.go_on();
        assert_eq!((bench.ended(WAITER), bench.ended(SECOND)), (0, 0));
        bench.good(&CuMemFreeV2 { dptr: other });
        assert_eq!(bench.used(), before - 2 * MIB);
        // A guest can choose a word in a reply slot. That confuses only the guest.
        let slot = (SLOT.0 + SLOT.1) as u64;
        bench.stop(FREE);
        bench.wait_stream(WAITER, FREE, slot);
        bench.go_on();
        assert_eq!(bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) }), ());
        assert_eq!(bench.posted_error(), 0);
    });
}

/// Whatever the guest writes to its words, to its replies, or anywhere else in the arena, memory
/// whose stream-ordered free the GPU hasn't reached stays charged and isn't given to other streams,
/// and the gate keeps counting the work.
#[test]
fn forged_words_free_no_memory_and_end_no_work() {
    alone("words::forged_words_free_no_memory_and_end_no_work", |mut bench| {
        bench.streams();
        let a =
            bench.good(&CuMemAllocAsync { bytesize: 2 * MIB as usize, h_stream: StreamId(FREE) });
        let before = bench.used();
        bench.grant(Mode::Window, 1_000_000_000);
        bench.stop(FREE);
        bench.fill(a.dptr, 1, 256, FREE);
        bench.post(&CuMemFreeAsync { dptr: a.dptr, h_stream: StreamId(FREE) });
        let (finished, arena) = (bench.finished(), (REGION_BYTES - ARENA) as u64);
        bench.wait_stream(WAITER, FREE, WORD);
        for forged in [VALUE.reached(), VALUE.0, 1, u64::MAX, 0] {
            for word in (0..arena).step_by(8) {
                bench.word(word).store(forged, Ordering::Relaxed);
            }
            bench.wait_context(SECOND);
            for _ in 0..20 {
                bench.executor.poll();
            }
            assert!(bench.is_active() && bench.finished() == finished);
            assert_eq!(bench.used(), before);
        }
        let other = bench.alloc(2 * MIB as usize);
        assert_ne!(other, a.dptr, "the memory is still in use");
        assert_eq!(bench.used(), before + 2 * MIB);
        // Clear the forged replies. The worker then writes the real ones.
        for thread in [WAITER, SECOND] {
            bench.thread = thread;
            bench.state().store(0, Ordering::Relaxed);
        }
        bench.thread = THREAD;
        bench.go_on();
        assert_eq!((bench.ended(WAITER), bench.ended(SECOND)), (0, 0));
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        bench.until("the memory is free", |bench| bench.used() == before);
        bench.until("the gate has seen the end", |bench| !bench.is_active());
        assert_eq!(bench.posted_error(), 0);
    });
}

/// The times at which the worker has checked for kernel output.
#[derive(Clone, Default)]
struct Checks(Arc<Mutex<Vec<Instant>>>);

impl stubs::Watch for Checks {
    fn enters(&self, name: &'static str, _: &[u64]) {
        if name == "cuStreamSynchronize" {
            self.0.lock().unwrap().push(Instant::now());
        }
    }

    fn leaves(&self, _: &'static str, _: &[u64], _: u32) {}
}

/// A check for kernel output takes time in the driver, and would delay the guest's next launch
/// during that time.
#[test]
fn a_check_for_kernel_output_delays_no_launch_behind_a_wait() {
    alone("words::a_check_for_kernel_output_delays_no_launch_behind_a_wait", |mut bench| {
        bench.streams();
        let checks = Checks::default();
        stubs::watch(checks.clone());
        let count = || checks.0.lock().unwrap().len();
        let wait = |bench: &mut Bench| {
            // Sleep for longer than the minimum time between two checks.
            std::thread::sleep(Duration::from_millis(15));
            bench.stop(FREE);
            bench.wait_stream(WAITER, FREE, WORD);
            let goes_on = Instant::now();
            bench.go_on();
            assert_eq!(bench.ended(WAITER), 0);
            goes_on
        };
        wait(&mut bench);
        assert_eq!(count(), 1, "the first one, for which the stream is created");
        let goes_on = wait(&mut bench);
        bench.until("nothing has waited for some time", |_| count() == 2);
        let checked = *checks.0.lock().unwrap().last().unwrap();
        assert!(checked - goes_on >= Duration::from_micros(200), "{:?}", checked - goes_on);
        wait(&mut bench);
        bench.stop(FREE);
        bench.wait_stream(WAITER, FREE, WORD);
        assert!(!bench.is_answered(WAITER));
        assert_eq!(count(), 3, "while a call waits");
        bench.go_on();
        assert_eq!(bench.ended(WAITER), 0);
    });
}

/// The gate doesn't count the writes of words among the commands in flight, so the number of words
/// at once must be small.
#[test]
fn the_number_of_words_at_once_is_limited() {
    alone("words::the_number_of_words_at_once_is_limited", |mut bench| {
        bench.streams();
        bench.stop(FREE);
        let word = |index: u64| WORD + 64 * index;
        // All these waits use the same reply slot, which nothing reads.
        for index in 0..200 {
            bench.wait_stream(WAITER, FREE, word(index));
        }
        let armed = |bench: &Bench| {
            (0..200).filter(|i| bench.word(word(*i)).load(Ordering::Relaxed) == VALUE.0).count()
        };
        assert_eq!(armed(&bench), 64);
        bench.go_on();
        bench.good(&CuStreamSynchronize { h_stream: StreamId(FREE) });
        assert_eq!(armed(&bench), 0);
    });
}

#[test]
fn only_the_context_in_which_the_arena_is_registered_writes_words() {
    let test = "words::only_the_context_in_which_the_arena_is_registered_writes_words";
    alone(test, |mut bench| {
        bench.streams();
        bench.stop(FREE);
        bench.wait_stream(WAITER, FREE, WORD);
        bench.assert_word_comes(WAITER, "the first context");
        let first = bench.ctx;
        bench.good(&VcudaCtxCreate { dev: 0, flags: 0, ctx: ContextId(78) });
        bench.ctx = ContextId(78);
        bench.stop(0);
        bench.wait_stream(WAITER, 0, WORD);
        bench.assert_reply_alone_comes(WAITER, "another context");
        // The arena's registration ends with the first context. It's then registered in the other
        // one.
        bench.ctx = first;
        bench.good(&VcudaPrimaryCtxRelease { dev: 0, ctx: first });
        bench.ctx = ContextId(78);
        bench.stop(0);
        bench.wait_stream(WAITER, 0, WORD);
        bench.assert_word_comes(WAITER, "the context that is left");
    });
}
