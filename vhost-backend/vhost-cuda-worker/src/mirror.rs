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
/// that waits for its replies has one job at a time, so a guest reaches the limit only if its
/// threads don't wait. The limit matters because each job may hold a command of maximum size.
pub const MAX_JOBS: usize = 512;

/// The keys of three mirrors that belong to no guest thread. `OWN` runs the worker's own tasks.
/// `SPILLED` runs jobs of guest threads for which no mirror is available. Jobs on `OWN` may wait
/// for jobs on `SPILLED`, but not the reverse. `FREEING` runs jobs that free memory, which don't
/// wait for other jobs.
const OWN: u64 = 1 << 32;
const SPILLED: u64 = OWN + 1;
const FREEING: u64 = OWN + 2;

type Job = Box<dyn FnOnce() + Send>;
type Threads<'a> = MutexGuard<'a, HashMap<u64, Mirror>>;
type Refused<'a> = (NoMirror, Threads<'a>);

/// The mirror threads of a session.
#[derive(Clone, Default)]
pub struct Mirrors {
    /// The time for which a mirror polls for its next job. Polling makes a guest thread faster that
    /// makes one call after another, because it needn't wake its mirror for each call.
    spin: Spin,
    threads: Arc<Mutex<HashMap<u64, Mirror>>>,
}

struct Mirror {
    jobs: mpsc::Sender<Job>,
    /// The number of jobs that were sent to the mirror and haven't finished.
    pending: Arc<AtomicUsize>,
}

/// The reason why a guest thread can't get a mirror.
#[derive(Debug, thiserror::Error)]
pub enum NoMirror {
    /// The session has too many mirrors or jobs.
    #[error("the session already has {MAX_MIRRORS} threads or {MAX_JOBS} calls in blocking calls")]
    Full,
    /// The mirror's thread can't be started.
    #[error(
        "the worker can't start a thread ({0}), probably because the VM's processes have reached pids.max \
         or memory.host_max; to raise one, remove the VM and add it with vcudactl vm add --pids-max N or \
         --host-memory-max SIZE"
    )]
    Thread(std::io::Error),
}

/// A place for one job on a mirror.
pub struct Seat<'a> {
    threads: Threads<'a>,
    key: u64,
}

impl Seat<'_> {
    /// Runs the job on the mirror, after the mirror's earlier jobs.
    pub fn run(self, job: impl FnOnce() + Send + 'static) {
        let mirror = &self.threads[&self.key];
        mirror.pending.fetch_add(1, Ordering::AcqRel);
        // Sending can't fail, because the mirror's thread keeps the receiver until the sender is
        // dropped.
        let _ = mirror.jobs.send(Box::new(job));
    }
}

impl Mirrors {
    pub(super) fn new(spin: Spin) -> Self {
        Self { spin, threads: Arc::default() }
    }

    /// Returns a place on the mirror of a guest thread. Fails if the session has too many mirrors
    /// or jobs, or if the mirror's thread can't be started.
    pub fn seat(&self, thread: u32) -> Result<Seat<'_>, NoMirror> {
        let threads = self.lock();
        let waiting: usize = threads.values().map(Mirror::waiting).sum();
        if waiting >= MAX_JOBS {
            return Err(NoMirror::Full);
        }
        self.seat_in(threads, thread.into()).map_err(|(why, _)| why)
    }

    /// Runs a job on the mirror of a guest thread. The job is never dropped: if the guest thread
    /// can't get a mirror, or if `thread` is `None`, it runs on a thread that is reserved for the
    /// worker.
    pub fn run_always(&self, thread: Option<u32>, job: impl FnOnce() + Send + 'static) {
        let threads = self.lock();
        accepted(match thread {
            None => self.seat_in(threads, OWN),
            Some(thread) => self
                .seat_in(threads, thread.into())
                .or_else(|(_, threads)| self.seat_in(threads, SPILLED)),
        })
        .run(job);
    }

    /// Runs a job that frees memory and doesn't wait for other jobs, on a thread that has only such
    /// jobs. The job is never dropped.
    pub fn run_freeing(&self, job: impl FnOnce() + Send + 'static) {
        accepted(self.seat_in(self.lock(), FREEING)).run(job);
    }

    /// Ends the mirror of a guest thread that has exited. If the mirror still has jobs, it stays,
    /// and ends later when another guest thread needs a mirror.
    pub fn end(&self, thread: u32) {
        let mut threads = self.lock();
        if threads.get(&thread.into()).is_some_and(|mirror| mirror.waiting() == 0) {
            threads.remove(&thread.into());
        }
    }

    /// Returns the number of mirrors that have unfinished jobs.
    pub fn busy(&self) -> usize {
        self.lock().values().filter(|mirror| mirror.waiting() > 0).count()
    }

    /// Returns a place on the mirror with this key, after starting the mirror if necessary.
    fn seat_in<'a>(&self, mut threads: Threads<'a>, key: u64) -> Result<Seat<'a>, Refused<'a>> {
        if !threads.contains_key(&key) {
            let of_guest = threads.keys().filter(|key| **key < OWN).count();
            if key < OWN && of_guest >= MAX_MIRRORS {
                let idle = threads.iter().find(|(key, m)| **key < OWN && m.waiting() == 0);
                let Some((&idle, _)) = idle else { return Err((NoMirror::Full, threads)) };
                threads.remove(&idle);
            }
            match Mirror::start(key, self.spin) {
                Ok(mirror) => drop(threads.insert(key, mirror)),
                Err(error) => return Err((NoMirror::Thread(error), threads)),
            }
        }
        Ok(Seat { threads, key })
    }

    fn lock(&self) -> Threads<'_> {
        self.threads.lock().unwrap_or_else(|error| error.into_inner())
    }
}

/// Returns the place, or ends the worker if there is none, because the job for it must not be
/// dropped.
fn accepted<'a>(seat: Result<Seat<'a>, Refused<'a>>) -> Seat<'a> {
    seat.unwrap_or_else(|(why, _)| {
        super::end::end(&format!("no thread for the worker's own tasks: {why}"))
    })
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

/// Waits for the next job. Returns `None` if the mirror has ended and no jobs are left.
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

    /// Adds a job that waits until the sender of `until` is dropped. Returns whether the mirrors
    /// have accepted the job.
    fn block(mirrors: &Mirrors, thread: u32, until: &Arc<Mutex<mpsc::Receiver<()>>>) -> bool {
        let until = until.clone();
        let wait = move || until.lock().unwrap().recv().unwrap_or_default();
        mirrors.seat(thread).map(|seat| seat.run(wait)).is_ok()
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
