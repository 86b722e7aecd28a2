//! Contexts, and each thread's context stack.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use super::device::{Device, driver};
use super::errors::Errors;
use super::handles::{Kind, Table, unique_id};
use super::queue::{Mark, Queue, Work};
use super::resources::Resources;
use super::strict::{self, End};
use crate::exec::heap::Heap;
use crate::exec::printf::Printf;
use cuda_api::coredump::Settings;
use cuda_api::error::{CuError, CuResult};
use cuda_api::green::Sms;
use cuda_api::sys::CUlimit;
use cuda_api::thread_end;

/// All contexts, by handle.
pub(crate) static CONTEXTS: Table<Context> = Table::new(Kind::Context);

/// The initial value of each limit, indexed by CUlimit.
const LIMITS: [u64; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 128, 0];

/// The properties that a green context has in addition to those of other contexts.
pub(crate) struct Green {
    /// The primary context that owns the green context's memory and modules.
    pub(crate) home: Arc<Context>,
    /// The SMs that the green context may use. softgpu only reports them: it executes the work on
    /// all of the host's processors.
    pub(crate) sms: Sms,
    /// The CUgreenCtx handle. The CUcontext handle is [`Context::handle`].
    pub(crate) handle: usize,
}

/// A CUDA context: its streams, limits, heap and sticky error.
pub(crate) struct Context {
    pub(crate) handle: usize,
    /// Identifies the context as the owner of memory, modules, and events. A green context has the
    /// id of its primary context, which owns them.
    pub(crate) id: u64,
    /// The number that `cuCtxGetId` returns.
    pub(crate) unique: u64,
    /// The properties of a green context, or `None` for other contexts.
    pub(crate) green: Option<Green>,
    /// The green contexts of this primary context.
    greens: RwLock<Vec<Weak<Context>>>,
    pub(crate) ordinal: i32,
    pub(crate) primary: bool,
    pub(crate) flags: AtomicU32,
    /// Whether the context can be used. A primary context is inactive until it is retained, and
    /// becomes inactive again when it is reset.
    pub(crate) active: AtomicBool,
    /// The first error of asynchronous work in the context. The streams' threads share it.
    errors: Arc<Errors>,
    legacy: Arc<Queue>,
    /// Queues of blocking streams. These streams and the legacy default stream wait for each other.
    blocking: RwLock<Vec<Arc<Queue>>>,
    /// Queues of non-blocking streams.
    others: RwLock<Vec<Arc<Queue>>>,
    /// The queue for work that waits for all other work in the context, such as records of events.
    records: Arc<Queue>,
    /// The queue for work that all later work in the context waits for.
    barrier: Arc<Queue>,
    pub(crate) limits: Arc<[AtomicU64; 7]>,
    pub(crate) printf: Arc<Printf>,
    pub(crate) coredump: Settings,
    heap: Mutex<Option<Arc<Heap>>>,
    /// The device memory that the context uses in addition to the program's allocations, while it's
    /// active. A green context uses that of its primary context.
    resources: Mutex<Option<Arc<Resources>>>,
    launches: AtomicU64,
    /// The number of `cuCtxAttach` calls that no `cuCtxDetach` call has undone.
    attached: AtomicU32,
    /// The contexts whose memory this context may access, by `cuCtxEnablePeerAccess`.
    peers: Mutex<BTreeSet<usize>>,
}

impl Context {
    /// Creates a context and allocates its own device memory. A primary context allocates it only
    /// when it is activated.
    pub(crate) fn new(ordinal: i32, flags: u32, resources: Option<Arc<Resources>>) -> Arc<Self> {
        let primary = resources.is_none();
        let unique = unique_id();
        let (_, context) = CONTEXTS.insert_with(|handle| Self {
            handle,
            id: unique,
            unique,
            green: None,
            greens: RwLock::default(),
            ordinal,
            primary,
            flags: AtomicU32::new(flags),
            active: AtomicBool::new(!primary),
            errors: Arc::default(),
            legacy: Queue::new(),
            blocking: RwLock::new(Vec::new()),
            others: RwLock::new(Vec::new()),
            records: Queue::new(),
            barrier: Queue::new(),
            limits: Arc::new(LIMITS.map(AtomicU64::new)),
            printf: Arc::new(Printf::new(
                LIMITS[CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE.0 as usize] as usize,
            )),
            coredump: Settings::default(),
            heap: Mutex::new(None),
            resources: Mutex::new(resources),
            launches: AtomicU64::new(1),
            attached: AtomicU32::new(0),
            peers: Mutex::default(),
        });
        context
    }

