//! A worker's gate page, bell, and heartbeat, as used by the scheduler thread. A compromised worker
//! can write any value to the page.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use gpu_scheduler::{GpuKey, MS, Nanos, Ring, SEC, VmKey};
use host_ipc::doorbell;
use host_ipc::gate::{GateMap, GpuGate, Grant, MAX_GPUS, Mode};
use rm_control::Objects;

/// If a worker's heartbeat hasn't changed for this long, it counts as stopped, and the worker's
/// window passes to another VM.
pub(super) const BEAT_LOST: Nanos = 60 * MS;
/// If a worker's heartbeat hasn't changed for this long, the worker is killed. This is longer than
/// [`BEAT_LOST`], because a host with too few CPUs can delay a healthy worker's heartbeat.
pub(super) const BEAT_DEAD: Nanos = SEC / 2;
/// [`BEAT_DEAD`] for a worker whose VM has a `cpu.max`. Threads on many CPUs can together use the
/// quota of several periods before the kernel stops them. After that, none of these threads runs
/// for as many periods.
pub(super) const BEAT_DEAD_THROTTLED: Nanos = 5 * SEC;
/// How often heartbeats are checked. If a check is late, this thread was delayed itself, so the
/// check doesn't count as evidence that a heartbeat has stopped.
pub(super) const BEAT_CHECK: Nanos = 20 * MS;
/// If a worker's bell rings more often than this within `RING_PERIOD`, the bell is ignored until
/// the period ends.
const MAX_RINGS: u32 = 200;
const RING_PERIOD: Nanos = 10 * MS;

/// A worker's objects of the driver. More are added while it serves its session.
pub(crate) type WorkerObjects = Arc<Mutex<Objects>>;

/// How a worker's kernels are evicted.
#[derive(Clone)]
pub(crate) enum Evicts {
    /// The worker's objects of the driver. An eviction disables the channels among them.
    Channels(WorkerObjects),
    /// softgpu, which runs in the worker, stops its kernels when the gate page says so.
    GatePage,
}

/// The properties of a worker that the scheduler thread needs.
#[derive(Default)]
pub(crate) struct WorkerTraits {
    /// Whether the VM's CPU time is limited.
    pub(crate) is_throttled: bool,
    /// How the worker's kernels are evicted, if they can be.
    pub(crate) evicts: Option<Evicts>,
    /// True if the worker's gates stay closed even when its VM's gates are open. Its VM is one of
    /// several with the same key, and is paused.
    pub(crate) is_paused: bool,
}

/// The broker's ends of the channels to a worker. The service passes them to the scheduler thread.
#[derive(Clone)]
pub(super) struct WorkerEnds {
    pub vm: VmKey,
    /// The worker's GPUs, by its device ordinal.
    pub gpus: Arc<[GpuKey]>,
    pub page: Arc<GateMap>,
    /// The ringing end of the doorbell, which wakes the worker.
    pub doorbell: Arc<OwnedFd>,
    /// The eventfd with which the worker wakes the scheduler thread. The worker can make it
    /// blocking, so the broker only watches it, and never reads or writes it.
    pub bell: Arc<OwnedFd>,
    /// See [`WorkerTraits::is_throttled`].
    pub is_throttled: bool,
    /// See [`WorkerTraits::evicts`].
    pub evicts: Option<Evicts>,
    /// See [`WorkerTraits::is_paused`].
    pub is_paused: bool,
}

/// The values that the scheduler thread writes to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GateSetting {
    pub mode: Mode,
    pub until: Nanos,
    pub depth: Nanos,
}

/// The setting of a closed gate: the worker may not start work.
pub(super) const CLOSED: GateSetting = GateSetting { mode: Mode::Closed, until: 0, depth: 0 };

/// The result of checking a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heartbeat {
    /// The state of the heartbeat, running or stopped, is the same as at the last check.
    Unchanged,
    /// The heartbeat has stopped. The worker's reports are ignored until it resumes.
    Lost,
    /// The heartbeat has resumed after it had stopped.
    Resumed,
    /// The heartbeat stopped so long ago that the worker must be killed.
    Dead,
}

/// For how much of the last second a worker had work on a GPU, according to the worker.
#[derive(Default)]
struct Use {
    /// The sum of the worker's counters when they last changed, and the time of that change.
    counted: u64,
    changed_at: Nanos,
    ring: Ring,
}

impl Use {
    /// Adds the time that the worker has counted since the last call. Limits it to the time that
    /// has passed since the counters last changed.
    fn sample(&mut self, gate: &GpuGate, now: Nanos) {
        let words = [&gate.busy_ns, &gate.begun_ns, &gate.copied_ns];
        let counted = words.map(|word| word.load(Ordering::Relaxed));
        let counted = counted.into_iter().fold(0, u64::wrapping_add);
        let used = counted.wrapping_sub(self.counted);
        if used != 0 {
            self.ring.add(used.min(now.saturating_sub(self.changed_at)), now);
            (self.counted, self.changed_at) = (counted, now);
        }
    }
}

