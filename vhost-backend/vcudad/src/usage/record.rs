//! The counters of all VMs, in total and by month. No I/O.
//!
//! A VM is known by its name. If a VM is removed and another one gets its name, the counters
//! continue, so a metric never decreases.

use std::collections::BTreeMap;

use control_api::UsageRow;
use serde::{Deserialize, Serialize};

use super::counters::Counters;
use super::month::month_of;

/// The format version that this program writes. It can't read newer versions.
pub(super) const VERSION: u32 = 1;
/// The number of months that are kept. Months without usage don't count, so a clock that is wrong
/// for a while removes at most one month.
pub(crate) const MAX_MONTHS: usize = 25;
/// The maximum number of rows of all months: one for each GPU that a VM has used in a month. The
/// oldest months are dropped first.
pub(crate) const MAX_ROWS: usize = 20_000;

/// Counters by VM and by GPU's UUID.
type Table = BTreeMap<String, BTreeMap<String, Counters>>;

/// The counters of all VMs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    version: u32,
    /// When counting began, in milliseconds since 1970.
    pub(crate) began_ms: u64,
    /// Number of files that couldn't be read and were set aside.
    pub(crate) set_aside: u64,
    /// Number of times that usage wasn't recorded because there were too many rows.
    pub(crate) dropped: u64,
    totals: Table,
    months: BTreeMap<String, Table>,
    /// Number of rows of all months.
    #[serde(skip)]
    rows: usize,
}

