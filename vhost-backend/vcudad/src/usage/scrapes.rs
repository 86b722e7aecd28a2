//! Reports of metrics. They are sent once the counters in them have been saved. Otherwise, a
//! counter could be lower after a crash than a report before it, and Prometheus would take the
//! difference for a counter that has begun again at zero.

use std::time::{Duration, Instant};

use control_server::handle::{Answer, Response};

/// How long a report waits for the disk at most.
const PATIENCE: Duration = Duration::from_secs(5);
/// The maximum number of reports that wait for the disk.
const MAX_WAITING: usize = 32;

struct Scrape {
    answer: Answer,
    response: Response,
    since: Instant,
}

/// The reports that wait for the disk.
#[derive(Default)]
pub(crate) struct Scrapes {
    /// Reports that are sent when the current write has ended.
    saving: Vec<Scrape>,
    /// Reports that were requested after the current write began, and wait for the next write.
    next: Vec<Scrape>,
}

impl Scrapes {
    /// Makes a report wait for the next write. If too many reports are waiting already, sends it at
    /// once.
    pub(crate) fn wait(&mut self, answer: Answer, response: Response, now: Instant) {
        for all in [&mut self.saving, &mut self.next] {
            all.retain(|scrape| !scrape.answer.is_abandoned());
        }
        match self.saving.len() + self.next.len() < MAX_WAITING {
            true => self.next.push(Scrape { answer, response, since: now }),
            false => answer.give(Ok(response)),
        }
    }

    /// Returns true if reports wait for the next write.
    pub(crate) fn has_next(&self) -> bool {
        !self.next.is_empty()
    }

    /// Handles that a write begins. It includes the counters of all reports so far.
    pub(crate) fn begin(&mut self) {
        self.saving.append(&mut self.next);
    }

    /// Handles that a write has ended. Sends the reports that waited for it, even if the write has
    /// failed.
    pub(crate) fn end(&mut self) {
        self.saving.drain(..).for_each(|scrape| scrape.answer.give(Ok(scrape.response)));
    }

    /// Sends the reports that have waited for longer than [`PATIENCE`], because the disk is slow.
    pub(crate) fn send_late(&mut self, now: Instant) {
        let is_late = |scrape: &mut Scrape| now.duration_since(scrape.since) >= PATIENCE;
        for all in [&mut self.saving, &mut self.next] {
            let late = all.extract_if(.., is_late);
            late.for_each(|scrape| scrape.answer.give(Ok(scrape.response)));
        }
    }

    /// Sends all reports.
    pub(crate) fn send_all(&mut self) {
        self.begin();
        self.end();
    }
}
