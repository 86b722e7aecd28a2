//! Types that describe loaded modules and libraries, for charging their memory.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use cuda_api::fatbin::Decompressor;

use super::taken::{Footprint, name_hash};

/// Bytes to charge for each module or library in addition to its code and variables, because the
/// driver loses memory to fragmentation between modules. On an H200, it lost up to 16 KiB for each
/// of 250 generated modules.
const LOST: u64 = 16 << 10;

/// The local memory per thread that a kernel or a graph needs, in a form that a launch can compare
/// with the local memory that is already charged. The need of a kernel is known only once
/// `admit_kernel` has determined it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::calls) struct Need(pub(super) u64);

impl Need {
    /// The need of a graph without kernels. Every context has room for it.
    pub(in crate::calls) const NONE: Self = Self(0);
    /// The need of a kernel whose local memory hasn't been determined. It exceeds every charge, so
    /// the kernel's next launch is checked.
    pub(in crate::calls) const UNKNOWN: Self = Self(u64::MAX);

    /// Returns the need of a kernel that uses this many bytes of local memory per thread. The
    /// result is never [`Need::NONE`], because a kernel that uses 0 bytes must still be checked at
    /// each launch while the session has several contexts.
    pub(super) fn of_kernel(local: u64) -> Self {
        Self(local.saturating_add(1).min(u64::MAX - 1))
    }

    /// Returns the local memory in bytes per thread.
    pub(super) fn local(self) -> u64 {
        self.0.saturating_sub(1)
    }
}

/// A part of a module or library that is charged separately in a context. The first field is
/// [`Load::number`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// The variables, and the code that is loaded together with them.
    Image(u64),
    /// The code of one kernel. The second field is the hash of the kernel's name.
    Kernel(u64, u64),
    /// The marker that a module or library counts as a user of the malloc heap or of the driver's
    /// functions for kernels. It takes no memory itself.
    Users(u64),
}

impl Part {
    pub(super) fn load(&self) -> u64 {
        match self {
            Self::Image(load) | Self::Kernel(load, _) | Self::Users(load) => *load,
        }
    }
}

/// A module or library that has been loaded or is about to be. Charges refer to it by `number`,
/// which the worker assigns, because the guest can reuse its own id for another module or library
/// at any time.
#[derive(Clone)]
pub(in crate::calls) struct Load {
    pub(super) number: u64,
    pub(super) takes: Arc<Footprint>,
}

impl Load {
    /// Returns the size of a kernel's code, given the kernel's name.
    pub(in crate::calls) fn code_of(&self, name: &[u8]) -> Code {
        Code { name: name_hash(name), bytes: self.takes.code_of(name) }
    }

    /// Returns the bytes of local memory per thread that a kernel needs: the number that the driver
    /// has reported or the one that the image declares, whichever is larger.
    pub(super) fn local_of(&self, kernel: Code, reported: u64) -> u64 {
        self.takes.local_of(kernel.name).max(reported)
    }

    /// Returns whether the kernels of this module or library may print.
    pub(in crate::calls) fn may_print(&self) -> bool {
        self.takes.may_print
    }

    /// Returns by how much this module or library, while it's charged, increases the number of
    /// users of the malloc heap, and of the driver's memory for printing and launching: by 0 or 1
    /// each.
    pub(super) fn users(&self) -> (u64, u64) {
        let runtime = self.takes.may_print || self.takes.may_launch;
        (self.takes.uses_heap.into(), runtime.into())
    }

    /// Returns whether both values describe the same loaded module or library.
    pub(in crate::calls) fn is(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// Returns the size of [`Part::Image`] in bytes: the variables, and the code that is loaded
    /// together with them.
    pub(super) fn image_bytes(&self) -> u64 {
        self.takes.data.saturating_add(self.takes.code).saturating_add(LOST)
    }
}

/// The size of one kernel's code, for charging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::calls) struct Code {
    /// The hash of the kernel's name.
    pub(super) name: u64,
    /// The size in bytes, or 0 if the code is charged together with the variables.
    pub(super) bytes: u64,
}

/// State shared by all [`Load`] values of a session.
#[derive(Default)]
pub(super) struct Loads {
    /// The number assigned to the latest load.
    pub(super) last: AtomicU64,
    pub(super) lazy: OnceLock<bool>,
    /// With eager loading, the libraries that the driver loads into each new context.
    pub(super) everywhere: Mutex<Vec<Load>>,
    /// A decompressor that the next load can use. `None` while a load uses it.
    pub(super) decompressor: Mutex<Option<Decompressor>>,
}
