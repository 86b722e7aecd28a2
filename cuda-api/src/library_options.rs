//! The options of a library that a program loads. Neither guest-libcuda nor softgpu needs them:
//! both copy the library's code.

use crate::args::In;
use crate::error::{CuError, CuResult};
use crate::sys::CUlibraryOption;

/// Checks the options. The code of a file can't be preserved, because the driver reads the file
/// itself.
///
/// # Safety
///
/// If not null, the array must have `count` elements.
pub unsafe fn check(options: In<CUlibraryOption>, count: u32, of_file: bool) -> CuResult {
    // SAFETY: the array has `count` elements, as the caller promises.
    let options = unsafe { options.array(count as usize) };
    (0..count as usize).try_for_each(|index| match options.get(index)? {
        CUlibraryOption::CU_LIBRARY_BINARY_IS_PRESERVED if of_file => Err(CuError::INVALID_VALUE),
        _ => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arg;
    use std::ptr::null;

    #[test]
    fn only_code_of_the_program_can_be_preserved() {
        let options = [CUlibraryOption(0), CUlibraryOption::CU_LIBRARY_BINARY_IS_PRESERVED];
        let check = |at: *const CUlibraryOption, count, of_file| {
            // SAFETY: a pointer that isn't null is to an array of at least `count` elements.
            unsafe { check(In::from_c(at), count, of_file) }
        };
        assert_eq!(check(options.as_ptr(), 2, false), Ok(()));
        assert_eq!(check(options.as_ptr(), 2, true), Err(CuError::INVALID_VALUE));
        assert_eq!(check(options.as_ptr(), 1, true), Ok(()));
        assert_eq!(check(null(), 0, true), Ok(()));
        assert_eq!(check(null(), 1, false), Err(CuError::INVALID_VALUE));
    }
}
