//! The context in which a function is lowered to code for the interpreter.

use crate::ptx::error::{PtxError, unsupported};
use crate::ptx::ir::Inst;
use crate::ptx::source::{Bases, Source};

/// The context in which a function is lowered: its PTX text, and the addresses of the module's
/// variables.
pub(crate) struct Lower<'s> {
    pub(super) source: &'s Source,
    /// Index of the PTX text that contains the function.
    pub(super) unit: u32,
    /// The PTX text that contains the function.
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
