//! The thread that saves the state. Syncing a file can take many seconds on a busy disk, and the
//! event loop can't wait that long.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::settings::state::{SavedState, StateDir, StateError};
use host_ipc::eventfd::{drain, eventfd, notify};

/// The state that was saved, or the reason why it wasn't.
pub(crate) type Saved = Result<SavedState, StateError>;

/// The thread, which owns the state directory. Dropping this waits until the thread has finished
/// its write, and then unlocks the directory.
pub(crate) struct Saver {
    /// `None` once the thread must end.
    states: Option<Sender<SavedState>>,
    results: Receiver<Saved>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts the thread.
    pub(crate) fn start(dir: StateDir) -> io::Result<Self> {
        let (states, to_save) = channel::<SavedState>();
        let (sender, results) = channel();
        let bell = Arc::new(eventfd()?);
        let rings = bell.clone();
        let thread = std::thread::Builder::new().name("saver".into()).spawn(move || {
            for state in to_save {
                // The receiver lives until this thread has ended.
                let _ = sender.send(dir.write(&state).map(|()| state));
                notify(&*rings);
            }
        })?;
        Ok(Self { states: Some(states), results, bell, thread: Some(thread) })
    }

    /// Starts to save a state. [`Self::take`] returns the result.
    pub(crate) fn save(&self, state: SavedState) {
        if let Some(states) = &self.states {
            // The thread ends only after the sender.
            let _ = states.send(state);
        }
    }

    /// Takes the result of a save that has ended, if any.
    pub(crate) fn take(&self) -> Option<Saved> {
        drain(&*self.bell);
        self.results.try_recv().ok()
    }

    /// Returns an eventfd that is readable while there is a result.
    pub(crate) fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        drop(self.states.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(Err(error)) = self.take() {
            tracing::error!("cannot save the last change: {error}");
        }
    }
}
