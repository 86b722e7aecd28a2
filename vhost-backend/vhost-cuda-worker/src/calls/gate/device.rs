//! The worker's state of one GPU's gate. It decides which calls may begin on the GPU, and reports
//! the worker's activity to the scheduler through the gate page.

use std::sync::atomic::Ordering;
use std::time::Duration;

use host_ipc::gate::{GpuGate, Grant, Mode, bump};

use crate::executor::Pending;

/// The interval, in ns, at which the worker checks its streams for finished calls while no other VM
/// wants the GPU.
const SAMPLE: u64 = 1_000_000;
/// The time, in ns, for which the reader polls without sleeping after the gate has changed to
/// Prepare mode.
const AWAKE: u64 = 2_000_000;
/// The time, in ns, after which the worker notifies the scheduler that it's idle, if no call has
/// been in flight during the VM's window for this long. The pauses within a chain of launches are
/// shorter.
const IDLE: u64 = 20_000;
/// The largest depth, in ns, that limits the work in flight including the next call. The scheduler
/// sets the depth in the gate page. With a depth of at most this much, a call may begin only if the
/// estimated time of the calls in flight in its stream and its own time together don't exceed the
/// depth. With a larger depth, the call's own time doesn't count, so that the next call is already
/// queued while a long one runs.
const TIGHT: u64 = 200_000;
/// The time, in ns, for which the reader checks the streams without sleeping after the grant has
/// changed or a call has begun or finished. After that, it may sleep between checks.
const PATIENCE: u64 = 2_000_000;
const SHORTEST_SLEEP: u64 = 20_000;
const LONGEST_SLEEP: u64 = 1_000_000;
/// The minimum time, in ns, between two notifications to the scheduler that copies have begun while
/// the gate is closed. While the scheduler knows of such copies, it polls the gate page without
/// being notified.
const COPY_BELL: u64 = 1_000_000;

/// The state of one GPU's gated calls, found by checking its streams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observation {
    /// The number of gated calls found to have finished since the previous check.
    pub finished: u64,
    /// The number of gated calls that are queued in the driver and haven't finished.
    pub flying: u64,
    /// Whether any gated call in flight is in a stream that isn't waiting for a host function or
    /// for a value in memory.
    pub running: bool,
    /// The earliest time at which an unfinished call reached the head of its stream, or 0 if there
    /// is no such call or the time is unknown.
    pub oldest: u64,
    /// The estimated time by which all calls in flight will have finished, or 0 if it's unknown.
    pub ends: u64,
    /// Whether there are streams with only copies in flight while the gate is closed. The other
    /// fields don't include those copies.
    pub copying: bool,
}

impl Observation {
    /// Counts the calls of a destroyed stream or context as running, because its streams can't be
    /// queried. `begun` is the time since which the first of the calls has been running. It's set
    /// to `now` if it's unknown (0), and to 0 if call times aren't being measured (`timed` is
    /// false).
    pub(super) fn add_running(&mut self, calls: u32, begun: &mut u64, timed: bool, now: u64) {
        self.flying += u64::from(calls);
        self.running |= calls > 0;
        *begun = if !timed {
            0
        } else if *begun == 0 {
            now
        } else {
            *begun
        };
        if calls > 0 {
            self.oldest = earlier(self.oldest, *begun);
        }
    }
}

/// Returns the earlier of two times, where 0 means that there is no such time.
pub(super) fn earlier(one: u64, other: u64) -> u64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

/// Whether the scheduler must be woken through its bell, which is an eventfd.
pub(super) type Ring = bool;

/// The worker's state for one GPU's gate.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// The encoded grant that was last read from the gate page, and its decoded mode.
    word: u64,
    mode: Mode,
    /// Whether gated calls may be in flight on the GPU. The gate page contains a copy of this flag.
    active: bool,
    /// Whether a gated call has begun since the grant last changed.
    started: bool,
    /// Whether a gated call has finished since the grant last changed, so that the GPU is known to
    /// be working for this VM.
    settled: bool,
    /// Whether the scheduler has been notified that the gate holds calls.
    notified: bool,
    busy: bool,
    /// The time at which the first call began that has begun on the idle GPU since the last check
    /// of the streams, if any.
    begun: Option<u64>,
    /// Whether copies are in flight while the gate is closed (`copying`), and the time at which the
    /// scheduler was last notified of that (`copies_notified`).
    copying: bool,
    copies_notified: u64,
    looked: u64,
    /// The last time at which the grant changed, a gated call began, or a gated call finished.
    progress: u64,
    /// The time at which the last call in flight in a window finished. Reset to `None` when another
    /// call begins or the scheduler has been notified that the window is idle.
    idle_since: Option<u64>,
}

impl Device {
    pub(super) fn new(now: u64) -> Self {
        // An encoded grant of 0, the default, means that the gate is closed.
        Self { looked: now, progress: now, ..Self::default() }
    }

