//! The measurements, with their rows and bars.

use super::bar::{Bar, Unit};
use super::gpu::Gpu;
use super::measures::{self, *};
use super::sample::Measured;

/// A measurement, which produces one or two rows of the table.
pub(super) struct Measurement {
    /// The name of the measurement on the command line.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) unit: Unit,
    /// Maximum number of repetitions. It's low for slow measurements.
    pub(super) repetitions: usize,
    /// The function that takes the measurement. It returns a value for each row.
    pub(super) measure: Box<dyn Fn(&Gpu) -> Measured>,
    pub(super) rows: Vec<Row>,
}

/// A row of the table that a measurement produces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    /// The statistic in the row, such as `p99`.
    pub(super) value: &'static str,
    pub(super) bar: Bar,
}

/// The lengths of the kernels in the measurements of waiting, in microseconds.
const KERNELS: [u64; 6] = [0, 20, 50, 100, 300, 1000];
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Returns a measurement that has only one row.
fn one(
    name: &str,
    text: &str,
    unit: Unit,
    bar: Bar,
    measure: impl Fn(&Gpu) -> Measured + 'static,
) -> Measurement {
    let rows = vec![Row { value: "", bar }];
    let (name, text, measure) = (name.to_owned(), text.to_owned(), Box::new(measure));
    Measurement { name, text, unit, repetitions: usize::MAX, measure, rows }
}

/// Returns a measurement that has a row for the median and a row for the 99th percentile.
fn two(
    name: &str,
    text: &str,
    bars: [Bar; 2],
    measure: impl Fn(&Gpu) -> Measured + 'static,
) -> Measurement {
    let rows = vec![Row { value: "p50", bar: bars[0] }, Row { value: "p99", bar: bars[1] }];
    Measurement { rows, ..one(name, text, Unit::Us, Bar::None, measure) }
}

