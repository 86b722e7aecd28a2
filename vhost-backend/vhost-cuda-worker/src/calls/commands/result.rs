//! A function that encodes the results of calls for replies.

use crate::driver::CuResult;

/// Converts the result of a call to its CUresult number.
pub(in crate::calls) fn number(result: CuResult) -> u32 {
    result.err().map_or(0, |error| error.0)
}
