//! The stream ring: commands from a guest process to its worker, in shared pages.
//!
//! Each side treats the other side's data as hostile: it copies the data once, checks the copy, and
//! uses only the copy. The ring's bytes are accessed as 8-byte atomics. If the other side writes
//! while this side reads, the result may be a wrong value, but never undefined behavior.

use crate::host_func::Caller;
use crate::plain::Plain;
pub use crate::shared::{BadRing, Shared};
use crate::uapi::{CMD_MAX_BYTES, Cmd, SLEEPS_ALL, SLEEPS_FULL};

#[cfg(not(loom))]
use core::sync::atomic::{Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{Ordering, fence};

/// The error that is returned if a command doesn't fit into the ring at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The guest's side of the ring. One thread uses it at a time.
#[derive(Debug)]
pub struct GuestRing {
    shared: Shared,
    tail: u64,
    /// The tail in the shared page, which the worker can see.
    published: u64,
    /// The worker's head, as last read from the shared page. It is read again only if the ring
    /// seems too full for the next command.
    head: u64,
}

impl GuestRing {
    /// Creates the guest's side of a ring that hasn't been used.
    pub fn new(shared: Shared) -> Self {
        Self { shared, tail: 0, published: 0, head: 0 }
    }

    /// Returns the ring in its shared pages.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the maximum length of a command.
    pub fn max_command(&self) -> usize {
        CMD_MAX_BYTES.min(self.shared.bytes() as usize)
    }

    /// Returns whether the worker has read all commands.
    pub fn is_drained(&self) -> bool {
        self.shared.head.load(Ordering::Acquire) == self.tail
    }

    /// Returns whether the ring has room for `len` bytes now.
    pub fn fits(&mut self, len: usize) -> bool {
        let fits = |head: u64, tail: u64, bytes: u64| {
            // A compromised worker can write any head. If the head is invalid, the ring counts as
            // full.
            tail.wrapping_sub(head).checked_add(len as u64).is_some_and(|used| used <= bytes)
        };
        if fits(self.head, self.tail, self.shared.bytes()) {
            return true;
        }
        self.head = self.shared.head.load(Ordering::Acquire);
        fits(self.head, self.tail, self.shared.bytes())
    }

    /// Writes one command from its pieces, each of which is a multiple of 8 bytes long, and
    /// publishes it. Returns true if the worker sleeps and must be woken with a doorbell.
    ///
    /// # Panics
    ///
    /// When a piece's length is not a multiple of 8.
    pub fn push(&mut self, pieces: &[&[u8]]) -> Result<bool, Full> {
        self.add(pieces)?;
        Ok(self.publish())
    }

    /// Writes a command in the same way as [`push`](Self::push), but doesn't publish it: the worker
    /// sees it when a later command is published, or after [`publish`](Self::publish). Publishing
    /// takes longer than writing a short command, because it waits until the written data is
    /// visible to all other processors.
    ///
    /// # Panics
    ///
    /// When a piece's length is not a multiple of 8.
    #[inline(always)]
    pub fn add(&mut self, pieces: &[&[u8]]) -> Result<(), Full> {
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        if !self.fits(len) {
            return Err(Full);
        }
        let mut position = self.tail;
        for piece in pieces {
            let (words, rest) = piece.as_chunks::<8>();
            assert!(rest.is_empty(), "pieces of a command are multiples of 8 bytes");
            for word in words {
                self.shared.word(position).store(u64::from_le_bytes(*word), Ordering::Relaxed);
                position += 8;
            }
        }
        self.tail = position;
        Ok(())
    }

    /// Returns the number of bytes that the worker can't see yet.
    pub fn unpublished(&self) -> u64 {
        self.tail.wrapping_sub(self.published)
    }

    /// Publishes all commands. Returns true if the worker sleeps and must be woken with a doorbell.
    #[inline(always)]
    pub fn publish(&mut self) -> bool {
        self.published = self.tail;
        self.shared.tail.store(self.tail, Ordering::Release);
        // Protocol: write the tail before reading host_sleeps.
        fence(Ordering::SeqCst);
        let flag = self.shared.host_sleeps;
        flag.load(Ordering::Relaxed) == SLEEPS_ALL
            && flag.compare_exchange(SLEEPS_ALL, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// A violation of the ring's protocol by the guest, which ends its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// The tail announces more bytes than the ring has.
    Tail {
        /// The tail that the guest wrote: the position up to which it claims to have written.
        tail: u64,
        /// The position up to which the worker has read.
        head: u64,
    },
    /// A command has an invalid length.
    Length {
        /// The length in the command's header.
        len: u32,
        /// The number of unread bytes according to the tail.
        announced: u64,
    },
}

impl core::fmt::Display for RingError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Tail { tail, head } => {
                write!(f, "the ring's tail {tail} does not fit its head {head}")
            }
            Self::Length { len, announced } => {
                write!(f, "a command of {len} bytes, with {announced} bytes announced")
            }
        }
    }
}

