//! The thread that saves the state and the VMs' usage. Syncing a file can take many seconds on a
//! busy disk, and the event loop can't wait that long.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::settings::state::{SavedState, StateDir, StateError};
use crate::usage::file;
use crate::usage::record::Record;
use host_ipc::eventfd::{drain, eventfd, notify};

/// The state that was saved, or the reason why it wasn't saved.
pub(crate) type Saved = Result<SavedState, StateError>;

/// A file for the thread to write.
enum Job {
    State(SavedState),
    Usage(Record),
}

/// The handle to the thread, which owns the state directory. Dropping the handle waits until the
/// thread has finished its write, and then unlocks the directory.
pub(crate) struct Saver {
    /// `None` once the thread must end.
    jobs: Option<Sender<Job>>,
    results: Receiver<Saved>,
    usage_results: Receiver<Result<(), StateError>>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts the thread.
    pub(crate) fn start(dir: StateDir) -> io::Result<Self> {
        let (jobs, to_save) = channel();
        let (sender, results) = channel();
        let (usage_sender, usage_results) = channel();
        let bell = Arc::new(eventfd()?);
        let rings = bell.clone();
        let thread = std::thread::Builder::new().name("saver".into()).spawn(move || {
            for job in to_save {
                // Sending a result can't fail, because the receivers live until this thread has
                // ended.
                match job {
                    Job::State(state) => {
                        drop(sender.send(dir.write(&state).map(|()| state)));
                    }
                    Job::Usage(record) => drop(usage_sender.send(file::save(&dir, &record))),
                }
                notify(&*rings);
            }
        })?;
        Ok(Self { jobs: Some(jobs), results, usage_results, bell, thread: Some(thread) })
    }

    /// Starts to save a state. [`Self::take`] returns the result.
    pub(crate) fn save(&self, state: SavedState) {
        self.send(Job::State(state));
    }

    /// Starts to save the usage. [`Self::take_usage`] returns the result.
    pub(crate) fn save_usage(&self, record: Record) {
        self.send(Job::Usage(record));
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Sending can't fail: the thread ends only after this sender has been dropped.
            let _ = jobs.send(job);
        }
    }

    /// Takes the result of a finished save of the usage, if there is one.
    pub(crate) fn take_usage(&self) -> Option<Result<(), StateError>> {
        self.usage_results.try_recv().ok()
    }

    /// Makes the bell unreadable again. Call this before taking results, so that no later result is
    /// missed.
    pub(crate) fn acknowledge(&self) {
        drain(&*self.bell);
    }

    /// Takes the result of a finished save of the state, if there is one.
    pub(crate) fn take(&self) -> Option<Saved> {
        self.results.try_recv().ok()
    }

    /// Returns an eventfd that is readable while there is a result.
    pub(crate) fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(Err(error)) = self.take() {
            tracing::error!("cannot save the last change: {error}");
        }
        if let Some(Err(error)) = self.take_usage() {
            tracing::error!("cannot save the usage of VMs: {error}");
        }
    }
}
