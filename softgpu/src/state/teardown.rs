//! Frees all objects and memory of a context.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::error::CuError;

use super::context::Context;
use super::event::EVENTS;
use super::graph::{EXECS, GRAPHS};
use super::stream::STREAMS;
use super::{array, memory, module, strict, texture};

/// Waits for a context's work. After that, frees the context's streams, events, modules, and
/// memory.
pub(crate) fn clear(context: &Arc<Context>) {
    let error = CuError::CONTEXT_IS_DESTROYED;
    context.synchronize();
    let _suspended = context.healthy().is_err().then(strict::suspend);
    GRAPHS.forget_context(context.id);
    for green in context.greens() {
        green.active.store(false, Ordering::Release);
    }
    for stream in STREAMS.end_where(error, |s| s.context.id == context.id) {
        stream.context.forget_queue(&stream.queue);
    }
    EVENTS.end_where(error, |e| e.context.id == context.id);
    EXECS
        .end_of_context(CuError::INVALID_HANDLE, |exec| exec.loaded.context.id == context.id)
        .iter()
        .for_each(|exec| exec.end());
    module::forget_context(context.id);
    texture::forget_context(context.id);
    array::forget_context(context.id, error);
    context.forget_heap();
    memory::free_context(context.id);
    context.reset();
}
