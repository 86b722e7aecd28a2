//! Tests completion words with loom. Run these tests with `RUSTFLAGS="--cfg loom"`, as `make test`
//! does. In every interleaving of waiting threads, the worker, and the GPU, a wait that ends
//! without an error sees the work that it has waited for, and every wait ends.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::mpsc::{Sender, channel};
use loom::sync::{Arc, Notify};
use loom::thread;
use virtio_cuda_protocol::words::{Progress, Slots, WaitValue};

const SUCCESS: u32 = 1;
const FAILURE: u32 = 2;

/// A call that waits, and the word that it uses.
#[derive(Clone, Copy)]
struct Call {
    wait: usize,
    word: usize,
    value: WaitValue,
}

struct World {
    slots: Slots,
    words: [AtomicU64; 2],
    /// The results of the work that each wait awaits, which the GPU writes.
    results: [UnsafeCell<u32>; 2],
    replies: [AtomicU32; 2],
    /// Wakes the thread of each wait. Only the worker's replies wake it; the GPU's writes don't.
    wakes: [Notify; 2],
}

impl World {
    /// Makes a call that waits, and waits until the GPU has written its word or the worker has
    /// replied.
    fn wait(&self, wait: usize, to_worker: &Sender<Call>) {
        let (word, value) = self.slots.take().expect("there is a word for each wait");
        to_worker.send(Call { wait, word, value }).unwrap();
        let result = loop {
            if value.progress(self.words[word].load(Ordering::Acquire)) == Progress::Reached {
                break SUCCESS;
            }
            match self.replies[wait].load(Ordering::Acquire) {
                0 => self.wakes[wait].wait(),
                reply => break reply,
            }
        };
        if result == SUCCESS {
            // Loom fails if this read isn't ordered after the GPU's write.
            self.results[wait].with(|at| assert_eq!(unsafe { *at }, 1));
        }
        self.slots.give(word);
    }

    fn reply(&self, wait: usize, result: u32) {
        self.replies[wait].store(result, Ordering::Release);
        self.wakes[wait].notify();
    }
}

/// Lets each of the `threads` make the waits in its list. With `fails`, the worker replies to the
/// first call with an error before the GPU has reached its point, so that the GPU's write can come
/// while the word serves another wait. If `arms` is false, the GPU doesn't write the second wait's
/// word.
fn check(threads: &'static [&'static [usize]], fails: bool, arms: bool) {
    let mut model = loom::model::Builder::new();
    // Limit two guest threads to one preemption, because with two preemptions the test takes
    // minutes.
    model.preemption_bound = Some(3 - threads.len());
    model.check(move || {
        let world = Arc::new(World {
            slots: Slots::default(),
            words: Default::default(),
            results: Default::default(),
            replies: Default::default(),
            wakes: [Notify::new(), Notify::new()],
        });
        let (to_worker, from_guest) = channel();
        let (to_gpu, from_worker) = channel::<Call>();
        let guests: Vec<_> = threads
            .iter()
            .map(|waits| {
                let (world, to_worker) = (world.clone(), to_worker.clone());
                thread::spawn(move || waits.iter().for_each(|wait| world.wait(*wait, &to_worker)))
            })
            .collect();
        let has_word = move |call: Call| arms || call.wait == 0;
        let gpu = {
            let world = world.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    let call = from_worker.recv().unwrap();
                    world.results[call.wait].with_mut(|at| unsafe { *at = 1 });
                    if has_word(call) {
                        world.words[call.word].store(call.value.reached(), Ordering::Release);
                    }
                    // The worker replies when it sees that the CUDA event after the write has
                    // completed. Here, this thread sends the reply for it.
                    if !(fails && call.wait == 0) {
                        world.reply(call.wait, SUCCESS);
                    }
                }
            })
        };
        for _ in 0..2 {
            let call = from_guest.recv().unwrap();
            if has_word(call) {
                world.words[call.word].store(call.value.0, Ordering::Release);
            }
            to_gpu.send(call).unwrap();
            if fails && call.wait == 0 {
                world.reply(call.wait, FAILURE);
            }
        }
        gpu.join().unwrap();
        guests.into_iter().for_each(|guest| guest.join().unwrap());
    });
}

#[test]
fn waits_of_several_threads_end_after_their_work() {
    check(&[&[0], &[1]], false, true);
}

#[test]
fn a_word_is_used_for_one_wait_after_another() {
    check(&[&[0, 1]], false, true);
}

#[test]
fn a_late_write_does_not_end_the_next_wait_with_the_word() {
    check(&[&[0, 1]], true, true);
}

#[test]
fn a_late_write_does_not_end_a_wait_for_a_reply() {
    check(&[&[0, 1]], true, false);
}
