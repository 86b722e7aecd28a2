//! Per-thread state: the thread's number, its stack of contexts, and the contexts in which it has
//! used its default stream.
//!
//! No variable here has a destructor. CUDA's libraries call this library from their own
//! destructors, at a time when a thread-local variable with a destructor may already be destroyed.

use crate::objects::Context;
use cuda_api::sys::CUctx_flags;
use cuda_api::thread_end;
use protocol::ids::ContextId;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

/// A reference to a context. Contexts are never freed, see [`Context`].
type Ctx = &'static Context;

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static CURRENT: Cell<Option<Ctx>> = const { Cell::new(None) };
    /// The entries of this thread's context stack below the current context.
    static STACK: RefCell<ManuallyDrop<Vec<Option<Ctx>>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// The contexts in which this thread has used its default stream, the most recent one first.
    static DEFAULT_STREAMS: RefCell<ManuallyDrop<Vec<(Ctx, ContextId)>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Returns this thread's kernel thread id, and the id of its current context, or 0 if it has none
/// or the context has been destroyed.
#[inline]
pub fn origin() -> (u32, ContextId) {
    let context = current().filter(|context| context.is_alive());
    (number(), context.map_or(ContextId::NONE, Context::id))
}

#[inline]
fn number() -> u32 {
    match NUMBER.get() {
        0 => {
            // SAFETY: gettid has no preconditions.
            let number = unsafe { libc::gettid() } as u32;
            NUMBER.set(number);
            thread_end::arm();
            number
        }
        number => number,
    }
}

/// Returns this thread's current context.
#[inline]
pub fn current() -> Option<Ctx> {
    CURRENT.get()
}

/// Returns whether a native program would poll instead of sleeping while it waits in the current
/// context.
pub fn spins() -> bool {
    const BLOCKING: u32 = CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC.0;
    current().is_none_or(|context| context.flags() & BLOCKING == 0)
}

/// Replaces the current context.
pub fn set_current(context: Option<Ctx>) {
    CURRENT.set(context);
}

/// Runs `body` while `context` is the current context.
pub fn within<R>(context: Ctx, body: impl FnOnce() -> R) -> R {
    let before = CURRENT.replace(Some(context));
    let result = body();
    CURRENT.set(before);
    result
}

/// Pushes a context on this thread's stack, which makes it the current context.
pub fn push(context: Ctx) {
    let below = CURRENT.replace(Some(context));
    STACK.with_borrow_mut(|stack| stack.push(below));
}

/// Returns whether a context is on this thread's stack.
pub fn has(context: Ctx) -> bool {
    let below = STACK.with_borrow(|stack| stack.contains(&Some(context)));
    below || current() == Some(context)
}

/// Pops the current context from this thread's stack.
pub fn pop() -> Option<Ctx> {
    let top = CURRENT.get()?;
    let below = STACK.with_borrow_mut(|stack| {
        let below = stack.pop().flatten();
        if stack.is_empty() {
            **stack = Vec::new();
        }
        below
    });
    CURRENT.set(below);
    Some(top)
}

/// Records that this thread uses its default stream in the current context.
#[inline]
pub fn note_default_stream() {
    let Some(context) = current() else { return };
    let used = (context, context.id());
    DEFAULT_STREAMS.with_borrow_mut(|streams| {
        if streams.first() != Some(&used) {
            streams.retain(|(context, id)| *context != used.0 && context.id() == *id);
            streams.insert(0, used);
        }
    });
}

/// Returns the contexts that still exist in which this thread has used its default stream, and
/// forgets them.
pub fn take_default_streams() -> impl Iterator<Item = Ctx> {
    let streams = ManuallyDrop::into_inner(DEFAULT_STREAMS.take()).into_iter();
    let exists = |(context, id): &(Ctx, ContextId)| context.is_alive() && context.id() == *id;
    streams.filter(exists).map(|(context, _)| context)
}

/// Frees this thread's state, because it exits. Keeps the current context for destructors of other
/// libraries that run later.
pub fn end() {
    NUMBER.set(0);
    drop(ManuallyDrop::into_inner(STACK.take()));
}
