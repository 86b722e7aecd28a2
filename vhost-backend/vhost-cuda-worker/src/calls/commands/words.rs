//! Writes completion words. With such a word in the arena, the GPU shows a waiting guest thread
//! that it has reached the point for which the thread waits.
//!
//! Even with a word, the worker records an event for the wait, polls the event, and replies. The
//! worker only writes words and never reads them, so nothing on the host depends on them
//! (docs/design/words.md).

use std::sync::atomic::Ordering;

use cuda_api::sys::{CUdevice_attribute, CUstream};
use protocol::ids::{ContextId, EventId};
use protocol::words::WaitValue;

use crate::calls::commands::cx::Cx;
use crate::calls::lock::lock;
use crate::calls::memory::arena::Arena;
use crate::calls::tables::handles::Recorded;

/// While this many calls are waiting, further waits get no completion words. The gate's count of
/// commands in flight doesn't include the writes of words, so without this limit they could fill
/// the driver's channels.
const MAX_WORDS: usize = 64;

/// A completion word in the guest's memory, which serves one wait.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Word {
    /// The word's offset in the arena.
    pub offset: u64,
    pub value: WaitValue,
}

/// Writes completion words.
#[derive(Default)]
pub(in crate::calls) struct Words {
    /// Whether the driver has refused to write a word. The worker then doesn't try again.
    refused: bool,
}

impl Words {
    /// Has the GPU write a completion word after the commands now queued in a stream, some of which
    /// are unfinished. Writes no word and returns false if the GPU can't write it, or if the guest
    /// must wait for the reply instead: while the gate is closed, if kernels print (because the
    /// reply reports their output), and while [`MAX_WORDS`] calls are waiting.
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
        // SAFETY: the stream is live, because the caller has just looked it up, and streams are
        // destroyed only after this thread has removed them from the tables. The address is that of
        // a word in the arena, and the arena stays registered until the context's work has ended.
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

/// Returns whether streams on `device` can write 64-bit words.
fn writes(cx: &Cx<'_>, device: usize) -> bool {
    const WRITES: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS.0;
    let facts = cx.shared.properties.devices.get(device);
    facts.is_some_and(|facts| facts.attributes[WRITES as usize] != 0)
}

/// Returns the stream in which an event was recorded, if no later command has been queued in that
/// stream.
pub(in crate::calls) fn last_in(cx: &Cx<'_>, id: EventId) -> Option<(CUstream, ContextId)> {
    let event = *lock(&cx.shared.tables).events.get(id).ok()?;
    let Recorded::In(stream, ctx, number) = event.recorded else { return None };
    let stream = (stream.0, ctx);
    (!event.interprocess && cx.shared.flight.is_last(stream, number)).then_some(stream)
}
