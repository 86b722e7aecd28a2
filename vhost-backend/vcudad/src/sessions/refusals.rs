//! Sessions and front ends of a VM that were refused because of a limit: counts, and the rate limit
//! on log lines and events about them.

use std::time::{Duration, Instant};

use control_api::{EventKind, RefusedCounts};

use crate::reporting::rate::RateLimited;
use host_ipc::messages::Refusal;

/// Interval between two events about refused sessions of a VM, and between two events about its
/// refused front ends.
const INTERVAL: Duration = Duration::from_secs(10);

/// The refusals of one VM.
pub(crate) struct Refusals {
    counts: RefusedCounts,
    sessions: RateLimited,
    front_ends: RateLimited,
}

impl Refusals {
    /// Starts with the counts of the broker that this one replaces, if any.
    pub(crate) fn new(counts: RefusedCounts) -> Self {
        Self {
            counts,
            sessions: RateLimited::new(INTERVAL),
            front_ends: RateLimited::new(INTERVAL),
        }
    }

    pub(crate) fn counts(&self) -> RefusedCounts {
        self.counts
    }

    /// Counts a refusal. If it must be reported, returns the kind of event, and the number of
    /// refusals that weren't reported since the last event of that kind.
    pub(crate) fn count(&mut self, refusal: Refusal) -> Option<(EventKind, u64)> {
        let counts = &mut self.counts;
        let (count, is_session) = match refusal {
            Refusal::SessionsMax => (&mut counts.sessions_max, true),
            Refusal::StartRate => (&mut counts.session_starts, true),
            Refusal::ConnectionsMax => (&mut counts.connections_max, false),
            Refusal::NotSealed => (&mut counts.memory_not_sealed, false),
        };
        *count += 1;
        let (limit, kind) = match is_session {
            true => (&mut self.sessions, EventKind::SessionRefused),
            false => (&mut self.front_ends, EventKind::ConnectionRefused),
        };
        limit.allow(Instant::now()).map(|before| (kind, before))
    }
}
