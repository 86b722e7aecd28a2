//! The worker's access to the gate page, which it shares with the scheduler.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use host_ipc::gate::GateMap;

/// A worker's access to the gate page, which it shares with the scheduler.
#[derive(Clone)]
pub struct GateEnd {
    /// The mapped gate page.
    pub page: Arc<GateMap>,
    /// The eventfd that wakes the scheduler. `None` if there is no scheduler.
    pub bell: Option<Arc<OwnedFd>>,
}

impl GateEnd {
    /// Maps the gate page that the broker sent with the session's assignment.
    pub fn new(page: &OwnedFd, bell: OwnedFd) -> std::io::Result<Self> {
        Ok(Self { page: Arc::new(GateMap::map(page)?), bell: Some(Arc::new(bell)) })
    }

    /// Creates a gate page without a scheduler. Its gates are always open.
    pub fn private() -> std::io::Result<Self> {
        Ok(Self { page: Arc::new(GateMap::private()?), bell: None })
    }
}
