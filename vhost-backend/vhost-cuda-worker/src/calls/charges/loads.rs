//! Charges of modules and libraries, and of the kernels that are launched.
//!
//! A module's variables are taken when it is loaded, a library's in each context when something of
//! it is used there first. Code comes with them, or with lazy loading kernel by kernel.

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
    /// Bounds what an image takes, before the driver gets it.
    fn bound(&self, image: &[u8]) -> CuResult<Footprint> {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        let capabilities: Vec<u32> = devices.iter().map(|device| device.capability).collect();
        let mut footprint = footprint::footprint(image, &capabilities).map_err(|error| {
            tracing::warn!(session = self.shared.session.label, "not loaded: {error}");
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
            // SAFETY: the pointer is that of a local.
            let known = unsafe { self.driver().cuModuleGetLoadingMode(&mut mode) };
            known.is_ok() && mode == CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING
        })
    }

    /// An image that is about to be loaded. Nothing is charged for it yet.
    pub(in super::super) fn new_load(&self, image: &[u8]) -> CuResult<Load> {
        let takes = Arc::new(self.bound(image)?);
        let number = self.shared.charges.loads.last.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Load { number, takes })
    }

    /// Before a module is loaded into the current context.
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

    /// Before something of a library is used in the current context. The charge ends with the
    /// library or the context.
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

    /// After the driver has refused to load a module: others may use the heap by now.
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

    /// After a module of a context was unloaded.
    pub(in super::super) fn give_back_module(&self, ctx: ContextId, load: &Load) {
        // The context may have ended meanwhile, and all its charges with it.
        let _ = self.remove_parts(ctx, load.number);
    }

    /// After a library was unloaded.
    pub(in super::super) fn give_back_library(&self, load: &Load) {
        let all: Vec<ContextId> = lock(&self.shared.charges.contexts).keys().copied().collect();
        for ctx in all {
            self.give_back_module(ctx, load);
        }
    }

    /// Before a library's kernel is used in the current context: the library's variables and the
    /// kernel's code. For a function both were reserved before it was made.
    pub(in super::super) fn reserve_code(
        &self,
        reservation: Reservation<kind::Module>,
        kernel: &Function,
    ) -> CuResult<Settled<kind::Module>> {
        self.add_load(&kernel.load)?;
        self.reserve_kernel(reservation, self.ctx, &kernel.load, kernel.code)
    }

    /// Before the code of a kernel of an image that is charged already may be loaded. The charge
    /// ends with the image or the context.
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

    /// Local memory for what needs so much, in the current context.
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

    /// What a kernel that was admitted needs.
    pub(in super::super) fn need_of(&self, id: FuncId) -> u64 {
        lock(&self.shared.tables).functions.get(id).map_or(0, |function| match function.need {
            UNKNOWN_NEED => 0,
            need => need,
        })
    }

    /// Before a launch that may take memory: of the kernel's first, of one that needs more local
    /// memory than its context has given any, and of every one while there are several contexts.
    /// What may be launched then: by now its id may be another's.
    #[cold]
    pub(in super::super) fn admit_kernel(
        &self,
        reservation: Reservation<kind::Local>,
        id: FuncId,
    ) -> CuResult<(Function, Settled<kind::Local>)> {
        let begun = self.shared.charges.begun.load(Ordering::Acquire);
        let mut function = lock(&self.shared.tables).functions.get(id)?.clone();
        let mut local = 0;
        // SAFETY: a live function; the pointer is that of a local.
        unsafe {
            let (real, _) = self.function_of(reservation.code(), &function)?;
            self.driver().cuFuncGetAttribute(&mut local, LOCAL_SIZE_BYTES, real)?;
        }
        function.need = need(local.max(0) as u64);
        let settled = self.reserve_need(reservation, function.need)?;
        let mut tables = lock(&self.shared.tables);
        // In a context that has begun meanwhile it has to be admitted, too.
        if self.shared.charges.begun.load(Ordering::Acquire) == begun
            && let Ok(listed) = tables.functions.get_mut(id)
            && listed.is(&function)
        {
            listed.need = function.need;
        }
        Ok((function, settled))
    }
}
