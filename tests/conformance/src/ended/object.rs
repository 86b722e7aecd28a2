//! An object whose owner ends, and its kind.

use crate::cuda::{Called, Cuda, Outcome, cu};
use cuda_api::sys::CUpointer_attribute;
use std::any::Any;
use std::ffi::c_void;

/// A function that makes one call on an object, or that ends the object or its owner.
pub type Call = Box<dyn Fn(&Cuda) -> Called>;

/// An object with the calls to make on it. `ends` are the ways to end it that are specific to its
/// kind.
pub struct Object {
    pub calls: Vec<(&'static str, Call)>,
    pub ends: Vec<(&'static str, Call)>,
    /// Values that must live as long as the object, such as memory of the program or a process that
    /// owns the object.
    _parts: Option<Box<dyn Any>>,
}

impl Object {
    pub fn new(calls: Vec<(&'static str, Call)>, ends: Vec<(&'static str, Call)>) -> Self {
        Self { calls, ends, _parts: None }
    }

    pub fn keeping(self, parts: impl Any) -> Self {
        Self { _parts: Some(Box::new(parts)), ..self }
    }
}

/// Creates a list of calls with their names: `calls! { "unload" => |cuda| cu!(cuda,
/// cuModuleUnload(module)) }`.
macro_rules! calls {
    ($($name:literal => |$cuda:ident| $body:expr),* $(,)?) => {
        vec![$((
            $name,
            Box::new(move |$cuda: &$crate::cuda::Cuda| $body) as $crate::ended::object::Call,
        )),*]
    };
}
pub(super) use calls;

/// Returns the calls to make with device memory. `which` is the pointer attribute to query.
pub fn of_memory(pointer: u64, which: CUpointer_attribute) -> Vec<(&'static str, Call)> {
    calls! {
        "fill" => |cuda| cu!(cuda, cuMemsetD32_v2(pointer, 1, 1)),
        "copy" => |cuda| cu!(cuda, cuMemcpyDtoH_v2(output(&mut [0u8; 4]), pointer, 4)),
        "range" => |cuda| cu!(cuda, cuMemGetAddressRange_v2(&mut 0, &mut 0, pointer)),
        "attribute" => |cuda| cu!(cuda, cuPointerGetAttribute(output(&mut 0u64), which, pointer)),
    }
}

/// A kind of object.
pub struct Kind {
    pub name: &'static str,
    /// The function that creates an object of this kind in the current context.
    pub create: fn(&Cuda) -> Outcome<Object>,
}

/// Returns the address of a variable for a call's result.
pub fn output<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}
