//! Charges for the code and local memory of kernels.

use std::sync::atomic::Ordering;

use cuda_api::sys::{CUfunction, CUfunction_attribute};
use host_ipc::messages::Charge;
use protocol::ids::{ContextId, FuncId};

use super::load::{Code, Load, Part, UNKNOWN_NEED, need};
use super::loads::add_load;
use super::reserve::{add_part, change_terms};
use super::settle::{Reservation, Settled, kind};
use crate::calls::cx::Cx;
use crate::calls::handles::Function;
use crate::calls::lock;
use crate::driver::CuResult;

const LOCAL_SIZE_BYTES: CUfunction_attribute =
    CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;

/// Returns a function, or a kernel's function in the current context. The driver launches
/// kernels directly, but reports attributes and occupancy only for functions.
pub(in crate::calls) fn func(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    id: FuncId,
) -> CuResult<(CUfunction, Settled<kind::Module>)> {
    let function = lock(&cx.shared.tables).functions.get(id)?.clone();
    function_of(cx, reservation, &function)
}

/// Like [`func`]. Querying a kernel's function makes the driver load the library into the
/// context, and using the function loads its code. If this function succeeds, both are charged.
pub(in crate::calls) fn function_of(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    function: &Function,
) -> CuResult<(CUfunction, Settled<kind::Module>)> {
    if !function.is_kernel {
        return Ok((function.real.0, reservation.charged_with_function()));
    }
    cx.enter()?;
    let settled = reserve_code(cx, reservation, function)?;
    let mut of_context = std::ptr::null_mut();
    // SAFETY: the kernel is live, and the pointer is to a local variable.
    unsafe { cx.driver().cuKernelGetFunction(&mut of_context, function.real.0.cast())? };
    Ok((of_context, settled))
}

/// Charges for a library's variables and a kernel's code, before the kernel is used in the
/// current context. Functions obtained from a module don't need this: their variables and code
/// were charged before the function was created.
fn reserve_code(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    kernel: &Function,
) -> CuResult<Settled<kind::Module>> {
    add_load(cx, &kernel.load)?;
    reserve_kernel(cx, reservation, cx.ctx, &kernel.load, kernel.code)
}

/// Charges for a kernel's code, before it may be loaded. The kernel's image must be charged
/// already. The charge is released when the image is unloaded or the context is destroyed.
pub(in crate::calls) fn reserve_kernel(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    ctx: ContextId,
    load: &Load,
    code: Code,
) -> CuResult<Settled<kind::Module>> {
    if code.bytes != 0 {
        add_part(cx, ctx, Part::Kernel(load.number, code.name), code.bytes)?;
    }
    Ok(reservation.charged())
}

/// Charges the current context for the local memory of a kernel with this need (see [`need`]).
#[cold]
pub(in crate::calls) fn reserve_need(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Local>,
    need: u64,
) -> CuResult<Settled<kind::Local>> {
    let local = need.saturating_sub(1);
    change_terms(cx, cx.ctx, Charge::Local, |terms| terms.local = terms.local.max(local))?;
    Ok(reservation.charged())
}

/// Returns the need of an admitted kernel, and 0 for one that wasn't admitted.
pub(in crate::calls) fn need_of(cx: &Cx<'_>, id: FuncId) -> u64 {
    lock(&cx.shared.tables).functions.get(id).map_or(0, |function| match function.need {
        UNKNOWN_NEED => 0,
        need => need,
    })
}

/// Checks and charges a launch that may take device memory. This is called for the first launch
/// of a kernel, for a launch that needs more local memory than its context has, and for every
/// launch while the session has several contexts. Returns the function to launch, because the
/// guest may have reused its id meanwhile.
#[cold]
pub(in crate::calls) fn admit_kernel(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Local>,
    id: FuncId,
) -> CuResult<(Function, Settled<kind::Local>)> {
    let begun = cx.shared.charges.begun.load(Ordering::Acquire);
    let mut function = lock(&cx.shared.tables).functions.get(id)?.clone();
    let mut local = 0;
    // SAFETY: the function is live, and the pointer is to a local variable.
    unsafe {
        let (real, _) = function_of(cx, reservation.code(), &function)?;
        cx.driver().cuFuncGetAttribute(&mut local, LOCAL_SIZE_BYTES, real)?;
    }
    function.need = need(local.max(0) as u64);
    let settled = reserve_need(cx, reservation, function.need)?;
    let mut tables = lock(&cx.shared.tables);
    // If another context was created meanwhile, don't record the need: the kernel hasn't been
    // admitted for that context.
    if cx.shared.charges.begun.load(Ordering::Acquire) == begun
        && let Ok(listed) = tables.functions.get_mut(id)
        && listed.is(&function)
    {
        listed.need = function.need;
    }
    Ok((function, settled))
}
