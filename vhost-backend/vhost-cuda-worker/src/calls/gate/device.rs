//! One GPU's gate, as the worker sees it.

use std::sync::atomic::Ordering;

use host_ipc::gate::{GpuGate, Grant, Mode};

/// How often a GPU that nobody else wants is looked at, in ns.
const SAMPLE: u64 = 1_000_000;
/// A worker that is asked to be awake is so for this long, in ns.
const AWAKE: u64 = 2_000_000;
/// A window in which nothing was begun for so long, in ns, is idle: the scheduler is told. Between
/// the launches of a chain there are shorter gaps, and each bell costs microseconds.
const IDLE: u64 = 20_000;
/// A depth in ns up to which all that is in flight is to fit in. Above, the last call may reach past
/// it, so that of calls that are about as long as that there are two: one runs, one is next.
const TIGHT: u64 = 200_000;
/// After so long without progress, in ns, the reader may sleep between looks.
const PATIENCE: u64 = 2_000_000;
const SHORTEST_SLEEP: u64 = 20_000;
const LONGEST_SLEEP: u64 = 1_000_000;
/// The scheduler is told that copies have begun beside a closed gate no more often than this, in ns.
/// While it knows of them it looks by itself.
const TELL: u64 = 1_000_000;

/// What a look at a GPU's streams saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observation {
    /// Gated calls that have finished since the last look.
    pub finished: u64,
    /// Gated calls in flight.
    pub flying: u64,
    /// Some of them are not behind a host function.
    pub running: bool,
    /// Since when the oldest has been at the head of its stream; 0 for none.
    pub oldest: u64,
    /// The gate is closed, and in some streams there is nothing but copies, which are not in what is
    /// said above.
    pub copying: bool,
}

/// Whether the scheduler is to be woken.
pub(super) type Ring = bool;

/// When the reader is to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// When something happens.
    Whenever,
    /// At once.
    Now,
    /// After so many ns.
    In(u64),
}

