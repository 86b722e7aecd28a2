//! The driver API's errors.

use crate::sys::CUresult;

/// A `CUresult` other than CUDA_SUCCESS. It is a number, since a driver may return an error that is
/// newer than the headers that this crate is generated from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CuError(pub u32);

/// The result of a driver API call.
pub type CuResult<T = ()> = Result<T, CuError>;

impl CuError {
    /// Converts the result of a call to a `Result`.
    pub fn check(result: CUresult) -> CuResult {
        if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(result.into()) }
    }

    /// Returns the error's name in cuda.h.
    pub fn name(self) -> Option<&'static str> {
        crate::error_text::name(self.0)?.to_str().ok()
    }
}

/// Converts an entry point's result to the `CUresult` that it returns to the program.
pub fn code(result: CuResult) -> CUresult {
    result.map_or_else(CUresult::from, |()| CUresult::CUDA_SUCCESS)
}

impl From<CUresult> for CuError {
    fn from(result: CUresult) -> Self {
        Self(result.0)
    }
}

impl From<CuError> for CUresult {
    fn from(error: CuError) -> Self {
        Self(error.0)
    }
}

impl std::fmt::Display for CuError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "CUresult {}", self.0),
        }
    }
}

impl std::fmt::Debug for CuError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CuError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_not_an_error_and_unknown_errors_keep_their_number() {
        assert_eq!(CuError::check(CUresult(0)), Ok(()));
        assert_eq!(CuError::check(CUresult(801)), Err(CuError::NOT_SUPPORTED));
        assert_eq!(code(Err(CuError(12345))), CUresult(12345));
        assert_eq!(CuError(12345).to_string(), "CUresult 12345");
        assert_eq!(CuError::OUT_OF_MEMORY.to_string(), "CUDA_ERROR_OUT_OF_MEMORY");
    }
}
