//! Charges of modules and libraries, and of the kernels that are launched.
//!
//! A module's variables are taken when it is loaded, a library's in each context when something of
//! it is used there first. Code comes with them, or with lazy loading kernel by kernel.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::super::cx::Cx;
use super::super::handles::Owner;
use super::super::lock;
use super::footprint::{self, Footprint, name_hash};
use crate::ipc::messages::Charge;
use crate::worker::driver::{CuError, CuResult};

/// `CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES`.
const LOCAL_SIZE_BYTES: u32 = 3;
/// `CU_MODULE_LAZY_LOADING`.
const LAZY: u32 = 2;

/// What a kernel needs that nobody has looked at.
pub(in super::super) const UNKNOWN_NEED: u64 = u64::MAX;

/// Where an image's code and variables came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Module(u64),
    Library(u64),
}

/// A part of what a context has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// Variables, and code that does not come kernel by kernel.
    Image(Source),
    /// A kernel's code, by its hashed name.
    Kernel(Source, u64),
}

impl Part {
    pub(super) fn source(&self) -> Source {
        match self {
            Self::Image(source) | Self::Kernel(source, _) => *source,
        }
    }
}

/// A kernel's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Code {
    /// Its name, hashed.
    name: u64,
    /// Bytes; 0 where it comes with the image.
    bytes: u64,
}

/// Images that are loaded.
#[derive(Default)]
pub(super) struct Loads {
    images: HashMap<Source, Arc<Footprint>>,
    lazy: OnceLock<bool>,
}

impl Loads {
    /// Forgets the images of modules that these are parts of.
    pub(super) fn forget_modules<'a>(&mut self, parts: impl Iterator<Item = &'a Part>) {
        for source in parts.map(Part::source) {
            if matches!(source, Source::Module(_)) {
                self.images.remove(&source);
            }
        }
    }
}

/// As launches compare it: what a kernel with so much local memory needs, never 0.
pub(super) fn need(local: u64) -> u64 {
    local.saturating_add(1)
}

fn source(owner: Owner) -> Source {
    match owner {
        Owner::Module { id, .. } => Source::Module(id),
        Owner::Library { id, .. } => Source::Library(id),
    }
}

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
        *lock(&self.shared.charges.loads).lazy.get_or_init(|| {
            let mut mode = 0;
            // SAFETY: the pointer is that of a local.
            let known = unsafe { self.driver().cuModuleGetLoadingMode(&mut mode) };
            known.is_ok() && mode == LAZY
        })
    }

    /// Before a module is loaded into the current context. Whether it is the first to use the heap
    /// there.
    pub(in super::super) fn reserve_module(&self, id: u64, image: &[u8]) -> CuResult<bool> {
        let footprint = Arc::new(self.bound(image)?);
        let heap_is_new = self.reserve_image(Source::Module(id), &footprint)?;
        lock(&self.shared.charges.loads).images.insert(Source::Module(id), footprint);
        Ok(heap_is_new)
    }

    /// After the driver has refused to load a module.
    pub(in super::super) fn give_back_failed(&self, id: u64, heap_is_new: bool) {
        self.give_back_module(self.ctx, id);
        if heap_is_new {
            let _ = self.change(self.ctx, Charge::Heap, |terms| terms.heap_used = false);
        }
    }

    /// After a module of a context was unloaded.
    pub(in super::super) fn give_back_module(&self, ctx: u64, id: u64) {
        self.give_back_image(&[ctx], Source::Module(id));
    }

    /// A library is about to be loaded: that takes nothing on the device yet.
    pub(in super::super) fn note_library(&self, id: u64, image: &[u8]) -> CuResult {
        let footprint = Arc::new(self.bound(image)?);
        lock(&self.shared.charges.loads).images.insert(Source::Library(id), footprint);
        Ok(())
    }

    /// Before something of a library is used in the current context.
    pub(in super::super) fn reserve_library(&self, id: u64) -> CuResult {
        let image = lock(&self.shared.charges.loads).images.get(&Source::Library(id)).cloned();
        image.map_or(Ok(()), |image| self.reserve_image(Source::Library(id), &image).map(|_| ()))
    }

    /// After a library was unloaded, or has not been loaded.
    pub(in super::super) fn give_back_library(&self, id: u64) {
        let all: Vec<u64> = lock(&self.shared.charges.contexts).keys().copied().collect();
        self.give_back_image(&all, Source::Library(id));
    }

    fn reserve_image(&self, source: Source, image: &Footprint) -> CuResult<bool> {
        let bytes = image.data.saturating_add(image.code);
        let mut heap_is_new = false;
        if image.uses_heap {
            self.change(self.ctx, Charge::Heap, |terms| {
                heap_is_new = !std::mem::replace(&mut terms.heap_used, true);
            })?;
        }
        let reserved = self.add_part(self.ctx, Part::Image(source), bytes);
        if reserved.is_err() && heap_is_new {
            self.change(self.ctx, Charge::Heap, |terms| terms.heap_used = false)?;
        }
        reserved.map(|()| heap_is_new)
    }

    fn give_back_image(&self, contexts: &[u64], source: Source) {
        lock(&self.shared.charges.loads).images.remove(&source);
        for ctx in contexts {
            // The context may have ended meanwhile, and all its charges with it.
            let _ = self.remove_parts(*ctx, source);
        }
    }

    /// The code of a kernel of a module or a library.
    pub(in super::super) fn code_of(&self, owner: Owner, name: &[u8]) -> Code {
        let image = lock(&self.shared.charges.loads).images.get(&source(owner)).cloned();
        let bytes = image.map_or(0, |image| image.code_of(name));
        Code { name: name_hash(name), bytes }
    }

    /// Before a kernel is used in the current context: its library's variables and its own code.
    pub(in super::super) fn reserve_code(&self, owner: Owner, code: Code) -> CuResult {
        if let Owner::Library { id, .. } = owner {
            self.reserve_library(id)?;
        }
        if code.bytes == 0 {
            return Ok(());
        }
        self.add_part(self.ctx, Part::Kernel(source(owner), code.name), code.bytes)
    }

    /// Local memory for what needs so much, in the current context.
    #[cold]
    pub(in super::super) fn reserve_need(&self, need: u64) -> CuResult {
        let local = need.saturating_sub(1);
        self.change(self.ctx, Charge::Local, |terms| terms.local = terms.local.max(local))
    }

    /// What a kernel that was admitted needs.
    pub(in super::super) fn need_of(&self, id: u64) -> u64 {
        lock(&self.shared.tables).functions.get(id).map_or(0, |function| match function.need {
            UNKNOWN_NEED => 0,
            need => need,
        })
    }

    /// Before a launch that may take memory: of the kernel's first, of one that needs more local
    /// memory than its context has given any, and of every one while there are several contexts.
    #[cold]
    pub(in super::super) fn admit_kernel(&self, id: u64) -> CuResult {
        let (owner, code) = {
            let tables = lock(&self.shared.tables);
            let function = tables.functions.get(id)?;
            (function.owner, function.code)
        };
        self.reserve_code(owner, code)?;
        let mut local = 0;
        // SAFETY: a live function; the pointer is that of a local.
        unsafe {
            self.driver().cuFuncGetAttribute(&mut local, LOCAL_SIZE_BYTES, self.func(id)?)?;
        }
        let need = need(local.max(0) as u64);
        self.reserve_need(need)?;
        if let Ok(function) = lock(&self.shared.tables).functions.get_mut(id) {
            function.need = need;
        }
        Ok(())
    }
}
