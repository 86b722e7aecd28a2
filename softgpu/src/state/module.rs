//! Modules, libraries, and their kernels.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuda_api::error::{CuError, CuResult};
use cuda_api::fatbin::is_deferred;
use cuda_api::texture_refs::registry;

use super::context::Context;
use super::handles::{Kind, Table};
use super::image::LoadError;
use super::limits;
use super::managed_variables::ManagedVariables;
use super::memory::{self, Memory};
use super::resources::Part;
use super::texture;
use crate::exec::heap::Heap;
use crate::ptx::declaration::Reference;
use crate::ptx::error::PtxError;
use crate::ptx::ir::{Kernel, KernelParam};
use crate::ptx::program::Program;
use crate::ptx::source::{Bases, Source};

pub(crate) static MODULES: Table<Module> = Table::new(Kind::Module);
pub(crate) static FUNCTIONS: Table<Function> = Table::new(Kind::Function);
pub(crate) static LIBRARIES: Table<Library> = Table::new(Kind::Library);
pub(crate) static KERNELS: Table<LibraryKernel> = Table::new(Kind::Kernel);

/// A kernel in a loaded module, which a program uses as a function.
pub(crate) struct Function {
    pub(crate) name: CString,
    index: u32,
    kernel: OnceLock<Option<Arc<Kernel>>>,
    pub(crate) module: usize,
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) attributes: Attributes,
}

/// The attributes of a kernel that a program can set.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// The maximum dynamic shared memory that the program has set, in bytes, or -1.
    pub(crate) max_dynamic_shared: AtomicI32,
    pub(crate) carveout: AtomicI32,
}

impl Default for Attributes {
    fn default() -> Self {
        Self { max_dynamic_shared: AtomicI32::new(-1), carveout: AtomicI32::new(-1) }
    }
}

/// A loaded module's code and memory. Graphs that contain the module's kernels keep it alive.
pub(crate) struct Loaded {
    pub(crate) context: Arc<Context>,
    pub(crate) program: Arc<Program>,
    pub(crate) heap: Arc<Heap>,
    base: u64,
    /// The device memory that the code and the variables use. It's freed when the program unloads
    /// the module, even if graphs still contain the module's kernels.
    memory: Mutex<Option<Part>>,
    /// The managed variables. All modules of a library share them.
    managed: Option<Arc<ManagedVariables>>,
    variables: HashMap<String, Place>,
    /// The addresses of texture references and surface references.
    references: HashMap<String, (u64, Reference)>,
}

/// The address and size of a variable.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) address: u64,
    pub(crate) size: u64,
}

fn no_memory(code: CuError) -> LoadError {
    LoadError::new(code, "not enough memory for the module")
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.references.values().for_each(|(address, _)| texture::unbind(*address));
        if self.base != 0 {
            memory::forget(self.base);
        }
    }
}

/// A module, with the handles of its kernels.
pub(crate) struct Module {
    pub(crate) handle: usize,
    pub(crate) loaded: Arc<Loaded>,
    /// Handle of the library that the module belongs to, or `None`.
    library: Option<usize>,
    functions: Mutex<HashMap<String, usize>>,
}

impl Module {
    /// Loads a module into a context, after checking all its code.
    pub(crate) fn load(
        context: &Arc<Context>,
        source: &Arc<Source>,
    ) -> Result<Arc<Self>, LoadError> {
        let managed = ManagedVariables::new(source).map_err(no_memory)?;
        Self::new(context, source, managed.map(Arc::new), None, Program::check)
    }

    fn new(
        context: &Arc<Context>,
        source: &Arc<Source>,
        managed: Option<Arc<ManagedVariables>>,
        library: Option<usize>,
        check: impl FnOnce(&Program) -> Result<(), PtxError>,
    ) -> Result<Arc<Self>, LoadError> {
        let bytes = source.text_len().saturating_add(source.size as u64);
        let memory = context.resources().and_then(|resources| resources.add_module(bytes));
        let memory = memory.map_err(no_memory)?;
        let base = match source.size {
            0 => 0,
            size => {
                memory::allocate_as(context, size as u64, Memory::Internal).map_err(no_memory)?
            }
        };
        let bases = Bases { device: base, managed: managed.as_ref().map_or(0, |m| m.base()) };
        let program = Arc::new(Program::new(source.clone(), bases));
        let (mut variables, mut references) = (HashMap::new(), HashMap::new());
        for (name, address, variable) in source.named_variables(bases) {
            let (name, size) = (name.to_owned(), variable.size as u64);
            let place = Place { address, size };
            match variable.reference {
                Some(kind) => drop(references.insert(name, (address, kind))),
                None => drop(variables.insert(name, place)),
            }
        }
        let (context, heap) = (context.clone(), Arc::default());
        // From here on, dropping `loaded` frees the memory if loading fails.
        let mut loaded = Loaded {
            context,
            program,
            heap,
            base,
            memory: Mutex::new(Some(memory)),
            managed,
            variables,
            references,
        };
        check(&loaded.program)?;
        for (variable, at) in source.variables(bases).filter(|(v, _)| !v.managed) {
            let initial = &variable.initial;
            // SAFETY: the variables are within the memory that was just allocated for them.
            unsafe {
                std::ptr::copy_nonoverlapping(initial.as_ptr(), at as *mut u8, initial.len());
            }
        }
        for word in source.words(bases).filter(|word| !word.managed) {
            // SAFETY: the word is within the memory that was just allocated for the variables.
            unsafe { word.store() };
        }
        if let Some(managed) = &loaded.managed {
            managed.link(source, bases);
        }
        if source.allocates() {
            loaded.heap = limits::heap(&loaded.context).map_err(no_memory)?;
        }
        let (_, module) = MODULES.insert_with(|handle| Module {
            handle,
            loaded: Arc::new(loaded),
            library,
            functions: Mutex::new(HashMap::new()),
        });
        Ok(module)
    }

