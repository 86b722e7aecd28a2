//! Claims on ids, so that only one call at a time uses an id to create an object.
//!
//! A guest can choose any id at any time, even the same one on several threads at once. Therefore,
//! a call claims an id before it loads or charges anything for the new object. Until the claim
//! ends, other calls that try to create an object with the same id fail. Such calls also fail while
//! an object with the id is being destroyed ([`crate::calls::tables::ending`]).

use std::sync::{Arc, Mutex};

use cuda_api::sys::{CUsurfref, CUtexref};
use protocol::ids::{
    ArrayId, ContextId, EventId, FuncId, GraphExecId, GreenId, LibraryId, LinkId, MipmapId,
    ModuleId, StreamId, SurfRefId, TexRefId, ValuesId,
};

use crate::calls::arrays::array::{Array, Mipmap};
use crate::calls::code::link_state::Link;
use crate::calls::commands::cx::Cx;
use crate::calls::graphs::graph_conditions::Values;
use crate::calls::graphs::graph_exec::GraphExec;
use crate::calls::lock;
use crate::calls::tables::handles::{
    Context, Event, Function, Green, Library, Module, OfModule, Stream, Table, Tables,
};
use crate::calls::tables::id_map::Id;
use crate::driver::CuResult;

/// A function that selects one of the tables of objects.
pub(in crate::calls) type Which<K, T> = fn(&mut Tables) -> &mut Table<K, T>;

pub(in crate::calls) const CONTEXTS: Which<ContextId, Context> = |tables| &mut tables.contexts;
pub(in crate::calls) const GREENS: Which<GreenId, Green> = |tables| &mut tables.greens;
pub(in crate::calls) const STREAMS: Which<StreamId, Stream> = |tables| &mut tables.streams;
pub(in crate::calls) const EVENTS: Which<EventId, Event> = |tables| &mut tables.events;
pub(in crate::calls) const MODULES: Which<ModuleId, Module> = |tables| &mut tables.modules;
pub(in crate::calls) const LIBRARIES: Which<LibraryId, Library> = |tables| &mut tables.libraries;
pub(in crate::calls) const FUNCTIONS: Which<FuncId, Function> = |tables| &mut tables.functions;
pub(in crate::calls) const LINKS: Which<LinkId, Link> = |tables| &mut tables.links;
pub(in crate::calls) const GRAPHS: Which<GraphExecId, GraphExec> = |tables| &mut tables.graphs;
pub(in crate::calls) const VALUES: Which<ValuesId, Arc<Values>> = |tables| &mut tables.values;
pub(in crate::calls) const ARRAYS: Which<ArrayId, Array> = |tables| &mut tables.arrays;
pub(in crate::calls) const TEXREFS: Which<TexRefId, OfModule<CUtexref>> =
    |tables| &mut tables.texrefs;
pub(in crate::calls) const SURFREFS: Which<SurfRefId, OfModule<CUsurfref>> =
    |tables| &mut tables.surfrefs;
pub(in crate::calls) const MIPMAPS: Which<MipmapId, Mipmap> = |tables| &mut tables.mipmaps;

/// A claim on an id. Dropping the claim locks the tables, and makes the id available again.
pub(in crate::calls) struct Claim<'a, K: Id, T> {
    tables: &'a Mutex<Tables>,
    which: Which<K, T>,
    id: K,
}

impl<'a, K: Id, T> Claim<'a, K, T> {
    fn new(tables: &'a Mutex<Tables>, which: Which<K, T>, id: K) -> CuResult<Self> {
        which(&mut lock(tables)).claim(id)?;
        Ok(Self { tables, which, id })
    }

    /// Ends the claim by adding the new object to the table.
    pub(in crate::calls) fn list(self, value: T) {
        (self.which)(&mut lock(self.tables)).list(self.id, value);
        // Don't drop the claim, which would make the id available. The id now belongs to the object
        // in the table.
        std::mem::forget(self);
    }
}

impl<K: Id, T> Drop for Claim<'_, K, T> {
    fn drop(&mut self) {
        (self.which)(&mut lock(self.tables)).free(self.id);
    }
}

/// Claims an id. Fails if the id is in use or already claimed.
pub(in crate::calls) fn claim<'a, K: Id, T>(
    cx: &Cx<'a>,
    which: Which<K, T>,
    id: K,
) -> CuResult<Claim<'a, K, T>> {
    Claim::new(&cx.shared.tables, which, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::tables::driver_handle::DriverHandle;
    use crate::driver::CuError;

    fn claim(tables: &Mutex<Tables>) -> CuResult<Claim<'_, EventId, Event>> {
        Claim::new(tables, EVENTS, EventId(7))
    }

    #[test]
    fn a_claimed_id_is_neither_vacant_nor_usable() {
        const IN_USE: Option<CuError> = Some(CuError::INVALID_VALUE);
        let tables = Mutex::new(Tables::default());
        let made = claim(&tables).unwrap();
        assert_eq!(claim(&tables).err(), IN_USE);
        assert!(lock(&tables).events.get(EventId(7)).is_err());
        // Dropping the claim, as a failed creation does, makes the id available again.
        drop(made);
        let real = DriverHandle(std::ptr::null_mut());
        let (ctx, interprocess, timing, token) = (ContextId(1), false, true, None);
        let event = Event { real, ctx, interprocess, timing, recorded: Default::default(), token };
        claim(&tables).unwrap().list(event);
        assert_eq!(claim(&tables).err(), IN_USE);
        assert!(lock(&tables).events.get(EventId(7)).is_ok());
    }
}
