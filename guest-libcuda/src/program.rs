//! The program's own memory, by address, as it gives it to us.

/// Copies bytes of the program into a buffer of ours.
pub fn copy_from(address: usize, to: &mut [u8]) {
    if !to.is_empty() {
        // SAFETY: by the API's rules the program's memory has as many bytes at the address.
        unsafe { std::ptr::copy(address as *const u8, to.as_mut_ptr(), to.len()) };
    }
}

/// Copies bytes of ours into the program's memory.
pub fn copy_to(address: usize, from: &[u8]) {
    if !from.is_empty() {
        // SAFETY: as above.
        unsafe { std::ptr::copy(from.as_ptr(), address as *mut u8, from.len()) };
    }
}

/// Bytes of the program, for the time of one call.
pub fn bytes_at<'a>(address: usize, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: by the API's rules the program's memory has as many bytes at the address, and does
    // not change while the call lasts.
    unsafe { std::slice::from_raw_parts(address as *const u8, len) }
}