/// Returns all measurements, in the order in which they are taken.
pub(super) fn measurements() -> Vec<Measurement> {
    use Unit::{GbPerS, Ms, PerS, Percent, Us};
    let mut all = Vec::new();
    let sync = Bar::Plus(1.5, 0.5);
    let (then, wait) = (Bar::Plus(2.0, 0.5), "cuStreamSynchronize");
    type Wait = fn(&Gpu, u64) -> Measured;
    let waits: [(&str, String, Bar, Wait); 4] = [
        ("sync", wait.into(), sync, measures::sync),
        ("copy-sync", format!("4 bytes to page-locked memory, {wait}"), then, copy_sync),
        ("event-sync", "cuEventRecord, cuEventSynchronize".into(), then, event_sync),
        ("query", "cuStreamQuery until it's done".into(), then, query),
    ];
    for (name, text, bar, wait) in waits {
        for us in KERNELS {
            let kernel = if us == 0 { "empty kernel".into() } else { format!("{us} us kernel") };
            let (name, text) = (format!("{name}-{us}"), format!("{kernel}, {text}"));
            all.push(two(&name, &text, [bar, Bar::None], move |gpu| wait(gpu, us)));
        }
    }
    let blocking = "50 us kernel, blocking cuEventSynchronize";
    let info = [Bar::AtMost(1.0), Bar::AtMost(2.0)];
    let pool = [Bar::AtMost(1.5), Bar::Value(5.0)];
    all.extend([
        one("record", "cuEventRecord, each call", Us, Bar::None, record),
        one("blocking-sync", blocking, Us, Bar::Less, |gpu| blocking_sync(gpu, 50)),
        two("mem-info", "cuMemGetInfo", info, mem_info),
        two("mem-info-free", "cuMemGetInfo after cuMemFree", info, mem_info_after_free),
    ]);
    for (size, bytes, bar) in [
        ("4K", 4 * KIB, Bar::Plus(1.5, 0.0)),
        ("4M", 4 * MIB, Bar::AtMost(0.5)),
        ("64M", 64 * MIB, Bar::AtMost(0.5)),
    ] {
        let text = format!("cuMemAlloc, cuMemFree, {size}");
        all.push(one(&format!("alloc-{size}"), &text, Us, bar, move |gpu| alloc(gpu, bytes)));
    }
    let created = "20M by cuMemCreate, mapped, unmapped";
    let cached = "the same small PTX, loaded and unloaded";
    let compiled = "new small PTX, loaded and unloaded";
    let kernels = "a cubin of 100 kernels, loaded and unloaded";
    all.extend([
        two("alloc-async", "cuMemAllocAsync, cuMemFreeAsync, 1M", pool, alloc_async),
        one("virtual-memory", created, Us, Bar::AtMost(1.3), virtual_memory),
        one("module-same", cached, Us, Bar::AtMost(2.0), same_ptx),
        one("module-new", compiled, Us, Bar::AtMost(1.2), new_ptx),
        one("module-cubin", kernels, Us, Bar::AtMost(1.2), cubin),
    ]);
    for (size, bytes, ratio) in [("1M", MIB, 1.0), ("16M", 16 * MIB, 1.5), ("256M", 256 * MIB, 2.0)]
    {
        let (bar, to) = (Bar::AtLeast(ratio), format!("pageable copy to the device, {size}"));
        all.push(one(&format!("copy-to-{size}"), &to, GbPerS, bar, move |gpu| copy_to(gpu, bytes)));
        let (name, from) = (format!("copy-from-{size}"), to.replace("to the", "from the"));
        all.push(one(&name, &from, GbPerS, bar, move |gpu| copy_from(gpu, bytes)));
    }
    let fresh = "copy from the device to fresh pages, 256M";
    let register_text = "cuMemHostRegister, cuMemHostUnregister, 64M";
    let updates = "20 node updates, graph of 20 kernels, cuStreamSynchronize";
    all.extend([
        one("copy-fresh", fresh, GbPerS, Bar::AtLeast(1.5), |gpu| copy_fresh(gpu, 256 * MIB)),
        one("register", register_text, Ms, Bar::Value(25.0), |gpu| register(gpu, 64 * MIB)),
        one("host-alloc", "cuMemAllocHost, cuMemFreeHost, 64M", Ms, Bar::None, |gpu| {
            host_alloc(gpu, 64 * MIB)
        }),
        one("graph", "graph of 20 kernels, cuStreamSynchronize", Us, Bar::AtMost(1.05), graph),
        one("graph-updates", updates, Us, Bar::AtMost(1.05), graph_updates),
        one("devices", "program that asks for devices", Ms, Bar::AtMost(1.5), devices),
    ]);
    let slow = [
        one("devices-40", "40 of them in turn", Ms, Bar::AtMost(1.5), devices_in_turn),
        one("burst-20", "20 programs at once, one kernel each", Ms, Bar::None, burst),
        one(
            "cpu-time",
            "CPU time while sleeping for a kernel of 3 s",
            Percent,
            Bar::Value(2.0),
            cpu_time,
        ),
        one("rate-8", "8 processes, kernels of about 20 us", PerS, Bar::AtLeast(0.97), rate),
    ];
    all.extend(slow.map(|slow| Measurement { repetitions: 2, ..slow }));
    all
}

/// Returns the names of the selected measurements: those whose names equal or begin with an element
/// of `only`, or all of them if `only` is empty.
pub(crate) fn select(only: &[String]) -> Result<Vec<String>, String> {
    let names = || measurements().into_iter().map(|measurement| measurement.name);
    let is_meant = |name: &str, wanted: &str| {
        name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    if let Some(unknown) = only.iter().find(|only| !names().any(|name| is_meant(&name, only))) {
        let all = names().collect::<Vec<_>>().join(", ");
        return Err(format!("there is no row '{unknown}'; the rows are {all}"));
    }
    let is_wanted = |name: &String| only.is_empty() || only.iter().any(|only| is_meant(name, only));
    Ok(names().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let all = measurements();
        let names: HashSet<&String> = all.iter().map(|measurement| &measurement.name).collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn rows_are_selected_by_name_or_group() {
        let of = |only: &[&str]| select(&only.iter().map(|&only| only.into()).collect::<Vec<_>>());
        assert_eq!(of(&[]).unwrap().len(), measurements().len());
        assert_eq!(of(&["sync"]).unwrap().len(), 6);
        assert_eq!(of(&["graph-updates", "alloc-4M"]).unwrap(), ["alloc-4M", "graph-updates"]);
        assert_eq!(of(&["graph"]).unwrap(), ["graph", "graph-updates"]);
        assert!(of(&["graph", "rat"]).unwrap_err().contains("no row 'rat'; the rows are sync-0,"));
    }
}
