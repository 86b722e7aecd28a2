//! The worker's side of one GPU's gate.

use std::sync::atomic::Ordering;

use host_ipc::gate::{GpuGate, Grant, Mode};

/// The interval, in ns, at which the streams are queried while no other VM wants the GPU.
const SAMPLE: u64 = 1_000_000;
/// How long a worker stays awake in Prepare mode, in ns.
const AWAKE: u64 = 2_000_000;
/// If a window has had no new work for this long, in ns, it is idle, and the scheduler is notified.
/// In a chain of launches the gaps are shorter, and notifying the scheduler takes microseconds.
const IDLE: u64 = 20_000;
/// If the depth is at most this, in ns, all calls in flight must fit in the depth. With a larger
/// depth, the last call may exceed it, so that two calls of about the depth's length are in flight:
/// one runs, and the other runs next.
const TIGHT: u64 = 200_000;
/// If there has been no progress for this long, in ns, the reader may sleep between looks.
const PATIENCE: u64 = 2_000_000;
const SHORTEST_SLEEP: u64 = 20_000;
const LONGEST_SLEEP: u64 = 1_000_000;
/// The minimum time, in ns, between two notifications that copies have begun while the gate is
/// closed. While the scheduler knows of copies, it polls by itself.
const COPY_BELL: u64 = 1_000_000;

/// The result of a look at a GPU's streams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observation {
    /// The number of gated calls that have finished since the last look.
    pub finished: u64,
    /// The number of gated calls in flight.
    pub flying: u64,
    /// Whether any of them isn't waiting for a host function.
    pub running: bool,
    /// The time since which the oldest call has been at the head of its stream; 0 if there is none.
    pub oldest: u64,
    /// Whether the gate is closed and only copies are in flight in some streams. The fields above
    /// don't include these copies.
    pub copying: bool,
}

impl Observation {
    /// Adds calls that count as running because their streams can't be queried any more.
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

/// Returns the earlier of two times; 0 means none.
pub(super) fn earlier(one: u64, other: u64) -> u64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

/// Whether the scheduler must be woken.
pub(super) type Ring = bool;

/// The time at which the reader must look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Only when something happens.
    Whenever,
    /// Immediately.
    Now,
    /// After this many ns.
    In(u64),
}

/// The worker's side of one gate.
#[derive(Debug)]
pub(super) struct Device {
    /// The last grant that was read, and its mode.
    word: u64,
    mode: Mode,
    /// Whether work may be in flight. The gate page contains the same flag.
    active: bool,
    /// Whether a call has begun since the grant last changed.
    started: bool,
    /// Whether a call has finished since the grant last changed, so that the GPU is working for
    /// this VM.
    settled: bool,
    /// The number of gated calls that are held, and whether the scheduler was notified.
    held: u64,
    notified: bool,
    flying: u64,
    finished: u64,
    queued: u64,
    stalled: bool,
    busy_ns: u64,
    busy: bool,
    /// The time at which the first call began that no look has seen yet, and the total time for
    /// which there have been such calls.
    begun: Option<u64>,
    begun_ns: u64,
    /// Whether copies are in flight while the gate is closed, the total time for which there
    /// have been such copies, and the time at which the scheduler was last notified of them.
    copying: bool,
    copied_ns: u64,
    copies_notified: u64,
    looked: u64,
    /// The last time at which the grant changed, a call began, or a call finished.
    progress: u64,
    /// The time since which no call has been in flight. Reset when the scheduler is notified.
    idle_since: Option<u64>,
}

impl Device {
    pub(super) fn new(now: u64) -> Self {
        Self {
            word: Grant { epoch: 0, mode: Mode::Closed }.word(),
            mode: Mode::Closed,
            active: false,
            started: false,
            settled: false,
            held: 0,
            notified: false,
            flying: 0,
            finished: 0,
            queued: 0,
            stalled: false,
            busy_ns: 0,
            busy: false,
            begun: None,
            begun_ns: 0,
            copying: false,
            copied_ns: 0,
            copies_notified: 0,
            looked: now,
            progress: now,
            idle_since: None,
        }
    }

    /// Returns the mode of the last grant that was read.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns whether work may be in flight.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Returns whether a gated call can run without further checks.
    #[inline]
    pub(super) fn is_wide(&self, page: &GpuGate) -> bool {
        const UNLIMITED: u64 = Mode::Unlimited as u64;
        self.active && page.grant.load(Ordering::Relaxed) & 0xff == UNLIMITED
    }

