//! A stream's queue of work, and the thread that executes the work. The thread starts when work is
//! first submitted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::errors::Errors;
use cuda_api::attributes::Attributes;
use cuda_api::error::CuError;

/// How long threads poll before they sleep. A queue's thread polls for new work, and other threads
/// poll for the completion of work.
const SPIN: Duration = Duration::from_micros(20);

/// The work that one call adds to a queue. It also runs after an error, so that waits for its
/// completion end. Its argument is the context's error state, which it must check.
pub(crate) type Work = Box<dyn FnOnce(&Errors) + Send>;

struct Item {
    sequence: u64,
    after: Vec<Mark>,
    work: Work,
}

/// A position in a queue's sequence of work.
#[derive(Clone)]
pub(crate) struct Mark {
    pub(crate) stream: Arc<Queue>,
    pub(crate) sequence: u64,
}

impl Mark {
    /// Returns whether all work up to this position is done.
    pub(crate) fn reached(&self) -> bool {
        self.stream.completed.load(Ordering::Acquire) >= self.sequence
    }

    /// Waits until all work up to this position is done.
    pub(crate) fn wait(&self) {
        self.stream.wait(self.sequence);
    }
}

/// A queue of work, which belongs to a stream or a context.
pub(crate) struct Queue {
    items: Mutex<VecDeque<Item>>,
    filled: Condvar,
    submitted: AtomicU64,
    completed: AtomicU64,
    asleep: AtomicBool,
    started: AtomicBool,
    closed: AtomicBool,
    waiters: AtomicU32,
    wait_lock: Mutex<()>,
    done: Condvar,
    attributes: Mutex<Attributes>,
}

impl Queue {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            items: Mutex::new(VecDeque::new()),
            filled: Condvar::new(),
            submitted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            started: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            waiters: AtomicU32::new(0),
            wait_lock: Mutex::new(()),
            done: Condvar::new(),
            attributes: Mutex::default(),
        })
    }

    /// Locks and returns the stream's attributes.
    pub(crate) fn attributes(&self) -> std::sync::MutexGuard<'_, Attributes> {
        self.attributes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Item>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the position after all submitted work.
    pub(crate) fn mark(self: &Arc<Self>) -> Mark {
        Mark { stream: self.clone(), sequence: self.submitted.load(Ordering::Acquire) }
    }

    /// Returns whether all submitted work is done.
    pub(crate) fn idle(&self) -> bool {
        self.completed.load(Ordering::Acquire) == self.submitted.load(Ordering::Acquire)
    }

    fn wait(&self, sequence: u64) {
        let reached = || self.completed.load(Ordering::SeqCst) >= sequence;
        if reached() {
            return;
        }
        let start = Instant::now();
        while start.elapsed() < SPIN {
            if reached() {
                return;
            }
            std::hint::spin_loop();
        }
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.wait_lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !reached() {
            guard = self.done.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn submit(
        self: &Arc<Self>,
        errors: &Arc<Errors>,
        after: Vec<Mark>,
        work: Work,
    ) -> Mark {
        let sequence = {
            let mut items = self.lock();
            let sequence = self.submitted.load(Ordering::Relaxed) + 1;
            items.push_back(Item { sequence, after, work });
            self.submitted.store(sequence, Ordering::Release);
            if self.asleep.load(Ordering::Relaxed) {
                self.filled.notify_one();
            }
            sequence
        };
        if !self.started.swap(true, Ordering::AcqRel) {
            self.start(errors, Builder::new().name("softgpu-stream".into()));
        }
        Mark { stream: self.clone(), sequence }
    }

    /// Starts the queue's thread. If that fails, sets the context's error, and discards the queued
    /// work, so that waits for its completion end.
    fn start(self: &Arc<Self>, errors: &Arc<Errors>, thread: Builder) {
        let (queue, of_queue) = (self.clone(), errors.clone());
        if thread.spawn(move || queue.run(&of_queue)).is_err() {
            errors.fail(CuError::OPERATING_SYSTEM);
            self.started.store(false, Ordering::Release);
            self.drain();
        }
    }

    /// Discards the queued work and marks it as done. Called when the stream's thread couldn't be
    /// started.
    fn drain(self: &Arc<Self>) {
        loop {
            let Some(item) = self.lock().pop_front() else { break };
            self.complete(item.sequence);
        }
    }

    fn complete(&self, sequence: u64) {
        self.completed.store(sequence, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) > 0 {
            drop(self.wait_lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.done.notify_all();
        }
    }

    fn next(&self) -> Option<Item> {
        let start = Instant::now();
        loop {
            if !self.idle() {
                if let Some(item) = self.lock().pop_front() {
                    return Some(item);
                }
            } else if self.closed.load(Ordering::Acquire) {
                break;
            }
            if start.elapsed() >= SPIN {
                break;
            }
            std::hint::spin_loop();
        }
        let mut items = self.lock();
        loop {
            if let Some(item) = items.pop_front() {
                return Some(item);
            }
            if self.closed.load(Ordering::Acquire) {
                // The thread exits, so work that is submitted later must start another thread.
                self.started.store(false, Ordering::Release);
                return None;
            }
            self.asleep.store(true, Ordering::Relaxed);
            items = self.filled.wait(items).unwrap_or_else(PoisonError::into_inner);
            self.asleep.store(false, Ordering::Relaxed);
        }
    }

    fn run(&self, errors: &Errors) {
        while let Some(item) = self.next() {
            for mark in &item.after {
                mark.wait();
            }
            let work = item.work;
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(errors)));
            if result.is_err() {
                errors.fail(CuError::UNKNOWN);
            }
            self.complete(item.sequence);
        }
    }

    /// Makes the queue's thread exit as soon as the queue is empty.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let _items = self.lock();
        self.filled.notify_all();
    }

    /// Returns whether the queue is closed and all its work is done.
    pub(crate) fn has_ended(&self) -> bool {
        self.closed.load(Ordering::Acquire) && self.idle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_no_thread_can_do_fails() {
        let (queue, errors) = (Queue::new(), Arc::new(Errors::default()));
        let work = Box::new(|_: &Errors| panic!("there is no thread"));
        queue.lock().push_back(Item { sequence: 1, after: vec![], work });
        queue.submitted.store(1, Ordering::Release);
        queue.start(&errors, Builder::new().stack_size(1 << 60));
        assert!(queue.idle());
        assert_eq!(errors.healthy(), Err(CuError::OPERATING_SYSTEM));
        let mark = queue.submit(&errors, vec![], Box::new(|errors| errors.clear()));
        mark.wait();
        assert_eq!(errors.healthy(), Ok(()), "the next work starts the thread");
        queue.close();
    }
}
