//! Arguments of entry points, as types that safe code can use.
//!
//! A caller passes addresses. [`Arg::from_c`] turns an address into a typed argument. This step is
//! unsafe, because its caller must guarantee that the address satisfies the driver API's rules.
//! Single values can then be read and written safely. An array needs one more unsafe step, which
//! sets the array's length. Every index is then checked against that length.

use crate::error::{CuError, CuResult};
use crate::sys::{
    CUaddress_mode, CUarray_format, CUatomicOperation, CUcoredumpSettings, CUdevice_P2PAttribute,
    CUdevice_attribute, CUfilter_mode, CUfunction_attribute, CUgraphMem_attribute,
    CUipcEventHandle, CUipcMemHandle, CUjitInputType, CUlaunchAttributeID, CUlimit, CUmem_advise,
    CUmem_range_attribute, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemPool_attribute, CUpointer_attribute, CUstreamCaptureMode,
};
use std::ffi::{CStr, c_char};

/// A type for an argument of an entry point. Its values are created from the C type in the
/// prototype.
pub trait Arg {
    /// The argument's type in the C prototype.
    type C;

    /// Converts an argument that the caller of an entry point passed.
    ///
    /// # Safety
    ///
    /// The value must be what a caller of the driver API passed for this parameter. A pointer must
    /// be null, or stay valid for as long as the result or a copy of it is used: an [`In`] requires
    /// an initialized value that can be read, an [`Out`] memory that can be read and written, and a
    /// [`Text`] bytes that can be read up to a zero byte. A pointer need not be aligned.
    unsafe fn from_c(c: Self::C) -> Self;
}

macro_rules! passed_as_they_are {
    ($($t:ty),*) => { $(impl Arg for $t {
        type C = Self;

        #[inline(always)]
        unsafe fn from_c(c: Self) -> Self {
            c
        }
    })* };
}
passed_as_they_are!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64);
passed_as_they_are!(
    CUaddress_mode,
    CUarray_format,
    CUfilter_mode,
    CUatomicOperation,
    CUcoredumpSettings,
    CUdevice_P2PAttribute,
    CUdevice_attribute,
    CUmem_advise,
    CUmem_range_attribute,
    CUmemLocation,
    CUfunction_attribute,
    CUgraphMem_attribute,
    CUipcEventHandle,
    CUipcMemHandle,
    CUjitInputType,
    CUlaunchAttributeID,
    CUlimit,
    CUmemAllocationHandleType,
    CUmemAllocationType,
    CUmemPool_attribute,
    CUpointer_attribute,
    CUstreamCaptureMode
);

impl<T> Arg for *mut T {
    type C = Self;

    #[inline(always)]
    unsafe fn from_c(c: Self) -> Self {
        c
    }
}

impl<T> Arg for *const T {
    type C = Self;

    #[inline(always)]
    unsafe fn from_c(c: Self) -> Self {
        c
    }
}

macro_rules! callbacks {
    ($($arg:ident),*) => {
        impl<R, $($arg),*> Arg for Option<unsafe extern "C" fn($($arg),*) -> R> {
            type C = Self;

            #[inline(always)]
            unsafe fn from_c(c: Self) -> Self {
                c
            }
        }
    };
}
callbacks!(A);
callbacks!(A, B);
callbacks!(A, B, C);
callbacks!(A, B, C, D);

/// Returns the error for a null pointer to a result.
#[cold]
fn null_result() -> CuError {
    #[cfg(feature = "runtime")]
    crate::logs::explain("NULL return value pointer");
    CuError::INVALID_VALUE
}

/// Fails if a handle is null. Use this in calls for which NVIDIA's driver treats a null handle as a
/// missing argument. In most other calls, it treats null as any other handle that names no object.
#[inline]
pub fn check_handle(handle: usize) -> CuResult {
    if handle == 0 { Err(CuError::INVALID_VALUE) } else { Ok(()) }
}

/// A pointer through which a result is returned.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Arg for Out<T> {
    type C = *mut T;

    #[inline(always)]
    unsafe fn from_c(c: *mut T) -> Self {
        Self(c)
    }
}

impl<T> Out<T> {
    /// Returns a null pointer, which means that the caller doesn't want the result.
    pub fn null() -> Self {
        Self(std::ptr::null_mut())
    }

    /// Converts an address that is stored as an integer, for example in an array of untyped
    /// pointers.
    ///
    /// # Safety
    ///
    /// The requirements of [`Arg::from_c`] apply to the pointer with this address.
    pub unsafe fn from_address(address: usize) -> Self {
        Self(address as *mut T)
    }

    /// Fails if the pointer is null. Call this before any side effect, so that a failing call
    /// changes nothing.
    pub fn check(self) -> CuResult {
        if self.0.is_null() { Err(null_result()) } else { Ok(()) }
    }

