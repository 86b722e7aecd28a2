//! Contexts as the guest knows them.

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::thread;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// A context. There are few, and threads refer to them for as long as they live, so a context's
/// memory is never given back: one that is gone has `alive` false.
pub struct Context {
    /// In the session; a primary context gets a new one each time it comes to life.
    id: AtomicU64,
    /// `cuCtxGetId`, and what the runtime's tables call it: unique in the process.
    pub unique: u64,
    /// Number of its device, as the program counts.
    pub device: i32,
    /// A device's primary context.
    pub primary: bool,
    flags: AtomicU32,
    handle: AtomicUsize,
    alive: AtomicBool,
}

impl Context {
    /// A new context; its handle comes later.
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

    /// The session's name for it.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    /// The program's name for it.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    pub fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    pub fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    pub fn end(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    /// A primary context comes to life again.
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

/// The current context, which most calls need.
#[inline]
pub fn current() -> CuResult<&'static Context> {
    match thread::current() {
        Some(context) if context.is_alive() => Ok(context),
        Some(_) => Err(CuError::CONTEXT_IS_DESTROYED),
        None => Err(CuError::INVALID_CONTEXT),
    }
}

/// The library and the current context.
#[inline]
pub fn driver() -> CuResult<&'static Driver> {
    let driver = crate::driver::driver()?;
    current()?;
    Ok(driver)
}
