//! One worker's gate page, bell, and heartbeat, for the scheduler's thread. A compromised worker
//! can write any value into the page.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpu_scheduler::{GpuKey, MS, Nanos, SEC, VmKey};
use host_ipc::doorbell;
use host_ipc::gate::{GateMap, GpuGate, Grant, MAX_GPUS, Mode};

/// A heartbeat that hasn't changed for this long has stopped: the worker's window passes to another
/// VM.
pub(super) const BEAT_LOST: Nanos = 60 * MS;
/// A worker whose heartbeat has stopped for this long is killed. The limit is longer than
/// [`BEAT_LOST`], because a host short of processors can delay a healthy worker's heartbeat.
pub(super) const BEAT_DEAD: Nanos = SEC / 2;
/// How often heartbeats are checked. If a check is late, this thread itself was delayed, so it
/// can't conclude that a worker's heartbeat has stopped.
pub(super) const BEAT_CHECK: Nanos = 20 * MS;
/// Rings per `RING_PERIOD` after which a worker's bell is ignored until the next period.
const MAX_RINGS: u32 = 200;
const RING_PERIOD: Nanos = 10 * MS;

/// The broker's ends of a worker's channels, which the service passes to this thread.
#[derive(Clone)]
pub(super) struct WorkerEnds {
    pub vm: VmKey,
    /// The GPUs, by the worker's device ordinal.
    pub gpus: Arc<[GpuKey]>,
    pub page: Arc<GateMap>,
    /// The end that wakes the worker.
    pub doorbell: Arc<OwnedFd>,
    /// The eventfd that wakes this thread. The worker holds it too and can make it blocking, so it
    /// is only watched, and never read or written.
    pub bell: Arc<OwnedFd>,
}

/// The values that the broker writes into a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GateSetting {
    pub mode: Mode,
    pub until: Nanos,
    pub depth: Nanos,
}

/// A closed gate: no work may start.
pub(super) const CLOSED: GateSetting = GateSetting { mode: Mode::Closed, until: 0, depth: 0 };

/// The result of checking a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heartbeat {
    /// No change of state since the last check.
    Unchanged,
    /// It has stopped: the worker's reports are ignored from now on.
    Lost,
    /// It has resumed after a loss.
    Resumed,
    /// It has stopped for so long that the worker must be killed.
    Dead,
}

/// One worker.
pub(super) struct Worker {
    pub ends: WorkerEnds,
    /// The epoch of each gate. The page's copy isn't used, since the worker could change it.
    epochs: [u64; MAX_GPUS],
    beat: u64,
    beat_since: Nanos,
    /// The heartbeat has stopped: the worker's reports are ignored.
    pub lost: bool,
    reported: bool,
    /// When to kill the worker, once its session has got an error to report. `Nanos::MAX` after the
    /// service has been asked to kill it.
    pub kill_at: Option<Nanos>,
    rings: u32,
    rings_since: Nanos,
    /// The bell is ignored until then, because it rang too often.
    pub muted: Option<Nanos>,
}

impl Worker {
    pub(super) fn new(ends: WorkerEnds, now: Nanos) -> Self {
        let epochs = std::array::from_fn(|i| ends.page.gpus[i].grant().epoch);
        Self {
            ends,
            epochs,
            beat: 0,
            beat_since: now,
            lost: false,
            reported: false,
            kill_at: None,
            rings: 0,
            rings_since: now,
            muted: None,
        }
    }

    /// The worker's gate on a GPU, with the GPU's ordinal.
    pub(super) fn gate(&self, gpu: GpuKey) -> Option<(usize, &GpuGate)> {
        let ordinal = self.ends.gpus.iter().take(MAX_GPUS).position(|key| *key == gpu)?;
        Some((ordinal, &self.ends.page.gpus[ordinal]))
    }

    /// Sets the gate on a GPU. Wakes the worker if it may be asleep and the change affects its
    /// work.
    pub(super) fn set(&mut self, gpu: GpuKey, setting: GateSetting) {
        let Some((ordinal, _)) = self.gate(gpu) else { return };
        self.epochs[ordinal] += 1;
        let gate = &self.ends.page.gpus[ordinal];
        let grant = Grant { epoch: self.epochs[ordinal], mode: setting.mode };
        gate.open(grant, setting.until, setting.depth);
        // Read these after writing the grant. The worker writes them before it reads the grant, so
        // one side always sees the other's write.
        let wanted = match setting.mode {
            Mode::Closed => gate.active.load(Ordering::SeqCst) != 0,
            _ => gate.held.load(Ordering::SeqCst) != 0 || gate.active.load(Ordering::SeqCst) != 0,
        };
        if wanted {
            doorbell::ring(&*self.ends.doorbell);
        }
    }

    /// Sets how much the worker may copy while its gate is closed. Wakes the worker if it may copy
    /// again and has held work.
    pub(super) fn set_copies(&self, gpu: GpuKey, depth: Nanos) {
        let Some((_, gate)) = self.gate(gpu) else { return };
        let before = gate.copies.swap(depth, Ordering::SeqCst);
        if before == 0 && gate.held.load(Ordering::SeqCst) != 0 {
            doorbell::ring(&*self.ends.doorbell);
        }
    }

    /// Makes every further call of the session return this CUDA error. The worker is killed at
    /// `at`.
    pub(super) fn end_session(&mut self, verdict: u32, at: Nanos) {
        self.ends.page.worker.verdict.store(verdict.into(), Ordering::SeqCst);
        doorbell::ring(&*self.ends.doorbell);
        self.kill_at = Some(at);
    }

    /// Whether the heartbeat must change: the worker has announced that it beats, or it has work on
    /// a GPU or waits for one.
    pub(super) fn must_beat(&self) -> bool {
        if self.ends.page.worker.beating.load(Ordering::Acquire) != 0 {
            return true;
        }
        let gates = self.ends.page.gpus.iter().take(self.ends.gpus.len());
        gates.into_iter().any(GpuGate::is_in_use)
    }

    /// Checks the heartbeat. `late`: this check is overdue, because this thread was delayed.
    pub(super) fn check_heartbeat(&mut self, late: bool, now: Nanos) -> Heartbeat {
        let beat = self.ends.page.worker.beat.load(Ordering::Relaxed);
        if beat != self.beat || !self.must_beat() {
            (self.beat, self.beat_since) = (beat, now);
            return if std::mem::take(&mut self.lost) {
                Heartbeat::Resumed
            } else {
                Heartbeat::Unchanged
            };
        }
        if late {
            self.beat_since = self.beat_since.max(now.saturating_sub(BEAT_LOST / 2));
        }
        let stopped_for = now.saturating_sub(self.beat_since);
        if stopped_for > BEAT_DEAD && !self.reported {
            (self.lost, self.reported) = (true, true);
            return Heartbeat::Dead;
        }
        if stopped_for > BEAT_LOST && !self.lost {
            self.lost = true;
            return Heartbeat::Lost;
        }
        Heartbeat::Unchanged
    }

    /// Counts a ring of the bell. Returns whether to keep watching the bell.
    pub(super) fn count_ring(&mut self, now: Nanos) -> bool {
        if now.saturating_sub(self.rings_since) > RING_PERIOD {
            (self.rings, self.rings_since) = (0, now);
        }
        self.rings += 1;
        if self.rings > MAX_RINGS {
            self.muted = Some(self.rings_since + RING_PERIOD);
        }
        self.muted.is_none()
    }

    pub(super) fn bell(&self) -> RawFd {
        self.ends.bell.as_raw_fd()
    }
}
