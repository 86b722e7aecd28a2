//! Errors that outlive the call whose reply reported them.

use crate::error::{CuError, CuResult};
use std::sync::atomic::{AtomicU32, Ordering};

/// The errors that a session remembers.
#[derive(Default)]
pub struct Errors {
    /// The first error of a posted call that hasn't been reported to the program yet, or 0.
    posted: AtomicU32,
    /// The latest error from which a context can't recover, or 0. Most later calls return it.
    sticky: AtomicU32,
}

/// Returns whether this error makes a context unusable.
fn is_sticky(code: u32) -> bool {
    matches!(
        CuError(code),
        CuError::ECC_UNCORRECTABLE
            | CuError::NVLINK_UNCORRECTABLE
            | CuError::ILLEGAL_ADDRESS
            | CuError::LAUNCH_TIMEOUT
            | CuError::ASSERT
            | CuError::HARDWARE_STACK_ERROR
            | CuError::ILLEGAL_INSTRUCTION
            | CuError::MISALIGNED_ADDRESS
            | CuError::INVALID_ADDRESS_SPACE
            | CuError::INVALID_PC
            | CuError::LAUNCH_FAILED
    )
}

impl Errors {
    /// Records the result of a call, and the error of earlier posted calls in the same reply (0 if
    /// there is none).
    pub fn note(&self, result: u32, posted: u32) {
        if posted != 0 {
            let _ = self.posted.compare_exchange(0, posted, Ordering::Relaxed, Ordering::Relaxed);
        }
        for code in [result, posted] {
            if is_sticky(code) {
                self.sticky.store(code, Ordering::Relaxed);
            }
        }
    }

    /// Returns the first error of posted calls that hasn't been reported yet, and marks it as
    /// reported.
    pub fn take_posted(&self) -> CuResult {
        if self.posted.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        match self.posted.swap(0, Ordering::Relaxed) {
            0 => Ok(()),
            code => Err(CuError(code)),
        }
    }

    /// Fails if an error has made a context unusable.
    pub fn check_sticky(&self) -> CuResult {
        match self.sticky.load(Ordering::Relaxed) {
            0 => Ok(()),
            code => Err(CuError(code)),
        }
    }

    /// Forgets all errors. Call this when the failed context has been destroyed.
    pub fn clear(&self) {
        self.sticky.store(0, Ordering::Relaxed);
        self.posted.store(0, Ordering::Relaxed);
    }
}
