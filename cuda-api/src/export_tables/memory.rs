//! Memory that the functions of the tables give to libraries.

/// Returns a copy of some bytes in memory from `malloc`, or null if there is no memory.
pub fn copied(bytes: &[u8]) -> *mut u8 {
    // SAFETY: malloc has no preconditions.
    let copy = unsafe { libc::malloc(bytes.len().max(1)) }.cast::<u8>();
    if !copy.is_null() {
        // SAFETY: the new memory has room for the bytes.
        unsafe { copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
    copy
}
