//! One worker, as the scheduler's thread sees it. All that is read here the worker may have made up.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpu_scheduler::{GpuKey, MS, Nanos, SEC, VmKey};
use host_ipc::doorbell;
use host_ipc::gate::{GateMap, GpuGate, Grant, MAX_GPUS, Mode};

/// A heartbeat that stands for so long has stopped: the worker's window is passed on.
pub(super) const BEAT_LOST: Nanos = 60 * MS;
/// After so long the worker is ended. A host that is short of processors may keep it from beating
/// for a moment.
pub(super) const BEAT_DEAD: Nanos = SEC / 2;
/// Heartbeats are looked at so often. Whoever looks later than that has been kept from it himself,
/// and knows nothing of the others.
pub(super) const BEAT_LOOK: Nanos = 20 * MS;
/// Rings that are listened to in one `RING_PERIOD`; the worker is heard again in the next.
const MAX_RINGS: u32 = 200;
const RING_PERIOD: Nanos = 10 * MS;

/// What the service hands over with a worker.
#[derive(Clone)]
pub(super) struct WorkerEnds {
    pub vm: VmKey,
    /// By the worker's device ordinal.
    pub gpus: Arc<[GpuKey]>,
    pub page: Arc<GateMap>,
    /// The end to ring with.
    pub doorbell: Arc<OwnedFd>,
    /// The worker's as much as ours: it is watched, and neither read nor written.
    pub bell: Arc<OwnedFd>,
}

/// How a gate is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stand {
    pub mode: Mode,
    pub until: Nanos,
    pub depth: Nanos,
}

/// Nobody may.
pub(super) const CLOSED: Stand = Stand { mode: Mode::Closed, until: 0, depth: 0 };

/// What the heartbeat says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beating {
    /// Nothing new.
    Same,
    /// It is lost: the worker no longer counts.
    Lost,
    /// It is back.
    Back,
    /// It has been lost for long.
    Dead,
}

/// A worker.
pub(super) struct Worker {
    pub parts: WorkerEnds,
    /// The page's epochs, which the worker could write to.
    epochs: [u64; MAX_GPUS],
    beat: u64,
    beat_since: Nanos,
    /// Its heartbeat stands: what it says does not count.
    pub lost: bool,
    reported: bool,
    /// When it is to be ended: its session has been told. `Nanos::MAX` once that was asked for.
    pub condemned: Option<Nanos>,
    rings: u32,
    rings_since: Nanos,
    /// Its bell is not listened to until then.
    pub muted: Option<Nanos>,
}

impl Worker {
    pub(super) fn new(parts: WorkerEnds, now: Nanos) -> Self {
        let epochs = std::array::from_fn(|i| parts.page.gpus[i].grant().epoch);
        Self {
            parts,
            epochs,
            beat: 0,
            beat_since: now,
            lost: false,
            reported: false,
            condemned: None,
            rings: 0,
            rings_since: now,
            muted: None,
        }
    }

    /// Its gate on a GPU, with the ordinal.
    pub(super) fn gate(&self, gpu: GpuKey) -> Option<(usize, &GpuGate)> {
        let ordinal = self.parts.gpus.iter().take(MAX_GPUS).position(|key| *key == gpu)?;
        Some((ordinal, &self.parts.page.gpus[ordinal]))
    }

    /// Sets one gate. Whoever may sleep and has something to do is woken.
    pub(super) fn set(&mut self, gpu: GpuKey, stand: Stand) {
        let Some((ordinal, _)) = self.gate(gpu) else { return };
        self.epochs[ordinal] += 1;
        let gate = &self.parts.page.gpus[ordinal];
        let grant = Grant { epoch: self.epochs[ordinal], mode: stand.mode };
        gate.open(grant, stand.until, stand.depth);
        // Read after the grant was written: the worker writes first, and reads the grant then.
        let wanted = match stand.mode {
            Mode::Closed => gate.active.load(Ordering::SeqCst) != 0,
            _ => gate.held.load(Ordering::SeqCst) != 0 || gate.active.load(Ordering::SeqCst) != 0,
        };
        if wanted {
            doorbell::ring(&*self.parts.doorbell);
        }
    }

    /// Sets what it may copy while a gate is closed. If it may again, it is told.
    pub(super) fn set_copies(&self, gpu: GpuKey, depth: Nanos) {
        let Some((_, gate)) = self.gate(gpu) else { return };
        let before = gate.copies.swap(depth, Ordering::SeqCst);
        if before == 0 && gate.held.load(Ordering::SeqCst) != 0 {
            doorbell::ring(&*self.parts.doorbell);
        }
    }

    /// Ends the session: every call is answered with this result.
    pub(super) fn condemn(&mut self, verdict: u32, at: Nanos) {
        self.parts.page.worker.verdict.store(verdict.into(), Ordering::SeqCst);
        doorbell::ring(&*self.parts.doorbell);
        self.condemned = Some(at);
    }

    /// Whether its heart is to beat: it says so, or it has work on a GPU, or wants it.
    pub(super) fn is_to_beat(&self) -> bool {
        if self.parts.page.worker.beating.load(Ordering::Acquire) != 0 {
            return true;
        }
        let gates = self.parts.page.gpus.iter().take(self.parts.gpus.len());
        gates.into_iter().any(GpuGate::is_in_use)
    }

    /// Looks at the heartbeat. `late`: this thread has not looked in time.
    pub(super) fn look_at_beat(&mut self, late: bool, now: Nanos) -> Beating {
        let beat = self.parts.page.worker.beat.load(Ordering::Relaxed);
        if beat != self.beat || !self.is_to_beat() {
            (self.beat, self.beat_since) = (beat, now);
            return if std::mem::take(&mut self.lost) { Beating::Back } else { Beating::Same };
        }
        if late {
            self.beat_since = self.beat_since.max(now.saturating_sub(BEAT_LOST / 2));
        }
        let stands = now.saturating_sub(self.beat_since);
        if stands > BEAT_DEAD && !self.reported {
            (self.lost, self.reported) = (true, true);
            return Beating::Dead;
        }
        if stands > BEAT_LOST && !self.lost {
            self.lost = true;
            return Beating::Lost;
        }
        Beating::Same
    }

    /// The bell was rung. Whether it is to be listened to any longer.
    pub(super) fn rang(&mut self, now: Nanos) -> bool {
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
        self.parts.bell.as_raw_fd()
    }
}
