//! The gate of a session: its GPUs, and what is held.

use std::collections::{HashMap, HashSet};

use protocol::ids::ContextId;

use super::beat;
use super::device::{Device, Observation};
use super::end::GateEnd;
use super::held::Held;
use super::order::{Book, Number, Resource};
use host_ipc::eventfd::notify;
use host_ipc::gate;

/// The gate of a session.
pub(in crate::calls) struct Gate {
    pub(super) end: GateEnd,
    pub(super) devices: Vec<Device>,
    /// The context of the last gated call that was let through, and its GPU.
    pub(super) last: (ContextId, usize),
    /// There is no room in the driver.
    pub(super) full: bool,
    /// As much is queued in some stream as may be while no depth is kept; and how fast it goes is
    /// not known so far.
    pub(super) long: bool,
    pub(super) hurry: bool,
    pub(super) book: Book,
    pub(super) held: HashMap<Number, Held>,
    /// Bytes of what is held.
    pub(super) bytes: usize,
    /// Held frees: what they free can't be had again yet.
    pub(super) frees: usize,
    /// Streams and events whose end is held.
    pub(super) ended: HashSet<Resource>,
    pub(super) beat: Option<beat::Beat>,
    /// What every call is answered with, once the scheduler has ended the session.
    pub(super) verdict: u32,
}

impl Gate {
    pub(in crate::calls) fn new(end: GateEnd, devices: usize) -> Self {
        let beat = match end.bell {
            Some(_) => beat::Beat::start(end.page.clone())
                .inspect_err(|error| tracing::error!("no heartbeat: {error}"))
                .ok(),
            None => None,
        };
        let now = gate::now();
        let mut gate = Self {
            devices: (0..devices.min(gate::MAX_GPUS)).map(|_| Device::new(now)).collect(),
            end,
            last: (ContextId::NONE, 0),
            full: false,
            long: false,
            hurry: false,
            book: Book::default(),
            held: HashMap::new(),
            bytes: 0,
            frees: 0,
            ended: HashSet::new(),
            beat,
            verdict: 0,
        };
        gate.read(now);
        gate
    }

    /// Reads the scheduler's words; whether any has changed.
    pub(super) fn read(&mut self, now: u64) -> bool {
        let pages = &self.end.page.gpus;
        self.devices.iter_mut().zip(pages).fold(false, |any, (device, page)| {
            let changed = device.read(page, now);
            any | changed
        })
    }

    /// Whether a gated call of a context can go without a closer look.
    #[inline]
    pub(super) fn is_wide(&self, ctx: ContextId) -> bool {
        let (last, device) = self.last;
        let room = !self.full && !self.long;
        last == ctx && room && self.devices[device].is_wide(&self.end.page.gpus[device])
    }

    /// The GPUs on which time is kept now, as bits.
    pub(super) fn timed_now(&self, now: u64) -> u32 {
        let timed = |(at, device): (usize, &Device)| u32::from(device.is_timed(now)) << at;
        self.devices.iter().enumerate().map(timed).sum()
    }

    /// The GPUs on which a depth is kept, as bits.
    pub(super) fn timed_devices(&self) -> u32 {
        let timed = |(at, device): (usize, &Device)| u32::from(!device.is_sampled()) << at;
        self.devices.iter().enumerate().map(timed).sum()
    }

    pub(in crate::calls) fn verdict(&self) -> u32 {
        self.verdict
    }

    /// As [`Device::enter`].
    pub(super) fn enter(&mut self, device: usize) -> bool {
        let was = self.devices[device].active;
        match self.devices[device].enter(&self.end.page.gpus[device]) {
            Ok(()) => {
                if !was {
                    self.show_life();
                }
                true
            }
            Err(ring) => {
                self.ring(ring);
                false
            }
        }
    }

    pub(super) fn show_life(&self) {
        if let Some(beat) = &self.beat {
            beat.wake();
        }
    }

    pub(super) fn ring(&self, ring: bool) {
        if ring && let Some(bell) = &self.end.bell {
            notify(&**bell);
        }
    }

    /// Takes note of what a look at all streams has seen.
    pub(super) fn saw(&mut self, sights: &[Observation], now: u64) {
        let mut ring = false;
        for ((device, page), sight) in self.devices.iter_mut().zip(&self.end.page.gpus).zip(sights)
        {
            ring |= device.saw(page, sight, now);
        }
        self.ring(ring);
    }

    /// Tells the scheduler what it waits for.
    pub(super) fn tell(&mut self, now: u64) {
        let mut ring = false;
        for (device, page) in self.devices.iter_mut().zip(&self.end.page.gpus) {
            ring |= device.ring(page, now);
        }
        self.ring(ring);
    }
}