    /// Returns the handle of the kernel with this name.
    pub(crate) fn function(&self, name: &str) -> Option<usize> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = functions.get(name) {
            return Some(*handle);
        }
        let index = self.loaded.program.source.kernel(name)?;
        let handle = FUNCTIONS.insert(Function {
            name: CString::new(name).ok()?,
            index,
            kernel: OnceLock::new(),
            module: self.handle,
            loaded: self.loaded.clone(),
            attributes: Attributes::default(),
        });
        functions.insert(name.to_owned(), handle);
        Some(handle)
    }

    /// Returns the address and size of the variable with this name.
    pub(crate) fn variable(&self, name: &str) -> Option<Place> {
        self.loaded.variables.get(name).copied()
    }

    /// Returns the address of a texture reference or a surface reference.
    pub(crate) fn reference(&self, name: &str, kind: Reference) -> Option<u64> {
        let found = self.loaded.references.get(name).filter(|(_, found)| *found == kind);
        found.map(|(address, _)| *address)
    }
}

/// Unloads a module and drops its functions.
pub(crate) fn unload(handle: usize) -> Option<()> {
    let module = MODULES.remove(handle)?;
    module.loaded.memory.lock().unwrap_or_else(PoisonError::into_inner).take();
    registry::forget_module(module.handle);
    FUNCTIONS.remove_where(|f| f.module == module.handle);
    Some(())
}

/// A library. When a context first uses it, its module is loaded into that context.
pub(crate) struct Library {
    pub(crate) handle: usize,
    /// The library's code. If the image is damaged, this is the error that calls return when they
    /// look something up in the library.
    source: CuResult<Arc<Source>>,
    modules: Mutex<HashMap<u64, usize>>,
    managed: Option<Arc<ManagedVariables>>,
    pub(crate) kernels: Mutex<Vec<(String, usize)>>,
    names: Vec<String>,
}

/// A kernel of a library, which doesn't belong to a context.
pub(crate) struct LibraryKernel {
    pub(crate) name: String,
    pub(crate) library: usize,
}

impl Library {
    /// Loads a library from a parsed image, and returns its handle. As in NVIDIA's driver, a
    /// damaged image doesn't always prevent this. In that case, also returns the image's error.
    /// `is_elf` says whether the image is an ELF file.
    pub(crate) fn load(
        parsed: Result<Source, LoadError>,
        is_elf: bool,
    ) -> Result<(usize, Result<(), LoadError>), LoadError> {
        let (mut names, mut managed) = (Vec::new(), None);
        let loaded = parsed.map(Arc::new).and_then(|source| {
            // Lower the code with placeholder addresses, so that its errors are found when the
            // library is loaded.
            Program::new(source.clone(), Bases::default()).check()?;
            managed = ManagedVariables::new(&source).map_err(no_memory)?.map(Arc::new);
            names.extend(source.kernels().map(|(name, _)| name.to_owned()));
            Ok(source)
        });
        let (source, error) = match loaded {
            Ok(source) => (Ok(source), Ok(())),
            Err(error) if is_deferred(error.code, is_elf) => (Err(error.code), Err(error)),
            Err(error) => return Err(error),
        };
        let (handle, _) = LIBRARIES.insert_with(|handle| Library {
            handle,
            source,
            modules: Mutex::new(HashMap::new()),
            managed,
            kernels: Mutex::new(Vec::new()),
            names,
        });
        Ok((handle, error))
    }

