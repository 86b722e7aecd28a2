//! Frees everything that belongs to a context.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::context::Context;
use super::event::EVENTS;
use super::stream::STREAMS;
use super::{array, memory, module, texture};

/// Waits for a context's work, then frees its streams, events, modules and memory.
pub(crate) fn clear(context: &Arc<Context>) {
    context.synchronize();
    for green in context.greens() {
        green.active.store(false, Ordering::Release);
    }
    for stream in STREAMS.remove_where(|s| s.context.id == context.id) {
        stream.context.forget_queue(&stream.queue);
    }
    EVENTS.remove_where(|e| e.context.id == context.id);
    module::forget_context(context.id);
    texture::forget_context(context.id);
    array::forget_context(context.id);
    context.forget_heap();
    memory::free_context(context.id);
    context.reset();
}
