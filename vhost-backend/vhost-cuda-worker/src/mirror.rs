//! Threads for calls that block: one for each guest thread that makes such calls.
//!
//! Calls of one guest thread run on the same thread here, in order, so that what CUDA keeps for
//! each thread (its capture mode, say) is kept for each guest thread too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

/// Threads that one session may have for blocking calls.
pub const MAX_MIRRORS: usize = 128;

/// Jobs of guests' calls that may wait at once. Whoever waits for an answer has one of them; only
/// a guest that does not wait can have so many, and each may hold a whole command.
pub const MAX_JOBS: usize = 512;

/// Mirrors of no guest thread: for what the worker itself has to do, and for what guests' threads
/// have no room for. The first may wait for the second, and not the other way round.
const OWN: u64 = 1 << 32;
const SPILLED: u64 = OWN + 1;

type Job = Box<dyn FnOnce() + Send>;

/// The session's mirror threads.
#[derive(Clone, Default)]
pub struct Mirrors {
    threads: Arc<Mutex<HashMap<u64, Mirror>>>,
}

struct Mirror {
    jobs: mpsc::Sender<Job>,
    /// Jobs that were sent and have not ended.
    pending: Arc<AtomicUsize>,
}

/// Every mirror thread is busy, and there may be no more of them.
#[derive(Debug, thiserror::Error)]
#[error("{MAX_MIRRORS} threads or {MAX_JOBS} calls of the session are in blocking calls already")]
pub struct MirrorsFull;

impl Mirrors {
    /// Runs `job` on the mirror of a guest thread, after the jobs that it has already. When the
    /// session has too many threads or jobs the job is dropped, and with it the `ReplyTo` inside.
    pub fn run(&self, thread: u32, job: impl FnOnce() + Send + 'static) -> Result<(), MirrorsFull> {
        let mut threads = self.lock();
        let waiting: usize = threads.values().map(Mirror::waiting).sum();
        if waiting >= MAX_JOBS {
            return Err(MirrorsFull);
        }
        send(&mut threads, thread.into(), Box::new(job)).map_err(|_| MirrorsFull)
    }

    /// As [`Mirrors::run`], for what must not be left undone, however busy a guest keeps its
    /// threads: then it runs on a thread that no guest can keep busy.
    pub fn run_always(&self, thread: Option<u32>, job: impl FnOnce() + Send + 'static) {
        let mut threads = self.lock();
        let job: Job = Box::new(job);
        let sent = match thread {
            None => send(&mut threads, OWN, job),
            Some(thread) => send(&mut threads, thread.into(), job)
                .or_else(|refused| send(&mut threads, SPILLED, refused)),
        };
        if sent.is_err() {
            super::end::end("there is no thread for what has to be done");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Mirror>> {
        self.threads.lock().unwrap_or_else(|error| error.into_inner())
    }
}

/// Hands a job to a mirror, which is started if need be; gives it back if there can be none.
fn send(threads: &mut HashMap<u64, Mirror>, key: u64, job: Job) -> Result<(), Job> {
    if !threads.contains_key(&key) {
        let of_guest = threads.keys().filter(|key| **key < OWN).count();
        if key < OWN && of_guest >= MAX_MIRRORS {
            let idle = threads.iter().find(|(key, m)| **key < OWN && m.waiting() == 0);
            let Some((&idle, _)) = idle else { return Err(job) };
            threads.remove(&idle);
        }
        let Ok(mirror) = Mirror::start(key) else { return Err(job) };
        threads.insert(key, mirror);
    }
    let mirror = &threads[&key];
    mirror.pending.fetch_add(1, Ordering::AcqRel);
    // The receiver lives as long as the sender: a mirror's thread ends only with it.
    mirror.jobs.send(job).map_err(|refused| refused.0)
}

impl Mirror {
    fn waiting(&self) -> usize {
        self.pending.load(Ordering::Acquire)
    }

    fn start(key: u64) -> std::io::Result<Self> {
        let (jobs, incoming) = mpsc::channel::<Job>();
        let pending = Arc::new(AtomicUsize::new(0));
        let done = pending.clone();
        std::thread::Builder::new().name(format!("mirror-{key}")).spawn(move || {
            for job in incoming {
                job();
                done.fetch_sub(1, Ordering::AcqRel);
            }
        })?;
        Ok(Self { jobs, pending })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs that wait until the sender is dropped.
    fn block(mirrors: &Mirrors, thread: u32, until: &Arc<Mutex<mpsc::Receiver<()>>>) -> bool {
        let until = until.clone();
        let wait = move || until.lock().unwrap().recv().unwrap_or_default();
        mirrors.run(thread, wait).is_ok()
    }

    #[test]
    fn what_must_be_done_is_done_while_the_guest_keeps_every_thread_busy() {
        let (go, until) = mpsc::channel();
        let until = Arc::new(Mutex::new(until));
        let mirrors = Mirrors::default();
        assert!((0..MAX_MIRRORS as u32).all(|thread| block(&mirrors, thread, &until)));
        assert!(!block(&mirrors, u32::MAX, &until));
        let (done, ended) = mpsc::channel();
        for thread in [None, Some(u32::MAX)] {
            let done = done.clone();
            mirrors.run_always(thread, move || done.send(()).unwrap());
            ended.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
        }
        drop(go);
    }

    #[test]
    fn calls_that_nobody_waits_for_do_not_pile_up() {
        let (go, until) = mpsc::channel();
        let until = Arc::new(Mutex::new(until));
        let mirrors = Mirrors::default();
        assert!((0..MAX_JOBS).all(|_| block(&mirrors, 5, &until)));
        assert!(!block(&mirrors, 5, &until) && !block(&mirrors, 6, &until));
        drop(go);
    }
}
