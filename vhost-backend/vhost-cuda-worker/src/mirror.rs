//! Mirrors: the worker's threads for blocking calls, one per guest thread that makes such calls.
//!
//! All blocking calls from a guest thread run in order on the same mirror. Therefore CUDA's
//! per-thread state, such as the capture mode, is also kept per guest thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::Instant;

use super::spin::Spin;

/// The maximum number of mirrors for guest threads in one session.
pub const MAX_MIRRORS: usize = 128;

/// The maximum number of unfinished jobs for guests' calls on all mirrors together. A guest thread
/// that waits for its replies has one job at a time, so a guest reaches this only if it doesn't
/// wait. Each job may hold a command of maximum size.
pub const MAX_JOBS: usize = 512;

/// The keys of three mirrors that belong to no guest thread. `OWN` is for the worker's own tasks,
/// `SPILLED` for jobs for which no guest thread's mirror is available. Jobs on the first may wait
/// for jobs on the second, but not the reverse. `FREEING` is for jobs that free memory, which wait
/// for nothing.
const OWN: u64 = 1 << 32;
const SPILLED: u64 = OWN + 1;
const FREEING: u64 = OWN + 2;

type Job = Box<dyn FnOnce() + Send>;

/// The mirror threads of a session.
#[derive(Clone, Default)]
pub struct Mirrors {
    /// How long a mirror polls for its next job. Without polling, a thread that makes one call after
    /// another would have to wake its mirror for each.
    spin: Spin,
    threads: Arc<Mutex<HashMap<u64, Mirror>>>,
}

struct Mirror {
    jobs: mpsc::Sender<Job>,
    /// The number of jobs that were sent to the mirror and haven't finished.
    pending: Arc<AtomicUsize>,
}

/// The error when a session has too many mirrors or jobs to accept another one.
#[derive(Debug, thiserror::Error)]
#[error("the session already has {MAX_MIRRORS} threads or {MAX_JOBS} calls in blocking calls")]
pub struct MirrorsFull;

impl Mirrors {
    pub(super) fn new(spin: Spin) -> Self {
        Self { spin, threads: Arc::default() }
    }

    /// Runs `job` on the mirror of a guest thread, after that thread's earlier jobs. If the session
    /// has too many mirrors or jobs, fails and drops the job, including any `ReplyTo` in it.
    pub fn run(&self, thread: u32, job: impl FnOnce() + Send + 'static) -> Result<(), MirrorsFull> {
        let mut threads = self.lock();
        let waiting: usize = threads.values().map(Mirror::waiting).sum();
        if waiting >= MAX_JOBS {
            return Err(MirrorsFull);
        }
        self.send(&mut threads, thread.into(), Box::new(job)).map_err(|_| MirrorsFull)
    }

    /// Like [`Mirrors::run`], but never drops the job. If the guest thread can't get a mirror, or
    /// `thread` is `None`, the job runs on a thread reserved for the worker.
    pub fn run_always(&self, thread: Option<u32>, job: impl FnOnce() + Send + 'static) {
        let mut threads = self.lock();
        let job: Job = Box::new(job);
        accepted(match thread {
            None => self.send(&mut threads, OWN, job),
            Some(thread) => self
                .send(&mut threads, thread.into(), job)
                .or_else(|refused| self.send(&mut threads, SPILLED, refused)),
        });
    }

    /// Runs a job that frees memory and waits for nothing, on a thread that has only such jobs. The
    /// job is never dropped.
    pub fn run_freeing(&self, job: impl FnOnce() + Send + 'static) {
        accepted(self.send(&mut self.lock(), FREEING, Box::new(job)));
    }

    /// Ends the mirror of a guest thread that has exited, unless it has jobs. Then it ends when
    /// another thread needs a mirror.
    pub fn end(&self, thread: u32) {
        let mut threads = self.lock();
        if threads.get(&thread.into()).is_some_and(|mirror| mirror.waiting() == 0) {
            threads.remove(&thread.into());
        }
    }