    /// Returns the mode of the grant that was last read from the gate page.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns whether gated calls may be in flight on the GPU.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Returns whether a gated call can begin without further checks, because the grant is
    /// unlimited and the gate page already says that calls may be in flight.
    #[inline]
    pub(super) fn is_wide(&self, page: &GpuGate) -> bool {
        const UNLIMITED: u64 = Mode::Unlimited as u64;
        self.active && page.grant.load(Ordering::Relaxed) & 0xff == UNLIMITED
    }

    /// Reads the scheduler's grant from the gate page. Returns whether it has changed.
    pub(super) fn read(&mut self, page: &GpuGate, now: u64) -> bool {
        // Read the grant after writing `held`. The scheduler writes the grant and then reads
        // `held`, so at least one side sees the other's write.
        let word = page.grant.load(Ordering::SeqCst);
        if word == self.word {
            return false;
        }
        (self.word, self.mode) = (word, Grant::from_word(word).mode);
        self.started = false;
        self.settled = false;
        self.notified = false;
        self.progress = now;
        true
    }

    /// Returns whether call times are being measured: always while other VMs want the GPU, and once
    /// per [`SAMPLE`] while none does.
    pub(super) fn is_timed(&self, now: u64) -> bool {
        self.mode != Mode::Unlimited || now.saturating_sub(self.looked) >= SAMPLE
    }

    /// Returns the current grant, encoded, if call times that are measured from now on include only
    /// this VM's work. They do in a window once one of this VM's calls has finished in the window.
    pub(super) fn measures(&self) -> Option<u64> {
        (self.mode == Mode::Window && self.settled).then_some(self.word)
    }

    /// Returns whether the streams must be checked for finished calls now.
    pub(super) fn wants_look(&self, now: u64) -> bool {
        (self.active || self.copying) && self.is_timed(now)
    }

    /// Returns whether the grant lets a call begin that takes an estimated `lasts` ns, in a stream
    /// whose calls in flight take an estimated `ahead` ns (`None` if there are none).
    pub(super) fn lets_begin(
        &self,
        page: &GpuGate,
        ahead: Option<u64>,
        lasts: u64,
        now: u64,
    ) -> bool {
        match self.mode {
            Mode::Unlimited => true,
            Mode::Closed | Mode::Prepare => false,
            Mode::Window | Mode::Shared | Mode::Standby => {
                let depth = page.depth.load(Ordering::Relaxed);
                let fits = ahead.is_none_or(|ahead| {
                    if depth > TIGHT { ahead < depth } else { ahead.saturating_add(lasts) <= depth }
                });
                let begins = now.saturating_add(ahead.unwrap_or(0));
                // At least one call may begin in each window, even if the window's time is over,
                // because a VM with a small share could otherwise never run a call.
                fits && (!self.started || begins < page.until.load(Ordering::Relaxed))
            }
        }
    }

    /// Returns whether a copy may begin while the gate is closed. The copy takes an estimated
    /// `lasts` ns, and the calls in flight in its stream take an estimated `ahead` ns (`None` if
    /// there are none).
    pub(super) fn lets_copy(&self, page: &GpuGate, ahead: Option<u64>, lasts: u64) -> bool {
        let depth = page.copies.load(Ordering::Relaxed);
        depth > 0 && ahead.is_none_or(|ahead| ahead.saturating_add(lasts) <= depth)
    }

    /// Records that a copy has begun while the gate is closed. Returns whether to wake the
    /// scheduler.
    pub(super) fn began_copy(&mut self, page: &GpuGate, now: u64) -> Ring {
        self.progress = now;
        if self.copying {
            return false;
        }
        if !self.busy {
            self.looked = now;
        }
        self.set_copying(page, true);
        let ring = now.saturating_sub(self.copies_notified) >= COPY_BELL;
        if ring {
            self.copies_notified = now;
        }
        ring
    }

    fn set_copying(&mut self, page: &GpuGate, copying: bool) {
        self.copying = copying;
        page.copying.store(u64::from(copying), Ordering::SeqCst);
    }

    /// Reports in the gate page that calls may be in flight, before a call begins, and then checks
    /// that the grant hasn't changed. If the grant has changed, returns `false`. Then the call must
    /// not begin, and the caller must wake the scheduler.
    pub(super) fn enter(&mut self, page: &GpuGate) -> bool {
        if !self.active {
            page.active.store(1, Ordering::SeqCst);
            if page.grant.load(Ordering::SeqCst) != self.word {
                page.active.store(0, Ordering::SeqCst);
                // The caller must wake the scheduler in this case, because it may have seen the
                // `active` flag and be waiting for work that doesn't exist.
                return false;
            }
            self.active = true;
        }
        true
    }

    /// Records that a gated call has begun while the gate is open.
    pub(super) fn began(&mut self, now: u64) {
        self.started = true;
        self.idle_since = None;
        self.progress = now;
        if !self.busy {
            // Keep the time of the first call, because many calls may begin before the next check
            // of the streams.
            self.begun.get_or_insert(now);
        }
    }

