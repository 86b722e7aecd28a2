//! The thread that reads the configuration file again. A file can take long to read, and the event
//! loop can't wait for it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::config::{Config, ConfigError};
use host_ipc::eventfd::{drain, eventfd, notify};

/// Reads the configuration file, and applies the command-line arguments.
pub type Reread = Box<dyn Fn() -> Result<Config, ConfigError> + Send>;

/// The thread. It ends some time after this is dropped.
pub(crate) struct Rereader {
    requests: Sender<()>,
    results: Receiver<Result<Config, ConfigError>>,
    bell: Arc<OwnedFd>,
}

impl Rereader {
    /// Starts the thread.
    pub(crate) fn start(reread: Reread) -> io::Result<Self> {
        let (requests, to_do) = channel();
        let (sender, results) = channel();
        let bell = Arc::new(eventfd()?);
        let rings = bell.clone();
        std::thread::Builder::new().name("reread".into()).spawn(move || {
            for () in to_do {
                if sender.send(reread()).is_err() {
                    return;
                }
                notify(&*rings);
            }
        })?;
        Ok(Self { requests, results, bell })
    }

    /// Starts to read the file. [`Self::take`] returns the result.
    pub(crate) fn request(&self) {
        // The thread ends only after the sender.
        let _ = self.requests.send(());
    }

    /// Takes the latest result, if any.
    pub(crate) fn take(&self) -> Option<Result<Config, ConfigError>> {
        drain(&*self.bell);
        self.results.try_iter().last()
    }

    /// Returns an eventfd that is readable while there is a result.
    pub(crate) fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}
