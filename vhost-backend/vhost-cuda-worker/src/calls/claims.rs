//! Claims on ids, so that only one call at a time uses an id to create or destroy an object.
//!
//! A guest can choose any id at any time, even the same one on several threads at once. So a call
//! claims an id before it loads or charges anything for it, and keeps the claim while the object is
//! being destroyed. Meanwhile, other calls that try to create an object with the same id fail.

use std::sync::{Arc, Mutex};

use cuda_api::sys::{CUsurfref, CUtexref};
use protocol::ids::{
    ArrayId, ContextId, EventId, FuncId, GraphExecId, GreenId, LibraryId, LinkId, MipmapId,
    ModuleId, StreamId, SurfRefId, TexRefId, ValuesId,
};

use super::array::{Array, Mipmap};
use super::cx::Cx;
use super::graph_conditions::Values;
use super::graph_exec::GraphExec;
use super::handles::{
    Context, Event, Function, Green, Library, Module, OfContext, OfModule, Stream, Table, Tables,
};
use super::id_map::Id;
use super::link_state::Link;
use super::lock;
use crate::driver::CuResult;

/// A function that selects one of the tables of objects.
pub(super) type Which<K, T> = fn(&mut Tables) -> &mut Table<K, T>;

pub(super) const CONTEXTS: Which<ContextId, Context> = |tables| &mut tables.contexts;
pub(super) const GREENS: Which<GreenId, Green> = |tables| &mut tables.greens;
pub(super) const STREAMS: Which<StreamId, Stream> = |tables| &mut tables.streams;
pub(super) const EVENTS: Which<EventId, Event> = |tables| &mut tables.events;
pub(super) const MODULES: Which<ModuleId, Module> = |tables| &mut tables.modules;
pub(super) const LIBRARIES: Which<LibraryId, Library> = |tables| &mut tables.libraries;
pub(super) const FUNCTIONS: Which<FuncId, Function> = |tables| &mut tables.functions;
pub(super) const LINKS: Which<LinkId, Link> = |tables| &mut tables.links;
pub(super) const GRAPHS: Which<GraphExecId, GraphExec> = |tables| &mut tables.graphs;
pub(super) const VALUES: Which<ValuesId, Arc<Values>> = |tables| &mut tables.values;
pub(super) const ARRAYS: Which<ArrayId, Array> = |tables| &mut tables.arrays;
pub(super) const TEXREFS: Which<TexRefId, OfModule<CUtexref>> = |tables| &mut tables.texrefs;
pub(super) const SURFREFS: Which<SurfRefId, OfModule<CUsurfref>> = |tables| &mut tables.surfrefs;
pub(super) const MIPMAPS: Which<MipmapId, Mipmap> = |tables| &mut tables.mipmaps;

/// A claim on an id. Dropping the claim makes the id available again, for which it locks the
/// tables.
pub(super) struct Claim<'a, K: Id, T> {
    tables: &'a Mutex<Tables>,
    which: Which<K, T>,
    id: K,
}

impl<'a, K: Id, T> Claim<'a, K, T> {
    fn new(tables: &'a Mutex<Tables>, which: Which<K, T>, id: K) -> CuResult<Self> {
        which(&mut lock(tables)).claim(id)?;
        Ok(Self { tables, which, id })
    }

    fn of_listed(
        tables: &'a Mutex<Tables>,
        which: Which<K, T>,
        id: K,
        with_it: impl FnOnce(&mut Tables, &T) -> CuResult,
    ) -> CuResult<(T, Self)>
    where
        T: Clone + OfContext,
    {
        let mut locked = lock(tables);
        let value = which(&mut locked).get(id)?.clone();
        with_it(&mut locked, &value)?;
        which(&mut locked).take(id)?;
        Ok((value, Self { tables, which, id }))
    }

    /// Ends the claim by adding the new object to the table under the id.
    pub(super) fn list(self, value: T) {
        (self.which)(&mut lock(self.tables)).list(self.id, value);
        // The id now belongs to the object in the table, so don't make it available.
        std::mem::forget(self);
    }

