//! Tracks stream-ordered frees that haven't taken effect, and calls that wait for memory to be
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

/// The maximum number of busy streams whose oldest free is queried in one poll.
const MAX_BUSY: usize = 64;

/// A stream-ordered free that the GPU hasn't reached yet.
pub(in crate::calls) struct AsyncFree {
    pub freeing: Freeing,
    pub stream: StreamId,
    pub thread: u32,
    /// The event that was recorded in the stream at the point of the free. `None` if the stream was
    /// empty.
    pub event: Option<DriverHandle<CUevent>>,
    /// The context of the stream and of the event.
    pub ctx: ContextId,
    pub since: Instant,
}

/// A request for device memory.
pub(in crate::calls) enum Request {
    /// An allocation of this many bytes in the device memory window.
    Allocate(usize, Source),
    /// The creation of physical memory.
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

/// A call that continues once all memory that was being freed when the call arrived has been freed.
pub(in crate::calls) enum Waiter {
    /// An allocation, which is retried once.
    Retry(Retry),
    /// A query of the amount of free memory, with the guest thread that made it and that thread's
    /// current context.
    Info(u32, ContextId, ReplyTo),
    /// A call that then succeeds without doing anything else.
    Done(ReplyTo),
}

/// Calls that are waiting for memory to be freed, oldest first.
#[derive(Default)]
pub(in crate::calls) struct Waiters {
    /// The calls, each with the number of the last unmapping for which it waits.
    list: VecDeque<(u64, Waiter)>,
}

impl Waiters {
    pub(in crate::calls) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns whether one more call may wait.
    pub(in crate::calls) fn has_room(&self) -> bool {
        self.list.len() < MAX_WAITERS
    }

    /// Makes a call wait for all unmappings that are in progress.
    pub(in crate::calls) fn add(&mut self, unmapping: &Unmapping, waiter: Waiter) {
        self.list.push_back((unmapping.last(), waiter));
    }

    /// Removes and returns the oldest call, if the unmappings for which it waits have ended.
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

/// The time for which memory stays reusable after a stream-ordered free, even if the GPU has
/// reached the free. If a program allocates the same size again in this time, the worker doesn't
/// need new memory.
const REUSABLE: Duration = Duration::from_millis(1);
/// The maximum number of frees for which memory stays reusable. If there are more, all memory whose
/// free the GPU has reached is freed at once.
const MOST_REUSABLE: usize = 64;

impl AsyncFrees {
    pub(in crate::calls) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(in crate::calls) fn add(&mut self, free: AsyncFree) {
        self.list.push_back(free);
    }

    /// Removes and returns a free whose memory a new allocation may reuse, because its size, pool,
    /// stream and context are the same.
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
                // The free's stream must be in the current context. Its id alone doesn't show that,
                // because the default streams have the same ids in all contexts.
                && free.ctx == ctx
                && (!free.stream.is_cudas() || free.thread == thread)
        })?;
        self.list.remove(index)
    }

    /// Removes and returns the frees that the GPU has reached and whose memory should no longer be
    /// held for another allocation.
    pub(in crate::calls) fn take_old(&mut self, driver: &Driver) -> Vec<AsyncFree> {
        match self.list.len() {
            0..=MOST_REUSABLE => self.take_reached_after(driver, REUSABLE),
            _ => self.take_reached(driver),
        }
    }

    /// Removes and returns the frees that the GPU has reached.
    pub(in crate::calls) fn take_reached(&mut self, driver: &Driver) -> Vec<AsyncFree> {
        self.take_reached_after(driver, Duration::ZERO)
    }

    /// Removes and returns the frees that the GPU has reached and that are at least `age` old.
    /// Queries only the oldest frees of each stream, until it finds one that the GPU hasn't
    /// reached, because the GPU reaches them in order.
    fn take_reached_after(&mut self, driver: &Driver, age: Duration) -> Vec<AsyncFree> {
        let now = Instant::now();
        let mut busy = HashSet::new();
        let (mut reached, mut kept) = (Vec::new(), VecDeque::new());
        for free in self.list.drain(..) {
            let stream = (free.ctx, free.stream, free.stream.is_cudas().then_some(free.thread));
            let waits = busy.contains(&stream)
                || busy.len() >= MAX_BUSY
                || now.saturating_duration_since(free.since) < age
                // SAFETY: the event is live, because it's from the pool, and the free is removed
                // from the list before the event's context is destroyed.
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
