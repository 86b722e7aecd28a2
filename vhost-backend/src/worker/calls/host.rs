//! Host memory that a session registers with the GPU.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::calls as api;

use super::copy::REGISTER_FLAGS;
use super::cx::Cx;
use super::memory::Foreign;
use super::{Calls, lock};
use crate::worker::driver::{CuError, CuResult};
use crate::worker::region::Region;

/// One registration.
struct Registration {
    region: Arc<Region>,
    at: u64,
    dptr: u64,
}

/// Registered memory, by its address in the guest process. A registration keeps its pages mapped.
#[derive(Default)]
pub(super) struct Registered {
    by_vaddr: HashMap<u64, Registration>,
}

impl Cx<'_> {
    pub(super) fn vcuda_host_register(
        &self,
        call: api::VcudaHostRegister,
    ) -> CuResult<api::VcudaHostRegisterAnswer> {
        self.enter()?;
        let region = self.shared.session.regions.find(call.vaddr, call.len);
        let region = region.ok_or(CuError::INVALID_VALUE)?;
        let at = region.at(call.vaddr, call.len).ok_or(CuError::INVALID_VALUE)?;
        if call.len == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let mut registered = lock(&self.shared.registered);
        if registered.by_vaddr.contains_key(&call.vaddr) {
            return Err(CuError::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let mut dptr = 0;
        // SAFETY: the pages are mapped, and stay so until they are unregistered: the registration
        // holds the region.
        unsafe {
            self.driver().cuMemHostRegister(at.cast(), call.len, REGISTER_FLAGS)?;
            let told = self.driver().cuMemHostGetDevicePointer(&mut dptr, at.cast(), 0);
            let listed = told.and_then(|()| {
                let mut foreign = lock(&self.shared.memory.foreign);
                let new = foreign.insert(dptr, call.len as u64, Foreign::Host);
                if new { Ok(()) } else { Err(CuError::HOST_MEMORY_ALREADY_REGISTERED) }
            });
            if let Err(error) = listed {
                let _ = self.driver().cuMemHostUnregister(at.cast());
                return Err(error);
            }
        }
        registered.by_vaddr.insert(call.vaddr, Registration { region, at: at as u64, dptr });
        Ok(api::VcudaHostRegisterAnswer { dptr })
    }

    pub(super) fn vcuda_host_unregister(&self, call: api::VcudaHostUnregister) -> CuResult {
        self.enter_any()?;
        let found = lock(&self.shared.registered).by_vaddr.remove(&call.vaddr);
        let registration = found.ok_or(CuError::HOST_MEMORY_NOT_REGISTERED)?;
        self.unregister(registration)
    }

    /// Waits for what may still use the pages, then takes them from the GPU.
    fn unregister(&self, registration: Registration) -> CuResult {
        lock(&self.shared.memory.foreign).remove(registration.dptr);
        // SAFETY: no pointers; then an address that was registered, whose pages are still mapped.
        // A registration ends with its context: then it is an error to nobody.
        unsafe {
            if self.ctx != 0 {
                let _ = self.driver().cuCtxSynchronize();
            }
            let done = self.driver().cuMemHostUnregister(registration.at as *mut _);
            drop(registration.region);
            match done {
                Err(CuError::HOST_MEMORY_NOT_REGISTERED) => Ok(()),
                other => other,
            }
        }
    }
}

impl Calls {
    /// The guest's driver takes a region back: its pages go from the GPU first.
    pub(super) fn detach(&mut self, region: Arc<Region>) {
        let gone: Vec<Registration> = {
            let mut registered = lock(&self.shared.registered);
            let keys: Vec<u64> = registered
                .by_vaddr
                .iter()
                .filter(|(_, registration)| Arc::ptr_eq(&registration.region, &region))
                .map(|(vaddr, _)| *vaddr)
                .collect();
            keys.iter().filter_map(|vaddr| registered.by_vaddr.remove(vaddr)).collect()
        };
        if gone.is_empty() {
            return;
        }
        let contexts: Vec<u64> =
            lock(&self.shared.tables).contexts.iter().map(|(id, _)| id).collect();
        self.job(u32::MAX, 0, move |cx| {
            for ctx in contexts {
                if cx.within(ctx).enter().is_ok() {
                    // SAFETY: no pointers. An error is the session's, and reported elsewhere.
                    let _ = unsafe { cx.driver().cuCtxSynchronize() };
                }
            }
            for registration in gone {
                let _ = cx.unregister(registration);
            }
            drop(region);
        });
    }
}