    /// Returns the library's module in a context. The first call for a context loads the module.
    pub(crate) fn module(&self, context: &Arc<Context>) -> CuResult<Arc<Module>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&context.id).and_then(|handle| MODULES.find(*handle)) {
            return Ok(module);
        }
        let (source, managed) = (self.source()?, self.managed.clone());
        let module = Module::new(context, source, managed, Some(self.handle), |_| Ok(()));
        let module = module.map_err(|e| e.code)?;
        modules.insert(context.id, module.handle);
        Ok(module)
    }

    /// Returns the handle of the library's module in a context, or `None` if the context hasn't
    /// loaded it.
    fn loaded_in(&self, context: u64) -> Option<usize> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner).get(&context).copied()
    }

    /// Returns the library's code. Fails if the image is damaged or contains no code for the
    /// device.
    fn source(&self) -> CuResult<&Arc<Source>> {
        self.source.as_ref().map_err(|error| *error)
    }

    /// Returns the address and size of a managed variable.
    pub(crate) fn managed(&self, name: &str) -> Option<Place> {
        let bases = Bases { device: 0, managed: self.managed.as_ref()?.base() };
        let mut variables = self.source().ok()?.named_variables(bases);
        let (_, address, variable) = variables.find(|(n, _, v)| *n == name && v.managed)?;
        Some(Place { address, size: variable.size as u64 })
    }

    /// Returns the handle of the kernel with this name.
    pub(crate) fn kernel(&self, name: &str) -> CuResult<usize> {
        self.source()?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, handle)) = kernels.iter().find(|(n, _)| n == name) {
            return Ok(*handle);
        }
        self.names.iter().find(|n| *n == name).ok_or(CuError::NOT_FOUND)?;
        let handle = KERNELS.insert(LibraryKernel { name: name.to_owned(), library: self.handle });
        kernels.push((name.to_owned(), handle));
        Ok(handle)
    }

    /// Returns the handle of the kernel with this name, if the program has looked it up.
    fn known_kernel(&self, name: &str) -> Option<usize> {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.iter().find(|(n, _)| n == name).map(|(_, handle)| *handle)
    }

    pub(crate) fn kernel_names(&self) -> &[String] {
        &self.names
    }
}

/// Unloads a library from all contexts.
pub(crate) fn unload_library(handle: usize) -> Option<()> {
    let library = LIBRARIES.remove(handle)?;
    let modules = library.modules.lock().unwrap_or_else(PoisonError::into_inner);
    for module in modules.values() {
        // Wait for the context's work, because the module's kernels may still be running.
        if let Some(module) = MODULES.find(*module) {
            module.loaded.context.synchronize();
            unload(module.handle);
        }
    }
    KERNELS.remove_where(|k| k.library == handle);
    Some(())
}

/// Unloads the modules of a context that is being destroyed.
pub(crate) fn forget_context(context: u64) {
    let error = CuError::INVALID_HANDLE;
    let libraries: Vec<usize> =
        LIBRARIES.all().iter().filter_map(|l| l.loaded_in(context)).collect();
    let (mut ended, of_context) = (Vec::new(), |m: &Module| m.loaded.context.id == context);
    ended.extend(MODULES.end_where(error, |m| of_context(m) && libraries.contains(&m.handle)));
    ended.extend(MODULES.end_of_context(error, of_context));
    for module in ended {
        registry::forget_module(module.handle);
        FUNCTIONS.end_where(error, |f| f.module == module.handle);
    }
}

/// Returns the function for a handle, which is that of a function or of a library's kernel. For a
/// library's kernel, `context` determines the context in which to look up the function.
pub(crate) fn function_of(
    handle: usize,
    context: impl FnOnce() -> CuResult<Arc<Context>>,
) -> CuResult<Arc<Function>> {
    if let Some(function) = FUNCTIONS.get(handle) {
        return Ok(function);
    }
    let Some(kernel) = KERNELS.get(handle) else {
        return Err(CuError::INVALID_HANDLE);
    };
    let library = LIBRARIES.find(kernel.library).ok_or(CuError::INVALID_HANDLE)?;
    let module = library.module(&context()?)?;
    let function = module.function(&kernel.name).ok_or(CuError::NOT_FOUND)?;
    FUNCTIONS.get(function).ok_or(CuError::INVALID_HANDLE)
}

impl Function {
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.loaded.context
    }

    /// Returns the kernel's properties. The first call for a kernel lowers its code. Fails if
    /// softgpu doesn't support the kernel.
    pub(crate) fn kernel(&self) -> CuResult<&Arc<Kernel>> {
        let lowered = || self.loaded.program.kernel(self.index).map(Arc::new);
        self.kernel.get_or_init(lowered).as_ref().ok_or(CuError::UNSUPPORTED_PTX_VERSION)
    }

    /// If the function belongs to a kernel of a library, returns the kernel's handle. Otherwise, or
    /// if the program hasn't looked up the kernel, returns 0.
    pub(crate) fn library_kernel(&self) -> usize {
        let library = MODULES.find(self.module).and_then(|module| module.library);
        let library = library.and_then(|library| LIBRARIES.find(library));
        library.and_then(|library| library.known_kernel(self.name.to_str().ok()?)).unwrap_or(0)
    }

    /// Returns the layout of the kernel's parameters.
    pub(crate) fn params(&self) -> Vec<KernelParam> {
        self.loaded.program.source.function(self.index).map_or(vec![], |(f, _)| f.layout())
    }

    /// Returns the value of CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
    pub(crate) fn dynamic_limit(&self) -> CuResult<u32> {
        let set = self.attributes.max_dynamic_shared.load(Ordering::Relaxed);
        u32::try_from(set).or_else(|_| self.default_dynamic_limit())
    }

    /// Returns how much dynamic shared memory per block a launch may use without changing the
    /// function's attributes, in bytes.
    pub(crate) fn default_dynamic_limit(&self) -> CuResult<u32> {
        Ok((48u32 << 10).saturating_sub(self.kernel()?.shared))
    }
}
