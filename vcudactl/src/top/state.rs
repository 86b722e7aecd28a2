//! The last two samples, the rates computed from them, and the rows' sort order and scroll
//! position.

use std::cmp::Ordering;

use control_api::{Stats, VmGpuStats, VmStats};

use crate::cli::SortKey;
use crate::table::printable;
use crate::wait::{reason, short_reason};

/// A table row: one VM on one GPU.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) vm: String,
    pub(super) gpu: u32,
    pub(super) failed: bool,
    pub(super) used: u64,
    pub(super) max: u64,
    pub(super) share_1s: f64,
    pub(super) share_10s: f64,
    pub(super) promised: f64,
    /// The VM's `compute.max`, as a fraction of the GPU's time.
    pub(super) cap: f64,
    /// The fraction of the time between the two samples for which the VM waited for the GPU.
    pub(super) waited: Option<f64>,
    /// The reason why the VM waits, as a full text and in at most eight characters.
    pub(super) waits_for: Option<(String, &'static str)>,
    /// The VM's totals. They are only in the row for the VM's first GPU.
    pub(super) whole: Option<Whole>,
}

/// A VM's totals over all its GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Whole {
    pub(super) sessions: u32,
    /// Kernel and graph launches per second.
    pub(super) launches: Option<f64>,
    /// Bytes copied per second.
    pub(super) copied: Option<f64>,
}

/// The state of `top`: the samples, the sort order, and the scroll position.
#[derive(Debug)]
pub(super) struct TopState {
    before: Option<Stats>,
    now: Option<Stats>,
    problem: Option<String>,
    key: SortKey,
    reversed: bool,
    skipped: usize,
}

impl TopState {
    pub(super) fn new(key: SortKey) -> Self {
        Self { before: None, now: None, problem: None, key, reversed: false, skipped: 0 }
    }

    /// Adds a sample, which replaces the older of the two.
    pub(super) fn add(&mut self, stats: Stats) {
        self.before = self.now.take();
        self.now = Some(stats);
        self.problem = None;
    }

    /// Records the reason why a sample couldn't be fetched. The last sample stays on the screen.
    pub(super) fn fail(&mut self, problem: String) {
        self.problem = Some(problem);
    }

    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(super) fn now(&self) -> Option<&Stats> {
        self.now.as_ref()
    }

    pub(super) fn key(&self) -> SortKey {
        self.key
    }

    /// Sorts by `key`. If `key` is already the sort key, reverses the order.
    pub(super) fn sort_by(&mut self, key: SortKey) {
        self.reversed = self.key == key && !self.reversed;
        self.key = key;
        self.skipped = 0;
    }

    pub(super) fn reverse(&mut self) {
        self.reversed = !self.reversed;
    }

    pub(super) fn scroll(&mut self, rows: isize) {
        let last = self.now.iter().flat_map(|now| &now.vms).map(|vm| vm.gpus.len()).sum::<usize>();
        self.skipped = self.skipped.saturating_add_signed(rows).min(last.saturating_sub(1));
    }

    /// Returns the number of rows that have scrolled off the top of the table.
    pub(super) fn skipped(&self) -> usize {
        self.skipped
    }

    /// Returns the rows of the table in the sort order.
    pub(super) fn rows(&self) -> Vec<Row> {
        let Some(now) = &self.now else { return Vec::new() };
        // vcudad's counters start at zero when it is restarted. Therefore, don't compute rates from
        // a sample before a restart and one after it.
        let before = self
            .before
            .as_ref()
            .filter(|before| before.started_ms == now.started_ms && before.time_ms < now.time_ms);
        let seconds = before.map_or(0.0, |before| (now.time_ms - before.time_ms) as f64 / 1e3);
        let mut rows = Vec::new();
        for vm in &now.vms {
            let old = before.and_then(|before| before.vms.iter().find(|old| old.name == vm.name));
            for (place, gpu) in vm.gpus.iter().enumerate() {
                let whole = (place == 0).then(|| whole(vm, old, seconds));
                let old = old.and_then(|old| old.gpus.iter().find(|old| old.gpu == gpu.gpu));
                rows.push(row(vm, gpu, old, seconds, whole));
            }
        }
        rows.sort_by(|a, b| {
            let order = self.compare(a, b);
            let order = if self.reversed { order.reverse() } else { order };
            order.then_with(|| a.vm.cmp(&b.vm)).then(a.gpu.cmp(&b.gpu))
        });
        rows
    }

