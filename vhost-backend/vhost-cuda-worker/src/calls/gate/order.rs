//! The order in which the gate issues the commands that it holds. The order depends on the
//! resources that they use.
//!
//! Each resource (a stream, an event, a context, …) has a lane, a queue of the held commands that
//! use it. A command has one of three kinds of access to the resource. `Exclusive` comes after
//! every earlier `Exclusive` or `Shared` command in the lane. `Shared` comes after every earlier
//! `Exclusive` command. `Behind` comes after every earlier `Exclusive` or `Shared` command, but
//! later commands needn't wait for it. A command is ready when the gate no longer holds any command
//! that it must come after.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use protocol::ids::{ContextId, EventId, FuncId, StreamId};

use crate::calls::tables::id_map::{IdHasher, IdMap};

/// The sequence number of a held command. Later commands have larger numbers.
pub(super) type Number = u64;

/// A resource that commands use. Commands that use the same resource may have to keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Resource {
    /// A stream that the guest created.
    Stream(StreamId),
    /// A guest thread's per-thread default stream in a context.
    ThreadStream(u32, ContextId),
    /// The legacy default stream of a context, with which blocking streams synchronize.
    Legacy(ContextId),
    /// An event that the guest created.
    Event(EventId),
    /// A function or a kernel that the guest loaded.
    Function(FuncId),
    /// A context as a whole.
    Context(ContextId),
    /// The limits of a context, such as the stack size.
    Limits(ContextId),
    /// The session as a whole.
    Session,
}

/// A command's kind of access to a resource, which determines the command's order relative to other
/// commands that use the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// The command comes after all earlier exclusive and shared commands, and before all later
    /// commands.
    Exclusive,
    /// The command comes after all earlier exclusive commands, and before all later exclusive
    /// commands and commands with access `Behind`.
    Shared,
    /// The command comes after all earlier exclusive and shared commands. Later commands needn't
    /// wait for it.
    Behind,
}

/// The resources that a command uses, each with the kind of access.
#[derive(Clone, Copy, Debug)]
pub(in crate::calls) struct Accesses {
    list: [(Resource, Access); Self::MOST],
    len: usize,
}

impl Accesses {
    const MOST: usize = 11;

    pub(super) fn new() -> Self {
        Self { list: [(Resource::Session, Access::Behind); Self::MOST], len: 0 }
    }

    /// Adds a resource. Changes nothing if the list already contains the resource.
    pub(super) fn add(&mut self, resource: Resource, access: Access) {
        if !self.iter().any(|(other, _)| other == resource) {
            self.list[self.len] = (resource, access);
            self.len += 1;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Resource, Access)> + '_ {
        self.list[..self.len].iter().copied()
    }
}

/// The held commands that use one resource.
#[derive(Default)]
struct Lane {
    /// The commands that need not wait in this resource's lane: one exclusive command (`alone`), or
    /// any number of shared ones (`beside`).
    alone: Option<Number>,
    beside: BTreeSet<Number>,
    /// The commands that must wait in this resource's lane, by their kind of access: exclusive,
    /// shared, and behind.
    waiting_alone: BTreeSet<Number>,
    waiting_beside: BTreeSet<Number>,
    waiting_after: BTreeSet<Number>,
}

impl Lane {
    fn is_empty(&self) -> bool {
        self.holds_none() && self.waiting_after.is_empty()
    }

    /// Returns whether a new command need not wait in this resource's lane, whatever its kind of
    /// access.
    fn holds_none(&self) -> bool {
        self.beside.is_empty() && self.waiting_beside.is_empty() && self.holds_none_alone()
    }

    fn holds_none_alone(&self) -> bool {
        self.alone.is_none() && self.waiting_alone.is_empty()
    }

    /// Returns whether a new command with this kind of access need not wait in this resource's
    /// lane.
    fn lets_through(&self, access: Access) -> bool {
        match access {
            Access::Shared => self.holds_none_alone(),
            Access::Exclusive | Access::Behind => self.holds_none(),
        }
    }

    fn add(&mut self, number: Number, access: Access) {
        match access {
            Access::Exclusive => self.waiting_alone.insert(number),
            Access::Shared => self.waiting_beside.insert(number),
            Access::Behind => self.waiting_after.insert(number),
        };
    }

