//! Counts the uses of objects, so that no object is destroyed while a call uses it.
//!
//! NVIDIA's driver doesn't check handles, so a call with an object that another thread destroys at
//! the same time could corrupt the worker's memory. Therefore, the worker destroys every object in
//! two steps:
//!
//! 1. The ring reader removes the object from its table ([`crate::calls::tables::ending`]), so that
//!    no later call finds it. The reader executes one call at a time, so at that time, none of its own
//!    calls uses the object.
//! 2. The object is destroyed when no call on a mirror uses it any more. A call on a mirror counts
//!    as using all objects that it has looked up in the tables, and their contexts, until it ends. If
//!    the reader can't destroy the object at once, a mirror does so later, because the reader must not
//!    wait.
//!
//! A job that destroys an object waits only for calls and jobs that have begun before it, so jobs
//! never wait for one another in a circle.
//!
//! | object | calls that end it | reader's calls that use it | calls on mirrors that use it |
//! |---|---|---|---|
//! | context | destroy, release, and reset calls | all | all |
//! | green context | its destroy call; the end of its context | streams, events, resources | the creation of other green contexts, which holds `green_descriptors` |
//! | stream | its destroy call; the end of its green context or context | all | copies to the host whose reply can't be written to guest memory |
//! | per-thread default stream | the end of its thread, if the stream is empty; the creation of other such streams; the end of its context | all | the same copies to the host; while they use it, the stream doesn't count as empty |
//! | event | its destroy call; the end of its context | recording, waits, queries | graphs; exports |
//! | module, and its functions and references | its unload call; the end of its context | launches, changes of graph nodes, variables, references | queries, attributes, graphs |
//! | library, and its kernels, functions, and modules | its unload call | those for a module | those for a module, and loading into contexts |
//! | executable graph | its destroy call; the end of its context | launches, uploads, changes of nodes | updates, changes of nodes |
//! | values of conditional nodes | their destroy call and that of the executable graph, whichever is later; the end of their context | the creation of values | the creation of the graph, which reserves them ([`crate::calls::graphs::graph_conditions`]) |
//! | array, mipmapped array with its levels | its destroy call; the end of its context | copies, levels, references | texture and surface objects |
//! | texture object, surface object | its destroy call; the end of its context | none | none but its destroy call, which removes it from the table first |
//! | link | its destroy call; the end of its context | none | all, one at a time |
//!
//! `cargo xtask codegen` refuses calls in `api.table` that end an object on a mirror. The memory
//! pools aren't objects of the driver, and addresses are checked by the driver
//! ([`crate::calls::memory::allocations`]).
//!
//! Destroying a context also releases all its charges. If a call were still in the driver at that
//! time, it could create an object that isn't charged, because the guest may have retained the same
//! primary context again in the meantime.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};

use cuda_api::sys::CUstream;
use protocol::ids::{
    ArrayId, ContextId, EventId, GraphExecId, LibraryId, LinkId, MipmapId, ModuleId,
};

use crate::calls::lock;

/// An object that calls on mirrors may use. The parts of an object, such as the functions of a
/// module, count as the object itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::calls) enum Object {
    Context(ContextId),
    /// A stream, by the address of its handle.
    Stream(usize),
    Event(EventId),
    Module(ModuleId),
    Library(LibraryId),
    Graph(GraphExecId),
    Array(ArrayId),
    Mipmap(MipmapId),
    Link(LinkId),
}

impl Object {
    pub(in crate::calls) fn stream(stream: CUstream) -> Self {
        Self::Stream(stream.addr())
    }
}

/// The number of uses of each object by calls and jobs that haven't ended.
#[derive(Default)]
pub(in crate::calls) struct Uses {
    counts: Mutex<HashMap<Object, usize>>,
    fewer: Condvar,
}

/// A guard for one use of an object. The use ends when the guard is dropped.
pub(in crate::calls) struct Use {
    uses: Arc<Uses>,
    object: Object,
}

thread_local! {
    /// The objects used by the call that this thread executes, if this thread is a mirror.
    static CALL: RefCell<Option<OnMirror>> = const { RefCell::new(None) };
}

/// The objects that a mirror's call uses.
struct OnMirror {
    uses: Arc<Uses>,
    objects: Vec<Object>,
}

/// A guard for a call on a mirror. When it's dropped, the call's uses of objects end.
pub(in crate::calls) struct MirrorCall(());

/// Records that this thread's call uses these objects until the call ends. This has no effect on
/// the ring reader's thread, because only that thread removes such objects from the tables. The
/// caller must have kept the tables locked since it looked up the objects.
pub(in crate::calls) fn use_objects<const N: usize>(objects: impl FnOnce() -> [Option<Object>; N]) {
    CALL.with_borrow_mut(|call| {
        let Some(OnMirror { uses, objects: used }) = call else { return };
        for object in objects().into_iter().flatten() {
            if object != Object::Context(ContextId::NONE) && !used.contains(&object) {
                uses.add(object);
                used.push(object);
            }
        }
    });
}

impl Drop for MirrorCall {
    fn drop(&mut self) {
        if let Some(OnMirror { uses, objects }) = CALL.take() {
            objects.into_iter().for_each(|object| uses.remove(object));
        }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.uses.remove(self.object);
    }
}

impl Uses {
    /// Begins a call on a mirror. The call uses its current context, and all objects that it looks
    /// up in the tables. Must be called before checking whether the current context is being
    /// destroyed.
    pub(in crate::calls) fn begin_on_mirror(self: &Arc<Self>, ctx: ContextId) -> MirrorCall {
        CALL.set(Some(OnMirror { uses: self.clone(), objects: Vec::new() }));
        use_objects(|| [Some(Object::Context(ctx))]);
        MirrorCall(())
    }

    /// Begins a use of an object, for a job on another thread or for something that such a job
    /// needs. Must be called on the ring reader's thread, or before checking whether the object is
    /// being destroyed.
    pub(in crate::calls) fn begin(self: &Arc<Self>, object: Object) -> Use {
        self.add(object);
        Use { uses: self.clone(), object }
    }

    fn add(&self, object: Object) {
        *lock(&self.counts).entry(object).or_default() += 1;
    }

    fn remove(&self, object: Object) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&object) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&object);
                self.fewer.notify_all();
            }
        }
    }

    /// Returns whether a call on a mirror uses an object. If the object is in no table and the
    /// result is false, it stays false, because no new call can look up the object.
    pub(in crate::calls) fn any_of(&self, object: Object) -> bool {
        lock(&self.counts).contains_key(&object)
    }

    /// Waits until no call uses an object that is about to be destroyed. The object must already
    /// have been removed from the tables, so that new calls can't look it up.
    pub(in crate::calls) fn wait_for_none(&self, object: Object) {
        let mut counts = lock(&self.counts);
        while counts.contains_key(&object) {
            counts = self.fewer.wait(counts).unwrap_or_else(|error| error.into_inner());
        }
    }
}
