//! Draws which VM was on a GPU and when requests waited, from the log of a vcudad that ran with
//! `RUST_LOG=info,vcudad::compute=trace`. For example:
//!
//! ```text
//! cargo run --release -p gpu-scheduler --example timeline -- \
//!     vcudad.log 7000 100 timeline.svg title='An H200' 1='latency VM' 2='batch VM'
//! ```
//!
//! draws the 100 ms that begin 7000 ms after the scheduler's first line. A negative time counts
//! from its last line. The names are those of the VMs with these numbers in the log. The figure
//! also shows the first request in detail.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;

#[path = "../schedule/svg.rs"]
#[allow(dead_code, reason = "the other example uses more of it")]
mod svg;

const OPEN: &str = "#1f6fb4";
const DRAINING: &str = "#8db7dc";
const EVICTING: &str = "#d1660e";
const OFF: &str = "#dddddd";
const RETURNING: &str = "#3a8f3a";
const WAITING: &str = "#c22b2b";
const SERVED: &str = "#444444";
const LEGEND: [(&str, &str); 7] = [
    (OPEN, "gate open: the VM's window"),
    (DRAINING, "gate closed, work drains"),
    (EVICTING, "being evicted"),
    (OFF, "evicted, with unfinished work"),
    (RETURNING, "gate open, work returning"),
    (WAITING, "request or other work waits"),
    (SERVED, "request is served"),
];
/// How much of the time around the first request the enlarged part shows, in ms.
const BEFORE: f64 = 0.5;
const ENLARGED: f64 = 3.0;

/// A VM on a GPU, by their numbers.
type Key = (u64, u64);
/// Start, end, and color.
type Period = (u64, u64, &'static str);

#[derive(Clone, Copy)]
enum Event {
    Open,
    Close,
    Evict,
    Restore,
    /// The evictor has carried out an order.
    Evicted,
    Restored,
    Report {
        held: bool,
        active: bool,
        finished: u64,
    },
}

/// Where a VM's kernels are.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    On,
    Evicting,
    Off,
    Returning,
}

/// Work that came while a VM had none.
struct Request {
    came: u64,
    /// When the VM's gate opened.
    opened: Option<u64>,
    answered: u64,
}

/// A row of the figure, while the log is read.
struct Lane {
    open: bool,
    place: Place,
    held: bool,
    active: bool,
    finished: u64,
    since: u64,
    /// Whether the VM was on the GPU.
    body: Vec<Period>,
    /// When work waited.
    strip: Vec<Period>,
    requests: Vec<Request>,
}

impl Lane {
    fn new() -> Self {
        Lane {
            open: false,
            place: Place::On,
            held: false,
            active: false,
            finished: 0,
            since: 0,
            body: Vec::new(),
            strip: Vec::new(),
            requests: Vec::new(),
        }
    }

    fn handle(&mut self, at: u64, event: Event) {
        let colour = match self.place {
            Place::Evicting => Some(EVICTING),
            Place::Off => Some(OFF),
            Place::Returning => Some(RETURNING),
            Place::On if self.open => Some(OPEN),
            Place::On => self.active.then_some(DRAINING),
        };
        if let Some(colour) = colour {
            extend(&mut self.body, (self.since, at, colour));
        }
        if self.held && !self.open {
            extend(&mut self.strip, (self.since, at, WAITING));
        }
        self.since = at;
        match event {
            Event::Open => {
                if let Some(request) = self.requests.last_mut() {
                    request.opened.get_or_insert(at);
                }
                self.open = true;
            }
            Event::Close => self.open = false,
            Event::Evict => self.place = Place::Evicting,
            Event::Restore => self.place = Place::Returning,
            Event::Evicted if self.place == Place::Evicting => self.place = Place::Off,
            Event::Restored if self.place == Place::Returning => self.place = Place::On,
            Event::Evicted | Event::Restored => {}
            Event::Report { held, active, finished } => {
                // Work that comes while the VM has none is a request. It's answered when the last
                // of its work has finished. The gate may stay open for a while after that.
                if held && !self.open && !self.held && !self.active {
                    self.requests.push(Request { came: at, opened: None, answered: at });
                }
                if finished != self.finished
                    && !active
                    && let Some(request) = self.requests.last_mut()
                {
                    request.answered = at;
                }
                (self.held, self.active, self.finished) = (held, active, finished);
            }
        }
    }
}

/// Adds a period, or makes the last one longer if they're the same.
fn extend(periods: &mut Vec<Period>, (from, to, colour): Period) {
    match periods.last_mut() {
        Some((_, until, last)) if *until == from && *last == colour => *until = to,
        _ => periods.push((from, to, colour)),
    }
}

