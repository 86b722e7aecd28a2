//! The front ends that are connected to a VM's device: VMMs, or programs without a VM.

use std::time::Instant;

use control_api::EventKind;

use crate::reporting::event::BrokerEvent;
use crate::reporting::rate::TokenBucket;
use memory_ledger::VmId;

/// The limit on events about a VM's front ends: this many at once, and `EVENTS_PER_SECOND` in the
/// long run. It's needed because a program without a VM can connect any number of times.
const EVENTS_AT_ONCE: u32 = 16;
const EVENTS_PER_SECOND: u32 = 1;

/// The number of a VM's front ends, as its device process reports it.
pub(crate) struct FrontEnds {
    /// `None` if the device process is of a version that doesn't report the number.
    count: Option<u32>,
    events: TokenBucket,
}

impl FrontEnds {
    pub(crate) fn new(count: Option<u32>) -> Self {
        let events = TokenBucket::new(EVENTS_AT_ONCE, EVENTS_PER_SECOND, Instant::now());
        Self { count, events }
    }

    pub(crate) fn count(&self) -> Option<u32> {
        self.count
    }

    /// Records the number of front ends. Returns an event if the first front end has connected or
    /// the last one has disconnected, unless there were too many events.
    pub(crate) fn set(&mut self, vm: VmId, count: u32, now: Instant) -> Option<BrokerEvent> {
        let before = self.count.replace(count).unwrap_or(0);
        let (kind, text) = match (before, count) {
            (0, 1..) => {
                (EventKind::FrontEndConnected, "a VMM, or a program without a VM, has connected")
            }
            (1.., 0) => (EventKind::FrontEndDisconnected, "nobody is connected any longer"),
            _ => return None,
        };
        self.events.take(now).then(|| BrokerEvent::of_vm(kind, vm, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_front_end_cause_events_at_a_limited_rate() {
        let (mut fronts, now) = (FrontEnds::new(None), Instant::now());
        let mut set = |count| fronts.set(VmId(1), count, now).map(|event| event.kind);
        assert_eq!(set(0), None);
        assert_eq!(set(1), Some(EventKind::FrontEndConnected));
        assert_eq!([set(2), set(1)], [None; 2]);
        assert_eq!(set(0), Some(EventKind::FrontEndDisconnected));
        let events = (0..1000).filter_map(|step| set(step % 2)).count();
        assert_eq!(events, EVENTS_AT_ONCE as usize - 2);
        assert_eq!(fronts.count(), Some(1));
    }
}
