//! How device memory is charged to the VM.

use host_ipc::messages::{Charge, ShareId, Token};

use crate::executor::Session;

/// Memory that the session shares with other sessions of the VM. It is charged until the last of
/// them has freed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedMemory {
    pub share: ShareId,
    /// The name under which this session exports the memory, if it does.
    pub token: Option<Token>,
}

/// How device memory is charged to the VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charged {
    /// To this session alone.
    Alone,
    Shared(SharedMemory),
}

impl Charged {
    /// Ends the export of memory that is about to be freed. Afterwards, the worker has no
    /// descriptor of the memory any more.
    pub(super) fn withdraw(self, session: &Session) {
        if let Self::Shared(SharedMemory { token: Some(token), .. }) = self {
            session.exchange.withdraw(token);
        }
    }

    /// Releases the charge for memory that the driver has freed.
    pub(super) fn release(self, session: &Session, device: i32, len: u64) {
        match self {
            Self::Alone => session.ledger.release(device, len, Charge::Memory),
            Self::Shared(SharedMemory { share, .. }) => session.ledger.leave(device, share),
        }
    }
}
