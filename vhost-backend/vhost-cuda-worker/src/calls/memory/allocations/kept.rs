//! The mappings of freed memory that the worker keeps for later allocations. Makes no driver calls.

use protocol::ids::ContextId;

/// The mappings that a session keeps, with their contexts, oldest first.
pub(super) struct Kept<M>(Vec<(ContextId, M)>);

impl<M> Default for Kept<M> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<M> Kept<M> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn add(&mut self, ctx: ContextId, mapping: M) {
        self.0.push((ctx, mapping));
    }

    /// Removes and returns the newest mapping in the context `ctx` for which `fits` returns true.
    pub(super) fn take(&mut self, ctx: ContextId, fits: impl Fn(&M) -> bool) -> Option<M> {
        let index = self.0.iter().rposition(|(of, mapping)| *of == ctx && fits(mapping))?;
        Some(self.0.remove(index).1)
    }

    /// Removes and returns the mappings for which `gone` returns true. Calls `gone` for the oldest
    /// mapping first.
    pub(super) fn extract(&mut self, mut gone: impl FnMut(ContextId, &M) -> bool) -> Vec<M> {
        let gone = self.0.extract_if(.., |(ctx, mapping)| gone(*ctx, mapping));
        gone.map(|(_, mapping)| mapping).collect()
    }

    pub(super) fn mappings(&self) -> impl Iterator<Item = &M> {
        self.0.iter().map(|(_, mapping)| mapping)
    }
}
