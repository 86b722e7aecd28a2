//! Invalidates the handles of objects that are destroyed together with their context.
//!
//! A call with such a handle then fails at once. If the call were posted instead, the worker could
//! only report its failure at a later call, which may be a correct one.

use crate::driver::Driver;
use crate::entry::arrays::texture;
use crate::entry::code::module;
use crate::entry::streams::host_func;
use crate::error::CuError;
use crate::graph::GRAPHS;
use crate::handles::Object;
use crate::objects::{Context, Function};
use cuda_api::texture_refs::registry;
use std::sync::Arc;

/// Removes everything that belongs to a destroyed context from this library's records. As with
/// NVIDIA's driver, calls with modules of the context return another error than calls with other
/// objects.
pub fn forget_objects(driver: &Driver, context: &Context) {
    let context = context.id();
    GRAPHS.forget_context(context.0);
    let mut libraries = Vec::new();
    let gone = driver.handles.end_where(|object| {
        if let Object::Library(library) = object {
            libraries.push(library.clone());
        }
        let error = match object {
            Object::Module(_) => CuError::INVALID_HANDLE,
            _ => CuError::CONTEXT_IS_DESTROYED,
        };
        (object.context() == Some(context)).then_some(error)
    });
    for (handle, object) in gone {
        match object {
            Object::Event(event) => GRAPHS.forget_event(event.id.0),
            Object::Module(module) => {
                registry::forget_module(handle);
                module::forget(driver, &module.functions, &module.globals);
            }
            Object::GraphExec(exec) => {
                host_func::let_go(&exec.lock().bound);
                exec.end();
            }
            _ => {}
        }
    }
    for library in libraries {
        library.modules.lock().remove(&context);
        for (_, function) in library.functions.lock().extract_if(|(of, _), _| *of == context) {
            let _ = driver.handles.remove::<Arc<Function>>(function);
        }
        library.globals.lock().retain(|(of, _), _| *of != context);
    }
    texture::forget_context(context);
}
