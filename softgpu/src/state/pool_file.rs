//! The file that a program exports for a memory pool, so that other processes can import it. The
//! file contains the pool's name and device.

use std::ffi::c_int;
use std::fs::File;
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};

use cuda_api::error::{CuError, CuResult};
use cuda_api::pool::SharedPool;

use super::device::driver;

const MAGIC: &[u8; 16] = b"softgpu pool   1";
const LEN: usize = MAGIC.len() + 24;

/// Creates the file for a shared pool.
pub(crate) fn create(SharedPool { name, device }: SharedPool) -> CuResult<OwnedFd> {
    let place = driver()?.device(device)?.place as u64;
    // SAFETY: the name is a C string.
    let file = unsafe { libc::memfd_create(c"softgpu-pool".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(CuError::OPERATING_SYSTEM);
    }
    // SAFETY: memfd_create has just opened the descriptor, and nothing else owns it.
    let mut file = unsafe { File::from_raw_fd(file) };
    let mut contents = MAGIC.to_vec();
    contents.extend([name[0], name[1], place].into_iter().flat_map(u64::to_le_bytes));
    file.write_all(&contents).map_err(|_| CuError::OPERATING_SYSTEM)?;
    Ok(file.into())
}

/// Returns the pool that a file descriptor of the program refers to.
pub(crate) fn open(descriptor: c_int) -> CuResult<SharedPool> {
    let mut contents = [0u8; LEN + 1];
    // SAFETY: the buffer is writable for its length. The kernel checks the descriptor.
    let len = unsafe { libc::pread(descriptor, contents.as_mut_ptr().cast(), contents.len(), 0) };
    if len < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EBADF) {
        return Err(CuError::UNKNOWN);
    }
    if len != LEN as isize || contents[..16] != MAGIC[..] {
        return Err(CuError::INVALID_VALUE);
    }
    let word = |at: usize| {
        contents[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    let is_meant = |place: i32| u64::try_from(place).is_ok_and(|place| place == word(32));
    let device = driver()?.devices.iter().find(|device| is_meant(device.place));
    let device = device.ok_or(CuError::INVALID_DEVICE)?.ordinal;
    Ok(SharedPool { name: [word(16), word(24)], device })
}
