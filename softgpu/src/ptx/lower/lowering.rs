//! The state of lowering a function to code for the interpreter.

use crate::ptx::error::{PtxError, unsupported};
use crate::ptx::ir::Inst;
use crate::ptx::source::{Bases, Source};

/// A function that is being lowered.
pub(crate) struct Lower<'s> {
    pub(super) source: &'s Source,
    /// Index of the text that contains the function.
    pub(super) unit: u32,
    /// That text.
    pub(super) text: &'s str,
    /// Addresses of the module's variables.
    pub(super) bases: Bases,
    pub(super) code: Vec<Inst>,
}

impl Lower<'_> {
    /// Returns an error for PTX that softgpu doesn't support.
    pub(super) fn unsupported(&self, at: usize, what: impl Into<String>) -> PtxError {
        unsupported(self.text, at, what)
    }
}
