//! Compares the memory that a driver reports for the sessions of a VM with the charge of the VM as
//! a whole.
//!
//! Each session's own account contains all memory that it shares, but the driver reports shared
//! memory only for one of the sessions that hold it. The other holders could use as much memory
//! again without exceeding their own accounts. The comparison of the whole VM finds that, because
//! the VM is charged for shared memory only once.

/// A session of a VM, on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionUse {
    /// Bytes that the driver reports for the session's worker.
    pub seen: u64,
    /// Bytes that are charged to the session alone, without memory that it shares.
    pub alone: u64,
}

impl SessionUse {
    /// Returns the bytes beyond the session's own charge. Only shared memory can explain them.
    fn beyond(&self) -> u64 {
        self.seen.saturating_sub(self.alone)
    }
}

/// Returns the sessions, by their position in the list, that must end so that those that are left
/// use no more than the VM's charge and `slack`. The sessions that use the most beyond what is
/// charged to them alone come first. `charged` contains shared memory once. Returns none if the VM
/// is within its charge.
pub fn sessions_to_end(sessions: &[SessionUse], charged: u64, slack: u64) -> Vec<usize> {
    let mut seen: u128 = sessions.iter().map(|session| u128::from(session.seen)).sum();
    let mut charged = u128::from(charged);
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(sessions[*place].beyond()));
    let mut ending = Vec::new();
    for place in order {
        if seen <= charged + u128::from(slack) {
            break;
        }
        seen -= u128::from(sessions[place].seen);
        charged = charged.saturating_sub(sessions[place].alone.into());
        ending.push(place);
    }
    ending
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLACK: u64 = 256;

    /// Memory that some of the sessions share. The driver reports it for one of them, or for none.
    #[derive(Clone, Debug)]
    struct Share {
        bytes: u64,
        reported: Option<usize>,
    }

    fn share() -> impl Strategy<Value = Share> {
        (1..5000u64, prop::option::weighted(0.8, 0..8usize))
            .prop_map(|(bytes, reported)| Share { bytes, reported })
    }

    fn honest(alone: &[u64], shares: &[Share]) -> (Vec<SessionUse>, u64) {
        let session = |(place, alone): (usize, &u64)| {
            let held = |share: &&Share| share.reported.is_some_and(|at| at % 8 == place);
            let shared: u64 = shares.iter().filter(held).map(|share| share.bytes).sum();
            SessionUse { seen: alone + shared, alone: *alone }
        };
        let sessions = alone.iter().enumerate().map(session).collect();
        let shared: u64 = shares.iter().map(|share| share.bytes).sum();
        (sessions, alone.iter().sum::<u64>() + shared)
    }

    proptest! {
        /// No session of an honest VM ends, whatever memory the VM shares, and however its sessions
        /// divide the slack.
        #[test]
        fn an_honest_vm_is_within_its_charge(
            alone in prop::collection::vec(0..5000u64, 8),
            shares in prop::collection::vec(share(), 0..10),
            uncharged in prop::collection::vec(0..=SLACK / 8, 8),
        ) {
            let (mut sessions, charged) = honest(&alone, &shares);
            for (session, bytes) in sessions.iter_mut().zip(uncharged) {
                session.seen += bytes;
            }
            prop_assert_eq!(sessions_to_end(&sessions, charged, SLACK), Vec::<usize>::new());
        }

        /// A VM that uses more than its charge and the slack loses sessions until the remaining
        /// ones are within the charge and the slack, whatever the VM claims to share.
        #[test]
        fn a_vm_beyond_its_charge_loses_sessions(
            alone in prop::collection::vec(0..5000u64, 8),
            shares in prop::collection::vec(share(), 0..10),
            more in prop::collection::vec(0..50_000u64, 8),
        ) {
            let (mut sessions, charged) = honest(&alone, &shares);
            for (session, bytes) in sessions.iter_mut().zip(&more) {
                session.seen += bytes;
            }
            let seen: u64 = sessions.iter().map(|session| session.seen).sum();
            let ending = sessions_to_end(&sessions, charged, SLACK);
            prop_assert_eq!(ending.is_empty(), seen <= charged + SLACK);
            let left = |place: &usize| !ending.contains(place);
            let left = (0..sessions.len()).filter(left).map(|place| sessions[place]);
            let seen: u64 = left.map(|session| session.seen).sum();
            let rest = charged - ending.iter().map(|place| sessions[*place].alone).sum::<u64>();
            prop_assert!(seen <= rest + SLACK, "{seen} {rest}");
        }
    }

    #[test]
    fn those_that_use_the_most_beyond_their_own_charge_end_first() {
        let of = |seen, alone| SessionUse { seen, alone };
        let sessions = [of(1000, 1000), of(3000, 100), of(2000, 100)];
        assert!(sessions_to_end(&sessions, 5744, SLACK).is_empty());
        assert_eq!(sessions_to_end(&sessions, 5743, SLACK), [1]);
        assert_eq!(sessions_to_end(&sessions, 1200, SLACK), [1, 2]);
        let all = [of(u64::MAX, 0); 3];
        assert_eq!(sessions_to_end(&all, u64::MAX, 0), [0, 1]);
        assert!(sessions_to_end(&[], 0, 0).is_empty());
    }
}