    /// Reads the scheduler's grant. Returns whether it has changed.
    pub(super) fn read(&mut self, page: &GpuGate, now: u64) -> bool {
        // Read after `held` was written: the scheduler writes the grant, then reads `held`.
        let word = page.grant.load(Ordering::SeqCst);
        if word == self.word {
            return false;
        }
        let Grant { epoch, mode } = Grant::from_word(word);
        (self.word, self.mode) = (word, mode);
        self.started = false;
        self.settled = false;
        self.notified = false;
        self.progress = now;
        page.seen.store(epoch, Ordering::Release);
        true
    }

    /// Returns whether time is kept now: always while other VMs want the GPU, otherwise
    /// periodically.
    pub(super) fn is_timed(&self, now: u64) -> bool {
        self.mode != Mode::Unlimited || self.is_due(now)
    }

    /// Returns the number of the current window if measurements from now on cover only this VM's
    /// work.
    pub(super) fn measures(&self) -> Option<u64> {
        (self.mode == Mode::Window && self.settled).then_some(self.word)
    }

    /// Returns whether time is only kept periodically.
    pub(super) fn is_sampled(&self) -> bool {
        self.mode == Mode::Unlimited
    }

    fn is_due(&self, now: u64) -> bool {
        now.saturating_sub(self.looked) >= SAMPLE
    }

    /// Returns whether a look at the streams is due.
    pub(super) fn wants_look(&self, now: u64) -> bool {
        (self.active || self.copying) && self.is_timed(now)
    }

