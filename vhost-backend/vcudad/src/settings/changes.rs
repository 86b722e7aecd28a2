//! Changes that were requested through the control API. They are made one at a time, in the order
//! of the requests: the next one is checked only after the previous one has been saved and applied,
//! or refused.

use std::collections::VecDeque;

use control_api::{ApiError, ErrorCode, VmPatch, VmSpec};

use crate::config::{Config, Vm};
use crate::settings::reload::Plan;
use crate::vm::vms::VmState;
use control_server::handle::Answer;
use memory_ledger::VmId;

/// Maximum number of changes that wait while another one is being saved.
const MAX_WAITING: usize = 64;

/// A request to change the VMs, which hasn't been checked.
pub(crate) enum ChangeRequest {
    Add(Box<VmSpec>),
    Set(String, VmPatch),
    /// Return to the settings in the configuration file.
    Reset(String),
    SetPaused(String, bool),
    Remove(String),
    /// Add a VM again that was removed.
    Restore(String),
}

/// A change that has been checked. It's applied once it has been saved.
pub(crate) enum Change {
    /// Adds a VM. Dropping the VM removes its socket and its cgroup.
    Add(Box<VmState>),
    /// Adds a VM again that was removed. Dropping the VM removes its socket and its cgroup.
    Restore(Box<VmState>),
    /// `after` contains the VM's settings with `patch` applied.
    Set {
        vm: VmId,
        patch: VmPatch,
        after: Box<Vm>,
    },
    SetPaused(VmId, bool),
    Remove(VmId),
    /// The changes that the configuration file makes.
    Reload(Box<Plan>),
}

/// The change that is being saved, and the changes and requests that wait until it has been saved.
#[derive(Default)]
pub(crate) struct Changes {
    saving: Option<(Change, Answer)>,
    waiting: VecDeque<(ChangeRequest, Answer)>,
    /// The latest configuration that was read again. It's applied before other changes.
    reload: Option<Box<Config>>,
}

impl Changes {
    pub(crate) fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    pub(crate) fn set_saving(&mut self, change: Change, answer: Answer) {
        self.saving = Some((change, answer));
    }

    pub(crate) fn take_saving(&mut self) -> Option<(Change, Answer)> {
        self.saving.take()
    }

    /// Stores a configuration that must be applied after the change that is being saved.
    pub(crate) fn set_reload(&mut self, config: Box<Config>) {
        self.reload = Some(config);
    }

    /// Takes the configuration that waits to be applied.
    pub(crate) fn take_reload(&mut self) -> Option<Box<Config>> {
        self.reload.take()
    }

    /// Adds a request to the queue. If the queue is full, refuses the request. Drops requests that
    /// nobody waits for any longer, because their clients got an error that vcudad didn't respond,
    /// and may have tried something else since.
    pub(crate) fn wait(&mut self, request: ChangeRequest, answer: Answer) {
        self.waiting.retain(|(_, answer)| !answer.is_abandoned());
        if self.waiting.len() >= MAX_WAITING {
            return answer.give(Err(ApiError::too_many_requests()));
        }
        self.waiting.push_back((request, answer));
    }

    /// Takes the next request from the queue that somebody still waits for.
    pub(crate) fn next_waiting(&mut self) -> Option<(ChangeRequest, Answer)> {
        std::iter::from_fn(|| self.waiting.pop_front()).find(|(_, answer)| !answer.is_abandoned())
    }

    /// Answers all requests when the broker ends. The change that is being saved may still take
    /// effect when the next broker reads the saved state.
    pub(crate) fn shut_down(&mut self) {
        if let Some((_, answer)) = self.saving.take() {
            let message = "vcudad is shutting down; the change may still be saved: check with GET \
                           once vcudad is running again";
            answer.give(Err(ApiError::new(ErrorCode::Unavailable, message)));
        }
        for (_, answer) in self.waiting.drain(..) {
            answer.give(Err(ApiError::shutting_down()));
        }
    }
}
