//! Memory that graphs allocate.
//!
//! The memory exists, at a fixed address, from the time when its node is added. It belongs to the
//! nodes that allocate or free it, in graphs and in instantiated graphs. A launch of a graph that
//! allocates memory and doesn't free it makes the memory *live*: it then also belongs to the
//! program, which can free it with `cuMemFree`, or with a launch of a graph that frees it.

use crate::error::{CuError, CuResult};
use crate::sys::CUmemAccessDesc;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The alignment of an allocation's length, in bytes.
const ALIGN: u64 = 512;
/// Allocations that have ended are removed from the table only when it has at least this many
/// entries.
const PRUNE_FROM: usize = 64;

/// Memory that a graph allocates. `M` is the library's part, which frees the memory when it's
/// dropped.
pub struct Allocation<M> {
    pub address: u64,
    /// The length in bytes.
    pub len: u64,
    /// The ordinal of the device.
    pub device: i32,
    /// The library's data. Dropping it frees the memory.
    pub memory: M,
}

impl<M> Allocation<M> {
    /// Returns the number of bytes that an allocation takes for a request of `bytes` bytes.
    pub fn rounded(bytes: usize) -> CuResult<u64> {
        let rounded = (bytes as u64).checked_next_multiple_of(ALIGN).filter(|len| *len > 0);
        rounded.ok_or(CuError::INVALID_VALUE)
    }
}

/// The work of a node that allocates memory.
pub struct AllocNode<M> {
    pub allocation: Arc<Allocation<M>>,
    /// The number of bytes that the program requested.
    pub bytes: usize,
    /// The access that the program requested for the memory. The program can query this list.
    pub access: Vec<CUmemAccessDesc>,
}

struct Known<M> {
    len: u64,
    allocation: Weak<Allocation<M>>,
    /// The program's share in the allocation. It exists if the memory is live.
    live: Option<Arc<Allocation<M>>>,
}

struct State<M> {
    known: HashMap<u64, Known<M>>,
    prune_at: usize,
}

/// All memory that the graphs of a process allocate, by address.
pub struct Memories<M>(Mutex<State<M>>);

impl<M> Default for Memories<M> {
    fn default() -> Self {
        Self(Mutex::new(State { known: HashMap::new(), prune_at: PRUNE_FROM }))
    }
}

/// The allocations whose state a launch has changed, with the program's shares before the launch.
pub struct Before<M>(Vec<(u64, Option<Arc<Allocation<M>>>)>);

impl<M> Memories<M> {
    fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an allocation, whose memory isn't live.
    pub fn add(&self, allocation: &Arc<Allocation<M>>) {
        let mut state = self.lock();
        let len = allocation.len;
        let known = Known { len, allocation: Arc::downgrade(allocation), live: None };
        state.known.insert(allocation.address, known);
        if state.known.len() >= state.prune_at {
            state.known.retain(|_, known| known.allocation.strong_count() > 0);
            state.prune_at = PRUNE_FROM.max(2 * state.known.len());
        }
    }

    /// Returns the allocation that begins at an address.
    pub fn get(&self, address: u64) -> Option<Arc<Allocation<M>>> {
        self.lock().known.get(&address)?.allocation.upgrade()
    }

    /// Returns whether an address is in an allocation that isn't live.
    pub fn is_reserved(&self, address: u64) -> bool {
        self.lock().known.iter().any(|(start, known)| {
            let within = address.checked_sub(*start).is_some_and(|offset| offset < known.len);
            within && known.live.is_none() && known.allocation.strong_count() > 0
        })
    }

    /// Takes the program's share in an allocation, because the program frees the memory. Returns
    /// `None` if the address isn't that of an allocation.
    pub fn take(&self, address: u64) -> Option<CuResult<Arc<Allocation<M>>>> {
        let mut state = self.lock();
        let known = state.known.get_mut(&address)?;
        known.allocation.upgrade()?;
        Some(known.live.take().ok_or(CuError::INVALID_VALUE))
    }

    /// Records the effect of a launch: makes the memory live that it allocates, and drops the
    /// shares in the memory that it frees. Fails if the launch would allocate memory that is
    /// already live, unless `auto_free` is set, or free memory that isn't live.
    pub fn begin(&self, effect: &Effect<M>, auto_free: bool) -> CuResult<Before<M>> {
        let mut state = self.lock();
        let is_live =
            |address: &u64| state.known.get(address).is_some_and(|known| known.live.is_some());
        let mut allocated = effect.allocated.iter().map(|allocation| allocation.address);
        if !auto_free && allocated.any(|address| is_live(&address))
            || !effect.freed.iter().all(is_live)
        {
            return Err(CuError::INVALID_VALUE);
        }
        let mut before = Vec::new();
        let mut set = |address, live| {
            if let Some(known) = state.known.get_mut(&address) {
                before.push((address, std::mem::replace(&mut known.live, live)));
            }
        };
        effect.freed.iter().for_each(|address| set(*address, None));
        for allocation in &effect.allocated {
            set(allocation.address, Some(allocation.clone()));
        }
        Ok(Before(before))
    }

