//! The guest's record of contexts, streams, events, modules and kernels. Queries about properties
//! that can't change are answered from it.

use crate::error::{CuError, CuResult};
use crate::log::say;
use parking_lot::Mutex;
use protocol::limits::PARAMETER_BYTES_MAX;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// A context. Threads refer to contexts for as long as they live and there are few, so a context's
/// memory is never freed. A destroyed context is no longer alive.
pub struct Context {
    /// Its id in the session. A primary context gets a new one whenever it becomes active.
    id: AtomicU64,
    /// The result of `cuCtxGetId`, unique in the process. The runtime's tables use it too.
    pub unique: u64,
    /// Ordinal of its device in the program.
    pub device: i32,
    /// Whether it is its device's primary context.
    pub primary: bool,
    flags: AtomicU32,
    handle: AtomicUsize,
    alive: AtomicBool,
}

impl Context {
    /// Creates a context that has no handle yet.
    pub fn new(id: u64, device: i32, primary: bool, flags: u32) -> &'static Self {
        Box::leak(Box::new(Self {
            id: AtomicU64::new(id),
            unique: id,
            device,
            primary,
            flags: AtomicU32::new(flags),
            handle: AtomicUsize::new(0),
            alive: AtomicBool::new(true),
        }))
    }

    /// The context's id in the session.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    /// The context's handle in the program.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    /// Gives the context its handle.
    pub fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// The flags of `cuCtxCreate` or `cuCtxSetFlags`.
    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Changes the flags.
    pub fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// Whether the context exists in the worker.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// Marks the context as destroyed.
    pub fn end(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    /// Marks a primary context as active again, under a new id.
    pub fn revive(&self, id: u64) {
        self.id.store(id, Ordering::Relaxed);
        self.alive.store(true, Ordering::Relaxed);
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A stream that the program created.
pub struct Stream {
    pub id: u64,
    pub flags: u32,
    pub priority: i32,
    pub context: &'static Context,
}

/// An event that the program created.
pub struct Event {
    pub id: u64,
    pub flags: u32,
}

/// Function handles by name, so that looking up a name twice gives the same handle.
pub type ByName = Mutex<HashMap<Vec<u8>, usize>>;

/// A module.
pub struct Module {
    pub id: u64,
    pub functions: ByName,
    /// Handle of the library that it belongs to; the program can't unload such a module.
    pub library: Option<usize>,
    /// Addresses of the globals that the program asked for, to forget them with the module.
    pub globals: Mutex<Vec<u64>>,
}

/// A library.
pub struct Library {
    pub id: u64,
    pub kernels: ByName,
    /// Handles of its modules, by context id.
    pub modules: Mutex<HashMap<u64, usize>>,
    /// Addresses of the globals that the program asked for, to forget them with the library.
    pub globals: Mutex<Vec<u64>>,
}

/// The object that a function belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Handle of its module.
    Module(usize),
    /// Handle of its library; the function is a kernel.
    Library(usize),
}

/// The place of one kernel parameter in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub offset: usize,
    pub size: usize,
}

/// A function of a module, or a kernel of a library.
pub struct Function {
    pub id: u64,
    pub name: CString,
    pub origin: Origin,
    pub parameters: Vec<Parameter>,
    /// Size of the parameter buffer in bytes.
    pub parameter_bytes: usize,
    /// Cached attributes; setting an attribute clears them.
    pub attributes: Mutex<HashMap<u32, i32>>,
    /// CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, queried at the first launch.
    pub max_threads: OnceLock<u32>,
    /// Cached occupancy by block size, shared memory and flags.
    pub occupancy: Mutex<HashMap<(i32, usize, u32), i32>>,
}

impl Function {
    /// A function from the worker's description of its parameters.
    pub fn new(id: u64, name: &str, origin: Origin, layout: &[u8]) -> CuResult<Self> {
        let (parameters, parameter_bytes) = Self::parse_layout(layout).ok_or_else(|| {
            say!(Error, "the worker sent an invalid parameter layout for kernel {name}");
            CuError::UNKNOWN
        })?;
        Ok(Self {
            id,
            name: CString::new(name).map_err(|_| CuError::INVALID_VALUE)?,
            origin,
            parameters,
            parameter_bytes,
            attributes: Default::default(),
            max_threads: OnceLock::new(),
            occupancy: Default::default(),
        })
    }

    /// Parses the worker's layout of a kernel's parameters: pairs of offset and size.
    fn parse_layout(bytes: &[u8]) -> Option<(Vec<Parameter>, usize)> {
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || words.len() % 2 != 0 {
            return None;
        }
        let mut end = 0;
        let mut parameters = Vec::with_capacity(words.len() / 2);
        for pair in words.as_chunks::<2>().0 {
            let offset = usize::try_from(u64::from_le_bytes(pair[0])).ok()?;
            let size = usize::try_from(u64::from_le_bytes(pair[1])).ok()?;
            let parameter_end = offset.checked_add(size)?;
            if parameter_end > PARAMETER_BYTES_MAX {
                return None;
            }
            end = end.max(parameter_end);
            parameters.push(Parameter { offset, size });
        }
        Some((parameters, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_parameter_layouts_are_refused() {
        let layout = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        let (parameters, end) = Function::parse_layout(&layout(&[0, 8, 8, 4, 16, 24])).unwrap();
        assert_eq!(parameters[2], Parameter { offset: 16, size: 24 });
        assert_eq!(end, 40);
        assert_eq!(Function::parse_layout(&[]), Some((vec![], 0)));
        for bad in [&[0u64][..], &[u64::MAX, 8], &[1 << 20, 8]] {
            assert_eq!(Function::parse_layout(&layout(bad)), None);
        }
        assert_eq!(Function::parse_layout(&[0; 12]), None);
    }
}