impl std::error::Error for RingError {}

/// The worker's side of the ring. One thread uses it at a time.
#[derive(Debug)]
pub struct HostRing {
    shared: Shared,
    head: u64,
    /// The worker's side of host functions. They don't use the ring's data, but a finished host
    /// function wakes the worker in the same way as a command.
    pub host_funcs: Caller,
}

impl HostRing {
    /// Creates the worker's side of a ring that hasn't been used.
    pub fn new(shared: Shared) -> Self {
        Self { shared, head: 0, host_funcs: Caller::new(shared) }
    }

    /// Returns the ring in its shared pages.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Copies the next command out of the ring: returns its header and replaces the contents of
    /// `args` with its arguments. Returns `None` if the ring is empty.
    pub fn pop(&mut self, args: &mut Vec<u8>) -> Result<Option<Cmd>, RingError> {
        let tail = self.shared.tail.load(Ordering::Acquire);
        let announced = tail.wrapping_sub(self.head);
        if announced == 0 {
            return Ok(None);
        }
        if announced > self.shared.bytes() || !announced.is_multiple_of(8) {
            return Err(RingError::Tail { tail, head: self.head });
        }
        const HEADER: usize = size_of::<Cmd>();
        if announced < HEADER as u64 {
            return Err(RingError::Length { len: 0, announced });
        }
        let mut header = [0; HEADER];
        self.copy_out(self.head, &mut header);
        let cmd = Cmd::from_bytes(&header).expect("the header has its size");
        let len = cmd.len as usize;
        if !(HEADER..=CMD_MAX_BYTES).contains(&len)
            || !len.is_multiple_of(8)
            || len as u64 > announced
        {
            return Err(RingError::Length { len: cmd.len, announced });
        }
        args.resize(len - HEADER, 0);
        self.copy_out(self.head + HEADER as u64, args);
        self.head += len as u64;
        self.shared.head.store(self.head, Ordering::Release);
        Ok(Some(cmd))
    }

    fn copy_out(&self, mut position: u64, out: &mut [u8]) {
        for word in out.as_chunks_mut::<8>().0 {
            *word = self.shared.word(position).load(Ordering::Relaxed).to_le_bytes();
            position += 8;
        }
    }

    /// Returns the number of bytes that the guest has announced and the worker hasn't read yet.
    pub fn depth(&self) -> u64 {
        self.shared.tail.load(Ordering::Relaxed).wrapping_sub(self.head)
    }

    /// Returns whether the guest has announced bytes that the worker hasn't read yet.
    pub fn has_work(&self) -> bool {
        self.shared.tail.load(Ordering::Acquire) != self.head
    }

    /// Announces that the worker is about to sleep, and then checks once more for commands and for
    /// a finished host function. Returns true if the worker may sleep.
    pub fn begin_sleep(&self) -> bool {
        self.sleep_for(SLEEPS_ALL)
    }

    /// Does the same as [`HostRing::begin_sleep`] for a worker that can't take commands at the
    /// moment. Only a finished host function keeps the worker awake or wakes it, and commands
    /// don't.
    pub fn begin_full_sleep(&self) -> bool {
        self.sleep_for(SLEEPS_FULL)
    }