    /// Sends a job to a mirror, and starts that mirror if necessary. If the mirror can't be started,
    /// returns the job.
    fn send(&self, threads: &mut HashMap<u64, Mirror>, key: u64, job: Job) -> Result<(), Job> {
        if !threads.contains_key(&key) {
            let of_guest = threads.keys().filter(|key| **key < OWN).count();
            if key < OWN && of_guest >= MAX_MIRRORS {
                let idle = threads.iter().find(|(key, m)| **key < OWN && m.waiting() == 0);
                let Some((&idle, _)) = idle else { return Err(job) };
                threads.remove(&idle);
            }
            let Ok(mirror) = Mirror::start(key, self.spin) else { return Err(job) };
            threads.insert(key, mirror);
        }
        let mirror = &threads[&key];
        mirror.pending.fetch_add(1, Ordering::AcqRel);
        // Sending doesn't fail: the mirror's thread keeps its receiver until the sender is dropped.
        mirror.jobs.send(job).map_err(|refused| refused.0)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Mirror>> {
        self.threads.lock().unwrap_or_else(|error| error.into_inner())
    }
}

/// Ends the worker if a job that must not be dropped was refused.
fn accepted(sent: Result<(), Job>) {
    if sent.is_err() {
        super::end::end("cannot start a thread for the worker's own tasks");
    }
}

impl Mirror {
    fn waiting(&self) -> usize {
        self.pending.load(Ordering::Acquire)
    }

    fn start(key: u64, mut spin: Spin) -> std::io::Result<Self> {
        let (jobs, incoming) = mpsc::channel::<Job>();
        let pending = Arc::new(AtomicUsize::new(0));
        let done = pending.clone();
        std::thread::Builder::new().name(format!("mirror-{key}")).spawn(move || {
            while let Some(job) = next_job(&incoming, &mut spin) {
                job();
                done.fetch_sub(1, Ordering::AcqRel);
            }
        })?;
        Ok(Self { jobs, pending })
    }
}

/// Waits for the next job. Returns `None` if there will be none.
fn next_job(incoming: &mpsc::Receiver<Job>, spin: &mut Spin) -> Option<Job> {
    let start = Instant::now();
    loop {
        match incoming.try_recv() {
            Ok(job) => {
                spin.work_came();
                return Some(job);
            }
            Err(mpsc::TryRecvError::Disconnected) => return None,
            Err(mpsc::TryRecvError::Empty) if start.elapsed() < spin.duration() => {
                std::hint::spin_loop();
            }
            Err(mpsc::TryRecvError::Empty) => break,
        }
    }
    let job = incoming.recv().ok();
    spin.slept(start.elapsed(), job.is_some());
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a job that waits until the sender of `until` is dropped. Returns whether it was
    /// accepted.
    fn block(mirrors: &Mirrors, thread: u32, until: &Arc<Mutex<mpsc::Receiver<()>>>) -> bool {
        let until = until.clone();
        let wait = move || until.lock().unwrap().recv().unwrap_or_default();
        mirrors.run(thread, wait).is_ok()
    }

    #[test]
    fn the_workers_own_jobs_run_while_the_guest_keeps_all_threads_busy() {
        let (go, until) = mpsc::channel();
        let until = Arc::new(Mutex::new(until));
        let mirrors = Mirrors::default();
        assert!((0..MAX_MIRRORS as u32).all(|thread| block(&mirrors, thread, &until)));
        assert!(!block(&mirrors, u32::MAX, &until));
        let (done, ended) = mpsc::channel();
        let freed = done.clone();
        mirrors.run_freeing(move || freed.send(()).unwrap());
        ended.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
        for thread in [None, Some(u32::MAX)] {
            let done = done.clone();
            mirrors.run_always(thread, move || done.send(()).unwrap());
            ended.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
        }
        drop(go);
    }

    #[test]
    fn the_mirror_of_a_thread_that_has_exited_ends_unless_it_has_jobs() {
        let (go, until) = mpsc::channel();
        let until = Arc::new(Mutex::new(until));
        let mirrors = Mirrors::default();
        assert!(block(&mirrors, 5, &until));
        mirrors.end(5);
        mirrors.end(6);
        assert_eq!(mirrors.lock().len(), 1);
        drop(go);
        while mirrors.lock().values().any(|mirror| mirror.waiting() > 0) {
            std::thread::yield_now();
        }
        mirrors.end(5);
        assert!(mirrors.lock().is_empty());
    }

    #[test]
    fn posted_blocking_calls_are_limited() {
        let (go, until) = mpsc::channel();
        let until = Arc::new(Mutex::new(until));
        let mirrors = Mirrors::default();
        assert!((0..MAX_JOBS).all(|_| block(&mirrors, 5, &until)));
        assert!(!block(&mirrors, 5, &until) && !block(&mirrors, 6, &until));
        drop(go);
    }
}
