//! Types that describe captured streams and the state of a capture.
//!
//! While a stream is captured, each operation that is queued there becomes a node that depends on
//! the stream's last nodes. Events carry dependencies to other streams, which join the capture that
//! way. Calls that a capture can't contain fail, and most of them invalidate the capture, which can
//! then only be ended.

use super::edge::Edge;
use super::ids::{GraphId, NodeId};
use crate::error::{CuError, CuResult};

/// `CUstreamCaptureMode`: the threads on which a capture forbids unsafe calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All threads.
    Global,
    /// The thread that began the capture.
    ThreadLocal,
    /// No threads.
    Relaxed,
}

impl Mode {
    /// Converts the number of a `CUstreamCaptureMode`.
    pub fn new(number: u32) -> CuResult<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(CuError::INVALID_VALUE),
        }
    }
}

/// Identifies a stream. The stream's id alone is not enough, because each thread or context has its
/// own default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// For a created stream, the library's number for it.
    pub id: u64,
    /// Distinguishes the default streams of threads or contexts; 0 for a created stream.
    pub of: u64,
}

/// The properties of a stream that matter for captures.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Identifies the stream.
    pub key: Key,
    /// The id of the stream's context.
    pub ctx: u64,
    /// Whether the stream and the legacy stream wait for each other.
    pub blocking: bool,
    /// Whether this is the legacy stream, which can't be captured.
    pub legacy: bool,
}

/// The result of `cuStreamGetCaptureInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The capture's number, unique in the process.
    pub id: u64,
    /// Whether the capture is invalid and can only be ended.
    pub invalid: bool,
    /// The graph to which the capture adds nodes.
    pub graph: GraphId,
    /// The nodes that the stream's next node will depend on.
    pub after: Vec<(NodeId, Edge)>,
}