    /// Compares two rows by the sort key. Names are in ascending order, and numbers in descending
    /// order.
    fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let whole = |row: &Row, value: fn(&Whole) -> Option<f64>| {
            row.whole.as_ref().and_then(value).unwrap_or(-1.0)
        };
        match self.key {
            SortKey::Name => a.vm.cmp(&b.vm),
            SortKey::Memory => b.used.cmp(&a.used),
            SortKey::Share => b.share_1s.total_cmp(&a.share_1s),
            SortKey::Throttled => b.waited.unwrap_or(-1.0).total_cmp(&a.waited.unwrap_or(-1.0)),
            SortKey::Launches => {
                whole(b, |whole| whole.launches).total_cmp(&whole(a, |whole| whole.launches))
            }
            SortKey::Copies => {
                whole(b, |whole| whole.copied).total_cmp(&whole(a, |whole| whole.copied))
            }
        }
    }
}

fn whole(vm: &VmStats, old: Option<&VmStats>, seconds: f64) -> Whole {
    let rate = |value: fn(&VmStats) -> u64| {
        old.map(|old| value(vm).saturating_sub(value(old)) as f64 / seconds)
    };
    Whole {
        sessions: vm.sessions,
        launches: rate(|vm| vm.activity.launches.saturating_add(vm.activity.graph_launches)),
        copied: rate(|vm| {
            let done = &vm.activity;
            done.bytes_h2d.saturating_add(done.bytes_d2h).saturating_add(done.bytes_d2d)
        }),
    }
}

