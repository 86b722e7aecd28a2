//! The worker's side of all GPUs' gates: the page, the bell, and the heartbeat.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::beat::Beat;
use super::device::{Again, Device, Observation};
use super::end::GateEnd;
use crate::executor::Pending;
use host_ipc::eventfd::notify;
use host_ipc::gate::{self, GpuGate, Mode};

/// The gates of all GPUs.
pub(super) struct Gpus {
    end: GateEnd,
    devices: Vec<Device>,
    beat: Option<Beat>,
}

impl Gpus {
    /// Starts the heartbeat if there is a scheduler, and reads the grants.
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

    /// Returns one GPU's gate and its part of the page.
    #[inline]
    fn with_page(&mut self, device: usize) -> (&mut Device, &GpuGate) {
        (&mut self.devices[device], &self.end.page.gpus[device])
    }

    fn pairs(&mut self) -> impl Iterator<Item = (&mut Device, &GpuGate)> {
        self.devices.iter_mut().zip(&self.end.page.gpus)
    }

    /// Counts a call of the session, for the operator.
    #[inline]
    pub(super) fn count_call(&self) {
        gate::bump(&self.end.page.worker.calls, 1);
    }

    /// Returns the result with which the scheduler has ended the session, or 0.
    pub(super) fn verdict(&self) -> u32 {
        self.end.page.worker.verdict.load(Ordering::Relaxed) as u32
    }

    /// Reads the grants. Returns whether any grant has changed.
    pub(super) fn read(&mut self, now: u64) -> bool {
        self.pairs().fold(false, |any, (device, page)| {
            let changed = device.read(page, now);
            any | changed
        })
    }

    /// Reads the grant of one GPU, and returns its mode.
    pub(super) fn read_mode(&mut self, device: usize, now: u64) -> Mode {
        let (device, page) = self.with_page(device);
        device.read(page, now);
        device.mode()
    }

    /// Returns whether a gated call for a GPU can run without further checks.
    #[inline]
    pub(super) fn is_wide(&self, device: usize) -> bool {
        self.devices[device].is_wide(&self.end.page.gpus[device])
    }

    /// Returns the GPUs on which time is kept now, as bits.
    pub(super) fn timed_now(&self, now: u64) -> u32 {
        self.bits(|device| device.is_timed(now))
    }

    /// Returns the GPUs on which a depth is kept, as bits.
    pub(super) fn with_depth(&self) -> u32 {
        self.bits(|device| !device.is_sampled())
    }

    fn bits(&self, holds: impl Fn(&Device) -> bool) -> u32 {
        let bit = |(at, device): (usize, &Device)| u32::from(holds(device)) << at;
        self.devices.iter().enumerate().map(bit).sum()
    }

    /// Returns whether a look at the streams is due.
    pub(super) fn wants_look(&self, now: u64) -> bool {
        self.devices.iter().any(|device| device.wants_look(now))
    }

    /// See [`Device::lets_begin`].
    pub(super) fn lets_begin(
        &self,
        device: usize,
        ahead: Option<u64>,
        lasts: u64,
        now: u64,
    ) -> bool {
        self.devices[device].lets_begin(&self.end.page.gpus[device], ahead, lasts, now)
    }

    /// See [`Device::lets_copy`].
    pub(super) fn lets_copy(&self, device: usize, ahead: Option<u64>, lasts: u64) -> bool {
        self.devices[device].lets_copy(&self.end.page.gpus[device], ahead, lasts)
    }

    /// See [`Device::count_passed`].
    #[inline]
    pub(super) fn count_passed(&mut self, device: usize) {
        let (device, page) = self.with_page(device);
        device.count_passed(page);
    }

    /// Declares a GPU in use. Returns whether the gate was still open then.
    pub(super) fn enter(&mut self, device: usize) -> bool {
        let (device, page) = self.with_page(device);
        let was_active = device.is_active();
        match device.enter(page) {
            Ok(()) => {
                if !was_active {
                    self.wake_heartbeat();
                }
                true
            }
            Err(ring) => {
                self.ring(ring);
                false
            }
        }
    }

    /// Records that a gated call has begun: either the gate is open, or the call is a copy that may
    /// begin while it is closed.
    pub(super) fn began(&mut self, device: usize, now: u64) {
        let (device, page) = self.with_page(device);
        if device.mode().is_open() {
            device.began(page, now);
        } else {
            let ring = device.began_copy(page, now);
            self.ring(ring);
            self.wake_heartbeat();
        }
    }

    /// Records that a gated call is held.
    pub(super) fn hold(&mut self, device: usize) {
        let (device, page) = self.with_page(device);
        device.hold(page);
        self.wake_heartbeat();
    }

    /// Records that a gated call is no longer held.
    pub(super) fn release(&mut self, device: usize) {
        let (device, page) = self.with_page(device);
        device.release(page);
    }

    /// Records that no call is held any more.
    pub(super) fn release_all(&mut self) {
        self.pairs().for_each(|(device, page)| device.release_all(page));
    }

    /// Records the result of a look at all streams.
    pub(super) fn record_observations(&mut self, seen: &[Observation], now: u64) {
        let mut ring = false;
        for ((device, page), seen) in self.pairs().zip(seen) {
            ring |= device.observe(page, seen, now);
        }
        self.ring(ring);
    }

    /// Notifies the scheduler if it waits for something that has happened.
    pub(super) fn notify_scheduler(&mut self, now: u64) {
        let mut ring = false;
        for (device, page) in self.pairs() {
            ring |= device.wants_bell(page, now);
        }
        self.ring(ring);
    }

    /// Returns when the next look at the gates is due.
    pub(super) fn next_look(&self, now: u64) -> Pending {
        let again = self.devices.iter().map(|device| device.again(now));
        again.fold(Pending::Nothing, |soonest, again| match (soonest, again) {
            (Pending::Soon, _) | (_, Again::Now) => Pending::Soon,
            (pending, Again::Whenever) => pending,
            (Pending::Within(a), Again::In(b)) => Pending::Within(a.min(Duration::from_nanos(b))),
            (Pending::Nothing, Again::In(b)) => Pending::Within(Duration::from_nanos(b)),
        })
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
