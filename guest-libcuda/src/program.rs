//! Access to the program's own memory by the addresses that it passes.

/// Copies bytes from the program's memory.
///
/// # Safety
///
/// `address` must be valid for reading `to.len()` bytes.
pub unsafe fn copy_from(address: usize, to: &mut [u8]) {
    if !to.is_empty() {
        // SAFETY: the caller promises that the source is valid for `to.len()` bytes, and the
        // destination is a slice of that length.
        unsafe { std::ptr::copy(address as *const u8, to.as_mut_ptr(), to.len()) };
    }
}

/// Copies bytes to the program's memory.
///
/// # Safety
///
/// `address` must be valid for writing `from.len()` bytes.
pub unsafe fn copy_to(address: usize, from: &[u8]) {
    if !from.is_empty() {
        // SAFETY: the caller promises that the destination is valid for `from.len()` bytes, and the
        // source is a slice of that length.
        unsafe { std::ptr::copy(from.as_ptr(), address as *mut u8, from.len()) };
    }
}

/// Copies bytes within the program's memory. The two areas may overlap.
///
/// # Safety
///
/// `from` must be valid for reading `len` bytes, and `to` for writing `len` bytes.
pub unsafe fn copy_within(from: usize, to: usize, len: usize) {
    // SAFETY: the caller promises that both addresses are valid for `len` bytes.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, len) };
}

/// Returns bytes in the program's memory.
///
/// # Safety
///
/// `address` must be valid for reading `len` bytes, which must not change as long as the result is
/// used.
pub unsafe fn bytes_at<'a>(address: usize, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller promises that the bytes are valid and don't change.
    unsafe { std::slice::from_raw_parts(address as *const u8, len) }
}

const PAGE: usize = 4096;

/// Returns whether the kernel hasn't allocated the page at an address yet.
pub fn is_fresh(address: usize) -> bool {
    let mut present = 0u8;
    // SAFETY: mincore doesn't access the page. It writes one byte to a local variable.
    let known = unsafe { libc::mincore((address / PAGE * PAGE) as *mut _, PAGE, &mut present) };
    known == 0 && present & 1 == 0
}

/// Makes the kernel allocate all pages of a destination at once, which takes less time than a page
/// fault for each page. Failures are ignored: if the memory is invalid, the write that follows
/// fails.
pub fn populate(address: usize, len: usize) {
    let start = address / PAGE * PAGE;
    // SAFETY: the kernel checks the range. Populating pages allocates them, but doesn't change
    // their contents.
    unsafe { libc::madvise(start as *mut _, address + len - start, libc::MADV_POPULATE_WRITE) };
}
