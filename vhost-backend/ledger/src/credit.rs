//! Credit: memory that is charged to a VM, but that none of its programs uses.
//!
//! A worker that had to ask the broker before each allocation would wait for the broker's event
//! loop. So the broker charges a worker for some memory in advance, and the worker takes
//! allocations from this credit, and puts freed memory back into it. The credit is one atomic word
//! in memory that the worker and the broker share, so neither waits for the other, and the broker
//! can withdraw the credit at any time.
//!
//! The ledger knows a worker's credit only as memory of kind `Memory` that the worker holds. So
//! *charged* means the bytes in the ledger, and *used* means these bytes without the credit. A
//! worker that writes wrong values into the word lowers only its own VM's numbers: the broker never
//! counts more credit than the worker holds, and the audit finds memory that a worker uses beyond
//! its charge.

use std::sync::atomic::{AtomicU64, Ordering};

/// The credit that a worker gets, in bytes. A worker puts all memory that it frees into its credit,
/// and then releases the part above this limit.
pub const CREDIT: u64 = 8 << 20;

/// The most memory that a worker keeps on a GPU after its program has freed it, in bytes.
pub const MOST_KEPT: u64 = 256 << 20;

/// Returns the most memory that a worker may keep on a GPU on which its session may use `max`
/// bytes.
pub fn most_kept(max: u64) -> u64 {
    (max / 16).min(MOST_KEPT)
}

/// Flag: the worker may use credit. The broker sets it while the VM is within its limits. A broker
/// that sets it withdraws the VM's credit before it refuses a request.
const OFFERED: u64 = 1;
/// Flag: the worker uses credit. The worker sets it. Workers of the previous version don't.
const TAKEN: u64 = 2;
/// The bits for flags. The other bits are the number of bytes of credit, which is a multiple of the
/// driver's granularity.
const FLAGS: u64 = 7;
/// How many times [`Credit::update`] tries to change the word while other threads change it.
const MAX_TRIES: u32 = 1000;

/// A worker's credit on one GPU, in memory that the worker shares with the broker. Zero is a valid
/// value: there is no credit.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Credit(AtomicU64);

impl Credit {
    /// Changes the word, and returns its previous value. Gives up if other threads keep changing
    /// the word, because the broker must not wait for a worker.
    fn update(&self, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let mut word = self.0.load(Ordering::SeqCst);
        for _ in 0..MAX_TRIES {
            let new = change(word)?;
            match self.0.compare_exchange(word, new, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(before) => return Some(before),
                Err(now) => word = now,
            }
        }
        None
    }

    fn flags(&self, flags: u64) -> bool {
        self.0.load(Ordering::SeqCst) & flags == flags
    }

