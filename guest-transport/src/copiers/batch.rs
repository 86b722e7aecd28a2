//! The calling thread's part of a parallel copy: dividing the copy into jobs, and executing jobs
//! together with the helpers.

use super::fifo::Fifo;
use super::job::{JOBS, Job, Run};
use super::state::{DONE, State, WORK, lock};
use super::threads::{helpers, start};
use std::sync::PoisonError;

/// The jobs of one call. The calling thread and the helpers execute them in any order.
pub struct Batch<'a> {
    run: &'a Run<'a>,
    /// Index of the batch's [`Line`](super::state::Line), the entry through which helpers get its
    /// jobs. `None` if the calling thread executes the jobs alone.
    line: Option<usize>,
    /// Tags of the finished jobs that the calling thread executed without helpers, and that haven't
    /// been returned yet.
    alone: Fifo<usize>,
    /// Number of submitted jobs whose tags haven't been returned yet.
    outstanding: usize,
}

/// Calls `body` with a batch whose jobs `run` executes, on this thread and, if `shared`, on
/// helpers. When this function returns, no helper executes a job of the batch. Jobs that haven't
/// begun when `body` returns are dropped.
pub fn with<R>(shared: bool, run: &Run<'_>, body: impl FnOnce(&mut Batch<'_>) -> R) -> R {
    let line = if shared && helpers() > 0 { open(run) } else { None };
    let mut batch = Batch { run, line, alone: Fifo::new(), outstanding: 0 };
    body(&mut batch)
}

/// Takes an unused line for jobs that `run` executes. Returns `None` if all lines are in use.
fn open(run: &Run<'_>) -> Option<usize> {
    let mut state = lock();
    let line = state.lines.iter().position(|line| line.run.is_none())?;
    // SAFETY: only the lifetimes change. Helpers call the function only for jobs of this line, and
    // the batch's destructor waits until none of these jobs is running, so no helper uses `run`
    // after its lifetime.
    let run = unsafe { std::mem::transmute::<&Run<'_>, &'static Run<'static>>(run) };
    state.lines[line].run = Some(run);
    Some(line)
}

impl Batch<'_> {
    /// Adds a job. At most [`JOBS`] jobs can be [outstanding](Self::outstanding) at a time.
    pub fn submit(&mut self, job: Job) {
        assert!(self.outstanding < JOBS, "too many jobs");
        self.outstanding += 1;
        let Some(line) = self.line else {
            (self.run)(job);
            return self.alone.push(job.tag);
        };
        let mut state = lock();
        state.lines[line].queued.push(job);
        if state.idle > 0 {
            WORK.notify_one();
        } else if state.kept == 0 && state.helpers < helpers() {
            // Starting a helper allocates memory, which must not happen while helpers are kept.
            start(state);
        }
    }

    /// Returns the number of jobs that were submitted, and whose tags [`finished`](Self::finished)
    /// and [`wait`](Self::wait) haven't returned yet.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Returns the tag of a job that has been executed, if there is one.
    pub fn finished(&mut self) -> Option<usize> {
        if self.outstanding == 0 {
            return None;
        }
        let tag = match self.line {
            Some(line) => lock().lines[line].done.pop(),
            None => self.alone.pop(),
        };
        self.outstanding -= usize::from(tag.is_some());
        tag
    }

    /// Executes one of the batch's jobs on this thread. Returns false if all of them had already
    /// begun.
    pub fn help(&mut self) -> bool {
        let Some(line) = self.line.filter(|_| self.outstanding > 0) else { return false };
        let Some(job) = lock().lines[line].queued.pop() else { return false };
        (self.run)(job);
        lock().lines[line].done.push(job.tag);
        true
    }

    /// Executes jobs until one is finished, and returns its tag. Returns `None` if no job is
    /// outstanding.
    pub fn wait(&mut self) -> Option<usize> {
        while self.outstanding > 0 {
            if let Some(tag) = self.finished() {
                return Some(tag);
            }
            if let (false, Some(line)) = (self.help(), self.line) {
                let state = lock();
                let waits = |state: &mut State| {
                    let line = &state.lines[line];
                    line.done.is_empty() && line.running > 0
                };
                drop(DONE[line].wait_while(state, waits));
            }
        }
        None
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let Some(line) = self.line else { return };
        let mut state = lock();
        state.lines[line].queued = Fifo::new();
        let waited = DONE[line].wait_while(state, |state| state.lines[line].running > 0);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.lines[line].done = Fifo::new();
        state.lines[line].run = None;
    }
}

/// Divides `len` bytes into slices of at most `slice` bytes, and executes `run` for each of them.
/// The job's `from` is the slice's offset.
pub fn each_slice(len: usize, slice: usize, run: &Run<'_>) {
    with(len > slice, run, |batch| {
        for from in (0..len).step_by(slice) {
            while batch.outstanding() == JOBS {
                batch.wait();
            }
            batch.submit(Job { from, len: slice.min(len - from), ..Job::default() });
        }
        while batch.wait().is_some() {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copiers::state::LINES;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_job_is_executed_once_whoever_executes_it() {
        for shared in [false, true] {
            let executed: Vec<AtomicUsize> = (0..500).map(|_| AtomicUsize::new(0)).collect();
            let run = |job: Job| {
                executed[job.from].fetch_add(job.len, Ordering::Relaxed);
            };
            let mut ended = vec![0; executed.len()];
            with(shared, &run, |batch| {
                for from in 0..executed.len() {
                    while batch.outstanding() == JOBS {
                        ended[batch.wait().unwrap()] += 1;
                    }
                    batch.submit(Job { tag: from, from, to: 0, len: 1 });
                }
                while let Some(tag) = batch.wait() {
                    ended[tag] += 1;
                }
                assert_eq!(batch.outstanding(), 0);
                assert!(!batch.help() && batch.finished().is_none());
            });
            assert!(executed.iter().all(|times| times.load(Ordering::Relaxed) == 1));
            assert!(ended.iter().all(|times| *times == 1));
        }
    }

    #[test]
    fn a_batch_ends_with_its_jobs() {
        for _ in 0..200 {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let run = |_: Job| {
                begun.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
                ended.fetch_add(1, Ordering::Relaxed);
            };
            with(true, &run, |batch| {
                (0..8).for_each(|tag| batch.submit(Job { tag, ..Job::default() }));
                batch.help();
            });
            let begun = begun.load(Ordering::Relaxed);
            assert!((1..=8).contains(&begun));
            assert_eq!(ended.load(Ordering::Relaxed), begun);
        }
    }

    #[test]
    fn more_calls_than_lines_copy_at_the_same_time() {
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 * LINES {
                scope.spawn(|| {
                    for _ in 0..50 {
                        each_slice(100, 7, &|job| {
                            assert!(job.len == 7 || job.from == 98 && job.len == 2);
                            total.fetch_add(job.len, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 2 * LINES * 50 * 100);
    }
}
