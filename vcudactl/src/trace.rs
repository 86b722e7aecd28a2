//! Converts trace records to the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome
//! (chrome://tracing) can show. In the trace, each GPU is a process. Each VM on the GPU has three
//! threads (lanes): for the times when it had the GPU, for the times when its work waited, and for
//! its copies during other VMs' windows. Device memory is a counter.
//!
//! The format is described in "Trace Event Format" by the Catapult project. Times are in
//! microseconds.

use std::collections::BTreeMap;

use control_api::{TraceChange, TraceGate, TraceRecord, TraceState, WaitReason};
use serde_json::{Value, json};

/// Suffixes of the names of the three lanes that each VM has.
const LANES: [&str; 3] = ["", ": waits", ": copies"];

/// Whether a VM's kernels are on the GPU, or being evicted or returned.
#[derive(Clone, Copy, Default, PartialEq)]
enum Place {
    #[default]
    On,
    Evicting,
    Off,
    Returning,
}

/// The state of a VM on a GPU.
#[derive(Default)]
struct Track {
    number: u64,
    state: TraceState,
    place: Place,
    /// For each lane, the name of the period that it currently shows, and the time at which that
    /// period began in nanoseconds.
    shown: [Option<(&'static str, u64)>; LANES.len()],
}

impl Track {
    /// Returns the name of the period that each lane must show in the present state.
    fn lanes(&self) -> [Option<&'static str>; LANES.len()] {
        let TraceState { gate, busy, waits_for, copying, .. } = self.state;
        let has_gpu = match (self.place, gate) {
            (Place::Evicting, _) => Some("being evicted"),
            (Place::Off, _) => Some("evicted"),
            (Place::Returning, _) => Some("returning"),
            (Place::On, TraceGate::Window) => Some("window"),
            (Place::On, TraceGate::Shared) => Some("shared"),
            (Place::On, TraceGate::Unlimited) if busy => Some("alone"),
            (Place::On, TraceGate::Closed) if busy => Some("drains"),
            (Place::On, TraceGate::Unlimited | TraceGate::Closed) => None,
        };
        [has_gpu, waits_for.map(WaitReason::name), copying.then_some("copies")]
    }

    fn apply(&mut self, change: TraceChange) {
        match change {
            TraceChange::State(state) => {
                self.place = match (state.off, self.place) {
                    (true, Place::On | Place::Returning) => Place::Evicting,
                    (false, Place::Off | Place::Evicting) => Place::Returning,
                    (_, place) => place,
                };
                self.state = state;
            }
            TraceChange::Evicted if self.place == Place::Evicting => self.place = Place::Off,
            TraceChange::Returned if self.place == Place::Returning => self.place = Place::On,
            TraceChange::Evicted | TraceChange::Returned | TraceChange::Memory { .. } => {}
        }
    }
}

/// A trace that is being recorded.
#[derive(Default)]
pub(crate) struct Trace {
    tracks: BTreeMap<(u32, String), Track>,
    events: Vec<Value>,
    first: Option<u64>,
    last: u64,
    missed: u64,
}

impl Trace {
    /// Returns the number of records that vcudad couldn't deliver.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    pub(crate) fn add(&mut self, record: &TraceRecord) {
        let TraceRecord { time_ns, vm, gpu, missed, change } = record;
        self.missed += missed;
        // Records can be slightly out of order, because several threads of vcudad publish them.
        // Times in the trace must not decrease, so use the highest time so far.
        let at = time_ns.saturating_sub(*self.first.get_or_insert(*time_ns));
        let at = at.max(self.last);
        self.last = at;
        if let TraceChange::Memory { used } = change {
            self.events.push(json!({
                "ph": "C", "name": format!("memory of {vm}"), "pid": gpu, "tid": 0,
                "ts": micros(at), "args": { "bytes": used },
            }));
            return;
        }
        let next = self.tracks.len() as u64;
        let track = self.tracks.entry((*gpu, vm.clone())).or_insert_with(|| {
            let tracks = Track { number: 1 + next * LANES.len() as u64, ..Track::default() };
            for (lane, suffix) in (tracks.number..).zip(LANES) {
                self.events.push(json!({
                    "ph": "M", "name": "thread_name", "pid": gpu, "tid": lane,
                    "args": { "name": format!("{vm}{suffix}") },
                }));
            }
            tracks
        });
        track.apply(*change);
        let lanes = track.lanes();
        extend(track, lanes, *gpu, at, &mut self.events);
    }

    /// Ends all periods, and returns the trace as JSON.
    pub(crate) fn finish(mut self) -> Value {
        for ((gpu, _), track) in &mut self.tracks {
            extend(track, [None; LANES.len()], *gpu, self.last, &mut self.events);
        }
        let mut gpus: Vec<u32> = self.tracks.keys().map(|(gpu, _)| *gpu).collect();
        gpus.dedup();
        self.events.extend(gpus.into_iter().map(|gpu| {
            json!({
                "ph": "M", "name": "process_name", "pid": gpu, "tid": 0,
                "args": { "name": format!("GPU {gpu}") },
            })
        }));
        let missed = self.missed.to_string();
        json!({
            "traceEvents": self.events, "displayTimeUnit": "ms",
            "otherData": { "program": "vcudactl trace", "missed_records": missed },
        })
    }
}

/// For each lane whose period has changed, ends the old period and begins the new one.
fn extend(
    track: &mut Track,
    lanes: [Option<&'static str>; LANES.len()],
    gpu: u32,
    at: u64,
    events: &mut Vec<Value>,
) {
    for ((shown, now), lane) in track.shown.iter_mut().zip(lanes).zip(track.number..) {
        if shown.map(|(name, _)| name) == now {
            continue;
        }
        // Leave out periods of zero length. They occur when the scheduler makes several changes at
        // the same time.
        if let Some((name, since)) = shown.take().filter(|(_, since)| *since < at) {
            events.push(json!({
                "ph": "X", "cat": "gpu", "name": name, "pid": gpu, "tid": lane,
                "ts": micros(since), "dur": micros(at - since),
            }));
        }
        *shown = now.map(|name| (name, at));
    }
}

/// Converts nanoseconds to microseconds.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time_ns: u64, vm: &str, change: TraceChange) -> TraceRecord {
        TraceRecord { time_ns, vm: vm.into(), gpu: 0, missed: 0, change }
    }