    /// Returns the bytes of credit.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::SeqCst) & !FLAGS
    }

    /// Sets whether the worker may use credit. Only a broker that withdraws credit before it
    /// refuses a request calls this.
    pub fn offer(&self, offered: bool) {
        self.set(OFFERED, offered);
    }

    fn set(&self, flag: u64, on: bool) {
        match on {
            true => self.0.fetch_or(flag, Ordering::SeqCst),
            false => self.0.fetch_and(!flag, Ordering::SeqCst),
        };
    }

    /// Returns whether the worker uses credit and the broker currently offers it.
    pub fn is_taken(&self) -> bool {
        self.flags(OFFERED | TAKEN)
    }

    /// Returns whether the broker currently offers credit. A worker of the previous version can't
    /// use it.
    pub fn is_offered(&self) -> bool {
        self.flags(OFFERED)
    }

    /// Returns whether the worker can use credit.
    pub fn is_known(&self) -> bool {
        self.flags(TAKEN)
    }

    /// Announces that the worker uses credit while the broker offers it, and that it publishes what
    /// it spends on the VM's spending page. Only the worker calls this.
    pub fn take_offers(&self) {
        self.set(TAKEN, true);
    }

    /// Takes `bytes` from the credit. If the credit has less, takes nothing and returns false.
    pub fn spend(&self, bytes: u64) -> bool {
        let change = |word: u64| (word & !FLAGS >= bytes).then(|| word - bytes);
        bytes & FLAGS == 0 && self.update(change).is_some()
    }

    /// Adds `bytes`, which are charged to the worker as `Memory`, to the credit. Returns false if
    /// `bytes` isn't a multiple of 8, because the lowest three bits of the word are flags.
    pub fn add(&self, bytes: u64) -> bool {
        let fits = bytes & FLAGS == 0;
        if fits {
            // The sum overflows only if the worker has written wrong values.
            self.0.fetch_add(bytes, Ordering::SeqCst);
        }
        fits
    }

    /// Takes the part of the credit above [`CREDIT`]. The caller must release that memory.
    pub fn take_excess(&self) -> u64 {
        self.take_beyond(CREDIT)
    }

    /// Takes all credit. The caller must release that memory.
    pub fn withdraw(&self) -> u64 {
        self.take_beyond(0)
    }

    fn take_beyond(&self, limit: u64) -> u64 {
        let change = |word: u64| {
            let bytes = word & !FLAGS;
            (bytes > limit).then_some(word & FLAGS | limit)
        };
        self.update(change).map_or(0, |word| (word & !FLAGS) - limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn credit(bytes: u64) -> Credit {
        let credit = Credit::default();
        credit.offer(true);
        credit.take_offers();
        assert!(credit.add(bytes));
        credit
    }

    #[test]
    fn a_worker_spends_no_more_than_it_has() {
        let credit = credit(4 * MIB);
        assert!(credit.spend(3 * MIB) && !credit.spend(2 * MIB) && credit.spend(MIB));
        assert!(!credit.spend(MIB));
        assert!(credit.add(CREDIT + MIB));
        assert_eq!((credit.take_excess(), credit.take_excess()), (MIB, 0));
        assert_eq!((credit.withdraw(), credit.withdraw(), credit.bytes()), (CREDIT, 0, 0));
        assert!(credit.is_taken());
    }

    #[test]
    fn amounts_do_not_change_the_flags() {
        let credit = credit(0);
        assert!(!credit.spend(1) && !credit.add(1) && !credit.add(u64::MAX));
        assert!(credit.add(1 << 63) && credit.is_taken());
        assert_eq!((credit.withdraw(), credit.is_taken()), (1 << 63, true));
        credit.offer(false);
        assert!(!credit.is_taken() && credit.add(8));
        credit.offer(true);
        assert_eq!((credit.bytes(), credit.is_taken()), (8, true));
    }

    #[test]
    fn both_sides_must_know_of_credit() {
        for worker_first in [false, true] {
            let credit = Credit::default();
            let sides: [&dyn Fn(); 2] = [&|| credit.take_offers(), &|| credit.offer(true)];
            sides[usize::from(!worker_first)]();
            assert!(!credit.is_taken());
            sides[usize::from(worker_first)]();
            assert!(credit.is_taken());
            credit.offer(false);
            assert!(!credit.is_taken());
        }
    }

    /// A worker's threads spend credit and put it back while the broker withdraws and grants
    /// credit. No byte is lost or exists twice.
    #[test]
    fn bytes_are_conserved_under_races() {
        let credit = credit(16 * MIB);
        let returned = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for bytes in (0..20_000).map(|step| (step % 3 + 1) * MIB) {
                        if credit.spend(bytes) {
                            assert!(credit.add(bytes));
                        }
                    }
                });
            }
            let broker = scope.spawn(|| {
                let mut own = 0;
                for step in 0..20_000 {
                    own += if step % 2 == 0 { credit.withdraw() } else { credit.take_excess() };
                    if step % 3 == 0 {
                        assert!(credit.add(own));
                        own = 0;
                    }
                }
                own
            });
            broker.join().unwrap()
        });
        assert_eq!(credit.bytes() + returned, 16 * MIB);
    }
}
