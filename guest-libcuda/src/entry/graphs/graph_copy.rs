//! Copies of pageable memory in graphs.
//!
//! The GPU can't access pageable memory, so a launch copies it through pinned memory: in the graph
//! that the worker gets, such a copy consists of a copy between device and pinned memory, and of a
//! host function before or after it, which copies between pinned and pageable memory.

use crate::driver::{Driver, driver};
use crate::entry::memory::host_memory::{pin, unpin};
use crate::error::{CuError, CuResult};
use crate::graph::GraphCopy;
use crate::memory::Kind;
use protocol::graph::{CopySide, CopyStep};

/// A copy within host memory.
#[derive(Clone, Copy)]
pub struct HostCopy(CopyStep);

impl HostCopy {
    /// Copies the bytes.
    ///
    /// # Safety
    ///
    /// The addresses must be valid for the copy.
    pub unsafe fn run(&self) {
        let CopyStep { dst, src, width, height, depth } = self.0;
        let at = |side: &CopySide, row: u64, slice: u64| {
            side.address + slice * side.height * side.pitch + row * side.pitch
        };
        for (slice, row) in (0..depth).flat_map(|slice| (0..height).map(move |row| (slice, row))) {
            let (dst, src) = (at(&dst, row, slice) as *mut u8, at(&src, row, slice) as *const u8);
            // SAFETY: the caller promises that the addresses are valid for the copy, and so for
            // this row.
            unsafe { std::ptr::copy(src, dst, width as usize) };
        }
    }
}

/// The nodes that a copy has in the graph that the worker gets.
pub enum Parts {
    /// A copy between addresses that the GPU can access.
    Copy(CopyStep),
    /// A host function that copies between two areas of pageable memory.
    Host(HostCopy),
    /// A host function that copies from pageable to pinned memory, and then a copy from pinned
    /// memory.
    HostThenCopy(HostCopy, CopyStep),
    /// A copy to pinned memory, and then a host function that copies from pinned to pageable
    /// memory.
    CopyThenHost(CopyStep, HostCopy),
}

impl GraphCopy {
    /// Returns the number of nodes that the copy has in the worker's graph.
    pub fn nodes(&self) -> usize {
        1 + usize::from(self.pageable_dst != self.pageable_src)
    }

    /// Returns whether the source or the destination is in pageable memory.
    pub fn is_pageable(&self) -> bool {
        self.pageable_dst || self.pageable_src
    }

    /// Returns the nodes of the copy. `pinned` returns the address of pinned memory with the given
    /// length.
    pub fn parts(&self, pinned: impl FnOnce(usize) -> CuResult<u64>) -> CuResult<Parts> {
        let CopyStep { dst, src, width, height, depth } = self.step;
        let packed = || -> CuResult<CopySide> {
            let len = width.checked_mul(height).and_then(|slice| slice.checked_mul(depth));
            let len =
                len.and_then(|len| usize::try_from(len).ok()).ok_or(CuError::INVALID_VALUE)?;
            Ok(CopySide { address: pinned(len)?, pitch: width, height })
        };
        let copy = |dst, src| CopyStep { dst, src, width, height, depth };
        Ok(match (self.pageable_dst, self.pageable_src) {
            (false, false) => Parts::Copy(self.step),
            (true, true) => Parts::Host(HostCopy(self.step)),
            (false, true) => {
                let between = packed()?;
                Parts::HostThenCopy(HostCopy(copy(between, src)), copy(dst, between))
            }
            (true, false) => {
                let between = packed()?;
                Parts::CopyThenHost(copy(between, src), HostCopy(copy(dst, between)))
            }
        })
    }
}

/// Pinned memory. Dropping it waits for all work that may use it.
struct Pinned {
    at: u64,
    len: usize,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let Ok(driver) = driver() else { return };
        let own = |kind: Kind| matches!(kind, Kind::Pinned { .. });
        let found = driver.memory.remove(self.at, |found| own(found.kind));
        if let Some(found) = found
            && let Kind::Pinned { region } = found.kind
        {
            // Ignore errors: if unpinning fails, the memory stays pinned until the session ends, or
            // the session has already ended.
            let _ = unpin(driver, &found, region);
        }
    }
}

/// The pinned memory of an instantiated graph. Each block is used by one step, whose index is
/// stored with it. Launches of the graph run one after the other, so all of them can use the same
/// memory.
#[derive(Default)]
pub struct Staging(Vec<(usize, Pinned)>);

impl Staging {
    /// Returns the address of pinned memory for the step at index `place`.
    pub fn take(&mut self, driver: &Driver, place: usize, len: usize) -> CuResult<u64> {
        if let Some((_, pinned)) = self.0.iter().find(|(at, p)| *at == place && p.len >= len) {
            return Ok(pinned.at);
        }
        // Keep the earlier memory of this step, if any, because it may still be in use. If there is
        // any, round the length up to a power of two, which bounds the total memory of a step whose
        // length changes often.
        let before = self.0.iter().any(|(at, _)| *at == place);
        let len = if before { len.checked_next_power_of_two() } else { Some(len) };
        let len = len.ok_or(CuError::OUT_OF_MEMORY)?;
        let at = pin(driver, len, 0, |region| Kind::Pinned { region })? as u64;
        self.0.push((place, Pinned { at, len }));
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(dst: u64, src: u64, pageable_dst: bool, pageable_src: bool) -> GraphCopy {
        let side = |address, pitch| CopySide { address, pitch, height: 3 };
        let (dst, src) = (side(dst, 4), side(src, 5));
        let step = CopyStep { dst, src, width: 3, height: 2, depth: 2 };
        GraphCopy { step, pageable_dst, pageable_src }
    }

    #[test]
    fn a_pageable_copy_goes_through_packed_pinned_memory() {
        let pinned = |len| {
            assert_eq!(len, 12);
            Ok(0x9000)
        };
        let between = CopySide { address: 0x9000, pitch: 3, height: 2 };
        let up = copy(0x1000, 0x2000, false, true);
        let Ok(Parts::HostThenCopy(host, device)) = up.parts(pinned) else { panic!("{up:?}") };
        assert_eq!((host.0.dst, host.0.src), (between, up.step.src));
        assert_eq!((device.dst, device.src), (up.step.dst, between));
        let down = copy(0x1000, 0x2000, true, false);
        let Ok(Parts::CopyThenHost(device, host)) = down.parts(pinned) else { panic!("{down:?}") };
        assert_eq!((device.dst, device.src), (between, down.step.src));
        assert_eq!((host.0.dst, host.0.src), (down.step.dst, between));
        assert_eq!((up.nodes(), copy(0, 0, true, true).nodes()), (2, 1));
    }

    #[test]
    fn a_host_copy_copies_rows_and_slices() {
        let (mut dst, src) = ([0u8; 24], std::array::from_fn::<u8, 30, _>(|at| at as u8));
        let within = copy(dst.as_mut_ptr() as u64, src.as_ptr() as u64, true, true);
        let Ok(Parts::Host(host)) = within.parts(|_| Err(CuError::UNKNOWN)) else { panic!() };
        // SAFETY: both arrays have two slices of three rows.
        unsafe { host.run() };
        let row = |at: usize| [dst[at], dst[at + 1], dst[at + 2], dst[at + 3]];
        assert_eq!([row(0), row(4), row(8)], [[0, 1, 2, 0], [5, 6, 7, 0], [0; 4]]);
        assert_eq!([row(12), row(16), row(20)], [[15, 16, 17, 0], [20, 21, 22, 0], [0; 4]]);
    }
}
