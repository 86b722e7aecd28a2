//! Modules and libraries that are loaded, as they are charged.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use super::taken::{Footprint, name_hash};

/// What a kernel needs that nobody has looked at.
pub(in super::super) const UNKNOWN_NEED: u64 = u64::MAX;

/// A part of what a context has loaded, with the number of its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// Variables, and code that does not come kernel by kernel.
    Image(u64),
    /// A kernel's code, by its hashed name.
    Kernel(u64, u64),
}

impl Part {
    pub(super) fn load(&self) -> u64 {
        match self {
            Self::Image(load) | Self::Kernel(load, _) => *load,
        }
    }
}

/// An image that is loaded, or about to be. It is charged under a number of the worker's own: the
/// guest may give the id that it minted to another load at any time.
#[derive(Clone)]
pub(in super::super) struct Load {
    pub(super) number: u64,
    pub(super) takes: Arc<Footprint>,
}

impl Load {
    /// The code of a kernel.
    pub(in super::super) fn code_of(&self, name: &[u8]) -> Code {
        Code { name: name_hash(name), bytes: self.takes.code_of(name) }
    }

    /// Whether both are the same load.
    pub(in super::super) fn is(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// Variables, and code that does not come kernel by kernel.
    pub(super) fn image_bytes(&self) -> u64 {
        self.takes.data.saturating_add(self.takes.code)
    }
}

/// A kernel's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Code {
    /// Its name, hashed.
    pub(super) name: u64,
    /// Bytes; 0 where it comes with the image.
    pub(super) bytes: u64,
}

/// What all loads share.
#[derive(Default)]
pub(super) struct Loads {
    /// The number of the last.
    pub(super) last: AtomicU64,
    pub(super) lazy: OnceLock<bool>,
}

/// As launches compare it: what a kernel with so much local memory needs, never 0.
pub(super) fn need(local: u64) -> u64 {
    local.saturating_add(1)
}
