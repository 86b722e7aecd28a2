//! Links modules with the linker API, and runs the result.

use std::ffi::{CStr, c_uint, c_void};

use common::*;

mod common;

const CUBIN: c_uint = 0;
const PTX: c_uint = 1;
const INVALID_VALUE: c_uint = 1;
const NO_BINARY_FOR_GPU: c_uint = 209;
const INVALID_IMAGE: c_uint = 200;
const INVALID_PTX: c_uint = 218;
const INVALID_HANDLE: c_uint = 400;

const CALLER: &str = "
.extern .func (.param .b32 sum) plus(.param .b32 a, .param .b32 b);
.extern .global .u32 factor;
.weak .func (.param .b32 r) picked() {
    .param .b32 unused;
    st.param.b32 [r], 1;
    ret;
}
.visible .entry test(.param .u64 out)
{
    .reg .b64 %o;
    .reg .b32 %r<4>;
    ld.param.u64 %o, [out];
    ld.global.u32 %r0, [factor];
    {
        .param .b32 a, b, sum;
        st.param.b32 [a], %r0;
        st.param.b32 [b], 5;
        call.uni (sum), plus, (a, b);
        ld.param.b32 %r1, [sum];
        call.uni (sum), picked, ();
        ld.param.b32 %r2, [sum];
    }
    st.global.u32 [%o], %r1;
    st.global.u32 [%o+4], %r2;
    ret;
}";
const CALLED: &str = "
.visible .global .u32 factor = 37;
.visible .func (.param .b32 sum) plus(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r0, [a];
    ld.param.b32 %r1, [b];
    add.u32 %r2, %r0, %r1;
    st.param.b32 [sum], %r2;
    ret;
}
.visible .func (.param .b32 r) picked() {
    st.param.b32 [r], 2;
    ret;
}";

fn ptx(text: &str) -> String {
    format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}\n\0")
}

fn add(link: usize, kind: c_uint, bytes: &[u8]) -> c_uint {
    let null = std::ptr::null_mut::<c_uint>();
    let name = c"input".as_ptr();
    // SAFETY: the arguments are valid for the driver API.
    unsafe {
        cuLinkAddData_v2(link, kind, bytes.as_ptr().cast(), bytes.len(), name, 0, null, null.cast())
    }
}

fn in_context(test: impl FnOnce()) {
    let mut context = 0;
    // SAFETY: the arguments are valid for the driver API.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuCtxCreate_v2(&mut context, 0, 0), 0);
        test();
        assert_eq!(cuCtxDestroy_v2(context), 0);
    }
}

fn create() -> usize {
    let mut link = 0;
    let null = std::ptr::null_mut::<usize>();
    // SAFETY: the arguments are valid for the driver API.
    assert_eq!(unsafe { cuLinkCreate_v2(0, null.cast(), null, &mut link) }, 0);
    link
}

/// Returns a copy of a completed link's image, and destroys the link.
fn complete(link: usize) -> Vec<u8> {
    let (mut image, mut size) = (std::ptr::null(), 0);
    // SAFETY: the image has this size and exists until the link is destroyed.
    unsafe {
        assert_eq!(cuLinkComplete(link, &mut image, &mut size), 0);
        let copy = std::slice::from_raw_parts(image.cast::<u8>(), size).to_vec();
        assert_eq!(cuLinkDestroy(link), 0);
        copy
    }
}

fn run(image: &[u8]) -> [u32; 2] {
    let (mut module, mut function, mut to, mut found) = (0, 0, 0u64, [0u32; 2]);
    // SAFETY: the arguments are valid for the driver API.
    unsafe {
        assert_eq!(cuModuleLoadData(&mut module, image.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"test".as_ptr()), 0);
        assert_eq!(cuMemAlloc_v2(&mut to, 8), 0);
        let params = [(&raw const to).cast::<c_void>()];
        let null = std::ptr::null();
        let launched = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, params.as_ptr(), null);
        assert_eq!((launched, cuCtxSynchronize()), (0, 0));
        assert_eq!(cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), to, 8), 0);
    }
    found
}

#[test]
fn test_linked_modules_call_each_other() {
    in_context(|| {
        let link = create();
        assert_eq!(add(link, PTX, ptx(CALLER).as_bytes()), 0);
        assert_eq!(add(link, PTX, ptx(CALLED).as_bytes()), 0);
        let image = complete(link);
        assert!(image.starts_with(b"\x7fELF"));
        assert_eq!(run(&image), [42, 2]);
        // The image that a link produces can be an input of another link.
        let link = create();
        assert_eq!(add(link, CUBIN, &image), 0);
        assert_eq!(run(&complete(link)), [42, 2]);
    });
}

#[test]
fn test_errors_and_their_log() {
    in_context(|| {
        let mut log = [0u8; 1024];
        let (options, mut values) = ([5u32, 6], [log.as_mut_ptr() as usize, log.len()]);
        let mut link = 0;
        // SAFETY: the arguments are valid for the driver API. The log buffers exist until the link
        // is destroyed.
        unsafe {
            assert_eq!(cuLinkCreate_v2(2, options.as_ptr(), values.as_mut_ptr(), &mut link), 0);
            let bad = ptx(".visible .entry broken() { frobnicate.u32 %r1, %r2; }");
            assert_eq!(add(link, PTX, bad.as_bytes()), INVALID_PTX);
            let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap().to_owned();
            assert!(text.contains("frobnicate") && text.contains("broken"), "{text}");
            assert_eq!(values[1], text.len());
            assert_eq!(add(link, PTX, b"nonsense\0"), INVALID_IMAGE);
            assert_eq!(add(link, CUBIN, b"\x7fELF nonsense"), NO_BINARY_FOR_GPU);
            // Create the header of a cubin for sm_86, which this device can't run.
            let mut cubin = b"\x7fELF\x02\x01\x01\x33\x07".to_vec();
            cubin.resize(48, 0);
            cubin.extend(0x0056_0556u32.to_le_bytes());
            cubin.resize(64, 0);
            assert_eq!(add(link, CUBIN, &cubin), NO_BINARY_FOR_GPU);
            let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
            let advice = "nvcc -gencode arch=compute_90,code=compute_90";
            assert!(text.contains("machine code for sm_86") && text.contains(advice), "{text}");
            assert_eq!(add(link, 99, b"x"), INVALID_VALUE);
            assert_eq!(add(link, PTX, ptx(CALLER).as_bytes()), 0);
            let (mut image, mut size) = (std::ptr::null(), 0);
            assert_eq!(cuLinkComplete(link, &mut image, &mut size), INVALID_PTX);
            let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
            assert!(text.contains("Undefined reference to 'factor' in 'input'"), "{text}");
            assert_eq!(cuLinkDestroy(link), 0);
            assert_eq!(cuLinkDestroy(link), INVALID_HANDLE);
            assert_eq!(add(link, PTX, ptx(CALLED).as_bytes()), INVALID_HANDLE);
        }
    });
}
