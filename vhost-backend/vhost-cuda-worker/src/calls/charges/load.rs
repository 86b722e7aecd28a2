//! Types that describe loaded modules and libraries for charging.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use super::taken::{Footprint, name_hash};

/// The local memory need of a kernel that hasn't been checked yet.
pub(in super::super) const UNKNOWN_NEED: u64 = u64::MAX;

/// One part of the memory that a loaded image takes in a context. The first field is the number of
/// the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// Variables, and code that is loaded together with the image.
    Image(u64),
    /// The code of one kernel, by the hash of its name.
    Kernel(u64, u64),
}

impl Part {
    pub(super) fn load(&self) -> u64 {
        match self {
            Self::Image(load) | Self::Kernel(load, _) => *load,
        }
    }
}

/// A loaded image, or one about to be loaded. Charges use a number that the worker assigns, because
/// the guest can reuse its own id for another load at any time.
#[derive(Clone)]
pub(in super::super) struct Load {
    pub(super) number: u64,
    pub(super) takes: Arc<Footprint>,
}

impl Load {
    /// Returns the size of a kernel's code, for charging it.
    pub(in super::super) fn code_of(&self, name: &[u8]) -> Code {
        Code { name: name_hash(name), bytes: self.takes.code_of(name) }
    }

    /// Returns whether both are the same load.
    pub(in super::super) fn is(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// Returns the bytes of variables and of the code that is loaded with the image.
    pub(super) fn image_bytes(&self) -> u64 {
        self.takes.data.saturating_add(self.takes.code)
    }
}

/// The size of a kernel's code, for charging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Code {
    /// The hash of the kernel's name.
    pub(super) name: u64,
    /// The size in bytes, or 0 if the code is loaded together with the image.
    pub(super) bytes: u64,
}

/// State shared by all loads.
#[derive(Default)]
pub(super) struct Loads {
    /// The number of the latest load.
    pub(super) last: AtomicU64,
    pub(super) lazy: OnceLock<bool>,
}

/// Converts a kernel's local memory in bytes to the value that launches compare (its *need*). The
/// result is never 0.
pub(super) fn need(local: u64) -> u64 {
    local.saturating_add(1)
}