impl Record {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { version: VERSION, began_ms: now_ms, ..Self::default() }
    }

    /// Adds to a VM's usage of a GPU. `now_ms` only selects the month.
    pub(crate) fn add(&mut self, vm: &str, gpu: &str, more: Counters, now_ms: u64) {
        let month = month_of(now_ms);
        let has = |table: &Table| table.get(vm).is_some_and(|gpus| gpus.contains_key(gpu));
        if !self.months.get(&month).is_some_and(has) {
            if !self.make_room(&month) {
                self.dropped = self.dropped.saturating_add(1);
                return;
            }
            self.rows += 1;
        }
        let add = |table: &mut Table| {
            let gpus = table.entry(vm.to_owned()).or_default();
            gpus.entry(gpu.to_owned()).or_default().add(more);
        };
        add(&mut self.totals);
        add(self.months.entry(month).or_default());
    }

    /// Makes room for a new row in a month, by dropping the oldest of the other months. Returns
    /// false if there are no other months.
    fn make_room(&mut self, month: &str) -> bool {
        let new = usize::from(!self.months.contains_key(month));
        while self.months.len() + new > MAX_MONTHS || self.rows >= MAX_ROWS {
            let oldest = self.months.keys().find(|other| *other != month).cloned();
            let Some(oldest) = oldest else { return false };
            tracing::warn!("dropping the usage of {oldest}, to make room for that of {month}");
            self.months.remove(&oldest);
            self.count_rows();
        }
        true
    }

    /// Completes a record that was read from a file. When the record is written again, it has this
    /// program's version.
    pub(crate) fn restored(self) -> Self {
        let mut record = Self { version: VERSION, ..self };
        record.count_rows();
        record
    }

    fn count_rows(&mut self) {
        self.rows = self.months.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum();
    }

    /// Drops the totals of VMs that are in no month, unless the VMs are served.
    pub(crate) fn retain_totals(&mut self, is_served: impl Fn(&str) -> bool) {
        let months = &self.months;
        let is_in_month = |vm: &str| months.values().any(|table| table.contains_key(vm));
        self.totals.retain(|vm, _| is_served(vm) || is_in_month(vm));
    }

    /// Returns a VM's total usage of a GPU.
    pub(crate) fn total(&self, vm: &str, gpu: &str) -> Counters {
        let found = self.totals.get(vm).and_then(|gpus| gpus.get(gpu));
        found.copied().unwrap_or_default()
    }

    /// Returns the rows of the months that weren't over at this time.
    pub(crate) fn rows_since(&self, time_ms: u64) -> Vec<UsageRow> {
        let mut rows = Vec::new();
        for (month, table) in self.months.range(month_of(time_ms)..) {
            for (vm, gpus) in table {
                rows.extend(gpus.iter().map(|(gpu, counters)| UsageRow {
                    month: month.clone(),
                    vm: vm.clone(),
                    gpu: gpu.clone(),
                    gpu_ns: counters.gpu_ns,
                    copied_ns: counters.copied_ns,
                    throttled_ns: counters.throttled_ns,
                    windows: counters.windows,
                    memory_byte_seconds: counters.memory_byte_seconds,
                }));
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last millisecond of November 2026.
    const END_OF_NOVEMBER: u64 = 1_796_083_199_999;
    const MONTH: u64 = 31 * 86_400_000;

    fn used(gpu_ns: u64) -> Counters {
        Counters { gpu_ns, ..Counters::default() }
    }

    fn rows(record: &Record, since_ms: u64) -> Vec<(String, String, u64)> {
        let row = |row: UsageRow| (row.month, row.vm, row.gpu_ns);
        record.rows_since(since_ms).into_iter().map(row).collect()
    }

    fn row(month: &str, vm: &str, gpu_ns: u64) -> (String, String, u64) {
        (month.into(), vm.into(), gpu_ns)
    }

    #[test]
    fn a_new_month_has_rows_of_its_own_and_the_totals_continue() {
        let mut record = Record::new(0);
        record.add("a", "G", used(5), END_OF_NOVEMBER);
        record.add("a", "G", used(7), END_OF_NOVEMBER + 1);
        record.add("b", "G", used(1), END_OF_NOVEMBER + 1);
        // The clock is set back, and it's November again.
        record.add("a", "G", used(2), END_OF_NOVEMBER);
        let all = [row("2026-11", "a", 7), row("2026-12", "a", 7), row("2026-12", "b", 1)];
        assert_eq!(rows(&record, 0), all);
        assert_eq!(rows(&record, END_OF_NOVEMBER), all);
        assert_eq!(rows(&record, END_OF_NOVEMBER + 1), all[1..]);
        assert_eq!(record.total("a", "G"), used(14));
        assert_eq!(record.total("a", "another"), used(0));
    }

    #[test]
    fn a_wrong_clock_removes_no_history() {
        let mut record = Record::new(0);
        let now = |month| END_OF_NOVEMBER + month * MONTH;
        (0..MAX_MONTHS as u64).for_each(|month| record.add("a", "G", used(1), now(month)));
        for wrong in [0, u64::MAX, 1 << 42] {
            record.add("a", "G", used(1), wrong);
            record.add("a", "G", used(1), now(MAX_MONTHS as u64 - 1));
        }
        let left = (0..MAX_MONTHS as u64)
            .filter(|month| rows(&record, 0).iter().any(|(of, ..)| *of == month_of(now(*month))));
        // The first wrong month is the oldest, so it's dropped to make room for the second wrong
        // month.
        assert_eq!((left.count(), record.months.len()), (MAX_MONTHS - 2, MAX_MONTHS));
        assert_eq!(record.total("a", "G"), used(MAX_MONTHS as u64 + 6));
    }

    #[test]
    fn the_number_of_rows_is_limited() {
        let mut record = Record::new(0);
        record.add("old", "G", used(1), END_OF_NOVEMBER);
        for vm in 0..MAX_ROWS {
            record.add(&vm.to_string(), "G", used(1), END_OF_NOVEMBER + 1);
        }
        // The older month was dropped to make room. The current month has lost no rows.
        assert_eq!((record.months.len(), record.rows, record.dropped), (1, MAX_ROWS, 0));
        record.add("late", "G", used(1), END_OF_NOVEMBER + 1);
        record.add("0", "G", used(1), END_OF_NOVEMBER + 1);
        assert_eq!((record.rows, record.dropped), (MAX_ROWS, 1));
        assert_eq!((record.total("0", "G"), record.total("late", "G")), (used(2), used(0)));
        assert_eq!(record.total("old", "G"), used(1));
        record.retain_totals(|vm| vm == "old");
        assert_eq!(record.total("old", "G"), used(1));
        record.retain_totals(|_| false);
        assert_eq!((record.total("old", "G"), record.total("0", "G")), (used(0), used(2)));
    }
}