/// The worker's side of one gate.
#[derive(Debug)]
pub(super) struct Device {
    /// The grant as it was last seen, and its mode.
    word: u64,
    pub mode: Mode,
    /// What the page says, too.
    pub active: bool,
    /// Something was begun since the grant changed.
    started: bool,
    /// Something has finished since then: the GPU is at this VM's work.
    settled: bool,
    /// Gated calls that are held, and whether the scheduler was told.
    held: u64,
    told: bool,
    flying: u64,
    finished: u64,
    pub queued: u64,
    stalled: bool,
    busy_ns: u64,
    busy: bool,
    /// Since when something is in flight that no look has seen, and for how long that was so.
    begun: Option<u64>,
    begun_ns: u64,
    /// Copies are in flight beside the closed gate, for how long they were, and when the scheduler
    /// was told last that they are.
    copying: bool,
    copied_ns: u64,
    copies_told: u64,
    looked: u64,
    /// When the gate closed or opened last, something began, or something finished.
    progress: u64,
    /// When nothing was in flight any more, until the scheduler is told.
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
            told: false,
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
            copies_told: 0,
            looked: now,
            progress: now,
            idle_since: None,
        }
    }

    /// Whether a gated call could go without looking any closer.
    #[inline]
    pub(super) fn is_wide(&self, page: &GpuGate) -> bool {
        const UNLIMITED: u64 = Mode::Unlimited as u64;
        self.active && page.grant.load(Ordering::Relaxed) & 0xff == UNLIMITED
    }

    /// Takes note of the scheduler's word; whether it has changed.
    pub(super) fn read(&mut self, page: &GpuGate, now: u64) -> bool {
        // After what was written about held calls: the scheduler reads that after it wrote this.
        let word = page.grant.load(Ordering::SeqCst);
        if word == self.word {
            return false;
        }
        let Grant { epoch, mode } = Grant::from_word(word);
        (self.word, self.mode) = (word, mode);
        self.started = false;
        self.settled = false;
        self.told = false;
        self.progress = now;
        page.seen.store(epoch, Ordering::Release);
        true
    }

    /// Whether time is kept now: while others want the GPU, and now and then.
    pub(super) fn is_timed(&self, now: u64) -> bool {
        self.mode != Mode::Unlimited || self.is_due(now)
    }

    /// What names the present window, if what is measured from now on is this VM's work alone.
    pub(super) fn measures(&self) -> Option<u64> {
        (self.mode == Mode::Window && self.settled).then_some(self.word)
    }

    /// Whether time is only kept now and then.
    pub(super) fn is_sampled(&self) -> bool {
        self.mode == Mode::Unlimited
    }

    fn is_due(&self, now: u64) -> bool {
        now.saturating_sub(self.looked) >= SAMPLE
    }

    /// Whether the streams are to be looked at.
    pub(super) fn wants_look(&self, now: u64) -> bool {
        (self.active || self.copying) && self.is_timed(now)
    }

    /// Whether a call may begin that has `ahead` ns of estimated work before it in its stream.
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
                // In each window at least one call may begin, or a small share would get nothing.
                fits && (!self.started || begins < page.until.load(Ordering::Relaxed))
            }
        }
    }

    /// Whether a copy may begin beside the closed gate, with so much before it in its stream.
    pub(super) fn lets_copy(&self, page: &GpuGate, ahead: Option<u64>, lasts: u64) -> bool {
        let depth = page.copies.load(Ordering::Relaxed);
        depth > 0 && ahead.is_none_or(|ahead| ahead.saturating_add(lasts) <= depth)
    }

    /// Such a copy has begun.
    pub(super) fn copies(&mut self, page: &GpuGate, now: u64) -> Ring {
        self.passed(page);
        self.progress = now;
        if self.copying {
            return false;
        }
        if !self.busy {
            self.looked = now;
        }
        self.set_copying(page, true);
        let tell = now.saturating_sub(self.copies_told) >= TELL;
        if tell {
            self.copies_told = now;
        }
        tell
    }

    fn set_copying(&mut self, page: &GpuGate, copying: bool) {
        self.copying = copying;
        page.copying.store(u64::from(copying), Ordering::SeqCst);
    }

    /// The first half of beginning a call: says that work may be in flight, then looks once more
    /// whether it may be. `Err` if it may not, and whether to ring.
    pub(super) fn enter(&mut self, page: &GpuGate) -> Result<(), Ring> {
        if !self.active {
            page.active.store(1, Ordering::SeqCst);
            if page.grant.load(Ordering::SeqCst) != self.word {
                page.active.store(0, Ordering::SeqCst);
                // The scheduler may have seen it, and wait for the end of nothing.
                return Err(true);
            }
            self.active = true;
        }
        Ok(())
    }

    /// A call goes that nothing was asked of.
    #[inline]
    pub(super) fn passed(&mut self, page: &GpuGate) {
        self.queued += 1;
        page.queued.store(self.queued, Ordering::Relaxed);
    }

    /// A call has begun.
    pub(super) fn began(&mut self, page: &GpuGate, now: u64) {
        self.started = true;
        self.idle_since = None;
        self.progress = now;
        if !self.busy {
            // The next look may come after many calls.
            self.begun.get_or_insert(now);
        }
        self.queued += 1;
        self.flying += 1;
        page.queued.store(self.queued, Ordering::Relaxed);
    }

    /// Takes note of what a look has seen.
    pub(super) fn saw(&mut self, page: &GpuGate, sight: &Observation, now: u64) -> Ring {
        let timed = self.is_timed(now);
        self.finished += sight.finished;
        self.flying = sight.flying;
        page.finished.store(self.finished, Ordering::Relaxed);
        if !timed {
            return false;
        }
        if sight.finished > 0 {
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
        // What stands at a host function uses nothing: then these copies are all there is.
        if self.copying && !self.busy {
            self.copied_ns += now.saturating_sub(self.looked);
            page.copied_ns.store(self.copied_ns, Ordering::Relaxed);
        }
        if self.copying != sight.copying {
            self.set_copying(page, sight.copying);
        }
        (self.busy, self.looked) = (sight.running, now);
        // Where time is kept only now and then, what is at the head began at any time before.
        let oldest = if self.is_sampled() { 0 } else { sight.oldest };
        page.oldest.store(oldest, Ordering::Relaxed);
        let stalled = sight.flying > 0 && !sight.running;
        let mut ring = false;
        // Copies that began beside others are work like any other once the gate is open.
        if sight.flying > 0 && self.mode.is_open() {
            ring = self.enter(page).is_err();
        }
        if stalled != self.stalled {
            self.stalled = stalled;
            page.stalled.store(u64::from(stalled), Ordering::SeqCst);
            ring |= self.mode != Mode::Unlimited;
        }
        if self.active && sight.flying == 0 {
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

    /// A gated call is held, or not any more.
    pub(super) fn hold(&mut self, page: &GpuGate, more: bool) {
        self.held = if more { self.held + 1 } else { self.held - 1 };
        page.held.store(self.held, Ordering::SeqCst);
        if self.held == 0 {
            self.told = false;
        }
    }

    /// Nothing is held any more.
    pub(super) fn drop_held(&mut self, page: &GpuGate) {
        self.held = 0;
        self.told = false;
        page.held.store(0, Ordering::SeqCst);
    }

    /// Whether the scheduler is to be told of what is held, or that the window is idle.
    pub(super) fn ring(&mut self, page: &GpuGate, now: u64) -> Ring {
        let over = || now >= page.until.load(Ordering::Relaxed);
        let closed = match self.mode {
            Mode::Closed | Mode::Prepare => true,
            Mode::Window | Mode::Shared => over(),
            Mode::Unlimited => false,
        };
        let mut ring = false;
        if self.held > 0 && closed && !self.told {
            self.told = true;
            ring = true;
        }
        if self.idle_since.is_some_and(|since| now.saturating_sub(since) >= IDLE) {
            self.idle_since = None;
            ring = true;
        }
        ring
    }

    /// When to look again.
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
    fn the_time_from_a_beginning_to_the_next_look_is_told_beside_the_busy_time() {
        let page = GateMap::private().unwrap();
        let page = &page.gpus[0];
        page.open(Grant { epoch: 2, mode: Mode::Window }, NO_END, 1_000_000);
        let mut device = Device::new(0);
        device.read(page, 50_000);
        assert_eq!(device.enter(page), Ok(()));
        device.began(page, 100_000);
        let sight = Observation { flying: 1, running: true, ..Observation::default() };
        device.saw(page, &sight, 300_000);
        device.saw(page, &Observation { finished: 1, ..Observation::default() }, 400_000);
        let of = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
        assert_eq!((of(&page.begun_ns), of(&page.busy_ns)), (200_000, 100_000));
    }
}
