//! Streams: created streams, and the default streams of contexts and threads.

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::CUstream;
use cuda_api::thread_end;

use super::attributes::{self, PRIORITY};
use super::context::{Context, current, not_ended, object};
use super::errors::Errors;
use super::handles::{Kind, Table, unique_id};
use super::queue::{Mark, Queue};
use super::resources::Part;

/// All streams that the program has created.
pub(crate) static STREAMS: Table<Stream> = Table::new(Kind::Stream);

/// The default streams of a thread, by the unique id of their context.
type ThreadStreams = HashMap<u64, ThreadStream>;

/// A thread's default stream in a context.
struct ThreadStream {
    id: u64,
    queue: Arc<Queue>,
    memory: Part,
}

// The map is never dropped, because the program's destructors may still call CUDA when a thread
// exits.
thread_local! {
    static THREAD_STREAMS: ManuallyDrop<RefCell<ThreadStreams>> =
        ManuallyDrop::new(RefCell::new(HashMap::new()));
}

/// A stream: a queue of work in a context.
pub(crate) struct Stream {
    pub(crate) handle: usize,
    pub(crate) id: u64,
    pub(crate) context: Arc<Context>,
    pub(crate) non_blocking: bool,
    pub(crate) queue: Arc<Queue>,
    /// Whether this is the legacy default stream.
    pub(crate) legacy: bool,
    /// The device memory that a created stream needs, or `None` for a default stream.
    _memory: Option<Part>,
}

impl Stream {
    /// Returns a context's legacy default stream.
    pub(crate) fn legacy(context: &Arc<Context>) -> Self {
        Self {
            handle: 1,
            id: 0,
            context: context.clone(),
            non_blocking: false,
            queue: context.legacy_queue().clone(),
            legacy: true,
            _memory: None,
        }
    }

    /// Returns the calling thread's default stream in a context.
    pub(crate) fn of_thread(context: &Arc<Context>) -> CuResult<Self> {
        let resources = context.resources()?;
        let (id, queue) = THREAD_STREAMS.with(|streams| -> CuResult<_> {
            let mut streams = streams.borrow_mut();
            if let Some(known) = streams.get_mut(&context.unique) {
                // If the primary context was reset since the thread used the stream, the stream's
                // memory was freed.
                if !known.memory.is_of(&resources) {
                    known.memory = resources.add_stream()?;
                }
                return Ok((known.id, known.queue.clone()));
            }
            let memory = resources.add_stream()?;
            thread_end::arm();
            let (id, queue) = (unique_id(), Queue::new());
            context.add_queue(&queue, false);
            streams.insert(context.unique, ThreadStream { id, queue: queue.clone(), memory });
            Ok((id, queue))
        })?;
        Ok(Self {
            handle: 2,
            id,
            context: context.clone(),
            non_blocking: false,
            queue,
            legacy: false,
            _memory: None,
        })
    }

    /// Creates a stream and returns its handle.
    pub(crate) fn create(
        context: &Arc<Context>,
        non_blocking: bool,
        priority: i32,
    ) -> CuResult<usize> {
        let memory = context.resources()?.add_stream()?;
        let queue = Queue::new();
        if priority != 0 {
            queue.attributes().insert(PRIORITY, attributes::priority(priority));
        }
        context.add_queue(&queue, non_blocking);
        let (handle, _) = STREAMS.insert_with(|handle| Self {
            handle,
            id: unique_id(),
            context: context.clone(),
            non_blocking,
            queue,
            legacy: false,
            _memory: Some(memory),
        });
        Ok(handle)
    }

    /// Returns the positions in other streams that new work must wait for. The legacy default
    /// stream waits for all blocking streams, and all blocking streams wait for the legacy default
    /// stream.
    fn dependencies(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        if self.legacy {
            self.context.each_blocking(|queue| {
                let mark = queue.mark();
                if !mark.reached() {
                    marks.push(mark);
                }
            });
        } else if !self.non_blocking {
            let mark = self.context.legacy_queue().mark();
            if !mark.reached() {
                marks.push(mark);
            }
        }
        marks
    }

    /// Queues work. It runs after all earlier work in the stream and in the streams that this
    /// stream waits for.
    pub(crate) fn submit(&self, work: impl FnOnce(&Errors) + Send + 'static) -> Mark {
        self.queue.submit(self.context.errors(), self.dependencies(), Box::new(work))
    }

    /// Makes all later work in this stream wait for a position in another stream.
    pub(crate) fn submit_after(&self, mark: Mark) {
        let mut after = self.dependencies();
        after.push(mark);
        self.queue.submit(self.context.errors(), after, Box::new(|_| {}));
    }

    /// Executes work immediately if new work wouldn't have to wait. Otherwise, queues it.
    pub(crate) fn now_or_submit(&self, work: impl FnOnce(&Errors) + Send + 'static) {
        if self.idle() {
            work(self.context.errors());
        } else {
            self.submit(work);
        }
    }

    /// Returns whether all work that new work would have to wait for is done.
    pub(crate) fn idle(&self) -> bool {
        if !self.queue.idle() {
            return false;
        }
        if self.legacy {
            let mut idle = true;
            self.context.each_blocking(|queue| idle &= queue.idle());
            idle
        } else {
            self.non_blocking || self.context.legacy_queue().idle()
        }
    }

    /// Waits for all work in the stream, and for the work in other streams that new work would have
    /// to wait for.
    pub(crate) fn synchronize(&self) {
        self.queue.mark().wait();
        for mark in self.dependencies() {
            mark.wait();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Close only the queue of a created stream. The queue of a default stream must live as long
        // as its context or thread, and this object only refers to it.
        if self.handle > 2 {
            self.queue.close();
        }
    }
}

/// Closes the queues of the calling thread's default streams, so that their threads exit after the
/// queued work. Called when the calling thread exits. Returns the ids of these streams.
pub(crate) fn thread_ended() -> Vec<u64> {
    let streams = THREAD_STREAMS.with(|streams| streams.take());
    let end = |stream: ThreadStream| {
        stream.queue.close();
        stream.id
    };
    streams.into_values().map(end).collect()
}

/// The stream that an API call uses: a created one, or a default stream.
pub(crate) enum Target {
    Created(Arc<Stream>),
    Default(Stream),
}

impl Deref for Target {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        match self {
            Target::Created(stream) => stream,
            Target::Default(stream) => stream,
        }
    }
}

/// Returns the default stream, for a call without a stream argument.
pub(crate) fn default_stream(per_thread: bool) -> CuResult<Target> {
    lookup(std::ptr::null_mut(), per_thread)
}

/// Returns the stream for a handle. Fails if the stream's context has a sticky error. A null handle
/// means the legacy default stream or, with `per_thread`, the calling thread's default stream.
pub(crate) fn lookup(handle: CUstream, per_thread: bool) -> CuResult<Target> {
    match (handle as usize, per_thread) {
        (0, false) | (1, _) => Ok(Target::Default(Stream::legacy(&current()?))),
        (0, true) | (2, _) => {
            let context = current()?;
            match context.green {
                // As in NVIDIA's driver, green contexts have no per-thread default streams.
                Some(_) => Err(CuError::INVALID_HANDLE),
                None => Ok(Target::Default(Stream::of_thread(&context)?)),
            }
        }
        (handle, _) => {
            not_ended()?;
            let stream = object(&STREAMS, handle)?;
            if !stream.context.active.load(Ordering::Acquire) {
                return Err(CuError::CONTEXT_IS_DESTROYED);
            }
            stream.context.healthy()?;
            Ok(Target::Created(stream))
        }
    }
}
