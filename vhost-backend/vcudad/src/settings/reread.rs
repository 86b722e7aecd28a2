//! The thread that reads configuration files again, to apply or to check them. A file can take long
//! to read, and the event loop can't wait for it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::config::{Config, ConfigError};
use control_api::ApiError;
use control_server::handle::Answer;
use host_ipc::eventfd::{drain, eventfd, notify};

/// Reads the configuration file, or parses the given text instead, and applies the command-line
/// arguments.
pub type Reader = Arc<dyn Fn(Option<&str>) -> Result<Config, ConfigError> + Send + Sync>;

/// The result of reading a file.
pub(crate) struct Reread {
    pub(crate) config: Result<Config, ConfigError>,
    /// The request that asks whether the file could be applied. `None` if the file must be applied.
    pub(crate) checks: Option<Answer>,
}

/// The handle to the thread. The thread ends some time after this is dropped.
pub(crate) struct Rereader {
    requests: Sender<Option<(String, Answer)>>,
    results: Receiver<Reread>,
    bell: Arc<OwnedFd>,
    /// Number of texts that are being checked.
    checking: usize,
}

/// Maximum number of texts that are checked at once, not counting the file. Each may have a
/// megabyte.
const MAX_CHECKING: usize = 8;

impl Rereader {
    /// Starts the thread.
    pub(crate) fn start(read: Reader) -> io::Result<Self> {
        let (requests, to_do) = channel::<Option<(String, Answer)>>();
        let (sender, results) = channel();
        let bell = Arc::new(eventfd()?);
        let rings = bell.clone();
        std::thread::Builder::new().name("reread".into()).spawn(move || {
            for check in to_do {
                let config = read(check.as_ref().map(|(text, _)| text.as_str()));
                let checks = check.map(|(_, answer)| answer);
                if sender.send(Reread { config, checks }).is_err() {
                    return;
                }
                notify(&*rings);
            }
        })?;
        Ok(Self { requests, results, bell, checking: 0 })
    }

    /// Starts to read the file. [`Self::take`] returns the result.
    pub(crate) fn request(&self) {
        // Sending can't fail: the thread ends only after this sender has been dropped.
        let _ = self.requests.send(None);
    }

    /// Starts to read this text instead of the file, only to check it.
    pub(crate) fn check(&mut self, text: String, answer: Answer) {
        if self.checking == MAX_CHECKING {
            return answer.give(Err(ApiError::too_many_requests()));
        }
        self.checking += 1;
        let _ = self.requests.send(Some((text, answer)));
    }

    /// Takes the results. If the file was read several times to apply it, returns only the latest
    /// result.
    pub(crate) fn take(&mut self) -> Vec<Reread> {
        drain(&*self.bell);
        let (mut all, mut latest) = (Vec::new(), None);
        for reread in self.results.try_iter() {
            match &reread.checks {
                Some(_) => all.push(reread),
                None => latest = Some(reread),
            }
        }
        self.checking -= all.len();
        all.extend(latest);
        all
    }

    /// Returns an eventfd that is readable while there is a result.
    pub(crate) fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}
