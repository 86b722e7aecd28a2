//! Remembers each thread's last wait for the GPU. A call that must wait for earlier work can return
//! at once if no command has been sent since then, without a round trip to the worker.
//!
//! The thread-local variable has no destructor, for the reason that [`thread`] explains.

use crate::thread;
use protocol::ids::{ContextId, StreamId};
use std::cell::Cell;

/// The number of commands that had been sent before a wait, and the context and the stream for
/// which the thread waited. `None` means all streams of the context.
type Settled = (u64, ContextId, Option<StreamId>);

thread_local! {
    static SETTLED: Cell<Settled> = const { Cell::new((0, ContextId::NONE, None)) };
}

/// Records that this thread has waited for a stream of the current context, or for all of them.
/// `sent` is the number of commands that the session had sent before the wait.
pub fn note(sent: u64, stream: Option<StreamId>) {
    SETTLED.set((sent, thread::origin().1, stream));
}

/// Returns whether no work is left in a stream of the current context, because this thread has
/// waited for it and the session has sent no command since. `sent` is the number of commands that
/// the session has sent.
pub fn covers(sent: u64, stream: StreamId) -> bool {
    let (settled, context, waited) = SETTLED.get();
    settled == sent && context == thread::origin().1 && waited.is_none_or(|waited| waited == stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_covers_its_stream_until_the_next_command() {
        let (first, second) = (StreamId(1), StreamId(2));
        note(7, Some(first));
        assert!(covers(7, first));
        assert!(!covers(8, first) && !covers(7, second));
        note(8, None);
        assert!(covers(8, first) && covers(8, second));
        assert!(!covers(9, first));
    }
}
