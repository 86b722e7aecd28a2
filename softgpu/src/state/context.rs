//! Contexts, and the stack of contexts of each thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cuda_api::sys::CUresult;

use super::device::{Device, driver};
use super::handles::{Kind, Table};
use super::memory;
use super::stream::{Queue, STREAMS, Stream, unique_id};
use crate::exec::heap::Heap;
use crate::exec::memory::Fault;
use crate::exec::printf::Printf;

/// All contexts.
pub(crate) static CONTEXTS: Table<Context> = Table::new(Kind::Context);

/// Limits and their initial values.
const LIMITS: [u64; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 128, 0];

/// A context.
pub(crate) struct Context {
    pub(crate) handle: usize,
    pub(crate) id: u64,
    pub(crate) ordinal: i32,
    pub(crate) primary: bool,
    pub(crate) flags: AtomicU32,
    /// A primary context is inactive until it is retained, and again after a reset.
    pub(crate) active: AtomicBool,
    /// The first error of asynchronous work; every later call returns it.
    error: AtomicI32,
    legacy: Arc<Queue>,
    /// Blocking streams: the legacy stream and these wait for each other.
    blocking: RwLock<Vec<Arc<Queue>>>,
    /// Non-blocking streams.
    others: RwLock<Vec<Arc<Queue>>>,
    pub(crate) limits: [AtomicU64; 7],
    pub(crate) printf: Arc<Printf>,
    heap: Mutex<Option<Arc<Heap>>>,
    launches: AtomicU64,
}

impl Context {
    /// Creates a context.
    pub(crate) fn new(ordinal: i32, flags: u32, primary: bool) -> Arc<Self> {
        let (_, context) = CONTEXTS.insert_with(|handle| Self {
            handle,
            id: unique_id(),
            ordinal,
            primary,
            flags: AtomicU32::new(flags),
            active: AtomicBool::new(!primary),
            error: AtomicI32::new(0),
            legacy: Queue::new(),
            blocking: RwLock::new(Vec::new()),
            others: RwLock::new(Vec::new()),
            limits: LIMITS.map(AtomicU64::new),
            printf: Arc::new(Printf::new(LIMITS[1] as usize)),
            heap: Mutex::new(None),
            launches: AtomicU64::new(1),
        });
        context
    }

