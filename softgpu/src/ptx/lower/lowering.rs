//! The state of lowering a PTX module to code for the interpreter.

use std::collections::HashMap;

use crate::ptx::ir::{Builtin, Program};
use crate::ptx::source::{PtxError, Source, line_of};

/// Maximum static shared memory per module, in bytes.
pub(super) const MAX_SHARED: u32 = 1 << 20;

/// A module that is being lowered.
pub(crate) struct Lower<'s> {
    pub(super) source: &'s Source,
    /// Addresses of variables and functions.
    pub(super) addresses: HashMap<String, u64>,
    pub(super) functions: HashMap<String, u32>,
    pub(super) builtins: HashMap<String, Builtin>,
    /// Offsets of the module-level shared variables that non-kernel functions use. Each variable
    /// has the same offset in all kernels.
    pub(super) common_shared: HashMap<String, u32>,
    pub(super) common_end: u32,
    pub(super) program: Program,
}

impl Lower<'_> {
    /// Returns an error for PTX that softgpu doesn't support.
    pub(super) fn unsupported(&self, at: usize, what: impl Into<String>) -> PtxError {
        PtxError::Unsupported { line: line_of(&self.source.text, at), what: what.into() }
    }
}
