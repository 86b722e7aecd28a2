//! Arguments from C, as types that can only be used rightly.
//!
//! Their layout is a pointer's. That a pointer which is not null can be followed is the caller's
//! promise, by the driver API's own rules.

use crate::error::{CuError, CuResult};
use std::ffi::CStr;

/// A pointer that a result goes to.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Refuses null, before anything is done.
    pub fn check(self) -> CuResult {
        if self.0.is_null() { Err(CuError::INVALID_VALUE) } else { Ok(()) }
    }

    /// Stores a result; null is an error.
    pub fn set(self, value: T) -> CuResult {
        self.check()?;
        // SAFETY: not null, so by the API's rules valid for writing a `T`.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Stores a result if the caller wants it.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as above.
            unsafe { self.0.write(value) };
        }
    }

    /// What is there now, for what goes in and comes back.
    pub fn read(self) -> CuResult<T>
    where
        T: Copy,
    {
        self.check()?;
        // SAFETY: not null, so by the API's rules valid for reading, too.
        Ok(unsafe { self.0.read() })
    }

    /// Whether the caller wants the result.
    pub fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Stores the element of an array that is `count` long.
    pub fn set_element(self, index: usize, value: T) -> CuResult {
        self.check()?;
        // SAFETY: by the API's rules the array is as long as the caller said.
        unsafe { self.0.add(index).write(value) };
        Ok(())
    }

    /// The same pointer, to something else.
    pub fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// From an integer, as arrays of untyped pointers hold it.
    pub fn from_address(address: usize) -> Self {
        Out(address as *mut T)
    }
}

impl Out<u8> {
    /// Stores a string in a buffer of `len` bytes, cut if need be, ended by a zero byte.
    pub fn set_text(self, text: &[u8], len: usize) -> CuResult {
        self.check()?;
        let Some(room) = len.checked_sub(1) else { return Err(CuError::INVALID_VALUE) };
        let text = &text[..text.len().min(room)];
        // SAFETY: by the API's rules the buffer has `len` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0, text.len());
            self.0.add(text.len()).write(0);
        }
        Ok(())
    }
}

/// A pointer to an argument, or to an array of them.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// What it points to; null is an error.
    pub fn get(self) -> CuResult<T> {
        self.element(0)
    }

    /// An element of the array.
    pub fn element(self, index: usize) -> CuResult<T> {
        if self.0.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: not null, so by the API's rules valid for reading; alignment is not promised.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// What it points to, if it is not null.
    pub fn optional(self) -> Option<T> {
        self.get().ok()
    }

    /// No argument.
    pub fn null() -> Self {
        In(std::ptr::null())
    }

    /// From an integer, as structures hold it.
    pub fn from_address(address: usize) -> Self {
        In(address as *const T)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub fn address(self) -> usize {
        self.0 as usize
    }
}

/// A C string.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const std::ffi::c_char);

impl Text {
    /// The string; null is an error.
    pub fn get<'a>(self) -> CuResult<&'a CStr> {
        if self.0.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: not null, so by the API's rules a string that lives through the call.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }

    /// The string in UTF-8, as names have to be.
    pub fn name<'a>(self) -> CuResult<&'a str> {
        self.get()?.to_str().map_err(|_| CuError::INVALID_VALUE)
    }
}