/// A worker, as the scheduler thread sees it.
pub(super) struct Worker {
    pub ends: WorkerEnds,
    /// The epoch of each gate. The copy in the page isn't used, because the worker could change it.
    epochs: [u64; MAX_GPUS],
    /// The use of each of the worker's GPUs, by device ordinal.
    uses: Vec<Use>,
    beat: u64,
    beat_since: Nanos,
    /// True if the heartbeat has stopped. While it's stopped, the worker's reports are ignored.
    pub lost: bool,
    reported: bool,
    /// When to kill the worker, if its session was given an error to report. `Nanos::MAX` once the
    /// service has been asked to kill the worker.
    pub kill_at: Option<Nanos>,
    rings: u32,
    rings_since: Nanos,
    /// If the bell rang too often, the time until which it is ignored.
    pub muted: Option<Nanos>,
}

impl Worker {
    pub(super) fn new(ends: WorkerEnds, now: Nanos) -> Self {
        let epochs = std::array::from_fn(|i| ends.page.gpus[i].grant().epoch);
        let uses = ends.gpus.iter().take(MAX_GPUS);
        let uses = uses.map(|_| Use { changed_at: now, ..Use::default() }).collect();
        Self {
            ends,
            epochs,
            uses,
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

    /// Returns the worker's gate for a GPU, and the worker's device ordinal for that GPU.
    pub(super) fn gate(&self, gpu: GpuKey) -> Option<(usize, &GpuGate)> {
        let ordinal = self.ends.gpus.iter().take(MAX_GPUS).position(|key| *key == gpu)?;
        Some((ordinal, &self.ends.page.gpus[ordinal]))
    }

    /// Adds the time that the worker has used its GPUs since the last call.
    pub(super) fn sample(&mut self, now: Nanos) {
        for (of_gpu, gate) in self.uses.iter_mut().zip(&self.ends.page.gpus) {
            of_gpu.sample(gate, now);
        }
    }

    /// Returns the worker's GPUs, and the fraction of the last second for which the worker had work
    /// on each, in basis points.
    pub(super) fn shares(&self, now: Nanos) -> impl Iterator<Item = (GpuKey, u32)> + '_ {
        let shares = self.uses.iter().map(move |of_gpu| of_gpu.ring.share(SEC, now));
        self.ends.gpus.iter().copied().zip(shares)
    }

    /// Changes the gate for a GPU, which stays closed if the worker is paused. If the change
    /// affects work that the worker has or holds back, wakes the worker, which may be asleep.
    pub(super) fn set(&mut self, gpu: GpuKey, setting: GateSetting) {
        let Some((ordinal, _)) = self.gate(gpu) else { return };
        let setting = if self.ends.is_paused { CLOSED } else { setting };
        self.epochs[ordinal] += 1;
        let gate = &self.ends.page.gpus[ordinal];
        let grant = Grant { epoch: self.epochs[ordinal], mode: setting.mode };
        gate.open(grant, setting.until, setting.depth);
        // Read `active` and `held` after writing the grant. The worker writes them before it reads
        // the grant. So either this thread sees the worker's new values, or the worker sees the new
        // grant.
        let wanted = match setting.mode {
            Mode::Closed => gate.active.load(Ordering::SeqCst) != 0,
            _ => gate.held.load(Ordering::SeqCst) != 0 || gate.active.load(Ordering::SeqCst) != 0,
        };
        if wanted {
            doorbell::ring(&*self.ends.doorbell);
        }
    }

    /// Sets the limit on copies in flight while the gate is closed. For a paused worker, sets it to
    /// 0. If copies were not allowed before and the worker holds back work, wakes the worker.
    pub(super) fn set_copies(&self, gpu: GpuKey, depth: Nanos) {
        let Some((_, gate)) = self.gate(gpu) else { return };
        let depth = if self.ends.is_paused { 0 } else { depth };
        let before = gate.copies.swap(depth, Ordering::SeqCst);
        if before == 0 && gate.held.load(Ordering::SeqCst) != 0 {
            doorbell::ring(&*self.ends.doorbell);
        }
    }

    /// Returns true if the worker has held work on this GPU that it could start if its gate opened.
    pub(super) fn holds(&self, gate: &GpuGate) -> bool {
        let is_ending = self.kill_at.is_some();
        gate.held.load(Ordering::SeqCst) > 0 && !is_ending && !self.ends.is_paused
    }

    /// Makes every further call in the session return the CUDA error `verdict`. The worker is
    /// killed at `at`.
    pub(super) fn end_session(&mut self, verdict: u32, at: Nanos) {
        self.ends.page.worker.verdict.store(verdict.into(), Ordering::SeqCst);
        doorbell::ring(&*self.ends.doorbell);
        self.kill_at = Some(at);
    }

    /// Returns true if the worker is expected to send heartbeats: it has announced that it sends
    /// them, or it has work on a GPU or is waiting for one.
    pub(super) fn must_beat(&self) -> bool {
        if self.ends.page.worker.beating.load(Ordering::Acquire) != 0 {
            return true;
        }
        let gates = self.ends.page.gpus.iter().take(self.ends.gpus.len());
        gates.into_iter().any(GpuGate::is_in_use)
    }

    /// Checks the heartbeat. `late` says that this check is overdue because the scheduler thread
    /// was delayed.
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
        let dead = if self.ends.is_throttled { BEAT_DEAD_THROTTLED } else { BEAT_DEAD };
        if stopped_for > dead && !self.reported {
            (self.lost, self.reported) = (true, true);
            return Heartbeat::Dead;
        }
        if stopped_for > BEAT_LOST && !self.lost {
            self.lost = true;
            return Heartbeat::Lost;
        }
        Heartbeat::Unchanged
    }

    /// Counts a ring of the bell. Returns false if the bell has rung too often and must be ignored
    /// for now.
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
}
