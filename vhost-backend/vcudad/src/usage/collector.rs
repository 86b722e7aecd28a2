//! Adds what the scheduler and the ledger have counted to the record. No I/O.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use control_api::{UsageReport, UsageSaving};

use super::counters::Counters;
use super::file::Loaded;
use super::record::Record;
use memory_ledger::{GpuId, VmId};

/// Time between two samples. If the scheduler loses its statistics, what it has counted since the
/// last sample is lost.
const SAMPLE: Duration = Duration::from_secs(1);
/// Minimum time between two samples. The scheduler's statistics don't change more often.
const LEAST: Duration = Duration::from_millis(20);
/// Time between two writes of the record.
const SAVE: Duration = Duration::from_secs(10);

/// The usage of VMs.
pub(crate) struct Usage {
    record: Record,
    /// The counters in the last sample. The counters of the scheduler and of the ledger begin at
    /// zero when a VM is added, or when another broker takes over.
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
    /// Begins with a record that was read from the state directory, or that another broker has
    /// handed over.
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

    /// Returns true if it's time for a sample. If `is_wanted` is true, the result is needed now, so
    /// less time must have passed since the last sample.
    pub(crate) fn must_sample(&mut self, is_wanted: bool, now: Instant) -> bool {
        let interval = if is_wanted { LEAST } else { SAMPLE };
        let is_due = self.sampled.is_none_or(|at| now.duration_since(at) >= interval);
        if is_due {
            self.sampled = Some(now);
        }
        is_due
    }

    /// Adds what a VM has used since the last sample. `counters` began at zero when the VM was
    /// added.
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

    /// Begins to count the usage of a VM whose counters don't begin at zero, because it shares them
    /// with other VMs.
    pub(crate) fn begin(&mut self, key: (VmId, GpuId), counters: Counters) {
        self.last.insert(key, counters);
    }

    /// Forgets the last sample of a VM that was removed.
    pub(crate) fn end(&mut self, vm: VmId, is_served: impl Fn(&str) -> bool) {
        self.last.retain(|(of, _), _| *of != vm);
        self.record.retain_totals(is_served);
    }

    /// Returns the record to save, if it must be saved now. If `is_wanted` is true, somebody waits
    /// for it, so a change must be saved at once. After the write, call [`Self::saved`] with its
    /// result.
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

    /// Handles that the record was saved, or couldn't be saved. Counting continues in both cases.
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

    /// Returns the status of saving, for reports.
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

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: (VmId, GpuId) = (VmId(1), GpuId(0));

    fn counters(gpu_ns: u64) -> Counters {
        Counters { gpu_ns, ..Counters::default() }
    }

    fn usage(now: Instant) -> Usage {
        Usage::new(Loaded { record: Record::new(0), may_save: true }, false, now)
    }

    fn sample(usage: &mut Usage, key: (VmId, GpuId), gpu_ns: u64) -> u64 {
        usage.sample(key, ("a", "GPU-1"), counters(gpu_ns), 0);
        usage.record().total("a", "GPU-1").gpu_ns
    }

    #[test]
    fn a_vm_that_joins_others_or_has_the_name_of_a_former_one_is_charged_its_own_usage() {
        let mut usage = usage(Instant::now());
        assert_eq!([5, 7, 7].map(|now| sample(&mut usage, KEY, now)), [5, 7, 7]);
        usage.end(KEY.0, |_| false);
        // This VM has the name of the removed VM, but its counters begin at zero.
        assert_eq!(sample(&mut usage, (VmId(2), GpuId(0)), 3), 10);
        // The VM joins a group that has already used 100 ns.
        let member = (VmId(3), GpuId(0));
        usage.begin(member, counters(100));
        assert_eq!(sample(&mut usage, member, 104), 14);
    }

    #[test]
    fn usage_is_saved_if_it_has_changed_and_again_after_a_failure() {
        let start = Instant::now();
        let mut usage = usage(start);
        assert!(usage.take_save(true, start).is_none() && !usage.is_unsaved());
        sample(&mut usage, KEY, 5);
        assert!(usage.take_save(false, start).is_none() && usage.is_unsaved());
        let record = usage.take_save(false, start + SAVE).unwrap();
        assert_eq!(record.total("a", "GPU-1").gpu_ns, 5);
        // Only one write is made at a time.
        sample(&mut usage, KEY, 6);
        assert!(usage.take_save(true, start + SAVE).is_none() && usage.is_saving());
        usage.saved(Err("full".into()), start + SAVE, 1000);
        assert_eq!((usage.saving().failures, usage.saving().saved_ms), (1, None));
        assert!(usage.take_save(false, start + SAVE).is_none());
        let record = usage.take_save(false, start + 2 * SAVE).unwrap();
        assert_eq!(record.total("a", "GPU-1").gpu_ns, 6);
        usage.saved(Ok(()), start + 2 * SAVE, 2000);
        assert_eq!((usage.saving().failures, usage.saving().saved_ms), (1, Some(2000)));
        assert!(usage.take_save(true, start + 9 * SAVE).is_none() && !usage.is_unsaved());
    }

    #[test]
    fn samples_are_taken_once_a_second_or_when_somebody_looks() {
        let start = Instant::now();
        let mut usage = usage(start);
        let at = |ms| start + Duration::from_millis(ms);
        let due = [(false, 0), (false, 900), (true, 10), (true, 900), (false, 1000), (false, 1900)];
        let due = due.map(|(is_wanted, ms)| usage.must_sample(is_wanted, at(ms)));
        assert_eq!(due, [true, false, false, true, false, true]);
    }
}
