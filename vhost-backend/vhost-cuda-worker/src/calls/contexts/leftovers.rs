//! Destroys the objects that a context still has when it's destroyed.
//!
//! NVIDIA's driver destroys most objects together with their context, but never the graphs that the
//! worker has built. On an H200, workers crashed after they had left instantiated graphs and arrays
//! to the driver several times. Therefore, the worker destroys all objects itself while the context
//! still exists.

use std::sync::Arc;

use protocol::ids::{
    ArrayId, ContextId, EventId, FuncId, GraphExecId, GreenId, LibraryId, LinkId, MipmapId,
    ModuleId, StreamId, ValuesId,
};

use crate::calls::arrays::array::{Array, Mipmap};
use crate::calls::code::link_state::Link;
use crate::calls::commands::cx::Cx;
use crate::calls::graphs::graph::end_graph;
use crate::calls::graphs::graph_conditions::Values;
use crate::calls::graphs::graph_exec::GraphExec;
use crate::calls::graphs::graph_values;
use crate::calls::tables::handles::{
    Context, Event, Function, Green, Leftovers, Library, Listed, Module, OfModule, Owner, Stream,
};
use crate::calls::tables::uses::Object;
use crate::driver::CuResult;

/// Implements [`Listed`] for objects that belong to a context.
macro_rules! listed {
    ($($object:ident($id:ty) => $kind:expr),* $(,)?) => {
        $(impl Listed<$id> for $object {
            fn ctx(&self) -> ContextId {
                self.ctx
            }

            fn object(&self, id: $id) -> Option<Object> {
                let kind: fn(&Self, $id) -> Option<Object> = $kind;
                kind(self, id)
            }
        })*
    };
}

listed! {
    Array(ArrayId) => |array, id| Some(array.mipmap.map_or(Object::Array(id), Object::Mipmap)),
    Mipmap(MipmapId) => |_, id| Some(Object::Mipmap(id)),
    Event(EventId) => |_, id| Some(Object::Event(id)),
    GraphExec(GraphExecId) => |_, id| Some(Object::Graph(id)),
    Module(ModuleId) => |module, id| Some(module.library.map_or(Object::Module(id), Object::Library)),
    Stream(StreamId) => |stream, _| Some(Object::stream(stream.real.0)),
}

impl<K, H> Listed<K> for OfModule<H> {
    fn ctx(&self) -> ContextId {
        self.ctx
    }

    fn object(&self, _: K) -> Option<Object> {
        self.object
    }
}

impl Listed<FuncId> for Function {
    fn ctx(&self) -> ContextId {
        match self.owner {
            // A library's kernel doesn't belong to a context, but a function obtained from it does.
            Owner::Library { .. } if self.is_kernel => ContextId::NONE,
            Owner::Module { ctx, .. } | Owner::Library { ctx, .. } => ctx,
        }
    }

    fn object(&self, _: FuncId) -> Option<Object> {
        Some(match self.owner {
            Owner::Module { id, .. } => Object::Module(id),
            Owner::Library { id, .. } => Object::Library(id),
        })
    }
}

impl Listed<ValuesId> for Arc<Values> {
    fn ctx(&self) -> ContextId {
        self.as_ref().ctx
    }

    fn object(&self, _: ValuesId) -> Option<Object> {
        None
    }
}

/// Implements [`Listed`] for objects that aren't destroyed together with a context, and for objects
/// whose uses are already counted as uses of their context.
macro_rules! of_no_context {
    ($($object:ty, $id:ty => $kind:expr),* $(,)?) => {
        $(impl Listed<$id> for $object {
            fn ctx(&self) -> ContextId {
                ContextId::NONE
            }

            fn object(&self, id: $id) -> Option<Object> {
                let kind: fn($id) -> Option<Object> = $kind;
                kind(id)
            }
        })*
    };
}

of_no_context! {
    Context, ContextId => |id| Some(Object::Context(id)),
    Green, GreenId => |_| None,
    Library, LibraryId => |id| Some(Object::Library(id)),
    Link, LinkId => |id| Some(Object::Link(id)),
    (), (ContextId, u64) => |_| None,
}
#[cfg(test)]
of_no_context!(&str, u64 => |_| None, (), u64 => |_| None);

/// Destroys the objects, each before the objects that it uses. The context must be current, and no
/// call may use it any more. Errors are ignored: after a kernel has failed, all these driver calls
/// fail, and then the driver destroys the objects together with the context.
pub(in crate::calls) fn destroy(cx: &Cx<'_>, left: Leftovers) {
    let driver = cx.driver();
    let ignore = |_: CuResult| {};
    // The values' driver graph may still contain the nodes of an executable graph. If so, it's
    // destroyed together with that executable graph.
    for values in &left.values {
        graph_values::end(cx, values);
    }
    // SAFETY: the objects were removed from the tables when the context began to end, so nothing
    // destroys them a second time. All calls that used them have ended.
    unsafe {
        for exec in left.graphs {
            ignore(driver.cuGraphExecDestroy(exec.real.0));
            end_graph(cx, &exec.graph);
        }
        left.textures.into_iter().for_each(|it| ignore(driver.cuTexObjectDestroy(it)));
        left.surfaces.into_iter().for_each(|it| ignore(driver.cuSurfObjectDestroy(it)));
        // Skip the levels of mipmapped arrays, because they are destroyed with their mipmapped
        // arrays.
        for array in left.arrays.iter().filter(|array| array.mipmap.is_none()) {
            ignore(driver.cuArrayDestroy(array.real.0));
        }
        for mipmap in left.mipmaps {
            ignore(driver.cuMipmappedArrayDestroy(mipmap.real.0));
        }
        for event in left.events {
            event.token.into_iter().for_each(|token| cx.shared.session.exchange.withdraw(token));
            ignore(driver.cuEventDestroy(event.real.0));
        }
        left.streams.into_iter().for_each(|it| ignore(driver.cuStreamDestroy(it.0)));
        // Don't unload the modules of libraries, because a library exists independently of the
        // context.
        for module in left.modules.iter().filter(|module| module.library.is_none()) {
            ignore(driver.cuModuleUnload(module.real.0));
        }
    }
}