    fn remove(&mut self, number: Number) {
        if self.alone == Some(number) {
            self.alone = None;
        } else {
            self.beside.remove(&number);
        }
    }

    /// Calls `go` for each command that no longer has to wait in this resource's lane.
    fn settle(&mut self, mut go: impl FnMut(Number)) {
        if self.alone.is_none() {
            let first_alone = self.waiting_alone.first().copied();
            while let Some(next) = self.waiting_beside.first().copied()
                && first_alone.is_none_or(|alone| next < alone)
            {
                self.waiting_beside.pop_first();
                self.beside.insert(next);
                go(next);
            }
            if self.beside.is_empty()
                && let Some(alone) = self.waiting_alone.pop_first()
            {
                self.alone = Some(alone);
                go(alone);
            }
        }
        let firsts = [
            self.alone,
            self.beside.first().copied(),
            self.waiting_alone.first().copied(),
            self.waiting_beside.first().copied(),
        ];
        let first = firsts.into_iter().flatten().min();
        while let Some(next) = self.waiting_after.first().copied()
            && first.is_none_or(|first| next < first)
        {
            self.waiting_after.pop_first();
            go(next);
        }
    }
}

/// All held commands in their order, by the resources that they use.
#[derive(Default)]
pub(super) struct Book {
    lanes: HashMap<Resource, Lane, BuildHasherDefault<IdHasher>>,
    /// The commands that must wait for others, each with the number of lanes in which it must wait.
    waiting: IdMap<Number, u32>,
    ready: BTreeSet<Number>,
    last: Number,
}

impl Book {
    /// Returns whether a new command with these accesses need not wait for any held command.
    pub(super) fn lets_through(&self, uses: &Accesses) -> bool {
        uses.iter().all(|(resource, access)| {
            self.lanes.get(&resource).is_none_or(|lane| lane.lets_through(access))
        })
    }

    /// Returns whether any held command has exclusive or shared access to a resource.
    pub(super) fn holds(&self, resource: Resource) -> bool {
        self.lanes.get(&resource).is_some_and(|lane| !lane.holds_none())
    }

    /// Returns whether any held command has exclusive access to a resource.
    pub(super) fn holds_alone(&self, resource: Resource) -> bool {
        self.lanes.get(&resource).is_some_and(|lane| !lane.holds_none_alone())
    }

    /// Adds a command after all others, and returns its number.
    pub(super) fn add(&mut self, uses: &Accesses) -> Number {
        self.last += 1;
        let number = self.last;
        let mut waits_for = uses.len as u32;
        for (resource, access) in uses.iter() {
            let lane = self.lanes.entry(resource).or_default();
            lane.add(number, access);
            // Only the added command can become ready here, because adding a command never makes
            // another one ready.
            lane.settle(|_| waits_for -= 1);
            if lane.is_empty() {
                self.lanes.remove(&resource);
            }
        }
        if waits_for == 0 {
            self.ready.insert(number);
        } else {
            self.waiting.insert(number, waits_for);
        }
        number
    }

    /// Removes a ready command, so that commands that must come after it can become ready.
    pub(super) fn remove(&mut self, number: Number, uses: &Accesses) {
        self.ready.remove(&number);
        let Self { lanes, waiting, ready, .. } = self;
        for (resource, _) in uses.iter() {
            let Some(lane) = lanes.get_mut(&resource) else { continue };
            lane.remove(number);
            lane.settle(|go| {
                if let Some(left) = waiting.get_mut(&go) {
                    *left -= 1;
                    if *left == 0 {
                        waiting.remove(&go);
                        ready.insert(go);
                    }
                }
            });
            if lane.is_empty() {
                lanes.remove(&resource);
            }
        }
    }

    /// Returns the first ready command with a number above `after`.
    pub(super) fn next_ready(&self, after: Number) -> Option<Number> {
        self.ready.range(after + 1..).next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Behind, Exclusive, Shared};
    use proptest::prelude::*;

    fn uses(list: &[(Resource, Access)]) -> Accesses {
        let mut uses = Accesses::new();
        list.iter().for_each(|(resource, access)| uses.add(*resource, *access));
        uses
    }