fn row(
    vm: &VmStats,
    gpu: &VmGpuStats,
    old: Option<&VmGpuStats>,
    seconds: f64,
    whole: Option<Whole>,
) -> Row {
    let waited =
        old.map(|old| gpu.throttled_ns.saturating_sub(old.throttled_ns) as f64 / 1e9 / seconds);
    Row {
        vm: printable(&vm.name),
        gpu: gpu.gpu,
        failed: vm.failed,
        used: gpu.memory_used,
        max: gpu.memory_max,
        share_1s: gpu.share_1s,
        share_10s: gpu.share_10s,
        promised: gpu.share_promised,
        cap: vm.compute.max.ratio(),
        waited: waited.map(|waited| waited.min(1.0)),
        waits_for: gpu
            .waits_for
            .as_ref()
            .map(|wait| (printable(&reason(wait, &vm.compute)), short_reason(wait.reason))),
        whole,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use control_api::{Activity, GpuInfo, GpuState, Percent, Wait, WaitReason, WorkerCounts};

    use super::*;

    const GIB: u64 = 1 << 30;

    fn vm(name: &str, share: f64, promised: f64, used: u64, max: u64) -> VmStats {
        VmStats {
            name: name.into(),
            sessions: 1,
            gpus: vec![VmGpuStats {
                memory_used: used,
                memory_max: max,
                share_1s: share,
                share_10s: share + 0.001,
                share_promised: promised,
                ..VmGpuStats::default()
            }],
            ..VmStats::default()
        }
    }

    /// Returns two samples, taken a second apart, of a host with three VMs.
    pub(in crate::top) fn samples() -> [Stats; 2] {
        let gpu = |index: u32| GpuInfo {
            index,
            uuid: format!("GPU-{index}"),
            name: "NVIDIA H200".into(),
            pci_bus_id: "0000:0f:00.0".into(),
            state: GpuState::Healthy,
            memory_total: 139 * GIB,
            memory_reserved: 2 * GIB,
            memory_promised: 96 * GIB,
            memory_used: 45 * GIB + GIB / 2,
            memory_charged: 46 * GIB,
            memory_resident: 46 * GIB,
            memory_driver: None,
            memory_difference: None,
            memory_excesses: 0,
            compute_min: Percent::NONE,
            compute_weight: 200,
            faults: 0,
            last_fault: None,
            eviction: true,
            eviction_unavailable: None,
            jail: true,
            jail_unavailable: None,
            sensors: Default::default(),
            vms: Vec::new(),
        };
        let mut faulty = gpu(1);
        faulty.state = GpuState::Faulty;
        faulty.last_fault = Some("Xid 79: fallen off the bus".into());
        faulty.memory_used = 0;
        faulty.memory_promised = 8 * GIB;
        let mut vms = vec![
            vm("web", 0.302, 0.3, 6 * GIB + GIB / 2, 8 * GIB),
            vm("training", 0.697, 0.7, 39 * GIB, 80 * GIB),
            vm("inference-staging", 0.0, 0.1, 0, 8 * GIB),
        ];
        let mut second = vms[2].gpus[0].clone();
        second.gpu = 1;
        vms[2].gpus.push(second);
        let first = Stats {
            time_ms: 12_301_000,
            started_ms: 0,
            vms,
            gpus: vec![gpu(0), faulty],
            workers: WorkerCounts { warm: 2, assigned: 3, ..WorkerCounts::default() },
            ..Stats::default()
        };
        let mut then = first.clone();
        then.time_ms += 1000;
        then.vms[0].activity =
            Activity { launches: 12_000, bytes_h2d: 1_500_000_000, ..Activity::default() };
        then.vms[0].gpus[0].throttled_ns = 640_000_000;
        let vm = Some("training".to_owned());
        then.vms[0].gpus[0].waits_for = Some(Wait { reason: WaitReason::Turn, vm });
        then.vms[1].activity =
            Activity { launches: 820, graph_launches: 10, ..Activity::default() };
        then.vms[1].gpus[0].throttled_ns = 300_000_000;
        then.vms[2].compute.max = Percent::from_basis_points(1250);
        [first, then]
    }

    pub(in crate::top) fn state() -> TopState {
        let mut state = TopState::new(SortKey::Name);
        samples().into_iter().for_each(|stats| state.add(stats));
        state
    }

    fn names(state: &TopState) -> Vec<String> {
        state.rows().iter().map(|row| row.vm.chars().take(1).collect()).collect()
    }

    #[test]
    fn rates_are_differences_between_two_samples() {
        let [first, then] = samples();
        let mut state = TopState::new(SortKey::Name);
        state.add(first);
        assert!(state.rows().iter().all(|row| row.waited.is_none()));
        state.add(then.clone());
        let rows = state.rows();
        let web = rows.iter().find(|row| row.vm == "web").unwrap();
        assert_eq!(web.waited, Some(0.64));
        let whole = web.whole.unwrap();
        assert_eq!((whole.launches, whole.copied), (Some(12_000.0), Some(1.5e9)));
        // This sample is from a vcudad that was restarted, so its counters started at zero.
        let restarted = Stats { started_ms: 12_302_500, time_ms: 12_303_000, ..then };
        state.add(restarted);
        assert!(state.rows().iter().all(|row| row.waited.is_none()));
    }

    #[test]
    fn the_same_key_again_reverses_the_order() {
        let mut state = state();
        assert_eq!(names(&state), ["i", "i", "t", "w"]);
        state.sort_by(SortKey::Memory);
        assert_eq!(names(&state), ["t", "w", "i", "i"]);
        state.sort_by(SortKey::Memory);
        assert_eq!(names(&state), ["i", "i", "w", "t"]);
        state.sort_by(SortKey::Launches);
        assert_eq!(names(&state)[0], "w");
        state.sort_by(SortKey::Name);
        state.reverse();
        assert_eq!(names(&state), ["w", "t", "i", "i"]);
    }

    #[test]
    fn new_and_removed_vms_are_handled() {
        let [mut first, then] = samples();
        first.vms.remove(0);
        let mut state = TopState::new(SortKey::Name);
        state.add(first);
        state.add(then);
        let rows = state.rows();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().find(|row| row.vm == "web").unwrap().waited.is_none());
        state.scroll(100);
        assert_eq!(state.skipped(), 3);
        state.scroll(-100);
        assert_eq!(state.skipped(), 0);
    }
}
