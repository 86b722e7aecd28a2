//! Trace points, which the scheduler's threads publish. Publishing never blocks on readers.

use std::collections::BTreeMap;

use tokio::sync::broadcast;

use super::model::TraceChange;

/// Number of points by which a reader can lag behind before it misses points.
const POINTS: usize = 1 << 14;

/// A change of a VM's state on a GPU. The VM is identified by the scheduler's key.
#[derive(Clone, Copy, Debug)]
pub struct TracePoint {
    /// Time on the monotonic clock, in ns.
    pub time_ns: u64,
    /// The VM's key. All VMs in an MPS group have the same key.
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
    /// Returns true if there are subscribers, so that points must be published.
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

/// The VMs' names, by the key in trace points. If several VMs share a key, the value contains all
/// their names, joined by `+`.
pub type TraceNames = BTreeMap<u64, String>;