    /// Creates a green context, which has its own streams and shares everything else with its
    /// primary context, `home`.
    pub(crate) fn new_green(home: &Arc<Self>, sms: Sms, green: usize) -> Arc<Self> {
        let (_, context) = CONTEXTS.insert_with(|handle| Self {
            handle,
            id: home.id,
            unique: unique_id(),
            green: Some(Green { home: home.clone(), sms, handle: green }),
            greens: RwLock::default(),
            ordinal: home.ordinal,
            primary: false,
            flags: AtomicU32::new(home.flags.load(Ordering::Relaxed)),
            active: AtomicBool::new(true),
            errors: home.errors.clone(),
            legacy: Queue::new(),
            blocking: RwLock::default(),
            others: RwLock::default(),
            records: Queue::new(),
            barrier: Queue::new(),
            limits: home.limits.clone(),
            printf: home.printf.clone(),
            coredump: Settings::default(),
            heap: Mutex::new(None),
            resources: Mutex::default(),
            launches: AtomicU64::new(1),
            attached: AtomicU32::new(0),
            peers: Mutex::default(),
        });
        let mut greens = home.greens.write().unwrap_or_else(PoisonError::into_inner);
        greens.retain(|green| green.strong_count() > 0);
        greens.push(Arc::downgrade(&context));
        context
    }

