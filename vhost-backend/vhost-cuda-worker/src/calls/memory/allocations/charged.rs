//! How device memory is charged to the VM.

use std::collections::HashMap;
use std::sync::Mutex;

use host_ipc::messages::{Charge, ShareId, Token};

use crate::calls::lock;
use crate::executor::Session;

/// Memory that the session shares with other sessions of the VM. It stays charged until the last of
/// these sessions has freed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedMemory {
    pub share: ShareId,
    /// The name under which this session exports the memory, if it exports the memory.
    pub token: Option<Token>,
}

/// How device memory is charged to the VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charged {
    /// The memory is charged to this session alone.
    Alone,
    /// The memory is charged to this session alone, which keeps it although its program has freed
    /// it.
    Kept,
    Shared(SharedMemory),
    /// The session is exporting the memory, and the broker may be turning the charge into a share.
    Unknown,
}

/// The charges of memory that was freed, or may have been freed, during its export, by the memory's
/// driver handle. The mutex around this value is locked while memory is being exported.
#[derive(Default)]
pub(in crate::calls) struct Exporting(HashMap<u64, Charged>);

impl Exporting {
    /// Returns how memory is charged whose recorded charge is `charged`. If that is
    /// [`Charged::Unknown`], the export has ended and has recorded the real charge.
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

    /// Returns the same charge without the name of an export.
    pub(super) fn without_name(self) -> Self {
        match self {
            Self::Shared(shared) => Self::Shared(SharedMemory { token: None, ..shared }),
            other => other,
        }
    }

    /// Ends the export of memory that is about to be freed, if the memory is exported. This closes
    /// the worker's descriptor of the memory.
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
            // The broker may have turned the charge into a share, so the memory stays charged.
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
