//! Draws which VM was on a GPU, from a trace that `vcudactl trace` has recorded. For example:
//!
//! ```text
//! cargo run --release -p gpu-scheduler --example timeline -- trace.json 400 100 timeline.svg 'An H200'
//! ```
//!
//! draws the 100 ms that begin 400 ms after the start of the trace. The figure also shows the first
//! eviction in detail.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::Value;

#[path = "../schedule/svg.rs"]
#[allow(dead_code, reason = "the other example uses more of it")]
mod svg;

/// The names of periods, with their colors and meanings.
const LEGEND: [(&str, &str, &str); 9] = [
    ("window", "#1f6fb4", "gate open: the VM's window"),
    ("shared", "#6f4fb4", "gates of several VMs open"),
    ("alone", "#4a9bd9", "works without limits"),
    ("drains", "#8db7dc", "gate closed, work drains"),
    ("being evicted", "#d1660e", "being evicted"),
    ("evicted", "#dddddd", "evicted, with unfinished work"),
    ("returning", "#3a8f3a", "gate open, work returning"),
    ("waits", "#c22b2b", "work waits"),
    ("copies", "#444444", "copies"),
];
/// How much of the time around the first eviction the enlarged part shows, in ms.
const BEFORE: f64 = 0.5;
const ENLARGED: f64 = 4.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().ok_or("usage: timeline TRACE START_MS LENGTH_MS SVG TITLE");
    let (trace, start, length, file, title) = (next()?, next()?, next()?, next()?, next()?);
    let (start, length): (f64, f64) = (start.parse()?, length.parse()?);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace)?)?;
    let events = trace["traceEvents"].as_array().ok_or("the file is not a trace")?;

    // Each VM has up to three threads in the trace: one for turns on the GPU, and others for waits
    // and copies, whose periods are drawn as bars above those of turns.
    let mut threads = BTreeMap::new();
    for event in events.iter().filter(|event| event["name"] == "thread_name") {
        let name = event["args"]["name"].as_str().unwrap_or_default();
        let (vm, part) = name.split_once(": ").unwrap_or((name, ""));
        let key = (event["pid"].as_u64(), event["tid"].as_u64());
        threads.insert(key, (vm.to_owned(), !part.is_empty()));
    }
    let mut rows: BTreeMap<(Option<u64>, String), Vec<svg::Bar>> = BTreeMap::new();
    let mut evicted = Vec::new();
    let mut used = Vec::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let ms = |name: &str| event[name].as_f64().unwrap_or_default() / 1000.0;
        let (from, to) = (ms("ts") - start, ms("ts") + ms("dur") - start);
        let key = (event["pid"].as_u64(), event["tid"].as_u64());
        let Some((vm, is_strip)) = threads.get(&key) else { continue };
        let Some((name, colour, _)) = LEGEND.iter().find(|(name, ..)| event["name"] == *name)
        else {
            continue;
        };
        if to <= 0.0 || from >= length {
            continue;
        }
        if *name == "being evicted" && from > BEFORE {
            evicted.push(from);
        }
        used.push(*name);
        let bar = svg::Bar::new((from.max(0.0), to.min(length)), colour);
        let (top, height) = if *is_strip { (4.0, 6.0) } else { (11.0, 18.0) };
        rows.entry((key.0, vm.clone())).or_default().push(svg::Bar { top, height, ..bar });
    }
    let rows: Vec<svg::Row> = rows
        .into_iter()
        .map(|((gpu, vm), bars)| {
            let name = format!("{vm}, GPU {}", gpu.unwrap_or_default());
            svg::Row { name, bars, marks: Vec::new() }
        })
        .collect();
    let first = evicted.into_iter().reduce(f64::min).unwrap_or(BEFORE);
    let part = (first - BEFORE, first - BEFORE + ENLARGED);
    let shown = |(name, ..): &&(&str, &str, &str)| used.contains(name);
    let legend: Vec<_> =
        LEGEND.iter().filter(shown).map(|(_, colour, text)| (*colour, *text)).collect();
    std::fs::write(file, svg::enlarged(&title, &rows, length, part, &legend))?;
    Ok(())
}
