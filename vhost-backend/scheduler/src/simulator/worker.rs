//! A simulated VM's worker, as seen on one GPU.

use std::collections::VecDeque;

use super::super::{Nanos, OpenMode, Report, US};
use super::load::{Load, Source};

/// Kernels that are submitted together and run as one.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Remaining run time, in ns.
    pub left: f64,
    pub kernels: u64,
    /// The number of a collective batch, or `None` for other batches. A collective batch waits
    /// until the batches with the same number on the VM's other GPUs can run, too.
    pub number: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub mode: OpenMode,
    pub until: Nanos,
    pub depth: Nanos,
}

#[derive(Debug)]
pub struct Worker {
    pub load: Load,
    pub source: Source,
    /// The state of the open gate, as the worker knows it. `None` if the gate is closed.
    pub grant: Option<Grant>,
    /// Number of the scheduler's last change to the gate. A delayed grant with an older number is
    /// ignored, because the gate may have been closed since.
    pub word: u64,
    pub prepared: bool,
    /// Limit on work in flight while the gate is on standby.
    pub standby: Option<Nanos>,
    pub flight: VecDeque<Batch>,
    /// True if any work was started since the gate opened.
    pub started: bool,
    pub active: bool,
    /// Number of the last collective batch that reached the head of the queue.
    pub reached: Option<u64>,
    pub finished: u64,
    pub busy: Nanos,
    /// Limit on copies in flight while the gate is closed.
    pub copies: Nanos,
    /// Time at which the copy in flight started, if there is one.
    pub copying: Option<Nanos>,
    /// Time up to which the copy in flight is included in the counters.
    accounted: Nanos,
    pub copied: Nanos,
    /// Total time of finished copies.
    pub moved: Nanos,
    /// Time at which the first batch in flight reached the head of the queue.
    pub head_since: Nanos,
    /// Kernel work done so far, in ns.
    pub done: f64,
    /// True if the VM's work is off the GPU.
    pub off: bool,
    /// The factor by which the worker's estimate of its work in flight is wrong.
    pub skew: f64,
}

impl Worker {
    pub fn new(load: Load) -> Self {
        Worker {
            load,
            source: Source::default(),
            grant: None,
            word: 0,
            prepared: false,
            standby: None,
            flight: VecDeque::new(),
            started: false,
            active: false,
            reached: None,
            finished: 0,
            busy: 0,
            copies: 0,
            copying: None,
            accounted: 0,
            copied: 0,
            moved: 0,
            head_since: 0,
            done: 0.0,
            off: false,
            skew: 1.0,
        }
    }

    /// Returns the state that the worker's gate page would show, as a report.
    pub fn report(&self, evictable: bool, now: Nanos) -> Report {
        Report {
            held: self.source.waiting > 0 || (self.source.copies && self.copying.is_none()),
            active: self.active,
            stalled: false,
            finished: self.finished,
            busy_ns: self.busy,
            begun_ns: 0,
            copying: self.copying.is_some() && !self.active,
            copied_ns: self.copied,
            oldest_for: if self.flight.is_empty() { 0 } else { now - self.head_since },
            ends_at: now + self.flight.iter().map(|batch| batch.left).sum::<f64>() as Nanos,
            evictable,
            sessions: 1,
            contexts: false,
            contexts_begun: 0,
        }
    }

    /// Brings the copy counters up to date. Must be called before the gate or the work in flight
    /// changes.
    pub fn account(&mut self, now: Nanos) {
        if self.copying.is_some() {
            let passed = now - self.accounted;
            if !self.active {
                self.copied += passed;
            } else if self.flight.is_empty() {
                self.busy += passed;
            }
        }
        self.accounted = now;
    }

    /// Starts the waiting copy, if there is one and it's allowed. Returns true if it started.
    /// Copies by different VMs don't slow each other down.
    pub fn copy(&mut self, now: Nanos) -> bool {
        let may = self.grant.is_some() || self.copies > 0;
        let begins = self.source.copies && self.copying.is_none() && may;
        if begins {
            self.account(now);
            self.source.copies = false;
            self.copying = Some(now);
            self.active |= self.grant.is_some();
            self.started = true;
        }
        begins
    }

    /// Submits the work that the gate allows. Returns true if any was submitted.
    pub fn pump(&mut self, in_flight: u64, now: Nanos) -> bool {
        let standby = |depth| Grant { mode: OpenMode::Window, until: Nanos::MAX, depth };
        let Some(grant) = self.grant.or(self.standby.map(standby)) else { return false };
        let mut queued: f64 = self.flight.iter().map(|batch| batch.left).sum();
        let mut count: u64 = self.flight.iter().map(|batch| batch.kernels).sum();
        let mut any = false;
        while self.source.waiting > 0 && count < in_flight {
            let kernel = self.load.kernel(self.source.number);
            let after = queued + kernel as f64;
            if grant.mode != OpenMode::Unlimited {
                let fits = count == 0 || after <= grant.depth as f64 * self.skew;
                let ends = grant.until == Nanos::MAX
                    || !self.started
                    || now as f64 + after <= grant.until as f64;
                if !fits || !ends {
                    break;
                }
            }
            // Submit short kernels in batches, so that hours of virtual time can be simulated
            // quickly.
            let together = match (self.load, grant.mode) {
                (
                    Load::Collective { .. }
                    | Load::Chain { .. }
                    | Load::Requests { .. }
                    | Load::Eager { .. },
                    _,
                ) => 1,
                (_, OpenMode::Unlimited) => (200 * US / kernel.max(1)).max(1),
                _ => (grant.depth / 4 / kernel.max(1)).max(1),
            };
            let kernels = together.min(self.source.waiting).min(in_flight - count);
            if self.flight.is_empty() {
                self.head_since = now;
            }
            let number = matches!(self.load, Load::Collective { .. }).then_some(self.source.number);
            self.source.number += 1;
            self.flight.push_back(Batch { left: (kernel * kernels) as f64, kernels, number });
            if self.source.waiting != u64::MAX {
                self.source.waiting -= kernels;
            }
            queued += (kernel * kernels) as f64;
            count += kernels;
            self.started = true;
            self.active = true;
            any = true;
        }
        any
    }
}
