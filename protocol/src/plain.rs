//! Plain structures: C layout, no padding, any bytes are a valid value.

use core::mem::{MaybeUninit, size_of};

/// A structure whose bytes may be copied in from a peer and out to one.
///
/// # Safety
/// The type is `#[repr(C)]`, has no padding, and every bit pattern is a valid value of it.
pub unsafe trait Plain: Copy + 'static {
    /// The structure's bytes, as they cross the boundary.
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: `Plain` has no padding, so all its bytes are initialised; the borrow of `self`
        // keeps them alive and unchanged.
        unsafe { core::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
    }

    /// Reads a value from the first bytes of `bytes`; `None` if there are too few.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..size_of::<Self>())?;
        let mut value = MaybeUninit::<Self>::uninit();
        // SAFETY: `value` has room for `size_of::<Self>()` bytes, `bytes` has exactly as many, and
        // they can't overlap; every bit pattern is valid for a `Plain` type.
        unsafe {
            core::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                value.as_mut_ptr().cast::<u8>(),
                size_of::<Self>(),
            );
            Some(value.assume_init())
        }
    }

    /// A value of zero bytes.
    fn zeroed() -> Self {
        // SAFETY: every bit pattern is valid for a `Plain` type, zeros too.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }
}
