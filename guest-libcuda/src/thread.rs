//! What belongs to a thread: its number and its stack of contexts.
//!
//! Nothing here has a destructor, since CUDA's libraries call us from theirs, after a thread's own
//! variables may have ended.

use crate::objects::Context;
use protocol::ids::ContextId;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

/// Contexts live as long as the process, see [`Context`].
type Ctx = &'static Context;

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static CURRENT: Cell<Option<Ctx>> = const { Cell::new(None) };
    /// Below the current one.
    static STACK: RefCell<ManuallyDrop<Vec<Option<Ctx>>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// The kernel's number of this thread, and the id of its current context (0 for none).
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
            number
        }
        number => number,
    }
}

/// The current context.
#[inline]
pub fn current() -> Option<Ctx> {
    CURRENT.get()
}

/// Puts another context in the current one's place.
pub fn set_current(context: Option<Ctx>) {
    CURRENT.set(context);
}

/// Makes a context current, above what was.
pub fn push(context: Ctx) {
    let below = CURRENT.replace(Some(context));
    STACK.with_borrow_mut(|stack| stack.push(below));
}

/// Takes the current context off.
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
