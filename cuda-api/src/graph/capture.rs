//! Streams that are being captured, and what a capture's state is.
//!
//! While a stream is captured, what is queued there becomes a node that depends on the stream's
//! last ones. Events carry dependencies to other streams, which so join the capture. Calls that a
//! capture can't hold are errors, and most of them invalidate it: from then on it can only be
//! ended.

use super::ids::{GraphId, NodeId};
use crate::error::{CuError, CuResult};

/// `CUstreamCaptureMode`: which calls elsewhere a capture forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// On every thread.
    Global,
    /// On the thread that began it.
    ThreadLocal,
    /// None.
    Relaxed,
}

impl Mode {
    /// From CUDA's number.
    pub fn new(number: u32) -> CuResult<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(CuError::INVALID_VALUE),
        }
    }
}

/// A stream. Of default streams there is one for each thread or context, so an id is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The library's number for it.
    pub id: u64,
    /// Which thread's or context's; 0 for a stream that the program made.
    pub of: u64,
}

/// A stream, and what matters here.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Its name.
    pub key: Key,
    /// Its context.
    pub ctx: u64,
    /// Whether it and the legacy stream wait for one another.
    pub blocking: bool,
    /// Whether it is the legacy stream, which can't be captured.
    pub legacy: bool,
}

/// What `cuStreamGetCaptureInfo` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Unique in the process.
    pub id: u64,
    /// Whether it can only be ended.
    pub invalid: bool,
    /// What it goes to.
    pub graph: GraphId,
    /// What the stream's next node will depend on.
    pub after: Vec<NodeId>,
}
