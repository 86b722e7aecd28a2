//! Stream-ordered frees that haven't taken effect, and calls that are waiting for memory to be
//! freed.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use cuda_api::sys::CUevent;
use protocol::calls::VcudaMemCreate;
use protocol::ids::{ContextId, PoolId, StreamId};

use super::allocate::Source;
use super::plan::Freeing;
use super::unmapping::Unmapping;
use crate::calls::ReplyTo;
use crate::calls::contexts::charges::{ChargedReply, kind};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::driver::{CuError, Driver};

/// The maximum number of calls that may wait for memory to be freed. A guest thread waits for one
/// call at a time, so normally there are few.
const MAX_WAITERS: usize = 4096;

/// The maximum number of busy streams whose oldest free is queried at once.
const MAX_BUSY: usize = 64;

/// A stream-ordered free that the GPU hasn't reached yet.
pub(in crate::calls) struct AsyncFree {
    pub freeing: Freeing,
    pub stream: StreamId,
    pub thread: u32,
    /// The event that marks the free in the stream. `None` if the stream was empty.
    pub event: Option<DriverHandle<CUevent>>,
    /// The context of the stream and of the event.
    pub ctx: ContextId,
    pub since: Instant,
}

/// A request for device memory.
pub(in crate::calls) enum Request {
    /// An allocation of this many bytes in the device memory window.
    Allocate(usize, Source),
    /// Physical memory.
    Create(VcudaMemCreate),
}

/// An allocation that failed for lack of memory while other memory was being freed, and will be
/// retried.
pub(in crate::calls) struct Retry {
    pub request: Request,
    pub thread: u32,
    pub ctx: ContextId,
    pub reply: ChargedReply<kind::Memory>,
}

/// A call that continues once all memory that was being freed when it arrived has been freed.
pub(in crate::calls) enum Waiter {
    /// The allocation is retried once.
    Retry(Retry),
    /// A query of the amount of free memory, by this guest thread, with this current context.
    Info(u32, ContextId, ReplyTo),
    /// The call succeeds.
    Done(ReplyTo),
}

/// Calls that are waiting for memory to be freed, oldest first.
#[derive(Default)]
pub(in crate::calls) struct Waiters {
    /// Each call has the number of the last unmapping that it waits for.
    list: VecDeque<(u64, Waiter)>,
}

impl Waiters {
    pub(in crate::calls) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns whether another call may wait.
    pub(in crate::calls) fn has_room(&self) -> bool {
        self.list.len() < MAX_WAITERS
    }

    /// Lets a call wait for the memory that is now being freed.
    pub(in crate::calls) fn add(&mut self, unmapping: &Unmapping, waiter: Waiter) {
        self.list.push_back((unmapping.last(), waiter));
    }

    /// Removes and returns the oldest call if it needn't wait any longer.
    pub(in crate::calls) fn next_ready(&mut self, unmapping: &Unmapping) -> Option<Waiter> {
        let (last, _) = self.list.front()?;
        if !unmapping.ended(*last) {
            return None;
        }
        self.list.pop_front().map(|(_, waiter)| waiter)
    }
}

/// Stream-ordered frees that haven't taken effect yet, oldest first.
#[derive(Default)]
pub(in crate::calls) struct AsyncFrees {
    list: VecDeque<AsyncFree>,
}

/// How long memory stays reusable after a stream-ordered free, even if the GPU has reached it. A program
/// that allocates the same size again soon needs no new memory then.
const REUSABLE: Duration = Duration::from_millis(1);
/// With more frees than this, the memory of all that the GPU has reached is freed at once.
const MOST_REUSABLE: usize = 64;

impl AsyncFrees {
    pub(in crate::calls) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(in crate::calls) fn add(&mut self, free: AsyncFree) {
        self.list.push_back(free);
    }

    /// Removes and returns a free whose memory a new allocation may reuse: it must have the same
    /// size, pool, stream and context.
    pub(in crate::calls) fn take_reusable(
        &mut self,
        stream: StreamId,
        len: u64,
        pool: PoolId,
        (ctx, thread): (ContextId, u32),
    ) -> Option<AsyncFree> {
        let index = self.list.iter().position(|free| {
            free.stream == stream
                && free.freeing.len == len
                && free.freeing.pool() == Some(pool)
                && free.freeing.ctx() == ctx
                // Default streams have the same ids in all contexts.
                && free.ctx == ctx
                && (!free.stream.is_cudas() || free.thread == thread)
        })?;
        self.list.remove(index)
    }

    /// Removes and returns the frees that the GPU has reached, and whose memory should no longer be
    /// kept for another allocation. In each stream, the GPU reaches the oldest one first.
    pub(in crate::calls) fn take_old(&mut self, driver: &Driver) -> Vec<AsyncFree> {
        match self.list.len() {
            0..=MOST_REUSABLE => self.take_reached_after(driver, REUSABLE),
            _ => self.take_reached(driver),
        }
    }

    /// Removes and returns all frees that the GPU has reached.
    pub(in crate::calls) fn take_reached(&mut self, driver: &Driver) -> Vec<AsyncFree> {
        self.take_reached_after(driver, Duration::ZERO)
    }

    /// Removes and returns the frees that the GPU has reached, and that are at least this old.
    fn take_reached_after(&mut self, driver: &Driver, age: Duration) -> Vec<AsyncFree> {
        let now = Instant::now();
        let mut busy = HashSet::new();
        let (mut reached, mut kept) = (Vec::new(), VecDeque::new());
        for free in self.list.drain(..) {
            let stream = (free.ctx, free.stream, free.stream.is_cudas().then_some(free.thread));
            let waits = busy.contains(&stream)
                || busy.len() >= MAX_BUSY
                || now.saturating_duration_since(free.since) < age
                // SAFETY: the event is from the pool, and the free is removed from the list before
                // the event's context is destroyed.
                || free.event.is_some_and(|event| unsafe {
                    driver.cuEventQuery(event.0) == Err(CuError::NOT_READY)
                });
            if waits {
                busy.insert(stream);
                kept.push_back(free);
            } else {
                reached.push(free);
            }
        }
        self.list = kept;
        reached
    }

    /// Removes and returns all frees whose stream or memory is in a context that is about to be
    /// destroyed.
    pub(in crate::calls) fn end_of(&mut self, ctx: ContextId) -> VecDeque<AsyncFree> {
        let (gone, kept) = std::mem::take(&mut self.list)
            .into_iter()
            .partition(|free| free.ctx == ctx || free.freeing.ctx() == ctx);
        self.list = kept;
        gone
    }
}
