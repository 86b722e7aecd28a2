//! A module's code, whose functions are lowered when they are first used.

use std::sync::{Arc, OnceLock};

use super::error::PtxError;
use super::ir::{Function, Kernel};
use super::lower::lower;
use super::source::{Bases, Source};
use crate::log;

/// Maximum number of instructions per module whose code [`Program::check`] keeps.
const KEPT: usize = 1 << 17;

/// A module's code, whose functions are lowered when they are first used.
#[derive(Debug)]
pub struct Program {
    /// The linked texts of the module.
    pub source: Arc<Source>,
    /// Addresses of the module's variables.
    bases: Bases,
    functions: Vec<OnceLock<Option<Box<Function>>>>,
}

impl Program {
    /// Creates the code of a module whose variables are at the addresses that `bases` determines.
    pub fn new(source: Arc<Source>, bases: Bases) -> Self {
        let functions = (0..source.function_count()).map(|_| OnceLock::new()).collect();
        Self { source, bases, functions }
    }

    /// Lowers all functions to find errors in them. Keeps the code of only the first functions, up
    /// to [`KEPT`] instructions, so that memory use doesn't grow with the module's size.
    ///
    /// A library often contains kernels for features that a program doesn't use. Therefore, a
    /// function that softgpu doesn't support is an error only if the module has no kernel that it
    /// does support. Otherwise, the log names the function, and launches that use it fail.
    pub fn check(&self) -> Result<(), PtxError> {
        let (mut kept, mut kernels, mut unsupported) = (0, 0, None);
        for (index, place) in self.functions.iter().enumerate() {
            let function = match lower(&self.source, self.bases, index as u32) {
                Ok(function) => function,
                Err(error @ PtxError::Unsupported { .. }) => {
                    log::line(&error.to_string());
                    unsupported = unsupported.or(Some(error));
                    continue;
                }
                Err(error) => return Err(error),
            };
            kernels +=
                usize::from(self.source.function(index as u32).is_some_and(|(f, _)| f.entry));
            kept += function.code.len();
            if kept <= KEPT {
                let _ = place.set(Some(Box::new(function)));
            }
        }
        unsupported.filter(|_| kernels == 0).map_or(Ok(()), Err)
    }

    /// Returns a function's code. The first call for a function lowers it.
    pub fn function(&self, index: u32) -> Option<&Function> {
        let lowered = || lower(&self.source, self.bases, index).ok().map(Box::new);
        self.functions.get(index as usize)?.get_or_init(lowered).as_deref()
    }

    /// Returns the properties of the kernel with this function index. The first call for a kernel
    /// lowers it.
    pub fn kernel(&self, index: u32) -> Option<Kernel> {
        let function = self.function(index)?;
        let (declared, _) = self.source.function(index)?;
        Some(Kernel {
            function: index,
            params: declared.layout(),
            shared: function.shared,
            max_threads: declared.max_threads,
            required: declared.required,
            registers: function.slots.clamp(1, 255),
            local: function.local,
        })
    }
}
