//! Helpers with which entry points handle streams that are being captured.

use cuda_api::error::CuResult;
use cuda_api::graph::capture::{self, Key};
use cuda_api::graph::capturing;

pub(crate) use crate::state::graph::GRAPHS;
use crate::state::graph::{Op, Software};
use crate::state::stream::Stream;

/// Returns the key by which [`GRAPHS`] identifies a stream.
pub(crate) fn key(stream: &Stream) -> Key {
    Key { id: stream.id, of: 0 }
}

impl From<&Stream> for capture::Stream {
    fn from(stream: &Stream) -> Self {
        Self {
            key: key(stream),
            ctx: stream.context.id,
            blocking: !stream.non_blocking,
            legacy: stream.legacy,
        }
    }
}

/// Returns whether a stream is being captured. If it is, the caller must pass its operation to
/// [`push`] instead of executing it.
#[inline]
pub(crate) fn captured(stream: &Stream) -> CuResult<bool> {
    GRAPHS.captures_stream(|| Ok(stream.into()))
}

/// Adds a node to the graph that a stream is being captured into.
pub(crate) fn push(stream: &Stream, op: Op) -> CuResult {
    GRAPHS.push(&stream.into(), op).map(drop)
}

/// Fails if an active stream capture forbids calls that CUDA considers potentially unsafe during a
/// capture.
pub(crate) fn forbid_unsafe() -> CuResult {
    capturing::forbid_unsafe::<Software>()
}