    /// Records that a call on a mirror got a turn. The call counts as finished at once, because the
    /// gate doesn't notice when it ends. The scheduler charges the VM for the call's estimated GPU
    /// time, `ns`, in the same way as for copies.
    pub(super) fn gave_turn(&mut self, page: &GpuGate, ns: u64, now: u64) {
        self.began(now);
        bump(&page.finished, 1);
        bump(&page.copied_ns, ns);
    }

    /// Records the result of a check of the streams, and updates the gate page. Returns whether to
    /// wake the scheduler.
    pub(super) fn observe(&mut self, page: &GpuGate, seen: &Observation, now: u64) -> Ring {
        bump(&page.finished, seen.finished);
        if !self.is_timed(now) {
            return false;
        }
        if seen.finished > 0 {
            self.progress = now;
            self.settled = true;
        }
        if self.busy {
            bump(&page.busy_ns, now.saturating_sub(self.looked));
        }
        if let Some(begun) = self.begun.take() {
            bump(&page.begun_ns, now.saturating_sub(begun));
        }
        // If no stream is busy, only copies use the GPU, because streams that wait for a host
        // function or for a value don't.
        if self.copying && !self.busy {
            bump(&page.copied_ns, now.saturating_sub(self.looked));
        }
        if self.copying != seen.copying {
            self.set_copying(page, seen.copying);
        }
        (self.busy, self.looked) = (seen.running, now);
        // In Unlimited mode, times aren't measured continuously, so it isn't known when the oldest
        // call began.
        let oldest = if self.mode == Mode::Unlimited { 0 } else { seen.oldest };
        page.oldest.store(oldest, Ordering::Relaxed);
        page.ends.store(seen.ends, Ordering::Relaxed);
        let stalled = u64::from(seen.flying > 0 && !seen.running);
        let mut ring = false;
        // Once the gate is open, copies that began while it was closed count as ordinary work.
        if seen.flying > 0 && self.mode.is_open() {
            ring = !self.enter(page);
        }
        if stalled != page.stalled.load(Ordering::Relaxed) {
            page.stalled.store(stalled, Ordering::SeqCst);
            ring |= self.mode != Mode::Unlimited;
        }
        if self.active && seen.flying == 0 {
            self.active = false;
            page.active.store(0, Ordering::SeqCst);
            match self.mode {
                Mode::Closed | Mode::Prepare | Mode::Standby => ring = true,
                Mode::Window => self.idle_since = Some(now),
                Mode::Shared | Mode::Unlimited => {}
            }
        }
        ring
    }

    /// Records that the gate holds one call less.
    pub(super) fn release(&mut self, page: &GpuGate) {
        if page.held.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.notified = false;
        }
    }

    /// Returns whether to wake the scheduler, because the closed gate holds calls or the window is
    /// idle.
    pub(super) fn wants_bell(&mut self, page: &GpuGate, now: u64) -> Ring {
        // Ignore `until` in Unlimited mode, which has no end. The page may already contain the end
        // of the next window.
        let over = self.mode != Mode::Unlimited && now >= page.until.load(Ordering::Relaxed);
        let closed = !self.mode.is_open() || over;
        let mut ring = false;
        if page.held.load(Ordering::Relaxed) > 0 && closed && !self.notified {
            self.notified = true;
            ring = true;
        }
        if self.idle_since.is_some_and(|since| now.saturating_sub(since) >= IDLE) {
            self.idle_since = None;
            ring = true;
        }
        ring
    }

    /// Returns when the streams must be checked again.
    pub(super) fn again(&self, now: u64) -> Pending {
        let quiet = now.saturating_sub(self.progress);
        if self.mode == Mode::Prepare && quiet < AWAKE || self.idle_since.is_some() {
            return Pending::Soon;
        }
        let within = |ns| Pending::Within(Duration::from_nanos(ns));
        match (self.active || self.copying, self.mode) {
            (false, _) => Pending::Nothing,
            (true, Mode::Unlimited) => within(SAMPLE),
            (true, _) if quiet < PATIENCE => Pending::Soon,
            (true, _) => within((quiet / 64).clamp(SHORTEST_SLEEP, LONGEST_SLEEP)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::gate::{GateMap, NO_END};

    #[test]
    fn the_time_from_a_beginning_to_the_next_look_is_reported_beside_the_busy_time() {
        let page = GateMap::private().unwrap();
        let page = &page.gpus[0];
        page.open(Grant { epoch: 2, mode: Mode::Window }, NO_END, 1_000_000);
        let mut device = Device::new(0);
        device.read(page, 50_000);
        assert!(device.enter(page));
        device.began(100_000);
        let seen = Observation { flying: 1, running: true, ..Observation::default() };
        device.observe(page, &seen, 300_000);
        device.observe(page, &Observation { finished: 1, ..Observation::default() }, 400_000);
        let of = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
        assert_eq!((of(&page.begun_ns), of(&page.busy_ns)), (200_000, 100_000));
    }
}
