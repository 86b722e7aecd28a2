//! How device memory is charged to the VM.

use std::collections::HashMap;
use std::sync::Mutex;

use host_ipc::messages::{Charge, ShareId, Token};

use crate::calls::lock;
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
    /// To this session alone, although its program doesn't use the memory.
    Kept,
    Shared(SharedMemory),
    /// The session is exporting the memory, and the broker may be turning the charge into a share.
    Unknown,
}

/// For memory that was freed, or could be freed, during its export: how it's charged, by its driver
/// handle. Locked while memory is being exported.
#[derive(Default)]
pub(in crate::calls) struct Exporting(HashMap<u64, Charged>);

impl Exporting {
    /// Returns how memory with this recorded charge is really charged.
    pub(super) fn known(&mut self, charged: Charged, handle: u64) -> Charged {
        match charged {
            Charged::Unknown => self.0.remove(&handle).expect("its export has ended"),
            known => known,
        }
    }

    /// Records the charge of memory that may have been freed during its export.
    pub(super) fn record(&mut self, handle: u64, charged: Charged) {
        self.0.insert(handle, charged);
    }
}

impl Charged {
    /// Returns the charge of memory that is being freed. If the memory is being exported, waits for
    /// the end of the export, so the ring reader must not call this.
    pub(super) fn known(self, exporting: &Mutex<Exporting>, handle: u64) -> Self {
        match self {
            Self::Unknown => lock(exporting).known(self, handle),
            known => known,
        }
    }

    /// Returns the same charge, for memory that isn't exported.
    pub(super) fn without_name(self) -> Self {
        match self {
            Self::Shared(shared) => Self::Shared(SharedMemory { token: None, ..shared }),
            other => other,
        }
    }

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
            Self::Kept => session.ledger.release_kept(device, len),
            Self::Shared(SharedMemory { share, .. }) => session.ledger.leave(device, share),
            // The charge stays.
            Self::Unknown => {}
        }
    }

    /// Records that the driver has failed to free the memory, so that it stays charged.
    pub(super) fn stay(self, session: &Session, device: i32, len: u64) {
        if self == Self::Kept {
            session.ledger.use_kept(device, len);
        }
    }
}