    fn state(gate: TraceGate, busy: bool, waiting: bool, off: bool) -> TraceChange {
        let waits_for = waiting.then_some(WaitReason::Turn);
        TraceChange::State(TraceState { gate, busy, waits_for, copying: false, off })
    }

    /// Returns the periods of a lane in a trace as text.
    fn periods(trace: &Value, lane: u64) -> Vec<String> {
        let events = trace["traceEvents"].as_array().unwrap();
        let of_lane = |event: &&Value| event["ph"] == "X" && event["tid"] == lane;
        let text = |event: &Value| format!("{} {} {}", event["name"], event["ts"], event["dur"]);
        events.iter().filter(of_lane).map(text).collect()
    }

    #[test]
    fn an_eviction_is_four_periods_in_the_lane_of_its_vm() {
        use TraceGate::{Closed, Window};
        let mut trace = Trace::default();
        trace.add(&record(1_000_000, "batch", state(Window, true, false, false)));
        trace.add(&record(3_000_000, "batch", state(Closed, true, false, true)));
        trace.add(&record(3_000_000, "web", state(Window, true, false, false)));
        trace.add(&record(3_400_000, "batch", TraceChange::Evicted));
        trace.add(&record(4_000_000, "web", state(Closed, false, true, false)));
        trace.add(&record(4_000_000, "batch", state(Window, true, false, false)));
        trace.add(&record(4_500_000, "batch", TraceChange::Returned));
        trace.add(&record(5_000_000, "web", TraceChange::Memory { used: 7 }));
        let trace = trace.finish();
        let batch = [
            "\"window\" 0.0 2000.0",
            "\"being evicted\" 2000.0 400.0",
            "\"evicted\" 2400.0 600.0",
            "\"returning\" 3000.0 500.0",
            "\"window\" 3500.0 500.0",
        ];
        assert_eq!(periods(&trace, 1), batch);
        assert_eq!(periods(&trace, 4), ["\"window\" 2000.0 1000.0"]);
        assert_eq!(periods(&trace, 5), ["\"turn\" 3000.0 1000.0"]);
    }

    /// Checks that each type of event in a trace has the fields that the Trace Event Format
    /// requires.
    #[test]
    fn every_event_has_the_fields_that_its_type_requires() {
        let mut trace = Trace::default();
        trace.add(&record(5, "a", state(TraceGate::Shared, true, true, false)));
        trace.add(&TraceRecord { missed: 3, ..record(9, "a", TraceChange::Memory { used: 1 }) });
        assert_eq!(trace.missed(), 3);
        let trace = trace.finish();
        assert_eq!(trace["otherData"]["missed_records"], "3");
        for event in trace["traceEvents"].as_array().unwrap() {
            let numbers: &[&str] = match event["ph"].as_str().unwrap() {
                "X" => &["ts", "dur"],
                "C" => &["ts"],
                "M" => &[],
                other => panic!("unexpected type {other}"),
            };
            assert!(event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64());
            assert!(numbers.iter().all(|name| event[name].as_f64().unwrap() >= 0.0), "{event}");
            assert!(event["ph"] == "X" || event["args"].is_object(), "{event}");
        }
    }
}
