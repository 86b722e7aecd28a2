//! Functions of the program that are called with one argument.

use crate::sys::CUDA_HOST_NODE_PARAMS;
use std::ffi::c_void;

/// A host function with its argument.
#[derive(Clone, Copy)]
pub struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the program passed the pointer for use on another thread, and this code doesn't
// dereference it.
unsafe impl Send for HostCall {}
// SAFETY: the program passed the pointer for use on another thread, and this code doesn't
// dereference it.
unsafe impl Sync for HostCall {}

impl HostCall {
    /// Creates a call from a function and its argument.
    ///
    /// # Safety
    ///
    /// It must be safe to call the function with this argument from any thread.
    pub unsafe fn new(function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) -> Self {
        Self { function, data }
    }

    /// Returns the node parameters that describe the call.
    pub fn params(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(self.function), userData: self.data }
    }

    /// Calls the function.
    pub fn run(&self) {
        // SAFETY: the function may be called with this argument, as promised to `new`.
        unsafe { (self.function)(self.data) };
    }
}
