//! Address ranges that are the same in the guest process and in its worker.
//!
//! `docs/device.md` has the same numbers under "Limits and address windows"; `tests/limits.rs`
//! compares them.

use core::ops::Range;

/// The unit in which guest memory is shared: the lengths of segments and regions are multiples of
/// this size.
pub const PAGE_BYTES: u64 = 4096;

/// The window for device memory. The worker reserves it for the GPU, and the guest keeps its own
/// mappings out of it.
pub const DEVICE: Range<u64> = 0x2000_0000_0000..0x2400_0000_0000;

/// The window for PINNED regions. The worker maps them at the same addresses as the guest process.
pub const PINNED: Range<u64> = 0x3000_0000_0000..0x3400_0000_0000;

/// The end of a guest process's address space. USER regions lie below it.
pub const USER_END: u64 = 1 << 47;

/// The guest-physical addresses of files that a program without a VM has registered. No machine has
/// memory there. Workers map these files, and the device process never accesses them, so they
/// needn't be sealed.
pub const FILES: Range<u64> = 1 << 60..1 << 61;

/// Returns the length of a window in bytes.
pub const fn len(window: &Range<u64>) -> u64 {
    window.end - window.start
}
