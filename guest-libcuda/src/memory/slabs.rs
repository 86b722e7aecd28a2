//! Slabs of pinned memory, from which small allocations of pinned memory are cut.
//!
//! To pin memory, the library asks the guest driver for pages and the worker to register them with
//! the GPU. That takes hundreds of microseconds, which is too much for programs that allocate
//! hundreds of small buffers.

use crate::ranges::FreeRanges;
use crate::windows::PAGE;
use std::ops::Range;

/// The largest allocation that is cut from a slab, in bytes.
pub const LARGEST: usize = 64 << 10;
const FIRST_SLAB: usize = 64 << 10;
const LARGEST_SLAB: usize = 1 << 20;

/// The properties that all allocations of a slab share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The handle of the context that owns the memory.
    pub context: usize,
    /// The flags of `cuMemHostAlloc`.
    pub flags: u32,
}

/// Pinned memory from which allocations are cut.
pub struct Slab {
    pub at: usize,
    pub len: usize,
    pub region: u32,
    /// The address at which the GPU accesses the slab.
    pub device_address: u64,
    class: Class,
    free: FreeRanges,
    /// The number of bytes in use, including those that are being freed.
    used: usize,
}

impl Slab {
    /// Creates a slab that is `len` bytes long, all of which are free.
    pub fn new(class: Class, at: usize, len: usize, region: u32, device_address: u64) -> Self {
        let mut free = FreeRanges::default();
        free.give(at as u64, len as u64);
        Self { at, len, region, device_address, class, free, used: 0 }
    }

    fn range(&self) -> Range<usize> {
        self.at..self.at + self.len
    }
}

/// All slabs.
#[derive(Default)]
pub struct Slabs(Vec<Slab>);

/// Memory that was cut from a slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub at: usize,
    pub device_address: u64,
}

impl Slabs {
    /// Cuts memory from a slab of this class. Returns `None` if no slab has room.
    pub fn take(&mut self, class: Class, bytes: usize) -> Option<Piece> {
        let len = bytes.next_multiple_of(PAGE);
        self.0.iter_mut().filter(|slab| slab.class == class).find_map(|slab| {
            let at = slab.free.take(len as u64)? as usize;
            slab.used += len;
            let device_address = slab.device_address + (at - slab.at) as u64;
            Some(Piece { at, device_address })
        })
    }

    /// Returns the length of the next slab of this class: the total length of the slabs of this
    /// class that exist, within limits, so that a program with few allocations pins little memory
    /// for them.
    pub fn next_len(&self, class: Class) -> usize {
        let of_class = self.0.iter().filter(|slab| slab.class == class);
        of_class.map(|slab| slab.len).sum::<usize>().clamp(FIRST_SLAB, LARGEST_SLAB)
    }

    /// Adds a slab.
    pub fn add(&mut self, slab: Slab) {
        self.0.push(slab);
    }

    /// Makes a piece available again. If this makes a slab empty, and another slab of the class is
    /// empty already, removes and returns the slab. The caller must release it.
    pub fn give(&mut self, at: usize, bytes: usize) -> Option<Slab> {
        let len = bytes.next_multiple_of(PAGE);
        let index = self.0.iter().position(|slab| slab.range().contains(&at))?;
        let slab = &mut self.0[index];
        slab.free.give(at as u64, len as u64);
        slab.used -= len;
        let (class, is_empty) = (slab.class, slab.used == 0);
        let empty = self.0.iter().filter(|slab| slab.class == class && slab.used == 0).count();
        (is_empty && empty > 1).then(|| self.0.swap_remove(index))
    }

    /// Removes and returns the slabs of a destroyed context.
    pub fn forget_context(&mut self, context: usize) -> Vec<Slab> {
        self.0.extract_if(.., |slab| slab.class.context == context).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Class = Class { context: 1, flags: 0 };

    fn add(slabs: &mut Slabs, class: Class, at: usize) -> usize {
        let len = slabs.next_len(class);
        slabs.add(Slab::new(class, at, len, at as u32, 0x10_0000 + at as u64));
        len
    }

    #[test]
    fn pieces_begin_at_pages_and_do_not_overlap() {
        let mut slabs = Slabs::default();
        assert_eq!(slabs.take(A, 4), None);
        add(&mut slabs, A, 0x10_0000);
        let piece = |at: usize| Some(Piece { at, device_address: 0x10_0000 + at as u64 });
        assert_eq!(slabs.take(A, 4), piece(0x10_0000));
        assert_eq!(slabs.take(A, PAGE + 1), piece(0x10_1000));
        assert_eq!(slabs.take(A, PAGE), piece(0x10_3000));
        assert_eq!(slabs.take(A, LARGEST), None);
        assert!(slabs.give(0x10_1000, PAGE + 1).is_none());
        assert_eq!(slabs.take(A, 2 * PAGE), piece(0x10_1000));
    }

    #[test]
    fn slabs_grow_and_are_kept_apart_by_flags_and_context() {
        let mut slabs = Slabs::default();
        let lens: Vec<_> = (1..8).map(|n| add(&mut slabs, A, n << 24) >> 10).collect();
        assert_eq!(lens, [64, 64, 128, 256, 512, 1024, 1024]);
        let (flags, context) = (Class { flags: 4, ..A }, Class { context: 2, ..A });
        assert_eq!((slabs.take(flags, 8), slabs.take(context, 8)), (None, None));
        add(&mut slabs, context, 9 << 24);
        assert_eq!(slabs.take(context, 8).unwrap().at, 9 << 24);
        let gone = slabs.forget_context(1);
        assert_eq!(gone.len(), 7);
        assert!(slabs.give(1 << 24, 8).is_none(), "the slab has ended with its context");
    }

    #[test]
    fn one_empty_slab_of_a_class_is_kept() {
        let mut slabs = Slabs::default();
        let mut pieces = Vec::new();
        for at in [1 << 24, 2 << 24] {
            add(&mut slabs, A, at);
            pieces.extend(std::iter::from_fn(|| slabs.take(A, 1)));
        }
        assert_eq!(pieces.len(), 32);
        let released: Vec<_> = pieces.iter().filter_map(|p| slabs.give(p.at, 1)).collect();
        assert_eq!(released.iter().map(|slab| slab.at).collect::<Vec<_>>(), [2 << 24]);
        assert_eq!(slabs.take(A, 1).unwrap().at, 1 << 24);
    }
}
