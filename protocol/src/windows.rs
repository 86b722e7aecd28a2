//! Address ranges that mean the same in the guest process and in its worker.
//!
//! `docs/device.md` has the same numbers under "Limits and address windows"; `tests/limits.rs`
//! compares them.

use core::ops::Range;

/// The unit of guest memory that is shared: segments and regions are made of whole pages.
pub const PAGE_BYTES: u64 = 4096;

/// Device memory. The worker reserves the window for the GPU, the guest keeps its own mappings out.
pub const DEVICE: Range<u64> = 0x2000_0000_0000..0x2400_0000_0000;

/// PINNED regions: the worker maps them where the guest process has them.
pub const PINNED: Range<u64> = 0x3000_0000_0000..0x3400_0000_0000;

/// End of the addresses that a guest process can have memory at. A USER region lies below it.
pub const USER_END: u64 = 1 << 47;

/// The length of a window in bytes.
pub const fn len(window: &Range<u64>) -> u64 {
    window.end - window.start
}
