//! The encoding of results in replies.

use crate::driver::CuResult;

/// Converts a result to the value of `CUresult`.
pub(super) fn number(result: CuResult) -> u32 {
    result.err().map_or(0, |error| error.0)
}
