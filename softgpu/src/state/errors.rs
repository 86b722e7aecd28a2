//! The error that a context keeps after asynchronous work failed.

use std::sync::atomic::{AtomicI32, Ordering};

use cuda_api::sys::CUresult;

use crate::exec::memory::Fault;

/// The first error of a context's asynchronous work. Every later call returns it.
#[derive(Default)]
pub(crate) struct Errors(AtomicI32);

impl Errors {
    /// Records an error unless there is one already.
    pub(crate) fn fail(&self, error: CUresult) {
        let _ = self.0.compare_exchange(0, error.0 as i32, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Records the error that a kernel ended with.
    pub(crate) fn fault(&self, fault: Fault) {
        self.fail(match fault {
            Fault::IllegalAddress => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            Fault::Misaligned => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
            Fault::IllegalInstruction => CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            Fault::Assert => CUresult::CUDA_ERROR_ASSERT,
            Fault::LaunchFailed | Fault::Cancelled => CUresult::CUDA_ERROR_LAUNCH_FAILED,
        });
    }

    /// Whether there was an error.
    pub(crate) fn failed(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    /// The first error, if there was one.
    pub(crate) fn healthy(&self) -> Result<(), CUresult> {
        match self.0.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err([
                CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
                CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
                CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
                CUresult::CUDA_ERROR_ASSERT,
                CUresult::CUDA_ERROR_LAUNCH_FAILED,
                CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            ]
            .into_iter()
            .find(|e| e.0 as i32 == code)
            .unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)),
        }
    }

    /// Forgets the error.
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }
}