    /// Stores a result. A null pointer is an error.
    pub fn set(self, value: T) -> CuResult {
        self.check()?;
        // SAFETY: the pointer is not null, so it is valid for writing a `T`, as promised to
        // `from_c`.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Stores a result, if the pointer is not null.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the pointer is not null, so it is valid for writing a `T`, as promised to
            // `from_c`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Returns the current value, for an argument that is both read and written. A null pointer is
    /// an error.
    pub fn read(self) -> CuResult<T>
    where
        T: Copy,
    {
        self.check()?;
        // SAFETY: the pointer is not null, so it is valid for reading a `T`, as promised to
        // `from_c`.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Returns whether the caller wants the result.
    pub fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Treats the pointer as an array.
    ///
    /// # Safety
    ///
    /// A pointer that is not null must be valid for `len` elements. ([`Arg::from_c`] requires only
    /// one.)
    pub unsafe fn array(self, len: usize) -> OutArray<T> {
        OutArray { at: self.0, len }
    }

    /// Treats the pointer as an argument that is only read.
    pub fn as_input(self) -> In<T> {
        In(self.0.cast_const())
    }

    /// Converts to a pointer to another type.
    ///
    /// # Safety
    ///
    /// The requirements of [`Arg::from_c`] apply to a pointer to `U`.
    pub unsafe fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

/// An array to which results are written.
pub struct OutArray<T> {
    at: *mut T,
    len: usize,
}

impl<T> OutArray<T> {
    /// Stores an element. A null pointer or an index past the end is an error.
    pub fn set(&self, index: usize, value: T) -> CuResult {
        if self.at.is_null() || index >= self.len {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null and the index is within the array, so the element is
        // valid for writing, as promised to `array`.
        unsafe { self.at.add(index).write_unaligned(value) };
        Ok(())
    }

    /// Stores the values in order, until the array is full or there are no more values.
    pub fn set_all(&self, values: impl IntoIterator<Item = T>) -> CuResult {
        (0..self.len).zip(values).try_for_each(|(index, value)| self.set(index, value))
    }
}

impl OutArray<c_char> {
    /// Stores a zero-terminated string, truncated to fit the buffer. A buffer of 0 bytes is an
    /// error.
    pub fn set_text(&self, text: &[u8]) -> CuResult {
        let Some(room) = self.len.checked_sub(1) else { return Err(CuError::INVALID_VALUE) };
        let ended = text.iter().take(room).chain(&[0]);
        self.set(0, 0)?;
        self.set_all(ended.map(|byte| *byte as c_char))
    }
}

/// A pointer to a value, or to an array of values, that the entry point reads.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T> Arg for In<T> {
    type C = *const T;

    #[inline(always)]
    unsafe fn from_c(c: *const T) -> Self {
        Self(c)
    }
}

impl<T> In<T> {
    /// Returns a null pointer, which means that the argument is missing.
    pub fn null() -> Self {
        Self(std::ptr::null())
    }

    /// Converts an address that is stored as an integer, for example in a structure.
    ///
    /// # Safety
    ///
    /// The requirements of [`Arg::from_c`] apply to the pointer with this address.
    pub unsafe fn from_address(address: usize) -> Self {
        Self(address as *const T)
    }

    /// Returns whether the argument is missing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the pointer as an integer.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// Treats the pointer as an array.
    ///
    /// # Safety
    ///
    /// A pointer that is not null must be valid for `len` elements. ([`Arg::from_c`] requires only
    /// one.)
    pub unsafe fn array(self, len: usize) -> InArray<T> {
        InArray { at: self.0, len }
    }
}

impl<T> In<T> {
    /// Converts to a pointer to another type.
    ///
    /// # Safety
    ///
    /// The requirements of [`Arg::from_c`] apply to a pointer to `U`.
    pub unsafe fn cast<U>(self) -> In<U> {
        In(self.0.cast())
    }
}

impl<T: Copy> In<T> {
    /// Reads the value. A null pointer is an error.
    pub fn get(self) -> CuResult<T> {
        if self.0.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, so it is valid for reading a `T`, as promised to
        // `from_c`.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Reads the value, or returns `None` for a null pointer.
    pub fn optional(self) -> Option<T> {
        self.get().ok()
    }

    /// Reads an element of an array without a known length, whose end is marked by a special value.
    /// A null pointer is an error.
    ///
    /// # Safety
    ///
    /// If it is not null, the pointer must point to an array that has this element.
    pub unsafe fn element(self, index: usize) -> CuResult<T> {
        if self.0.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, so this element is valid for reading, as the caller
        // promises.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }
}

/// An array of values that the entry point reads.
pub struct InArray<T> {
    at: *const T,
    len: usize,
}

impl<T> Clone for InArray<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for InArray<T> {}

impl<T: Copy> InArray<T> {
    /// Reads an element. A null pointer or an index past the end is an error.
    pub fn get(&self, index: usize) -> CuResult<T> {
        if self.at.is_null() || index >= self.len {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null and the index is within the array, so the element is
        // valid for reading, as promised to `array`.
        Ok(unsafe { self.at.add(index).read_unaligned() })
    }

    /// Reads all elements. A null pointer is an error unless the length is 0.
    pub fn to_vec(&self) -> CuResult<Vec<T>> {
        (0..self.len).map(|index| self.get(index)).collect()
    }
}

/// A C string.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Arg for Text {
    type C = *const c_char;

    #[inline(always)]
    unsafe fn from_c(c: *const c_char) -> Self {
        Self(c)
    }
}

impl Text {
    /// Returns the string. A null pointer is an error.
    pub fn get(&self) -> CuResult<&CStr> {
        if self.0.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, so it points to a string that lives as long as the
        // argument, as promised to `from_c`.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }

    /// Returns the string. Null and invalid UTF-8 are errors.
    pub fn name(&self) -> CuResult<&str> {
        self.get()?.to_str().map_err(|_| CuError::INVALID_VALUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVALID: CuError = CuError::INVALID_VALUE;

    #[test]
    fn null_is_refused_or_ignored() {
        let null = Out::<u32>::null();
        assert_eq!(
            (null.check(), null.set(1), null.read()),
            (Err(INVALID), Err(INVALID), Err(INVALID))
        );
        null.set_if_wanted(1);
        assert!(!null.is_wanted());
        assert_eq!(In::<u32>::null().get(), Err(INVALID));
        assert_eq!(In::<u32>::null().optional(), None);
        // SAFETY: null is a valid argument.
        let text = unsafe { Text::from_c(std::ptr::null()) };
        assert_eq!((text.get(), text.name()), (Err(INVALID), Err(INVALID)));
    }

    #[test]
    fn values_are_read_and_written_even_unaligned() {
        let mut bytes = [0u8; 12];
        // SAFETY: the array has at least four bytes starting at this address.
        let to = unsafe { Out::<u32>::from_c(bytes.as_mut_ptr().add(1).cast()) };
        to.set(0x0403_0201).unwrap();
        assert_eq!(to.read(), Ok(0x0403_0201));
        assert_eq!(bytes[..6], [0, 1, 2, 3, 4, 0]);
        // SAFETY: the array has at least four bytes starting at this address.
        let from = unsafe { In::<u32>::from_address(&raw const bytes[2] as usize) };
        assert_eq!(from.get(), Ok(0x0004_0302));
    }

    #[test]
    fn an_array_ends_where_its_length_says() {
        let mut values = [0u32; 3];
        // SAFETY: `values` has three elements, and the new array has two.
        let to = unsafe { Out::from_c(values.as_mut_ptr()).array(2) };
        assert_eq!((to.set(1, 7), to.set(2, 7)), (Ok(()), Err(INVALID)));
        to.set_all([1, 2, 3]).unwrap();
        assert_eq!(values, [1, 2, 0]);
        // SAFETY: `values` has three elements, and the new array has two.
        let from = unsafe { In::from_c(values.as_ptr()).array(2) };
        assert_eq!((from.get(1), from.get(2)), (Ok(2), Err(INVALID)));
        assert_eq!(from.to_vec(), Ok(vec![1, 2]));
        // SAFETY: a null pointer is valid for an array of any length.
        let null = |len| unsafe { In::<u32>::null().array(len) };
        assert_eq!((null(0).to_vec(), null(1).to_vec()), (Ok(vec![]), Err(INVALID)));
    }

    #[test]
    fn text_is_cut_to_the_buffer() {
        let mut buffer = [1 as c_char; 4];
        // SAFETY: the buffer is a local variable, which isn't moved while the pointer is used.
        let to = unsafe { Out::from_c(buffer.as_mut_ptr()) };
        for (len, text, expected) in [
            (4, "abcdef", Ok([97, 98, 99, 0])),
            (4, "a", Ok([97, 0, 99, 0])),
            (1, "xyz", Ok([0, 0, 99, 0])),
            (0, "xyz", Err(INVALID)),
        ] {
            // SAFETY: the buffer has four bytes, and `len` is at most 4.
            let set = unsafe { to.array(len) }.set_text(text.as_bytes());
            assert_eq!(set.map(|()| buffer), expected);
        }
        // SAFETY: a null pointer is valid for an array of any length.
        assert_eq!(unsafe { Out::<c_char>::null().array(4) }.set_text(b"a"), Err(INVALID));
        // SAFETY: a literal ends in a zero byte.
        assert_eq!(unsafe { Text::from_c(c"abc".as_ptr()) }.name(), Ok("abc"));
    }
}
