//! Charges for the code and local memory of kernels.

use cuda_api::sys::{CUfunction, CUfunction_attribute};
use host_ipc::messages::Charge;
use protocol::ids::{ContextId, FuncId, KernelId};

use super::load::{Code, Load, Need, Part};
use super::parts::add_load;
use super::reserve::{add_part, change_terms};
use super::settle::{Reservation, Settled, kind};
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::calls::tables::handles::Function;
use crate::driver::CuResult;

const LOCAL_SIZE_BYTES: CUfunction_attribute =
    CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;

/// Returns the CUfunction for one of the guest's functions. If `id` is a kernel of a library,
/// returns its function in the current context. The driver can launch a CUkernel directly, but
/// reports attributes and occupancy only for a CUfunction.
pub(in crate::calls) fn func(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    id: FuncId,
) -> CuResult<(CUfunction, Settled<kind::Module>)> {
    let function = lock(&cx.shared.tables).functions.get(id)?.clone();
    function_of(cx, reservation, &function)
}

/// Returns the CUfunction for a function that [`func`] or its caller has looked up. For a kernel of
/// a library, first charges for the library and for the kernel's code, because cuKernelGetFunction
/// makes the driver load the library into the context, and using the result loads the code.
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
    // SAFETY: the kernel is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`). The pointer is to a local variable.
    unsafe { cx.driver().cuKernelGetFunction(&mut of_context, function.real.0.cast())? };
    Ok((of_context, settled))
}

/// Charges the current context for a library's variables and a kernel's code, before the kernel is
/// used in that context. Functions from modules don't need this, because their variables and code
/// were charged before the function was created.
fn reserve_code(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    kernel: &Function,
) -> CuResult<Settled<kind::Module>> {
    add_load(cx, &kernel.load)?;
    reserve_kernel(cx, reservation, cx.ctx, &kernel.load, kernel.code)
}

/// Charges the current context for a library's variables and for the code of the library's kernel
/// `name`. Must be called before the driver describes the kernel's parameters, because the driver
/// loads the variables and the code for that.
pub(in crate::calls) fn reserve_listed(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    library: &Load,
    name: &[u8],
) -> CuResult<Settled<kind::Module>> {
    add_load(cx, library)?;
    reserve_kernel(cx, reservation, cx.ctx, library, library.code_of(name))
}

/// Charges all contexts on a device for a library's variables and a kernel's code. Must be called
/// before a driver call that takes the kernel and the device, because that call makes the driver
/// load the variables and the code.
pub(in crate::calls) fn reserve_kernel_on(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    device: i32,
    kernel: KernelId,
) -> CuResult<Settled<kind::Module>> {
    let kernel = lock(&cx.shared.tables).functions.get(kernel.into())?.clone();
    let on_device: Vec<ContextId> = {
        let contexts = lock(&cx.shared.charges.contexts);
        let on_device = contexts.iter().filter(|(_, context)| context.device == device);
        on_device.map(|(ctx, _)| *ctx).collect()
    };
    let mut settled = reservation.part().charged();
    for ctx in on_device {
        settled = reserve_code(&cx.within(ctx), reservation.part(), &kernel)?;
    }
    Ok(settled)
}

/// Charges a context for a kernel's code, before the driver may load the code. The variables of its
/// module or library must be charged already. The charge is released when the module or library is
/// unloaded or the context is destroyed.
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

/// Charges the current context for the local memory that a kernel or a graph needs.
#[cold]
pub(in crate::calls) fn reserve_need(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Local>,
    need: Need,
) -> CuResult<Settled<kind::Local>> {
    let local = need.local();
    change_terms(cx, cx.ctx, Charge::Local, |terms| terms.local = terms.local.max(local))?;
    Ok(reservation.charged())
}

/// A kernel that a launch may use, because the current context is charged for its local memory.
pub(in crate::calls) struct Admitted {
    pub function: Function,
    pub need: Need,
    pub settled: Settled<kind::Local>,
}

/// Checks and charges a launch for which the driver may allocate device memory: the first launch of
/// a kernel, a launch that needs more local memory than its context has, or any launch while the
/// session has several contexts. The caller must launch the function in the result, because the
/// guest may have reused `id` for another function in the meantime.
#[cold]
pub(in crate::calls) fn admit_kernel(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Local>,
    id: FuncId,
) -> CuResult<Admitted> {
    let function = lock(&cx.shared.tables).functions.get(id)?.clone();
    let mut local = 0;
    // SAFETY: `function_of` returns a live function, and the driver writes only to a local
    // variable.
    unsafe {
        let (real, _) = function_of(cx, reservation.code(), &function)?;
        cx.driver().cuFuncGetAttribute(&mut local, LOCAL_SIZE_BYTES, real)?;
    }
    // Charge for the larger amount, because the driver may take as much as the image declares even
    // if it reports less.
    let local = function.load.local_of(function.code, local.max(0) as u64);
    let need = Need::of_kernel(local);
    let settled = reserve_need(cx, reservation, need)?;
    cx.shared.charges.if_only(cx.ctx, || {
        let mut tables = lock(&cx.shared.tables);
        let listed = tables.functions.get_mut(id).ok().filter(|listed| listed.is(&function));
        if let Some(listed) = listed {
            listed.need = need;
        }
    });
    Ok(Admitted { function, need, settled })
}
