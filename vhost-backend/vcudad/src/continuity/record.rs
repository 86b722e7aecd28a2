//! Changes of a broker's state, which it adds to its record.

use serde::{Deserialize, Serialize};

use crate::gpu::gpus::Gpus;
use crate::processes::process::ChildRecord;
use crate::sessions::table::SessionChange;
use crate::sessions::worker::WorkerCounts;
use crate::vm::vms::VmRecord;
use host_ipc::spawner::ProcessId;

/// A change of the state. The time to encode it depends only on the size of the change, not on how
/// many other VMs and sessions there are.
#[derive(Serialize, Deserialize)]
pub(crate) enum Change {
    /// The current record of a VM.
    Vm(Box<VmRecord>),
    Gpus(Gpus),
    Counts(Counts),
    #[serde(untagged)]
    Session(SessionChange),
}

/// The counters from which the next processes and workers get their numbers, and the supervisor.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) last_process: ProcessId,
    pub(crate) workers: WorkerCounts,
    pub(crate) supervisor: Option<ChildRecord>,
}

/// The last recorded state of everything that doesn't belong to a VM.
#[derive(Default)]
pub(crate) struct Recorded {
    counts: Counts,
    /// The GPUs in encoded form.
    gpus: Vec<u8>,
}

impl Recorded {
    /// Returns a change if these counts differ from those in the last call.
    pub(crate) fn set_counts(&mut self, counts: Counts) -> Option<Change> {
        let before = std::mem::replace(&mut self.counts, counts);
        (before != counts).then_some(Change::Counts(counts))
    }

    /// Returns a change if the GPUs aren't as they were in the last call.
    pub(crate) fn set_gpus(&mut self, gpus: &Gpus) -> Option<Change> {
        // Encoding the GPUs can't fail.
        let text = serde_json::to_vec(gpus).unwrap_or_default();
        let has_changed = text != self.gpus;
        self.gpus = text;
        has_changed.then(|| Change::Gpus(gpus.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::accounts::LedgerChange;
    use host_ipc::messages::Charge;

    /// A change of the ledger is encoded as in earlier versions, and can be read again.
    #[test]
    fn changes_of_the_ledger_are_read_again() {
        let reserve = LedgerChange::Reserve(7, 0, 4096, Charge::Memory);
        let change = Change::Session(SessionChange::Ledger(reserve.clone()));
        let text = serde_json::to_string(&change).unwrap();
        assert_eq!(text, r#"{"Ledger":{"Reserve":[7,0,4096,"Memory"]}}"#);
        match serde_json::from_str(&text).unwrap() {
            Change::Session(SessionChange::Ledger(change)) => assert_eq!(change, reserve),
            _ => panic!("{text}"),
        }
    }

    #[test]
    fn counts_are_recorded_when_they_have_changed() {
        let mut recorded = Recorded::default();
        let counts = Counts { last_process: 7, ..Counts::default() };
        assert!(recorded.set_counts(counts).is_some());
        assert!(recorded.set_counts(counts).is_none());
        assert!(recorded.set_counts(Counts::default()).is_some());
    }
}