    /// Ends the claim without making the id available, because the driver has failed to destroy the
    /// object, or because that happens later. The object stays charged.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }

    /// Ends the claim after an attempt to destroy the object, which had the result `taken_back`.
    /// After a success, calls `give_back` to release the charge, and then makes the id available.
    pub(super) fn end(self, taken_back: CuResult, give_back: impl FnOnce()) -> CuResult {
        match taken_back {
            Ok(()) => give_back(),
            Err(_) => self.keep(),
        }
        taken_back
    }
}

impl<K: Id, T> Drop for Claim<'_, K, T> {
    fn drop(&mut self) {
        (self.which)(&mut lock(self.tables)).free(self.id);
    }
}

/// Claims an id that is neither in use nor claimed.
pub(super) fn claim<'a, K: Id, T>(
    cx: &Cx<'a>,
    which: Which<K, T>,
    id: K,
) -> CuResult<Claim<'a, K, T>> {
    Claim::new(&cx.shared.tables, which, id)
}

/// Removes an object from its table because it is about to be destroyed, and claims its id.
/// `with_it` must remove everything that depends on the object; if it fails, the object stays.
pub(super) fn claim_listed<'a, K: Id, T: Clone + OfContext>(
    cx: &Cx<'a>,
    which: Which<K, T>,
    id: K,
    with_it: impl FnOnce(&mut Tables, &T) -> CuResult,
) -> CuResult<(T, Claim<'a, K, T>)> {
    Claim::of_listed(&cx.shared.tables, which, id, with_it)
}

#[cfg(test)]
mod tests {
    use super::super::driver_handle::DriverHandle;
    use super::*;
    use crate::driver::CuError;

    type EventClaim<'a> = Claim<'a, EventId, Event>;

    const IN_USE: Option<CuError> = Some(CuError::INVALID_VALUE);

    fn claim(tables: &Mutex<Tables>) -> CuResult<EventClaim<'_>> {
        Claim::new(tables, EVENTS, EventId(7))
    }

    fn end(tables: &Mutex<Tables>, may: CuResult) -> CuResult<(Event, EventClaim<'_>)> {
        Claim::of_listed(tables, EVENTS, EventId(7), |_, _| may)
    }

    #[test]
    fn a_claimed_id_is_neither_vacant_nor_usable() {
        let tables = Mutex::new(Tables::default());
        let made = claim(&tables).unwrap();
        assert_eq!(claim(&tables).err(), IN_USE);
        assert!(lock(&tables).events.get(EventId(7)).is_err());
        let real = DriverHandle(std::ptr::null_mut());
        made.list(Event { real, ctx: ContextId(1), interprocess: false, token: None });
        assert_eq!(claim(&tables).err(), IN_USE);
        let not_now = CuError::NOT_SUPPORTED;
        assert_eq!(end(&tables, Err(not_now)).err(), Some(not_now));
        assert!(lock(&tables).events.get(EventId(7)).is_ok());
        let (_, ending) = end(&tables, Ok(())).unwrap();
        assert_eq!(claim(&tables).err(), IN_USE);
        assert_eq!(end(&tables, Ok(())).err(), Some(CuError::INVALID_HANDLE));
        // The id becomes available only after the charge was released.
        let given_back = || assert_eq!(claim(&tables).err(), IN_USE);
        assert_eq!(ending.end(Ok(()), given_back), Ok(()));
        assert!(claim(&tables).is_ok());
    }

    #[test]
    fn a_failed_creation_frees_the_id_and_a_failed_destruction_keeps_it() {
        let tables = Mutex::new(Tables::default());
        drop(claim(&tables).unwrap());
        let failed = claim(&tables).unwrap().end(Err(CuError::UNKNOWN), || unreachable!());
        assert_eq!((failed.err(), claim(&tables).err()), (Some(CuError::UNKNOWN), IN_USE));
    }
}
