//! Charges for modules, libraries, and launched kernels.
//!
//! A module takes memory for its variables when it is loaded. A library takes that memory in each
//! context in which any part of it is used, at the first use. Code is loaded at the same time or,
//! with lazy loading, kernel by kernel.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::sys::{CUfunction_attribute, CUmoduleLoadingMode};
use protocol::ids::{ContextId, FuncId};

use super::super::cx::Cx;
use super::super::handles::Function;
use super::super::lock;
use super::footprint;
use super::load::{Code, Load, Part, UNKNOWN_NEED, need};
use super::settle::{Reservation, Reserved, Settled, kind};
use super::taken::Footprint;
use crate::driver::{CuError, CuResult};
use host_ipc::messages::Charge;

const LOCAL_SIZE_BYTES: CUfunction_attribute =
    CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;

impl Cx<'_> {
    /// Computes an upper bound for the memory of an image, before the driver gets the image.
    fn bound(&self, image: &[u8]) -> CuResult<Footprint> {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        let capabilities: Vec<u32> = devices.iter().map(|device| device.capability).collect();
        let mut footprint = footprint::footprint(image, &capabilities).map_err(|error| {
            tracing::warn!(
                session = self.shared.session.label,
                "refusing to load an image: {error}"
            );
            CuError::NOT_SUPPORTED
        })?;
        if !self.loads_lazily() {
            footprint.code = footprint.all_code();
            footprint.kernels = vec![];
        }
        Ok(footprint)
    }

    fn loads_lazily(&self) -> bool {
        *self.shared.charges.loads.lazy.get_or_init(|| {
            let mut mode = CUmoduleLoadingMode(0);
            // SAFETY: the pointer is to a local variable.
            let known = unsafe { self.driver().cuModuleGetLoadingMode(&mut mode) };
            known.is_ok() && mode == CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING
        })
    }

    /// Describes an image that is about to be loaded. Nothing is charged for it yet.
    pub(in super::super) fn new_load(&self, image: &[u8]) -> CuResult<Load> {
        let takes = Arc::new(self.bound(image)?);
        let number = self.shared.charges.loads.last.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Load { number, takes })
    }

    /// Reserves a module's memory, before it is loaded into the current context.
    pub(in super::super) fn reserve_module(
        &self,
        reservation: Reservation<kind::Module>,
        load: &Load,
    ) -> CuResult<Reserved<kind::Module, impl FnOnce() -> CuResult>> {
        self.add_load(load)?;
        Ok(reservation.reserved(|| {
            self.give_back_failed(load);
            Ok(())
        }))
    }

    /// Charges the current context for a library's variables and always-loaded code, before any
    /// part of the library is used there. The charge is released when the library is unloaded or
    /// the context is destroyed.
    pub(in super::super) fn reserve_load(
        &self,
        reservation: Reservation<kind::Module>,
        load: &Load,
    ) -> CuResult<Settled<kind::Module>> {
        self.add_load(load)?;
        Ok(reservation.charged())
    }

    fn add_load(&self, load: &Load) -> CuResult {
        let uses_heap = load.takes.uses_heap && self.add_heap_user(self.ctx, load.number)?;
        let reserved = self.add_part(self.ctx, Part::Image(load.number), load.image_bytes());
        reserved.inspect_err(|_| {
            if uses_heap {
                self.remove_heap_user();
            }
        })
    }

    /// Gives a module's charge back after the driver has refused to load it. The heap stays charged
    /// if other modules have started to use it.
    fn give_back_failed(&self, load: &Load) {
        self.give_back_module(self.ctx, load);
        if load.takes.uses_heap {
            self.remove_heap_user();
        }
    }

    fn remove_heap_user(&self) {
        let _ = self.change(self.ctx, Charge::Heap, |terms| {
            terms.heap_users = terms.heap_users.saturating_sub(1);
        });
    }

    /// Gives a module's charge back, after it was unloaded from a context.
    pub(in super::super) fn give_back_module(&self, ctx: ContextId, load: &Load) {
        // This fails only if the context has been destroyed meanwhile, which released all its
        // charges.
        let _ = self.remove_parts(ctx, load.number);
    }

    /// Gives a library's charges back in all contexts, after it was unloaded.
    pub(in super::super) fn give_back_library(&self, load: &Load) {
        let all: Vec<ContextId> = lock(&self.shared.charges.contexts).keys().copied().collect();
        for ctx in all {
            self.give_back_module(ctx, load);
        }
    }

    /// Charges for a library's variables and a kernel's code, before the kernel is used in the
    /// current context. Functions obtained from a module don't need this: their variables and code
    /// were charged before the function was created.
    pub(in super::super) fn reserve_code(
        &self,
        reservation: Reservation<kind::Module>,
        kernel: &Function,
    ) -> CuResult<Settled<kind::Module>> {
        self.add_load(&kernel.load)?;
        self.reserve_kernel(reservation, self.ctx, &kernel.load, kernel.code)
    }

    /// Charges for a kernel's code, before it may be loaded. The kernel's image must be charged
    /// already. The charge is released when the image is unloaded or the context is destroyed.
    pub(in super::super) fn reserve_kernel(
        &self,
        reservation: Reservation<kind::Module>,
        ctx: ContextId,
        load: &Load,
        code: Code,
    ) -> CuResult<Settled<kind::Module>> {
        if code.bytes != 0 {
            self.add_part(ctx, Part::Kernel(load.number, code.name), code.bytes)?;
        }
        Ok(reservation.charged())
    }

    /// Charges the current context for the local memory of a kernel with this need (see [`need`]).
    #[cold]
    pub(in super::super) fn reserve_need(
        &self,
        reservation: Reservation<kind::Local>,
        need: u64,
    ) -> CuResult<Settled<kind::Local>> {
        let local = need.saturating_sub(1);
        self.change(self.ctx, Charge::Local, |terms| terms.local = terms.local.max(local))?;
        Ok(reservation.charged())
    }

    /// Returns the need of an admitted kernel, and 0 for one that wasn't admitted.
    pub(in super::super) fn need_of(&self, id: FuncId) -> u64 {
        lock(&self.shared.tables).functions.get(id).map_or(0, |function| match function.need {
            UNKNOWN_NEED => 0,
            need => need,
        })
    }

    /// Checks and charges a launch that may take device memory. This is called for the first launch
    /// of a kernel, for a launch that needs more local memory than its context has, and for every
    /// launch while the session has several contexts. Returns the function to launch, because the
    /// guest may have reused its id meanwhile.
    #[cold]
    pub(in super::super) fn admit_kernel(
        &self,
        reservation: Reservation<kind::Local>,
        id: FuncId,
    ) -> CuResult<(Function, Settled<kind::Local>)> {
        let begun = self.shared.charges.begun.load(Ordering::Acquire);
        let mut function = lock(&self.shared.tables).functions.get(id)?.clone();
        let mut local = 0;
        // SAFETY: the function is live, and the pointer is to a local variable.
        unsafe {
            let (real, _) = self.function_of(reservation.code(), &function)?;
            self.driver().cuFuncGetAttribute(&mut local, LOCAL_SIZE_BYTES, real)?;
        }
        function.need = need(local.max(0) as u64);
        let settled = self.reserve_need(reservation, function.need)?;
        let mut tables = lock(&self.shared.tables);
        // If another context was created meanwhile, don't record the need: the kernel hasn't been
        // admitted for that context.
        if self.shared.charges.begun.load(Ordering::Acquire) == begun
            && let Ok(listed) = tables.functions.get_mut(id)
            && listed.is(&function)
        {
            listed.need = function.need;
        }
        Ok((function, settled))
    }
}
