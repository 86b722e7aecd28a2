//! Managed variables of libraries.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, get, parameter, refused, same};
use cuda_api::sys::{CUfunction, CUlibrary, CUpointer_attribute as Attribute};
use std::ffi::CStr;
use std::ptr::null_mut;

/// PTX in which `counter` and `table` are managed variables, and `plain` isn't. The kernel
/// `increase(amount)` adds to the counter and to the last element of the table. The kernel
/// `locate(pointer)` stores the address of the counter.
const VARIABLES: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .global .attribute(.managed) .align 4 .b8 table[20000] = {1, 0, 0, 0, 2};
.visible .global .align 4 .u32 plain = 6;
.visible .entry increase(.param .u32 amount) {
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [amount];
    ld.global.u32 %r2, [counter];
    add.u32 %r2, %r2, %r1;
    st.global.u32 [counter], %r2;
    ld.global.u32 %r3, [table+19996];
    add.u32 %r3, %r3, %r1;
    st.global.u32 [table+19996], %r3;
    ret;
}
.visible .entry locate(.param .u64 pointer) {
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [pointer];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u64 %rd2, counter;
    cvta.global.u64 %rd3, %rd2;
    st.global.u64 [%rd1], %rd3;
    ret;
}
";

/// Loads the library into the current context. Returns the library and one of its kernels.
fn load(cuda: &Cuda, kernel: &CStr) -> Outcome<(CUlibrary, CUfunction)> {
    let (mut library, mut module, mut function) = (null_mut(), null_mut(), null_mut());
    let (image, none) = (VARIABLES.as_ptr().cast(), null_mut());
    cu!(
        cuda,
        cuLibraryLoadData(&mut library, image, null_mut(), none, 0, null_mut(), null_mut(), 0)
    )?;
    cu!(cuda, cuLibraryGetModule(&mut module, library))?;
    cu!(cuda, cuModuleGetFunction(&mut function, module, kernel.as_ptr()))?;
    Ok((library, function))
}

/// Returns the address and the size of a managed variable.
fn managed(cuda: &Cuda, library: CUlibrary, name: &CStr) -> Outcome<(u64, usize)> {
    let (mut address, mut bytes) = (0, 0);
    cu!(cuda, cuLibraryGetManaged(&mut address, &mut bytes, library, name.as_ptr()))?;
    Ok((address, bytes))
}

/// Reads a word of managed memory as the host. The GPU must be idle.
fn read(address: u64) -> u32 {
    // SAFETY: the cases pass addresses in managed variables.
    unsafe { (address as *const u32).read_volatile() }
}

/// Writes a word of managed memory as the host. The GPU must be idle.
fn write(address: u64, value: u32) {
    // SAFETY: the cases pass addresses in managed variables.
    unsafe { (address as *mut u32).write_volatile(value) }
}

cases! {
    fn the_host_and_kernels_share_managed_variables(cuda, primary) {
        let (library, increase) = load(cuda, c"increase")?;
        let (counter, bytes) = managed(cuda, library, c"counter")?;
        same!((bytes, read(counter)), (4, 5));
        let (table, bytes) = managed(cuda, library, c"table")?;
        let last = table + 19996;
        same!((bytes, read(table), read(table + 4), read(last)), (20000, 1, 2, 0));
        write(counter, 10);
        write(table + 8, 3);
        let amount = 7u32;
        for _ in 0..3 {
            cuda.launch(increase, [1, 1], null_mut(), &mut [parameter(&amount)])?;
        }
        cu!(cuda, cuCtxSynchronize())?;
        same!((read(counter), read(last), read(table + 8)), (31, 21, 3));
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let event = get!(cuda, cuEventCreate(@, 0))?;
        write(counter, 100);
        cuda.launch(increase, [1, 1], stream, &mut [parameter(&amount)])?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(read(counter), 107);
        write(last, 1000);
        cuda.launch(increase, [1, 1], stream, &mut [parameter(&amount)])?;
        cu!(cuda, cuEventRecord(event, stream))?;
        cu!(cuda, cuEventSynchronize(event))?;
        same!((read(counter), read(last)), (114, 1007));
        cu!(cuda, cuEventDestroy_v2(event))?;
        cu!(cuda, cuStreamDestroy_v2(stream))?;
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn copies_reach_managed_variables(cuda, primary) {
        let (library, _) = load(cuda, c"increase")?;
        let (table, _) = managed(cuda, library, c"table")?;
        write(table + 4, 12);
        same!(cuda.download::<u32>(table, 3)?, [1, 12, 0]);
        cuda.upload(table + 8, &[40u32, 41])?;
        cu!(cuda, cuCtxSynchronize())?;
        same!((read(table + 4), read(table + 8), read(table + 12)), (12, 40, 41));
        // Write every second word.
        for index in 0..1000 {
            write(table + 8 * index, index as u32);
        }
        cu!(cuda, cuMemsetD32_v2(table + 4, 9, 1))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(table, 4)?, [0, 9, 1, 41]);
        same!((read(table + 4), read(table + 8 * 999)), (9, 999));
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn managed_variables_have_one_address(cuda, primary) {
        let (library, locate) = load(cuda, c"locate")?;
        let (counter, _) = managed(cuda, library, c"counter")?;
        same!(managed(cuda, library, c"counter")?.0, counter);
        let (mut found, mut flag) = (0u64, 0u32);
        let place = cuda.alloc(8)?;
        cuda.launch(locate, [1, 1], null_mut(), &mut [parameter(&place)])?;
        same!(cuda.download::<u64>(place, 1)?, [counter]);
        let (managed, device) =
            (Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED, Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
        cu!(cuda, cuPointerGetAttribute((&raw mut flag).cast(), managed, counter))?;
        cu!(cuda, cuPointerGetAttribute((&raw mut found).cast(), device, counter))?;
        same!((flag, found), (1, counter));
        refused!(cu!(cuda, cuMemFree_v2(counter)), INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(place))?;
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn contexts_share_the_managed_variables_of_a_library(cuda, primary = (device, first)) {
        let (library, _) = load(cuda, c"increase")?;
        let (counter, _) = managed(cuda, library, c"counter")?;
        let (mut second, mut module, mut increase) = (null_mut(), null_mut(), null_mut());
        cu!(cuda, cuCtxCreate_v2(&mut second, 0, device))?;
        cu!(cuda, cuLibraryGetModule(&mut module, library))?;
        same!(managed(cuda, library, c"counter")?.0, counter);
        cu!(cuda, cuModuleGetFunction(&mut increase, module, c"increase".as_ptr()))?;
        let amount = 2u32;
        cuda.launch(increase, [1, 1], null_mut(), &mut [parameter(&amount)])?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(read(counter), 7);
        cu!(cuda, cuCtxDestroy_v2(second))?;
        cu!(cuda, cuCtxSetCurrent(first))?;
        cu!(cuda, cuLibraryUnload(library))?;
    }

    fn variables_that_are_not_managed_are_not_found(cuda, primary) {
        let (library, _) = load(cuda, c"increase")?;
        let (mut address, mut bytes) = (0, 0);
        for name in [c"plain", c"missing"] {
            let called =
                cu!(cuda, cuLibraryGetManaged(&mut address, &mut bytes, library, name.as_ptr()));
            refused!(called, NOT_FOUND);
        }
        cu!(cuda, cuLibraryGetManaged(null_mut(), &mut bytes, library, c"table".as_ptr()))?;
        same!(bytes, 20000);
        cu!(cuda, cuLibraryUnload(library))?;
    }
}
