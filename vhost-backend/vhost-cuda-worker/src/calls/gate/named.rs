//! The handles in a command's arguments.

use protocol::ids::{ContextId, EventId, FuncId, StreamId};

use crate::calls::tables::id_map::Id;

/// The handles of one kind, such as streams, in a command's arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::calls) struct Handles<K> {
    ids: [K; 2],
    len: usize,
    /// Whether the command destroys the object that the handle identifies.
    pub(super) ends: bool,
}

impl<K: Id> Handles<K> {
    pub(in crate::calls) fn add(&mut self, id: impl Into<K>, ends: bool) {
        if let Some(place) = self.ids.get_mut(self.len) {
            *place = id.into();
            self.len += 1;
            self.ends |= ends;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = K> + '_ {
        self.ids[..self.len].iter().copied()
    }

    pub(super) fn first(&self) -> Option<K> {
        self.iter().next()
    }
}

/// The handles in a command's arguments, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::calls) struct Names {
    pub streams: Handles<StreamId>,
    pub events: Handles<EventId>,
    pub functions: Handles<FuncId>,
    pub contexts: Handles<ContextId>,
}