/// Returns the number that follows `name` in a line.
fn number(line: &str, name: &str) -> Option<u64> {
    let (_, rest) = line.split_once(name)?;
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Returns the events in a log, sorted by time in ns.
fn events(log: &str) -> Vec<(u64, Key, Event)> {
    let mut events = Vec::new();
    // Orders that the evictor has not carried out, by GPU. It carries them out one after another.
    let mut orders: BTreeMap<u64, VecDeque<(u64, bool)>> = BTreeMap::new();
    for line in log.lines() {
        let Some(now) = number(line, " now=") else { continue };
        if let Some((_, action)) = line.split_once(" action=") {
            let (Some(vm), Some(gpu)) = (number(action, "VmKey("), number(action, "GpuKey("))
            else {
                continue;
            };
            let event = match action.split(' ').next() {
                Some("Open") => Event::Open,
                Some("Close") => Event::Close,
                Some("Evict") => Event::Evict,
                Some("Restore") => Event::Restore,
                _ => continue,
            };
            if matches!(event, Event::Evict | Event::Restore) {
                let evicts = matches!(event, Event::Evict);
                orders.entry(gpu).or_default().push_back((vm, evicts));
            }
            events.push((now, (vm, gpu), event));
        } else if let Some((_, order)) = line.split_once(" order=") {
            let evicts = match order.split(' ').next() {
                Some("Evict") => true,
                Some("Restore") => false,
                _ => continue,
            };
            let Some(gpu) = number(line, " gpu=") else { continue };
            let pending = orders.entry(gpu).or_default();
            while let Some((vm, kind)) = pending.pop_front() {
                if kind == evicts {
                    let event = if evicts { Event::Evicted } else { Event::Restored };
                    events.push((now, (vm, gpu), event));
                    break;
                }
            }
        } else if let Some((_, report)) = line.split_once(" report=") {
            let (Some(vm), Some(gpu)) = (number(line, " vm="), number(line, " gpu=")) else {
                continue;
            };
            let is = |name| report.contains(name);
            let event = Event::Report {
                held: is(" held: true"),
                active: is(" active: true") && !is(" stalled: true"),
                finished: number(report, " finished: ").unwrap_or_default(),
            };
            events.push((now, (vm, gpu), event));
        }
    }
    events.sort_by_key(|(now, ..)| *now);
    events
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().ok_or("usage: timeline LOG START_MS LENGTH_MS SVG [KEY=NAME...]");
    let (log, start, length, file) = (next()?, next()?, next()?, next()?);
    let (start, length): (f64, f64) = (start.parse()?, length.parse()?);
    let names: BTreeMap<String, String> = args
        .filter_map(|arg| arg.split_once('=').map(|(key, name)| (key.into(), name.into())))
        .collect();
    let events = events(&std::fs::read_to_string(log)?);
    let (Some((first, ..)), Some((last, ..))) = (events.first(), events.last()) else {
        return Err("the log has no lines of vcudad::compute at level trace".into());
    };
    let from =
        (if start < 0.0 { *last } else { *first }).saturating_add_signed((start * 1e6) as i64);
    let to = from + (length * 1e6) as u64;
    let mut lanes: BTreeMap<Key, Lane> = BTreeMap::new();
    for (at, key, event) in events {
        lanes.entry(key).or_insert_with(Lane::new).handle(at, event);
    }

    let gpus: BTreeSet<u64> = lanes.keys().map(|(_, gpu)| *gpu).collect();
    let ms = |at: u64| (at as f64 - from as f64) / 1e6;
    let (mut rows, mut waits, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for ((vm, gpu), lane) in &lanes {
        let mut row = svg::Row { name: String::new(), bars: Vec::new(), marks: Vec::new() };
        let part = |top, height| move |bar| svg::Bar { top, height, ..bar };
        let (strip, body) = (part(4.0, 6.0), part(11.0, 18.0));
        let shown = |(since, until, _): &&Period| *since < to && *until > from && since < until;
        let bar = |(since, until, colour): &Period| svg::Bar::new((ms(*since), ms(*until)), colour);
        row.bars.extend(lane.body.iter().filter(shown).map(bar).map(body));
        row.bars.extend(lane.strip.iter().filter(shown).map(bar).map(strip));
        for Request { came, opened, answered } in &lane.requests {
            let Some(opened) = opened.filter(|_| (from..to).contains(came)) else { continue };
            row.marks.push(ms(*came));
            row.bars.push(strip(svg::Bar::new((ms(opened), ms(*answered)), SERVED)));
            waits.push(opened - came);
            answers.push(answered - came);
        }
        if row.bars.is_empty() {
            continue;
        }
        row.name = names.get(&vm.to_string()).cloned().unwrap_or_else(|| format!("VM {vm}"));
        if gpus.len() > 1 {
            row.name += &format!(", GPU {gpu}");
        }
        rows.push(row);
    }
    let median = |all: &mut Vec<u64>| {
        all.sort_unstable();
        all.get(all.len() / 2).map_or(0.0, |time| *time as f64 / 1e6)
    };
    println!(
        "{} requests; median: gate open after {:.2} ms, answered after {:.2} ms",
        answers.len(),
        median(&mut waits),
        median(&mut answers)
    );
    let shown = rows.iter().flat_map(|row| &row.marks).copied().reduce(f64::min).unwrap_or(BEFORE);
    let part = (shown - BEFORE, shown - BEFORE + ENLARGED);
    let title = names.get("title").map_or("Which VM is on the GPU", String::as_str);
    let used = |(colour, _): &(&str, &str)| {
        rows.iter().flat_map(|row| &row.bars).any(|bar| bar.colour == *colour)
    };
    let legend: Vec<_> = LEGEND.into_iter().filter(used).collect();
    std::fs::write(file, svg::enlarged(title, &rows, length, part, &legend))?;
    Ok(())
}
