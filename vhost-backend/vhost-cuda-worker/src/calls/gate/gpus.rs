//! The gates of all GPUs, with the gate page, the scheduler's bell, and the heartbeat.

use std::sync::atomic::Ordering;

use super::beat::Beat;
use super::device::{Device, Observation};
use crate::executor::Pending;
use crate::gate_end::GateEnd;
use host_ipc::eventfd::notify;
use host_ipc::gate::{self, GpuGate, Mode};

/// The gates of all GPUs. The parameter `device` of its methods is the worker's ordinal for a GPU.
pub(super) struct Gpus {
    end: GateEnd,
    devices: Vec<Device>,
    beat: Option<Beat>,
}

impl Gpus {
    /// Starts the heartbeat if there is a scheduler, and reads the scheduler's grants from the gate
    /// page.
    pub(super) fn new(end: GateEnd, count: usize) -> Self {
        let beat = match end.bell {
            Some(_) => Beat::start(end.page.clone())
                .inspect_err(|error| tracing::error!("cannot start the heartbeat: {error}"))
                .ok(),
            None => None,
        };
        let now = gate::now();
        let devices = (0..count.min(gate::MAX_GPUS)).map(|_| Device::new(now)).collect();
        let mut gpus = Self { end, devices, beat };
        gpus.read(now);
        gpus
    }

    /// Returns the number of GPUs.
    pub(super) fn len(&self) -> usize {
        self.devices.len()
    }

    /// Returns one GPU's gate.
    pub(super) fn device(&self, device: usize) -> &Device {
        &self.devices[device]
    }

    /// Returns one GPU's gate and the part of the gate page for that GPU.
    pub(super) fn with_page(&mut self, device: usize) -> (&mut Device, &GpuGate) {
        (&mut self.devices[device], &self.end.page.gpus[device])
    }

    fn pairs(&mut self) -> impl Iterator<Item = (&mut Device, &GpuGate)> {
        self.devices.iter_mut().zip(&self.end.page.gpus)
    }

    /// Increments the session's count of calls, which operators can read.
    #[inline]
    pub(super) fn count_call(&self) {
        gate::bump(&self.end.page.worker.calls, 1);
    }

    /// Returns the CUresult with which the scheduler has ended the session, or 0 if it hasn't.
    pub(super) fn verdict(&self) -> u32 {
        self.end.page.worker.verdict.load(Ordering::Relaxed) as u32
    }

    /// Reads the scheduler's grants from the gate page. Returns whether any grant has changed.
    pub(super) fn read(&mut self, now: u64) -> bool {
        self.pairs().fold(false, |any, (device, page)| {
            let changed = device.read(page, now);
            any | changed
        })
    }

    /// Returns whether a gated call on `device` can begin without further checks.
    #[inline]
    pub(super) fn is_wide(&self, device: usize) -> bool {
        self.devices[device].is_wide(&self.end.page.gpus[device])
    }

    /// Returns whether the streams must be checked for finished calls now.
    pub(super) fn wants_look(&self, now: u64) -> bool {
        self.devices.iter().any(|device| device.wants_look(now))
    }

    /// Reports in the gate page that calls may be in flight on `device`. Returns `false` if the
    /// grant has changed in the meantime, so that no call may begin.
    pub(super) fn enter(&mut self, device: usize) -> bool {
        let (device, page) = self.with_page(device);
        if device.is_active() {
            return true;
        }
        let enters = device.enter(page);
        let ring = !enters || device.mode() == Mode::Standby;
        self.ring(ring);
        if enters {
            self.wake_heartbeat();
        }
        enters
    }

    /// Does the same as [`Gpus::enter`] for a call that creates or destroys a context. Reports the
    /// context work before it reports that the gate is in use, so that the scheduler never sees a
    /// gate in use without the context work.
    pub(super) fn enter_for_context(&mut self, device: usize) -> bool {
        self.end.page.gpus[device].begin_context();
        let enters = self.enter(device);
        if !enters {
            self.end.page.gpus[device].end_context();
        }
        enters
    }

    /// Records that a gated call has begun. If the gate is neither open nor on standby, the call is
    /// a copy that may begin while the gate is closed.
    pub(super) fn began(&mut self, device: usize, now: u64) {
        let (device, page) = self.with_page(device);
        if device.mode().is_open() || device.mode() == Mode::Standby && device.is_active() {
            device.began(now);
        } else {
            let ring = device.began_copy(page, now);
            self.ring(ring);
            self.wake_heartbeat();
        }
    }

    /// Records that the gate holds one more call for this GPU.
    pub(super) fn hold(&mut self, device: usize) {
        self.end.page.gpus[device].held.fetch_add(1, Ordering::SeqCst);
        self.wake_heartbeat();
    }

    /// Records that none of the gates holds any calls.
    pub(super) fn release_all(&mut self) {
        self.pairs().for_each(|(_, page)| page.held.store(0, Ordering::SeqCst));
    }

    /// Returns whether any GPU's gate is closed while it holds calls or has unfinished calls. Those
    /// unfinished calls have been taken off the GPU, or soon will be.
    pub(super) fn any_waits(&self) -> bool {
        self.devices.iter().zip(&self.end.page.gpus).any(|(device, page)| {
            matches!(device.mode(), Mode::Closed | Mode::Prepare)
                && (device.is_active() || page.held.load(Ordering::Relaxed) > 0)
        })
    }

    /// Returns whether any GPU's gate is open.
    pub(super) fn any_open(&self) -> bool {
        self.devices.iter().any(|device| device.mode().is_open())
    }

    /// Records the result of a check of all streams, and wakes the scheduler if necessary.
    pub(super) fn record_observations(&mut self, seen: &[Observation], now: u64) {
        let mut ring = false;
        for ((device, page), seen) in self.pairs().zip(seen) {
            ring |= device.observe(page, seen, now);
        }
        self.ring(ring);
    }

    /// Wakes the scheduler if a closed gate holds calls or the VM's window is idle, unless the
    /// scheduler has already been notified of that.
    pub(super) fn notify_scheduler(&mut self, now: u64) {
        let mut ring = false;
        for (device, page) in self.pairs() {
            ring |= device.wants_bell(page, now);
        }
        self.ring(ring);
    }

    /// Returns when the streams must be checked again.
    pub(super) fn next_look(&self, now: u64) -> Pending {
        let times = self.devices.iter().map(|device| device.again(now));
        times.min().unwrap_or(Pending::Nothing)
    }

    fn wake_heartbeat(&self) {
        if let Some(beat) = &self.beat {
            beat.wake();
        }
    }

    fn ring(&self, ring: bool) {
        if ring && let Some(bell) = &self.end.bell {
            notify(&**bell);
        }
    }
}
