//! Tests a library that contains no code for the device.

use std::ffi::c_uint;

use common::*;

mod common;

const NO_BINARY_FOR_GPU: c_uint = 209;

/// A fat binary without images. The header contains a magic number, the version and the header's
/// length, and the length of the rest.
const EMPTY: [u32; 4] = [0xba55_ed50, 1 | 16 << 16, 0, 0];

#[test]
fn a_library_without_code_for_the_device_fails_when_it_is_used() {
    let (mut library, mut context, mut found, mut size) = (0, 0, 0, 0);
    let (mut address, mut count) = (0, 7);
    let (image, name) = (EMPTY.as_ptr().cast(), c"increment".as_ptr());
    // SAFETY: the pointers are to local variables, a C string, and a complete fat binary.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuLibraryLoadData(&mut library, image, 0, 0, 0, 0, 0, 0), 0);
        for _ in 0..2 {
            assert_eq!(cuLibraryGetKernel(&mut found, library, name), NO_BINARY_FOR_GPU);
        }
        assert_eq!(cuLibraryGetKernelCount(&mut count, library), 0);
        assert_eq!(count, 0);
        let called = cuLibraryGetGlobal(&mut address, &mut size, library, name);
        assert_eq!(called, NO_BINARY_FOR_GPU);
        assert_eq!(cuLibraryUnload(library), 0);
        // Unlike a library, a module is loaded at once, so the error appears when it's loaded.
        assert_eq!(cuModuleLoadData(&mut found, image), NO_BINARY_FOR_GPU);
    }
}
