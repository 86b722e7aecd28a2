//! Trace points, which the scheduler's threads publish. Publishing never waits for a reader.

use std::collections::BTreeMap;

use tokio::sync::broadcast;

use super::model::TraceChange;

/// Number of points by which a reader can lag behind before it misses some.
const POINTS: usize = 1 << 14;

/// A change of a VM on a GPU, with the scheduler's keys.
#[derive(Clone, Copy, Debug)]
pub struct TracePoint {
    /// Time on the monotonic clock, in ns.
    pub time_ns: u64,
    /// The VM's key. VMs in the same MPS group have the same one.
    pub vm: u64,
    /// The GPU's index.
    pub gpu: u32,
    /// The change that the point reports.
    pub change: TraceChange,
}

/// Publishes trace points. Never blocks.
#[derive(Clone, Debug)]
pub struct Traces(broadcast::Sender<TracePoint>);

impl Default for Traces {
    fn default() -> Self {
        Self(broadcast::Sender::new(POINTS))
    }
}

impl Traces {
    /// Returns true if somebody reads the points.
    pub fn are_wanted(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Publishes a point.
    pub fn publish(&self, point: TracePoint) {
        let _ = self.0.send(point);
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<TracePoint> {
        self.0.subscribe()
    }
}

/// The names of the VMs that have each key in trace points.
pub type TraceNames = BTreeMap<u64, String>;