    const S: Resource = Resource::Stream(StreamId(7));
    const E: Resource = Resource::Event(EventId(8));

    #[test]
    fn a_stream_is_first_in_first_out() {
        let mut book = Book::default();
        let of_stream = uses(&[(S, Exclusive)]);
        let (a, b) = (book.add(&of_stream), book.add(&of_stream));
        assert_eq!((book.next_ready(0), book.next_ready(a)), (Some(a), None));
        assert!(!book.lets_through(&of_stream));
        assert!(book.lets_through(&uses(&[(Resource::Stream(StreamId(9)), Exclusive)])));
        book.remove(a, &of_stream);
        assert_eq!(book.next_ready(0), Some(b));
        book.remove(b, &of_stream);
        assert!(book.lets_through(&of_stream) && book.lanes.is_empty());
    }

    #[test]
    fn a_wait_for_an_event_comes_between_two_records_of_it() {
        let mut book = Book::default();
        let record = uses(&[(S, Exclusive), (E, Exclusive)]);
        let wait = uses(&[(Resource::Stream(StreamId(9)), Exclusive), (E, Shared)]);
        let (first, waits, again) = (book.add(&record), book.add(&wait), book.add(&record));
        assert_eq!((book.next_ready(0), book.next_ready(first)), (Some(first), None));
        book.remove(first, &record);
        assert_eq!((book.next_ready(0), book.next_ready(waits)), (Some(waits), None));
        book.remove(waits, &wait);
        assert_eq!(book.next_ready(0), Some(again));
    }

    #[test]
    fn a_command_behind_others_holds_none_back() {
        let mut book = Book::default();
        let launch = uses(&[(S, Exclusive), (Resource::Session, Shared)]);
        let barrier = uses(&[(Resource::Session, Behind)]);
        let other =
            uses(&[(Resource::Stream(StreamId(9)), Exclusive), (Resource::Session, Shared)]);
        let first = book.add(&launch);
        let waits = book.add(&barrier);
        assert!(book.lets_through(&other));
        book.add(&other);
        book.remove(first, &launch);
        assert_eq!(book.next_ready(0), Some(waits), "what came later does not matter");
    }

    fn conflict(a: &Accesses, b: &Accesses) -> bool {
        let with = |(resource, access): (Resource, Access)| {
            b.iter().any(|(other, later)| {
                resource == other && access != Behind && !(access == Shared && later == Shared)
            })
        };
        a.iter().any(with)
    }

    proptest! {
        /// Compares the lanes with a direct implementation of the rule: a command is ready if it
        /// conflicts with no earlier command that is still held.
        #[test]
        fn a_command_is_ready_exactly_when_it_conflicts_with_no_earlier_one(
            commands in prop::collection::vec((prop::collection::btree_map(0u64..4, 0u8..3, 1..4), any::<prop::sample::Index>(), 0usize..3), 1..60),
        ) {
            let mut book = Book::default();
            let mut held: Vec<(Number, Accesses)> = Vec::new();
            for (things, pick, go) in commands {
                let ways = [Exclusive, Shared, Behind];
                let list: Vec<(Resource, Access)> =
                    things.iter().map(|(t, w)| (Resource::Stream(StreamId(*t)), ways[*w as usize])).collect();
                let new = uses(&list);
                let free = !held.iter().any(|(_, before)| conflict(before, &new));
                prop_assert_eq!(book.lets_through(&new), free);
                held.push((book.add(&new), new));
                for _ in 0..go {
                    let ready: Vec<Number> = (0..held.len())
                        .filter(|i| !held[..*i].iter().any(|(_, before)| conflict(before, &held[*i].1)))
                        .map(|i| held[i].0)
                        .collect();
                    let mut found = Vec::new();
                    while let Some(next) = book.next_ready(found.last().copied().unwrap_or(0)) {
                        found.push(next);
                    }
                    prop_assert_eq!(&found, &ready);
                    let Some(gone) = (!ready.is_empty()).then(|| ready[pick.index(ready.len())]) else { break };
                    let place = held.iter().position(|(number, _)| *number == gone).unwrap();
                    let (number, uses) = held.remove(place);
                    book.remove(number, &uses);
                }
            }
        }
    }
}