    /// Undoes the changes of a launch that has failed.
    pub fn undo(&self, Before(before): Before<M>) {
        let mut state = self.lock();
        for (address, live) in before {
            if let Some(known) = state.known.get_mut(&address) {
                known.live = live;
            }
        }
    }
}

/// The effect of a graph's launch on the memory that graphs allocate.
pub struct Effect<M> {
    /// The memory that the graph allocates and doesn't free.
    allocated: Vec<Arc<Allocation<M>>>,
    /// The addresses of the memory that the graph frees and another graph allocates.
    freed: Vec<u64>,
}

impl<M> Effect<M> {
    /// Returns the effect of a graph whose nodes use memory in these ways. Each item is an
    /// allocation, and whether the node allocates the memory (true) or frees it (false).
    pub fn new<'a>(uses: impl IntoIterator<Item = (&'a Arc<Allocation<M>>, bool)>) -> Self
    where
        M: 'a,
    {
        let mut balances: BTreeMap<u64, (i64, &Arc<Allocation<M>>)> = BTreeMap::new();
        for (allocation, allocates) in uses {
            let (balance, _) = balances.entry(allocation.address).or_insert((0, allocation));
            *balance += if allocates { 1 } else { -1 };
        }
        let with = |sign: i64| balances.values().filter(move |(balance, _)| *balance == sign);
        Self {
            allocated: with(1).map(|(_, allocation)| Arc::clone(allocation)).collect(),
            freed: with(-1).map(|(_, allocation)| allocation.address).collect(),
        }
    }

    /// Returns whether launches neither allocate nor free memory, except memory that they both
    /// allocate and free.
    pub fn is_none(&self) -> bool {
        self.allocated.is_empty() && self.freed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVALID: CuError = CuError::INVALID_VALUE;

    fn allocation(memories: &Memories<()>, address: u64) -> Arc<Allocation<()>> {
        let allocation = Arc::new(Allocation { address, len: 512, device: 0, memory: () });
        memories.add(&allocation);
        allocation
    }

    #[test]
    fn sizes_are_rounded_to_512_bytes() {
        let rounded = [0, 1, 512, 513, usize::MAX].map(Allocation::<()>::rounded);
        assert_eq!(rounded, [Err(INVALID), Ok(512), Ok(512), Ok(1024), Err(INVALID)]);
    }

    #[test]
    fn memory_is_live_from_a_launch_until_it_is_freed() {
        let memories = Memories::default();
        let memory = allocation(&memories, 4096);
        let makes = Effect { allocated: vec![memory.clone()], freed: vec![] };
        let frees = Effect { allocated: vec![], freed: vec![4096] };
        assert!(memories.take(4096).unwrap().is_err() && memories.take(4097).is_none());
        assert_eq!(memories.begin(&frees, false).err(), Some(INVALID));
        assert!(memories.is_reserved(4096 + 511) && !memories.is_reserved(4096 + 512));
        assert!(memories.begin(&makes, false).is_ok());
        assert!(!memories.is_reserved(4096));
        assert_eq!(memories.begin(&makes, false).err(), Some(INVALID));
        assert!(memories.begin(&makes, true).is_ok());
        assert!(memories.begin(&frees, false).is_ok());
        assert!(memories.begin(&makes, false).is_ok());
        // Live memory stays allocated when all graphs that allocate it have been dropped.
        drop((makes, memory));
        assert!(memories.get(4096).is_some());
        assert!(memories.take(4096).unwrap().is_ok());
        assert!(memories.get(4096).is_none() && memories.take(4096).is_none());
    }

    #[test]
    fn only_memory_that_a_graph_does_not_free_stays_live() {
        let memories = Memories::default();
        let [a, b, c] = [512, 1024, 1536].map(|address| allocation(&memories, address));
        let uses = [(&a, true), (&b, true), (&a, false), (&a, true), (&b, false), (&c, false)];
        let effect = Effect::new(uses);
        assert_eq!(effect.allocated.iter().map(|a| a.address).collect::<Vec<_>>(), [512]);
        assert_eq!(
            (effect.freed, Effect::new([(&b, true), (&b, false)]).is_none()),
            (vec![1536], true)
        );
    }

    #[test]
    fn a_failed_launch_changes_nothing() {
        let memories = Memories::default();
        let memories_of = [allocation(&memories, 512), allocation(&memories, 1024)];
        let first = Effect { allocated: vec![memories_of[0].clone()], freed: vec![] };
        assert!(memories.begin(&first, false).is_ok());
        let both = Effect { allocated: vec![memories_of[1].clone()], freed: vec![512] };
        let before = memories.begin(&both, false).unwrap_or_else(|_| panic!("both are allowed"));
        memories.undo(before);
        assert!(memories.take(512).unwrap().is_ok() && memories.take(1024).unwrap().is_err());
    }
}
