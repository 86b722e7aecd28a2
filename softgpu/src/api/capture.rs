//! Stream capture, as the other entry points see it.

use cuda_api::graph::capture::{self, Key};
use cuda_api::graph::capturing;

use super::{Answer, CUresult};
pub(crate) use crate::state::graph::GRAPHS;
use crate::state::graph::{Op, Software};
use crate::state::stream::Stream;

/// A stream's name among captures.
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

/// Whether what is queued in a stream goes to a graph, with [`push`].
#[inline]
pub(crate) fn captured(stream: &Stream) -> Result<bool, CUresult> {
    Ok(GRAPHS.captures_stream(|| Ok(stream.into()))?)
}

/// Adds a node to the graph that a stream is captured to.
pub(crate) fn push(stream: &Stream, op: Op) -> Answer {
    GRAPHS.push(&stream.into(), op)?;
    Ok(())
}

/// A call that CUDA calls potentially unsafe.
pub(crate) fn forbid_unsafe() -> Answer {
    Ok(capturing::forbid_unsafe::<Software>()?)
}

/// What could be captured natively, and not here.
pub(crate) fn unsupported_on(stream: &Stream, name: &str) -> Answer {
    if captured(stream)? {
        // The capture would lack it.
        let _ = GRAPHS.forbid_on(&stream.into());
        return Err(super::unsupported(name));
    }
    Ok(())
}
