//! Calls for the values on which conditional nodes depend.
//!
//! A program creates such a value for a graph, and passes the driver's handle of the value to
//! kernels, before the guest sends the graph. Therefore, the worker keeps a driver graph for the
//! values of each guest graph. It adds nodes to that driver graph when the guest's graph is
//! instantiated, and removes them when the executable graph is destroyed.

use std::sync::Arc;

use protocol::calls as api;
use protocol::ids::ValuesId;

use crate::calls::commands::cx::Cx;
use crate::calls::graphs::graph_conditions::Values;
use crate::calls::lock;
use crate::calls::tables::claims::{VALUES, claim};
use crate::driver::{CuError, CuResult};

/// Looks up the values with this id.
pub(in crate::calls) fn values(cx: &Cx<'_>, id: ValuesId) -> CuResult<Arc<Values>> {
    lock(&cx.shared.tables).values.get(id).cloned().map_err(|_| CuError::INVALID_VALUE)
}

pub(in crate::calls) fn vcuda_graph_value_create(
    cx: &Cx<'_>,
    call: api::VcudaGraphValueCreate,
) -> CuResult<api::VcudaGraphValueCreateAnswer> {
    cx.enter()?;
    if call.flags > 1 {
        return Err(CuError::INVALID_VALUE);
    }
    let found = lock(&cx.shared.tables).values.get(call.values).cloned();
    let values = match found {
        Ok(values) => values,
        Err(_) => {
            let id = claim(cx, VALUES, call.values)?;
            let mut real = std::ptr::null_mut();
            // SAFETY: the pointer is to a local variable.
            unsafe { cx.driver().cuGraphCreate(&mut real, 0)? };
            let values = Arc::new(Values::new(real, cx.ctx));
            id.list(values.clone());
            values
        }
    };
    let context = lock(&cx.shared.tables).contexts.get(cx.ctx)?.real.0;
    let (real, default, flags) = (values.real.0, call.default_value, call.flags);
    let handle = values.add(cx.ctx, || {
        let mut handle = 0;
        // SAFETY: `values` keeps the graph, and the context is live, because objects that a call
        // has looked up aren't destroyed before the call ends (`tables/uses.rs`). The pointer is to
        // a local variable.
        unsafe {
            cx.driver().cuGraphConditionalHandleCreate(
                &mut handle,
                real,
                context,
                default,
                flags,
            )?;
        }
        Ok(handle)
    })?;
    Ok(api::VcudaGraphValueCreateAnswer { handle })
}

pub(in crate::calls) fn vcuda_graph_values_destroy(
    cx: &Cx<'_>,
    call: api::VcudaGraphValuesDestroy,
) -> CuResult {
    cx.enter_any()?;
    let values = lock(&cx.shared.tables).values.remove(call.values)?;
    end(cx, &values);
    Ok(())
}

/// Ends the lifetime of values that were removed from the tables. If no executable graph uses their
/// driver graph, destroys the driver graph.
pub(in crate::calls) fn end(cx: &Cx<'_>, values: &Values) {
    if values.end() {
        destroy(cx, values);
    }
}

/// Ends the use of the values by an executable graph, whose nodes the caller has removed. If the
/// guest has destroyed the values, destroys their driver graph.
pub(in crate::calls) fn finish(cx: &Cx<'_>, values: &Values) {
    if values.finish() {
        destroy(cx, values);
    }
}

fn destroy(cx: &Cx<'_>, values: &Values) {
    // SAFETY: the worker created the graph, and destroys it once: when the guest has destroyed the
    // values and the graph isn't in use any more, whichever is later.
    let _ = unsafe { cx.driver().cuGraphDestroy(values.real.0) };
}
