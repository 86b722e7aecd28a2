//! The state of a link in progress.

use std::sync::{Arc, Mutex};

use crate::calls::code::jit::Jit;
use cuda_api::sys::CUlinkState;

/// A link in progress, as an entry of the table of links. It belongs to no context.
#[derive(Clone)]
pub(in crate::calls) struct Link {
    /// The total size of the link's inputs, in bytes.
    pub bytes: u64,
    /// The link's state, or `None` if the link has been destroyed.
    pub state: Arc<Mutex<Option<DriverLink>>>,
}

/// The driver's link, and the memory that it uses.
pub(in crate::calls) struct DriverLink {
    pub real: CUlinkState,
    /// The options with which the link was created. The driver writes to their logs until the link
    /// is destroyed.
    pub jit: Jit,
    /// The address and size of the linked image, which the driver frees when the link is destroyed.
    pub image: Option<(*const u8, usize)>,
}

// SAFETY: the driver API can be called on any thread. The pointers are to memory that belongs to
// this link, which is used only with the lock around this value held.
unsafe impl Send for DriverLink {}
