//! Threads for calls that block: one for each guest thread that makes such calls.
//!
//! Calls of one guest thread run on the same thread here, in order, so that what CUDA keeps for
//! each thread (its capture mode, say) is kept for each guest thread too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// Threads that one session may have for blocking calls.
pub const MAX_MIRRORS: usize = 128;

type Job = Box<dyn FnOnce() + Send>;

/// The session's mirror threads.
#[derive(Clone, Default)]
pub struct Mirrors {
    threads: Arc<Mutex<HashMap<u32, Mirror>>>,
}

struct Mirror {
    jobs: mpsc::Sender<Job>,
    /// Jobs that were sent and have not ended.
    pending: Arc<AtomicUsize>,
}

/// Every mirror thread is busy, and there may be no more of them.
#[derive(Debug, thiserror::Error)]
#[error("{MAX_MIRRORS} threads of the session are in blocking calls already")]
pub struct MirrorsFull;

impl Mirrors {
    /// Runs `job` on the mirror of a guest thread, after the jobs that it has already. When the
    /// session has too many threads the job is dropped, and with it the `ReplyTo` inside.
    pub fn run(&self, thread: u32, job: impl FnOnce() + Send + 'static) -> Result<(), MirrorsFull> {
        let mut threads = self.threads.lock().unwrap_or_else(|error| error.into_inner());
        if !threads.contains_key(&thread) {
            if threads.len() >= MAX_MIRRORS {
                let idle = threads.iter().find(|(_, m)| m.pending.load(Ordering::Acquire) == 0);
                let idle = *idle.ok_or(MirrorsFull)?.0;
                threads.remove(&idle);
            }
            threads.insert(thread, Mirror::start(thread).map_err(|_| MirrorsFull)?);
        }
        let mirror = &threads[&thread];
        mirror.pending.fetch_add(1, Ordering::AcqRel);
        // The receiver lives as long as the sender: a mirror's thread ends only with it.
        mirror.jobs.send(Box::new(job)).map_err(|_| MirrorsFull)
    }

    /// Whether jobs of a guest thread have not ended yet: what the thread sent later must not
    /// overtake them.
    pub fn is_busy(&self, thread: u32) -> bool {
        let threads = self.threads.lock().unwrap_or_else(|error| error.into_inner());
        threads.get(&thread).is_some_and(|mirror| mirror.pending.load(Ordering::Acquire) != 0)
    }
}

impl Mirror {
    fn start(thread: u32) -> std::io::Result<Self> {
        let (jobs, incoming) = mpsc::channel::<Job>();
        let pending = Arc::new(AtomicUsize::new(0));
        let done = pending.clone();
        std::thread::Builder::new().name(format!("mirror-{thread}")).spawn(move || {
            for job in incoming {
                job();
                done.fetch_sub(1, Ordering::AcqRel);
            }
        })?;
        Ok(Self { jobs, pending })
    }
}
