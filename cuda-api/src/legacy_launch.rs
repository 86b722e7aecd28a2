//! CUDA's first launch interface, which is deprecated: a program sets a function's block shape and
//! parameters with separate calls, and then launches it with `cuLaunch`, `cuLaunchGrid`, or
//! `cuLaunchGridAsync`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::args::In;
use crate::error::{CuError, CuResult};
use crate::sys::{CUfunction, CUstream};

/// The most bytes of parameters that a kernel can have.
const PARAMETERS_MAX: usize = 32764;

/// The functions that a library provides for CUDA's first launch interface.
pub trait Library {
    /// Checks a function handle. Returns CUDA_ERROR_INVALID_HANDLE if it is invalid.
    fn check_function(function: CUfunction) -> CuResult;

    /// Launches a function, as `cuLaunchKernel` does. `parameters` is the parameter buffer.
    fn launch(
        function: CUfunction,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        parameters: &[u8],
        stream: CUstream,
    ) -> CuResult;
}

/// The settings for the next launches of a function.
#[derive(Clone, Debug, Default)]
struct Setup {
    block: [u32; 3],
    shared: u32,
    parameters: Vec<u8>,
}

/// The setups of all functions, by handle.
static SETUPS: Mutex<BTreeMap<usize, Setup>> = Mutex::new(BTreeMap::new());

fn change<L: Library>(function: CUfunction, change: impl FnOnce(&mut Setup)) -> CuResult {
    L::check_function(function)?;
    let mut setups = SETUPS.lock().unwrap_or_else(PoisonError::into_inner);
    change(setups.entry(function as usize).or_default());
    Ok(())
}

/// Converts a dimension, which must be positive.
fn dimension(size: i32) -> CuResult<u32> {
    u32::try_from(size).ok().filter(|size| *size > 0).ok_or(CuError::INVALID_VALUE)
}

/// Implements `cuFuncSetBlockShape`.
pub fn set_block<L: Library>(function: CUfunction, [x, y, z]: [i32; 3]) -> CuResult {
    let block = [dimension(x)?, dimension(y)?, dimension(z)?];
    change::<L>(function, |setup| setup.block = block)
}

/// Implements `cuFuncSetSharedSize`.
pub fn set_shared<L: Library>(function: CUfunction, bytes: u32) -> CuResult {
    change::<L>(function, |setup| setup.shared = bytes)
}

/// Implements `cuParamSetSize`.
pub fn set_size<L: Library>(function: CUfunction, bytes: u32) -> CuResult {
    let bytes = bytes as usize;
    if bytes > PARAMETERS_MAX {
        return Err(CuError::INVALID_VALUE);
    }
    change::<L>(function, |setup| setup.parameters.resize(bytes, 0))
}

/// Sets bytes of the parameter buffer, which grows as needed.
pub fn set_bytes<L: Library>(function: CUfunction, offset: i32, bytes: &[u8]) -> CuResult {
    let start = usize::try_from(offset).map_err(|_| CuError::INVALID_VALUE)?;
    let end = start.checked_add(bytes.len()).filter(|end| *end <= PARAMETERS_MAX);
    let end = end.ok_or(CuError::INVALID_VALUE)?;
    change::<L>(function, |setup| {
        if setup.parameters.len() < end {
            setup.parameters.resize(end, 0);
        }
        setup.parameters[start..end].copy_from_slice(bytes);
    })
}

/// Implements `cuParamSetv`.
///
/// # Safety
///
/// `from` must be valid for reading `len` bytes.
pub unsafe fn set_from<L: Library>(
    function: CUfunction,
    offset: i32,
    from: In<u8>,
    len: u32,
) -> CuResult {
    if len as usize > PARAMETERS_MAX {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller promises that there are `len` bytes.
    let bytes = unsafe { from.array(len as usize) }.to_vec()?;
    set_bytes::<L>(function, offset, &bytes)
}

/// Implements `cuLaunch`, `cuLaunchGrid`, and `cuLaunchGridAsync`. A null stream is the legacy
/// default stream.
pub fn launch<L: Library>(
    function: CUfunction,
    (width, height): (i32, i32),
    stream: CUstream,
) -> CuResult {
    L::check_function(function)?;
    let grid = [dimension(width)?, dimension(height)?, 1];
    let setups = SETUPS.lock().unwrap_or_else(PoisonError::into_inner);
    // The block shape has no default, so fail if it wasn't set.
    let setup = setups.get(&(function as usize)).cloned().ok_or(CuError::INVALID_VALUE)?;
    drop(setups);
    L::launch(function, grid, setup.block, setup.shared, &setup.parameters, stream)
}

/// Exports the entry points of CUDA's first launch interface for a [`Library`]. The second argument
/// is the library's [`EntryPoint`](crate::entries::EntryPoint).
#[macro_export]
macro_rules! legacy_launch_entries {
    ($library:ty, $entry_point:ty) => {
        $crate::entries! { $entry_point;
            fn cuFuncSetBlockShape(function: $crate::sys::CUfunction, x: i32, y: i32, z: i32) {
                $crate::legacy_launch::set_block::<$library>(function, [x, y, z])
            }
            fn cuFuncSetSharedSize(function: $crate::sys::CUfunction, bytes: u32) {
                $crate::legacy_launch::set_shared::<$library>(function, bytes)
            }
            fn cuParamSetSize(function: $crate::sys::CUfunction, bytes: u32) {
                $crate::legacy_launch::set_size::<$library>(function, bytes)
            }
            fn cuParamSeti(function: $crate::sys::CUfunction, offset: i32, value: u32) {
                let bytes = value.to_le_bytes();
                $crate::legacy_launch::set_bytes::<$library>(function, offset, &bytes)
            }
            fn cuParamSetf(function: $crate::sys::CUfunction, offset: i32, value: f32) {
                let bytes = value.to_le_bytes();
                $crate::legacy_launch::set_bytes::<$library>(function, offset, &bytes)
            }
            fn cuParamSetv(
                function: $crate::sys::CUfunction, offset: i32, from: *mut ::std::ffi::c_void,
                len: u32,
            ) {
                // SAFETY: the program passes a pointer to `len` bytes.
                unsafe {
                    let from = $crate::args::In::from_address(from as usize);
                    $crate::legacy_launch::set_from::<$library>(function, offset, from, len)
                }
            }
            fn cuLaunch(function: $crate::sys::CUfunction) {
                $crate::legacy_launch::launch::<$library>(
                    function, (1, 1), ::std::ptr::null_mut(),
                )
            }
            fn cuLaunchGrid(function: $crate::sys::CUfunction, width: i32, height: i32) {
                $crate::legacy_launch::launch::<$library>(
                    function, (width, height), ::std::ptr::null_mut(),
                )
            }
            fn cuLaunchGridAsync(
                function: $crate::sys::CUfunction, width: i32, height: i32,
                stream: $crate::sys::CUstream,
            ) {
                $crate::legacy_launch::launch::<$library>(function, (width, height), stream)
            }
        }
    };
}
