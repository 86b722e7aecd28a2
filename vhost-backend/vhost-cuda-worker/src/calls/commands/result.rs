//! A function that encodes the results of calls for replies.

use crate::driver::{CuError, CuResult};
use crate::ledger::NotReserved;
use crate::reply::UNDECIDED;

impl From<NotReserved> for CuError {
    fn from(error: NotReserved) -> Self {
        match error {
            NotReserved::OutOfMemory { .. } => Self::OUT_OF_MEMORY,
            NotReserved::Undecided => Self(UNDECIDED),
        }
    }
}

/// Converts the result of a call to its CUresult number.
pub(in crate::calls) fn number(result: CuResult) -> u32 {
    result.err().map_or(0, |error| error.0)
}
