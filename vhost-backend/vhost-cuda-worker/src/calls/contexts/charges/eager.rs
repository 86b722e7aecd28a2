//! Charges for libraries with eager loading. In that mode, the driver loads each library into every
//! context that exists at the time, and into each context that is created later.

use protocol::ids::ContextId;

use super::load::Load;
use super::parts::{charge_load, give_back_module, give_back_unused};
use super::reserve::{begin_charges, end_charges};
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::driver::CuResult;

/// Charges all contexts for a library, and calls `load`, which passes the library to the driver. No
/// context can be created in the meantime, because creating one requires the lock held here.
pub(super) fn load_everywhere<T>(
    cx: &Cx<'_>,
    library: &Load,
    load: impl FnOnce() -> CuResult<T>,
) -> CuResult<T> {
    let mut loaded = lock(&cx.shared.charges.loads.everywhere);
    let all: Vec<ContextId> = lock(&cx.shared.charges.contexts).keys().copied().collect();
    for (index, ctx) in all.iter().enumerate() {
        charge_load(&cx.within(*ctx), library).inspect_err(|_| {
            all[..index].iter().for_each(|ctx| give_back_unused(&cx.within(*ctx), library));
        })?;
    }
    let failed = |_: &_| all.iter().for_each(|ctx| give_back_module(cx, *ctx, library));
    let result = load().inspect_err(failed)?;
    loaded.push(library.clone());
    Ok(result)
}

/// Stops charging new contexts for a library, after the library was unloaded.
pub(super) fn forget_everywhere(cx: &Cx<'_>, library: &Load) {
    lock(&cx.shared.charges.loads.everywhere).retain(|loaded| !loaded.is(library));
}

/// Starts counting a new context's resources, charges the context for the libraries that are loaded
/// into every context, and calls `create`, which makes the driver create the context. The memory
/// for the context itself must already be reserved.
pub(in crate::calls) fn begin_context<T>(
    cx: &Cx<'_>,
    ctx: ContextId,
    device: i32,
    create: impl FnOnce() -> CuResult<T>,
) -> CuResult<T> {
    let loaded = lock(&cx.shared.charges.loads.everywhere);
    begin_charges(cx, ctx, device);
    let charged =
        loaded.iter().try_for_each(|library| charge_load(&cx.within(ctx), library).map(drop));
    charged.and_then(|()| create()).inspect_err(|_| end_charges(cx, ctx))
}
