//! Events for operators, which refer to VMs and GPUs by the broker's internal IDs.

use control_api::{EndReason, EventKind};

use memory_ledger::{GpuId, VmId};

/// An event for operators. It names the VM, session, and GPU that it concerns, and the user who
/// caused it, if there are any.
pub(crate) struct BrokerEvent {
    pub(crate) kind: EventKind,
    pub(crate) vm: Option<VmId>,
    pub(crate) session: Option<u32>,
    pub(crate) gpu: Option<GpuId>,
    /// The user who caused the event with a request through the control API, if a user did.
    pub(crate) uid: Option<u32>,
    /// Why the session ended, if the event is the end of a session.
    pub(crate) reason: Option<EndReason>,
    pub(crate) message: String,
}

impl BrokerEvent {
    /// Creates an event that concerns the whole host.
    pub(crate) fn new(kind: EventKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, vm: None, session: None, gpu: None, uid: None, reason: None, message }
    }

    /// Creates an event that concerns a VM.
    pub(crate) fn of_vm(kind: EventKind, vm: VmId, message: impl Into<String>) -> Self {
        Self { vm: Some(vm), ..Self::new(kind, message) }
    }

    /// Returns the event with the user who requested the change.
    pub(crate) fn by(self, uid: Option<u32>) -> Self {
        Self { uid, ..self }
    }

    /// Creates an event that concerns a session, given its number.
    pub(crate) fn of_session(
        kind: EventKind,
        vm: VmId,
        session: u32,
        message: impl Into<String>,
    ) -> Self {
        Self { session: Some(session), ..Self::of_vm(kind, vm, message) }
    }

    /// Creates an event that concerns a GPU.
    pub(crate) fn of_gpu(kind: EventKind, gpu: GpuId, message: impl Into<String>) -> Self {
        Self { gpu: Some(gpu), ..Self::new(kind, message) }
    }
}
