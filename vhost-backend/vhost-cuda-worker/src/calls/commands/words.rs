//! Completion words: the GPU shows the guest that it has reached the point that a call waits for.
//!
//! The worker still records an event for the wait, polls it, and replies. It only writes words and
//! never reads them, so nothing on the host depends on them (docs/design/words.md).

use std::sync::atomic::Ordering;

use cuda_api::sys::{CUdevice_attribute, CUstream};
use protocol::ids::{ContextId, EventId};
use protocol::words::WaitValue;

use crate::calls::commands::cx::Cx;
use crate::calls::lock::lock;
use crate::calls::memory::arena::Arena;
use crate::calls::tables::handles::Recorded;

/// While this many calls are waiting, no words are written for others. Writes aren't among the
/// commands that the gate counts, and they must not fill up the driver's channels.
const MAX_WORDS: usize = 64;

/// A word in the guest's memory, for one wait.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Word {
    /// The word's offset in the arena.
    pub offset: u64,
    pub value: WaitValue,
}

/// Writes completion words.
#[derive(Default)]
pub(in crate::calls) struct Words {
    /// Whether the driver has refused to write a word, so that it isn't asked again.
    refused: bool,
}

impl Words {
    /// Has the GPU write a word behind the commands now queued in a stream, which are unfinished.
    /// Returns false without doing so if it can't, or if the guest must wait for the reply: while the
    /// gate is closed, if kernels print, because the reply reports their output, and while many calls
    /// are `waiting`.
    pub(in crate::calls) fn arm(
        &mut self,
        cx: &Cx<'_>,
        (arena, waiting): (Option<&mut Arena>, usize),
        (stream, ctx): (CUstream, ContextId),
        word: Word,
    ) -> bool {
        let replies = waiting >= MAX_WORDS || cx.shared.prints.load(Ordering::Relaxed);
        let Some(arena) = arena.filter(|_| !replies && !self.refused) else { return false };
        if cx.within(ctx).enter().is_err() {
            return false;
        }
        let device = lock(&cx.shared.tables).device_of(ctx).filter(|device| writes(cx, *device));
        let Some(pass) = device.and_then(|device| cx.shared.turns.pass_for_word(device)) else {
            return false;
        };
        let Some((at, on_gpu)) = arena.word(ctx, word.offset) else { return false };
        at.store(word.value.0, Ordering::Release);
        let reached = word.value.reached();
        // SAFETY: the stream is live: the caller has just looked it up, and streams begin to end on
        // this thread. The address is that of a word in the arena, whose registration ends only
        // after the context's work.
        let written =
            unsafe { cx.driver().cuStreamWriteValue64(&pass, stream, on_gpu, reached, 0) };
        if let Err(error) = written {
            tracing::debug!(session = cx.shared.session.label, "no completion words: {error}");
            at.store(0, Ordering::Release);
            self.refused = true;
        }
        !self.refused
    }
}

/// Returns whether streams on this device can write 64-bit words.
fn writes(cx: &Cx<'_>, device: usize) -> bool {
    const WRITES: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS.0;
    let facts = cx.shared.properties.devices.get(device);
    facts.is_some_and(|facts| facts.attributes[WRITES as usize] != 0)
}

/// Returns the stream in which an event was recorded, if nothing has been queued there since.
pub(in crate::calls) fn last_in(cx: &Cx<'_>, id: EventId) -> Option<(CUstream, ContextId)> {
    let event = *lock(&cx.shared.tables).events.get(id).ok()?;
    let Recorded::In(stream, ctx, number) = event.recorded else { return None };
    let stream = (stream.0, ctx);
    (!event.interprocess && cx.shared.flight.is_last(stream, number)).then_some(stream)
}
