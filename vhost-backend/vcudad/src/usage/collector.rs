//! Adds what the scheduler and the ledger have counted to the record. No I/O.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use control_api::{UsageReport, UsageSaving};

use super::counters::Counters;
use super::file::Loaded;
use super::record::Record;
use memory_ledger::{GpuId, VmId};

/// Time between two samples. If the scheduler loses its statistics, what it has counted since the last
/// sample is lost.
const SAMPLE: Duration = Duration::from_secs(1);
/// Samples that are closer are of no use, because the scheduler's statistics aren't newer.
const LEAST: Duration = Duration::from_millis(20);
/// Time between two writes.
const SAVE: Duration = Duration::from_secs(10);

/// The usage of VMs.
pub(crate) struct Usage {
    record: Record,
    /// The counters in the last sample. Those of the scheduler and of the ledger begin at zero when
    /// a VM is added, or when another broker takes over.
    last: HashMap<(VmId, GpuId), Counters>,
    sampled: Option<Instant>,
    /// Whether the record has changed since it was saved.
    is_dirty: bool,
    is_saving: bool,
    /// Whether the last write has failed.
    is_failing: bool,
    next_save: Instant,
    saving: UsageSaving,
}

impl Usage {
    /// Begins with a record that was read from the state directory, or that another broker has handed
    /// over.
    pub(crate) fn new(loaded: Loaded, is_dirty: bool, now: Instant) -> Self {
        let Loaded { record, may_save } = loaded;
        let saving = UsageSaving { is_on: may_save, ..UsageSaving::default() };
        Self {
            record,
            last: HashMap::new(),
            sampled: None,
            is_dirty,
            is_saving: false,
            is_failing: false,
            next_save: now + SAVE,
            saving,
        }
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Returns true if it's time for a sample. If `is_wanted` is true, somebody is about to look at the
    /// result.
    pub(crate) fn must_sample(&mut self, is_wanted: bool, now: Instant) -> bool {
        let interval = if is_wanted { LEAST } else { SAMPLE };
        let is_due = self.sampled.is_none_or(|at| now.duration_since(at) >= interval);
        if is_due {
            self.sampled = Some(now);
        }
        is_due
    }

    /// Adds what a VM has used since the last sample. `counters` began at zero when the VM was added.
    pub(crate) fn sample(
        &mut self,
        key: (VmId, GpuId),
        (vm, gpu): (&str, &str),
        counters: Counters,
        now_ms: u64,
    ) {
        let last = self.last.insert(key, counters).unwrap_or_default();
        let more = counters.since(last);
        if more != Counters::default() {
            self.record.add(vm, gpu, more, now_ms);
            self.is_dirty = true;
        }
    }

    /// Begins with a VM whose counters don't begin at zero, because it shares them with other VMs.
    pub(crate) fn begin(&mut self, key: (VmId, GpuId), counters: Counters) {
        self.last.insert(key, counters);
    }

    /// Forgets the last sample of a VM that was removed.
    pub(crate) fn end(&mut self, vm: VmId, is_served: impl Fn(&str) -> bool) {
        self.last.retain(|(of, _), _| *of != vm);
        self.record.retain_totals(is_served);
    }

    /// Returns the record to save, if it must be saved now. If `is_wanted` is true, somebody waits for
    /// that. Then call [`Self::saved`].
    pub(crate) fn take_save(&mut self, is_wanted: bool, now: Instant) -> Option<Record> {
        let is_due = is_wanted || now >= self.next_save;
        if !self.saving.is_on || self.is_saving || !self.is_dirty || !is_due {
            return None;
        }
        (self.is_saving, self.is_dirty) = (true, false);
        Some(self.record.clone())
    }

    /// Returns true if a record is being saved.
    pub(crate) fn is_saving(&self) -> bool {
        self.is_saving
    }

    /// Returns true if there's something that must be saved before it's reported.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.saving.is_on && (self.is_dirty || self.is_saving)
    }

    /// The record was saved, or couldn't be saved. Counting continues in any case.
    pub(crate) fn saved(&mut self, result: Result<(), String>, now: Instant, now_ms: u64) {
        (self.is_saving, self.next_save) = (false, now + SAVE);
        let was_failing = std::mem::replace(&mut self.is_failing, result.is_err());
        match result {
            Ok(()) => {
                self.saving.saved_ms = Some(now_ms);
                if was_failing {
                    tracing::info!("the usage of VMs is saved again");
                }
            }
            Err(error) => {
                self.is_dirty = true;
                self.saving.failures += 1;
                if !was_failing {
                    tracing::error!(
                        "cannot save the usage of VMs, which is counted nevertheless; it is lost if vcudad \
                         ends before it can be saved: {error}"
                    );
                }
            }
        }
    }

    /// Returns what is reported about saving.
    pub(crate) fn saving(&self) -> UsageSaving {
        let Record { set_aside, dropped, .. } = self.record;
        UsageSaving { set_aside, dropped, ..self.saving }
    }

    /// Returns the usage in the months that weren't over at this time.
    pub(crate) fn report(&self, since_ms: u64, now_ms: u64) -> UsageReport {
        UsageReport {
            time_ms: now_ms,
            began_ms: self.record.began_ms,
            saving: self.saving(),
            rows: self.record.rows_since(since_ms),
        }
    }
}
