//! Plain structures, which have C layout and no padding, and for which all bytes are valid values.

use core::mem::{MaybeUninit, size_of};

/// A structure that can be sent to the other side, and received from it, byte by byte.
///
/// # Safety
///
/// The type must be `#[repr(C)]` and have no padding, and every bit pattern must be a valid value.
pub unsafe trait Plain: Copy + 'static {
    /// Returns the structure's bytes.
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: `Plain` types have no padding, so all bytes are initialized. The borrow of `self`
        // keeps the bytes alive and unchanged.
        unsafe { core::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
    }

    /// Reads a value from the first bytes of `bytes`. Returns `None` if there are too few bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..size_of::<Self>())?;
        let mut value = MaybeUninit::<Self>::uninit();
        // SAFETY: `value` has room for `size_of::<Self>()` bytes, `bytes` has exactly as many, and
        // they don't overlap. Every bit pattern is valid for a `Plain` type.
        unsafe {
            core::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                value.as_mut_ptr().cast::<u8>(),
                size_of::<Self>(),
            );
            Some(value.assume_init())
        }
    }

    /// Returns a value whose bytes are all zero.
    fn zeroed() -> Self {
        // SAFETY: every bit pattern is valid for a `Plain` type, including zeros.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }
}