    fn sleep_for(&self, what: u32) -> bool {
        // Use a read-modify-write operation, as the guest does for this word, so that both sides
        // see its changes in the same order.
        self.shared.host_sleeps.swap(what, Ordering::AcqRel);
        // Protocol: write host_sleeps before reading the tail and the count of ended functions.
        fence(Ordering::SeqCst);
        if self.host_funcs.has_ended() || what == SLEEPS_ALL && self.has_work() {
            self.end_sleep();
            return false;
        }
        true
    }

    /// Withdraws the announcement that the worker sleeps. The worker calls this after every sleep,
    /// regardless of the reason why it woke up.
    pub fn end_sleep(&self) {
        self.shared.host_sleeps.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::host_func::Callee;
    use crate::shared::tests::ring;
    use proptest::prelude::*;

    fn command(args: &[u8], opcode: u32) -> Vec<u8> {
        let cmd = Cmd { len: (32 + args.len()) as u32, opcode, ..Cmd::zeroed() };
        [cmd.as_bytes(), args].concat()
    }

    #[test]
    fn commands_arrive_in_order_and_wrap_around_the_end() {
        let shared = ring(16);
        let (mut guest, mut host) = (GuestRing::new(shared), HostRing::new(shared));
        let mut args = Vec::new();
        for i in 0..100u32 {
            let payload = vec![i as u8; (i as usize % 5) * 8];
            assert_eq!(guest.push(&[&command(&payload, i)]), Ok(false));
            let cmd = host.pop(&mut args).unwrap().unwrap();
            assert_eq!((cmd.opcode, &args), (i, &payload));
        }
        assert_eq!(host.pop(&mut args), Ok(None));
        assert!(guest.is_drained());
    }

    #[test]
    fn a_full_ring_refuses_and_takes_again_after_a_read() {
        let shared = ring(8);
        let (mut guest, mut host) = (GuestRing::new(shared), HostRing::new(shared));
        let cmd = command(&[], 1);
        assert!(guest.push(&[&cmd]).is_ok());
        assert!(guest.push(&[&cmd]).is_ok());
        assert_eq!(guest.push(&[&cmd]), Err(Full));
        host.pop(&mut Vec::new()).unwrap();
        assert!(guest.push(&[&cmd]).is_ok());
    }

    #[test]
    fn commands_are_seen_once_they_are_published() {
        let shared = ring(16);
        let (mut guest, mut host) = (GuestRing::new(shared), HostRing::new(shared));
        let mut args = Vec::new();
        let mut opcodes = |host: &mut HostRing| -> Vec<u32> {
            std::iter::from_fn(|| host.pop(&mut args).unwrap()).map(|cmd| cmd.opcode).collect()
        };
        assert_eq!(guest.add(&[&command(&[], 1)]), Ok(()));
        assert_eq!(guest.add(&[&command(&[], 2)]), Ok(()));
        assert_eq!((guest.unpublished(), opcodes(&mut host)), (64, vec![]));
        assert!(host.begin_sleep());
        assert_eq!(guest.push(&[&command(&[], 3)]), Ok(true), "the worker sleeps");
        assert_eq!((guest.unpublished(), opcodes(&mut host)), (0, vec![1, 2, 3]));
        host.end_sleep();
        let add = |guest: &mut GuestRing| guest.add(&[&command(&[0; 8], 4)]);
        assert_eq!([(); 4].map(|()| add(&mut guest)), [Ok(()), Ok(()), Ok(()), Err(Full)]);
        assert!(!guest.publish());
        assert_eq!(opcodes(&mut host), [4, 4, 4]);
        assert_eq!(add(&mut guest), Ok(()));
    }

    #[test]
    fn invalid_bytes_in_the_ring_are_errors() {
        for (tail, len) in [(200, 32), (7, 32), (8, 32), (32, 40), (32, 31), (32, 0), (64, 36)] {
            let shared = ring(16);
            shared.data[0].store(len, Ordering::Relaxed);
            shared.tail.store(tail, Ordering::Relaxed);
            assert!(HostRing::new(shared).pop(&mut Vec::new()).is_err(), "tail {tail} len {len}");
        }
    }

    /// Generates distances between this side's own index and the index that a malicious peer
    /// writes: small ones in both directions, and arbitrary ones.
    fn index() -> impl Strategy<Value = u64> {
        let near = (any::<bool>(), 0..200u64).prop_map(|(is_after, distance)| match is_after {
            true => distance,
            false => distance.wrapping_neg(),
        });
        prop_oneof![near, any::<u64>()]
    }

    /// Generates positions in the ring that this side can have reached. A position is the number of
    /// bytes since the ring was created.
    fn position() -> impl Strategy<Value = u64> {
        (0..1u64 << 60).prop_map(|words| words * 8)
    }

    proptest! {
        /// Whatever a guest writes to the tail and to the ring, the worker takes only commands that
        /// lie between its head and the tail, and never more than the ring holds.
        #[test]
        fn any_tail_and_any_bytes_are_survived(
            head in position(), tails in prop::collection::vec(index(), 1..8),
            words in prop::collection::vec(prop_oneof![0..80u64, any::<u64>()], 16),
        ) {
            let shared = ring(16);
            for (place, word) in shared.data.iter().zip(words) {
                place.store(word, Ordering::Relaxed);
            }
            let mut host = HostRing { shared, head, host_funcs: Caller::new(shared) };
            let mut args = Vec::new();
            for tail in tails {
                let tail = head.wrapping_add(tail);
                shared.tail.store(tail, Ordering::Relaxed);
                let before = host.head;
                let announced = tail.wrapping_sub(before);
                match host.pop(&mut args) {
                    Ok(Some(cmd)) => {
                        let taken = host.head.wrapping_sub(before);
                        prop_assert_eq!(taken, u64::from(cmd.len));
                        prop_assert_eq!(taken, (size_of::<Cmd>() + args.len()) as u64);
                        prop_assert!(taken <= announced && announced <= 128);
                        prop_assert_eq!(shared.head.load(Ordering::Relaxed), host.head);
                    }
                    Ok(None) => prop_assert_eq!(announced, 0),
                    Err(_) => prop_assert_eq!(host.head, before),
                }
            }
        }

        /// Whatever a worker writes to the head, the guest never writes more than the ring holds.
        #[test]
        fn any_head_is_survived(tail in position(), heads in prop::collection::vec(index(), 1..8)) {
            let shared = ring(16);
            let mut guest = GuestRing { shared, tail, published: tail, head: tail };
            for head in heads {
                shared.head.store(tail.wrapping_add(head), Ordering::Relaxed);
                let before = guest.tail;
                let pushed = guest.push(&[&command(&[], 1)]).is_ok();
                prop_assert_eq!(guest.tail.wrapping_sub(before), if pushed { 32 } else { 0 });
                let unread = guest.tail.wrapping_sub(guest.head);
                prop_assert!(!pushed || unread <= 128);
            }
        }
    }

    #[test]
    fn a_sleeping_worker_asks_for_exactly_one_doorbell() {
        let shared = ring(16);
        let (mut guest, host) = (GuestRing::new(shared), HostRing::new(shared));
        assert!(host.begin_sleep());
        assert_eq!(guest.push(&[&command(&[], 1)]), Ok(true));
        assert_eq!(guest.push(&[&command(&[], 2)]), Ok(false));
        assert!(!host.begin_sleep());
    }

    #[test]
    fn a_full_worker_is_woken_by_a_functions_end_but_not_by_commands() {
        let shared = ring(8);
        let (mut guest, mut host) = (Callee::new(shared), HostRing::new(shared));
        let mut commands = GuestRing::new(shared);
        host.host_funcs.begin(7);
        assert_eq!(commands.push(&[&[0; 32]]), Ok(false));
        assert!(host.begin_full_sleep());
        assert_eq!(commands.push(&[&[0; 32]]), Ok(false));
        assert_eq!(commands.push(&[&[0; 32]]), Err(Full));
        assert!(guest.end(), "the worker sleeps");
        assert!(!host.begin_full_sleep(), "the function has ended");
        assert!(host.host_funcs.take_end());
        assert!(host.begin_full_sleep() && !host.begin_sleep());
    }
}
