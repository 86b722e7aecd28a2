//! A context's sticky error: it's set when asynchronous work fails, and remains.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::exec::memory::Fault;
use cuda_api::error::{CuError, CuResult};

/// The first error in a context's asynchronous work. Every later call in the context returns this
/// error.
#[derive(Default)]
pub(crate) struct Errors(AtomicI32);

impl Errors {
    /// Records an error unless one has already been recorded.
    pub(crate) fn fail(&self, error: CuError) {
        let _ = self.0.compare_exchange(0, error.0 as i32, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Records the CUDA error that corresponds to a kernel's fault.
    pub(crate) fn fault(&self, fault: Fault) {
        self.fail(match fault {
            Fault::IllegalAddress => CuError::ILLEGAL_ADDRESS,
            Fault::Misaligned => CuError::MISALIGNED_ADDRESS,
            Fault::IllegalInstruction => CuError::ILLEGAL_INSTRUCTION,
            Fault::Assert => CuError::ASSERT,
            Fault::LaunchFailed | Fault::Cancelled => CuError::LAUNCH_FAILED,
        });
    }

    /// Returns whether an error has been recorded.
    pub(crate) fn failed(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    /// Fails with the first error, if one has been recorded.
    pub(crate) fn healthy(&self) -> CuResult {
        match self.0.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err([
                CuError::ILLEGAL_ADDRESS,
                CuError::MISALIGNED_ADDRESS,
                CuError::ILLEGAL_INSTRUCTION,
                CuError::ASSERT,
                CuError::LAUNCH_FAILED,
                CuError::OUT_OF_MEMORY,
                CuError::OPERATING_SYSTEM,
            ]
            .into_iter()
            .find(|e| e.0 as i32 == code)
            .unwrap_or(CuError::UNKNOWN)),
        }
    }

    /// Clears the error.
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }
}
