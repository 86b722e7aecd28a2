//! Arguments of NVML's functions, as types that safe code can use.
//!
//! A caller passes addresses. [`Arg::from_c`] turns an address into a typed argument. This is the
//! unsafe step: its caller promises that the address is valid by NVML's rules. After that, single
//! values can be read and written safely. An array or buffer needs one more unsafe step, which sets
//! its length.

use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::{
    nvmlClockType_t, nvmlGpuP2PCapsIndex_t, nvmlNvLinkCapability_t, nvmlSamplingType_t,
};
use std::ffi::{CStr, c_char};

pub use cuda_api::args::Arg;

macro_rules! enumerations {
    ($($t:ty),*) => { $(impl Arg for $t {
        type C = Self;

        unsafe fn from_c(c: Self) -> Self {
            c
        }
    })* };
}
enumerations!(nvmlClockType_t, nvmlGpuP2PCapsIndex_t, nvmlNvLinkCapability_t, nvmlSamplingType_t);

/// A pointer through which an entry point stores a result, or from which it reads a value that it
/// then replaces.
pub struct Out<T>(*mut T);

impl<T> Arg for Out<T> {
    type C = *mut T;

    unsafe fn from_c(c: *mut T) -> Self {
        Self(c)
    }
}

impl<T: Copy> Out<T> {
    /// Stores a result. A null pointer is an error.
    pub fn set(&self, value: T) -> NvmlResult {
        self.check()?;
        // SAFETY: the pointer is not null, so it is valid for writing a `T`, as promised to
        // `from_c`. It may be unaligned.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Returns the current value. A null pointer is an error.
    pub fn get(&self) -> NvmlResult<T> {
        self.check()?;
        // SAFETY: the pointer is not null, so it is valid for reading a `T`, as promised to
        // `from_c`. It may be unaligned.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Treats the pointer as an array.
    ///
    /// # Safety
    ///
    /// If the pointer is not null, it must be valid for reads and writes of `len` elements.
    pub unsafe fn array(self, len: usize) -> OutArray<T> {
        OutArray { first: self.0, len }
    }

    /// Converts to a pointer to another type.
    ///
    /// # Safety
    ///
    /// If the pointer is not null, it must be valid for reads and writes of a `U`.
    pub unsafe fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// Returns true if the caller passed no pointer.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    fn check(&self) -> NvmlResult {
        if self.is_null() { Err(NvmlError::INVALID_ARGUMENT) } else { Ok(()) }
    }
}

/// An array in which an entry point stores results, or from which it reads values that it then
/// replaces.
pub struct OutArray<T> {
    first: *mut T,
    len: usize,
}

impl<T: Copy> OutArray<T> {
    /// Stores an element. A null pointer and an index past the end are errors.
    pub fn set(&self, index: usize, value: T) -> NvmlResult {
        let element = self.element(index)?;
        // SAFETY: the element is within the array, so it is valid for writing, as promised to
        // `array`. It may be unaligned.
        unsafe { element.write_unaligned(value) };
        Ok(())
    }

    /// Returns an element's current value. A null pointer and an index past the end are errors.
    pub fn get(&self, index: usize) -> NvmlResult<T> {
        let element = self.element(index)?;
        // SAFETY: the element is within the array, so it is valid for reading, as promised to
        // `array`. It may be unaligned.
        Ok(unsafe { element.read_unaligned() })
    }

    fn element(&self, index: usize) -> NvmlResult<*mut T> {
        match !self.first.is_null() && index < self.len {
            // SAFETY: the index is less than the length, so the element is in the array, as
            // promised to `array`.
            true => Ok(unsafe { self.first.add(index) }),
            false => Err(NvmlError::INVALID_ARGUMENT),
        }
    }
}

/// A C string from the caller.
pub struct Text(*const c_char);

impl Arg for Text {
    type C = *const c_char;

    unsafe fn from_c(c: *const c_char) -> Self {
        Self(c)
    }
}

impl Text {
    /// Returns the string. A null pointer and invalid UTF-8 are errors.
    pub fn get(&self) -> NvmlResult<&str> {
        if self.0.is_null() {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        // SAFETY: the pointer is not null, so it is a string that lives as long as the argument, as
        // promised to `from_c`.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| NvmlError::INVALID_ARGUMENT)
    }
}

/// A buffer in which an entry point stores a C string. Its length is passed in another argument.
pub struct Buffer(*mut c_char);

impl Arg for Buffer {
    type C = *mut c_char;

    unsafe fn from_c(c: *mut c_char) -> Self {
        Self(c)
    }
}

impl Buffer {
    /// Stores a zero-terminated string. A null pointer and a string that doesn't fit are errors.
    ///
    /// # Safety
    ///
    /// If the pointer is not null, it must be valid for writes of `length` bytes.
    pub unsafe fn set(&self, length: u32, text: &str) -> NvmlResult {
        if self.0.is_null() {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        if text.len() >= length as usize {
            return Err(NvmlError::INSUFFICIENT_SIZE);
        }
        // SAFETY: the buffer is valid for `length` bytes, as the caller promises, and the text with
        // its zero byte fits, as checked above.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), self.0, text.len());
            self.0.add(text.len()).write(0);
        }
        Ok(())
    }
}

/// Returns the value of a structure's version field: the structure's size in the low 24 bits, and
/// its version number in the high 8 bits. This is NVML_STRUCT_VERSION in nvml.h.
pub const fn version<T>(number: u32) -> u32 {
    size_of::<T>() as u32 | number << 24
}

/// Converts text to a fixed-size array of characters. Text that is too long is truncated; the rest
/// of the array is zero.
pub fn padded<const N: usize>(text: &str) -> [c_char; N] {
    let mut chars = [0; N];
    for (to, from) in chars.iter_mut().take(N - 1).zip(text.bytes()) {
        *to = from as c_char;
    }
    chars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_what_lies_past_the_end_are_refused() {
        let invalid = Err(NvmlError::INVALID_ARGUMENT);
        // SAFETY: null is a valid argument.
        let null = unsafe { Out::<u32>::from_c(std::ptr::null_mut()) };
        assert_eq!((null.set(1), null.get().map(drop)), (invalid, invalid));
        let mut values = [1u32, 2, 3];
        // SAFETY: the array has three elements.
        let array = unsafe { Out::from_c(values.as_mut_ptr()).array(2) };
        assert_eq!((array.set(1, 7), array.set(2, 7)), (Ok(()), invalid));
        assert_eq!((array.get(1), array.get(2).map(drop)), (Ok(7), invalid));
        assert_eq!(values, [1, 7, 3]);
    }

    #[test]
    fn a_string_must_fit_with_its_zero() {
        let mut bytes = [1 as c_char; 4];
        // SAFETY: the buffer is valid and doesn't move.
        let buffer = unsafe { Buffer::from_c(bytes.as_mut_ptr()) };
        // SAFETY: the buffer has four bytes.
        let set = |length, text| unsafe { buffer.set(length, text) };
        assert_eq!(set(3, "abc"), Err(NvmlError::INSUFFICIENT_SIZE));
        assert_eq!((set(3, "ab"), bytes), (Ok(()), [97, 98, 0, 1]));
        assert_eq!(padded::<3>("abc"), [97, 98, 0]);
    }
}
