//! Tests managed variables through the driver API.

use std::ffi::{CStr, c_uint};

use common::*;

mod common;

const NOT_FOUND: c_uint = 500;

const VARIABLES: &CStr = c".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .global .u32 plain = 1;\n\
    .visible .global .attribute(.managed) .u32 value = 5;\n\
    .visible .global .attribute(.managed) .u64 own = generic(value);\n\
    .visible .global .attribute(.managed) .u64 other = generic(plain)+1;\n";

fn managed(library: usize, name: &CStr) -> Result<(*mut u64, usize), c_uint> {
    let (mut address, mut size) = (0, 0);
    // SAFETY: the pointers are to local variables and to a C string.
    match unsafe { cuLibraryGetManaged(&mut address, &mut size, library, name.as_ptr()) } {
        0 => Ok((address as *mut u64, size)),
        error => Err(error),
    }
}

#[test]
fn managed_variables_exist_before_a_context_does() {
    let (mut library, mut context, mut module, mut plain) = (0, 0, 0, 0);
    // SAFETY: the pointers are to local variables, C strings, and managed variables.
    unsafe {
        assert_eq!(cuInit(0), 0);
        let image = VARIABLES.as_ptr().cast();
        assert_eq!(cuLibraryLoadData(&mut library, image, 0, 0, 0, 0, 0, 0), 0);
        let (value, size) = managed(library, c"value").unwrap();
        assert_eq!((*value.cast::<u32>(), size), (5, 4));
        let (own, other) =
            (managed(library, c"own").unwrap().0, managed(library, c"other").unwrap().0);
        assert_eq!(*own, value as u64);
        assert_eq!(managed(library, c"plain"), Err(NOT_FOUND));
        value.cast::<u32>().write(6);
        own.write(7);

        // When the first module is loaded, softgpu stores the addresses of other variables in the
        // managed variables, but doesn't change the values that the program has stored.
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuLibraryGetModule(&mut module, library), 0);
        let name = c"plain".as_ptr();
        assert_eq!(cuModuleGetGlobal_v2(&mut plain, std::ptr::null_mut(), module, name), 0);
        assert_eq!((*value.cast::<u32>(), *own, *other), (6, 7, plain + 1));
        assert_eq!(cuLibraryUnload(library), 0);
    }
}
