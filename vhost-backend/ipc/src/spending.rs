//! The page of a VM on which its workers show how much of their credit they have spent.
//!
//! A worker takes allocations from its credit without the broker ([`Credit`]), and each allocation
//! must immediately change the cuMemGetInfo of the VM's other sessions. So each worker has a word
//! on this page for each GPU: the bytes that it has taken from its credit, less those that it has
//! added. The broker publishes the bytes that the VM is charged for, less those that it has granted
//! its workers as credit. Adding all words on this page to that number gives the bytes that the
//! VM's programs use.
//!
//! All workers of the VM can write the page. It affects only the memory that the VM's own programs
//! see: the broker never reads it.
//!
//! [`Credit`]: memory_ledger::Credit

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::gate::{GateMap, GpuGate, MAX_GPUS, MemoryUsage};
use crate::shared_map::{Shareable, SharedMap};

/// The maximum number of workers of a VM with words on the page, which is also the maximum number
/// of a VM's sessions.
pub const MAX_SLOTS: usize = 4096;

/// The page. It has a word for each GPU and each worker's slot. GPUs are numbered by device
/// ordinal, which is the same in all sessions of the VM.
#[repr(C, align(4096))]
pub struct SpendingPage {
    gpus: [[AtomicU64; MAX_SLOTS]; MAX_GPUS],
}

const _: () = assert!(size_of::<SpendingPage>() == MAX_GPUS * MAX_SLOTS * 8);

// SAFETY: the page consists of atomics, and is page-aligned.
unsafe impl Shareable for SpendingPage {
    const NAME: &str = "spending";
}

/// A mapped page.
pub type SpendingMap = SharedMap<SpendingPage>;

impl SpendingPage {
    /// Clears a slot's words. Only the broker calls this, when no worker has the slot.
    pub fn clear(&self, slot: u32) {
        for word in self.gpus.iter().filter_map(|gpu| gpu.get(slot as usize)) {
            word.store(0, Ordering::SeqCst);
        }
    }

    fn add(&self, device: usize, slot: u32, bytes: u64) {
        if let Some(word) = self.gpus.get(device).and_then(|gpu| gpu.get(slot as usize)) {
            word.fetch_add(bytes, Ordering::SeqCst);
        }
    }

    /// Returns two values for a GPU: this slot's word, and the sum of the words of the first
    /// `slots` slots. Both can be negative. The sum wraps on overflow, because workers can write
    /// any values.
    fn sums(&self, device: usize, slot: u32, slots: u32) -> (i64, i64) {
        let Some(gpu) = self.gpus.get(device) else { return (0, 0) };
        let word = |word: &AtomicU64| word.load(Ordering::SeqCst) as i64;
        let all = gpu.iter().take(slots as usize).map(word).fold(0, i64::wrapping_add);
        (gpu.get(slot as usize).map_or(0, word), all)
    }
}

/// A worker's access to its VM's page.
#[derive(Clone)]
pub struct Spending {
    page: Arc<SpendingMap>,
    gate: Arc<GateMap>,
    slot: u32,
}

impl Spending {
    /// Maps the page that the broker sent with the session's assignment. Returns `None` if the
    /// worker has no slot.
    pub fn map(file: impl AsFd, gate: &Arc<GateMap>) -> io::Result<Option<Self>> {
        let Some(slot) = gate.worker.slot() else { return Ok(None) };
        Ok(Some(Self { page: Arc::new(SpendingMap::map(file)?), gate: gate.clone(), slot }))
    }

    /// Adds bytes that the worker has taken from its credit to the worker's word. Call this after
    /// taking them, and before the program's call returns.
    pub fn spent(&self, device: usize, bytes: u64) {
        self.page.add(device, self.slot, bytes);
    }

    /// Subtracts bytes that the worker has added to its credit from the worker's word. Call this
    /// after adding them.
    pub fn saved(&self, device: usize, bytes: u64) {
        self.page.add(device, self.slot, bytes.wrapping_neg());
    }

    /// Returns the state of the VM's account, as the worker's program sees it, or `None` in the
    /// same cases as [`GpuGate::memory`].
    pub fn memory(&self, device: usize) -> Option<MemoryUsage> {
        let gate: &GpuGate = self.gate.gpus.get(device)?;
        gate.memory(|| self.page.sums(device, self.slot, self.gate.worker.slots()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::MemoryBase;

    const NO_SESSION_MAX: i64 = i64::MIN;

    /// Creates a worker's gate page with a slot on the spending page, as the broker does.
    fn worker(file: &impl AsFd, slot: u32) -> (Arc<GateMap>, Spending) {
        let gate = Arc::new(GateMap::private().unwrap());
        assert!(Spending::map(file, &gate).unwrap().is_none(), "it has no slot yet");
        gate.worker.set_slot(slot);
        gate.worker.add_slots(slot + 1);
        let spending = Spending::map(file, &gate).unwrap().unwrap();
        (gate, spending)
    }

    #[test]
    fn each_worker_sees_what_the_others_have_spent() {
        let file = SpendingMap::create().unwrap();
        let ((gate, first), (other_gate, second)) = (worker(&file, 0), worker(&file, 1));
        gate.worker.add_slots(2);
        assert_eq!(first.memory(3), None, "nothing is published yet");
        let publish = |gate: &GateMap, vm, session| {
            gate.gpus[3].publish_base(MemoryBase { vm, session, max: 100 });
        };
        publish(&gate, -3, 60);
        publish(&other_gate, -3, NO_SESSION_MAX);
        let used = |spending: &Spending| spending.memory(3).map(|usage| usage.used);
        assert_eq!((used(&first), used(&second)), (Some(60), Some(0)));
        first.spent(3, 20);
        second.spent(3, 70);
        assert_eq!((used(&first), used(&second)), (Some(87), Some(87)));
        second.saved(3, 70);
        assert_eq!((used(&first), used(&second)), (Some(80), Some(17)));
        // Neither spending on another GPU nor spending of a worker that has exited counts.
        first.spent(4, 1000);
        second.spent(3, 5);
        SpendingMap::map(&file).unwrap().clear(1);
        assert_eq!((used(&first), used(&second)), (Some(80), Some(17)));
        assert_eq!(first.memory(3).map(|usage| usage.max), Some(100));
        assert_eq!(first.memory(MAX_GPUS), None);
    }

    /// A compromised worker can write any values into the spending page and into its own gate page.
    #[test]
    fn forged_words_are_only_wrong_numbers() {
        let file = SpendingMap::create().unwrap();
        let (gate, spending) = worker(&file, 0);
        let forger = SpendingMap::map(&file).unwrap();
        for word in [u64::MAX, 1 << 63, (1 << 63) - 1] {
            forger.gpus[0].iter().for_each(|slot| slot.store(word, Ordering::SeqCst));
            for slots in [1, 7, MAX_SLOTS as u32, u32::MAX] {
                gate.worker.add_slots(slots);
                for base in [i64::MIN, -1, 0, i64::MAX] {
                    gate.gpus[0].publish_base(MemoryBase { vm: base, session: base, max: 9 });
                    assert_eq!(spending.memory(0).unwrap().max, 9);
                }
            }
        }
        gate.worker.set_slot(MAX_SLOTS as u32 + 7);
        let outside = Spending::map(&file, &gate).unwrap().unwrap();
        outside.spent(0, 5);
        outside.spent(MAX_GPUS, 5);
        assert!(outside.memory(0).is_some());
        forger.clear(u32::MAX);
    }
}
