//! The objects that a context still has when it ends.
//!
//! NVIDIA's driver destroys most of them together with the context, but never the graphs that the
//! worker has built. On an H200, workers crashed after they had left instantiated graphs and arrays to
//! the driver several times. So the worker destroys everything itself, while the context exists.

use std::sync::Arc;

use protocol::ids::ContextId;

use super::array::{Array, Mipmap};
use super::cx::Cx;
use super::graph::end_graph;
use super::graph_conditions::Values;
use super::graph_exec::GraphExec;
use super::graph_values;
use super::handles::{
    Context, Event, Function, Green, Leftovers, Library, Module, OfContext, OfModule, Owner, Stream,
};
use super::link_state::Link;
use crate::driver::CuResult;

macro_rules! of_context {
    ($($object:ty),*) => {
        $(impl OfContext for $object {
            fn ctx(&self) -> ContextId {
                self.ctx
            }
        })*
    };
}

of_context!(Array, Mipmap, Event, GraphExec, Link, Module, Stream);

impl<H> OfContext for OfModule<H> {
    fn ctx(&self) -> ContextId {
        self.ctx
    }
}

/// These objects belong to no context, or their users count as in progress in it by other means.
macro_rules! of_no_context {
    ($($object:ty),*) => {
        $(impl OfContext for $object {
            fn ctx(&self) -> ContextId {
                ContextId::NONE
            }
        })*
    };
}

of_no_context!(Context, Green, Library);
#[cfg(test)]
of_no_context!(&str, ());

impl OfContext for Arc<Values> {
    fn ctx(&self) -> ContextId {
        self.as_ref().ctx
    }
}

impl OfContext for Function {
    fn ctx(&self) -> ContextId {
        match self.owner {
            // Kernels don't belong to a context, but the functions obtained from them do.
            Owner::Library { .. } if self.is_kernel => ContextId::NONE,
            Owner::Module { ctx, .. } | Owner::Library { ctx, .. } => ctx,
        }
    }
}

/// Destroys the objects, each before those that it uses. The context must be current, and no
/// call may use it any more. If a call fails, as all do after a kernel has failed, the driver
/// destroys the object together with the context.
pub(super) fn destroy(cx: &Cx<'_>, left: Leftovers) {
    let driver = cx.driver();
    let ignore = |_: CuResult| {};
    // A graph that is still in use is destroyed together with its executable graph.
    for values in &left.values {
        graph_values::end(cx, values);
    }
    // SAFETY: the objects were in the tables until the context began to end. They are in none
    // now, so nothing destroys them a second time, and all calls that used them have ended.
    unsafe {
        for exec in left.graphs {
            ignore(driver.cuGraphExecDestroy(exec.real.0));
            end_graph(cx, &exec.graph);
        }
        left.textures.into_iter().for_each(|it| ignore(driver.cuTexObjectDestroy(it)));
        left.surfaces.into_iter().for_each(|it| ignore(driver.cuSurfObjectDestroy(it)));
        // Levels are parts of their mipmapped arrays.
        for array in left.arrays.iter().filter(|array| array.mipmap.is_none()) {
            ignore(driver.cuArrayDestroy(array.real.0));
        }
        for mipmap in left.mipmaps {
            ignore(driver.cuMipmappedArrayDestroy(mipmap.real.0));
        }
        left.events.into_iter().for_each(|it| ignore(driver.cuEventDestroy(it.real.0)));
        left.streams.into_iter().for_each(|it| ignore(driver.cuStreamDestroy(it.0)));
        // The other modules are parts of libraries, which exist without the context.
        for module in left.modules.iter().filter(|module| module.library.is_none()) {
            ignore(driver.cuModuleUnload(module.real.0));
        }
    }
}