    pub(crate) fn device(&self) -> Result<&'static Device, CUresult> {
        driver()?.device(self.ordinal)
    }

    /// Records an error unless there is one already.
    pub(crate) fn fail(&self, error: CUresult) {
        let _ = self.error.compare_exchange(0, error.0 as i32, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Records the error that a kernel ended with.
    pub(crate) fn fault(&self, fault: Fault) {
        self.fail(match fault {
            Fault::IllegalAddress => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            Fault::Misaligned => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
            Fault::IllegalInstruction => CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            Fault::Assert => CUresult::CUDA_ERROR_ASSERT,
            Fault::LaunchFailed | Fault::Cancelled => CUresult::CUDA_ERROR_LAUNCH_FAILED,
        });
    }

    pub(crate) fn failed(&self) -> bool {
        self.error.load(Ordering::Acquire) != 0
    }

    /// The context's sticky error, if any.
    pub(crate) fn healthy(&self) -> Result<(), CUresult> {
        match self.error.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err([
                CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
                CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
                CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
                CUresult::CUDA_ERROR_ASSERT,
                CUresult::CUDA_ERROR_LAUNCH_FAILED,
                CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            ]
            .into_iter()
            .find(|e| e.0 as i32 == code)
            .unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)),
        }
    }

    pub(crate) fn legacy_queue(&self) -> &Arc<Queue> {
        &self.legacy
    }

    pub(crate) fn each_blocking(&self, f: impl FnMut(&Arc<Queue>)) {
        self.blocking.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(f);
    }

    fn lists(&self) -> [&RwLock<Vec<Arc<Queue>>>; 2] {
        [&self.blocking, &self.others]
    }

    /// The legacy default stream.
    pub(crate) fn legacy_stream(self: &Arc<Self>) -> Stream {
        Stream {
            handle: 1,
            id: 0,
            context: self.clone(),
            non_blocking: false,
            priority: 0,
            queue: self.legacy.clone(),
            legacy: true,
        }
    }

    fn add_queue(&self, queue: &Arc<Queue>, non_blocking: bool) {
        let list = self.lists()[usize::from(non_blocking)];
        list.write().unwrap_or_else(PoisonError::into_inner).push(queue.clone());
    }

    pub(crate) fn forget_queue(&self, queue: &Arc<Queue>) {
        for list in self.lists() {
            let mut list = list.write().unwrap_or_else(PoisonError::into_inner);
            list.retain(|q| !Arc::ptr_eq(q, queue));
        }
    }

    /// Creates a stream.
    pub(crate) fn create_stream(self: &Arc<Self>, non_blocking: bool, priority: i32) -> usize {
        let queue = Queue::new();
        self.add_queue(&queue, non_blocking);
        STREAMS
            .insert_with(|handle| Stream {
                handle,
                id: unique_id(),
                context: self.clone(),
                non_blocking,
                priority,
                queue,
                legacy: false,
            })
            .0
    }

    /// The calling thread's default stream.
    pub(crate) fn thread_stream(self: &Arc<Self>) -> Stream {
        let (id, queue) = THREAD_STREAMS.with(|streams| {
            let mut streams = streams.borrow_mut();
            let (id, queue) = streams.entry(self.id).or_insert_with(|| {
                let queue = Queue::new();
                self.add_queue(&queue, false);
                (unique_id(), queue)
            });
            (*id, queue.clone())
        });
        Stream {
            handle: 2,
            id,
            context: self.clone(),
            non_blocking: false,
            priority: 0,
            queue,
            legacy: false,
        }
    }

    /// Waits for all streams.
    pub(crate) fn synchronize(&self) {
        let mut marks = vec![self.legacy.mark()];
        for list in self.lists() {
            let list = list.read().unwrap_or_else(PoisonError::into_inner);
            marks.extend(list.iter().map(|q| q.mark()));
        }
        marks.iter().for_each(|mark| mark.wait());
        self.printf.flush();
    }

    pub(crate) fn next_launch(&self) -> u64 {
        self.launches.fetch_add(1, Ordering::Relaxed)
    }

    /// The heap of kernels' `malloc`; allocated when the first module that uses it is loaded.
    pub(crate) fn heap(self: &Arc<Self>) -> Result<Arc<Heap>, CUresult> {
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(heap) = &*heap {
            return Ok(heap.clone());
        }
        let size = self.limits[2].load(Ordering::Relaxed);
        let start = memory::allocate(self, size)?;
        Ok(heap.insert(Arc::new(Heap::new(start, size))).clone())
    }

    /// Frees everything that belongs to the context.
    pub(crate) fn clear(self: &Arc<Self>) {
        self.synchronize();
        for stream in STREAMS.remove_where(|s| s.context.id == self.id) {
            self.forget_queue(&stream.queue);
        }
        super::event::EVENTS.remove_where(|e| e.context.id == self.id);
        super::module::forget_context(self.id);
        *self.heap.lock().unwrap_or_else(PoisonError::into_inner) = None;
        memory::free_context(self.id);
        self.error.store(0, Ordering::Release);
        for (limit, value) in self.limits.iter().zip(LIMITS) {
            limit.store(value, Ordering::Relaxed);
        }
    }
}

/// The threads' default streams by context: id and queue.
type ThreadStreams = HashMap<u64, (u64, Arc<Queue>)>;

// Without destructors, so that they still work in the destructors of the program's objects.
thread_local! {
    static STACK: ManuallyDrop<RefCell<Vec<Arc<Context>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    static THREAD_STREAMS: ManuallyDrop<RefCell<ThreadStreams>> =
        ManuallyDrop::new(RefCell::new(HashMap::new()));
}

/// The calling thread's current context, if there is one.
pub(crate) fn current_if_any() -> Option<Arc<Context>> {
    STACK.with(|stack| stack.borrow().last().cloned())
}

/// The calling thread's context.
pub(crate) fn current() -> Result<Arc<Context>, CUresult> {
    driver()?;
    let context = current_if_any().ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    if !context.active.load(Ordering::Acquire) {
        return Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    context.healthy()?;
    Ok(context)
}

/// Changes the calling thread's stack of contexts.
pub(crate) fn with_stack<R>(f: impl FnOnce(&mut Vec<Arc<Context>>) -> R) -> R {
    STACK.with(|stack| f(&mut stack.borrow_mut()))
}

/// The context of a handle.
pub(crate) fn by_handle(handle: usize) -> Result<Arc<Context>, CUresult> {
    CONTEXTS.get(handle).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
}
