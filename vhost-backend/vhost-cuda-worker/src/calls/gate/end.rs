//! The worker's access to the gate page.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use host_ipc::gate::GateMap;

/// A worker's access to the gate page.
#[derive(Clone)]
pub struct GateEnd {
    /// The page.
    pub page: Arc<GateMap>,
    /// Wakes the scheduler, if there is one.
    pub bell: Option<Arc<OwnedFd>>,
}

impl GateEnd {
    /// Maps the page that came with the assignment.
    pub fn new(page: &OwnedFd, bell: OwnedFd) -> std::io::Result<Self> {
        Ok(Self { page: Arc::new(GateMap::map(page)?), bell: Some(Arc::new(bell)) })
    }

    /// Creates a page without a scheduler. Its gates are open.
    pub fn private() -> std::io::Result<Self> {
        Ok(Self { page: Arc::new(GateMap::private()?), bell: None })
    }
}
