//! Records the objects that the driver library creates in NVIDIA's kernel driver.
//!
//! To take this worker's kernels off the GPU, the broker needs the handles of its channels. Once
//! the worker has its system call filter, the supervisor sees each channel that the driver library
//! creates. But the library already creates channels when it's loaded and when it creates a
//! context. At that time, the worker has no session and is still trusted. Only this module sees the
//! calls that create those channels. The worker records later calls for its own use, to change the
//! time slices of its kernels ([`crate::timeslices`]).
//!
//! The driver library calls `ioctl` through the dynamic symbol table, and the dynamic loader
//! searches the executable before libc. Therefore, the definition of `ioctl` in this module
//! replaces libc's for all libraries in the process. It's found there only because `build.rs` makes
//! the linker export it.

use std::ffi::{c_int, c_ulong, c_void};

pub use rm_control::recorder::{limit_timeslices, prepared, start};

/// Replaces libc's `ioctl`. That function takes a variable number of arguments, but at most one
/// after the request, and it's passed in the same register as `argument`. If a caller passes no
/// such argument, the value of `argument` is arbitrary, and the kernel ignores it.
///
/// # Safety
///
/// As for ioctl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the caller guarantees that the arguments satisfy ioctl(2).
    unsafe { rm_control::recorder::ioctl(fd, request, argument) }
}