    /// Activates a primary context and allocates its own device memory.
    pub(crate) fn activate(&self) -> CuResult {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if resources.is_none() {
            *resources = Some(Resources::new(self.device()?)?);
        }
        self.active.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the context's own device memory. Fails if the context isn't active.
    pub(crate) fn resources(&self) -> CuResult<Arc<Resources>> {
        if let Some(green) = &self.green {
            return green.home.resources();
        }
        let resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        resources.clone().ok_or(CuError::CONTEXT_IS_DESTROYED)
    }

    /// Returns the handle of the context that owns memory allocated in this context.
    pub(crate) fn owner(&self) -> usize {
        self.green.as_ref().map_or(self.handle, |green| green.home.handle)
    }

    /// Returns the green contexts of this primary context.
    pub(crate) fn greens(&self) -> Vec<Arc<Self>> {
        let greens = self.greens.read().unwrap_or_else(PoisonError::into_inner);
        greens.iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends the threads of a green context's default queues, after their work is done.
    pub(crate) fn close(&self) {
        for queue in [&self.legacy, &self.records, &self.barrier] {
            queue.close();
        }
    }

    /// Counts a call of `cuCtxAttach`.
    pub(crate) fn attach(&self) {
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// Undoes one `cuCtxAttach` call. Returns false if no `cuCtxAttach` call is left to undo.
    pub(crate) fn detach(&self) -> bool {
        let less = |count: u32| count.checked_sub(1);
        self.attached.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Returns the contexts whose memory this context may access, by `cuCtxEnablePeerAccess`.
    pub(crate) fn peers(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the device that the context was created on.
    pub(crate) fn device(&self) -> CuResult<&'static Device> {
        driver()?.device(self.ordinal)
    }

    /// Returns the error state of the context's asynchronous work.
    pub(crate) fn errors(&self) -> &Arc<Errors> {
        &self.errors
    }

    /// Fails with the context's sticky error, if it has one.
    pub(crate) fn healthy(&self) -> CuResult {
        self.errors.healthy()
    }

    /// Returns the queue of the legacy default stream.
    pub(crate) fn legacy_queue(&self) -> &Arc<Queue> {
        &self.legacy
    }

    /// Calls `f` with the queue of each blocking stream.
    pub(crate) fn each_blocking(&self, f: impl FnMut(&Arc<Queue>)) {
        self.blocking.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(f);
    }

    fn lists(&self) -> [&RwLock<Vec<Arc<Queue>>>; 2] {
        [&self.blocking, &self.others]
    }

    /// Adds the queue of a new stream to the context's queues.
    pub(crate) fn add_queue(&self, queue: &Arc<Queue>, non_blocking: bool) {
        let list = self.lists()[usize::from(non_blocking)];
        let mut list = list.write().unwrap_or_else(PoisonError::into_inner);
        let mark = self.barrier.mark();
        if !mark.reached() {
            queue.submit(&self.errors, vec![mark], Box::new(|_| {}));
        }
        list.retain(|queue| !queue.has_ended());
        list.push(queue.clone());
    }

    /// Returns one position per queue of the context and its green contexts. All work that is
    /// queued now precedes these positions.
    fn marks(&self) -> Vec<Mark> {
        let mut marks = vec![self.legacy.mark()];
        for list in self.lists() {
            let list = list.read().unwrap_or_else(PoisonError::into_inner);
            marks.extend(list.iter().map(|queue| queue.mark()));
        }
        marks.extend(self.greens().iter().flat_map(|green| green.marks()));
        marks
    }

    /// Queues work that runs after all work that the context has now. Later work doesn't wait for
    /// it.
    pub(crate) fn after_all(&self, work: Work) -> Mark {
        self.records.submit(&self.errors, self.marks(), work)
    }

    /// Makes all later work in the context wait until the positions in `after` are reached, and
    /// then until `work` has run.
    pub(crate) fn wait_for(&self, after: Vec<Mark>, work: Work) {
        // Submit to the barrier queue before visiting the other queues. A queue that is created
        // meanwhile waits for the barrier queue.
        let barrier = self.barrier.submit(&self.errors, after, work);
        let wait = |queue: &Arc<Queue>| {
            queue.submit(&self.errors, vec![barrier.clone()], Box::new(|_| {}));
        };
        wait(&self.legacy);
        for list in self.lists() {
            list.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(wait);
        }
        for green in self.greens() {
            green.wait_for(vec![barrier.clone()], Box::new(|_| {}));
        }
    }

    /// Removes the queue of a destroyed stream.
    pub(crate) fn forget_queue(&self, queue: &Arc<Queue>) {
        for list in self.lists() {
            let mut list = list.write().unwrap_or_else(PoisonError::into_inner);
            list.retain(|q| !Arc::ptr_eq(q, queue));
        }
    }

    /// Waits until all streams in the context are idle.
    pub(crate) fn synchronize(&self) {
        self.marks().iter().for_each(Mark::wait);
        self.printf.flush();
    }

    /// Returns the number of the context's next launch, and counts it.
    pub(crate) fn next_launch(&self) -> u64 {
        self.launches.fetch_add(1, Ordering::Relaxed)
    }

    /// Locks and returns the heap for device-side `malloc`, if it exists.
    pub(crate) fn heap(&self) -> MutexGuard<'_, Option<Arc<Heap>>> {
        let owner = self.green.as_ref().map_or(self, |green| &green.home);
        owner.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the heap. Must be called before the heap's memory is freed.
    pub(crate) fn forget_heap(&self) {
        *self.heap.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Clears the errors, restores the initial limits, and frees the context's own device memory.
    pub(crate) fn reset(&self) {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = resources.take() {
            ended.end();
        }
        drop(resources);
        self.errors.clear();
        for (limit, value) in self.limits.iter().zip(LIMITS) {
            limit.store(value, Ordering::Relaxed);
        }
    }
}

// The stack is never dropped, because the program's destructors may still call CUDA when a thread
// exits.
thread_local! {
    static STACK: ManuallyDrop<RefCell<Vec<Arc<Context>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Returns the calling thread's current context, if it has one.
pub(crate) fn current_if_any() -> Option<Arc<Context>> {
    STACK.with(|stack| stack.borrow().last().cloned())
}

/// Returns the calling thread's current context. Fails if the thread has no context, or if its
/// context is inactive or has a sticky error.
pub(crate) fn current() -> CuResult<Arc<Context>> {
    driver()?;
    let context = current_if_any().ok_or(CuError::INVALID_CONTEXT)?;
    if !context.active.load(Ordering::Acquire) {
        return Err(CuError::CONTEXT_IS_DESTROYED);
    }
    context.healthy()?;
    Ok(context)
}

/// Returns the calling thread's current context, for a call that doesn't require one. Returns
/// `None` if the thread has no context, and fails if its context is inactive or has a sticky error.
pub(crate) fn current_or_none() -> CuResult<Option<Arc<Context>>> {
    match current() {
        Err(CuError::INVALID_CONTEXT) => Ok(None),
        context => context.map(Some),
    }
}

/// Fails if the calling thread's current context has been destroyed. A thread without a context
/// isn't an error.
pub(crate) fn not_ended() -> CuResult {
    driver()?;
    match current_if_any() {
        Some(context) if !context.active.load(Ordering::Acquire) => {
            Err(CuError::CONTEXT_IS_DESTROYED)
        }
        _ => Ok(()),
    }
}

/// Returns the object for a handle. As in NVIDIA's driver, if the calling thread's current context
/// has been destroyed, the call fails with that error even if the handle is invalid, too.
pub(crate) fn object<T>(table: &Table<T>, handle: usize) -> CuResult<Arc<T>> {
    driver()?;
    let Some(object) = table.get(handle) else {
        not_ended()?;
        return Err(table.error(handle));
    };
    Ok(object)
}

/// Calls `f` with the calling thread's context stack.
pub(crate) fn with_stack<R>(f: impl FnOnce(&mut Vec<Arc<Context>>) -> R) -> R {
    STACK.with(|stack| {
        let mut stack = stack.borrow_mut();
        if stack.capacity() == 0 {
            thread_end::arm();
        }
        f(&mut stack)
    })
}

/// Frees the calling thread's context stack. Called when the thread exits.
pub(crate) fn thread_ended() {
    STACK.with(|stack| drop(stack.take()));
}

/// Returns the context for a handle.
pub(crate) fn by_handle(handle: usize) -> CuResult<Arc<Context>> {
    let context = CONTEXTS.get(handle).ok_or(CuError::INVALID_CONTEXT)?;
    if context.primary && !context.active.load(Ordering::Acquire) {
        strict::stale(Kind::Context, handle, End::Destroyed);
    }
    Ok(context)
}
