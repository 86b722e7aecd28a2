//! Events that several sessions of a VM use.
//!
//! The driver's handle of an event contains no secret, so a guest could forge it. Therefore, the
//! guest doesn't get it. The guest gets a random token, which is the name under which the device
//! process stores the handle.

use cuda_api::sys::CUipcEventHandle;
use host_ipc::messages::Exported;
use protocol::calls as api;

use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::calls::tables::claims::{EVENTS, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::{Event, Recorded};
use crate::calls::tables::token::new_token;
use crate::driver::{CuError, CuResult};

/// Exports an event that the guest has created with CU_EVENT_INTERPROCESS.
pub(in crate::calls) fn vcuda_ipc_get_event_handle(
    cx: &Cx<'_>,
    call: api::VcudaIpcGetEventHandle,
) -> CuResult<api::VcudaIpcGetEventHandleAnswer> {
    cx.enter_any()?;
    let _one_at_a_time = lock(&cx.shared.memory.exporting);
    let event = *lock(&cx.shared.tables).events.get(call.event)?;
    if let Some(token) = event.token {
        return Ok(api::VcudaIpcGetEventHandleAnswer { token });
    }
    let mut native = CUipcEventHandle::default();
    // SAFETY: the event is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`). The pointer is to a local variable.
    unsafe { cx.driver().cuIpcGetEventHandle(&mut native, event.real.0)? };
    let token = new_token()?;
    let bytes = native.reserved.map(|byte| byte as u8);
    let word = |index| bytes[8 * index..][..8].try_into().map(u64::from_le_bytes).unwrap_or(0);
    let thing = Exported::Event { handle: std::array::from_fn(word) };
    if !cx.shared.session.exchange.export(token, thing, None) {
        return Err(CuError::OUT_OF_MEMORY);
    }
    match lock(&cx.shared.tables).events.get_mut(call.event) {
        Ok(listed) if listed.real == event.real => listed.token = Some(token),
        // The guest has destroyed the event in the meantime, so end the export.
        _ => {
            cx.shared.session.exchange.withdraw(token);
            return Err(CuError::INVALID_HANDLE);
        }
    }
    Ok(api::VcudaIpcGetEventHandleAnswer { token })
}

/// Opens an event that another session has exported.
pub(in crate::calls) fn vcuda_ipc_open_event_handle(
    cx: &Cx<'_>,
    call: api::VcudaIpcOpenEventHandle,
) -> CuResult {
    cx.enter()?;
    let exchange = &cx.shared.session.exchange;
    if exchange.is_own(call.token) {
        return Err(CuError::INVALID_CONTEXT);
    }
    let Some(Exported::Event { handle }) = exchange.import(call.token) else {
        return Err(CuError::MAP_FAILED);
    };
    let id = claim(cx, EVENTS, call.event)?;
    let bytes = handle.map(u64::to_le_bytes);
    let native = CUipcEventHandle { reserved: std::array::from_fn(|i| bytes[i / 8][i % 8] as _) };
    let mut event = std::ptr::null_mut();
    // SAFETY: the pointer is to a local variable. The handle comes from the driver in another
    // worker of the VM. The driver checks the handle's contents.
    unsafe { cx.driver().cuIpcOpenEventHandle(&mut event, native)? };
    let real = DriverHandle(event);
    let recorded = Recorded::default();
    id.list(Event { real, ctx: cx.ctx, interprocess: true, timing: false, recorded, token: None });
    Ok(())
}
