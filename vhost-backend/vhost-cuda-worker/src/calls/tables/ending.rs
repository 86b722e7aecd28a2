//! Destroys objects, each once all calls that use it have ended; see
//! [`crate::calls::tables::uses`].

use protocol::ids::ContextId;

use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::result::number;
use crate::calls::lock;
use crate::calls::tables::claims::Which;
use crate::calls::tables::handles::{Listed, Tables};
use crate::calls::tables::id_map::Id;
use crate::calls::tables::uses::Object;
use crate::driver::CuResult;

/// An object that was removed from its table because it's about to be destroyed. Its id can't be
/// used until the object has been destroyed. If the driver fails to destroy the object, the id can
/// never be used again, and the object stays charged.
#[must_use]
pub(in crate::calls) struct Ending<K, T> {
    which: Which<K, T>,
    id: K,
    object: Option<Object>,
    /// The object's context, or 0 if it belongs to no context.
    ctx: ContextId,
}

/// Enters the current context, if there is one, and removes an object from its table because the
/// object is about to be destroyed. `with_it` must remove everything that depends on the object. If
/// `with_it` fails, the object stays in its table. May be called only on the ring reader's thread.
pub(in crate::calls) fn begin_end<K: Id, T: Clone + Listed<K>>(
    cx: &Cx<'_>,
    which: Which<K, T>,
    id: K,
    with_it: impl FnOnce(&mut Tables, &T) -> CuResult,
) -> CuResult<(T, Ending<K, T>)> {
    cx.enter_any()?;
    Ending::begin(&mut lock(&cx.shared.tables), which, id, with_it)
}

/// Calls `destroy`, which must destroy an object whose end has begun and release its charge. Does
/// so on the mirror of the guest thread, because `destroy` may block. Then replies with the result.
pub(in crate::calls) fn end_on_mirror<
    K: Id + Send + 'static,
    T: Clone + Listed<K> + Send + 'static,
>(
    cx: &Cx<'_>,
    begun: CuResult<(T, Ending<K, T>)>,
    reply: ReplyTo,
    destroy: impl FnOnce(&Cx<'_>, T) -> CuResult + Send + 'static,
) {
    match begun {
        Ok((value, ending)) => {
            let finish = |ended| reply.finish(number(ended), &[]);
            ending.on_mirror(cx, |cx| destroy(cx, value), finish);
        }
        Err(error) => reply.finish(error.0, &[]),
    }
}

impl<K: Id, T: Clone + Listed<K>> Ending<K, T> {
    fn begin(
        tables: &mut Tables,
        which: Which<K, T>,
        id: K,
        with_it: impl FnOnce(&mut Tables, &T) -> CuResult,
    ) -> CuResult<(T, Self)> {
        let value = which(tables).get(id)?.clone();
        with_it(tables, &value)?;
        which(tables).take(id)?;
        let (object, ctx) = (value.object(id), value.ctx());
        Ok((value, Self { which, id, object, ctx }))
    }

    /// Makes the id available after the object was destroyed and its charge was released.
    fn end(self, tables: &mut Tables) {
        (self.which)(tables).free(self.id);
    }
}

impl<K: Id + Send + 'static, T: Clone + Listed<K> + 'static> Ending<K, T> {
    /// Calls `destroy`, which must destroy the object and release its charge. Calls it immediately
    /// unless a call on a mirror uses the object. If one does, calls it later on the mirror of the
    /// guest thread, with the object's context current.
    pub(in crate::calls) fn now_or_later(
        self,
        cx: &Cx<'_>,
        destroy: impl FnOnce(&Cx<'_>) -> CuResult + Send + 'static,
    ) -> CuResult {
        if self.object.is_some_and(|object| cx.shared.uses.any_of(object)) {
            self.on_mirror(cx, destroy, |_| {});
            return Ok(());
        }
        destroy(cx).inspect(|()| self.end(&mut lock(&cx.shared.tables)))
    }

    fn on_mirror(
        self,
        cx: &Cx<'_>,
        destroy: impl FnOnce(&Cx<'_>) -> CuResult + Send + 'static,
        then: impl FnOnce(CuResult) + Send + 'static,
    ) {
        let (shared, thread) = (cx.shared.clone(), cx.thread);
        // Mark the context as in use, so that it isn't destroyed before the job has run.
        let in_context = shared.uses.begin(Object::Context(self.ctx));
        let context = lock(&shared.tables).contexts.get(self.ctx).ok().map(|context| context.real);
        cx.shared.session.mirrors.run_always(Some(thread), move || {
            self.object.into_iter().for_each(|object| shared.uses.wait_for_none(object));
            let cx = Cx { shared: &shared, thread, ctx: ContextId::NONE };
            let ended = match context {
                // SAFETY: the context was live when `in_context` was created, and it isn't
                // destroyed while `in_context` exists.
                Some(context) => unsafe { cx.within_real(context.0, || destroy(&cx)) },
                None => cx.enter_any().and_then(|()| destroy(&cx)),
            };
            if ended.is_ok() {
                self.end(&mut lock(&shared.tables));
            }
            drop(in_context);
            then(ended);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::tables::claims::EVENTS;
    use crate::calls::tables::driver_handle::DriverHandle;
    use crate::calls::tables::handles::Event;
    use crate::driver::CuError;
    use protocol::ids::EventId;

    const ID: EventId = EventId(7);

    fn begin(tables: &mut Tables, may: CuResult) -> CuResult<Ending<EventId, Event>> {
        Ending::begin(tables, EVENTS, ID, |_, _| may).map(|(_, ending)| ending)
    }

    #[test]
    fn the_id_of_an_ending_object_is_neither_vacant_nor_usable() {
        let mut tables = Tables::default();
        let real = DriverHandle(std::ptr::null_mut());
        let (ctx, interprocess, timing, token) = (ContextId(1), false, true, None);
        let event = Event { real, ctx, interprocess, timing, recorded: Default::default(), token };
        tables.events.list(ID, event);
        let not_now = CuError::NOT_SUPPORTED;
        assert_eq!(begin(&mut tables, Err(not_now)).err(), Some(not_now));
        assert!(tables.events.get(ID).is_ok());
        let ending = begin(&mut tables, Ok(())).unwrap();
        assert_eq!(tables.events.claim(ID), Err(CuError::INVALID_VALUE));
        assert_eq!(begin(&mut tables, Ok(())).err(), Some(CuError::INVALID_HANDLE));
        ending.end(&mut tables);
        assert_eq!(tables.events.claim(ID), Ok(()));
    }
}
