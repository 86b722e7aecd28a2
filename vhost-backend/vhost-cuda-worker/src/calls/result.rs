//! Results in the form in which they are answered.

use crate::driver::CuResult;

/// A result as CUDA's number.
pub(super) fn number(result: CuResult) -> u32 {
    result.err().map_or(0, |error| error.0)
}