    /// Returns whether a call that takes `lasts` ns may begin behind `ahead` ns of estimated work
    /// in its stream.
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
            Mode::Window | Mode::Shared => {
                let depth = page.depth.load(Ordering::Relaxed);
                let fits = ahead.is_none_or(|ahead| {
                    if depth > TIGHT { ahead < depth } else { ahead.saturating_add(lasts) <= depth }
                });
                let begins = now.saturating_add(ahead.unwrap_or(0));
                // In each window at least one call may begin; otherwise a VM with a small share
                // could never run a call.
                fits && (!self.started || begins < page.until.load(Ordering::Relaxed))
            }
        }
    }

    /// Returns whether a copy that takes `lasts` ns may begin while the gate is closed, behind
    /// `ahead` ns of estimated work in its stream.
    pub(super) fn lets_copy(&self, page: &GpuGate, ahead: Option<u64>, lasts: u64) -> bool {
        let depth = page.copies.load(Ordering::Relaxed);
        depth > 0 && ahead.is_none_or(|ahead| ahead.saturating_add(lasts) <= depth)
    }

    /// Records that a copy has begun while the gate is closed.
    pub(super) fn began_copy(&mut self, page: &GpuGate, now: u64) -> Ring {
        self.count_passed(page);
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

    /// Prepares for beginning a call: declares that work may be in flight, then checks again
    /// whether the call may begin. If not, returns in `Err` whether the scheduler must be notified.
    pub(super) fn enter(&mut self, page: &GpuGate) -> Result<(), Ring> {
        if !self.active {
            page.active.store(1, Ordering::SeqCst);
            if page.grant.load(Ordering::SeqCst) != self.word {
                page.active.store(0, Ordering::SeqCst);
                // The scheduler may have seen `active`, and may now be waiting for work that
                // doesn't exist.
                return Err(true);
            }
            self.active = true;
        }
        Ok(())
    }

    /// Counts a call that ran without further checks.
    #[inline]
    pub(super) fn count_passed(&mut self, page: &GpuGate) {
        self.queued += 1;
        page.queued.store(self.queued, Ordering::Relaxed);
    }

    /// Records that a call has begun.
    pub(super) fn began(&mut self, page: &GpuGate, now: u64) {
        self.started = true;
        self.idle_since = None;
        self.progress = now;
        if !self.busy {
            // Keep the first time, because many calls may begin before the next look.
            self.begun.get_or_insert(now);
        }
        self.queued += 1;
        self.flying += 1;
        page.queued.store(self.queued, Ordering::Relaxed);
    }

    /// Records the result of a look.
    pub(super) fn observe(&mut self, page: &GpuGate, seen: &Observation, now: u64) -> Ring {
        let timed = self.is_timed(now);
        self.finished += seen.finished;
        self.flying = seen.flying;
        page.finished.store(self.finished, Ordering::Relaxed);
        if !timed {
            return false;
        }
        if seen.finished > 0 {
            self.progress = now;
            self.settled = true;
        }
        if self.busy {
            self.busy_ns += now.saturating_sub(self.looked);
            page.busy_ns.store(self.busy_ns, Ordering::Relaxed);
        }
        if let Some(begun) = self.begun.take() {
            self.begun_ns += now.saturating_sub(begun);
            page.begun_ns.store(self.begun_ns, Ordering::Relaxed);
        }
        // Streams that wait for a host function don't use the GPU, so only the copies use it.
        if self.copying && !self.busy {
            self.copied_ns += now.saturating_sub(self.looked);
            page.copied_ns.store(self.copied_ns, Ordering::Relaxed);
        }
        if self.copying != seen.copying {
            self.set_copying(page, seen.copying);
        }
        (self.busy, self.looked) = (seen.running, now);
        // If time is only kept periodically, it isn't known when the call at the head began.
        let oldest = if self.is_sampled() { 0 } else { seen.oldest };
        page.oldest.store(oldest, Ordering::Relaxed);
        let stalled = seen.flying > 0 && !seen.running;
        let mut ring = false;
        // Copies that began while the gate was closed are ordinary work once it is open.
        if seen.flying > 0 && self.mode.is_open() {
            ring = self.enter(page).is_err();
        }
        if stalled != self.stalled {
            self.stalled = stalled;
            page.stalled.store(u64::from(stalled), Ordering::SeqCst);
            ring |= self.mode != Mode::Unlimited;
        }
        if self.active && seen.flying == 0 {
            self.active = false;
            page.active.store(0, Ordering::SeqCst);
            match self.mode {
                Mode::Closed | Mode::Prepare => ring = true,
                Mode::Window => self.idle_since = Some(now),
                Mode::Shared | Mode::Unlimited => {}
            }
        }
        ring
    }

    /// Records that a gated call is held.
    pub(super) fn hold(&mut self, page: &GpuGate) {
        self.held += 1;
        page.held.store(self.held, Ordering::SeqCst);
    }

    /// Records that a gated call is no longer held.
    pub(super) fn release(&mut self, page: &GpuGate) {
        self.held -= 1;
        page.held.store(self.held, Ordering::SeqCst);
        if self.held == 0 {
            self.notified = false;
        }
    }

    /// Records that no call is held any more.
    pub(super) fn release_all(&mut self, page: &GpuGate) {
        self.held = 0;
        self.notified = false;
        page.held.store(0, Ordering::SeqCst);
    }

    /// Returns whether the scheduler must be notified that calls are held, or that the window is
    /// idle.
    pub(super) fn wants_bell(&mut self, page: &GpuGate, now: u64) -> Ring {
        let over = || now >= page.until.load(Ordering::Relaxed);
        let closed = match self.mode {
            Mode::Closed | Mode::Prepare => true,
            Mode::Window | Mode::Shared => over(),
            Mode::Unlimited => false,
        };
        let mut ring = false;
        if self.held > 0 && closed && !self.notified {
            self.notified = true;
            ring = true;
        }
        if self.idle_since.is_some_and(|since| now.saturating_sub(since) >= IDLE) {
            self.idle_since = None;
            ring = true;
        }
        ring
    }

    /// Returns when the next look is due.
    pub(super) fn again(&self, now: u64) -> Again {
        let quiet = now.saturating_sub(self.progress);
        if self.mode == Mode::Prepare && quiet < AWAKE || self.idle_since.is_some() {
            return Again::Now;
        }
        match (self.active || self.copying, self.mode) {
            (false, _) => Again::Whenever,
            (true, Mode::Unlimited) => Again::In(SAMPLE),
            (true, _) if quiet < PATIENCE => Again::Now,
            (true, _) => Again::In((quiet / 64).clamp(SHORTEST_SLEEP, LONGEST_SLEEP)),
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
        assert_eq!(device.enter(page), Ok(()));
        device.began(page, 100_000);
        let seen = Observation { flying: 1, running: true, ..Observation::default() };
        device.observe(page, &seen, 300_000);
        device.observe(page, &Observation { finished: 1, ..Observation::default() }, 400_000);
        let of = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
        assert_eq!((of(&page.begun_ns), of(&page.busy_ns)), (200_000, 100_000));
    }
}
